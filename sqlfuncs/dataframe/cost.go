package dataframe

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

// Layout is how Trace Processor stores a column of its own tables. It does not depend on the rows, and costs do depend on it.
type Layout struct {
	Nullable bool // some value may be NULL
	Dense    bool // NULLs take room
	Sorted   bool // ascends
	Group    bool // has, in runs, the number of the run's first row
	Indexed  bool
}

// traits are what the costs of a column depend on.
type traits struct {
	Layout
	id       bool // a row has its number
	unique   bool
	small    bool          // unique, and the values are not much larger than the number of rows
	distinct func() uint32 // about the number of different values, 0 if unknown
}

// traits returns what the costs of a column depend on.
func (f *Frame) traits(i int) (*traits, error) {
	c := f.Columns[i]
	if t := c.derived.Load(); t != nil {
		return t, nil
	}
	v, err := f.at(i)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.derived.Load(); t != nil {
		return t, nil
	}
	t := &traits{}
	switch {
	case c.Layout != nil:
		t.Layout = *c.Layout
		t.id = c.Name == "id"
		t.unique = t.id
	default:
		t.observe(f.Pool, v, c.Hidden)
	}
	if t.id {
		t.Sorted = true
	}
	t.distinct = sync.OnceValue(func() uint32 {
		if t.unique || c.Kind == Real {
			return 0
		}
		return v.distinct()
	})
	c.derived.Store(t)
	return t, nil
}

// observe takes traits from values, as CREATE PERFETTO TABLE does. number says that they number the rows.
func (t *traits) observe(pool *Pool, v *values, number bool) {
	t.Nullable = v.nulls != nil
	switch v.kind {
	case Integer:
		t.id = number || !t.Nullable && v.rows > 0 && v.sequence() && v.first == 0
		t.unique = t.id || !t.Nullable && v.apart()
		t.Sorted = v.sorted && v.rows > 0
		t.Group = t.Sorted && v.grouped()
		t.small = t.Sorted && t.unique && !t.id && !t.Group
	case Real:
		t.Sorted = v.sorted && v.rows > 0
	case Text:
		t.Sorted = !t.Nullable && v.rows > 0 && slices.IsSortedFunc(v.texts, func(a, b uint32) int {
			if a == b {
				return 0
			}
			return cmp.Compare(pool.Text(a), pool.Text(b))
		})
	}
}

// grouped reports whether the values are, in runs, the numbers of the runs' first rows.
func (v *values) grouped() bool {
	for row := range v.rows {
		if n := v.int(row); n != int64(row) && (row == 0 || n != v.int(row-1)) {
			return false
		}
	}
	return true
}

// apart reports whether the values differ and are not too large for a set of bits.
func (v *values) apart() bool {
	seen := make([]uint64, (16*v.rows+63)/64)
	for row := range v.rows {
		n := v.int(row)
		if n < 0 || n >= int64(16*v.rows) || seen[n>>6]>>(n&63)&1 != 0 {
			return false
		}
		seen[n>>6] |= 1 << (n & 63)
	}
	return true
}

// samples is the number of rows that tell how many different values there are.
const samples = 10000

// distinct estimates the number of different values that are not NULL.
func (v *values) distinct() uint32 {
	total := v.rows
	if v.nulls != nil {
		total = 0
		for row := range v.rows {
			if !v.null(row) {
				total++
			}
		}
	}
	stride := max(total/samples, 1)
	sample, skip := make([]int64, 0, (total+stride-1)/stride), 0
	for row := range v.rows {
		if v.null(row) {
			continue
		}
		if skip > 0 {
			skip--
			continue
		}
		skip = stride - 1
		if v.kind == Text {
			sample = append(sample, int64(v.texts[row]))
		} else {
			sample = append(sample, v.int(row))
		}
	}
	return estimateDistinct(sample, total)
}

// The costs of a plan are those of Trace Processor's, step by step, so that SQLite joins tables in the same order, and rows
// without ORDER BY come in the same order.
type estimate struct {
	cost    float64
	rows    uint32
	max     uint32
	base    uint32 // rows before the first filter that keeps few
	listed  bool
	counted map[int]bool // columns whose NULLs were counted
}

func (e *estimate) scaled(cost, by float64) {
	if e.rows == 0 {
		e.cost += 5
		return
	}
	e.cost += cost * by
}

func (e *estimate) linear(cost float64) { e.scaled(cost, float64(e.rows)) }
func (e *estimate) log(cost float64)    { e.scaled(cost, math.Log2(float64(e.rows))) }
func (e *estimate) linearLog(cost float64) {
	e.scaled(cost, float64(e.rows)*math.Log2(float64(e.rows)))
}

func (e *estimate) halve() {
	if e.rows > 1 {
		e.rows /= 2
	}
}

// equals counts a filter for a value, or for n.
func (e *estimate) equals(t *traits, n float64) {
	switch {
	case t.unique && n == 1:
		e.rows, e.max = min(e.rows, 1), min(e.max, 1)
	case !t.unique && e.rows > 1:
		if e.base == 0 {
			e.base = e.rows
		}
		base := float64(e.base)
		each := base / (2 * math.Log2(base))
		if n := t.distinct(); n > 0 {
			each = base / float64(n)
		}
		e.rows = min(e.rows, max(1, uint32(min(base, each*n))))
	}
}

func (e *estimate) filtered(t *traits, op sqlite.Op) {
	if op == sqlite.EQ {
		e.equals(t, 1)
	} else {
		e.halve()
	}
}

const allocation = 30

// list counts the work to make a range a list.
func (e *estimate) list() {
	if !e.listed {
		e.listed = true
		e.cost += allocation
		e.linear(10)
	}
}

