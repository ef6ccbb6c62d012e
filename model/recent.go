package model

import (
	"unsafe"

	"github.com/tpconvert/tpconvert/model/prefetch"
)

// recentIDs finds ids by 64-bit hash. It remembers all hashes up to
// maxRecent, and from then on at least that many of the latest ones: what grows
// with the trace must not grow in memory. A hash of 0 must not be used.
type recentIDs struct {
	young, old hashIndex
}

// maxRecent is a size at which both indexes, 4 MiB each, stay in a processor's
// caches.
const maxRecent = 1 << 17

// insert returns the id of the hash, after it added the given one if there was
// none; added says which.
func (r *recentIDs) insert(hash uint64, id int64) (got int64, added bool) {
	if r.young.n == maxRecent {
		r.old, r.young = r.young, r.old
		r.young.clear()
	}
	e := r.young.entry(hash)
	if e.hash == hash {
		return e.id, false
	}
	added = true
	if r.old.n > 0 {
		if before := r.old.entry(hash); before.hash == hash {
			id, added = before.id, false
		}
	}
	*e = hashEntry{hash, id}
	r.young.n++
	return id, added
}

// prefetch prepares an insert of the hash.
func (r *recentIDs) prefetch(hash uint64) {
	r.young.prefetch(hash)
	r.old.prefetch(hash)
}

// hashIndex is a hash table with open addressing.
type hashIndex struct {
	entries []hashEntry // a power of two long
	n       int
}

type hashEntry struct {
	hash uint64 // 0 is free
	id   int64
}

// entry returns the entry of the hash, or a free one for it.
func (x *hashIndex) entry(hash uint64) *hashEntry {
	if x.n*2 > len(x.entries) || len(x.entries) == 0 {
		x.grow()
	}
	mask := uint64(len(x.entries) - 1)
	for slot := hash & mask; ; slot = (slot + 1) & mask {
		if e := &x.entries[slot]; e.hash == hash || e.hash == 0 {
			return e
		}
	}
}

func (x *hashIndex) prefetch(hash uint64) {
	if n := uint64(len(x.entries)); n > 0 {
		prefetch.Line(unsafe.Pointer(&x.entries[hash&(n-1)]))
	}
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
