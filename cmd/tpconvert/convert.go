package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	api "github.com/tpconvert/tpconvert"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/console"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/inputs"
	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/export/staging"
	"github.com/tpconvert/tpconvert/model/table"
)

// convertOptions are the flags of the convert command.
type convertOptions struct {
	format       string
	compression  string
	tables       []string
	rowGroupRows int
	memory       console.ByteSize
	maxMemory    console.ByteSize
	jobs         int
	traceID      string
	emptyTables  bool
	force        bool
	append       bool
	strict       bool
	duckdb       string
	rangeOptions
	registerOptions
	mergeOptions
	inputs.Reading
	redaction inputs.Redaction
}

func newConvertCommand(ui *console.UI) *cobra.Command {
	o := convertOptions{memory: api.DefaultMemory}
	cmd := &cobra.Command{
		Use:   "tpconvert [flags] TRACE... OUT",
		Short: "Convert traces into datasets of Parquet or Arrow files",
		Long:  rootHelp,
		Example: `  tpconvert trace.json.gz out/
  curl -s https://example.com/trace | tpconvert - out/
  tpconvert --merge system.pftrace app.json --offset app.json=+20ms out/
  tpconvert --tables slice,thread_track,thread --compression zstd:9 traces/*.json out/`,
		Args: convertArguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			last := len(args) - 1
			options, err := o.library()
			if err != nil {
				return err
			}
			options.Stdin = cmd.InOrStdin()
			return o.run(cmd.Context(), ui.Printer(cmd), args[:last], args[last], options)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.format, "format", export.Parquet, "format of the files: parquet or arrow (Arrow IPC)")
	flags.StringVar(&o.compression, "compression", "zstd", "zstd[:level], gzip[:level], snappy or none")
	flags.StringSliceVar(&o.tables, "tables", nil, "tables to write (default: all with rows, and the core tables)")
	flags.IntVar(&o.rowGroupRows, "row-group-rows", table.DefaultChunkRows, "rows in a Parquet row group or Arrow batch")
	flags.Var(&o.memory, "memory", "memory for sorting, for all traces together; events beyond it go to temporary files")
	flags.Var(&o.maxMemory, "max-memory", "memory above which traces are postponed; a trace that needs more on its own fails (default: no limit)")
	flags.IntVarP(&o.jobs, "jobs", "j", runtime.GOMAXPROCS(0), "traces to convert, and files to encode, at once")
	flags.StringVar(&o.traceID, "trace-id", "", "id of the trace (default: t_ and 16 hex digits of its SHA-256)")
	flags.BoolVar(&o.emptyTables, "empty-tables", false, "also write tables without rows")
	flags.BoolVarP(&o.force, "force", "f", false, "replace the dataset if OUT has one")
	flags.BoolVar(&o.append, "append", false, "add to a dataset of many traces, even a single TRACE")
	flags.StringVar(&o.duckdb, "duckdb", "", "also make a DuckDB file of the dataset, like \"tpconvert register\"")
	o.rangeOptions.register(flags)
	o.registerOptions.register(flags)
	o.mergeOptions.register(flags)
	o.Reading.Register(flags)
	o.redaction.Register(flags)
	flags.BoolVar(&o.strict, "strict", false, "fail if data was lost or damaged; the dataset is still written")
	_ = cmd.RegisterFlagCompletionFunc("tables", completeTableList)
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{export.Parquet, export.Arrow}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("compression", cobra.FixedCompletions([]string{"zstd", "gzip", "snappy", "none"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// library returns the options of the conversion.
func (o *convertOptions) library() (api.Options, error) {
	l := api.Options{
		Memory:              int64(o.memory),
		RowGroupRows:        o.rowGroupRows,
		CropTrackEvents:     o.Crop,
		AnalyzeProtoContent: o.Analyze,
		Symbols:             o.Symbols,
		Version:             console.Version(),
		Format:              o.format,
		Compression:         o.compression,
		Range:               o.rangeOptions.library(),
		Tables:              o.tables,
		EmptyTables:         o.emptyTables,
		TraceID:             o.traceID,
		Jobs:                o.jobs,
		MaxMemory:           int64(o.maxMemory),
		Append:              o.append,
		Force:               o.force,
		Strict:              o.strict,
	}
	switch {
	case o.jobs < 1:
		return l, console.Usage(errors.New("--jobs must be at least 1"))
	case o.rowGroupRows < 1:
		return l, console.Usage(errors.New("--row-group-rows must be at least 1"))
	}
	var err error
	if l.Redact, err = o.redaction.Library(); err != nil {
		return l, console.Usage(err)
	}
	l.Merge, err = o.mergeOptions.library()
	return l, err
}

// run converts traces, and then makes the DuckDB file if there should be one.
func (o *convertOptions) run(ctx context.Context, ui console.Printer, traces []string, out string, options api.Options) error {
	if o.duckdb != "" {
		undo, err := staging.MakeParents(out) // the file may be in one of them
		if err != nil {
			return err
		}
		defer undo()
		o.replace = o.force
		if err := o.admit(ctx, o.duckdb); err != nil {
			return err
		}
	}
	follow := followWorkingDirectory(ui)
	result, err := inputs.Convert(ctx, ui, traces, out, options)
	if result != nil {
		ui.Summary(console.Summary{Result: result})
	}
	follow()
	if err != nil || o.duckdb == "" {
		return err
	}
	err = o.registerFile(ctx, out, o.duckdb)
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("interrupted: %s is complete, %s was not written: %w", out, o.duckdb, err)
	}
	return err
}

// followWorkingDirectory returns a function that enters the working directory anew if a dataset has replaced it.
func followWorkingDirectory(ui console.Printer) func() {
	before, err := os.Stat(".")
	path, pathErr := os.Getwd()
	if err != nil || pathErr != nil {
		return func() {}
	}
	return func() {
		after, err := os.Stat(path)
		if err != nil || os.SameFile(before, after) {
			return
		}
		if err := os.Chdir(path); err == nil {
			ui.Message(slog.LevelWarn, path, "the dataset has replaced this folder; a shell in it sees the dataset after cd .")
		}
	}
}
