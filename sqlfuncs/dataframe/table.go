package dataframe

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqltext"
)

// Declaration returns the CREATE TABLE of the frame as a virtual table.
func (f *Frame) Declaration() string { return declaration(f.Columns) }

// Declaration returns the CREATE TABLE of a frame with these columns.
func Declaration(specs []Spec) string {
	var columns []*Column
	for _, s := range specs {
		columns = append(columns, &Column{Name: s.Name, Kind: s.Kind})
	}
	return declaration(columns)
}

func declaration(columns []*Column) string {
	var b strings.Builder
	b.WriteString("CREATE TABLE x(")
	key := ""
	for _, c := range columns {
		fmt.Fprintf(&b, "%s %s", sqltext.QuoteName(c.Name), declared[c.Kind])
		if c.Hidden {
			b.WriteString(" HIDDEN")
		}
		b.WriteString(", ")
		if key == "" && (c.Name == "id" || c.Name == "_auto_id") {
			key = c.Name
		}
	}
	if key == "" {
		return strings.TrimSuffix(b.String(), ", ") + ")"
	}
	return b.String() + "PRIMARY KEY(" + key + "))"
}

// Table returns the frame as a virtual table.
func (f *Frame) Table() sqlite.Table { return &frameTable{f} }

type frameTable struct{ *Frame }

func (t *frameTable) Open() (sqlite.Cursor, error) { return &cursor{whole: t.Frame}, nil }
func (t *frameTable) Destroy()                     {}

// LateTable is a virtual table over the frame that it returns, which is made when a query needs it.
type LateTable func() (*Frame, error)

// Best implements sqlite.Table.
func (t LateTable) Best(x *sqlite.Index) error {
	f, err := t()
	if err != nil {
		return err
	}
	return f.Table().Best(x)
}

// Open implements sqlite.Table.
func (t LateTable) Open() (sqlite.Cursor, error) {
	f, err := t()
	if err != nil {
		return nil, err
	}
	return f.Table().Open()
}

// Destroy implements sqlite.Table.
func (t LateTable) Destroy() {}

// plan is how a query goes through a frame. Filter gets it as text.
type plan struct {
	filters []filterBy // with the position of their argument
	orders  []orderBy
	limit   int // position of the argument, -1 for none
	offset  int
}

type filterBy struct {
	column int
	op     sqlite.Op
}

type orderBy struct {
	column int
	desc   bool
}

func (p *plan) String() string {
	var b []byte
	for _, f := range p.filters {
		b = append(b, 'f')
		b = strconv.AppendInt(b, int64(f.column), 10)
		b = append(b, ',')
		b = strconv.AppendInt(b, int64(f.op), 10)
		b = append(b, ' ')
	}
	for _, o := range p.orders {
		if o.desc {
			b = append(b, 'd')
		} else {
			b = append(b, 'a')
		}
		b = strconv.AppendInt(b, int64(o.column), 10)
		b = append(b, ' ')
	}
	if p.limit >= 0 {
		b = append(b, "l "...)
	}
	if p.offset >= 0 {
		b = append(b, "o "...)
	}
	return string(b)
}

func parsePlan(text string) plan {
	p := plan{limit: -1, offset: -1}
	args := 0
	for item := range strings.FieldsSeq(text) {
		switch rest := item[1:]; item[0] {
		case 'f':
			column, op, _ := strings.Cut(rest, ",")
			c, _ := strconv.Atoi(column)
			o, _ := strconv.Atoi(op)
			p.filters = append(p.filters, filterBy{c, sqlite.Op(o)})
			args++
		case 'a', 'd':
			c, _ := strconv.Atoi(rest)
			p.orders = append(p.orders, orderBy{c, item[0] == 'd'})
		case 'l':
			p.limit = args
			args++
		case 'o':
			p.offset = args
			args++
		}
	}
	return p
}

// wantsHead reports whether the plan wants a few of the first rows and nothing else. The limit and the offset of a plan are constant.
func (p *plan) wantsHead(args []sqlite.Value) bool {
	if len(p.filters) > 0 || len(p.orders) > 0 || p.limit < 0 || args[p.limit].Int() > headRows {
		return false
	}
	return p.offset < 0 || args[p.offset].Int() <= headRows-args[p.limit].Int()
}

// use is a constraint that a plan uses.
type use struct {
	filterBy
	at     int // of the constraint
	traits *traits
	done   bool // its cost is counted
}

