// Package nsys reads profiles of NVIDIA Nsight Systems that were exported to SQLite
// (nsys export --type sqlite).
//
// The exporter makes a table for each kind of event, and only if there are events. Tables of the same
// shape are read in the same way, whatever their name: a row with a thread, a start and a name is a call of
// the thread, and its other columns are its args. So new APIs need no code. Tables of another shape are
// counted as not read.
package nsys

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/gpuwork"
	"github.com/tpconvert/tpconvert/ingest/internal/sqlitefile"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
)

// Format is the format of Nsight Systems' exports. It accepts every SQLite database, because the names of
// its tables may be anywhere in the file, so it comes after other formats in SQLite.
var Format = &format.Format{Name: "nsys", Title: "Nsight Systems", Sniff: sqlitefile.Is, Read: read}

// maxNamed is how many tables of another application an error names.
const maxNamed = 5

func read(in *format.Input) error {
	r := &reader{}
	var err error
	if r.Reader, err = gpuwork.Open(in); err != nil {
		return err
	}
	defer r.Close()
	if !slices.ContainsFunc(r.DB.Tables, func(t *sqlitefile.Table) bool { return own(t.Name) }) {
		var names []string
		for _, t := range r.DB.Tables[:min(len(r.DB.Tables), maxNamed)] {
			names = append(names, t.Name)
		}
		return format.Errorf(format.ErrUnsupported, -1, "an SQLite database of another application (%d tables: %s)", len(r.DB.Tables), strings.Join(names, ", "))
	}
	r.parser = newParser(in.Context)
	r.Sort(r.parser)
	return r.read()
}

