package tpconvert

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/ingest"
	"github.com/tpconvert/tpconvert/internal/convert"
	"github.com/tpconvert/tpconvert/internal/memory"
	"github.com/tpconvert/tpconvert/model"
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

// result returns the result of a conversion to the folder out.
func (o *Options) result(done convert.Outcome, out string, begun time.Time) (*Result, error) {
	switch {
	case done.Interrupted != nil:
		return nil, &InterruptedError{out, done.Committed, done.Of, done.Interrupted}
	case len(done.Errs) > 0 && !done.Many:
		return nil, done.Errs[0]
	}
	result := &Result{Out: out, Seconds: time.Since(begun).Seconds(), PeakMemory: memory.Peak()}
	for _, t := range done.Traces {
		result.Traces = append(result.Traces, traceOf(t))
	}
	if len(done.Errs) > 0 {
		return result, &FailedError{done.Errs, done.Of}
	}
	all := result.Losses()
	text := all.Describe(model.Lost, model.Damaged)
	switch {
	case o.Strict && text != "":
		return result, fmt.Errorf("%w: %s", ErrDataLost, text)
	case all.Incomplete:
		return result, ErrIncomplete
	}
	return result, nil
}

// describe notes what the manifest of a finished trace says.
func (t *Trace) describe(m *Manifest) {
	t.TraceID, t.Format, t.Bytes = m.TraceID, m.Input.Formats(), m.Input.Bytes
	for _, table := range m.Tables {
		t.Tables = append(t.Tables, TableSize{table.Name, table.Rows, table.Bytes})
	}
}

// traceOf returns the outcome for a trace of a conversion.
func traceOf(done convert.Trace) Trace {
	t := Trace{Path: done.Path, TraceID: done.TraceID, Known: done.Known, Err: done.Err, Losses: done.Losses, Seconds: done.Seconds}
	if done.Err != nil {
		t.Error = done.Err.Error()
	}
	if done.Manifest != nil {
		t.describe(done.Manifest)
	}
	return t
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

// progressInterval is the time between two reports of progress.
const progressInterval = 200 * time.Millisecond

// tell tells Progress of the progress until the returned function has been called.
func (o *Options) tell(progress func() Progress) (stop func()) {
	done := make(chan struct{})
	var telling sync.WaitGroup
	telling.Go(func() {
		tick := time.NewTicker(progressInterval)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				o.Progress(progress())
			}
		}
	})
	return func() {
		close(done)
		telling.Wait()
	}
}

// progressOf returns the function that gives the progress of a conversion.
func progressOf(c *convert.Conversion, begun time.Time) func() Progress {
	size := c.Size()
	return func() Progress {
		done, of, read := c.Progress()
		p := Progress{Total: size, Done: done, Of: of, Elapsed: time.Since(begun)}
		for _, counters := range read {
			p.add(counters)
		}
		return p
	}
}

// add adds what was done for a trace.
func (p *Progress) add(c *convert.Counters) {
	p.Read += c.Taken.Load()
	p.Rows += c.Rows.Load()
	p.Staged += c.Sorted.Staged.Load()
	p.Delivered += c.Sorted.Delivered.Load()
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
