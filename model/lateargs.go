package model

import "github.com/tpconvert/tpconvert/model/table"

// lateArgs are arg sets that are interned a little later than they were made, so
// that their entries in the index can be prefetched.
type lateArgs struct {
	ring [4]lateSet
	next int
}

type lateSet struct {
	set    *ArgSet
	hash   uint64
	table  *table.Table
	column *table.Int64
	row    int64
}

// SetArgs stores a set, which must not be empty, and its id in a row of a column.
// It keeps the set and gives an empty one in exchange. The id can be read after
// storeLateArgs.
func (s *Store) SetArgs(t *table.Table, column *table.Int64, row int64, set *ArgSet) *ArgSet {
	late := &s.late.ring[s.late.next]
	s.late.next = (s.late.next + 1) % len(s.late.ring)
	spare := late.set
	if spare == nil {
		spare = new(ArgSet)
	}
	late.store(s)
	t.Pin(row)
	*late = lateSet{set, set.hash(), t, column, row}
	s.args.prefetch(late.hash)
	return spare
}

// store interns the set, if there is one.
func (l *lateSet) store(s *Store) {
	if l.table == nil {
		return
	}
	l.column.Set(l.row, s.intern(l.hash, l.set))
	l.table.Unpin(l.row)
	l.set.Reset()
	l.table = nil
}

// storeLateArgs interns all that was put off.
func (s *Store) storeLateArgs() {
	for i := range s.late.ring {
		s.late.ring[(s.late.next+i)%len(s.late.ring)].store(s)
	}
}
