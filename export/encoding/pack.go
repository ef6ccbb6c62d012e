// Package encoding has the encodings of Parquet that datasets use, for many
// values at a time: https://parquet.apache.org/docs/file-format/data-pages/encodings/.
// Each function appends to what it is given and returns that.
package encoding

import (
	"encoding/binary"
	"slices"
)

// slack is how many bytes after its own a call of pack8 may overwrite.
const slack = 16

// reserve returns to with room for n bytes more and the slack.
func reserve(to []byte, n int) []byte { return slices.Grow(to, n+slack) }

// pack8 writes eight values of width bits to the first width bytes of to, the
// lowest bits first. What it joins in registers before it is stored are four
// values, two or one, as many as 64 bits have room for.
func pack8(to []byte, v *[8]uint64, width uint) {
	switch {
	case width <= 16:
		low := v[0] | v[1]<<(width&63) | (v[2]|v[3]<<(width&63))<<(2*width&63)
		high := v[4] | v[5]<<(width&63) | (v[6]|v[7]<<(width&63))<<(2*width&63)
		binary.LittleEndian.PutUint64(to, low|high<<(4*width))
		binary.LittleEndian.PutUint64(to[8:], high>>(64-4*width))
	case width <= 32:
		packed := [4]uint64{v[0] | v[1]<<width, v[2] | v[3]<<width, v[4] | v[5]<<width, v[6] | v[7]<<width}
		join(to, packed[:], 2*width)
	default:
		join(to, v[:], width)
	}
}

// join writes values of more than 32 bits.
func join(to []byte, values []uint64, width uint) {
	word, used := uint64(0), uint(0)
	for _, v := range values {
		word |= v << used
		if used += width; used >= 64 {
			binary.LittleEndian.PutUint64(to, word)
			to = to[8:]
			used -= 64
			word = v >> (width - used)
		}
	}
	binary.LittleEndian.PutUint64(to, word)
}
