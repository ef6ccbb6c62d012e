package operators

import (
	"slices"
	"sort"
)

// interval is a time from start up to, without, end.
type interval struct {
	start, end uint64
	id         uint32
}

// within reports whether the interval overlaps another, and their common part. An instant overlaps what it begins in.
func (i interval) within(start, end uint64) (interval, bool) {
	instant := start == end
	switch {
	case instant && i.start == i.end:
		return interval{start, start, i.id}, start == i.start
	case instant:
		return interval{start, start, i.id}, i.start <= start && start < i.end
	case i.start == i.end:
		return i, start <= i.start && i.start < end
	}
	return interval{max(start, i.start), min(end, i.end), i.id}, end > i.start && start < i.end
}

// intersector finds those intervals of a list, sorted by start, that overlap another.
type intersector struct {
	intervals []interval
	overlap   bool // intervals of the list do
	tree      *intervalTree
}

// newIntersector returns an intersector for a number of calls. It decides, as Trace Processor does, whether a tree pays,
// for the order of results depends on it.
func newIntersector(intervals []interval, overlap bool, calls int) *intersector {
	x := &intersector{intervals: intervals, overlap: overlap}
	if overlap && calls >= 5 {
		x.tree = newIntervalTree(intervals)
	}
	return x
}

// overlaps appends the common parts of an interval and those of the list.
func (x *intersector) overlaps(to []interval, start, end uint64) []interval {
	if x.tree != nil {
		return x.tree.overlaps(to, start, end)
	}
	list := x.intervals
	if !x.overlap {
		first := sort.Search(len(list), func(i int) bool { return list[i].end >= start })
		list = list[max(first-1, 0):]
	}
	for _, i := range list {
		if !x.overlap && (start == end && i.start > start || start != end && i.start >= end) {
			break
		}
		if common, ok := i.within(start, end); ok {
			to = append(to, common)
		}
	}
	return to
}

// intervalTree is a centered interval tree: a node has the intervals that contain its center, in the order of their starts.
type intervalTree struct {
	nodes []intervalNode
	list  []interval // those of the nodes
	root  int
	stack []int
}

type intervalNode struct {
	center      uint64
	intervals   []interval
	left, right int // nodes with intervals before and after the center, -1 without
}

func newIntervalTree(intervals []interval) *intervalTree {
	t := &intervalTree{list: make([]interval, 0, len(intervals))}
	t.root = t.add(slices.Clone(intervals))
	return t
}

// add adds a node for intervals, which it moves, and those below it.
func (t *intervalTree) add(intervals []interval) int {
	middle := intervals[len(intervals)/2]
	n := intervalNode{center: (middle.start + middle.end) / 2, left: -1, right: -1}
	first, left, right := len(t.list), 0, 0
	for ; right < len(intervals) && intervals[right].start <= n.center; right++ {
		if v := intervals[right]; v.end < n.center {
			intervals[left] = v
			left++
		} else {
			t.list = append(t.list, v)
		}
	}
	n.intervals = t.list[first:]
	if right < len(intervals) {
		n.right = t.add(intervals[right:])
	}
	if left > 0 {
		n.left = t.add(intervals[:left])
	}
	t.nodes = append(t.nodes, n)
	return len(t.nodes) - 1
}

func (t *intervalTree) overlaps(to []interval, start, end uint64) []interval {
	t.stack = append(t.stack[:0], t.root)
	for len(t.stack) > 0 {
		n := &t.nodes[t.stack[len(t.stack)-1]]
		t.stack = t.stack[:len(t.stack)-1]
		for _, i := range n.intervals {
			if i.start > end {
				break
			}
			if common, ok := i.within(start, end); ok {
				to = append(to, common)
			}
		}
		if end > n.center && n.right >= 0 {
			t.stack = append(t.stack, n.right)
		}
		if start < n.center && n.left >= 0 {
			t.stack = append(t.stack, n.left)
		}
	}
	return to
}
