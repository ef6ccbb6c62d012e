package table

import (
	"bytes"
	"math"
	"slices"
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
// Texts of at least largeText bytes, and those that InternCold adds, go to a temporary file
// once they take keptText bytes in memory.
type StringPool struct {
	view    StringView
	index   []StringID // open addressing, power of two long; 0 is free
	block   []byte     // tail of the newest block
	size    int64      // total bytes of the strings
	large   int64      // total bytes of the large ones
	cold    int64      // total bytes of those that InternCold added
	onLarge func()     // called when large first reaches chunkText
	invalid int64
	raw     bool // any bytes are valid
}

const (
	largeText = 4 << 10
	keptText  = 16 << 20
	keptCold  = 1 << 20
)

// StringView reads the strings that a pool had when the view was taken.
type StringView struct {
	blocks  [][]byte
	entries paged.List[stringEntry] // by StringID
	large   paged.List[largeString]
	file    *textFile
	origin  *Origin
}

// Origin tells the pools of views apart: ids of different pools have nothing in common.
type Origin struct{ _ byte }

// Origin returns that of the view's pool.
func (v *StringView) Origin() *Origin { return v.origin }

// stringEntry locates a string by its block, its offset there and its size, or in another way
// if a bit is set: isLarge, by its index among the large strings, isCold, by its offset in the
// file and its size. There may be millions.
type stringEntry struct {
	hash, at uint64
}

const (
	stringBlockBytes = 1 << offsetBits
	offsetBits       = 18
	sizeBits         = 12 // so sizes stay below largeText
	isLarge          = 1 << 63
	isCold           = 1 << 62
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
	p := &StringPool{index: make([]StringID, 2048), view: StringView{origin: new(Origin)}}
	p.view.entries.Extend(1)
	return p
}

// Intern returns the id of s.
func (p *StringPool) Intern(s string) StringID {
	return p.InternBytes(unsafe.Slice(unsafe.StringData(s), len(s)))
}

// InternBytes returns the id of b, and copies b if it is new.
func (p *StringPool) InternBytes(b []byte) StringID { return p.intern(b, false) }

// InternCold is InternBytes for a text that is one of many and seldom asked for.
func (p *StringPool) InternCold(b []byte) StringID { return p.intern(b, true) }

func (p *StringPool) intern(b []byte, cold bool) StringID {
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
		return p.intern(bytes.ToValidUTF8(b, []byte("\uFFFD")), cold)
	}
	id := StringID(p.view.entries.Append(stringEntry{hash, p.store(b, cold)}))
	p.index[slot] = id
	if p.view.entries.Len()*4 > len(p.index)*3 {
		p.grow()
	}
	return id
}

// store stores a text and returns its location, in the format of stringEntry.at.
func (p *StringPool) store(b []byte, cold bool) uint64 {
	p.size += int64(len(b))
	if len(b) >= largeText {
		return isLarge | uint64(p.view.large.Append(p.storeLarge(b)))
	}
	if cold {
		if p.cold += int64(len(b)); p.cold >= keptCold {
			if offset, ok := p.textFile().write(b); ok {
				return isCold | uint64(offset)<<sizeBits | uint64(len(b))
			}
		}
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
		if offset, ok := p.textFile().write(b); ok {
			return largeString{inFile, len(b), offset}
		}
	}
	block, offset := p.keep(b)
	return largeString{int32(block), len(b), int64(offset)}
}

func (p *StringPool) textFile() *textFile {
	if p.view.file == nil {
		p.view.file = newTextFile()
	}
	return p.view.file
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
	if at&(isLarge|isCold) != 0 {
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
	n = min(n, v.Size(id))
	if offset, ok := v.inFile(at); ok {
		b := make([]byte, n)
		v.file.get(b, offset)
		return unsafe.String(unsafe.SliceData(b), n)
	}
	if at&isLarge == 0 {
		return v.Get(id)[:n]
	}
	large := v.largeAt(at)
	return unsafe.String(&v.blocks[large.block][large.offset], n)
}

// inFile returns the offset of a text in the file, or false if the text is not there.
func (v *StringView) inFile(at uint64) (offset int64, ok bool) {
	switch {
	case at&isCold != 0:
		return int64(at &^ isCold >> sizeBits), true
	case at&isLarge != 0:
		large := v.largeAt(at)
		return large.offset, large.block == inFile
	}
	return 0, false
}

// Append appends the string of id to to.
func (v *StringView) Append(to []byte, id StringID) []byte {
	offset, ok := v.inFile(v.entries.At(int(id)).at)
	if !ok {
		return append(to, v.Get(id)...)
	}
	from, size := len(to), v.Size(id)
	to = slices.Grow(to, size)[:from+size]
	v.file.get(to[from:], offset)
	return to
}

// Len returns the greatest id in the view plus one.
func (v *StringView) Len() int { return v.entries.Len() }
