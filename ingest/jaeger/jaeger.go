// Package jaeger reads traces as Jaeger's query service and UI write them in JSON: an object with a list data of traces, or
// a trace. A trace has spans, and the processes that they refer to. It also reads the documents in which Jaeger keeps spans in
// Elasticsearch, as a search returns them, a dump has them, or alone. There may be several of all of these, in lists or one after the other.
package jaeger

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/jsonlex"
	"github.com/tpconvert/tpconvert/ingest/internal/spans"
)

// Format is the format of Jaeger's traces.
var Format = &format.Format{Name: "jaeger", Title: "Jaeger", Sniff: sniff, Read: read}

// sniff accepts a trace with its id, or a span with its trace's id and its operation. They may be in lists and in what is around
// documents.
func sniff(head []byte) bool {
	l, ok := spans.FirstMember(head, 2)
	if !ok {
		return false
	}
	trace, inside := false, false
	for {
		key, err := l.Key()
		if err != nil {
			return false
		}
		enter := false
		switch c := l.Buf[l.Pos]; string(key) {
		case "traceID":
			trace = trace || c == '"'
		case "operationName":
			inside = inside || c == '"'
		case "processes":
			inside = inside || c == '{'
		case "data", "spans":
			enter = c == '['
			inside = inside || enter
		case "_source":
			enter = c == '{'
		case "hits", "responses":
			enter = c == '{' || c == '['
		}
		if trace && inside {
			return true
		}
		if enter {
			if c := l.Buf[l.Pos]; c == '[' {
				l.Pos++
				if c, err := l.Space(); err != nil || c != '{' {
					return false
				}
			}
			l.Pos++
			continue
		}
		if _, err := l.Value(); err != nil {
			return false
		}
		if more, err := l.Next('}'); !more || err != nil {
			return false
		}
	}
}

// begins accepts what may be the begin of another trace or document, of which the rest of the line may be far.
func begins(head []byte) bool { return bytes.HasPrefix(head, []byte(`{"_`)) || sniff(head) }

type reader struct {
	*spans.JSON
	processes map[string]int // numbers of the current trace's resources
	depth     int            // of objects
	stored    bool           // the current span is a document
	scope     int
	span      span
}

// span is what has to wait for the end of a span.
type span struct {
	process    int // number of the resource, or none
	traceID    spans.ID
	parent     spans.ID // of old versions and of storage
	start, dur uint64   // ns
	references []reference
}

const none = -1

type reference struct {
	kind        string
	traceID, id spans.ID
}

func read(in *format.Input) error {
	r := &reader{JSON: spans.NewJSON(in, in), processes: map[string]int{}}
	r.scope = r.Spans.Scope(nil)
	return r.Run(begins, func() error { return r.Objects(r.object) })
}

// maxDepth is how deep objects may be inside of others.
const maxDepth = 16

// object reads a trace, an object with a list of them, or a document.
func (r *reader) object() error {
	isSpan := false
	err := r.Whole(func() (err error) {
		if isSpan, err = startsSpan(r.Buf[r.Pos:]); err == jsonlex.ErrMore {
			return err
		}
		return nil
	})
	switch {
	case isSpan:
		return r.document()
	case err != nil && err != jsonlex.ErrTruncated:
		return err
	case r.depth == maxDepth:
		return r.Fail("objects are nested too deep")
	}
	outer := r.processes
	r.processes = map[string]int{}
	r.depth++
	err = r.EachMember(r.member)
	r.depth--
	r.processes = outer
	return err
}

// startsSpan reports whether the first member that not both have is a span's, and not a trace's.
func startsSpan(head []byte) (bool, error) {
	l := jsonlex.Lexer{Buf: head, Pos: 1}
	for {
		if c, err := l.Space(); err != nil || c != '"' {
			return false, err
		}
		key, err := l.Key()
		if err != nil {
			return false, err
		}
		if name := string(key); name != "traceID" && name != "warnings" {
			return slices.Contains(spanMembers, name), nil
		}
		if _, err := l.Value(); err != nil {
			return false, err
		}
		if more, err := l.Next('}'); !more || err != nil {
			return false, err
		}
	}
}

var spanMembers = []string{"@timestamp", "duration", "flags", "logs", "operationName", "parentSpanID", "process", "references", "spanID", "startTime",
	"startTimeMillis", "tag", "tags"}

