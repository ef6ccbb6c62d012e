// Package ranges maps ranges of addresses to values.
package ranges

import "math/rand/v2"

// Map maps addresses to values. Ranges do not overlap: a new one replaces the
// parts of old ones that it covers. They are a treap whose nodes copies share until
// one of them changes, which suits forks.
type Map[V any] struct {
	root  *span[V]
	owner *owner // of the nodes that no copy shares
}

// owner is a different address for each.
type owner struct{ _ byte }

// span is a range and, as a node of the treap, the ranges before and after it. A
// node's priority is at least that of its children.
type span[V any] struct {
	start, end    uint64 // end is the address after the last
	value         V
	priority      uint32
	before, after *span[V]
	owner         *owner
}

// Copy returns a copy, which is independent.
func (r *Map[V]) Copy() Map[V] {
	r.owner = nil
	return Map[V]{root: r.root}
}

// Find returns the value at an address, if there is one.
func (r Map[V]) Find(address uint64) (value V, ok bool) {
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

// Set gives the addresses from start up to end, exclusive, a value.
func (r *Map[V]) Set(start, end uint64, value V) {
	if start >= end {
		return
	}
	if r.owner == nil {
		r.owner = new(owner)
	}
	r.root = r.put(r.root, &span[V]{start: start, end: end, value: value, priority: rand.Uint32(), owner: r.owner})
}

// Empty reports whether there is no range.
func (r Map[V]) Empty() bool { return r.root == nil }

// All calls f for each range in order of address.
func (r Map[V]) All(f func(start, end uint64, value V)) { r.root.all(f) }

// Overlapping calls f for each range with addresses from start up to end, exclusive, in order. f must not change the map.
func (r Map[V]) Overlapping(start, end uint64, f func(start, end uint64, value V)) {
	r.root.overlapping(start, end, f)
}

// own returns a node that no copy shares.
func (r *Map[V]) own(s *span[V]) *span[V] {
	if s.owner == r.owner {
		return s
	}
	own := *s
	own.owner = r.owner
	return &own
}

// put returns the treap with another range.
func (r *Map[V]) put(s, added *span[V]) *span[V] {
	switch {
	case s == nil:
		return added
	case s.priority < added.priority:
		added.before, added.after = r.around(s, added)
		return added
	case s.end <= added.start:
		s = r.own(s)
		s.after = r.put(s.after, added)
		return s
	case s.start >= added.end:
		s = r.own(s)
		s.before = r.put(s.before, added)
		return s
	}
	before, after := r.around(s, added)
	return r.join(r.join(before, added), after)
}

// around returns what is left of a treap before and after a range.
func (r *Map[V]) around(s, added *span[V]) (before, after *span[V]) {
	before, rest := r.split(s, added.start)
	_, after = r.split(rest, added.end)
	return before, after
}

func (s *span[V]) overlapping(start, end uint64, f func(start, end uint64, value V)) {
	if s == nil {
		return
	}
	if start < s.start {
		s.before.overlapping(start, end, f)
	}
	if start < s.end && s.start < end {
		f(s.start, s.end, s.value)
	}
	if s.end < end {
		s.after.overlapping(start, end, f)
	}
}

func (s *span[V]) all(f func(start, end uint64, value V)) {
	if s != nil {
		s.before.all(f)
		f(s.start, s.end, s.value)
		s.after.all(f)
	}
}

// split returns the ranges before an address, and those at or after it.
func (r *Map[V]) split(s *span[V], at uint64) (before, after *span[V]) {
	switch {
	case s == nil:
		return nil, nil
	case s.end <= at:
		left := r.own(s)
		left.after, after = r.split(left.after, at)
		return left, after
	case s.start >= at:
		right := r.own(s)
		before, right.before = r.split(right.before, at)
		return before, right
	}
	left := r.own(s)
	right := *left
	left.end, left.after = at, nil
	right.start, right.before = at, nil
	return left, &right
}

// join joins two treaps, the second of which has the higher addresses.
func (r *Map[V]) join(before, after *span[V]) *span[V] {
	switch {
	case before == nil:
		return after
	case after == nil:
		return before
	case before.priority >= after.priority:
		before = r.own(before)
		before.after = r.join(before.after, after)
		return before
	}
	after = r.own(after)
	after.before = r.join(before, after.before)
	return after
}
