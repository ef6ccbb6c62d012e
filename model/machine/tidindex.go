package machine

import (
	"github.com/tpconvert/tpconvert/internal/paged"
	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/model/table"
)

// states has the states of all threads, by utid, or of all processes, by upid.
type states[T any] struct {
	list paged.List[T]
	wide paged.Sparse[int32] // the upper halves of tids or pids; nearly all are 0
}

// tidIndex finds the threads of each tid: the newest thread, from which
// threadState.older leads to earlier ones, and the newest living thread among these.
// Recent lookups are cached.
type tidIndex struct {
	all    *states[threadState] // of all machines
	index  paged.Index          // the newest thread of each tid
	recent [256]struct {
		tid   int64
		utid  schema.UTID
		valid bool
	}
}

func (x *tidIndex) thread(utid schema.UTID) *threadState { return x.all.list.At(int(utid)) }

// key returns the tid of a thread.
func (x *tidIndex) key(utid int) uint64 {
	return uint64(x.all.wide.Get(utid))<<32 | uint64(x.all.list.At(utid).tid)
}

// live returns the newest living thread.
func (x *tidIndex) live(tid int64) (schema.UTID, bool) {
	at := &x.recent[uint64(tid)%uint64(len(x.recent))]
	if at.tid == tid && at.valid {
		return at.utid, true
	}
	utid := x.findLive(tid)
	if utid == table.None {
		return 0, false
	}
	x.thread(utid).listed = false
	at.tid, at.utid, at.valid = tid, utid, true
	return utid, true
}

func (x *tidIndex) findLive(tid int64) schema.UTID {
	utid := x.newest(tid)
	for utid != table.None && !x.thread(utid).live {
		utid = x.older(utid)
	}
	return utid
}

// setLive sets the newest living thread, which may be table.None.
func (x *tidIndex) setLive(tid int64, utid schema.UTID) {
	if before := x.findLive(tid); before != table.None {
		x.thread(before).live = false
	}
	if utid != table.None {
		x.thread(utid).live = true
	}
	x.forgetRecent(tid)
}

// newest returns the newest thread, or table.None.
func (x *tidIndex) newest(tid int64) schema.UTID {
	if utid, ok := x.index.Find(uint64(tid), x.key); ok {
		return schema.UTID(utid)
	}
	return table.None
}

// older returns the previous thread with the same tid, or table.None.
func (x *tidIndex) older(utid schema.UTID) schema.UTID { return schema.UTID(x.thread(utid).older) }

// has reports whether a thread with the tid can be found by it.
func (x *tidIndex) has(tid int64, utid schema.UTID) bool {
	return x.thread(utid).newer != none || x.newest(tid) == utid
}

// chain makes a thread the newest of its tid.
func (x *tidIndex) chain(tid int64, utid schema.UTID) {
	t, before := x.thread(utid), x.newest(tid)
	t.older, t.newer = int32(before), none
	if before != table.None {
		x.thread(before).newer = int32(utid)
	}
	x.index.Set(uint64(tid), int(utid), x.key)
}

// unchain removes a thread from the chain of its tid, if it is there.
func (x *tidIndex) unchain(tid int64, utid schema.UTID) {
	t := x.thread(utid)
	t.live = false
	x.forgetRecent(tid)
	if !x.has(tid, utid) {
		return
	}
	switch {
	case t.newer != none:
		x.thread(schema.UTID(t.newer)).older = t.older
	case t.older != none:
		x.index.Set(uint64(tid), int(t.older), x.key)
	default:
		x.index.Delete(uint64(tid), x.key)
	}
	if t.older != none {
		x.thread(schema.UTID(t.older)).newer = t.newer
	}
	t.older, t.newer = none, none
}

// forget removes all threads of the tid from the index.
func (x *tidIndex) forget(tid int64) {
	for at := x.newest(tid); at != table.None; {
		t := x.thread(at)
		at = schema.UTID(t.older)
		t.older, t.newer = none, none
	}
	x.index.Delete(uint64(tid), x.key)
	x.forgetRecent(tid)
}

func (x *tidIndex) forgetRecent(tid int64) {
	if at := &x.recent[uint64(tid)%uint64(len(x.recent))]; at.tid == tid {
		at.valid = false
	}
}
