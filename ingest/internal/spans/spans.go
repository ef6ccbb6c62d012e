// Package spans makes rows of the spans of distributed traces. Readers of all formats give it spans as OpenTelemetry's
// protobuf messages (opentelemetry/proto/trace/v1/trace.proto).
//
// A resource, such as an instance of a service, is a process. Spans of one trace in one process are slices, and lie on as
// many tracks as needed for each to have its parent around it, or nothing. Flows lead from parents elsewhere, and from
// linked spans. The events of spans are instants on a track of their own.
package spans

import (
	"math"

	"github.com/zeebo/xxh3"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/token"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/sort"
)

var (
	statParseErrors = model.NewStat(1027, model.StatInfo{
		Name: "span_parse_errors", Severity: model.DataLoss, Effect: model.Lost,
		Description: "Spans of distributed traces, and parts of them, that cannot be read.",
	})
	statReferenceMissing = model.NewStat(1028, model.StatInfo{
		Name: "span_reference_missing", Severity: model.Notice, Effect: model.Noticed,
		Description: "Parents of spans, and linked spans, that the trace does not have.",
	})
	statPartsDropped = model.NewStat(1029, model.StatInfo{
		Name: "span_parts_dropped", Severity: model.DataLoss, Source: model.FromTrace, Effect: model.Lost,
		Description: "Attributes, events and links that a recorder of spans reports to have dropped.",
	})
	statInvalidEnd = model.NewStat(1056, model.StatInfo{
		Name: "span_invalid_end", Severity: model.DataLoss, Effect: model.Damaged,
		Description: "Spans of distributed traces that end before they start, or after the year 2116. Their duration is 0.",
	})
	statPartsJoined = model.NewStat(1057, model.StatInfo{
		Name: "span_parts_joined", Severity: model.Notice, Effect: model.Noticed,
		Description: "Spans of distributed traces without a start, joined with the span that has their id.",
	})
)

// Reader takes the spans of a file.
type Reader struct {
	in        *format.Input
	stream    *sort.Stream
	token     *token.Writer
	processes []model.UPID // by number of the resource
	byContent map[uint64]model.UPID
	scopes    []scope
	byScope   map[uint64]int
	args      *args
	span      Message // without its events
	found     bool
	damaged   int64 // offset of the first damaged part, or none
	parts     parts
	hosts     map[string]bool // that resources name
	// SharedIDs says that a server's span may have the id of its client's, as in Zipkin.
	SharedIDs bool
}

// New returns a reader for the spans of the input.
func New(in *format.Input) *Reader {
	in.UseClock(model.ClockRealtime)
	r := &Reader{in: in, damaged: model.None, token: token.NewWriter(in.Store), byContent: map[uint64]model.UPID{}, byScope: map[uint64]int{}, hosts: map[string]bool{},
		parts: newParts(), args: newArgs(in.File, in.Store.Strings)}
	p := newParser(r)
	r.stream = in.Sorter.NewStream(p)
	r.stream.SetTie(tie)
	in.AtEnd(p.finish)
	return r
}

// Found says that the input has something other than spans.
func (r *Reader) Found() { r.found = true }

// NoSpans returns the error for an input without a span, or nil if it had one.
func (r *Reader) NoSpans() error {
	if r.found {
		return nil
	}
	if r.damaged != model.None {
		return format.Errorf(format.ErrCorrupt, r.damaged, "no span can be read")
	}
	return format.Errorf(format.ErrNoEvents, -1, "a trace without spans")
}

// Damaged counts a damaged part of the input.
func (r *Reader) Damaged(offset int64) {
	if r.damaged == model.None {
		r.damaged = offset
	}
	r.in.File.LogAt(statParseErrors, offset, nil)
}

// NewResource returns the number of a resource that SetResource describes before the events are sorted.
func (r *Reader) NewResource() int {
	r.processes = append(r.processes, model.None)
	return len(r.processes) - 1
}

// SetResource describes a resource by the message Resource. Equal ones are one process.
func (r *Reader) SetResource(number int, message []byte) {
	hash := xxh3.Hash(message)
	upid, ok := r.byContent[hash]
	if !ok {
		upid = r.process(message)
		r.byContent[hash] = upid
	}
	r.processes[number] = upid
}

// process adds the process that a Resource describes.
func (r *Reader) process(message []byte) model.UPID {
	strings := r.in.Store.Strings
	var name model.StringID
	var pid int64
	for m := wire.Read(message); m.Next(); {
		if m.Number != ResourceAttributes {
			continue
		}
		switch key, value := keyValue(m.Bytes()); string(key) {
		case "service.name":
			if text, ok := wire.Find(value, ValueText); ok {
				name = strings.InternBytes(text.Bytes())
			}
		case "host.name":
			if text, ok := wire.Find(value, ValueText); ok && len(text.Bytes()) > 0 && !r.hosts[string(text.Bytes())] {
				r.hosts[string(text.Bytes())] = true
				r.in.Machine.AddMetadata(model.HostName, model.StringArg(strings.InternBytes(text.Bytes())))
			}
		case "process.pid":
			if number, ok := wire.Find(value, ValueInt); ok {
				pid = number.Int64()
			}
		}
	}
	upid := r.in.Machine.AddProcess(pid)
	if name == 0 {
		r.parts.unnamed[upid] = true
	}
	r.in.Machine.SetProcessName(upid, name, model.ProcessNameOther)
	r.args.resource(r.in.Machine.ProcessArgs(upid), message)
	return upid
}

