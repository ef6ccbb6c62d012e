package nettrace_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
)

// writer builds traces.
type writer struct{ bytes.Buffer }

// add appends numbers in little-endian order, and texts in UTF-16.
func (w *writer) add(values ...any) *writer {
	for _, v := range values {
		if text, ok := v.(string); ok {
			v = append(utf16.Encode([]rune(text)), 0)
		}
		_ = binary.Write(w, binary.LittleEndian, v)
	}
	return w
}

func begin(name string) []byte {
	w := new(writer).add([]byte{5, 5, 1}, int32(4), int32(4), int32(len(name)), []byte(name), byte(6))
	return w.Bytes()
}

// block appends an object with a block.
func (w *writer) block(name string, content []byte) {
	w.add(begin(name), int32(len(content)))
	for w.Len()%4 != 0 {
		w.add(byte(0))
	}
	w.add(content, byte(6))
}

const compressed = 1

func header(flags int16) *writer { return new(writer).add(int16(20), flags, int64(0), int64(0)) }

// event returns an event with a whole compressed header.
func event(metadata, sequence, thread, stack, ticks byte, payload []byte) []byte {
	return append([]byte{1 | 2 | 4 | 8 | 128, metadata, sequence, thread, 0, thread, stack, ticks, byte(len(payload))}, payload...)
}

// metadata returns a description of events.
func metadata(id int32, provider string, event int32, name string, version int32, rest []byte) []byte {
	payload := new(writer).add(id, provider, event, name, int64(0), version, int32(0), rest).Bytes()
	w := new(writer).add(byte(128), byte(0)) // flags and ticks
	w.Write(binary.AppendUvarint(nil, uint64(len(payload))))
	return w.add(payload).Bytes()
}

func trace() []byte {
	const runtime, rundown = "Microsoft-Windows-DotNETRuntime", "Microsoft-Windows-DotNETRuntimeRundown"
	w := new(writer).add([]byte("Nettrace"), int32(20), []byte("!FastSerialization.1"), begin("Trace"))
	// 2020-09-13 12:26:40.500, a Sunday, at 1000 ticks; 1,000,000 ticks a second; the process 7.
	w.add([]int16{2020, 9, 0, 13, 12, 26, 40, 500}, int64(1000), int64(1_000_000), int32(8), int32(7), int32(2), int32(0), byte(6))
	field := func(name string, kind ...int32) []byte {
		f := new(writer).add(name, kind).Bytes()
		return new(writer).add(int32(len(f)+4), f).Bytes()
	}
	arrays := new(writer).add(int32(2), field("a", 19, 9), field("s", 18)).Bytes()
	w.block("MetadataBlock", header(compressed).add(
		metadata(1, "Microsoft-DotNETCore-SampleProfiler", 0, "", 0, []byte{0, 0, 0, 0}),
		metadata(2, runtime, 1, "", 2, []byte{0, 0, 0, 0}), metadata(3, runtime, 2, "", 1, []byte{0, 0, 0, 0}),
		metadata(4, runtime, 80, "", 1, []byte{0, 0, 0, 0}), metadata(5, rundown, 144, "", 1, []byte{0, 0, 0, 0}),
		metadata(6, "Mine", 3, "Said", 0, new(writer).add(int32(2), int32(18), "word", int32(3), "loud").Bytes()),
		metadata(7, "Mine", 4, "Listed", 0, new(writer).add(int32(0), int32(len(arrays)), byte(2), arrays).Bytes()),
		metadata(8, rundown, 154, "", 2, []byte{0, 0, 0, 0}), metadata(9, "Mine", 5, "", 0, []byte{0, 0, 0, 0})).Bytes())
	w.block("StackBlock", new(writer).add(int32(1), int32(2), int32(16), uint64(0x1010), uint64(0x2000), int32(8), uint64(0x1020)).Bytes())
	gc := new(writer).add(int32(1), int32(0), int32(0), int32(0), int16(9), int64(3)).Bytes()
	method := func(start uint64, name string) []byte {
		return new(writer).add(uint64(1), uint64(77), start, int32(0x100), int32(0), int32(0), "My.App", name, "void()", int16(9)).Bytes()
	}
	w.block("EventBlock", header(compressed).add(
		event(1, 0, 10, 1, 100, []byte{2, 0, 0, 0}), event(1, 0, 10, 2, 50, []byte{1, 0, 0, 0}),
		event(2, 0, 10, 0, 10, gc), event(3, 0, 10, 2, 10, gc[:10]), event(6, 0, 10, 0, 5, new(writer).add("hé", int32(1)).Bytes()),
		event(7, 0, 10, 0, 0, new(writer).add(int16(2), int32(-1), int32(5), "t").Bytes()), event(9, 3, 10, 0, 5, []byte{1})).Bytes())
	thrown := new(writer).add("System.Exception", "no", uint64(0x1010), int32(-1), int16(0), int16(9)).Bytes()
	plain := new(writer).add(int32(4), int32(12), int64(10), int64(10), int32(0), int32(1), int64(300), make([]byte, 32), int32(len(thrown)), thrown).Bytes()
	w.block("EventBlock", header(0).add(int32(len(plain)), plain, make([]byte, -len(plain)&3)).Bytes())
	w.block("SPBlock", new(writer).add(int64(400), int32(1), int64(10), int32(14)).Bytes())
	w.block("EventBlock", header(compressed).add(
		event(5, 14, 10, 0, 100, method(0x1000, "Main")), event(8, 0, 10, 0, 0, new(writer).add(uint64(77), uint64(1), uint64(0), "/app.dll", "").Bytes())).Bytes())
	w.block("Other", nil)
	return w.add(byte(1)).Bytes()
}

