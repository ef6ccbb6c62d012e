package sqlite

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// IsNull reports whether the value is NULL. A value of Pointer is NULL too.
func (v Value) IsNull() bool { return v.Type() == Null }

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

// Text returns the value as text, as CAST does.
func (v Value) Text() string { return string([]byte(v.View())) }

// Pointer returns the Go value that Context.Pointer gave under the same kind, or nil.
func (v Value) Pointer(kind string) any {
	id := v.pointer(static(kind))
	if id == 0 {
		return nil
	}
	return handles.get(id)
}

// Bool makes the result 1 or 0.
func (c Context) Bool(v bool) {
	var i int64
	if v {
		i = 1
	}
	c.Int(i)
}

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

// jsonSubtype marks texts of SQLite's functions that are JSON.
const jsonSubtype = 'J'

// handles are the Go values behind numbers that SQLite keeps.
var handles handleTable

type handleTable struct {
	mu     sync.Mutex
	values atomic.Pointer[[]any] // by number; 0 is none
	free   []uintptr
}

// add gives a value a number, until remove.
func (h *handleTable) add(v any) uintptr {
	h.mu.Lock()
	defer h.mu.Unlock()
	var values []any
	if p := h.values.Load(); p != nil {
		values = *p
	}
	if len(h.free) == 0 {
		grown := make([]any, max(64, 2*len(values)))
		copy(grown, values)
		for i := len(grown) - 1; i >= max(1, len(values)); i-- {
			h.free = append(h.free, uintptr(i))
		}
		values = grown
		h.values.Store(&grown)
	}
	id := h.free[len(h.free)-1]
	h.free = h.free[:len(h.free)-1]
	values[id] = v
	return id
}

// get returns the value of a number, without a lock: only the goroutine of its database asks.
func (h *handleTable) get(id uintptr) any {
	if id == 0 {
		return nil
	}
	return (*h.values.Load())[id]
}

// remove takes a number back, and returns its value.
func (h *handleTable) remove(id uintptr) any {
	if id == 0 {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	values := *h.values.Load()
	v := values[id]
	values[id] = nil
	h.free = append(h.free, id)
	return v
}

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
		p = allocate(len(s) + 1)
		copyTo(p, s)
		statics.at[s] = p
	}
	return p
}
