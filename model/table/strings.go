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
	index   []stringSlot // open addressing, power of two long
	block   []byte       // tail of the newest block
	size    int64        // of the strings, bytes
	large   int64        // of those that are large
	onLarge func()       // called once there are chunkText bytes of them
	invalid int64
}

const (
	largeText = 4 << 10
	keptText  = 16 << 20
)

// StringView reads the strings that a pool held when the view was taken.
type StringView struct {
	blocks  [][]byte
	entries []stringEntry
	file    *textFile
}

// stringSlot has a part of the hash, which spares most looks at other entries.
type stringSlot struct {
	tag uint32
	id  StringID // 0 is free
}

// stringEntry says where a string is: in a block or, if the block has the bit
// inFile, in the file, where its other bits are the upper ones of the offset.
type stringEntry struct {
	hash          uint64
	block, offset uint32
	size          uint32
}

const inFile = 1 << 31

// position is where the text is in the file.
func (e *stringEntry) position() int64 { return int64(e.block&^inFile)<<32 | int64(e.offset) }

const stringBlockBytes = 256 << 10

// NewStringPool returns an empty pool.
func NewStringPool() *StringPool {
	return &StringPool{
		view:  StringView{entries: make([]stringEntry, 1, 1024)},
		index: make([]stringSlot, 2048),
	}
}

// Intern returns the id of s.
func (p *StringPool) Intern(s string) StringID {
	return p.InternBytes(unsafe.Slice(unsafe.StringData(s), len(s)))
}

// InternBytes returns the id of b, which it copies if it is new.
func (p *StringPool) InternBytes(b []byte) StringID {
	hash := xxh3.Hash(b)
	mask, tag := uint64(len(p.index)-1), uint32(hash>>32)
	slot := hash & mask
	for ; p.index[slot].id != 0; slot = (slot + 1) & mask {
		at := p.index[slot]
		if at.tag == tag && p.view.Size(at.id) == len(b) && p.view.Get(at.id) == unsafe.String(unsafe.SliceData(b), len(b)) {
			return at.id
		}
	}
	if !utf8.Valid(b) {
		p.invalid++
		return p.InternBytes(bytes.ToValidUTF8(b, []byte("\uFFFD")))
	}
	id := StringID(len(p.view.entries))
	p.view.entries = append(p.view.entries, p.store(b, hash))
	p.index[slot] = stringSlot{tag, id}
	if len(p.view.entries)*4 > len(p.index)*3 {
		p.grow()
	}
	return id
}

func (p *StringPool) store(b []byte, hash uint64) stringEntry {
	p.size += int64(len(b))
	if len(b) >= largeText {
		if e, ok := p.storeLarge(b, hash); ok {
			return e
		}
	}
	if len(b) > cap(p.block)-len(p.block) {
		p.block = make([]byte, 0, max(stringBlockBytes, len(b)))
		p.view.blocks = append(p.view.blocks, p.block[:cap(p.block)])
	}
	offset := len(p.block)
	p.block = append(p.block, b...)
	return stringEntry{
		hash:   hash,
		block:  uint32(len(p.view.blocks) - 1),
		offset: uint32(offset),
		size:   uint32(len(b)),
	}
}

// storeLarge stores a large text in the file, unless it may stay in memory or there
// is no room on disk.
func (p *StringPool) storeLarge(b []byte, hash uint64) (stringEntry, bool) {
	if p.large += int64(len(b)); p.large >= chunkText && p.onLarge != nil {
		p.onLarge()
		p.onLarge = nil
	}
	if p.large < keptText {
		return stringEntry{}, false
	}
	if p.view.file == nil {
		p.view.file = newTextFile()
	}
	offset, ok := p.view.file.write(b)
	return stringEntry{hash, inFile | uint32(offset>>32), uint32(offset), uint32(len(b))}, ok
}

func (p *StringPool) grow() {
	p.index = make([]stringSlot, 2*len(p.index))
	mask := uint64(len(p.index) - 1)
	for id := 1; id < len(p.view.entries); id++ {
		hash := p.view.entries[id].hash
		slot := hash & mask
		for p.index[slot].id != 0 {
			slot = (slot + 1) & mask
		}
		p.index[slot] = stringSlot{uint32(hash >> 32), StringID(id)}
	}
}

// Get returns the string of id, "" for zero.
func (p *StringPool) Get(id StringID) string { return p.view.Get(id) }

// Size is how many bytes the strings have.
func (p *StringPool) Size() int64 { return p.size }

// Hash returns a 64-bit hash of the string that is the same in every run, 0
// for the absent string.
func (p *StringPool) Hash(id StringID) uint64 { return p.view.entries[id].hash }

// Invalid is how many times text that is not UTF-8 was repaired.
func (p *StringPool) Invalid() int64 { return p.invalid }

// View returns the pool's strings so far, safe to read while the pool grows.
func (p *StringPool) View() StringView { return p.view }

// Err is why a string of a view could not be read back. What was returned for it is
// wrong.
func (v StringView) Err() error { return v.file.failure() }

// Size is the length of the string of id in bytes.
func (v StringView) Size(id StringID) int { return int(v.entries[id].size) }

// Get returns the string of id, "" for zero.
func (v StringView) Get(id StringID) string { return v.Prefix(id, math.MaxInt) }

// Prefix returns the first n bytes of the string of id, or all of it.
func (v StringView) Prefix(id StringID, n int) string {
	e := &v.entries[id]
	n = min(n, int(e.size))
	if n == 0 {
		return ""
	}
	if e.block&inFile != 0 {
		b := make([]byte, n)
		v.file.read(b, e.position())
		return unsafe.String(unsafe.SliceData(b), n)
	}
	return unsafe.String(&v.blocks[e.block][e.offset], n)
}

// Append appends the string of id.
func (v StringView) Append(to []byte, id StringID) []byte {
	e := &v.entries[id]
	if e.block&inFile == 0 {
		return append(to, v.Get(id)...)
	}
	from := len(to)
	to = slices.Grow(to, int(e.size))[:from+int(e.size)]
	v.file.read(to[from:], e.position())
	return to
}

// Len is one more than the greatest id in the view.
func (v StringView) Len() int { return len(v.entries) }

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
