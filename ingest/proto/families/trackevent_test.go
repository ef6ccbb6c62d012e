package families

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/internal/fuzz"
)

const (
	begin   = 1
	end     = 2
	instant = 3
	counter = 4
	state   = 5
)

// intern returns an interned message that holds one text.
func intern(iid int64, text string) message { return message{}.num(1, iid).text(2, text) }

// fresh returns a packet at ts that starts its sequence anew.
func fresh(ts int64) message { return packet(ts).num(13, 1) }

func processTrack(uuid, pid int64, name string) message {
	return message{}.num(1, uuid).msg(3, message{}.num(1, pid).text(6, name))
}

func threadTrack(uuid, parent, pid, tid int64, name string) message {
	return message{}.num(1, uuid).num(5, parent).msg(4, message{}.num(1, pid).num(2, tid).text(5, name))
}

func event(kind, uuid int64) message { return message{}.num(9, kind).num(11, uuid) }

// richTrace has an example of most kinds of packets.
func richTrace() message {
	interned := message{}.
		msg(internedCategories, intern(1, "cat")).msg(internedEventNames, intern(1, "outer")).msg(internedEventNames, intern(2, "inner")).
		msg(internedAnnotationNames, intern(1, "an.name")).msg(internedStrings, intern(7, "interned text")).
		msg(internedLogBodies, intern(1, "a log line")).
		msg(internedSourceLocations, intern(1, `a\b.cc`).text(3, "F").num(4, 12))
	annotation := message{}.num(1, 1).
		msg(11, message{}.text(10, "list").msg(12, message{}.num(4, -3)).msg(12, message{}.text(6, "x"))).
		msg(11, message{}.text(10, "text").num(17, 7))
	first := message{}.num(9, begin).num(10, 1).num(3, 1).num(11, 20).fixed64(47, 99).
		msg(4, annotation).num(34, 1).msg(21, message{}.num(1, 1).num(2, 1)).
		num(1000, 1) // chrome_app_state
	return packets(
		message{}.num(8, 1).msg(6, message{}.msg(1, message{}.num(1, 6).num(2, 1000)).msg(1, message{}.num(1, 3).num(2, 500))),
		fresh(1).msg(60, processTrack(10, 1, "app")).num(87, 1),
		packet(2).msg(60, threadTrack(20, 10, 1, 2, "main")),
		packet(2).msg(60, message{}.num(1, 30).num(5, 10).text(2, "async")),
		packet(2).msg(60, message{}.num(1, 31).num(5, 10).text(2, "async")),
		packet(2).msg(60, message{}.num(1, 40).num(5, 10).text(2, "bytes").msg(8, message{}.num(3, 3).num(4, 1024).num(5, 1))),
		packet(2).msg(60, message{}.num(1, 50).text(2, "power").msg(18, nil)),
		packet(100).msg(12, interned).msg(11, first),
		packet(110).msg(11, message{}.num(9, begin).num(10, 2).num(11, 20)),
		packet(120).msg(11, event(end, 20)),
		packet(125).msg(11, event(instant, 20).text(23, "now").fixed64(48, 99)),
		packet(130).msg(11, event(end, 20)),
		packet(140).msg(11, event(begin, 30).text(23, "a")),
		packet(150).msg(11, event(begin, 31).text(23, "b")),
		packet(160).msg(11, event(end, 30)),
		packet(170).msg(11, event(end, 31)),
		packet(180).msg(11, event(counter, 40).num(30, 2)),
		packet(190).msg(11, event(counter, 40).num(30, 3)),
		packet(200).msg(11, event(state, 50).text(23, "on")),
		packet(210).msg(11, event(state, 50)),
		packet(220).msg(11, message{}.num(9, instant).num(11, 20).text(23, "with counters").num(31, 40).num(12, 1)),
		trigger(230, "stop"),
		packet(240).msg(900, message{}.num(1, 1)),
	)
}

