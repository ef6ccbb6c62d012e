package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tpconvert/tpconvert/cmd/tpconvert/inputs"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/rowformat"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/lake"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/query"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// queryOptions are the flags of the query command.
type queryOptions struct {
	lakeOptions
	pickOptions
	query.Query
	file, stdlib string
	facts        []string // columns of the ledger
	part         string
	format       string
}

func newQueryCommand() *cobra.Command {
	var o queryOptions
	cmd := &cobra.Command{
		Use:   "query [SQL]",
		Short: "Run PerfettoSQL on each of many traces, for one table",
		Long: `Run PerfettoSQL on each of the traces in the tables, on all cores. The rows of all traces are one table, in the order of
trace_id, which is the first column; those of --columns follow. All statements but the last one prepare it.

A trace for which it fails is named on stderr and left out, and the exit code is then 1. Without --where or --list, all traces
are queried. --part 2/8 takes the second of eight parts of the traces, so that eight processes query all.

In --where, SQLite's SQL is over the columns of the ledger.`,
		Example: `  tpfleet query --lake lake/ 'SELECT name, sum(dur) AS dur FROM slice GROUP BY name'
  tpfleet query --where "android_sdk_version >= 35" --columns trace_day,android_build_fingerprint --file startups.sql --format parquet >startups.parquet`,
		Args: arguments(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.read(args); err != nil {
				return err
			}
			return o.run(cmd)
		},
	}
	o.lakeOptions.register(cmd.Flags())
	o.pickOptions.register(cmd.Flags())
	flags := cmd.Flags()
	flags.StringVar(&o.file, "file", "", "file with the SQL")
	flags.StringSliceVar(&o.facts, "columns", nil, "columns of the ledger to put before those of the SQL")
	flags.StringVar(&o.part, "part", "", "query only this part of the traces, such as 2/8")
	flags.IntVarP(&o.Jobs, "jobs", "j", runtime.GOMAXPROCS(0), "traces at a time")
	flags.StringVar(&o.format, "format", "table", "one of "+strings.Join(rowformat.Names, ", "))
	flags.StringVar(&o.stdlib, "stdlib", "", stdlibHelp)
	return cmd
}

// read checks the flags, and reads the SQL.
func (o *queryOptions) read(args []string) error {
	if (len(args) == 1) == (o.file != "") {
		return usageError{errors.New("the SQL is either an argument or in --file")}
	}
	if o.Jobs < 1 {
		return usageError{errors.New("--jobs must be at least 1")}
	}
	if err := rowformat.Check(o.format, os.Stdout); err != nil {
		return usageError{err}
	}
	if o.SQL = strings.Join(args, ""); o.file != "" {
		text, err := os.ReadFile(o.file)
		if err != nil {
			return err
		}
		o.SQL = string(text)
	}
	o.Modules = inputs.Modules(o.stdlib)
	return nil
}

// partOf returns the part of the traces that a text such as 2/8 names.
func partOf(text string, traces []lake.Selected) ([]lake.Selected, error) {
	if text == "" {
		return traces, nil
	}
	var n, parts int
	if count, err := fmt.Sscanf(text, "%d/%d", &n, &parts); err != nil || count != 2 || n < 1 || n > parts || text != fmt.Sprintf("%d/%d", n, parts) {
		return nil, usageError{fmt.Errorf("--part %q is not one such as 2/8", text)}
	}
	return traces[len(traces)*(n-1)/parts : len(traces)*n/parts], nil
}

func (o *queryOptions) run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	p := lake.Picked{Where: "true"}
	if o.where != "" || o.list != "" {
		var err error
		if p, err = o.picked(nil, cmd.InOrStdin()); err != nil {
			return err
		}
	}
	columns, err := o.Columns(ctx)
	if err != nil {
		columns = nil // it may need rows
	}
	wrong := err
	l, _, _, err := o.open(ctx, nil)
	if err != nil {
		return err
	}
	selected, err := l.Select(ctx, p, o.facts)
	if errors.Is(err, lake.ErrNoColumn) {
		return usageError{err}
	}
	if err != nil {
		return pickError(err)
	}
	defer selected.Close()
	debug.SetGCPercent(100)
	total := len(selected.Traces)
	if selected.Traces, err = partOf(o.part, selected.Traces); err != nil {
		return err
	}
	out := &rows{format: o.format, out: cmd.OutOrStdout(), facts: o.facts, columns: columns}
	failed := 0
	err = o.Each(ctx, selected, func(r query.Result) error {
		if r.Err != nil && wrong != nil { // also without rows
			return usageError{wrong}
		}
		if r.Err != nil {
			failed++
			slog.WarnContext(ctx, "left out", "trace_id", r.Trace.ID, "error", r.Err)
			return nil
		}
		return out.add(r)
	})
	if err == nil && out.columns == nil && wrong != nil {
		err = usageError{wrong}
	}
	if err == nil {
		err = out.end()
	}
	if err == nil && failed > 0 {
		err = fmt.Errorf("the SQL failed for %d of %d traces, which are left out", failed, len(selected.Traces))
	}
	slog.InfoContext(ctx, "queried", "traces", len(selected.Traces)-failed, "of", total, "rows", out.n)
	return err
}

// rows prints the rows of all traces. Formats whose columns have types get them at the end.
type rows struct {
	format  string
	out     io.Writer
	facts   []string
	columns []string // of the SQL, nil until they are known

	writer rowformat.Writer
	kept   [][]any
	n      int
}

// add adds the rows of a trace.
func (w *rows) add(r query.Result) error {
	if w.columns == nil {
		w.columns = r.Columns
	}
	if !slices.Equal(w.columns, r.Columns) {
		return fmt.Errorf("trace %s has the columns %s, others have %s", r.Trace.ID, strings.Join(r.Columns, ", "), strings.Join(w.columns, ", "))
	}
	if w.writer == nil && (w.format == "csv" || w.format == "json" || w.format == "ndjson") {
		if err := w.begin(nil); err != nil {
			return err
		}
	}
	w.n += len(r.Rows)
	for _, row := range r.Rows {
		row = append(append([]any{r.Trace.ID}, r.Trace.Facts...), row...)
		if w.writer == nil {
			w.kept = append(w.kept, row)
		} else if err := w.writer.Row(row); err != nil {
			return err
		}
	}
	return nil
}

// begin begins the output, with the kinds of columns if they are known.
func (w *rows) begin(kinds session.Kinds) (err error) {
	var columns []session.Column
	for i, name := range slices.Concat([]string{"trace_id"}, w.facts, w.columns) {
		c := session.Column{Name: name, Kind: session.Variant}
		if kinds != nil {
			c.Kind = kinds.Of(i)
		}
		columns = append(columns, c)
	}
	w.writer, err = rowformat.New(w.format, w.out, columns)
	return err
}

func (w *rows) end() error {
	if w.writer == nil {
		kinds := make(session.Kinds, 1+len(w.facts)+len(w.columns))
		for _, row := range w.kept {
			kinds.Add(row)
		}
		if err := w.begin(kinds); err != nil {
			return err
		}
		for _, row := range w.kept {
			if err := w.writer.Row(row); err != nil {
				return err
			}
		}
	}
	return w.writer.End()
}
