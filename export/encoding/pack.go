// Package encoding implements the Parquet encodings used in datasets, for many values
// at a time: https://parquet.apache.org/docs/file-format/data-pages/encodings/. Each
// function appends to its first argument and returns the result.
package encoding

import (
	"encoding/binary"
	"slices"
	"unsafe"
)

// Integer is the type of packed values.
type Integer interface{ int32 | int64 }

// pack appends the excess of each value over least, in width bits, lowest bit first.
// The number of values must be a multiple of eight, so that the output ends with a
// whole byte.
func pack[T Integer](to []byte, values []T, least T, width uint) []byte {
	// Values are written as whole words, the last of which may extend past the last
	// value.
	const slack = 16
	end := len(to) + len(values)/8*int(width)
	to = slices.Grow(to, end-len(to)+slack)
	out := to[len(to) : end+slack]
	// 32-bit differences may have wrapped around.
	mask := ^uint64(0) >> (64 - 8*unsafe.Sizeof(least))
	w := width & 63 // lets the compiler drop the check for large shifts
	for ; len(values) >= 8; values = values[8:] {
		v := (*[8]T)(values)
		x := func(i int) uint64 { return uint64(v[i]-least) & mask }
		switch {
		case width <= 16: // two words of four values
			low := ((x(3)<<w|x(2))<<w|x(1))<<w | x(0)
			high := ((x(7)<<w|x(6))<<w|x(5))<<w | x(4)
			binary.LittleEndian.PutUint64(out, low|high<<(4*width))
			binary.LittleEndian.PutUint64(out[8:], high>>(64-4*width))
		case width <= 32: // two times two words of four values
			a, b, c, d := x(1)<<w|x(0), x(3)<<w|x(2), x(5)<<w|x(4), x(7)<<w|x(6)
			low, high := c|d<<(2*width), d>>(64-2*width)
			binary.LittleEndian.PutUint64(out, a|b<<(2*width))
			binary.LittleEndian.PutUint64(out[8:], b>>(64-2*width)|low<<(4*width-64))
			binary.LittleEndian.PutUint64(out[16:], low>>(128-4*width)|high<<(4*width-64))
			binary.LittleEndian.PutUint64(out[24:], high>>(128-4*width))
		default:
			word, used, rest := uint64(0), uint(0), out
			for i := range v {
				word |= x(i) << (used & 63)
				if used += width; used >= 64 {
					binary.LittleEndian.PutUint64(rest, word)
					rest = rest[8:]
					used -= 64
					word = x(i) >> (width - used)
				}
			}
			binary.LittleEndian.PutUint64(rest, word)
		}
		out = out[width:]
	}
	return to[:end]
}
