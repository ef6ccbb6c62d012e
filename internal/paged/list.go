// Package paged has containers for things of which there may be millions. They grow
// in pages, so that nothing is copied when they do and little is allocated in vain.
package paged

const (
	pageBits = 8
	pageLen  = 1 << pageBits
)

// List is a list of values, which are found by their places: 0, 1, ... A value does
// not move, so that a pointer to it stays valid. The zero List is empty.
type List[T any] struct {
	pages []*[pageLen]T
	n     int
}

// Len is how many values there are.
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

// Extend adds zero values until there are n, if there are less.
func (l *List[T]) Extend(n int) {
	for len(l.pages)<<pageBits < n {
		l.pages = append(l.pages, new([pageLen]T))
	}
	l.n = max(l.n, n)
}
