package operators

import (
	"errors"
	"fmt"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

// partitionAggregate splits a tree into one forest for each group: the parent of a node becomes the nearest node above it that
// is in its group. The rows are node, parent and group; the root's parent is NULL.
type partitionAggregate struct {
	*operators
	rows    []partitionRow
	parents []uint32 // of the rows
	root    *partitionRow
	size    int // number of nodes
	groups  int
}

type partitionRow struct{ node, group uint32 }

const partitionName = "__intrinsic_structural_tree_partition"

func (a *partitionAggregate) Step(args []sqlite.Value) error {
	var ids [3]uint32
	for i := range ids {
		var err error
		if ids[i], err = node(args[i].Int()); err != nil {
			return fmt.Errorf("%s: %w", partitionName, err)
		}
	}
	row := partitionRow{ids[0], ids[2]}
	a.groups = max(a.groups, int(row.group)+1)
	a.size = max(a.size, int(row.node)+1)
	if args[1].IsNull() {
		if a.root != nil {
			return errors.New(partitionName + ": two nodes have no parent; want one root")
		}
		a.root = &row
		return nil
	}
	a.size = max(a.size, int(ids[1])+1)
	a.rows, a.parents = append(a.rows, row), append(a.parents, ids[1])
	return nil
}

func (a *partitionAggregate) Result(c sqlite.Context) error {
	b := dataframe.NewBuilder(a.pool, integers("id", "node_id", "parent_node_id", "group_key")...)
	if a.size > 0 {
		if a.root == nil {
			return errors.New(partitionName + ": the tree has no root")
		}
		if err := a.walk(b); err != nil {
			return err
		}
	}
	table(c, b.Frame())
	return nil
}

// maxPartition limits the rows where nodes come twice.
const maxPartition = 1 << 24

func (a *partitionAggregate) walk(b *dataframe.Builder) error {
	starts, children := make([]uint32, a.size+1), make([]partitionRow, len(a.rows))
	place(a.parents, starts, func(i int, at uint32) { children[at] = a.rows[i] })
	type step struct {
		partitionRow
		above int64 // the nearest of the group before the node was entered
		left  bool  // all below the node are done
	}
	nearest := make([]int64, a.groups) // of each group on the way from the root, -1 without
	for i := range nearest {
		nearest[i] = -1
	}
	stack := []step{{partitionRow: *a.root}}
	depth, rows := 0, 0
	for len(stack) > 0 {
		s := &stack[len(stack)-1]
		if s.left {
			nearest[s.group] = s.above
			stack = stack[:len(stack)-1]
			depth--
			continue
		}
		b.Int(0, int64(rows))
		b.Int(1, int64(s.node))
		if nearest[s.group] < 0 {
			b.Null(2)
		} else {
			b.Int(2, nearest[s.group])
		}
		b.Int(3, int64(s.group))
		s.left, s.above = true, nearest[s.group]
		nearest[s.group] = int64(s.node)
		rows++
		if depth++; depth > len(a.rows)+1 || rows > max(maxPartition, len(a.rows)+1) {
			return errors.New(partitionName + ": the tree has a cycle, or nodes with several parents")
		}
		if err := a.interrupted(rows); err != nil {
			return err
		}
		for _, child := range children[starts[s.node]:starts[s.node+1]] {
			stack = append(stack, step{partitionRow: child})
		}
	}
	return nil
}
