package model

// hashIndex finds ids by 64-bit hash, using open addressing. Hash 0 is reserved
// for free entries.
type hashIndex struct {
	entries []hashEntry // a power of two long
	n       int
}

type hashEntry struct {
	hash uint64 // 0 is free
	id   int64
}

// entry returns the hash's entry, or the free one where it belongs.
func (x *hashIndex) entry(hash uint64) *hashEntry {
	if 4*x.n >= 3*len(x.entries) {
		x.grow()
	}
	mask := uint64(len(x.entries) - 1)
	for slot := hash & mask; ; slot = (slot + 1) & mask {
		if e := &x.entries[slot]; e.hash == hash || e.hash == 0 {
			return e
		}
	}
}

// fill adds a new hash in the free entry that entry returned.
func (x *hashIndex) fill(e *hashEntry, hash uint64, id int64) {
	*e = hashEntry{hash, id}
	x.n++
}

func (x *hashIndex) find(hash uint64) (int64, bool) {
	if x.n == 0 {
		return 0, false
	}
	e := x.entry(hash)
	return e.id, e.hash == hash
}

func (x *hashIndex) grow() {
	old := x.entries
	x.entries = make([]hashEntry, max(1024, 2*len(old)))
	for _, e := range old {
		if e.hash != 0 {
			*x.entry(e.hash) = e
		}
	}
}

func (x *hashIndex) clear() {
	clear(x.entries)
	x.n = 0
}
