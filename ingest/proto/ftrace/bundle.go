package ftrace

import (
	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
)

// ftraceBundle is an FtraceEventBundle whose events are located but not decoded. That
// can be done ahead, because it needs only the bytes.
type ftraceBundle struct {
	data   []byte
	head   []wire.Field // all but the events
	events []ftraceSpan
}

// ftraceSpan is an FtraceEvent in a bundle.
type ftraceSpan struct {
	stamp    uint64 // in the bundle's clock
	from, to uint32 // range in the bundle, without the time if that comes first
	number   uint32 // of the tracepoint, 0 if there is none
	timeless bool
}

// bundles are scanned ahead.
var bundles = proto.Ahead[ftraceBundle]{Field: pb.TracePacket_FtraceEvents, Decode: (*ftraceBundle).scan}

// Tags of fields.
const (
	tagVarint = uint64(wire.Varint)
	tagBytes  = uint64(wire.Bytes)
)

// bundleEvent is the tag of an FtraceEvent in a bundle.
const bundleEvent = 2<<3 | tagBytes

// maxSpareSpans limits the spans whose memory is kept for the next bundle.
const maxSpareSpans = 16 << 10

func (b *ftraceBundle) scan(data []byte) {
	if cap(b.events) > maxSpareSpans {
		b.events = nil
	}
	b.data, b.head, b.events = data, b.head[:0], b.events[:0]
	for i := 0; i < len(data); {
		tag, v, next := wire.Scan(data, i)
		if next < 0 {
			break
		}
		i = next
		if tag == bundleEvent {
			b.events = append(b.events, spanOf(data, next-int(v), next))
		} else {
			b.head = append(b.head, wire.ScannedField(data, tag, v, next))
		}
	}
}

// spanOf returns the span of the event at from..to in a bundle.
func spanOf(data []byte, from, to int) ftraceSpan {
	event := data[:to]
	s := ftraceSpan{from: uint32(from), to: uint32(to)}
	if tag, v, next := wire.Scan(event, from); next > 0 && tag == pb.FtraceEvent_Timestamp<<3|tagVarint {
		s.stamp, s.from = v, uint32(next)
	} else if f, ok := wire.Find(event[from:], pb.FtraceEvent_Timestamp); ok { // not in its usual place
		s.stamp = f.Uint64()
	} else {
		s.timeless = true
	}
	s.number, _ = eventOf(event[s.from:])
	return s
}

// rest returns the event's bytes after its time.
func (b *ftraceBundle) rest(s *ftraceSpan) []byte { return b.data[s.from:s.to:s.to] }

// eventOf returns the number and the fields of an event's tracepoint. The number is 0
// if there is none.
func eventOf(rest []byte) (uint32, []byte) {
	for i := 0; i < len(rest); {
		tag, v, next := wire.Scan(rest, i)
		if next < 0 {
			break
		}
		if i = next; tag&7 == tagBytes {
			return uint32(tag >> 3), rest[i-int(v) : i]
		}
	}
	return 0, nil
}
