package define

import (
	"cmp"
	"slices"
	"sort"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
)

// Sets finds the rows of sets, such as those of an arg_set_id.
type Sets struct {
	set   dataframe.Reader
	rows  int
	order []uint32 // of rows by set; nil if they are in this order

	last     int64 // the set found last, whose rows are at the places from to to
	From, To int
}

func NewSets(set dataframe.Reader, rows int) Sets {
	s := Sets{set: set, rows: rows, last: -1}
	if !set.Sorted() {
		s.order = make([]uint32, rows)
		for i := range s.order {
			s.order[i] = uint32(i)
		}
		slices.SortStableFunc(s.order, func(a, b uint32) int { return cmp.Compare(set.Int(int(a)), set.Int(int(b))) })
	}
	return s
}

// Row returns the row at a place in the order of sets.
func (s *Sets) Row(i int) int {
	if s.order != nil {
		return int(s.order[i])
	}
	return i
}

// Each calls f with the rows of all sets, in the order of sets.
func (s *Sets) Each(f func(set int64, row int)) {
	for i := range s.rows {
		row := s.Row(i)
		f(s.set.Int(row), row)
	}
}

// Find sets from and to to the places of a set. Statements mostly ask for sets in ascending order.
func (s *Sets) Find(set int64) {
	if set == s.last {
		return
	}
	at := func(i int) int64 { return s.set.Int(s.Row(i)) }
	low := 0
	if s.To < s.rows && at(s.To) <= set {
		low = s.To
	}
	step := 1
	for low+step < s.rows && at(low+step) < set {
		low, step = low+step, step*2
	}
	from := low + sort.Search(min(step, s.rows-low), func(i int) bool { return at(low+i) >= set })
	to := from
	for to < s.rows && at(to) == set {
		to++
	}
	s.last, s.From, s.To = set, from, to
}
