package fuchsia_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/ingest"
	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
	"github.com/tpconvert/tpconvert/internal/fuzz"
	"github.com/tpconvert/tpconvert/model"
)

// trace builds a trace from records.
type trace []byte

func newTrace() *trace {
	t := &trace{}
	t.record(0x0016547846040000)
	return t
}

// record appends a record. It adds the size to the header.
func (t *trace) record(header uint64, words ...uint64) {
	*t = binary.LittleEndian.AppendUint64(*t, header|uint64(len(words)+1)<<4)
	for _, w := range words {
		*t = binary.LittleEndian.AppendUint64(*t, w)
	}
}

func text(s string) []uint64 {
	b := append([]byte(s), make([]byte, 7)...)
	var words []uint64
	for ; len(b) >= 8; b = b[8:] {
		words = append(words, binary.LittleEndian.Uint64(b))
	}
	return words
}

func inline(s string) uint64 { return 0x8000 | uint64(len(s)) }

func join(parts ...[]uint64) []uint64 { return slices.Concat(parts...) }

func (t *trace) provider(id uint64, name string) {
	t.record(1<<16|id<<20|uint64(len(name))<<52, text(name)...)
}
func (t *trace) section(id uint64)             { t.record(2<<16 | id<<20) }
func (t *trace) ticks(perSecond uint64)        { t.record(1, perSecond) }
func (t *trace) text(index uint64, s string)   { t.record(2|index<<16|uint64(len(s))<<32, text(s)...) }
func (t *trace) thread(index, pid, tid uint64) { t.record(3|index<<16, pid, tid) }

// event appends an event of an indexed thread. rest contains the words of n args.
func (t *trace) event(kind, thread uint64, category, name string, ts uint64, n int, rest ...uint64) {
	t.record(4|kind<<16|uint64(n)<<20|thread<<24|inline(category)<<32|inline(name)<<48,
		join([]uint64{ts}, text(category), text(name), rest)...)
}

// arg is an arg with an inline name.
func arg(kind uint64, name string, high uint64, value ...uint64) []uint64 {
	n := uint64(1 + len(text(name)) + len(value))
	return join([]uint64{kind | n<<4 | inline(name)<<16 | high<<32}, text(name), value)
}

func (t *trace) read(tb *testing.T) *ingesttest.Tables {
	tb.Helper()
	return ingesttest.MustRead(tb, "a.fxt", *t)
}

const (
	instant = iota
	counter
	begin
	end
	complete
	asyncBegin
	asyncInstant
	asyncEnd
	flowBegin
	flowStep
	flowEnd
)

const (
	columns = "ts|dur|name|category|depth|track_id"
	stats   = "name|idx|value"
)

func TestSlices(t *testing.T) {
	f := newTrace()
	f.thread(1, 10, 11)
	f.event(begin, 1, "cat", "outer", 100, 0)
	f.event(complete, 1, "cat", "inner", 110, 0, 120)
	f.event(instant, 1, "", "now", 115, 0)
	f.event(end, 1, "other", "names do not matter", 200, 0)
	f.event(begin, 1, "cat", "open", 300, 0)
	// An event that refers to the tables, with an inline thread.
	f.text(1, "indexed")
	f.text(2, "name")
	f.record(4|complete<<16|1<<32|2<<48, 5, 10, 12, 6)
	rows := f.read(t)
	rows.Want(t, "slice", columns,
		"5|1|name|indexed|0|0",
		"100|100|outer|cat|0|1",
		"110|10|inner|cat|1|1",
		"115|0|now||2|1",
		"300|-1|open|cat|0|1")
	rows.Want(t, "thread", "utid|tid|upid|is_main_thread", "0|0|0|true", "1|10|1|true", "2|12|1|false", "3|11|1|false")
	rows.Want(t, "process", "upid|pid|name", "0|0|NULL", "1|10|NULL")
	rows.Want(t, "track", "classification|utid", "thread_execution|2", "thread_execution|3")
	rows.Want(t, "stats", stats)
}

