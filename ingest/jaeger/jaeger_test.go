package jaeger_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/ingest"
	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
)

const trace = `{"data":[{"traceID":"2be38093ead7a083","spans":[
	{"traceID":"2be38093ead7a083","spanID":"1","operationName":"buy","references":[],"flags":1,"startTime":1000,"duration":500,
		"tags":[{"key":"span.kind","type":"string","value":"server"},{"key":"n","type":"int64","value":"7"},{"key":"ok","type":"bool","value":true},
			{"key":"f","type":"float64","value":1.5}],
		"logs":[{"timestamp":1100,"fields":[{"key":"event","type":"string","value":"error"},{"key":"stack","type":"string","value":"a\nb"}]}],
		"processID":"p1","warnings":null},
	{"references":[{"refType":"CHILD_OF","traceID":"2be38093ead7a083","spanID":"0000000000000001"},
			{"refType":"FOLLOWS_FROM","traceID":"2be38093ead7a083","spanID":"1"}],
		"traceID":"2be38093ead7a083","spanID":"2","operationName":"pay","startTime":1200,"duration":100,"tags":[],"logs":[],"processID":"p2",
		"warnings":["clock skew"]},
	{"traceID":"2be38093ead7a083","spanID":"3","operationName":"in","references":[{"refType":"CHILD_OF","traceID":"2be38093ead7a083","spanID":"1"}],
		"startTime":1200,"duration":100,"tags":[],"logs":[],"processID":"p1"}],
	"processes":{"p1":{"serviceName":"shop","tags":[{"key":"hostname","type":"string","value":"h"}]},"p2":{"serviceName":"bank","tags":[]}},
	"warnings":null}],"total":0,"limit":0,"offset":0,"errors":null}`

func TestTrace(t *testing.T) {
	tables := ingesttest.MustRead(t, "trace.json", []byte(trace))
	tables.Want(t, "slice", "ts|dur|name|track_id|depth|parent_id",
		"1000000|500000|buy|0|0|NULL", "1100000|0|error|1|0|NULL", "1200000|100000|pay|2|0|NULL", "1200000|100000|in|0|1|0")
	tables.Want(t, "process", "name|arg_set_id", "NULL|NULL", "shop|32", "bank|34")
	tables.Want(t, "flow", "slice_out|slice_in", "0|2", "0|2")
	var args []string
	for _, row := range tables.Rows("args", "key", "int_value", "string_value", "real_value") {
		args = append(args, strings.ReplaceAll(row, "|NULL", ""))
	}
	for _, want := range []string{"kind|SPAN_KIND_SERVER", "attributes.span.kind|server", "attributes.n|7", "attributes.ok|1", "attributes.f|1.5",
		"attributes.stack|a\nb", "attributes.warnings|clock skew", "resource.attributes.hostname|h", "attributes.refType|FOLLOWS_FROM", "trace_id|2be38093ead7a083",
		"span_id|0000000000000002"} {
		if !slices.Contains(args, want) {
			t.Errorf("no %s in\n%s", want, strings.Join(args, "\n"))
		}
	}
	tables.Want(t, "stats", "name")

	one := trace[len(`{"data":[`):strings.LastIndex(trace, `],"total"`)]
	if got := ingesttest.MustRead(t, "one.json", []byte(one)).Rows("slice", "ts", "name"); len(got) != 4 {
		t.Errorf("a trace alone: %v", got)
	}
}

func TestTimesBelowMicroseconds(t *testing.T) {
	text := strings.Replace(strings.Replace(trace, `"startTime":1000,"duration":500`, `"startTime":1000.0625,"duration":500.25`, 1), `"timestamp":1100`, `"timestamp":1100.001`, 1)
	ingesttest.MustRead(t, "trace.json", []byte(text)).Want(t, "slice", "ts|dur|name", "1000063|500250|buy", "1100001|0|error", "1200000|100000|pay", "1200000|100000|in")
}

