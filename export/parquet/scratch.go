package parquet

import (
	"encoding/binary"

	"github.com/klauspost/compress/zstd"

	"github.com/tpconvert/tpconvert/export/encoding"
)

// Scratch is the memory of one running encoder, which later encoders reuse. It
// grows to the needs of the largest chunk so far.
type Scratch struct {
	group   group
	column  *Column // the current column
	codec   Codec
	zstd    *zstd.Encoder // nil until a page needs it
	raw     []byte        // a page before compression
	packed  []byte        // the page after compression
	valid   []byte
	indices []int32
	int32s  []int32
	int64s  []int64
	bools   []bool
	words   encoding.Dictionary
	numbers distinct
}

// Columns describe the row group that was encoded last.
func (s *Scratch) Columns() []Column { return s.group.columns }

// grow returns a slice of n elements, using the memory of *s if that suffices. Its
// content is undefined.
func grow[T any](s *[]T, n int) []T {
	if cap(*s) < n {
		*s = make([]T, n)
	}
	return (*s)[:n]
}

// compact returns the values whose bit is set, using the memory of *to.
func compact[T any](to *[]T, values []T, valid []byte) []T {
	out := grow(to, len(values)+1)
	n := 0
	for len(values) >= 64 {
		switch word := binary.LittleEndian.Uint64(valid); word {
		case 0:
		case ^uint64(0):
			n += copy(out[n:], values[:64])
		default:
			for _, v := range values[:64] {
				// Storing first and counting afterwards avoids an unpredictable
				// branch.
				out[n] = v
				n += int(word & 1)
				word >>= 1
			}
		}
		values, valid = values[64:], valid[8:]
	}
	for i, v := range values {
		out[n] = v
		n += int(valid[i>>3] >> (i & 7) & 1)
	}
	return out[:n]
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
	d.slots, d.values = d.slots[:0], d.values[:0] // their growth is when values are counted, so each column begins without slots
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
	d.slots = grow(&d.slots, max(1024, 2*len(d.slots)))
	clear(d.slots)
	for i, v := range d.values {
		*d.slot(v) = int32(i + 1)
	}
}
