package encoding

import (
	"encoding/binary"
	"math/bits"
)

// The encoding that Parquet calls RLE mixes runs of one value with bit-packed
// runs of groups of eight values. A run of one value must save the bits of its
// own header and of the header of the next packed run.
const payingBits = 64

// Levels encodes the definition levels of n rows of an optional column. These
// are the bits of valid: 1 for a value, 0 for NULL.
func Levels(to []byte, valid []byte, n int) []byte {
	packed := 0 // start of the packed run in valid
	for i := 0; i < n/8; {
		b := valid[i]
		end := i + 1
		if b == 0 || b == 0xff {
			for end < n/8 && valid[end] == b {
				end++
			}
		}
		if (end-i)*8 >= payingBits {
			to = packedHeader(to, i-packed)
			to = append(to, valid[packed:i]...)
			to = repeat(to, int32(b&1), (end-i)*8, 1)
			packed = end
		}
		i = end
	}
	if end := (n + 7) / 8; packed < end {
		to = packedHeader(to, end-packed)
		to = append(to, valid[packed:end]...)
	}
	return to
}

// Width returns the number of bits for numbers below n. It is at least one,
// because some readers do not accept zero.
func Width(n int) int { return max(1, bits.Len(uint(n-1))) }

// Indices encodes indices of a dictionary in width bits each, preceded by the
// width.
func Indices(to []byte, indices []int32, width int) []byte {
	to = append(to, byte(width))
	packed := 0 // start of the packed run
	for i := 0; i+8 <= len(indices); {
		if v := (*[8]int32)(indices[i:]); v[0] != v[1] || v[0] != v[2] || v[0] != v[3] || v[0] != v[4] ||
			v[0] != v[5] || v[0] != v[6] || v[0] != v[7] {
			i += 8
			continue
		}
		end := i + 8
		for end < len(indices) && indices[end] == indices[i] {
			end++
		}
		if (end-i)*width < payingBits {
			i += (end - i) &^ 7
			continue
		}
		to = packGroups(to, indices[packed:i], width)
		to = repeat(to, indices[i], end-i, width)
		packed, i = end, end
	}
	return packGroups(to, indices[packed:], width)
}

// repeat appends a run of one value.
func repeat(to []byte, value int32, count, width int) []byte {
	to = binary.AppendUvarint(to, uint64(count)<<1)
	for ; width > 0; width -= 8 {
		to = append(to, byte(value))
		value >>= 8
	}
	return to
}

func packedHeader(to []byte, groups int) []byte {
	if groups == 0 {
		return to
	}
	return binary.AppendUvarint(to, uint64(groups)<<1|1)
}

// packGroups appends a packed run. The last group of the last run need not be
// full: it is padded with zeros, which readers drop.
func packGroups(to []byte, indices []int32, width int) []byte {
	to = packedHeader(to, (len(indices)+7)/8)
	full := len(indices) &^ 7
	to = pack(to, indices[:full], 0, uint(width))
	if full < len(indices) {
		var last [8]int32
		copy(last[:], indices[full:])
		to = pack(to, last[:], 0, uint(width))
	}
	return to
}

// Bools encodes flags as PLAIN, one bit each.
func Bools(to []byte, values []bool) []byte {
	for ; len(values) >= 8; values = values[8:] {
		to = append(to, bits8((*[8]bool)(values)))
	}
	if len(values) > 0 {
		var last [8]bool
		copy(last[:], values)
		to = append(to, bits8(&last))
	}
	return to
}

func bits8(values *[8]bool) byte {
	b := byte(0)
	for i, set := range values {
		if set {
			b |= 1 << i
		}
	}
	return b
}
