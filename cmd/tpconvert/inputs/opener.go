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

// OpenSession opens an input for SQL: a dataset, a DuckDB file, or a trace, which is converted first.
func OpenSession(ctx context.Context, input string, o session.Options, trace Opener) (*session.Session, error) {
	s, err := session.New(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := trace.Open(ctx, s, input, o.Perfetto); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Open opens an input in a session.
func (t Opener) Open(ctx context.Context, s *session.Session, input string, perfetto bool) error {
	info, err := os.Stat(input)
	switch {
	case input == api.StandardInput:
	case err != nil:
		return err
	case info.IsDir() && !api.IsTraceFolder(input):
		if traces, err := session.ReadTraces(ctx, input); perfetto && err == nil && traces != nil {
			return console.Usage(traces.Several())
		}
		return s.OpenDataset(ctx, input)
	case session.IsDuckDB(input):
		return s.OpenFile(ctx, input)
	}
	folder := filepath.Join(s.Scratch, "out")
	err = t.Convert(ctx, input, folder)
	if perfetto && errors.Is(err, api.ErrEmpty) {
		return s.OpenEmpty(ctx) // an empty trace, as for Trace Processor's shell
	}
	if err != nil {
		return err
	}
	return s.OpenDataset(ctx, folder)
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

// Dataset returns an input that can be opened more than once: a trace, or a folder of traces, is converted to a temporary dataset,
// which drop removes.
func (t Opener) Dataset(ctx context.Context, input string) (path string, drop func() error, err error) {
	nothing := func() error { return nil }
	if info, err := os.Stat(input); input != api.StandardInput {
		if err != nil || session.IsDuckDB(input) {
			return input, nothing, err
		}
		if info.IsDir() && !api.IsTraceFolder(input) {
			if _, err := session.ReadTraces(ctx, input); !errors.Is(err, export.ErrForeign) {
				return input, nothing, nil
			}
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

// Convert converts a trace, and says of the outcome only that much is missing.
func (t Opener) Convert(ctx context.Context, trace, out string) error {
	result, err := Convert(ctx, t.UI, []string{trace}, out, api.Options{
		Memory: api.DefaultMemory, CropTrackEvents: t.Read.Crop, AnalyzeProtoContent: t.Read.Analyze, Symbols: t.Read.Symbols, Version: console.Version(),
		Stdin: t.Stdin, Compression: "snappy", Jobs: 1, Temporary: true,
	})
	if result != nil {
		for _, c := range result.Traces {
			if text := c.Alarm(); text != "" {
				t.UI.Message(slog.LevelWarn, c.Path, text)
			}
		}
	}
	if errors.Is(err, api.ErrIncomplete) { // the warning says so
		return nil
	}
	return err
}
