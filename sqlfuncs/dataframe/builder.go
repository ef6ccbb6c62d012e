package dataframe

import (
	"fmt"
	"slices"

	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

// Spec declares a column of a frame that is built.
type Spec struct {
	Name   string
	Kind   Kind
	Layout *Layout // nil if the values tell
}

// Builder makes a frame row by row.
type Builder struct {
	pool    *Pool
	specs   []Spec
	columns []Values
	counter
}

// counter counts the memory of values as they are added.
type counter int

// countAt is after how many values their memory is counted, and valueBytes what most of them take.
const (
	countAt    = 1 << 12
	valueBytes = 8
)

func (c *counter) add(p *Pool) {
	if *c++; *c%countAt == 0 {
		p.use(countAt * valueBytes)
	}
}

func (c *counter) addAll(p *Pool, n int) {
	before := *c / countAt
	*c += counter(n)
	p.use(int64(*c/countAt-before) * countAt * valueBytes)
}

// NewBuilder returns a builder of frames with these columns.
func NewBuilder(pool *Pool, specs ...Spec) *Builder {
	b := &Builder{pool: pool, specs: specs, columns: make([]Values, len(specs))}
	for i, s := range specs {
		b.columns[i].kind = s.Kind
	}
	return b
}

// Int adds an integer to a column. Every column gets a value for each row.
func (b *Builder) Int(column int, v int64) {
	b.add(b.pool)
	b.columns[column].Int(v)
}

// Ints adds integers to a column.
func (b *Builder) Ints(column int, v []int64) {
	b.addAll(b.pool, len(v))
	b.columns[column].Ints(v)
}

// Float adds a real number to a column.
func (b *Builder) Float(column int, v float64) {
	b.add(b.pool)
	b.columns[column].Float(v)
}

// Text adds a text to a column.
func (b *Builder) Text(column int, s string) {
	b.add(b.pool)
	b.columns[column].Text(b.pool.Add(s))
}

// Null adds NULL to a column.
func (b *Builder) Null(column int) {
	b.add(b.pool)
	b.columns[column].Null()
}

// Any adds a value to a column: nil, int64, float64, bool or string, of the column's kind.
func (b *Builder) Any(column int, v any) error {
	c := &b.columns[column]
	b.add(b.pool)
	switch v := v.(type) {
	case nil:
		c.Null()
		return nil
	case int64:
		if c.kind == Integer {
			c.Int(v)
			return nil
		}
		if c.kind == Real {
			c.Float(float64(v))
			return nil
		}
	case bool:
		if v {
			return b.Any(column, int64(1))
		}
		return b.Any(column, int64(0))
	case float64:
		if c.kind == Real {
			c.Float(v)
			return nil
		}
	case string:
		if c.kind == Text {
			c.Text(b.pool.Add(v))
			return nil
		}
	}
	return fmt.Errorf("column %s of type %s cannot hold a value of type %T", b.specs[column].Name, declared[c.kind], v)
}

// Frame returns the rows.
func (b *Builder) Frame() *Frame {
	f := &Frame{Pool: b.pool}
	for i, s := range b.specs {
		v := b.columns[i].done()
		f.Rows = v.rows
		c := column(s.Name, s.Kind, v)
		c.Layout = s.Layout
		f.Columns = append(f.Columns, c)
	}
	return f
}

// Empty returns a frame without rows.
func Empty(pool *Pool, specs ...Spec) *Frame { return NewBuilder(pool, specs...).Frame() }

// Collector makes a frame of a statement's rows, and takes the kinds of its columns from their values, as CREATE PERFETTO
// TABLE does.
type Collector struct {
	pool    *Pool
	names   []string
	columns []Values
	known   []bool // the kind of a column is
	counter
}

// NewCollector returns a Collector for columns of these names; kinds has those that were declared.
func NewCollector(pool *Pool, names []string, kinds map[int]Kind) *Collector {
	c := &Collector{pool: pool, names: names, columns: make([]Values, len(names)), known: make([]bool, len(names))}
	for i, k := range kinds {
		c.columns[i].kind, c.known[i] = k, true
	}
	return c
}

// Add adds the row at which a statement is.
func (c *Collector) Add(s *sqlite.Stmt) error {
	for i := range c.columns {
		if err := c.Value(i, s.Value(i)); err != nil {
			return err
		}
	}
	return nil
}

// Value adds a value to a column. Every column gets a value for each row.
func (c *Collector) Value(column int, v sqlite.Value) error {
	c.add(c.pool)
	switch v.Type() {
	case sqlite.Integer:
		return c.Int(column, v.Int())
	case sqlite.Real:
		return c.Float(column, v.Float())
	case sqlite.TextOf:
		return c.Text(column, v.View())
	case sqlite.Null:
		c.Null(column)
		return nil
	}
	return fmt.Errorf("column '%s': a BLOB cannot be in a table", c.names[column])
}

// Null adds NULL to a column.
func (c *Collector) Null(column int) { c.columns[column].Null() }

// Int adds an integer to a column.
func (c *Collector) Int(column int, x int64) error {
	v := &c.columns[column]
	c.infer(column, Integer)
	switch {
	case v.kind == Integer:
		v.Int(x)
	case v.kind == Real && exact(x):
		v.Float(float64(x))
	default:
		return c.mismatch(column, Integer)
	}
	return nil
}

// Float adds a real number to a column.
func (c *Collector) Float(column int, x float64) error {
	v := &c.columns[column]
	c.infer(column, Real)
	if v.kind == Integer && v.exact() {
		c.become(v, Real)
	}
	if v.kind != Real {
		return c.mismatch(column, Real)
	}
	v.Float(x)
	return nil
}

// Text adds a text to a column.
func (c *Collector) Text(column int, s string) error {
	v := &c.columns[column]
	c.infer(column, Text)
	if v.kind != Text {
		return c.mismatch(column, Text)
	}
	v.Text(c.pool.Add(s))
	return nil
}

// infer takes the kind of a column from its first value.
func (c *Collector) infer(column int, kind Kind) {
	if !c.known[column] {
		c.known[column] = true
		c.become(&c.columns[column], kind)
	}
}

func (c *Collector) mismatch(column int, kind Kind) error {
	return fmt.Errorf("column '%s' was inferred to be %s, but has a value of type %s", c.names[column], sqlNames[c.columns[column].kind], sqlNames[kind])
}

var sqlNames = [...]string{Integer: "LONG", Real: "DOUBLE", Text: "STRING"}

// exact reports whether an integer is the same as a real number.
func exact(n int64) bool { return n >= -1<<53 && n <= 1<<53 }

// exact reports whether all integers are.
func (v *Values) exact() bool {
	for _, block := range v.i64.blocks() {
		if slices.ContainsFunc(block, func(n int64) bool { return !exact(n) }) {
			return false
		}
	}
	return true
}

// become changes the kind of values, which are integers or NULL.
func (c *Collector) become(v *Values, kind Kind) {
	if v.kind == kind {
		return
	}
	v.kind = kind
	for _, block := range v.i64.blocks() {
		for _, n := range block {
			if kind == Real {
				v.f64.add(float64(n))
			} else {
				v.texts.add(0)
			}
		}
	}
	v.i64.free()
}

// Frame returns the rows. A column without values holds integers.
func (c *Collector) Frame() *Frame {
	f := &Frame{Pool: c.pool}
	for i, name := range c.names {
		v := c.columns[i].done()
		f.Rows = v.rows
		f.Columns = append(f.Columns, column(name, v.kind, v))
	}
	return f
}

// Number appends a hidden column that numbers the rows, by which SQL can tell them apart.
func (f *Frame) Number(name string) {
	c := column(name, Integer, &values{kind: Integer, rows: f.Rows, sorted: true, unique: true})
	c.Hidden = true
	f.Columns = append(f.Columns, c)
}