func TestArgs(t *testing.T) {
	f := newTrace()
	f.text(7, "value")
	f.text(8, "indexed")
	f.record(4|15<<20, join([]uint64{1, 10, 10},
		arg(0, "null", 0),
		arg(1, "int32", 0xffffffff),
		arg(2, "uint32", 0xffffffff),
		arg(3, "int64", 0, 1<<63),
		arg(4, "uint64", 0, math.MaxUint64),
		arg(5, "double", 0, math.Float64bits(0.5)),
		arg(6, "inline string", inline("123456789"), text("123456789")...),
		arg(6, "string", 7),
		arg(6, "empty", 0),
		arg(7, "pointer", 0, 0xfffffffffffffff0),
		arg(8, "koid", 0, 1<<40),
		[]uint64{9 | 1<<4 | 8<<16 | 1<<32},
		arg(9, "no", 0),
		arg(10, "blob", 4, 0x04030201),
		arg(1, "no", 3),
	)...)
	rows := f.read(t)
	rows.Want(t, "args", "arg_set_id|key|value_type|int_value|string_value|real_value",
		"0|utid|int|1|NULL|NULL",
		"1|null|string|NULL|null|NULL",
		"1|int32|int|-1|NULL|NULL",
		"1|uint32|int|4294967295|NULL|NULL",
		"1|int64|int|-9223372036854775808|NULL|NULL",
		"1|uint64|int|-1|NULL|NULL",
		"1|double|real|NULL|NULL|0.5",
		"1|inline string|string|NULL|123456789|NULL",
		"1|string|string|NULL|value|NULL",
		"1|empty|string|NULL||NULL",
		"1|pointer|pointer|-16|NULL|NULL",
		"1|koid|int|1099511627776|NULL|NULL",
		"1|indexed|bool|1|NULL|NULL",
		"1|no|int|3|NULL|NULL",
		"1|blob|string|NULL|unknown|NULL")
	rows.Want(t, "slice", "ts|name|arg_set_id", "1||1")
}

// TestArgsOfBothEnds checks that the end of a slice adds to the args of its
// beginning, and replaces args of the same name.
func TestArgsOfBothEnds(t *testing.T) {
	f := newTrace()
	f.thread(1, 10, 11)
	f.event(begin, 1, "c", "both", 1, 2, join(arg(1, "a", 1), arg(1, "b", 2))...)
	f.event(begin, 1, "c", "begin", 2, 1, arg(1, "a", 3)...)
	f.event(end, 1, "c", "begin", 3, 0)
	f.event(end, 1, "c", "both", 4, 2, join(arg(1, "c", 4), arg(1, "a", 5))...)
	f.event(begin, 1, "c", "end", 5, 0)
	f.event(end, 1, "c", "end", 6, 1, arg(1, "a", 3)...)
	f.event(begin, 1, "c", "open", 7, 1, arg(1, "b", 6)...)
	rows := f.read(t)
	rows.Want(t, "args", "arg_set_id|key|int_value", "0|utid|2", "1|a|3", "2|a|5", "2|b|2", "2|c|4", "5|b|6")
	rows.Want(t, "slice", "name|arg_set_id", "both|2", "begin|1", "end|1", "open|5")
}

func TestCounters(t *testing.T) {
	f := newTrace()
	f.thread(1, 10, 11)
	f.event(counter, 1, "c", "load", 5, 3, join(arg(1, "a", 0xfffffffe), arg(5, "b", 0, math.Float64bits(1.5)), arg(6, "s", 0), []uint64{7})...)
	f.event(counter, 1, "c", "load", 6, 3, join(arg(4, "a", 0, 1<<63), arg(2, "b", 1), arg(3, "c", 0, 9), []uint64{7})...)
	f.event(counter, 1, "c", "load", 7, 1, join(arg(2, "a", 1), []uint64{8})...)
	f.event(counter, 1, "d", "load", 8, 1, join(arg(2, "a", 2), []uint64{8})...)
	rows := f.read(t)
	rows.Want(t, "track", "name|classification|upid", "load:a:7|fuchsia_counter|1", "load:b:7|fuchsia_counter|1",
		"load:c:7|fuchsia_counter|1", "load:a:8|fuchsia_counter|1", "load:a:8|fuchsia_counter|1")
	rows.Want(t, "counter", "ts|track_id|value", "5|0|-2", "5|1|1.5", "6|0|9.223372036854776e+18", "6|1|1", "6|2|9", "7|3|1", "8|4|2")
	rows.Want(t, "stats", stats, "fuchsia_non_numeric_counters|NULL|1")
}

// Operations are told apart by process, category, name and id.
func TestAsync(t *testing.T) {
	f := newTrace()
	f.thread(1, 10, 11)
	f.thread(2, 10, 12)
	f.thread(3, 20, 21)
	f.event(asyncBegin, 1, "c", "load", 1, 0, 99)
	f.event(asyncInstant, 2, "c", "load", 2, 0, 99)
	f.event(asyncBegin, 3, "c", "load", 3, 0, 99)
	f.event(asyncBegin, 1, "c", "store", 4, 0, 99)
	f.event(asyncBegin, 1, "d", "load", 5, 0, 99)
	f.event(asyncBegin, 1, "c", "load", 6, 0, 100)
	f.event(asyncEnd, 2, "c", "load", 7, 0, 99)
	f.event(asyncEnd, 2, "d", "load", 8, 0, 99)
	f.event(asyncEnd, 1, "c", "load", 9, 0, 100)
	f.event(asyncEnd, 3, "c", "load", 10, 0, 99)
	f.event(asyncEnd, 1, "c", "store", 11, 0, 99)
	f.event(asyncEnd, 1, "c", "load", 12, 0, 99)
	rows := f.read(t)
	rows.Want(t, "slice", columns, "1|6|load|c|0|0", "2|0|load|c|1|0", "3|7|load|c|0|1", "4|7|store|c|0|2", "5|3|load|d|0|3", "6|3|load|c|0|4")
	rows.Want(t, "track", "name|classification|upid", "load|legacy_async_process_slice|1", "load|legacy_async_process_slice|2", "store|legacy_async_process_slice|1", "load|legacy_async_process_slice|1",
		"load|legacy_async_process_slice|1")
	rows.Want(t, "stats", stats, "slice_end_without_begin|NULL|1")
}

