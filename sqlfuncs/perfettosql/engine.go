// Package perfettosql runs the SQL of Perfetto's Trace Processor, v58, on SQLite. Statements of PerfettoSQL's own, such as CREATE
// PERFETTO TABLE, are carried out here; SQLite gets everything else once its macros are expanded.
package perfettosql

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/functions"
	"github.com/tpconvert/tpconvert/sqlfuncs/operators"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqltext"
)

// Options are what an engine is given besides its tables.
type Options struct {
	Modules fs.FS        // files of INCLUDE PERFETTO MODULE: a.b is a/b.sql; nil if there are none
	Metrics Metrics      // of version 1, nil if there are none
	Memory  int64        // bytes that an engine may take besides the tables of the trace; 0 for any number
	Pool    *sqlite.Pool // of the memory of several engines, nil for none
}

// Metrics has the templates of Trace Processor's metrics of version 1, and builds their messages.
type Metrics interface {
	// Template returns the text of a template for RUN_METRIC.
	Template(file string) (string, error)
	// Functions are the names of the functions that build messages.
	Functions() ([]string, error)
	// Build returns the message that a function builds of names of fields and their values.
	Build(function string, args []any) ([]byte, error)
}

// Engine runs statements on tables. One goroutine may use it at a time.
type Engine struct {
	options Options
	source  Source
	db      *sqlite.DB
	pool    *dataframe.Pool // of the engine's own tables

	macros    map[string]*macro
	tables    map[string]*dataframe.Frame // behind virtual tables, by lower-case name
	pending   *dataframe.Frame            // of the table that is being created
	functions map[string]*created         // by lower-case name and number of arguments
	calls     map[string]*tableFunction   // functions with rows, by lower-case name
	waiting   *tableFunction              // that is being created
	included  map[string]error            // modules that were included, with the error of those that failed
	including []string                    // modules that are being included
	built     bool                        // the functions that build messages are defined
	lazy      map[string]string           // statements that define a table or view, by its lower-case name
	waits     []string                    // the names, in the order of definition
	needs     map[string][]string         // which of them functions of the prelude need, by name
}

// Source has the tables of a trace.
type Source interface {
	dataframe.Source
	// Declaration returns the CREATE TABLE of a table as a virtual table, without reading it.
	Declaration(name string) (string, error)
	// Names are the names of all tables, without the prefix "__intrinsic_".
	Names() []string
	// Own are the names of the tables that Trace Processor does not have.
	Own() []string
}

// New starts an engine on the tables of a trace.
func New(source Source, o Options) (*Engine, error) {
	e := &Engine{options: o, source: source}
	if err := e.begin(); err != nil {
		return nil, err
	}
	return e, nil
}

// shared are the tables of the trace for functions, which keep their own texts in the engine's pool.
type shared struct {
	Source
	pool *dataframe.Pool
}

func (s shared) Pool() *dataframe.Pool { return s.pool }

// begin opens an empty database and fills it with what every engine has.
func (e *Engine) begin() error {
	e.macros, e.tables, e.functions = map[string]*macro{}, map[string]*dataframe.Frame{}, map[string]*created{}
	e.calls, e.included, e.lazy = map[string]*tableFunction{}, map[string]error{}, map[string]string{}
	e.built = false
	e.needs, e.waits = map[string][]string{}, nil
	var err error
	if e.db, err = sqlite.Open(); err != nil {
		return err
	}
	e.pool = dataframe.PoolOf(e.db)
	if err := e.define(); err != nil {
		return errors.Join(err, e.close())
	}
	if e.options.Memory > 0 {
		e.db.LimitMemory(e.options.Memory)
	}
	e.db.ShareMemory(e.options.Pool)
	return nil
}

// Restart drops everything that statements have created.
func (e *Engine) Restart() error {
	if err := e.close(); err != nil {
		return err
	}
	return e.begin()
}

// Memory is how many bytes the engine takes.
func (e *Engine) Memory() int64 { return e.db.Memory() }

// Spent reports whether so little memory is left that the session is of no use.
func (e *Engine) Spent() bool {
	return e.options.Memory > 0 && e.db.Memory() > e.options.Memory/4*3
}

// Close ends the engine.
func (e *Engine) Close() error { return e.close() }

func (e *Engine) close() error {
	for _, f := range e.functions {
		f.close()
	}
	for _, f := range e.calls {
		f.close()
	}
	e.functions, e.calls = nil, nil
	err := e.db.Close()
	e.pool.Free()
	return err
}

// Rows are the rows of a statement.
type Rows struct {
	Last bool // the statement is the last one

	stmt  *sqlite.Stmt
	ready bool // the first row was fetched already
	more  bool
}

// Columns returns the names of the columns.
func (r *Rows) Columns() []string {
	names := make([]string, r.stmt.Columns())
	for i := range names {
		names[i] = r.stmt.Name(i)
	}
	return names
}

// Next goes to the next row and reports whether there is one.
func (r *Rows) Next() (bool, error) {
	if r.ready {
		r.ready = false
		return r.more, nil
	}
	if !r.more {
		return false, nil
	}
	var err error
	r.more, err = r.stmt.Step()
	return r.more, err
}

