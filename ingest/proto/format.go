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
		Sniff: func(head []byte) bool { return bytes.HasPrefix(head, []byte{packetTag}) },
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
