package speedscope_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
)

// Frames come after the profiles, as py-spy writes them.
const file = `{"$schema":"https://www.speedscope.app/file-format-schema.json","profiles":[
	{"type":"sampled","name":"main","unit":"seconds","startValue":0,"endValue":4,"samples":[[0,1],[0],[0,1],[]],"weights":[1,2,0.5,0.5]},
	{"type":"evented","name":"calls","unit":"microseconds","startValue":10,"endValue":20,"events":[
		{"type":"O","frame":0,"at":10},{"type":"O","frame":1,"at":12},{"type":"C","frame":1,"at":15},{"type":"O","frame":2,"at":15}]},
	{"type":"sampled","name":"heap","unit":"bytes","startValue":0,"endValue":4,"samples":[[2]],"weights":[4096]}],
	"shared":{"frames":[{"name":"main","file":"a.py","line":3,"col":1},{"name":"f"},{"name":"g"}]},"name":"a","exporter":"py-spy@1","activeProfileIndex":0}`

func plain(function, _, _ string) string { return function }

func TestProfiles(t *testing.T) {
	tables := ingesttest.MustRead(t, "a.json", []byte(file))
	tables.Want(t, "aggregate_profile", "scope|name|sample_type_type|sample_type_unit",
		"main|speedscope time|time|seconds", "calls|speedscope time|time|microseconds", "heap|speedscope space|space|bytes")
	tables.Want(t, "aggregate_sample", "aggregate_profile_id|callsite_id|value", "0|1|1.5", "0|0|2", "0|NULL|0.5", "1|0|2", "1|1|3", "1|2|5", "2|3|4096")
	tables.Want(t, "stack_profile_frame", "name", "main", "f", "g")
	tables.Want(t, "stack_profile_symbol", "name|source_file|line_number", "main|a.py|3", "f|NULL|NULL", "g|NULL|NULL")
	tables.Want(t, "slice", "ts|dur|name|depth", "10000|10000|main|0", "12000|3000|f|1", "15000|5000|g|1")
	tables.Want(t, "track", "name|classification", "calls|speedscope_profile")
	tables.Want(t, "stats", "name|description", "unread_fact|column of a frame is not read")
}

// TestSlashes reads a schema as PHP's json_encode writes it.
func TestSlashes(t *testing.T) {
	tables := ingesttest.MustRead(t, "a.json", []byte(strings.Replace(file, "https://www.speedscope.app/file", `https:\/\/www.speedscope.app\/file`, 1)))
	tables.Want(t, "stack_profile_frame", "name", "main", "f", "g")
}

// TestUnit reads a unit that the schema lacks.
func TestUnit(t *testing.T) {
	tables := ingesttest.MustRead(t, "a.json", []byte(strings.Replace(file, `"bytes"`, `"cycles"`, 1)))
	tables.Want(t, "aggregate_profile", "sample_type_type|sample_type_unit", "time|seconds", "time|microseconds", "samples|cycles")
}

// TestTimes reads times with more digits than a double has.
func TestTimes(t *testing.T) {
	const head, shared = `{"$schema":"https://www.speedscope.app/file-format-schema.json",`, `"shared":{"frames":[{"name":"main"}]}`
	const events = `"events":[{"type":"O","frame":0,"at":1700000000.123456789},{"type":"C","frame":0,"at":1700000001.123456788}]`
	for _, text := range []string{
		head + shared + `,"profiles":[{"type":"evented","name":"a","unit":"seconds","startValue":0,"endValue":1,` + events + `}]}`,
		head + shared + `,"profiles":[{"type":"evented","name":"a",` + events + `,"startValue":0,"endValue":1,"unit":"seconds"}]}`,
	} {
		ingesttest.MustRead(t, "a.json", []byte(text)).Want(t, "slice", "ts|dur|name", "1700000000123456789|999999999|main")
	}
	open := head + shared + `,"profiles":[{"type":"evented","name":"a","unit":"milliseconds","startValue":0,"endValue":1700000000000.123456,"events":[{"type":"O","frame":0,"at":1}]}]}`
	ingesttest.MustRead(t, "a.json", []byte(open)).Want(t, "slice", "ts|dur|name", "1000000|1699999999999123456|main")
}

// TestMissingEnds reads a frame that ends before one in it.
func TestMissingEnds(t *testing.T) {
	tables := ingesttest.MustRead(t, "a.json", []byte(`{"$schema":"https://www.speedscope.app/file-format-schema.json",
		"shared":{"frames":[{"name":"a"},{"name":"b"},{"name":"c"}]},"profiles":[{"type":"evented","name":"p","unit":"nanoseconds","startValue":0,"endValue":9,"events":[
		{"type":"O","frame":0,"at":0},{"type":"O","frame":1,"at":1},{"type":"O","frame":2,"at":2},{"type":"C","frame":1,"at":4},
		{"type":"C","frame":2,"at":5},{"type":"O","frame":2,"at":6},{"type":"C","frame":2,"at":8},{"type":"C","frame":0,"at":9}]}]}`))
	tables.Want(t, "slice", "ts|dur|name|depth", "0|9|a|0", "1|3|b|1", "2|2|c|2", "6|2|c|1")
	tables.Want(t, "stats", "name|value", "speedscope_parse_errors|2")
	for stack, want := range map[string]float64{"p\ta": 4, "p\ta\x1fb": 1, "p\ta\x1fb\x1fc": 2, "p\ta\x1fc": 2} {
		if got := tables.Stacks("time", plain)[stack]; got != want {
			t.Errorf("%q: %v, want %v", stack, got, want)
		}
	}
}

func TestDamage(t *testing.T) {
	for text, want := range map[string]string{
		`"samples":[[0,7]],"weights":[1]`:                                        "speedscope_parse_errors|1",
		`"samples":[[0],[0]],"weights":[1]`:                                      "speedscope_parse_errors|1",
		`"samples":[0],"weights":["x"]`:                                          "speedscope_parse_errors|2",
		`"events":[{"type":"C","frame":0,"at":1}]`:                               "speedscope_parse_errors|1",
		`"events":[{"type":"O","frame":0,"at":2},{"type":"C","frame":0,"at":1}]`: "speedscope_parse_errors|1",
		`"events":[{"type":"O","frame":0,"at":2},{"type":"C","frame":0}]`:        "speedscope_parse_errors|1",
		`"events":[{"type":"O","at":2}]`:                                         "speedscope_parse_errors|1",
		`"other":[1]`:                                                            "unread_fact|1",
	} {
		tables := ingesttest.MustRead(t, "a.json", []byte(`{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"a"}]},
			"profiles":[{"type":"x","name":"p","unit":"none",`+text+`}]}`))
		if got := strings.Join(tables.Rows("stats", "name", "value"), " "); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	ingesttest.Cuts(t, []byte(file), "aggregate_sample")
}

// TestSamples compares files of others, in the folder speedscope, with what speedscope itself reads.
func TestSamples(t *testing.T) {
	ingesttest.Samples(t, "speedscope/*.json", func(file string, data []byte) {
		tables, err := ingesttest.Read(t, ingesttest.File{Name: file, Reader: bytes.NewReader(data)})
		if err != nil {
			t.Fatal(err)
		}
		got := tables.Stacks("time", plain)
		for _, metric := range []string{"samples", "space"} {
			for stack, value := range tables.Stacks(metric, plain) {
				got[stack] = value
			}
		}
		ingesttest.WantStacks(t, file, got, func(stack string) string { return stack })
	})
}

func FuzzSpeedscope(f *testing.F) {
	ingesttest.Fuzz(f, "speedscope", []byte(file))
}
