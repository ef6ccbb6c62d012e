package otlp

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/jsonlex"
	"github.com/tpconvert/tpconvert/ingest/internal/spans"
	"github.com/tpconvert/tpconvert/ingest/otlp/profiles"
)

// lists are the names of the list of ResourceSpans: in JSON, in protobuf, and in what Grafana's Tempo writes.
var lists = []string{"resourceSpans", "resource_spans", "batches"}

// others are the names of the lists of other signals.
var others = map[string]signal{"resourceMetrics": ofMetrics, "resource_metrics": ofMetrics, "resourceLogs": ofLogs, "resource_logs": ofLogs,
	"resourceProfiles": ofProfiles, "resource_profiles": ofProfiles}

// wrappers are the members of the answers of Grafana's Tempo, and of Grafana, that have the object with the list.
var wrappers = []string{"trace", "result"}

// sniffJSON accepts an object that has a list of ResourceSpans near its start, or one of another signal, maybe in another object, and
// a list that begins with such an object.
func sniffJSON(head []byte) bool {
	l, ok := spans.FirstMember(head, 1)
	if !ok {
		return false
	}
	for {
		key, err := l.Key()
		if err != nil {
			return false
		}
		switch {
		case (slices.Contains(lists, string(key)) || others[string(key)] != "") && l.Buf[l.Pos] == '[':
			return true
		case slices.Contains(wrappers, string(key)) && l.Buf[l.Pos] == '{':
			l.Pos++
			continue
		}
		if _, err = l.Value(); err != nil {
			return false
		}
		if more, err := l.Next('}'); !more || err != nil {
			return false
		}
	}
}

// reader reads objects with lists of ResourceSpans or ResourceProfiles, one after the other.
type reader struct {
	*spans.JSON
	id    []byte
	other signal // of lists that have no spans, or ""

	profiles   *profiles.Reader // or nil
	data       spans.Message    // the profiles of the object at the position
	inProfiles bool             // it is being written
	old        bool             // they are of a release before 1.8
}

func readJSON(in *format.Input, text io.Reader) error {
	r := &reader{JSON: spans.NewJSON(in, text)}
	request := func() error {
		if r.Buf[r.Pos] != '{' {
			return r.Fail("expected an object")
		}
		at := r.Offset()
		r.data, r.old = r.data[:0], false
		if err := r.traces(); err != nil {
			return err
		}
		return r.readData(at)
	}
	err := r.Run(sniffJSON, func() error {
		if r.Buf[r.Pos] == '[' {
			return r.EachElement(request)
		}
		return request()
	})
	if r.profiles != nil {
		r.profiles.Finish()
	}
	if errors.Is(err, format.ErrNoEvents) {
		return noSpans(r.Spans, r.other)
	}
	return err
}

// traces reads the object at the position.
func (r *reader) traces() error {
	return r.EachMember(func(key []byte) error {
		switch {
		case slices.Contains(lists, string(key)):
			return r.List(r.resource)
		case slices.Contains(wrappers, string(key)) && r.Buf[r.Pos] == '{':
			return r.traces()
		case others[string(key)] != "":
			r.other = others[string(key)]
		}
		if is, err := r.profilesMember(key); is {
			return err
		}
		return r.Unread(key)
	})
}

// resource reads a ResourceSpans.
func (r *reader) resource() error {
	number := r.Spans.NewResource()
	described := false
	err := r.EachMember(func(key []byte) error {
		switch string(key) {
		case "resource":
			m, err := r.Object(r.attributesOnly)
			if m != nil {
				r.Spans.SetResource(number, m)
				described = true
			}
			return err
		case "scopeSpans", "scope_spans", "instrumentationLibrarySpans", "instrumentation_library_spans":
			return r.List(func() error { return r.scope(number) })
		}
		return r.Unread(key)
	})
	if !described {
		r.Spans.SetResource(number, nil)
	}
	return err
}

// scope reads a ScopeSpans.
func (r *reader) scope(resource int) error {
	scope := r.Spans.Scope(nil)
	return r.EachMember(func(key []byte) error {
		switch string(key) {
		case "scope", "instrumentationLibrary", "instrumentation_library":
			m, err := r.Object(r.scopeField)
			if m != nil {
				scope = r.Spans.Scope(m)
			}
			return err
		case "spans":
			return r.List(func() error {
				at := r.Offset()
				m, err := r.Object(r.spanField)
				if err != nil || m == nil {
					return err
				}
				return r.Spans.Span(resource, scope, m, at)
			})
		}
		return r.Unread(key)
	})
}

