// Package tpconvert converts traces into datasets of Parquet or Arrow files with the tables of Perfetto's Trace Processor, and
// opens such datasets.
//
// [Convert] writes one trace as OUT/<table>.parquet, and several as OUT/trace_id=<id>/<table>.parquet. [Open] opens what it
// wrote, for PerfettoSQL or for a DuckDB connection of the caller. [Read] hands the rows of a trace to the caller instead of
// writing files. The command tpconvert is made of them. The package links no DuckDB and needs no C compiler.
//
// Times are nanoseconds of the trace clock, sizes are bytes. Errors name options by the flags of the command.
package tpconvert

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/export/staging"
	"github.com/tpconvert/tpconvert/ingest"
	"github.com/tpconvert/tpconvert/internal/convert"
	"github.com/tpconvert/tpconvert/model/redact"
	"github.com/tpconvert/tpconvert/model/schema"
)

// The formats of a dataset's files.
const (
	Parquet = export.Parquet
	Arrow   = export.Arrow // Arrow IPC
)

// Range is the part of a trace from one moment until before another: its events that reach into it, and what those refer to.
type Range = export.Range

// Time is a moment of a trace.
type Time = export.Time

// Redaction says which texts of traces are replaced, and by what. docs/fleet/access.md says what is covered.
type Redaction = redact.Rules

// NewRedaction returns a redaction by keyed hashes, with a secret key of at least 16 bytes. What the regular expressions in patterns match
// is replaced in all texts. Columns are TABLE.COLUMN for whole texts, or args:KEY for values of args; * and ? in them stand for any
// characters.
func NewRedaction(key []byte, patterns, columns []string) (*Redaction, error) {
	r, err := redact.New(key, patterns, columns)
	if err != nil {
		return nil, convert.OptionError("redaction: %w", err)
	}
	return r, nil
}

// DefaultMemory is the default of Options.Memory, in bytes.
const DefaultMemory = 128 << 20

// Options say how traces are read and written. The zero value is the default of each.
type Options struct {
	// Reading

	Memory              int64          // for sorting, for all traces together, in bytes; events beyond it go to temporary files; 0 means DefaultMemory
	RowGroupRows        int            // rows of a chunk, which is a Parquet row group or an Arrow batch; 0 means 100,000
	CropTrackEvents     bool           // leave out track events before the trace's range of interest
	Symbols             []string       // folders with binaries that traces refer to, for unwinding stacks and naming functions; the folder of a trace and perf's cache of binaries are searched, too
	AnalyzeProtoContent bool           // add up the sizes of fields in Perfetto traces, in the table experimental_proto_content
	Redact              *Redaction     // what tables, manifests and errors in the dataset must not show; nil means nothing
	Version             string         // of the converter, for the dataset; "" means this module's
	Stdin               io.Reader      // the input StandardInput
	Log                 *slog.Logger   // what happens, with the attribute "trace" for the path of a trace; nil means nowhere
	Progress            func(Progress) // is told of the progress of Convert and ReadFile, 5 times a second

	// Writing

	Format      string   // Parquet (also "") or Arrow, which is for one trace only
	Compression string   // zstd[:level] (also ""), gzip[:level], snappy or none
	Range       Range    // the part of each trace to write
	Tables      []string // tables to write; nil means all with rows, and the core tables
	EmptyTables bool     // also write tables without rows
	TraceID     string   // of the only trace; "" means t_ and 16 hexadecimal digits of its SHA-256
	Jobs        int      // traces to convert, and files to encode, at once; 0 means GOMAXPROCS
	MaxMemory   int64    // of the process, in bytes; traces are postponed above it, and one that needs more on its own fails with ErrMemory; 0 means no limit
	Append      bool     // add to a dataset of many traces, even a single trace
	Force       bool     // replace the dataset, or the traces in a dataset of many
	Merge       *Merge   // makes one trace of all inputs, unless it is nil
	Strict      bool     // fail with ErrDataLost if data was lost or damaged; the dataset is still written
	Temporary   bool     // the files need not reach the disk, because the dataset ends with the process
}

// Convert converts traces to a dataset in the folder out. Inputs are paths of files and of folders of them, or StandardInput.
//
// One file gives a dataset of one trace. Several files, a folder or Options.Append give a dataset of many; traces whose file or
// content it already has are not converted again. Each trace is written completely or not at all. Missing folders above out
// are made.
//
// The result is nil if nothing was written. It is there beside these errors: ErrIncomplete and ErrDataLost after the dataset
// is written; a *FailedError if some of many traces could not be converted. Others are an *InputError for a trace that cannot
// be read, ErrExists without Options.Force, ErrForeign and ErrTarget for an unsuitable out, ErrOption, ErrMemory, and an
// *InterruptedError once ctx is done.
//
// The settings of the garbage collector are the caller's. Several calls may run at once, also on the same dataset of many
// traces.
func Convert(ctx context.Context, inputs []string, out string, o Options) (*Result, error) {
	begun := time.Now()
	undo, err := staging.MakeParents(out)
	if err != nil {
		return nil, err
	}
	defer undo() // keeps folders that contain a dataset
	target, err := o.export()
	if err != nil {
		return nil, err
	}
	conversion := convert.Options{Reading: o.reading(), Dataset: target, TraceID: o.TraceID, MaxMemory: o.MaxMemory, Append: o.Append}
	if o.Merge != nil {
		conversion.Merge = o.Merge.text
	}
	c, err := convert.New(ctx, inputs, out, conversion)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if o.Progress != nil {
		defer o.tell(progressOf(c, begun))()
	}
	return o.result(c.Run(ctx), out, begun)
}

// reading returns the options of reading.
func (o *Options) reading() convert.Reading {
	return convert.Reading{
		Ingest: ingest.Options{
			Memory:   cmp.Or(o.Memory, DefaultMemory),
			Version:  o.version(),
			Crop:     o.CropTrackEvents,
			Analyze:  o.AnalyzeProtoContent,
			Binaries: o.Symbols,
		},
		ChunkRows: o.RowGroupRows,
		Redact:    o.Redact,
		Stdin:     o.Stdin,
		Log:       o.log(),
	}
}

// export returns the options of the dataset.
func (o *Options) export() (export.Options, error) {
	compression, err := export.ParseCompression(cmp.Or(o.Compression, "zstd"))
	return export.Options{
		Schemas:     schema.All(),
		Format:      o.Format,
		Compression: compression,
		Tables:      o.Tables,
		EmptyTables: o.EmptyTables,
		Jobs:        o.Jobs,
		Version:     o.version(),
		Range:       o.Range,
		Force:       o.Force,
		Temporary:   o.Temporary,
	}, err
}

// version returns the version of the converter.
func (o *Options) version() string {
	const module = "github.com/tpconvert/tpconvert"
	if o.Version != "" {
		return o.Version
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range append(info.Deps, &info.Main) {
			if m.Path == module && m.Version != "" {
				return m.Version
			}
		}
	}
	return "(devel)"
}

func (o *Options) log() *slog.Logger {
	if o.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Log
}
