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

const maxArgs = 15

// arg is an arg of an event. The value is a number, the bits of a double, or a
// StringID.
type arg struct {
	name  model.StringID
	kind  byte
	value uint64
}

// event is an event whose references are resolved. Its pid and tid are the lower
// halves of koids, as in Trace Processor.
type event struct {
	kind           kind
	pid, tid       uint32
	category, name model.StringID
	value          uint64 // end in ns, counter id or correlation id
	args           []arg
}

const (
	eventBytes = 1 + 4*4 + 8
	argBytes   = 4 + 1 + 8
)

func (e *event) size() int { return eventBytes + len(e.args)*argBytes }

// encode writes the event into b, which has its size.
func (e *event) encode(b []byte) {
	b[0] = byte(e.kind)
	binary.LittleEndian.PutUint32(b[1:], e.pid)
	binary.LittleEndian.PutUint32(b[5:], e.tid)
	binary.LittleEndian.PutUint32(b[9:], uint32(e.category))
	binary.LittleEndian.PutUint32(b[13:], uint32(e.name))
	binary.LittleEndian.PutUint64(b[17:], e.value)
	b = b[eventBytes:]
	for _, a := range e.args {
		binary.LittleEndian.PutUint32(b, uint32(a.name))
		b[4] = a.kind
		binary.LittleEndian.PutUint64(b[5:], a.value)
		b = b[argBytes:]
	}
}

// decode reads what encode wrote. It uses the memory of the event's args again.
func (e *event) decode(b []byte) {
	*e = event{
		kind:     kind(b[0]),
		pid:      binary.LittleEndian.Uint32(b[1:]),
		tid:      binary.LittleEndian.Uint32(b[5:]),
		category: model.StringID(binary.LittleEndian.Uint32(b[9:])),
		name:     model.StringID(binary.LittleEndian.Uint32(b[13:])),
		value:    binary.LittleEndian.Uint64(b[17:]),
		args:     e.args[:0],
	}
	for b = b[eventBytes:]; len(b) > 0; b = b[argBytes:] {
		e.args = append(e.args, arg{
			name:  model.StringID(binary.LittleEndian.Uint32(b)),
			kind:  b[4],
			value: binary.LittleEndian.Uint64(b[5:]),
		})
	}
}

// switching is a scheduling record: a CPU goes from one thread to another, or the
// outgoing thread wakes the incoming one.
type switching struct {
	kind               kind
	state              byte // of the outgoing thread
	cpu                uint16
	outgoing, incoming uint64 // koids of threads
	outgoingWeight     int32  // or priority
	incomingWeight     int32
}

const switchingBytes = 2 + 2 + 2*8 + 2*4

// encode writes the record into b, which has switchingBytes.
func (s *switching) encode(b []byte) {
	b[0], b[1] = byte(s.kind), s.state
	binary.LittleEndian.PutUint16(b[2:], s.cpu)
	binary.LittleEndian.PutUint64(b[4:], s.outgoing)
	binary.LittleEndian.PutUint64(b[12:], s.incoming)
	binary.LittleEndian.PutUint32(b[20:], uint32(s.outgoingWeight))
	binary.LittleEndian.PutUint32(b[24:], uint32(s.incomingWeight))
}

// decode reads what encode wrote.
func (s *switching) decode(b []byte) {
	*s = switching{
		kind:           kind(b[0]),
		state:          b[1],
		cpu:            binary.LittleEndian.Uint16(b[2:]),
		outgoing:       binary.LittleEndian.Uint64(b[4:]),
		incoming:       binary.LittleEndian.Uint64(b[12:]),
		outgoingWeight: int32(binary.LittleEndian.Uint32(b[20:])),
		incomingWeight: int32(binary.LittleEndian.Uint32(b[24:])),
	}
}
