package otlp

import (
	"unicode"
	"unicode/utf8"

	"github.com/tpconvert/tpconvert/ingest/internal/spans"
	"github.com/tpconvert/tpconvert/internal/wire"
)

// framing is how messages follow each other.
type framing int

const (
	unknown   framing = iota
	alone             // one message, or several that make one
	wrapped           // in the message TraceByIDResponse of Grafana's Tempo, version 2 of its API
	delimited         // each after its size as a varint, as OpenTelemetry's specification says
	sized             // each after its size in 4 bytes, as the collector's file exporter writes
)

// sizeBytes is the size of a big-endian size.
const sizeBytes = 4

// responseTrace is the field of TraceByIDResponse with the trace.
const responseTrace = 1

// framingOf returns how the messages at the start of an input are framed, if they are OpenTelemetry's.
func framingOf(head []byte) framing {
	_, n := wire.Uvarint(head)
	switch {
	case isData(head):
		return alone
	case n > 0 && isData(head[n:]):
		return delimited
	case len(head) > sizeBytes && head[0] == 0 && isData(head[sizeBytes:]):
		return sized
	case scan(head, true, func(number uint32, t wire.Type, b []byte, cut bool) verdict {
		if number != responseTrace || t != wire.Bytes {
			return refused
		}
		return data(b, cut)
	}) == accepted:
		return wrapped
	}
	return unknown
}

// isData accepts the start of TracesData, or of the same message for another signal: all fields are known up to the first
// that no other format has in this place, which is the name of an attribute of a resource, the name of a scope, or a span. The
// resources and scopes before it may be empty. The reader finds out which signal it is.
func isData(head []byte) bool { return data(head, true) == accepted }

// verdict is what a part of an input says about its format.
type verdict int

const (
	refused verdict = iota
	open            // nothing speaks against it
	accepted
)

// scan calls f for each field of a message until one is refused or accepted. cut is whether the end of the message is missing, and
// for f whether that of the field is.
func scan(b []byte, cut bool, f func(number uint32, t wire.Type, b []byte, cut bool) verdict) verdict {
	for len(b) > 0 {
		tag, n := wire.Uvarint(b)
		if n <= 0 {
			return missing(cut && n == 0)
		}
		b = b[n:]
		var size uint64
		switch wire.Type(tag & 7) {
		case wire.Varint:
			if _, n = wire.Uvarint(b); n <= 0 {
				return missing(cut && n == 0)
			}
			size = uint64(n)
		case wire.Fixed64:
			size = 8
		case wire.Fixed32:
			size = 4
		case wire.Bytes:
			if size, n = wire.Uvarint(b); n <= 0 {
				return missing(cut && n == 0)
			}
			b = b[n:]
		default:
			return refused
		}
		beyond := size > uint64(len(b))
		if beyond && !cut {
			return refused
		}
		value := b[:min(size, uint64(len(b)))]
		if v := f(uint32(tag>>3), wire.Type(tag&7), value, beyond); v != open {
			return v
		}
		b = b[len(value):]
	}
	return open
}

// missing is the verdict on a field whose end is not there.
func missing(expected bool) verdict {
	if expected {
		return open
	}
	return refused
}

// data judges TracesData, MetricsData or LogsData.
func data(b []byte, cut bool) verdict {
	return scan(b, cut, func(number uint32, t wire.Type, b []byte, cut bool) verdict {
		if number != tracesResourceSpans || t != wire.Bytes {
			return refused
		}
		return scan(b, cut, func(number uint32, t wire.Type, b []byte, cut bool) verdict {
			switch {
			case t != wire.Bytes:
				return refused
			case number == resourceSpansResource:
				return scan(b, cut, resourceField)
			case number == resourceSpansScopes:
				return scan(b, cut, scopeField)
			case number == schemaURL:
				return text(b, cut, open)
			}
			return refused
		})
	})
}

// schemaURL is a field of messages with resources and with scopes.
const schemaURL = 3

func resourceField(number uint32, t wire.Type, b []byte, cut bool) verdict {
	switch {
	case number == spans.ResourceAttributes && t == wire.Bytes:
		return scan(b, cut, attributeField)
	case number == resourceDropped && t == wire.Varint, number == resourceEntities && t == wire.Bytes:
		return open
	}
	return refused
}

// Fields of Resource that make no rows.
const resourceDropped, resourceEntities = 2, 3

func attributeField(number uint32, t wire.Type, b []byte, cut bool) verdict {
	switch {
	case number == spans.KeyValueKey && t == wire.Bytes:
		return text(b, cut, accepted)
	case number == spans.KeyValueValue && t == wire.Bytes:
		return open
	}
	return refused
}

