package proto

import (
	"encoding/binary"

	"github.com/tpconvert/tpconvert/internal/attached"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/sort"
)

// Family lists the modules of a packet family. Each is opened once for every machine
// in a trace.
type Family []func(*Reader) *Module

// Module reads the packets that have one of its fields. Its functions are called by
// the reader of one machine's packets. They share state through their closure or
// receiver, and with other modules through a Shared. All but Fields may be nil.
type Module struct {
	// Fields are field numbers in TracePacket.
	Fields []uint32
	// Ahead decodes a field before the packet is read. It is an *Ahead.
	Ahead Step
	// Read is called for each packet in file order, before its time is known. It
	// returns true if the packet needs nothing more, like packets about the trace
	// itself.
	Read func(p *Packet, f *wire.Field) bool
	// Tokenize is called for each packet that Read left, once its time is known. It
	// returns true if the packet needs nothing more, false to have the field parsed
	// in time order.
	Tokenize func(p *Packet, f *wire.Field) bool
	// Parse is called for each packet that Tokenize left, in time order.
	Parse func(e *Event)
	// OldClock is set for packets of old recorders, whose times are on the monotonic
	// clock even if they do not say so. If that clock cannot be converted, the times
	// are taken unchanged, and counted.
	OldClock bool
	// FirstPacket is called for a packet marked as the first of its sequence.
	FirstPacket func(sequence uint32)
	// End is called when all events have been parsed.
	End func()
}

// Event is a packet to parse, in time order.
type Event struct {
	TS    int64  // ns of the trace clock
	Field uint32 // of TracePacket
	Data  []byte // the field's message, valid during the call
	State *State // the sequence's state when the packet was written
}

// Stream takes a module's tokens to the sorter. The events of one stream should be
// nearly in order, so each ftrace CPU has its own.
type Stream struct {
	reader *Reader
	stream *sort.Stream
	parse  func(ts int64, state *State, data []byte)
}

// NewStream returns a stream whose tokens are passed to parse in time order. ts is in
// ns; data is valid during the call.
func (r *Reader) NewStream(parse func(ts int64, state *State, data []byte)) *Stream {
	s := &Stream{reader: r, parse: parse}
	s.stream = r.in.Sorter.NewStream(s)
	return s
}

// Push sends a token, made of parts, to the sorter. ts is in ns of the trace clock;
// tokens with a negative ts are counted and dropped.
func (s *Stream) Push(ts int64, state *State, parts ...[]byte) {
	if c := s.reader.file.cut; c != nil {
		c.event(ts)
		return
	}
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

// Event parses a token that the sorter returns.
func (s *Stream) Event(ts int64, payload []byte) error {
	id, n := binary.Uvarint(payload)
	state := s.reader.states.At(int(id))
	s.parse(ts, state, payload[n:])
	state.pending--
	s.reader.drop(state)
	return nil
}

// Shared is a value that the modules of one reader have in common. It is a variable in a package
// that they all import, so that one module finds what another reads.
type Shared[T any] = attached.Value[*Reader, T]

// Values are what the reader's modules share.
func (r *Reader) Values() *attached.Values { return &r.shared }
