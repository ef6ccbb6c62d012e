// Package xplane reads XSpace messages (*.xplane.pb), which JAX, TensorFlow and PyTorch/XLA write.
//
// A space has planes: a host or a device. A plane has lines, a line has events, and these name their
// metadata by ids that the plane explains after its lines. So events keep their bytes until all is read.
package xplane

import (
	"errors"
	"io"
	"math"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/token"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/sort"
)

// Format is the format of XSpace messages.
var Format = &format.Format{Name: "xplane", Title: "XPlane", Sniff: sniff, Read: read}

// The fields of the messages, as xplane.proto numbers them.
const (
	spacePlanes, spaceErrors, spaceWarnings, spaceHostnames                              = 1, 2, 3, 4
	planeID, planeName, planeLines, planeEventMetadata, planeStatMetadata, planeStats    = 1, 2, 3, 4, 5, 6
	lineID, lineName, lineTimestamp, lineEvents, lineDuration, lineDisplayID, lineTitle  = 1, 2, 3, 4, 9, 10, 11
	eventMetadata, eventOffset, eventDuration, eventStats, eventOccurrences              = 1, 2, 3, 4, 5
	statMetadata, statDouble, statUint, statInt, statText, statBytes, statRef            = 1, 2, 3, 4, 5, 6, 7
	metadataID, metadataName, metadataBytes, metadataTitle, metadataStats, metadataChild = 1, 2, 3, 4, 5, 6
	mapKey, mapValue                                                                     = 1, 2
)

// sniff accepts a message whose first field is a plane with the name of a host or device.
func sniff(head []byte) bool {
	tag, n := wire.Uvarint(head)
	if n <= 0 || tag != spacePlanes<<3|uint64(wire.Bytes) {
		return false
	}
	size, m := wire.Uvarint(head[n:])
	if m <= 0 {
		return false
	}
	r := wire.Read(head[n+m : n+m+int(min(size, uint64(len(head)-n-m)))])
	for r.Next() {
		switch r.Number {
		case planeID:
			if r.Type != wire.Varint {
				return false
			}
			continue
		case planeName:
			name := string(r.Bytes())
			for _, prefix := range []string{"/host:", "/device:", "Task Environment", "#Chip"} {
				if strings.HasPrefix(name, prefix) {
					return true
				}
			}
		}
		return false
	}
	return false
}

func read(in *format.Input) error {
	in.UseClock(model.ClockTraceFile)
	r := &reader{in: in, parser: newParser(in.Context), token: token.NewWriter(in.Store)}
	r.stream = wire.NewStream(in)
	r.stream.Open = func(number uint32) bool {
		return len(r.ends) == inSpace && number == spacePlanes || len(r.ends) == inPlane && number == planeLines
	}
	r.host, r.device = in.Sorter.NewStream(r.parser), in.Sorter.NewStream(r.parser)
	r.host.SetTie(outermost)
	r.device.SetTie(outermost)
	in.AtEnd(func() error { r.parser.finish(); return nil })
	return r.read()
}

// reader passes the events of all lines to the sorter.
type reader struct {
	in           *format.Input
	parser       *parser
	stream       *wire.Stream
	ends         []int64 // offsets of the ends of the plane and the line
	host, device *sort.Stream
	token        *token.Writer
	found        bool // an event
}

func (r *reader) read() error {
	s := r.stream
	for {
		for len(r.ends) > 0 && s.Position() >= r.ends[len(r.ends)-1] {
			if s.Position() > r.ends[len(r.ends)-1] {
				r.in.File.LogAt(model.StatCorruptPacket, s.Offset, nil)
			}
			r.ends = r.ends[:len(r.ends)-1]
		}
		if !s.Next() {
			break
		}
		if err := r.field(); err != nil {
			return err
		}
	}
	switch err := s.Err(); {
	case errors.Is(err, wire.ErrMalformed) && !r.found:
		return format.Errorf(format.ErrCorrupt, s.Offset, "%v", err)
	case errors.Is(err, wire.ErrMalformed):
		r.in.File.LogAt(model.StatCorruptPacket, s.Offset, nil)
	case errors.Is(err, io.ErrUnexpectedEOF):
		r.in.File.LogAt(model.StatTruncatedInput, s.Offset, nil)
	case err != nil:
		return err
	case len(r.ends) > 0:
		r.in.File.LogAt(model.StatTruncatedInput, s.End(), nil)
	}
	return nil
}

// The numbers of messages that the position is in.
const (
	inSpace = iota
	inPlane
	inLine
)