func TestTrackEvents(t *testing.T) {
	res := readTrace(t, richTrace())
	want(t, "slices", res.rows("slice", "ts", "dur", "depth", "name", "category"),
		"100 30 0 outer cat", "110 10 1 inner ", "125 0 1 now ", "140 20 0 a ", "150 20 0 b ", "220 0 0 with counters ", "230 0 0 stop ")
	want(t, "tracks", res.rows("track", "name", "classification", "parent_id", "utid", "upid", "counter_unit"),
		" process_track_event   1 ", " thread_execution  2  ", "async process_merged_track_event   1 ", "async process_merged_track_event   1 ",
		"bytes process_counter_track_event   1 bytes", "power global_state_track_event    ", "Trace Triggers triggers    ")
	want(t, "counters", res.rows("counter", "ts", "value"), "180 2048", "190 5120", "220 6144")
	want(t, "states", res.rows("state", "ts", "dur", "value"), "200 10 on")
	want(t, "threads", res.rows("thread", "tid", "name", "upid"), "0 swapper 0", "1  1", "2 main 1")
	want(t, "processes", res.rows("process", "pid", "name"), "0 ", "1 app")
	want(t, "flows", res.rows("flow", "slice_out", "slice_in", "local_trace_id"), "0 2 99")
	want(t, "log", res.rows("android_logs", "ts", "prio", "tag", "msg"), `100 4 a\b.cc:12 a log line`)
	if res.stats["unsupported_packet[900]"] != 1 || res.stats["track_event_parser_errors"] != 0 {
		t.Errorf("stats %v", res.stats)
	}
	want(t, "args", res.args(res.tables["slice"][0]), "source.file_name=a/b.cc", "source.function_name=F", "source.line_number=12",
		"track_event.log_message.message=a log line", `track_event.log_message.file_name=a\b.cc`,
		"track_event.log_message.function_name=F", "track_event.log_message.line_number=12",
		"source_location_iid=1", "chrome_app_state=APP_STATE_FOREGROUND",
		"debug.an_name.list[0]=-3", "debug.an_name.list[1]=x", "debug.an_name.text=interned text")
}

func TestUnreadPackets(t *testing.T) {
	unread := func(ts int64, field int) message { return packet(ts).msg(field, message{}.num(1, 1)) }
	res := readTrace(t, packets(trigger(10, "read"), unread(20, 1900), unread(30, 900), unread(40, 900)))
	want(t, "stats", res.rows("stats", "idx", "value", "description")[len(res.tables["stats"])-2:],
		"900 2 for_testing packets are not read (of 4)", "1900 1 unknown (field 1900) packet is not read (of 4)")
	want(t, "log", res.rows("import_log", "name"), "unsupported_packet", "unsupported_packet")
	want(t, "entry", res.args(res.tables["import_log"][0]), "message=1 unknown (field 1900) packet is not read (of 4)")
}

// same reports whether two results have the same rows.
func same(a, b *result) bool { return fmt.Sprint(a.tables) == fmt.Sprint(b.tables) }

func TestAnyChunks(t *testing.T) {
	whole := readTrace(t, richTrace())
	bytewise := readAll(iotest.OneByteReader(bytes.NewReader(richTrace())))
	if bytewise.err != nil || !same(whole, bytewise) {
		t.Errorf("byte by byte: %v", bytewise.err)
	}
}

func TestRichTraceTruncated(t *testing.T) {
	trace := richTrace()
	for n := range trace {
		res := readTrace(t, trace[:n])
		if got := len(res.rows("slice", "ts")); got > 7 {
			t.Fatalf("%d slices of %d bytes", got, n)
		}
	}
}

func TestSequenceClock(t *testing.T) {
	clocks := message{}.msg(1, message{}.num(1, 6).num(2, 1000)).msg(1, message{}.num(1, 64).num(2, 5).num(3, 1).num(4, 10))
	defaults := message{}.num(58, 64).msg(11, message{}.num(11, 20))
	seq := func() message { return message{}.num(10, 1).num(13, 2) }
	res := readTrace(t, packets(
		message{}.num(10, 1).num(13, 1).msg(59, defaults).msg(6, clocks),
		seq().num(8, 0).msg(60, threadTrack(20, 0, 1, 2, "t")),
		seq().num(8, 3).msg(11, message{}.num(9, instant).text(23, "a")),
		seq().num(8, 4).msg(11, message{}.num(9, instant).text(23, "b")),
	))
	want(t, "slices", res.rows("slice", "ts", "name"), "1030 a", "1070 b")
	want(t, "snapshots", res.rows("clock_snapshot", "ts", "clock_id", "clock_name", "clock_value"), "1000 6 BOOTTIME 1000", "1000 64  50")
}

