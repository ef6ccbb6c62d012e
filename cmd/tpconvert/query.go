package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/model/table"
	"github.com/tpconvert/tpconvert/sqlfuncs"
	"github.com/tpconvert/tpconvert/sqlfuncs/perfettosql"
)

// queryOptions are the flags of a query.
type queryOptions struct {
	file     string
	format   string
	perfetto bool
	stdlib   string
	writes   bool // SQL may use any files
	read     readOptions
}

func newQueryCommand(ui *uiOptions) *cobra.Command {
	var o queryOptions
	cmd := &cobra.Command{
		Use:   "query [flags] INPUT [SQL]",
		Short: "Query a dataset, a DuckDB file or a trace with SQL",
		Long: `Query INPUT, a dataset, a DuckDB file made by tpconvert, or a trace, which is
converted first. It has the tables of "tpconvert tables" and the functions and
operators of Trace Processor. SQL is DuckDB's; several statements are separated
by semicolons. Without SQL and --file, statements are read from the standard
input, at a prompt if it is a terminal. SQL can read INPUT only, and write new
files with COPY ... TO.`,
		Example: `  tpconvert query out/ 'SELECT name, count(*) FROM slice GROUP BY name'
  tpconvert query --format csv --file report.sql trace.json.gz
  tpconvert query trace.duckdb`,
		Args: arguments(cobra.RangeArgs(1, 2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if ui.json && !cmd.Flags().Changed("format") {
				o.format = "ndjson"
			}
			q := &query{ui: ui.printer(cmd), options: o, stdin: cmd.InOrStdin(), out: cmd.OutOrStdout()}
			return q.run(cmd.Context(), args[0], args[1:])
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.file, "file", "", "file with the SQL")
	flags.StringVar(&o.format, "format", "table", "format of the rows: "+strings.Join(rowFormats, ", "))
	flags.BoolVar(&o.perfetto, "perfetto", false, "SQL is PerfettoSQL of Trace Processor v58; CSV is printed as it does, and an empty file is a trace without rows")
	flags.StringVar(&o.stdlib, "stdlib", "", "folder of the modules for INCLUDE PERFETTO MODULE, or a checkout of Perfetto")
	flags.BoolVar(&o.writes, "allow-writes", false, "let SQL read and write any file, attach databases, load extensions and change settings")
	o.read.register(flags)
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(rowFormats, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// query runs SQL on an input.
type query struct {
	ui       printer
	options  queryOptions
	stdin    io.Reader
	out      io.Writer
	db       *database
	perfetto *perfettosql.Session // nil for DuckDB's SQL
	sandbox  *sandbox             // nil if SQL may use any files
	results  int                  // printed so far

	noComments bool // nobody looks at the comments of tables and macros
}

func (q *query) run(ctx context.Context, input string, args []string) error {
	text, err := q.text(input, args)
	if err != nil {
		return err
	}
	if err := checkRowFormat(q.options.format, q.out); err != nil {
		return err
	}
	db, err := openDatabase(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	q.db = db
	drop, err := q.attach(ctx, input)
	defer drop()
	if err != nil {
		return err
	}
	if text == nil {
		return q.ask(ctx)
	}
	return q.all(ctx, *text)
}

// text returns the SQL to run, nil if the user is to be prompted for it.
func (q *query) text(input string, args []string) (*string, error) {
	switch {
	case len(args) > 0 && q.options.file != "":
		return nil, usageError{errors.New("there is SQL both on the command line and in --file")}
	case len(args) > 0:
		return &args[0], nil
	case q.options.file != "":
		b, err := os.ReadFile(q.options.file)
		text := string(b)
		return &text, err
	case isTerminal(q.stdin):
		return nil, nil
	case input == standardInput:
		return nil, usageError{errors.New("the standard input cannot be both the trace and the SQL")}
	}
	b, err := io.ReadAll(q.stdin)
	text := string(b)
	return &text, err
}

// attach makes the tables of the input available. drop removes its temporary files.
func (q *query) attach(ctx context.Context, input string) (drop func(), err error) {
	scratch, remove, err := export.Temporary("tpconvert-query-")
	if err != nil {
		return func() {}, err
	}
	drop = func() { _ = remove() }
	if err := q.db.exec(ctx, "SET temp_directory = "+sqlText(filepath.Join(scratch, "spill"))); err != nil {
		return drop, err
	}
	if !q.options.writes {
		q.sandbox = &sandbox{scratch: scratch}
	}
	dataset, folder := &storedDataset{}, input
	info, err := os.Stat(input)
	switch {
	case input != standardInput && err != nil:
		return drop, err
	case input != standardInput && !info.IsDir() && isDuckDB(input):
		return drop, q.attachFile(ctx, input)
	case input == standardInput || !info.IsDir():
		folder = filepath.Join(scratch, "out")
		err = q.convert(ctx, input, folder)
		if q.options.perfetto && errors.Is(err, format.ErrEmpty) {
			folder = "" // Trace Processor's shell takes it for a trace without rows
		} else if err != nil {
			return drop, err
		}
	}
	if folder != "" {
		if dataset, err = openStored(folder); err != nil {
			return drop, err
		}
	}
	if err := q.db.attach(ctx, "", ""); err != nil {
		return drop, err
	}
	registered := dataset.at(dataset.path)
	registered.NoComments = q.noComments || q.options.perfetto // PerfettoSQL cannot see them
	if err := sqlfuncs.Register(ctx, q.db.conn, registered, false); err != nil {
		return drop, err
	}
	return drop, q.ready(ctx, dataset.path)
}

// attachFile attaches a DuckDB file.
func (q *query) attachFile(ctx context.Context, path string) error {
	if err := q.db.attach(ctx, path, "(READ_ONLY)"); err != nil {
		return err
	}
	if _, err := sqlfuncs.Registered(ctx, q.db.conn); err != nil {
		return fmt.Errorf("%s is %w", path, err)
	}
	folders, err := q.db.parquetFolders(ctx, filepath.Dir(path))
	if err != nil {
		return err
	}
	return q.ready(ctx, folders...)
}

// demangleFunction is what demangle calls, in place of looking symbols up in tables.
const demangleFunction = "_demangle"

// ready lets statements see the tables, whose files are in the folders, and create their own tables in memory.
func (q *query) ready(ctx context.Context, folders ...string) error {
	if err := addFunctions(q.db.conn); err != nil {
		return err
	}
	err := q.db.exec(ctx, "USE memory", "SET search_path = 'memory.main,"+attached+".main'",
		"CREATE MACRO demangle(symbol) AS "+demangleFunction+"(symbol)")
	if err == nil && q.options.perfetto {
		q.perfetto, err = perfettosql.New(ctx, q.db.conn, q.modules())
	}
	if err == nil && q.sandbox != nil {
		err = q.sandbox.close(ctx, q.db, folders)
	}
	return err
}

// modules returns the files of PerfettoSQL's modules, nil if there are none.
func (q *query) modules() fs.FS {
	if q.options.stdlib == "" {
		return nil
	}
	checkout := filepath.Join(q.options.stdlib, "src", "trace_processor", "perfetto_sql", "stdlib")
	if info, err := os.Stat(checkout); err == nil && info.IsDir() {
		return os.DirFS(checkout)
	}
	return os.DirFS(q.options.stdlib)
}

// isDuckDB reports whether a file is a DuckDB database.
func isDuckDB(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var head [12]byte
	_, err = io.ReadFull(f, head[:])
	return err == nil && string(head[8:]) == "DUCK"
}

// convert converts a trace without a summary.
func (q *query) convert(ctx context.Context, trace, out string) error {
	r := &run{ui: unsummed{q.ui}, out: out, options: convertOptions{
		format: export.Parquet, compression: "snappy", rowGroupRows: table.DefaultChunkRows,
		memory: defaultMemory, jobs: 1, read: q.options.read,
	}}
	r.reader.stdin = q.stdin
	return r.convert(ctx, []string{trace})
}

// unsummed is a printer that keeps summaries to itself.
type unsummed struct{ printer }

func (unsummed) Summary(summary) {}

// all runs the statements of a text.
func (q *query) all(ctx context.Context, text string) error {
	statements, err := perfettosql.Split(text)
	if err != nil {
		return &sqlError{err.Error(), text, errorPosition(err)}
	}
	if len(statements) == 0 {
		return usageError{errors.New("there is no SQL to run")}
	}
	for _, s := range statements {
		if err := q.statement(ctx, s.Text); err != nil {
			shown := placed(err, s.Text, text, s.Pos)
			if q.sandbox != nil && denied(err) {
				shown = fmt.Errorf("%w\n%w", shown, errDenied)
			}
			return shown
		}
	}
	return nil
}

// statement runs one statement and prints the rows that it gives.
func (q *query) statement(ctx context.Context, text string) error {
	if q.perfetto != nil {
		var err error
		if text, err = q.perfetto.Run(ctx, text); err != nil || text == "" {
			return err
		}
	}
	return q.show(ctx, text)
}

// show runs one statement of DuckDB and prints the rows that it gives.
func (q *query) show(ctx context.Context, text string) error {
	word := keyword(text)
	if q.sandbox != nil {
		if err := q.sandbox.admit(text); err != nil {
			return err
		}
		if word == "COPY" {
			return q.sandbox.copy(text, func(text string) error { return q.db.exec(ctx, text) })
		}
	}
	columns, err := prepare(ctx, q.db.conn, text)
	if err != nil {
		return err
	}
	if columns == nil {
		return q.db.exec(ctx, text)
	}
	if q.perfetto != nil {
		for i := range columns { // SQLite has no truth values
			if columns[i].kind == kindBool || columns[i].kind == kindHuge {
				columns[i].kind = kindInteger
			}
		}
	}
	if word != "PRAGMA" && word != "EXPLAIN" { // neither can be part of a query
		text = readable(text, columns)
	}
	rows, err := q.db.conn.QueryContext(ctx, text)
	if err != nil {
		return err
	}
	defer rows.Close()
	if len(columns) == 1 && columns[0].name == suppressed && q.perfetto != nil {
		return eachRow(rows, columns, func([]any) error { return nil })
	}
	return q.print(columns, rows)
}

// suppressed is the name of a single column whose rows Trace Processor does not print.
const suppressed = "suppress_query_output"

// print writes rows in the format that was asked for.
func (q *query) print(columns []column, rows *sql.Rows) error {
	if q.results > 0 {
		if isBinary(q.options.format) {
			return usageError{fmt.Errorf("--format %s: only one statement may give rows", q.options.format)}
		}
		fmt.Fprintln(q.out)
	}
	q.results++
	format := q.options.format
	if q.perfetto != nil && format == "csv" {
		format = "perfetto"
	}
	w, err := newRowWriter(format, q.out, columns)
	if err != nil {
		return err
	}
	if err := eachRow(rows, columns, w.row); err != nil {
		return err
	}
	return w.end()
}
