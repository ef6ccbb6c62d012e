// Package dataframe holds tables as columns in memory, and makes them virtual tables of SQLite that filter and sort by
// themselves.
package dataframe

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

// Kind is what a column holds.
type Kind uint8

// Kinds of columns.
const (
	Integer Kind = iota
	Real
	Text
)

// declared are the types of columns in declarations, as in Trace Processor.
var declared = [...]string{Integer: "INTEGER", Real: "DOUBLE", Text: "TEXT"}

// Frame is a table. Its rows do not change. Any goroutine may read a frame; indexes are for frames of one goroutine.
type Frame struct {
	Pool    *Pool
	Columns []*Column
	Rows    int
	indexes []*Index
	whole   *Frame                // of which these are the first rows, nil if these are all
	headed  atomic.Pointer[Frame] // made when it is first needed
}

// Column is a column of a frame. Its values are loaded when they are first needed.
type Column struct {
	Name   string
	Kind   Kind
	Hidden bool    // not in SELECT *
	Layout *Layout // nil if the values tell

	mu      sync.Mutex // held while traits or values are made
	derived atomic.Pointer[traits]
	loaded  atomic.Pointer[values]
	load    func() (*values, error)
	part    func(rows int) (*values, error) // loads only the first rows; nil if the column cannot
}

// column returns a column with its values.
func column(name string, kind Kind, v *values) *Column {
	c := &Column{Name: name, Kind: kind}
	c.loaded.Store(v)
	return c
}

// Lazy returns a column of integers, real numbers or texts that load reads. It calls the methods of the Builder's column.
func Lazy(name string, kind Kind, load func(*Values) error) *Column {
	return &Column{Name: name, Kind: kind, load: func() (*values, error) { return loadValues(name, kind, load) }}
}

// LazyRows is Lazy for a load that can read the first rows only.
func LazyRows(name string, kind Kind, load func(to *Values, rows int) error) *Column {
	part := func(rows int) (*values, error) {
		return loadValues(name, kind, func(to *Values) error { return load(to, rows) })
	}
	return &Column{Name: name, Kind: kind, load: func() (*values, error) { return part(math.MaxInt) }, part: part}
}

func loadValues(name string, kind Kind, load func(*Values) error) (*values, error) {
	v := NewValues(kind)
	if err := load(v); err != nil {
		return nil, fmt.Errorf("column %s: %w", name, err)
	}
	return v.done(), nil
}

// A frame of many rows has a head, so that a query for a few rows need not read all.
const (
	headRows = 1 << 10
	manyRows = 8 * headRows
)

// head returns a frame of the first rows, or the frame itself if that is small.
func (f *Frame) head() *Frame {
	if f.Rows <= manyRows {
		return f
	}
	if h := f.headed.Load(); h != nil {
		return h
	}
	h := &Frame{Pool: f.Pool, Rows: headRows, whole: f}
	for i, c := range f.Columns {
		h.Columns = append(h.Columns, &Column{Name: c.Name, Kind: c.Kind, Hidden: c.Hidden, Layout: c.Layout, load: func() (*values, error) {
			if c.part == nil || c.loaded.Load() != nil {
				return f.at(i)
			}
			return c.part(headRows)
		}})
	}
	f.headed.CompareAndSwap(nil, h)
	return f.headed.Load()
}

// Column returns the position of a column, or -1. Case does not matter, as in SQL.
func (f *Frame) Column(name string) int {
	return slices.IndexFunc(f.Columns, func(c *Column) bool { return strings.EqualFold(c.Name, name) })
}

// Named returns a column with its values, for functions that read the frame row by row.
func (f *Frame) Named(name string) (Reader, error) {
	i := f.Column(name)
	if i < 0 {
		return Reader{}, fmt.Errorf("there is no column %s", name)
	}
	return f.Reader(i)
}

// Reader returns a column with its values.
func (f *Frame) Reader(i int) (Reader, error) {
	v, err := f.at(i)
	return Reader{v, f.Pool}, err
}

