package ctf

import (
	"cmp"
	"slices"
	"sort"
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
	from := 0
	if !r.overlap {
		from = max(0, sort.Search(len(r.all), func(i int) bool { return r.compare(r.all[i].first, n) > 0 })-1)
	}
	for _, c := range r.all[from:] {
		switch {
		case r.compare(c.first, n) <= 0 && r.compare(n, c.last) <= 0:
			return c.number, true
		case !r.overlap:
			return 0, false
		}
	}
	return 0, false
}
