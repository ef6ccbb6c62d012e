package model

// recentIDs finds ids by 64-bit hash. It remembers all of the first maxRecent
// hashes, and later at least the latest maxRecent, so that its memory does not
// grow with the trace. Hash 0 is reserved.
type recentIDs struct {
	young, old hashIndex
}

// maxRecent is small enough that both indexes, 4 MiB each, stay in the
// processor's caches.
const maxRecent = 1 << 17

// insert returns the id stored for the hash, after storing the given one if
// there was none; added says whether it did.
func (r *recentIDs) insert(hash uint64, id int64) (got int64, added bool) {
	if r.young.n == maxRecent {
		r.old, r.young = r.young, r.old
		r.young.clear()
	}
	e := r.young.entry(hash)
	if e.hash == hash {
		return e.id, false
	}
	before, known := r.old.find(hash)
	if known {
		id = before
	}
	r.young.fill(e, hash, id)
	return id, !known
}
