package encoding

import (
	"encoding/binary"
	"math/bits"
)

// RLE is a hybrid: runs of one value, and of values packed in groups of eight.
// A run of one value ends the packed one before, so it pays only if what it
// leaves out is longer than the headers of both.
const payingBits = 64

// Levels encodes the definition levels of n rows of an optional column: 1 where
// the bit of valid is set, 0 elsewhere or everywhere if valid is nil. Packed,
// they are the bits as they come.
func Levels(to []byte, valid []byte, n int) []byte {
	if valid == nil {
		return repeat(to, 0, n, 1)
	}
	to = reserve(to, n/8+n/64+8)
	packed := 0 // where in valid the packed run begins
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

// Width is how many bits the numbers below n need.
func Width(n int) int { return bits.Len(uint(max(n, 1) - 1)) }

// Indices encodes indices of a dictionary in width bits, which precedes them.
func Indices(to []byte, indices []int32, width int) []byte {
	to = append(to, byte(width))
	if width == 0 {
		return repeat(to, 0, len(indices), 0)
	}
	packed := 0 // where the packed run begins
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
	if count == 0 {
		return to
	}
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

// packGroups appends a packed run. If the last group is not full, as only the
// last of all may be, zeros follow, which readers drop.
func packGroups(to []byte, indices []int32, width int) []byte {
	groups := (len(indices) + 7) / 8
	to = packedHeader(to, groups)
	to = reserve(to, groups*width)
	out := to[len(to):cap(to)]
	var v [8]uint64
	for len(indices) >= 8 {
		for j, index := range (*[8]int32)(indices) {
			v[j] = uint64(index)
		}
		pack8(out, &v, uint(width))
		out = out[width:]
		indices = indices[8:]
	}
	if len(indices) > 0 {
		clear(v[:])
		for j, index := range indices {
			v[j] = uint64(index)
		}
		pack8(out, &v, uint(width))
	}
	return to[:len(to)+groups*width]
}

// Bools encodes flags as PLAIN: a bit each.
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