// TestForms reads spans with their process, as in storage, ids with and without zeros at the start, and lists of no errors.
func TestForms(t *testing.T) {
	text := `{"data":[{"traceID":"2be38093ead7a083","spans":[
		{"traceID":"00000000000000002be38093ead7a083","spanID":"1","operationName":"a","startTime":1000,"duration":500,"process":{"serviceName":"s","tags":[]}},
		{"traceID":"2be38093ead7a083","spanID":"00000000000000000002","operationName":"b","references":[{"refType":"CHILD_OF","traceID":"2be38093ead7a083","spanID":"01"}],
			"startTime":1100,"duration":100,"process":{"serviceName":"s","tags":[]}}],"processes":{},"warnings":[]}],"errors":[]}`
	tables := ingesttest.MustRead(t, "trace.json", []byte(text))
	tables.Want(t, "slice", "ts|dur|name|depth|parent_id", "1000000|500000|a|0|NULL", "1100000|100000|b|1|0")
	tables.Want(t, "process", "name", "NULL", "s")
	tables.Want(t, "stats", "name")
	text = strings.Replace(text, `"errors":[]`, `"errors":[{"code":1,"msg":"a trace is missing"}]`, 1)
	ingesttest.MustRead(t, "trace.json", []byte(text)).Want(t, "stats", "name|value", "unread_fact|1")
}

// stored is a span as Jaeger keeps it in Elasticsearch, with its tags as a list, and one with its tags as an object.
const (
	stored = `{"traceID":"0000000000000001","spanID":"2","parentSpanID":"1","flags":1,"operationName":"pay","references":[
		{"refType":"CHILD_OF","traceID":"0000000000000001","spanID":"0000000000000001"},{"refType":"FOLLOWS_FROM","traceID":"0000000000000001","spanID":"1"}],
		"startTime":1200,"startTimeMillis":1,"duration":100,"tags":[{"key":"span.kind","type":"string","value":"client"},{"key":"n","type":"int64","value":"7"},
		{"key":"error","type":"bool","value":"true"},{"key":"blob","type":"binary","value":"00003039"}],"logs":[],
		"process":{"serviceName":"shop","tags":[{"key":"hostname","type":"string","value":"h"}]}}`
	byName = `{"@timestamp":"1970-01-01T00:00:00.001Z","duration":500,"logs":null,"operationName":"buy","process":{"serviceName":"shop","tags":null,"tag":{"hostname":"h"}},
		"references":null,"spanID":"1","startTime":1000,"startTimeMillis":1,"tag":{"span@kind":"server","http@status_code":200,"ok":true},"tags":null,"traceID":"0000000000000001"}`
)

// TestDocuments reads what a search returns, a list of results, a dump, documents alone, and answers to several searches.
func TestDocuments(t *testing.T) {
	hit := func(span string) string {
		return `{"_index":"jaeger-span-1970-01-01","_type":"_doc","_id":"x","_score":1,"_source":` + span + `,"sort":[1]}`
	}
	search := `{"took":1,"timed_out":false,"_shards":{"total":1},"hits":{"total":{"value":2,"relation":"eq"},"max_score":null,"hits":[` + hit(stored) + "," + hit(byName) + `]}}`
	for name, text := range map[string]string{
		"search": search, "searches": `{"took":1,"responses":[` + search + `]}`, "list of hits": "[" + hit(byName) + "," + hit(stored) + "]",
		"dump": hit(stored) + "\n" + hit(byName) + "\n", "documents": byName + "\n" + stored + "\n", "list": "[" + stored + "," + byName + "]",
	} {
		t.Run(name, func(t *testing.T) {
			tables := ingesttest.MustRead(t, "spans.json", []byte(text))
			tables.Want(t, "slice", "ts|dur|name|depth|parent_id", "1000000|500000|buy|0|NULL", "1200000|100000|pay|1|0")
			tables.Want(t, "process", "name", "NULL", "shop")
			tables.Want(t, "flow", "slice_out|slice_in", "0|1")
			args := tables.Rows("args", "key", "int_value", "string_value")
			for _, want := range []string{"kind|NULL|SPAN_KIND_CLIENT", "kind|NULL|SPAN_KIND_SERVER", "attributes.n|7|NULL", "attributes.error|1|NULL", "attributes.blob|NULL|AAAwOQ==",
				"attributes.http.status_code|200|NULL", "attributes.ok|1|NULL", "resource.attributes.hostname|NULL|h"} {
				if !slices.Contains(args, want) {
					t.Errorf("no %s in\n%s", want, strings.Join(args, "\n"))
				}
			}
			tables.Want(t, "stats", "name")
		})
	}
	service := `{"_index":"jaeger-service-1970-01-01","_id":"y","_source":{"serviceName":"shop","operationName":"pay"}}`
	ingesttest.MustRead(t, "dump.json", []byte(hit(byName)+"\n"+service+"\n")).Want(t, "stats", "description", "span member serviceName is not read", "file member _source is not read")
	alone := `{"operationName":"idle","spanID":"1","startTime":1000,"duration":1,"traceID":"1"}`
	ingesttest.MustRead(t, "alone.json", []byte(alone)).Want(t, "slice", "ts|dur|name", "1000000|1000|idle")
	tables := ingesttest.MustRead(t, "dump.json", []byte(hit(byName)+"\n"+`{"_index":"jaeger-span-1970-01-01","_id":"z" "_source":{}}`+"\n"+hit(stored)+"\n"))
	tables.Want(t, "slice", "name", "buy", "pay")
	tables.Want(t, "stats", "name|value", "span_parse_errors|1")
}

