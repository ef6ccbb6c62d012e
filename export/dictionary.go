package export

import (
	"github.com/tpconvert/tpconvert/internal/paged"
	"github.com/tpconvert/tpconvert/model/table"
)

// dictionary numbers strings in order of first use.
type dictionary struct {
	// By string id: the index in words if the string is there, else an arbitrary number.
	// There may be millions of strings, of which a dictionary has few.
	indices paged.Sparse[int32]
	words   []table.StringID // in order of first use
}

// maxIndices is the number of indices above which memory is not kept for the next strings.
const maxIndices = 1 << 20

// reset forgets all strings.
func (d *dictionary) reset() {
	d.words = d.words[:0]
	if d.indices.Made() > maxIndices {
		d.indices = paged.Sparse[int32]{}
	}
}

// index returns the number of a string.
func (d *dictionary) index(id table.StringID) int32 {
	at := d.indices.At(int(id))
	if int(*at) >= len(d.words) || d.words[*at] != id {
		*at = int32(len(d.words))
		d.words = append(d.words, id)
	}
	return *at
}

// encode stores the numbers of the strings in indices, 0 for NULL, and sets in valid the
// bits of strings that are not NULL.
func (d *dictionary) encode(ids []table.StringID, indices []int32, valid []byte) {
	for i := 0; i < len(ids); i += 8 {
		present := byte(0)
		for j, id := range ids[i:min(i+8, len(ids))] {
			if id == 0 {
				indices[i+j] = 0
				continue
			}
			indices[i+j] = d.index(id)
			present |= 1 << (j & 7)
		}
		valid[i/8] = present
	}
}

// distinct numbers 64-bit patterns in order of first use.
type distinct struct {
	slots  []int32 // open addressing, at most half full: numbers plus one, 0 if free; a power of two long
	values []int64 // by number
}

// manyDistinct is the number of distinct values from which a dictionary pays only if
// most values so far were repeats.
const manyDistinct = 4096

// encode stores the numbers of the values whose bit is set, or of all values if valid is
// nil. It returns false if there are, or seem to be, more than limit distinct values.
func (d *distinct) encode(values []int64, valid []byte, indices []int32, limit int) bool {
	clear(d.slots)
	d.values = d.values[:0]
	for i, v := range values {
		if valid != nil && valid[i>>3]>>(i&7)&1 == 0 {
			indices[i] = 0
			continue
		}
		if 2*len(d.values) >= len(d.slots) {
			if n := len(d.values); n > limit || n > manyDistinct && n > i/2 {
				return false
			}
			d.rehash()
		}
		slot := d.slot(v)
		if *slot == 0 {
			d.values = append(d.values, v)
			*slot = int32(len(d.values))
		}
		indices[i] = *slot - 1
	}
	return len(d.values) <= limit
}

// slot returns the slot of v, or the free one where v belongs.
func (d *distinct) slot(v int64) *int32 {
	mask := uint64(len(d.slots) - 1)
	for i := uint64(v) * 0x9e3779b97f4a7c15 >> 32; ; i++ {
		slot := &d.slots[i&mask]
		if *slot == 0 || d.values[*slot-1] == v {
			return slot
		}
	}
}

// rehash makes room for twice as many values.
func (d *distinct) rehash() {
	d.slots = make([]int32, max(1024, 2*len(d.slots)))
	for i, v := range d.values {
		*d.slot(v) = int32(i + 1)
	}
}

// scattered reports whether many values differ from their predecessor by more than 32
// bits, as hashes and addresses do.
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
