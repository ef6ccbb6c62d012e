package sqlite

import (
	"errors"
	"hash/fnv"
	"io"
	"math"
	"math/bits"
	"strings"
	"unsafe"
)

// Module makes virtual tables.
type Module struct {
	// Create makes the table of CREATE VIRTUAL TABLE name USING module(args). It returns the table's declaration,
	// "CREATE TABLE x(...)". A module without Create has Connect.
	Create func(name string, args []string) (t Table, declaration string, err error)
	// Connect makes the table that exists under the module's name without CREATE, which a function with rows needs:
	// arguments fill its HIDDEN columns.
	Connect func() (t Table, declaration string, err error)
	// Overloads are functions whose calls on a column of the table, f(column, value), are constraints for Table.Best.
	Overloads []Overload
}

// Overload makes the function of a name, which has to exist, a constraint on a table's columns. Where SQLite calls it for a row,
// which it does for all but the first 16 constraints of a table, it is 1.
type Overload struct {
	Name string
	Op   Op // FunctionOp or above
}

// Table is a virtual table.
type Table interface {
	// Best plans a query; it may be called several times for one.
	Best(*Index) error
	// Open makes a cursor.
	Open() (Cursor, error)
	// Destroy is called when the table is dropped.
	Destroy()
}

// Cursor goes through rows.
type Cursor interface {
	// Filter goes to the first row of a plan, whose number and text Best has set.
	Filter(number int, text string, args []Value) error
	Next() error
	EOF() bool
	Column(c Context, i int) error
	Rowid() int64 // NoRowid if rows have none
	Close()
}

// NoRowid is the rowid of rows without one. A query that asks for it fails.
const NoRowid = math.MinInt64

// Columnar is a Cursor whose rows are those of a table in memory. SQLite reads the columns without a call of Go, if it can.
type Columnar interface {
	Cursor
	// Rows returns the rows from the present one on.
	Rows() Rows
	// GoTo goes to a row. It is number i of the list that Rows has returned last, or there was none.
	GoTo(row, i int64)
	// Vector returns the values of a column, or nil if it has to be read by Column.
	Vector(i int) (*Vector, error)
}

// Rows are rows of a table: those of a list, or a range if that is nil.
type Rows struct {
	Of     any // identifies the table, which has the vectors
	List   []uint32
	From   int
	To     int
	More   bool // Next has to be called after these rows, for there may be more
	Search *Search
}

// Search says that the rows are those where integers or texts compare with the first argument of Filter, and pass tests with the
// others. The same plan with other arguments can be carried out without a call.
type Search struct {
	Vector *Vector
	Op     Op // EQ, LT, LE, GT or GE
	Rows   int
	Order  []uint32 // for EQ: the rows whose integers ascend, equal ones by row; nil if all do
	Slots  []uint32 // for texts: TextSlots
	Tests  []Test

	Limited bool // one more argument, the last, is the most rows
}

// TextSlots returns a hash table by which C finds texts in a column, whose order is that of their numbers: the place + 1 of the first
// row of each, from the slot of its hash on.
func TextSlots(v *Vector, order []uint32) []uint32 {
	distinct := 0
	each := func(f func(place int)) {
		for i, row := range order {
			if i == 0 || v.IDs[row] != v.IDs[order[i-1]] {
				f(i)
			}
		}
	}
	each(func(int) { distinct++ })
	slots := make([]uint32, 2<<bits.Len(uint(distinct)))
	each(func(place int) {
		h := fnv.New64a()
		_, _ = io.WriteString(h, v.Texts.At(v.IDs[order[place]]).String())
		i := int(h.Sum64()) & (len(slots) - 1)
		for slots[i] != 0 {
			i = (i + 1) & (len(slots) - 1)
		}
		slots[i] = uint32(place) + 1
	})
	return slots
}

// Test compares a value with an argument: integers by EQ, NE, In, LT, LE, GT or GE, texts by EQ, NE or In, and all by IsNull or
// IsNotNull.
type Test struct {
	Vector *Vector
	Op     Op
}

// Vector are the values of a column. One of the slices has them; a sequence has none.
type Vector struct {
	Int32 []int32
	Int64 []int64
	Float []float64
	IDs   []uint32 // of Texts
	Texts *Texts
	First int64    // a row of a sequence has the value First + row
	Nulls []uint64 // a bit for each row without a value, nil if there is none
}

// Constraint is a term of WHERE: column op value.
type Constraint struct {
	Column int // -1 for the rowid
	Op     Op
	Usable bool
}

