package table

import (
	"fmt"
	"math"
	"os"
	"unsafe"
)

// DefaultWaiting is the default for Parking.Bytes.
const DefaultWaiting = 64 << 20

// Parking says where to put closed chunks that wait for a pinned row, such as a
// slice that stays open for long, when there are too many of them for memory.
type Parking struct {
	Bytes int64  // limit for waiting chunks in memory; 0 means DefaultWaiting
	Dir   string // directory of the file; "" means the system's directory for temporary files
}

// parking is a temporary file with the columns of chunks, in the same format as
// in memory. Changes to the rows of a parked chunk are kept in memory until it
// is read back.
type parking struct {
	Parking
	waiting int64 // bytes of closed chunks in memory
	file    *os.File
	end     int64
}

// parked is the part of a parked chunk that stays in memory.
type parked struct {
	vectors []parkedVector
	changes []change
}

type parkedVector struct {
	offset, values, valid int64 // offset in the file, and sizes in bytes
	kind                  Type
}

// change is a value set in a parked chunk, as its bits.
type change struct {
	row      int32
	position int16
	bits     uint64
}

// relieve parks the table's chunks, oldest first, until the waiting chunks in
// memory fit in the budget.
func (p *parking) relieve(t *Table) error {
	for _, chunk := range t.closed {
		if p.waiting <= p.Bytes {
			return nil
		}
		if chunk.parked == nil {
			if err := p.park(t, chunk); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *parking) park(t *Table, c *Chunk) error {
	if p.file == nil {
		file, err := os.CreateTemp(p.Dir, "tpconvert-rows-*")
		if err != nil {
			return fmt.Errorf("rows waiting for the end of a slice: %w", err)
		}
		// Unlinking at once, where the system allows it, makes sure that the
		// file is gone however the process ends.
		os.Remove(file.Name())
		p.file = file
	}
	left := &parked{}
	for _, v := range c.vectors {
		kind, values := raw(v.Values)
		left.vectors = append(left.vectors, parkedVector{p.end, int64(len(values)), int64(len(v.Valid)), kind})
		for _, b := range [][]byte{values, v.Valid} {
			if _, err := p.file.WriteAt(b, p.end); err != nil {
				return fmt.Errorf("rows waiting for the end of a slice: %w", err)
			}
			p.end += int64(len(b))
		}
	}
	p.waiting -= c.size
	t.recycle(c.vectors)
	c.vectors, c.parked = nil, left
	return nil
}

// unpark reads a chunk back and applies the changes made in the meantime.
func (p *parking) unpark(c *Chunk) error {
	c.vectors = make([]Vector, len(c.parked.vectors))
	for i, v := range c.parked.vectors {
		values := newValues(v.kind, c.Rows, v.values)
		if v.valid > 0 {
			c.vectors[i].Valid = make([]byte, v.valid)
		}
		c.vectors[i].Values = values
		_, b := raw(values)
		for _, b := range [][]byte{b, c.vectors[i].Valid} {
			if _, err := p.file.ReadAt(b, v.offset); err != nil {
				return fmt.Errorf("rows waiting for the end of a slice: %w", err)
			}
			v.offset += int64(len(b))
		}
	}
	changes := c.parked.changes
	c.parked = nil
	p.waiting += c.size
	for _, ch := range changes {
		c.set(int(ch.position), int(ch.row), ch.bits)
	}
	return nil
}

func (p *parking) close() {
	if p.file != nil {
		p.file.Close()
		os.Remove(p.file.Name())
		p.file = nil
	}
}

// bytes returns the size of the chunk's columns in memory.
func (c *Chunk) bytes() int64 {
	var n int64
	for _, v := range c.vectors {
		_, b := raw(v.Values)
		n += int64(len(b) + len(v.Valid))
	}
	return n
}

// set changes a value of a chunk in memory.
func (c *Chunk) set(position, row int, bits uint64) {
	v := &c.vectors[position]
	switch values := v.Values.(type) {
	case []int64:
		values[row] = int64(bits)
	case []int32:
		values[row] = int32(bits)
	case []float64:
		values[row] = math.Float64frombits(bits)
	case []bool:
		values[row] = bits != 0
	case []StringID:
		values[row] = StringID(bits)
	}
	if v.Valid != nil {
		v.Valid[row>>3] |= 1 << (row & 7)
	}
}

// raw returns the memory of a column's values.
func raw(values any) (Type, []byte) {
	switch v := values.(type) {
	case []int64:
		return TypeInt64, bytesOf(v)
	case []int32:
		return TypeInt32, bytesOf(v)
	case []float64:
		return TypeFloat64, bytesOf(v)
	case []bool:
		return TypeBool, bytesOf(v)
	case []StringID:
		return TypeString, bytesOf(v)
	}
	return 0, nil
}

func bytesOf[T any](v []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(*new(T))))
}

// newValues allocates the values of a column, or returns nil if it had none.
func newValues(kind Type, rows int, size int64) any {
	if size == 0 {
		return nil
	}
	switch kind {
	case TypeInt32:
		return make([]int32, rows)
	case TypeFloat64:
		return make([]float64, rows)
	case TypeBool:
		return make([]bool, rows)
	case TypeString:
		return make([]StringID, rows)
	}
	return make([]int64, rows)
}

// bitsOf returns the bits of a value, for a change.
func bitsOf(v any) uint64 {
	switch v := v.(type) {
	case int64:
		return uint64(v)
	case int32:
		return uint64(v)
	case float64:
		return math.Float64bits(v)
	case bool:
		if v {
			return 1
		}
	case StringID:
		return uint64(v)
	}
	return 0
}

// change records a value set in a parked chunk.
func (p *parked) change(position int, row int64, bits uint64) {
	p.changes = append(p.changes, change{int32(row), int16(position), bits})
}
