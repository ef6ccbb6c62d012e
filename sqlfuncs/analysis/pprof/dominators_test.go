package pprof

import (
	"math/rand/v2"
	"testing"
)

// TestDominators compares the result with the definition: no path to a node avoids its dominators.
func TestDominators(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	reached := 0
	for range 1000 {
		nodes := 1 + random.IntN(12)
		edges := make([]edge, random.IntN(3*nodes))
		for i := range edges {
			edges[i] = edge{int32(random.IntN(nodes)), int32(random.IntN(nodes))}
		}
		all := reachable(nodes, edges, -1)
		depth := make([]int, nodes) // number of dominators
		dominates := func(by, node int) bool { return by != node && all[node] && !reachable(nodes, edges, by)[node] }
		for node := range nodes {
			for by := range nodes {
				if dominates(by, node) {
					depth[node]++
				}
			}
		}
		visited := map[int32]bool{0: true}
		for node, by := range dominators(nodes, edges) {
			// The immediate dominator is the one with the most dominators.
			if !dominates(int(by), int(node)) || depth[node] != depth[by]+1 || !visited[by] || visited[node] {
				t.Fatalf("%v: %d as dominator of %d", edges, by, node)
			}
			visited[node] = true
			reached++
		}
		for node := range nodes {
			if all[node] != visited[int32(node)] {
				t.Fatalf("%v: node %d is visited: %v", edges, node, visited[int32(node)])
			}
		}
	}
	if reached < 1000 {
		t.Errorf("only %d nodes", reached)
	}
}

// reachable reports which nodes can be reached from node 0 without passing a given node.
func reachable(nodes int, edges []edge, without int) []bool {
	seen := make([]bool, nodes)
	if without == 0 {
		return seen
	}
	seen[0] = true
	for more := true; more; {
		more = false
		for _, e := range edges {
			if seen[e.from] && !seen[e.to] && int(e.to) != without {
				seen[e.to], more = true, true
			}
		}
	}
	return seen
}
