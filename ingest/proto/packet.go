package proto

import "github.com/tpconvert/tpconvert/ingest/wire"

// Packet is a TracePacket on its way to its module.
type Packet struct {
	Offset int64 // bytes from the start of the trace; of a compressed packet, where that is
	TS     int64 // ns of the trace clock
	State  *State

	Sequence     uint32 // trusted_packet_sequence_id
	HasSequence  bool
	Timestamp    int64 // as written, in units of its clock
	HasTimestamp bool
	ClockID      uint32 // clock of Timestamp, 0 for the default
	TrustedPID   int32
	TrustedUID   int32
	HasPID       bool

	data           []byte
	machine        uint32
	flags          uint32
	dropped        uint32 // why packets before this one are missing, as bits
	cleared, first bool
	marker         bool // holds nothing but a mark to find packets by
	defaults       []byte
	interned       []byte
	compressed     []byte
	zstd           bool
	fields         []wire.Field // all others
}

// has reports whether the packet has a field that is not about reading it.
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

// Fields of TracePacket that tell how to read it.
const (
	fieldTimestamp           = 8
	fieldSequenceID          = 10
	fieldInternedData        = 12
	fieldSequenceFlags       = 13
	fieldTrustedUID          = 3
	fieldChromeEvents        = 5
	fieldChromeMetadata      = 51
	fieldSynchronization     = 36
	fieldCleared             = 41
	fieldPreviousDropped     = 42
	fieldCompressed          = 50
	fieldTimestampClock      = 58
	fieldTracePacketDefaults = 59
	fieldTrustedPID          = 79
	fieldFirstPacket         = 87
	fieldMachineID           = 98
	fieldZstdCompressed      = 133
)

// read decodes a packet and reports whether it is sound.
func (p *Packet) read(data []byte, offset int64) bool {
	*p = Packet{data: data, Offset: offset, fields: p.fields[:0]}
	r := wire.Read(data)
	for r.Next() {
		switch r.Number {
		case fieldTimestamp:
			p.Timestamp, p.HasTimestamp = r.Int64(), true
		case fieldSequenceID:
			p.Sequence, p.HasSequence = r.Uint32(), true
		case fieldInternedData:
			p.interned = r.Bytes()
		case fieldSequenceFlags:
			p.flags = r.Uint32()
		case fieldTrustedUID:
			p.TrustedUID = r.Int32()
		case fieldSynchronization:
			p.marker = true
		case fieldCleared:
			p.cleared = r.Bool()
		case fieldPreviousDropped:
			p.dropped = r.Uint32()
		case fieldCompressed:
			p.compressed, p.zstd = r.Bytes(), false
		case fieldZstdCompressed:
			p.compressed, p.zstd = r.Bytes(), true
		case fieldTimestampClock:
			p.ClockID = r.Uint32()
		case fieldTracePacketDefaults:
			p.defaults = r.Bytes()
		case fieldTrustedPID:
			p.TrustedPID, p.HasPID = r.Int32(), true
		case fieldFirstPacket:
			p.first = r.Bool()
		case fieldMachineID:
			p.machine = r.Uint32()
		default:
			p.fields = append(p.fields, r.Field)
		}
	}
	return !r.Bad()
}