func TestFlows(t *testing.T) {
	f := newTrace()
	for i := range uint64(4) {
		f.thread(i+1, 10*(i+1), 10*(i+1))
		f.event(complete, i+1, "c", string(rune('a'+i)), 0, 0, 1000)
	}
	// The process that begins a flow owns its id, and others may continue it.
	f.event(flowBegin, 1, "c", "f", 1, 0, 5)
	f.event(flowStep, 2, "c", "f", 2, 0, 5)
	f.event(flowEnd, 3, "c", "f", 3, 0, 5)
	// The same id in two processes means two flows, neither of which a third
	// process can continue.
	f.event(flowBegin, 1, "c", "f", 11, 0, 6)
	f.event(flowBegin, 2, "c", "f", 12, 0, 6)
	f.event(flowEnd, 3, "c", "f", 13, 0, 6)
	f.event(flowStep, 2, "c", "f", 14, 0, 6)
	f.event(flowEnd, 1, "c", "f", 15, 0, 6)
	// An id can be reused after its end.
	f.event(flowStep, 1, "c", "f", 21, 0, 5)
	f.event(flowBegin, 4, "c", "f", 22, 0, 5)
	f.event(flowEnd, 1, "c", "f", 23, 0, 5)
	// A flow with another name or category is another flow.
	f.event(flowBegin, 1, "c", "f", 31, 0, 7)
	f.event(flowBegin, 2, "c", "g", 32, 0, 7)
	f.event(flowBegin, 3, "d", "f", 33, 0, 7)
	f.event(flowEnd, 4, "c", "f", 34, 0, 7)
	f.event(flowEnd, 4, "c", "g", 35, 0, 7)
	f.event(flowEnd, 4, "d", "f", 36, 0, 7)
	rows := f.read(t)
	rows.Want(t, "flow", "slice_out|slice_in|local_trace_id", "0|1|1", "1|2|1", "1|1|3", "0|0|2", "3|0|4", "0|3|5", "1|3|6", "2|3|7")
	rows.Want(t, "stats", stats, "flow_step_without_start|NULL|1", "flow_end_without_start|NULL|1")
}

// TestRedefinition checks that an index may change its meaning between events that
// look the same, and that their args may differ.
func TestRedefinition(t *testing.T) {
	f := newTrace()
	f.thread(1, 10, 11)
	f.text(1, "one")
	f.text(2, "key")
	event := func(ts, arg uint64) { f.record(4|instant<<16|1<<20|1<<24|1<<48, ts, arg) }
	const boolean, number = 9 | 1<<4 | 2<<16 | 1<<32, 2 | 1<<4 | 2<<16 | 7<<32
	event(1, number)
	event(2, number)
	f.text(1, "two")
	event(3, number)
	f.text(2, "other")
	event(4, number)
	event(5, boolean)
	f.thread(1, 10, 12)
	event(6, boolean)
	f.record(4|instant<<16|1<<20|1<<24|1<<48, join([]uint64{7}, arg(2, "other", 7))...)
	rows := f.read(t)
	rows.Want(t, "slice", "ts|name|track_id|arg_set_id", "1|one|0|1", "2|one|0|1", "3|two|0|1", "4|two|0|2", "5|two|0|3",
		"6|two|1|3", "7|two|1|2")
	rows.Want(t, "args", "arg_set_id|key|value_type|int_value",
		"0|utid|int|2", "1|key|int|7", "2|other|int|7", "3|other|bool|1", "4|utid|int|3")
}

// TestFarIndexes checks that indexes may come in any order, and change their
// meaning.
func TestFarIndexes(t *testing.T) {
	f := newTrace()
	f.thread(1, 10, 11)
	slice := func(ts, name uint64) {
		f.record(4|instant<<16|1<<24|name<<32|name<<48, ts)
	}
	const last = 0x7fff
	f.text(last, "far")
	f.text(500, "middle")
	slice(1, last)
	slice(2, 500)
	for i := range uint64(600) {
		f.text(1+i, "near")
	}
	slice(3, last)
	slice(4, 500)
	slice(5, 600)
	f.text(last, "redefined")
	slice(6, last)
	f.read(t).Want(t, "slice", "ts|name|category",
		"1|far|far",
		"2|middle|middle",
		"3|far|far",
		"4|near|near",
		"5|near|near",
		"6|redefined|redefined")
}

