//go:build !cgo || !linux || gosqlite

package sqlite

import (
	"fmt"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// Value is an argument of a function or of a virtual table's filter. It is valid during the call.
type Value struct {
	tls *libc.TLS
	p   uintptr
}

// Type returns the type of the value.
func (v Value) Type() Type { return Type(lib.Xsqlite3_value_type(v.tls, v.p)) }

// NumericType returns the type of the value, or that of the number which a text holds.
func (v Value) NumericType() Type { return Type(lib.Xsqlite3_value_numeric_type(v.tls, v.p)) }

// Int returns the value as an integer, as CAST does.
func (v Value) Int() int64 { return lib.Xsqlite3_value_int64(v.tls, v.p) }

// Float returns the value as a real number, as CAST does.
func (v Value) Float() float64 { return lib.Xsqlite3_value_double(v.tls, v.p) }

// View returns the value as text without a copy, which is valid during the call unless another method converts the value.
func (v Value) View() string {
	p := lib.Xsqlite3_value_text(v.tls, v.p)
	if p == 0 {
		return ""
	}
	return viewAt(p, int(lib.Xsqlite3_value_bytes(v.tls, v.p)))
}

// Blob returns a copy of the bytes of a BLOB or of a text.
func (v Value) Blob() []byte {
	p := lib.Xsqlite3_value_blob(v.tls, v.p)
	return append([]byte{}, bytesAt(p, int(lib.Xsqlite3_value_bytes(v.tls, v.p)))...)
}

// JSON reports whether a text is known to be JSON, as what the functions of JSON return.
func (v Value) JSON() bool { return lib.Xsqlite3_value_subtype(v.tls, v.p) == jsonSubtype }

// size is the number of bytes of a text or BLOB.
func (v Value) size() int64 {
	if t := v.Type(); t == TextOf || t == Blob {
		return int64(lib.Xsqlite3_value_bytes(v.tls, v.p))
	}
	return 0
}

func (v Value) pointer(kind uintptr) uintptr { return lib.Xsqlite3_value_pointer(v.tls, v.p, kind) }

// Each calls f with each value of the list of an IN constraint that Index.UseIn handed over.
func (v Value) Each(f func(Value) error) error {
	item := lib.Xsqlite3_malloc(v.tls, 8)
	defer lib.Xsqlite3_free(v.tls, item)
	code := lib.Xsqlite3_vtab_in_first(v.tls, v.p, item)
	for ; code == codeOK; code = lib.Xsqlite3_vtab_in_next(v.tls, v.p, item) {
		if err := f(Value{v.tls, *(*uintptr)(pointer(item))}); err != nil {
			return err
		}
	}
	if code != codeDone {
		return fmt.Errorf("values of IN: code %d", code)
	}
	return nil
}

// Context takes the result of a function or the value of a column. The last result counts; NULL without any.
type Context struct {
	tls *libc.TLS
	p   uintptr
}

// Null makes the result NULL.
func (c Context) Null() { lib.Xsqlite3_result_null(c.tls, c.p) }

// Int makes the result an integer.
func (c Context) Int(v int64) { lib.Xsqlite3_result_int64(c.tls, c.p, v) }

// Float makes the result a real number; NaN is NULL.
func (c Context) Float(v float64) { lib.Xsqlite3_result_double(c.tls, c.p, v) }

// Text makes the result a text, of which SQLite takes a copy.
func (c Context) Text(s string) {
	if p := allocated(c.tls, s); p != 0 {
		lib.Xsqlite3_result_text64(c.tls, c.p, p, uint64(len(s)), freeFunction, lib.SQLITE_UTF8)
	} else {
		lib.Xsqlite3_result_error_nomem(c.tls, c.p)
	}
}

// JSON makes the result a text that is known to be JSON.
func (c Context) JSON(s string) {
	c.Text(s)
	lib.Xsqlite3_result_subtype(c.tls, c.p, jsonSubtype)
}

// Static makes the result a text of an arena that outlives the statement.
func (c Context) Static(t Text) {
	lib.Xsqlite3_result_text(c.tls, c.p, t.address, int32(t.n), 0)
}

// Blob makes the result bytes, of which SQLite takes a copy.
func (c Context) Blob(b []byte) {
	if p := allocated(c.tls, string(b)); p != 0 {
		lib.Xsqlite3_result_blob64(c.tls, c.p, p, uint64(len(b)), freeFunction)
	} else {
		lib.Xsqlite3_result_error_nomem(c.tls, c.p)
	}
}

// Value makes the result a copy of a value. What Pointer gave becomes NULL.
func (c Context) Value(v Value) {
	if v.IsNull() {
		c.Null()
		return
	}
	lib.Xsqlite3_result_value(c.tls, c.p, v.p)
}

// Pointer makes the result of a function a Go value that only Value.Pointer of the same kind can see; for SQL it is NULL. It
// reaches the function or virtual table that gets the result as an argument, but not one behind a sort or a table.
func (c Context) Pointer(v any, kind string) {
	lib.Xsqlite3_result_pointer(c.tls, c.p, handles.add(v), static(kind), forget)
}

func (c Context) fail(err error) {
	message := err.Error()
	p := allocated(c.tls, message)
	if p == 0 {
		lib.Xsqlite3_result_error_nomem(c.tls, c.p)
		return
	}
	lib.Xsqlite3_result_error(c.tls, c.p, p, int32(len(message)))
	lib.Xsqlite3_free(c.tls, p)
}

// freeFunction frees memory of sqlite3_malloc.
var freeFunction = function(lib.Xsqlite3_free)

var forget = function(func(_ *libc.TLS, id uintptr) { handles.remove(id) })

// lookups are of the other build: a call of Go costs nothing here.
type lookups struct{}

// called returns the function of a call, and its arguments until release.
func called(tls *libc.TLS, ctx uintptr, argc int32, argv uintptr) (*callable, Context, []Value) {
	f := (*callable)(pointer(lib.Xsqlite3_user_data(tls, ctx)))
	args := f.place()
	for _, v := range elements[uintptr](argv, argc) {
		*args = append(*args, Value{tls, v})
	}
	return f, Context{tls, ctx}, *args
}

// groupID returns where the number of a group's Aggregate stands. It is nil once the statement has run out of memory.
func groupID(tls *libc.TLS, ctx uintptr) *uintptr {
	return (*uintptr)(pointer(lib.Xsqlite3_aggregate_context(tls, ctx, int32(unsafe.Sizeof(ctx)))))
}

var (
	scalarCall = function(func(tls *libc.TLS, ctx uintptr, argc int32, argv uintptr) {
		f, c, args := called(tls, ctx, argc, argv)
		f.call(c, args)
	})
	stepCall = function(func(tls *libc.TLS, ctx uintptr, argc int32, argv uintptr) {
		if id := groupID(tls, ctx); id != nil {
			f, c, args := called(tls, ctx, argc, argv)
			*id = f.step(c, *id, 1, args)
		}
	})
	inverseCall = function(func(tls *libc.TLS, ctx uintptr, argc int32, argv uintptr) {
		if id := groupID(tls, ctx); id != nil {
			f, c, args := called(tls, ctx, argc, argv)
			f.inverse(c, *id, args)
		}
	})
	currentCall = function(func(tls *libc.TLS, ctx uintptr) {
		if id := groupID(tls, ctx); id != nil {
			f := (*callable)(pointer(lib.Xsqlite3_user_data(tls, ctx)))
			*id = f.current(Context{tls, ctx}, *id)
		}
	})
	finalCall = function(func(tls *libc.TLS, ctx uintptr) {
		if id := groupID(tls, ctx); id != nil {
			f := (*callable)(pointer(lib.Xsqlite3_user_data(tls, ctx)))
			f.final(Context{tls, ctx}, *id)
		}
	})
	releaseFunction = function(func(_ *libc.TLS, p uintptr) {
		f := (*callable)(pointer(p))
		delete(f.db.kept, f)
	})
)

// define defines a function, or removes it.
func (d *DB) define(name string, args int, f *callable) int32 {
	p := allocated(d.tls, name)
	defer lib.Xsqlite3_free(d.tls, p)
	n := int32(args)
	if f == nil {
		return lib.Xsqlite3_create_function_v2(d.tls, d.p, p, n, lib.SQLITE_UTF8, 0, 0, 0, 0, 0)
	}
	d.kept[f] = struct{}{}
	data, flags := uintptr(unsafe.Pointer(f)), int32(f.flags&^Gathered)|lib.SQLITE_UTF8
	switch {
	case f.window:
		return lib.Xsqlite3_create_window_function(d.tls, d.p, p, n, flags, data, stepCall, finalCall, currentCall, inverseCall, releaseFunction)
	case f.begin != nil:
		return lib.Xsqlite3_create_function_v2(d.tls, d.p, p, n, flags, data, 0, stepCall, finalCall, releaseFunction)
	}
	return lib.Xsqlite3_create_function_v2(d.tls, d.p, p, n, flags, data, scalarCall, 0, 0, releaseFunction)
}

// planning is SQLite's side of an Index.
type planning struct {
	tls *libc.TLS
	p   uintptr
}

// The sizes are equal, or this does not compile.
var _ = [1]int{}[unsafe.Sizeof(indexInfo{})-unsafe.Sizeof(lib.Tsqlite3_index_info{})]

func (x planning) copied(text string) uintptr { return allocated(x.tls, text) }

// UseIn reports whether constraint i is an IN whose list can be one argument. If it is, the argument is the list:
// Value.Each.
func (x planning) UseIn(i int) bool {
	if lib.Xsqlite3_vtab_in(x.tls, x.p, int32(i), -1) == 0 {
		return false
	}
	lib.Xsqlite3_vtab_in(x.tls, x.p, int32(i), 1)
	return true
}

// Constant returns the value of constraint i if it is known when the query is planned.
func (x planning) Constant(i int) (Value, bool) {
	to := lib.Xsqlite3_malloc(x.tls, 8)
	defer lib.Xsqlite3_free(x.tls, to)
	if lib.Xsqlite3_vtab_rhs_value(x.tls, x.p, int32(i), to) != codeOK {
		return Value{}, false
	}
	p := *(*uintptr)(pointer(to))
	return Value{x.tls, p}, p != 0
}

// Distinct says what Orders is for.
func (x planning) Distinct() Distinct { return Distinct(lib.Xsqlite3_vtab_distinct(x.tls, x.p)) }

// vtab and cursor extend SQLite's structures. The Go values are kept alive by connection.kept.
type vtab struct {
	base lib.Tsqlite3_vtab
	of   uintptr // *openTable
}

type cursor struct {
	base lib.Tsqlite3_vtab_cursor
	of   uintptr // *openCursor
}

func tableAt(p uintptr) *openTable {
	return (*openTable)(pointer((*vtab)(pointer(p)).of))
}

func cursorAt(p uintptr) *openCursor {
	return (*openCursor)(pointer((*cursor)(pointer(p)).of))
}

// failed keeps the error of a callback for the caller, and gives SQLite its text where it looks for it.
func (d *DB) failed(tls *libc.TLS, message *uintptr, err error) int32 {
	d.fail = err
	if *message != 0 {
		lib.Xsqlite3_free(tls, *message)
	}
	*message = allocated(tls, err.Error())
	return codeError
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
	if code := lib.Xsqlite3_declare_vtab(tls, db, text); code != codeOK {
		return code
	}
	p := lib.Xsqlite3_malloc(tls, int32(unsafe.Sizeof(vtab{})))
	o := &openTable{m.db, t, m}
	m.db.kept[o] = struct{}{}
	*(*vtab)(pointer(p)) = vtab{of: uintptr(unsafe.Pointer(o))}
	*(*uintptr)(pointer(to)) = p
	return codeOK
}

func xCreate(tls *libc.TLS, db, data uintptr, argc int32, argv, to, message uintptr) int32 {
	m := (*module)(pointer(data))
	var args []string
	for _, p := range elements[uintptr](argv, argc) {
		args = append(args, stringAt(p))
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
	return codeOK
}

func xBestIndex(tls *libc.TLS, p, info uintptr) int32 {
	t := tableAt(p)
	var buffer [16]Constraint
	x := indexAt(info, planning{tls, info}, buffer[:0])
	switch err := t.Best(&x); err {
	case nil:
		return codeOK
	case ErrNoPlan:
		return codeConstraint
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
	return codeOK
}

func xClose(tls *libc.TLS, p uintptr) int32 {
	c := cursorAt(p)
	c.Close()
	delete(c.db.kept, c)
	lib.Xsqlite3_free(tls, p)
	return codeOK
}

func xFilter(tls *libc.TLS, p uintptr, number int32, text uintptr, argc int32, argv uintptr) int32 {
	c := cursorAt(p)
	c.args = c.args[:0]
	for _, v := range elements[uintptr](argv, argc) {
		c.args = append(c.args, Value{tls, v})
	}
	if err := c.filter(int(number), text); err != nil {
		return c.db.cursorFailed(tls, p, err)
	}
	return codeOK
}

func xNext(tls *libc.TLS, p uintptr) int32 {
	c := cursorAt(p)
	if err := c.Next(); err != nil {
		return c.db.cursorFailed(tls, p, err)
	}
	return codeOK
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
	return codeOK
}

func xRowid(tls *libc.TLS, p, to uintptr) int32 {
	c := cursorAt(p)
	id := c.Rowid()
	if id == NoRowid {
		return c.db.cursorFailed(tls, p, errNoRowid)
	}
	*(*int64)(pointer(to)) = id
	return codeOK
}

func xFindFunction(_ *libc.TLS, p uintptr, _ int32, name, to, _ uintptr) int32 {
	op := tableAt(p).overload(stringAt(name))
	if op != 0 {
		*(*uintptr)(pointer(to)) = isTrue
	}
	return int32(op)
}

var isTrue = function(func(tls *libc.TLS, ctx uintptr, _ int32, _ uintptr) { lib.Xsqlite3_result_int64(tls, ctx, 1) })

var releaseModule = function(func(_ *libc.TLS, p uintptr) {
	m := (*module)(pointer(p))
	delete(m.db.kept, m)
})

// methods returns SQLite's table of a module's methods, which it keeps.
func methods(create, connect uintptr) uintptr {
	p := allocate(int(unsafe.Sizeof(lib.Tsqlite3_module{})))
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

func (d *DB) defineModule(name string, m *module) int32 {
	p := allocated(d.tls, name)
	defer lib.Xsqlite3_free(d.tls, p)
	d.kept[m] = struct{}{}
	methods := createdMethods
	if m.Create == nil {
		methods = eponymousMethods
	}
	return lib.Xsqlite3_create_module_v2(d.tls, d.p, p, methods, uintptr(unsafe.Pointer(m)), releaseModule)
}
