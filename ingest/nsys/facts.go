package nsys

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tpconvert/tpconvert/ingest/internal/gpuwork"
	"github.com/tpconvert/tpconvert/ingest/internal/sqlitefile"
	"github.com/tpconvert/tpconvert/model"
)

// facts reads the tables that others refer to, and what the profile says of itself and its machine.
func (r *reader) facts() error {
	p, words := r.parser, r.In.Store.Strings
	var failed error
	each := func(table string, f func(row *sqlitefile.Row, column func(string) int)) {
		t := r.DB.Table(table)
		rows := t.Rows()
		for rows.Next() {
			f(&rows.Row, t.Column)
		}
		if failed == nil {
			failed = rows.Err
		}
	}
	each("StringIds", func(row *sqlitefile.Row, column func(string) int) {
		if id, ok := row.Int(column("id")); ok {
			p.strings[id] = words.InternBytes(row.Text(column("value")))
		}
	})
	for _, t := range r.DB.Tables {
		if !strings.HasPrefix(t.Name, "ENUM_") {
			continue
		}
		labels := gpuwork.Labels{}
		each(t.Name, func(row *sqlitefile.Row, column func(string) int) {
			if id, ok := row.Int(column("id")); ok {
				labels[id] = words.InternBytes(row.Text(column("label")))
			}
		})
		p.labels[t.Name] = labels
	}
	each("PROCESSES", func(row *sqlitefile.Row, column func(string) int) {
		if id, ok := row.Int(column("globalPid")); ok {
			p.Machine.SetProcessName(p.Machine.Process(pidOf(id)), words.InternBytes(row.Text(column("name"))), model.ProcessNameSystem)
		}
	})
	each("ThreadNames", func(row *sqlitefile.Row, column func(string) int) {
		id, ok := row.Int(column("globalTid"))
		if name, _ := row.Int(column("nameId")); ok && p.strings[name] != 0 {
			p.Machine.SetThreadName(p.Machine.ThreadOf(tidOf(id), pidOf(id)), p.strings[name], model.ThreadNameSystem)
		}
	})
	for _, names := range [][2]string{{"nsys.capture.", "META_DATA_CAPTURE"}, {"nsys.export.", "META_DATA_EXPORT"}, {"nsys.export.", "EXPORT_META_DATA"},
		{"nsys.target.", "TARGET_INFO_SYSTEM_ENV"}} {
		each(names[1], func(row *sqlitefile.Row, column func(string) int) {
			name, value := row.Text(column("name")), row.Text(column("value"))
			if !utf8.Valid(value) { // GpuInfo is a message of Protocol Buffers
				r.In.File.Unread(model.StatUnreadFact, model.None, names[1]+" "+string(name)).Add(model.LogEntry{})
				return
			}
			r.In.File.AddDynamicMetadata(names[0]+string(name), model.StringArg(words.InternBytes(value)))
		})
	}
	each("TARGET_INFO_GPU", r.gpu)
	each("TARGET_INFO_CUDA_DEVICE", func(row *sqlitefile.Row, column func(string) int) {
		pid, _ := row.Int(column("pid"))
		number, _ := row.Int(column("cudaId"))
		if gpu, ok := row.Int(column("gpuId")); ok {
			p.devices[device{pid, number}] = gpu
		}
	})
	for _, table := range []string{"TARGET_INFO_GPU_METRICS", "TARGET_INFO_SOC_METRICS"} {
		each(table, func(row *sqlitefile.Row, column func(string) int) {
			typ, _ := row.Int(column("typeId"))
			id, _ := row.Int(column("metricId"))
			p.metrics[metricKey{typ, id}] = metricName{words.InternBytes(row.Text(column("metricName"))), words.InternBytes(row.Text(column("typeName")))}
		})
	}
	r.clock(each)
	return failed
}

// clock relates the profile's times, which count from the start of the session, to the wall clock.
func (r *reader) clock(each func(string, func(*sqlitefile.Row, func(string) int))) {
	r.In.UseClock(model.ClockTraceFile)
	utc, shift := false, int64(0)
	each("META_DATA_EXPORT", func(row *sqlitefile.Row, column func(string) int) {
		switch value := string(row.Text(column("value"))); string(row.Text(column("name"))) {
		case "EXPORT_PARAM_TIME_NORMALIZE":
			utc = value == "true"
		case "EXPORT_PARAM_TIME_SHIFT": // ns, which were added to all times
			shift, _ = strconv.ParseInt(value, 10, 64)
		}
	})
	each("TARGET_INFO_SESSION_START_TIME", func(row *sqlitefile.Row, column func(string) int) {
		start, ok := row.Int(column("utcEpochNs"))
		if !ok {
			return
		}
		own := shift
		if utc {
			own += start
		}
		r.In.Clocks.AddSnapshot([]model.Reading{{Clock: model.Clock{ID: model.ClockTraceFile}, Value: own, Unit: 1},
			{Clock: model.Clock{ID: model.ClockRealtime}, Value: start, Unit: 1}})
	})
}

// gpu describes a GPU.
func (r *reader) gpu(row *sqlitefile.Row, column func(string) int) {
	id, ok := row.Int(column("id"))
	if !ok {
		return
	}
	words, t := r.In.Store.Strings, &r.In.Store.Tables.GPU
	if number, ok := row.Int(column("pwGpuId")); ok {
		r.parser.hardware[number] = id
	}
	gpu := int64(r.In.Machine.GPU(id))
	text := func(name string) model.StringID { return words.InternBytes(row.Text(column(name))) }
	t.Name.Set(gpu, text("name"))
	t.Vendor.Set(gpu, words.Intern("NVIDIA"))
	t.Architecture.Set(gpu, text("chipName"))
	t.UUID.Set(gpu, words.Intern(strings.ReplaceAll(string(row.Text(column("uuid"))), "-", "")))
	t.PCIBDF.Set(gpu, text("busLocation"))
	var set model.ArgSet
	for i, name := range r.DB.Table("TARGET_INFO_GPU").Columns {
		if n, ok := row.Int(i); ok {
			set.Add(words.Intern(name), model.IntArg(n))
		}
	}
	r.In.Store.SetArgs(&t.ArgSetID, gpu, &set)
}