// TestTwins checks koids with the same lower half: writers on Linux use pthread_self.
func TestTwins(t *testing.T) {
	f := newTrace()
	f.thread(1, 10, 11)
	f.thread(2, 20, 1<<32|11)
	for ts := range uint64(4) {
		f.event(instant, 1+ts%2, "", "", 10*ts, 0)
		f.record(8|1<<16|2<<60, join([]uint64{10*ts + 1, 12}, arg(8, "waker", 0, 11))...)
	}
	rows := f.read(t)
	rows.Want(t, "slice", "ts|track_id", "0|0", "10|1", "20|0", "30|1")
	rows.Want(t, "track", "utid", "2", "6")
	rows.Want(t, "thread_state", "ts|waker_utid", "1|2", "11|2", "21|2", "31|2")
	rows.Want(t, "thread", "utid|tid", "0|0", "1|10", "2|11", "3|0", "4|12", "5|20", "6|4294967307")
}

// TestManyNames reads a trace with more names than there are numbers for forms.
func TestManyNames(t *testing.T) {
	const names = 70_000
	f := newTrace()
	f.thread(1, 10, 11)
	for i := range uint64(2 * names) {
		f.event(instant, 1, "", strconv.FormatUint(i%names, 10), i, 1, arg(2, "n", i%7)...)
	}
	rows := f.read(t)
	for i, row := range rows.Rows("slice", "ts", "name") {
		if want := fmt.Sprintf("%d|%d", i, i%names); row != want {
			t.Fatalf("slice %s, want %s", row, want)
		}
	}
	if sets := len(rows.Rows("args", "key")); sets != 1+7 {
		t.Errorf("%d args, want those of the track and 7", sets)
	}
}

