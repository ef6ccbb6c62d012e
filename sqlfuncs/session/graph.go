package session

import (
	"errors"
	"fmt"
	"math"
)

// The names in SQL of functions on graphs. Trace Processor's functions of similar names, in createGraphs, call them.
const (
	depthsFunction     = "_graph_depths"
	dominatorsFunction = "_graph_dominators"
	boundedFunction    = "_graph_bounded"
	blockersFunction   = "_wakeup_blockers"
	partitionFunction  = "_tree_partition"
)

// createGraphs creates Trace Processor's functions on graphs. A graph or list of nodes is the name of a query.
var createGraphs = []string{
	`CREATE MACRO _scan_depths(graph, starts) AS TABLE
SELECT generate_subscripts(_d, 1) - 1 AS _node, unnest(_d) AS _depth
FROM (SELECT ` + depthsFunction + `(list(source_node_id::BIGINT), list(dest_node_id::BIGINT),
          (SELECT list(id::BIGINT) FROM query_table(starts)))[1] AS _d
      FROM query_table(graph))`,
	`CREATE MACRO __intrinsic_dominator_tree(graph) AS TABLE
SELECT unnest(_c[1]) AS node_id, nullif(unnest(_c[2]), -1) AS dominator_node_id
FROM (SELECT ` + dominatorsFunction + `(list(source_node_id::BIGINT), list(dest_node_id::BIGINT), list(root_node_id::BIGINT)) AS _c
      FROM query_table(graph))`,
	`CREATE MACRO __intrinsic_structural_tree_partition(tree) AS TABLE
SELECT unnest(_nodes) AS node_id, nullif(unnest(` + partitionFunction + `(_nodes, _parents, _groups)[1]), -1) AS parent_node_id, unnest(_groups) AS group_key
FROM (SELECT list(node_id::BIGINT) AS _nodes, list(coalesce(parent_node_id, -1)::BIGINT) AS _parents, list(coalesce(group_key, 0)::BIGINT) AS _groups
      FROM query_table(tree))`,
	`CREATE MACRO __intrinsic_dfs_weight_bounded(sources, dests, weights, roots, targets, floor) AS TABLE
SELECT unnest(_c[1]) AS root_node_id, unnest(_c[2]) AS node_id, nullif(unnest(_c[3]), -1) AS parent_node_id
FROM (SELECT ` + boundedFunction + `(sources, dests, weights, roots, targets, [floor::BIGINT]) AS _c)`,
	`CREATE MACRO __intrinsic_critical_path_walk(graph, roots) AS TABLE
SELECT unnest(_c[1]) AS root_id, unnest(_c[2]) AS depth, unnest(_c[3]) AS ts, unnest(_c[4]) AS dur, unnest(_c[5]) AS blocker_id,
       unnest(_c[6]) AS blocker_utid, unnest(_c[7]) AS parent_id
FROM (SELECT ` + blockersFunction + `(
    list(id::BIGINT), list(coalesce(utid, 0)::BIGINT), list(coalesce(ts, 0)::BIGINT), list(coalesce(dur, 0)::BIGINT),
    list(coalesce(idle_dur, -1)::BIGINT), list(coalesce(waker_id, -1)::BIGINT), list(coalesce(prev_id, -1)::BIGINT),
    (SELECT list(node_id::BIGINT) FROM query_table(roots))) AS _c
      FROM query_table(graph))`,
}

// integerFunctions are functions on lists of integers. Each returns lists, too: the columns of a table.
var integerFunctions = []integerFunction{
	{layoutFunction, 5, func(c [][]int64) ([][]int64, error) {
		return [][]int64{layout(c[0], c[1], c[2], c[3], c[4])}, nil
	}},
	{packFunction, 2, func(c [][]int64) ([][]int64, error) { return [][]int64{pack(c[0], c[1])}, nil }},
	{depthsFunction, 3, func(c [][]int64) ([][]int64, error) {
		g, err := newGraph(c[0], c[1], c[2])
		if err != nil {
			return nil, err
		}
		depths, err := g.depths(c[2])
		return [][]int64{depths}, err
	}},
	{dominatorsFunction, 3, func(c [][]int64) ([][]int64, error) {
		g, err := newGraph(c[0], c[1], c[2][:1])
		if err != nil {
			return nil, err
		}
		return g.dominators(int(c[2][0]))
	}},
	{boundedFunction, 6, func(c [][]int64) ([][]int64, error) {
		g, err := newGraph(c[0], c[1], c[3])
		if err != nil {
			return nil, err
		}
		return g.bounded(c[2], c[3], c[4], c[5][0] != 0), nil
	}},
	{partitionFunction, 3, func(c [][]int64) ([][]int64, error) { return [][]int64{partition(c[0], c[1], c[2])}, nil }},
	{blockersFunction, 8, func(c [][]int64) ([][]int64, error) {
		wakeups := map[int64]wakeup{}
		for i, id := range c[0] {
			wakeups[id] = wakeup{c[1][i], c[2][i], c[3][i], c[4][i], c[5][i], c[6][i]}
		}
		return blockers(wakeups, c[7]), nil
	}},
}