// countNulls counts the work to find the values of a column with NULLs that take no room.
func (e *estimate) countNulls(column int, l *Layout) {
	if l.Nullable && !l.Dense && !e.counted[column] {
		if e.counted == nil {
			e.counted = map[int]bool{}
		}
		e.counted[column] = true
		e.linear(20)
	}
}

func (e *estimate) prune(t *traits) {
	if t.Nullable {
		e.linear(5)
		e.halve()
	}
}

// translate counts the work to find the values of rows.
func (e *estimate) translate(column int, t *traits, inPlace bool) {
	if t.Nullable && !t.Dense {
		if !inPlace {
			e.cost += allocation
		}
		e.countNulls(column, &t.Layout)
		e.linear(10)
	}
}

// search counts a filter of a sorted column and reports whether it is one.
func (e *estimate) search(t *traits, op sqlite.Op) bool {
	if t.Nullable || !t.Sorted || !ranged(op) {
		return false
	}
	e.cost += 5
	switch {
	case t.Group && !t.id && op == sqlite.EQ:
		e.cost += 100
	case t.small && op == sqlite.EQ:
		e.cost += 10
	case t.id:
		e.cost += 20
	default:
		e.log(10)
	}
	e.filtered(t, op)
	return true
}

// scan counts a filter that reads the column.
func (e *estimate) scan(column int, kind Kind, t *traits, op sqlite.Op) {
	switch {
	case op == sqlite.In:
		e.cost += 1000
		e.list()
		e.prune(t)
		e.translate(column, t, false)
		e.linear(10)
		e.halve()
	case op == sqlite.IsNull || op == sqlite.IsNotNull:
		switch {
		case t.Nullable:
			e.list()
			e.linear(5)
			e.halve()
		case op == sqlite.IsNull:
			e.cost += allocation
			e.rows, e.max, e.listed = 0, 0, true
		}
	case op == sqlite.EQ && !e.listed && !t.Nullable:
		e.cost += 5 + allocation
		e.linear(7)
		e.equals(t, 1)
		e.listed = true
	default:
		e.cost += 5
		e.list()
		e.prune(t)
		e.translate(column, t, false)
		if kind == Text {
			e.linear(15)
		} else {
			e.linear(5)
		}
		e.filtered(t, op)
	}
}

// index counts the filters that an index serves.
func (e *estimate) index(uses []*use) {
	e.cost += allocation
	for _, u := range uses {
		if u.op == sqlite.In {
			e.cost += 1000
		} else {
			e.cost += 5
		}
		e.countNulls(u.column, &u.traits.Layout)
		e.log(10)
		if u.op == sqlite.In {
			e.equals(u.traits, 25)
		} else {
			e.equals(u.traits, 1)
		}
		u.done = true
	}
	e.linear(5)
	e.listed = true
}

// rowsOf counts the work to copy columns into rows.
func (e *estimate) rowsOf(f *Frame, columns []int) error {
	e.cost += 10
	for _, c := range columns {
		l, err := f.nullability(c)
		if err != nil {
			return err
		}
		e.countNulls(c, l)
		e.linear(5)
	}
	return nil
}

// sort counts an order.
func (e *estimate) sort(f *Frame, orders []orderBy) error {
	var columns []int
	texts := false
	for _, o := range orders {
		columns = append(columns, o.column)
		texts = texts || f.Columns[o.column].Kind == Text
	}
	first, err := f.traits(columns[0])
	if err != nil {
		return err
	}
	if len(orders) == 1 && !first.Nullable && first.Sorted {
		if orders[0].desc {
			e.list()
			e.linear(2)
		}
		return nil
	}
	e.list()
	if texts {
		e.cost += 10
		for _, c := range columns {
			if f.Columns[c].Kind != Text {
				continue
			}
			t, err := f.traits(c)
			if err != nil {
				return err
			}
			if t.Nullable {
				e.cost += allocation
				e.linear(15)
				e.prune(t)
				e.translate(c, t, true)
			}
			e.linear(10)
		}
		e.linearLog(20)
	}
	if err := e.rowsOf(f, columns); err != nil {
		return err
	}
	e.linearLog(10)
	return nil
}

// limit counts a limit and an offset, -1 for none.
func (e *estimate) limit(limit, offset int64) {
	e.max -= uint32(min(int64(e.max), max(offset, 0)))
	if limit >= 0 {
		e.max = uint32(min(int64(e.max), limit))
	}
	e.rows = e.max
	e.cost *= 3
}

// output counts the work to give the columns that are used.
func (e *estimate) output(f *Frame, used uint64) error {
	var nullable []int
	for i := range f.Columns {
		if used>>min(i, 63)&1 == 0 {
			continue
		}
		if l := f.Columns[i].Layout; l != nil && !l.Nullable {
			continue
		}
		l, err := f.nullability(i)
		if err != nil {
			return err
		}
		if l.Nullable {
			nullable = append(nullable, i)
		}
	}
	if nullable == nil {
		return nil
	}
	e.cost += allocation
	e.linear(15)
	for _, i := range nullable {
		l, err := f.nullability(i)
		if err != nil {
			return err
		}
		if l.Dense {
			e.linear(5)
		} else {
			e.countNulls(i, l)
			e.linear(10)
		}
	}
	return nil
}

// nullability returns what is known of a column's NULLs, without a look at each of its values.
func (f *Frame) nullability(i int) (*Layout, error) {
	if l := f.Columns[i].Layout; l != nil {
		return l, nil
	}
	v, err := f.at(i)
	if err != nil {
		return nil, err
	}
	return &Layout{Nullable: v.nulls != nil}, nil
}

// ranged reports whether an operator keeps a range of a sorted column.
func ranged(op sqlite.Op) bool {
	return op == sqlite.EQ || op == sqlite.LT || op == sqlite.LE || op == sqlite.GT || op == sqlite.GE
}
