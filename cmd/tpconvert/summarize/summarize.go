// Package summarize is the command that computes metrics of a trace or of many, and the difference between two.
package summarize

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tpconvert/tpconvert/cmd/tpconvert/console"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/inputs"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/rowformat"
	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/export/staging"
	"github.com/tpconvert/tpconvert/sqlfuncs/metrics"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// summarizeOptions are the flags of the summarize command.
type summarizeOptions struct {
	inputs.Flags
	specs    []string // in addition to the arguments
	ids      []string
	metadata string
	output   string
	compare  string
	traceID  string
	baseID   string // of the trace in compare
}

// summaryFormats are the formats of whole summaries; the others are those of rows.
var summaryFormats = []string{"textproto", "proto"}

// NewCommand returns the command.
func NewCommand(ui *console.UI) *cobra.Command {
	var o summarizeOptions
	formats := append([]string{"table", "csv", "json", "ndjson", "markdown"}, summaryFormats...)
	cmd := &cobra.Command{
		Use:   "summarize [flags] [SPEC...] INPUT",
		Short: "Compute metrics of one or many traces",
		Long: `Compute the metrics that each SPEC defines, for INPUT: a dataset, a DuckDB file
made by tpconvert, a folder with a fleet's tables, or a trace, which is read
first. SPEC is a file with Perfetto's TraceSummarySpec, as text or encoded, or one of

    ` + strings.Join(metrics.Builtin(), ", ") + `

Without SPEC, all of these are computed. Metrics with the same dimensions and query
share a table, which --output writes as a Parquet file. Tables of many traces have
the column trace_id, unless they relate the traces of a job. --format textproto or
proto gives Perfetto's TraceSummary. SQL modules that a SPEC refers to need
--stdlib.`,
		Example: `  tpconvert summarize slices out/
  tpconvert summarize --compare before/ cpu after/
  tpconvert summarize --output metrics/ startup.textproto many/
  tpconvert summarize --format textproto --metric memory_per_process spec.textproto trace.pftrace`,
		Args: console.Arguments(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			last := len(args) - 1
			trace := o.Opener(cmd, ui, "ndjson")
			return o.run(cmd.Context(), trace, append(o.specs, args[:last]...), args[last], cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&o.specs, "spec", nil, "SPEC, for scripts that give no other arguments than INPUT")
	flags.StringSliceVar(&o.ids, "metric", nil, "metrics to compute, by id; by default all metrics of the specs")
	flags.StringVar(&o.metadata, "metadata-query", "", "id of the query whose keys and values become metadata of Perfetto's TraceSummary")
	flags.StringVarP(&o.output, "output", "o", "", "new folder for a Parquet file of each table")
	flags.StringVar(&o.compare, "compare", "", "show the difference from this dataset, DuckDB file or trace")
	flags.StringVar(&o.traceID, "trace-id", "", "one trace in a dataset of many, by its id or name")
	flags.StringVar(&o.baseID, "compare-trace-id", "", "the same for --compare; by default that of --trace-id, if the dataset of --compare has many")
	o.Register(cmd, formats)
	return cmd
}

func (o *summarizeOptions) run(ctx context.Context, trace inputs.Opener, specs []string, input string, out io.Writer) error {
	isSummary := o.Format == "textproto" || o.Format == "proto"
	switch {
	case isSummary && o.output+o.compare != "":
		return console.Usage(fmt.Errorf("--format %s is for neither --output nor --compare", o.Format))
	case !isSummary:
		if err := inputs.CheckFormat(o.Format, out); err != nil {
			return console.Usage(fmt.Errorf("--format %q: want textproto, proto or a format of rows", o.Format))
		}
	}
	s, err := inputs.ReadSpecs(specs)
	if err != nil {
		return err
	}
	if input, err = inputs.OneTrace(ctx, input, o.traceID); err != nil {
		return err
	}
	if o.compare, err = o.base(ctx); err != nil {
		return err
	}
	traces, err := session.ReadTraces(ctx, input)
	if err != nil {
		return err
	}
	if traces != nil && (isSummary || o.compare != "") {
		return console.Usage(fmt.Errorf("--compare, and --format textproto and proto, are for one trace: %w, or with --trace-id", traces.Several()))
	}
	c := computation{o, s, trace, input, traces, nil}
	if traces != nil {
		c.ranks = s.Ranks(o.ids)
	}
	switch {
	case isSummary:
		return c.writeSummary(ctx, out)
	case o.output != "":
		return c.writeFolder(ctx)
	}
	return c.print(ctx, out)
}

// base returns the input of --compare, or the folder of one of its traces.
func (o *summarizeOptions) base(ctx context.Context) (string, error) {
	wanted := o.baseID
	if wanted == "" && o.traceID != "" {
		if traces, err := session.ReadTraces(ctx, o.compare); err != nil {
			return "", err
		} else if traces != nil {
			wanted = o.traceID
		}
	}
	return inputs.OneTrace(ctx, o.compare, wanted)
}

// computation computes the metrics of an input.
type computation struct {
	*summarizeOptions
	metrics *metrics.Summarizer
	trace   inputs.Opener
	input   string
	traces  *session.Traces // in the input, nil if it is one
	ranks   *metrics.Ranks  // of the traces; nil if it is one, or nothing relates them
}

// each calls use with the tables of the input or, one after the other, of its traces and of what relates them.
func (c *computation) each(ctx context.Context, use func([]metrics.Table) error) error {
	if c.traces == nil {
		tables, err := c.tables(ctx)
		if err != nil {
			return err
		}
		return use(tables)
	}
	for _, id := range c.traces.IDs {
		tables, err := c.tablesOf(ctx, id)
		if err != nil {
			return fmt.Errorf("trace %s: %w", id, err)
		}
		for i := range tables {
			rank, ofJob := c.traces.Ranks[id]
			if ofJob {
				tables[i] = tables[i].OfRank(rank)
			}
			if !ofJob || !c.people() {
				tables[i] = tables[i].Labelled("trace_id", session.Text, id)
			}
		}
		if err := use(tables); err != nil {
			return err
		}
	}
	if c.ranks != nil {
		return use(c.ranks.Tables())
	}
	return nil
}

// tablesOf returns the tables of one of many traces: those that a fleet stored, or else computes them.
func (c *computation) tablesOf(ctx context.Context, id string) ([]metrics.Table, error) {
	if c.ranks == nil { // which read the trace
		if tables, stored, err := c.metrics.Stored(c.traces, id, c.ids); err != nil || stored {
			return tables, err
		}
	}
	summary, err := c.summarize(ctx, func(s *session.Session) error { return s.OpenTrace(ctx, c.traces, id) })
	if err != nil {
		return nil, err
	}
	return summary.Tables(), nil
}

// tables returns the tables of an input that is one trace, compared with those of --compare.
func (c *computation) tables(ctx context.Context) ([]metrics.Table, error) {
	tablesOf := func(input string) ([]metrics.Table, error) {
		summary, err := c.summarize(ctx, func(s *session.Session) error { return c.open(ctx, s, input) })
		if err != nil {
			return nil, err
		}
		return summary.Tables(), nil
	}
	tables, err := tablesOf(c.input)
	if err != nil || c.compare == "" {
		return tables, err
	}
	base, err := tablesOf(c.compare)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.compare, err)
	}
	for i := range tables {
		tables[i] = tables[i].Compare(base[i])
	}
	return tables, nil
}

