// Package sqlite is SQLite without cgo, for functions and virtual tables in Go that are called once a row: nothing is
// boxed or copied on the way. It is a thin layer over the C API as modernc.org/sqlite/lib translates it; see
// https://sqlite.org/c3ref for what the calls mean.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// DB is a database in memory. Only Interrupt may be called by another goroutine than the one that uses it.
type DB struct {
	tls  *libc.TLS
	p    uintptr
	kept map[any]struct{} // Go values that SQLite's structures point to
	fail error            // the Go error behind the last error of a callback

	memory *account

	functions map[string]*callable // by name and number of arguments
	authorize func(a Action, first, second string) bool
	progress  func()
}

// Open opens an empty database that never uses files. It has no virtual tables but those of JSON and of PRAGMAs.
func Open() (*DB, error) {
	tls := libc.NewTLS()
	db := &DB{tls: tls, kept: map[any]struct{}{}, functions: map[string]*callable{}}
	openAccount(db)
	name := allocated(tls, ":memory:")
	to := lib.Xsqlite3_malloc(tls, 8)
	rc := lib.Xsqlite3_open_v2(tls, name, to, lib.SQLITE_OPEN_READWRITE|lib.SQLITE_OPEN_CREATE|lib.SQLITE_OPEN_NOMUTEX, 0)
	db.p = *(*uintptr)(pointer(to))
	lib.Xsqlite3_free(tls, name)
	lib.Xsqlite3_free(tls, to)
	if rc != lib.SQLITE_OK {
		return nil, errors.Join(db.error(rc, "SQLite cannot be opened"), db.Close())
	}
	lib.Xsqlite3_extended_result_codes(tls, db.p, 1)
	lib.Xsqlite3_drop_modules(tls, db.p, 0) // they reach pages of the database, or are not in Trace Processor
	return db, db.Exec("PRAGMA temp_store = MEMORY")
}

// Close closes the database, unless it is nil or closed. All statements must be closed before.
func (d *DB) Close() error {
	if d == nil || d.tls == nil {
		return nil
	}
	rc := lib.Xsqlite3_close_v2(d.tls, d.p)
	d.memory.close()
	d.tls.Close()
	d.p, d.tls = 0, nil
	if rc != lib.SQLITE_OK {
		return fmt.Errorf("closing SQLite: code %d", rc)
	}
	return nil
}

// Interrupt makes the running statement fail soon. Any goroutine may call it before Close.
func (d *DB) Interrupt() {
	tls := libc.NewTLS()
	defer tls.Close()
	lib.Xsqlite3_interrupt(tls, d.p)
}

// Interrupted reports whether the running statement shall fail soon. Functions that take long ask it.
func (d *DB) Interrupted() bool { return lib.Xsqlite3_is_interrupted(d.tls, d.p) != 0 }

// During calls do, which runs statements, and interrupts the database when ctx ends. It returns the cause then. Long statements
// take the turn of ctx.
func (d *DB) During(ctx context.Context, do func() error) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	d.Begin()
	done, stopped := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		again := time.NewTicker(10 * time.Millisecond) // SQLite ignores an interruption between two statements
		defer again.Stop()
		for {
			d.Interrupt()
			select {
			case <-done:
				return
			case <-again.C:
			}
		}
	})
	end := d.takeTurns(ctx)
	err := do()
	end()
	close(done)
	if !stop() {
		<-stopped
	}
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

// Limit sets a limit of sqlite3_limit and returns the one before.
func (d *DB) Limit(id Limit, value int) int {
	return int(lib.Xsqlite3_limit(d.tls, d.p, int32(id), int32(value)))
}

// Limit names a limit.
type Limit int32

// The limits that sessions set.
const (
	LimitLength    Limit = lib.SQLITE_LIMIT_LENGTH
	LimitSQLLength Limit = lib.SQLITE_LIMIT_SQL_LENGTH
	LimitCompound  Limit = lib.SQLITE_LIMIT_COMPOUND_SELECT
	LimitAttached  Limit = lib.SQLITE_LIMIT_ATTACHED
)

// Action is something that a statement does, as sqlite3_set_authorizer names it.
type Action int32

// The actions that sessions look at: with their texts.
const (
	Attach       Action = lib.SQLITE_ATTACH        // file
	Detach       Action = lib.SQLITE_DETACH        // database
	Pragma       Action = lib.SQLITE_PRAGMA        // name, argument
	CreateVTable Action = lib.SQLITE_CREATE_VTABLE // table, module
	CallFunction Action = lib.SQLITE_FUNCTION      // "", name
)

// Authorize makes statements fail to compile if they do what allow denies. It is asked only about the actions above.
func (d *DB) Authorize(allow func(a Action, first, second string) bool) {
	d.authorize = allow
	lib.Xsqlite3_set_authorizer(d.tls, d.p, authorizer, uintptr(unsafe.Pointer(d)))
}

var authorizer = function(func(_ *libc.TLS, data uintptr, action int32, first, second, _, _ uintptr) int32 {
	switch a := Action(action); a {
	case Attach, Detach, Pragma, CreateVTable, CallFunction:
		if !(*DB)(pointer(data)).authorize(a, stringAt(first), stringAt(second)) {
			return lib.SQLITE_DENY
		}
	}
	return lib.SQLITE_OK
})

// Error is an error of SQLite.
type Error struct {
	Code    int // an extended result code
	Message string
	Offset  int   // of the fault in the statement, in bytes; -1 if it is not known
	Cause   error // the error of the Go function or table, or nil
}