// Type returns the type of a column of the row.
func (r *Rows) Type(i int) sqlite.Type { return r.stmt.Type(i) }

// Int returns a column of the row as an integer.
func (r *Rows) Int(i int) int64 { return r.stmt.Int(i) }

// Float returns a column of the row as a real number.
func (r *Rows) Float(i int) float64 { return r.stmt.Float(i) }

// Text returns a column of the row as text, which is valid until Next.
func (r *Rows) Text(i int) string { return r.stmt.View(i) }

// Blob returns the bytes of a column of the row.
func (r *Rows) Blob(i int) []byte { return r.stmt.Blob(i) }

// Any returns a column of the row as int64, float64, string, []byte or nil.
func (r *Rows) Any(i int) any { return r.stmt.Any(i) }

// ErrNoSQL is returned for a text without statements.
var ErrNoSQL = errors.New("there is no SQL to run")

// Run runs the statements of a text in order, and calls each for those that give rows. An Error has the place of the fault in
// the text.
func (e *Engine) Run(ctx context.Context, text string, each func(*Rows) error) error {
	statements, err := sqltext.Split(text)
	if err != nil {
		return err
	}
	if len(statements) == 0 {
		return ErrNoSQL
	}
	return e.db.During(ctx, func() error {
		for i, one := range statements {
			if err := e.run(one.Text, each, i == len(statements)-1); err != nil {
				return shifted(err, one.Pos)
			}
			if err := context.Cause(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}

// shifted adds the place of a statement to that of an error in it.
func shifted(err error, pos int) error {
	var bad *sqltext.Error
	if pos != 0 && errors.As(err, &bad) {
		return &sqltext.Error{Pos: bad.Pos + pos, Message: bad.Message, Cause: bad.Cause}
	}
	return err
}

// run runs one statement.
func (e *Engine) run(text string, each func(*Rows) error, last bool) error {
	e.db.Begin()
	tokens, err := sqltext.Tokenize(text)
	if err != nil {
		return err
	}
	if isMacroDefinition(tokens) { // its body is expanded where it is used
		return e.create(text, tokens)
	}
	x, err := e.expand(text, tokens)
	if err != nil {
		return err
	}
	sql := text
	if len(x.parts) != 1 {
		sql = x.sql.String()
		if tokens, err = sqltext.Tokenize(sql); err != nil {
			return placed(err, x)
		}
	}
	if err := e.defineNamed(tokens); err != nil {
		return err
	}
	switch {
	case tokens[0].Is("CREATE"):
		done, err := e.createPerfetto(sql, tokens)
		if done || err != nil {
			return placed(err, x)
		}
	case tokens[0].Is("INCLUDE") && tokens[1].Is("PERFETTO"):
		return placed(e.include(sql, tokens), x)
	case tokens[0].Is("DROP") && tokens[1].Is("PERFETTO"):
		return placed(e.drop(sql, tokens), x)
	}
	return placed(e.execute(sql, each, last), x)
}

// placed moves the place of an error in an expansion to its source.
func placed(err error, x *expansion) error {
	var bad *sqltext.Error
	if errors.As(err, &bad) {
		return &sqltext.Error{Pos: x.position(bad.Pos), Message: bad.Message, Cause: bad.Cause}
	}
	return err
}

// failed gives an error of SQLite in a statement its place.
func failed(err error, at int) error {
	var bad *sqltext.Error
	var failure *sqlite.Error
	if errors.As(err, &bad) || !errors.As(err, &failure) {
		return err
	}
	return &sqltext.Error{Pos: at + max(failure.Offset, 0), Message: failure.Message, Cause: failure.Cause}
}

// compile prepares a statement.
func (e *Engine) compile(sql string) (*sqlite.Stmt, string, error) {
	stmt, rest, err := e.db.Prepare(sql)
	if err != nil && !e.built && e.options.Metrics != nil && strings.Contains(err.Error(), "no such function") {
		if err := e.defineMetrics(); err != nil {
			return nil, "", err
		}
		stmt, rest, err = e.db.Prepare(sql)
	}
	return stmt, rest, e.hinted(err)
}

// execute runs a statement of SQLite.
func (e *Engine) execute(sql string, each func(*Rows) error, last bool) error {
	stmt, rest, err := e.compile(sql)
	if err != nil {
		return failed(err, 0)
	}
	if stmt == nil {
		return nil
	}
	defer stmt.Close()
	if strings.TrimSpace(rest) != "" {
		return sqltext.ErrorAt(len(sql)-len(rest), "near %q: syntax error", strings.Fields(rest)[0])
	}
	more, err := stmt.Step()
	if err != nil {
		return failed(err, 0)
	}
	if stmt.Columns() == 0 {
		return nil
	}
	if more && stmt.Columns() == 1 && (stmt.Value(0).Pointer(silent) != nil || stmt.Name(0) == "suppress_query_output") {
		for more && err == nil {
			more, err = stmt.Step()
		}
		return failed(err, 0)
	}
	if each == nil {
		for more && err == nil {
			more, err = stmt.Step()
		}
		return failed(err, 0)
	}
	stmt.ReadAhead()
	return failed(each(&Rows{Last: last, stmt: stmt, ready: true, more: more}), 0)
}

// silent is the kind of the pointer that functions return which are called for their effects.
const silent = "VOID"

// define defines the tables, functions and modules of an engine, and runs the prelude.
func (e *Engine) define() error {
	if err := e.limit(); err != nil {
		return err
	}
	for _, define := range definitions {
		if err := define(e); err != nil {
			return err
		}
	}
	if err := e.defineTables(); err != nil {
		return err
	}
	return e.runPrelude()
}

// definitions define functions and modules. Later ones win.
var definitions = []func(*Engine) error{
	(*Engine).defineModules,
	(*Engine).defineOwn,
	func(s *Engine) error {
		arrays, _ := s.source.(functions.Arrays)
		return functions.Define(s.db, shared{s.source, s.pool}, functions.Data{Arrays: arrays, Modules: s.options.Modules, Named: s.named})
	},
	func(s *Engine) error { return operators.Define(s.db, shared{s.source, s.pool}, s.expandQuery) },
	(*Engine).defineDocs,
	(*Engine).defineEffects,
}

// defineTables makes the tables of the trace visible, once a statement names them.
func (e *Engine) defineTables() error {
	var shown []string
	for _, name := range e.source.Names() {
		name = intrinsic(name)
		e.wait(name, "CREATE VIRTUAL TABLE "+name+" USING "+frameModule)
		shown = append(shown, "('"+name+"')")
	}
	return e.db.Exec("CREATE TABLE perfetto_tables(name STRING); INSERT INTO perfetto_tables VALUES " + strings.Join(shown, ", "))
}

// defineOwn makes the tables of the dataset visible that Trace Processor does not have. A view or table of the same name comes
// first.
func (e *Engine) defineOwn() error {
	for _, name := range e.source.Own() {
		module := sqlite.Module{Connect: func() (sqlite.Table, string, error) { return e.stored(name) }}
		if err := errors.Join(e.db.Module(name, module), e.db.Module("__intrinsic_"+name, module)); err != nil {
			return err
		}
	}
	return nil
}

// stored returns a table of the trace as a virtual table.
func (e *Engine) stored(name string) (sqlite.Table, string, error) {
	declaration, err := e.source.Declaration(name)
	return dataframe.LateTable(func() (*dataframe.Frame, error) { return e.source.Table(name) }), declaration, err
}

// intrinsic returns the name in SQL of a table of the source. Some have no prefix.
func intrinsic(name string) string {
	if unprefixed[name] {
		return name
	}
	return "__intrinsic_" + name
}

var unprefixed = map[string]bool{"_linux_interrupt_mapping": true, "experimental_proto_content": true, "experimental_proto_path": true}

// frame returns the rows behind a virtual table.
func (e *Engine) frame(name string) (*dataframe.Frame, error) {
	name = strings.ToLower(name)
	if f, ok := e.tables[name]; ok {
		return f, nil
	}
	return e.source.Table(unintrinsic(name))
}

// unintrinsic returns the source's name of a table.
func unintrinsic(name string) string { return strings.TrimPrefix(name, "__intrinsic_") }

// expandQuery replaces the macro calls in a query that a function runs.
func (e *Engine) expandQuery(query string) (string, error) { return e.expandText(query, 0) }

// named is frame for functions that ask about any name; it returns nil if the table is not one of ours.
func (e *Engine) named(name string) *dataframe.Frame {
	f, err := e.frame(name)
	if err != nil {
		return nil
	}
	return f
}

// frameModule is the module of tables over frames.
const frameModule = "__intrinsic_dataframe"

// dropping forgets the rows of a table when it is dropped.
type dropping struct {
	sqlite.Table
	drop func()
}

func (d dropping) Destroy() { d.drop() }

// defineModules defines the modules of the dialect itself.
func (e *Engine) defineModules() error {
	err := e.db.Module(frameModule, sqlite.Module{Create: func(name string, _ []string) (sqlite.Table, string, error) {
		name = strings.ToLower(name)
		if e.pending != nil {
			e.tables[name], e.pending = e.pending, nil
		}
		own := e.tables[name]
		if own == nil {
			return e.stored(unintrinsic(name))
		}
		bytes := own.Bytes()
		if err := e.db.Reserve(bytes); err != nil {
			e.db.Release(bytes)
			delete(e.tables, name)
			return nil, "", err
		}
		return dropping{own.Table(), func() {
			e.db.Release(bytes)
			if e.tables[name] == own {
				delete(e.tables, name)
			}
		}}, own.Declaration(), nil
	}})
	if err != nil {
		return err
	}
	return e.db.Module(functionModule, sqlite.Module{Create: func(name string, _ []string) (sqlite.Table, string, error) {
		name = strings.ToLower(name)
		if e.waiting != nil {
			e.calls[name], e.waiting = e.waiting, nil
		}
		f := e.calls[name]
		if f == nil {
			return nil, "", fmt.Errorf("there is no function %s", name)
		}
		return f, f.declaration(), nil
	}})
}
