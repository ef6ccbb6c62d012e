package table

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"sync"
	"unsafe"
)

// DefaultWaiting is the default for Parking.Bytes.
const DefaultWaiting = 32 << 20

// Parking says where to put closed chunks that wait for a pinned row, such as a
// slice that stays open for long, when there are too many of them for memory.
type Parking struct {
	Bytes int64  // limit for waiting chunks in memory; 0 means DefaultWaiting
	Dir   string // directory of the file; "" means the system's directory for temporary files
}

// parking is a temporary file with the columns of chunks, in the same format as
// in memory. Changes to the rows of a parked chunk are kept in memory until it
// is read back. A parked chunk that is sealed stays in the file: its columns are
// read one at a time.
type parking struct {
	Parking
	waiting int64 // bytes of closed chunks in memory
	file    *parkingFile
	end     int64
}

// parkingFile is open until the parking is closed and all sealed chunks in it are released.
type parkingFile struct {
	*os.File
	mu    sync.Mutex
	users int
}

func (f *parkingFile) use() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.users++
}

func (f *parkingFile) release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.users--; f.users == 0 {
		f.Close()
		os.Remove(f.Name())
	}
}

// parked is the part of a parked chunk that stays in memory.
type parked struct {
	file    *parkingFile
	vectors []parkedVector
	changes []change
	columns []Vector // of a sealed chunk: the columns read so far
	pool    *pool
	err     error // first error of reading
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
// memory fit in the budget. Behind a parked chunk others will wait for long too, so
// they get only a quarter of it.
func (p *parking) relieve(t *Table) error {
	budget := p.Bytes
	if len(t.closed) > 0 && t.closed[0].parked != nil {
		budget /= 4
	}
	for _, chunk := range t.closed {
		if p.waiting <= budget {
			return nil
		}
		if chunk.parked == nil {
			if err := p.park(chunk, t.sink.pool); err != nil {
				return err
			}
		}
	}
	return nil
}

// park moves the columns of a chunk to the file, and their memory to the pool.
func (p *parking) park(c *Chunk, free *pool) error {
	if p.file == nil {
		file, err := os.CreateTemp(p.Dir, "tpconvert-rows-*")
		if err != nil {
			return parkingError(err)
		}
		// Unlinking at once, where the system allows it, makes sure that the
		// file is gone however the process ends.
		os.Remove(file.Name())
		p.file = &parkingFile{File: file, users: 1}
	}
	left := &parked{file: p.file, pool: free}
	for _, v := range c.vectors {
		kind, values := raw(v.Values)
		left.vectors = append(left.vectors, parkedVector{p.end, int64(len(values)), int64(len(v.Valid)), kind})
		for _, b := range [][]byte{values, v.Valid} {
			if _, err := p.file.WriteAt(b, p.end); err != nil {
				return parkingError(err)
			}
			p.end += int64(len(b))
		}
	}
	p.waiting -= c.size
	for _, v := range c.vectors {
		free.put(v.Values)
	}
	c.vectors, c.parked = nil, left
	return nil
}

// unpark reads a chunk back and applies the changes made in the meantime.
func (p *parking) unpark(c *Chunk) error {
	c.vectors = make([]Vector, len(c.parked.vectors))
	for i, v := range c.parked.vectors {
		var err error
		if c.vectors[i], err = v.read(c.parked, c.Rows); err != nil {
			return err
		}
	}
	changes := c.parked.changes
	c.parked = nil
	p.waiting += c.size
	for _, ch := range changes {
		c.vectors[ch.position].set(ch.row, ch.bits)
	}
	return nil
}

// read returns a column with the given number of rows. After an error some of its values are zero.
func (v parkedVector) read(p *parked, rows int) (Vector, error) {
	to := Vector{Values: p.pool.column(v.kind, rows, v.values)}
	if v.valid > 0 {
		to.Valid = make([]byte, v.valid)
	}
	_, values := raw(to.Values)
	for _, b := range [][]byte{values, to.Valid} {
		if _, err := p.file.ReadAt(b, v.offset); err != nil {
			return to, parkingError(err)
		}
		v.offset += int64(len(b))
	}
	return to, nil
}

// read returns a column of a sealed chunk with the given number of rows.
func (p *parked) read(position, rows int) Vector {
	if p.columns == nil {
		p.columns = make([]Vector, len(p.vectors))
	}
	if v := p.columns[position]; v.Values != nil {
		return v
	}
	v, err := p.vectors[position].read(p, rows)
	p.err = cmp.Or(p.err, err)
	for _, ch := range p.changes {
		if int(ch.position) == position {
			v.set(ch.row, ch.bits)
		}
	}
	p.columns[position] = v
	return v
}

// drop forgets a column of a sealed chunk.
func (p *parked) drop(position int) {
	if p.columns != nil {
		p.pool.put(p.columns[position].Values)
		p.columns[position] = Vector{}
	}
}

func parkingError(err error) error {
	return fmt.Errorf("rows in a temporary file: %w", err)
}

func (p *parking) close() {
	if p.file != nil {
		p.file.release()
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

// set changes a value in memory.
func (v Vector) set(row int32, bits uint64) {
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
