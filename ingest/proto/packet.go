package proto

import (
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

// Packet is a TracePacket on its way to its module. Packets are written on one core
// and read on another, so rare fields are kept at the end, where they stay untouched.
type Packet struct {
	packetHead
	fields []wire.Field  // those not decoded into the head
	single [1]wire.Field // backs fields while there is at most one
	rare   rareFields
}

// packetHead holds what packets of all families have.
type packetHead struct {
	Offset     int64 // bytes from the start of the trace; inside a compressed packet, that packet's
	TS         int64 // ns of the trace clock
	Timestamp  int64 // as written, in units of its clock
	State      *State
	Sequence   uint32 // trusted_packet_sequence_id
	ClockID    uint32 // clock of Timestamp, 0 for the default
	TrustedPID int32
	TrustedUID int32
	machine    uint32
	flags      uint32

	HasSequence    bool
	HasTimestamp   bool
	HasPID         bool
	cleared, first bool
	marker         bool // holds nothing but a synchronization marker
	hasRare        bool // rare is not zero

	data    []byte
	ahead   any    // the field that the cutter decoded, or nil
	aheadOf uint32 // the number of that field
}

// rareFields hold what few packets have.
type rareFields struct {
	dropped    uint32 // why packets before this one are missing, as bits
	defaults   []byte
	interned   []byte
	compressed []byte
	zstd       bool

	// Set in place of a packet that cannot be read.
	isDamaged bool
	damage    model.Stat
}

var noRareFields rareFields

// rareFields returns the packet's rare fields, for reading only.
func (p *Packet) rareFields() *rareFields {
	if p.hasRare {
		return &p.rare
	}
	return &noRareFields
}

// setRare returns the packet's rare fields, for changing.
func (p *Packet) setRare() *rareFields {
	p.hasRare = true
	return &p.rare
}

// Bytes returns the whole packet. They are valid as long as the packet is.
func (p *Packet) Bytes() []byte { return p.data }

// has reports whether the packet has a field outside its head.
func (p *Packet) has(field uint32) bool {
	for i := range p.fields {
		if p.fields[i].Number == field {
			return true
		}
	}
	return false
}

// Sequence flags.
const (
	flagCleared = 1
	flagNeeds   = 2
)

// Tags of fields.
const (
	tagVarint = uint64(wire.Varint)
	tagBytes  = uint64(wire.Bytes)
)

func (p *Packet) clear(offset int64) {
	if p.hasRare {
		p.rare = rareFields{}
	}
	p.packetHead = packetHead{Offset: offset}
}

// read decodes a packet and reports whether it is well-formed. One of which no field has the type that it has in TracePacket
// is a message of another kind.
func (p *Packet) read(data []byte, offset int64) bool {
	p.clear(offset)
	p.data = data
	p.fields = p.single[:0]
	own := len(data) == 0
	for i := 0; i < len(data); {
		tag, v, next := wire.Scan(data, i)
		if next < 0 {
			return false
		}
		i = next
		switch tag {
		case pb.TracePacket_Timestamp<<3 | tagVarint:
			p.Timestamp, p.HasTimestamp = int64(v), true
			own = true
		case pb.TracePacket_TrustedPacketSequenceID<<3 | tagVarint:
			p.Sequence, p.HasSequence = uint32(v), true
			own = true
		case pb.TracePacket_SequenceFlags<<3 | tagVarint:
			p.flags = uint32(v)
			own = true
		default:
			f := wire.ScannedField(data, tag, v, next)
			own = own || f.Type == typeOf(f.Number)
			p.take(f)
		}
	}
	return own
}

// typeOf returns the type of a field of TracePacket: all but these are bytes, texts and messages.
func typeOf(field uint32) wire.Type {
	switch field {
	case pb.TracePacket_Timestamp, pb.TracePacket_TimestampClockID, pb.TracePacket_TrustedUID, pb.TracePacket_TrustedPacketSequenceID,
		pb.TracePacket_TrustedPID, pb.TracePacket_SequenceFlags, pb.TracePacket_IncrementalStateCleared,
		pb.TracePacket_PreviousPacketDropped, pb.TracePacket_FirstPacketOnSequence, pb.TracePacket_MachineID:
		return wire.Varint
	}
	return wire.Bytes
}

func (p *Packet) take(f wire.Field) {
	switch f.Number {
	case pb.TracePacket_Timestamp:
		p.Timestamp, p.HasTimestamp = f.Int64(), true
	case pb.TracePacket_TrustedPacketSequenceID:
		p.Sequence, p.HasSequence = f.Uint32(), true
	case pb.TracePacket_InternedData:
		p.setRare().interned = f.Bytes()
	case pb.TracePacket_SequenceFlags:
		p.flags = f.Uint32()
	case pb.TracePacket_TrustedUID:
		p.TrustedUID = f.Int32()
	case pb.TracePacket_SynchronizationMarker:
		p.marker = true
	case pb.TracePacket_IncrementalStateCleared:
		p.cleared = f.Bool()
	case pb.TracePacket_PreviousPacketDropped:
		p.setRare().dropped = f.Uint32()
	case pb.TracePacket_CompressedPackets:
		r := p.setRare()
		r.compressed, r.zstd = f.Bytes(), false
	case pb.TracePacket_ZstdCompressedPackets:
		r := p.setRare()
		r.compressed, r.zstd = f.Bytes(), true
	case pb.TracePacket_TimestampClockID:
		p.ClockID = f.Uint32()
	case pb.TracePacket_TracePacketDefaults:
		p.setRare().defaults = f.Bytes()
	case pb.TracePacket_TrustedPID:
		p.TrustedPID, p.HasPID = f.Int32(), true
	case pb.TracePacket_FirstPacketOnSequence:
		p.first = f.Bool()
	case pb.TracePacket_MachineID:
		p.machine = f.Uint32()
	default:
		p.fields = append(p.fields, f)
	}
}

// damaged turns the packet into a record of a defect at an offset.
func (p *Packet) damaged(stat model.Stat, offset int64) {
	p.clear(offset)
	r := p.setRare()
	r.isDamaged, r.damage = true, stat
}
