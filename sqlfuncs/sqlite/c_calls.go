//go:build cgo && linux && !gosqlite

package sqlite

/*
#include <stdlib.h>
#include "c.h"
*/
import "C"

import (
	"fmt"
	"math"
	"runtime"
	"unsafe"
)

// Value is an argument of a function or of a virtual table's filter. It is valid during the call.
type Value struct{ cell *C.cell }

func (v Value) p() *C.sqlite3_value {
	return (*C.sqlite3_value)(pointer(uintptr(v.cell.value)))
}

// Type returns the type of the value.
func (v Value) Type() Type { return Type(v.cell._type) }

// NumericType returns the type of the value, or that of the number which a text holds.
func (v Value) NumericType() Type {
	if v.Type() != TextOf {
		return v.Type()
	}
	return Type(C.sqlite3_value_numeric_type(v.p()))
}

// Int returns the value as an integer, as CAST does.
func (v Value) Int() int64 {
	if v.Type() == Integer {
		return int64(v.cell.bits)
	}
	return v.cast()
}

// cast is Int of what is no integer; apart from it, so that the compiler inlines Int.
func (v Value) cast() int64 {
	switch v.Type() {
	case Real:
		return castReal(math.Float64frombits(uint64(v.cell.bits)))
	case Null:
		return 0
	}
	return int64(C.sqlite3_value_int64(v.p()))
}

// castReal returns the integer of a real number, as CAST does.
func castReal(f float64) int64 {
	switch {
	case f < math.MinInt64:
		return math.MinInt64
	case f >= math.MaxInt64:
		return math.MaxInt64
	}
	return int64(f)
}

// Float returns the value as a real number, as CAST does.
func (v Value) Float() float64 {
	switch v.Type() {
	case Real:
		return math.Float64frombits(uint64(v.cell.bits))
	case Integer:
		return float64(v.cell.bits)
	case Null:
		return 0
	}
	return float64(C.sqlite3_value_double(v.p()))
}

// View returns the value as text without a copy, which is valid during the call unless another method converts the value.
func (v Value) View() string {
	switch v.Type() {
	case TextOf, Blob:
		return viewAt(uintptr(v.cell.bits), int(v.cell.n))
	case Null:
		return ""
	}
	p := C.sqlite3_value_text(v.p())
	return viewAt(uintptr(unsafe.Pointer(p)), int(C.sqlite3_value_bytes(v.p())))
}

// Blob returns a copy of the bytes of a BLOB or of a text.
func (v Value) Blob() []byte { return []byte(v.View()) }

// JSON reports whether a text is known to be JSON, as what the functions of JSON return.
func (v Value) JSON() bool { return C.sqlite3_value_subtype(v.p()) == jsonSubtype }

// size is the number of bytes of a text or BLOB.
func (v Value) size() int64 {
	if t := v.Type(); t == TextOf || t == Blob {
		return int64(v.cell.n)
	}
	return 0
}

func (v Value) pointer(kind uintptr) uintptr {
	if v.Type() != Null {
		return 0
	}
	return uintptr(C.sqlite3_value_pointer(v.p(), (*C.char)(pointer(kind))))
}

