package netlog_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/ingest"
	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
)

// The request ends before what begins in it. The socket comes after what refers to it.
const log = `{"constants":{"clientInfo":{"name":"Chrome","version":"1"},"logEventPhase":{"PHASE_BEGIN":1,"PHASE_END":2,"PHASE_NONE":0},
"logEventTypes":{"CORS":1,"ALIVE":2,"BOUND":3,"READ":4},"logSourceType":{"NONE":0,"URL_REQUEST":1,"SOCKET":2},"netError":{"ERR_ABORTED":-3},"timeTickOffset":1700000000000},
"events": [
{"params":{"url":"http://a/"},"phase":1,"source":{"id":7,"start_time":"10","type":1},"time":"10","type":1},
{"params":{"n":[1,2]},"phase":1,"source":{"id":7,"start_time":"10","type":1},"time":"10","type":2},
{"params":{"source_dependency":{"id":8,"type":2}},"phase":0,"source":{"id":7,"start_time":"10","type":1},"time":"11","type":3},
{"phase":0,"source":{"id":7,"start_time":"10","type":1},"time":"11","type":4},
{"params":{"source_dependency":{"id":7,"type":1}},"phase":1,"source":{"id":8,"start_time":"12","type":2},"time":"12","type":2},
{"phase":0,"source":{"id":9,"start_time":"12","type":0},"time":"12","type":99},
{"params":{"net_error":-3},"phase":2,"source":{"id":7,"start_time":"10","type":1},"time":"13","type":1},
{"phase":2,"source":{"id":7,"start_time":"10","type":1},"time":"14","type":2},
{"phase":2,"source":{"id":8,"start_time":"12","type":2},"time":"14","type":4}],
"polledData": [{"a":1}]
}
`

// Numbers above 32 bits are doubles in Chrome, and writers may print them as such.
func TestOffsetAsDouble(t *testing.T) {
	text := strings.Replace(log, `"timeTickOffset":1700000000000}`, `"timeTickOffset":1700000000000.0}`, 1)
	want := ingesttest.MustRead(t, "log.json", []byte(log)).Rows("slice", "ts", "dur", "name")
	ingesttest.MustRead(t, "log.json", []byte(text)).Want(t, "slice", "ts|dur|name", want...)
}

// A source that is older than the log says when it began.
func TestOlderSource(t *testing.T) {
	text := strings.ReplaceAll(log, `"source":{"id":7,"start_time":"10"`, `"source":{"id":7,"start_time":"4"`)
	tables := ingesttest.MustRead(t, "log.json", []byte(text))
	args := tables.Rows("args", "key", "int_value")
	if got := slices.DeleteFunc(args, func(row string) bool { return !strings.HasPrefix(row, "start_ts") }); !slices.Equal(got, []string{"start_ts|1700000000004000000"}) {
		t.Errorf("%q", got)
	}
}

func TestEvents(t *testing.T) {
	tables := ingesttest.MustRead(t, "log.json", []byte(log))
	tables.Want(t, "slice", "ts|dur|category|name|track_id|depth",
		"1700000000010000000|3000000|URL_REQUEST|CORS|1|0", "1700000000010000000|4000000|URL_REQUEST|ALIVE|0|0",
		"1700000000011000000|0|URL_REQUEST|BOUND|0|1", "1700000000011000000|0|URL_REQUEST|READ|0|1",
		"1700000000012000000|-1|SOCKET|ALIVE|2|0", "1700000000012000000|0|NONE|event 99|3|0")
	tables.Want(t, "track", "name|classification|parent_id", "URL_REQUEST http://a/|netlog_source|NULL", "CORS|netlog_source_event|0",
		"SOCKET|netlog_source|NULL", "NONE|netlog_source|NULL")
	tables.Want(t, "flow", "slice_out|slice_in", "2|4", "0|4")
	var args []string
	for _, row := range tables.Rows("args", "key", "int_value", "string_value") {
		args = append(args, strings.ReplaceAll(row, "|NULL", ""))
	}
	for _, want := range []string{"params.url|http://a/", "params.n[1]|2", "params.net_error|-3", "net_error|ERR_ABORTED", "source_id|7", "source_type|SOCKET"} {
		if !slices.Contains(args, want) {
			t.Errorf("no %s in\n%s", want, strings.Join(args, "\n"))
		}
	}
	facts := tables.Rows("metadata", "name", "str_value", "int_value")
	for _, want := range []string{"netlog.clientInfo.name|Chrome|NULL", "netlog.timeTickOffset|NULL|1700000000000", "trace_time_clock_id|NULL|1"} {
		if !slices.Contains(facts, want) {
			t.Errorf("no %s in\n%s", want, strings.Join(facts, "\n"))
		}
	}
	tables.Want(t, "stats", "name|value|description", "slice_end_without_begin|1|Ends of slices whose begin was before the trace or is missing.",
		"unread_fact|1|polledData member is not read")
}

