package dataframe

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/tpconvert/tpconvert/sqlfuncs/pattern"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

// selection is a set of rows in order: a range until it has to be a list.
type selection struct {
	from, to int
	rows     []uint32
	list     bool
	buffer   []uint32 // for lists, reused
}

func (s *selection) clear() { s.from, s.to, s.rows = 0, 0, s.rows[:0] }

func (s *selection) len() int {
	if s.list {
		return len(s.rows)
	}
	return s.to - s.from
}

func (s *selection) at(i int) int {
	if s.list {
		return int(s.rows[i])
	}
	return s.from + i
}

// keep keeps the rows for which a test holds.
func (s *selection) keep(test func(row int) bool) {
	if s.list {
		kept := s.rows[:0]
		for _, row := range s.rows {
			if test(int(row)) {
				kept = append(kept, row)
			}
		}
		s.rows = kept
		return
	}
	out := s.buffer[:0]
	for row := s.from; row < s.to; row++ {
		if test(row) {
			out = append(out, uint32(row))
		}
	}
	s.set(out)
}

// set makes the selection a list of rows that is in the buffer.
func (s *selection) set(rows []uint32) { s.rows, s.buffer, s.list = rows, rows, true }

// listed returns the rows as a list, which may be changed.
func (s *selection) listed() []uint32 {
	if s.list {
		return s.rows
	}
	rows := slices.Grow(s.buffer[:0], s.len())[:s.len()]
	for i := range rows {
		rows[i] = uint32(s.from + i)
	}
	return rows
}

// within keeps the rows of a range.
func (s *selection) within(from, to int) {
	if !s.list {
		s.from, s.to = max(s.from, from), min(s.to, to)
		s.to = max(s.from, s.to)
		return
	}
	s.keep(func(row int) bool { return row >= from && row < to })
}

// take makes the selection the rows of it that are in an ascending list.
func (s *selection) take(rows []uint32) {
	if s.list {
		s.keep(func(row int) bool { _, ok := slices.BinarySearch(rows, uint32(row)); return ok })
		return
	}
	if len(rows) > 0 && rows[0] < uint32(s.from) {
		from, _ := slices.BinarySearch(rows, uint32(s.from))
		rows = rows[from:]
	}
	if len(rows) > 0 && rows[len(rows)-1] >= uint32(s.to) {
		to, _ := slices.BinarySearch(rows, uint32(s.to))
		rows = rows[:to]
	}
	s.set(append(s.buffer[:0], rows...))
}

// operand is what a column is compared with, in the column's kind.
type operand struct {
	none, all bool // no row, or every row that is not NULL
	int       int64
	real      float64
	text      string
}

// operandOf converts a value for a comparison with a column, as Trace Processor does: there is no affinity, so that a number
// never equals a text.
func operandOf(kind Kind, op sqlite.Op, v sqlite.Value) operand {
	t := v.Type()
	if t == sqlite.Null || t == sqlite.Blob {
		return operand{none: true}
	}
	if kind == Text {
		if t == sqlite.TextOf {
			return operand{text: v.View()}
		}
		above := op == sqlite.GE || op == sqlite.GT || op == sqlite.NE // a text is greater than a number
		return operand{all: above, none: !above}
	}
	switch t {
	case sqlite.TextOf:
		below := op == sqlite.LE || op == sqlite.LT || op == sqlite.NE
		return operand{all: below, none: !below}
	case sqlite.Integer:
		if kind == Integer {
			return operand{int: v.Int()}
		}
		return realOperand(op, v.Int())
	}
	if kind == Real {
		return operand{real: v.Float()}
	}
	return intOperand(op, v.Float())
}

// intOperand converts a real number for a comparison with integers.
func intOperand(op sqlite.Op, f float64) operand {
	if math.IsNaN(f) {
		return operand{none: true}
	}
	big, small := f >= 1<<63, f < -1<<63
	if f == math.Trunc(f) && !big && !small {
		return operand{int: int64(f)}
	}
	switch op {
	case sqlite.LT, sqlite.LE:
		if big || small {
			return operand{all: big, none: small}
		}
		if op == sqlite.LT {
			return operand{int: int64(math.Ceil(f))}
		}
		return operand{int: int64(math.Floor(f))}
	case sqlite.GT, sqlite.GE:
		if big || small {
			return operand{all: small, none: big}
		}
		if op == sqlite.GT {
			return operand{int: int64(math.Floor(f))}
		}
		return operand{int: int64(math.Ceil(f))}
	case sqlite.NE:
		return operand{all: true}
	}
	return operand{none: true}
}

