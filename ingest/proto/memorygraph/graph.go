package memorygraph

import (
	"maps"
	"slices"
	"strings"
)

const (
	sizeName          = "size"
	effectiveSizeName = "effective_size"
	// maxDepth limits how deep allocators may be nested: calculating sizes takes time proportional to nodes times depth.
	maxDepth = 64
)

func depthOf(path string) int { return strings.Count(path, "/") + 1 }

// graph holds the allocators of all processes, as trees, and which of them own memory of others.
type graph struct {
	processes map[int32]*node
	shared    *node // allocators that belong to no single process
	byID      map[uint64]*node
	edges     []*edge
}

type node struct {
	id       uint64 // 0 if it has none
	parent   *node
	children map[string]*node
	entries  map[string]entry // the first entry of a name stays
	owns     *edge            // the last one read
	ownedBy  []*edge

	notOwning, notOwned         uint64 // the parts of the size that own nothing, and that nobody owns
	owned, owning               float64
	cumulativeOwned, cumulative float64
}

type edge struct {
	source, target *node
	priority       int32
}

func newNode(parent *node) *node {
	return &node{parent: parent, children: map[string]*node{}, entries: map[string]entry{}, owned: 1, owning: 1, cumulativeOwned: 1, cumulative: 1}
}

// child returns the child with a name, adding it if there is none.
func (n *node) child(name string) *node {
	c := n.children[name]
	if c == nil {
		c = newNode(n)
		n.children[name] = c
	}
	return c
}

// sorted returns the children in the order of their names.
func (n *node) sorted() []*node {
	var all []*node
	for _, name := range slices.Sorted(maps.Keys(n.children)) {
		all = append(all, n.children[name])
	}
	return all
}

func (n *node) add(e entry) {
	if _, known := n.entries[e.name]; !known {
		n.entries[e.name] = e
	}
}

func (n *node) size() (size uint64, ok bool) {
	e, ok := n.entries[sizeName]
	return e.number, ok
}

func newGraph(processes map[int32]*dump) *graph {
	g := &graph{map[int32]*node{}, newNode(nil), map[uint64]*node{}, nil}
	pids := slices.Sorted(maps.Keys(processes))
	for _, pid := range pids {
		root := newNode(nil)
		g.processes[pid] = root
		for _, path := range slices.Sorted(maps.Keys(processes[pid].allocators)) {
			g.collect(root, path, processes[pid].allocators[path])
		}
	}
	for _, pid := range pids {
		edges := processes[pid].edges
		for _, id := range slices.Sorted(maps.Keys(edges)) {
			source, target := g.byID[id], g.byID[edges[id].target]
			if source == nil || target == nil {
				continue // an edge with an unknown end is ignored
			}
			e := &edge{source, target, int32(edges[id].importance)}
			g.edges = append(g.edges, e)
			source.owns = e
			target.ownedBy = append(target.ownedBy, e)
		}
	}
	return g
}

// collect adds an allocator. Processes that share one may each report it.
func (g *graph) collect(root *node, path string, a *allocator) {
	n := g.byID[a.id]
	if n == nil {
		if strings.HasPrefix(path, "global/") {
			root = g.shared
		}
		n = root
		for name := range strings.SplitSeq(path, "/") {
			if name != "" {
				n = n.child(name)
			}
		}
		n.id = a.id
		if a.id != 0 {
			g.byID[a.id] = n
		}
	}
	for _, e := range a.entries {
		n.add(e)
	}
}

// roots returns the trees in the order of visiting.
func (g *graph) roots() []*node {
	all := []*node{g.shared}
	for _, pid := range slices.Sorted(maps.Keys(g.processes)) {
		all = append(all, g.processes[pid])
	}
	return all
}

// upwards visits each node after its children and owners. In a cycle, one node is visited too early.
func (g *graph) upwards(visit func(*node)) {
	begun := map[*node]bool{}
	type place struct {
		node *node
		next []*node
	}
	var path []place
	begin := func(n *node) {
		if begun[n] {
			return
		}
		begun[n] = true
		next := []*node{}
		for _, e := range n.ownedBy {
			next = append(next, e.source)
		}
		path = append(path, place{n, append(next, n.sorted()...)})
	}
	for _, root := range g.roots() {
		begin(root)
		for len(path) > 0 {
			top := &path[len(path)-1]
			if len(top.next) == 0 {
				n := top.node
				path = path[:len(path)-1]
				visit(n)
				continue
			}
			n := top.next[0]
			top.next = top.next[1:]
			begin(n)
		}
	}
}

// downwards visits each node after its parent and the node it owns. Nodes in a cycle are not visited.
func (g *graph) downwards(visit func(*node)) {
	visited := map[*node]bool{}
	waiting := g.roots()
	slices.Reverse(waiting)
	for len(waiting) > 0 {
		n := waiting[len(waiting)-1]
		waiting = waiting[:len(waiting)-1]
		if visited[n] || n.owns != nil && !visited[n.owns.target] || n.parent != nil && !visited[n.parent] {
			continue // visiting the parent or owned node adds it again
		}
		visited[n] = true
		visit(n)
		waiting = append(waiting, n.sorted()...)
		for _, e := range n.ownedBy {
			waiting = append(waiting, e.source)
		}
	}
}
