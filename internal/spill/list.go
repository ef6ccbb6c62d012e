package spill

import "unsafe"

// List is a list of values without pointers, indexed by their places 0, 1, ...
type List[T any] struct {
	space  *Space
	number int32    // of the list in the space
	frames []*frame // by page; nil for a page in the file
	slots  []int32  // places of pages in the file, as far as there are any
	n      int
}

// NewList returns an empty list.
func NewList[T any](s *Space) *List[T] {
	l := &List[T]{space: s}
	l.number = s.join(l)
	return l
}

// perPage is the number of values in a page.
func (l *List[T]) perPage() uint { return frameBytes / uint(unsafe.Sizeof(*new(T))) }

// Len returns the number of values.
func (l *List[T]) Len() int { return l.n }

// Get returns the value at a place, which must be less than Len.
func (l *List[T]) Get(place int) T { return *l.at(place, false) }

// Edit returns the value at a place for the caller to change. The pointer is valid until the next call
// for any container of the space.
func (l *List[T]) Edit(place int) *T { return l.at(place, true) }

// Append adds a value and returns its place.
func (l *List[T]) Append(v T) int {
	place := l.n
	l.Extend(place + 1)
	*l.at(place, true) = v
	return place
}

// Extend adds zero values until there are at least n values.
func (l *List[T]) Extend(n int) {
	for per := int(l.perPage()); len(l.frames)*per < n; {
		f := l.space.frame(l.number, int32(len(l.frames)))
		f.data = [frameWords]uint64{}
		l.frames = append(l.frames, f)
	}
	l.n = max(l.n, n)
}

// Free removes all values. The list cannot be used any more.
func (l *List[T]) Free() {
	l.space.free(l.number, l.frames, l.slots)
	*l = List[T]{}
}

func (l *List[T]) at(place int, change bool) *T {
	per := l.perPage()
	page, i := uint(place)/per, uint(place)%per
	f := l.frames[page]
	if f == nil {
		f = l.load(int32(page))
	}
	if l.space.full {
		f.used = true
		f.dirty = f.dirty || change
	}
	return (*T)(unsafe.Add(unsafe.Pointer(&f.data), uintptr(i)*unsafe.Sizeof(*new(T))))
}

// load reads a page from the file.
func (l *List[T]) load(page int32) *frame {
	f := l.space.frame(l.number, page)
	l.space.read(f, l.slots[page])
	l.frames[page] = f
	return f
}

func (l *List[T]) leave(page int32) *int32 {
	l.frames[page] = nil
	for int(page) >= len(l.slots) {
		l.slots = append(l.slots, noSlot)
	}
	return &l.slots[page]
}

func (f *frame) bytes() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&f.data)), frameBytes)
}
