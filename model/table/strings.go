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

// StringID names an interned string. Zero is the absent string, which tables
// store as NULL.
type StringID int32

// StringPool interns strings: equal strings have one id, and ids count up from
// 1 in the order of first appearance. Text that is not UTF-8 is repaired with
// U+FFFD and counted.
//
// A pool has one writer. Readers on other goroutines use a View taken by it.
//
// Texts of largeText bytes and more wait in a temporary file once there are
// keptText bytes of them.
type StringPool struct {
	view    StringView
	index   []StringID // open addressing, power of two long; 0 is free
	block   []byte     // tail of the newest block
	size    int64      // of the strings, bytes
	large   int64      // of those that are large
	onLarge func()     // called once there are chunkText bytes of them
	invalid int64
}

const (
	largeText = 4 << 10
	keptText  = 16 << 20
)

// StringView reads the strings that a pool held when the view was taken.
type StringView struct {
	blocks  [][]byte
	entries paged.List[stringEntry] // by StringID
	large   paged.List[largeString]
	file    *textFile
}

// stringEntry says where a string is: its block, the offset there and its size or, if
// the bit isLarge is set, its place among the large ones. There may be millions.
type stringEntry struct {
	hash, at uint64
}

const (
	stringBlockBytes = 1 << offsetBits
	offsetBits       = 18
	sizeBits         = 12 // largeText takes more
	isLarge          = 1 << 63
)

// largeString says where a large string is: at an offset in a block or in the file.
type largeString struct {
	block  int32 // inFile if it is there
	size   int
	offset int64
}

const inFile = -1

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

// InternBytes returns the id of b, which it copies if it is new.
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
	if !utf8.Valid(b) {
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

// store stores a text and returns where, as stringEntry has it.
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
	if len(b) > cap(p.block)-len(p.block) {
		p.block = make([]byte, 0, max(stringBlockBytes, len(b)))
		p.view.blocks = append(p.view.blocks, p.block[:cap(p.block)])
	}
	offset = len(p.block)
	p.block = append(p.block, b...)
	return len(p.view.blocks) - 1, offset
}

// storeLarge stores a large text in the file, unless it may stay in memory or there
// is no room on disk.
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

// Size is how many bytes the strings have.
func (p *StringPool) Size() int64 { return p.size }

// Hash returns a 64-bit hash of the string that is the same in every run, 0
// for the absent string.
func (p *StringPool) Hash(id StringID) uint64 { return p.view.entries.At(int(id)).hash }

// Invalid is how many times text that is not UTF-8 was repaired.
func (p *StringPool) Invalid() int64 { return p.invalid }

// View returns the pool's strings so far, safe to read while the pool grows.
func (p *StringPool) View() StringView { return p.view }

// Err is why a string of the pool could not be read back.
func (p *StringPool) Err() error { return p.view.Err() }

// Err is why a string of a view could not be read back. What was returned for it is
// wrong.
func (v *StringView) Err() error { return v.file.failure() }

// Size is the length of the string of id in bytes.
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

// Append appends the string of id.
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

// Len is one more than the greatest id in the view.
func (v *StringView) Len() int { return v.entries.Len() }

// textFile is a temporary file of texts. It lives as long as a view that has it.
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
	// A system that does not let go of the name now would keep the file.
	if os.Remove(file.Name()) != nil {
		file.Close()
		os.Remove(file.Name())
		return &textFile{}
	}
	return &textFile{file: file}
}

// write adds a text and returns where it is, or false if it cannot.
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
		err = fmt.Errorf("texts that waited on disk: %w", err)
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