func TestEventsBeforeTheirClock(t *testing.T) {
	snapshot := message{}.msg(1, message{}.num(1, 6).num(2, 1000)).msg(1, message{}.num(1, 3).num(2, 400))
	res := readTrace(t, packets(
		packet(410).num(58, 3).msg(fieldTrigger, message{}.text(1, "early")),
		packet(5).num(58, 9).msg(fieldTrigger, message{}.text(1, "never")),
		message{}.num(10, 1).msg(6, snapshot),
		packet(420).num(58, 3).msg(fieldTrigger, message{}.text(1, "late")),
	))
	want(t, "slices", res.rows("slice", "ts", "name"), "1010 early", "1020 late")
	if res.stats["clock_sync_failure_unknown_source_clock"] != 1 || res.stats["clock_sync_failure_undeferrable_packet_loss"] != 1 {
		t.Errorf("stats %v", res.stats)
	}
}

func TestLostPackets(t *testing.T) {
	named := func(p message) message { return p.num(13, 2).msg(11, message{}.num(9, instant).num(10, 1)) }
	names := message{}.msg(internedEventNames, intern(1, "x"))
	res := readTrace(t, packets(
		fresh(10).msg(12, names), named(packet(20)),
		named(packet(30)).num(42, 3), named(packet(40)),
		fresh(50).msg(12, message{}.msg(internedEventNames, intern(1, "y"))), named(packet(60)),
		message{}.num(8, 70).msg(35, message{}.msg(18, message{}.num(1, 1).num(4, 2))),
	))
	want(t, "slices", res.rows("slice", "ts", "name"), "20 x", "60 y")
	for stat, n := range map[string]int64{
		"packet_skipped_seq_needs_incremental_state_invalid": 2,
		"traced_buf_sequence_packet_loss[2]":                 1, "traced_buf_data_loss_read_gap[2]": 1,
	} {
		if res.stats[stat] != n {
			t.Errorf("%s is %d, want %d", stat, res.stats[stat], n)
		}
	}
}

func TestMachines(t *testing.T) {
	thread := func(machine int64) message {
		return packet(10).num(98, machine).msg(60, threadTrack(20, 0, 1, 2, fmt.Sprint("of ", machine)))
	}
	res := readTrace(t, packets(packet(1).msg(60, threadTrack(20, 0, 1, 2, "host")), thread(7), thread(8)))
	want(t, "machines", res.rows("machine", "raw_id"), "0", "7", "8")
	want(t, "threads", res.rows("thread", "tid", "name", "machine_id"), "0 swapper 0", "0 swapper 1", "0 swapper 2",
		"1  0", "2 host 0", "1  1", "2 of 7 1", "1  2", "2 of 8 2")
	// A trace of one machine alone is that machine's.
	res = readTrace(t, packets(thread(7), thread(8)))
	want(t, "machines", res.rows("machine", "raw_id"), "7", "8")
}

func TestLegacyEvents(t *testing.T) {
	legacy := func(phase byte) message { return message{}.num(2, int64(phase)) }
	delta := func(us int64, name string, l message) message {
		return message{}.num(10, 1).num(13, 2).msg(11, message{}.num(1, us).text(22, "c").text(23, name).msg(6, l))
	}
	thread := message{}.num(1, 1).num(2, 2).text(5, "main").num(6, 100).num(7, 10)
	res := readTrace(t, packets(
		fresh(1).msg(44, thread),
		delta(1, "x", legacy('X').num(3, 5)),
		delta(1, "b", legacy('b').num(6, 1)),
		delta(1, "b", legacy('e').num(6, 1)),
		delta(1, "f", legacy('B')), delta(1, "f", legacy('s').num(6, 9)), delta(1, "f", legacy('E')),
		delta(1, "f", legacy('f').num(6, 9)), delta(1, "g", legacy('B')),
		delta(0, "odd", legacy('Y')), delta(1, "odd", legacy('Z')),
	))
	want(t, "slices", res.rows("slice", "ts", "dur", "name"), "101000 5000 x", "102000 1000 b", "104000 2000 f", "108000 -1 g")
	want(t, "flows", res.rows("flow", "slice_out", "slice_in"), "2 3")
	want(t, "raw", res.rows("chrome_raw", "id", "ts", "name"), "0 108000 track_event.legacy_event", "1 109000 track_event.legacy_event")
}

