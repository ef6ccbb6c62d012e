// Package inputs opens what commands are given: datasets, DuckDB files, traces, which it converts, and folders of SQL modules.
package inputs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	api "github.com/tpconvert/tpconvert"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/console"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/rowformat"
	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/export/staging"
	"github.com/tpconvert/tpconvert/model/table"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// Opener converts a trace for SQL to run on.
type Opener struct {
	UI    console.Printer
	Stdin io.Reader
	Read  Reading
}

// Flags are the flags that commands share if they run SQL on an input.
type Flags struct {
	Format string // of the result
	Stdlib string
	Read   Reading
}

// Register adds the flags. The first format is the default.
func (o *Flags) Register(cmd *cobra.Command, formats []string) {
	flags := cmd.Flags()
	flags.StringVar(&o.Format, "format", formats[0], "format of the result: "+strings.Join(formats, ", "))
	flags.StringVar(&o.Stdlib, "stdlib", "", StdlibHelp)
	o.Read.Register(flags)
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
}

// Opener returns the opener of the command's input. Without --format, the format of --json is json.
func (o *Flags) Opener(cmd *cobra.Command, ui *console.UI, json string) Opener {
	if ui.JSON && !cmd.Flags().Changed("format") {
		o.Format = json
	}
	return Opener{UI: ui.Printer(cmd), Stdin: cmd.InOrStdin(), Read: o.Read}
}

// CheckFormat rejects a format of rows that does not exist or does not suit the output.
func CheckFormat(format string, out io.Writer) error {
	if err := rowformat.Check(format, out); err != nil {
		return console.Usage(err)
	}
	return nil
}

// OpenSession opens an input for SQL: a dataset, a DuckDB file, or a trace, which is read first.
func OpenSession(ctx context.Context, input string, o session.Options, trace Opener) (*session.Session, error) {
	s, err := session.New(ctx, o)
	if err != nil {
		return nil, err
	}
	if _, err := trace.Open(ctx, s, input, o.Perfetto); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Open opens an input in a session. It returns the facts of a trace that it reads for PerfettoSQL, and nil for other inputs.
func (t Opener) Open(ctx context.Context, s *session.Session, input string, perfetto bool) (*api.Facts, error) {
	if !IsTrace(input) {
		return nil, openDataset(ctx, s, input, perfetto)
	}
	if !perfetto {
		folder := filepath.Join(s.Scratch, "out")
		if err := t.Convert(ctx, input, folder); err != nil {
			return nil, err
		}
		return nil, s.OpenDataset(ctx, folder)
	}
	// The session begins while the trace is read, because it asks for no rows before a statement does.
	rows := newKept()
	begun := make(chan error, 1)
	go func() { begun <- s.OpenKept(rows) }()
	facts, err := t.read(ctx, input, rows)
	if errors.Is(err, api.ErrEmpty) {
		err = nil // an empty trace, as for Trace Processor's shell
	}
	return facts, errors.Join(err, <-begun)
}

// openDataset opens a dataset or a DuckDB file in a session.
func openDataset(ctx context.Context, s *session.Session, input string, perfetto bool) error {
	if info, err := os.Stat(input); err != nil {
		return err
	} else if !info.IsDir() {
		return s.OpenFile(ctx, input)
	}
	if traces, err := session.ReadTraces(ctx, input); perfetto && err == nil && traces != nil {
		return console.Usage(traces.Several())
	}
	return s.OpenDataset(ctx, input)
}

// OneTrace returns the folder of the trace with this id or name, if the input is a dataset of many, or the input.
func OneTrace(ctx context.Context, input, wanted string) (string, error) {
	if wanted == "" {
		return input, nil
	}
	traces, err := session.ReadTraces(ctx, input)
	if err != nil {
		return "", err
	}
	if traces == nil {
		return "", console.Usage(fmt.Errorf("--trace-id is for a dataset of many traces; %s is none", input))
	}
	folder, err := traces.Folder(wanted)
	if err != nil {
		return "", console.Usage(err)
	}
	return folder, nil
}

// IsTrace reports whether an input is one trace, not a dataset, a DuckDB file or a folder of traces.
func IsTrace(input string) bool {
	info, err := os.Stat(input)
	return input == api.StandardInput || err == nil && (info.IsDir() && api.IsTraceFolder(input) || !info.IsDir() && !session.IsDuckDB(input))
}

// Dataset returns an input that can be opened more than once: a trace, or a folder of traces, is converted to a temporary dataset,
// which drop removes.
func (t Opener) Dataset(ctx context.Context, input string) (path string, drop func() error, err error) {
	nothing := func() error { return nil }
	if !IsTrace(input) {
		info, err := os.Stat(input)
		if err != nil || !info.IsDir() {
			return input, nothing, err
		}
		if _, err := session.ReadTraces(ctx, input); !errors.Is(err, export.ErrForeign) {
			return input, nothing, nil
		}
	}
	folder, drop, err := staging.Temporary("tpconvert-trace-")
	if err != nil {
		return "", nothing, err
	}
	path = filepath.Join(folder, "out")
	if err := t.Convert(ctx, input, path); err != nil {
		return "", nothing, errors.Join(err, drop())
	}
	return path, drop, nil
}

// options say how a trace is read, and written to a dataset that ends with the process.
func (t Opener) options() api.Options {
	return api.Options{
		Memory: api.DefaultMemory, CropTrackEvents: t.Read.Crop, AnalyzeProtoContent: t.Read.Analyze, Symbols: t.Read.Symbols, Version: console.Version(),
		Stdin: t.Stdin, Compression: "snappy", Jobs: 1, Temporary: true,
	}
}

// Convert converts a trace, and says of the outcome only that much is missing.
func (t Opener) Convert(ctx context.Context, trace, out string) error {
	result, err := Convert(ctx, t.UI, []string{trace}, out, t.options())
	if result != nil {
		for _, c := range result.Traces {
			t.warn(c.Path, c.Losses)
		}
	}
	if errors.Is(err, api.ErrIncomplete) { // the warning says so
		return nil
	}
	return err
}

// Keep reads a trace into memory, and says of the outcome only that much is missing.
func (t Opener) Keep(ctx context.Context, trace string) (*table.Kept, error) {
	rows := newKept()
	if _, err := t.read(ctx, trace, rows); err != nil {
		rows.Close()
		return nil, err
	}
	return rows, nil
}

// read reads a trace with limited memory, and shows the progress.
func (t Opener) read(ctx context.Context, trace string, rows *table.Kept) (*api.Facts, error) {
	o := t.options()
	limited, stop := context.WithCancel(ctx)
	defer stop()
	LimitMemory(limited, o)
	show(&o, t.UI)
	o.Log = o.Log.With("trace", trace)
	facts, err := Interruptible(ctx, func() (*api.Facts, error) {
		facts, err := api.ReadFile(ctx, trace, rows, o)
		if err == nil {
			err = facts.Manifest(o).Describe(rows)
		}
		return facts, err
	})
	if err != nil {
		return nil, err
	}
	t.warn(trace, facts.Losses())
	return facts, nil
}

func (t Opener) warn(trace string, losses api.Losses) {
	if text := losses.Alarm(); text != "" {
		t.UI.Message(slog.LevelWarn, trace, text)
	}
}
