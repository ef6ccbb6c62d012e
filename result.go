package tpconvert

import (
	"slices"
	"time"

	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/ingest"
)

// What a dataset's manifests have, as docs/dataset.md describes it.
type (
	// Manifest describes a dataset of one trace, or a trace in a dataset of many: the file _tpconvert.json.
	Manifest = export.Manifest
	// Span is a part of the trace clock.
	Span = export.Span
	// Input is a trace file, with the files in it.
	Input = export.Input
	// Source is a file as it was when it was read.
	Source = export.Source
	// Stat is a row of the table stats that is not zero.
	Stat = export.Stat
	// Machine is the machine that recorded a trace.
	Machine = export.Machine
	// Losses says what a dataset does not have of its trace, by the effects that docs/losses.md defines.
	Losses = export.Losses
	// LossCount is the value of a stat.
	LossCount = export.LossCount
)

// LossesOf returns the losses that the manifest of a trace tells.
func LossesOf(m *export.Manifest) Losses { return m.Losses() }

// Result says what Convert did. Its JSON is that of "tpconvert --json".
type Result struct {
	Out        string  `json:"out"`
	Traces     []Trace `json:"traces"`
	Seconds    float64 `json:"seconds"`
	PeakMemory int64   `json:"peak_memory_bytes"` // resident memory of the process
}

// Trace is the outcome for one trace.
type Trace struct {
	Path    string      `json:"trace"`
	TraceID string      `json:"trace_id,omitempty"`
	Format  string      `json:"format,omitempty"` // and those of the files in it, such as gzip/json
	Bytes   int64       `json:"bytes"`            // of the input
	Known   string      `json:"known,omitempty"`  // why the trace was not converted: the dataset has it
	Error   string      `json:"error,omitempty"`
	Err     error       `json:"-"` // why it could not be converted, or nil
	Tables  []TableSize `json:"tables,omitempty"`
	Losses
	Seconds float64 `json:"seconds"`
}

// describe notes what the manifest of a finished trace says.
func (t *Trace) describe(m *Manifest) {
	t.TraceID, t.Format, t.Bytes = m.TraceID, m.Input.Formats(), m.Input.Bytes
	for _, table := range m.Tables {
		t.Tables = append(t.Tables, TableSize{table.Name, table.Rows, table.Bytes})
	}
}

// FormatTitle returns what messages call the formats of a trace: pprof (gzip) for gzip/pprof.
func FormatTitle(formats string) string { return ingest.Title(formats) }

// TableSize is the size of a table.
type TableSize struct {
	Name  string `json:"name"`
	Rows  int64  `json:"rows"`
	Bytes int64  `json:"bytes,omitempty"` // of its file
}

// Tables adds up the tables of all traces.
func (r *Result) Tables() []TableSize {
	var all []TableSize
	for _, t := range r.Traces {
		for _, size := range t.Tables {
			all = addTable(all, size)
		}
	}
	return all
}

// Losses adds up the losses of all traces.
func (r *Result) Losses() (all Losses) {
	for _, t := range r.Traces {
		all.Add(t.Losses)
	}
	return all
}

// addTable adds a size to that of the same table.
func addTable(all []TableSize, t TableSize) []TableSize {
	if i := slices.IndexFunc(all, func(o TableSize) bool { return o.Name == t.Name }); i >= 0 {
		all[i].Rows += t.Rows
		all[i].Bytes += t.Bytes
		return all
	}
	return append(all, t)
}

// Progress is the progress of a conversion.
type Progress struct {
	Read, Total       int64 // bytes of the inputs; Total is 0 if it is unknown
	Staged, Delivered int64 // events read before the latest sorting began, and events made into rows
	Rows              int64 // on their way to files
	Done, Of          int   // traces
	Elapsed           time.Duration
}

// Fraction returns the finished part of the work, from 0 to 1. It is not a number if Total is 0.
func (p Progress) Fraction() float64 {
	read := min(1, float64(p.Read)/float64(p.Total))
	// Reading events takes about as long as making rows of them. Some formats only make rows after all events are read.
	if p.Staged == 0 {
		return read / 2
	}
	return read * (1 + min(1, float64(p.Delivered)/float64(p.Staged))) / 2
}