// field reads a field of the space, of a plane or of a line.
func (r *reader) field() error {
	s, p, strings := r.stream, r.parser, r.in.Store.Strings
	switch len(r.ends) {
	case inSpace:
		switch s.Number {
		case spacePlanes:
			p.planes = append(p.planes, &plane{number: len(p.planes), events: map[int64]*metadata{}, stats: map[int64]model.StringID{}})
			r.ends = append(r.ends, s.End())
		case spaceErrors:
			r.in.File.AddDynamicMetadata("xplane.error", model.StringArg(strings.InternBytes(s.Bytes())))
		case spaceWarnings:
			r.in.File.AddDynamicMetadata("xplane.warning", model.StringArg(strings.InternBytes(s.Bytes())))
		case spaceHostnames:
			r.in.File.AddDynamicMetadata("xplane.hostname", model.StringArg(strings.InternBytes(s.Bytes())))
		default:
			r.in.File.Unread(model.StatUnreadFact, model.None, "unknown field of the space").AddAt(s.Offset)
		}
	case inPlane:
		plane := p.planes[len(p.planes)-1]
		switch s.Number {
		case planeID: // often missing
		case planeName:
			plane.name = string(s.Bytes())
		case planeLines:
			plane.lines = append(plane.lines, &line{})
			r.ends = append(r.ends, min(s.End(), r.ends[0]))
		case planeEventMetadata:
			id, value := entry(s.Bytes())
			plane.events[id] = p.metadata(value)
		case planeStatMetadata:
			id, value := entry(s.Bytes())
			plane.stats[id] = strings.InternBytes(field(value, metadataName).Bytes())
		case planeStats:
			plane.own = append(plane.own, append([]byte(nil), s.Bytes()...))
		default:
			r.in.File.Unread(model.StatUnreadFact, model.None, "unknown field of a plane").AddAt(s.Offset)
		}
	case inLine:
		plane := p.planes[len(p.planes)-1]
		line := plane.lines[len(plane.lines)-1]
		switch s.Number {
		case lineID:
			line.id = s.Int64()
		case lineName:
			line.name = strings.InternBytes(s.Bytes())
		case lineTitle:
			line.title = strings.InternBytes(s.Bytes())
		case lineTimestamp:
			if line.begun { // its events are at other times
				r.in.File.LogAt(model.StatCorruptPacket, s.Offset, nil)
			}
			line.start = s.Int64()
		case lineDuration, lineDisplayID:
		case lineEvents:
			line.begun = true
			return r.event(plane, line, s.Bytes())
		default:
			r.in.File.Unread(model.StatUnreadFact, model.None, "unknown field of a line").AddAt(s.Offset)
		}
	}
	return nil
}

// field returns a field of a message, or an empty one.
func field(message []byte, number uint32) *wire.Field {
	f, _ := wire.Find(message, number)
	return &f
}

// entry returns the key and value of an entry of a map.
func entry(message []byte) (int64, []byte) {
	return field(message, mapKey).Int64(), field(message, mapValue).Bytes()
}

// event passes an event to the sorter.
func (r *reader) event(plane *plane, line *line, message []byte) error {
	if _, aggregated := wire.Find(message, eventOccurrences); aggregated {
		r.in.File.Unread(model.StatUnreadEvent, model.None, "aggregated event").AddAt(r.stream.Offset)
		return nil
	}
	// Times are in ps after the start of the line.
	offset, duration := field(message, eventOffset).Int64(), field(message, eventDuration).Int64()
	start, end := floorDiv(offset, 1000), floorDiv(offset+duration, 1000)
	if duration < 0 || offset > 0 && duration > math.MaxInt64-offset || start > 0 && line.start > math.MaxInt64-start {
		r.in.File.LogAt(model.StatCorruptPacket, r.stream.Offset, nil)
		return nil
	}
	ts, ok := r.in.TraceTime(line.start+start, r.stream.Offset)
	if !ok {
		return nil
	}
	r.found = true
	r.token.Reset()
	r.token.Int(end - start)
	r.token.Uint(uint64(len(r.parser.planes) - 1))
	r.token.Uint(uint64(len(plane.lines) - 1))
	r.token.Rest(message)
	stream := r.device
	if plane.isHost() {
		stream = r.host
	}
	return stream.Push(ts, r.token.Bytes())
}

// outermost orders slices that begin at the same time: the longest comes first.
func outermost(event []byte) int64 {
	t := token.Reader(event)
	return -t.Int()
}

// floorDiv divides and rounds down.
func floorDiv(a, b int64) int64 {
	if a%b < 0 {
		return a/b - 1
	}
	return a / b
}
