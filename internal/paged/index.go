package paged

import (
	"math/bits"
	"math/rand/v2"
)

// Index finds the places of values in a list by their 64-bit keys. The keys stay in
// the list, so the index only takes about 8 bytes per value. The zero Index is empty.
type Index struct {
	slots []uint32 // hash table with open addressing: places plus one, or 0 if free; the length is a power of two
	n     int
}

// seed prevents crafted traces from slowing down lookups.
var seed = rand.Uint64()

func hash(key uint64) uint64 {
	hi, lo := bits.Mul64(key^seed, 0x9e3779b97f4a7c15)
	return hi ^ lo
}

// slot returns the key's slot, or the free slot for it.
func (x *Index) slot(key uint64, keyOf func(place int) uint64) uint64 {
	mask := uint64(len(x.slots) - 1)
	slot := hash(key) & mask
	for x.slots[slot] != 0 && keyOf(int(x.slots[slot]-1)) != key {
		slot = (slot + 1) & mask
	}
	return slot
}

// Find returns the key's place, or false. keyOf returns the key of the value at a
// place.
func (x *Index) Find(key uint64, keyOf func(place int) uint64) (place int, ok bool) {
	if x.n == 0 {
		return 0, false
	}
	at := x.slots[x.slot(key, keyOf)]
	return int(at) - 1, at != 0
}

// Set sets the key's place, replacing any previous one.
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

// Delete removes the key.
func (x *Index) Delete(key uint64, keyOf func(place int) uint64) {
	if x.n == 0 {
		return
	}
	free := x.slot(key, keyOf)
	if x.slots[free] == 0 {
		return
	}
	x.n--
	// Later entries of the run move up, unless that would put them before the slot
	// for their hash.
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
