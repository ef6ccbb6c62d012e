package operators

import (
	"errors"
	"fmt"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

// dfsWeightBounded searches a graph depth first from each root until the visited edges weigh more than the root's target. The
// arguments are lists that RepeatedField makes: sources, destinations and weights of edges, roots and targets. If the last
// argument, a number, is true, the node that passes the target is in the result.
func (o *operators) dfsWeightBounded() *dataframe.Function {
	const name = "__intrinsic_dfs_weight_bounded"
	f := &dataframe.Function{
		Name:    name,
		Columns: integers("id", "root_node_id", "node_id", "parent_node_id"),
		Args:    []string{"_fn_arg0", "_fn_arg1", "_fn_arg2", "_fn_arg3", "_fn_arg4", "_fn_arg5"},
	}
	f.Rows = func(args []sqlite.Value) (*dataframe.Frame, error) {
		b := bounded{operators: o, table: dataframe.NewBuilder(o.pool, f.Columns...), floor: args[5].Int() != 0}
		if args[0].IsNull() && args[1].IsNull() && args[2].IsNull() || args[3].IsNull() && args[4].IsNull() {
			return b.table.Frame(), nil
		}
		var lists [5][]int64
		for i := range lists {
			var err error
			if lists[i], err = repeated(args[i]); err != nil {
				return nil, fmt.Errorf("%s: argument %d: %w", name, i+1, err)
			}
		}
		if len(lists[0]) != len(lists[1]) || len(lists[0]) != len(lists[2]) || len(lists[3]) != len(lists[4]) {
			return nil, errors.New(name + ": the lists of edges, or of roots, differ in length")
		}
		if err := b.run(lists); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return b.table.Frame(), nil
	}
	return f
}

type bounded struct {
	*operators
	table *dataframe.Builder
	floor bool
}

func (b *bounded) run(lists [5][]int64) error {
	var ids [3][]uint32 // sources, destinations, roots
	for i, from := range []int{0, 1, 3} {
		var err error
		if ids[i], err = nodes(lists[from]); err != nil {
			return err
		}
	}
	size := 0
	for _, list := range ids {
		for _, n := range list {
			size = max(size, int(n)+1)
		}
	}
	type edge struct{ to, weight uint32 }
	starts, edges := make([]uint32, size+1), make([]edge, len(ids[0]))
	place(ids[0], starts, func(i int, at uint32) { edges[at] = edge{ids[1][i], uint32(lists[2][i])} })
	type step struct {
		visit
		weight uint32
	}
	var stack []step
	seen := make([]int32, size) // the last search that has seen a node
	rows := 0
	for i, root := range ids[2] {
		total, target := uint32(0), uint32(lists[4][i])
		stack = append(stack[:0], step{visit: visit{node: root, start: true}})
		for len(stack) > 0 {
			v := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if seen[v.node] == int32(i+1) {
				continue
			}
			seen[v.node] = int32(i + 1)
			total += v.weight
			if total > target && !b.floor {
				break
			}
			b.table.Int(0, int64(rows))
			b.table.Int(1, int64(root))
			b.table.Int(2, int64(v.node))
			if v.start {
				b.table.Null(3)
			} else {
				b.table.Int(3, int64(v.from))
			}
			rows++
			if err := b.interrupted(rows); err != nil {
				return err
			}
			if total > target {
				break
			}
			out := edges[starts[v.node]:starts[v.node+1]]
			for k := range out {
				e := out[len(out)-1-k]
				stack = append(stack, step{visit{node: e.to, from: v.node}, e.weight})
			}
		}
	}
	return nil
}

// repeated returns the integers of a list that RepeatedField has made.
func repeated(v sqlite.Value) ([]int64, error) {
	if v.IsNull() {
		return nil, errors.New("it is NULL, but others are not")
	}
	var list []any
	if v.Type() == sqlite.Blob {
		var err error
		if list, err = RepeatedValues(v.Blob()); err != nil {
			return nil, err
		}
	}
	if list == nil {
		return nil, errors.New("it is not a list that RepeatedField makes")
	}
	values := make([]int64, len(list))
	for i, one := range list {
		n, ok := one.(int64)
		if !ok {
			return nil, fmt.Errorf("it has %v, which is not an integer", one)
		}
		values[i] = n
	}
	return values, nil
}