type integerFunction struct {
	name      string
	arguments int
	call      func([][]int64) ([][]int64, error)
}

// graph has the numbers of each node's outgoing edges, and where each edge leads.
type graph struct {
	out   [][]int
	dests []int64
}

// newGraph returns a graph of the edges and further nodes. Nodes are small integers.
func newGraph(sources, dests, nodes []int64) (*graph, error) {
	if len(sources) != len(dests) {
		return nil, errors.New("a graph has as many sources as destinations of edges")
	}
	size := 0
	for _, list := range [][]int64{sources, dests, nodes} {
		for _, node := range list {
			if node < 0 || node > math.MaxInt32 {
				return nil, fmt.Errorf("%d cannot be a node of a graph", node)
			}
			size = max(size, int(node)+1)
		}
	}
	g := &graph{make([][]int, size), dests}
	for edge, source := range sources {
		g.out[source] = append(g.out[source], edge)
	}
	return g, nil
}

// depths returns the length of the longest path from each node to one without outgoing edges, or -1 for nodes that no path
// reaches from the starts.
func (g *graph) depths(starts []int64) ([]int64, error) {
	const open = -2 // its descendants are being visited
	depths := make([]int64, len(g.out))
	for i := range depths {
		depths[i] = -1
	}
	type visit struct {
		node int64
		next int // of its edges
	}
	var stack []visit
	enter := func(node int64) {
		depths[node] = open
		stack = append(stack, visit{node: node})
	}
	for _, start := range starts {
		if depths[start] == -1 {
			enter(start)
		}
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			edges := g.out[top.node]
			if top.next < len(edges) {
				dest := g.dests[edges[top.next]]
				top.next++
				switch depths[dest] {
				case open:
					return nil, fmt.Errorf("the graph has a cycle through node %d", dest)
				case -1:
					enter(dest)
				}
				continue
			}
			depth := int64(0)
			for _, edge := range edges {
				depth = max(depth, depths[g.dests[edge]]+1)
			}
			depths[top.node] = depth
			stack = stack[:len(stack)-1]
		}
	}
	return depths, nil
}

// bounded searches depth first from each root until the visited edges weigh more than the root's target. The node that
// passes the target is in the result if the target is a floor. The columns are root, node and parent, -1 for a root.
func (g *graph) bounded(weights, roots, targets []int64, floor bool) [][]int64 {
	type visit struct{ node, weight, parent int64 }
	columns := make([][]int64, 3)
	seen := make([]int, len(g.out)) // the search that has seen the node
	for i, root := range roots {
		stack := []visit{{root, 0, -1}}
		for total := int64(0); len(stack) > 0; {
			v := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if seen[v.node] == i+1 {
				continue
			}
			seen[v.node] = i + 1
			total += v.weight
			if total > targets[i] && !floor {
				break
			}
			columns[0], columns[1], columns[2] = append(columns[0], root), append(columns[1], v.node), append(columns[2], v.parent)
			if total > targets[i] {
				break
			}
			edges := g.out[v.node]
			for e := range edges {
				edge := edges[len(edges)-1-e]
				stack = append(stack, visit{g.dests[edge], weights[edge], v.node})
			}
		}
	}
	return columns
}