// Resource returns the number of the resource that a message describes.
func (r *Reader) Resource(message []byte) int {
	number := r.NewResource()
	r.SetResource(number, message)
	return number
}

// Process returns the process of a resource.
func (r *Reader) Process(resource int) model.UPID { return r.processes[resource] }

// scope is the library that made spans.
type scope struct {
	name model.StringID
	args model.ArgSet
}

// Scope returns the number of the scope that the message InstrumentationScope describes.
func (r *Reader) Scope(message []byte) int {
	hash := xxh3.Hash(message)
	number, ok := r.byScope[hash]
	if !ok {
		number = len(r.scopes)
		r.byScope[hash] = number
		r.scopes = append(r.scopes, scope{})
		s := &r.scopes[number]
		if name, ok := wire.Find(message, ScopeName); ok && len(name.Bytes()) > 0 {
			s.name = r.in.Store.Strings.InternBytes(name.Bytes())
		}
		r.args.scope(&s.args, message)
		for range s.args.Share() {
			r.in.File.Unread(model.StatUnreadFact, model.None, "shared attribute").Add(model.LogEntry{})
		}
	}
	return number
}

// The kinds of tokens.
const (
	spanToken = iota
	eventToken
)

const (
	// maxTime is the latest time, in the year 2116.
	maxTime = math.MaxInt64 / 2
	// unfinished is the length of a span without an end, ns.
	unfinished = math.MaxInt64 / 4
)

// Span takes the message Span at an offset of the input, of a resource and a scope.
func (r *Reader) Span(resource, scope int, message []byte, offset int64) error {
	var traceID, id, parent []byte
	var start, end uint64
	r.span = r.span[:0]
	events := 0
	for i := 0; i < len(message); {
		tag, v, next := wire.Scan(message, i)
		if next < 0 {
			r.Damaged(offset)
			break
		}
		f := wire.ScannedField(message, tag, v, next)
		switch f.Number {
		case SpanTraceID:
			traceID = f.Bytes()
		case SpanID:
			id = f.Bytes()
		case SpanParentID:
			if len(f.Bytes()) > SpanIDSize {
				r.Damaged(offset)
				i = next
				continue
			}
			parent = f.Bytes()
		case SpanStart:
			start = f.Uint64()
		case SpanEnd:
			end = f.Uint64()
		case SpanEvents:
			events++
			i = next
			continue
		}
		r.span = append(r.span, message[i:next]...)
		i = next
	}
	if len(traceID) == 0 || len(traceID) > TraceIDSize || len(id) == 0 || len(id) > SpanIDSize || start > maxTime ||
		start == 0 && !r.parts.add(keyOf(traceID, id, plain), resource, r.span, offset) {
		r.Damaged(offset)
		return nil
	}
	r.found = r.found || start != 0 || events != 0
	if start != 0 {
		dur := int64(end - start)
		switch {
		case end == 0:
			dur = unfinished
		case invalidEnd(start, end):
			r.in.File.LogAt(statInvalidEnd, offset, nil)
			dur = 0
		}
		if err := r.push(int64(start), offset, func(t *token.Writer) {
			t.Uint(spanToken)
			t.Int(dur)
			t.Uint(uint64(min(len(parent), 1)))
			t.Uint(uint64(resource))
			t.Uint(uint64(scope))
			t.Rest(r.span)
		}); err != nil {
			return err
		}
	}
	if events == 0 {
		return nil
	}
	return r.events(resource, traceID, id, message, offset)
}

// invalidEnd reports whether a span ends before it starts, or too late.
func invalidEnd(start, end uint64) bool { return end < start || end > maxTime }

// events takes the events of a span.
func (r *Reader) events(resource int, traceID, id, message []byte, offset int64) error {
	for m := wire.Read(message); m.Next(); {
		if m.Number != SpanEvents {
			continue
		}
		time, _ := wire.Find(m.Bytes(), EventTime)
		if time.Uint64() == 0 || time.Uint64() > maxTime { // a time of 0 is missing
			r.Damaged(offset)
			continue
		}
		if err := r.push(time.Int64(), offset, func(t *token.Writer) {
			t.Uint(eventToken)
			t.Uint(uint64(resource))
			t.Uint(uint64(len(traceID)))
			t.Rest(traceID)
			t.Uint(uint64(len(id)))
			t.Rest(id)
			t.Rest(m.Bytes())
		}); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reader) push(time, offset int64, write func(*token.Writer)) error {
	ts, ok := r.in.TraceTime(time, offset)
	if !ok {
		return nil
	}
	r.token.Reset()
	write(r.token)
	return r.stream.Push(ts, r.token.Bytes())
}

// tie orders spans that begin at the same time: those that last longer may be parents of the others, and those without
// a parent of all.
func tie(payload []byte) int64 {
	t := token.Reader(payload)
	if t.Uint() != spanToken {
		return math.MaxInt64
	}
	dur := t.Int()
	return -2*max(min(dur, unfinished), 0) + int64(t.Uint())
}
