package session

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/tpconvert/tpconvert/export/staging"
	"github.com/tpconvert/tpconvert/sqlfuncs"
	"github.com/tpconvert/tpconvert/sqlfuncs/perfettosql"
	"github.com/tpconvert/tpconvert/sqlfuncs/perfettosql/tables"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqltext"
)

// Options say which SQL a session runs, and what it may do.
type Options struct {
	Perfetto   bool                // SQL is PerfettoSQL
	Modules    fs.FS               // files of PerfettoSQL's modules, nil if there are none
	Metrics    perfettosql.Metrics // of version 1, nil if there are none
	Access     Access              // of DuckDB's SQL; PerfettoSQL only sees the data
	Shared     bool                // of PerfettoSQL: only the sessions of Fork run SQL
	Derived    bool                // tables have the rows that derive added
	Memory     int64               // bytes that PerfettoSQL may take besides the tables of the dataset; 0 for DefaultMemory
	Pool       *sqlite.Pool        // of the memory of several sessions of PerfettoSQL, nil for none
	NoComments bool                // leave out comments on tables and macros, because nobody reads them
}

// Metrics computes Trace Processor's metrics of version 1.
type Metrics interface {
	perfettosql.Metrics
	// Compute returns Perfetto's TraceMetrics, encoded.
	Compute(ctx context.Context, s *Session, names []string) ([]byte, error)
	// Text and JSON return encoded TraceMetrics as text and as JSON.
	Text(encoded []byte) ([]byte, error)
	JSON(encoded []byte) ([]byte, error)
}

// DefaultMemory is the limit of a session of PerfettoSQL, in bytes.
const DefaultMemory = 4 << 30

// Session runs SQL on a dataset: DuckDB's, or PerfettoSQL on SQLite.
type Session struct {
	*Database        // nil until DuckDB has started, and for PerfettoSQL on anything but a DuckDB file
	Scratch   string // a folder for temporary files

	options  Options
	drop     func() error        // removes Scratch
	starting chan error          // has the result of start
	perfetto *perfettosql.Engine // nil if only others run SQL
	data     *tables.Dataset     // of PerfettoSQL
	copies   int
}

// New begins a session without data. One of the methods Open must be called before it can run SQL.
func New(ctx context.Context, o Options) (*Session, error) {
	if err := available(); err != nil && !o.Perfetto {
		return nil, err
	}
	scratch, drop, err := staging.Temporary("tpconvert-query-")
	if err != nil {
		return nil, err
	}
	s := &Session{Scratch: scratch, options: o, drop: drop, starting: make(chan error, 1)}
	if o.Perfetto {
		if o.Shared {
			unused()
		}
		s.starting <- nil
		return s, nil
	}
	// DuckDB takes a while to start. Meanwhile manifests are read, or a trace is converted.
	go func() { s.starting <- s.start(context.WithoutCancel(ctx)) }()
	return s, nil
}

// unused allocates memory that takes none, because it is never touched. It makes Go collect the garbage of many statements less
// often than the few megabytes of most sessions ask for.
var unused = sync.OnceValue(func() []byte { return make([]byte, 32<<20) })

// start starts DuckDB.
func (s *Session) start(ctx context.Context) error {
	var err error
	if s.Database, err = OpenDatabase(ctx); err != nil {
		return err
	}
	if err := s.Exec(ctx, "SET temp_directory = "+sqltext.QuoteText(filepath.Join(s.Scratch, "spill"))); err != nil {
		return err
	}
	return addFunctions(s.Conn)
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
	if s.perfetto != nil {
		err = s.perfetto.Close()
	}
	if s.data != nil {
		err = errors.Join(err, s.data.Close())
	}
	if s.Database != nil {
		err = errors.Join(err, s.Database.Close())
	}
	return errors.Join(err, s.drop())
}

// OpenDataset makes the tables of the dataset, or of the fleet, in a folder available.
func (s *Session) OpenDataset(ctx context.Context, folder string) error {
	if isLake, err := s.openLake(ctx, folder); isLake || err != nil {
		return err
	}
	d, err := sqlfuncs.ReadDataset(folder, s.options.Derived)
	if err != nil {
		return err
	}
	return s.register(ctx, *d)
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
	return s.register(ctx, sqlfuncs.ReadFolder(folder, traceID, s.options.Derived))
}

// OpenEmpty makes all tables available, without rows.
func (s *Session) OpenEmpty(ctx context.Context) error {
	return s.register(ctx, sqlfuncs.Dataset{})
}

