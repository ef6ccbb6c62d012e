package tables

import (
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
)

// What Trace Processor knows of itself, of the machines and of the trace.

// flags are the names of Trace Processor's build flags, with + for those that a release for Linux has.
const flags = `
-ANDROID_BUILD -CHROMIUM_BUILD +STANDALONE_BUILD +START_DAEMONS +IPC -COMPONENT_BUILD -ENABLE_ETM_IMPORTER -LLVM_SYMBOLIZER
-FORCE_DLOG_ON -FORCE_DLOG_OFF -FORCE_DCHECK_ON -FORCE_DCHECK_OFF +VERBOSE_LOGS +VERSION_GEN +TP_PERCENTILE -TP_LINENOISE +TP_HTTPD
+TP_INSTRUMENTS +ZLIB +ZSTD -TRACED_PERF -HEAPPROFD -STDERR_CRASH_DUMP +X64_CPU_OPT +LLVM_DEMANGLE +SYSTEM_CONSUMER
-THREAD_SAFETY_ANNOTATIONS +ENABLE_WINSCOPE +ENABLE_RT_MUTEX +ENABLE_LOCKFREE_TASKRUNNER +ENABLE_SOCK_INOTIFY +RE2 -PCRE2
-AMALGAMATED_SDK`

func (d *Dataset) buildFlags(columns []dataframe.Spec) (*dataframe.Frame, error) {
	b := dataframe.NewBuilder(d.pool, columns...)
	for i, flag := range strings.Fields(flags) {
		b.Int(0, int64(i))
		b.Text(1, "PERFETTO_"+flag[1:])
		b.Int(2, int64(strings.Count(flag[:1], "+")))
	}
	return b.Frame(), nil
}

// parts are the parts of Trace Processor that register themselves in a table.
func (d *Dataset) parts(columns []dataframe.Spec) (*dataframe.Frame, error) {
	b := dataframe.NewBuilder(d.pool, columns...)
	b.Int(0, 0)
	b.Text(1, "winscope")
	return b.Frame(), nil
}

// maxCPUs is the number of CPUs that Trace Processor reserves ids for on each machine.
const maxCPUs = 4096

