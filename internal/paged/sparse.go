package paged

const (
	sparseBits = 8
	sparseLen  = 1 << sparseBits
)

// Sparse is a list of values, many of which are zero: pages of only zeros take no memory. Values
// do not move, so pointers to them stay valid. The zero Sparse has only zero values.
type Sparse[T any] struct {
	pages []*[sparseLen]T
	made  int // pages that are not nil
}

// Made returns the number of values in pages that take memory.
func (s *Sparse[T]) Made() int { return s.made << sparseBits }

// Get returns the value at a place.
func (s *Sparse[T]) Get(place int) (v T) {
	if page := place >> sparseBits; page < len(s.pages) && s.pages[page] != nil {
		v = s.pages[page][place&(sparseLen-1)]
	}
	return v
}

// At returns a pointer to the value at a place, for the caller to change.
func (s *Sparse[T]) At(place int) *T {
	page := place >> sparseBits
	if page >= len(s.pages) || s.pages[page] == nil {
		s.make(page)
	}
	return &s.pages[page][place&(sparseLen-1)]
}

func (s *Sparse[T]) make(page int) {
	if n := page + 1 - len(s.pages); n > 0 {
		s.pages = append(s.pages, make([]*[sparseLen]T, n)...)
	}
	s.pages[page] = new([sparseLen]T)
	s.made++
}

// Clear sets the value at a place to zero, and frees the page if it has only zeros.
func Clear[T comparable](s *Sparse[T], place int) {
	var zero T
	page := place >> sparseBits
	if page >= len(s.pages) || s.pages[page] == nil {
		return
	}
	s.pages[page][place&(sparseLen-1)] = zero
	for i := range s.pages[page] {
		if s.pages[page][i] != zero {
			return
		}
	}
	s.pages[page] = nil
	s.made--
}

// Each calls f with the places and values of all pages that take memory, in order.
func (s *Sparse[T]) Each(f func(place int, value *T)) {
	for i, page := range s.pages {
		if page == nil {
			continue
		}
		for j := range page {
			f(i<<sparseBits+j, &page[j])
		}
	}
}
