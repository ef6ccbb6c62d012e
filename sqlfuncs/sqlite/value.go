package sqlite

import (
	"fmt"
	"sync"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// Type is the type of a value.
type Type int32

// The types of SQLite.
const (
	Integer Type = lib.SQLITE_INTEGER
	Real    Type = lib.SQLITE_FLOAT
	TextOf  Type = lib.SQLITE_TEXT
	Blob    Type = lib.SQLITE_BLOB
	Null    Type = lib.SQLITE_NULL
)

func (t Type) String() string {
	switch t {
	case Integer:
		return "INTEGER"
	case Real:
		return "REAL"
	case TextOf:
		return "TEXT"
	case Blob:
		return "BLOB"
	}
	return "NULL"
}

// Value is an argument of a function or of a virtual table's filter. It is valid during the call.
type Value struct {
	tls *libc.TLS
	p   uintptr
}

// Type returns the type of the value.
func (v Value) Type() Type { return Type(lib.Xsqlite3_value_type(v.tls, v.p)) }

// NumericType returns the type of the value, or that of the number which a text holds.
func (v Value) NumericType() Type { return Type(lib.Xsqlite3_value_numeric_type(v.tls, v.p)) }

// IsNull reports whether the value is NULL. A value of Pointer is NULL too.
func (v Value) IsNull() bool { return v.Type() == Null }

// Int returns the value as an integer, as CAST does.
func (v Value) Int() int64 { return lib.Xsqlite3_value_int64(v.tls, v.p) }

// Float returns the value as a real number, as CAST does.
func (v Value) Float() float64 { return lib.Xsqlite3_value_double(v.tls, v.p) }

// Text returns the value as text, as CAST does.
func (v Value) Text() string { return string(v.text()) }

// text is Text without a copy. It is valid until the value is converted.
func (v Value) text() []byte {
	p := lib.Xsqlite3_value_text(v.tls, v.p)
	if p == 0 {
		return nil
	}
	return bytesAt(p, int(lib.Xsqlite3_value_bytes(v.tls, v.p)))
}

// View returns the value as text without a copy, which is valid during the call unless another method converts the value.
func (v Value) View() string {
	b := v.text()
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// Blob returns a copy of the bytes of a BLOB or of a text.
func (v Value) Blob() []byte {
	p := lib.Xsqlite3_value_blob(v.tls, v.p)
	return append([]byte{}, bytesAt(p, int(lib.Xsqlite3_value_bytes(v.tls, v.p)))...)
}

// Any returns the value as int64, float64, string, []byte or nil.
func (v Value) Any() any {
	switch v.Type() {
	case Integer:
		return v.Int()
	case Real:
		return v.Float()
	case TextOf:
		return v.Text()
	case Blob:
		return v.Blob()
	}
	return nil
}

// Pointer returns the Go value that Context.Pointer gave under the same kind, or nil.
func (v Value) Pointer(kind string) any {
	id := lib.Xsqlite3_value_pointer(v.tls, v.p, static(kind))
	if id == 0 {
		return nil
	}
	return handles.get(id)
}

// Each calls f with each value of the list of an IN constraint that Index.UseIn handed over.
func (v Value) Each(f func(Value) error) error {
	item := lib.Xsqlite3_malloc(v.tls, 8)
	defer lib.Xsqlite3_free(v.tls, item)
	rc := lib.Xsqlite3_vtab_in_first(v.tls, v.p, item)
	for ; rc == lib.SQLITE_OK; rc = lib.Xsqlite3_vtab_in_next(v.tls, v.p, item) {
		if err := f(Value{v.tls, *(*uintptr)(pointer(item))}); err != nil {
			return err
		}
	}
	if rc != lib.SQLITE_DONE {
		return fmt.Errorf("values of IN: code %d", rc)
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

// Bool makes the result 1 or 0.
func (c Context) Bool(v bool) {
	var i int64
	if v {
		i = 1
	}
	c.Int(i)
}

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

// Value makes the result a copy of a value.
func (c Context) Value(v Value) { lib.Xsqlite3_result_value(c.tls, c.p, v.p) }

// Any makes the result a Go value: nil, a number, bool, string or []byte.
func (c Context) Any(v any) {
	switch v := v.(type) {
	case nil:
		c.Null()
	case int64:
		c.Int(v)
	case int:
		c.Int(int64(v))
	case int32:
		c.Int(int64(v))
	case uint32:
		c.Int(int64(v))
	case bool:
		c.Bool(v)
	case float64:
		c.Float(v)
	case string:
		c.Text(v)
	case []byte:
		c.Blob(v)
	case Text:
		c.Static(v)
	default:
		c.fail(fmt.Errorf("a value of type %T", v))
	}
}

// Pointer makes the result a Go value that only Value.Pointer of the same kind can see; for SQL it is NULL. It reaches
// the function or virtual table that gets the result as an argument, but not one behind a sort or a table.
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

// handles are the Go values behind pointers of SQL, by a number.
var handles = handleTable{values: map[uintptr]any{}}

type handleTable struct {
	mu     sync.Mutex
	values map[uintptr]any
	last   uintptr
}

func (h *handleTable) add(v any) uintptr {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last++
	h.values[h.last] = v
	return h.last
}

func (h *handleTable) get(id uintptr) any {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.values[id]
}

func (h *handleTable) remove(id uintptr) any {
	h.mu.Lock()
	defer h.mu.Unlock()
	v := h.values[id]
	delete(h.values, id)
	return v
}

var forget = function(func(_ *libc.TLS, id uintptr) { handles.remove(id) })

// statics are texts that SQLite may keep forever: the kinds of pointers.
var statics = struct {
	mu sync.Mutex
	at map[string]uintptr
}{at: map[string]uintptr{}}

func static(s string) uintptr {
	statics.mu.Lock()
	defer statics.mu.Unlock()
	p, ok := statics.at[s]
	if !ok {
		memoryMu.Lock()
		p = allocated(memoryTLS, s)
		memoryMu.Unlock()
		statics.at[s] = p
	}
	return p
}
