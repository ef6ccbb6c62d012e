package model

// hashIndex finds ids by 64-bit hash, in 12 bytes an entry or somewhat more. It
// holds what grows with the trace, where a map would take thrice as much. A hash
// of 0 must not be used.
type hashIndex struct {
	hashes []uint64 // open addressing, a power of two long; 0 is free
	ids    []uint32
	n      int
}

// insert returns the id of the hash, after it added the given one if there was
// none; added says which.
func (x *hashIndex) insert(hash uint64, id int64) (got int64, added bool) {
	if x.n*4 >= len(x.hashes)*3 {
		x.grow()
	}
	slot := x.slot(hash)
	if x.hashes[slot] == hash {
		return int64(x.ids[slot]), false
	}
	x.hashes[slot], x.ids[slot] = hash, uint32(id)
	x.n++
	return id, true
}

func (x *hashIndex) slot(hash uint64) uint64 {
	mask := uint64(len(x.hashes) - 1)
	slot := hash & mask
	for x.hashes[slot] != 0 && x.hashes[slot] != hash {
		slot = (slot + 1) & mask
	}
	return slot
}

func (x *hashIndex) grow() {
	old := *x
	n := max(1024, 2*len(old.hashes))
	x.hashes, x.ids = make([]uint64, n), make([]uint32, n)
	for i, hash := range old.hashes {
		if hash != 0 {
			slot := x.slot(hash)
			x.hashes[slot], x.ids[slot] = hash, old.ids[i]
		}
	}
}
