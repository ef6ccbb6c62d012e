//go:build cgo

package main

// #include "duckdb.h"
import "C"

import (
	"unsafe"

	"github.com/tpconvert/tpconvert/model/table"
)

// fill copies rows of a column, from one on, to a vector of DuckDB. The first row is a multiple of the size of a vector, so of 8.
func (c *column) fill(vector unsafe.Pointer, texts *table.StringView, from, rows int) {
	data := C.duckdb_vector_get_data(vector)
	switch values := c.Values.(type) {
	case []int64:
		copyRows(data, values, from, rows)
	case []int32:
		copyRows(data, values, from, rows)
	case []float64:
		copyRows(data, values, from, rows)
	case []bool:
		copyRows(data, values, from, rows)
	case []table.StringID:
		c.fillTexts(vector, data, texts, values[from:from+rows])
		return
	default:
		c.fillEmpty(vector, data, from, rows)
		return
	}
	if c.Valid != nil {
		copy(validity(vector, rows), c.Valid[from/8:])
	}
}

func copyRows[T any](data unsafe.Pointer, values []T, from, rows int) {
	copy(unsafe.Slice((*T)(data), rows), values[from:])
}

// fillEmpty is for a column without values.
func (c *column) fillEmpty(vector, data unsafe.Pointer, from, rows int) {
	switch {
	case c.text != "":
		to := unsafe.Slice((*text)(data), rows)
		to[0].set(vector, 0, c.text)
		for i := range to[1:] {
			to[i+1] = to[0]
		}
	case c.Row:
		for i := range unsafe.Slice((*int64)(data), rows) {
			unsafe.Slice((*int64)(data), rows)[i] = c.first + int64(from+i)
		}
	default:
		clear(validity(vector, rows))
	}
}

// validity returns the bits of the rows that are not NULL, which are all set at first.
func validity(vector unsafe.Pointer, rows int) []byte {
	C.duckdb_vector_ensure_validity_writable(vector)
	return unsafe.Slice((*byte)(unsafe.Pointer(C.duckdb_vector_get_validity(vector))), (rows+7)/8)
}

// text is a text in a vector. A short one is in it, of a longer one the first bytes and an address in the vector's memory.
type text struct {
	size uint32
	rest [12]byte
}

// set stores a text in a row of a vector.
func (t *text) set(vector unsafe.Pointer, row int, s string) {
	if len(s) > len(t.rest) {
		C.duckdb_vector_assign_string_element_len(vector, C.uint64_t(row), (*C.char)(unsafe.Pointer(unsafe.StringData(s))), C.uint64_t(len(s)))
		return
	}
	*t = text{size: uint32(len(s))}
	copy(t.rest[:], s)
}

// recentTexts is the number of texts that are found again in the rows of a vector; it is a power of two.
const recentTexts = 256

// fillTexts copies each text once, if it is one of the recent.
func (c *column) fillTexts(vector, data unsafe.Pointer, texts *table.StringView, ids []table.StringID) {
	to := unsafe.Slice((*text)(data), len(ids))
	var recent [recentTexts]struct {
		id  table.StringID
		row int
	}
	var valid []byte
	for row, id := range ids {
		if id == 0 {
			if valid == nil {
				valid = validity(vector, len(ids))
			}
			valid[row>>3] &^= 1 << (row & 7)
			continue
		}
		last := &recent[id%recentTexts]
		if last.id == id {
			to[row] = to[last.row]
			continue
		}
		last.id, last.row = id, row
		to[row].set(vector, row, texts.Get(id))
	}
}
