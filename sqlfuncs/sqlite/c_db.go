//go:build cgo && linux && !gosqlite

package sqlite

/*
#cgo LDFLAGS: -lm

#include <stdlib.h>
#include "c.h"

#ifdef __GLIBC__
#include <malloc.h>
static void trim(void) { malloc_trim(0); }
#else
static void trim(void) {}
#endif
*/
import "C"

import (
	"fmt"
	"math"
	"unsafe"

	_ "github.com/mattn/go-sqlite3" // the C code of SQLite; nothing else of it is used
)

// connection is SQLite's side of a DB.
type connection struct {
	p       *C.sqlite3
	account *C.account
	handle  uintptr
	calls   int        // of Go by C that have not returned
	texts   []*scratch // of these calls
}

func (d *DB) open() int32 {
	d.account = (*C.account)(C.calloc(1, C.sizeof_account))
	d.account.limit, d.account.pieces = math.MaxInt64, 1
	d.memory = (*account)(unsafe.Pointer(d.account))
	d.handle = handles.add(d)
	return int32(C.tp_open(d.account, C.uint64_t(d.handle), &d.p))
}

func (d *DB) closed() bool { return d.account == nil }

func (d *DB) close() int32 {
	for _, t := range d.texts {
		t.release()
	}
	last := *d.memory
	a := d.account
	d.memory, d.account = &last, nil
	code := C.tp_close(a, d.p)
	handles.remove(d.handle)
	d.p = nil
	return int32(code)
}

func (d *DB) interrupt() {
	if d.p != nil {
		C.sqlite3_interrupt(d.p)
	}
}

// Interrupted reports whether the running statement shall fail soon. Functions that take long ask it.
func (d *DB) Interrupted() bool { return C.sqlite3_is_interrupted(d.p) != 0 }

// Limit sets a limit of sqlite3_limit and returns the one before.
func (d *DB) Limit(id Limit, value int) int {
	return int(C.sqlite3_limit(d.p, C.int(id), C.int(value)))
}

func (d *DB) watchActions() { C.tp_watch_actions(d.p, C.uint64_t(d.handle)) }

//export goAuthorize
func goAuthorize(handle C.uint64_t, action C.int, first, second *C.char) C.int {
	d := handles.get(uintptr(handle)).(*DB)
	return C.int(d.allowed(Action(action), func() (string, string) { return C.GoString(first), C.GoString(second) }))
}

func (d *DB) watchProgress(instructions int32) {
	C.tp_watch_progress(d.p, C.int(instructions), C.uint64_t(d.handle))
}

//export goProgress
func goProgress(handle C.uint64_t) { handles.get(uintptr(handle)).(*DB).progress() }

//export goForget
func goForget(handle C.uint64_t) {
	if f, ok := handles.remove(uintptr(handle)).(*callable); ok {
		f.lookups.free()
	}
}

// last returns the message of the last call that has failed, and the place of the fault.
func (d *DB) last() (message string, offset int, ok bool) {
	if d.p == nil {
		return "", 0, false
	}
	return C.GoString(C.sqlite3_errmsg(d.p)), int(C.sqlite3_error_offset(d.p)), true
}

// Stmt is a prepared statement.
type Stmt struct {
	db    *DB
	p     *C.sqlite3_stmt
	rows  C.rows
	cells []C.cell // of rows; C has them on its side too
	row   []C.cell // at which the statement is
	left  int      // rows after it
	ahead bool
	code  int32 // of the step after the last row, or 0
	err   error // of that step
}

const (
	maxAhead  = 64       // rows that are read at once
	bytesRead = 16 << 10 // room for their texts
)

// ReadAhead lets Step read several rows at once. Values have to be read as what Type says.
func (s *Stmt) ReadAhead() { s.ahead = true }

// ReadIntegers is ReadAhead for columns that are read by Int, whatever Type says.
func (s *Stmt) ReadIntegers() { s.ahead, s.rows.integers = true, 1 }

// chars returns the bytes of a text for a call of C, which must not keep them.
func chars(s string) *C.char { return (*C.char)(unsafe.Pointer(unsafe.StringData(s))) }

