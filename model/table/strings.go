package table

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"slices"
	"sync/atomic"
	"unicode/utf8"
	"unsafe"

	"github.com/zeebo/xxh3"

	"github.com/tpconvert/tpconvert/internal/paged"
)

// StringID identifies an interned string. Zero is the absent string, which tables
// store as NULL.
type StringID int32

// StringPool interns strings: equal strings have the same id, and ids count up from 1
// in order of first appearance. Text that is not UTF-8 is repaired with U+FFFD and
// counted.
//
// A pool has one writer. Readers on other goroutines use a View, which the writer
// takes.
//
// Texts of at least largeText bytes go to a temporary file once they take keptText
// bytes in memory.
type StringPool struct {
	view    StringView
	index   []StringID // open addressing, power of two long; 0 is free
	block   []byte     // tail of the newest block
	size    int64      // total bytes of the strings
	large   int64      // total bytes of the large ones
	onLarge func()     // called when large first reaches chunkText
	invalid int64
	raw     bool // any bytes are valid
}

const (
	largeText = 4 << 10
	keptText  = 16 << 20
)

// StringView reads the strings that a pool had when the view was taken.
type StringView struct {
	blocks  [][]byte
	entries paged.List[stringEntry] // by StringID
	large   paged.List[largeString]
	file    *textFile
}

// stringEntry locates a string by its block, its offset there and its size or, if the
// bit isLarge is set, by its index among the large strings. There may be millions.
type stringEntry struct {
	hash, at uint64
}

const (
	stringBlockBytes = 1 << offsetBits
	offsetBits       = 18
	sizeBits         = 12 // so sizes stay below largeText
	isLarge          = 1 << 63
)

// largeString locates a large string by its offset in a block or in the file.
type largeString struct {
	block  int32 // inFile if it is in the file
	size   int
	offset int64
}

const inFile = -1

// NewRawPool returns an empty pool of bytes that need not be text.
func NewRawPool() *StringPool {
	p := NewStringPool()
	p.raw = true
	return p
}

// NewStringPool returns an empty pool.
func NewStringPool() *StringPool {
	p := &StringPool{index: make([]StringID, 2048)}
	p.view.entries.Extend(1)
	return p
}

// Intern returns the id of s.
func (p *StringPool) Intern(s string) StringID {
	return p.InternBytes(unsafe.Slice(unsafe.StringData(s), len(s)))
}

// InternBytes returns the id of b, and copies b if it is new.
func (p *StringPool) InternBytes(b []byte) StringID {
	hash := xxh3.Hash(b)
	mask := uint64(len(p.index) - 1)
	slot := hash & mask
	for ; p.index[slot] != 0; slot = (slot + 1) & mask {
		id := p.index[slot]
		if p.Hash(id) == hash && p.view.Size(id) == len(b) && p.view.Get(id) == unsafe.String(unsafe.SliceData(b), len(b)) {
			return id
		}
	}
	if !p.raw && !utf8.Valid(b) {
		p.invalid++
		return p.InternBytes(bytes.ToValidUTF8(b, []byte("\uFFFD")))
	}
	id := StringID(p.view.entries.Append(stringEntry{hash, p.store(b)}))
	p.index[slot] = id
	if p.view.entries.Len()*4 > len(p.index)*3 {
		p.grow()
	}
	return id
}

// store stores a text and returns its location, in the format of stringEntry.at.
func (p *StringPool) store(b []byte) uint64 {
	p.size += int64(len(b))
	if len(b) >= largeText {
		return isLarge | uint64(p.view.large.Append(p.storeLarge(b)))
	}
	block, offset := p.keep(b)
	return uint64(block)<<(offsetBits+sizeBits) | uint64(offset)<<sizeBits | uint64(len(b))
}

// keep stores a text in memory.
func (p *StringPool) keep(b []byte) (block, offset int) {
	if p.block == nil || len(b) > cap(p.block)-len(p.block) {
		p.block = make([]byte, 0, max(stringBlockBytes, len(b)))
		p.view.blocks = append(p.view.blocks, p.block[:cap(p.block)])
	}
	offset = len(p.block)
	p.block = append(p.block, b...)
	return len(p.view.blocks) - 1, offset
}

// storeLarge stores a large text in the file. The text stays in memory if there are
// few of them or the disk has no room.
func (p *StringPool) storeLarge(b []byte) largeString {
	if p.large += int64(len(b)); p.large >= chunkText && p.onLarge != nil {
		p.onLarge()
		p.onLarge = nil
	}
	if p.large >= keptText {
		if p.view.file == nil {
			p.view.file = newTextFile()
		}
		if offset, ok := p.view.file.write(b); ok {
			return largeString{inFile, len(b), offset}
		}
	}
	block, offset := p.keep(b)
	return largeString{int32(block), len(b), int64(offset)}
}

