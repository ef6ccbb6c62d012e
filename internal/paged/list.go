// Package paged has containers for millions of values. They grow by whole pages,
// so that growing copies no values and wastes little memory.
package paged

// Pages are small, because an archive may hold very many traces with a few values each.
const (
	pageBits = 5
	pageLen  = 1 << pageBits
)

// List is a list of values, indexed by their places 0, 1, ... Values do not move,
// so pointers to them stay valid. The zero List is empty.
type List[T any] struct {
	pages []*[pageLen]T
	n     int
}

// Len returns the number of values.
func (l *List[T]) Len() int { return l.n }

// At returns the value at a place, which must be less than Len.
func (l *List[T]) At(place int) *T {
	return &l.pages[place>>pageBits][place&(pageLen-1)]
}

// Append adds a value and returns its place.
func (l *List[T]) Append(v T) int {
	place := l.n
	l.Extend(place + 1)
	*l.At(place) = v
	return place
}

// Drop removes the last value.
func (l *List[T]) Drop() {
	l.n--
	var zero T
	*l.At(l.n) = zero
}

// Extend adds zero values until there are at least n values.
func (l *List[T]) Extend(n int) {
	for len(l.pages)<<pageBits < n {
		l.pages = append(l.pages, new([pageLen]T))
	}
	l.n = max(l.n, n)
}