// register makes the tables of a dataset available.
func (s *Session) register(ctx context.Context, d sqlfuncs.Dataset) error {
	if s.options.Perfetto {
		if d.Layout == sqlfuncs.ManyTraces {
			return ErrManyTraces
		}
		dataset := tables.NewDataset(tables.FileOpener(d.Files))
		dataset.TraceID = d.TraceID
		return s.openTables(dataset)
	}
	d.NoComments = s.options.NoComments
	catalog := d.Catalog()
	if err := s.started(); err != nil {
		return err
	}
	if err := s.attachCatalog(ctx, catalog); err != nil {
		return err
	}
	var a allowed
	if d.Path != "" {
		a.folders = []string{d.Path}
	}
	return s.ready(ctx, a)
}

// OpenFile makes the tables of a DuckDB file available.
func (s *Session) OpenFile(ctx context.Context, path string) error {
	if s.options.Perfetto {
		return s.openDuckDB(ctx, path)
	}
	if err := s.started(); err != nil {
		return err
	}
	if err := s.Attach(ctx, path, "(READ_ONLY)"); err != nil {
		return err
	}
	if _, err := sqlfuncs.Registered(ctx, s.Conn); err != nil {
		return fmt.Errorf("%s is %w", path, err)
	}
	folders, err := s.parquetFolders(ctx, filepath.Dir(path))
	if err != nil {
		return err
	}
	return s.ready(ctx, allowed{folders: folders})
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
func (s *Session) ready(ctx context.Context, a allowed) error {
	err := s.Exec(ctx, searchBoth, createDemangle)
	if err == nil && s.options.Access != AnyFile {
		err = s.confine(ctx, a)
	}
	return err
}

// createDemangle makes demangle call a function instead of looking symbols up in tables.
const createDemangle = "CREATE MACRO memory.demangle(symbol) AS " + demangleFunction + "(symbol)"

// searchBoth resolves names to objects that statements have created or, failing that, to the data.
const searchBoth = "SET search_path = 'memory.main," + attached + ".main'"

// Restore drops all objects that statements have created.
func (s *Session) Restore(ctx context.Context) error {
	if s.perfetto != nil {
		return s.perfetto.Restart()
	}
	statements, err := s.Texts(ctx, `
		SELECT 'DROP VIEW temp.main."' || replace(view_name, '"', '""') || '"' FROM duckdb_views() WHERE temporary AND NOT internal
		UNION ALL SELECT 'DROP TABLE temp.main."' || replace(table_name, '"', '""') || '"' FROM duckdb_tables() WHERE temporary`)
	if err != nil {
		return err
	}
	return s.Exec(ctx, append(statements, "SET search_path = '"+attached+".main'", "DETACH memory", "ATTACH ':memory:' AS memory",
		searchBoth, createDemangle)...)
}

// ErrNoSQL is returned for a text without statements.
var ErrNoSQL = perfettosql.ErrNoSQL

// Each runs the statements of a text in order, and calls each for those that return rows. Errors show the position in
// the text.
func (s *Session) Each(ctx context.Context, text string, each func(*Query) error) error {
	if s.perfetto != nil {
		return s.eachPerfetto(ctx, text, each)
	}
	statements, err := sqltext.Split(text)
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
	q, err := s.Query(ctx, text)
	if err != nil || q == nil {
		return err
	}
	defer q.Close()
	return each(q)
}

// Query prepares a DuckDB statement that returns rows, until Close. It runs any other statement, and returns nil.
func (s *Session) Query(ctx context.Context, text string) (*Query, error) {
	if err := s.options.Access.admit(text); err != nil {
		return nil, err
	}
	if s.options.Access != AnyFile {
		if err := s.admitCalls(ctx, text); err != nil {
			return nil, err
		}
	}
	catalog := s.Catalog // nil if everything exists
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
	if word != "PRAGMA" && word != "EXPLAIN" { // neither works in a subquery
		text = readable(text, columns)
	}
	return &Query{text: text, Columns: columns, conn: s.Conn, prepared: p}, nil
}

// Query is a statement that returns rows.
type Query struct {
	Columns []Column
	Last    bool // it is the last of several statements

	text     string
	conn     *sql.Conn
	prepared *prepared
	rows     *perfettosql.Rows // of PerfettoSQL
	ahead    [][]any           // the first of them, which Infer has read
}

// Close releases the query.
func (q *Query) Close() error {
	if q.rows != nil {
		return nil
	}
	return q.prepared.Close()
}

// Each runs the query and calls row with the values of each row. They are only valid during the call.
func (q *Query) Each(ctx context.Context, row func([]any) error) error {
	if q.rows != nil {
		return q.eachPerfetto(row)
	}
	rows, err := q.conn.QueryContext(ctx, q.text)
	if err != nil {
		return err
	}
	defer rows.Close()
	return eachRow(rows, q.Columns, row)
}