// realOperand converts an integer for a comparison with real numbers.
func realOperand(op sqlite.Op, n int64) operand {
	f := float64(n)
	if f < 1<<63 && int64(f) == n {
		return operand{real: f}
	}
	above := f >= 1<<63 || int64(f) > n // f is above n
	switch op {
	case sqlite.LT, sqlite.GE:
		if !above {
			f = math.Nextafter(f, math.Inf(1))
		}
	case sqlite.LE, sqlite.GT:
		if above {
			f = math.Nextafter(f, math.Inf(-1))
		}
	case sqlite.NE:
		return operand{all: true}
	default:
		return operand{none: true}
	}
	return operand{real: f}
}

// compare returns how the value of a row, which is not NULL, compares with an operand.
func (v *values) compare(pool *Pool, row int, x operand) int {
	switch v.kind {
	case Real:
		return cmp.Compare(v.f64[row], x.real)
	case Text:
		return cmp.Compare(pool.Text(v.texts[row]), x.text)
	}
	return cmp.Compare(v.int(row), x.int)
}

// filter narrows a selection to the rows that a constraint lets through.
func (f *Frame) filter(s *selection, column int, op sqlite.Op, value sqlite.Value) error {
	v, err := f.at(column)
	if err != nil {
		return err
	}
	switch op {
	case sqlite.IsNull, sqlite.IsNotNull:
		if want := op == sqlite.IsNull; v.nulls != nil {
			s.keep(func(row int) bool { return v.null(row) == want })
		} else if want {
			s.clear()
		}
		return nil
	case sqlite.In:
		return f.filterIn(s, v, value)
	case sqlite.Like:
		if t := value.Type(); v.kind != Text || t == sqlite.Null || t == sqlite.Blob {
			s.clear()
			return nil
		}
		matches := pattern.Like(value.Text(), 0)
		f.filterTexts(s, v, func(text string) bool { return matches(text, func() bool { return false }) })
		return nil
	case sqlite.Glob:
		if v.kind != Text || value.Type() == sqlite.Null {
			s.clear()
			return nil
		}
		matches := pattern.Glob(value.Text())
		f.filterTexts(s, v, func(text string) bool { return matches(text, func() bool { return false }) })
		return nil
	}
	x := operandOf(v.kind, op, value)
	switch {
	case x.none:
		s.clear()
	case x.all:
		if v.nulls != nil {
			s.keep(func(row int) bool { return !v.null(row) })
		}
	case v.sorted:
		v.narrow(f.Pool, s, op, x)
	case op == sqlite.EQ:
		v.filterEqual(f.Pool, s, x)
	case v.kind == Text:
		f.filterTexts(s, v, func(text string) bool { return holds(op, cmp.Compare(text, x.text)) })
	case v.kind == Real:
		scan(s, v.f64, v.nulls, op, x.real)
	case v.i32 != nil:
		if x.int == int64(int32(x.int)) {
			scan(s, v.i32, v.nulls, op, int32(x.int))
		} else {
			s.keep(func(row int) bool { return !v.null(row) && holds(op, cmp.Compare(int64(v.i32[row]), x.int)) })
		}
	default:
		scan(s, v.i64, v.nulls, op, x.int)
	}
	return nil
}

func holds(op sqlite.Op, c int) bool {
	switch op {
	case sqlite.EQ:
		return c == 0
	case sqlite.NE:
		return c != 0
	case sqlite.LT:
		return c < 0
	case sqlite.LE:
		return c <= 0
	case sqlite.GT:
		return c > 0
	}
	return c >= 0
}

// scannedAtOnce is a number of rows: a list of all of them would touch much memory for the few that are kept.
const scannedAtOnce = 1024

// scan keeps the rows whose number compares as op asks.
func scan[T int32 | int64 | float64 | uint32](s *selection, x []T, nulls []uint64, op sqlite.Op, than T) {
	if s.list {
		s.rows = compared(s.rows, x, op, than)
	} else {
		out := s.buffer[:0]
		for from := s.from; from < s.to; from += scannedAtOnce {
			n := min(scannedAtOnce, s.to-from)
			if len(out)+n > cap(out) { // as many of the rest are kept as of those before
				out = slices.Grow(out, n+len(out)*(s.to-from)/max(from-s.from, 1))
			}
			rows := out[len(out) : len(out)+n]
			for i := range rows {
				rows[i] = uint32(from + i)
			}
			out = out[:len(out)+len(compared(rows, x, op, than))]
		}
		s.set(out)
	}
	if nulls != nil {
		s.keep(func(row int) bool { return nulls[row>>6]>>(row&63)&1 == 0 })
	}
}

