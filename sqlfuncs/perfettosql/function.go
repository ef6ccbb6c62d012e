package perfettosql

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqltext"
)

// maxRecursion is how deep functions may call themselves.
const maxRecursion = 20_000

// created is a function of CREATE PERFETTO FUNCTION that gives a value.
type created struct {
	engine  *Engine
	name    string
	args    []argument
	sql     string
	stmts   []*sqlite.Stmt // by depth of recursion
	numbers []int32        // of the parameters, by argument
	depth   int
	memo    *memo // of EXPERIMENTAL_MEMOIZE, or nil
}

// key returns the key of a function in Engine.functions.
func key(name string, args int) string { return fmt.Sprintf("%s/%d", strings.ToLower(name), args) }

// close releases the statements of a function.
func (f *created) close() {
	for _, s := range f.stmts {
		s.Close()
	}
	f.stmts = nil
}

func (e *Engine) createFunction(c *creation) error {
	n := len(c.args)
	if n > 0 && c.args[n-1].variadic {
		n = -1
	}
	if c.delegate != "" {
		return e.delegate(c, n)
	}
	if c.table {
		return e.createTableFunction(c)
	}
	old := e.functions[key(c.name, n)]
	switch {
	case old == nil && e.db.Defined(c.name, n):
		return sqltext.ErrorAt(c.at, "function %s of %d arguments is built in", c.name, n)
	case old != nil && !c.replace && old.stmts != nil:
		return sqltext.ErrorAt(c.at, "function %s of %d arguments exists already", c.name, n)
	}
	f := &created{engine: e, name: c.name, args: c.args, sql: c.body}
	// The function is defined before its body is compiled, which may call it.
	if old != nil { // SQLite cannot redefine a function while a statement runs
		old.close()
		*old = *f
		f = old
	} else if err := e.addFunction(f); err != nil {
		return err
	}
	stmt, err := e.prepare(c)
	if err != nil {
		return err
	}
	f.stmts = []*sqlite.Stmt{stmt}
	return nil
}

// parameters returns the numbers of the parameters of a body, by argument.
func parameters(stmt *sqlite.Stmt, args []argument) []int32 {
	names := make([]string, len(args))
	for i, a := range args {
		names[i] = "$" + a.name
	}
	return stmt.Numbers(names)
}

func (e *Engine) addFunction(f *created) error {
	e.functions[key(f.name, len(f.args))] = f
	return e.db.Function(f.name, len(f.args), sqlite.Deterministic, f.call)
}

// delegate gives a function another name.
func (e *Engine) delegate(c *creation, n int) error {
	if old := e.functions[key(c.name, n)]; (old != nil || e.db.Defined(c.name, n)) && !c.replace && !strings.EqualFold(c.name, c.delegate) {
		return sqltext.ErrorAt(c.at, "function %s of %d arguments exists already", c.name, n)
	}
	if err := e.db.Alias(c.name, c.delegate, n); err != nil {
		return sqltext.ErrorAt(c.at, "CREATE PERFETTO FUNCTION %s: there is no function %s of %d arguments to delegate to", c.name, c.delegate, n)
	}
	return nil
}

// call runs the function.
func (f *created) call(c sqlite.Context, args []sqlite.Value) error {
	for i, a := range f.args {
		if t := args[i].Type(); !a.typ.takes(t) {
			return fmt.Errorf("%s: argument %s: expected %s, actual %s", f.name, a.name, a.typ, typeOf(t))
		}
	}
	if f.memo != nil && args[0].Type() == sqlite.Integer {
		return f.remembered(c, args)
	}
	return f.evaluate(args, c.Value)
}

// evaluate runs the body, and passes on its value.
func (f *created) evaluate(args []sqlite.Value, result func(sqlite.Value)) error {
	return f.run(func(stmt *sqlite.Stmt) (bool, error) { return stmt.Start(f.numbers, args) }, result)
}

// run runs the body, which start begins.
func (f *created) run(start func(*sqlite.Stmt) (bool, error), result func(sqlite.Value)) error {
	if f.depth == maxRecursion {
		return fmt.Errorf("%s calls itself more than %d times deep", f.name, maxRecursion)
	}
	if f.depth == len(f.stmts) {
		stmt, _, err := f.engine.db.Prepare(f.sql)
		if err != nil {
			return err
		}
		f.stmts = append(f.stmts, stmt)
	}
	stmt := f.stmts[f.depth]
	if f.numbers == nil {
		f.numbers = parameters(stmt, f.args)
	}
	if stmt.Columns() != 1 {
		return fmt.Errorf("%s: the query of a function gives one column, not %d", f.name, stmt.Columns())
	}
	f.depth++
	defer func() { f.depth-- }()
	more, err := start(stmt)
	if err != nil || !more {
		stmt.Reset()
		return inside(f.name, err)
	}
	result(stmt.Value(0))
	if more, err = stmt.Finish(); more {
		return fmt.Errorf("%s: the query of a function gives one row, not several", f.name)
	}
	return inside(f.name, err)
}

// inside says in which function an error is.
func inside(function string, err error) error {
	if err == nil {
		return nil
	}
	var failure *sqlite.Error
	if errors.As(err, &failure) && failure.Cause != nil {
		return failure.Cause
	}
	return fmt.Errorf("%s: %w", function, err)
}

