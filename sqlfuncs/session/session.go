package session

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/model/table"
	"github.com/tpconvert/tpconvert/sqlfuncs"
	"github.com/tpconvert/tpconvert/sqlfuncs/perfettosql"
)

// Options say which SQL a session runs, and what it may do.
type Options struct {
	Perfetto   bool    // SQL is PerfettoSQL
	Modules    fs.FS   // files of PerfettoSQL's modules, nil if there are none
	Metrics    Metrics // of version 1, nil if there are none
	Access     Access
	Hold       bool // read small tables only once, for many queries
	NoComments bool // leave out comments on tables and macros, because nobody reads them
	Wide       bool // queries join hundreds of views, so that planning them takes longer than running them
}

// Metrics has the templates of Trace Processor's metrics of version 1, and builds their messages.
type Metrics interface {
	perfettosql.Metrics
	// Build returns the message that a function builds of names of fields and their values.
	Build(function string, args []any) ([]byte, error)
}

// Session runs SQL on a dataset.
type Session struct {
	*Database        // nil until DuckDB has started
	Scratch   string // a folder for temporary files

	options   Options
	drop      func() error         // removes Scratch
	starting  chan error           // has the result of start
	files     []*os.File           // of OpenUnlinked
	perfetto  *perfettosql.Session // nil for DuckDB's SQL
	recursion *recursion           // of PerfettoSQL
	checker   *sql.Conn            // checks PerfettoSQL without the optimizer, which takes most of the time, or nil
	copies    int
}

// New begins a session without data. One of the methods Open must be called before it can run SQL.
func New(ctx context.Context, o Options) (*Session, error) {
	if err := available(); err != nil {
		return nil, err
	}
	scratch, drop, err := export.Temporary("tpconvert-query-")
	if err != nil {
		return nil, err
	}
	o.NoComments = o.NoComments || o.Perfetto // PerfettoSQL cannot see them
	s := &Session{Scratch: scratch, options: o, drop: drop, starting: make(chan error, 1)}
	// DuckDB takes a while to start. Meanwhile manifests are read, or a trace is converted.
	go func() { s.starting <- s.start(context.WithoutCancel(ctx)) }()
	return s, nil
}

// start starts DuckDB.
func (s *Session) start(ctx context.Context) error {
	var err error
	if s.Database, err = OpenDatabase(ctx); err != nil {
		return err
	}
	if err := s.Exec(ctx, "SET temp_directory = "+Quote(filepath.Join(s.Scratch, "spill"))); err != nil {
		return err
	}
	if s.options.Wide { // propagating statistics takes half of the time of planning
		if err := s.Exec(ctx, "SET disabled_optimizers = 'statistics_propagation'"); err != nil {
			return err
		}
	}
	if err := addFunctions(s.Conn); err != nil {
		return err
	}
	if s.options.Metrics != nil {
		if err := addMessages(s.Conn, s.options.Metrics); err != nil {
			return err
		}
	}
	if !s.options.Perfetto {
		return nil
	}
	if err := s.Exec(ctx, perfettosql.Settings...); err != nil {
		return err
	}
	if s.checker, err = s.connect(ctx, "PRAGMA disable_optimizer"); err != nil {
		return err
	}
	if err := addProfile(s.Conn, &profiler{db: s.db}); err != nil {
		return err
	}
	bodies, err := s.connect(ctx)
	if err != nil {
		return err
	}
	s.recursion = newRecursion(bodies)
	return addRecursion(s.Conn, s.recursion)
}