// at returns the values of a column.
func (f *Frame) at(i int) (*values, error) {
	c := f.Columns[i]
	if v := c.loaded.Load(); v != nil {
		return v, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if v := c.loaded.Load(); v != nil {
		return v, nil
	}
	v, err := c.load()
	if err != nil {
		return nil, err
	}
	if v.rows != f.Rows && (f.whole == nil || v.rows != f.whole.Rows) {
		return nil, fmt.Errorf("column %s has %d rows, not %d", c.Name, v.rows, f.Rows)
	}
	c.loaded.Store(v)
	c.load = nil
	return v, nil
}

// Bytes is about the memory that the loaded columns take, without texts.
func (f *Frame) Bytes() int64 {
	var n int64
	for _, c := range f.Columns {
		if v := c.loaded.Load(); v != nil {
			n += int64(8*len(v.i64) + 4*len(v.i32) + 8*len(v.f64) + 4*len(v.texts) + 8*len(v.nulls) + 4*len(v.ordered()))
		}
	}
	return n
}

// Reader reads a column by row.
type Reader struct {
	v    *values
	pool *Pool
}

// IsNull reports whether a row has no value.
func (r Reader) IsNull(row int) bool { return r.v.null(row) }

// Int returns an integer; a real number is cut. NULL is 0.
func (r Reader) Int(row int) int64 {
	switch {
	case r.v.null(row):
		return 0
	case r.v.kind == Real:
		return int64(r.v.f64[row])
	case r.v.kind == Text:
		return 0
	}
	return r.v.int(row)
}

// Float returns a number. NULL is 0.
func (r Reader) Float(row int) float64 {
	if r.v.kind == Real {
		return r.v.f64[row]
	}
	return float64(r.Int(row))
}

// Text returns a text, "" for NULL.
func (r Reader) Text(row int) string {
	if r.v.kind != Text || r.v.null(row) {
		return ""
	}
	return r.pool.Text(r.v.texts[row])
}

// TextID returns the number of a text in the pool.
func (r Reader) TextID(row int) uint32 { return r.v.texts[row] }

// Put makes a value the result of a function.
func (r Reader) Put(c sqlite.Context, row int) { r.v.put(c, r.pool, row) }

// Vector returns the values for a cursor.
func (r Reader) Vector() *sqlite.Vector {
	v := r.v
	return &sqlite.Vector{Int32: v.i32, Int64: v.i64, Float: v.f64, IDs: v.texts, Texts: &r.pool.texts, First: v.first, Nulls: v.nulls}
}

// Sorted reports whether the values ascend and none is NULL.
func (r Reader) Sorted() bool { return r.v.sorted }

// Kind returns what the column holds.
func (r Reader) Kind() Kind { return r.v.kind }

// Any returns a value as int64, float64, string or nil.
func (r Reader) Any(row int) any {
	switch {
	case r.v.null(row):
		return nil
	case r.v.kind == Real:
		return r.v.f64[row]
	case r.v.kind == Text:
		return r.pool.Text(r.v.texts[row])
	}
	return r.v.int(row)
}

// values are the values of a column. One of the slices has them; a sequence of integers has none.
type values struct {
	kind  Kind
	rows  int
	first int64 // a row of a sequence has the value first + row
	i64   []int64
	i32   []int32
	f64   []float64
	texts []uint32 // numbers in the pool
	nulls []uint64 // a bit for each row without a value, nil if there is none

	sorted bool         // the values ascend and none is NULL
	unique bool         // the values are sorted and differ
	equal  atomic.Int32 // lookups so far that read the whole column
	mu     sync.Mutex   // held while one of those that follow is made
	order  atomic.Pointer[[]uint32]
	slots  atomic.Pointer[[]uint32] // of texts in the order
	ranks  atomic.Pointer[ranks]    // of all texts, once a query has sorted most of them
}

// ordered returns the order of the rows for lookups, nil if there is none so far.
func (v *values) ordered() []uint32 {
	if order := v.order.Load(); order != nil {
		return *order
	}
	return nil
}

func (v *values) sequence() bool { return v.kind == Integer && v.i64 == nil && v.i32 == nil }

func (v *values) null(row int) bool {
	return v.nulls != nil && v.nulls[row>>6]>>(row&63)&1 != 0
}

func (v *values) int(row int) int64 {
	switch {
	case v.i32 != nil:
		return int64(v.i32[row])
	case v.i64 != nil:
		return v.i64[row]
	}
	return v.first + int64(row)
}

// Values takes the values of a column in the order of rows.
type Values struct {
	kind  Kind
	rows  int
	i64   list[int64]
	f64   list[float64]
	texts list[uint32]
	nulls []uint64
}

// NewValues returns values of a kind, none so far.
func NewValues(kind Kind) *Values { return &Values{kind: kind} }

// Kind returns the kind of the values.
func (v *Values) Kind() Kind { return v.kind }

// Reader returns a reader of the values, of which there will be no more.
func (v *Values) Reader(pool *Pool) Reader { return Reader{v.done(), pool} }

// smallColumn is the number of rows up to which integers come into memory that serves others later: most become smaller.
const smallColumn = 64 << 10

// Grow makes room for n more values.
func (v *Values) Grow(n int) {
	switch v.kind {
	case Integer:
		if n > smallColumn {
			v.i64.grow(n)
		}
	case Real:
		v.f64.grow(n)
	case Text:
		v.texts.grow(n)
	}
}

// Int adds an integer.
func (v *Values) Int(x int64) {
	v.i64.add(x)
	v.rows++
}

// Ints adds integers.
func (v *Values) Ints(x []int64) {
	v.i64.addAll(x)
	v.rows += len(x)
}

// Bool adds a flag, as an integer.
func (v *Values) Bool(x bool) {
	if x {
		v.Int(1)
	} else {
		v.Int(0)
	}
}

// Float adds a real number; NaN is NULL.
func (v *Values) Float(x float64) {
	if math.IsNaN(x) {
		v.Null()
		return
	}
	v.f64.add(x)
	v.rows++
}

// Reals adds real numbers; NaN is NULL.
func (v *Values) Reals(x []float64) {
	for _, n := range x {
		v.Float(n)
	}
}

// Text adds a text by its number in the pool.
func (v *Values) Text(id uint32) {
	v.texts.add(id)
	v.rows++
}

// Texts adds texts by their numbers in the pool.
func (v *Values) Texts(ids []uint32) {
	v.texts.addAll(ids)
	v.rows += len(ids)
}

// OnlyValid makes those of the last n rows NULL whose bit is not set, least significant first. Their values are 0.
func (v *Values) OnlyValid(valid []byte, n int) {
	first := v.rows - n
	for i := range n {
		if valid[i>>3]&(1<<(i&7)) == 0 {
			v.setNull(first + i)
		}
	}
}

func (v *Values) setNull(row int) {
	for row>>6 >= len(v.nulls) {
		v.nulls = append(v.nulls, 0)
	}
	v.nulls[row>>6] |= 1 << (row & 63)
}

// Null adds a row without a value.
func (v *Values) Null() {
	v.setNull(v.rows)
	switch v.kind {
	case Integer:
		v.i64.add(0)
	case Real:
		v.f64.add(0)
	case Text:
		v.texts.add(0)
	}
	v.rows++
}

// Nulls adds rows without a value.
func (v *Values) Nulls(n int) {
	for range n {
		v.Null()
	}
}

// done returns the values in their smallest form. There will be no more.
func (v *Values) done() *values {
	out := &values{kind: v.kind, rows: v.rows, nulls: v.nulls}
	if out.nulls != nil {
		for len(out.nulls) < (v.rows+63)/64 {
			out.nulls = append(out.nulls, 0)
		}
	}
	switch v.kind {
	case Integer:
		out.fit(&v.i64)
	case Real:
		out.f64 = v.f64.all()
		out.sorted = v.nulls == nil && slices.IsSorted(out.f64)
	case Text:
		out.texts = v.texts.all()
	}
	*v = Values{kind: v.kind}
	return out
}

// fit keeps integers as a sequence, in 32 bits or in 64.
func (v *values) fit(x *list[int64]) {
	sequence := v.nulls == nil && v.rows > 0
	v.sorted, v.unique = v.nulls == nil, v.nulls == nil
	lowest, highest := int64(math.MaxInt64), int64(math.MinInt64)
	row, before := int64(0), int64(0)
	for _, block := range x.blocks() {
		for _, n := range block {
			lowest, highest = min(lowest, n), max(highest, n)
		}
		if !sequence && !v.sorted {
			continue
		}
		for _, n := range block {
			switch {
			case row == 0:
				v.first = n
			case n <= before:
				v.unique = false
				v.sorted = v.sorted && n == before
			}
			sequence = sequence && n == v.first+row
			before = n
			row++
		}
	}
	switch {
	case sequence:
		x.free()
		return
	case lowest >= math.MinInt32 && highest <= math.MaxInt32:
		v.i32 = make([]int32, 0, v.rows)
		for _, block := range x.blocks() {
			for _, n := range block {
				v.i32 = append(v.i32, int32(n))
			}
		}
		x.free()
	default:
		v.i64 = x.all()
	}
	v.first = 0
}

// put gives a value to SQLite.
func (v *values) put(c sqlite.Context, pool *Pool, row int) {
	switch {
	case v.nulls != nil && v.null(row): // NULL is the result without any
	case v.i32 != nil:
		c.Int(int64(v.i32[row]))
	case v.i64 != nil:
		c.Int(v.i64[row])
	case v.f64 != nil:
		c.Float(v.f64[row])
	case v.texts != nil:
		c.Static(pool.at(v.texts[row]))
	case v.rows > 0:
		c.Int(v.first + int64(row))
	}
}
