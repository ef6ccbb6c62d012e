package args

import "slices"

// recentIDs finds ids by 64-bit hash. It remembers all of the first maxRecent
// hashes, and later at least the latest maxRecent, so that its memory does not
// grow with the trace.
type recentIDs struct {
	// slots locate the entries by open addressing. Most hashes are new, which a slot shows
	// without its entry, and 2 MiB of slots stay in the processor's caches.
	slots   []recentSlot // a power of two long
	entries [2][]recentEntry
	young   uint32     // index in entries of those in use; the others are older
	fetched recentSlot // what fetch read, so that the compiler does not leave it out
}

type recentEntry struct {
	hash uint64
	id   int64
}

const (
	recentBits = 17
	maxRecent  = 1 << recentBits
)

// recentSlot is an entry's position plus one below the first bits of its hash, or 0 if it
// is free. A position is an index in one of the entries, below the index of those.
type recentSlot uint32

const positionMask = 1<<(recentBits+2) - 1

func newSlot(hash uint64, position uint32) recentSlot {
	return recentSlot(uint32(hash>>32)&^positionMask | (position + 1))
}

// fetch reads the slots of hashes before they are needed. The processor reads several at a time, as none depends on another.
func (r *recentIDs) fetch(hashes []uint64) {
	mask := uint64(len(r.slots) - 1)
	for _, hash := range hashes {
		if at := hash >> 1 & mask; at < uint64(len(r.slots)) {
			r.fetched |= r.slots[at]
		}
	}
}

// find returns where the hash's slot is or belongs, and its entry or nil.
func (r *recentIDs) find(hash uint64) (at uint64, position uint32, e *recentEntry) {
	mask := uint64(len(r.slots) - 1)
	for at = hash >> 1 & mask; ; at = (at + 1) & mask {
		s := r.slots[at]
		if s == 0 {
			return at, 0, nil
		}
		if position = uint32(s)&positionMask - 1; s == newSlot(hash, position) {
			if e = &r.entries[position>>recentBits][position%maxRecent]; e.hash == hash {
				return at, position, e
			}
		}
	}
}

// insert returns the id stored for the hash, after storing the given one if
// there was none; added says whether it did.
func (r *recentIDs) insert(hash uint64, id int64) (got int64, added bool) {
	young := &r.entries[r.young]
	if len(*young) == maxRecent {
		r.young ^= 1
		young = &r.entries[r.young]
		*young = slices.Grow((*young)[:0], maxRecent)
		r.index(len(r.slots))
	} else if used := len(r.entries[0]) + len(r.entries[1]); 4*used >= 3*len(r.slots) {
		n := max(1024, 2*len(r.slots))
		*young = slices.Grow(*young, min(3*n/4, maxRecent)-len(*young))
		r.index(n)
	}
	at, position, e := r.find(hash)
	switch {
	case e == nil:
		added = true
	case position>>recentBits == r.young:
		return e.id, false
	default:
		id = e.id
	}
	r.slots[at] = newSlot(hash, r.young<<recentBits|uint32(len(*young)))
	*young = append(*young, recentEntry{hash, id})
	return id, added
}

// index locates all entries again, in n slots.
func (r *recentIDs) index(n int) {
	if n == len(r.slots) {
		clear(r.slots)
	} else {
		r.slots = make([]recentSlot, n)
	}
	for _, half := range [2]uint32{r.young ^ 1, r.young} {
		for i, e := range r.entries[half] {
			at, _, _ := r.find(e.hash) // a younger entry replaces an older one
			r.slots[at] = newSlot(e.hash, half<<recentBits|uint32(i))
		}
	}
}