// member reads a member of a trace, or of what is around traces and documents.
func (r *reader) member(key []byte) error {
	switch c := r.Buf[r.Pos]; string(key) {
	case "data", "responses":
		return r.List(r.object)
	case "hits":
		if c == '{' {
			return r.object()
		}
		return r.List(r.object)
	case "_source":
		if c == '{' {
			return r.document()
		}
	case "traceID", "total", "limit", "offset": // each span has the trace's id
		return r.Skip()
	case "_index", "_type", "_id", "_score", "sort", "took", "timed_out", "_shards", "max_score", "status": // of the search
		return r.Skip()
	case "spans":
		return r.List(r.readSpan)
	case "processes":
		if c != '{' {
			break
		}
		return r.EachMember(func(key []byte) error {
			number := r.resource(key)
			m, err := r.Object(r.processField)
			if m != nil {
				r.Spans.SetResource(number, m)
			}
			return err
		})
	case "errors", "warnings":
		v, err := r.ReadValue()
		if v.Kind == jsonlex.Array {
			r.Elements(v, func(jsonlex.Value) { r.UnreadIn("file", key) })
		}
		return err
	}
	return r.Unread(key)
}

// document reads a span as it is stored.
func (r *reader) document() error {
	r.stored = true
	err := r.readSpan()
	r.stored = false
	return err
}

// resource returns the number of a process of the trace.
func (r *reader) resource(id []byte) int {
	number, ok := r.processes[string(id)]
	if !ok {
		number = r.Spans.NewResource()
		r.processes[string(id)] = number
	}
	return number
}

func (r *reader) processField(key []byte, v jsonlex.Value) {
	switch string(key) {
	case "serviceName":
		r.Text(spans.ResourceAttributes, "service.name", v.Raw)
	case "tags":
		r.tags(spans.ResourceAttributes, v, nil)
	case "tag":
		r.tagsByName(spans.ResourceAttributes, v, nil)
	default:
		r.UnreadIn("process", key)
	}
}

// readSpan reads a span.
func (r *reader) readSpan() error {
	at := r.Offset()
	r.span = span{process: none, references: r.span.references[:0]}
	m, err := r.Object(r.spanField)
	if err != nil || m == nil {
		return err
	}
	if r.stored && r.span.traceID == (spans.ID{}) { // Jaeger also stores the names of services
		r.UnreadIn("file", []byte("_source"))
		return nil
	}
	if r.span.process == none {
		r.span.process = r.resource(nil)
	}
	r.Fixed64(spans.SpanStart, r.span.start)
	r.Fixed64(spans.SpanEnd, r.span.start+r.span.dur)
	parent := r.span.parent
	if parent != (spans.ID{}) {
		r.Bytes(spans.SpanParentID, parent.Bytes())
	}
	for _, to := range r.span.references {
		if to.kind == "CHILD_OF" && to.traceID == r.span.traceID && (parent == spans.ID{} || parent == to.id) {
			if parent == (spans.ID{}) {
				parent = to.id
				r.Bytes(spans.SpanParentID, parent.Bytes())
			}
			continue
		}
		r.Nested(spans.SpanLinks, func() {
			r.Bytes(spans.LinkTraceID, to.traceID.Bytes())
			r.Bytes(spans.LinkSpanID, to.id.Bytes())
			r.Text(spans.LinkAttributes, "refType", []byte(to.kind))
		})
	}
	return r.Spans.Span(r.span.process, r.scope, r.Message, at)
}

func (r *reader) spanField(key []byte, v jsonlex.Value) {
	switch string(key) {
	case "traceID":
		r.span.traceID = r.id(v, spans.TraceIDSize)
		r.Bytes(spans.SpanTraceID, r.span.traceID.Bytes())
	case "spanID":
		r.Bytes(spans.SpanID, r.id(v, spans.SpanIDSize).Bytes())
	case "parentSpanID":
		r.span.parent = r.id(v, spans.SpanIDSize)
	case "operationName":
		r.Bytes(spans.SpanName, v.Raw)
	case "references":
		r.Elements(v, func(v jsonlex.Value) {
			var to reference
			r.Members(v, func(key []byte, v jsonlex.Value) {
				switch string(key) {
				case "refType":
					to.kind = string(v.Raw)
				case "traceID":
					to.traceID = r.id(v, spans.TraceIDSize)
				case "spanID":
					to.id = r.id(v, spans.SpanIDSize)
				default:
					r.UnreadIn("reference", key)
				}
			})
			r.span.references = append(r.span.references, to)
		})
	case "flags":
		r.Varint(spans.SpanFlags, r.Number(v))
	case "startTime":
		r.span.start = r.Micros(v)
	case "duration":
		r.span.dur = r.Micros(v)
	case "startTimeMillis", "@timestamp": // startTime again
	case "tags":
		r.tags(spans.SpanAttributes, v, r.kind)
	case "tag":
		r.tagsByName(spans.SpanAttributes, v, r.kind)
	case "logs":
		r.Elements(v, func(v jsonlex.Value) {
			r.Nested(spans.SpanEvents, func() { r.Members(v, r.logField) })
		})
	case "processID":
		r.span.process = r.resource(v.Raw)
	case "process": // in storage, instead of processID
		span := r.Message
		r.Message = nil
		r.Members(v, r.processField)
		r.span.process = r.Spans.Resource(r.Message)
		r.Message = span
	case "warnings":
		r.Elements(v, func(v jsonlex.Value) { r.Text(spans.SpanAttributes, "warnings", v.Raw) })
	default:
		r.UnreadIn("span", key)
	}
}