// dominators returns the nodes reachable from root in depth-first order, and the immediate dominator of each, -1 for root.
// It is the algorithm of Cooper, Harvey and Kennedy.
func (g *graph) dominators(root int) ([][]int64, error) {
	type visit struct {
		node int64
		next int
	}
	order := make([]int, len(g.out)) // position from the end of the postorder, 0 if not reached
	var post, pre []int64
	seen := make([]bool, len(g.out))
	seen[root] = true
	pre = append(pre, int64(root))
	for stack := []visit{{int64(root), 0}}; len(stack) > 0; {
		top := &stack[len(stack)-1]
		if edges := g.out[top.node]; top.next < len(edges) {
			dest := g.dests[edges[top.next]]
			top.next++
			if !seen[dest] {
				seen[dest] = true
				pre = append(pre, dest)
				stack = append(stack, visit{dest, 0})
			}
			continue
		}
		post = append(post, top.node)
		order[top.node] = len(post)
		stack = stack[:len(stack)-1]
	}
	if len(post) < 2 {
		return nil, errors.New("dominator_tree: no edge leads from the root")
	}
	before := make([][]int64, len(g.out))
	for node, edges := range g.out {
		for _, edge := range edges {
			if seen[node] {
				before[g.dests[edge]] = append(before[g.dests[edge]], int64(node))
			}
		}
	}
	parent := make([]int64, len(g.out))
	for i := range parent {
		parent[i] = -1
	}
	parent[root] = int64(root)
	meet := func(a, b int64) int64 {
		for a != b {
			if order[a] < order[b] {
				a = parent[a]
			} else {
				b = parent[b]
			}
		}
		return a
	}
	for changed := true; changed; {
		changed = false
		for i := len(post) - 2; i >= 0; i-- {
			node, found := post[i], int64(-1)
			for _, from := range before[node] {
				switch {
				case parent[from] < 0:
				case found < 0:
					found = from
				default:
					found = meet(found, from)
				}
			}
			if parent[node] != found {
				parent[node], changed = found, true
			}
		}
	}
	parent[root] = -1
	columns := [][]int64{pre, nil}
	for _, node := range pre {
		columns[1] = append(columns[1], parent[node])
	}
	return columns, nil
}

// partition returns the nearest ancestor of each node of a tree in the node's group, or -1. A root's parent is -1.
func partition(nodes, parents, groups []int64) []int64 {
	index := make(map[int64]int, len(nodes))
	for i, node := range nodes {
		index[node] = i
	}
	nearest := make([]int64, len(nodes))
	for i := range nodes {
		nearest[i] = -1
		at := i
		for range nodes { // a cycle has no end
			above, ok := index[parents[at]]
			if !ok {
				break
			}
			if at = above; groups[at] == groups[i] {
				nearest[i] = nodes[at]
				break
			}
		}
	}
	return nearest
}

// wakeup is a time that a thread ran after it was woken. Times are in ns; idle, waker and previous are -1 if unknown.
type wakeup struct{ utid, ts, dur, idle, waker, previous int64 }

// blockers returns what each root waited for and ran, as rows of root, depth, ts, dur, blocker, its utid and parent.
func blockers(wakeups map[int64]wakeup, roots []int64) [][]int64 {
	type frame struct{ node, start, end, depth, parent int64 }
	columns := make([][]int64, 7)
	for _, root := range roots {
		first, ok := wakeups[root]
		if !ok {
			continue
		}
		add := func(f frame, start, end int64) {
			for i, v := range []int64{root, f.depth, start, end - start, f.node, wakeups[f.node].utid, f.parent} {
				columns[i] = append(columns[i], v)
			}
		}
		stack := []frame{{root, first.ts - max(first.idle, 0), first.ts + first.dur, 0, root}}
		for len(stack) > 0 {
			f := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			w, ok := wakeups[f.node]
			if !ok || f.start >= f.end {
				continue
			}
			idle := f.start // begin of the idle time
			if w.idle >= 0 {
				idle = w.ts - w.idle
				if f.start < idle && w.previous >= 0 {
					stack = append(stack, frame{w.previous, f.start, min(f.end, idle), f.depth, f.parent})
				}
			}
			start, end := max(f.start, idle), min(f.end, w.ts+w.dur)
			if start >= end {
				continue
			}
			if woken := min(end, w.ts); start < woken {
				switch {
				case w.waker >= 0:
					stack = append(stack, frame{w.waker, start, woken, f.depth + 1, f.parent})
				case w.previous >= 0: // an interrupt woke it
					add(f, start, woken)
				}
			}
			if ran := max(start, w.ts); ran < end {
				add(f, ran, end)
			}
		}
	}
	return columns
}
