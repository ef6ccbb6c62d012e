// Package sqlite is SQLite for functions and virtual tables in Go. It is a thin layer over the C API; see
// https://sqlite.org/c3ref for what the calls mean.
//
// On Linux with cgo, SQLite is C code (c*). Calls between C and Go are slow, so arguments, results and rows are packed into cells,
// and C reads the columns of a Columnar cursor by itself. Elsewhere, and with the tag gosqlite, SQLite is the Go code that
// modernc.org/sqlite/lib makes of it (go_*): nothing is boxed or copied on the way. All other files are for both.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite/scheduler"
)

// DB is a database in memory. Only Interrupt may be called by another goroutine than the one that uses it.
type DB struct {
	connection
	fail   error // the Go error behind the last error of a callback
	memory *account

	pool    *Pool // nil if it shares no memory
	settled int64 // what it takes of the pool

	original  original
	functions map[string]*callable // by name and number of arguments
	authorize func(a Action, first, second string) bool
	progress  func()
}

// Open opens an empty database that never uses files. It has no virtual tables but those of JSON and of PRAGMAs: the others
// reach pages of the database, or are not in Trace Processor.
func Open() (*DB, error) {
	db := &DB{functions: map[string]*callable{}}
	code := db.open()
	if code != codeOK {
		return nil, errors.Join(db.error(code, "SQLite cannot be opened"), db.Close())
	}
	return db, db.Exec("PRAGMA temp_store = MEMORY")
}

// Close closes the database, unless it is nil or closed. All statements must be closed before.
func (d *DB) Close() error {
	if d == nil || d.closed() {
		return nil
	}
	if err := d.original.close(); err != nil {
		return err
	}
	code := d.close()
	if d.pool != nil {
		d.pool.used.Add(-d.settled)
		d.settled = 0
	}
	if code != codeOK {
		return fmt.Errorf("closing SQLite: code %d", code)
	}
	return nil
}

// Interrupt makes the running statement fail soon. Any goroutine may call it before Close.
func (d *DB) Interrupt() { d.interrupt() }

// During calls do, which runs statements, and interrupts the database when ctx ends. It returns the cause then. Long statements
// take a place of the task of ctx.
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
	end := d.watch(ctx)
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

// Authorize makes statements fail to compile if they do what allow denies. It is asked only about the actions that have a name.
func (d *DB) Authorize(allow func(a Action, first, second string) bool) {
	d.authorize = allow
	d.watchActions()
}

// allowed is the answer of the authorizer.
func (d *DB) allowed(a Action, texts func() (first, second string)) int32 {
	switch a {
	case Attach, Detach, Pragma, CreateVTable, CallFunction:
		if first, second := texts(); !d.authorize(a, first, second) {
			return deny
		}
	}
	return codeOK
}

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
func (d *DB) error(code int32, fallback string) error {
	e := &Error{Code: int(code), Message: fallback, Offset: -1}
	if text, offset, ok := d.last(); ok {
		e.Message, e.Offset = text, offset
	}
	e.Cause, d.fail = d.fail, nil
	if err := d.exceeded(); err != nil {
		e.Cause, e.Message = err, err.Error()
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

// Prepare compiles the first statement of a text, and returns the rest of the text. The statement is nil if there is only
// white space.
func (d *DB) Prepare(text string) (s *Stmt, rest string, err error) {
	d.fail = nil
	s, used, code := d.prepare(text)
	if code != codeOK {
		return nil, "", d.error(code, "")
	}
	rest = text[used:]
	if s == nil && rest != "" && rest != text {
		return d.Prepare(rest)
	}
	if s == nil {
		return nil, "", nil
	}
	return s, rest, nil
}

// Step goes to the next row and reports whether there is one.
func (s *Stmt) Step() (bool, error) { return s.result(s.step()) }

// Start runs the statement from its beginning, with arguments for the parameters of these numbers, of which 0 is none. It goes
// to the first row and reports whether there is one.
func (s *Stmt) Start(parameters []int32, args []Value) (bool, error) {
	return s.result(s.start(parameters, args))
}

// Finish reports whether there is another row, and resets the statement.
func (s *Stmt) Finish() (bool, error) {
	more, err := s.result(s.finish())
	if err != nil {
		s.Reset()
	}
	return more, err
}

func (s *Stmt) result(code int32) (bool, error) {
	switch code {
	case codeRow:
		return true, nil
	case codeDone:
		return false, nil
	default:
		return false, s.failed(code)
	}
}

// Numbers returns the numbers of parameters, 0 for those that the statement does not have.
func (s *Stmt) Numbers(names []string) []int32 {
	numbers := make([]int32, len(names))
	for i, name := range names {
		numbers[i] = int32(s.Parameter(name))
	}
	return numbers
}

// Text returns a column of the row as text.
func (s *Stmt) Text(i int) string { return string([]byte(s.View(i))) }

// Blob returns the bytes of a column of the row.
func (s *Stmt) Blob(i int) []byte { return s.Value(i).Blob() }

// Any returns a column of the row as int64, float64, string, []byte or nil.
func (s *Stmt) Any(i int) any { return s.Value(i).Any() }

// Bind sets a parameter, the first of which is 1, to a Value, nil, a number, bool, string or []byte.
func (s *Stmt) Bind(i int, v any) error {
	var code int32
	switch v := v.(type) {
	case Value:
		code = s.bindValue(i, v)
	case nil:
		code = s.bindNull(i)
	case int64:
		code = s.bindInt(i, v)
	case int:
		code = s.bindInt(i, int64(v))
	case bool:
		var one int64
		if v {
			one = 1
		}
		code = s.bindInt(i, one)
	case float64:
		code = s.bindFloat(i, v)
	case string:
		code = s.bindText(i, v)
	case []byte:
		code = s.bindBlob(i, v)
	default:
		return fmt.Errorf("a parameter of type %T", v)
	}
	if code != codeOK {
		return s.db.error(code, "")
	}
	return nil
}

// BindPointer sets a parameter to a Go value that Value.Pointer of the same kind can see; for SQL it is NULL.
func (s *Stmt) BindPointer(i int, v any, kind string) error {
	if code := s.bindPointer(i, handles.add(v), static(kind)); code != codeOK {
		return s.db.error(code, "")
	}
	return nil
}

// instructions of SQLite are between two calls of its progress handler, some 0.2 ms.
const instructions = 10_000

// watch makes statements wait for a place of the task in ctx and settle what they take of the pool, if there are any, until the function that it
// returns is called.
func (d *DB) watch(ctx context.Context) (end func()) {
	task := scheduler.From(ctx)
	if task == nil && d.pool == nil {
		return func() {}
	}
	d.progress = func() {
		if d.settle() {
			d.exceed(overPool)
		}
		if task != nil {
			task.Take(ctx.Done())
		}
	}
	d.watchProgress(instructions)
	return func() {
		d.watchProgress(0)
		d.memory.brief = 0
		d.settle()
	}
}
