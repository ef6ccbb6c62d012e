package otlp_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/tpconvert/tpconvert/ingest"
	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
)

// Two services and two traces: a client whose server is another service, two calls at the same time, a span in another
// one that outlasts it, and one without an end. Spans come when they end, children first.
const trace = `{"resourceSpans":[{
	"resource":{"attributes":[
		{"key":"service.name","value":{"stringValue":"shop"}},{"key":"process.pid","value":{"intValue":"42"}}]},
	"scopeSpans":[{
		"scope":{"name":"http","version":"1.2","attributes":[{"key":"a","value":{"boolValue":true}}]},
		"spans":[
			{"traceId":"000102030405060708090a0b0c0d0e0f","spanId":"0000000000000002","parentSpanId":"0000000000000001","name":"one",
				"kind":3,"startTimeUnixNano":"1000","endTimeUnixNano":"1400"},
			{"traceId":"000102030405060708090a0b0c0d0e0f","spanId":"0000000000000003","parentSpanId":"0000000000000001","name":"two",
				"startTimeUnixNano":"1100","endTimeUnixNano":"1300"},
			{"traceId":"000102030405060708090a0b0c0d0e0f","spanId":"0000000000000001","name":"buy","kind":2,
				"traceState":"x=y","flags":257,"startTimeUnixNano":"1000","endTimeUnixNano":"1500",
				"attributes":[
					{"key":"text","value":{"stringValue":"a \"b\""}},{"key":"real","value":{"doubleValue":1.5}},
					{"key":"list","value":{"arrayValue":{"values":[{"intValue":"-1"},{"stringValue":"z"}]}}},
					{"key":"map","value":{"kvlistValue":{"values":[{"key":"k","value":{"boolValue":false}}]}}},
					{"key":"bytes","value":{"bytesValue":"AAEC"}},{"key":"none","value":{}}],
				"droppedAttributesCount":2,
				"events":[{"timeUnixNano":"1200","name":"exception","attributes":[{"key":"exception.type","value":{"stringValue":"E"}}]}],
				"status":{"code":2,"message":"no money"}},
			{"traceId":"000102030405060708090a0b0c0d0e0f","spanId":"0000000000000004","parentSpanId":"0000000000000001","name":"late",
				"startTimeUnixNano":"1450","endTimeUnixNano":"1900"},
			{"traceId":"ff0102030405060708090a0b0c0d0e0f","spanId":"0000000000000007","parentSpanId":"0000000000000009","name":"job",
				"startTimeUnixNano":"1600","links":[{"traceId":"000102030405060708090a0b0c0d0e0f","spanId":"0000000000000001",
					"attributes":[{"key":"why","value":{"stringValue":"retry"}}]}]}]}]},{
	"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"bank"}}]},
	"scopeSpans":[{"spans":[
		{"traceId":"000102030405060708090a0b0c0d0e0f","spanId":"0000000000000005","parentSpanId":"0000000000000002","name":"pay",
			"kind":2,"startTimeUnixNano":"1010","endTimeUnixNano":"1390"}]}]}]}`

func TestSpans(t *testing.T) {
	check(t, ingesttest.MustRead(t, "trace.json", []byte(trace)))
}

