package json_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
	"github.com/tpconvert/tpconvert/internal/fuzz"
)

func read(t *testing.T, text string) *ingesttest.Tables {
	t.Helper()
	return ingesttest.MustRead(t, "a.json", []byte(text))
}

// TestForms reads the same two events in every form that a trace can have.
func TestForms(t *testing.T) {
	const a = `{"ph":"X","name":"a","pid":1,"tid":2,"ts":1,"dur":5}`
	const b = `{"name":"b","tid":2,"ts":2,"pid":1,"dur":1,"ph":"X"}`
	for _, text := range []string{
		"[" + a + "," + b + "]",
		"[" + a + b + "]",
		"[" + a + "," + b,
		"[" + a + "," + b + ",",
		"[" + a + "," + b + ",]",
		"[" + b + "," + a + "]",
		" \n[\t" + a + "\r\n,\n" + b + "\n]\n",
		"[" + a + "," + b + ",{}]",
		`{"traceEvents":[` + a + "," + b + "]}",
		`{"traceEvents":[` + a + "," + b + "]",
		`{"traceEvents":[` + a + "," + b + `,{"ph":"X","na`,
		`{"other":{"traceEvents":["]\"}"]},"n":-1.5e3,"traceEvents":[` + a + "," + b + `],"x":[[1],{}]}`,
		strings.ReplaceAll("["+a+"\n,"+b+"]", ":", " : "),
		"[" + strings.ReplaceAll(a, `"dur":5}`, `"dur":5,}`) + "," + b + "]",
	} {
		tables := read(t, text)
		if got := strings.Join(tables.Rows("slice", "ts", "dur", "name", "depth"), " "); got != "1000|5000|a|0 2000|1000|b|1" {
			t.Errorf("%s: %s", text, got)
		}
	}
}