// cpus adds rows for the CPUs that a machine does not have: an id is that of the machine times maxCPUs and the CPU's number.
func (d *Dataset) cpus(columns []dataframe.Spec) (*dataframe.Frame, error) {
	f, err := d.columns("cpu", columns, nil)
	if err != nil {
		return nil, err
	}
	ids, err := f.Named("id")
	if err != nil {
		return nil, err
	}
	rows := map[int64]int{}
	machines := int64(1)
	if m, err := d.internal("machine"); err != nil {
		return nil, err
	} else if m.Rows > 0 {
		machines = int64(m.Rows)
	}
	for row := range f.Rows {
		rows[ids.Int(row)] = row
		machines = max(machines, ids.Int(row)/maxCPUs+1)
	}
	b := dataframe.NewBuilder(d.pool, columns...)
	for i, c := range columns {
		r, err := f.Reader(i)
		if err != nil {
			return nil, err
		}
		for id := range machines * maxCPUs {
			row, known := rows[id]
			switch {
			case known:
				err = b.Any(i, r.Any(row))
			case c.Name == "id":
				b.Int(i, id)
			case c.Name == "cluster_id":
				b.Int(i, 0)
			case c.Name == "machine_id":
				b.Int(i, id/maxCPUs)
			default:
				b.Null(i)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	return b.Frame(), nil
}

// picked returns rows of a frame in an order. Their ids are their positions.
func picked(f *dataframe.Frame, columns []dataframe.Spec, rows []int) (*dataframe.Frame, error) {
	b := dataframe.NewBuilder(f.Pool, columns...)
	for i, c := range columns {
		r, err := f.Reader(i)
		if err != nil {
			return nil, err
		}
		for id, row := range rows {
			v := r.Any(row)
			if c.Name == "id" {
				v = int64(id)
			}
			if err := b.Any(i, v); err != nil {
				return nil, err
			}
		}
	}
	return b.Frame(), nil
}

// metadata leaves out what the converter adds, and begins with the trace's UUID.
func (d *Dataset) metadata(columns []dataframe.Spec) (*dataframe.Frame, error) {
	f, err := d.columns("metadata", columns, localTrace)
	if err != nil {
		return nil, err
	}
	names, err := f.Named("name")
	if err != nil {
		return nil, err
	}
	var rows []int
	for row := range f.Rows {
		switch names.Text(row) {
		case "converter_version":
		case "trace_uuid":
			rows = slices.Insert(rows, 0, row)
		default:
			rows = append(rows, row)
		}
	}
	return picked(f, columns, rows)
}

// ofAll are the statistics of the whole trace, which belong to no machine or file.
var ofAll = []string{
	"clock_sync_cache_miss", "deobfuscate_location_parse_error", "extra_parsing_descriptors_error", "guess_trace_type_duration_ns",
	"heap_graph_invalid_string_id", "heap_graph_malformed_packet", "heap_graph_missing_packet", "heap_graph_non_finalized_graph",
	"invalid_clock_snapshots", "parse_trace_duration_ns", "sorter_push_event_out_of_order", "trace_sorter_negative_timestamp_dropped",
}

// counted is what a statistic without an index counts in.
type counted struct{ key, machine, trace any }

// stats adds the statistics that are 0: those of the whole trace come first, then those of each file, in the order of their
// keys; those with an index, which are never 0, follow.
func (d *Dataset) stats(columns []dataframe.Spec) (*dataframe.Frame, error) {
	f, err := d.columns("stats", columns, localTrace)
	if err != nil {
		return nil, err
	}
	var readers [4]dataframe.Reader
	for i, name := range []string{"key", "machine_id", "trace_id", "idx"} {
		if readers[i], err = f.Named(name); err != nil {
			return nil, err
		}
	}
	rows := map[counted]int{}
	var indexed []int
	for row := range f.Rows {
		if readers[3].IsNull(row) {
			rows[counted{readers[0].Any(row), readers[1].Any(row), readers[2].Any(row)}] = row
		} else {
			indexed = append(indexed, row)
		}
	}
	files, err := d.traces()
	if err != nil {
		return nil, err
	}
	type stat struct {
		counted counted
		row     int // in f, -1 if it is 0
	}
	var all []stat
	for _, trace := range append([]any{nil}, files...) {
		var machine any
		if trace != nil {
			machine = int64(0)
		}
		for _, s := range model.AllStats() {
			if s.Own() || s.Indexed() || slices.Contains(ofAll, s.String()) != (trace == nil) {
				continue
			}
			c := counted{int64(s), machine, trace}
			row, ok := rows[c]
			if !ok {
				row = -1
			}
			delete(rows, c)
			all = append(all, stat{c, row})
		}
	}
	for row := range f.Rows { // of other machines and files
		if _, ok := rows[counted{readers[0].Any(row), readers[1].Any(row), readers[2].Any(row)}]; ok && readers[3].IsNull(row) {
			indexed = append(indexed, row)
		}
	}
	slices.Sort(indexed)
	for _, row := range indexed {
		all = append(all, stat{row: row})
	}
	b := dataframe.NewBuilder(d.pool, columns...)
	for i, c := range columns {
		r, err := f.Reader(i)
		if err != nil {
			return nil, err
		}
		for id, s := range all {
			var v any
			switch {
			case c.Name == "id":
				v = int64(id)
			case s.row >= 0:
				v = r.Any(s.row)
			default:
				v = s.counted.zero(c.Name)
			}
			if v == nil && c.Name == "description" {
				v = ""
			}
			if err := b.Any(i, v); err != nil {
				return nil, err
			}
		}
	}
	return b.Frame(), nil
}

// zero returns a column of a statistic that is 0.
func (c counted) zero(column string) any {
	s := model.Stat(c.key.(int64))
	switch column {
	case "name":
		return s.String()
	case "key":
		return c.key
	case "severity":
		return s.Severity().String()
	case "source":
		return s.Source().String()
	case "description":
		return s.Description()
	case "value":
		return int64(0)
	case "machine_id":
		return c.machine
	case "trace_id":
		return c.trace
	}
	return nil
}

// traces are the ids of the files with events, in the order in which they were read.
func (d *Dataset) traces() ([]any, error) {
	f, err := d.internal("trace_file")
	if err != nil {
		return nil, err
	}
	containers, err := f.Named("is_container")
	if err != nil {
		return nil, err
	}
	order, err := f.Named("processing_order")
	if err != nil {
		return nil, err
	}
	ids, err := f.Named("id")
	if err != nil {
		return nil, err
	}
	var rows []int
	for row := range f.Rows {
		if containers.Int(row) == 0 {
			rows = append(rows, row)
		}
	}
	slices.SortStableFunc(rows, func(a, b int) int { return int(order.Int(a) - order.Int(b)) })
	var out []any
	for _, row := range rows {
		out = append(out, ids.Any(row))
	}
	return out, nil
}
