package sqlite

import (
	"errors"
	"math"
	"strings"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
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

// Overload makes the function of a name, which has to exist, a constraint on a table's columns.
type Overload struct {
	Name string
	Op   Op     // FunctionOp or above
	Call Scalar // computes calls that Table.Best has not used
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

// Op is an operator of a constraint.
type Op uint8

// Operators.
const (
	EQ        Op = lib.SQLITE_INDEX_CONSTRAINT_EQ
	GT        Op = lib.SQLITE_INDEX_CONSTRAINT_GT
	LE        Op = lib.SQLITE_INDEX_CONSTRAINT_LE
	LT        Op = lib.SQLITE_INDEX_CONSTRAINT_LT
	GE        Op = lib.SQLITE_INDEX_CONSTRAINT_GE
	NE        Op = lib.SQLITE_INDEX_CONSTRAINT_NE
	Glob      Op = lib.SQLITE_INDEX_CONSTRAINT_GLOB
	Like      Op = lib.SQLITE_INDEX_CONSTRAINT_LIKE
	IsNotNull Op = lib.SQLITE_INDEX_CONSTRAINT_ISNOTNULL
	IsNull    Op = lib.SQLITE_INDEX_CONSTRAINT_ISNULL
	LimitOp   Op = lib.SQLITE_INDEX_CONSTRAINT_LIMIT
	OffsetOp  Op = lib.SQLITE_INDEX_CONSTRAINT_OFFSET

	FunctionOp Op = lib.SQLITE_INDEX_CONSTRAINT_FUNCTION // the first for overloaded functions
)

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

	tls  *libc.TLS
	p    uintptr
	info *lib.Tsqlite3_index_info
}

func (x *Index) usage(i int) *lib.Tsqlite3_index_constraint_usage {
	return (*lib.Tsqlite3_index_constraint_usage)(pointer(x.info.FaConstraintUsage + uintptr(i)*unsafe.Sizeof(lib.Tsqlite3_index_constraint_usage{})))
}

// Use makes the value of constraint i argument n of Filter, counted from 0. With omit SQLite does not check the rows again.
func (x *Index) Use(i, n int, omit bool) {
	u := x.usage(i)
	u.FargvIndex = int32(n + 1)
	u.Fomit = 0
	if omit {
		u.Fomit = 1
	}
}

// UseIn reports whether constraint i is an IN whose list can be one argument. If it is, the argument is the list:
// Value.Each.
func (x *Index) UseIn(i int) bool {
	if lib.Xsqlite3_vtab_in(x.tls, x.p, int32(i), -1) == 0 {
		return false
	}
	lib.Xsqlite3_vtab_in(x.tls, x.p, int32(i), 1)
	return true
}

// Constant returns the value of constraint i if it is known when the query is planned.
func (x *Index) Constant(i int) (Value, bool) {
	to := lib.Xsqlite3_malloc(x.tls, 8)
	defer lib.Xsqlite3_free(x.tls, to)
	if lib.Xsqlite3_vtab_rhs_value(x.tls, x.p, int32(i), to) != lib.SQLITE_OK {
		return Value{}, false
	}
	p := *(*uintptr)(pointer(to))
	return Value{x.tls, p}, p != 0
}

// Distinct says what Orders is for.
func (x *Index) Distinct() Distinct { return Distinct(lib.Xsqlite3_vtab_distinct(x.tls, x.p)) }

// Plan sets the number and the text that Filter gets.
func (x *Index) Plan(number int, text string) {
	x.info.FidxNum = int32(number)
	if text != "" {
		x.info.FidxStr = allocated(x.tls, text)
		x.info.FneedToFreeIdxStr = 1
	}
}

// Ordered says that rows come as Orders asks.
func (x *Index) Ordered() { x.info.ForderByConsumed = 1 }

// Estimate sets the cost of the plan and the number of its rows. One row at most if unique.
func (x *Index) Estimate(cost float64, rows int64, unique bool) {
	x.info.FestimatedCost, x.info.FestimatedRows = cost, rows
	if unique {
		x.info.FidxFlags |= lib.SQLITE_INDEX_SCAN_UNIQUE
	}
}

// ErrNoPlan says that a table cannot serve a query with the constraints that are usable. SQLite tries another order of
// tables.
var ErrNoPlan error = noPlan{}

type noPlan struct{}

func (noPlan) Error() string { return "an argument of the function is missing" }

// module is what SQLite's data of a module points to.
type module struct {
	db *DB
	Module
	overloads []*callable // of Overloads
}

// vtab and cursor extend SQLite's structures. The Go values are kept alive by DB.kept.
type vtab struct {
	base lib.Tsqlite3_vtab
	of   uintptr // *openTable
}

type cursor struct {
	base lib.Tsqlite3_vtab_cursor
	of   uintptr // *openCursor
}

type openTable struct {
	db *DB
	Table
	module *module
}

type openCursor struct {
	db *DB
	Cursor
	args   []Value
	number int32
	plan   uintptr
	text   string
}

func tableAt(p uintptr) *openTable { return (*openTable)(pointer((*vtab)(pointer(p)).of)) }

func cursorAt(p uintptr) *openCursor { return (*openCursor)(pointer((*cursor)(pointer(p)).of)) }

// failed keeps the error of a callback for the caller, and gives SQLite its text where it looks for it.
func (d *DB) failed(tls *libc.TLS, message *uintptr, err error) int32 {
	d.fail = err
	if *message != 0 {
		lib.Xsqlite3_free(tls, *message)
	}
	*message = allocated(tls, err.Error())
	return lib.SQLITE_ERROR
}

func (d *DB) cursorFailed(tls *libc.TLS, p uintptr, err error) int32 {
	return d.failed(tls, &(*vtab)(pointer((*cursor)(pointer(p)).base.FpVtab)).base.FzErrMsg, err)
}

// connected hands a new table to SQLite.
func (m *module) connected(tls *libc.TLS, db uintptr, to, message uintptr, t Table, declaration string, err error) int32 {
	if err != nil {
		return m.db.failed(tls, (*uintptr)(pointer(message)), err)
	}
	text := allocated(tls, declaration)
	defer lib.Xsqlite3_free(tls, text)
	if rc := lib.Xsqlite3_declare_vtab(tls, db, text); rc != lib.SQLITE_OK {
		return rc
	}
	p := lib.Xsqlite3_malloc(tls, int32(unsafe.Sizeof(vtab{})))
	o := &openTable{m.db, t, m}
	m.db.kept[o] = struct{}{}
	*(*vtab)(pointer(p)) = vtab{of: uintptr(unsafe.Pointer(o))}
	*(*uintptr)(pointer(to)) = p
	return lib.SQLITE_OK
}

func xCreate(tls *libc.TLS, db, data uintptr, argc int32, argv, to, message uintptr) int32 {
	m := (*module)(pointer(data))
	args := make([]string, argc)
	for i := range args {
		args[i] = stringAt(*(*uintptr)(pointer(argv + uintptr(i)*unsafe.Sizeof(argv))))
	}
	t, declaration, err := m.Create(args[2], args[3:])
	return m.connected(tls, db, to, message, t, declaration, err)
}

// xReconnect differs from xCreate, for otherwise SQLite had a table under the module's name too.
func xReconnect(tls *libc.TLS, db, data uintptr, argc int32, argv, to, message uintptr) int32 {
	return xCreate(tls, db, data, argc, argv, to, message)
}

func xConnect(tls *libc.TLS, db, data uintptr, _ int32, _, to, message uintptr) int32 {
	m := (*module)(pointer(data))
	t, declaration, err := m.Connect()
	return m.connected(tls, db, to, message, t, declaration, err)
}

func xDestroy(tls *libc.TLS, p uintptr) int32 {
	tableAt(p).Destroy()
	return xDisconnect(tls, p)
}

func xDisconnect(tls *libc.TLS, p uintptr) int32 {
	t := tableAt(p)
	delete(t.db.kept, t)
	lib.Xsqlite3_free(tls, p)
	return lib.SQLITE_OK
}

func xBestIndex(tls *libc.TLS, p, info uintptr) int32 {
	t := tableAt(p)
	x := Index{tls: tls, p: info, info: (*lib.Tsqlite3_index_info)(pointer(info))}
	x.Used = uint64(x.info.FcolUsed)
	var constraints [16]Constraint // most queries have fewer
	x.Constraints = constraints[:0]
	for i := range uintptr(x.info.FnConstraint) {
		c := (*lib.Tsqlite3_index_constraint)(pointer(x.info.FaConstraint + i*unsafe.Sizeof(lib.Tsqlite3_index_constraint{})))
		x.Constraints = append(x.Constraints, Constraint{int(c.FiColumn), Op(c.Fop), c.Fusable != 0})
	}
	for i := range uintptr(x.info.FnOrderBy) {
		o := (*lib.Tsqlite3_index_orderby)(pointer(x.info.FaOrderBy + i*unsafe.Sizeof(lib.Tsqlite3_index_orderby{})))
		x.Orders = append(x.Orders, Order{int(o.FiColumn), o.Fdesc != 0})
	}
	switch err := t.Best(&x); err {
	case nil:
		return lib.SQLITE_OK
	case ErrNoPlan:
		return lib.SQLITE_CONSTRAINT
	default:
		return t.db.failed(tls, &(*vtab)(pointer(p)).base.FzErrMsg, err)
	}
}

func xOpen(tls *libc.TLS, p, to uintptr) int32 {
	t := tableAt(p)
	c, err := t.Open()
	if err != nil {
		return t.db.failed(tls, &(*vtab)(pointer(p)).base.FzErrMsg, err)
	}
	o := &openCursor{db: t.db, Cursor: c}
	t.db.kept[o] = struct{}{}
	q := lib.Xsqlite3_malloc(tls, int32(unsafe.Sizeof(cursor{})))
	*(*cursor)(pointer(q)) = cursor{of: uintptr(unsafe.Pointer(o))}
	*(*uintptr)(pointer(to)) = q
	return lib.SQLITE_OK
}

func xClose(tls *libc.TLS, p uintptr) int32 {
	c := cursorAt(p)
	c.Close()
	delete(c.db.kept, c)
	lib.Xsqlite3_free(tls, p)
	return lib.SQLITE_OK
}

func xFilter(tls *libc.TLS, p uintptr, number int32, text uintptr, argc int32, argv uintptr) int32 {
	c := cursorAt(p)
	args := c.args[:0]
	for i := range uintptr(argc) {
		args = append(args, Value{tls, *(*uintptr)(pointer(argv + i*unsafe.Sizeof(argv)))})
	}
	c.args = args
	if text != c.plan || number != c.number || text == 0 {
		c.plan, c.number, c.text = text, number, stringAt(text)
	}
	if err := c.Filter(int(number), c.text, args); err != nil {
		return c.db.cursorFailed(tls, p, err)
	}
	return lib.SQLITE_OK
}

func xNext(tls *libc.TLS, p uintptr) int32 {
	c := cursorAt(p)
	if err := c.Next(); err != nil {
		return c.db.cursorFailed(tls, p, err)
	}
	return lib.SQLITE_OK
}

func xEOF(_ *libc.TLS, p uintptr) int32 {
	if cursorAt(p).EOF() {
		return 1
	}
	return 0
}

func xColumn(tls *libc.TLS, p, ctx uintptr, i int32) int32 {
	c := cursorAt(p)
	if err := c.Column(Context{tls, ctx}, int(i)); err != nil {
		return c.db.cursorFailed(tls, p, err)
	}
	return lib.SQLITE_OK
}

func xRowid(tls *libc.TLS, p, to uintptr) int32 {
	c := cursorAt(p)
	id := c.Rowid()
	if id == NoRowid {
		return c.db.cursorFailed(tls, p, errNoRowid)
	}
	*(*int64)(pointer(to)) = id
	return lib.SQLITE_OK
}

var errNoRowid = errors.New("the table has no rowid")

func xFindFunction(_ *libc.TLS, p uintptr, _ int32, name, function, data uintptr) int32 {
	m := tableAt(p).module
	if len(m.Overloads) == 0 {
		return 0
	}
	called := stringAt(name)
	for i, o := range m.Overloads {
		if strings.EqualFold(o.Name, called) {
			*(*uintptr)(pointer(function)) = scalarCall
			*(*uintptr)(pointer(data)) = uintptr(unsafe.Pointer(m.overloads[i]))
			return int32(o.Op)
		}
	}
	return 0
}

var releaseModule = function(func(_ *libc.TLS, p uintptr) {
	m := (*module)(pointer(p))
	delete(m.db.kept, m)
})

// methods returns SQLite's table of a module's methods, which it keeps.
func methods(create, connect uintptr) uintptr {
	p := lib.Xsqlite3_malloc(memoryTLS, int32(unsafe.Sizeof(lib.Tsqlite3_module{})))
	*(*lib.Tsqlite3_module)(pointer(p)) = lib.Tsqlite3_module{
		FxCreate: create, FxConnect: connect, FxBestIndex: function(xBestIndex), FxDisconnect: function(xDisconnect), FxDestroy: function(xDestroy),
		FxOpen: function(xOpen), FxClose: function(xClose), FxFilter: function(xFilter), FxNext: function(xNext),
		FxEof: function(xEOF), FxColumn: function(xColumn), FxRowid: function(xRowid),
		FxFindFunction: function(xFindFunction),
	}
	return p
}

var (
	createdMethods   = methods(function(xCreate), function(xReconnect))
	eponymousMethods = methods(0, function(xConnect))
)

// Module defines a module.
func (d *DB) Module(name string, m Module) error {
	p := allocated(d.tls, name)
	defer lib.Xsqlite3_free(d.tls, p)
	of := &module{db: d, Module: m}
	for _, o := range m.Overloads {
		of.overloads = append(of.overloads, &callable{db: d, scalar: o.Call})
	}
	d.kept[of] = struct{}{}
	methods := createdMethods
	if m.Create == nil {
		methods = eponymousMethods
	}
	if rc := lib.Xsqlite3_create_module_v2(d.tls, d.p, p, methods, uintptr(unsafe.Pointer(of)), releaseModule); rc != lib.SQLITE_OK {
		return d.error(rc, "")
	}
	return nil
}
