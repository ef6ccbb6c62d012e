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

// event is an event whose references are resolved.
type event struct {
	kind           kind
	thread         int // of the tokenizer's threads
	category, name model.StringID
	value          uint64 // duration in ns, counter id or correlation id
	args           []arg
}

// encode appends the event to b.
func (e *event) encode(b []byte) []byte {
	b = append(b, byte(e.kind))
	b = binary.AppendUvarint(b, uint64(e.thread))
	b = binary.AppendUvarint(b, uint64(e.category))
	b = binary.AppendUvarint(b, uint64(e.name))
	b = binary.AppendUvarint(b, e.value)
	for _, a := range e.args {
		b = append(b, a.kind)
		b = binary.AppendUvarint(b, uint64(a.name))
		b = binary.AppendUvarint(b, a.value)
	}
	return b
}

// decode reads what encode wrote. It uses the memory of the event's args again.
func (e *event) decode(token []byte) {
	e.kind = kind(token[0])
	thread, b := number(token[1:])
	category, b := number(b)
	name, b := number(b)
	e.value, b = number(b)
	e.thread, e.category, e.name = int(thread), model.StringID(category), model.StringID(name)
	e.args = e.args[:0]
	for len(b) > 0 {
		a := arg{kind: b[0]}
		name, b = number(b[1:])
		a.name = model.StringID(name)
		a.value, b = number(b)
		e.args = append(e.args, a)
	}
}

// number reads a varint of a token and returns it and what follows.
func number(b []byte) (uint64, []byte) {
	if b[0] < 0x80 {
		return uint64(b[0]), b[1:]
	}
	return longNumber(b)
}

func longNumber(b []byte) (uint64, []byte) {
	v, n := binary.Uvarint(b)
	return v, b[n:]
}

// switching is a scheduling record: a CPU goes from one thread to another, or the
// outgoing thread wakes the incoming one.
type switching struct {
	kind               kind
	state              uint64 // of the outgoing thread
	cpu                uint64
	outgoing, incoming uint64 // koids of threads
	outgoingWeight     int32  // or priority
	incomingWeight     int32
}

// encode appends the record to b.
func (s *switching) encode(b []byte) []byte {
	b = append(b, byte(s.kind))
	b = binary.AppendUvarint(b, s.state)
	b = binary.AppendUvarint(b, s.cpu)
	b = binary.AppendUvarint(b, s.outgoing)
	b = binary.AppendUvarint(b, s.incoming)
	b = binary.AppendUvarint(b, uint64(uint32(s.outgoingWeight)))
	return binary.AppendUvarint(b, uint64(uint32(s.incomingWeight)))
}

// decode reads what encode wrote.
func (s *switching) decode(token []byte) {
	s.kind = kind(token[0])
	b := token[1:]
	s.state, b = number(b)
	s.cpu, b = number(b)
	s.outgoing, b = number(b)
	s.incoming, b = number(b)
	outgoing, b := number(b)
	incoming, _ := number(b)
	s.outgoingWeight, s.incomingWeight = int32(outgoing), int32(incoming)
}