func TestTrace(t *testing.T) {
	tables := ingesttest.MustRead(t, "a.nettrace", trace())
	// 100 ticks are 900 µs before the trace object's time.
	tables.Want(t, "stack_sample", "ts|source|utid|upid|callsite_id", "1600000000499100000|nettrace|2|1|1", "1600000000499150000|nettrace|2|1|3")
	tables.Want(t, "stack_profile_callsite", "parent_id|frame_id|depth", "NULL|0|0", "0|1|1", "NULL|2|0", "2|3|1")
	tables.Want(t, "stack_profile_frame", "name|rel_pc|mapping", "NULL|8192|0", "My.App.Main|4112|1", "My.App.Main|4128|1", "UNMANAGED_CODE_TIME|0|0")
	tables.Want(t, "stack_profile_mapping", "name", "", "/app.dll")
	tables.Want(t, "slice", "ts|dur|category|name|depth", "1600000000499160000|10000|Microsoft-Windows-DotNETRuntime|GC|0",
		"1600000000499175000|0|Mine|Said|0", "1600000000499175000|0|Mine|Listed|0", "1600000000499180000|0|Mine|event 5|0",
		"1600000000499300000|0|Microsoft-Windows-DotNETRuntime|ExceptionThrown|0")
	tables.Want(t, "track_event_callstacks", "slice_id|callsite_id|end_callsite_id", "0|NULL|2", "4|1|NULL")
	var args []string
	for _, row := range tables.Rows("args", "key", "int_value", "string_value") {
		args = append(args, strings.ReplaceAll(row, "|NULL", ""))
	}
	for _, want := range []string{"Count|1", "ClientSequenceNumber|3", "word|hé", "loud|1", "a[0]|-1", "a[1]|5", "s|t", "ExceptionType|System.Exception", "ExceptionEIP|4112"} {
		if !slices.Contains(args, want) {
			t.Errorf("no %s in\n%s", want, strings.Join(args, "\n"))
		}
	}
	// Three events are missing before the one of unknown fields, one before the exception, and two before the sequence point.
	tables.Want(t, "stats", "name|value|description", "unread_event|1|Other object is not read", "unread_fact|1|unknown field is not read",
		"nettrace_events_lost|6|Events that .NET's runtime dropped, by the numbers missing from those of each thread.")
}

