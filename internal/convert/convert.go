// Package convert carries out a conversion, from inputs to sealed chunks or a dataset.
package convert

import (
	"io"
	"log/slog"
	"strings"

	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/ingest"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/redact"
)

// Reading says how traces are read.
type Reading struct {
	Ingest    ingest.Options // with the memory for all traces together, without what depends on a trace
	ChunkRows int            // 0 means the default
	Redact    *redact.Rules  // or nil
	Stdin     io.Reader      // the input tracefile.StandardInput
	Log       *slog.Logger
	Aligned   func(*model.Store) // is told when the clocks of a trace are known, unless it is nil
}

// Options say how traces become a dataset.
type Options struct {
	Reading
	Dataset   export.Options
	TraceID   string // of the only trace; "" means that of its content
	MaxMemory int64  // of the process, in bytes; 0 means no limit
	Append    bool   // add to a dataset of many traces, even a single trace
	// Merge makes one trace of all, with the manifest that it returns for their names, or nil. It is nil if they are not merged.
	Merge func(names []string) ([]byte, error)
}

// check rejects options that do not suit the number of traces.
func (o *Options) check(inputs []string, traces int) error {
	switch {
	case traces == 0:
		return OptionError("%s contains no traces", strings.Join(inputs, ", "))
	case traces > 1 && o.TraceID != "":
		return OptionError("--trace-id needs a single trace, but there are several")
	case o.TraceID != "":
		return export.CheckTraceID(o.TraceID)
	}
	return nil
}

// Trace is the outcome for one trace.
type Trace struct {
	Path     string
	TraceID  string           // of a trace that is known
	Known    string           // why the trace was not converted: the dataset has it
	Manifest *export.Manifest // of a trace that was converted, or nil
	Losses   export.Losses
	Err      error // why it could not be converted, or nil
	Seconds  float64
}

// Outcome is what a conversion has done.
type Outcome struct {
	Many        bool // the dataset is of many traces
	Traces      []Trace
	Errs        []error // of traces
	Of          int     // traces
	Interrupted error   // of the context, or nil
	Committed   int     // of an interrupted conversion, which has no Traces and Errs
}
