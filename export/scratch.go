package export

import (
	"encoding/binary"
	"math/bits"

	"github.com/klauspost/compress/zstd"
)

// scratch is the memory of one running encoder, which later encoders reuse. It
// grows to the needs of the largest chunk so far.
type scratch struct {
	group   rowGroup
	column  *columnChunk // the current column
	codec   codec
	zstd    *zstd.Encoder // nil until a page needs it
	raw     []byte        // a page before compression
	packed  []byte        // the page after compression
	valid   []byte
	indices []int32
	int32s  []int32
	int64s  []int64
	bools   []bool
	words   dictionary
	numbers distinct
}

// grow returns a slice of n elements, using the memory of *s if that suffices. Its
// content is undefined.
func grow[T any](s *[]T, n int) []T {
	if cap(*s) < n {
		*s = make([]T, n)
	}
	return (*s)[:n]
}

// present returns the number of bits set among the first n.
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
