// Package proto reads Perfetto's native traces: a sequence of TracePacket
// messages (https://perfetto.dev/docs/reference/trace-packet-proto).
//
// A packet goes through three steps. The reader applies what it says of its
// sequence: interned data, defaults, lost packets. A module, chosen by the
// packet's field, tokenizes it: it finds the time of the packet, or of each
// event in it, and pushes what it takes to parse it to the sorter. In the order
// of time the module parses it into rows.
package proto

import (
	"bytes"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/wire"
)

// Format is a trace, Symbols one that only brings symbols for others.
var (
	Format = &format.Format{
		Name: "proto", Read: read,
		Sniff: beginsWithPacket,
	}
	Symbols = &format.Format{
		Name: "symbols", Read: read,
		Sniff: func(head []byte) bool {
			if !bytes.HasPrefix(head, []byte{packetTag}) {
				return false
			}
			size, n := wire.Uvarint(head[1:])
			if n <= 0 || size == 0 {
				return false
			}
			tag, n := wire.Uvarint(head[1+n:])
			return n > 0 && tag == fieldModuleSymbols<<3|uint64(wire.Bytes)
		},
	}
)

// beginsWithPacket reports whether the input begins with a packet: a message whose
// fields are well-formed, as far as they are in head. The tag of packets alone is a
// newline, as texts begin with, too.
func beginsWithPacket(head []byte) bool {
	if !bytes.HasPrefix(head, []byte{packetTag}) {
		return false
	}
	size, n := wire.Uvarint(head[1:])
	if n < 0 {
		return false
	}
	packet := head[1+n:]
	if size <= uint64(len(packet)) {
		r := wire.Read(packet[:size])
		for r.Next() {
		}
		return !r.Bad()
	}
	// Of a packet that goes on beyond head, the first field must fit into it.
	tag, n := wire.Uvarint(packet)
	if n <= 0 || wire.Type(tag&7) != wire.Bytes {
		return n >= 0
	}
	length, m := wire.Uvarint(packet[n:])
	return m >= 0 && length <= size
}