func check(t *testing.T, tables *ingesttest.Tables) {
	t.Helper()
	tables.Want(t, "slice", "ts|dur|category|name|track_id|depth|parent_id",
		"1000|500|http|buy|0|0|NULL",
		"1000|400|http|one|0|1|0",
		"1010|380|NULL|pay|1|0|NULL",
		"1100|200|http|two|2|0|NULL", // not in one, its sibling
		"1200|0|NULL|exception|3|0|NULL",
		"1450|450|http|late|2|0|NULL",
		"1600|-1|http|job|4|0|NULL")
	tables.Want(t, "track", "name|classification|upid|track_group_id",
		"000102030405060708090a0b0c0d0e0f|span|1|0", "000102030405060708090a0b0c0d0e0f|span|2|1",
		"000102030405060708090a0b0c0d0e0f|span|1|0", "Events of spans|span_event|1|NULL",
		"ff0102030405060708090a0b0c0d0e0f|span|1|2")
	tables.Want(t, "process", "name|pid", "NULL|0", "shop|42", "bank|0")
	tables.Want(t, "flow", "slice_out|slice_in", "1|2", "0|3", "0|5", "0|6")
	values := func(table, id string) (all []string) {
		sets := tables.Rows(table, id, "arg_set_id")
		for _, row := range sets {
			key, set, _ := strings.Cut(row, "|")
			for _, arg := range tables.Rows("args", "arg_set_id", "key", "int_value", "string_value", "real_value") {
				if rest, ok := strings.CutPrefix(arg, set+"|"); ok {
					all = append(all, key+" "+strings.ReplaceAll(rest, "|NULL", ""))
				}
			}
		}
		return all
	}
	want := func(got []string, want ...string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	want(values("process", "name"), "shop resource.attributes.service.name|shop", "shop resource.attributes.process.pid|42",
		"bank resource.attributes.service.name|bank")
	args := values("slice", "name")
	of := func(name string) (all []string) {
		for _, arg := range args {
			if rest, ok := strings.CutPrefix(arg, name+" "); ok {
				all = append(all, rest)
			}
		}
		slices.Sort(all)
		return all
	}
	want(of("buy"), "attributes.bytes|AAEC", "attributes.list[0]|-1", "attributes.list[1]|z", "attributes.map.k|0", "attributes.none",
		"attributes.real|1.5", `attributes.text|a "b"`, "dropped_attributes_count|2", "flags|257", "kind|SPAN_KIND_SERVER", "scope.attributes.a|1",
		"scope.version|1.2", "span_id|0000000000000001", "status.code|STATUS_CODE_ERROR", "status.message|no money",
		"trace_id|000102030405060708090a0b0c0d0e0f", "trace_state|x=y")
	want(of("pay"), "kind|SPAN_KIND_SERVER", "parent_span_id|0000000000000002", "span_id|0000000000000005", "trace_id|000102030405060708090a0b0c0d0e0f")
	want(of("exception"), "attributes.exception.type|E", "span_id|0000000000000001", "trace_id|000102030405060708090a0b0c0d0e0f")
	want(values("flow", "slice_in"), "2 name|parent", "3 name|parent", "5 name|parent", "6 trace_id|000102030405060708090a0b0c0d0e0f",
		"6 span_id|0000000000000001", "6 attributes.why|retry", "6 name|link")
	tables.Want(t, "stats", "name|value", "span_reference_missing|1", "span_parts_dropped|2")
}

// A span that ends before it starts, or too late, keeps its row, its attributes and what is inside of it. One without a start is lost.
func TestInvalidTimes(t *testing.T) {
	text := `{"resourceSpans":[{"scopeSpans":[{"spans":[
		{"traceId":"000102030405060708090a0b0c0d0e0f","spanId":"0000000000000001","name":"back","startTimeUnixNano":"1000","endTimeUnixNano":"400",
			"attributes":[{"key":"k","value":{"stringValue":"v"}}]},
		{"traceId":"000102030405060708090a0b0c0d0e0f","spanId":"0000000000000002","parentSpanId":"0000000000000001","name":"child","startTimeUnixNano":"1100","endTimeUnixNano":"1200"},
		{"traceId":"000102030405060708090a0b0c0d0e0f","spanId":"0000000000000003","name":"late","startTimeUnixNano":"1300","endTimeUnixNano":"18446744073709551615"},
		{"traceId":"000102030405060708090a0b0c0d0e0f","spanId":"0000000000000004","parentSpanId":"0000000000000004","name":"itself","startTimeUnixNano":"1400","endTimeUnixNano":"1500"},
		{"traceId":"000102030405060708090a0b0c0d0e0f","spanId":"0000000000000005","name":"none","endTimeUnixNano":"1500"}]}]}]}`
	tables := ingesttest.MustRead(t, "trace.json", []byte(text))
	tables.Want(t, "slice", "ts|dur|name", "1000|0|back", "1100|100|child", "1300|0|late", "1400|100|itself")
	tables.Want(t, "flow", "slice_out|slice_in", "0|1")
	tables.Want(t, "stats", "name|value|effect", "span_parse_errors|1|lost", "span_invalid_end|2|damaged")
	if rows := tables.Rows("import_log", "name", "byte_offset"); len(rows) != 3 || strings.HasSuffix(rows[0], "|0") {
		t.Errorf("import_log %q", rows)
	}
	if args := tables.Rows("args", "key", "int_value", "string_value"); !slices.Contains(args, "end_time_unix_nano|400|NULL") || !slices.Contains(args, "attributes.k|NULL|v") {
		t.Errorf("args %q", args)
	}
}

// Spans that begin before the clock of another trace, which is the time since the machine was booted, have negative times.
func TestBeforeBoot(t *testing.T) {
	reading := func(clock, time uint64) []byte {
		b := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), clock)
		b = protowire.AppendVarint(protowire.AppendTag(b, 2, protowire.VarintType), time)
		return protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), b)
	}
	snapshot := append(reading(6, 1000), reading(1, 10_000_000)...) // BOOTTIME, REALTIME
	packet := protowire.AppendBytes(protowire.AppendTag(nil, 6, protowire.BytesType), snapshot)
	packet = protowire.AppendVarint(protowire.AppendTag(packet, 8, protowire.VarintType), 1000)
	trace := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), packet)
	text := `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"000102030405060708090a0b0c0d0e0f","spanId":"0000000000000001","name":"early",
		"startTimeUnixNano":"9000000","endTimeUnixNano":"11000000"}]}]}]}`
	tables, err := ingesttest.Read(t, ingesttest.File{Name: "a.pftrace", Reader: bytes.NewReader(trace)}, ingesttest.File{Name: "b.json", Reader: strings.NewReader(text)})
	if err != nil {
		t.Fatal(err)
	}
	tables.Want(t, "slice", "ts|dur|name", "-999000|2000000|early")
}

