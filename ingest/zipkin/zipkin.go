// Package zipkin reads spans as Zipkin's API writes them in JSON, version 2: a list of spans, or a list of traces, which are
// lists of spans.
package zipkin

import (
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/jsonlex"
	"github.com/tpconvert/tpconvert/ingest/internal/spans"
)

// Format is the format of Zipkin's spans.
var Format = &format.Format{Name: "zipkin", Title: "Zipkin", Sniff: sniff, Read: read}

// sniff accepts a span with its two ids, in up to two lists or none.
func sniff(head []byte) bool {
	l := jsonlex.Lexer{Buf: head}
	c, err := l.Space()
	for lists := 0; err == nil && c == '[' && lists < 2; lists++ {
		l.Pos++
		c, err = l.Space()
	}
	if err != nil || c != '{' {
		return false
	}
	l.Pos++
	found := 0
	for {
		key, err := l.Key()
		if err != nil {
			return false
		}
		if k := string(key); (k == "traceId" || k == "id") && l.Buf[l.Pos] == '"' {
			if found++; found == 2 {
				return true
			}
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
	scope      int
	services   map[string]int // numbers of the resources
	service    string         // of the current span
	start, dur uint64         // of the current span, ns
	ended      bool           // its duration is known
}

func read(in *format.Input) error {
	r := &reader{JSON: spans.NewJSON(in, in), services: map[string]int{}}
	r.Spans.SharedIDs = true
	r.scope = r.Spans.Scope(nil)
	return r.Run(sniff, r.list)
}

// list reads a span, or a list of what it can read itself.
func (r *reader) list() error {
	switch r.Buf[r.Pos] {
	case '{':
		return r.span()
	case '[':
		return r.EachElement(func() error {
			if r.Buf[r.Pos] == '[' {
				return r.List(r.span)
			}
			return r.list()
		})
	}
	return r.Fail("expected a span")
}

// span reads a span.
func (r *reader) span() error {
	at := r.Offset()
	r.service, r.start, r.dur, r.ended = "", 0, 0, false
	m, err := r.Object(r.spanField)
	if err != nil || m == nil {
		return err
	}
	if r.start != 0 {
		r.Fixed64(spans.SpanStart, r.start)
		if r.ended {
			r.Fixed64(spans.SpanEnd, r.start+r.dur)
		}
	}
	service, ok := r.services[r.service]
	if !ok {
		var m spans.Message
		if r.service != "" {
			m.Text(spans.ResourceAttributes, "service.name", []byte(r.service))
		}
		service = r.Spans.Resource(m)
		r.services[r.service] = service
	}
	return r.Spans.Span(service, r.scope, r.Message, at)
}

// kinds are the kinds in the order of OpenTelemetry's numbers.
var kinds = []string{"", "", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"}

func (r *reader) spanField(key []byte, v jsonlex.Value) {
	switch string(key) {
	case "traceId":
		r.id(spans.SpanTraceID, v, spans.TraceIDSize)
	case "id":
		r.id(spans.SpanID, v, spans.SpanIDSize)
	case "parentId":
		r.id(spans.SpanParentID, v, spans.SpanIDSize)
	case "name":
		r.Bytes(spans.SpanName, v.Raw)
	case "kind":
		if kind := slices.Index(kinds, string(v.Raw)); kind > 0 {
			r.Varint(spans.SpanKind, uint64(kind))
		} else {
			r.Damaged()
		}
	case "timestamp":
		r.start = r.Micros(v)
		if int64(r.start) < 0 { // as Zipkin reads it, there is none
			r.start = 0
		}
	case "duration":
		r.dur, r.ended = r.Micros(v), true
	case "shared":
		if v.Int == 1 {
			r.Varint(spans.SpanShared, 1)
		}
	case "debug":
		r.Attribute(spans.SpanAttributes, "debug", func() { r.Value(v) })
	case "localEndpoint":
		r.Members(v, func(key []byte, v jsonlex.Value) {
			if string(key) == "serviceName" {
				r.service = string(v.Raw)
			} else {
				r.Attribute(spans.SpanAttributes, "localEndpoint."+string(key), func() { r.Value(v) })
			}
		})
	case "remoteEndpoint":
		r.Members(v, func(key []byte, v jsonlex.Value) {
			r.Attribute(spans.SpanAttributes, "remoteEndpoint."+string(key), func() { r.Value(v) })
		})
	case "annotations":
		r.Elements(v, func(v jsonlex.Value) {
			r.Nested(spans.SpanEvents, func() {
				r.Members(v, func(key []byte, v jsonlex.Value) {
					switch string(key) {
					case "timestamp":
						r.Fixed64(spans.EventTime, r.Micros(v))
					case "value":
						r.Bytes(spans.EventName, v.Raw)
					default:
						r.UnreadIn("annotation", key)
					}
				})
			})
		})
	case "tags":
		r.Members(v, func(key []byte, v jsonlex.Value) {
			r.Attribute(spans.SpanAttributes, string(key), func() { r.Value(v) })
		})
	default:
		r.UnreadIn("span", key)
	}
}

// id adds an id in hexadecimal.
func (r *reader) id(number protowire.Number, v jsonlex.Value, size int) {
	id, ok := spans.ParseID(v.Raw, size)
	if !ok || v.Kind != jsonlex.Text {
		r.Damaged()
		return
	}
	r.Bytes(number, id.Bytes())
}