// functionModule is the module of functions with rows.
const functionModule = "runtime_table_function"

// tableFunction is a function of CREATE PERFETTO FUNCTION that gives rows, as a virtual table.
type tableFunction struct {
	engine  *Engine
	name    string
	args    []argument
	columns []argument
	sql     string
	numbers []int32      // of the parameters, by argument
	spare   *sqlite.Stmt // that no cursor uses
}

func (f *tableFunction) close() {
	if f.spare != nil {
		f.spare.Close()
		f.spare = nil
	}
}

var sqlTypes = [...]string{anyType: "", boolType: "BIGINT", longType: "BIGINT", doubleType: "DOUBLE", stringType: "TEXT", bytesType: "BLOB"}

// declaration declares the columns, the arguments as hidden columns, and the row's number.
func (f *tableFunction) declaration() string {
	var b strings.Builder
	b.WriteString("CREATE TABLE x(")
	for _, c := range f.columns {
		fmt.Fprintf(&b, "%s %s, ", sqltext.QuoteName(c.name), sqlTypes[c.typ])
	}
	for _, a := range f.args {
		fmt.Fprintf(&b, "%s %s HIDDEN, ", sqltext.QuoteName("in_"+a.name), sqlTypes[a.typ])
	}
	b.WriteString("_primary_key BIGINT HIDDEN, PRIMARY KEY(_primary_key)) WITHOUT ROWID")
	return b.String()
}

func (e *Engine) createTableFunction(c *creation) error {
	stmt, err := e.prepare(c)
	if err != nil {
		return err
	}
	fail := func(format string, args ...any) error {
		stmt.Close()
		return sqltext.ErrorAt(c.at, "CREATE PERFETTO FUNCTION "+c.name+": "+format, args...)
	}
	for i := 1; i <= stmt.Parameters(); i++ {
		name, ok := strings.CutPrefix(stmt.ParameterName(i), "$")
		found := false
		for _, a := range c.args {
			found = found || a.name == name
		}
		if !ok || !found {
			return fail("%q in its query is no argument", stmt.ParameterName(i))
		}
	}
	if stmt.Columns() != len(c.columns) {
		return fail("it is declared with %d columns, its query gives %d", len(c.columns), stmt.Columns())
	}
	for i, col := range c.columns {
		if stmt.Name(i) != col.name {
			return fail("column %d is declared as %s, the query gives %s", i, col.name, stmt.Name(i))
		}
	}
	name := strings.ToLower(c.name)
	old := e.calls[name]
	e.waiting = &tableFunction{engine: e, name: c.name, args: c.args, columns: c.columns, sql: c.body, numbers: parameters(stmt, c.args), spare: stmt}
	defer func() { e.waiting = nil }()
	if err := e.replacing("TABLE", c.name, c.replace, fmt.Sprintf("CREATE VIRTUAL TABLE %s USING %s", sqltext.QuoteName(c.name), functionModule)); err != nil {
		stmt.Close()
		e.calls[name] = old
		return failed(err, c.at)
	}
	if old != nil {
		old.close()
	}
	return nil
}

func (f *tableFunction) Destroy() {}

func (f *tableFunction) Best(x *sqlite.Index) error {
	found := make([]bool, len(f.args))
	missing := len(f.args)
	for i, c := range x.Constraints {
		arg := c.Column - len(f.columns)
		if arg < 0 || arg >= len(f.args) || c.Op != sqlite.EQ {
			continue
		}
		if !c.Usable {
			return sqlite.ErrNoPlan
		}
		if !found[arg] {
			found[arg] = true
			missing--
			x.Use(i, arg, true)
		}
	}
	if missing > 0 {
		return sqlite.ErrNoPlan
	}
	return nil
}

func (f *tableFunction) Open() (sqlite.Cursor, error) {
	c := &functionCursor{table: f, stmt: f.spare}
	f.spare = nil
	return c, nil
}

// functionCursor goes through the rows of a call.
type functionCursor struct {
	table *tableFunction
	stmt  *sqlite.Stmt
	more  bool
	row   int64
}

func (c *functionCursor) Close() {
	if c.stmt == nil {
		return
	}
	if c.table.spare == nil {
		c.stmt.Reset()
		c.table.spare = c.stmt
		return
	}
	c.stmt.Close()
}

func (c *functionCursor) Filter(_ int, _ string, args []sqlite.Value) error {
	if c.stmt == nil {
		var err error
		if c.stmt, _, err = c.table.engine.db.Prepare(c.table.sql); err != nil {
			return inside(c.table.name, err)
		}
	}
	var err error
	c.row = 1
	c.more, err = c.stmt.Start(c.table.numbers, args)
	return inside(c.table.name, err)
}

func (c *functionCursor) Next() (err error) {
	c.row++
	c.more, err = c.stmt.Step()
	return inside(c.table.name, err)
}

func (c *functionCursor) EOF() bool    { return !c.more }
func (c *functionCursor) Rowid() int64 { return c.row }

func (c *functionCursor) Column(to sqlite.Context, i int) error {
	switch {
	case i < len(c.table.columns):
		to.Value(c.stmt.Value(i))
	case i == len(c.table.columns)+len(c.table.args):
		to.Int(c.row)
	}
	return nil
}
