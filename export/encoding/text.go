package encoding

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"github.com/tpconvert/tpconvert/model/table"
)

// TextBytes returns the total bytes of the strings.
func TextBytes(ids []table.StringID, view table.StringView) (int, error) {
	size := 0
	for _, id := range ids {
		size += view.Size(id)
	}
	if size > math.MaxInt32-4*len(ids) {
		return 0, fmt.Errorf("%d bytes of text: a dictionary holds no more than 2 GiB", size)
	}
	return size, nil
}

// Present returns the number of bits set among the first n.
func Present(valid []byte, n int) int {
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
