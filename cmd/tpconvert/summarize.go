package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/sqlfuncs/metrics"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// summarizeOptions are the flags of the summarize command.
type summarizeOptions struct {
	ids      []string
	metadata string
	format   string
	output   string
	compare  string
	stdlib   string
	read     readOptions
}

// summaryFormats are the formats of whole summaries; the others are those of rows.
var summaryFormats = []string{"textproto", "proto"}

func newSummarizeCommand(ui *uiOptions) *cobra.Command {
	var o summarizeOptions
	formats := append([]string{"table", "csv", "json", "ndjson", "markdown"}, summaryFormats...)
	cmd := &cobra.Command{
		Use:   "summarize [flags] [SPEC...] INPUT",
		Short: "Compute metrics of a trace or of many",
		Long: `Compute the metrics that each SPEC defines, for INPUT: a dataset, a DuckDB file
made by tpconvert, or a trace, which is converted first. SPEC is a file with
Perfetto's TraceSummarySpec, as text or encoded, or one of

    ` + strings.Join(metrics.Builtin(), ", ") + `

which are all computed without SPEC. Metrics with the same dimensions and query
share a table. With --output it is a Parquet file, which for a dataset of many
traces has the column trace_id. --format textproto or proto gives Perfetto's
TraceSummary. Modules of SQL that a SPEC refers to need --stdlib.`,
		Example: `  tpconvert summarize slices out/
  tpconvert summarize --compare before/ cpu after/
  tpconvert summarize --output metrics/ startup.textproto many/
  tpconvert summarize --format textproto --metric memory_per_process spec.textproto trace.pftrace`,
		Args: arguments(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if ui.json && !cmd.Flags().Changed("format") {
				o.format = "ndjson"
			}
			last := len(args) - 1
			trace := opener{ui: ui.printer(cmd), stdin: cmd.InOrStdin(), read: o.read}
			return o.run(cmd.Context(), trace, args[:last], args[last], cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&o.ids, "metric", nil, "metrics to compute, by id; by default all of the specs")
	flags.StringVar(&o.metadata, "metadata-query", "", "id of the query whose keys and values become metadata of Perfetto's TraceSummary")
	flags.StringVar(&o.format, "format", "table", "format of the result: "+strings.Join(formats, ", "))
	flags.StringVarP(&o.output, "output", "o", "", "new folder for a Parquet file of each table")
	flags.StringVar(&o.compare, "compare", "", "show the difference from this dataset, DuckDB file or trace")
	flags.StringVar(&o.stdlib, "stdlib", "", stdlibHelp)
	o.read.register(flags)
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (o *summarizeOptions) run(ctx context.Context, trace opener, specs []string, input string, out io.Writer) error {
	isSummary := o.format == "textproto" || o.format == "proto"
	switch {
	case isSummary && o.output+o.compare != "":
		return usageError{fmt.Errorf("--format %s is for neither --output nor --compare", o.format)}
	case !isSummary:
		if err := checkRowFormat(o.format, out); err != nil {
			return usageError{fmt.Errorf("--format %q: want textproto, proto or a format of rows", o.format)}
		}
	}
	s, err := readSpecs(specs)
	if err != nil {
		return err
	}
	traces, err := traceIDs(input)
	if err != nil {
		return err
	}
	if traces != nil && (isSummary || o.compare != "") {
		return usageError{fmt.Errorf("--compare, and --format textproto and proto, are for one trace; %s has many", input)}
	}
	if isSummary {
		one, err := o.summarize(ctx, s, trace, input, "")
		if err != nil {
			return err
		}
		return writeSummary(out, o.format, one)
	}
	all, err := o.tables(ctx, s, trace, input, traces)
	if err != nil {
		return err
	}
	if o.compare != "" {
		base, err := o.tables(ctx, s, trace, o.compare, nil)
		if err != nil {
			return fmt.Errorf("%s: %w", o.compare, err)
		}
		for i := range all {
			all[i] = all[i].Compare(base[i])
		}
	}
	if o.output != "" {
		return writeTables(o.output, all)
	}
	for i, t := range all {
		if i > 0 && o.format != "ndjson" {
			fmt.Fprintln(out)
		}
		switch {
		case o.format == "table" || o.format == "markdown":
			fmt.Fprintf(out, "%s\n\n", t.ID)
		case len(all) > 1:
			t = named(t)
		}
		if err := writeTable(out, o.format, t); err != nil {
			return err
		}
	}
	return nil
}

// readSpecs reads the specs, which are files or names.
func readSpecs(names []string) (*metrics.Summarizer, error) {
	if len(names) == 0 {
		names = metrics.Builtin()
	}
	var s metrics.Summarizer
	for _, name := range names {
		text, ok := metrics.Spec(name)
		if !ok {
			var err error
			if text, err = os.ReadFile(name); err != nil {
				return nil, err
			}
		}
		if err := s.Add(text); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return &s, nil
}

// traceIDs returns the traces of a dataset of many, or nil for any other input.
func traceIDs(input string) ([]string, error) {
	if info, err := os.Stat(input); err != nil || !info.IsDir() {
		return nil, nil // opening it reports the error
	}
	manifests, many, err := export.ReadManifests(input)
	if err != nil || !many {
		return nil, err
	}
	ids := []string{}
	for _, m := range manifests {
		ids = append(ids, m.TraceID)
	}
	return ids, nil
}

// tables computes the tables of an input, or of all traces of a dataset of many.
func (o *summarizeOptions) tables(ctx context.Context, s *metrics.Summarizer, trace opener, input string, traces []string) ([]metrics.Table, error) {
	if traces == nil {
		one, err := o.summarize(ctx, s, trace, input, "")
		if err != nil {
			return nil, err
		}
		return one.Tables()
	}
	var all []metrics.Table
	for _, id := range traces {
		one, err := o.summarize(ctx, s, trace, input, id)
		if err != nil {
			return nil, fmt.Errorf("trace %s: %w", id, err)
		}
		if all, err = appendTables(all, one, id); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// summarize computes the metrics of a trace, by its id in a dataset of many.
func (o *summarizeOptions) summarize(ctx context.Context, s *metrics.Summarizer, trace opener, input, id string) (*metrics.Summary, error) {
	db, err := session.New(ctx, session.Options{Perfetto: true, Modules: modules(o.stdlib), Access: session.ReadData})
	if err != nil {
		return nil, err
	}
	defer db.Close()
	if id != "" {
		err = db.OpenTrace(ctx, input, id)
	} else {
		err = trace.open(ctx, db, input, true)
	}
	if err != nil {
		return nil, err
	}
	return s.Summarize(ctx, db, o.ids, o.metadata)
}

func writeSummary(out io.Writer, format string, s *metrics.Summary) error {
	encode := s.Encode
	if format == "textproto" {
		encode = s.Text
	}
	encoded, err := encode()
	if err != nil {
		return err
	}
	_, err = out.Write(encoded)
	return err
}

// appendTables appends the rows of a trace, with its id in the first column.
func appendTables(all []metrics.Table, s *metrics.Summary, id string) ([]metrics.Table, error) {
	tables, err := s.Tables()
	if err != nil {
		return nil, err
	}
	for i, t := range tables {
		if i == len(all) {
			all = append(all, metrics.Table{ID: t.ID, Dimensions: t.Dimensions + 1, Columns: append([]session.Column{{Name: "trace_id", Kind: session.Text}}, t.Columns...)})
		}
		for _, row := range t.Rows {
			all[i].Rows = append(all[i].Rows, append([]any{id}, row...))
		}
	}
	return all, nil
}

// named returns a table with its id in the first column, "metric".
func named(t metrics.Table) metrics.Table {
	t.Columns = append([]session.Column{{Name: "metric", Kind: session.Text}}, t.Columns...)
	rows := make([][]any, len(t.Rows))
	for i, row := range t.Rows {
		rows[i] = append([]any{t.ID}, row...)
	}
	t.Rows = rows
	return t
}

func writeTable(out io.Writer, format string, t metrics.Table) error {
	w, err := newRowWriter(format, out, t.Columns)
	if err != nil {
		return err
	}
	for _, row := range t.Rows {
		if err := w.row(row); err != nil {
			return err
		}
	}
	return w.end()
}

// writeTables writes a Parquet file of each table into a new folder, which appears once it is
// complete.
func writeTables(folder string, tables []metrics.Table) (err error) {
	if _, err := os.Lstat(folder); err == nil {
		return fmt.Errorf("%s %w", folder, export.ErrExists)
	}
	parent, name := filepath.Split(filepath.Clean(folder))
	prefix := "." + name + ".tpconvert-metrics-"
	parent = cmp.Or(parent, ".")
	if err := export.Sweep(parent, prefix, nil); err != nil {
		return err
	}
	stage, err := export.NewStage(parent, prefix)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stage.Remove()) }()
	for _, t := range tables {
		f, err := os.Create(filepath.Join(stage.Path, strings.ReplaceAll(t.ID, string(filepath.Separator), "_")+"."+export.Parquet))
		if err != nil {
			return err
		}
		if err := errors.Join(writeTable(struct{ io.Writer }{f}, export.Parquet, t), f.Close()); err != nil { // the Parquet writer would close f
			return err
		}
	}
	return os.Rename(stage.Path, folder)
}
