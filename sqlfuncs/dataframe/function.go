package dataframe

import (
	"fmt"
	"strings"

	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

// Function is a function that gives rows. SQL calls it in FROM: FROM name(a, b).
type Function struct {
	Name    string
	Columns []Spec
	Args    []string // names of the arguments, which are hidden columns too
	// Rows returns the rows of a call, whose columns are those of Columns. A missing argument is no call: SQLite looks for
	// another plan.
	Rows func(args []sqlite.Value) (*Frame, error)
	// Pick is there instead of Rows if the rows are those of a table with the same columns. It returns the table and the
	// numbers of its rows.
	Pick func(args []sqlite.Value) (table *Frame, rows []uint32, err error)
}

// Define defines the function in a database.
func (f *Function) Define(db *sqlite.DB) error {
	return db.Module(f.Name, sqlite.Module{Connect: func() (sqlite.Table, string, error) {
		return functionTable{f}, f.declaration(), nil
	}})
}

func (f *Function) declaration() string {
	var columns []string
	for _, c := range f.Columns {
		columns = append(columns, fmt.Sprintf(`"%s" %s`, c.Name, declared[c.Kind]))
	}
	for _, a := range f.Args {
		columns = append(columns, fmt.Sprintf(`"%s" HIDDEN`, a))
	}
	return "CREATE TABLE x(" + strings.Join(columns, ", ") + ", _auto_id INTEGER HIDDEN NOT NULL, PRIMARY KEY(_auto_id)) WITHOUT ROWID"
}

type functionTable struct{ *Function }

func (t functionTable) Destroy() {}

func (t functionTable) Open() (sqlite.Cursor, error) {
	return &functionCursor{function: t.Function}, nil
}

func (t functionTable) Best(x *sqlite.Index) error {
	given := make([]bool, len(t.Args))
	found := 0
	for i, c := range x.Constraints {
		arg := c.Column - len(t.Columns)
		if arg == len(t.Args) { // the hidden column after them takes one more argument
			return t.refused()
		}
		if arg < 0 || arg > len(t.Args) || c.Op != sqlite.EQ || given[arg] {
			continue
		}
		if !c.Usable {
			return sqlite.ErrNoPlan
		}
		given[arg] = true
		x.Use(i, arg, true)
		found++
	}
	if found < len(t.Args) {
		return t.refused()
	}
	return nil // as in Trace Processor, without an estimate: SQLite calls the function as rarely as possible
}

func (t functionTable) refused() error {
	return fmt.Errorf("%s has %d arguments: %s", t.Name, len(t.Args), strings.Join(t.Args, ", "))
}

type functionCursor struct {
	function *Function
	rows     cursor
	args     []any // of the call, for the hidden columns
}

func (c *functionCursor) Filter(_ int, _ string, args []sqlite.Value) error {
	var frame *Frame
	var rows []uint32
	var err error
	if c.function.Pick != nil {
		frame, rows, err = c.function.Pick(args)
	} else {
		frame, err = c.function.Rows(args)
	}
	if err != nil {
		return err
	}
	c.args = c.args[:0]
	for _, a := range args {
		c.args = append(c.args, a.Any())
	}
	if c.rows.whole != frame {
		c.rows = cursor{whole: frame}
	}
	if err := c.rows.Filter(0, "", nil); err != nil {
		return err
	}
	if c.function.Pick != nil {
		c.rows.show(rows)
	}
	return nil
}

func (c *functionCursor) Next() error       { return c.rows.Next() }
func (c *functionCursor) EOF() bool         { return c.rows.EOF() }
func (c *functionCursor) Rows() sqlite.Rows { return c.rows.Rows() }
func (c *functionCursor) GoTo(row, i int64) { c.rows.GoTo(row, i) }

// Vector returns the values of a column that is no argument.
func (c *functionCursor) Vector(i int) (*sqlite.Vector, error) {
	if i >= len(c.function.Columns) {
		return nil, nil
	}
	return c.rows.Vector(i)
}

func (c *functionCursor) Rowid() int64 { return int64(c.rows.i) }
func (c *functionCursor) Close()       {}

func (c *functionCursor) Column(to sqlite.Context, i int) error {
	switch arg := i - len(c.function.Columns); {
	case arg < 0:
		return c.rows.Column(to, i)
	case arg < len(c.args):
		to.Any(c.args[arg])
	default:
		to.Int(c.Rowid())
	}
	return nil
}