// kinds are the values of the tag span.kind in the order of OpenTelemetry's numbers.
var kinds = []string{"", "internal", "server", "client", "producer", "consumer"}

// kind takes a span's kind from its tags.
func (r *reader) kind(key string, value []byte) {
	if kind := slices.Index(kinds, string(value)); key == "span.kind" && kind >= 0 {
		r.Varint(spans.SpanKind, uint64(kind))
	}
}

func (r *reader) logField(key []byte, v jsonlex.Value) {
	switch string(key) {
	case "timestamp":
		r.Fixed64(spans.EventTime, r.Micros(v))
	case "fields":
		r.tags(spans.EventAttributes, v, func(key string, value []byte) {
			if key == "event" {
				r.Bytes(spans.EventName, value)
			}
		})
	default:
		r.UnreadIn("log", key)
	}
}

// tags adds a list of tags as attributes, and calls also with each.
func (r *reader) tags(number protowire.Number, v jsonlex.Value, also func(key string, value []byte)) {
	r.Elements(v, func(v jsonlex.Value) {
		var name, kind string
		var value jsonlex.Value
		r.Members(v, func(key []byte, v jsonlex.Value) {
			switch string(key) {
			case "key":
				name = string(v.Raw)
			case "type":
				kind = string(v.Raw)
			case "value":
				value = v
				value.Raw = bytes.Clone(v.Raw)
			default:
				r.UnreadIn("tag", key)
			}
		})
		if also != nil {
			also(name, value.Raw)
		}
		r.Attribute(number, name, func() { r.value(kind, value) })
	})
}

// tagsByName adds the tags that Jaeger stores as an object. Elasticsearch takes dots in names for objects, so Jaeger's default is to write
// @ for them.
func (r *reader) tagsByName(number protowire.Number, v jsonlex.Value, also func(key string, value []byte)) {
	r.Members(v, func(key []byte, v jsonlex.Value) {
		name := strings.ReplaceAll(string(key), "@", ".")
		if also != nil {
			also(name, v.Raw)
		}
		r.Attribute(number, name, func() { r.Value(v) })
	})
}

// value adds the value of a tag. Old versions and storage have numbers as text.
func (r *reader) value(kind string, v jsonlex.Value) {
	switch {
	case kind == "int64":
		r.Varint(spans.ValueInt, r.Number(v))
	case kind == "float64":
		r.Fixed64(spans.ValueDouble, math.Float64bits(r.Real(v)))
	case kind == "bool" && v.Kind == jsonlex.Text && string(v.Raw) == "true":
		r.Varint(spans.ValueBool, 1)
	case kind == "bool" && v.Kind == jsonlex.Text && string(v.Raw) == "false":
		r.Varint(spans.ValueBool, 0)
	case kind == "binary":
		decode := base64.StdEncoding.DecodeString
		if r.stored {
			decode = hex.DecodeString
		}
		b, err := decode(string(v.Raw))
		if err != nil {
			r.Damaged()
		}
		r.Bytes(spans.ValueBytes, b)
	default:
		r.JSON.Value(v)
	}
}

// id returns an id in hexadecimal. Those of traces are numbers: zeros at the start do not tell them apart.
func (r *reader) id(v jsonlex.Value, size int) spans.ID {
	text := v.Raw
	if zeros := len(text) - 2*spans.SpanIDSize; zeros > 0 && len(bytes.TrimLeft(text[:zeros], "0")) == 0 {
		text = text[zeros:]
	}
	id, ok := spans.ParseID(text, size)
	if !ok || v.Kind != jsonlex.Text {
		r.Damaged()
	}
	return id
}
