package proto

import (
	"github.com/tpconvert/tpconvert/ingest/wire"
)

// Ahead decodes a field of packets on the goroutine that cuts the trace, ahead of
// the one that reads it. It is for frequent fields, and for what can be told of the
// bytes alone. Of each batch of packets it keeps the values, so that decoding does
// not allocate memory once they have grown.
type Ahead[T any] struct {
	// Field is the number of the field in TracePacket.
	Field uint32
	// Decode decodes the field into a value that was used before. It must not keep
	// anything but parts of the field.
	Decode func(value *T, field []byte)
}

// Of returns what was decoded of a packet's field. It is valid as long as the
// packet.
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

// aheadValues are the values that a step decoded of a batch.
type aheadValues interface {
	// decodeField returns a pointer to the value of a field.
	decodeField(field []byte) any
	// clear makes all values free.
	clear()
}

type valuesOf[T any] struct {
	decode func(*T, []byte)
	all    []T // as many as a batch can have, so that they stay where they are
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
