package dataframe

import (
	"slices"
	"sync"
)

// list is a slice in blocks. Adding to it copies nothing, and its blocks serve other lists later, because memory that was not used
// before takes time.
type list[T number] struct {
	full [][]T
	last []T
}

type number interface{ int64 | float64 | uint32 }

// blockLen is how many values a block has.
const blockLen = 4 << 10

type block[T number] [blockLen]T

var intBlocks, floatBlocks, textBlocks sync.Pool

// pool has the blocks that no list has.
func (l *list[T]) pool() *sync.Pool {
	switch any(*new(T)).(type) {
	case float64:
		return &floatBlocks
	case uint32:
		return &textBlocks
	}
	return &intBlocks
}

func (l *list[T]) add(x T) {
	if len(l.last) == cap(l.last) {
		l.extend()
	}
	l.last = append(l.last, x)
}

func (l *list[T]) addAll(x []T) {
	for len(x) > 0 {
		if len(l.last) == cap(l.last) {
			l.extend()
		}
		n := min(len(x), cap(l.last)-len(l.last))
		l.last = append(l.last, x[:n]...)
		x = x[n:]
	}
}

func (l *list[T]) extend() {
	if l.last != nil {
		l.full = append(l.full, l.last)
	}
	b, ok := l.pool().Get().(*block[T])
	if !ok {
		b = new(block[T])
	}
	l.last = b[:0]
}

// grow makes room for n more values.
func (l *list[T]) grow(n int) {
	if cap(l.last)-len(l.last) >= n {
		return
	}
	if l.last != nil {
		l.full = append(l.full, l.last)
	}
	l.last = make([]T, 0, n)
}

func (l *list[T]) blocks() [][]T { return append(slices.Clip(l.full), l.last) }

// all returns the values as a slice that takes little more memory than they need. The list must not be used again.
func (l *list[T]) all() []T {
	if n := len(l.last); l.full == nil && cap(l.last)-n <= n/8 {
		return l.last
	}
	defer l.free()
	return slices.Concat(l.blocks()...)
}

// free empties the list.
func (l *list[T]) free() {
	for _, b := range l.blocks() {
		if cap(b) == blockLen {
			l.pool().Put((*block[T])(b[:blockLen]))
		}
	}
	*l = list[T]{}
}
