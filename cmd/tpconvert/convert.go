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

// convertOptions are the flags of a conversion.
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
			defer undo() // which leaves what has a dataset in it
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
				return fmt.Errorf("interrupted: %s is complete, %s is not there: %w", r.out, o.duckdb, err)
			}
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.format, "format", export.Parquet, "format of the files: parquet or arrow (Arrow IPC)")
	flags.StringVar(&o.compression, "compression", "zstd", "zstd[:level], gzip[:level], snappy or none")
	flags.StringSliceVar(&o.tables, "tables", nil, "tables to write (default all that have rows, and the core ones)")
	flags.IntVar(&o.rowGroupRows, "row-group-rows", table.DefaultChunkRows, "rows of a Parquet row group or an Arrow batch")
	flags.Var(&o.memory, "memory", "memory for sorting, of all traces together; above it events go to temporary files")
	flags.Var(&o.maxMemory, "max-memory", "memory from which on traces are put off, and one that takes more alone is given up (default none)")
	flags.IntVarP(&o.jobs, "jobs", "j", runtime.GOMAXPROCS(0), "traces to convert, and files to encode, at one time")
	flags.StringVar(&o.traceID, "trace-id", "", "id of the trace (default t_ and 16 hex digits of its SHA-256)")
	flags.BoolVar(&o.emptyTables, "empty-tables", false, "write tables without rows too")
	flags.BoolVarP(&o.force, "force", "f", false, "replace the dataset if OUT has one")
	flags.BoolVar(&o.append, "append", false, "add one trace, too, to a dataset of many")
	flags.StringVar(&o.duckdb, "duckdb", "", "DuckDB file to make of the dataset, as \"tpconvert register\" does")
	o.registerOptions.register(flags)
	o.mergeOptions.register(flags)
	o.read.register(flags)
	flags.BoolVar(&o.strict, "strict", false, "fail if data was lost; the dataset is written all the same")
	_ = cmd.RegisterFlagCompletionFunc("tables", completeTableList)
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{export.Parquet, export.Arrow}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("compression", cobra.FixedCompletions([]string{"zstd", "gzip", "snappy", "none"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// check rejects flags that make no sense for the traces.
func (o *convertOptions) check(traces int) error {
	switch {
	case traces == 0:
		return errors.New("there are no traces in the folder")
	case traces > 1 && o.traceID != "":
		return errors.New("--trace-id is for one trace, and there are several")
	case o.jobs < 1:
		return errors.New("--jobs must be at least 1")
	case o.rowGroupRows < 1:
		return errors.New("--row-group-rows must be at least 1")
	case o.traceID != "":
		return export.CheckTraceID(o.traceID)
	}
	return nil
}

// export are the options of the dataset.
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
	}, err
}