func (t *frameTable) Best(x *sqlite.Index) error {
	p := plan{limit: -1, offset: -1}
	var uses []*use
	limit, offset := bound{at: -1, value: -1}, bound{at: -1, value: -1}
	unknown, constant := false, true
	var likes []*use
	for i, c := range x.Constraints {
		if !c.Usable {
			continue
		}
		op := c.Op
		if _, ok := x.Constant(i); !ok && op != sqlite.IsNull && op != sqlite.IsNotNull {
			constant = false
		}
		switch op {
		case sqlite.LimitOp, sqlite.OffsetOp:
			v, ok := x.Constant(i)
			switch {
			case !ok || v.Type() != sqlite.Integer || v.Int() < 0 || v.Int() > math.MaxUint32:
				unknown = true
			case op == sqlite.LimitOp:
				limit = bound{i, v.Int()}
			default:
				offset = bound{i, v.Int()}
			}
			continue
		case sqlite.EQ, sqlite.NE, sqlite.LT, sqlite.LE, sqlite.GT, sqlite.GE, sqlite.IsNull, sqlite.IsNotNull, sqlite.Glob:
		case sqlite.Like:
			unknown = true
			if c.Column >= 0 && t.Columns[c.Column].Kind == Text {
				likes = append(likes, &use{filterBy: filterBy{c.Column, op}, at: i})
			}
			continue
		default:
			unknown = true
			continue
		}
		if c.Column < 0 || op == sqlite.Glob && t.Columns[c.Column].Kind != Text {
			unknown = true
			continue
		}
		if op == sqlite.EQ && x.UseIn(i) {
			op = sqlite.In
		}
		column, err := t.traits(c.Column)
		if err != nil {
			return err
		}
		uses = append(uses, &use{filterBy: filterBy{c.Column, op}, at: i, traits: column})
	}
	if unknown {
		limit, offset = bound{at: -1, value: -1}, bound{at: -1, value: -1}
	}
	slices.SortStableFunc(uses, func(a, b *use) int { return a.preference(t.Columns) - b.preference(t.Columns) })
	distinct := x.Distinct()
	for _, o := range x.Orders {
		if o.Column < 0 || distinct == sqlite.ForDistinct { // SQLite takes the rows that differ in the order of the table
			p.orders = nil
			break
		}
		p.orders = append(p.orders, orderBy{o.Column, o.Desc})
	}
	if len(p.orders) == len(x.Orders) {
		x.Ordered()
	} else {
		limit, offset = bound{at: -1, value: -1}, bound{at: -1, value: -1}
	}
	once := len(x.Orders) > 0 && (distinct == sqlite.ForDistinct || distinct == sqlite.ForDistinctOrder)
	e, err := t.estimate(uses, p.orders, limit.value, offset.value, x.Used, once)
	if err != nil {
		return err
	}
	// The row of a key is found in C, where GLOB costs less than a call of Go.
	if limit.at < 0 && offset.at < 0 && slices.ContainsFunc(uses, func(u *use) bool { return u.traits.unique && u.op == sqlite.EQ }) {
		uses = slices.DeleteFunc(uses, func(u *use) bool { return u.op == sqlite.Glob })
	}
	// Equality comes before what reads all rows that are left.
	slices.SortStableFunc(uses, func(a, b *use) int { return a.reads() - b.reads() })
	if constant { // else the table may be asked again and again, and C has LIKE
		uses = append(uses, likes...)
	}
	for i, u := range uses {
		p.filters = append(p.filters, u.filterBy)
		x.Use(u.at, i, true)
	}
	n := len(p.filters)
	if limit.at >= 0 {
		p.limit = n
		x.Use(limit.at, n, true)
		n++
	}
	if offset.at >= 0 {
		p.offset = n
		x.Use(offset.at, n, true)
	}
	x.Plan(0, p.String())
	x.Estimate(e.cost, int64(e.rows), e.max <= 1)
	return nil
}

// bound is the constraint of a limit or an offset, and its value; both are -1 if there is none.
type bound struct {
	at    int
	value int64
}

// estimate returns the costs of a plan that gives the columns used, each different row once if distinct is set.
func (t *frameTable) estimate(uses []*use, orders []orderBy, limit, offset int64, used uint64, distinct bool) (*estimate, error) {
	e := &estimate{rows: uint32(t.Rows), max: uint32(t.Rows)}
	for _, u := range uses {
		u.done = e.search(u.traits, u.op)
	}
	if served := t.served(uses); len(served) > 0 && e.max > 1 {
		e.index(served)
	}
	for _, u := range uses {
		if !u.done {
			e.scan(u.column, t.Columns[u.column].Kind, u.traits, u.op)
		}
	}
	if distinct {
		var columns []int
		for i := range t.Columns {
			if i < 64 && used>>i&1 != 0 {
				columns = append(columns, i)
			}
		}
		e.list()
		if err := e.rowsOf(t.Frame, columns); err != nil {
			return nil, err
		}
		e.linear(7)
		e.halve()
	}
	if len(orders) > 0 {
		first, err := t.traits(orders[0].column)
		if err != nil {
			return nil, err
		}
		if len(orders) == 1 && limit == 1 && offset <= 0 && !first.Nullable {
			e.list()
			e.linear(2)
			e.rows, e.max = min(e.rows, 1), min(e.max, 1)
			return e, e.output(t.Frame, used)
		}
		if err := e.sort(t.Frame, orders); err != nil {
			return nil, err
		}
	}
	e.list()
	if limit >= 0 || offset >= 0 {
		e.limit(limit, offset)
	}
	return e, e.output(t.Frame, used)
}

