package spans_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/tpconvert/tpconvert/ingest"
	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/spans"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/table"
)

func TestParseID(t *testing.T) {
	for text, want := range map[string]string{
		"0000000000000001":                 "0000000000000001",
		"1f":                               "000000000000001f",
		"000102030405060708090a0b0c0d0e0f": "000102030405060708090a0b0c0d0e0f",
		"102030405060708090a0b0c0d0e0f":    "000102030405060708090a0b0c0d0e0f",
	} {
		id, ok := spans.ParseID([]byte(text), spans.TraceIDSize)
		if got := fmt.Sprintf("%x", id.Bytes()); !ok || got != want {
			t.Errorf("%s: %s, %t, want %s", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "xyz", "0102030405060708f"} {
		if id, ok := spans.ParseID([]byte(text), spans.SpanIDSize); ok {
			t.Errorf("%q: %x", text, id.Bytes())
		}
	}
}

// A message is what another encoder makes of it.
func TestMessage(t *testing.T) {
	var m spans.Message
	m.Nested(4, func() { m.Varint(2, 300) })
	m.Text(9, "key", []byte("value"))
	m.Fixed64(7, 5)
	inner := protowire.AppendVarint(protowire.AppendTag(nil, 2, protowire.VarintType), 300)
	want := protowire.AppendBytes(protowire.AppendTag(nil, 4, protowire.BytesType), inner)
	value := protowire.AppendString(protowire.AppendTag(nil, spans.ValueText, protowire.BytesType), "value")
	pair := protowire.AppendString(protowire.AppendTag(nil, spans.KeyValueKey, protowire.BytesType), "key")
	pair = protowire.AppendBytes(protowire.AppendTag(pair, spans.KeyValueValue, protowire.BytesType), value)
	want = protowire.AppendBytes(protowire.AppendTag(want, 9, protowire.BytesType), pair)
	want = protowire.AppendFixed64(protowire.AppendTag(want, 7, protowire.Fixed64Type), 5)
	if !bytes.Equal(m, want) {
		t.Errorf("%x, want %x", []byte(m), want)
	}
}

// span is a span of trace 1.
type span struct {
	id, parent byte
	name       string
	start, end uint64
}

func (s span) message() []byte {
	var m spans.Message
	id := func(number protowire.Number, last byte, size int) {
		m.Bytes(number, append(make([]byte, size-1), last))
	}
	id(spans.SpanTraceID, 1, spans.TraceIDSize)
	id(spans.SpanID, s.id, spans.SpanIDSize)
	if s.parent != 0 {
		id(spans.SpanParentID, s.parent, spans.SpanIDSize)
	}
	m.Bytes(spans.SpanName, []byte(s.name))
	m.Fixed64(spans.SpanStart, s.start)
	m.Fixed64(spans.SpanEnd, s.end)
	return m
}

// service is a resource with this name.
func service(name string) []byte {
	var m spans.Message
	m.Text(spans.ResourceAttributes, "service.name", []byte(name))
	return m
}

// chunks keeps the rows of a store.
type chunks struct{ all []*table.Chunk }

func (c *chunks) Chunk(chunk *table.Chunk) error {
	c.all = append(c.all, chunk)
	return nil
}

// numbers returns the integers of a column.
func (c *chunks) numbers(name, column string) (all []int64) {
	for _, chunk := range c.all {
		if chunk.Schema.Name != name {
			continue
		}
		switch v := chunk.Column(chunk.Schema.Column(column)).Values.(type) {
		case []int64:
			all = append(all, v...)
		case []int32:
			for _, n := range v {
				all = append(all, int64(n))
			}
		}
	}
	return all
}

func (c *chunks) texts(name, column string) (all []string) {
	for _, chunk := range c.all {
		if chunk.Schema.Name == name {
			for _, id := range chunk.Column(chunk.Schema.Column(column)).Values.([]table.StringID) {
				all = append(all, chunk.Strings.Get(id))
			}
		}
	}
	return all
}

// read makes rows of the spans of two services, in any order.
func read(t *testing.T, shop, bank []span) *chunks {
	t.Helper()
	own := &format.Format{Name: "own", Sniff: func([]byte) bool { return true }, Read: func(in *format.Input) error {
		r := spans.New(in)
		scope := r.Scope(nil)
		for name, all := range map[string][]span{"shop": shop, "bank": bank} {
			resource := r.Resource(service(name))
			for _, s := range all {
				if err := r.Span(resource, scope, s.message(), 0); err != nil {
					return err
				}
			}
		}
		return r.NoSpans()
	}}
	rows := &chunks{}
	store := model.NewStore(model.Options{Sink: rows})
	if err := ingest.Read(store, "own", strings.NewReader("x"), ingest.Options{Formats: []*format.Format{own}}); err != nil {
		t.Fatal(err)
	}
	if err := store.Finish(); err != nil {
		t.Fatal(err)
	}
	return rows
}

// A child lies in its parent on one track. One that overlaps a sibling, that its parent does not contain, or that is of
// another process, gets another track and a flow.
func TestTracks(t *testing.T) {
	rows := read(t,
		[]span{{3, 1, "second", 15, 35}, {2, 1, "first", 12, 30}, {1, 0, "buy", 10, 50}, {4, 1, "after", 40, 60}},
		[]span{{5, 2, "pay", 13, 20}})
	names, tracks := rows.texts("slice", "name"), rows.numbers("slice", "track_id")
	if want := []string{"buy", "first", "pay", "second", "after"}; !slices.Equal(names, want) {
		t.Fatalf("slices %q, want %q", names, want)
	}
	on := map[string]int64{}
	for i, name := range names {
		on[name] = tracks[i]
	}
	if on["buy"] != on["first"] || on["second"] == on["buy"] || on["after"] == on["buy"] || on["pay"] == on["buy"] || on["pay"] == on["second"] {
		t.Errorf("tracks %v", on)
	}
	from, to := rows.numbers("flow", "slice_out"), rows.numbers("flow", "slice_in")
	var flows []string
	for i := range from {
		flows = append(flows, names[from[i]]+" to "+names[to[i]])
	}
	slices.Sort(flows)
	if want := []string{"buy to after", "buy to second", "first to pay"}; !slices.Equal(flows, want) {
		t.Errorf("flows %q, want %q", flows, want)
	}
	if got := rows.texts("process", "name"); !slices.Contains(got, "shop") || !slices.Contains(got, "bank") {
		t.Errorf("processes %q", got)
	}
}