// messages are OpenTelemetry's, each with its fields: number, name, type, and + if it is repeated.
var messages = map[string]string{
	"TracesData":    "1 resource_spans ResourceSpans+",
	"ResourceSpans": "1 resource Resource, 2 scope_spans ScopeSpans+, 3 schema_url string",
	"ScopeSpans":    "1 scope InstrumentationScope, 2 spans Span+, 3 schema_url string",
	"Span": "1 trace_id bytes, 2 span_id bytes, 3 trace_state string, 4 parent_span_id bytes, 16 flags fixed32, 5 name string, 6 kind int32, " +
		"7 start_time_unix_nano fixed64, 8 end_time_unix_nano fixed64, 9 attributes KeyValue+, 10 dropped_attributes_count uint32, " +
		"11 events Event+, 12 dropped_events_count uint32, 13 links Link+, 14 dropped_links_count uint32, 15 status Status",
	"Event":                "1 time_unix_nano fixed64, 2 name string, 3 attributes KeyValue+, 4 dropped_attributes_count uint32",
	"Link":                 "1 trace_id bytes, 2 span_id bytes, 3 trace_state string, 4 attributes KeyValue+, 5 dropped_attributes_count uint32, 6 flags fixed32",
	"Status":               "2 message string, 3 code int32",
	"AnyValue":             "1 string_value string?, 2 bool_value bool?, 3 int_value int64?, 4 double_value double?, 5 array_value ArrayValue, 6 kvlist_value KeyValueList, 7 bytes_value bytes?",
	"ArrayValue":           "1 values AnyValue+",
	"KeyValueList":         "1 values KeyValue+",
	"KeyValue":             "1 key string, 2 value AnyValue",
	"InstrumentationScope": "1 name string, 2 version string, 3 attributes KeyValue+, 4 dropped_attributes_count uint32",
	"Resource":             "1 attributes KeyValue+, 2 dropped_attributes_count uint32",
}

var types = map[string]descriptorpb.FieldDescriptorProto_Type{
	"string": descriptorpb.FieldDescriptorProto_TYPE_STRING, "bytes": descriptorpb.FieldDescriptorProto_TYPE_BYTES,
	"bool": descriptorpb.FieldDescriptorProto_TYPE_BOOL, "int32": descriptorpb.FieldDescriptorProto_TYPE_INT32,
	"int64": descriptorpb.FieldDescriptorProto_TYPE_INT64, "uint32": descriptorpb.FieldDescriptorProto_TYPE_UINT32,
	"double": descriptorpb.FieldDescriptorProto_TYPE_DOUBLE, "fixed32": descriptorpb.FieldDescriptorProto_TYPE_FIXED32,
	"fixed64": descriptorpb.FieldDescriptorProto_TYPE_FIXED64,
}