func (r *reader) attributesOnly(key []byte, v jsonlex.Value) {
	if string(key) == "attributes" {
		r.attributes(spans.ResourceAttributes, v)
		return
	}
	r.UnreadIn("resource", key)
}

func (r *reader) scopeField(key []byte, v jsonlex.Value) {
	m := &r.Message
	switch string(key) {
	case "name":
		m.Bytes(spans.ScopeName, v.Raw)
	case "version":
		m.Bytes(spans.ScopeVersion, v.Raw)
	case "attributes":
		r.attributes(spans.ScopeAttributes, v)
	case "droppedAttributesCount", "dropped_attributes_count":
		m.Varint(spans.ScopeDropped, r.Number(v))
	default:
		r.UnreadIn("scope", key)
	}
}

func (r *reader) spanField(key []byte, v jsonlex.Value) {
	m := &r.Message
	switch string(key) {
	case "traceId", "trace_id":
		m.Bytes(spans.SpanTraceID, r.binary(v))
	case "spanId", "span_id":
		m.Bytes(spans.SpanID, r.binary(v))
	case "parentSpanId", "parent_span_id":
		if len(v.Raw) > 0 {
			m.Bytes(spans.SpanParentID, r.binary(v))
		}
	case "traceState", "trace_state":
		m.Bytes(spans.SpanTraceState, v.Raw)
	case "flags":
		m.Varint(spans.SpanFlags, r.Number(v))
	case "name":
		m.Bytes(spans.SpanName, v.Raw)
	case "kind":
		m.Varint(spans.SpanKind, r.enum(spans.Kinds, v))
	case "startTimeUnixNano", "start_time_unix_nano":
		m.Fixed64(spans.SpanStart, r.Number(v))
	case "endTimeUnixNano", "end_time_unix_nano":
		m.Fixed64(spans.SpanEnd, r.Number(v))
	case "attributes":
		r.attributes(spans.SpanAttributes, v)
	case "droppedAttributesCount", "dropped_attributes_count":
		m.Varint(spans.SpanDroppedAttributes, r.Number(v))
	case "events":
		r.Elements(v, func(v jsonlex.Value) {
			m.Nested(spans.SpanEvents, func() { r.Members(v, r.eventField) })
		})
	case "droppedEventsCount", "dropped_events_count":
		m.Varint(spans.SpanDroppedEvents, r.Number(v))
	case "links":
		r.Elements(v, func(v jsonlex.Value) {
			m.Nested(spans.SpanLinks, func() { r.Members(v, r.linkField) })
		})
	case "droppedLinksCount", "dropped_links_count":
		m.Varint(spans.SpanDroppedLinks, r.Number(v))
	case "status":
		m.Nested(spans.SpanStatus, func() { r.Members(v, r.statusField) })
	default:
		r.UnreadIn("span", key)
	}
}

func (r *reader) eventField(key []byte, v jsonlex.Value) {
	m := &r.Message
	switch string(key) {
	case "timeUnixNano", "time_unix_nano":
		m.Fixed64(spans.EventTime, r.Number(v))
	case "name":
		m.Bytes(spans.EventName, v.Raw)
	case "attributes":
		r.attributes(spans.EventAttributes, v)
	case "droppedAttributesCount", "dropped_attributes_count":
		m.Varint(spans.EventDropped, r.Number(v))
	default:
		r.UnreadIn("event", key)
	}
}

func (r *reader) linkField(key []byte, v jsonlex.Value) {
	m := &r.Message
	switch string(key) {
	case "traceId", "trace_id":
		m.Bytes(spans.LinkTraceID, r.binary(v))
	case "spanId", "span_id":
		m.Bytes(spans.LinkSpanID, r.binary(v))
	case "traceState", "trace_state":
		m.Bytes(spans.LinkTraceState, v.Raw)
	case "attributes":
		r.attributes(spans.LinkAttributes, v)
	case "droppedAttributesCount", "dropped_attributes_count":
		m.Varint(spans.LinkDropped, r.Number(v))
	case "flags":
		m.Varint(spans.LinkFlags, r.Number(v))
	default:
		r.UnreadIn("link", key)
	}
}