// open opens an input that is one trace.
func (c *computation) open(ctx context.Context, s *session.Session, input string) error {
	_, err := c.trace.Open(ctx, s, input, true)
	return err
}

// people reports whether people read the tables.
func (c *computation) people() bool { return c.Format == "table" && c.output == "" }

// summarize computes the metrics of a trace that open opens.
func (c *computation) summarize(ctx context.Context, open func(*session.Session) error) (*metrics.Summary, error) {
	s, err := session.New(ctx, session.Options{Perfetto: true, Modules: inputs.Modules(c.Stdlib), Access: session.ReadData})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if err := open(s); err != nil {
		return nil, err
	}
	if c.ranks != nil {
		if err := c.ranks.Add(ctx, s); err != nil {
			return nil, err
		}
	}
	return c.metrics.Summarize(ctx, s, c.ids, c.metadata)
}

// writeSummary writes Perfetto's TraceSummary.
func (c *computation) writeSummary(ctx context.Context, out io.Writer) error {
	summary, err := c.summarize(ctx, func(s *session.Session) error { return c.open(ctx, s, c.input) })
	if err != nil {
		return err
	}
	encode := summary.Encode
	if c.Format == "textproto" {
		encode = summary.Text
	}
	encoded, err := encode()
	if err != nil {
		return err
	}
	_, err = out.Write(encoded)
	return err
}