// decoded returns JSON as a message of protobuf's own library.
func decoded(t *testing.T, json []byte) *dynamicpb.Message {
	t.Helper()
	file := &descriptorpb.FileDescriptorProto{Name: proto.String("trace.proto"), Package: proto.String("p"), Syntax: proto.String("proto2")}
	for name, fields := range messages {
		m := &descriptorpb.DescriptorProto{Name: proto.String(name)}
		for field := range strings.SplitSeq(fields, ", ") {
			words := strings.Fields(field)
			number, _ := strconv.Atoi(words[0])
			kind := strings.TrimRight(words[2], "+?")
			f := &descriptorpb.FieldDescriptorProto{Name: &words[1], Number: proto.Int32(int32(number)),
				Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()}
			if strings.HasSuffix(words[2], "+") {
				f.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
			}
			if scalar, ok := types[kind]; ok {
				f.Type = scalar.Enum()
			} else {
				f.Type, f.TypeName = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(), proto.String(".p."+kind)
			}
			m.Field = append(m.Field, f)
		}
		file.MessageType = append(file.MessageType, m)
	}
	descriptor, err := protodesc.NewFile(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := dynamicpb.NewMessage(descriptor.Messages().ByName("TracesData"))
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(inBase64(json), m); err != nil {
		t.Fatal(err)
	}
	return m
}

var ids = regexp.MustCompile(`"((?:trace|span|parentSpan)Id)"\s*:\s*"([0-9a-fA-F]*)"`)

// inBase64 writes ids as protobuf's JSON has them.
func inBase64(json []byte) []byte {
	return ids.ReplaceAllFunc(json, func(b []byte) []byte {
		m := ids.FindSubmatch(b)
		id, err := hex.DecodeString(string(m[2]))
		if err != nil {
			return b
		}
		return fmt.Appendf(nil, `"%s":"%s"`, m[1], base64.StdEncoding.EncodeToString(id))
	})
}

// inOrder writes fields by their numbers, as all writers of OpenTelemetry do.
var inOrder = proto.MarshalOptions{Deterministic: true}

func encoded(t *testing.T, m proto.Message) []byte {
	t.Helper()
	b, err := inOrder.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestMessages reads what protobuf's own library writes, as one message and in the framings of files.
func TestMessages(t *testing.T) {
	m := decoded(t, []byte(trace))
	check(t, ingesttest.MustRead(t, "trace.pb", encoded(t, m)))

	var delimited, sized bytes.Buffer
	for line := range requests(m) {
		if _, err := (protodelim.MarshalOptions{MarshalOptions: inOrder}).MarshalTo(&delimited, line); err != nil {
			t.Fatal(err)
		}
		b := encoded(t, line)
		sized.Write(binary.BigEndian.AppendUint32(nil, uint32(len(b))))
		sized.Write(b)
	}
	check(t, ingesttest.MustRead(t, "delimited.pb", delimited.Bytes()))
	check(t, ingesttest.MustRead(t, "sized.pb", sized.Bytes()))
}

// requests yields a message for each ResourceSpans.
func requests(m *dynamicpb.Message) func(func(proto.Message) bool) {
	return func(yield func(proto.Message) bool) {
		field := m.Descriptor().Fields().ByName("resource_spans")
		for i := range m.Get(field).List().Len() {
			one := dynamicpb.NewMessage(m.Descriptor())
			one.Mutable(field).List().Append(m.Get(field).List().Get(i))
			if !yield(one) {
				return
			}
		}
	}
}

// TestSpellings reads JSON as other programs write it.
func TestSpellings(t *testing.T) {
	tempo := strings.NewReplacer(`"resourceSpans"`, `"batches"`, `"scopeSpans"`, `"instrumentationLibrarySpans"`, `"scope"`, `"instrumentationLibrary"`,
		`"kind":2`, `"kind":"SPAN_KIND_SERVER"`, `"code":2`, `"code":"STATUS_CODE_ERROR"`, `"intValue":"42"`, `"intValue":42`).Replace(trace)
	check(t, ingesttest.MustRead(t, "tempo.json", inBase64([]byte(tempo))))
	check(t, ingesttest.MustRead(t, "jaeger.json", []byte(`{"result":`+trace+`}`)))

	var lines []byte
	resources := strings.Split(strings.ReplaceAll(trace, "\n", ""), `]}]},{	"resource"`)
	for i, line := range resources {
		if i > 0 {
			line = `{"resourceSpans":[{"resource"` + line
		}
		if i < len(resources)-1 {
			line += "]}]}]}"
		}
		lines = append(lines, line+"\n"...)
	}
	check(t, ingesttest.MustRead(t, "traces.jsonl", lines))
	damaged := append([]byte(`{"resourceSpans":[{"resource":{},"scopeSpans":[{"spans":[{"traceId" "x"}]}`+"\n"), lines...)
	if _, err := ingesttest.Read(t, ingesttest.File{Name: "x", Reader: bytes.NewReader(damaged)}); !errors.Is(err, format.ErrCorrupt) {
		t.Errorf("damage before the first span: %v", err)
	}
	damaged = slices.Concat(lines, []byte(`{"resourceSpans":[{"scopeSpans" }]}`+"\n"), lines)
	tables := ingesttest.MustRead(t, "x", damaged)
	if n := len(tables.Rows("slice", "id")); n != 14 {
		t.Errorf("%d slices around a damaged line", n)
	}
	if got := tables.Rows("stats", "name", "value"); !slices.Contains(got, "span_parse_errors|1") {
		t.Errorf("%v", got)
	}
}

// TestList reads requests that someone put into a list.
func TestList(t *testing.T) {
	one := ingesttest.MustRead(t, "x", []byte(trace)).Rows("slice", "name", "dur")
	got := ingesttest.MustRead(t, "x", []byte("[\n"+trace+",\n"+trace+"\n]\n")).Rows("slice", "name", "dur")
	slices.Sort(got)
	if want := slices.Sorted(slices.Values(slices.Concat(one, one))); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestDetection(t *testing.T) {
	message := encoded(t, decoded(t, []byte(trace)))
	for head, want := range map[string]string{
		trace:                                   "otlp",
		string(message):                         "otlp",
		`{"resourceMetrics":[{"resource":{}}]}`: "otlp",
		`{"batches":{}}`:                        "json",
		`[{"batches":{}}]`:                      "json",
		"[\n" + trace:                           "otlp",
		"\x0a\x10\x08\x01\x12\x0c":              "",
	} {
		got := ""
		if f := ingest.Detect([]byte(head)); f != nil {
			got = f.Name
		}
		if got != want && want != "" || want == "" && got == "otlp" {
			t.Errorf("%.20q: %s", head, got)
		}
	}
	if _, err := ingesttest.Read(t, ingesttest.File{Name: "x", Reader: strings.NewReader(`{"resourceSpans":[]}`)}); !errors.Is(err, format.ErrNoEvents) {
		t.Error(err)
	}
}

// A resource may be larger than what detection sees, and so may what comes before the first span.
func TestLargeResource(t *testing.T) {
	field := func(number protowire.Number, content ...[]byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), bytes.Join(content, nil))
	}
	attribute := field(1, field(1, []byte("k")), field(2, field(1, bytes.Repeat([]byte("x"), 66_000))))
	span := field(2, field(1, bytes.Repeat([]byte{1}, 16)), field(2, bytes.Repeat([]byte{2}, 8)), field(5, []byte("n")),
		[]byte{7<<3 | 1, 10, 0, 0, 0, 0, 0, 0, 0, 8<<3 | 1, 20, 0, 0, 0, 0, 0, 0, 0})
	empty := field(1, field(1, field(1, field(1, []byte("k")))))
	for name, trace := range map[string][]byte{
		"an attribute of 66,000 bytes":  field(1, field(1, attribute), field(2, span)),
		"7,000 resources without spans": append(bytes.Repeat(empty, 7000), field(1, field(2, span))...),
	} {
		if rows := ingesttest.MustRead(t, "a.pb", trace).Rows("slice", "name", "dur"); !slices.Equal(rows, []string{"n|10"}) {
			t.Errorf("%s: %v", name, rows)
		}
	}
}

// Every span of a scope has its attributes, but not thousands of them.
func TestLargeScope(t *testing.T) {
	var attributes, spans []string
	for i := range 1000 {
		attributes = append(attributes, fmt.Sprintf(`{"key":"k%d","value":{"intValue":"1"}}`, i))
		spans = append(spans, fmt.Sprintf(`{"traceId":"0123456789abcdef0123456789abcdef","spanId":"%016x","name":"n","startTimeUnixNano":"10","endTimeUnixNano":"20"}`, i+1))
	}
	tables := ingesttest.MustRead(t, "a.json", []byte(`{"resourceSpans":[{"scopeSpans":[{"scope":{"name":"s","attributes":[`+
		strings.Join(attributes, ",")+`]},"spans":[`+strings.Join(spans, ",")+`]}]}]}`))
	shared := 0
	for _, key := range tables.Rows("args", "key") {
		if strings.HasPrefix(key, "scope.attributes.") {
			shared++
		}
	}
	if spans := len(tables.Rows("slice", "id")); spans != 1000 || shared != 256*spans {
		t.Errorf("%d spans with %d attributes of their scope", spans, shared)
	}
	tables.Want(t, "stats", "name|value", "unread_fact|744")
}

// TestDamage cuts traces off and damages them. What was whole before the cut is there.
func TestDamage(t *testing.T) {
	message := encoded(t, decoded(t, []byte(trace)))
	random := rand.New(rand.NewPCG(1, 2))
	mutations := 100
	if os.Getenv("FORMAT_SAMPLES") != "" {
		mutations = 2000
	}
	for _, data := range [][]byte{[]byte(trace), message} {
		ingesttest.Cuts(t, data, "slice")
		for range mutations {
			damaged := bytes.Clone(data)
			for range 1 + random.IntN(4) {
				damaged[random.IntN(len(damaged))] = byte(random.Uint32())
			}
			ingesttest.MayFail(t, damaged)
		}
	}
}

// TestSamples compares traces of others, in the folder otlp of FORMAT_SAMPLES, with what protobuf's own library reads.
func TestSamples(t *testing.T) {
	ingesttest.Samples(t, "otlp/*.json", func(file string, data []byte) {
		json, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want := countIn(decoded(t, flat(json)))
		for _, data := range [][]byte{json, encoded(t, decoded(t, flat(json)))} {
			tables, err := ingesttest.Read(t, ingesttest.File{Name: file, Reader: bytes.NewReader(data)})
			if want.spans == 0 {
				if !format.BadInput(err) {
					t.Errorf("%s has no spans: %v", file, err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := countOf(t, tables); got != want {
				t.Errorf("%s: %+v, want %+v; %v", file, got, want, tables.Rows("stats", "name", "value"))
			}
		}
		t.Logf("%s: %+v", filepath.Base(file), want)
	})
}

// flat is JSON with the names that protobuf's library knows.
func flat(json []byte) []byte {
	text := strings.TrimSpace(string(json))
	if inner, ok := strings.CutPrefix(text, "{\n  \"result\": "); ok {
		text = strings.TrimSuffix(inner, "}")
	}
	lines := strings.Split(text, "\n{")
	for i, line := range lines { // one message for all requests
		if i > 0 {
			lines[i] = ", " + line[strings.IndexByte(line, '[')+1:]
		}
		if i < len(lines)-1 {
			lines[i] = lines[i][:strings.LastIndexByte(lines[i], ']')]
		}
	}
	text = strings.Join(lines, "")
	return []byte(strings.NewReplacer(`"batches"`, `"resourceSpans"`, `"instrumentationLibrarySpans"`, `"scopeSpans"`, `"instrumentationLibrary"`, `"scope"`,
		`"SPAN_KIND_INTERNAL"`, "1", `"SPAN_KIND_SERVER"`, "2", `"SPAN_KIND_CLIENT"`, "3", `"SPAN_KIND_PRODUCER"`, "4", `"SPAN_KIND_CONSUMER"`, "5",
		`"SPAN_KIND_UNSPECIFIED"`, "0", `"STATUS_CODE_OK"`, "1", `"STATUS_CODE_ERROR"`, "2", `"STATUS_CODE_UNSET"`, "0").Replace(text))
}

type counts struct {
	spans, events, nanoseconds, attributes, parents, links int64
}

// countIn counts in a message.
func countIn(m *dynamicpb.Message) (c counts) {
	each := func(m protoreflect.Message, field protoreflect.Name, f func(protoreflect.Message)) {
		list := m.Get(m.Descriptor().Fields().ByName(field)).List()
		for i := range list.Len() {
			f(list.Get(i).Message())
		}
	}
	number := func(m protoreflect.Message, field protoreflect.Name) int64 {
		return int64(m.Get(m.Descriptor().Fields().ByName(field)).Uint())
	}
	seen := map[string]bool{}
	id := func(m protoreflect.Message, name protoreflect.Name) string {
		f := m.Descriptor().Fields()
		return string(m.Get(f.ByName("trace_id")).Bytes()) + string(m.Get(f.ByName(name)).Bytes())
	}
	spans := func(f func(protoreflect.Message)) {
		each(m, "resource_spans", func(m protoreflect.Message) {
			each(m, "scope_spans", func(m protoreflect.Message) { each(m, "spans", f) })
		})
	}
	spans(func(m protoreflect.Message) {
		if number(m, "start_time_unix_nano") != 0 {
			seen[id(m, "span_id")] = true
		}
	})
	spans(func(m protoreflect.Message) {
		if number(m, "start_time_unix_nano") == 0 {
			return
		}
		c.spans++
		if end := number(m, "end_time_unix_nano"); end != 0 {
			c.nanoseconds += end - number(m, "start_time_unix_nano")
		}
		each(m, "attributes", func(m protoreflect.Message) {
			m = m.Get(m.Descriptor().Fields().ByName("value")).Message()
			if list := m.Get(m.Descriptor().Fields().ByName("array_value")).Message(); list.IsValid() {
				c.attributes += int64(list.Get(list.Descriptor().Fields().ByName("values")).List().Len())
			} else {
				c.attributes++
			}
		})
		each(m, "events", func(protoreflect.Message) { c.events++ })
		each(m, "links", func(m protoreflect.Message) {
			if seen[id(m, "span_id")] {
				c.links++
			}
		})
		if parent := m.Get(m.Descriptor().Fields().ByName("parent_span_id")).Bytes(); len(parent) > 0 && seen[id(m, "parent_span_id")] {
			c.parents++
		}
	})
	return c
}

// countOf counts in tables.
func countOf(t *testing.T, tables *ingesttest.Tables) (c counts) {
	classes := tables.Rows("track", "classification")
	attributes := map[string]int64{}
	for _, row := range tables.Rows("args", "arg_set_id", "key") {
		if set, key, _ := strings.Cut(row, "|"); strings.HasPrefix(key, "attributes.") {
			attributes[set]++
		}
	}
	for _, row := range tables.Rows("slice", "track_id", "dur", "parent_id", "arg_set_id") {
		v := strings.Split(row, "|")
		track, _ := strconv.Atoi(v[0])
		if classes[track] == "span_event" {
			c.events++
			continue
		}
		c.spans++
		if dur, _ := strconv.ParseInt(v[1], 10, 64); dur > 0 {
			c.nanoseconds += dur
		}
		if v[2] != "NULL" {
			c.parents++
		}
		c.attributes += attributes[v[3]]
	}
	links := map[string]bool{}
	for _, row := range tables.Rows("args", "arg_set_id", "key", "string_value") {
		if set, ok := strings.CutSuffix(row, "|name|link"); ok {
			links[set] = true
		}
	}
	for _, set := range tables.Rows("flow", "arg_set_id") {
		if links[set] {
			c.links++
		} else {
			c.parents++
		}
	}
	return c
}

func FuzzOTLP(f *testing.F) {
	seeds, err := filepath.Glob("testdata/profiles/v*")
	if err != nil {
		f.Fatal(err)
	}
	all := [][]byte{[]byte(trace), []byte("\x0a\x1a\x12\x18\x12\x16\x0a\x10aaaaaaaaaaaaaaaa\x39\x01\x00\x00\x00\x00\x00\x00\x00")}
	for _, seed := range seeds {
		data, err := os.ReadFile(seed)
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, data)
	}
	ingesttest.Fuzz(f, "otlp", all...)
}