func (r *reader) statusField(key []byte, v jsonlex.Value) {
	switch string(key) {
	case "message":
		r.Message.Bytes(spans.StatusMessage, v.Raw)
	case "code":
		r.Message.Varint(spans.StatusCode, r.enum(spans.Codes, v))
	default:
		r.UnreadIn("status", key)
	}
}

// attributes adds a list of KeyValue as fields with this number.
func (r *reader) attributes(number protowire.Number, v jsonlex.Value) { r.keyValues(number, v, 0) }

func (r *reader) keyValues(number protowire.Number, v jsonlex.Value, depth int) {
	m := &r.Message
	r.Elements(v, func(v jsonlex.Value) {
		m.Nested(number, func() {
			r.Members(v, func(key []byte, v jsonlex.Value) {
				switch string(key) {
				case "key":
					m.Bytes(spans.KeyValueKey, v.Raw)
				case "value":
					m.Nested(spans.KeyValueValue, func() { r.value(v, depth) })
				default:
					r.textIndex("attribute", profiles.KeyTextIndex, key, v)
				}
			})
		})
	})
}

// maxDepth is how deep values may be nested.
const maxDepth = 64

// value adds the field of an AnyValue.
func (r *reader) value(v jsonlex.Value, depth int) {
	if depth == maxDepth {
		r.Damaged()
		return
	}
	m := &r.Message
	r.Members(v, func(key []byte, v jsonlex.Value) {
		switch string(key) {
		case "stringValue", "string_value":
			m.Bytes(spans.ValueText, v.Raw)
		case "boolValue", "bool_value":
			m.Varint(spans.ValueBool, uint64(v.Int))
		case "intValue", "int_value":
			m.Varint(spans.ValueInt, r.Number(v))
		case "doubleValue", "double_value":
			m.Fixed64(spans.ValueDouble, math.Float64bits(r.Real(v)))
		case "arrayValue", "array_value":
			m.Nested(spans.ValueArray, func() {
				r.values(v, func(v jsonlex.Value) {
					r.Elements(v, func(v jsonlex.Value) {
						m.Nested(spans.ListValues, func() { r.value(v, depth+1) })
					})
				})
			})
		case "kvlistValue", "kvlist_value":
			m.Nested(spans.ValueList, func() {
				r.values(v, func(v jsonlex.Value) { r.keyValues(spans.ListValues, v, depth+1) })
			})
		case "bytesValue", "bytes_value":
			b, err := base64.StdEncoding.DecodeString(string(v.Raw))
			if err != nil {
				r.Damaged()
			}
			m.Bytes(spans.ValueBytes, b)
		default:
			r.textIndex("attribute value", profiles.ValueTextIndex, key, v)
		}
	})
}

// textIndex adds a member of a part that refers to the texts of profiles. It counts others.
func (r *reader) textIndex(part string, number protowire.Number, key []byte, v jsonlex.Value) {
	if name := camel(key); r.inProfiles && (name == "keyStrindex" || name == "stringValueStrindex") {
		r.Message.Varint(number, r.Number(v))
		return
	}
	r.UnreadIn(part, key)
}

// values calls f with the member values of an object.
func (r *reader) values(v jsonlex.Value, f func(v jsonlex.Value)) {
	r.Members(v, func(key []byte, v jsonlex.Value) {
		if string(key) == "values" {
			f(v)
		} else {
			r.UnreadIn("attribute value", key)
		}
	})
}

// enum returns the number of a value of an enum, which may be its name.
func (r *reader) enum(names []string, v jsonlex.Value) uint64 {
	if v.Kind == jsonlex.Text {
		if i := slices.Index(names, string(v.Raw)); i >= 0 {
			return uint64(i)
		}
	}
	return r.Number(v)
}

// binary returns an id, which is in hexadecimal, or in base64 where protobuf's rules for JSON were followed.
func (r *reader) binary(v jsonlex.Value) []byte {
	id, err := hex.AppendDecode(r.id[:0], v.Raw)
	if len(v.Raw)%8 != 0 || err != nil {
		id, err = base64.StdEncoding.AppendDecode(r.id[:0], v.Raw)
	}
	if r.id = id; err != nil || v.Kind != jsonlex.Text {
		r.Damaged()
		return nil
	}
	return id
}
