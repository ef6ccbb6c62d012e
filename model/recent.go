package model

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
	before, known := r.old.find(hash)
	if known {
		id = before
	}
	r.young.fill(e, hash, id)
	return id, !known
}
