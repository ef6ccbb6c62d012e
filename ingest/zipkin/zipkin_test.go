package zipkin_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
)

// A client and its server share the span 2. A span of the server is inside of its half.
const trace = `[
	{"traceId":"000000000000000a","id":"1","name":"get /","kind":"SERVER","timestamp":1000,"duration":500,"localEndpoint":{"serviceName":"web","ipv4":"1.2.3.4","port":80},
		"tags":{"http.method":"GET"},"annotations":[{"timestamp":1100,"value":"wr"}],"debug":true},
	{"traceId":"000000000000000a","id":"4","parentId":"2","name":"query","timestamp":1210,"duration":10,"localEndpoint":{"serviceName":"api"}},
	{"traceId":"000000000000000a","id":"2","parentId":"1","name":"call","kind":"CLIENT","timestamp":1100,"duration":300,"localEndpoint":{"serviceName":"web"},
		"remoteEndpoint":{"serviceName":"api"}},
	{"traceId":"000000000000000a","id":"2","parentId":"1","name":"call","kind":"SERVER","timestamp":1200,"duration":100,"shared":true,"localEndpoint":{"serviceName":"api"}},
	{"traceId":"000000000000000a","id":"5","parentId":"2","name":"encode","timestamp":1110,"duration":5,"localEndpoint":{"serviceName":"web"}},
	{"traceId":"000000000000000a","id":"6","name":"no time"}]`

func TestSpans(t *testing.T) {
	tables := ingesttest.MustRead(t, "trace.json", []byte(trace))
	tables.Want(t, "slice", "ts|dur|name|track_id|depth|parent_id",
		"1000000|500000|get /|0|0|NULL", "1100000|300000|call|0|1|0", "1100000|0|wr|1|0|NULL", "1110000|5000|encode|0|2|1",
		"1200000|100000|call|2|0|NULL", "1210000|10000|query|2|1|4")
	tables.Want(t, "process", "name", "NULL", "web", "api", "NULL")
	tables.Want(t, "flow", "slice_out|slice_in", "1|4")
	var args []string
	for _, row := range tables.Rows("args", "key", "int_value", "string_value") {
		args = append(args, strings.ReplaceAll(row, "|NULL", ""))
	}
	for _, want := range []string{"kind|SPAN_KIND_CLIENT", "attributes.http.method|GET", "attributes.localEndpoint.port|80", "attributes.remoteEndpoint.serviceName|api",
		"shared|1", "attributes.debug|1", "parent_span_id|0000000000000001"} {
		if !slices.Contains(args, want) {
			t.Errorf("no %s in\n%s", want, strings.Join(args, "\n"))
		}
	}
	tables.Want(t, "stats", "name|value", "span_parse_errors|1")

	if got := ingesttest.MustRead(t, "traces.json", []byte("["+trace+","+trace+"]")).Rows("slice", "name"); len(got) != 12 {
		t.Errorf("two traces: %v", got)
	}
}