// connect returns another connection for PerfettoSQL.
func (s *Session) connect(ctx context.Context, settings ...string) (*sql.Conn, error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	for _, setting := range append(slices.Clone(perfettosql.Settings), settings...) {
		if _, err := conn.ExecContext(ctx, setting); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	return conn, nil
}

// started waits until DuckDB has started.
func (s *Session) started() error {
	err := <-s.starting
	s.starting <- err // Close waits too
	return err
}

// Close ends the session and removes its temporary files.
func (s *Session) Close() error {
	_ = s.started() // an error was reported when data was opened
	var err error
	if s.recursion != nil {
		err = s.recursion.Close()
	}
	if s.checker != nil {
		err = errors.Join(err, s.checker.Close())
	}
	if s.Database != nil {
		err = errors.Join(err, s.Database.Close())
	}
	for _, f := range s.files {
		err = errors.Join(err, f.Close())
	}
	return errors.Join(err, s.drop())
}

// OpenDataset makes the tables of the dataset in a folder available.
func (s *Session) OpenDataset(ctx context.Context, folder string) error {
	d, tables, err := readDataset(folder)
	if err != nil {
		return err
	}
	return s.registerTables(ctx, d, tables)
}

// OpenFolder makes the tables of one trace of a dataset of many available, from the folder that has its files.
func (s *Session) OpenFolder(ctx context.Context, folder, traceID string) error {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	if _, err := os.Stat(folder); err != nil {
		return err
	}
	return s.register(ctx, sqlfuncs.Dataset{Path: filepath.ToSlash(folder), Tables: parquetFiles(folder), TraceID: traceID})
}

// OpenEmpty makes all tables available, without rows.
func (s *Session) OpenEmpty(ctx context.Context) error {
	return s.registerTables(ctx, &sqlfuncs.Dataset{}, nil)
}

// OpenUnlinked makes the tables of the dataset in a folder available, some of them without rows, and removes the folder.
// The files stay open, so that the system removes them when the process ends, even if it is killed.
func (s *Session) OpenUnlinked(ctx context.Context, folder string, without ...string) error {
	d, tables, err := readDataset(folder)
	if err != nil {
		return err
	}
	tables = slices.DeleteFunc(tables, func(t export.Table) bool { return slices.Contains(without, t.Name) })
	d.Tables, d.Files = nil, map[string]string{}
	for _, t := range tables {
		f, err := os.Open(filepath.Join(folder, t.File))
		if err != nil {
			return err
		}
		s.files = append(s.files, f)
		d.Tables = append(d.Tables, t.Name)
		d.Files[t.Name] = fmt.Sprintf("/dev/fd/%d", f.Fd())
	}
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	return s.registerTables(ctx, d, tables)
}

// registerTables makes tables of a dataset available. If there are few rows, DuckDB uses one thread: several take longer, and
// window functions would see rows with equal keys in any order, which Trace Processor's modules do not expect.
func (s *Session) registerTables(ctx context.Context, d *sqlfuncs.Dataset, tables []export.Table) error {
	small := held(tables)
	if s.options.Hold {
		d.Hold = small
	}
	if err := s.started(); err != nil {
		return err
	}
	large := func(t export.Table) bool { return !small[t.Name] }
	if s.options.Perfetto && !slices.ContainsFunc(tables, large) {
		if err := s.Exec(ctx, "SET threads = 1"); err != nil {
			return err
		}
	}
	return s.register(ctx, *d)
}

// register makes the tables of a dataset available.
func (s *Session) register(ctx context.Context, d sqlfuncs.Dataset) error {
	d.NoComments = s.options.NoComments
	catalog := d.Catalog()
	if err := s.started(); err != nil {
		return err
	}
	if err := s.attachCatalog(ctx, catalog); err != nil {
		return err
	}
	a := allowed{files: slices.Collect(maps.Values(d.Files))}
	if d.Path != "" {
		a.folders = []string{d.Path}
	}
	return s.ready(ctx, d.Layout, a)
}

// OpenFile makes the tables of a DuckDB file available.
func (s *Session) OpenFile(ctx context.Context, path string) error {
	if err := s.started(); err != nil {
		return err
	}
	if err := s.Attach(ctx, path, "(READ_ONLY)"); err != nil {
		return err
	}
	layout, err := sqlfuncs.Registered(ctx, s.Conn)
	if err != nil {
		return fmt.Errorf("%s is %w", path, err)
	}
	folders, err := s.parquetFolders(ctx, filepath.Dir(path))
	if err != nil {
		return err
	}
	return s.ready(ctx, layout, allowed{folders: folders})
}

// IsDuckDB reports whether a file is a DuckDB database.
func IsDuckDB(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var head [12]byte
	_, err = io.ReadFull(f, head[:])
	return err == nil && string(head[8:]) == "DUCK"
}

// demangleFunction is the function that the macro demangle calls.
const demangleFunction = "_demangle"

// ready makes the tables visible to statements, which create their own tables in memory. SQL may read the allowed files.
func (s *Session) ready(ctx context.Context, layout sqlfuncs.Layout, a allowed) error {
	err := s.Exec(ctx, searchBoth, createDemangle)
	if err == nil && s.options.Perfetto {
		err = s.startPerfetto(ctx, layout)
	}
	if err == nil && s.options.Access != AnyFile {
		err = s.confine(ctx, a)
	}
	return err
}

// startPerfetto begins the session of PerfettoSQL.
func (s *Session) startPerfetto(ctx context.Context, layout sqlfuncs.Layout) error {
	for _, conn := range []*sql.Conn{s.checker, s.recursion.conn} {
		if _, err := conn.ExecContext(ctx, searchBoth); err != nil {
			return err
		}
	}
	var err error
	s.perfetto, err = perfettosql.New(ctx, perfettosql.Database{
		Conn: s.Conn, Layout: layout, Dataset: s.Catalog, Describe: s.describe, Modules: s.options.Modules,
		Metrics: s.options.Metrics, Recursion: s.recursion, Macros: append(createGraphs, createLayout, createHash, createProfile),
	})
	return err
}

// describe checks a statement without running it, and returns the columns of its rows.
func (s *Session) describe(ctx context.Context, statement string) ([]perfettosql.Column, error) {
	p, err := prepare(ctx, s.checker, statement)
	if err != nil {
		return nil, err
	}
	return p.described(), p.Close()
}

// createDemangle makes demangle call a function instead of looking symbols up in tables.
const createDemangle = "CREATE MACRO memory.demangle(symbol) AS " + demangleFunction + "(symbol)"

// searchBoth resolves names to objects that statements have created or, failing that, to the data.
const searchBoth = "SET search_path = 'memory.main," + attached + ".main'"

// OrderRows makes PerfettoSQL return groups and distinct rows in the order in which SQLite does.
func (s *Session) OrderRows() { s.perfetto.OrderRows() }

// Restore drops all objects that statements have created.
func (s *Session) Restore(ctx context.Context) error {
	statements, err := s.Texts(ctx, `
		SELECT 'DROP VIEW temp.main."' || replace(view_name, '"', '""') || '"' FROM duckdb_views() WHERE temporary AND NOT internal
		UNION ALL SELECT 'DROP TABLE temp.main."' || replace(table_name, '"', '""') || '"' FROM duckdb_tables() WHERE temporary`)
	if err != nil {
		return err
	}
	statements = append(statements, "SET search_path = '"+attached+".main'", "DETACH memory", "ATTACH ':memory:' AS memory",
		searchBoth, createDemangle)
	if s.recursion != nil {
		if err := s.recursion.forget(); err != nil {
			return err
		}
	}
	if err := s.Exec(ctx, statements...); err != nil || s.perfetto == nil {
		return err
	}
	return s.perfetto.Restart(ctx)
}

// ErrNoSQL is returned for a text without statements.
var ErrNoSQL = errors.New("there is no SQL to run")

// Each runs the statements of a text in order, and calls each for those that return rows. Errors show the position in
// the text.
func (s *Session) Each(ctx context.Context, text string, each func(*Query) error) error {
	statements, err := perfettosql.Split(text)
	if err != nil {
		return &sqlError{err.Error(), text, errorPosition(err)}
	}
	if len(statements) == 0 {
		return ErrNoSQL
	}
	for i, one := range statements {
		last := i == len(statements)-1
		if err := s.run(ctx, one.Text, func(q *Query) error { q.Last = last; return each(q) }); err != nil {
			err = placed(err, one.Text, text, one.Pos)
			if s.options.Access != AnyFile && denied(err) {
				err = fmt.Errorf("%w\n%w", err, ErrDenied)
			}
			return err
		}
	}
	return nil
}

// run runs one statement.
func (s *Session) run(ctx context.Context, text string, each func(*Query) error) error {
	var translated *perfettosql.Query
	if s.perfetto != nil {
		s.recursion.begin(ctx)
		var err error
		if translated, err = s.perfetto.Run(ctx, text); err != nil || translated == nil {
			return err
		}
		text = translated.SQL
	}
	q, err := s.Query(ctx, text)
	if err != nil || q == nil {
		if err != nil && translated != nil {
			err = translated.Place(err)
		}
		return err
	}
	defer q.Close()
	q.Silent = translated != nil && translated.OnlyEffects
	return each(q)
}

// catalog has what statements may name, nil if everything exists.
func (s *Session) catalog() *sqlfuncs.Catalog {
	if s.perfetto != nil {
		return s.perfetto.Catalog()
	}
	return s.Catalog
}

// Query prepares a DuckDB statement that returns rows, until Close. It runs any other statement, and returns nil.
func (s *Session) Query(ctx context.Context, text string) (*Query, error) {
	if err := s.options.Access.admit(text); err != nil {
		return nil, err
	}
	catalog := s.catalog()
	if err := catalog.Create(ctx, text); err != nil {
		return nil, err
	}
	word := keyword(text)
	if word == "COPY" && s.options.Access == NewFiles {
		return nil, s.copy(ctx, text)
	}
	if s.options.Access != AnyFile {
		if err := onlyTypes(s.Conn, text); err != nil {
			return nil, err
		}
	}
	p, err := prepare(ctx, s.Conn, text)
	if err != nil && !catalog.Complete() { // a statement may build names, and DuckDB suggests similar ones
		if err := catalog.CreateAll(ctx); err != nil {
			return nil, err
		}
		p, err = prepare(ctx, s.Conn, text)
	}
	if err != nil {
		return nil, err
	}
	if s.options.Access != AnyFile && !p.allowed() {
		return nil, errors.Join(fmt.Errorf("%s is not allowed: %w", cmp.Or(word, "this statement"), ErrDenied), p.Close())
	}
	columns := p.columns
	if columns == nil {
		return nil, errors.Join(p.Close(), s.Exec(ctx, text))
	}
	if s.perfetto != nil {
		for i := range columns { // SQLite has no booleans
			if columns[i].Kind == Bool || columns[i].Kind == Huge {
				columns[i].Kind = Integer
			}
		}
	}
	if word != "PRAGMA" && word != "EXPLAIN" { // neither works in a subquery
		text = readable(text, columns)
	}
	return &Query{SQL: text, Columns: columns, conn: s.Conn, prepared: p}, nil
}

// Table prepares a query for the rows of a table of the data in their order there, which is that of id. Columns are those of
// the schema. Objects that statements have created make no difference.
func (s *Session) Table(ctx context.Context, t *table.Schema) (*Query, error) {
	columns := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		columns[i] = `"` + c.Name + `"`
	}
	return s.Query(ctx, fmt.Sprintf("SELECT %s FROM %s.main.%s", strings.Join(columns, ", "), attached, t.Name))
}

// Query is a statement that returns rows.
type Query struct {
	SQL     string
	Columns []Column
	Last    bool // it is the last of several statements
	Silent  bool // it is for its effects, such as CREATE_FUNCTION; Trace Processor does not print its rows

	conn     *sql.Conn
	prepared *prepared
}

// Close releases the query.
func (q *Query) Close() error { return q.prepared.Close() }

// Rows runs the query and returns its rows.
func (q *Query) Rows(ctx context.Context) (*sql.Rows, error) { return q.conn.QueryContext(ctx, q.SQL) }
