package sort

import "math"

// key is an event's position in the order: by time, tie, and arrival.
type key struct {
	ts, tie int64
	loc     uint64
}

// lastKey is greater than the key of any event.
var lastKey = key{math.MaxInt64, math.MaxInt64, math.MaxUint64}

func (a key) before(b key) bool {
	if a.ts != b.ts {
		return a.ts < b.ts
	}
	if a.tie != b.tie {
		return a.tie < b.tie
	}
	return a.loc < b.loc
}

// merger is a heap of sorted sequences, ordered by the key of their next event.
type merger[T any] struct {
	nodes []node[T]
}

type node[T any] struct {
	key
	seq T
}

func (m *merger[T]) add(k key, seq T) {
	m.nodes = append(m.nodes, node[T]{k, seq})
	i := len(m.nodes) - 1
	for i > 0 && k.before(m.nodes[(i-1)/2].key) {
		m.nodes[i], m.nodes[(i-1)/2] = m.nodes[(i-1)/2], m.nodes[i]
		i = (i - 1) / 2
	}
}

func (m *merger[T]) empty() bool { return len(m.nodes) == 0 }

// first returns the sequence with the next event.
func (m *merger[T]) first() *node[T] { return &m.nodes[0] }

// second returns the key up to which the first sequence may deliver.
func (m *merger[T]) second() key {
	switch n := m.nodes; {
	case len(n) == 1:
		return lastKey
	case len(n) == 2 || n[1].before(n[2].key):
		return n[1].key
	default:
		return n[2].key
	}
}

// advance sets the key of the first sequence to that of its next event.
func (m *merger[T]) advance(k key) {
	m.nodes[0].key = k
	m.sink()
}

// drop removes the first sequence.
func (m *merger[T]) drop() {
	n := len(m.nodes) - 1
	m.nodes[0] = m.nodes[n]
	m.nodes[n] = node[T]{}
	m.nodes = m.nodes[:n]
	m.sink()
}

func (m *merger[T]) sink() {
	nodes, i := m.nodes, 0
	for {
		child := 2*i + 1
		if child >= len(nodes) {
			return
		}
		if child+1 < len(nodes) && nodes[child+1].before(nodes[child].key) {
			child++
		}
		if !nodes[child].before(nodes[i].key) {
			return
		}
		nodes[i], nodes[child] = nodes[child], nodes[i]
		i = child
	}
}
