package export

import (
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/internal/human"
	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/model/table"
)

// traceTable is the only table filled by the export, because its values are known
// only once all input is read.
const traceTable = "trace"

// traceIDColumn is a column of the table trace in a dataset of one trace. In a
// dataset of many traces, it is the partition of all tables instead.
const traceIDColumn = "trace_id"

// describe adds the row of the table trace.
func (w *Writer) describe(m *Manifest) error {
	err := m.Describe(traceSink{w})
	w.running.Wait()
	return err
}

// Describe passes the row of the table trace to a sink.
func (m *Manifest) Describe(to table.Sink) error {
	var tables struct{ Trace schema.Trace }
	strings := table.NewStringPool()
	set := table.NewSet(&tables, strings, 0, to, table.Parking{})
	m.fill(&tables.Trace, strings)
	set.Finish()
	return set.Err()
}

// traceSink replaces the schema of chunks by that of the writer's file.
type traceSink struct{ w *Writer }

func (s traceSink) Chunk(c *table.Chunk) error {
	if out := s.w.outputs[traceTable]; out != nil {
		c.Schema = out.schema
	}
	return s.w.Chunk(c)
}

// fill appends the row of the manifest's trace.
func (m *Manifest) fill(t *schema.Trace, pool *table.StringPool) {
	row := t.Append()
	text := func(c *table.String, s string) {
		if s != "" {
			c.Set(row, pool.Intern(s))
		}
	}
	number := func(c *table.Int64, n *int64) {
		if n != nil {
			c.Set(row, *n)
		}
	}
	text(&t.TraceID, m.TraceID)
	text(&t.Name, m.Input.Name)
	text(&t.Path, m.Input.Path)
	text(&t.OtherPaths, m.otherPaths())
	t.Bytes.Set(row, m.Input.Bytes)
	text(&t.SHA256, m.Input.SHA256)
	text(&t.Format, m.Input.Formats())
	number(&t.StartTS, m.Start)
	number(&t.EndTS, m.End)
	number(&t.StartUnixNs, m.StartUnix)
	text(&t.MachineName, m.Machine.Name)
	text(&t.Sysname, m.Machine.Sysname)
	text(&t.Release, m.Machine.Release)
	text(&t.Arch, m.Machine.Arch)
	number(&t.NumCpus, m.Machine.NumCPUs)
	number(&t.SystemRAMBytes, m.Machine.RAMBytes)
	text(&t.AndroidBuildFingerprint, m.Machine.AndroidBuildFingerprint)
	text(&t.AndroidDeviceManufacturer, m.Machine.AndroidDeviceManufacturer)
	number(&t.AndroidSDKVersion, m.Machine.AndroidSDKVersion)
	text(&t.ConverterVersion, m.ConverterVersion)
	t.SchemaVersion.Set(row, int64(m.SchemaVersion))
	lost, reasons := m.lost()
	t.Lost.Set(row, lost)
	text(&t.LostReasons, reasons)
	number(&t.Rank, m.Rank)
	number(&t.WorldSize, m.WorldSize)
}

func (m *Manifest) otherPaths() string {
	var paths []string
	for _, s := range m.Also {
		paths = append(paths, s.Path)
	}
	return strings.Join(paths, "\n")
}

// lost returns the number of missing events, and lists by name what is missing or
// damaged.
func (m *Manifest) lost() (total int64, reasons string) {
	var names []string
	counts := map[string]int64{}
	for _, s := range m.Stats {
		if s.Lost() {
			total += s.Value
		}
		if s.Harmful() {
			name := s.Text()
			if counts[name] == 0 {
				names = append(names, name)
			}
			counts[name] += s.Value
		}
	}
	for i, name := range names {
		names[i] = human.Count(counts[name]) + " " + name
	}
	return total, strings.Join(names, ", ")
}

// Formats returns the formats of the input and of the files in it, outermost
// first.
func (in Input) Formats() string {
	var all []string
	var walk func(Input)
	walk = func(in Input) {
		if !slices.Contains(all, in.Format) {
			all = append(all, in.Format)
		}
		for _, m := range in.Members {
			walk(m)
		}
	}
	walk(in)
	return strings.Join(all, "/")
}
