// Package proto reads Perfetto's native traces: a sequence of TracePacket
// messages (https://perfetto.dev/docs/reference/trace-packet-proto). It knows how
// packets are framed, compressed and ordered, what they refer to on their sequence,
// and their clocks. What is in them is read by families of packets, one folder each,
// which package families lists.
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

// Reads returns a function that reads traces whose packets are of the families.
func Reads(families ...Family) func(*format.Input) error {
	return func(in *format.Input) error { return read(in, families) }
}

// Sniff reports whether the input begins with a packet: a message whose fields are
// well-formed, as far as they are in head. The tag of packets alone is a newline, as
// texts begin with, too.
func Sniff(head []byte) bool {
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

// BeginsWith reports whether the first packet of an input begins with a field of
// bytes, text or a message.
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