func TestDamage(t *testing.T) {
	data := trace()
	ingesttest.Cuts(t, data, "stack_sample")
	// A damaged object does not hide the next ones.
	for _, name := range []string{"EventBlock", "StackBlock", "SPBlock", "MetadataBlock"} {
		at := bytes.Index(data, []byte(name))
		for _, change := range []struct{ at, to int }{{at - 1, 0xff}, {at + len(name), 0}, {at + len(name) + 4, 0x7f}, {at + len(name) + 1, 0xff}} {
			damaged := bytes.Clone(data)
			damaged[change.at] = byte(change.to)
			tables := ingesttest.MustRead(t, "a.nettrace", damaged)
			if stats := tables.Rows("stats", "name"); !slices.Contains(stats, "nettrace_parse_errors") && !slices.Contains(stats, "truncated_input") {
				t.Errorf("%s, byte %d: %v", name, change.at-at, stats)
			}
			if n := len(tables.Rows("stack_sample", "id")) + len(tables.Rows("slice", "id")); n == 0 && name != "MetadataBlock" {
				t.Errorf("%s, byte %d: nothing is left", name, change.at-at)
			}
		}
	}
	for text, want := range map[string]string{
		"Nettrace": "the header is damaged",
		"Nettrace\x00\x00\x00\x00\x07\x00\x00\x00":         "version 7 of the format",
		"Nettrace\x00\x00\x00\x00\x06\x00\x00\x00":         "the trace block is damaged",
		string(data[:60]):                                  "the trace object is damaged",
		string(data[:32]) + "\x01":                         "the trace object is damaged",
		strings.Replace(string(data), "Trace", "Tracy", 1): "the trace object is damaged",
	} {
		if _, err := ingesttest.Read(t, ingesttest.File{Name: "a", Reader: strings.NewReader(text)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
}

// TestRecording compares numbers with those of an independent reader, written in Python.
func TestRecording(t *testing.T) {
	data := ingesttest.Recording(t, "dotnet.nettrace.gz")
	tables := ingesttest.MustRead(t, "a.nettrace", data)
	events, stacks := read(tables)
	for name, want := range map[string][2]int{
		"Microsoft-Windows-DotNETRuntime\tGCSuspendEE": {238, 357}, "Microsoft-Windows-DotNETRuntime\tGCRestartEE": {238, 119},
		"Microsoft-Windows-DotNETRuntime\tGCCreateSegment": {6, 24}, "Microsoft-Windows-DotNETRuntimeRundown\tMethodDCEndILToNativeMap": {1694, 6776},
		"Microsoft-Windows-DotNETRuntimeRundown\tGCSettingsRundown": {1, 8}, "Microsoft-DotNETCore-EventPipe\tProcessInfo": {1, 3},
	} {
		if events[name] != want {
			t.Errorf("%s: %v events and args, want %v", name, events[name], want)
		}
	}
	samples, most := 0.0, ""
	for stack, n := range stacks {
		if samples += n; most == "" || n > stacks[most] || n == stacks[most] && stack < most {
			most = stack
		}
	}
	if len(stacks) != 103 || samples != 117 || stacks[most] != 11 || !strings.HasSuffix(most, "UNMANAGED_CODE_TIME") {
		t.Errorf("%d stacks, %v samples, %v of %q", len(stacks), samples, stacks[most], most)
	}
	for _, name := range tables.Rows("stats", "name") {
		if name != "unread_fact" {
			t.Error(name)
		}
	}
	tables.Want(t, "process", "pid|name", "0|NULL", "31793|azmcp")
}

// read returns the number of events of each kind, with that of their args, and that of samples by thread and stack.
func read(tables *ingesttest.Tables) (events map[string][2]int, stacks map[string]float64) {
	number := func(text string) int {
		n, err := strconv.Atoi(text)
		if err != nil {
			return -1
		}
		return n
	}
	args := map[string]int{}
	for _, row := range tables.Rows("args", "arg_set_id", "key") {
		if set, key, _ := strings.Cut(row, "|"); !strings.HasSuffix(key, "ActivityId") {
			args[set]++
		}
	}
	events = map[string][2]int{}
	for _, row := range tables.Rows("slice", "category", "name", "dur", "arg_set_id") {
		v := strings.Split(row, "|")
		e := events[v[0]+"\t"+v[1]]
		if e[0]++; v[2] != "0" && v[2] != "-1" {
			e[0]++ // its end
		}
		e[1] += args[v[3]]
		events[v[0]+"\t"+v[1]] = e
	}
	frames, tids := tables.Rows("stack_profile_frame", "name"), tables.Rows("thread", "tid")
	var names []string
	for _, row := range tables.Rows("stack_profile_callsite", "parent_id", "frame_id") {
		parent, frame, _ := strings.Cut(row, "|")
		name := frames[number(frame)]
		if below := number(parent); below >= 0 {
			name = names[below] + "\x1f" + name
		}
		names = append(names, name)
	}
	stacks = map[string]float64{}
	for _, row := range tables.Rows("stack_sample", "utid", "callsite_id") {
		utid, callsite, _ := strings.Cut(row, "|")
		name := ""
		if at := number(callsite); at >= 0 {
			name = names[at]
		}
		stacks[tids[number(utid)]+"\t"+name]++
	}
	return events, stacks
}

// TestSamples compares traces, in the folder nettrace of FORMAT_SAMPLES, with what another program reads: the events in
// FILE.events (provider, name, number, args) and the stacks of samples in FILE.stacks.
func TestSamples(t *testing.T) {
	ingesttest.Samples(t, "nettrace/*.nettrace", func(file string, data []byte) {
		tables, err := ingesttest.Read(t, ingesttest.File{Name: file, Reader: bytes.NewReader(data)})
		if err != nil {
			t.Fatal(err)
		}
		events, stacks := read(tables)
		want, err := os.ReadFile(file + ".events")
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for line := range strings.Lines(string(want)) {
			n++
			v := strings.Split(strings.TrimSpace(line), "\t")
			if e := events[v[0]+"\t"+v[1]]; fmt.Sprint(e) != "["+v[2]+" "+v[3]+"]" {
				t.Errorf("%s: %s of %s: %v events and args, want %v", filepath.Base(file), v[1], v[0], e, v[2:])
			}
		}
		if n != len(events) {
			t.Errorf("%s: %d kinds of events, want %d", filepath.Base(file), len(events), n)
		}
		ingesttest.WantStacks(t, file, stacks, func(stack string) string { return stack })
		t.Log(tables.Rows("stats", "description", "value"))
	})
}

func FuzzNettrace(f *testing.F) {
	ingesttest.Fuzz(f, "nettrace", trace(), trace6())
}
