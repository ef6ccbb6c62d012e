package ctf

import (
	"cmp"
	"math"
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
	all             []choice // by key
}

// maxOverlapping is how many choices there are if some overlap: each of them is tried.
const maxOverlapping = 1000

func newRanges(signed bool, all []choice) ranges {
	r := ranges{signed: signed}
	given := slices.Clone(all)
	for i := range given {
		given[i].first, given[i].last = r.key(given[i].first), r.key(given[i].last)
	}
	r.all = slices.DeleteFunc(slices.Clone(given), func(c choice) bool { return c.first > c.last })
	slices.SortStableFunc(r.all, func(a, b choice) int { return cmp.Compare(a.first, b.first) })
	for i := 1; i < len(r.all); i++ {
		if r.all[i].first <= r.all[i-1].last {
			return ranges{signed, true, given[:min(len(given), maxOverlapping)]}
		}
	}
	return r
}

// key returns an integer whose order among others is that of the value.
func (r *ranges) key(n int64) int64 {
	if r.signed {
		return n
	}
	return n ^ math.MinInt64
}

// find returns the number of the first choice for a value.
func (r *ranges) find(n int64) (number int, ok bool) {
	n = r.key(n)
	all := r.all
	for !r.overlap && len(all) > 1 { // all before the middle, or all from there on, are of other values
		if middle := len(all) / 2; n < all[middle].first {
			all = all[:middle]
		} else {
			all = all[middle:]
		}
	}
	for _, c := range all {
		if c.first <= n && n <= c.last {
			return c.number, true
		}
	}
	return 0, false
}
