package session

import (
	"math"
	"unsafe"
)

// Chunk is some rows of a result, by column. It is valid until the next one is fetched.
type Chunk struct {
	Rows    int
	Columns []Vector
}

// Vector is the values of one column in a chunk, in DuckDB's memory.
type Vector struct {
	data   unsafe.Pointer
	valid  unsafe.Pointer // one bit per row, or nil if no value is NULL
	number numberType
}

// numberType is the type in which a vector stores numbers.
type numberType int

const (
	int64s numberType = iota
	int32s
	int16s
	int8s
	uint32s
	uint16s
	uint8s
	float64s
	float32s
	int128s // that fit 64 bits
)

// Null reports whether the value of a row is NULL.
func (v *Vector) Null(row int) bool {
	return v.valid != nil && *at[uint64](v.valid, row/64)>>(row%64)&1 == 0
}

// Integer returns the value of a row in a column of integers or booleans.
func (v *Vector) Integer(row int) int64 {
	switch v.number {
	case int32s:
		return int64(*at[int32](v.data, row))
	case int16s:
		return int64(*at[int16](v.data, row))
	case int8s:
		return int64(*at[int8](v.data, row))
	case uint32s:
		return int64(*at[uint32](v.data, row))
	case uint16s:
		return int64(*at[uint16](v.data, row))
	case uint8s:
		return int64(*at[uint8](v.data, row))
	case int128s:
		return at[[2]int64](v.data, row)[0]
	}
	return *at[int64](v.data, row)
}

// fits reports whether the integers of 128 bits fit 64 bits.
func (v *Vector) fits(rows int) bool {
	for row := range rows {
		if n := at[[2]int64](v.data, row); !v.Null(row) && n[1] != n[0]>>63 {
			return false
		}
	}
	return true
}

// Real returns the value of a row in a column of reals.
func (v *Vector) Real(row int) float64 {
	if v.number == float32s {
		return float64(math.Float32frombits(*at[uint32](v.data, row)))
	}
	return *at[float64](v.data, row)
}

// Bytes returns the value of a row in a column of text or bytes.
func (v *Vector) Bytes(row int) []byte {
	s := at[duckString](v.data, row)
	if s.length <= uint32(len(s.inlined)) {
		return s.inlined[:s.length]
	}
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&s.inlined[4])), s.length)
}

// duckString is DuckDB's duckdb_string_t. It inlines up to 12 bytes; for longer strings, the first 4 and a pointer to
// all.
type duckString struct {
	length  uint32
	inlined [12]byte
}

func at[T any](base unsafe.Pointer, i int) *T {
	var one T
	return (*T)(unsafe.Add(base, uintptr(i)*unsafe.Sizeof(one)))
}
