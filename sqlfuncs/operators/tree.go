package operators

import (
	"errors"
	"fmt"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

// tree is a table whose rows have parents, which come before them.
type tree struct {
	rows    *dataframe.Frame
	parents []int32 // rows, -1 for a root
	taken   bool    // a tree is consumed by the function that gets it
}

// treeAggregate makes a tree of pairs of names and values, of which the first two are the node's and its parent's id.
type treeAggregate struct {
	*operators
	pairs
}

const treeName = "__intrinsic_tree_from_table"

func (a *treeAggregate) Step(args []sqlite.Value) error {
	if len(args) < 4 {
		return errors.New(treeName + ": want at least the id and the parent's id, with their names")
	}
	if err := a.add(a.pool, args); err != nil {
		return fmt.Errorf("%s: %w", treeName, err)
	}
	return nil
}

func (a *treeAggregate) Result(c sqlite.Context) error {
	if a.rows == nil {
		return nil
	}
	t, err := newTree(a.rows.Frame())
	if err != nil {
		return fmt.Errorf("%s: %w", treeName, err)
	}
	c.Pointer(t, treePointer)
	return nil
}

// newTree returns the tree of rows whose first columns are their id and their parent's.
func newTree(rows *dataframe.Frame) (*tree, error) {
	parents, err := parentRows(rows)
	if err != nil {
		return nil, err
	}
	sorted := true
	for row, p := range parents {
		sorted = sorted && p < int32(row)
	}
	if sorted {
		return &tree{rows: rows, parents: parents}, nil
	}
	order, err := parentsFirst(parents)
	if err != nil {
		return nil, err
	}
	position := make([]int32, len(order))
	for at, row := range order {
		position[row] = int32(at)
	}
	t := &tree{rows: &dataframe.Frame{Pool: rows.Pool, Rows: rows.Rows}, parents: make([]int32, len(order))}
	for at, row := range order {
		t.parents[at] = -1
		if p := parents[row]; p >= 0 {
			t.parents[at] = position[p]
		}
	}
	for i, column := range rows.Columns {
		r, err := rows.Reader(i)
		if err != nil {
			return nil, err
		}
		t.rows.Columns = append(t.rows.Columns, dataframe.Lazy(column.Name, column.Kind, func(v *dataframe.Values) error {
			v.Grow(len(order))
			for _, row := range order {
				switch {
				case r.IsNull(int(row)):
					v.Null()
				case column.Kind == dataframe.Integer:
					v.Int(r.Int(int(row)))
				case column.Kind == dataframe.Real:
					v.Float(r.Float(int(row)))
				default:
					v.Text(r.TextID(int(row)))
				}
			}
			return nil
		}))
	}
	return t, nil
}

// parentRows returns the row of each row's parent, -1 for a root.
func parentRows(rows *dataframe.Frame) ([]int32, error) {
	ids, err := rows.Reader(0)
	if err != nil {
		return nil, err
	}
	parentIDs, err := rows.Reader(1)
	if err != nil {
		return nil, err
	}
	if ids.Kind() != dataframe.Integer || parentIDs.Kind() != dataframe.Integer {
		return nil, errors.New("an id or a parent's id is not an integer")
	}
	byID := make(map[int64]int32, rows.Rows)
	for row := range rows.Rows {
		if ids.IsNull(row) {
			return nil, errors.New("an id is NULL")
		}
		byID[ids.Int(row)] = int32(row)
	}
	if len(byID) < rows.Rows {
		return nil, errors.New("two rows have the same id")
	}
	parents := make([]int32, rows.Rows)
	for row := range parents {
		parents[row] = -1
		if parentIDs.IsNull(row) {
			continue
		}
		p, ok := byID[parentIDs.Int(row)]
		if !ok {
			return nil, fmt.Errorf("no row has the id %d, which is a parent's", parentIDs.Int(row))
		}
		parents[row] = p
	}
	return parents, nil
}

// parentsFirst orders rows so that each comes after its parent, and otherwise as they are.
func parentsFirst(parents []int32) ([]int32, error) {
	const (
		open = 1 + iota // on the way up from a row
		done
	)
	order := make([]int32, 0, len(parents))
	state := make([]uint8, len(parents))
	var path []int32
	for start := range parents {
		row := int32(start)
		for path = path[:0]; row >= 0 && state[row] == 0; row = parents[row] {
			state[row] = open
			path = append(path, row)
		}
		if row >= 0 && state[row] == open {
			return nil, errors.New("the parents of a row form a cycle")
		}
		for i := len(path) - 1; i >= 0; i-- {
			state[path[i]] = done
			order = append(order, path[i])
		}
	}
	return order, nil
}

// treeToTable makes a table of a tree: the number of each row and that of its parent, and then the columns of the tree.
func (o *operators) treeToTable(c sqlite.Context, args []sqlite.Value) error {
	const name = "__intrinsic_tree_to_table"
	t, _ := args[0].Pointer(treePointer).(*tree)
	if t == nil {
		return errors.New(name + ": the argument is no tree")
	}
	if t.taken {
		return errors.New(name + ": the tree was used before")
	}
	t.taken = true
	b := dataframe.NewBuilder(o.pool, integers("_tree_id", "_tree_parent_id")...)
	for row, p := range t.parents {
		b.Int(0, int64(row))
		if p < 0 {
			b.Null(1)
		} else {
			b.Int(1, int64(p))
		}
	}
	f := b.Frame()
	f.Columns = append(f.Columns, t.rows.Columns...)
	numberedTable(c, f)
	return nil
}