func (d *DB) prepare(text string) (s *Stmt, used int, code int32) {
	var p *C.sqlite3_stmt
	var n C.size_t
	if text == "" {
		return nil, 0, codeOK
	}
	code = int32(C.tp_prepare(d.account, d.p, chars(text), C.size_t(len(text)), &p, &n))
	if p != nil {
		s = &Stmt{db: d, p: p}
	}
	return s, int(n), code
}

// Close releases the statement.
func (s *Stmt) Close() {
	if s.p != nil {
		C.tp_finalize(s.db.account, s.p)
		C.free(pointer(uintptr(s.rows.cells)))
		C.free(pointer(uintptr(s.rows.bytes)))
		s.p = nil
	}
}

func (s *Stmt) step() int32 {
	n := s.Columns()
	if s.left > 0 {
		s.left--
		at := len(s.cells) - (s.left+1)*n
		s.row = s.cells[at : at+n]
		return codeRow
	}
	if s.code != 0 {
		code := s.code
		s.code = 0
		return code
	}
	r := &s.rows
	switch {
	case r.cells == 0:
		s.reserve(1)
	case s.ahead && r.got == r.wanted && r.wanted < maxAhead:
		s.reserve(int(4 * r.wanted))
	}
	return s.stepped(int32(C.tp_step(s.db.account, s.p, r)))
}

// start binds arguments to parameters and steps, from the beginning.
func (s *Stmt) start(parameters []int32, args []Value) int32 {
	s.left, s.code, s.err = 0, 0, nil
	if s.rows.cells == 0 {
		s.reserve(1)
	}
	return s.stepped(int32(C.tp_start(s.db.account, s.p, &s.rows, (*C.int32_t)(unsafe.SliceData(parameters)),
		(**C.cell)(unsafe.Pointer(unsafe.SliceData(args))), C.int(len(parameters)))))
}

// finish steps and resets the statement, unless that fails.
func (s *Stmt) finish() int32 { return int32(C.tp_finish(s.db.account, s.p)) }

// stepped is what step returns.
func (s *Stmt) stepped(code int32) int32 {
	r := &s.rows
	n := int(r.n)
	if r.got == 0 {
		return code
	}
	if s.code = code; code == codeRow {
		s.code = 0
	} else if code != codeDone {
		s.err = s.db.error(code, "")
	}
	s.cells = unsafe.Slice((*C.cell)(pointer(uintptr(r.cells))), int(r.got)*n)
	s.left = int(r.got) - 1
	s.row = s.cells[:n]
	return codeRow
}

// failed returns the error of step.
func (s *Stmt) failed(code int32) error {
	if err := s.err; err != nil {
		s.err = nil
		return err
	}
	return s.db.error(code, "")
}

// reserve makes room for rows.
func (s *Stmt) reserve(rows int) {
	r := &s.rows
	s.row = nil
	C.free(pointer(uintptr(r.cells)))
	r.n, r.wanted = C.int32_t(s.Columns()), C.int32_t(rows)
	r.cells = C.uint64_t(uintptr(C.malloc(C.size_t(max(1, rows*int(r.n))) * C.sizeof_cell)))
	if rows > 1 && r.bytes == 0 {
		r.bytes, r.size = C.uint64_t(uintptr(C.malloc(bytesRead))), bytesRead
	}
}

// Reset makes the statement run again from its beginning.
func (s *Stmt) Reset() {
	s.left, s.code, s.err = 0, 0, nil
	C.tp_reset(s.db.account, s.p)
}

// ReadOnly reports whether the statement changes no table.
func (s *Stmt) ReadOnly() bool { return C.sqlite3_stmt_readonly(s.p) != 0 }

// Columns is the number of columns of a row; 0 if the statement has no rows.
func (s *Stmt) Columns() int {
	if s.rows.cells != 0 {
		return int(s.rows.n)
	}
	return int(C.sqlite3_column_count(s.p))
}

// Name returns the name of a column.
func (s *Stmt) Name(i int) string { return C.GoString(C.sqlite3_column_name(s.p, C.int(i))) }

// Declared returns the declared type of the table's column behind a column, or "".
func (s *Stmt) Declared(i int) string { return C.GoString(C.sqlite3_column_decltype(s.p, C.int(i))) }

// Value returns a column of the row, until the next step.
func (s *Stmt) Value(i int) Value { return Value{&s.row[i]} }

// Type returns the type of a column of the row.
func (s *Stmt) Type(i int) Type { return s.Value(i).Type() }

