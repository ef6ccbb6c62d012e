package operators

import (
	"errors"
	"fmt"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

const summaryName = "__intrinsic_tree_dominator_summary"

// dominatorSummary makes a table of a dominator tree: the id of each node and of its parent, the sums of some columns over the node and
// all below it, and its depth, which is 1 for roots. Trace Processor has it since v59.
func (o *operators) dominatorSummary(c sqlite.Context, args []sqlite.Value) error {
	b := dataframe.NewBuilder(o.pool, integers("id", "idom_id", "dominated_obj_count", "dominated_size_bytes", "dominated_native_size_bytes", "depth")...)
	t, _ := args[0].Pointer(treePointer).(*tree)
	if t == nil { // of no rows
		table(c, b.Frame())
		return nil
	}
	if t.taken {
		return errors.New(summaryName + ": the tree was used before")
	}
	t.taken = true
	var sums [3][]int64
	for i, column := range [...]string{"self_count", "self_size", "native_size"} {
		var err error
		if sums[i], err = t.sums(column); err != nil {
			return fmt.Errorf("%s: %w", summaryName, err)
		}
	}
	ids, err := t.rows.Reader(0)
	if err != nil {
		return err
	}
	depth := make([]int64, t.rows.Rows)
	for row, p := range t.parents {
		b.Int(0, ids.Int(row))
		depth[row] = 1
		if p < 0 {
			b.Null(1)
		} else {
			b.Int(1, ids.Int(int(p)))
			depth[row] += depth[p]
		}
		for i := range sums {
			b.Int(2+i, sums[i][row])
		}
		b.Int(5, depth[row])
	}
	table(c, b.Frame())
	return nil
}

// sums adds up a column of integers over each node and all below it.
func (t *tree) sums(column string) ([]int64, error) {
	r, err := t.rows.Named(column)
	if err != nil {
		return nil, err
	}
	if r.Kind() != dataframe.Integer {
		return nil, fmt.Errorf("%s is not an integer", column)
	}
	sums := make([]int64, t.rows.Rows)
	for row := len(sums) - 1; row >= 0; row-- {
		if !r.IsNull(row) {
			sums[row] += r.Int(row)
		}
		if p := t.parents[row]; p >= 0 {
			sums[p] += sums[row]
		}
	}
	return sums, nil
}
