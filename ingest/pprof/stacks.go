package pprof

import "slices"

// stackTree sums samples by their stacks of locations, as they come: most
// profiles have many samples of the same stacks, and all share outer frames.
type stackTree struct {
	nodes []stack // each after its parent; the first is the empty stack
	index map[stackKey]int
}

// stack is a location and those that led to it.
type stack struct {
	stackKey
	sums []int64 // of its samples by type, nil if it has none
}

type stackKey struct {
	parent   int // in the tree's nodes
	location uint64
}

func newStackTree() stackTree {
	return stackTree{nodes: make([]stack, 1), index: map[stackKey]int{}}
}

// add adds a sample. Its locations are innermost first.
func (t *stackTree) add(locations, values []uint64) {
	at := 0
	for _, location := range slices.Backward(locations) {
		key := stackKey{at, location}
		next, ok := t.index[key]
		if !ok {
			next = len(t.nodes)
			t.index[key] = next
			t.nodes = append(t.nodes, stack{stackKey: key})
		}
		at = next
	}
	t.nodes[at].sums = addTo(t.nodes[at].sums, values)
}

// addTo adds values to sums, which may be fewer.
func addTo[T int64 | uint64](sums []int64, values []T) []int64 {
	for i, v := range values {
		if i == len(sums) {
			sums = append(sums, 0)
		}
		sums[i] += int64(v)
	}
	return sums
}