func (e *Error) Error() string { return e.Message }
func (e *Error) Unwrap() error { return e.Cause }

// error returns the error of the last call.
func (d *DB) error(rc int32, fallback string) error {
	e := &Error{Code: int(rc), Message: fallback, Offset: -1}
	if d.p != 0 {
		e.Message = stringAt(lib.Xsqlite3_errmsg(d.tls, d.p))
		e.Offset = int(lib.Xsqlite3_error_offset(d.tls, d.p))
	}
	e.Cause, d.fail = d.fail, nil
	if d.memory.exceeded {
		e.Cause = ErrMemory(d.memory.limit)
		e.Message = e.Cause.Error()
	}
	return e
}

// Exec runs statements and drops their rows.
func (d *DB) Exec(text string) error {
	for {
		s, rest, err := d.Prepare(text)
		if err != nil {
			return err
		}
		if s == nil {
			return nil
		}
		for row := true; row && err == nil; {
			row, err = s.Step()
		}
		s.Close()
		if err != nil {
			return err
		}
		text = rest
	}
}

// Stmt is a prepared statement.
type Stmt struct {
	db *DB
	p  uintptr
}

// Prepare compiles the first statement of a text, and returns the rest of the text. The statement is nil if there is only
// white space.
func (d *DB) Prepare(text string) (s *Stmt, rest string, err error) {
	d.fail = nil
	sql := allocated(d.tls, text)
	if sql == 0 {
		return nil, "", d.error(lib.SQLITE_NOMEM, "")
	}
	defer lib.Xsqlite3_free(d.tls, sql)
	to := lib.Xsqlite3_malloc(d.tls, 16)
	defer lib.Xsqlite3_free(d.tls, to)
	tail := to + unsafe.Sizeof(to)
	if rc := lib.Xsqlite3_prepare_v2(d.tls, d.p, sql, int32(len(text)), to, tail); rc != lib.SQLITE_OK {
		return nil, "", d.error(rc, "")
	}
	rest = text[*(*uintptr)(pointer(tail))-sql:]
	if p := *(*uintptr)(pointer(to)); p != 0 {
		return &Stmt{d, p}, rest, nil
	}
	if rest != "" && rest != text {
		return d.Prepare(rest)
	}
	return nil, "", nil
}

// Close releases the statement.
func (s *Stmt) Close() {
	if s.p != 0 {
		lib.Xsqlite3_finalize(s.db.tls, s.p)
		s.p = 0
	}
}

// Step goes to the next row and reports whether there is one.
func (s *Stmt) Step() (bool, error) {
	switch rc := lib.Xsqlite3_step(s.db.tls, s.p); rc {
	case lib.SQLITE_ROW:
		return true, nil
	case lib.SQLITE_DONE:
		return false, nil
	default:
		return false, s.db.error(rc, "")
	}
}

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
	n := int(lib.Xsqlite3_column_bytes(s.db.tls, s.p, int32(i)))
	b := bytesAt(p, n)
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// Text returns a column of the row as text.
func (s *Stmt) Text(i int) string { return string([]byte(s.View(i))) }

// Blob returns the bytes of a column of the row.
func (s *Stmt) Blob(i int) []byte { return s.Value(i).Blob() }

// Any returns a column of the row as int64, float64, string, []byte or nil.
func (s *Stmt) Any(i int) any {
	switch s.Type(i) {
	case Integer:
		return s.Int(i)
	case Real:
		return s.Float(i)
	case TextOf:
		return s.Text(i)
	case Blob:
		return s.Blob(i)
	}
	return nil
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

// Bind sets a parameter, the first of which is 1, to a Value, nil, a number, bool, string or []byte.
func (s *Stmt) Bind(i int, v any) error {
	tls, n := s.db.tls, int32(i)
	var rc int32
	switch v := v.(type) {
	case Value:
		rc = lib.Xsqlite3_bind_value(tls, s.p, n, v.p)
	case nil:
		rc = lib.Xsqlite3_bind_null(tls, s.p, n)
	case int64:
		rc = lib.Xsqlite3_bind_int64(tls, s.p, n, v)
	case int:
		rc = lib.Xsqlite3_bind_int64(tls, s.p, n, int64(v))
	case bool:
		var one int64
		if v {
			one = 1
		}
		rc = lib.Xsqlite3_bind_int64(tls, s.p, n, one)
	case float64:
		rc = lib.Xsqlite3_bind_double(tls, s.p, n, v)
	case string:
		p := allocated(tls, v)
		if p == 0 {
			return ErrMemory(s.db.memory.limit)
		}
		rc = lib.Xsqlite3_bind_text(tls, s.p, n, p, int32(len(v)), freeFunction)
	case []byte:
		p := allocated(tls, string(v))
		if p == 0 {
			return ErrMemory(s.db.memory.limit)
		}
		rc = lib.Xsqlite3_bind_blob(tls, s.p, n, p, int32(len(v)), freeFunction)
	default:
		return fmt.Errorf("a parameter of type %T", v)
	}
	if rc != lib.SQLITE_OK {
		return s.db.error(rc, "")
	}
	return nil
}

// BindPointer sets a parameter to a Go value that Value.Pointer of the same kind can see; for SQL it is NULL.
func (s *Stmt) BindPointer(i int, v any, kind string) error {
	if rc := lib.Xsqlite3_bind_pointer(s.db.tls, s.p, int32(i), handles.add(v), static(kind), forget); rc != lib.SQLITE_OK {
		return s.db.error(rc, "")
	}
	return nil
}
