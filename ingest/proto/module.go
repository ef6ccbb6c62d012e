package proto

import (
	"encoding/binary"

	"github.com/tpconvert/tpconvert/ingest/wire"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/sort"
)

// Family are the modules of a family of packets. Each is opened for each machine of
// a trace.
type Family []func(*Reader) *Module

// Module reads the packets that have one of its fields. Its functions are called
// by the reader of one machine's packets; what they share is in the closure or
// methods that they are made from, and modules find each other's by a Shared. All
// but Fields may be nil.
type Module struct {
	// Fields are numbers of fields of TracePacket.
	Fields []uint32
	// Ahead decodes a field before the packet is read, an *Ahead.
	Ahead Step
	// Read is called for each packet in the order of the file, before its time is
	// known. It returns true if it has done all that there is to do, as with
	// packets about the trace itself.
	Read func(p *Packet, f *wire.Field) bool
	// Tokenize is called for each packet that Read left, when its time is known. It
	// returns true if it has done all that there is to do, false if the field is
	// to be parsed in the order of time.
	Tokenize func(p *Packet, f *wire.Field) bool
	// Parse is called for each packet that Tokenize left, in the order of time.
	Parse func(e *Event)
	// OldClock is set for packets of old recorders, whose times are of the monotonic
	// clock even if they do not say so. Where that clock is not known, the times are
	// taken as they are, and counted.
	OldClock bool
	// FirstPacket is called when a sequence says that it begins.
	FirstPacket func(sequence uint32)
	// End is called when all events have been parsed.
	End func()
}

// Event is a packet in the order of time.
type Event struct {
	TS    int64  // ns of the trace clock
	Field uint32 // of TracePacket
	Data  []byte // the field's message, valid during the call
	State *State // of the sequence when the packet was written
}

// Stream takes tokens of a module to the sorter. Events of a stream should be
// nearly in order; each CPU of ftrace has its own.
type Stream struct {
	reader *Reader
	stream *sort.Stream
	parse  func(ts int64, state *State, data []byte)
}

// NewStream returns a stream whose tokens come back to parse in the order of
// time, ns. The data is valid during the call.
func (r *Reader) NewStream(parse func(ts int64, state *State, data []byte)) *Stream {
	s := &Stream{reader: r, parse: parse}
	s.stream = r.in.Sorter.NewStream(s)
	return s
}

// Push sends a token, made of parts, to the sorter. ts is in ns of the trace
// clock; tokens of a time before its origin are counted and dropped.
func (s *Stream) Push(ts int64, state *State, parts ...[]byte) {
	if ts < 0 {
		s.reader.File.Count(model.StatTraceSorterNegativeTimestampDropped)
		return
	}
	var head [binary.MaxVarintLen32]byte
	n := binary.PutUvarint(head[:], uint64(state.id))
	size := n
	for _, part := range parts {
		size += len(part)
	}
	buf, err := s.stream.Reserve(ts, size)
	if err != nil {
		s.reader.Fail(err)
		return
	}
	state.pending++
	buf = buf[copy(buf, head[:n]):]
	for _, part := range parts {
		buf = buf[copy(buf, part):]
	}
}

// Event parses a token of the sorter.
func (s *Stream) Event(ts int64, payload []byte) error {
	id, n := binary.Uvarint(payload)
	state := s.reader.states.At(int(id))
	s.parse(ts, state, payload[n:])
	state.pending--
	s.reader.drop(state)
	return nil
}

// Shared is something that modules of one reader have in common, whichever of them
// asks for it first. A variable of a package that they all import, it is how one
// finds what another reads.
type Shared[T any] struct {
	// New makes it for a reader.
	New func(*Reader) *T
}

// Of returns what the modules of a reader share.
func (s *Shared[T]) Of(r *Reader) *T {
	if v, ok := r.shared[s]; ok {
		return v.(*T)
	}
	v := s.New(r)
	r.shared[s] = v
	return v
}
