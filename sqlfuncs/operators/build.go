package operators

import (
	"errors"
	"fmt"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

// arrayAggregate makes an array of values of one type.
type arrayAggregate struct {
	integers []int64
	reals    []float64
	texts    []string
}

func (a *arrayAggregate) Step(args []sqlite.Value) error {
	const name = "__intrinsic_array_agg"
	v := args[0]
	switch v.Type() {
	case sqlite.Integer:
		a.integers = append(a.integers, v.Int())
	case sqlite.Real:
		a.reals = append(a.reals, v.Float())
	case sqlite.TextOf:
		a.texts = append(a.texts, v.Text())
	default:
		return fmt.Errorf("%s: a %s cannot be in an array", name, v.Type())
	}
	if a.reals != nil && a.integers != nil || a.texts != nil && (a.reals != nil || a.integers != nil) {
		return errors.New(name + ": all values need to have the same type")
	}
	return nil
}

func (a *arrayAggregate) Result(c sqlite.Context) error {
	switch {
	case a.integers != nil:
		c.Pointer(a.integers, integersPointer)
	case a.reals != nil:
		c.Pointer(a.reals, realsPointer)
	case a.texts != nil:
		c.Pointer(a.texts, textsPointer)
	}
	return nil
}

// field is a field of a struct.
type field struct {
	name  string
	value any
}

// makeStruct makes a struct: first the names of its fields, then their values.
func makeStruct(c sqlite.Context, args []sqlite.Value) error {
	const (
		name      = "__intrinsic_struct"
		maxFields = 8
	)
	if len(args)%2 != 0 {
		return errors.New(name + ": want as many names as values")
	}
	n := len(args) / 2
	if n > maxFields {
		return fmt.Errorf("%s: want at most %d fields, not %d", name, maxFields, n)
	}
	fields := make([]field, n)
	for i := range fields {
		if args[i].Type() != sqlite.TextOf {
			return errors.New(name + ": the names of fields have to be texts")
		}
		if args[n+i].Type() == sqlite.Blob {
			return errors.New(name + ": a field cannot be a BLOB")
		}
		fields[i] = field{args[i].Text(), args[n+i].Any()}
	}
	c.Pointer(fields, structPointer)
	return nil
}

// pairs collects rows that come as pairs of a column's name and value. The names of the first row count.
type pairs struct {
	rows *dataframe.Collector
	n    int // columns
}

func (p *pairs) add(pool *dataframe.Pool, args []sqlite.Value) error {
	if p.rows == nil {
		if len(args)%2 != 0 {
			return errors.New("want pairs of names and values")
		}
		var names []string
		for i := 0; i < len(args); i += 2 {
			if args[i].Type() != sqlite.TextOf {
				return errors.New("a column's name has to be a text")
			}
			names = append(names, args[i].Text())
		}
		p.rows, p.n = dataframe.NewCollector(pool, names, nil), len(names)
	}
	for i := range p.n {
		if err := p.rows.Value(i, args[2*i+1]); err != nil {
			return err
		}
	}
	return nil
}

// rowsAggregate makes a table.
type rowsAggregate struct {
	*operators
	pairs
}

func (a *rowsAggregate) Step(args []sqlite.Value) error {
	if err := a.add(a.pool, args); err != nil {
		return fmt.Errorf("__intrinsic_row_dataframe_agg: %w", err)
	}
	return nil
}

func (a *rowsAggregate) Result(c sqlite.Context) error {
	if a.rows != nil {
		c.Pointer(a.rows.Frame(), rowsPointer)
	}
	return nil
}
