package operators

import (
	"fmt"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

// maxNode limits the numbers of nodes and groups. They index arrays, so that a large one would take the memory of all below.
const maxNode = 1<<26 - 1

// node converts a value to the number of a node.
func node(v int64) (uint32, error) {
	if v < 0 || v > maxNode {
		return 0, fmt.Errorf("%d cannot be a node: nodes are numbers from 0 to %d", v, maxNode)
	}
	return uint32(v), nil
}

func nodes(values []int64) ([]uint32, error) {
	out := make([]uint32, len(values))
	for i, v := range values {
		var err error
		if out[i], err = node(v); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// graph has the edges of each node in the order in which they came.
type graph struct {
	starts []uint32 // position of a node's first edge, one more at the end
	dests  []uint32
}

// size is the number of nodes. Other ones have no edges.
func (g *graph) size() int { return max(len(g.starts)-1, 0) }

// out returns the nodes to which the edges of a node lead.
func (g *graph) out(n uint32) []uint32 {
	if int(n) >= g.size() {
		return nil
	}
	return g.dests[g.starts[n]:g.starts[n+1]]
}

// edges collects edges in any order.
type edges struct {
	sources, dests []uint32
	size           int // number of nodes
}

func (e *edges) add(source, dest uint32) {
	e.sources, e.dests = append(e.sources, source), append(e.dests, dest)
	e.touch(source)
	e.touch(dest)
}

// touch makes a node part of the graph.
func (e *edges) touch(n uint32) { e.size = max(e.size, int(n)+1) }

// graph returns the edges by source.
func (e *edges) graph() *graph {
	g := &graph{make([]uint32, e.size+1), make([]uint32, len(e.dests))}
	place(e.sources, g.starts, func(i int, at uint32) { g.dests[at] = e.dests[i] })
	return g
}

// place puts the items of a list in the order of their keys, equal ones as they are. It sets starts to the position of the
// first item of each key, and calls put with the position of each item.
func place(keys, starts []uint32, put func(i int, at uint32)) {
	for _, k := range keys {
		starts[k+1]++
	}
	for k := 1; k < len(starts); k++ {
		starts[k] += starts[k-1]
	}
	next := append([]uint32(nil), starts...)
	for i, k := range keys {
		put(i, next[k])
		next[k]++
	}
}

// graphAggregate makes a graph of sources and destinations of edges. A source without a destination is only a node.
type graphAggregate struct{ edges }

func (a *graphAggregate) Step(args []sqlite.Value) error {
	source, err := node(args[0].Int())
	if err != nil {
		return fmt.Errorf("__intrinsic_graph_agg: %w", err)
	}
	if args[1].IsNull() {
		a.touch(source)
		return nil
	}
	dest, err := node(args[1].Int())
	if err != nil {
		return fmt.Errorf("__intrinsic_graph_agg: %w", err)
	}
	a.add(source, dest)
	return nil
}

func (a *graphAggregate) Result(c sqlite.Context) error {
	if a.size > 0 {
		c.Pointer(a.graph(), graphPointer)
	}
	return nil
}

// search is a search through a graph from some nodes. It makes a table of the visited nodes and from where each was reached.
type search struct {
	*operators
	*graph
	starts  []uint32
	visited []bool
	rows    int
	table   *dataframe.Builder
}

type visit struct {
	node, from uint32
	start      bool // there is no from
}

// newSearch returns a search, or nil if there is nothing to search.
func (o *operators) newSearch(args []sqlite.Value) (*search, error) {
	s := &search{operators: o, table: dataframe.NewBuilder(o.pool, integers("id", "node_id", "parent_node_id")...)}
	s.graph, _ = args[0].Pointer(graphPointer).(*graph)
	starts, _ := args[1].Pointer(integersPointer).([]int64)
	if s.graph == nil || starts == nil {
		s.graph = &graph{}
		return s, nil
	}
	var err error
	if s.starts, err = nodes(starts); err != nil {
		return nil, err
	}
	size := s.size()
	for _, n := range s.starts {
		size = max(size, int(n)+1)
	}
	s.visited = make([]bool, size)
	return s, nil
}

func (s *search) add(v visit) error {
	s.table.Int(0, int64(s.rows))
	s.table.Int(1, int64(v.node))
	if v.start {
		s.table.Null(2)
	} else {
		s.table.Int(2, int64(v.from))
	}
	s.rows++
	return s.interrupted(s.rows)
}

// depthFirst visits the nodes of a graph that can be reached from an array of nodes, depth first.
func (o *operators) depthFirst(c sqlite.Context, args []sqlite.Value) error {
	s, err := o.newSearch(args)
	if err != nil {
		return fmt.Errorf("__intrinsic_dfs: %w", err)
	}
	var stack []visit
	for _, n := range s.starts {
		stack = append(stack, visit{node: n, start: true})
	}
	for len(stack) > 0 {
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if s.visited[v.node] {
			continue
		}
		s.visited[v.node] = true
		if err := s.add(v); err != nil {
			return err
		}
		out := s.out(v.node)
		for i := range out {
			stack = append(stack, visit{node: out[len(out)-1-i], from: v.node})
		}
	}
	table(c, s.table.Frame())
	return nil
}

// breadthFirst visits the nodes of a graph that can be reached from an array of nodes, the nearest first.
func (o *operators) breadthFirst(c sqlite.Context, args []sqlite.Value) error {
	s, err := o.newSearch(args)
	if err != nil {
		return fmt.Errorf("__intrinsic_bfs: %w", err)
	}
	var queue []visit
	enter := func(v visit) {
		if !s.visited[v.node] {
			s.visited[v.node] = true
			queue = append(queue, v)
		}
	}
	for _, n := range s.starts {
		enter(visit{node: n, start: true})
	}
	for i := 0; i < len(queue); i++ {
		v := queue[i]
		if err := s.add(v); err != nil {
			return err
		}
		for _, n := range s.out(v.node) {
			enter(visit{node: n, from: v.node})
		}
	}
	table(c, s.table.Frame())
	return nil
}
