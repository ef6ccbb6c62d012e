package spans

import (
	"encoding/hex"

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
	shared  bool // some spans share the id of another
	set     model.ArgSet
	flow    model.ArgSet
	parent  model.ArgSetID // of flows from a parent, or None
	links   [][]byte       // of the current span
	hex     []byte
}

// reference is a parent or a linked span that is not there yet.
type reference struct {
	span      uint64 // its key
	alternate uint64 // the key to use if there is no such span, or 0
	slice     model.SliceID
	args      model.ArgSetID // of the flow
}

func newParser(r *Reader) *parser {
	return &parser{Reader: r, lanes: laneSets{context: r.in.Context}, known: newIndex(r.in.TempDir), parent: model.None}
}

// keyOf returns the key of a span. half is 1 for the server's half of a shared span.
func keyOf(traceID, id []byte, half byte) uint64 {
	var b [TraceIDSize + SpanIDSize + 1]byte
	n := copy(b[:], traceID)
	n += copy(b[n:], id)
	b[n] = half
	return xxh3.Hash(b[:n+1])
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
	of := &p.scopes[t.Uint()]
	p.set.Reset()
	p.links = p.links[:0]
	var traceID, id, parent, name []byte
	var half byte
	strings := p.in.Store.Strings
	r := wire.Read(t)
	for r.Next() {
		switch r.Number {
		case SpanTraceID:
			traceID = r.Bytes()
			p.args.addHex(&p.set, "trace_id", traceID)
		case SpanID:
			id = r.Bytes()
			p.args.addHex(&p.set, "span_id", id)
		case SpanParentID:
			parent = r.Bytes()
			p.args.addHex(&p.set, "parent_span_id", parent)
		case SpanTraceState:
			if len(r.Bytes()) > 0 {
				p.args.addText(&p.set, "trace_state", r.Bytes())
			}
		case SpanFlags:
			p.set.Add(strings.Intern("flags"), model.IntArg(int64(r.Uint32())))
		case SpanName:
			name = r.Bytes()
		case SpanKind:
			p.set.Add(strings.Intern("kind"), model.StringArg(strings.Intern(enum(Kinds, r.Uint64()))))
		case SpanStart, SpanEnd:
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
			half = 1
			p.shared = true
			p.set.Add(strings.Intern("shared"), model.BoolArg(true))
		default:
			p.args.unread("span", &r.Field)
		}
	}
	of.args.AddArgs(&p.set)

	key, above, alternate := keyOf(traceID, id, half), uint64(0), uint64(0)
	switch {
	case half == 1:
		above = keyOf(traceID, id, 0)
		if len(parent) > 0 {
			alternate = keyOf(traceID, parent, 0)
		}
	case len(parent) > 0:
		above = keyOf(traceID, parent, 0)
		if p.shared {
			above, alternate = keyOf(traceID, parent, 1), above
		}
	}
	lanes := p.lanes.of(traceID, upid)
	lane, nested := lanes.place(key, above, alternate, ts, dur)
	if lane.track == model.None {
		text := p.traceText(traceID)
		lane.track = p.in.Tracks.Create(spanTracks, &model.TrackOptions{Name: text}, model.IntDim(upid), model.StringDim(text), model.IntDim(int64(lane.index)))
		p.in.Store.Track.TrackGroupID.Set(int64(lane.track), int64(lanes.group))
	}
	var slice model.SliceID
	title := strings.InternBytes(name)
	if dur == unfinished {
		slice = p.in.Slices.Begin(ts, lane.track, of.name, title, &p.set)
	} else {
		slice = p.in.Slices.Scoped(ts, dur, lane.track, of.name, title, &p.set)
	}
	if slice == model.None {
		return
	}
	p.known.add(key, slice)
	if above != 0 && !nested {
		if p.parent == model.None {
			p.flow.Reset()
			p.parent = p.flowArgs("parent")
		}
		p.refer(reference{above, alternate, slice, p.parent})
	}
	for _, link := range p.links {
		p.link(slice, link)
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
		p.in.File.Count(model.StatSpanParseErrors)
		return
	}
	r := reference{span: keyOf(traceID, id, 0), slice: slice, args: p.flowArgs("link")}
	p.refer(r)
}

// refer adds the flow of a reference, at once if it can.
func (p *parser) refer(r reference) {
	if from, ok := p.known.find(r.span); ok {
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
	var wanted paged.Map[model.SliceID]
	for i := range p.waiting.Len() {
		for _, key := range []uint64{p.waiting.At(i).span, p.waiting.At(i).alternate} {
			if wanted.Get(key) == nil {
				wanted.Add(key, model.None)
			}
		}
	}
	p.known.fill(&wanted)
	for i := range p.waiting.Len() {
		r := p.waiting.At(i)
		from := *wanted.Get(r.span)
		if from == model.None && r.alternate != 0 {
			from = *wanted.Get(r.alternate)
		}
		if from == model.None {
			p.in.File.Count(model.StatSpanReferenceMissing)
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

// enum returns the name of an enum's value.
func enum(names []string, v uint64) string {
	if v < uint64(len(names)) {
		return names[v]
	}
	return names[0]
}
