package encoding

import (
	"encoding/binary"
	"errors"
	"slices"
)

var (
	// ErrDamaged is returned for values that are not encoded as the encoding says.
	ErrDamaged = errors.New("a damaged page")
	// ErrUnknown is returned for a way of encoding that others use.
	ErrUnknown = errors.New("an unknown encoding")
)

// DecodeHybrid appends n numbers of some bits each, at most 32, in the encoding that Parquet calls RLE: runs of one number, and packed ones.
func DecodeHybrid(to []uint32, b []byte, width, n int) ([]uint32, error) {
	to = slices.Grow(to, n)
	for n > 0 {
		head, used := binary.Uvarint(b)
		if used <= 0 {
			return to, ErrDamaged
		}
		b = b[used:]
		if head&1 == 0 {
			size := (width + 7) / 8
			if size > len(b) {
				return to, ErrDamaged
			}
			var value uint32
			for i, part := range b[:size] {
				value |= uint32(part) << (8 * i)
			}
			if uint64(value)>>width != 0 {
				return to, ErrDamaged
			}
			run := int(min(head>>1, uint64(n)))
			for range run {
				to = append(to, value)
			}
			b, n = b[size:], n-run
			continue
		}
		groups := int(min(head>>1, uint64(n+7)/8)) // of eight
		size := groups * width
		if size > len(b) {
			return to, ErrDamaged
		}
		run := min(8*groups, n)
		to = unpack(to, b[:size], width, run)
		b, n = b[size:], n-run
	}
	return to, nil
}

// unpack appends n numbers of some bits each, the lowest bits first.
func unpack(to []uint32, b []byte, width, n int) []uint32 {
	mask := uint64(1)<<width - 1
	bit := 0
	for ; n > 0 && bit>>3+8 <= len(b); n-- {
		to = append(to, uint32(binary.LittleEndian.Uint64(b[bit>>3:])>>(bit&7)&mask))
		bit += width
	}
	var last [16]byte
	copy(last[:], b[min(bit>>3, len(b)):])
	for bit &= 7; n > 0; n-- {
		to = append(to, uint32(binary.LittleEndian.Uint64(last[bit>>3:])>>(bit&7)&mask))
		bit += width
	}
	return to
}

// mostOfMiniblock is how many differences a miniblock has at most. All known writers have 32 or 64. Arrow's library makes room for as
// many as a damaged page says.
const mostOfMiniblock = 1024

// DecodeDelta appends n integers in the encoding DELTA_BINARY_PACKED.
func DecodeDelta(to []int64, b []byte, n int) ([]int64, error) {
	var head [3]uint64 // size of a block, miniblocks in it, number of values
	for i := range head {
		used := 0
		if head[i], used = binary.Uvarint(b); used <= 0 {
			return to, ErrDamaged
		}
		b = b[used:]
	}
	value, used := binary.Varint(b)
	if used <= 0 || head[2] < uint64(n) {
		return to, ErrDamaged
	}
	b = b[used:]
	if head[1] == 0 || head[0]%head[1] != 0 || head[0]/head[1]%8 != 0 || head[0]/head[1] > mostOfMiniblock || head[1] > mostOfMiniblock {
		return to, ErrDamaged
	}
	miniblocks, each := int(head[1]), int(head[0]/head[1])
	to = append(slices.Grow(to, n), value)
	for n--; n > 0; {
		least, used := binary.Varint(b)
		if used <= 0 || len(b)-used < miniblocks {
			return to, ErrDamaged
		}
		widths := b[used : used+miniblocks]
		b = b[used+miniblocks:]
		for _, width := range widths {
			if n == 0 {
				break
			}
			size := each / 8 * int(width)
			if width > 64 || size > len(b) {
				return to, ErrDamaged
			}
			to = addUp(to, b, size, int(width), min(each, n), least)
			b, n = b[size:], n-min(each, n)
		}
	}
	return to, nil
}

// addUp appends n values, each the sum of the one before, least, and a number of some bits in the first bytes of b.
func addUp(to []int64, b []byte, size, width, n int, least int64) []int64 {
	value := to[len(to)-1]
	if width == 0 {
		for range n {
			value += least
			to = append(to, value)
		}
		return to
	}
	const spare = 16 // bytes that are read behind the last number
	if len(b) < size+spare {
		b = append(make([]byte, 0, size+spare), b[:size]...)[:size+spare]
	}
	mask := ^uint64(0) >> (64 - width)
	for bit := 0; n > 0; n-- {
		from := b[bit>>3:]
		bits := binary.LittleEndian.Uint64(from) >> (bit & 7)
		if width > 56 {
			bits |= binary.LittleEndian.Uint64(from[8:]) << 1 << (63 - bit&7)
		}
		value += least + int64(bits&mask)
		to = append(to, value)
		bit += width
	}
	return to
}

// DecodeDelta32 is DecodeDelta for integers of 32 bits, whose differences wrap around.
func DecodeDelta32(to []int64, b []byte, n int) ([]int64, error) {
	from := len(to)
	to, err := DecodeDelta(to, b, n)
	for i, v := range to[from:] {
		to[from+i] = int64(int32(v))
	}
	return to, err
}