func (p *StringPool) grow() {
	p.index = make([]StringID, 2*len(p.index))
	mask := uint64(len(p.index) - 1)
	for id := StringID(1); int(id) < p.view.entries.Len(); id++ {
		slot := p.Hash(id) & mask
		for p.index[slot] != 0 {
			slot = (slot + 1) & mask
		}
		p.index[slot] = id
	}
}

// Get returns the string of id, "" for zero.
func (p *StringPool) Get(id StringID) string { return p.view.Get(id) }

// Size returns the total bytes of the strings.
func (p *StringPool) Size() int64 { return p.size }

// Hash returns a 64-bit hash of the string, 0 for the absent string. The hash is the
// same in every run.
func (p *StringPool) Hash(id StringID) uint64 { return p.view.entries.At(int(id)).hash }

// Invalid returns the number of texts that were not UTF-8 and were repaired.
func (p *StringPool) Invalid() int64 { return p.invalid }

// View returns the pool's strings so far. It is safe to read while the pool grows.
func (p *StringPool) View() StringView { return p.view }

// Err returns the error of reading a string of the pool back from disk, if any.
func (p *StringPool) Err() error { return p.view.Err() }

// Err returns the error of reading a string back from disk, if any. The text returned
// for that string is wrong.
func (v *StringView) Err() error { return v.file.failure() }

// Size returns the length of the string of id in bytes.
func (v *StringView) Size(id StringID) int {
	at := v.entries.At(int(id)).at
	if at&isLarge != 0 {
		return v.largeAt(at).size
	}
	return int(at & (1<<sizeBits - 1))
}

func (v *StringView) largeAt(at uint64) *largeString { return v.large.At(int(at &^ isLarge)) }

// Get returns the string of id, "" for zero.
func (v *StringView) Get(id StringID) string {
	at := v.entries.At(int(id)).at
	if at&isLarge != 0 {
		return v.Prefix(id, math.MaxInt)
	}
	size := int(at & (1<<sizeBits - 1))
	if size == 0 {
		return ""
	}
	return unsafe.String(&v.blocks[at>>(offsetBits+sizeBits)][at>>sizeBits&(1<<offsetBits-1)], size)
}

// Prefix returns the first n bytes of the string of id, or all of it.
func (v *StringView) Prefix(id StringID, n int) string {
	at := v.entries.At(int(id)).at
	if at&isLarge == 0 {
		s := v.Get(id)
		return s[:min(n, len(s))]
	}
	large := v.largeAt(at)
	n = min(n, large.size)
	if large.block == inFile {
		b := make([]byte, n)
		v.file.read(b, large.offset)
		return unsafe.String(unsafe.SliceData(b), n)
	}
	return unsafe.String(&v.blocks[large.block][large.offset], n)
}

// Append appends the string of id to to.
func (v *StringView) Append(to []byte, id StringID) []byte {
	at := v.entries.At(int(id)).at
	if at&isLarge == 0 || v.largeAt(at).block != inFile {
		return append(to, v.Get(id)...)
	}
	from, large := len(to), v.largeAt(at)
	to = slices.Grow(to, large.size)[:from+large.size]
	v.file.read(to[from:], large.offset)
	return to
}

// Len returns the greatest id in the view plus one.
func (v *StringView) Len() int { return v.entries.Len() }

// textFile is a temporary file of texts. It lives as long as any view of it.
type textFile struct {
	file *os.File // nil if there is none
	end  int64
	err  atomic.Pointer[error]
}

func newTextFile() *textFile {
	file, err := os.CreateTemp("", "tpconvert-texts-*")
	if err != nil {
		return &textFile{}
	}
	// If the system cannot unlink an open file, the file would be left behind.
	if os.Remove(file.Name()) != nil {
		file.Close()
		os.Remove(file.Name())
		return &textFile{}
	}
	return &textFile{file: file}
}

// write adds a text and returns its offset, or false if that fails.
func (t *textFile) write(b []byte) (int64, bool) {
	if t.file == nil {
		return 0, false
	}
	at := t.end
	if _, err := t.file.WriteAt(b, at); err != nil {
		return 0, false
	}
	t.end += int64(len(b))
	return at, true
}

func (t *textFile) read(b []byte, at int64) {
	if _, err := t.file.ReadAt(b, at); err != nil {
		err = fmt.Errorf("texts kept on disk: %w", err)
		t.err.CompareAndSwap(nil, &err)
	}
}

func (t *textFile) failure() error {
	if t == nil {
		return nil
	}
	if err := t.err.Load(); err != nil {
		return *err
	}
	return nil
}
