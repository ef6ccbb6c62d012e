package pprof

import "iter"

// edge leads from one node of a graph to another.
type edge struct{ from, to int32 }

// dominators yields the nodes that are reachable from node 0, except itself, each with its immediate dominator: the
// last other node on all paths to it. A dominator comes before the nodes that it dominates. The algorithm is the simple
// version of Lengauer and Tarjan (1979). Internally, nodes are numbered in depth-first order.
func dominators(nodes int, edges []edge) iter.Seq2[int32, int32] {
	order, parent := depthFirst(nodes, edges)
	number := make([]int32, nodes) // plus one
	for i, node := range order {
		number[node] = int32(i) + 1
	}
	backwards := make([]edge, 0, len(edges))
	for _, e := range edges {
		if number[e.from] > 0 {
			backwards = append(backwards, edge{number[e.to] - 1, number[e.from] - 1})
		}
	}
	before := newAdjacency(len(order), backwards)

	const none = -1
	n := len(order)
	f := forest{semi: make([]int32, n), ancestor: make([]int32, n), label: make([]int32, n)}
	dominator, waiting, next := make([]int32, n), make([]int32, n), make([]int32, n) // waiting lists nodes by semidominator
	for i := range int32(n) {
		f.semi[i], f.ancestor[i], f.label[i], waiting[i] = i, none, i, none
	}
	for i := int32(n) - 1; i > 0; i-- {
		for _, v := range before.of(i) {
			f.semi[i] = min(f.semi[i], f.semi[f.eval(v)])
		}
		at := f.semi[i]
		next[i], waiting[at] = waiting[at], i
		f.ancestor[i] = parent[i]
		for v := waiting[parent[i]]; v != none; v = next[v] {
			if u := f.eval(v); f.semi[u] < f.semi[v] {
				dominator[v] = u
			} else {
				dominator[v] = parent[i]
			}
		}
		waiting[parent[i]] = none
	}
	return func(yield func(node, dominator int32) bool) {
		for i := int32(1); i < int32(n); i++ {
			if dominator[i] != f.semi[i] {
				dominator[i] = dominator[dominator[i]]
			}
			if !yield(order[i], order[dominator[i]]) {
				return
			}
		}
	}
}

// forest holds the nodes visited so far.
type forest struct {
	semi, ancestor, label []int32
	path                  []int32
}

// eval returns the node with the lowest semidominator between v and the root of its tree.
func (f *forest) eval(v int32) int32 {
	if f.ancestor[v] < 0 {
		return v
	}
	path := f.path[:0]
	for at := v; f.ancestor[f.ancestor[at]] >= 0; at = f.ancestor[at] {
		path = append(path, at)
	}
	f.path = path
	for i := len(path) - 1; i >= 0; i-- {
		at := path[i]
		above := f.ancestor[at]
		if f.semi[f.label[above]] < f.semi[f.label[at]] {
			f.label[at] = f.label[above]
		}
		f.ancestor[at] = f.ancestor[above]
	}
	return f.label[v]
}

// depthFirst returns the nodes reachable from node 0 in depth-first order, and the position of each one's parent.
func depthFirst(nodes int, edges []edge) (order, parent []int32) {
	after := newAdjacency(nodes, edges)
	seen := make([]bool, nodes)
	type step struct{ node, parent int32 }
	open := []step{{0, 0}}
	for len(open) > 0 {
		s := open[len(open)-1]
		open = open[:len(open)-1]
		if seen[s.node] {
			continue
		}
		seen[s.node] = true
		at := int32(len(order))
		order, parent = append(order, s.node), append(parent, s.parent)
		for _, to := range after.of(s.node) {
			if !seen[to] {
				open = append(open, step{to, at})
			}
		}
	}
	return order, parent
}

// adjacency lists the targets of each node's edges.
type adjacency struct{ start, to []int32 }

func newAdjacency(nodes int, edges []edge) adjacency {
	a := adjacency{make([]int32, nodes+1), make([]int32, len(edges))}
	for _, e := range edges {
		a.start[e.from+1]++
	}
	for i := range nodes {
		a.start[i+1] += a.start[i]
	}
	at := append([]int32(nil), a.start...)
	for _, e := range edges {
		a.to[at[e.from]] = e.to
		at[e.from]++
	}
	return a
}

func (a adjacency) of(node int32) []int32 { return a.to[a.start[node]:a.start[node+1]] }