// compared returns the rows whose number compares as op asks, in the place of the list.
func compared[T int32 | int64 | float64 | uint32](rows []uint32, x []T, op sqlite.Op, than T) []uint32 {
	switch op {
	case sqlite.EQ, sqlite.NE:
		return equal(rows, x, than, op == sqlite.EQ)
	case sqlite.GT, sqlite.LE:
		return greater(rows, x, than, op == sqlite.GT)
	}
	return less(rows, x, than, op == sqlite.LT)
}

// equal returns the rows whose number is another one, or is not, in the place of the list. As in the two below, each row is stored, and
// counted if it is kept: branches that are hard to predict take longer.
func equal[T int32 | int64 | float64 | uint32](rows []uint32, x []T, than T, is bool) []uint32 {
	n := 0
	for _, row := range rows {
		rows[n] = row
		if (x[row] == than) == is {
			n++
		}
	}
	return rows[:n]
}

func greater[T int32 | int64 | float64 | uint32](rows []uint32, x []T, than T, is bool) []uint32 {
	n := 0
	for _, row := range rows {
		rows[n] = row
		if (x[row] > than) == is {
			n++
		}
	}
	return rows[:n]
}

func less[T int32 | int64 | float64 | uint32](rows []uint32, x []T, than T, is bool) []uint32 {
	n := 0
	for _, row := range rows {
		rows[n] = row
		if (x[row] < than) == is {
			n++
		}
	}
	return rows[:n]
}

// narrow keeps the rows of a sorted column by binary search.
func (v *values) narrow(pool *Pool, s *selection, op sqlite.Op, x operand) {
	lower := func() int { // the first row that is not less
		if v.sequence() {
			return int(min(max(x.int-v.first, 0), int64(v.rows)))
		}
		return sort.Search(v.rows, func(row int) bool { return v.compare(pool, row, x) >= 0 })
	}
	upper := func() int { // the first row that is greater
		if v.sequence() {
			if x.int < v.first {
				return 0
			}
			return int(min(x.int-v.first, int64(v.rows)-1) + 1)
		}
		return sort.Search(v.rows, func(row int) bool { return v.compare(pool, row, x) > 0 })
	}
	switch op {
	case sqlite.EQ:
		from := lower()
		to := from
		if v.unique {
			if from < v.rows && v.compare(pool, from, x) == 0 {
				to++
			}
		} else {
			to = upper()
		}
		s.within(from, to)
	case sqlite.LT:
		s.within(0, lower())
	case sqlite.LE:
		s.within(0, upper())
	case sqlite.GT:
		s.within(upper(), v.rows)
	case sqlite.GE:
		s.within(lower(), v.rows)
	default: // NE
		s.keep(func(row int) bool { return v.compare(pool, row, x) != 0 })
	}
}

// A column is ordered for lookups once so many rows have been read in vain.
const patience = 4

// filterEqual keeps the rows that equal an operand.
func (v *values) filterEqual(pool *Pool, s *selection, x operand) {
	var id uint32
	if v.kind == Text {
		var ok bool
		if id, ok = pool.Find(x.text); !ok {
			s.clear()
			return
		}
	}
	order := v.ordered()
	if order == nil && (v.rows > 64 || v.kind == Text) && s.len() > v.rows/4 && v.equal.Add(1) > patience {
		order = v.arrange()
	}
	if order != nil && s.len() > 16 {
		s.take(v.equalRows(order, id, x))
		return
	}
	switch {
	case v.kind == Text:
		scan(s, v.texts, v.nulls, sqlite.EQ, id)
	case v.kind == Real:
		scan(s, v.f64, v.nulls, sqlite.EQ, x.real)
	case v.i64 != nil:
		scan(s, v.i64, v.nulls, sqlite.EQ, x.int)
	case x.int != int64(int32(x.int)):
		s.clear()
	default:
		scan(s, v.i32, v.nulls, sqlite.EQ, int32(x.int))
	}
}

