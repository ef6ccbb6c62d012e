// Package query is the command that runs SQL on a dataset, a DuckDB file or a trace, also at a prompt.
package query

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	api "github.com/tpconvert/tpconvert"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/console"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/inputs"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/rowformat"
	"github.com/tpconvert/tpconvert/internal/terminal"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// queryOptions are the flags of the query command.
type queryOptions struct {
	inputs.Flags
	file     string
	perfetto bool
	derived  bool
	writes   bool // SQL may read and write any file
	memory   console.ByteSize
}

// NewCommand returns the command.
func NewCommand(ui *console.UI) *cobra.Command {
	o := queryOptions{memory: session.DefaultMemory}
	cmd := &cobra.Command{
		Use:   "query [flags] INPUT [SQL]",
		Short: "Query a dataset, a DuckDB file or a trace with SQL",
		Long: `Query INPUT, a dataset, a DuckDB file made by tpconvert, or a trace, which is
read first. It has the tables of "tpconvert tables" and the functions and
operators of Trace Processor. SQL is DuckDB's or, with --perfetto, PerfettoSQL,
which SQLite runs; separate statements with semicolons. Without SQL and --file, it
reads statements from standard input, with a prompt on a terminal. SQL can only
read INPUT; DuckDB's can also write new files with COPY ... TO.`,
		Example: `  tpconvert query out/ 'SELECT name, count(*) FROM slice GROUP BY name'
  tpconvert query --format csv --file report.sql trace.json.gz
  tpconvert query trace.duckdb`,
		Args: console.Arguments(cobra.RangeArgs(1, 2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			trace := o.Opener(cmd, ui, "ndjson")
			q := &query{trace: trace, options: o, out: cmd.OutOrStdout()}
			return q.run(cmd.Context(), args[0], args[1:])
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.file, "file", "", "file with the SQL")
	flags.BoolVar(&o.perfetto, "perfetto", false, "SQL is PerfettoSQL of Trace Processor v58; CSV is printed as it does, and an empty file is a trace without rows")
	flags.BoolVar(&o.derived, "derived", false, inputs.DerivedHelp)
	flags.BoolVar(&o.writes, "allow-writes", false, "let SQL read and write any file, attach databases, load extensions and change settings")
	flags.Var(&o.memory, "session-memory", "with --perfetto, "+inputs.SessionMemoryHelp)
	o.Register(cmd, rowformat.Names)
	return cmd
}

// query runs SQL on an input.
type query struct {
	trace   inputs.Opener
	options queryOptions
	out     io.Writer
	session *session.Session
	results int // printed so far
}

func (q *query) run(ctx context.Context, input string, args []string) error {
	text, err := q.text(input, args)
	if err != nil {
		return err
	}
	if err := inputs.CheckFormat(q.options.Format, q.out); err != nil {
		return err
	}
	var metrics session.Metrics
	if q.options.perfetto {
		if metrics, err = inputs.Metrics(q.options.Stdlib); err != nil {
			return err
		}
	}
	o := session.Options{Perfetto: q.options.perfetto, Modules: inputs.Modules(q.options.Stdlib), Metrics: metrics, Access: session.NewFiles, Derived: q.options.derived,
		Memory: int64(q.options.memory)}
	if q.options.writes {
		o.Access = session.AnyFile
	}
	q.session, err = inputs.OpenSession(ctx, input, o, q.trace)
	if err != nil {
		return err
	}
	defer q.session.Close()
	if text == nil {
		return q.ask(ctx)
	}
	return q.all(ctx, *text)
}

// text returns the SQL to run, or nil to prompt the user for it.
func (q *query) text(input string, args []string) (*string, error) {
	switch {
	case len(args) > 0 && q.options.file != "":
		return nil, console.Usage(errors.New("there is SQL both on the command line and in --file"))
	case len(args) > 0:
		return &args[0], nil
	case q.options.file != "":
		b, err := os.ReadFile(q.options.file)
		text := string(b)
		return &text, err
	case terminal.Is(q.trace.Stdin):
		return nil, nil
	case input == api.StandardInput:
		return nil, console.Usage(errors.New("the standard input cannot be both the trace and the SQL"))
	}
	b, err := io.ReadAll(q.trace.Stdin)
	text := string(b)
	return &text, err
}

// all runs the statements of a text and prints their rows.
func (q *query) all(ctx context.Context, text string) error {
	err := q.session.Each(ctx, text, func(rows *session.Query) error { return q.print(ctx, rows) })
	switch {
	case err == session.ErrNoSQL:
		return console.Usage(err)
	case errors.Is(err, session.ErrDenied):
		return fmt.Errorf("%w; --allow-writes lets it use other files", err)
	}
	return err
}

// show prints the rows of one DuckDB statement.
func (q *query) show(ctx context.Context, text string) error {
	rows, err := q.session.Query(ctx, text)
	if err != nil {
		return err
	}
	defer rows.Close()
	return q.print(ctx, rows)
}

// inferred is the number of rows that tell how to print a column of PerfettoSQL.
const inferred = 1000

// print writes rows in the requested format.
func (q *query) print(ctx context.Context, result *session.Query) error {
	rows := inferred
	if rowformat.IsBinary(q.options.Format) {
		rows = -1
	}
	if err := result.Infer(rows); err != nil {
		return err
	}
	if q.results > 0 {
		if rowformat.IsBinary(q.options.Format) {
			return console.Usage(fmt.Errorf("--format %s: only one statement may give rows", q.options.Format))
		}
		fmt.Fprintln(q.out)
	}
	q.results++
	format := q.options.Format
	if q.options.perfetto && format == "csv" {
		format = "perfetto"
	}
	w, err := rowformat.New(format, q.out, result.Columns)
	if err != nil {
		return err
	}
	if err := result.Each(ctx, w.Row); err != nil {
		return err
	}
	return w.End()
}
