// Package lanes places spans that may overlap on lanes.
package lanes

import "math"

// Nested are lanes on which spans nest. There may be many, so they are searched in trees. Times are in ns.
type Nested struct {
	MaxDepth int // of the spans on a lane

	open   [][]span // each lane's open spans, outermost first
	room   maxTree  // when a span on each lane must end to nest in the innermost one
	ended  maxTree  // when the innermost one ends, negative
	starts maxTree  // when the innermost one starts
	now    int64
	placed map[int64]int // the lane of the last span that starts now, by its end
	first  int           // the first of these lanes
	last   ended         // of the spans that ended last, the one that started last
	// How many spans without a duration each lane has now. They nest, too.
	instants map[int]int
}

type span struct{ start, end int64 }

type ended struct {
	span
	place int
	any   bool
}

// Place adds a span to the first lane that has room for it, or else to a new one, and returns the lane's place.
func (l *Nested) Place(ts, end int64) (place int, isNew bool) {
	l.advance(ts)
	at := l.room.first(end)
	if isNew = at < 0; isNew {
		at = len(l.open)
		l.open = append(l.open, nil)
	}
	open := l.open[at]
	if end > ts {
		open = append(open, span{ts, end})
	} else {
		if l.instants == nil {
			l.instants = map[int]int{}
		}
		l.instants[at]++
	}
	l.setOpen(at, open)
	if len(l.placed) == 0 {
		l.placed, l.first = map[int64]int{}, at
	}
	l.placed[end], l.first = at, min(l.first, at)
	return at, isNew
}

// Placed returns the lane of a span that was placed with these times, if no later one was.
func (l *Nested) Placed(ts, end int64) (place int, ok bool) {
	if ts != l.now {
		return 0, false
	}
	place, ok = l.placed[end]
	return place, ok
}

// Enclosing returns the first lane of the spans that start last, of those that enclose ts or end at it.
func (l *Nested) Enclosing(ts int64) (place int, ok bool) {
	l.advance(ts)
	if len(l.placed) > 0 {
		return l.first, true
	}
	at, start := -1, int64(math.MinInt64)
	if len(l.open) > 0 {
		start = l.starts.max[1]
		at = l.starts.first(start)
	}
	if l.last.any && l.last.end == ts && l.last.start > start {
		return l.last.place, true
	}
	return at, at >= 0 && len(l.open[at]) > 0
}

// advance ends the spans that end before ts or at it.
func (l *Nested) advance(ts int64) {
	for at := l.ended.first(-ts); at >= 0; at = l.ended.first(-ts) {
		open := l.open[at]
		over := open[len(open)-1]
		if !l.last.any || over.end > l.last.end || over.end == l.last.end && over.start > l.last.start {
			l.last = ended{over, at, true}
		}
		l.setOpen(at, open[:len(open)-1])
	}
	if ts != l.now {
		before := l.instants
		l.now, l.instants, l.placed = ts, nil, nil
		for at := range before {
			l.setOpen(at, l.open[at])
		}
	}
}

func (l *Nested) setOpen(at int, open []span) {
	l.open[at] = open
	room, over, start := int64(math.MaxInt64), int64(math.MinInt64), int64(math.MinInt64)
	if len(open) > 0 {
		innermost := open[len(open)-1]
		room, over, start = innermost.end, -innermost.end, innermost.start
	}
	if len(open)+l.instants[at] >= l.MaxDepth {
		room = math.MinInt64
	}
	l.room.set(at, room)
	l.ended.set(at, over)
	l.starts.set(at, start)
}

// maxTree is a list in which the first value that is large enough is found quickly. max[1] is the greatest value, max[i]
// the greater of max[2*i] and max[2*i+1]. The values themselves are the second half, filled up with the least number.
type maxTree struct {
	max []int64
}

// set sets a value, which may be one more than there are.
func (t *maxTree) set(at int, value int64) {
	if size := len(t.max) / 2; at >= size {
		values := t.max[size:]
		t.max = make([]int64, 4*max(size, 1))
		size = len(t.max) / 2
		copy(t.max[size:], values)
		for i := size + len(values); i < len(t.max); i++ {
			t.max[i] = math.MinInt64
		}
		for i := size - 1; i > 0; i-- {
			t.max[i] = max(t.max[2*i], t.max[2*i+1])
		}
	}
	i := at + len(t.max)/2
	t.max[i] = value
	for i /= 2; i > 0; i /= 2 {
		t.max[i] = max(t.max[2*i], t.max[2*i+1])
	}
}

// first returns the place of the first value that is at least bound, which is not the least number, or -1.
func (t *maxTree) first(bound int64) int {
	if len(t.max) == 0 || t.max[1] < bound {
		return -1
	}
	i := 1
	for i < len(t.max)/2 {
		if i *= 2; t.max[i] < bound {
			i++
		}
	}
	return i - len(t.max)/2
}
