package main

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
	"github.com/tpconvert/tpconvert/export/staging"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// opener converts a trace for SQL to run on.
type opener struct {
	ui    console.Printer
	stdin io.Reader
	read  readOptions
}

// sqlOptions are the flags that commands share if they run SQL on an input.
type sqlOptions struct {
	format string // of the result
	stdlib string
	read   readOptions
}

// register adds the flags. The first format is the default.
func (o *sqlOptions) register(cmd *cobra.Command, formats []string) {
	flags := cmd.Flags()
	flags.StringVar(&o.format, "format", formats[0], "format of the result: "+strings.Join(formats, ", "))
	flags.StringVar(&o.stdlib, "stdlib", "", stdlibHelp)
	o.read.register(flags)
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
}

// opener returns the opener of the command's input. Without --format, the format of --json is json.
func (o *sqlOptions) opener(cmd *cobra.Command, ui *console.UI, json string) opener {
	if ui.JSON && !cmd.Flags().Changed("format") {
		o.format = json
	}
	return opener{ui: ui.Printer(cmd), stdin: cmd.InOrStdin(), read: o.read}
}

// openSession opens an input for SQL: a dataset, a DuckDB file, or a trace, which is converted first.
func openSession(ctx context.Context, input string, o session.Options, trace opener) (*session.Session, error) {
	s, err := session.New(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := trace.open(ctx, s, input, o.Perfetto); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (t opener) open(ctx context.Context, s *session.Session, input string, perfetto bool) error {
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
	err = t.convert(ctx, input, folder)
	if perfetto && errors.Is(err, api.ErrEmpty) {
		return s.OpenEmpty(ctx) // an empty trace, as for Trace Processor's shell
	}
	if err != nil {
		return err
	}
	return s.OpenDataset(ctx, folder)
}

// oneTrace returns the folder of the trace with this id or name, if the input is a dataset of many, or the input.
func oneTrace(ctx context.Context, input, wanted string) (string, error) {
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

// dataset returns an input that can be opened more than once: a trace is converted to a temporary dataset, which drop
// removes.
func (t opener) dataset(ctx context.Context, input string) (path string, drop func() error, err error) {
	nothing := func() error { return nil }
	if info, err := os.Stat(input); input != api.StandardInput && (err != nil || info.IsDir() && !api.IsTraceFolder(input) || session.IsDuckDB(input)) {
		return input, nothing, err
	}
	folder, drop, err := staging.Temporary("tpconvert-trace-")
	if err != nil {
		return "", nothing, err
	}
	path = filepath.Join(folder, "out")
	if err := t.convert(ctx, input, path); err != nil {
		return "", nothing, errors.Join(err, drop())
	}
	return path, drop, nil
}

// convert converts a trace, and says of the outcome only that much is missing.
func (t opener) convert(ctx context.Context, trace, out string) error {
	result, err := convert(ctx, t.ui, []string{trace}, out, api.Options{
		Memory: api.DefaultMemory, CropTrackEvents: t.read.crop, AnalyzeProtoContent: t.read.analyze, Version: console.Version(),
		Stdin: t.stdin, Compression: "snappy", Jobs: 1, Temporary: true,
	})
	if result != nil {
		for _, c := range result.Traces {
			if text := c.Alarm(); text != "" {
				t.ui.Message(slog.LevelWarn, c.Path, text)
			}
		}
	}
	if errors.Is(err, api.ErrIncomplete) { // the warning says so
		return nil
	}
	return err
}
