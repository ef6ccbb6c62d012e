package spans

import (
	"bytes"
	"encoding/hex"
	"math"

	"github.com/zeebo/xxh3"

	"github.com/tpconvert/tpconvert/ingest/internal/token"
	"github.com/tpconvert/tpconvert/internal/paged"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

var (
	spanTracks  = model.AsyncBlueprint(model.Blueprint{Classification: "span", Dims: []string{"upid", "trace_id"}})
	eventTracks = &model.Blueprint{Classification: "span_event", Dims: []string{"upid", "trace_id"}, Name: "Events of spans"}
)

// parser turns spans into rows, in order of time.
type parser struct {
	*Reader
	lanes   laneSets
	known   index
	waiting paged.List[reference]
	above   []uint64 // keys that the parent of the current span may have, the likeliest first
	set     model.ArgSet
	flow    model.ArgSet
	parent  model.ArgSetID // of flows from a parent, or None
	links   [][]byte       // of the current span
	hex     []byte
}

// maxAbove is how many keys the parent of a span may have.
const maxAbove = 4

// reference is a parent or a linked span that is not there yet.
type reference struct {
	spans [maxAbove]uint64 // keys it may have, the likeliest first, then 0
	slice model.SliceID
	args  model.ArgSetID // of the flow
	maybe bool           // the span need not exist
}

func newParser(r *Reader) *parser {
	return &parser{Reader: r, lanes: laneSets{context: r.in.Context}, known: newIndex(r.in.TempDir), parent: model.None}
}

// Roles tell apart spans that share an id. A server's span has two: its process, and any server.
const (
	plain     = 0
	anyServer = 1
	serverOf  = 2 // plus its process
)

// keyOf returns the key of a span in a role.
func keyOf(traceID, id []byte, role uint64) uint64 {
	var b [TraceIDSize + SpanIDSize]byte
	n := copy(b[:], traceID)
	n += copy(b[n:], id)
	return xxh3.HashSeed(b[:n], role)
}

// Event adds a span or an event of one.
func (p *parser) Event(ts int64, payload []byte) error {
	t := token.Reader(payload)
	if t.Uint() == eventToken {
		p.event(ts, t)
		return nil
	}
	dur := t.Int()
	t.Uint() // hasParent, for tie
	p.addSpan(ts, dur, t)
	return nil
}

func (p *parser) upid(resource uint64) model.UPID {
	upid := p.processes[resource]
	if upid == model.None { // it was referred to, but never described
		p.SetResource(int(resource), nil)
		upid = p.processes[resource]
	}
	return upid
}

func (p *parser) addSpan(ts, dur int64, t token.Reader) {
	upid := p.upid(t.Uint())
	scope := &p.scopes[t.Uint()]
	s := p.read(p.withParts(t, upid))
	scope.args.AddArgs(&p.set)

	server := p.SharedIDs && (s.kind == kindServer || s.shared && s.kind != kindClient)
	key := keyOf(s.traceID, s.id, plain)
	p.setAbove(&s, server, upid)
	if server {
		key = keyOf(s.traceID, s.id, serverOf+uint64(upid))
	}
	lanes := p.lanes.of(s.traceID, upid)
	lane, nested := lanes.place(key, p.above, ts, dur)
	if lane.track == model.None {
		text := p.traceText(s.traceID)
		lane.track = p.in.Tracks.Create(spanTracks, &model.TrackOptions{Name: text}, model.IntDim(upid), model.StringDim(text), model.IntDim(int64(lane.index)))
		p.in.Store.Track.TrackGroupID.Set(int64(lane.track), int64(lanes.group))
	}
	var slice model.SliceID
	title := p.in.Store.Strings.InternBytes(s.name)
	if dur == unfinished {
		slice = p.in.Slices.Begin(ts, lane.track, scope.name, title, &p.set)
	} else {
		slice = p.in.Slices.Scoped(ts, dur, lane.track, scope.name, title, &p.set)
	}
	if slice == model.None {
		return
	}
	p.known.add(key, slice)
	if server {
		p.known.add(keyOf(s.traceID, s.id, anyServer), slice)
	}
	if len(p.above) > 0 && !nested {
		if p.parent == model.None {
			p.flow.Reset()
			p.parent = p.flowArgs("parent")
		}
		above := reference{slice: slice, args: p.parent, maybe: len(s.parent) == 0 && !s.shared}
		copy(above.spans[:], p.above)
		p.refer(above)
	}
	for _, link := range p.links {
		p.link(slice, link)
	}
}

// span is what places a span.
type span struct {
	traceID, id, parent, name []byte
	kind                      uint64
	shared                    bool
}

// read reads a span, and sets its args and links.
func (p *parser) read(message []byte) (s span) {
	p.set.Reset()
	p.links = p.links[:0]
	var start, end uint64
	strings := p.in.Store.Strings
	r := wire.Read(message)
	for r.Next() {
		switch r.Number {
		case SpanTraceID:
			s.traceID = r.Bytes()
			p.args.addHex(&p.set, "trace_id", s.traceID)
		case SpanID:
			s.id = r.Bytes()
			p.args.addHex(&p.set, "span_id", s.id)
		case SpanParentID:
			s.parent = r.Bytes()
			p.args.addHex(&p.set, "parent_span_id", s.parent)
		case SpanTraceState:
			if len(r.Bytes()) > 0 {
				p.args.addText(&p.set, "trace_state", r.Bytes())
			}
		case SpanFlags:
			p.set.Add(strings.Intern("flags"), model.IntArg(int64(r.Uint32())))
		case SpanName:
			s.name = r.Bytes()
		case SpanKind:
			s.kind = r.Uint64()
			p.set.Add(strings.Intern("kind"), model.StringArg(strings.Intern(enum(Kinds, s.kind))))
		case SpanStart:
			start = r.Uint64()
		case SpanEnd:
			end = r.Uint64()
		case SpanAttributes:
			p.args.attribute(&p.set, "attributes.", r.Bytes())
		case SpanDroppedAttributes:
			p.args.dropped(&p.set, "dropped_attributes_count", &r.Field)
		case SpanDroppedEvents:
			p.args.dropped(&p.set, "dropped_events_count", &r.Field)
		case SpanDroppedLinks:
			p.args.dropped(&p.set, "dropped_links_count", &r.Field)
		case SpanLinks:
			p.links = append(p.links, r.Bytes())
		case SpanStatus:
			p.status(r.Bytes())
		case SpanShared:
			s.shared = true
			p.set.Add(strings.Intern("shared"), model.BoolArg(true))
		default:
			p.args.unread("span", &r.Field)
		}
	}
	if end != 0 && invalidEnd(start, end) {
		p.set.Add(strings.Intern("end_time_unix_nano"), model.IntArg(int64(min(end, math.MaxInt64))))
	}
	return s
}

// setAbove sets the keys that the parent of a span may have. The parent of a server is its client if both have one id. The parent
// of others is the server of their own process, if it shares its id with a client.
func (p *parser) setAbove(s *span, server bool, upid model.UPID) {
	p.above = p.above[:0]
	if server {
		p.above = append(p.above, keyOf(s.traceID, s.id, plain))
	}
	if len(s.parent) == 0 || bytes.Equal(s.parent, s.id) {
		return
	}
	if p.SharedIDs {
		p.above = append(p.above, keyOf(s.traceID, s.parent, serverOf+uint64(upid)))
	}
	p.above = append(p.above, keyOf(s.traceID, s.parent, plain))
	if p.SharedIDs {
		p.above = append(p.above, keyOf(s.traceID, s.parent, anyServer))
	}
}

// traceText returns the id of a trace as text. There may be millions.
func (p *parser) traceText(id []byte) model.StringID {
	p.hex = hex.AppendEncode(p.hex[:0], id)
	return p.in.Store.Strings.InternCold(p.hex)
}

// status adds a Status.
func (p *parser) status(message []byte) {
	for r := wire.Read(message); r.Next(); {
		switch r.Number {
		case StatusMessage:
			p.args.addText(&p.set, "status.message", r.Bytes())
		case StatusCode:
			strings := p.in.Store.Strings
			p.set.Add(strings.Intern("status.code"), model.StringArg(strings.Intern(enum(Codes, r.Uint64()))))
		default:
			p.args.unread("status", &r.Field)
		}
	}
}

// flowArgs returns the id of the args of a flow, which has the name of what it leads from.
func (p *parser) flowArgs(name string) model.ArgSetID {
	strings := p.in.Store.Strings
	p.flow.Add(strings.Intern("name"), model.StringArg(strings.Intern(name)))
	return p.in.Store.InternArgs(&p.flow)
}

// link adds the flow from a linked span.
func (p *parser) link(slice model.SliceID, message []byte) {
	var traceID, id []byte
	p.flow.Reset()
	for r := wire.Read(message); r.Next(); {
		switch r.Number {
		case LinkTraceID:
			traceID = r.Bytes()
			p.args.addHex(&p.flow, "trace_id", traceID)
		case LinkSpanID:
			id = r.Bytes()
			p.args.addHex(&p.flow, "span_id", id)
		case LinkTraceState:
			if len(r.Bytes()) > 0 {
				p.args.addText(&p.flow, "trace_state", r.Bytes())
			}
		case LinkAttributes:
			p.args.attribute(&p.flow, "attributes.", r.Bytes())
		case LinkDropped:
			p.args.dropped(&p.flow, "dropped_attributes_count", &r.Field)
		case LinkFlags:
			p.flow.Add(p.in.Store.Strings.Intern("flags"), model.IntArg(int64(r.Uint32())))
		default:
			p.args.unread("link", &r.Field)
		}
	}
	if len(traceID) > TraceIDSize || len(id) > SpanIDSize {
		p.in.File.Count(statParseErrors)
		return
	}
	p.refer(reference{spans: [maxAbove]uint64{keyOf(traceID, id, plain)}, slice: slice, args: p.flowArgs("link")})
}

// refer adds the flow of a reference, at once if it can.
func (p *parser) refer(r reference) {
	if from, ok := p.known.find(r.spans[0]); ok {
		p.connect(from, &r)
		return
	}
	p.waiting.Append(r)
}

func (p *parser) connect(from model.SliceID, r *reference) {
	p.in.Store.Flow.ArgSetID.Set(p.in.Flows.Link(from, r.slice), r.args)
}

// finish adds the flows of spans that came before those that they refer to, or long after.
func (p *parser) finish() error {
	defer p.known.space.Close()
	for _, offset := range p.parts.left() {
		p.Damaged(offset)
	}
	var wanted paged.Map[model.SliceID]
	for i := range p.waiting.Len() {
		for _, key := range p.waiting.At(i).spans {
			if key != 0 && wanted.Get(key) == nil {
				wanted.Add(key, model.None)
			}
		}
	}
	p.known.fill(&wanted)
	for i := range p.waiting.Len() {
		r := p.waiting.At(i)
		from := model.SliceID(model.None)
		for _, key := range r.spans {
			if key != 0 && from == model.None {
				from = *wanted.Get(key)
			}
		}
		if from == model.None {
			if !r.maybe {
				p.in.File.Count(statReferenceMissing)
			}
			continue
		}
		p.connect(from, r)
	}
	return p.known.space.Err()
}

// event adds an event of a span.
func (p *parser) event(ts int64, t token.Reader) {
	upid := p.upid(t.Uint())
	traceID := take(&t)
	id := take(&t)
	p.set.Reset()
	p.args.addHex(&p.set, "trace_id", traceID)
	p.args.addHex(&p.set, "span_id", id)
	var name []byte
	for r := wire.Read(t); r.Next(); {
		switch r.Number {
		case EventTime:
		case EventName:
			name = r.Bytes()
		case EventAttributes:
			p.args.attribute(&p.set, "attributes.", r.Bytes())
		case EventDropped:
			p.args.dropped(&p.set, "dropped_attributes_count", &r.Field)
		default:
			p.args.unread("event", &r.Field)
		}
	}
	strings := p.in.Store.Strings
	lanes := p.lanes.of(traceID, upid)
	if lanes.events == model.None {
		lanes.events = p.in.Tracks.Create(eventTracks, nil, model.IntDim(upid), model.StringDim(p.traceText(traceID)))
	}
	p.in.Slices.Scoped(ts, 0, lanes.events, 0, strings.InternBytes(name), &p.set)
}

// take returns the next bytes of a token, which follow their number.
func take(t *token.Reader) []byte {
	n := t.Uint()
	b := (*t)[:n]
	*t = (*t)[n:]
	return b
}

// The names of the values of SpanKind and of StatusCode.
var (
	Kinds = []string{"SPAN_KIND_UNSPECIFIED", "SPAN_KIND_INTERNAL", "SPAN_KIND_SERVER", "SPAN_KIND_CLIENT", "SPAN_KIND_PRODUCER", "SPAN_KIND_CONSUMER"}
	Codes = []string{"STATUS_CODE_UNSET", "STATUS_CODE_OK", "STATUS_CODE_ERROR"}
)

// Some values of SpanKind.
const (
	kindServer = 2
	kindClient = 3
)

// enum returns the name of an enum's value.
func enum(names []string, v uint64) string {
	if v < uint64(len(names)) {
		return names[v]
	}
	return names[0]
}