// own reports whether only Nsight Systems has a table of this name.
func own(name string) bool {
	for _, prefix := range []string{"CUPTI_ACTIVITY_KIND_", "NVTX_EVENTS", "META_DATA_EXPORT", "META_DATA_CAPTURE", "TARGET_INFO_", "ENUM_NSYS_", "OSRT_API", "SAMPLING_CALLCHAINS"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// reader passes the rows of all tables to the sorter.
type reader struct {
	*gpuwork.Reader
	parser *parser
}

// Tables that the reader does not pass to the sorter: it looks their rows up for others, or counts them here.
var facts = []string{"StringIds", "PROCESSES", "ThreadNames", "META_DATA_CAPTURE", "META_DATA_EXPORT", "EXPORT_META_DATA", "TARGET_INFO_GPU", "TARGET_INFO_CUDA_DEVICE",
	"TARGET_INFO_SESSION_START_TIME", "TARGET_INFO_SYSTEM_ENV", "TARGET_INFO_GPU_METRICS", "TARGET_INFO_SOC_METRICS", "SAMPLING_CALLCHAINS", "sqlite_sequence"}

func (r *reader) read() error {
	if err := r.facts(); err != nil {
		return err
	}
	for _, t := range r.DB.Tables {
		var err error
		switch {
		case strings.HasPrefix(t.Name, "ENUM_"), slices.Contains(facts, t.Name):
		case t.Name == "COMPOSITE_EVENTS":
			err = r.samples(t)
		default:
			if kind, ok := kindOf(t); ok {
				err = r.events(r.parser.add(t, kind))
			} else {
				r.Unread(t, t.Name)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// events passes a table's rows to the sorter.
func (r *reader) events(t *table) error {
	rows := t.Rows()
	for rows.Next() {
		row := &rows.Row
		if t.kind == nvtx && r.parser.nvtxName(t, row) {
			continue
		}
		ts, dur, ok := r.Span(row, t.Table.Table, t.start, t.end)
		if !ok {
			continue
		}
		if err := r.push(t, row, ts, dur, 0); err != nil {
			return err
		}
	}
	return rows.Err
}

// push passes a row to the sorter, with a number that depends on the table.
func (r *reader) push(t *table, row *sqlitefile.Row, ts, dur, number int64) error {
	r.Token.Reset()
	r.Token.Uint(uint64(t.Number))
	r.Token.Int(dur)
	r.Token.Int(number)
	row.Pack(r.Token)
	stream := r.Others
	if t.kind == call || t.kind == nvtx {
		stream = r.Threads
	}
	return stream.Push(ts, r.Token.Bytes())
}

// samples passes the samples of threads to the sorter. The frames of a sample have its id and follow each other.
func (r *reader) samples(t *sqlitefile.Table) error {
	chains := r.DB.Table("SAMPLING_CALLCHAINS")
	id, symbol, module, address, depth := chains.Column("id"), chains.Column("symbol"), chains.Column("module"), chains.Column("originalIP"), chains.Column("stackDepth")
	frames := chains.Rows()
	more := frames.Next()
	table := r.parser.add(t, sample)
	sampleID := t.Column("id")
	unread := make([]*model.Unread, len(t.Columns)) // columns, nil for those that are read
	for i, column := range t.Columns {
		if !slices.Contains([]string{"id", "start", "cpu", "globalTid"}, column) {
			unread[i] = r.In.File.Unread(model.StatUnreadFact, model.None, column+" of a sample").Say(column+" of a sample is not read", column+" of samples is not read")
		}
	}
	stacks := r.In.Store.Stacks
	mappings := map[int64]profile.MappingID{}
	var chain []profile.FrameID
	rows := t.Rows()
	for rows.Next() {
		row := &rows.Row
		ts, _, ok := r.Span(row, t, table.start, -1)
		if !ok {
			continue
		}
		for i, u := range unread {
			if n, ok := row.Int(i); ok && n != 0 && u != nil {
				u.Add(model.LogEntry{TS: ts, HasTS: true})
			}
		}
		this, _ := row.Int(sampleID)
		chain = chain[:0]
		for more {
			owner, _ := frames.Int(id)
			if owner > this {
				break
			}
			if level, _ := frames.Int(depth); owner < this || level != int64(len(chain)) {
				r.Lost(chains.Name, frames.ID, "a frame that follows no sample or frame")
			} else {
				file, _ := frames.Int(module)
				mapping, known := mappings[file]
				if !known {
					mapping = stacks.DummyMapping(r.In.Store.Strings.Get(r.parser.strings[file]))
					mappings[file] = mapping
				}
				name, _ := frames.Int(symbol)
				function := r.parser.strings[name]
				if ip, ok := frames.Int(address); ok && function == 0 {
					function = r.In.Store.Strings.Intern(fmt.Sprintf("0x%x", uint64(ip)))
				}
				chain = append(chain, stacks.FunctionFrame(mapping, function, 0, 0))
			}
			more = frames.Next()
		}
		callsite := profile.CallsiteID(model.None)
		for _, frame := range slices.Backward(chain) {
			callsite = stacks.Callsite(callsite, frame)
		}
		if err := r.push(table, row, ts, 0, int64(callsite)); err != nil {
			return err
		}
	}
	for ; more; more = frames.Next() {
		r.Lost(chains.Name, frames.ID, "a frame that follows no sample or frame")
	}
	if rows.Err == nil {
		return frames.Err
	}
	return rows.Err
}

// kindOf returns how to read a table, by its name or else its columns.
func kindOf(t *sqlitefile.Table) (kind, bool) {
	switch t.Name {
	case "NVTX_EVENTS":
		return nvtx, t.Has("start", "eventType", "globalTid")
	case "SCHED_EVENTS":
		return switches, t.Has("start", "cpu", "isSchedIn", "globalTid")
	case "GPU_METRICS", "SOC_METRICS":
		return metric, t.Has("timestamp", "metricId", "value")
	case "CUDA_GPU_MEMORY_USAGE_EVENTS":
		return memory, t.Has("start", "deviceId", "bytes", "memoryOperationType")
	case "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION":
		return wait, t.Has("start", "end", "deviceId", "streamId")
	case "PROFILER_OVERHEAD", "CUPTI_ACTIVITY_KIND_OVERHEAD":
		return overhead, t.Has("start", "end", "globalTid")
	case "DIAGNOSTIC_EVENT":
		return message, t.Has("timestamp", "text")
	}
	switch {
	case t.Has("start", "end", "deviceId", "streamId"):
		return work, true
	case t.Has("start", "end", "globalTid") && nameOf(t) >= 0:
		return call, true
	}
	return 0, false
}

// nameOf returns the column with the name of a row, or -1.
func nameOf(t *sqlitefile.Table) int {
	for _, name := range []string{"demangledName", "nameId", "textId", "name"} {
		if i := t.Column(name); i >= 0 {
			return i
		}
	}
	return -1
}