// TestSorterFails checks that an error of the sorter stops the reading.
func TestSorterFails(t *testing.T) {
	store := model.NewStore(model.Options{})
	options := ingest.Options{Memory: 1 << 16, TempDir: filepath.Join(t.TempDir(), "missing")}
	err := ingest.Read(store, "a.fxt", bytes.NewReader(events(5_000)), options)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

func TestTicks(t *testing.T) {
	for _, test := range []struct{ perSecond, ticks, ns uint64 }{
		{1e9, 123, 123},
		{1, 5, 5e9},
		{24e6, 24e6*86400*365 + 1, 31536000_000_000_041},
		{3e9, 10, 3},
		{math.MaxUint64, math.MaxUint64, 1e9},
		{1e9, math.MaxInt64, math.MaxInt64},
	} {
		f := newTrace()
		f.ticks(test.perSecond)
		f.event(instant, 0, "", "", test.ticks, 0, 1, 1)
		if got := f.read(t).Rows("slice", "ts"); len(got) != 1 || got[0] != strconv.FormatUint(test.ns, 10) {
			t.Errorf("%d ticks at %d a second: %v ns, want %d", test.ticks, test.perSecond, got, test.ns)
		}
	}
	for _, test := range []struct{ perSecond, ticks uint64 }{{1e9, 1 << 63}, {0, 1}, {1, 1 << 40}} {
		f := newTrace()
		f.ticks(test.perSecond)
		f.event(instant, 0, "", "", test.ticks, 0, 1, 1)
		rows := f.read(t)
		rows.Want(t, "slice", "ts")
		rows.Want(t, "stats", stats, "fuchsia_timestamp_overflow|NULL|1")
	}
}

func TestProviders(t *testing.T) {
	f := newTrace()
	f.ticks(1e6) // of provider 0, which needs no provider record
	f.text(1, "zero")
	f.thread(1, 10, 10)
	indexed := func(ts uint64) { f.record(4|instant<<16|1<<24|1<<48, ts) }
	indexed(1)
	f.provider(1, "one")
	f.text(1, "one")
	f.thread(1, 11, 11)
	indexed(2)
	f.section(0)
	indexed(3)
	f.section(1)
	indexed(4)
	f.provider(1, "one again") // forgets the tables
	f.text(1, "again")
	f.thread(1, 12, 12)
	indexed(5)
	f.section(7) // was never introduced
	indexed(6)
	f.record(3<<16 | 1<<20) // the buffer of provider 1 was full
	rows := f.read(t)
	rows.Want(t, "slice", "ts|name|track_id", "2|one|0", "4|one|0", "5|again|1", "1000|zero|2", "3000|zero|2")
	rows.Want(t, "process", "pid", "0", "11", "12", "10")
	rows.Want(t, "stats", stats, "fuchsia_invalid_event|NULL|1", "fuchsia_buffer_full|NULL|1")
}

func TestKernelObjects(t *testing.T) {
	f := newTrace()
	f.text(1, "process")
	f.text(2, "main")
	f.record(7|1<<16|inline("app.cm")<<24, join([]uint64{100}, text("app.cm"))...)
	f.record(7|2<<16|2<<24|1<<40, 101, 8|2<<4|1<<16, 100)
	f.record(7|2<<16|inline("virtual")<<24, join([]uint64{1<<63 | 102}, text("virtual"))...)
	f.record(7|3<<16|inline("vmo")<<24, join([]uint64{103}, text("vmo"))...)
	f.record(7|2<<16|2<<24|1<<40, 104, 3|2<<4|1<<16, 100) // process is not a koid
	f.record(7|2<<16|2<<24|1<<40, 105, 8|2<<4|9<<16, 100) // an arg without a name
	rows := f.read(t)
	rows.Want(t, "process", "pid|name", "0|NULL", "100|app.cm", "0|NULL")
	rows.Want(t, "thread", "tid|name|upid", "0|NULL|0", "100|NULL|1", "101|main|1", "0|NULL|2", "-9223372036854775706|virtual|2", "105|main|2")
	rows.Want(t, "stats", stats, "fuchsia_invalid_event_arg_type|NULL|1", "fuchsia_invalid_string_ref|NULL|1", "fuchsia_skipped_record|7|1")
}

// scheduling returns a trace with two threads of a process and their kernel
// objects.
func scheduling() *trace {
	f := newTrace()
	for _, tid := range []uint64{11, 12} {
		f.record(7|2<<16|inline("t")<<24|1<<40, join([]uint64{tid}, text("t"), arg(8, "process", 0, 10))...)
	}
	return f
}

const (
	idle     = 0x80000000
	sched    = "ts|dur|ucpu|utid|end_state|priority"
	state    = "ts|dur|ucpu|utid|state|waker_utid|waker_id"
	blocked  = 3
	runnable = 1
)

func (t *trace) contextSwitch(ts, cpu, outgoing, outState, outWeight, incoming, inWeight uint64) {
	t.record(8|2<<16|cpu<<20|outState<<36|1<<60, join([]uint64{ts, outgoing, incoming},
		arg(1, "outgoing_weight", outWeight), arg(1, "incoming_weight", inWeight))...)
}

func TestContextSwitch(t *testing.T) {
	f := scheduling()
	f.contextSwitch(100, 3, 1, runnable, idle, 11, 20)
	f.contextSwitch(110, 3, 11, blocked, 20, 12, 30)
	f.record(8|1<<16|5<<20|2<<60, join([]uint64{115, 11}, arg(8, "waker", 0, 12))...)
	f.contextSwitch(120, 3, 12, 9, 30, 1, idle)
	f.contextSwitch(130, 5, 1, runnable, idle, 11, 20)
	f.record(8|1<<16|5<<20|2<<60, join([]uint64{140, 12}, arg(1, "weight", 30))...)
	f.record(8|1<<16|5<<20|2<<60, join([]uint64{150, 1}, arg(1, "weight", idle))...)
	f.record(8|1<<16|5<<20|2<<60, join([]uint64{160, 12}, arg(3, "weight", 0, 30))...)
	f.record(8|3<<60, 170, 11, 12) // a fiber switch
	rows := f.read(t)
	rows.Want(t, "cpu", "cpu", "3", "5")
	rows.Want(t, "sched_slice", sched, "100|10|3|2|S|20", "110|10|3|3|NULL|30", "130|-1|5|2|NULL|20")
	rows.Want(t, "thread_state", state,
		"100|10|3|2|Running|NULL|NULL",
		"110|5|3|2|S|NULL|NULL",
		"110|10|3|3|Running|NULL|NULL",
		"115|15|5|2|W|3|2",
		"120|20|3|3|NULL|NULL|NULL",
		"130|-1|5|2|Running|NULL|NULL",
		"140|-1|5|3|W|3|4")
	rows.Want(t, "thread", "tid|upid", "0|0", "10|1", "11|1", "12|1")
	rows.Want(t, "stats", stats, "fuchsia_invalid_event_arg_type|NULL|1", "fuchsia_skipped_record|8|1")
}

func TestLostContextSwitch(t *testing.T) {
	f := scheduling()
	f.contextSwitch(100, 0, 1, runnable, idle, 11, 20)
	f.contextSwitch(120, 0, 12, blocked, 30, 1, idle)
	f.read(t).Want(t, "sched_slice", sched, "100|-1|0|2|NULL|20")
}

func TestLegacyContextSwitch(t *testing.T) {
	f := scheduling()
	f.thread(1, 10, 11)
	legacy := func(outgoing, incoming, outPriority, inPriority uint64, rest ...uint64) {
		f.record(8|2<<16|blocked<<24|outgoing<<28|incoming<<36|outPriority<<44|inPriority<<52, rest...)
	}
	legacy(0, 1, 0, 20, 100, 0, 99)
	legacy(1, 0, 20, 30, 110, 10, 12)
	legacy(0, 0, 30, 0, 120, 10, 12, 0, 99)
	rows := f.read(t)
	rows.Want(t, "sched_slice", sched, "100|10|2|2|S|20", "110|10|2|3|S|30")
	rows.Want(t, "cpu", "cpu", "2")
}

// blob adds a blob of this type.
func (t *trace) blob(kind uint64, data []byte) {
	t.record(5|inline("name")<<16|uint64(len(data))<<32|kind<<48, join(text("name"), text(string(data)))...)
}

const perfetto = 3

func TestBlobs(t *testing.T) {
	f := newTrace()
	blob := f.blob
	f.event(instant, 0, "", "", 1, 0, 10, 10)
	// A packet with a trace_uuid, msb 1 and lsb 2, in two blobs.
	packet := []byte("\x0a\x07\xca\x05\x04\x08\x01\x10\x02")
	blob(1, []byte("data"))
	blob(perfetto, packet[:4])
	f.event(instant, 0, "", "", 2, 0, 10, 10)
	blob(perfetto, nil)
	blob(perfetto, packet[4:])
	f.event(instant, 0, "", "", 3, 0, 10, 10)
	rows := f.read(t)
	rows.Want(t, "slice", "ts", "1", "2", "3")
	rows.Want(t, "stats", stats, "fuchsia_skipped_record|5|1")
	if uuid := "trace_uuid|00000000-0000-0001-0000-000000000002"; !slices.Contains(rows.Rows("metadata", "name", "str_value"), uuid) {
		t.Errorf("no %s in the metadata %q", uuid, rows.Rows("metadata", "name", "str_value"))
	}
}

// TestBlobsAmongEvents reads a trace in which two readers take turns to fill the
// sorter and the tables. The race detector shows whether they really take turns.
func TestBlobsAmongEvents(t *testing.T) {
	const rounds = 3000
	f := newTrace()
	field := func(number byte, data string) string { return string([]byte{number<<3 | 2, byte(len(data))}) + data }
	f.thread(1, 10, 11)
	// A track with uuid 7, and events on it from their own sequence.
	f.blob(perfetto, []byte(field(1, "\x50\x01\xe2\x03"+"\x05\x08\x07\x12\x01t")))
	for i := range rounds {
		f.event(instant, 1, "", fmt.Sprint("fuchsia ", i), uint64(2*i+1), 0)
		event := "\x48\x03\x58\x07\xba\x01" + string(byte(len(fmt.Sprint(i)))) + fmt.Sprint(i)
		ts := string(binary.AppendUvarint([]byte{8 << 3}, uint64(2*i+2)))
		f.blob(perfetto, []byte(field(1, ts+"\x50\x01"+field(11, event))))
	}
	var want []string
	for i := range rounds {
		want = append(want, fmt.Sprintf("%d|fuchsia %d", 2*i+1, i), fmt.Sprintf("%d|%d", 2*i+2, i))
	}
	f.read(t).Want(t, "slice", "ts|name", want...)
}

func TestDamagedBlobs(t *testing.T) {
	f := newTrace()
	f.record(5|3<<48|8<<32, 0x0706050403020107)
	f.event(instant, 0, "", "", 2, 0, 10, 10)
	rows, err := ingesttest.Read(t, ingesttest.File{Name: "a.fxt", Reader: bytes.NewReader(*f)})
	if !format.BadInput(err) || !strings.Contains(err.Error(), "a.fxt (fuchsia): in embedded Perfetto data") {
		t.Errorf("error %v", err)
	}
	rows.Want(t, "slice", "ts", "2")
}

func TestSkippedRecords(t *testing.T) {
	f := newTrace()
	f.record(6|inline("object")<<24, join([]uint64{1, 10}, text("object"))...)
	f.record(9|5<<16, join([]uint64{1, 10, 11}, text("hello"))...)
	f.record(10, 1)
	f.thread(1, 10, 11)
	f.event(11, 1, "", "", 1, 0)
	// Large blobs with and without metadata, larger than other records can be.
	*f = binary.LittleEndian.AppendUint64(*f, 15|8192<<4)
	*f = append(*f, make([]byte, 8191*8)...)
	*f = binary.LittleEndian.AppendUint64(*f, 15|(4096+300000)<<4|1<<40)
	*f = append(*f, make([]byte, (4096+300000-1)*8)...)
	f.event(instant, 1, "", "last", 1, 0)
	rows := f.read(t)
	rows.Want(t, "slice", "ts|name", "1|last")
	rows.Want(t, "stats", stats, "fuchsia_skipped_record|4|1", "fuchsia_skipped_record|6|1",
		"fuchsia_skipped_record|9|1", "fuchsia_skipped_record|10|1", "fuchsia_skipped_record|15|2")
}

func TestDamage(t *testing.T) {
	good := func(f *trace) { f.event(instant, 0, "", "", 1, 0, 10, 10) }
	for _, test := range []struct {
		name string
		add  func(f *trace)
		stat string
	}{
		{"undefined name", func(f *trace) { f.record(4|5<<48, 1, 10, 10) }, "fuchsia_invalid_string_ref"},
		{"undefined category", func(f *trace) { f.record(4|5<<32, 1, 10, 10) }, "fuchsia_invalid_string_ref"},
		{"undefined arg name", func(f *trace) { f.record(4|1<<20, 1, 10, 10, 1|1<<4|5<<16) }, "fuchsia_invalid_string_ref"},
		{"undefined text", func(f *trace) { f.record(4|1<<20, 1, 10, 10, 6|1<<4|5<<32) }, "fuchsia_invalid_string_ref"},
		{"undefined object name", func(f *trace) { f.record(7|1<<16|5<<24, 10) }, "fuchsia_invalid_string_ref"},
		{"no time", func(f *trace) { f.record(4) }, "fuchsia_record_read_error"},
		{"no thread", func(f *trace) { f.record(4, 1, 10) }, "fuchsia_record_read_error"},
		{"long name", func(f *trace) { f.record(4|0xffff<<48, 1, 10, 10, 0) }, "fuchsia_record_read_error"},
		{"missing args", func(f *trace) { f.record(4|15<<20, 1, 10, 10, 1|1<<4) }, "fuchsia_record_read_error"},
		{"args beyond the record", func(f *trace) { f.record(4|1<<20|counter<<16, 1, 10, 10, 1|4095<<4) }, "fuchsia_record_read_error"},
		{"no arg value", func(f *trace) { f.record(4|1<<20, 1, 10, 10, 4|1<<4) }, "fuchsia_record_read_error"},
		{"no counter id", func(f *trace) { f.record(4|counter<<16, 1, 10, 10) }, "fuchsia_record_read_error"},
		{"no end", func(f *trace) { f.record(4|complete<<16, 5, 10, 10) }, "fuchsia_record_read_error"},
		{"an end before the start", func(f *trace) { f.record(4|complete<<16, 5, 10, 10, 4) }, "fuchsia_timestamp_overflow"},
		{"a late end", func(f *trace) { f.record(4|complete<<16, 5, 10, 10, 1<<63) }, "fuchsia_timestamp_overflow"},
		{"no ticks", func(f *trace) { f.record(1) }, "fuchsia_record_read_error"},
		{"long string", func(f *trace) { f.record(2|1<<16|9<<32, 0) }, "fuchsia_record_read_error"},
		{"half a thread", func(f *trace) { f.record(3|1<<16, 1) }, "fuchsia_record_read_error"},
		{"long provider name", func(f *trace) { f.record(1<<16|1<<20|255<<52, 0) }, "fuchsia_record_read_error"},
		{"long blob", func(f *trace) { f.record(5|0x7fff<<32|3<<48, 0) }, "fuchsia_record_read_error"},
		{"no koid", func(f *trace) { f.record(7 | 1<<16) }, "fuchsia_record_read_error"},
		{"half a switch", func(f *trace) { f.record(8|1<<60, 1, 2) }, "fuchsia_record_read_error"},
		{"half a wakeup", func(f *trace) { f.record(8|2<<60, 1) }, "fuchsia_record_read_error"},
		{"half a legacy switch", func(f *trace) { f.record(8, 1, 2, 3, 4) }, "fuchsia_record_read_error"},
		{"a late switch", func(f *trace) { f.record(8|1<<60, 1<<63, 2, 3) }, "fuchsia_timestamp_overflow"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newTrace()
			test.add(f)
			good(f)
			rows := f.read(t)
			rows.Want(t, "slice", "ts", "1")
			rows.Want(t, "stats", stats, test.stat+"|NULL|1")
			rows.Want(t, "import_log", "name|byte_offset", test.stat+"|8")
		})
	}
}