// scopeField judges a field of ScopeSpans, or of the same message for another signal.
func scopeField(number uint32, t wire.Type, b []byte, cut bool) verdict {
	switch {
	case t != wire.Bytes:
		return refused
	case number == scopeSpansScope:
		return scan(b, cut, func(number uint32, t wire.Type, b []byte, cut bool) verdict {
			switch {
			case (number == spans.ScopeName || number == spans.ScopeVersion) && t == wire.Bytes:
				return text(b, cut, accepted)
			case number == spans.ScopeAttributes && t == wire.Bytes:
				return scan(b, cut, attributeField)
			case number == spans.ScopeDropped && t == wire.Varint:
				return open
			}
			return refused
		})
	case number == schemaURL:
		return text(b, cut, open)
	case number == scopeSpansSpans:
		if id, ok := wire.Find(b, spans.SpanTraceID); ok && len(id.Bytes()) == spans.TraceIDSize || isProfile(b) || !cut && signalOf(b) != ofTraces {
			return accepted
		}
	}
	return refused
}

// text is the verdict on a name: that given, or refused for what is no text.
func text(b []byte, cut bool, v verdict) verdict {
	switch {
	case len(b) == 0:
		return open
	case cut:
		return missing(cut) // it has another end in the rest of the input
	case !utf8.Valid(b):
		return refused
	}
	for _, r := range string(b) {
		if unicode.IsControl(r) {
			return refused
		}
	}
	return v
}

// signal is what the records of a scope are.
type signal string

const (
	ofTraces   signal = "traces"
	ofMetrics  signal = "metrics"
	ofLogs     signal = "logs"
	ofProfiles signal = "profiles"
)

// shape is what tells a record from a span: the types of its fields by number, and a field that it has.
type shape struct {
	signal
	types map[uint32]wire.Type
	has   []uint32
}

// shapes are those of Metric and LogRecord.
var shapes = []shape{
	{ofMetrics, map[uint32]wire.Type{1: wire.Bytes, 2: wire.Bytes, 3: wire.Bytes, 5: wire.Bytes, 7: wire.Bytes, 9: wire.Bytes, 10: wire.Bytes,
		11: wire.Bytes, 12: wire.Bytes}, []uint32{5, 7, 9, 10, 11}}, // the kinds of data points
	{ofLogs, map[uint32]wire.Type{1: wire.Fixed64, 2: wire.Varint, 3: wire.Bytes, 5: wire.Bytes, 6: wire.Bytes, 7: wire.Varint, 8: wire.Fixed32,
		9: wire.Bytes, 10: wire.Bytes, 11: wire.Fixed64, 12: wire.Bytes}, []uint32{1, 2, 5, 11}}, // times, severity, body
}

// signalOf returns what a record is. It is a span unless it looks like another.
func signalOf(record []byte) signal {
	if isProfile(record) {
		return ofProfiles
	}
	for _, s := range shapes {
		fits, has := true, false
		r := wire.Read(record)
		for fits && r.Next() {
			t, known := s.types[r.Number]
			fits = known && t == r.Type
			for _, number := range s.has {
				has = has || number == r.Number
			}
		}
		if fits && has && !r.Bad() {
			return s.signal
		}
	}
	return ofTraces
}

// Fields of Profile, or of ProfileContainer, in all releases.
const (
	profileType     = 1 // what is measured
	containerStart  = 2 // the time, as a number of 8 bytes, which no other signal has in its place
	profileTime     = 3
	profileMaxField = 22
	maxValueType    = 15 // bytes: two indices and an enum
)

// isProfile reports whether a record, whose end may be missing, is a profile: what no other record has in this place comes before
// what a profile does not have.
func isProfile(record []byte) bool {
	for r := wire.Read(record); r.Next(); {
		switch {
		case r.Number > profileMaxField || r.Type == wire.Fixed32:
			return false
		case r.Number == containerStart && r.Type == wire.Fixed64, r.Number == profileTime && r.Type == wire.Fixed64:
			return true
		case r.Type == wire.Fixed64:
			return false
		case r.Number == profileType && isValueType(r.Field):
			return true
		}
	}
	return false
}

// isValueType reports whether a field is a ValueType: numbers, while other records have a name here, or an id.
func isValueType(f wire.Field) bool {
	if f.Type != wire.Bytes || len(f.Bytes()) == 0 || len(f.Bytes()) > maxValueType {
		return false
	}
	r := wire.Read(f.Bytes())
	for r.Next() {
		if r.Type != wire.Varint || r.Number > 3 {
			return false
		}
	}
	return !r.Bad()
}

// hasProfiles reports whether the first record of messages is a profile.
func hasProfiles(head []byte, f framing) (found bool) {
	switch f {
	case sized:
		head = head[sizeBytes:]
	case delimited:
		_, n := wire.Uvarint(head)
		head = head[n:]
	}
	inner := func(field uint32, f func(uint32, wire.Type, []byte, bool) verdict) func(uint32, wire.Type, []byte, bool) verdict {
		return func(number uint32, _ wire.Type, b []byte, cut bool) verdict {
			if number != field {
				return open
			}
			return scan(b, cut, f)
		}
	}
	scan(head, true, inner(tracesResourceSpans, inner(resourceSpansScopes, func(number uint32, _ wire.Type, b []byte, _ bool) verdict {
		if number != scopeSpansSpans {
			return open
		}
		found = isProfile(b)
		return accepted
	})))
	return found
}
