package operators

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

// SQLite wants to know a virtual table's columns before the query runs, but those of a pointer are known only then. So the
// module __intrinsic_table_ptr has columns c0, c1 ... that a query binds to the pointer's columns:
//
//	SELECT c0 AS id FROM __intrinsic_table_ptr(f(...)) WHERE __intrinsic_table_ptr_bind(c0, 'id')
const (
	bindFunction = "__intrinsic_table_ptr_bind"
	bindOp       = sqlite.FunctionOp + 1
	bindable     = 32 // number of columns; then come the pointer and the row
)

func tablePointerModule() sqlite.Module {
	var columns strings.Builder
	for i := range bindable {
		fmt.Fprintf(&columns, "c%d ANY, ", i)
	}
	declaration := "CREATE TABLE x(" + columns.String() + "tab BLOB HIDDEN, row INTEGER HIDDEN, PRIMARY KEY(row)) WITHOUT ROWID"
	return sqlite.Module{
		Connect:   func() (sqlite.Table, string, error) { return pointerTable{}, declaration, nil },
		Overloads: []sqlite.Overload{{Name: bindFunction, Op: bindOp}},
	}
}

type pointerTable struct{}

func (pointerTable) Destroy() {}

func (pointerTable) Open() (sqlite.Cursor, error) { return &pointerCursor{}, nil }

func (pointerTable) Best(x *sqlite.Index) error {
	var bound [bindable]bool
	n := 0
	pointed := false
	for i, c := range x.Constraints {
		switch {
		case !c.Usable:
		case c.Column > bindable || c.Column < 0:
			return errors.New("__intrinsic_table_ptr: the row cannot be constrained")
		case c.Op == bindOp:
			if c.Column == bindable {
				return errors.New(bindFunction + ": the pointer cannot be bound")
			}
			if bound[c.Column] {
				return fmt.Errorf("%s: c%d is bound twice", bindFunction, c.Column)
			}
			bound[c.Column] = true
			n++
			x.Use(i, 1+c.Column, true)
		case c.Column == bindable:
			if c.Op != sqlite.EQ {
				return errors.New("__intrinsic_table_ptr: the pointer can only be given as the argument")
			}
			x.Use(i, 0, true)
			pointed = true
		}
	}
	if !pointed {
		return errors.New("__intrinsic_table_ptr: the argument, a table pointer, is missing")
	}
	if n == 0 {
		return errors.New("__intrinsic_table_ptr: no column is bound; see " + bindFunction)
	}
	for i, b := range bound[:n] {
		if !b {
			return fmt.Errorf("%s: c%d is not bound, but a column after it", bindFunction, i)
		}
	}
	return nil
}

type pointerCursor struct {
	*binding
	row int
}

// binding are the columns of a frame that a call reads.
type binding struct {
	frame   *dataframe.Frame
	columns []boundColumn
}

// boundColumn is a column of the frame, whose values are loaded when they are first needed.
type boundColumn struct {
	at     int
	values dataframe.Reader
	loaded bool
}

// reader returns the values of a column.
func (b *binding) reader(i int) (dataframe.Reader, error) {
	c := &b.columns[i]
	if !c.loaded {
		var err error
		if c.values, err = b.frame.Reader(c.at); err != nil {
			return dataframe.Reader{}, err
		}
		c.loaded = true
	}
	return c.values, nil
}

func (c *pointerCursor) Filter(_ int, _ string, args []sqlite.Value) error {
	frame, ok := args[0].Pointer(tablePointer).(*dataframe.Frame)
	if !ok {
		return errors.New("__intrinsic_table_ptr: the argument is no table pointer")
	}
	c.binding, c.row = &binding{frame: frame}, 0
	for _, a := range args[1:] {
		if a.Type() != sqlite.TextOf {
			return errors.New(bindFunction + ": a column's name has to be a text")
		}
		name := a.Text()
		at := slices.IndexFunc(frame.Columns, func(column *dataframe.Column) bool { return column.Name == name })
		if at < 0 {
			return fmt.Errorf("%s: column '%s' does not exist in table", bindFunction, name)
		}
		c.columns = append(c.columns, boundColumn{at: at})
	}
	return nil
}

func (c *pointerCursor) Next() error {
	c.row++
	return nil
}

func (c *pointerCursor) EOF() bool { return c.row >= c.frame.Rows }

func (c *pointerCursor) Column(to sqlite.Context, i int) error {
	switch {
	case i < len(c.columns):
		values, err := c.reader(i)
		if err != nil {
			return err
		}
		values.Put(to, c.row)
	case i > bindable:
		to.Int(int64(c.row))
	case i < bindable:
		return fmt.Errorf("__intrinsic_table_ptr: column c%d is not bound", i)
	}
	return nil
}

// Rows returns the rows from the present one on.
func (c *pointerCursor) Rows() sqlite.Rows {
	return sqlite.Rows{Of: c.binding, From: c.row, To: c.frame.Rows}
}

// GoTo goes to a row.
func (c *pointerCursor) GoTo(row, _ int64) { c.row = int(row) }

// Vector returns the values of a column that is bound.
func (c *pointerCursor) Vector(i int) (*sqlite.Vector, error) {
	if i >= len(c.columns) {
		return nil, nil
	}
	values, err := c.reader(i)
	if err != nil {
		return nil, err
	}
	return values.Vector(), nil
}

func (c *pointerCursor) Rowid() int64 { return sqlite.NoRowid }

func (c *pointerCursor) Close() {}
