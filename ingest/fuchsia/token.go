package fuchsia

import (
	"encoding/binary"

	"github.com/tpconvert/tpconvert/model"
)

// kind says what a token is: an event of the type with this number, or a
// scheduling record.
type kind byte

const (
	instant kind = iota
	counter
	durationBegin
	durationEnd
	durationComplete
	asyncBegin
	asyncInstant
	asyncEnd
	flowBegin
	flowStep
	flowEnd

	contextSwitch
	legacySwitch
	wakeup
	wakeupBy // by a thread that is known
)

// The types of args.
const (
	argNull = iota
	argInt32
	argUint32
	argInt64
	argUint64
	argDouble
	argString
	argPointer
	argKoid
	argBool
)

// arg is an arg of an event. The value is a number, the bits of a double, or a
// StringID.
type arg struct {
	name  model.StringID
	kind  byte
	value uint64
}

// encode appends the arg to b.
func (a arg) encode(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(a.name)<<4|uint64(a.kind))
	return binary.AppendUvarint(b, a.value)
}

// event is an event whose references are resolved. Its args follow it in a token.
type event struct {
	kind           kind
	args           byte // how many
	thread         int  // of the tokenizer's threads
	category, name model.StringID
	value          uint64 // duration in ns, counter id or correlation id
}

// hasValue reports whether events of a kind have a value.
func (k kind) hasValue() bool {
	return k == counter || k >= durationComplete
}

// encode appends the event to b.
func (e *event) encode(b []byte) []byte {
	b = append(b, byte(e.kind)|e.args<<4)
	b = binary.AppendUvarint(b, uint64(e.thread))
	b = binary.AppendUvarint(b, uint64(e.category))
	b = binary.AppendUvarint(b, uint64(e.name))
	if e.kind.hasValue() {
		b = binary.AppendUvarint(b, e.value)
	}
	return b
}

// token is what is left of an event or a scheduling record to decode.
type token struct {
	bytes []byte
	at    int
}

// event reads what encode wrote behind the first byte.
func (t *token) event(head byte) (e event) {
	e.kind, e.args = kind(head&15), head>>4
	e.thread = int(t.number())
	e.category, e.name = model.StringID(t.number()), model.StringID(t.number())
	if e.kind.hasValue() {
		e.value = t.number()
	}
	return e
}

// arg reads an arg.
func (t *token) arg() arg {
	head := t.number()
	return arg{name: model.StringID(head >> 4), kind: byte(head & 15), value: t.number()}
}

// number reads a varint.
func (t *token) number() uint64 {
	if b := t.bytes[t.at]; b < 0x80 {
		t.at++
		return uint64(b)
	}
	return t.longNumber()
}

func (t *token) longNumber() uint64 {
	v, n := binary.Uvarint(t.bytes[t.at:])
	t.at += n
	return v
}

// switching is a scheduling record: a CPU goes from one thread to another, or the
// outgoing thread wakes the incoming one.
type switching struct {
	kind               kind
	state              uint64 // of the outgoing thread
	cpu                uint64
	outgoing, incoming int   // of the threads that are scheduled
	outgoingWeight     int32 // or priority
	incomingWeight     int32
}

// encode appends the record to b.
func (s *switching) encode(b []byte) []byte {
	b = append(b, byte(s.kind))
	b = binary.AppendUvarint(b, s.state)
	b = binary.AppendUvarint(b, s.cpu)
	b = binary.AppendUvarint(b, uint64(s.outgoing))
	b = binary.AppendUvarint(b, uint64(s.incoming))
	b = binary.AppendUvarint(b, uint64(uint32(s.outgoingWeight)))
	return binary.AppendUvarint(b, uint64(uint32(s.incomingWeight)))
}

// switching reads what encode wrote behind the first byte.
func (t *token) switching(head byte) switching {
	return switching{
		kind:           kind(head),
		state:          t.number(),
		cpu:            t.number(),
		outgoing:       int(t.number()),
		incoming:       int(t.number()),
		outgoingWeight: int32(t.number()),
		incomingWeight: int32(t.number()),
	}
}
