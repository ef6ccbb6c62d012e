package encoding

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// Readers know no other block than that of the reference implementation.
const (
	blockValues     = 128
	miniblockValues = 32
	miniblocks      = blockValues / miniblockValues
)

// Integer is the type of values with deltas.
type Integer interface{ int32 | int64 }

// Delta encodes values as DELTA_BINARY_PACKED: a header, then blocks of
// differences between neighbours, of which each is stored as what it exceeds
// the block's least one, in as many bits as the widest of its miniblock needs.
// Differences wrap around.
func Delta[T Integer](to []byte, values []T) []byte {
	var first T
	if len(values) > 0 {
		first = values[0]
	}
	to = deltaHeader(to, len(values), int64(first))
	var deltas [blockValues]T
	for len(values) > 1 {
		n := min(len(values)-1, blockValues)
		difference(deltas[:n], values[:n+1])
		to = block(to, &deltas, n)
		values = values[n:]
	}
	return to
}

// Sequence is Delta of n values from first on, each one more than the last.
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

// difference stores the difference of each of the values after the first to
// the one before.
func difference[T Integer](deltas []T, values []T) {
	before := values[0]
	for i, v := range values[1 : len(deltas)+1] {
		deltas[i] = v - before
		before = v
	}
}

// block appends n deltas. The last miniblock is filled up; those of which there
// is nothing have width 0 and no bytes.
func block[T Integer](to []byte, deltas *[blockValues]T, n int) []byte {
	least := deltas[0]
	var greatest [miniblocks]T
	for i := 0; i < n; i += miniblockValues {
		mini := deltas[i:min(i+miniblockValues, n)]
		high := mini[0]
		for _, d := range mini {
			least, high = min(least, d), max(high, d)
		}
		greatest[i/miniblockValues] = high
	}
	for i := n; i%miniblockValues != 0; i++ {
		deltas[i] = least
	}
	to = binary.AppendVarint(to, int64(least))
	to = reserve(to, miniblocks+blockValues*8)
	widths := to[len(to) : len(to)+miniblocks]
	to = to[:len(to)+miniblocks]
	// A difference of 32 bits that wrapped is cut to them.
	mask := ^uint64(0) >> (64 - 8*unsafe.Sizeof(least))
	for m := range widths {
		i := m * miniblockValues
		if i >= n {
			widths[m] = 0
			continue
		}
		width := bits.Len64(uint64(greatest[m]-least) & mask)
		widths[m] = byte(width)
		if width > 0 {
			to = pack(to, (*[miniblockValues]T)(deltas[i:]), least, mask, uint(width))
		}
	}
	return to
}

// pack appends a miniblock. There is room for it.
func pack[T Integer](to []byte, deltas *[miniblockValues]T, least T, mask uint64, width uint) []byte {
	out := to[len(to):cap(to)]
	for i := 0; i < miniblockValues; i += 8 {
		d := (*[8]T)(deltas[i:])
		var v [8]uint64
		for j := range v {
			v[j] = uint64(d[j]-least) & mask
		}
		pack8(out, &v, width)
		out = out[width:]
	}
	return to[:len(to)+miniblockValues/8*int(width)]
}