// Each calls f with each value of the list of an IN constraint that Index.UseIn handed over.
func (v Value) Each(f func(Value) error) error {
	var item C.cell
	code := C.tp_next_in(v.cell, &item, 1)
	for ; code == codeOK; code = C.tp_next_in(v.cell, &item, 0) {
		if err := f(Value{&item}); err != nil {
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
	cell  *C.cell
	texts *scratch
}

// Null makes the result NULL.
func (c Context) Null() { c.cell._type = C.int32_t(Null) }

// Int makes the result an integer.
func (c Context) Int(v int64) { c.cell._type, c.cell.bits = C.int32_t(Integer), C.int64_t(v) }

// Float makes the result a real number; NaN is NULL.
func (c Context) Float(v float64) {
	c.cell._type, c.cell.bits = C.int32_t(Real), C.int64_t(math.Float64bits(v))
}

func (c Context) copied(t C.int32_t, s string) {
	if len(s) > math.MaxInt32 {
		c.cell._type = C.CELL_NOMEM
		return
	}
	p := c.texts.copied(s)
	c.cell._type, c.cell.bits, c.cell.n = t, C.int64_t(p), C.int32_t(len(s))
	if p == 0 {
		c.cell._type = C.CELL_NOMEM
	}
}

// Text makes the result a text, of which SQLite takes a copy.
func (c Context) Text(s string) { c.copied(C.int32_t(TextOf), s) }

// JSON makes the result a text that is known to be JSON.
func (c Context) JSON(s string) { c.copied(C.CELL_JSON, s) }

// Static makes the result a text of an arena that outlives the statement.
func (c Context) Static(t Text) {
	c.cell._type, c.cell.bits, c.cell.n = C.CELL_STATIC, C.int64_t(t.address), C.int32_t(t.n)
}

// Blob makes the result bytes, of which SQLite takes a copy.
func (c Context) Blob(b []byte) {
	c.copied(C.int32_t(Blob), unsafe.String(unsafe.SliceData(b), len(b)))
}

// Value makes the result a copy of a value. What Pointer gave becomes NULL.
func (c Context) Value(v Value) {
	switch t := v.cell._type; Type(t) {
	case TextOf, Blob:
		c.copied(t, viewAt(uintptr(v.cell.bits), int(v.cell.n)))
	default:
		c.cell._type, c.cell.bits = t, v.cell.bits
	}
}

// Pointer makes the result of a function a Go value that only Value.Pointer of the same kind can see; for SQL it is NULL. It
// reaches the function or virtual table that gets the result as an argument, but not one behind a sort or a table.
func (c Context) Pointer(v any, kind string) {
	c.cell._type, c.cell.bits, c.cell.value = C.CELL_POINTER, C.int64_t(handles.add(v)), C.uint64_t(static(kind))
}

func (c Context) fail(err error) { c.copied(C.CELL_ERROR, err.Error()) }

// deep is after how many calls of Go by C a call continues on the stack of another thread. A thread's stack is small.
const deep = 250

// enter begins a call of Go by C, which may lead to others, and returns where its result goes.
func (d *DB) enter(to *C.cell) Context {
	for d.calls >= len(d.texts) {
		d.texts = append(d.texts, &scratch{db: d})
	}
	t := d.texts[d.calls]
	t.reset()
	d.calls++
	return Context{to, t}
}

func (d *DB) leave() { d.calls-- }

// elsewhere runs f in another thread.
func elsewhere(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

// values makes Values of the arguments of a call.
func values(to []Value, args *C.cell, n C.int) []Value {
	for i := range unsafe.Slice(args, n) {
		to = append(to, Value{(*C.cell)(unsafe.Add(unsafe.Pointer(args), i*C.sizeof_cell))})
	}
	return to
}

// called returns the function of a call, its arguments until release, and where its result goes until leave.
func called(function C.uint64_t, argc C.int, args, result *C.cell) (*callable, Context, []Value) {
	f := handles.get(uintptr(function)).(*callable)
	at := f.place()
	*at = values(*at, args, argc)
	return f, f.db.enter(result), *at
}

//export goScalar
func goScalar(function C.uint64_t, argc C.int, args, result *C.cell) {
	f, c, a := called(function, argc, args, result)
	if f.db.calls%deep == 0 {
		elsewhere(func() { f.call(c, a) })
	} else {
		f.call(c, a)
	}
	f.db.leave()
}

// lookups are what a Lookup has found, where C reads it.
type lookups struct {
	known map[string]*C.lookup // nil under a text of which C can read nothing
	pins  runtime.Pinner
}

func (l *lookups) free() {
	for _, p := range l.known {
		C.free(unsafe.Pointer(p))
	}
	l.known = nil
	l.pins.Unpin()
}

//export goLookup
func goLookup(function C.uint64_t, text *C.char, n C.int) *C.lookup {
	f := handles.get(uintptr(function)).(*callable)
	key := C.GoStringN(text, n)
	p, known := f.lookups.known[key]
	if known {
		return p
	}
	found, err := f.find(key) // f's scalar has the error
	if found != nil && err == nil && f.db.Reserve(found.bytes()) == nil {
		p = f.lookups.add(found)
	}
	if f.lookups.known == nil {
		f.lookups.known = map[string]*C.lookup{}
	}
	f.lookups.known[key] = p
	return p
}

func (l *lookups) add(found *Found) *C.lookup {
	p := (*C.lookup)(C.calloc(1, C.sizeof_lookup))
	p.n = C.int64_t(len(found.Integers))
	p.integers = pinned(&l.pins, found.Integers)
	p.rows = pinned(&l.pins, found.Rows)
	p.which = pinned(&l.pins, found.Which)
	for i, v := range found.Vectors {
		describe(&l.pins, &p.columns[i], v)
	}
	return p
}

//export goStep
func goStep(function, group C.uint64_t, rows, argc C.int, args, result *C.cell) C.uint64_t {
	f, c, a := called(function, rows*argc, args, result)
	defer f.db.leave()
	return C.uint64_t(f.step(c, uintptr(group), int(rows), a))
}

//export goInverse
func goInverse(function, group C.uint64_t, argc C.int, args, result *C.cell) {
	f, c, a := called(function, argc, args, result)
	defer f.db.leave()
	f.inverse(c, uintptr(group), a)
}

//export goCurrent
func goCurrent(function, group C.uint64_t, result *C.cell) C.uint64_t {
	f := handles.get(uintptr(function)).(*callable)
	defer f.db.leave()
	return C.uint64_t(f.current(f.db.enter(result), uintptr(group)))
}

//export goFinal
func goFinal(function, group C.uint64_t, result *C.cell) {
	f := handles.get(uintptr(function)).(*callable)
	defer f.db.leave()
	f.final(f.db.enter(result), uintptr(group))
}

// define defines a function, or removes it.
func (d *DB) define(name string, args int, f *callable) int32 {
	what, flags, handle := C.int(C.DEFINE_NOTHING), Flags(0), uintptr(0)
	if f != nil {
		flags, handle = f.flags&^Gathered, handles.add(f)
		switch {
		case f.begin != nil && !f.window && f.flags&Gathered != 0:
			what = C.DEFINE_GATHERED
		case f.window:
			what = C.DEFINE_WINDOW
		case f.begin != nil:
			what = C.DEFINE_AGGREGATE
		case f.find != nil:
			what = C.DEFINE_LOOKUP
		default:
			what = C.DEFINE_SCALAR
		}
	}
	p := C.CString(name)
	defer C.free(unsafe.Pointer(p))
	return int32(C.tp_define(d.account, d.p, p, C.int(args), C.int(flags), C.uint64_t(handle), what))
}

// planning is SQLite's side of an Index.
type planning struct{ p *C.sqlite3_index_info }

// The sizes are equal, or this does not compile.
var _ = [1]int{}[unsafe.Sizeof(indexInfo{})-C.sizeof_sqlite3_index_info]

func (x planning) copied(text string) uintptr {
	return uintptr(unsafe.Pointer(C.tp_message(chars(text), C.size_t(len(text)))))
}

// UseIn reports whether constraint i is an IN whose list can be one argument. If it is, the argument is the list:
// Value.Each.
func (x planning) UseIn(i int) bool {
	if C.sqlite3_vtab_in(x.p, C.int(i), -1) == 0 {
		return false
	}
	C.sqlite3_vtab_in(x.p, C.int(i), 1)
	return true
}

// Constant returns the value of constraint i if it is known when the query is planned.
func (x planning) Constant(i int) (Value, bool) {
	v := Value{new(C.cell)}
	return v, C.tp_constant(x.p, C.int(i), v.cell) != 0
}

// Distinct says what Orders is for.
func (x planning) Distinct() Distinct { return Distinct(C.sqlite3_vtab_distinct(x.p)) }

// failed keeps the error of a callback for the caller, and gives SQLite its text where it looks for it.
func (d *DB) failed(message **C.char, err error) C.int {
	d.fail = err
	C.sqlite3_free(unsafe.Pointer(*message))
	text := err.Error()
	*message = C.tp_message(chars(text), C.size_t(len(text)))
	return codeError
}

//export goConnect
func goConnect(handle C.uint64_t, create C.int, argc C.int, argv **C.char, to *C.uint64_t, message **C.char) C.int {
	m := handles.get(uintptr(handle)).(*module)
	var t Table
	var declaration string
	var err error
	if create == 0 {
		t, declaration, err = m.Connect()
	} else {
		var args []string
		for _, p := range unsafe.Slice(argv, argc) {
			args = append(args, C.GoString(p))
		}
		t, declaration, err = m.Create(args[2], args[3:])
	}
	if err != nil {
		return m.db.failed(message, err)
	}
	p := C.CString(declaration)
	defer C.free(unsafe.Pointer(p))
	if code := C.sqlite3_declare_vtab(m.db.p, p); code != codeOK {
		return code
	}
	*to = C.uint64_t(handles.add(&openTable{m.db, t, m}))
	return codeOK
}

//export goDestroy
func goDestroy(handle C.uint64_t) { handles.get(uintptr(handle)).(*openTable).Destroy() }

//export goBest
func goBest(handle C.uint64_t, info *C.sqlite3_index_info, message **C.char) C.int {
	t := handles.get(uintptr(handle)).(*openTable)
	var buffer [16]Constraint
	x := indexAt(uintptr(unsafe.Pointer(info)), planning{info}, buffer[:0])
	switch err := t.Best(&x); err {
	case nil:
		return codeOK
	case ErrNoPlan:
		return codeConstraint
	default:
		return t.db.failed(message, err)
	}
}

//export goOverload
func goOverload(handle C.uint64_t, name *C.char) C.int {
	t := handles.get(uintptr(handle)).(*openTable)
	if len(t.module.Overloads) == 0 {
		return 0
	}
	return C.int(t.overload(C.GoString(name)))
}

func (d *DB) defineModule(name string, m *module) int32 {
	p := C.CString(name)
	defer C.free(unsafe.Pointer(p))
	created := C.int(1)
	if m.Create == nil {
		created = 0
	}
	return int32(C.tp_define_module(d.account, d.p, p, C.uint64_t(handles.add(m)), created))
}

// reader is a cursor whose rows C reads.
type reader struct {
	openCursor
	c        *C.cursor // that of the last call
	next     func() error
	columnar Columnar // or nil
	texts    scratch  // of columns that Column gives
	asked    []C.int  // columns without a Vector that SQLite has asked for: each row has them at once
	columns  []C.column
	pins     runtime.Pinner // of vectors
	of       any            // whose vectors they are
	search   *Search        // of the rows
	list     runtime.Pinner // of their numbers, or
	numbers  scratch        // a copy of them
}

//export goOpen
func goOpen(handle C.uint64_t, c *C.cursor, message **C.char) C.int {
	t := handles.get(uintptr(handle)).(*openTable)
	opened, err := t.Open()
	if err != nil {
		return t.db.failed(message, err)
	}
	r := &reader{openCursor: openCursor{db: t.db, Cursor: opened}, texts: scratch{db: t.db}, numbers: scratch{db: t.db}}
	r.next = opened.Next
	r.columnar, _ = opened.(Columnar)
	c.handle = C.uint64_t(handles.add(r))
	return codeOK
}

//export goClose
func goClose(c *C.cursor) {
	r := handles.remove(uintptr(c.handle)).(*reader)
	r.Close()
	r.pins.Unpin()
	r.list.Unpin()
	r.texts.release()
	r.numbers.release()
	C.free(pointer(uintptr(c.columns)))
	C.free(pointer(uintptr(c.tests)))
	C.free(pointer(uintptr(c.passed)))
}

// readerOf returns the reader of a cursor, which may have been kept from another one.
func readerOf(c *C.cursor) *reader {
	r := handles.get(uintptr(c.handle)).(*reader)
	r.c = c
	return r
}

// failed reports an error of a cursor.
func (r *reader) failed(err error) C.int { return r.db.failed(&r.c.base.pVtab.zErrMsg, err) }

//export goFilter
func goFilter(c *C.cursor, number C.int, plan *C.char, argc C.int, args *C.cell) C.int {
	r := readerOf(c)
	r.args = values(r.args[:0], args, argc)
	c.plan = nil
	code := r.moved(func() error { return r.filter(int(number), uintptr(unsafe.Pointer(plan))) })
	if r.search != nil {
		c.plan = plan
		r.showSearch()
	}
	return code
}

// showSearch tells C how to search.
func (r *reader) showSearch() {
	s, c := r.search, r.c
	describe(&r.pins, &c.search, s.Vector)
	c.op, c.rows, c.order, c.limited = C.int64_t(s.Op), C.int64_t(s.Rows), 0, 0
	c.slots, c.mask = pinned(&r.pins, s.Slots), C.uint64_t(len(s.Slots)-1)
	if s.Limited {
		c.limited = 1
	}
	if s.Order != nil {
		c.rows, c.order = C.int64_t(len(s.Order)), pinned(&r.pins, s.Order)
	}
	if n := len(s.Tests); n != int(c.tested) {
		C.free(pointer(uintptr(c.tests)))
		c.tests, c.tested = C.uint64_t(uintptr(C.calloc(C.size_t(n), C.sizeof_test))), C.int64_t(n)
	}
	for i, t := range s.Tests {
		to := &unsafe.Slice((*C.test)(pointer(uintptr(c.tests))), len(s.Tests))[i]
		to.op = C.int32_t(t.Op)
		describe(&r.pins, &to.column, t.Vector)
	}
}

//export goNext
func goNext(c *C.cursor) C.int {
	r := readerOf(c)
	if r.columnar != nil {
		c.at--
		r.goTo()
	}
	return r.moved(r.next)
}

// moved calls what changes the row, and tells C where the rows are.
func (r *reader) moved(move func() error) C.int {
	r.db.calls++
	var err error
	if r.db.calls%deep == 0 {
		err = moveElsewhere(move)
	} else {
		err = move()
	}
	r.db.calls--
	if err != nil {
		return r.failed(err)
	}
	if r.columnar != nil {
		r.show(r.columnar.Rows())
		return codeOK
	}
	r.c.at, r.c.end, r.c.more = 0, 0, 0
	if !r.EOF() {
		r.c.end, r.c.more = 1, 1
		r.texts.reset()
		for _, i := range r.asked {
			r.read(i) // an error is reported if SQLite wants the value
		}
	}
	return codeOK
}

// moveElsewhere is a function so that the error takes no memory where it is not called.
func moveElsewhere(move func() error) (err error) {
	elsewhere(func() { err = move() })
	return err
}

// copiedRows is how many numbers of rows are copied, which takes less time than pinning them.
const copiedRows = 1 << 10

// show tells C the rows of a columnar cursor.
func (r *reader) show(rows Rows) {
	if r.of != rows.Of {
		r.pins.Unpin()
		clear(r.columns)
		r.of = rows.Of
	}
	r.list.Unpin()
	r.numbers.reset()
	r.search = rows.Search
	c := r.c
	c.at, c.end, c.list, c.more = C.int64_t(rows.From), C.int64_t(rows.To), 0, 0
	if rows.More {
		c.more = 1
	}
	if rows.List == nil {
		return
	}
	c.at, c.end = 0, C.int64_t(len(rows.List))
	if n := len(rows.List); n == 0 || n > copiedRows {
		r.list.Pin(unsafe.SliceData(rows.List))
		c.list = C.uint64_t(uintptr(unsafe.Pointer(unsafe.SliceData(rows.List))))
		return
	}
	p := unsafe.Slice((*byte)(unsafe.Pointer(&rows.List[0])), 4*len(rows.List))
	c.list = C.uint64_t(r.numbers.copied(unsafe.String(&p[0], len(p))))
}

// goTo tells a columnar cursor the row at which C is.
func (r *reader) goTo() {
	at := int64(r.c.at)
	row := at
	if r.c.list != 0 {
		row = int64(*(*uint32)(pointer(uintptr(r.c.list) + 4*uintptr(at))))
	}
	r.columnar.GoTo(row, at)
}

// column makes room for a column, and returns it.
func (r *reader) column(i C.int) *C.column {
	if int(i) >= len(r.columns) {
		n := max(16, 2*int(i))
		p := C.calloc(C.size_t(n), C.sizeof_column)
		grown := unsafe.Slice((*C.column)(p), n)
		copy(grown, r.columns)
		C.free(pointer(uintptr(r.c.columns)))
		r.columns, r.c.columns, r.c.known = grown, C.uint64_t(uintptr(p)), C.int64_t(n)
	}
	return &r.columns[i]
}

//export goColumn
func goColumn(c *C.cursor, i C.int) C.int {
	r := readerOf(c)
	to := r.column(i)
	if r.columnar == nil {
		if to.kind == C.COLUMN_UNKNOWN {
			r.asked = append(r.asked, i)
		}
	} else {
		if to.kind == C.COLUMN_UNKNOWN {
			v, err := r.columnar.Vector(int(i))
			if err != nil {
				return r.failed(err)
			}
			if v != nil {
				describe(&r.pins, to, v)
				return codeOK
			}
		}
		r.goTo()
		if to.row != c.row {
			r.texts.reset()
		}
	}
	if err := r.read(i); err != nil {
		return r.failed(err)
	}
	return codeOK
}

// read reads a column of the row.
func (r *reader) read(i C.int) error {
	to := &r.columns[i]
	to.kind, to.row, to.cell._type = C.COLUMN_CELL, r.c.row, C.int32_t(Null)
	err := r.Column(Context{&to.cell, &r.texts}, int(i))
	if err != nil {
		to.row = 0
	}
	return err
}

// pinned returns the address of memory that stays there until it is unpinned.
func pinned[T any](pins *runtime.Pinner, values []T) C.uint64_t {
	if len(values) == 0 {
		return 0
	}
	pins.Pin(&values[0])
	return C.uint64_t(uintptr(unsafe.Pointer(&values[0])))
}

// describe tells C where the values of a column are.
func describe(pins *runtime.Pinner, to *C.column, v *Vector) {
	*to = C.column{kind: C.COLUMN_SEQUENCE, first: C.int64_t(v.First)}
	switch {
	case v.Int32 != nil:
		to.kind, to.data = C.COLUMN_INT32, pinned(pins, v.Int32)
	case v.Int64 != nil:
		to.kind, to.data = C.COLUMN_INT64, pinned(pins, v.Int64)
	case v.Float != nil:
		to.kind, to.data = C.COLUMN_FLOAT, pinned(pins, v.Float)
	case v.IDs != nil:
		to.kind, to.data = C.COLUMN_TEXT, pinned(pins, v.IDs)
		to.texts = C.uint64_t(v.Texts.table.Load())
	}
	if v.Nulls != nil {
		to.nulls = pinned(pins, v.Nulls)
	}
}

//export goRowid
func goRowid(c *C.cursor, to *C.int64_t) C.int {
	r := readerOf(c)
	if r.columnar != nil {
		r.goTo()
	}
	id := r.Rowid()
	if id == NoRowid {
		return r.failed(errNoRowid)
	}
	*to = C.int64_t(id)
	return codeOK
}
