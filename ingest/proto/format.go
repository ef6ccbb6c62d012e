// Package proto reads Perfetto's native traces: a sequence of TracePacket
// messages (https://perfetto.dev/docs/reference/trace-packet-proto). It handles the
// framing, compression and order of packets, the state of their sequences, and their
// clocks. Their contents are read by packet families, one folder each, listed in
// package families.
//
// A packet goes through three steps. The reader applies what the packet says about
// its sequence: interned data, defaults, lost packets. A module, chosen by the
// packet's field, tokenizes it: it finds the time of the packet, or of each event in
// it, and pushes the data needed for parsing to the sorter. Finally the module parses
// the tokens, in time order, into rows.
package proto

import (
	"bytes"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/internal/wire"
)

// Reads returns a function that reads traces made of packets of the given families.
func Reads(families ...Family) func(*format.Input) error {
	return func(in *format.Input) error { return read(in, families) }
}

// Sniff reports whether the input begins with a packet: a message whose fields are
// well-formed, as far as head holds them. The packet tag alone proves nothing: it is
// a newline, and text files can begin with one too. Other protobufs, such as quipper's, also
// begin with a message, but most of their fields are none of a trace.
func Sniff(head []byte) bool {
	if !bytes.HasPrefix(head, []byte{packetTag}) || len(head) > 1 && format.IsText(head) {
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
		return !r.Bad() && mostlyPackets(packet[size:])
	}
	// The packet extends beyond head: its first field must fit into the packet.
	tag, n := wire.Uvarint(packet)
	if n <= 0 || wire.Type(tag&7) != wire.Bytes {
		return n >= 0
	}
	length, m := wire.Uvarint(packet[n:])
	return m >= 0 && length <= size
}

// mostlyPackets reports whether at least half of the fields of a trace are packets. The first one is, and before head.
func mostlyPackets(head []byte) bool {
	packets, others := 1, 0
	for {
		tag, size, n := header(head)
		if n <= 0 || size > uint64(len(head)-n) {
			return packets >= others
		}
		if tag == uint64(packetTag) {
			packets++
		} else {
			others++
		}
		head = head[n+int(size):]
	}
}

// BeginsWith reports whether an input's first packet begins with the given field,
// which is bytes, a string or a message.
func BeginsWith(head []byte, field uint32) bool {
	if !bytes.HasPrefix(head, []byte{packetTag}) {
		return false
	}
	size, n := wire.Uvarint(head[1:])
	if n <= 0 || size == 0 {
		return false
	}
	tag, n := wire.Uvarint(head[1+n:])
	return n > 0 && tag == uint64(field)<<3|tagBytes
}