// arrange orders the rows for lookups: those that are not NULL by value, equal ones by row.
func (v *values) arrange() []uint32 {
	v.mu.Lock()
	defer v.mu.Unlock()
	if order := v.ordered(); order != nil {
		return order
	}
	order := make([]uint32, 0, v.rows)
	for row := range v.rows {
		if !v.null(row) {
			order = append(order, uint32(row))
		}
	}
	sortRows(order, sortKey{values: v})
	v.order.Store(&order)
	return order
}

// textSlots returns the hash table for searches of texts, nil without an order.
func (v *values) textSlots(vector *sqlite.Vector) []uint32 {
	order := v.ordered()
	if order == nil {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.slots.Load() == nil {
		slots := sqlite.TextSlots(vector, order)
		v.slots.Store(&slots)
	}
	return *v.slots.Load()
}

// equalRows returns the rows that equal an operand, in order, by the column's order.
func (v *values) equalRows(order []uint32, id uint32, x operand) []uint32 {
	var compare func(row uint32) int
	switch {
	case v.texts != nil:
		compare = func(row uint32) int { return cmp.Compare(v.texts[row], id) }
	case v.f64 != nil:
		compare = func(row uint32) int { return cmp.Compare(v.f64[row], x.real) }
	case v.i64 != nil:
		compare = func(row uint32) int { return cmp.Compare(v.i64[row], x.int) }
	default:
		compare = func(row uint32) int { return cmp.Compare(int64(v.i32[row]), x.int) }
	}
	from := sort.Search(len(order), func(i int) bool { return compare(order[i]) >= 0 })
	to := from
	for to < len(order) && to < from+8 && compare(order[to]) == 0 {
		to++
	}
	if to == from+8 {
		to += sort.Search(len(order)-to, func(i int) bool { return compare(order[to+i]) > 0 })
	}
	return order[from:to]
}

// filterTexts keeps the rows whose text passes a test, which is asked once for each text.
func (f *Frame) filterTexts(s *selection, v *values, test func(string) bool) {
	const yes, no = 1, 2
	var known []byte // by number of the text
	s.keep(func(row int) bool {
		if v.null(row) {
			return false
		}
		id := int(v.texts[row])
		if id >= len(known) {
			known = append(known, make([]byte, id+1-len(known))...)
		}
		if known[id] == 0 {
			known[id] = no
			if test(f.Pool.Text(uint32(id))) {
				known[id] = yes
			}
		}
		return known[id] == yes
	})
}

// filterIn keeps the rows whose value is in a list.
func (f *Frame) filterIn(s *selection, v *values, list sqlite.Value) error {
	wanted := map[int64]bool{}
	err := list.Each(func(item sqlite.Value) error {
		x := operandOf(v.kind, sqlite.EQ, item)
		if x.none {
			return nil
		}
		switch v.kind {
		case Integer:
			wanted[x.int] = true
		case Real:
			wanted[int64(math.Float64bits(x.real+0))] = true
		case Text:
			if id, ok := f.Pool.Find(x.text); ok {
				wanted[int64(id)] = true
			}
		}
		return nil
	})
	if err != nil || len(wanted) == 0 {
		s.clear()
		return err
	}
	if v.kind == Integer && (v.sorted || v.ordered() != nil || len(wanted) <= 4) && len(wanted) < v.rows/16 && !s.list {
		return f.lookUpAll(s, v, wanted)
	}
	switch {
	case v.kind == Text:
		s.keep(func(row int) bool { return !v.null(row) && wanted[int64(v.texts[row])] })
	case v.kind == Real:
		s.keep(func(row int) bool { return !v.null(row) && wanted[int64(math.Float64bits(v.f64[row]+0))] })
	default:
		s.keep(func(row int) bool { return !v.null(row) && wanted[v.int(row)] })
	}
	return nil
}

// lookUpAll keeps the rows with one of a few integers.
func (f *Frame) lookUpAll(s *selection, v *values, wanted map[int64]bool) error {
	var rows []uint32
	for n := range wanted {
		one := selection{from: s.from, to: s.to}
		x := operand{int: n}
		if v.sorted {
			v.narrow(f.Pool, &one, sqlite.EQ, x)
		} else {
			v.filterEqual(f.Pool, &one, x)
		}
		for i := range one.len() {
			rows = append(rows, uint32(one.at(i)))
		}
	}
	slices.Sort(rows)
	s.set(append(s.buffer[:0], rows...))
	return nil
}
