package operators

import (
	"errors"
	"fmt"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

// dominatorsAggregate makes the dominator tree of a graph of sources and destinations of edges, seen from a root, which is
// that of the first row. A node dominates another if all ways from the root to that one lead through it.
type dominatorsAggregate struct {
	*operators
	edges
	root uint32
}

const dominatorsName = "__intrinsic_dominator_tree"

func (a *dominatorsAggregate) Step(args []sqlite.Value) error {
	var ids [3]uint32
	for i := range ids {
		var err error
		if ids[i], err = node(args[i].Int()); err != nil {
			return fmt.Errorf("%s: %w", dominatorsName, err)
		}
	}
	if a.size == 0 {
		a.root = ids[2]
	}
	a.add(ids[0], ids[1])
	return nil
}

func (a *dominatorsAggregate) Result(c sqlite.Context) error {
	b := dataframe.NewBuilder(a.pool, integers("id", "node_id", "dominator_node_id")...)
	if a.size > 0 {
		if int(a.root) >= a.size {
			return fmt.Errorf("%s: the root %d is not in the graph", dominatorsName, a.root)
		}
		forward := a.graph()
		backward := (&edges{a.dests, a.sources, a.size}).graph()
		order, dominators, err := a.dominators(forward, backward, a.root)
		if err != nil {
			return err
		}
		for i, n := range order {
			b.Int(0, int64(i))
			b.Int(1, int64(n))
			if i == 0 {
				b.Null(2)
			} else {
				b.Int(2, int64(order[dominators[i]]))
			}
		}
	}
	table(c, b.Frame())
	return nil
}

// dominators returns the nodes that can be reached from the root, depth first, and the positions of their immediate
// dominators in that order. It is the algorithm of Lengauer and Tarjan, with path compression.
func (o *operators) dominators(forward, backward *graph, root uint32) (order []uint32, dominators []int32, err error) {
	number := make([]int32, forward.size()) // position in the order + 1
	var parent []int32
	type entry struct {
		node uint32
		from int32
	}
	for stack := []entry{{root, -1}}; len(stack) > 0; {
		e := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if number[e.node] != 0 {
			continue
		}
		at := int32(len(order))
		number[e.node] = at + 1
		order, parent = append(order, e.node), append(parent, e.from)
		out := forward.out(e.node)
		for i := range out {
			stack = append(stack, entry{out[len(out)-1-i], at})
		}
	}
	n := len(order)
	if n < 2 {
		return nil, nil, errors.New(dominatorsName + ": no edge leads from the root to another node")
	}
	l := newLinks(n)
	dominators = make([]int32, n)
	// The nodes whose semidominator is a node are a list: its first, and of each the next.
	first, next := make([]int32, n), make([]int32, n)
	for i := range first {
		first[i] = -1
	}
	for i := int32(n - 1); i > 0; i-- {
		for _, from := range backward.out(order[i]) {
			if v := number[from] - 1; v >= 0 {
				l.semi[i] = min(l.semi[i], l.semi[l.lowest(v)])
			}
		}
		s := l.semi[i]
		first[s], next[i] = i, first[s]
		p := parent[i]
		l.ancestor[i] = p
		for v := first[p]; v >= 0; v = next[v] {
			if u := l.lowest(v); l.semi[u] < l.semi[v] {
				dominators[v] = u
			} else {
				dominators[v] = p
			}
		}
		first[p] = -1
		if err := o.interrupted(int(i)); err != nil {
			return nil, nil, err
		}
	}
	for i := 1; i < n; i++ {
		if dominators[i] != l.semi[i] {
			dominators[i] = dominators[dominators[i]]
		}
	}
	return order, dominators, nil
}

// links is a forest that grows from the leaves, by positions in the depth-first order.
type links struct {
	semi     []int32 // the semidominator of a node
	ancestor []int32 // in the forest, -1 for a root
	label    []int32 // the node of the lowest semidominator on the way to the ancestor
	path     []int32
}

func newLinks(n int) *links {
	l := &links{make([]int32, n), make([]int32, n), make([]int32, n), nil}
	for i := range l.semi {
		l.semi[i], l.ancestor[i], l.label[i] = int32(i), -1, int32(i)
	}
	return l
}

// lowest returns the node of the lowest semidominator on the way from a node to its root, without the root. It shortens the
// way.
func (l *links) lowest(v int32) int32 {
	if l.ancestor[v] < 0 {
		return v
	}
	l.path = l.path[:0]
	for u := v; l.ancestor[l.ancestor[u]] >= 0; u = l.ancestor[u] {
		l.path = append(l.path, u)
	}
	for i := len(l.path) - 1; i >= 0; i-- {
		u := l.path[i]
		a := l.ancestor[u]
		if l.semi[l.label[a]] < l.semi[l.label[u]] {
			l.label[u] = l.label[a]
		}
		l.ancestor[u] = l.ancestor[a]
	}
	return l.label[v]
}