// TestDamageAfterGoodEvents checks that damage in an event is found even after good
// events of the same form.
func TestDamageAfterGoodEvents(t *testing.T) {
	for _, test := range []struct {
		name, stat string
		header     uint64
		words      []uint64
	}{
		{"undefined text", "fuchsia_invalid_string_ref", 4 | 1<<20 | 1<<24, []uint64{1, 6 | 1<<4 | 1<<16 | 5<<32}},
		{"text beyond the record", "fuchsia_record_read_error", 4 | 1<<20 | 1<<24, []uint64{1, 6 | 1<<4 | 1<<16 | inline("beyond")<<32}},
		{"text over the next arg", "", 4 | 2<<20 | 1<<24, []uint64{1, 6 | 1<<4 | 1<<16 | inline("over")<<32, 2 | 1<<4 | 1<<16}},
		{"undefined arg name", "fuchsia_invalid_string_ref", 4 | 1<<20 | 1<<24, []uint64{1, 6 | 1<<4 | 5<<16 | 1<<32}},
		{"arg of another size", "fuchsia_record_read_error", 4 | 1<<20 | 1<<24, []uint64{1, 4 | 2<<4 | 1<<16}},
		{"late", "fuchsia_timestamp_overflow", 4 | 1<<20 | 1<<24, []uint64{1 << 63, 6 | 1<<4 | 1<<16 | 1<<32}},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newTrace()
			f.text(1, "known")
			f.thread(1, 10, 11)
			f.record(4|1<<20|1<<24, 7, 6|1<<4|1<<16|1<<32)
			f.record(4|2<<20|1<<24, 8, 6|1<<4|1<<16|1<<32, 2|1<<4|1<<16)
			f.record(test.header, test.words...)
			f.record(4|1<<20|1<<24, 9, 6|1<<4|1<<16|1<<32)
			rows := f.read(t)
			if test.stat == "" {
				rows.Want(t, "slice", "ts", "1", "7", "8", "9")
				return
			}
			rows.Want(t, "slice", "ts", "7", "8", "9")
			rows.Want(t, "stats", stats, test.stat+"|NULL|1")
		})
	}
}