func TestTranslations(t *testing.T) {
	hashes := message{}.msg(1, message{}.num(1, 77).text(2, "Some.Histogram"))
	names := message{}.msg(1, message{}.text(1, "raw").text(2, "clear"))
	res := readTrace(t, packets(
		packet(1).msg(82, message{}.msg(1, hashes)), packet(1).msg(82, message{}.msg(4, names)),
		packet(2).msg(60, threadTrack(20, 0, 1, 2, "t")),
		packet(3).msg(11, event(instant, 20).text(23, "raw").msg(28, message{}.num(1, 77).num(3, 5))),
	))
	want(t, "slices", res.rows("slice", "name"), "clear")
	want(t, "args", res.rows("args", "key", "int_value", "string_value"), "utid 2 ", "chrome_histogram_sample.name_hash 77 ",
		"chrome_histogram_sample.name  Some.Histogram", "chrome_histogram_sample.sample 5 ")
}

// TestReleaseWindows streams a trace in which nothing is out of order for longer
// than between two flushes.
func TestReleaseWindows(t *testing.T) {
	service := func(field int) message { return packet(0).msg(69, message{}.num(field, 1)) }
	var trace message
	for i := range int64(50) {
		trace = append(trace, packets(trigger(1000*i+500, "b"), trigger(1000*i, "a"), service(3), service(3), service(4))...)
	}
	res := readTrace(t, trace)
	rows := res.rows("slice", "ts", "name")
	if len(rows) != 100 || rows[0] != "0 a" || rows[1] != "500 b" || rows[99] != "49500 b" {
		t.Errorf("%d slices: %q", len(rows), rows)
	}
}

func TestRangeOfInterest(t *testing.T) {
	trace := packets(
		packet(1).msg(60, threadTrack(20, 0, 1, 2, "t")),
		packet(1999).msg(11, event(begin, 20).text(23, "before")), packet(2000).msg(11, event(begin, 20).text(23, "in")),
		packet(3000).msg(fieldRangeOfInterest, message{}.num(1, 2)),
	)
	whole := readTrace(t, trace)
	want(t, "whole", whole.rows("slice", "name"), "before", "in")
	cropped := readAll(bytes.NewReader(trace), func(in *format.Input) { in.Crop = true })
	want(t, "cropped", cropped.rows("slice", "name"), "in")
	if n := cropped.stats["track_event_dropped_packets_outside_of_range_of_interest"]; n != 1 {
		t.Errorf("%d events dropped", n)
	}
}

func TestDepthIsLimited(t *testing.T) {
	nested := message{}.text(6, "x")
	for range 10_000 {
		nested = message{}.text(10, "d").msg(11, nested.text(10, "d"))
	}
	res := readTrace(t, packets(packet(2).msg(60, threadTrack(20, 0, 1, 2, "t")), packet(3).msg(11, event(instant, 20).msg(4, nested))))
	if res.stats["track_event_parser_errors"] != 1 || len(res.rows("slice", "ts")) != 1 {
		t.Errorf("stats %v", res.stats)
	}
}

func FuzzTrace(f *testing.F) {
	f.Add([]byte(richTrace()))
	f.Add([]byte(winscopeTrace()))
	for _, seed := range []message{trigger(10, "a"), packet(1).msg(fieldCompressed, message("x")), packet(5).msg(44, message{}.num(1, 1).num(2, 2))} {
		f.Add([]byte(packets(seed)))
	}
	fuzz.Run(f, func(t *testing.T, trace []byte) {
		whole := readAll(bytes.NewReader(trace))
		halves := readAll(iotest.HalfReader(bytes.NewReader(trace)))
		if !same(whole, halves) || fmt.Sprint(whole.err) != fmt.Sprint(halves.err) {
			t.Errorf("in chunks: %v, at once: %v", halves.err, whole.err)
		}
	})
}

func BenchmarkTrackEvents(b *testing.B) {
	one := packet(100).num(13, 2).msg(11, event(begin, 20).num(10, 1).num(3, 1).msg(4, message{}.text(10, "n").num(4, 1)))
	other := packet(100).num(13, 2).msg(11, event(end, 20)) // at once, so that all stay in order
	names := message{}.msg(internedEventNames, intern(1, "x")).msg(internedCategories, intern(1, "c"))
	trace := packets(fresh(1).msg(60, threadTrack(20, 0, 1, 2, "t")), fresh(1).msg(12, names))
	trace = append(trace, strings.Repeat(string(packets(one, other)), 1<<16)...)
	b.SetBytes(int64(len(trace)))
	b.ReportAllocs()
	for b.Loop() {
		res := readAll(bytes.NewReader(trace))
		if n := res.store.Rows()["slice"]; n != 1<<16 {
			b.Fatal(n)
		}
	}
}
