package export

import (
	"math/bits"

	"github.com/tpconvert/tpconvert/model/table"
)

// scratch is what one encoder at work needs and the next can use again. It
// grows to the largest chunk seen.
type scratch struct {
	ids      []int64
	levels   []int16
	indices  []int32
	valid    []byte
	int64s   []int64
	int32s   []int32
	float64s []float64
	bools    []bool
	words    dictionary
	numbers  distinct
}

// grow returns a slice of n elements with the memory of *s if it suffices.
// What is in it is undefined.
func grow[T any](s *[]T, n int) []T {
	if cap(*s) < n {
		*s = make([]T, n)
	}
	return (*s)[:n]
}

// rowIDs returns the ids of n rows from base on.
func (s *scratch) rowIDs(base int64, n int) []int64 {
	ids := grow(&s.ids, n)
	for i := range ids {
		ids[i] = base + int64(i)
	}
	return ids
}

// present returns how many of the first n bits are set.
func present(valid []byte, n int) int {
	count := 0
	for _, b := range valid[:n/8] {
		count += bits.OnesCount8(b)
	}
	if n%8 != 0 {
		count += bits.OnesCount8(valid[n/8] << (8 - n%8))
	}
	return count
}

// compact returns the values whose bit is set, in memory of *to or, if all
// are, values itself.
func compact[T any](to *[]T, values []T, valid []byte) []T {
	count := present(valid, len(values))
	if count == len(values) {
		return values
	}
	out := grow(to, count+1)
	n := 0
	for i, v := range values {
		// Storing first and counting after spares an unpredictable branch.
		out[n] = v
		n += int(valid[i>>3] >> (i & 7) & 1)
	}
	return out[:n]
}

// definition are the definition levels of eight rows by their validity bits.
var definition = func() (levels [256][8]int16) {
	for b := range levels {
		for i := range levels[b] {
			levels[b][i] = int16(b >> i & 1)
		}
	}
	return levels
}()

// definitionLevels returns the levels of n rows with these bits, of which nil
// means none is set.
func (s *scratch) definitionLevels(valid []byte, n int) []int16 {
	levels := grow(&s.levels, (n+7)&^7)
	if valid == nil {
		clear(levels)
		return levels[:n]
	}
	for i := range (n + 7) / 8 {
		copy(levels[8*i:], definition[valid[i]][:])
	}
	return levels[:n]
}

// dictionary numbers strings in order of first use.
type dictionary struct {
	entries []entry // by string id
	round   uint32
	words   []table.StringID // in order
}

type entry struct {
	round uint32 // in which index was given out
	index int32
}

// reset forgets all strings.
func (d *dictionary) reset() {
	d.words = d.words[:0]
	d.round++
	if d.round == 0 {
		clear(d.entries)
		d.round = 1
	}
}

// encode stores the numbers of the strings in indices and sets the bits of
// those that are not NULL in valid.
func (d *dictionary) encode(ids []table.StringID, view table.StringView, indices []int32, valid []byte) {
	if len(d.entries) < view.Len() {
		d.entries = append(d.entries, make([]entry, view.Len()-len(d.entries))...)
	}
	clear(valid)
	for i, id := range ids {
		if id == 0 {
			indices[i] = 0
			continue
		}
		e := &d.entries[id]
		if e.round != d.round {
			*e = entry{d.round, int32(len(d.words))}
			d.words = append(d.words, id)
		}
		indices[i] = e.index
		valid[i>>3] |= 1 << (i & 7)
	}
}

// distinct numbers 64-bit patterns in order of first use.
type distinct struct {
	slots  []number // open addressing, power of two long, half empty
	values []uint64 // in order
}

type number struct {
	value uint64
	index int32 // plus one; zero is a free slot
}

// encode stores the numbers of the values whose bit is set, or of all if valid
// is nil. It gives up if there are more than limit.
func (d *distinct) encode(values []uint64, valid []byte, indices []int32, limit int) bool {
	clear(d.slots)
	d.values = d.values[:0]
	for i, v := range values {
		if valid != nil && valid[i>>3]>>(i&7)&1 == 0 {
			indices[i] = 0
			continue
		}
		if 2*len(d.values) >= len(d.slots) {
			if len(d.values) > limit {
				return false
			}
			d.rehash()
		}
		slot := d.slot(v)
		if slot.index == 0 {
			d.values = append(d.values, v)
			*slot = number{v, int32(len(d.values))}
		}
		indices[i] = slot.index - 1
	}
	return len(d.values) <= limit
}

// slot returns where v is or belongs.
func (d *distinct) slot(v uint64) *number {
	mask := uint64(len(d.slots) - 1)
	for i := v * 0x9e3779b97f4a7c15 >> 32; ; i++ {
		slot := &d.slots[i&mask]
		if slot.index == 0 || slot.value == v {
			return slot
		}
	}
}

// rehash makes room for twice as many values.
func (d *distinct) rehash() {
	d.slots = make([]number, max(1024, 2*len(d.slots)))
	for i, v := range d.values {
		*d.slot(v) = number{v, int32(i + 1)}
	}
}

// scattered reports whether values are mostly far from those before them, more
// than 32 bits, as hashes and addresses are.
func scattered(v table.Vector) bool {
	values, _ := v.Values.([]int64)
	values = values[:min(len(values), 4096)]
	var before int64
	count, far := 0, 0
	for i, value := range values {
		if v.Valid != nil && v.Valid[i>>3]>>(i&7)&1 == 0 {
			continue
		}
		if d := value - before; count > 0 && d != int64(int32(d)) {
			far++
		}
		before = value
		count++
	}
	return far > count/8
}