// Int returns a column of the row as an integer.
func (s *Stmt) Int(i int) int64 { return s.Value(i).Int() }

// Float returns a column of the row as a real number.
func (s *Stmt) Float(i int) float64 { return s.Value(i).Float() }

// View returns a column of the row as text without a copy, until the next step.
func (s *Stmt) View(i int) string { return s.Value(i).View() }

// Parameter returns the number of a parameter, such as "$x"; 0 if there is none.
func (s *Stmt) Parameter(name string) int {
	p := C.CString(name)
	defer C.free(unsafe.Pointer(p))
	return int(C.sqlite3_bind_parameter_index(s.p, p))
}

// Parameters is the number of parameters.
func (s *Stmt) Parameters() int { return int(C.sqlite3_bind_parameter_count(s.p)) }

// ParameterName returns the name of a parameter with its prefix, or "".
func (s *Stmt) ParameterName(i int) string {
	return C.GoString(C.sqlite3_bind_parameter_name(s.p, C.int(i)))
}

func (s *Stmt) bind(i int, t Type, bits int64, bytes string) int32 {
	return int32(C.tp_bind(s.db.account, s.p, C.int(i), C.int(t), C.int64_t(bits), unsafe.Pointer(chars(bytes)), C.uint64_t(len(bytes))))
}

func (s *Stmt) bindNull(i int) int32           { return s.bind(i, Null, 0, "") }
func (s *Stmt) bindInt(i int, v int64) int32   { return s.bind(i, Integer, v, "") }
func (s *Stmt) bindText(i int, v string) int32 { return s.bind(i, TextOf, 0, v) }

func (s *Stmt) bindFloat(i int, v float64) int32 {
	return s.bind(i, Real, int64(math.Float64bits(v)), "")
}

func (s *Stmt) bindBlob(i int, v []byte) int32 {
	return s.bind(i, Blob, 0, unsafe.String(unsafe.SliceData(v), len(v)))
}

func (s *Stmt) bindValue(i int, v Value) int32 {
	if t := v.Type(); t == Integer || t == Real {
		return s.bind(i, t, int64(v.cell.bits), "")
	}
	return s.bind(i, C.CELL_VALUE, int64(v.cell.value), "")
}

func (s *Stmt) bindPointer(i int, id, kind uintptr) int32 {
	return int32(C.tp_bind_pointer(s.p, C.int(i), C.uint64_t(id), (*C.char)(pointer(kind))))
}

// allocate returns n bytes that no database takes.
func allocate(n int) uintptr {
	return uintptr(C.malloc(C.size_t(n)))
}

// release releases memory of allocate.
func release(p uintptr) { C.free(pointer(p)) }

// trim gives the system the memory that was released.
func trim() { C.trim() }

// configured is whether SQLite's memory is counted, which has to be before all that allocates.
var configured = func() bool {
	if code := C.tp_configure(); code != codeOK {
		panic(fmt.Sprintf("sqlite: configuring memory: code %d", code))
	}
	return true
}()

// scratch is memory of a database for the texts of results, until the next call.
type scratch struct {
	db     *DB
	chunks [][]byte
	free   []byte // of the last chunk
}

const (
	scratchChunk = 1 << 10
	scratchKept  = 1 << 16 // larger chunks are not kept
)

// reset makes all memory free.
func (t *scratch) reset() {
	if len(t.chunks) > 1 || len(t.chunks) == 1 && len(t.chunks[0]) > scratchKept {
		t.release()
	}
	if len(t.chunks) == 1 {
		t.free = t.chunks[0]
	}
}

func (t *scratch) release() {
	for _, c := range t.chunks {
		C.sqlite3_free(unsafe.Pointer(&c[0]))
	}
	t.chunks, t.free = nil, nil
}

// copied returns the address of a copy, or 0 if there may not be so much memory.
func (t *scratch) copied(s string) uintptr {
	if len(s) == 0 {
		return emptyText
	}
	if len(s) > len(t.free) {
		n := max(scratchChunk, len(s))
		p := C.tp_malloc(t.db.account, C.uint64_t(n))
		if p == nil {
			return 0
		}
		t.free = unsafe.Slice((*byte)(p), n)
		t.chunks = append(t.chunks, t.free)
	}
	p := uintptr(unsafe.Pointer(&t.free[0]))
	t.free = t.free[copy(t.free, s):]
	return p
}