// print writes the tables in a format of rows.
func (c *computation) print(ctx context.Context, out io.Writer) error {
	var all []metrics.Table
	err := c.each(ctx, func(tables []metrics.Table) error {
		for _, t := range tables {
			if i := slices.IndexFunc(all, func(other metrics.Table) bool { return other.ID == t.ID }); i >= 0 {
				all[i].Rows = append(all[i].Rows, t.Rows...)
			} else {
				all = append(all, t)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	human := c.Format == "table" || c.Format == "markdown"
	var empty []string
	between := false
	for _, t := range all {
		if human && len(all) > 1 && len(t.Rows) == 0 {
			empty = append(empty, t.ID)
			continue
		}
		if between && c.Format != "ndjson" {
			fmt.Fprintln(out)
		}
		between = true
		switch {
		case human:
			fmt.Fprintf(out, "%s\n\n", t.ID)
		case len(all) > 1:
			t = t.Labelled("metric", session.Text, t.ID)
		}
		w, err := rowformat.New(c.Format, out, t.Columns)
		if err != nil {
			return err
		}
		if c.people() && len(all) > 1 {
			w = rowformat.NewSummary(out, t.Columns, mostRows)
			if c.traces != nil && len(t.Rows) > mostRows {
				slices.SortStableFunc(t.Rows, func(a, b []any) int { return cmp.Compare(session.Float(b[t.Main]), session.Float(a[t.Main])) })
			}
		}
		if err := writeRows(w, t); err != nil {
			return err
		}
		if err := w.End(); err != nil {
			return err
		}
	}
	if len(empty) > 0 {
		if between {
			fmt.Fprintln(out)
		}
		fmt.Fprintf(out, "No rows: %s\n", strings.Join(empty, ", "))
	}
	return nil
}

// mostRows are the rows that people see of each of several tables: of those of many traces the greatest.
const mostRows = 20

// writeFolder writes a Parquet file of each table into a new folder, which appears once it is complete.
func (c *computation) writeFolder(ctx context.Context) (err error) {
	if _, err := os.Lstat(c.output); err == nil {
		return fmt.Errorf("%s already exists: name a new folder", c.output)
	}
	parent, name := filepath.Split(filepath.Clean(c.output))
	prefix := "." + name + ".tpconvert-metrics-"
	parent = cmp.Or(parent, ".")
	if err := staging.Sweep(parent, prefix, nil); err != nil {
		return err
	}
	stage, err := staging.New(parent, prefix)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stage.Remove()) }()
	files := tableFiles{folder: stage.Path}
	if err := errors.Join(c.each(ctx, files.write), files.close()); err != nil {
		return err
	}
	return os.Rename(stage.Path, c.output)
}

// tableFiles are Parquet files of tables, which begin with the first rows.
type tableFiles struct {
	folder  string
	files   []*os.File
	writers map[string]rowformat.Writer // by the id of the table
}

// write adds rows of the tables.
func (f *tableFiles) write(tables []metrics.Table) error {
	if f.writers == nil {
		f.writers = map[string]rowformat.Writer{}
	}
	for _, t := range tables {
		if f.writers[t.ID] == nil {
			file, err := os.Create(filepath.Join(f.folder, strings.ReplaceAll(t.ID, string(filepath.Separator), "_")+"."+export.Parquet))
			if err != nil {
				return err
			}
			f.files = append(f.files, file)
			w, err := rowformat.New(export.Parquet, struct{ io.Writer }{file}, t.Columns) // it would close the file
			if err != nil {
				return err
			}
			f.writers[t.ID] = w
		}
		if err := writeRows(f.writers[t.ID], t); err != nil {
			return err
		}
	}
	return nil
}

func (f *tableFiles) close() (err error) {
	for _, w := range f.writers {
		err = errors.Join(err, w.End())
	}
	for _, file := range f.files {
		err = errors.Join(err, file.Close())
	}
	return err
}

func writeRows(w rowformat.Writer, t metrics.Table) error {
	for _, row := range t.Rows {
		if err := w.Row(row); err != nil {
			return err
		}
	}
	return nil
}
