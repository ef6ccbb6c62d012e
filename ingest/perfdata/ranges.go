package perfdata

import "math/rand/v2"

// ranges maps addresses to values. Ranges do not overlap: a new one replaces the
// parts of old ones that it covers. Copies are independent and free, which suits
// forks: ranges are a treap with immutable nodes.
type ranges[V any] struct{ root *span[V] }

// span is a range and, as a node of the treap, the ranges before and after it. A
// node's priority is at least that of its children.
type span[V any] struct {
	start, end    uint64 // end is the address after the last
	value         V
	priority      uint32
	before, after *span[V]
}

// find returns the value at an address, if there is one.
func (r ranges[V]) find(address uint64) (value V, ok bool) {
	for s := r.root; s != nil; {
		switch {
		case address < s.start:
			s = s.before
		case address >= s.end:
			s = s.after
		default:
			return s.value, true
		}
	}
	return value, false
}

// set gives the addresses from start up to end, exclusive, a value.
func (r *ranges[V]) set(start, end uint64, value V) {
	if start >= end {
		return
	}
	before, rest := r.root.split(start)
	_, after := rest.split(end)
	added := &span[V]{start: start, end: end, value: value, priority: rand.Uint32()}
	r.root = join(join(before, added), after)
}

// all calls f for each range in order of address.
func (s *span[V]) all(f func(start, end uint64, value V)) {
	if s != nil {
		s.before.all(f)
		f(s.start, s.end, s.value)
		s.after.all(f)
	}
}

// split returns the ranges before an address, and those at or after it.
func (s *span[V]) split(at uint64) (before, after *span[V]) {
	switch {
	case s == nil:
		return nil, nil
	case s.end <= at:
		left := *s
		left.after, after = s.after.split(at)
		return &left, after
	case s.start >= at:
		right := *s
		before, right.before = s.before.split(at)
		return before, &right
	}
	left, right := *s, *s
	left.end, left.after = at, nil
	right.start, right.before = at, nil
	return &left, &right
}

// join joins two treaps, the second of which has the higher addresses.
func join[V any](before, after *span[V]) *span[V] {
	switch {
	case before == nil:
		return after
	case after == nil:
		return before
	case before.priority >= after.priority:
		joined := *before
		joined.after = join(before.after, after)
		return &joined
	}
	joined := *after
	joined.before = join(before, after.before)
	return &joined
}