// TestLists reads traces and objects with traces in lists, and one after the other.
func TestLists(t *testing.T) {
	one := trace[len(`{"data":[`):strings.LastIndex(trace, `],"total"`)]
	other := strings.ReplaceAll(one, "2be38093ead7a083", "2be38093ead7a084")
	for _, text := range []string{"[" + one + "," + other + "]", `[{"data":[` + one + `]},{"data":[` + other + `]}]`, `{"data":[` + one + "]}\n" + `{"data":[` + other + "]}\n",
		"[[" + one + "],[" + other + "]]"} {
		tables := ingesttest.MustRead(t, "traces.json", []byte(text))
		if got := len(tables.Rows("slice", "name")); got != 8 {
			t.Errorf("%d slices of %.20s", got, text)
		}
		tables.Want(t, "stats", "name")
	}
}

// TestNoSpans refuses texts whose traceID is that of a log, and objects inside of each other.
func TestNoSpans(t *testing.T) {
	for _, text := range []string{`{"level":"info","traceID":"1","spanID":"2","msg":"x"}`, `{"_index":"logs","_source":{"traceID":"1","message":"x"}}`,
		strings.Repeat(`{"data":[`, 100) + `{"traceID":"1","spans":[`} {
		if _, err := ingesttest.Read(t, ingesttest.File{Name: "x.json", Reader: strings.NewReader(text)}); err == nil {
			t.Errorf("%.40s was read", text)
		}
	}
}

func TestCutOff(t *testing.T) {
	last := ingesttest.Cuts(t, []byte(trace), "slice")
	if last < 4 {
		t.Errorf("%d slices of a trace without its end", last)
	}
}