func TestTruncatedAnywhere(t *testing.T) {
	const text = `{"traceEvents":[{"ph":"X","name":"a\u00e9\"","pid":1,"tid":2,"ts":1,"dur":5,"args":{"x":[1,{"y":"}"}]}},` +
		`{"ph":"i","name":"b","tid":1,"ts":2.5}],"otherData":{"v":true}}`
	for n := 2; n <= len(text); n++ {
		tables, err := ingesttest.Read(t, ingesttest.File{Name: "a.json", Reader: strings.NewReader(text[:n])})
		want := 0
		for _, end := range []string{`]}}`, `2.5}`} {
			if strings.Contains(text[:n], end) {
				want++
			}
		}
		if got := len(tables.Rows("slice", "id")); got != want {
			t.Errorf("%d bytes: %d slices, want %d", n, got, want)
		}
		if want == 0 {
			if !errors.Is(err, format.ErrNoEvents) || !strings.Contains(err.Error(), "ends before") {
				t.Errorf("%d bytes: %v", n, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
		stats := strings.Join(tables.Rows("stats", "name", "value"), " ")
		if whole := n == len(text); (stats == "") != whole || !whole && stats != "truncated_input|1" {
			t.Errorf("%d bytes: stats %s", n, stats)
		}
	}
}

func TestEventsLineByLine(t *testing.T) {
	const a = `{"ph":"X","name":"a","pid":1,"tid":2,"ts":1,"dur":5}`
	const b = `{"args":{"traceEvents":[]},"name":"b","tid":2,"ts":2,"pid":1,"dur":1,"ph":"X"}`
	for text, want := range map[string]string{
		a + "\n" + b + "\n":                   "",
		a + "\r\n\r\n" + b:                    "",
		a + b:                                 "",
		a + ",\n" + b + "\n":                  "",
		"[" + a + "]\n" + b + "\n":            "",
		`{"traceEvents":[` + a + "]}\n" + b:   "",
		a + "\n" + `{"x":1}` + "\n" + b:       "json_tokenizer_failure|60",
		a + "\n" + b + "\n" + `{"ph":"X","na`: "truncated_input|145",
		a + "\n" + b + "\n[" + a + "]":        "json_trailing_data|132",
		"[" + a + "," + b + "][" + a + "]":    "json_trailing_data|133",
		"[" + a + "," + b + `] {"x":1}`:       "json_trailing_data|134",
		"[" + a + "," + b + "]\x00\x00":       "trailing_garbage|133",
	} {
		tables := read(t, text)
		if got := strings.Join(tables.Rows("slice", "ts", "dur", "name", "depth"), " "); got != "1000|5000|a|0 2000|1000|b|1" {
			t.Errorf("%s: %s", text, got)
		}
		if got := strings.Join(tables.Rows("import_log", "name", "byte_offset"), " "); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	// Lines longer than the buffer.
	long := strings.Repeat("x", 3<<20)
	var text strings.Builder
	for i := range 3 {
		fmt.Fprintf(&text, `{"name":"%s","ph":"X","pid":1,"tid":2,"ts":%d,"dur":1}`+"\n", long[i:], i)
	}
	if n := len(read(t, a+"\n"+text.String()).Rows("slice", "id")); n != 4 {
		t.Errorf("%d slices", n)
	}
}

// A long array, whose blocks are scanned ahead, has the same rows as its events line by line, which are read one
// after the other.
func TestBlocks(t *testing.T) {
	var events []string
	pad := strings.Repeat("-", 250)
	for i := range 12_000 {
		e := fmt.Sprintf(`{"ph":"X","name":"n%d%s","cat":"c","pid":1,"tid":%d,"ts":%d,"dur":2,"args":{"x":[%[1]d,"\\"]}}`, i%100, pad, i%7, i*3)
		switch i % 1000 {
		case 10:
			e = fmt.Sprintf(`{"ph":"b","name":"a\"\u00e9%d","cat":"c\n","pid":"p%d","tid":"t%d","ts":%d,"id2":{"local":"l\t%[1]d"}}`, i, i%3, i%5, i*3)
		case 20:
			e = fmt.Sprintf(`{"ph":"X","name":"no time \t %d","pid":1,"ts":"x","dur":1}`, i)
		case 30:
			e = fmt.Sprintf(`{"ph":"b","name":"id2","pid":"%d","tid":2,"ts":%d,"id2":{"local" 1}}`, i, i*3)
		case 40:
			e = fmt.Sprintf(`{"ph":"X","name":"f","bind_id":"0x%x","flow_%s":true,"pid":1,"tid":1,"ts":%d,"dur":1}`, i/2000, []string{"out", "in"}[i/1000%2], i*3)
		case 50:
			e = fmt.Sprintf(`{"ph":"i","name":"%s","pid":1,"tid":1,"ts":%d}`, strings.Repeat("long ", max(0, 4000-i)*20), i*3)
		}
		events = append(events, e)
	}
	ahead := read(t, "["+strings.Join(events, ",\n")+",]\n")
	alone := read(t, strings.Join(events, ",\n"))
	for table, columns := range map[string][]string{
		"slice":  {"ts", "dur", "name", "category", "track_id", "depth", "arg_set_id"},
		"track":  {"name", "type", "source_arg_set_id"},
		"thread": {"tid", "name", "upid"}, "process": {"pid", "name"},
		"args": {"arg_set_id", "flat_key", "key", "int_value", "string_value"},
		"flow": {"slice_out", "slice_in"}, "stats": {"name", "value"}, "import_log": {"byte_offset", "name", "arg_set_id"},
	} {
		got, want := ahead.Rows(table, columns...), alone.Rows(table, columns...)
		got = slices.DeleteFunc(got, func(row string) bool { return strings.Contains(row, "json_trailing_comma") })
		if table == "import_log" { // one byte later, because of the bracket
			for i := range want {
				offset, rest, _ := strings.Cut(want[i], "|")
				if n, err := strconv.Atoi(offset); err == nil {
					want[i] = fmt.Sprintf("%d|%s", n+1, rest)
				}
			}
		}
		if len(got) != len(want) || len(got) == 0 {
			t.Fatalf("%s: %d rows, want %d", table, len(got), len(want))
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("%s: row %d is %s, want %s", table, i, got[i], want[i])
			}
		}
	}
	if n := len(ahead.Rows("slice", "id")); n != 12_000-12-12 { // without those that have no time or no id
		t.Errorf("%d slices", n)
	}
}

// A block may seem to end between two events, but be in the args of one: what follows is read again, with its offsets.
func TestFalseBorders(t *testing.T) {
	event := func(i int, args string) string {
		return fmt.Sprintf(`{"args":%s,"ph":"X","name":"n%d","pid":1,"tid":1,"ts":%d,"dur":1}`, args, i, i)
	}
	var events []string
	for i := range 30_000 {
		events = append(events, event(i, `{}`))
	}
	objects := strings.Repeat("{\"args\":1},\n", 50_000) // more than a block
	events[15_000] = event(15_000, `{"a":[`+objects+`{"args":2}]}`)
	events[25_000] = event(25_000, `{"a":"`+strings.NewReplacer(`"`, `\"`, "\n", " ").Replace(objects)+`"}`)
	text := "[" + strings.Join(events, ",\n") + ",\n"
	tables := read(t, text+`{"ph":,}]`)
	tables.Want(t, "import_log", "name|byte_offset", fmt.Sprintf("json_tokenizer_failure|%d", len(text)))
	names := tables.Rows("slice", "name")
	for i, name := range names {
		if want := fmt.Sprintf("n%d", i); name != want {
			t.Fatalf("slice %d is %s, want %s", i, name, want)
		}
	}
	args := slices.DeleteFunc(tables.Rows("args", "flat_key"), func(key string) bool { return !strings.HasPrefix(key, "args.a") })
	if len(names) != 30_000 || len(args) != 50_002 {
		t.Errorf("%d slices and %d args", len(names), len(args))
	}
}

// TestWithoutLastBracket reads arrays without their last bracket, which the format lets writers leave out.
func TestWithoutLastBracket(t *testing.T) {
	for end, want := range map[string][]string{"": nil, ",": nil, ",\n": nil, ` ,{"ph":"X"`: {"truncated_input|1"}} {
		tables := read(t, `[{"ph":"X","name":"a","pid":1,"tid":2,"ts":1,"dur":5}`+end)
		tables.Want(t, "stats", "name|value", want...)
		tables.Want(t, "slice", "name", "a")
	}
}

// TestSamplesWithoutID counts events of phase P that are not parts of a profile as not read.
func TestSamplesWithoutID(t *testing.T) {
	tables := read(t, `[{"ph":"P","name":"sample","pid":1,"tid":2,"ts":1,"args":{"a":"b"}},{"ph":"i","name":"a","pid":1,"tid":2,"ts":1}]`)
	tables.Want(t, "stats", "name|effect|value", "unread_event|not_read|1")
}

// A damaged event behind blocks that were scanned ahead has its offset.
func TestErrorBehindBlocks(t *testing.T) {
	text := "[" + strings.Repeat(`{"ph":"C","name":"`+strings.Repeat("n", 200)+`","pid":1,"ts":1,"args":{"v":1}},`, 10_000)
	damaged := read(t, text+`{"ph":,}]`)
	damaged.Want(t, "import_log", "name|byte_offset", fmt.Sprintf("json_tokenizer_failure|%d", len(text)))
	if n := len(damaged.Rows("counter", "id")); n != 10_000 {
		t.Errorf("%d counters", n)
	}
	truncated := read(t, text+`{"ph":`)
	truncated.Want(t, "stats", "name|value", "truncated_input|1")
	if n := len(truncated.Rows("counter", "id")); n != 10_000 {
		t.Errorf("%d values", n)
	}
	failing := io.MultiReader(strings.NewReader(text), iotest.ErrReader(errBroken))
	if _, err := ingesttest.Read(t, ingesttest.File{Name: "a.json", Reader: failing}); !errors.Is(err, errBroken) {
		t.Errorf("%v, want %v", err, errBroken)
	}
}

var errBroken = errors.New("broken")

func TestNoEvents(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":1}`:                    `it is plain JSON with the members "a"`,
		`{"a":1,"b":[2]}`:            `it is plain JSON with the members "a, b"`,
		`[{"a":1},{"b":2}]`:          "it is plain JSON",
		`[{"a":1}`:                   "the input ends before the first event",
		`{"traceEvents":[]}`:         "traceEvents is empty",
		`{"traceEvents":[{}],"x":1}`: "traceEvents is empty",
		"{\"a\":1}\n{\"a\":2}\n":     `it is plain JSON with the members "a"`,
		`[{"ph":"X","name":"` + strings.Repeat("x", 33<<20) + `","ts":1}]`: "an event is larger than 32 MiB",
		`{"log":{"version":"1.2"}}`:                                        "it looks like an HTTP archive (HAR), which is not supported",
		`{"name":"a","context":{"span_id":"0x1"},"start_time":"2022-04-29T18:52:58.1Z","end_time":"2022-04-29T18:52:58.2Z"}`: "it looks like spans of OpenTelemetry's console exporter, not OTLP, which is not supported",
		`{"Name":"a","SpanContext":{},"StartTime":"2021-03-13T18:00:00Z","EndTime":"2021-03-13T18:00:01Z"}`:                  "it looks like spans of OpenTelemetry's stdout exporter, not OTLP, which is not supported",
	} {
		_, err := ingesttest.Read(t, ingesttest.File{Name: "a.json", Reader: strings.NewReader(text)})
		if !errors.Is(err, format.ErrNoEvents) || !format.BadInput(err) || err.Error() != "a.json (Trace Event Format): no trace events: "+want {
			t.Errorf("%.50s: %v", text, err)
		}
	}
}

func TestTimesKeepEveryDigit(t *testing.T) {
	for ts, want := range map[string]string{
		`12`:                     "12000",
		`"12"`:                   "12000",
		`"12.3456"`:              "12346",
		`0.0005`:                 "1",
		`0.0004999`:              "0",
		`1621401187223005.457`:   "1621401187223005457",
		`"1621401187223005.457"`: "1621401187223005457",
		`9007199254740993`:       "9007199254740993000",
		`1.5e3`:                  "1500000",
		`15e-1`:                  "1500",
		`1E+2`:                   "100000",
		`123456e-6`:              "123",
	} {
		tables := read(t, `[{"ph":"i","name":"a","pid":1,"tid":1,"ts":`+ts+`}]`)
		tables.Want(t, "slice", "ts|dur", want+"|0")
	}
	for _, ts := range []string{`"12x"`, `" 12"`, `"x"`, `""`, `true`, `null`, `{}`, `[1]`, `9223372036854775807`, `1e30`, `1e400`, `NaN`} {
		tables := read(t, `[{"ph":"i","name":"bad","pid":1,"tid":1,"ts":`+ts+`},{"ph":"i","name":"good","pid":1,"tid":1,"ts":1}]`)
		tables.Want(t, "slice", "name", "good")
		tables.Want(t, "stats", "name|value|severity", "json_tokenizer_failure|1|error")
	}
	tables := read(t, `[{"ph":"i","name":"early","pid":1,"tid":1,"ts":-1}]`)
	tables.Want(t, "slice", "ts|name", "-1000|early")
	tables.Want(t, "stats", "name|value")
	tables.Want(t, "trace_bounds", "start_ts|end_ts", "-1000|-999")
}

func TestBeginAndEnd(t *testing.T) {
	tables := read(t, `[
		{"ph":"B","cat":"c","name":"outer","pid":1,"tid":2,"ts":1,"tts":10,"args":{"a":1}},
		{"ph":"B","name":"inner","pid":1,"tid":2,"ts":2},
		{"ph":"E","name":"inner","pid":1,"tid":2,"ts":3},
		{"ph":"E","pid":1,"tid":2,"ts":4,"tts":12,"args":{"a":2,"b":"x"}},
		{"ph":"E","pid":1,"tid":2,"ts":5},
		{"ph":"B","name":"open","pid":1,"tid":2,"ts":6,"args":{"n":null}}]`)
	tables.Want(t, "slice", "ts|dur|category|name|depth|parent_id|thread_ts|thread_dur|arg_set_id",
		"1000|3000|c|outer|0|NULL|10000|2000|1",
		"2000|1000|NULL|inner|1|0|NULL|NULL|NULL",
		"6000|-1|NULL|open|0|NULL|NULL|NULL|NULL")
	tables.Want(t, "args", "arg_set_id|flat_key|key|value_type|int_value|string_value",
		"0|utid|utid|int|2|NULL", "1|args.a|args.a|int|2|NULL", "1|args.b|args.b|string|NULL|x")
	tables.Want(t, "thread", "tid|upid|is_main_thread", "0|0|true", "1|1|true", "2|1|false")
	tables.Want(t, "process", "pid", "0", "1")
}

func TestEventsOfOneTime(t *testing.T) {
	// With complete events: ends first, then complete events from long to short.
	tables := read(t, `[
		{"ph":"B","name":"b","pid":1,"tid":1,"ts":0},
		{"ph":"X","name":"short","pid":1,"tid":1,"ts":5,"dur":1},
		{"ph":"X","name":"long","pid":1,"tid":1,"ts":5,"dur":3},
		{"ph":"E","pid":1,"tid":1,"ts":5}]`)
	tables.Want(t, "slice", "name|dur|depth", "b|5000|0", "long|3000|0", "short|1000|1")
	// Without complete events: in input order.
	tables = read(t, `[
		{"ph":"B","name":"a","pid":1,"tid":1,"ts":5},{"ph":"E","pid":1,"tid":1,"ts":5},
		{"ph":"B","name":"b","pid":1,"tid":1,"ts":5},{"ph":"E","pid":1,"tid":1,"ts":5}]`)
	tables.Want(t, "slice", "name|dur|depth", "a|0|0", "b|0|0")
}

func TestOverlappingCompleteEvents(t *testing.T) {
	tables := read(t, `[
		{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":10},
		{"ph":"X","name":"b","pid":1,"tid":1,"ts":5,"dur":10},
		{"ph":"X","name":"c","pid":1,"tid":1,"ts":6,"dur":9}]`)
	tables.Want(t, "slice", "name|depth|track_id", "a|0|0", "b|0|1", "c|1|1")
	tables.Want(t, "track", "classification|track_group_id", "thread_execution|NULL", "thread_overlapping_slice|0")
	tables.Want(t, "import_log", "ts|name", "5000|slice_spill_overlapping_complete_event",
		"6000|slice_spill_overlapping_complete_event")
}

// TestOpenCompleteEvents checks that complete events with tdur alone have not ended: Chrome writes those that are open when the recording ends.
func TestOpenCompleteEvents(t *testing.T) {
	tables := read(t, `[
		{"ph":"X","name":"ended","pid":1,"tid":1,"ts":0,"dur":5,"tdur":4},
		{"ph":"X","name":"inside","pid":1,"tid":1,"ts":7,"dur":1,"tts":3,"tdur":1},
		{"ph":"X","name":"open","pid":1,"tid":1,"ts":7,"tts":3,"tdur":0,"args":{"a":1}},
		{"ph":"s","id":1,"name":"f","cat":"c","pid":1,"tid":1,"ts":7},
		{"ph":"X","name":"another","pid":1,"tid":2,"ts":8,"tdur":0},
		{"ph":"X","name":"no duration","pid":1,"tid":2,"ts":9},
		{"ph":"f","bp":"e","id":1,"name":"f","cat":"c","pid":1,"tid":2,"ts":8},
		{"ph":"X","name":"last","pid":1,"tid":1,"ts":10,"dur":2}]`)
	tables.Want(t, "slice", "name|ts|dur|depth|thread_ts|thread_dur", "ended|0|5000|0|NULL|4000", "open|7000|-1|0|3000|NULL", "inside|7000|1000|1|3000|1000",
		"another|8000|-1|0|NULL|NULL", "last|10000|2000|1|NULL|NULL")
	tables.Want(t, "args", "key|int_value", "utid|1", "utid|2", "name|NULL", "cat|NULL", "event_name|NULL", "event_phase|NULL", "args.a|1")
	tables.Want(t, "flow", "slice_out|slice_in", "1|3")
	tables.Want(t, "import_log", "ts|name", "9000|json_parser_failure")
}

func TestAsync(t *testing.T) {
	tables := read(t, `[
		{"ph":"b","cat":"c","name":"a","id":"0x1","pid":1,"tid":1,"ts":1},
		{"ph":"b","cat":"c","name":"in","id":"0x1","pid":2,"tid":1,"ts":2},
		{"ph":"n","cat":"c","name":"at","id":"0x1","pid":1,"tid":1,"ts":3},
		{"ph":"e","cat":"c","name":"in","id":"0x1","pid":1,"tid":1,"ts":4},
		{"ph":"e","cat":"c","name":"a","id":"0x1","pid":1,"tid":1,"ts":5},
		{"ph":"b","cat":"c","name":"l","id2":{"local":7},"pid":1,"tid":1,"ts":6},
		{"ph":"b","cat":"c","name":"l","id2":{"local":7},"pid":2,"tid":1,"ts":7},
		{"ph":"b","cat":"c","name":"g","id2":{"global":"q"},"pid":2,"tid":1,"ts":8},
		{"ph":"b","cat":"c","name":"noid","pid":2,"tid":1,"ts":9}]`)
	tables.Want(t, "slice", "name|ts|dur|depth|track_id",
		"a|1000|4000|0|0", "in|2000|2000|1|0", "at|3000|0|2|0",
		"l|6000|-1|0|1", "l|7000|-1|0|2", "g|8000|-1|0|3")
	tables.Want(t, "track", "name|classification|upid",
		"a|legacy_async_global_slice|NULL", "l|legacy_async_process_slice|1",
		"l|legacy_async_process_slice|2", "g|legacy_async_global_slice|NULL")
	tables.Want(t, "import_log", "ts|name", "9000|json_parser_failure")
}

func TestInstants(t *testing.T) {
	tables := read(t, `[
		{"ph":"i","name":"t","s":"t","pid":1,"tid":1,"ts":1,"tts":5},
		{"ph":"I","name":"p","s":"p","pid":1,"tid":1,"ts":2,"args":{"x":1.5}},
		{"ph":"R","name":"g","s":"g","pid":1,"tid":1,"ts":3},
		{"ph":"i","name":"thread by default","pid":1,"tid":1,"ts":4},
		{"ph":"i","name":"no tid","pid":1,"ts":5}]`)
	tables.Want(t, "slice", "name|track_id|thread_ts|dur", "t|0|5000|0", "p|1|NULL|0", "g|2|NULL|0", "thread by default|0|NULL|0")
	tables.Want(t, "track", "classification|type", "thread_execution|thread_track",
		"chrome_process_instant|process_track", "legacy_chrome_global_instants|track")
	tables.Want(t, "process_track", "id|upid", "1|1")
}

func TestCounters(t *testing.T) {
	tables := read(t, `[
		{"ph":"C","name":"c","pid":1,"tid":1,"ts":1,"args":{"a":1,"b":"2.5","c":true}},
		{"ph":"C","name":"c","id":"7","pid":1,"tid":9,"ts":2,"args":{"a":-3}},
		{"ph":"C","name":"c","pid":1,"tid":1,"ts":3}]`)
	tables.Want(t, "counter", "ts|value|track_id", "1000|1|0", "1000|2.5|1", "2000|-3|2")
	tables.Want(t, "process_counter_track", "id|name|upid|classification", "0|c a|1|json_counter", "1|c b|1|json_counter", "2|c id: 7 a|1|json_counter")
	tables.Want(t, "import_log", "ts|name", "1000|json_parser_failure", "3000|json_parser_failure")
}

func TestFlows(t *testing.T) {
	x := func(name string, tid, ts int, more string) string {
		return fmt.Sprintf(`{"ph":"X","name":%q,"pid":1,"tid":%d,"ts":%d,"dur":5%s}`, name, tid, ts, more)
	}
	f := func(ph string, tid, ts int, more string) string {
		return fmt.Sprintf(`{"ph":%q,"name":"f","cat":"c","id":1,"pid":1,"tid":%d,"ts":%d%s}`, ph, tid, ts, more)
	}
	tables := read(t, "["+strings.Join([]string{
		x("a", 1, 0, ""), f("s", 1, 1, ""),
		x("b", 2, 10, ""), f("t", 2, 11, ""),
		f("f", 3, 20, ""), x("next", 3, 21, ""),
		x("enclosing", 4, 30, ""), f("f", 4, 31, `,"bp":"e"`),
		x("out", 5, 40, `,"bind_id":"0x9","flow_out":true`),
		x("in", 6, 50, `,"bind_id":"9","flow_in":true`),
		f("f", 7, 60, `,"bp":"e"`),
		strings.Replace(f("s", 7, 61, ""), `"id":1`, `"id":"zz"`, 1),
	}, ",")+"]")
	tables.Want(t, "slice", "id|name", "0|a", "1|b", "2|next", "3|enclosing", "4|out", "5|in")
	tables.Want(t, "flow", "slice_out|slice_in", "0|1", "1|2", "1|3", "4|5")
	tables.Want(t, "stats", "name|value", "flow_no_enclosing_slice|2")
}

func TestMetadataEvents(t *testing.T) {
	tables := read(t, `{"traceEvents":[
		{"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":"worker"}},
		{"ph":"M","name":"process_name","pid":1,"tid":2,"ts":7,"args":{"name":"proc"}},
		{"ph":"M","name":"process_sort_index","pid":1,"args":{"sort_index":-5}},
		{"ph":"M","name":"thread_sort_index","pid":1,"tid":2,"args":{"sort_index":3}},
		{"ph":"M","name":"thread_name","pid":1,"tid":3,"args":{"name":""}}],
		"metadata":{"os-name":"Linux","n":2,"half":0.5,"time":1752831016.537738,"on":true,"o":{"a":1},"none":null},"displayTimeUnit":"ns"}`)
	tables.Want(t, "thread", "tid|name|arg_set_id", "0|NULL|NULL", "1|NULL|NULL", "2|worker|1", "3|NULL|NULL")
	tables.Want(t, "import_log", "name")
	tables.Want(t, "process", "pid|name", "0|NULL", "1|proc")
	if got := strings.Join(tables.Rows("metadata", "name", "int_value", "str_value"), " "); !strings.HasSuffix(got,
		`json_metadata.os-name|NULL|Linux json_metadata.n|2|NULL json_metadata.half|NULL|0.5 json_metadata.time|NULL|1.75283e+09 json_metadata.on|1|NULL json_metadata.o|NULL|{"a":1} trace_size_bytes|`+
			strings.Split(got, "trace_size_bytes|")[1]) {
		t.Errorf("metadata %s", got)
	}
}

func TestThreadStates(t *testing.T) {
	tables := read(t, `[
		{"ph":"T","name":"Running","pid":1,"tid":2,"ts":1,"dur":2,"args":{"cpu":3}},
		{"ph":"T","name":"S","pid":1,"tid":2,"ts":3,"dur":4,"args":{"io_wait":1,"blocked_function":"f"}}]`)
	tables.Want(t, "thread_state", "ts|dur|utid|state|io_wait|blocked_function", "1000|2000|2|Running|NULL|NULL", "3000|4000|2|S|true|f")
	tables.Want(t, "sched_slice", "ts|dur|cpu|utid", "1000|2000|3|2")
	tables.Want(t, "cpu", "cpu", "3")
}

// Integers that do not fit in 64 bits with their sign are never negative. In args they are the nearest real numbers, and ids keep all digits.
func TestLargeIntegers(t *testing.T) {
	tables := read(t, `[
		{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1,"args":{"max":9223372036854775807,"next":9223372036854775808,"hive_id":17332996360099338395,"list":[18446744073709551615],"low":-9223372036854775809}},
		{"ph":"C","name":"c","pid":1,"ts":2,"args":{"v":9223372036854775808}},
		{"ph":"b","cat":"x","name":"b","pid":1,"ts":3,"id":18446744073709551615},
		{"ph":"b","cat":"x","name":"c","pid":1,"ts":4,"id":18446744073709551614},
		{"ph":"e","cat":"x","name":"b","pid":1,"ts":6,"id":18446744073709551615},
		{"ph":"e","cat":"x","name":"c","pid":1,"ts":8,"id":18446744073709551614}]`)
	if got := tables.Rows("args", "key", "value_type", "int_value", "real_value")[1:6]; !slices.Equal(got, []string{
		"args.max|int|9223372036854775807|NULL",
		"args.next|real|NULL|9.223372036854776e+18",
		"args.hive_id|real|NULL|1.7332996360099338e+19",
		"args.list[0]|real|NULL|1.8446744073709552e+19",
		"args.low|real|NULL|-9.223372036854776e+18"}) {
		t.Error(got)
	}
	tables.Want(t, "counter", "value", "9.223372036854776e+18")
	tables.Want(t, "slice", "name|ts|dur", "a|1000|1000", "b|3000|3000", "c|4000|4000")
	tables.Want(t, "stats", "name|effect|value", "json_large_integer|notice|6")
}

func TestArgs(t *testing.T) {
	tables := read(t, `[{"ph":"X","name":"a","pid":"p","tid":"t","ts":1,"dur":1,"args":{
		"s":"é\u00e9\ud83d\ude00\n\/","i":-9223372036854775808,"big":18446744073709551616,"unsigned":18446744073709551606,"d":1.25,"b":false,"n":null,
		"o":{"x":{"y":1},"":2},"l":[1,[true,"z"],{"k":null},{"k":3},null,4],"e":{},"dup":1,"dup":"two"}}]`)
	tables.Want(t, "args", "flat_key|key|value_type|int_value|string_value|real_value",
		"utid|utid|int|2|NULL|NULL",
		"args.s|args.s|string|NULL|éé😀\n/|NULL",
		"args.i|args.i|int|-9223372036854775808|NULL|NULL",
		"args.big|args.big|real|NULL|NULL|1.8446744073709552e+19",
		"args.unsigned|args.unsigned|real|NULL|NULL|1.8446744073709552e+19",
		"args.d|args.d|real|NULL|NULL|1.25",
		"args.b|args.b|bool|0|NULL|NULL",
		"args.o.x.y|args.o.x.y|int|1|NULL|NULL",
		"args.o.|args.o.|int|2|NULL|NULL",
		"args.l|args.l[0]|int|1|NULL|NULL",
		"args.l|args.l[1][0]|bool|1|NULL|NULL",
		"args.l|args.l[1][1]|string|NULL|z|NULL",
		"args.l.k|args.l[3].k|int|3|NULL|NULL",
		"args.l|args.l[4]|int|4|NULL|NULL",
		"args.dup|args.dup|string|NULL|two|NULL")
	tables.Want(t, "process", "name", "NULL", "p")
	if got := tables.Rows("thread", "name"); got[2] != "t" {
		t.Errorf("threads %v", got)
	}
}

func TestV8Profile(t *testing.T) {
	tables := read(t, `[
		{"ph":"P","name":"Profile","id":"0x1","pid":1,"tid":2,"ts":1,"args":{"data":{"startTime":100}}},
		{"ph":"P","name":"ProfileChunk","id":"0x1","pid":1,"tid":2,"ts":2,"args":{"data":{
			"cpuProfile":{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"}},
				{"id":2,"parent":1,"callFrame":{"functionName":"f","url":"a.js"}}],"samples":[2,1,9]},
			"timeDeltas":[5,10,1]}}},
		{"ph":"P","name":"ProfileChunk","id":"0x2","pid":1,"tid":2,"ts":2,"args":{"data":{"cpuProfile":{"nodes":[{"id":1}]}}}}]`)
	tables.Want(t, "stack_sample", "ts|source|utid|upid|callsite_id", "105000|legacy_v8|2|1|1", "115000|legacy_v8|2|1|0")
	tables.Want(t, "stack_profile_callsite", "depth|parent_id|frame_id", "0|NULL|0", "1|0|1")
	tables.Want(t, "stack_profile_frame", "name|symbol_set_id", "(root)|0", "f|1")
	tables.Want(t, "stack_profile_symbol", "name|source_file", "(root)|NULL", "f|a.js")
	tables.Want(t, "stats", "name|value", "legacy_v8_cpu_profile_invalid_callsite|1", "legacy_v8_cpu_profile_invalid_sample|1")
}

// TestV8ProfileAfterItsChunks reads chunks of another thread that come before the start of their profile in the file.
func TestV8ProfileAfterItsChunks(t *testing.T) {
	tables := read(t, `[
		{"ph":"P","name":"ProfileChunk","id":"0x1","pid":1,"tid":3,"ts":2,"args":{"data":{
			"cpuProfile":{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"}}],"samples":[1]},"timeDeltas":[5]}}},
		{"ph":"P","name":"ProfileChunk","id":"0x1","pid":1,"tid":3,"ts":3,"args":{"data":{
			"cpuProfile":{"nodes":[{"id":2,"parent":1,"callFrame":{"functionName":"f"}}],"samples":[2]},"timeDeltas":[10]}}},
		{"ph":"P","name":"ProfileChunk","id":"0x1","pid":4,"tid":5,"ts":3,"args":{"data":{"cpuProfile":{"samples":[1]}}}},
		{"ph":"P","name":"Profile","id":"0x1","pid":1,"tid":2,"ts":1,"args":{"data":{"startTime":100}}},
		{"ph":"P","name":"ProfileChunk","id":"0x1","pid":1,"tid":3,"ts":4,"args":{"data":{
			"cpuProfile":{"samples":[1]},"timeDeltas":[20]}}}]`)
	tables.Want(t, "stack_sample", "ts|callsite_id", "105000|0", "115000|1", "135000|0")
	tables.Want(t, "stats", "name|value", "legacy_v8_cpu_profile_invalid_sample|1")
}

// TestCPUProfileFileWithEnd takes the last sample's end from the times of an old file.
func TestCPUProfileFileWithEnd(t *testing.T) {
	tables := read(t, `{"head":{"functionName":"(root)","id":1,"children":[{"functionName":"f","id":2,"children":[]}]},
		"startTime":7,"endTime":7,"samples":[2,1],"timestamps":[7000100,7000300,7000600]}`)
	tables.Want(t, "stack_sample", "ts|callsite_id", "7000100000|1", "7000300000|0")
	tables.Want(t, "stack_sample_event", "event|period", "time|200000", "time|300000")
	tables.Want(t, "stats", "name")
}

func TestCPUProfileFile(t *testing.T) {
	tables := read(t, `{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"},"children":[2]},
		{"id":2,"callFrame":{"functionName":"f"}}],"startTime":7,"endTime":9,"samples":[2,2],"timeDeltas":[1,1]}`)
	tables.Want(t, "stack_sample", "ts|callsite_id|utid", "8000|1|NULL", "9000|1|NULL")
	tables.Want(t, "stack_profile_callsite", "depth|parent_id|frame_id", "0|NULL|0", "1|0|1")
}

func TestSamplesOfStackFrames(t *testing.T) {
	tables := read(t, `{"traceEvents":[],"stackFrames":{"7":{"name":"main","category":"lib"},
		"8":{"name":"f","category":"lib","parent":"7"},"9":{"name":"loop","parent":"9"}},
		"samples":[{"cpu":1,"tid":5,"ts":2,"sf":8},{"tid":5,"ts":1,"sf":"9"},{"tid":5}]}`)
	tables.Want(t, "stack_sample", "ts|source|utid|cpu|callsite_id", "1000|trace_event|1|NULL|2", "2000|trace_event|1|1|1")
	tables.Want(t, "stack_profile_callsite", "depth|parent_id", "0|NULL", "1|0", "0|NULL")
	tables.Want(t, "stats", "name|value", "json_parser_failure|1")
}

func TestBrokenInput(t *testing.T) {
	const event = `{"ph":"i","name":"a","pid":1,"tid":1,"ts":1}`
	for text, offset := range map[string]int{
		`[` + event + `,,` + event + `]`: len(event) + 2,
		`{"traceEvents":{}}`:             15,
		`{"a":1,"traceEvents" [` + event: 21,
	} {
		_, err := ingesttest.Read(t, ingesttest.File{Name: "a.json", Reader: strings.NewReader(text)})
		if !errors.Is(err, format.ErrCorrupt) || !strings.Contains(err.Error(), fmt.Sprintf("a.json (Trace Event Format) at byte %d: ", offset)) {
			t.Errorf("%s: %v, want byte %d", text, err, offset)
		}
	}
}

// TestDamagedEvents reads traces with events that are not valid JSON, as profilers write them. What can be understood is read, and
// counted; the rest is counted as lost.
func TestDamagedEvents(t *testing.T) {
	const event = `{"ph":"i","name":"a","pid":1,"tid":1,"ts":1}`
	for _, lost := range []string{`{"a" 1}`, `{"a":}`, `{"a":1 "b":2}`, `{a:1}`, `{"a":tru}`, `{"ph":"X","name":"x","ts":2,"dur":3 4}`} {
		for _, end := range []string{`]`, `,` + event + `]`} {
			tables := read(t, "["+event+","+lost+end)
			tables.Want(t, "import_log", "name|byte_offset", fmt.Sprintf("json_tokenizer_failure|%d", len(event)+2))
			if n := len(tables.Rows("slice", "name")); n != 1+strings.Count(end, "{") {
				t.Errorf("%s%s: %d slices", lost, end, n)
			}
		}
	}
	for damaged, want := range map[string]string{
		`"name":"say "hi" now"`:                    `say "hi" now`,
		`"name":"5" pipe","cat":"c"`:               `5" pipe`,
		`"name":"C:\dir\","cat":"c"`:               `C:\dir\`,
		`"name":"a","args":{"x":True,"y":{"z":[1}`: `a`,
	} {
		for _, end := range []string{"]", ", " + event + "]", ",\n{\n  " + event[1:] + "\n]"} {
			text := "[" + event + `,{"ph":"i","pid":1,"tid":1,"ts":2,` + damaged + "}" + end
			tables := read(t, text)
			tables.Want(t, "stats", "name|effect|value", "json_repaired|damaged|1")
			if names := tables.Rows("slice", "name"); !slices.Contains(names, want) || len(names) != 2+strings.Count(end, "{") {
				t.Errorf("%s: %q, want %q", text, names, want)
			}
		}
	}
	// A missing quote makes all that follows part of one text.
	var long strings.Builder
	long.WriteString("[" + event + `,{"ph":"i","pid":1,"tid":1,"ts":2,"name":"open}`)
	for i := range 20_000 {
		fmt.Fprintf(&long, `,{"ph":"i","name":"n%d","pid":1,"tid":1,"ts":%d}`, i, i+3)
	}
	tables := read(t, long.String()+"]")
	if n := len(tables.Rows("slice", "id")); n < 20_001 {
		t.Errorf("%d slices", n)
	}
}

// TestNumbersThatJSONLacks reads numbers as Python and C++ write them.
func TestNumbersThatJSONLacks(t *testing.T) {
	tables := read(t, `[{"ph":"i","name":"a","pid":1,"tid":1,"ts":1,"args":{"a":NaN,"b":-Infinity,"c":inf,"d":nan,"e":-inf,"f":1e999,"g":123456789012345678901234,"h":-nan,"i":null}},
		{"ph":"X","name":"b","pid":1,"tid":1,"ts":1,"dur":NaN}]`)
	tables.Want(t, "args", "key|real_value", "raw_event|NULL", "error|NULL", "utid|NULL", "args.a|NaN", "args.b|-Inf", "args.c|+Inf", "args.d|NaN", "args.e|-Inf", "args.f|+Inf",
		"args.g|1.2345678901234569e+23", "args.h|NaN")
	tables.Want(t, "stats", "name|effect|value", "json_tokenizer_failure|lost|1", "json_not_finite_number|notice|1", "json_large_integer|notice|1")
	tables = read(t, `[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1,"args":{"a":NaN}},{"ph":"X","name":"b","pid":1,"tid":1,"ts":2,"dur":1,"args":{"a":NaN}},
		{"ph":"C","name":"c","pid":1,"ts":3,"args":{"v":Infinity}}]`)
	tables.Want(t, "import_log", "name|ts", "json_not_finite_number|1000", "json_not_finite_number|2000", "json_not_finite_number|3000")
}

// TestPaths keeps the backslashes of a text in which they are not escaped, and counts it.
func TestPaths(t *testing.T) {
	const event = `{"ph":"X","name":"C:\Users\new\x","cat":"C:\\new","pid":1,"tid":1,"ts":1,"dur":9}`
	const text = `{"traceEvents":[` + event + `,
		{"ph":"X","name":"a","pid":1,"tid":1,"ts":2,"dur":1,"args":{"file":"c:\users\x"}},
		{"ph":"X","name":"b","pid":1,"tid":1,"ts":3,"dur":1,"args":{"file":"c:\users\x"}},
		{"ph":"M","name":"process_name","pid":1,"ts":4,"args":{"name":"D:\Program Files\a.exe"}}],"traceName":"C:\Temp\a.json"}`
	tables := read(t, text)
	tables.Want(t, "slice", "name|category", `C:\Users\new\x|C:\new`, "a|NULL", "b|NULL")
	tables.Want(t, "process", "name", "NULL", `D:\Program Files\a.exe`)
	if args := tables.Rows("args", "key", "string_value"); !slices.Contains(args, `args.file|c:\users\x`) {
		t.Error(args)
	}
	if facts := tables.Rows("metadata", "name", "str_value"); !slices.Contains(facts, `json.traceName|C:\Temp\a.json`) {
		t.Error(facts)
	}
	tables.Want(t, "import_log", "name|byte_offset|ts", "json_unescaped_backslash|16|NULL", fmt.Sprintf("json_unescaped_backslash|%d|NULL", strings.Index(text, `"C:\Temp`)), "json_unescaped_backslash|NULL|2000",
		"json_unescaped_backslash|NULL|3000", "json_unescaped_backslash|NULL|4000")
	tables.Want(t, "stats", "name|effect|value", "json_unescaped_backslash|damaged|5")
}

// TestControlCharactersAndCommas reads and counts what JSON does not allow, with its place.
func TestControlCharactersAndCommas(t *testing.T) {
	const first = "[{\"ph\":\"X\",\"name\":\"a long name of an event\x01\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1},"
	const second = "{\"ph\":\"X\",\"name\":\"b\",\"pid\":1,\"tid\":1,\"ts\":2,\"dur\":1,\"args\":{\"x\":\"1\n2\",\"y\":[1,],}},"
	tables := read(t, first+second+" ]")
	tables.Want(t, "slice", "name", "a long name of an event\x01", "b")
	if args := tables.Rows("args", "key", "string_value"); !slices.Contains(args, "args.x|1\n2") {
		t.Errorf("%q", args)
	}
	tables.Want(t, "stats", "name|effect|value", "json_control_character|notice|2", "json_trailing_comma|notice|2")
	tables.Want(t, "import_log", "name|byte_offset|ts", "json_control_character|1|NULL", fmt.Sprintf("json_control_character|%d|NULL", len(first)),
		fmt.Sprintf("json_trailing_comma|%d|NULL", len(first+second)+1), "json_trailing_comma|NULL|2000")
}

// TestLossesOfRecorders counts what a recorder says of the events that are not there.
func TestLossesOfRecorders(t *testing.T) {
	const event = `{"traceEvents":[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1}],`
	tables := read(t, event+`"viztracer_metadata":{"overflow":true,"version":"1.1.1"}}`)
	tables.Want(t, "stats", "name|source|effect|value", "viztracer_overflow|trace|lost|1")
	read(t, event+`"viztracer_metadata":{"overflow":false}}`).Want(t, "stats", "name")
	tables = read(t, event+`"metadata":{"trace_processor_stats":{"android_log_num_failed":2,"clock_sync_cache_miss":58,"no_such_stat":3,`+
		`"ftrace_cpu_has_data_loss":[0,5],"traced_buf_sequence_packet_loss":9,"traced_buf":[{"sequence_packet_loss":0,"chunks_discarded":1},`+
		`{"sequence_packet_loss":7,"chunks_written":20,"nothing":1,"patches_failed":"4"}],"tokenizer_skipped_packets":-1}}}`)
	tables.Want(t, "stats", "name|idx|value", "android_log_num_failed|NULL|2", "ftrace_cpu_has_data_loss|1|5", "traced_buf_sequence_packet_loss|1|7")
}

// TestNotUTF8 gives the places of events with texts that are not UTF-8, wherever in a word of eight bytes they are.
func TestNotUTF8(t *testing.T) {
	const valid = `{"ph":"X","name":"grün","pid":1,"tid":1,"ts":1,"dur":1,"args":{"é":"ü\u00fc"}},`
	text := "[" + valid
	var want []string
	add := func(event string) {
		want = append(want, fmt.Sprintf("invalid_utf8|%d|NULL", len(text)))
		text += event + "," + valid
	}
	for n := range 9 {
		add(`{"ph":"X","name":"` + "1234567890"[:n] + "\xff" + `","pid":1,"tid":1,"ts":2,"dur":1}`)
		add(`{"ph":"X","name":"a","pid":1,"tid":1,"ts":3,"dur":1,"args":{"` + "1234567890"[:n] + "\\\xe9" + `":[1]}}`)
	}
	add(`{"ph":"X","name":"b","pid":1,"tid":1,"ts":4,"dur":1,"args":{"x":[{"y":"` + "\xc3" + `"}]}}`)
	text += `{"ph":"X","name":"c","pid":1,"tid":1,"ts":5,"dur":1,"cname":"` + "\xc3" + `"}]` // is not read
	tables := read(t, text)
	got := slices.DeleteFunc(tables.Rows("import_log", "name", "byte_offset", "ts"), func(row string) bool { return strings.HasPrefix(row, "json_unescaped_backslash|") })
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestEarlyFlows joins flows that end, by the order of the events, before they begin at the same time.
func TestEarlyFlows(t *testing.T) {
	slice := func(name string, tid, ts int) string {
		return fmt.Sprintf(`{"ph":"X","name":%q,"pid":1,"tid":%d,"ts":%d,"dur":1}`, name, tid, ts)
	}
	flow := func(ph string, id, tid, ts int) string {
		return fmt.Sprintf(`{"ph":%q,"name":"f","cat":"f","id":%d,"pid":1,"tid":%d,"ts":%d,"bp":"e"}`, ph, id, tid, ts)
	}
	tables := read(t, "["+strings.Join([]string{
		slice("kernel 1", 2, 10), flow("f", 1, 2, 10),
		slice("kernel 2", 3, 10), flow("f", 1, 3, 10),
		slice("kernel 3", 4, 10), flow("f", 2, 4, 10), // begins later
		slice("kernel 4", 5, 10), flow("f", 3, 5, 10), // never begins
		slice("launch", 1, 10), flow("s", 1, 1, 10),
		slice("kernel 5", 6, 10), flow("f", 1, 6, 10),
		slice("launch 2", 1, 12), flow("s", 2, 1, 12),
		slice("kernel 6", 7, 20), flow("f", 4, 7, 20), // never begins
	}, ",")+"]")
	tables.Want(t, "slice", "id|name", "0|kernel 1", "1|kernel 2", "2|kernel 3", "3|kernel 4", "4|launch", "5|kernel 5", "6|launch 2", "7|kernel 6")
	tables.Want(t, "flow", "slice_out|slice_in", "4|1", "4|0", "4|5", "6|2")
	tables.Want(t, "stats", "name|value", "flow_end_without_start|2")
}

func TestHostileInput(t *testing.T) {
	deep := strings.Repeat(`[`, 100_000) + strings.Repeat(`]`, 100_000)
	tables := read(t, `[{"ph":"i","name":"a","pid":1,"tid":1,"ts":1,"args":{"x":1,"deep":`+deep+`}}]`)
	tables.Want(t, "slice", "name", "a")
	tables.Want(t, "args", "key|int_value", "utid|1", "args.x|1")
	tables.Want(t, "stats", "name|value", "json_parser_failure|1")

	huge := []byte(`[{"ph":"i","name":"` + strings.Repeat("x", 40<<20) + `","pid":1,"tid":1,"ts":1},{"ph":"i","name":"b","pid":1,"tid":1,"ts":1}]`)
	rows, err := ingesttest.Read(t, ingesttest.File{Name: "a.json", Reader: bytes.NewReader(huge)})
	if err != nil {
		t.Fatal(err)
	}
	rows.Want(t, "slice", "name", "b")
	rows.Want(t, "import_log", "name|byte_offset", "json_tokenizer_failure|1")

	tables = read(t, "[{\"ph\":\"i\",\"name\":\"\xff\xfe\",\"pid\":1,\"tid\":1,\"ts\":1,\"args\":{\"\x80\":1e400}}]")
	tables.Want(t, "slice", "name", "\uFFFD")
	tables.Want(t, "stats", "name|value", "invalid_utf8|3", "json_not_finite_number|1")
}

func TestRecordedTraces(t *testing.T) {
	for name, want := range map[string]struct{ slices, samples int }{
		"chromium.json.gz":       {slices: 100},
		"devtools.json.gz":       {slices: 100, samples: 100},
		"node.json":              {slices: 100},
		"node_cpu_profiler.json": {samples: 10},
		"node.cpuprofile":        {samples: 10},
		"clang.json.gz":          {slices: 100},
	} {
		f, err := os.Open(filepath.Join("../../testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		tables, err := ingesttest.Read(t, ingesttest.File{Name: name, Reader: f})
		f.Close()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if n := len(tables.Rows("slice", "id")); n < want.slices {
			t.Errorf("%s: %d slices", name, n)
		}
		if n := len(tables.Rows("stack_sample", "id")); n < want.samples {
			t.Errorf("%s: %d samples", name, n)
		}
		for _, row := range tables.Rows("stats", "name", "severity", "value") {
			// Chrome also writes flows on threads without slices, as testdata/check/json_flows.py shows.
			if strings.Contains(row, "|error|") && !strings.HasPrefix(row, "flow_no_enclosing_slice|") {
				t.Errorf("%s: %s", name, row)
			}
		}
	}
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"traceEvents":[{"ph":"X","name":"a","pid":1,"tid":2,"ts":1.5,"dur":5,"args":{"x":[1,{"y":"z"}]}},{"ph":"P","id":1,"args":{"data":{"startTime":1}}}]`))
	f.Add([]byte(`[{"ph":"b","id2":{"local":"1"},"pid":1,"ts":"2","name":"\u00e9"},{"ph":"C","args":{"a":1},"ts":1},{"ph":"f","id":1,"ts":2,"bp":"e"}]`))
	f.Add([]byte(`{"nodes":[{"id":1,"children":[2]}],"samples":[1],"timeDeltas":[1],"stackFrames":{"1":{"parent":"1"}},"systemTraceEvents":"a\nb"}`))
	fuzz.Run(f, func(t *testing.T, data []byte) {
		_, err := ingesttest.Read(t, ingesttest.File{Name: "fuzz", Reader: bytes.NewReader(data)})
		if err != nil && !format.BadInput(err) {
			t.Errorf("%v", err)
		}
	})
}
