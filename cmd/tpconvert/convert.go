package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/model/table"
)

// convertOptions are the flags of the convert command.
type convertOptions struct {
	format       string
	compression  string
	tables       []string
	rowGroupRows int
	memory       byteSize
	maxMemory    byteSize
	jobs         int
	traceID      string
	emptyTables  bool
	force        bool
	temporary    bool
	append       bool
	strict       bool
	duckdb       string
	registerOptions
	mergeOptions
	read readOptions
}

func newConvertCommand(ui *uiOptions) *cobra.Command {
	o := convertOptions{memory: defaultMemory}
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
			r := &run{ui: ui.printer(cmd), options: o, out: args[last]}
			r.reader.stdin = cmd.InOrStdin()
			if err := o.mergeOptions.check(); err != nil {
				return err
			}
			undo, err := makeParents(r.out)
			if err != nil {
				return err
			}
			defer undo() // keeps folders that contain a dataset
			if o.duckdb == "" {
				return r.convert(cmd.Context(), args[:last])
			}
			o.replace = o.force
			if err := o.admit(cmd.Context(), o.duckdb); err != nil {
				return err
			}
			if err := r.convert(cmd.Context(), args[:last]); err != nil {
				return err
			}
			err = o.registerFile(cmd.Context(), r.out, o.duckdb)
			if errors.Is(err, context.Canceled) {
				return fmt.Errorf("interrupted: %s is complete, %s was not written: %w", r.out, o.duckdb, err)
			}
			return err
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
	o.registerOptions.register(flags)
	o.mergeOptions.register(flags)
	o.read.register(flags)
	flags.BoolVar(&o.strict, "strict", false, "fail if data was lost or damaged; the dataset is still written")
	_ = cmd.RegisterFlagCompletionFunc("tables", completeTableList)
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{export.Parquet, export.Arrow}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("compression", cobra.FixedCompletions([]string{"zstd", "gzip", "snappy", "none"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// check rejects flags that do not suit the traces.
func (o *convertOptions) check(traces int) error {
	switch {
	case traces == 0:
		return errors.New("the folder contains no traces")
	case traces > 1 && o.traceID != "":
		return errors.New("--trace-id needs a single trace, but there are several")
	case o.jobs < 1:
		return errors.New("--jobs must be at least 1")
	case o.rowGroupRows < 1:
		return errors.New("--row-group-rows must be at least 1")
	case o.traceID != "":
		return export.CheckTraceID(o.traceID)
	}
	return nil
}

// export returns the options of the dataset.
func (o *convertOptions) export() (export.Options, error) {
	compression, err := export.ParseCompression(o.compression)
	return export.Options{
		Schemas:     schema.All(),
		Format:      o.format,
		Compression: compression,
		Tables:      o.tables,
		EmptyTables: o.emptyTables,
		Jobs:        o.jobs,
		Version:     version(),
		Force:       o.force,
		Temporary:   o.temporary,
	}, err
}