// Every event whose line is not damaged is read.
func TestDamage(t *testing.T) {
	ingesttest.Cuts(t, []byte(log), "slice")
	lines := strings.SplitAfter(log, "\n")
	for i := 3; i < 9; i++ {
		for _, change := range [][2]string{{`"`, ``}, {`{`, ``}, {`}`, ``}, {`":`, `""`}, {`"phase"`, `phase`}, {"\"time\":\"1", "\"time\":\"x"}} {
			damaged := slices.Clone(lines)
			damaged[i] = strings.Replace(lines[i], change[0], change[1], 1)
			tables := ingesttest.MustRead(t, "log.json", []byte(strings.Join(damaged, "")))
			lost := 0
			for _, row := range tables.Rows("stats", "name", "value") {
				if name, value, _ := strings.Cut(row, "|"); name == "netlog_parse_errors" {
					lost, _ = strconv.Atoi(value)
				}
			}
			if n := len(tables.Rows("slice", "id")); lost != 1 || n < 5 {
				t.Errorf("line %d, %q for %q: %d slices, %d lost", i, change[1], change[0], n, lost)
			}
		}
	}
	own := strings.Replace(log, "timeTickOffset", "x", 1)
	if first := ingesttest.MustRead(t, "log.json", []byte(own)).Rows("slice", "ts")[0]; first != "10000000" {
		t.Errorf("ts %s in a log that does not relate its clock", first)
	}
	for text, want := range map[string]string{
		`{"constants":{"loadFlag":{}},"events":[]}`: "",
		`{"constants":{"loadFlag":{}}}`:             "without events",
		`{"constants":{"loadFlag":{"A":`:            "cut off before its events",
		`{"constants":{"loadFlag":{}},"x"}`:         "expected a colon",
	} {
		if _, err := ingesttest.Read(t, ingesttest.File{Name: "log.json", Reader: strings.NewReader(text)}); want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestRecording compares a log that Chromium wrote with what encoding/json reads.
func TestRecording(t *testing.T) {
	data := ingesttest.Recording(t, "netlog.json.gz")
	ingesttest.MustRead(t, "log.json", data).Want(t, "stats", "description", "polledData member is not read")
	compare(t, "netlog.json", data)
}

// TestSamples compares other logs, in the folder netlog of FORMAT_SAMPLES. The end of a log may be missing.
func TestSamples(t *testing.T) {
	ingesttest.Samples(t, "netlog/*.json", func(file string, data []byte) { compare(t, file, data) })
}

type event struct {
	Time        string
	Type, Phase int
	Source      struct{ ID, Type int64 }
	Params      map[string]any
	until       int // index of the event that ends it
}

func compare(t *testing.T, file string, data []byte) {
	if f := ingest.Detect(data[:min(len(data), 64<<10)]); f == nil || f.Name != "netlog" {
		t.Fatalf("%s is %v", file, f)
	}
	var all struct {
		Constants struct {
			LogEventTypes, LogSourceType map[string]int
			TimeTickOffset               int64
		}
		Events []event
	}
	whole := bytes.TrimRight(data, ",\n")
	if whole[len(whole)-1] != '}' || json.Unmarshal(whole, &all) != nil {
		if err := json.Unmarshal(append(bytes.Clone(whole), "]}"...), &all); err != nil {
			t.Fatal(err)
		}
	}
	name := func(names map[string]int, number int64) string {
		for name, n := range names {
			if int64(n) == number {
				return name
			}
		}
		return fmt.Sprint(number)
	}
	// The events of each source, and the kinds of those that end before another that began later.
	sources, crossing := map[int64][]*event{}, map[int]bool{}
	for i := range all.Events {
		e := &all.Events[i]
		e.until = math.MaxInt
		if e.Source.Type == int64(all.Constants.LogSourceType["NONE"]) {
			e.Source.ID = 0
		}
		sources[e.Source.ID] = append(sources[e.Source.ID], e)
	}
	flows, leaves := 0, 0
	for _, events := range sources {
		for j, e := range events {
			if to, ok := e.Params["source_dependency"].(map[string]any); ok && sources[int64(to["id"].(float64))] != nil {
				flows++
			}
			leaves += count(e.Params)
			if e.Phase == 0 {
				e.until = j
			}
			for i := j - 1; e.Phase == 2 && i >= 0; i-- {
				if events[i].Phase == 1 && events[i].Type == e.Type && events[i].until == math.MaxInt {
					events[i].until, e.until = j, -1
					break
				}
			}
			if e.Phase == 2 && e.until != -1 { // it began before the log
				leaves -= count(e.Params)
				e.until = -1
			}
		}
		for i, a := range events {
			for j := i + 1; j < len(events) && j < a.until; j++ {
				if b := events[j]; b.Phase == 1 && b.until > a.until {
					crossing[a.Type] = true
				}
			}
		}
	}
	var want []string
	ms := func(e *event) int64 {
		n, _ := strconv.ParseInt(e.Time, 10, 64)
		return n
	}
	for id, events := range sources {
		for i, e := range events {
			if e.Phase == 2 {
				continue
			}
			parent, dur := "", int64(-1)
			if e.until < len(events) {
				dur = (ms(events[e.until]) - ms(e)) * 1e6
			}
			for j := range i {
				outer := events[j]
				same := outer.Type == e.Type && e.Phase == 1 || !crossing[outer.Type] && (e.Phase == 0 || !crossing[e.Type])
				if outer.Phase == 1 && outer.until > i && same && (!crossing[e.Type] || e.Phase == 0 || outer.Type == e.Type) {
					parent = name(all.Constants.LogEventTypes, int64(outer.Type))
				}
			}
			want = append(want, fmt.Sprint(id, "|", name(all.Constants.LogSourceType, e.Source.Type), "|", name(all.Constants.LogEventTypes, int64(e.Type)), "|",
				(ms(e)+all.Constants.TimeTickOffset)*1e6, "|", dur, "|", parent))
		}
	}

	tables, err := ingesttest.Read(t, ingesttest.File{Name: file, Reader: bytes.NewReader(data)})
	if err != nil {
		t.Fatal(err)
	}
	ids, args := map[string]string{}, map[string]int{}
	for _, row := range tables.Rows("args", "arg_set_id", "key", "int_value") {
		v := strings.Split(row, "|")
		if strings.HasPrefix(v[1], "params.") {
			args[v[0]]++
		} else if v[1] == "source_id" {
			ids[v[0]] = v[2]
		}
	}
	tracks, names := tables.Rows("track", "dimension_arg_set_id"), tables.Rows("slice", "name")
	var got []string
	gotLeaves := 0
	for _, row := range tables.Rows("slice", "track_id", "category", "name", "ts", "dur", "parent_id", "arg_set_id") {
		v := strings.Split(row, "|")
		gotLeaves += args[v[6]]
		track, _ := strconv.Atoi(v[0])
		parent := ""
		if p, err := strconv.Atoi(v[5]); err == nil {
			parent = names[p]
		}
		got = append(got, strings.Join(append([]string{ids[tracks[track]]}, v[1], v[2], v[3], v[4], parent), "|"))
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		for _, row := range got {
			if !slices.Contains(want, row) {
				t.Errorf("%s: not expected: %s", file, row)
			}
		}
		for _, row := range want {
			if !slices.Contains(got, row) {
				t.Errorf("%s: missing: %s", file, row)
			}
		}
	}
	if n := len(tables.Rows("flow", "id")); n != flows || len(got) != len(want) || gotLeaves != leaves {
		t.Errorf("%s: %d flows, %d slices and %d params; want %d, %d and %d", file, n, len(got), gotLeaves, flows, len(want), leaves)
	}
	t.Logf("%s: %d slices, %d flows, %d params, crossing %v", filepath.Base(file), len(want), flows, leaves, len(crossing))
}

// count returns the number of values in a value that is not null.
func count(v any) (n int) {
	switch v := v.(type) {
	case nil:
	case map[string]any:
		for _, v := range v {
			n += count(v)
		}
	case []any:
		for _, v := range v {
			n += count(v)
		}
	default:
		return 1
	}
	return n
}

func FuzzNetLog(f *testing.F) {
	ingesttest.Fuzz(f, "netlog", []byte(log))
}