func TestUndefinedThread(t *testing.T) {
	f := newTrace()
	f.event(instant, 9, "", "", 1, 0)
	rows := f.read(t)
	rows.Want(t, "slice", "ts", "1")
	rows.Want(t, "thread", "tid", "0", "0")
	rows.Want(t, "import_log", "name|byte_offset", "fuchsia_invalid_event|8")
}

// whole returns a trace with records of all types.
func whole() trace {
	f := scheduling()
	f.provider(1, "p")
	f.ticks(1e9)
	f.text(1, "process")
	f.thread(1, 10, 11)
	f.event(begin, 1, "c", "n", 1, 2, join(arg(6, "a", inline("b"), text("b")...), arg(4, "d", 0, 1))...)
	f.event(counter, 1, "c", "n", 2, 1, join(arg(1, "a", 1), []uint64{1})...)
	f.event(flowBegin, 1, "c", "n", 3, 0, 7)
	f.event(flowEnd, 1, "c", "n", 4, 0, 7)
	f.event(asyncBegin, 1, "c", "n", 5, 0, 8)
	f.event(end, 1, "c", "n", 6, 0)
	f.contextSwitch(100, 3, 1, runnable, idle, 11, 20)
	f.record(8|1<<16|5<<20|2<<60, join([]uint64{115, 12}, arg(8, "waker", 0, 11))...)
	f.record(8|2<<16|blocked<<24|1<<28|20<<44, 120, 0, 99)
	f.record(5|inline("x")<<16|9<<32|3<<48, join(text("x"), text("\x0a\x07\xca\x05\x04\x08\x01\x10\x02"))...)
	f.record(15|1<<40, 0, 0)
	return *f
}

