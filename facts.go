package tpconvert

import (
	"cmp"

	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/model/table"
)

// Facts is what is known about a trace as a whole.
type Facts struct {
	Input      Input       // with its members
	Tables     []TableRows // that have rows, in the order of their first chunks
	Events     int64       // rows that have a time of their own
	Stats      []Stat      // that are not zero
	Start, End *int64      // of any event, in ns of the trace clock, or nil
	StartUnix  *int64      // wall clock at Start, or when a profile without times began, ns since 1970, or nil
	Machine    Machine     // that recorded the trace
	Rank       *int64      // of the traced process in its job, or nil
	WorldSize  *int64      // number of ranks in the job, or nil
	Alignment  Alignment   // how its files share a timeline
}

// factsOf returns the facts about a trace that was read.
func factsOf(m *Manifest, shared Alignment) *Facts {
	f := &Facts{
		Input:     m.Input,
		Events:    m.Events,
		Stats:     m.Stats,
		Start:     m.Start,
		End:       m.End,
		StartUnix: m.StartUnix,
		Machine:   m.Machine,
		Rank:      m.Rank,
		WorldSize: m.WorldSize,
		Alignment: shared,
	}
	for _, t := range m.Tables {
		f.Tables = append(f.Tables, TableRows{t.Name, t.Rows})
	}
	return f
}

// Losses says what the tables do not have of the trace.
func (f *Facts) Losses() Losses {
	m := Manifest{Events: f.Events, Stats: f.Stats}
	for _, t := range f.Tables {
		m.Tables = append(m.Tables, export.Table{Name: t.Name, Rows: t.Rows})
	}
	return m.Losses()
}

// Manifest describes the trace as a dataset with the options would.
func (f *Facts) Manifest(o Options) *Manifest {
	return &Manifest{
		SchemaVersion:    table.SchemaVersion,
		ConverterVersion: o.version(),
		TraceID:          cmp.Or(o.TraceID, export.TraceID(f.Input.SHA256)),
		Input:            f.Input,
		Start:            f.Start,
		End:              f.End,
		StartUnix:        f.StartUnix,
		Machine:          f.Machine,
		Rank:             f.Rank,
		WorldSize:        f.WorldSize,
		Events:           f.Events,
		Stats:            f.Stats,
	}
}

// TableRows is the number of rows of a table.
type TableRows struct {
	Name string
	Rows int64
}