// TestSamples compares traces of others, in the folder jaeger of FORMAT_SAMPLES, with what encoding/json reads.
func TestSamples(t *testing.T) {
	type trace struct {
		Spans []struct {
			TraceID, SpanID string
			StartTime       int64
			Duration        int64
			References      []struct{ RefType, TraceID, SpanID string }
			Logs            []struct{}
			Tags            []struct{ Key string }
		}
		Processes map[string]struct{ ServiceName string }
	}
	type counts struct{ spans, µs, references, events, tags, services int64 }
	ingesttest.Samples(t, "jaeger/*.json", func(file string, data []byte) {
		if f := ingest.Detect(data); f == nil || f.Name != "jaeger" {
			t.Logf("%s: %v", filepath.Base(file), f)
			return
		}
		var all struct {
			Data []trace
			trace
		}
		if err := json.Unmarshal(data, &all); err != nil {
			t.Fatal(err)
		}
		want, got := counts{}, counts{}
		services, seen := map[string]bool{}, map[string]bool{}
		traces := append(all.Data, all.trace)
		for _, trace := range traces {
			for _, s := range trace.Spans {
				seen[s.TraceID+" "+s.SpanID] = true
			}
		}
		for _, trace := range traces {
			for _, p := range trace.Processes {
				services[p.ServiceName] = true
			}
			for _, s := range trace.Spans {
				want.spans++
				want.µs += s.Duration
				want.events += int64(len(s.Logs))
				want.tags += int64(len(s.Tags))
				for _, r := range s.References {
					if seen[r.TraceID+" "+r.SpanID] {
						want.references++
					}
				}
			}
		}
		want.services = int64(len(services))
		tables, err := ingesttest.Read(t, ingesttest.File{Name: file, Reader: bytes.NewReader(data)})
		if stats := tables.Rows("stats", "name"); format.BadInput(err) && slices.Equal(stats, []string{"span_parse_errors"}) {
			t.Logf("%s: ids that are no numbers", filepath.Base(file))
			return
		} else if err != nil {
			t.Errorf("%s: %v; %v", file, err, stats)
			return
		}
		classes := tables.Rows("track", "classification")
		tags := map[string]int64{}
		for _, row := range tables.Rows("args", "arg_set_id", "key") {
			if set, key, _ := strings.Cut(row, "|"); strings.HasPrefix(key, "attributes.") && key != "attributes.warnings" {
				tags[set]++
			}
		}
		for _, row := range tables.Rows("slice", "track_id", "dur", "parent_id", "arg_set_id") {
			v := strings.Split(row, "|")
			track, _ := strconv.Atoi(v[0])
			if classes[track] == "span_event" {
				got.events++
				continue
			}
			got.spans++
			dur, _ := strconv.ParseInt(v[1], 10, 64)
			got.µs += dur / 1000
			if v[2] != "NULL" {
				got.references++
			}
			got.tags += tags[v[3]]
		}
		got.references += int64(len(tables.Rows("flow", "id")))
		names := map[string]bool{}
		for _, name := range tables.Rows("process", "name") {
			names[name] = true
		}
		got.services = int64(len(names)) - 1 // the idle process
		if got != want {
			t.Errorf("%s: %+v, want %+v; %v", filepath.Base(file), got, want, tables.Rows("stats", "name", "value", "description"))
		} else {
			t.Logf("%s: %+v", filepath.Base(file), want)
		}
	})
}

// A span that ends before it starts keeps its row and tags.
func TestNegativeDuration(t *testing.T) {
	text := `{"data":[{"traceID":"000000000000000a","spans":[{"traceID":"000000000000000a","spanID":"0000000000000001","operationName":"a","startTime":1000,"duration":-200,
		"tags":[{"key":"k","type":"string","value":"v"}],"processID":"p1"}],"processes":{"p1":{"serviceName":"s"}}}]}`
	tables := ingesttest.MustRead(t, "trace.json", []byte(text))
	tables.Want(t, "slice", "ts|dur|name", "1000000|0|a")
	tables.Want(t, "stats", "name|value|effect", "span_invalid_end|1|damaged")
	if args := tables.Rows("args", "key", "int_value", "string_value"); !slices.Contains(args, "end_time_unix_nano|800000|NULL") || !slices.Contains(args, "attributes.k|NULL|v") {
		t.Errorf("args %q", args)
	}
}

func FuzzJaeger(f *testing.F) {
	ingesttest.Fuzz(f, "jaeger", []byte(trace), []byte(stored), []byte(`{"hits":{"hits":[{"_source":`+byName+`}]}}`))
}

// TestNoSpanReadable reads a trace whose ids are no numbers, as in examples written by hand.
func TestNoSpanReadable(t *testing.T) {
	const text = `{"data":[{"traceID":"t1","spans":[{"traceID":"t1","spanID":"s1","operationName":"x","startTime":1000,"duration":5,"processID":"p1"}]}]}`
	_, err := ingesttest.Read(t, ingesttest.File{Name: "x", Reader: strings.NewReader(text)})
	if !errors.Is(err, format.ErrCorrupt) || !strings.Contains(err.Error(), "no span can be read") {
		t.Error(err)
	}
}