// TestTruncation checks that a trace may end anywhere, and that all complete
// records are read.
func TestTruncation(t *testing.T) {
	all := whole()
	for n := 8; n < len(all); n++ {
		rows, err := ingesttest.Read(t, ingesttest.File{Name: "a.fxt", Reader: bytes.NewReader(all[:n])})
		if n == 8 && errors.Is(err, format.ErrNoEvents) { // nothing but the first record
			continue
		}
		if err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
		var offset int // of the last record
		for next := 0; next < n; next += int(binary.LittleEndian.Uint64(all[next:])>>4&0xfff) * 8 {
			offset = next
		}
		cut := rows.Rows("import_log", "name", "byte_offset")
		size := int(binary.LittleEndian.Uint64(all[offset:])>>4&0xfff) * 8
		if want := "truncated_input|" + strconv.Itoa(offset); offset+size > n != slices.Contains(cut, want) {
			t.Errorf("%d bytes: import_log %q, last record at %d", n, cut, offset)
		}
	}
}

func TestEmptyRecord(t *testing.T) {
	f := newTrace()
	f.event(instant, 0, "", "", 1, 0, 10, 10)
	f.record(5|9<<32|3<<48, text("\x0a\x07\xca\x05\x04\x08\x01\x10\x02")...)
	at := int64(len(*f))
	*f = append(*f, 4, 0, 0, 0, 0, 0, 0, 0)
	rows, err := ingesttest.Read(t, ingesttest.File{Name: "a.fxt", Reader: bytes.NewReader(*f)})
	var bad *format.Error
	if !errors.As(err, &bad) || bad.Offset != at || bad.File != "a.fxt" || !errors.Is(err, format.ErrCorrupt) {
		t.Errorf("error %v, want one at byte %d", err, at)
	}
	rows.Want(t, "slice", "ts", "1")
}

func FuzzFuchsia(f *testing.F) {
	f.Add([]byte(whole()))
	fuzz.Run(f, func(t *testing.T, data []byte) {
		data = append([]byte(*newTrace()), data...)
		_, err := ingesttest.Read(t, ingesttest.File{Name: "fuzz", Reader: bytes.NewReader(data)})
		if err != nil && !format.BadInput(err) {
			t.Errorf("%v", err)
		}
	})
}
