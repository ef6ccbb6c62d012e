// Package zipkin reads spans as Zipkin's API writes them in JSON, versions 1 and 2: a list of spans, or a list of traces, which are
// lists of spans.
package zipkin

import (
	"bytes"
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
	l, ok := spans.FirstMember(head, 2)
	if !ok {
		return false
	}
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
	scope    int
	services map[string]int // numbers of the resources
	service  string         // of the current span
	times                   // of the current span
	v1       v1             // the current span, if it is of version 1
}

func read(in *format.Input) error {
	r := &reader{JSON: spans.NewJSON(in, in), services: map[string]int{}}
	r.Spans.SharedIDs = true
	r.scope = r.Spans.Scope(nil)
	return r.Run(sniff, func() error { return r.Objects(r.span) })
}

// span reads a span.
func (r *reader) span() error {
	at := r.Offset()
	r.service, r.times, r.v1 = "", times{}, v1{}
	m, err := r.Object(r.spanField)
	if err != nil || m == nil {
		return err
	}
	if !r.v1.found {
		r.events(r.v1.annotations)
		return r.write(r.times, at)
	}
	common := slices.Clone(m)
	sides := r.v1.split(r.times, func(key string) { r.UnreadIn("span", []byte(key)) })
	for _, s := range sides {
		r.Message = append(r.Message[:0], common...)
		r.side(s)
		if err := r.write(s.times, at); err != nil {
			return err
		}
	}
	return nil
}

// write adds the span with its times.
func (r *reader) write(t times, at int64) error {
	if t.start != 0 {
		r.Fixed64(spans.SpanStart, t.start)
		if t.ended {
			r.Fixed64(spans.SpanEnd, t.start+t.dur)
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

// side writes what a service says of a span of version 1.
func (r *reader) side(s *side) {
	if s.at != nil {
		r.service = ""
		r.spanField([]byte("localEndpoint"), s.at.json)
	}
	if s.remote != nil {
		r.spanField([]byte("remoteEndpoint"), s.remote.json)
	}
	if s.kind != "" {
		r.Varint(spans.SpanKind, uint64(slices.Index(kinds, s.kind)))
	}
	if s.shared {
		r.Varint(spans.SpanShared, 1)
	}
	r.events(s.annotations)
	for _, t := range s.tags {
		r.Attribute(spans.SpanAttributes, t.key, func() { r.Value(t.value) })
	}
}

// events writes annotations.
func (r *reader) events(all []annotation) {
	for _, a := range all {
		r.Nested(spans.SpanEvents, func() {
			r.Fixed64(spans.EventTime, a.time)
			r.Bytes(spans.EventName, []byte(a.value))
		})
	}
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
		r.Elements(v, r.annotation)
	case "binaryAnnotations":
		r.v1.found = true
		r.Elements(v, r.binaryAnnotation)
	case "tags":
		r.Members(v, func(key []byte, v jsonlex.Value) {
			r.Attribute(spans.SpanAttributes, string(key), func() { r.Value(v) })
		})
	default:
		r.UnreadIn("span", key)
	}
}

// annotation reads an annotation. In version 1 it has an endpoint.
func (r *reader) annotation(v jsonlex.Value) {
	var a annotation
	r.Members(v, func(key []byte, v jsonlex.Value) {
		switch string(key) {
		case "timestamp":
			a.time = r.Micros(v)
		case "value":
			a.value = string(v.Raw)
		case "endpoint":
			a.at, r.v1.found = r.endpoint(v), true
		default:
			r.UnreadIn("annotation", key)
		}
	})
	r.v1.annotations = append(r.v1.annotations, a)
}

// binaryAnnotation reads a tag of version 1.
func (r *reader) binaryAnnotation(v jsonlex.Value) {
	var t tag
	r.Members(v, func(key []byte, v jsonlex.Value) {
		switch string(key) {
		case "key":
			t.key = string(v.Raw)
		case "value":
			t.value = v
			t.value.Raw = bytes.Clone(v.Raw)
		case "endpoint":
			t.at = r.endpoint(v)
		case "type": // the value shows it
		default:
			r.UnreadIn("binary annotation", key)
		}
	})
	r.v1.tags = append(r.v1.tags, t)
}

// endpoint reads an endpoint.
func (r *reader) endpoint(v jsonlex.Value) *endpoint {
	e := &endpoint{json: v}
	e.json.Raw = bytes.Clone(v.Raw)
	r.Members(v, func(key []byte, v jsonlex.Value) {
		if string(key) == "serviceName" {
			e.service = string(v.Raw)
		}
	})
	return e
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
