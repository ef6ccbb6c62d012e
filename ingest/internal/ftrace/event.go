package ftrace

import (
	"github.com/tpconvert/tpconvert/model"
)

// An Event is one decoded event of a tracepoint. A decoder fills it, passes it to
// Parser.Handle and may then reuse it.
type Event struct {
	TS         int64 // ns of the trace clock
	CPU        int64
	TID        int64 // thread that ran on the CPU
	Flags      int64 // of the ftrace record, 0 if not recorded
	Tracepoint *Tracepoint
	// Symbols returns a kernel function's name by the number that the trace gave
	// it, or zero for an unknown one. It may be nil.
	Symbols func(uint64) model.StringID

	values []value
	utid   model.UTID // of TID, None until it is looked up
}

type value struct {
	field *Field
	bits  uint64
	text  []byte
}

// Reset clears the event's fields, for an event of another tracepoint.
func (e *Event) Reset(t *Tracepoint) {
	e.Tracepoint = t
	e.values = e.values[:0]
	e.utid = model.None
}

// AddInt adds a number. Negative numbers are in two's complement.
func (e *Event) AddInt(f *Field, bits uint64) {
	e.values = append(e.values, value{field: f, bits: bits})
}

// AddText adds a text, which must stay valid until the next Reset.
func (e *Event) AddText(f *Field, text []byte) {
	e.values = append(e.values, value{field: f, text: text})
}

// find returns the last value of the named field, or nil.
func (e *Event) find(name string) *value {
	for i := len(e.values) - 1; i >= 0; i-- {
		if e.values[i].field.Name == name {
			return &e.values[i]
		}
	}
	return nil
}

// Has reports whether the event has the field.
func (e *Event) Has(name string) bool { return e.find(name) != nil }

// Int returns a number, sign-extended or cut to the field's width, or 0 if there
// is no such field.
func (e *Event) Int(name string) int64 {
	v := e.find(name)
	if v == nil {
		return 0
	}
	switch v.field.Type {
	case Int32:
		return int64(int32(v.bits))
	case Uint32:
		return int64(uint32(v.bits))
	}
	return int64(v.bits)
}

// Uint is like Int, for unsigned 64-bit numbers.
func (e *Event) Uint(name string) uint64 { return uint64(e.Int(name)) }

// Float returns a number as a double.
func (e *Event) Float(name string) float64 {
	if v := e.find(name); v != nil && v.field.Type == Uint64 {
		return float64(v.bits)
	}
	return float64(e.Int(name))
}

// Text returns a text, or nil if there is no such field. It is valid until the
// next Reset.
func (e *Event) Text(name string) []byte {
	if v := e.find(name); v != nil {
		return v.text
	}
	return nil
}

// each calls f with every element of an array.
func (e *Event) each(name string, f func(*value)) {
	for i := range e.values {
		if e.values[i].field.Name == name {
			f(&e.values[i])
		}
	}
}

// arg returns a number as an arg of ftrace_event.
func (e *Event) arg(v *value) model.ArgValue {
	switch v.field.Type {
	case Uint64, Uint32:
		if v.field.symbol {
			if name := e.symbol(v.bits); name != 0 {
				return model.StringArg(name)
			}
		}
		return model.UintArg(v.bits)
	}
	return model.IntArg(int64(v.bits))
}

// symbol returns the name of a kernel function, or zero.
func (e *Event) symbol(number uint64) model.StringID {
	if e.Symbols == nil {
		return 0
	}
	return e.Symbols(number)
}
