package operators

import (
	"encoding/binary"
	"math"
	"slices"
)

// Trace Processor goes through its partitions in the order of a hash table with open addressing. Results come in the same
// order here, so that queries without ORDER BY, and what numbers their rows, agree.

// hashOrder returns the order of distinct hashes in that table; slot is the size of one of its entries in bytes.
func hashOrder(hashes []uint64, slot int) []int {
	var table []int32 // number of a hash + 1, 0 for free
	size := 0
	insert := func(i int32) {
		mask := uint64(len(table) - 1)
		for step := uint64(0); ; step++ {
			at := (hashes[i] + 2*step*step + step) & mask
			if table[at] == 0 {
				table[at] = i + 1
				return
			}
		}
	}
	for i := range hashes {
		if size >= len(table)*75/100 {
			grown := 8
			if len(table)*slot >= 1<<20 {
				grown = 2
			}
			old := table
			table = make([]int32, max(len(old)*grown, 1024))
			for _, k := range old {
				if k != 0 {
					insert(k - 1)
				}
			}
		}
		insert(int32(i))
		size++
	}
	order := make([]int, 0, len(hashes))
	for _, k := range table {
		if k != 0 {
			order = append(order, int(k-1))
		}
	}
	return order
}

// hasher combines hashes of values as Trace Processor does, by MurmurHash.
type hasher uint64

func newHasher() hasher { return 0xe17a1465 }

func (h *hasher) add(piece uint64) {
	*h ^= hasher(piece) + 0x9e3779b9 + *h<<6 + *h>>2
}

func hashInt(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	x ^= x >> 33
	return x
}

func hashFloat(f float64) uint64 {
	if f == 0 {
		f = 0 // not -0
	}
	return hashInt(math.Float64bits(f))
}

func hashText(s string) uint64 {
	const m = 0xc6a4a7935bd1e995
	h := 0xe17a1465 ^ uint64(len(s))*m
	b := []byte(s)
	for ; len(b) >= 8; b = b[8:] {
		k := binary.LittleEndian.Uint64(b) * m
		k ^= k >> 47
		k *= m
		h ^= k
		h *= m
	}
	if len(b) > 0 {
		for i, c := range slices.Backward(b) {
			h ^= uint64(c) << (8 * i)
		}
		h *= m
	}
	h ^= h >> 47
	h *= m
	h ^= h >> 47
	return h
}
