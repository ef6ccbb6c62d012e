// Package jaeger reads traces as Jaeger's query service and UI write them in JSON: an object with a list data of traces, or
// a trace. A trace has spans, and the processes that they refer to.
package jaeger

import (
	"bytes"
	"encoding/base64"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/jsonlex"
	"github.com/tpconvert/tpconvert/ingest/internal/spans"
)

// Format is the format of Jaeger's traces.
var Format = &format.Format{Name: "jaeger", Title: "Jaeger", Sniff: sniff, Read: read}

// sniff accepts a trace id at the start of a trace.
func sniff(head []byte) bool {
	l := jsonlex.Lexer{Buf: head}
	if c, err := l.Space(); err != nil || c != '{' {
		return false
	}
	l.Pos++
	for {
		key, err := l.Key()
		if err != nil {
			return false
		}
		switch c := l.Buf[l.Pos]; {
		case string(key) == "traceID" && c == '"':
			return true
		case (string(key) == "data" || string(key) == "spans") && c == '[':
			l.Pos++
			if c, err := l.Space(); err != nil || c != '{' {
				return false
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

type reader struct {
	*spans.JSON
	processes map[string]int // numbers of the current trace's resources
	scope     int
	span      span
}

// span is what has to wait for the end of a span.
type span struct {
	process    int // number of the resource, or none
	traceID    spans.ID
	start, dur uint64 // ns
	references []reference
}

const none = -1

type reference struct {
	kind        string
	traceID, id spans.ID
}

func read(in *format.Input) error {
	r := &reader{JSON: spans.NewJSON(in, in)}
	r.scope = r.Spans.Scope(nil)
	return r.Run(sniff, func() error {
		if r.Buf[r.Pos] != '{' {
			return r.Fail("expected an object")
		}
		return r.trace()
	})
}

// trace reads a trace, or an object with a list of them.
func (r *reader) trace() error {
	outer := r.processes
	r.processes = map[string]int{}
	err := r.EachMember(func(key []byte) error {
		switch string(key) {
		case "data":
			return r.List(r.trace)
		case "traceID", "total", "limit", "offset": // each span has the trace's id
			return r.Skip()
		case "spans":
			return r.List(r.readSpan)
		case "processes":
			if r.Buf[r.Pos] != '{' {
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
	})
	r.processes = outer
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
	if r.span.process == none {
		r.span.process = r.resource(nil)
	}
	r.Fixed64(spans.SpanStart, r.span.start)
	r.Fixed64(spans.SpanEnd, r.span.start+r.span.dur)
	parents := 0
	for _, to := range r.span.references {
		if to.kind == "CHILD_OF" && to.traceID == r.span.traceID && parents == 0 {
			r.Bytes(spans.SpanParentID, to.id.Bytes())
			parents++
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
	case "parentSpanID": // of old versions, instead of references
		r.span.references = append(r.span.references, reference{"CHILD_OF", r.span.traceID, r.id(v, spans.SpanIDSize)})
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
	case "tags":
		r.tags(spans.SpanAttributes, v, func(key string, value []byte) {
			if kind := slices.Index(kinds, string(value)); key == "span.kind" && kind >= 0 {
				r.Varint(spans.SpanKind, uint64(kind))
			}
		})
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

// value adds the value of a tag. Old versions write numbers as text.
func (r *reader) value(kind string, v jsonlex.Value) {
	switch {
	case kind == "int64":
		r.Varint(spans.ValueInt, r.Number(v))
	case kind == "float64":
		r.Fixed64(spans.ValueDouble, math.Float64bits(r.Real(v)))
	case kind == "bool" && v.Kind == jsonlex.Boolean:
		r.Varint(spans.ValueBool, uint64(v.Int))
	case kind == "binary":
		b, err := base64.StdEncoding.DecodeString(string(v.Raw))
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
