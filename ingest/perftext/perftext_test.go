package perftext_test

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/ingest"
	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
	"github.com/tpconvert/tpconvert/internal/fuzz"
)

const script = `# hostname : demo

main 12 0: 34  7/8 [003]  12.500000:        321 cycles:uppp:
	    7f2b9c00a1f0 operator new(unsigned long)+0x10 (/usr/lib/libstdc++.so.6)
	             dd0 main (/bin/a (deleted))

main     9  11.250000:          1 cpu-clock:
	             dd0 main (/bin/a (deleted))
	ffffffffffffffff [unknown] ([unknown])

`

func TestSamples(t *testing.T) {
	tables := ingesttest.MustRead(t, "script", []byte(script))
	tables.Want(t, "stack_sample", "ts|source|utid|upid|callsite_id", "11250000000|perf_text|1|NULL|3", "12500000000|perf_text|3|1|1")
	tables.Want(t, "stack_profile_callsite", "depth|parent_id|frame_id", "1|NULL|1", "2|0|0", "1|NULL|2", "2|2|1")
	tables.Want(t, "stack_profile_frame", "name|mapping", "operator new(unsigned long)|0", "main|1", "[unknown]|2")
	tables.Want(t, "stack_profile_mapping", "name", "/usr/lib/libstdc++.so.6", "/bin/a (deleted)", "[unknown]")
	tables.Want(t, "thread", "tid|name|upid", "0|NULL|0", "9|main|NULL", "7|NULL|1", "8|main 12 0: 34|1")
	tables.Want(t, "stack_sample_event", "stack_sample_id|event|period", "0|cpu-clock|1", "1|cycles:uppp|321")
	tables.Want(t, "stats", "name")
}

func TestEvents(t *testing.T) {
	for fields, want := range map[string][]string{
		"":                          nil,
		" cycles:":                  {"cycles|NULL"},
		"  25 cycles:u:":            {"cycles:u|25"},
		" 25":                       nil,
		" 25:":                      {"25|NULL"},
		" 1 sched:sched_switch: a:": {"sched:sched_switch|1"},
		" 7 cpu/event=0x3c/P: 0 f":  {"cpu/event=0x3c/P|7"},
		" :":                        nil,
		" 99999999999999999999 x:":  nil,
	} {
		ingesttest.MustRead(t, "script", []byte("a 1 1.000000:"+fields+"\n\t0 f (m)\n\n")).Want(t, "stack_sample_event", "event|period", want...)
	}
}

func TestLastSampleNeedsNoEmptyLine(t *testing.T) {
	ingesttest.MustRead(t, "script", []byte(strings.TrimRight(script, "\n")+"\n")).
		Want(t, "stack_sample", "ts", "11250000000", "12500000000")
}

func TestRecordedScriptAgreesWithItsData(t *testing.T) {
	read := func(name string) *ingesttest.Tables {
		data, err := os.ReadFile("../../testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return ingesttest.MustRead(t, name, data)
	}
	text, data := read("perf.script"), read("perf.data")
	threads := func(tables *ingesttest.Tables) int { return len(tables.Rows("stack_sample", "utid", "upid")) }
	if n := threads(text); n == 0 || n != threads(data) {
		t.Errorf("%d samples, %d in the data", n, threads(data))
	}
	text.Want(t, "thread", "tid|name", data.Rows("thread", "tid", "name")...)
}

func TestBadLines(t *testing.T) {
	good := "a 1 1.000000: x:\n\t0 f (m)\n\n"
	for bad, want := range map[string]string{
		"a 1 2.000000: x:\n\t0 f\n\t0 g (m)\n\n":           "perf_text_parse_errors|1",
		"hello\n\t0 f (m)\n\n":                             "perf_text_parse_errors|1",
		"a 1 2.000000: x:\n\n":                             "perf_text_importer_sample_no_frames|1",
		"a 99999999999 2.000000: x:\n\t0 f (m)\n\n":        "perf_text_parse_errors|1",
		"a 1 [x] 2.000000: x:\n\t0 f (m)\n\n":              "perf_text_parse_errors|1",
		"a 1 99999999999999.000000: x:\n\t0 f (m)\n\n":     "perf_text_parse_errors|1",
		"a 1 2.000000: x:\n\t0 f (m)\n\nb 1 3.000000: cut": "truncated_input|1",
	} {
		tables := ingesttest.MustRead(t, "script", []byte(good+bad))
		tables.Want(t, "stats", "name|value", want)
	}
	for _, text := range []string{"bash-1 [000] d..3 1.000000: sched_switch: x\n", "a 1 1.000000: x:", "# only\n", "[0] 1.000000: x\n"} {
		_, err := ingesttest.Read(t, ingesttest.File{Name: "x", Reader: strings.NewReader(text)})
		if strings.HasPrefix(text, "bash") {
			continue // ftrace
		}
		if !errors.Is(err, format.ErrUnknown) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzPerfText(f *testing.F) {
	f.Add([]byte(script))
	f.Add([]byte("a/b 1/2\t[1]  1.123456789: x:\n\t0 f+g+0x1 (m)\nx"))
	fuzz.Run(f, func(t *testing.T, data []byte) {
		if detected := ingest.Detect(data); detected == nil || detected.Name != "perf_text" {
			return
		}
		_, err := ingesttest.Read(t, ingesttest.File{Name: "fuzz", Reader: bytes.NewReader(data)})
		if err != nil && !format.BadInput(err) {
			t.Fatal(err)
		}
	})
}
