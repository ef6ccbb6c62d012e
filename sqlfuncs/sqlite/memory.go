package sqlite

import (
	"sync/atomic"
	"unsafe"
)

// Arena holds texts where SQLite can read them. They stay until Free.
type Arena struct {
	chunks []uintptr
	free   []byte // of the last chunk
	bytes  int64
}

// arenaChunk is the size of an arena's chunks, in bytes.
const arenaChunk = 1 << 18

// Add copies a text.
func (a *Arena) Add(s string) Text {
	if len(s) == 0 {
		return Text{emptyText, 0}
	}
	n := len(s) + 1
	if n > len(a.free) {
		size := max(arenaChunk, n)
		if a.bytes == 0 {
			size = max(arenaChunk/64, n) // most arenas stay small
		}
		p := allocate(size)
		a.chunks = append(a.chunks, p)
		a.bytes += int64(size)
		a.free = bytesAt(p, size)
	}
	t := Text{uintptr(unsafe.Pointer(&a.free[0])), len(s)}
	copyTo(t.address, s)
	a.free = a.free[n:]
	return t
}

// Bytes is the memory that the arena takes.
func (a *Arena) Bytes() int64 { return a.bytes }

// Free releases all texts.
func (a *Arena) Free() {
	for _, p := range a.chunks {
		release(p)
	}
	*a = Arena{}
}

// Text is a text in an Arena. A zero byte follows it.
type Text struct {
	address uintptr
	n       int
}

// String returns the text without copying it. It is valid as long as the arena.
func (t Text) String() string { return viewAt(t.address, t.n) }

var emptyText = func() uintptr {
	p := allocate(1)
	copyTo(p, "")
	return p
}()

// Texts are texts by number, where SQLite can read them. One goroutine at a time may add some. Any may read those whose number
// it knows.
type Texts struct {
	arena    Arena
	table    atomic.Uintptr // the addresses of the chunks; it is replaced when it is full
	capacity int            // of the table
	tables   []uintptr
	chunks   []uintptr
	n        int
}

const (
	chunkBits  = 8
	chunkTexts = 1 << chunkBits
)

// Add copies a text and returns its number.
func (t *Texts) Add(s string) uint32 {
	at := t.n % chunkTexts
	if at == 0 {
		t.grow()
	}
	*textAt(t.chunks[len(t.chunks)-1], at) = t.arena.Add(s)
	t.n++
	return uint32(t.n - 1)
}

// grow adds a chunk.
func (t *Texts) grow() {
	p := allocate(chunkTexts * int(unsafe.Sizeof(Text{})))
	t.chunks = append(t.chunks, p)
	if len(t.chunks) > t.capacity {
		t.capacity = max(16, 2*t.capacity)
		table := allocate(t.capacity * int(unsafe.Sizeof(p)))
		t.tables = append(t.tables, table)
		copy(unsafe.Slice((*uintptr)(pointer(table)), t.capacity), t.chunks)
		t.table.Store(table)
		return
	}
	unsafe.Slice((*uintptr)(pointer(t.table.Load())), t.capacity)[len(t.chunks)-1] = p
}

func textAt(chunk uintptr, i int) *Text {
	return (*Text)(pointer(chunk + uintptr(i)*unsafe.Sizeof(Text{})))
}

// At returns a text by its number. It is valid until Free.
func (t *Texts) At(id uint32) Text {
	chunk := *(*uintptr)(pointer(t.table.Load() + uintptr(id>>chunkBits)*unsafe.Sizeof(uintptr(0))))
	return *textAt(chunk, int(id%chunkTexts))
}

// Bytes is the memory of the texts.
func (t *Texts) Bytes() int64 { return t.arena.Bytes() }

// Len is the number of texts.
func (t *Texts) Len() int { return t.n }

// Free releases all texts.
func (t *Texts) Free() {
	for _, list := range [][]uintptr{t.chunks, t.tables} {
		for _, p := range list {
			release(p)
		}
	}
	t.arena.Free()
	t.table.Store(0)
	t.capacity, t.chunks, t.tables, t.n = 0, nil, nil, 0
}
