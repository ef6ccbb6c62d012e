package export

import (
	"encoding/binary"
	"math/bits"
)

// scratch is what one encoder at work needs and the next can use again. It
// grows to the largest chunk seen.
type scratch struct {
	group   rowGroup
	column  *columnChunk // at work
	codec   codec
	raw     []byte // a page before compression
	packed  []byte // and after
	valid   []byte
	indices []int32
	int32s  []int32
	int64s  []int64
	bools   []bool
	words   dictionary
	numbers distinct
}

// grow returns a slice of n elements with the memory of *s if it suffices.
// What is in it is undefined.
func grow[T any](s *[]T, n int) []T {
	if cap(*s) < n {
		*s = make([]T, n)
	}
	return (*s)[:n]
}

// present returns how many of the first n bits are set.
func present(valid []byte, n int) int {
	count := 0
	for ; n >= 64; n -= 64 {
		count += bits.OnesCount64(binary.LittleEndian.Uint64(valid))
		valid = valid[8:]
	}
	for ; n >= 8; n -= 8 {
		count += bits.OnesCount8(valid[0])
		valid = valid[1:]
	}
	if n > 0 {
		count += bits.OnesCount8(valid[0] << (8 - n))
	}
	return count
}

// compact returns the values whose bit is set, in memory of *to.
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
				// Storing first and counting after spares an unpredictable branch.
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
