package model

// liveThreads finds the newest thread of each tid that is alive. Those looked up
// lately are found without the map.
type liveThreads struct {
	byTID  map[int64]UTID
	recent [256]struct {
		tid   int64
		utid  UTID
		valid bool
	}
}

func newLiveThreads() liveThreads { return liveThreads{byTID: map[int64]UTID{}} }

func (l *liveThreads) get(tid int64) (UTID, bool) {
	at := &l.recent[uint64(tid)%uint64(len(l.recent))]
	if at.tid == tid && at.valid {
		return at.utid, true
	}
	utid, ok := l.byTID[tid]
	if ok {
		at.tid, at.utid, at.valid = tid, utid, true
	}
	return utid, ok
}

func (l *liveThreads) set(tid int64, utid UTID) {
	l.forget(tid)
	l.byTID[tid] = utid
}

func (l *liveThreads) remove(tid int64) {
	l.forget(tid)
	delete(l.byTID, tid)
}

func (l *liveThreads) forget(tid int64) {
	if at := &l.recent[uint64(tid)%uint64(len(l.recent))]; at.tid == tid {
		at.valid = false
	}
}