// served returns the uses that the best index serves.
func (t *frameTable) served(uses []*use) []*use {
	var best []*use
	indexes := t.indexes
	for i, c := range t.Columns {
		if c.Layout != nil && c.Layout.Indexed {
			indexes = append(indexes, &Index{Columns: []int{i}})
		}
	}
	for _, x := range indexes {
		var used []*use
		for _, column := range x.Columns {
			i := slices.IndexFunc(uses, func(u *use) bool { return !u.done && u.column == column && (u.op == sqlite.EQ || u.op == sqlite.In) })
			if i < 0 {
				break
			}
			used = append(used, uses[i])
			if uses[i].op == sqlite.In {
				break
			}
		}
		if len(used) > len(best) {
			best = used
		}
	}
	return best
}

// preference orders filters: those that are cheap and narrow a range come first.
func (u *use) preference(columns []*Column) int {
	t := u.traits
	equal := u.op == sqlite.EQ
	switch {
	case t.Nullable || !t.Sorted || !ranged(u.op):
		return 7
	case t.id && equal:
		return 0
	case t.Group && !t.id && equal:
		return 1
	case t.id:
		return 2
	case columns[u.column].Kind == Text && equal:
		return 5
	case columns[u.column].Kind == Text:
		return 6
	case equal:
		return 3
	}
	return 4
}

// reads is 0 for a filter of a sorted column, 1 for one that may look up rows, and 2 for one that reads those that are left.
func (u *use) reads() int {
	switch {
	case !u.traits.Nullable && u.traits.Sorted && ranged(u.op):
		return 0
	case u.op == sqlite.EQ:
		return 1
	}
	return 2
}

// cursor goes through the rows of a plan.
type cursor struct {
	whole *Frame
	frame *Frame // the whole table, or its head
	text  string
	plan  plan
	sel   selection
	i     int
	n     int
	row   int
	base  int  // i of the first of the rows that SQLite has
	lazy  bool // only the first row is in its place; the rest is sorted when it is asked for
	col   []*values
}

func (c *cursor) Close() {}

func (c *cursor) Filter(_ int, text string, args []sqlite.Value) error {
	if c.col == nil || text != c.text {
		c.text, c.plan = text, parsePlan(text)
		c.frame, c.col = c.whole, make([]*values, len(c.whole.Columns))
		if c.plan.wantsHead(args) {
			c.frame = c.whole.head()
		}
	}
	s := &c.sel
	s.from, s.to, s.list = 0, c.frame.Rows, false
	for i, f := range c.plan.filters {
		if s.len() == 0 {
			break
		}
		if err := c.frame.filter(s, f.column, f.op, args[i]); err != nil {
			return err
		}
	}
	skip, n := 0, s.len()
	if c.plan.offset >= 0 {
		skip = int(min(args[c.plan.offset].Int(), int64(n)))
	}
	end := n
	if c.plan.limit >= 0 {
		end = int(min(int64(skip)+args[c.plan.limit].Int(), int64(n)))
	}
	c.i, c.n, c.lazy = skip, end, false
	if len(c.plan.orders) > 0 && n > 1 {
		if c.plan.limit < 0 && c.plan.offset < 0 && len(c.plan.orders) == 1 && n > 64 {
			first, err := c.frame.least(s, c.plan.orders[0])
			if err != nil {
				return err
			}
			c.lazy, c.row = true, first
			return nil
		}
		sort := func() error { return c.frame.sort(s, c.plan.orders) }
		if len(c.plan.orders) == 1 && end < n/16 {
			sort = func() error { return c.frame.first(s, c.plan.orders[0], end) }
		}
		if err := sort(); err != nil {
			return err
		}
	}
	if c.i < c.n {
		c.row = s.at(c.i)
	}
	return nil
}

func (c *cursor) Next() error {
	if c.lazy {
		c.lazy = false
		if err := c.frame.sort(&c.sel, c.plan.orders); err != nil {
			return err
		}
	}
	c.i++
	if c.i < c.n {
		if c.sel.list {
			c.row = int(c.sel.rows[c.i])
		} else {
			c.row = c.sel.from + c.i
		}
	}
	return nil
}

