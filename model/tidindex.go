package model

// tidIndex finds the threads of each tid: the newest that is alive, and the newest
// of all that had it, from which threadState.older leads to the others. Those looked
// up lately are found without the map.
type tidIndex struct {
	byTID  map[int64]tidThreads
	recent [256]struct {
		tid   int64
		utid  UTID
		valid bool
	}
}

// tidThreads are utids plus one, 0 if there is none.
type tidThreads struct{ live, newest int32 }

func newTIDIndex() tidIndex { return tidIndex{byTID: map[int64]tidThreads{}} }

// live returns the newest thread that is alive.
func (x *tidIndex) live(tid int64) (UTID, bool) {
	at := &x.recent[uint64(tid)%uint64(len(x.recent))]
	if at.tid == tid && at.valid {
		return at.utid, true
	}
	utid := UTID(x.byTID[tid].live) - 1
	if utid == None {
		return 0, false
	}
	at.tid, at.utid, at.valid = tid, utid, true
	return utid, true
}

// setLive sets the newest thread that is alive, which may be None.
func (x *tidIndex) setLive(tid int64, utid UTID) {
	t := x.byTID[tid]
	t.live = int32(utid + 1)
	x.set(tid, t)
}

// newest returns the newest thread, or None.
func (x *tidIndex) newest(tid int64) UTID { return UTID(x.byTID[tid].newest) - 1 }

// setNewest sets the newest thread, which may be None.
func (x *tidIndex) setNewest(tid int64, utid UTID) {
	t := x.byTID[tid]
	t.newest = int32(utid + 1)
	x.set(tid, t)
}

func (x *tidIndex) set(tid int64, t tidThreads) {
	if at := &x.recent[uint64(tid)%uint64(len(x.recent))]; at.tid == tid {
		at.valid = false
	}
	if t == (tidThreads{}) {
		delete(x.byTID, tid)
	} else {
		x.byTID[tid] = t
	}
}
