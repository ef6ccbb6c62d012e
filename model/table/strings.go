package table

import (
	"bytes"
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
type StringPool struct {
	view    StringView
	index   []stringSlot // open addressing, power of two long
	block   []byte       // tail of the newest block
	size    int64        // of the strings, bytes
	invalid int64
}

// StringView reads the strings that a pool held when the view was taken.
type StringView struct {
	blocks  [][]byte
	entries []stringEntry
}

// stringSlot has a part of the hash, which spares most looks at other entries.
type stringSlot struct {
	tag uint32
	id  StringID // 0 is free
}

type stringEntry struct {
	hash          uint64
	block, offset uint32
	size          uint32
}

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
		if at.tag == tag && p.view.Get(at.id) == unsafe.String(unsafe.SliceData(b), len(b)) {
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
	if len(b) > cap(p.block)-len(p.block) {
		p.block = make([]byte, 0, max(stringBlockBytes, len(b)))
		p.view.blocks = append(p.view.blocks, p.block[:cap(p.block)])
	}
	offset := len(p.block)
	p.block = append(p.block, b...)
	p.size += int64(len(b))
	return stringEntry{
		hash:   hash,
		block:  uint32(len(p.view.blocks) - 1),
		offset: uint32(offset),
		size:   uint32(len(b)),
	}
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

// Get returns the string of id, "" for zero.
func (v StringView) Get(id StringID) string {
	e := &v.entries[id]
	if e.size == 0 {
		return ""
	}
	return unsafe.String(&v.blocks[e.block][e.offset], int(e.size))
}

// Len is one more than the greatest id in the view.
func (v StringView) Len() int { return len(v.entries) }