// TestVersion1 reads spans whose annotations say who made them: of both sides of a call, of a server that shares its client's span, of
// a call whose end is missing, of a service that calls itself, of nobody's call, and of messages.
func TestVersion1(t *testing.T) {
	endpoint := func(service string) string {
		return `"endpoint":{"serviceName":"` + service + `","ipv4":"1.2.3.4","port":80}`
	}
	note := func(time, value, service string) string {
		return `{"timestamp":` + time + `,"value":"` + value + `",` + endpoint(service) + `}`
	}
	span := func(id, name, more string, annotations ...string) string {
		return `{"traceId":"a","name":"` + name + `","id":"` + id + `",` + more + `"annotations":[` + strings.Join(annotations, ",") + `]}`
	}
	text := "[" + strings.Join([]string{
		span("1", "both", `"timestamp":1000,"duration":500,"debug":true,"binaryAnnotations":[{"key":"sa","value":true,`+endpoint("api")+`},
			{"key":"path","value":"/","type":"STRING",`+endpoint("web")+`},{"key":"status","value":200,"type":"I16",`+endpoint("api")+`}],`,
			note("1000", "cs", "web"), note("1100", "sr", "api"), note("1200", "work", "api"), note("1400", "ss", "api"), note("1500", "cr", "web")),
		span("2", "shared", `"parentId":"1",`, note("2000", "sr", "db"), note("2100", "ss", "db")),
		span("3", "sent", ``, note("3000", "cs", "web")),
		span("4", "self", ``, note("4000", "cs", "web"), note("4100", "sr", "web"), note("4200", "ss", "web"), note("4300", "cr", "web")),
		span("5", "local", `"timestamp":5000,"duration":10,"binaryAnnotations":[{"key":"lc","value":"",`+endpoint("db")+`}],`),
		span("6", "post", ``, note("6000", "ms", "web"), note("6050", "mr", "db")),
		span("7", "answer", ``, note("7000", "cr", "web"), note("7001", "plain", "web")),
	}, ",") + "]"
	tables := ingesttest.MustRead(t, "v1.json", []byte(text))
	tables.Want(t, "slice", "ts|dur|name", "1000000|500000|both", "1100000|300000|both", "1200000|0|work", "2000000|100000|shared", "3000000|-1|sent",
		"4000000|300000|self", "4100000|100000|self", "5000000|10000|local", "6000000|-1|post", "6050000|-1|post", "7000000|0|cr", "7001000|0|plain")
	args := map[string][]string{}
	for _, row := range tables.Rows("args", "arg_set_id", "key", "int_value", "string_value") {
		set, arg, _ := strings.Cut(strings.ReplaceAll(row, "|NULL", ""), "|")
		for _, key := range []string{"kind", "shared", "parent", "attributes.path", "attributes.status", "attributes.debug", "attributes.remoteEndpoint.service"} {
			if strings.HasPrefix(arg, key) {
				args[set] = append(args[set], arg)
			}
		}
	}
	var got []string
	for _, row := range tables.Rows("slice", "name", "arg_set_id") {
		if name, set, _ := strings.Cut(row, "|"); len(args[set]) > 0 {
			slices.Sort(args[set])
			got = append(got, name+" "+strings.Join(args[set], " "))
		}
	}
	want := []string{
		"both attributes.debug|1 attributes.path|/ attributes.remoteEndpoint.serviceName|api kind|SPAN_KIND_CLIENT",
		"both attributes.debug|1 attributes.status|200 kind|SPAN_KIND_SERVER shared|1",
		"shared kind|SPAN_KIND_SERVER parent_span_id|0000000000000001 shared|1", "sent kind|SPAN_KIND_CLIENT", "self kind|SPAN_KIND_CLIENT",
		"self kind|SPAN_KIND_SERVER shared|1", "post kind|SPAN_KIND_PRODUCER", "post kind|SPAN_KIND_CONSUMER"}
	if !slices.Equal(got, want) {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	tables.Want(t, "process", "name", "NULL", "web", "api", "db")
	tables.Want(t, "stats", "name|value", "span_parse_errors|1") // the answer, which has no begin
}

// A part without a time, as Zipkin's collector takes it, adds to the half of its service, or of any if it names none. One that no
// span takes is lost. Events have their own times.
func TestParts(t *testing.T) {
	text := `[
		{"traceId":"000000000000000a","id":"2","name":"post","localEndpoint":{"serviceName":"api"},"tags":{"a":"1","b":"2"},"annotations":[{"timestamp":1250,"value":"wr"}]},
		{"traceId":"000000000000000a","id":"2","kind":"CLIENT","timestamp":1100,"duration":300,"localEndpoint":{"serviceName":"web"},"tags":{"c":"3"}},
		{"traceId":"000000000000000a","id":"2","name":"post","kind":"SERVER","timestamp":1200,"duration":100,"shared":true,"localEndpoint":{"serviceName":"api"},"tags":{"a":"1"}},
		{"traceId":"000000000000000a","id":"2","name":"call","tags":{"d":"4"}},
		{"traceId":"000000000000000a","id":"3","name":"lost","localEndpoint":{"serviceName":"api"}}]`
	tables := ingesttest.MustRead(t, "parts.json", []byte(text))
	tables.Want(t, "slice", "ts|dur|name", "1100000|300000|call", "1200000|100000|post", "1250000|0|wr")
	tables.Want(t, "flow", "slice_out|slice_in", "0|1")
	tables.Want(t, "stats", "name|value", "span_parse_errors|1", "span_parts_joined|2")
	var tags []string
	for _, row := range tables.Rows("args", "key", "string_value") {
		if rest, ok := strings.CutPrefix(row, "attributes."); ok && len(rest) == 3 {
			tags = append(tags, rest)
		}
	}
	slices.Sort(tags)
	if want := []string{"a|1", "b|2", "c|3", "d|4"}; !slices.Equal(tags, want) {
		t.Errorf("tags %q, want %q", tags, want)
	}
}

// A server that does not say that it shares its client's id is inside of the client, too, even if its clock is ahead. What it does is
// inside of it, and what the client does inside of the client.
func TestSharedWithoutFlag(t *testing.T) {
	text := `[
		{"traceId":"000000000000000a","id":"1","name":"get","kind":"SERVER","timestamp":1000,"duration":500,"localEndpoint":{"serviceName":"web"}},
		{"traceId":"000000000000000a","id":"2","parentId":"1","name":"call","kind":"CLIENT","timestamp":1100,"duration":300,"localEndpoint":{"serviceName":"web"}},
		{"traceId":"000000000000000a","id":"2","parentId":"1","name":"serve","kind":"SERVER","timestamp":1050,"duration":100,"localEndpoint":{"serviceName":"api"}},
		{"traceId":"000000000000000a","id":"3","parentId":"2","name":"query","timestamp":1140,"duration":20,"localEndpoint":{"serviceName":"api"}},
		{"traceId":"000000000000000a","id":"4","parentId":"2","name":"read","timestamp":1390,"duration":20,"localEndpoint":{"serviceName":"web"}},
		{"traceId":"000000000000000a","id":"5","parentId":"1","name":"far","timestamp":1450,"duration":20,"localEndpoint":{"serviceName":"far"}}]`
	tables := ingesttest.MustRead(t, "trace.json", []byte(text))
	tables.Want(t, "slice", "id|name|parent_id", "0|get|NULL", "1|serve|NULL", "2|call|0", "3|query|NULL", "4|read|NULL", "5|far|NULL")
	tables.Want(t, "flow", "slice_out|slice_in", "1|3", "2|1", "2|4", "0|5")
	tables.Want(t, "stats", "name|value")
}

// A span that ends before it starts keeps its row and tags.
func TestNegativeDuration(t *testing.T) {
	text := `[{"traceId":"000000000000000a","id":"1","name":"a","timestamp":1000,"duration":-200,"tags":{"k":"v"}},
		{"traceId":"000000000000000a","id":"2","name":"b","timestamp":-5,"duration":2}]`
	tables := ingesttest.MustRead(t, "trace.json", []byte(text))
	tables.Want(t, "slice", "ts|dur|name", "1000000|0|a")
	tables.Want(t, "stats", "name|value|effect", "span_parse_errors|1|lost", "span_invalid_end|1|damaged")
	if args := tables.Rows("args", "key", "int_value", "string_value"); !slices.Contains(args, "end_time_unix_nano|800000|NULL") || !slices.Contains(args, "attributes.k|NULL|v") {
		t.Errorf("args %q", args)
	}
}

// A span without a duration has no end, and an annotation without a time is lost.
func TestMissingTimes(t *testing.T) {
	tables := ingesttest.MustRead(t, "trace.json", []byte(`[
		{"traceId":"000000000000000a","id":"1","name":"sent","kind":"PRODUCER","timestamp":1000,"localEndpoint":{"serviceName":"web"}},
		{"traceId":"000000000000000a","id":"2","name":"got","timestamp":2000,"duration":0,"annotations":[{"value":"late"},{"timestamp":2001,"value":"wr"}]}]`))
	tables.Want(t, "slice", "ts|dur|name", "1000000|-1|sent", "2000000|0|got", "2001000|0|wr")
	tables.Want(t, "stats", "name|value", "span_parse_errors|1")
}

func TestTimesBelowMicroseconds(t *testing.T) {
	text := `[{"traceId":"000000000000000a","id":"1","name":"a","timestamp":1700000000123456.789,"duration":0.5},{"traceId":"000000000000000a","id":"2","name":"b","timestamp":1.7e15,"duration":2}]`
	ingesttest.MustRead(t, "trace.json", []byte(text)).Want(t, "slice", "ts|dur|name", "1700000000000000000|2000|b", "1700000000123456789|500|a")
}

func TestCutOff(t *testing.T) {
	ingesttest.Cuts(t, []byte(trace), "slice")
}

// TestSamples compares spans of others, in the folder zipkin of FORMAT_SAMPLES, with what encoding/json reads.
func TestSamples(t *testing.T) {
	type span struct {
		TraceID, ID, ParentID string
		Timestamp, Duration   int64
		Shared                bool
		Annotations           []struct{}
		Tags                  map[string]string
		LocalEndpoint         struct{ ServiceName string }
	}
	type counts struct{ spans, µs, parents, events, untimed, joined int64 }
	ingesttest.Samples(t, "zipkin/*.json", func(file string, data []byte) {
		var all []span
		if json.Unmarshal(data, &all) != nil {
			all = make([]span, 1)
			if err := json.Unmarshal(data, &all[0]); err != nil {
				t.Fatal(err)
			}
		}
		var want, got counts
		seen := map[string]bool{}
		services := map[string]bool{} // of each span with a time
		for _, s := range all {
			seen[s.TraceID+s.ID] = seen[s.TraceID+s.ID] || s.Timestamp > 0 && !s.Shared
			services[s.TraceID+s.ID+s.LocalEndpoint.ServiceName] = services[s.TraceID+s.ID+s.LocalEndpoint.ServiceName] || s.Timestamp > 0
		}
		for _, s := range all {
			if s.Timestamp == 0 {
				if services[s.TraceID+s.ID+s.LocalEndpoint.ServiceName] {
					want.joined++
				} else {
					want.untimed++
				}
				continue
			}
			want.spans++
			want.µs += s.Duration
			want.events += int64(len(s.Annotations))
			if s.Shared && (seen[s.TraceID+s.ID] || seen[s.TraceID+s.ParentID]) || !s.Shared && s.ParentID != "" && has(seen, s.TraceID+s.ParentID) {
				want.parents++
			}
		}
		tables, err := ingesttest.Read(t, ingesttest.File{Name: file, Reader: bytes.NewReader(data)})
		if err != nil {
			t.Errorf("%s: %v", file, err)
			return
		}
		classes := tables.Rows("track", "classification")
		for _, row := range tables.Rows("slice", "track_id", "dur", "parent_id") {
			v := strings.Split(row, "|")
			if track, _ := strconv.Atoi(v[0]); classes[track] == "span_event" {
				got.events++
				continue
			}
			got.spans++
			dur, _ := strconv.ParseInt(v[1], 10, 64)
			got.µs += dur / 1000
			if v[2] != "NULL" {
				got.parents++
			}
		}
		got.parents += int64(len(tables.Rows("flow", "id")))
		for _, row := range tables.Rows("stats", "name", "value") {
			if n, ok := strings.CutPrefix(row, "span_parse_errors|"); ok {
				got.untimed, _ = strconv.ParseInt(n, 10, 64)
			}
			if n, ok := strings.CutPrefix(row, "span_parts_joined|"); ok {
				got.joined, _ = strconv.ParseInt(n, 10, 64)
			}
		}
		if got != want {
			t.Errorf("%s: %+v, want %+v; %v", filepath.Base(file), got, want, tables.Rows("stats", "name", "value"))
		} else {
			t.Logf("%s: %+v", filepath.Base(file), want)
		}
	})
}

// has reports whether a span is there, as its own or as a shared half.
func has(seen map[string]bool, key string) bool {
	_, ok := seen[key]
	return ok
}

func FuzzZipkin(f *testing.F) {
	ingesttest.Fuzz(f, "zipkin", []byte(trace), []byte(`[{"traceId":"a","id":"2","annotations":[{"timestamp":1,"value":"cs","endpoint":{"serviceName":"a"}},
		{"timestamp":2,"value":"sr","endpoint":{"serviceName":"b"}},{"timestamp":3,"value":"ss","endpoint":{"serviceName":"b"}}],
		"binaryAnnotations":[{"key":"sa","value":true,"endpoint":{"serviceName":"b"}},{"key":"k","value":"v"}]}]`))
}
