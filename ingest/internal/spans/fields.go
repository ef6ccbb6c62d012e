package spans

import (
	"bytes"
	"encoding/hex"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// The fields of the messages in opentelemetry/proto, by message.
const (
	ResourceAttributes = 1

	ScopeName       = 1
	ScopeVersion    = 2
	ScopeAttributes = 3
	ScopeDropped    = 4

	SpanTraceID           = 1
	SpanID                = 2
	SpanTraceState        = 3
	SpanParentID          = 4
	SpanName              = 5
	SpanKind              = 6
	SpanStart             = 7
	SpanEnd               = 8
	SpanAttributes        = 9
	SpanDroppedAttributes = 10
	SpanEvents            = 11
	SpanDroppedEvents     = 12
	SpanLinks             = 13
	SpanDroppedLinks      = 14
	SpanStatus            = 15
	SpanFlags             = 16
	// SpanShared is not OpenTelemetry's. It marks a span of a Zipkin server, whose id is that of its client.
	SpanShared = 1000

	EventTime       = 1
	EventName       = 2
	EventAttributes = 3
	EventDropped    = 4

	LinkTraceID    = 1
	LinkSpanID     = 2
	LinkTraceState = 3
	LinkAttributes = 4
	LinkDropped    = 5
	LinkFlags      = 6

	StatusMessage = 2
	StatusCode    = 3

	KeyValueKey   = 1
	KeyValueValue = 2

	ValueText   = 1
	ValueBool   = 2
	ValueInt    = 3
	ValueDouble = 4
	ValueArray  = 5
	ValueList   = 6
	ValueBytes  = 7

	ListValues = 1 // of ArrayValue and KeyValueList
)

// A Message is a message that is written field by field.
type Message []byte

// Bytes adds a field of bytes or text.
func (m *Message) Bytes(number protowire.Number, b []byte) {
	*m = protowire.AppendBytes(protowire.AppendTag(*m, number, protowire.BytesType), b)
}

// Varint adds a number.
func (m *Message) Varint(number protowire.Number, v uint64) {
	*m = protowire.AppendVarint(protowire.AppendTag(*m, number, protowire.VarintType), v)
}

// Fixed64 adds a number of type fixed64 or the bits of a double.
func (m *Message) Fixed64(number protowire.Number, v uint64) {
	*m = protowire.AppendFixed64(protowire.AppendTag(*m, number, protowire.Fixed64Type), v)
}

// Nested adds a message that write adds to m.
func (m *Message) Nested(number protowire.Number, write func()) {
	*m = protowire.AppendTag(*m, number, protowire.BytesType)
	start := len(*m)
	write()
	size := len(*m) - start
	head := protowire.AppendVarint(nil, uint64(size))
	*m = slices.Insert(*m, start, head...)
}

// Attribute adds a KeyValue, whose value write adds to m.
func (m *Message) Attribute(number protowire.Number, key string, write func()) {
	m.Nested(number, func() {
		m.Bytes(KeyValueKey, []byte(key))
		m.Nested(KeyValueValue, write)
	})
}

// Text adds an attribute whose value is text.
func (m *Message) Text(number protowire.Number, key string, value []byte) {
	m.Attribute(number, key, func() { m.Bytes(ValueText, value) })
}

// The sizes of ids, in bytes.
const (
	TraceIDSize = 16
	SpanIDSize  = 8
)

// ID is the id of a trace or a span.
type ID struct {
	id   [TraceIDSize]byte
	size int
}

// Bytes returns the bytes of the id.
func (i ID) Bytes() []byte { return i.id[:i.size] }

// ParseID parses an id in hexadecimal, of at most so many bytes. Leading zeros may be missing: it has 8 bytes or 16.
func ParseID(text []byte, size int) (i ID, ok bool) {
	if len(text) == 0 || len(text) > 2*size {
		return i, false
	}
	i.size = SpanIDSize
	if len(text) > 2*SpanIDSize {
		i.size = TraceIDSize
	}
	padded := append(bytes.Repeat([]byte("0"), 2*i.size-len(text)), text...)
	if _, err := hex.Decode(i.id[:], padded); err != nil {
		return ID{}, false
	}
	return i, true
}
