package encoding

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// Some readers support only the block size of the reference implementation.
const (
	blockValues     = 128
	miniblockValues = 32
	miniblocks      = blockValues / miniblockValues
)

// Delta encodes values as DELTA_BINARY_PACKED: a header, then blocks of
// differences between neighbors. Each block stores its least difference, and
// for each difference the excess over it, in as many bits as the miniblock's
// largest excess needs. Differences wrap around.
func Delta[T Integer](to []byte, values []T) []byte {
	var first T
	if len(values) > 0 {
		first = values[0]
	}
	to = deltaHeader(to, len(values), int64(first))
	for len(values) > 1 {
		n := min(len(values)-1, blockValues)
		to = block(to, values[:n+1])
		values = values[n:]
	}
	return to
}

// Sequence is Delta for n values that count up from first.
func Sequence(to []byte, first int64, n int) []byte {
	to = deltaHeader(to, n, first)
	for i := 1; i < n; i += blockValues {
		to = binary.AppendVarint(to, 1)
		to = append(to, 0, 0, 0, 0)
	}
	return to
}

func deltaHeader(to []byte, values int, first int64) []byte {
	to = binary.AppendUvarint(to, blockValues)
	to = binary.AppendUvarint(to, miniblocks)
	to = binary.AppendUvarint(to, uint64(values))
	return binary.AppendVarint(to, first)
}

// block appends the differences of the values after the first. Its last used
// miniblock is padded; unused miniblocks take no bytes.
func block[T Integer](to []byte, values []T) []byte {
	var deltas [blockValues]T
	var greatest [miniblocks]T
	before, least := values[0], values[1]-values[0]
	n := len(values) - 1
	for m := range greatest {
		i := m * miniblockValues
		if i >= n {
			break
		}
		mini := values[1+i : 1+min(i+miniblockValues, n)]
		to := deltas[i:][:len(mini)]
		high := mini[0] - before
		for j, v := range mini {
			d := v - before
			before = v
			to[j] = d
			least, high = min(least, d), max(high, d)
		}
		greatest[m] = high
	}
	for i := n; i%miniblockValues != 0; i++ {
		deltas[i] = least
	}
	to = binary.AppendVarint(to, int64(least))
	widths := len(to)
	to = append(to, 0, 0, 0, 0)
	// A 32-bit difference may have wrapped around.
	mask := ^uint64(0) >> (64 - 8*unsafe.Sizeof(least))
	for m := 0; m*miniblockValues < n; m++ {
		if width := bits.Len64(uint64(greatest[m]-least) & mask); width > 0 {
			to[widths+m] = byte(width)
			to = pack(to, deltas[m*miniblockValues:(m+1)*miniblockValues], least, uint(width))
		}
	}
	return to
}
