package sqlite

import (
	"sync"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// pointer returns an address as a pointer. The memory is SQLite's, or a Go value that its DB keeps alive.
func pointer(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }

// function returns a Go function as SQLite calls it.
func function[T any](f T) uintptr { return *(*uintptr)(unsafe.Pointer(&f)) }

// funcAt returns a function of SQLite as Go calls it.
func funcAt[T any](address uintptr) T { return *(*T)(unsafe.Pointer(&address)) }

// bytesAt returns the n bytes at an address, which belong to SQLite.
func bytesAt(address uintptr, n int) []byte {
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(pointer(address)), n)
}

// stringAt returns a copy of the text at an address that ends with a zero byte.
func stringAt(address uintptr) string {
	if address == 0 {
		return ""
	}
	n := 0
	for p := pointer(address); *(*byte)(unsafe.Add(p, n)) != 0; {
		n++
	}
	return string(bytesAt(address, n))
}

// allocated returns a copy of a text, which ends with a zero byte, in memory of sqlite3_malloc; 0 if a long text needs more
// memory than there may be.
func allocated(tls *libc.TLS, s string) uintptr {
	p := lib.Xsqlite3_malloc64(tls, uint64(len(s)+1))
	if p == 0 {
		return 0
	}
	to := bytesAt(p, len(s)+1)
	copy(to, s)
	to[len(s)] = 0
	return p
}

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
	if len(s) > len(a.free) {
		size := max(arenaChunk, len(s))
		if a.bytes == 0 {
			size = max(arenaChunk/64, len(s)) // most arenas stay small
		}
		memoryMu.Lock()
		p := lib.Xsqlite3_malloc64(memoryTLS, uint64(size))
		memoryMu.Unlock()
		if p == 0 {
			panic("sqlite: out of memory")
		}
		a.chunks = append(a.chunks, p)
		a.bytes += int64(size)
		a.free = bytesAt(p, size)
	}
	copy(a.free, s)
	t := Text{uintptr(unsafe.Pointer(&a.free[0])), len(s)}
	a.free = a.free[len(s):]
	return t
}

// Bytes is the memory that the arena takes.
func (a *Arena) Bytes() int64 { return a.bytes }

// Free releases all texts.
func (a *Arena) Free() {
	memoryMu.Lock()
	defer memoryMu.Unlock()
	for _, p := range a.chunks {
		lib.Xsqlite3_free(memoryTLS, p)
	}
	*a = Arena{}
}

// Text is a text in an Arena.
type Text struct {
	address uintptr
	n       int
}

// String returns the text without copying it. It is valid as long as the arena.
func (t Text) String() string { return unsafe.String((*byte)(pointer(t.address)), t.n) }

// memoryTLS serves calls that only allocate, of one goroutine at a time.
var (
	memoryTLS = newMemoryTLS()
	memoryMu  sync.Mutex
)

func newMemoryTLS() *libc.TLS {
	tls := libc.NewTLS()
	countMemory(tls)
	return tls
}

var emptyText = allocated(memoryTLS, "")
