package encoding

import (
	"github.com/tpconvert/tpconvert/internal/paged"
	"github.com/tpconvert/tpconvert/model/table"
)

// Dictionary numbers strings in order of first use.
type Dictionary struct {
	// By string id: the index in Words if the string is there, else an arbitrary number.
	// There may be millions of strings, of which a dictionary has few.
	indices paged.Sparse[int32]
	Words   []table.StringID // in order of first use
}

// maxIndices is the number of indices above which memory is not kept for the next strings.
const maxIndices = 1 << 20

// Reset forgets all strings.
func (d *Dictionary) Reset() {
	d.Words = d.Words[:0]
	if d.indices.Made() > maxIndices {
		d.indices = paged.Sparse[int32]{}
	}
}

// Index returns the number of a string.
func (d *Dictionary) Index(id table.StringID) int32 {
	at := d.indices.At(int(id))
	if int(*at) >= len(d.Words) || d.Words[*at] != id {
		*at = int32(len(d.Words))
		d.Words = append(d.Words, id)
	}
	return *at
}

// Encode stores the numbers of the strings in indices, 0 for NULL, and sets in valid the
// bits of strings that are not NULL.
func (d *Dictionary) Encode(ids []table.StringID, indices []int32, valid []byte) {
	for i := 0; i < len(ids); i += 8 {
		present := byte(0)
		for j, id := range ids[i:min(i+8, len(ids))] {
			if id == 0 {
				indices[i+j] = 0
				continue
			}
			indices[i+j] = d.Index(id)
			present |= 1 << (j & 7)
		}
		valid[i/8] = present
	}
}
