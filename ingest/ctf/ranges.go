package ctf

import (
	"cmp"
	"slices"
)

// choice is the number of a label, or of an option of a variant, for the values from first to last.
type choice struct {
	first, last int64
	number      int
}

// ranges finds the choice for a value. They are in order, unless some overlap.
type ranges struct {
	signed, overlap bool
	all             []choice
}

// maxOverlapping is how many choices there are if some overlap: each of them is tried.
const maxOverlapping = 1000

func newRanges(signed bool, all []choice) ranges {
	r := ranges{signed: signed}
	r.all = slices.DeleteFunc(slices.Clone(all), func(c choice) bool { return r.compare(c.first, c.last) > 0 })
	slices.SortStableFunc(r.all, func(a, b choice) int { return r.compare(a.first, b.first) })
	for i := 1; i < len(r.all); i++ {
		if r.compare(r.all[i].first, r.all[i-1].last) <= 0 {
			return ranges{signed, true, all[:min(len(all), maxOverlapping)]}
		}
	}
	return r
}

func (r *ranges) compare(a, b int64) int {
	if r.signed {
		return cmp.Compare(a, b)
	}
	return cmp.Compare(uint64(a), uint64(b))
}

// find returns the number of the first choice for a value.
func (r *ranges) find(n int64) (number int, ok bool) {
	all := r.all
	for !r.overlap && len(all) > 1 { // all before the middle, or all from there on, are of other values
		if middle := len(all) / 2; r.before(n, all[middle].first) {
			all = all[:middle]
		} else {
			all = all[middle:]
		}
	}
	for _, c := range all {
		if !r.before(n, c.first) && !r.before(c.last, n) {
			return c.number, true
		}
	}
	return 0, false
}

// before reports whether a is less than b. It is what compare says, but faster.
func (r *ranges) before(a, b int64) bool {
	if r.signed {
		return a < b
	}
	return uint64(a) < uint64(b)
}
