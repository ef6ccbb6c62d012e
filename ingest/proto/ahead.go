package proto

import (
	"github.com/tpconvert/tpconvert/internal/wire"
)

// Ahead decodes a packet field on the goroutine that cuts the trace, ahead of the
// one that reads it. Use it for frequent fields, and only for what the bytes alone
// determine. Each batch reuses its decoded values, so decoding stops allocating
// memory once they have grown.
type Ahead[T any] struct {
	// Field is the field's number in TracePacket.
	Field uint32
	// Decode decodes the field into a value that may have been used before. The
	// value may keep slices of the field, but of nothing else.
	Decode func(value *T, field []byte)
}

// Of returns the decoded field of a packet. It is valid as long as the packet is.
func (a *Ahead[T]) Of(p *Packet, f *wire.Field) *T {
	if value, ok := p.ahead.(*T); ok && p.aheadOf == a.Field {
		return value
	}
	value := new(T) // the packet did not come from the cutter
	a.Decode(value, f.Bytes())
	return value
}

func (a *Ahead[T]) field() uint32 { return a.Field }

func (a *Ahead[T]) values() aheadValues { return &valuesOf[T]{decode: a.Decode} }

// Step is an Ahead of any type.
type Step interface {
	field() uint32
	values() aheadValues
}

// aheadValues are the values that a step decoded from a batch.
type aheadValues interface {
	// decodeField returns a pointer to the value of a field.
	decodeField(field []byte) any
	// clear makes all values available for reuse.
	clear()
}

type valuesOf[T any] struct {
	decode func(*T, []byte)
	all    []T // its capacity is a full batch, so that pointers into it stay valid
}

func (v *valuesOf[T]) decodeField(field []byte) any {
	if v.all == nil {
		v.all = make([]T, 0, batchPackets)
	}
	v.all = v.all[:len(v.all)+1]
	value := &v.all[len(v.all)-1]
	v.decode(value, field)
	return value
}

func (v *valuesOf[T]) clear() { v.all = v.all[:0] }