// Rows returns the rows from the present one on.
func (c *cursor) Rows() sqlite.Rows {
	r := sqlite.Rows{Of: c.frame}
	c.base = c.i
	switch {
	case c.i >= c.n:
	case c.lazy:
		r.From, r.To, r.More = c.row, c.row+1, true
	case c.sel.list:
		r.List = c.sel.rows[c.i:c.n]
	default:
		r.From, r.To = c.sel.from+c.i, c.sel.from+c.n
	}
	r.Search = c.search()
	return r
}

// search returns what the plan searches for, if it does nothing else but limit the rows.
func (c *cursor) search() *sqlite.Search {
	p := &c.plan
	if len(p.filters) == 0 || len(p.orders) > 0 || p.offset >= 0 {
		return nil
	}
	s := &sqlite.Search{Rows: c.frame.Rows, Op: p.filters[0].op, Limited: p.limit >= 0}
	for i, f := range p.filters {
		r, err := c.frame.Reader(f.column)
		switch {
		case err != nil:
			return nil
		case i > 0 && r.v.tests(f.op):
			s.Tests = append(s.Tests, sqlite.Test{Vector: r.Vector(), Op: f.op})
		case i == 0 && r.v.kind == Integer && (r.v.sorted && ranged(f.op) || f.op == sqlite.EQ && r.v.ordered() != nil):
			if s.Vector = r.Vector(); !r.v.sorted {
				s.Order = r.v.ordered()
			}
		case i == 0 && r.v.kind == Text && f.op == sqlite.EQ && r.v.ordered() != nil:
			s.Vector, s.Order = r.Vector(), r.v.ordered()
			s.Slots = r.v.textSlots(s.Vector)
		default:
			return nil
		}
	}
	return s
}

// tests reports whether an operator can be that of a sqlite.Test.
func (v *values) tests(op sqlite.Op) bool {
	switch op {
	case sqlite.IsNull, sqlite.IsNotNull:
		return true
	case sqlite.EQ, sqlite.NE, sqlite.In:
		return v.kind != Real
	}
	return v.kind == Integer && ranged(op)
}

// GoTo goes to a row, which is number i of a list that Rows has returned.
func (c *cursor) GoTo(row, i int64) {
	switch {
	case c.lazy:
	case c.sel.list:
		c.i = c.base + int(i)
	default:
		c.i = int(row) - c.sel.from
	}
	c.row = int(row)
}

// Vector returns the values of a column.
func (c *cursor) Vector(i int) (*sqlite.Vector, error) {
	r, err := c.frame.Reader(i)
	if err != nil {
		return nil, err
	}
	return r.Vector(), nil
}

// show goes through rows of a list.
func (c *cursor) show(rows []uint32) {
	c.sel.rows, c.sel.list = rows, true
	c.i, c.n = 0, len(rows)
	if c.n > 0 {
		c.row = int(rows[0])
	}
}

func (c *cursor) EOF() bool { return c.i >= c.n }

func (c *cursor) Column(to sqlite.Context, i int) error {
	v := c.col[i]
	if v == nil {
		var err error
		if v, err = c.frame.at(i); err != nil {
			return err
		}
		c.col[i] = v
	}
	v.put(to, c.frame.Pool, c.row)
	return nil
}

func (c *cursor) Rowid() int64 {
	if i := c.frame.Column("id"); i >= 0 {
		if v, err := c.frame.at(i); err == nil && v.kind == Integer {
			return v.int(c.row)
		}
	}
	return int64(c.row)
}

// Index is an index that SQL has created. Lookups by its first column are fast.
type Index struct {
	Name    string
	Columns []int
}

// AddIndex adds an index, or replaces the one of its name.
func (f *Frame) AddIndex(x *Index) error {
	v, err := f.at(x.Columns[0])
	if err != nil {
		return err
	}
	f.DropIndex(x.Name)
	if !v.sorted {
		v.arrange()
	}
	f.indexes = append(f.indexes, x)
	return nil
}

// DropIndex removes an index and reports whether it was there.
func (f *Frame) DropIndex(name string) bool {
	n := len(f.indexes)
	f.indexes = slices.DeleteFunc(f.indexes, func(x *Index) bool { return strings.EqualFold(x.Name, name) })
	return len(f.indexes) < n
}

// HasIndex reports whether there is an index of a name.
func (f *Frame) HasIndex(name string) bool {
	return slices.ContainsFunc(f.indexes, func(x *Index) bool { return strings.EqualFold(x.Name, name) })
}
