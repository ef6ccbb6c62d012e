// Package lanes places spans that may overlap on lanes.
package lanes

import "math"

// Nested are lanes on which spans nest. There may be many, so they are searched in trees. Times are in ns.
type Nested struct {
	MaxDepth int // of the spans on a lane

	open  [][]int64 // ends of each lane's open spans, outermost first, ns
	room  maxTree   // when a span on each lane must end to nest in the innermost one
	ended maxTree   // when the innermost one ends, negative
	now   int64
	// How many spans without a duration each lane has now. They nest, too.
	instants map[int]int
}

// Place adds a span to the first lane that has room for it, or else to a new one, and returns the lane's place.
func (l *Nested) Place(ts, end int64) (place int, isNew bool) {
	for at := l.ended.first(-ts); at >= 0; at = l.ended.first(-ts) {
		open := l.open[at]
		l.setOpen(at, open[:len(open)-1])
	}
	if ts != l.now {
		before := l.instants
		l.now, l.instants = ts, nil
		for at := range before {
			l.setOpen(at, l.open[at])
		}
	}
	at := l.room.first(end)
	if isNew = at < 0; isNew {
		at = len(l.open)
		l.open = append(l.open, nil)
	}
	open := l.open[at]
	if end > ts {
		open = append(open, end)
	} else {
		if l.instants == nil {
			l.instants = map[int]int{}
		}
		l.instants[at]++
	}
	l.setOpen(at, open)
	return at, isNew
}

func (l *Nested) setOpen(at int, ends []int64) {
	l.open[at] = ends
	room, ended := int64(math.MaxInt64), int64(math.MinInt64)
	if len(ends) > 0 {
		room = ends[len(ends)-1]
		ended = -room
	}
	if len(ends)+l.instants[at] >= l.MaxDepth {
		room = math.MinInt64
	}
	l.room.set(at, room)
	l.ended.set(at, ended)
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