// Order is a term of ORDER BY.
type Order struct {
	Column int
	Desc   bool
}

// Distinct says what the order of an Index is for.
type Distinct int

// Uses of an order.
const (
	ForOrder         Distinct = iota // ORDER BY
	ForGroup                         // GROUP BY: equal rows next to each other, in any order
	ForDistinct                      // DISTINCT: equal rows once, in any order
	ForDistinctOrder                 // DISTINCT and ORDER BY
)

// Index is what SQLite asks a table to plan.
type Index struct {
	Constraints []Constraint
	Orders      []Order
	Used        uint64 // the columns that are needed, by bit; the last bit for column 63 and all that follow

	planning
	info *indexInfo
}

// indexInfo is sqlite3_index_info.
type indexInfo struct {
	constraints     int32
	constraint      uintptr // []indexConstraint
	orders          int32
	order           uintptr // []indexOrder
	usage           uintptr // []indexUsage
	number          int32
	text            uintptr
	freeText        int32
	orderByConsumed int32
	cost            float64
	rows            int64
	flags           int32
	used            uint64
}

type indexConstraint struct {
	column     int32
	op, usable uint8
	_          int32
}

type indexOrder struct {
	column int32
	desc   uint8
}

type indexUsage struct {
	arg  int32
	omit uint8
}

func elements[T any](at uintptr, n int32) []T { return unsafe.Slice((*T)(pointer(at)), n) }

// indexAt returns the Index at an address, for a call of Best. Most queries need no more constraints than there is room for.
func indexAt(info uintptr, p planning, buffer []Constraint) Index {
	x := Index{planning: p, info: (*indexInfo)(pointer(info)), Constraints: buffer}
	x.Used = x.info.used
	for _, c := range elements[indexConstraint](x.info.constraint, x.info.constraints) {
		x.Constraints = append(x.Constraints, Constraint{int(c.column), Op(c.op), c.usable != 0})
	}
	for _, o := range elements[indexOrder](x.info.order, x.info.orders) {
		x.Orders = append(x.Orders, Order{int(o.column), o.desc != 0})
	}
	return x
}

// Use makes the value of constraint i argument n of Filter, counted from 0. With omit SQLite does not check the rows again.
func (x *Index) Use(i, n int, omit bool) {
	u := &elements[indexUsage](x.info.usage, x.info.constraints)[i]
	u.arg, u.omit = int32(n+1), 0
	if omit {
		u.omit = 1
	}
}

// Plan sets the number and the text that Filter gets.
func (x *Index) Plan(number int, text string) {
	x.info.number = int32(number)
	if text != "" {
		x.info.text, x.info.freeText = x.copied(text), 1
	}
}

// Ordered says that rows come as Orders asks.
func (x *Index) Ordered() { x.info.orderByConsumed = 1 }

// Estimate sets the cost of the plan and the number of its rows. One row at most if unique.
func (x *Index) Estimate(cost float64, rows int64, unique bool) {
	x.info.cost, x.info.rows = cost, rows
	if unique {
		x.info.flags |= 1
	}
}

// ErrNoPlan says that a table cannot serve a query with the constraints that are usable. SQLite tries another order of
// tables.
var ErrNoPlan = errors.New("an argument of the function is missing")

var errNoRowid = errors.New("the table has no rowid")

// module is a Module of a database.
type module struct {
	db *DB
	Module
}

type openTable struct {
	db *DB
	Table
	module *module
}

// overload returns the operator of a function with the columns of a table, or 0 if there is none.
func (t *openTable) overload(name string) Op {
	for _, o := range t.module.Overloads {
		if strings.EqualFold(o.Name, name) {
			return o.Op
		}
	}
	return 0
}

// openCursor is a cursor with what its last call of Filter was given.
type openCursor struct {
	db *DB
	Cursor
	args   []Value
	number int
	plan   uintptr
	text   string
}

// filter calls Filter with a plan, whose text is at an address, and the arguments.
func (c *openCursor) filter(number int, plan uintptr) error {
	if plan != c.plan || number != c.number || plan == 0 {
		c.plan, c.number, c.text = plan, number, stringAt(plan)
	}
	return c.Filter(number, c.text, c.args)
}

// Module defines a module.
func (d *DB) Module(name string, m Module) error {
	if code := d.defineModule(name, &module{db: d, Module: m}); code != codeOK {
		return d.error(code, "")
	}
	return nil
}
