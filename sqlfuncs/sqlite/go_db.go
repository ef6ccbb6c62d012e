//go:build !cgo || !linux || gosqlite

package sqlite

import (
	"fmt"
	"maps"
	"math"
	"sync"
	"sync/atomic"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// connection is SQLite's side of a DB.
type connection struct {
	tls  *libc.TLS
	p    uintptr
	kept map[any]struct{} // Go values that SQLite's structures point to
}

func (d *DB) open() int32 {
	tls := libc.NewTLS()
	d.connection = connection{tls: tls, kept: map[any]struct{}{}}
	d.memory = &account{limit: math.MaxInt64}
	changeAccounts(func(byThread map[*libc.TLS]*DB) { byThread[tls] = d })
	name := allocated(tls, ":memory:")
	to := lib.Xsqlite3_malloc(tls, 8)
	code := lib.Xsqlite3_open_v2(tls, name, to, lib.SQLITE_OPEN_READWRITE|lib.SQLITE_OPEN_CREATE|lib.SQLITE_OPEN_NOMUTEX, 0)
	d.p = *(*uintptr)(pointer(to))
	lib.Xsqlite3_free(tls, name)
	lib.Xsqlite3_free(tls, to)
	if code == codeOK {
		lib.Xsqlite3_extended_result_codes(tls, d.p, 1)
		lib.Xsqlite3_drop_modules(tls, d.p, 0)
		code = limitDigits(tls, d.p)
	}
	return code
}

// digits are those of reals that become texts, as in Trace Processor's SQLite.
const digits = 15

func limitDigits(tls *libc.TLS, db uintptr) int32 {
	const size = 2 * 8
	list := tls.Alloc(size)
	defer tls.Free(size)
	return lib.Xsqlite3_db_config(tls, db, lib.SQLITE_DBCONFIG_FP_DIGITS, libc.VaList(list, int32(digits), uintptr(0)))
}

func (d *DB) closed() bool { return d.tls == nil }

func (d *DB) close() int32 {
	code := lib.Xsqlite3_close_v2(d.tls, d.p)
	changeAccounts(func(byThread map[*libc.TLS]*DB) { delete(byThread, d.tls) })
	d.tls.Close()
	d.p, d.tls = 0, nil
	return code
}

func (d *DB) interrupt() {
	if d.p != 0 {
		tls := libc.NewTLS()
		defer tls.Close()
		lib.Xsqlite3_interrupt(tls, d.p)
	}
}

// Interrupted reports whether the running statement shall fail soon. Functions that take long ask it.
func (d *DB) Interrupted() bool { return lib.Xsqlite3_is_interrupted(d.tls, d.p) != 0 }

// Limit sets a limit of sqlite3_limit and returns the one before.
func (d *DB) Limit(id Limit, value int) int {
	return int(lib.Xsqlite3_limit(d.tls, d.p, int32(id), int32(value)))
}

func (d *DB) watchActions() {
	lib.Xsqlite3_set_authorizer(d.tls, d.p, authorizer, uintptr(unsafe.Pointer(d)))
}

var authorizer = function(func(_ *libc.TLS, data uintptr, action int32, first, second, _, _ uintptr) int32 {
	return (*DB)(pointer(data)).allowed(Action(action), func() (string, string) { return stringAt(first), stringAt(second) })
})

func (d *DB) watchProgress(instructions int32) {
	if instructions == 0 {
		lib.Xsqlite3_progress_handler(d.tls, d.p, 0, 0, 0)
		return
	}
	lib.Xsqlite3_progress_handler(d.tls, d.p, instructions, progress, uintptr(unsafe.Pointer(d)))
}

var progress = function(func(_ *libc.TLS, data uintptr) int32 {
	(*DB)(pointer(data)).progress()
	return 0
})

// last returns the message of the last call that has failed, and the place of the fault.
func (d *DB) last() (message string, offset int, ok bool) {
	if d.p == 0 {
		return "", 0, false
	}
	return stringAt(lib.Xsqlite3_errmsg(d.tls, d.p)), int(lib.Xsqlite3_error_offset(d.tls, d.p)), true
}

// Stmt is a prepared statement.
type Stmt struct {
	db *DB
	p  uintptr
}

func (d *DB) prepare(text string) (s *Stmt, used int, code int32) {
	sql := allocated(d.tls, text)
	if sql == 0 {
		return nil, 0, codeNoMemory
	}
	defer lib.Xsqlite3_free(d.tls, sql)
	to := lib.Xsqlite3_malloc(d.tls, 16)
	defer lib.Xsqlite3_free(d.tls, to)
	tail := to + unsafe.Sizeof(to)
	if code := lib.Xsqlite3_prepare_v2(d.tls, d.p, sql, int32(len(text)), to, tail); code != codeOK {
		return nil, 0, code
	}
	if p := *(*uintptr)(pointer(to)); p != 0 {
		s = &Stmt{d, p}
	}
	return s, int(*(*uintptr)(pointer(tail)) - sql), codeOK
}

// Close releases the statement.
func (s *Stmt) Close() {
	if s.p != 0 {
		lib.Xsqlite3_finalize(s.db.tls, s.p)
		s.p = 0
	}
}

// ReadAhead lets Step read several rows at once, where that helps. Values have to be read as what Type says.
func (s *Stmt) ReadAhead() {}

// ReadIntegers is ReadAhead for columns that are read by Int, whatever Type says.
func (s *Stmt) ReadIntegers() {}

func (s *Stmt) step() int32 { return lib.Xsqlite3_step(s.db.tls, s.p) }

// start binds arguments to parameters and steps, from the beginning.
func (s *Stmt) start(parameters []int32, args []Value) int32 {
	s.Reset()
	for i, n := range parameters {
		if n > 0 {
			if code := s.bindValue(int(n), args[i]); code != codeOK {
				return code
			}
		}
	}
	return s.step()
}

// finish steps and resets the statement, unless that fails.
func (s *Stmt) finish() int32 {
	code := s.step()
	if code == codeRow || code == codeDone {
		s.Reset()
	}
	return code
}

// failed returns the error of step.
func (s *Stmt) failed(code int32) error { return s.db.error(code, "") }

// Reset makes the statement run again from its beginning.
func (s *Stmt) Reset() { lib.Xsqlite3_reset(s.db.tls, s.p) }

// ReadOnly reports whether the statement changes no table.
func (s *Stmt) ReadOnly() bool { return lib.Xsqlite3_stmt_readonly(s.db.tls, s.p) != 0 }

// Columns is the number of columns of a row; 0 if the statement has no rows.
func (s *Stmt) Columns() int { return int(lib.Xsqlite3_column_count(s.db.tls, s.p)) }

// Name returns the name of a column.
func (s *Stmt) Name(i int) string {
	return stringAt(lib.Xsqlite3_column_name(s.db.tls, s.p, int32(i)))
}

// Declared returns the declared type of the table's column behind a column, or "".
func (s *Stmt) Declared(i int) string {
	return stringAt(lib.Xsqlite3_column_decltype(s.db.tls, s.p, int32(i)))
}

// Value returns a column of the row, until the next step.
func (s *Stmt) Value(i int) Value {
	return Value{s.db.tls, lib.Xsqlite3_column_value(s.db.tls, s.p, int32(i))}
}

// Type returns the type of a column of the row.
func (s *Stmt) Type(i int) Type { return Type(lib.Xsqlite3_column_type(s.db.tls, s.p, int32(i))) }

// Int returns a column of the row as an integer.
func (s *Stmt) Int(i int) int64 { return lib.Xsqlite3_column_int64(s.db.tls, s.p, int32(i)) }

// Float returns a column of the row as a real number.
func (s *Stmt) Float(i int) float64 { return lib.Xsqlite3_column_double(s.db.tls, s.p, int32(i)) }

// View returns a column of the row as text without a copy, until the next step.
func (s *Stmt) View(i int) string {
	p := lib.Xsqlite3_column_text(s.db.tls, s.p, int32(i))
	return viewAt(p, int(lib.Xsqlite3_column_bytes(s.db.tls, s.p, int32(i))))
}

// Parameter returns the number of a parameter, such as "$x"; 0 if there is none.
func (s *Stmt) Parameter(name string) int {
	p := allocated(s.db.tls, name)
	defer lib.Xsqlite3_free(s.db.tls, p)
	return int(lib.Xsqlite3_bind_parameter_index(s.db.tls, s.p, p))
}

// Parameters is the number of parameters.
func (s *Stmt) Parameters() int { return int(lib.Xsqlite3_bind_parameter_count(s.db.tls, s.p)) }

// ParameterName returns the name of a parameter with its prefix, or "".
func (s *Stmt) ParameterName(i int) string {
	return stringAt(lib.Xsqlite3_bind_parameter_name(s.db.tls, s.p, int32(i)))
}

func (s *Stmt) bindNull(i int) int32 { return lib.Xsqlite3_bind_null(s.db.tls, s.p, int32(i)) }

func (s *Stmt) bindInt(i int, v int64) int32 {
	return lib.Xsqlite3_bind_int64(s.db.tls, s.p, int32(i), v)
}

func (s *Stmt) bindFloat(i int, v float64) int32 {
	return lib.Xsqlite3_bind_double(s.db.tls, s.p, int32(i), v)
}

func (s *Stmt) bindText(i int, v string) int32 {
	p := allocated(s.db.tls, v)
	if p == 0 {
		return codeNoMemory
	}
	return lib.Xsqlite3_bind_text(s.db.tls, s.p, int32(i), p, int32(len(v)), freeFunction)
}

func (s *Stmt) bindBlob(i int, v []byte) int32 {
	p := allocated(s.db.tls, string(v))
	if p == 0 {
		return codeNoMemory
	}
	return lib.Xsqlite3_bind_blob(s.db.tls, s.p, int32(i), p, int32(len(v)), freeFunction)
}

func (s *Stmt) bindValue(i int, v Value) int32 {
	return lib.Xsqlite3_bind_value(s.db.tls, s.p, int32(i), v.p)
}

func (s *Stmt) bindPointer(i int, id, kind uintptr) int32 {
	return lib.Xsqlite3_bind_pointer(s.db.tls, s.p, int32(i), id, kind, forget)
}

// function returns a Go function as SQLite calls it.
func function[T any](f T) uintptr { return *(*uintptr)(unsafe.Pointer(&f)) }

// funcAt returns a function of SQLite as Go calls it.
func funcAt[T any](address uintptr) T { return *(*T)(unsafe.Pointer(&address)) }

// allocated returns a copy of a text, which ends with a zero byte, in memory of sqlite3_malloc; 0 if a long text needs more
// memory than there may be.
func allocated(tls *libc.TLS, s string) uintptr {
	p := lib.Xsqlite3_malloc64(tls, uint64(len(s)+1))
	if p != 0 {
		copyTo(p, s)
	}
	return p
}

// memoryTLS serves calls that only allocate, of one goroutine at a time.
var (
	memoryTLS = newMemoryTLS()
	memoryMu  sync.Mutex
)

func newMemoryTLS() *libc.TLS {
	tls := libc.NewTLS()
	countMemory(tls)
	return tls
}

// allocate returns n bytes that no database takes.
func allocate(n int) uintptr {
	memoryMu.Lock()
	defer memoryMu.Unlock()
	p := lib.Xsqlite3_malloc64(memoryTLS, uint64(n))
	if p == 0 {
		panic("sqlite: out of memory")
	}
	return p
}

// release releases memory of allocate.
func release(p uintptr) {
	memoryMu.Lock()
	defer memoryMu.Unlock()
	lib.Xsqlite3_free(memoryTLS, p)
}

// trim has nothing to do: what is released is the system's at once.
func trim() {}

// accounts are the open databases, by the thread that SQLite thinks it runs on: allocators get nothing else. Each map is
// never changed.
var accounts = struct {
	of atomic.Pointer[map[*libc.TLS]*DB]
	mu sync.Mutex
}{}

func accountOf(tls *libc.TLS) *DB {
	if byThread := accounts.of.Load(); byThread != nil {
		return (*byThread)[tls]
	}
	return nil
}

// changeAccounts replaces the map of accounts.
func changeAccounts(change func(map[*libc.TLS]*DB)) {
	accounts.mu.Lock()
	defer accounts.mu.Unlock()
	next := map[*libc.TLS]*DB{}
	if of := accounts.of.Load(); of != nil {
		next = maps.Clone(*of)
	}
	change(next)
	accounts.of.Store(&next)
}

// mustServe is the size of requests, in bytes, that are always served: few callers expect that they fail. If there are too
// many of them, the interruption ends the statement.
const mustServe = 4096

// take counts n more bytes, and reports whether there may be so many.
func (d *DB) take(n int64) bool {
	a := d.memory
	a.used += n
	if n <= 0 || a.used+a.brief <= a.limit {
		return true
	}
	d.exceed(overLimit)
	if n < mustServe {
		return true
	}
	a.used -= n
	return false
}

// allocator are SQLite's own functions for memory.
var allocator struct {
	malloc  func(*libc.TLS, int32) uintptr
	realloc func(*libc.TLS, uintptr, int32) uintptr
	free    func(*libc.TLS, uintptr)
	size    func(*libc.TLS, uintptr) int32
}

func countedMalloc(tls *libc.TLS, n int32) uintptr {
	d := accountOf(tls)
	if d == nil {
		return allocator.malloc(tls, n)
	}
	if !d.take(int64(n)) {
		return 0
	}
	p := allocator.malloc(tls, n)
	if p == 0 {
		d.memory.used -= int64(n)
	}
	return p
}

func countedRealloc(tls *libc.TLS, p uintptr, n int32) uintptr {
	d := accountOf(tls)
	if d == nil {
		return allocator.realloc(tls, p, n)
	}
	more := int64(n) - int64(allocator.size(tls, p))
	if !d.take(more) {
		return 0
	}
	q := allocator.realloc(tls, p, n)
	if q == 0 {
		d.memory.used -= more
	}
	return q
}

func countedFree(tls *libc.TLS, p uintptr) {
	if d := accountOf(tls); d != nil {
		d.memory.used -= int64(allocator.size(tls, p))
	}
	allocator.free(tls, p)
}

// countMemory makes SQLite count memory. It must be called before all that allocates.
func countMemory(tls *libc.TLS) {
	methods := tls.Alloc(int(unsafe.Sizeof(lib.Tsqlite3_mem_methods{})))
	defer tls.Free(int(unsafe.Sizeof(lib.Tsqlite3_mem_methods{})))
	list := tls.Alloc(8)
	defer tls.Free(8)
	configure := func(option int32) {
		if code := lib.Xsqlite3_config(tls, option, libc.VaList(list, methods)); code != codeOK {
			panic(fmt.Sprintf("sqlite: configuring memory: code %d", code))
		}
	}
	configure(lib.SQLITE_CONFIG_GETMALLOC)
	m := (*lib.Tsqlite3_mem_methods)(pointer(methods))
	allocator.malloc = funcAt[func(*libc.TLS, int32) uintptr](m.FxMalloc)
	allocator.realloc = funcAt[func(*libc.TLS, uintptr, int32) uintptr](m.FxRealloc)
	allocator.free = funcAt[func(*libc.TLS, uintptr)](m.FxFree)
	allocator.size = funcAt[func(*libc.TLS, uintptr) int32](m.FxSize)
	m.FxMalloc, m.FxRealloc, m.FxFree = function(countedMalloc), function(countedRealloc), function(countedFree)
	configure(lib.SQLITE_CONFIG_MALLOC)
}
