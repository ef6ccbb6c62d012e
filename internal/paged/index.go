package paged

import (
	"math/bits"
	"math/rand/v2"
)

// Index finds the places of values in a list by their keys, numbers of 64 bits that
// the list has: the index itself takes some 8 bytes for each. The zero Index is empty.
type Index struct {
	slots []uint32 // places plus one, 0 is free; open addressing, a power of two long
	n     int
}

// seed keeps traces from having keys that are slow to find.
var seed = rand.Uint64()

func hash(key uint64) uint64 {
	hi, lo := bits.Mul64(key^seed, 0x9e3779b97f4a7c15)
	return hi ^ lo
}

// slot returns the slot that has the key, or a free one for it.
func (x *Index) slot(key uint64, keyOf func(place int) uint64) uint64 {
	mask := uint64(len(x.slots) - 1)
	slot := hash(key) & mask
	for x.slots[slot] != 0 && keyOf(int(x.slots[slot]-1)) != key {
		slot = (slot + 1) & mask
	}
	return slot
}

// Find returns the place that the key has, or false. keyOf returns the key of the
// value at a place.
func (x *Index) Find(key uint64, keyOf func(place int) uint64) (place int, ok bool) {
	if x.n == 0 {
		return 0, false
	}
	at := x.slots[x.slot(key, keyOf)]
	return int(at) - 1, at != 0
}

// Set gives the key a place, also if it has another.
func (x *Index) Set(key uint64, place int, keyOf func(place int) uint64) {
	if 4*(x.n+1) > 3*len(x.slots) {
		x.grow(keyOf)
	}
	slot := x.slot(key, keyOf)
	if x.slots[slot] == 0 {
		x.n++
	}
	x.slots[slot] = uint32(place + 1)
}

// Delete takes the key out.
func (x *Index) Delete(key uint64, keyOf func(place int) uint64) {
	if x.n == 0 {
		return
	}
	free := x.slot(key, keyOf)
	if x.slots[free] == 0 {
		return
	}
	x.n--
	// What comes after it moves up, unless that is before where it belongs.
	mask := uint64(len(x.slots) - 1)
	for slot := (free + 1) & mask; x.slots[slot] != 0; slot = (slot + 1) & mask {
		wanted := hash(keyOf(int(x.slots[slot]-1))) & mask
		if (slot-wanted)&mask >= (slot-free)&mask {
			x.slots[free], free = x.slots[slot], slot
		}
	}
	x.slots[free] = 0
}

func (x *Index) grow(keyOf func(place int) uint64) {
	old := x.slots
	x.slots = make([]uint32, max(64, 2*len(old)))
	for _, at := range old {
		if at != 0 {
			x.slots[x.slot(keyOf(int(at-1)), keyOf)] = at
		}
	}
}
