package fuchsia

import (
	"encoding/binary"

	"github.com/tpconvert/tpconvert/model"
)

// kind is the kind of a token: an event of the type with this number, or a
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
	wakeupBy // by a known thread
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

// maxArgs is the maximum number of args of a record. All its bits are set.
const maxArgs = 15

// arg is an arg of a record. The value is a number, the bits of a double, or a
// StringID.
type arg struct {
	name  model.StringID
	kind  byte
	value uint64
}

// hasValue reports whether events of this kind have their own value: the duration
// in ns, the id of a counter, or a correlation id.
func (k kind) hasValue() bool { return k == counter || k >= durationComplete }

// token is the part of an event or scheduling record that is not yet decoded.
type token struct {
	bytes []byte
	at    int
}

// number reads a varint.
func (t *token) number() uint64 {
	if b := t.bytes[t.at]; b < 0x80 {
		t.at++
		return uint64(b)
	}
	return t.longNumber()
}

func (t *token) longNumber() (v uint64) {
	for i, b := range t.bytes[t.at:] {
		v |= uint64(b&0x7f) << (7 * i & 63)
		if b < 0x80 {
			t.at += i + 1
			break
		}
	}
	return v
}

// switching is a scheduling record: a CPU goes from one thread to another, or the
// outgoing thread wakes the incoming one.
type switching struct {
	kind               kind
	state              uint64 // of the outgoing thread
	cpu                uint64
	outgoing, incoming int   // numbers of the scheduled threads
	outgoingWeight     int32 // or priority
	incomingWeight     int32
}

// encode appends the record to b.
func (s *switching) encode(b []byte) []byte {
	b = binary.LittleEndian.AppendUint16(b, 1+uint16(s.kind-contextSwitch))
	b = binary.AppendUvarint(b, s.state)
	b = binary.AppendUvarint(b, s.cpu)
	b = binary.AppendUvarint(b, uint64(s.outgoing))
	b = binary.AppendUvarint(b, uint64(s.incoming))
	b = binary.AppendUvarint(b, uint64(uint32(s.outgoingWeight)))
	return binary.AppendUvarint(b, uint64(uint32(s.incomingWeight)))
}

// decode reads what encode wrote after the number of the form.
func (s *switching) decode(t *token) {
	s.state = t.number()
	s.cpu = t.number()
	s.outgoing = int(t.number())
	s.incoming = int(t.number())
	s.outgoingWeight = int32(t.number())
	s.incomingWeight = int32(t.number())
}
