package perfdata_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/tpconvert/tpconvert/ingest"
	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
	"github.com/tpconvert/tpconvert/internal/fuzz"
)

// order is the byte order of a recording.
type order interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

// recording is a recording to write.
type recording struct {
	order    order
	events   []event
	records  []record
	features map[int][]byte
}

type event struct {
	kind       uint32
	config     uint64
	period     uint64
	sampleType uint64
	readFormat uint64
	flags      []int // bits
	clock      uint32
	ids        []uint64
}

type record struct {
	kind uint32
	misc uint16
	data []byte
}

// sampleType is the type of most samples here: IP, TID, TIME, CALLCHAIN, CPU, PERIOD,
// IDENTIFIER.
const sampleType = 1<<0 | 1<<1 | 1<<2 | 1<<5 | 1<<7 | 1<<8 | 1<<16

const (
	freq        = 10
	sampleIDAll = 18
	useClockID  = 25
)

const (
	kernel = 1
	user   = 2
)

// w encodes fields in the recording's byte order: numbers by their types, texts with
// a NUL.
func (r *recording) w(fields ...any) (b []byte) {
	for _, f := range fields {
		switch v := f.(type) {
		case int:
			b = r.order.AppendUint64(b, uint64(v))
		case uint64:
			b = r.order.AppendUint64(b, v)
		case uint32:
			b = r.order.AppendUint32(b, v)
		case uint16:
			b = r.order.AppendUint16(b, v)
		case string:
			b = append(append(b, v...), 0)
		case []byte:
			b = append(b, v...)
		}
	}
	return b
}

func (r *recording) attr(e event) []byte {
	var flags [8]byte
	for _, bit := range e.flags {
		if r.order.String() == "BigEndian" {
			flags[bit/8] |= 0x80 >> (bit % 8)
		} else {
			flags[bit/8] |= 1 << (bit % 8)
		}
	}
	return r.w(e.kind, uint32(112), e.config, e.period, e.sampleType, e.readFormat, flags[:],
		make([]byte, 44), e.clock, make([]byte, 16))
}

func (r *recording) add(kind uint32, misc uint16, fields ...any) {
	r.records = append(r.records, record{kind, misc, r.w(fields...)})
}

// id returns the sample id of a record, for the sample type above.
func (r *recording) id(pid, tid uint32, time, cpu, event int) []byte {
	return r.w(pid, tid, time, uint32(cpu), uint32(0), event)
}

func (r *recording) mmap(misc uint16, pid uint32, start, size, offset, time int, path string) {
	r.add(1, misc, pid, pid, start, size, offset, path, r.id(pid, pid, time, 0, 1))
}

func (r *recording) comm(misc uint16, pid, tid uint32, time int, name string) {
	r.add(3, misc, pid, tid, name, r.id(pid, tid, time, 0, 1))
}

func (r *recording) sample(misc uint16, event int, pid, tid uint32, time, cpu int, chain ...uint64) {
	fields := []any{event, chain[len(chain)-1], pid, tid, time, uint32(cpu), uint32(0), 100, len(chain)}
	for _, ip := range chain {
		fields = append(fields, ip)
	}
	r.add(9, misc, fields...)
}

func (r *recording) text(s string) []byte {
	padded := append([]byte(s), make([]byte, 64-len(s)%64)...)
	return r.w(uint32(len(padded)), padded)
}

func (r *recording) write(of []record) (b []byte) {
	for _, rec := range of {
		b = append(b, r.w(rec.kind, rec.misc, uint16(8+len(rec.data)), rec.data)...)
	}
	return b
}

func (r *recording) numbers() (all []int) {
	for n := range r.features {
		all = append(all, n)
	}
	slices.Sort(all)
	return all
}

func (r *recording) magic() uint64 { return binary.LittleEndian.Uint64([]byte("PERFILE2")) }

// file returns the recording as a file.
func (r *recording) file() []byte {
	var attrs, ids []byte
	idsAt := 104 + len(r.events)*(112+16)
	for _, e := range r.events {
		attrs = append(attrs, r.w(r.attr(e), idsAt+len(ids), 8*len(e.ids))...)
		for _, id := range e.ids {
			ids = append(ids, r.w(id)...)
		}
	}
	var bits [4]uint64
	for n := range r.features {
		bits[n/64] |= 1 << (n % 64)
	}
	data := r.write(r.records)
	dataAt := idsAt + len(ids)
	b := r.w(r.magic(), 104, 112+16, 104, len(attrs), dataAt, len(data), 0, 0, bits[0], bits[1], bits[2], bits[3], attrs, ids, data)
	at := len(b) + 16*len(r.features)
	var contents []byte
	for _, n := range r.numbers() {
		b = append(b, r.w(at+len(contents), len(r.features[n]))...)
		contents = append(contents, r.features[n]...)
	}
	return append(b, contents...)
}

// late returns the recording as a file whose attributes and ids are at its end.
func (r *recording) late() []byte {
	b := r.file()
	number := func(at int) int { return int(r.order.Uint64(b[at:])) }
	attrs, size, data := number(24), number(32), number(40)
	head := slices.Clone(b[attrs:data])
	copy(b[attrs:data], bytes.Repeat([]byte{0xee}, data-attrs))
	for at := 112; at < size; at += 112 + 16 {
		r.order.PutUint64(head[at:], r.order.Uint64(head[at:])+uint64(len(b)-attrs))
	}
	r.order.PutUint64(b[24:], uint64(len(b)))
	return append(b, head...)
}

// pipe returns the recording as a stream.
func (r *recording) pipe() []byte {
	var head []record
	for _, e := range r.events {
		data := r.attr(e)
		for _, id := range e.ids {
			data = append(data, r.w(id)...)
		}
		head = append(head, record{64, 0, data})
	}
	for _, n := range r.numbers() {
		head = append(head, record{80, 0, r.w(n, r.features[n])})
	}
	return append(r.w(r.magic(), 16), r.write(append(head, r.records...))...)
}

// compressed returns the recording as a stream with compressed records, which cut the
// Zstandard stream at arbitrary places.
func (r *recording) compressed(kind uint32) []byte {
	var stream bytes.Buffer
	encoder, _ := zstd.NewWriter(&stream, zstd.WithEncoderConcurrency(1))
	encoder.Write(r.write(r.records))
	encoder.Close()
	outer := *r
	outer.records = nil
	for part := range slices.Chunk(stream.Bytes(), 100) {
		if kind == 83 {
			part = slices.Concat(r.w(len(part)), part, make([]byte, -len(part)&7))
		}
		outer.records = append(outer.records, record{kind, 0, part}, record{68, 0, nil})
	}
	return outer.pipe()
}

// example returns a recording with two events, a kernel, a module, two processes and
// a fork.
func example(o order) *recording {
	r := &recording{order: o}
	flags := []int{freq, sampleIDAll}
	r.events = []event{
		{kind: 0, config: 0, period: 4000, sampleType: sampleType, flags: flags, ids: []uint64{1, 2}},
		{kind: 1, config: 0, period: 4000, sampleType: sampleType, flags: flags, ids: []uint64{3}},
	}
	r.mmap(kernel, 1<<32-1, 0x1000000, 0x10000, 0x1000000, 0, "[kernel.kallsyms]_text")
	r.mmap(kernel, 1<<32-1, 0x2000000, 0x1000, 0, 0, "/lib/mod.ko")
	r.comm(0, 7, 7, 100, "main")
	r.add(10, user, uint32(7), uint32(7), 0x400000, 0x1000, 0x200, make([]byte, 24), uint32(5), uint32(2), "/bin/a", r.id(7, 7, 110, 0, 1))
	r.add(10, 1<<14|user, uint32(7), uint32(7), 0x500000, 0x1000, 0, []byte{4, 0, 0, 0, 0xab, 0xcd, 0xef, 1}, make([]byte, 16),
		uint32(5), uint32(2), "/lib/b.so", r.id(7, 7, 120, 0, 1))
	const inKernel, inUser = ^uint64(127), ^uint64(511)
	r.sample(kernel, 1, 7, 8, 200, 0, inKernel, 0x1000010, 0x2000020, inUser, 0x400030, 0x500041)
	r.sample(user, 3, 7, 7, 300, 1, inUser, 0x400030)
	r.add(7, 0, uint32(9), uint32(7), uint32(9), uint32(7), 400, r.id(7, 7, 400, 0, 1))
	r.sample(user, 2, 9, 9, 500, 1, inUser, 0x400031, 0x999)
	r.comm(1<<13, 9, 9, 600, "other")
	r.sample(user, 2, 9, 9, 700, 1, inUser, 0x400031)
	r.add(2, 0, 1, 42, r.id(7, 7, 800, 1, 1)) // lost
	r.add(4, 0, uint32(9), uint32(7), uint32(9), uint32(7), 900, r.id(9, 9, 900, 0, 1))
	r.add(16, 0, uint32(7), uint32(7), 0, r.id(7, 7, 950, 0, 1)) // namespaces
	r.features = map[int][]byte{
		2:  r.w(uint32(0), uint16(user), uint16(8+4+24+7), ^uint32(0), []byte{1, 2, 3, 4, 5, 6, 7, 8, 9}, make([]byte, 15), "/bin/a"),
		4:  r.text("6.1.0"),
		5:  r.text("6.1"),
		11: r.w(uint32(2), r.text("perf"), r.text("record")),
		12: r.w(uint32(2), uint32(112), r.attr(r.events[0]), uint32(2), r.text("cycles"), 1, 2,
			r.attr(r.events[1]), uint32(1), r.text("cpu-clock"), 3),
	}
	return r
}

func TestRecordings(t *testing.T) {
	for _, o := range []order{binary.LittleEndian, binary.BigEndian} {
		r := example(o)
		for kind, data := range map[string][]byte{
			"file": r.file(), "late": r.late(), "pipe": r.pipe(), "compressed": r.compressed(81), "compressed2": r.compressed(83),
		} {
			t.Run(fmt.Sprint(o, " ", kind), func(t *testing.T) {
				tables := ingesttest.MustRead(t, "perf.data", data)
				tables.Want(t, "stack_profile_mapping", "name|build_id|exact_offset|start|end",
					"[kernel.kallsyms]_text||0|16777216|16842752",
					"/lib/mod.ko||0|33554432|33558528",
					"/bin/a|01020304050607080900000000000000|512|4194304|4198400",
					"/lib/b.so|abcdef01|0|5242880|5246976",
					"||0|0|-1")
				// Outer frames are at the call, not at the return address.
				tables.Want(t, "stack_profile_frame", "mapping|rel_pc",
					"3|64", "2|559", "1|31", "0|16", "2|560", "4|2456", "2|561", "4|4194353")
				tables.Want(t, "stack_profile_callsite", "depth|parent_id|frame_id",
					"0|NULL|0", "1|0|1", "2|1|2", "3|2|3", "0|NULL|4", "0|NULL|5", "1|5|6", "0|NULL|7")
				tables.Want(t, "stack_sample", "ts|source|utid|upid|cpu|cpu_mode|callsite_id|session_id|counter_set_id",
					"200|linux.perf|2|1|0|kernel|3|0|0",
					"300|linux.perf|1|1|1|user|4|1|1",
					"500|linux.perf|3|2|1|user|6|0|2",
					"700|linux.perf|3|2|1|user|7|0|3")
				tables.Want(t, "counter", "ts|value|track_id", "200|100|0", "300|100|1", "500|100|2", "700|200|2")
				tables.Want(t, "perf_counter_track", "name|cpu|classification",
					"cycles|0|perf_cpu_counter", "cpu-clock|1|perf_cpu_counter", "cycles|1|perf_cpu_counter")
				tables.Want(t, "profiler_session", "source|timebase_unit|cmdline",
					"linux.perf|cycles|perf record", "linux.perf|ns|perf record")
				tables.Want(t, "thread", "tid|name|upid", "0|NULL|0", "7|main|1", "8|NULL|1", "9|other|2")
				tables.Want(t, "mmap_record", "ts|upid|mapping_id", "100|NULL|0", "100|NULL|1", "110|1|2", "120|1|3")
				tables.Want(t, "stats", "name|idx|value|description", "perf_cpu_lost_records|1|42|Samples and other records that the kernel lost because perf's buffer was full. A larger buffer or a lower frequency helps.", "perf_unknown_record_type|16|1|namespaces record is not read",
					"perf_features_skipped|5|1|version feature is not read", "perf_dummy_mapping_used|NULL|2|Frames of perf at addresses that no mapping has.")
			})
		}
	}
}

// TestTasksThatAreGone leaves out the ids of tasks that the kernel no longer knows.
func TestTasksThatAreGone(t *testing.T) {
	r := example(binary.LittleEndian)
	r.sample(2, 1, math.MaxUint32, math.MaxUint32, 800, 0, 0x401010)
	r.sample(2, 1, 7, math.MaxUint32, 900, 0, 0x401010)
	tables := ingesttest.MustRead(t, "perf.data", r.file())
	tables.Want(t, "stack_sample", "ts|utid|upid",
		"200|2|1", "300|1|1", "500|3|2", "700|3|2", "800|NULL|NULL", "900|NULL|1")
	tables.Want(t, "thread", "tid", "0", "7", "8", "9")
}

// TestEventsWithoutDescription names events as perf does when the recording does not.
func TestEventsWithoutDescription(t *testing.T) {
	r := example(binary.LittleEndian)
	delete(r.features, 12)
	r.features[2] = nil // an empty section has nothing to read
	r.events[1].kind, r.events[1].config = 4, 0x1a8
	tables := ingesttest.MustRead(t, "perf.data", r.file())
	tables.Want(t, "perf_counter_track", "name|cpu", "cycles|0", "type 4 config 0x1a8|1", "cycles|1")
	tables.Want(t, "stats", "name|idx", "perf_cpu_lost_records|1", "perf_unknown_record_type|16", "perf_features_skipped|5", "perf_dummy_mapping_used|NULL")
}

func TestCountersThatAreReadTogether(t *testing.T) {
	r := &recording{order: binary.LittleEndian}
	const ip, tid, time, read, identifier = 1, 2, 4, 16, 1 << 16
	for id := range uint64(2) {
		r.events = append(r.events, event{sampleType: ip | tid | time | read | identifier, readFormat: 1<<0 | 1<<2 | 1<<3,
			period: 1<<62 - 1 + id, ids: []uint64{id + 1, id + 3}})
	}
	r.add(9, user, 1, 0x10, uint32(7), uint32(7), 100, 2 /* counters */, 5, 11, 1, 22, 2)
	r.add(9, user, 3, 0x10, uint32(7), uint32(7), 150, 2, 5, 4, 3, 5, 4) // on another CPU, which began later
	r.add(9, user, 1, 0x10, uint32(7), uint32(7), 160, 2, 5, 21, 1, 20, 2)
	r.add(9, user, 1, 0x10, uint32(7), uint32(7), 200, 1, 5, 33, 9) // of an unknown event
	r.add(9, user, 1, 0x10, uint32(7), uint32(7), 300, 1<<60, 5)    // a huge count of frames
	tables := ingesttest.MustRead(t, "perf.data", r.file())
	tables.Want(t, "counter", "ts|value|track_id", "100|11|0", "100|22|1", "150|15|0", "150|27|1", "160|25|0", "160|25|1")
	tables.Want(t, "track", "classification", "perf_global_counter", "perf_global_counter")
	tables.Want(t, "profiler_counter_set", "counter_set_id|counter_id", "0|0", "0|1", "2|2", "2|3", "4|4", "4|5")
	tables.Want(t, "stack_sample", "ts|callsite_id", "100|0", "150|0", "160|0")
	tables.Want(t, "args", "flat_key|int_value", "reason|NULL",
		"perf_session_id|0", "name|NULL", "is_timebase|1", "perf_session_id|1", "name|NULL", "is_timebase|0")
	tables.Want(t, "stats", "name|idx|value", "perf_record_skipped|9|2", "perf_dummy_mapping_used|NULL|4")
}

func TestClocks(t *testing.T) {
	for clock, want := range map[uint32]string{0: "1", 1: "3", 4: "5", 7: "6"} {
		r := &recording{order: binary.LittleEndian}
		r.events = []event{{sampleType: sampleType, period: 1, flags: []int{useClockID}, clock: clock}}
		r.sample(user, 0, 7, 7, 5000, 0, 0x10)
		const wall = 1_700_000_000_000_000_000
		r.features = map[int][]byte{29: r.w(uint32(1), clock, wall, 4000)}
		tables := ingesttest.MustRead(t, "perf.data", r.file())
		tables.Want(t, "stack_sample", "ts", "5000")
		if stats := tables.Rows("stats", "name"); slices.Contains(stats, "perf_features_skipped") {
			t.Error(stats)
		}
		if clock == 0 {
			tables.Want(t, "clock_snapshot", "ts")
		} else {
			tables.Want(t, "clock_snapshot", "ts|clock_id|clock_value", "4000|"+want+"|4000", fmt.Sprint("4000|1|", wall))
		}
		if got := tables.Rows("metadata", "name", "int_value"); !slices.Contains(got, "trace_time_clock_id|"+want) {
			t.Errorf("clock %d: %v", clock, got)
		}
	}
}

// A mapping without a time is older than all samples, also those before the first record with a time. Its
// clock is perf's, so the unrelated default clock of the format loses nothing and is not counted.
func TestMappingsWithoutTime(t *testing.T) {
	r := &recording{order: binary.LittleEndian}
	r.events = []event{{sampleType: sampleType, period: 1, flags: []int{sampleIDAll}, ids: []uint64{1}}}
	r.mmap(user, 7, 0x400000, 0x1000, 0, 0, "/bin/a")
	r.sample(user, 1, 7, 7, 500, 0, 0x400010)
	r.sample(user, 1, 7, 7, 300, 1, 0x400020)
	tables := ingesttest.MustRead(t, "perf.data", r.file())
	tables.Want(t, "stack_profile_mapping", "name", "/bin/a")
	tables.Want(t, "stack_profile_frame", "mapping|rel_pc", "0|32", "0|16")
	tables.Want(t, "stack_sample", "ts", "300", "500")
	tables.Want(t, "stats", "name")
}

// TestMappingsOfOldKernels reads the paths of mappings without protection and flags, as kernels before 3.16 write them. simpleperf
// sets a bit of its own in the protection.
func TestMappingsOfOldKernels(t *testing.T) {
	for _, o := range []order{binary.LittleEndian, binary.BigEndian} {
		r := &recording{order: o}
		r.events = []event{{sampleType: sampleType, period: 1, flags: []int{sampleIDAll}, ids: []uint64{1}}}
		r.add(10, user, uint32(7), uint32(7), 0x400000, 0x1000, 0, make([]byte, 24), "/usr/lib64/ld-2.17.so", r.id(7, 7, 100, 0, 1))
		r.add(10, user, uint32(7), uint32(7), 0x500000, 0x1000, 0, make([]byte, 24), "//anon", r.id(7, 7, 100, 0, 1))
		r.add(10, user, uint32(7), uint32(7), 0x600000, 0x1000, 0, make([]byte, 24), uint32(0x4000), uint32(0), "jit", r.id(7, 7, 100, 0, 1))
		r.sample(user, 1, 7, 7, 200, 0, 0x400010, 0x500020, 0x600030)
		tables := ingesttest.MustRead(t, "perf.data", r.file())
		tables.Want(t, "stack_profile_mapping", "name", "/usr/lib64/ld-2.17.so", "//anon", "jit")
		tables.Want(t, "stats", "name")
	}
}

// aux returns a recording of a CPU's tracing unit.
func aux(kind uint32) *recording {
	r := &recording{order: binary.LittleEndian}
	r.events = []event{{kind: 8, sampleType: sampleType, period: 1, flags: []int{sampleIDAll}, ids: []uint64{1}}}
	r.mmap(user, 7, 0x400000, 0x1000, 0, 10, "/bin/a")
	r.comm(0, 7, 7, 20, "main")
	r.add(70, 0, kind, uint32(0))
	r.add(79, 0, 1 /* shift */, 4 /* mult */, 1000 /* zero */)
	return r
}

func TestSPE(t *testing.T) {
	r := aux(4)
	record := slices.Concat(
		[]byte{0xb0}, r.w(0x400123), // instruction, EL0
		[]byte{0xb2}, r.w(0x7000), // data
		[]byte{0x98, 9, 0, 0x99, 4, 0}, // latencies
		[]byte{0x65}, r.w(uint32(7)),   // thread
		[]byte{0x49, 1},    // store
		[]byte{0x43, 8},    // from L2
		[]byte{0x52, 6, 0}, // events
	)
	timed := slices.Concat(record, []byte{0x71}, r.w(50))
	data := slices.Concat(timed, record, []byte{0x01}, timed[:9])
	r.add(11, 0, 0, len(data), 2 /* overwrite */, r.id(7, 7, 1500, 3, 1))
	r.add(71, 0, len(data), 0, 0, uint32(0), uint32(0), uint32(3), uint32(0))
	file := bytes.Replace(r.pipe(), r.write(r.records[5:]), slices.Concat(r.write(r.records[5:]), data), 1)
	tables := ingesttest.MustRead(t, "perf.data", file)
	tables.Want(t, "spe_record", "ts|utid|exception_level|instruction_frame_id|operation|data_virtual_address|total_latency|issue_latency|events_bitmask|data_source",
		"1100|1|EL0|0|STORE|28672|9|4|6|L2", "1500|1|EL0|0|STORE|28672|9|4|6|L2")
	tables.Want(t, "stack_profile_frame", "mapping|rel_pc", "0|291")
	tables.Want(t, "stats", "name|value", "spe_no_timestamp|1")
}

func TestOtherAuxDataAreCounted(t *testing.T) {
	r := aux(3)
	r.add(11, 0, 0, 16, 1, r.id(7, 7, 1500, 3, 1))
	r.add(71, 0, 16, 0, 0, uint32(0), uint32(0), uint32(3), uint32(0))
	tables := ingesttest.MustRead(t, "perf.data", append(r.pipe(), make([]byte, 16)...))
	tables.Want(t, "stats", "name|value", "perf_aux_ignored|16", "perf_aux_truncated|1")
}

// TestDeferredCallers joins the frames in the kernel with the callers in user code that a later record has: of all samples of
// the thread with its cookie, and of no other.
func TestDeferredCallers(t *testing.T) {
	const inKernel, inUser, deferred, cookie = ^uint64(127), ^uint64(511), ^uint64(639), 0x4444
	for _, o := range []order{binary.LittleEndian, binary.BigEndian} {
		r := &recording{order: o}
		r.events = []event{{period: 1, sampleType: sampleType, flags: []int{sampleIDAll}, ids: []uint64{1}}}
		r.mmap(kernel, 1<<32-1, 0x1000000, 0x10000, 0x1000000, 10, "[kernel.kallsyms]_text")
		r.mmap(user, 7, 0x400000, 0x1000, 0, 20, "/bin/a")
		sample := func(misc uint16, tid uint32, time int, ip uint64, chain ...uint64) {
			r.add(9, misc, 1, ip, uint32(7), tid, time, uint32(0), uint32(0), 100, len(chain), r.w(anys(chain)...))
		}
		sample(kernel, 7, 100, 0x1000010, inKernel, 0x1000010, deferred, cookie)
		sample(kernel, 8, 110, 0x1000010, inKernel, 0x1000010, deferred, cookie) // of another thread
		sample(user, 7, 120, 0x400030, deferred, cookie)
		sample(kernel, 9, 130, 0x1000010, inKernel, 0x1000010, deferred, cookie+1)
		sample(user, 9, 140, 0x400030, deferred, cookie+1)
		r.add(22, user, cookie, 3, inUser, uint64(0x400030), uint64(0x400041), r.id(7, 7, 200, 1, 1))
		r.add(22, user, cookie+2, 2, inUser, uint64(0x400050), r.id(7, 9, 210, 1, 1))
		tables := ingesttest.MustRead(t, "perf.data", r.file())
		tables.Want(t, "stack_sample", "ts|callsite_id", "100|4", "110|0", "120|5", "130|0", "140|1")
		tables.Want(t, "stack_profile_callsite", "depth|parent_id|frame_id", "0|NULL|0", "0|NULL|1", "0|NULL|2", "1|2|3", "2|3|0", "1|2|1")
		tables.Want(t, "stack_profile_frame", "mapping|rel_pc", "0|16", "1|48", "1|64", "1|47")
		tables.Want(t, "stats", "name")
	}
}

func anys(numbers []uint64) (all []any) {
	for _, n := range numbers {
		all = append(all, n)
	}
	return all
}

// TestForks names threads and processes after their parents until they get names of their own.
func TestForks(t *testing.T) {
	r := &recording{order: binary.LittleEndian}
	r.events = []event{{period: 1, sampleType: sampleType, flags: []int{sampleIDAll}, ids: []uint64{1}}}
	fork := func(pid, parent, tid, parentThread uint32, time int) {
		r.add(7, 0, pid, parent, tid, parentThread, time, r.id(pid, tid, time, 0, 1))
	}
	r.comm(0, 7, 7, 100, "main")
	fork(7, 7, 8, 7, 200)
	fork(9, 7, 9, 8, 300) // by the thread 8, which no other record mentions yet
	fork(7, 7, 10, 7, 400)
	r.comm(0, 7, 10, 450, "own")
	fork(11, 6, 11, 6, 500) // of an unknown parent
	for tid, pid := range map[uint32]uint32{7: 7, 8: 7, 9: 9, 10: 7, 11: 11} {
		r.sample(user, 1, pid, tid, 500+int(tid), 0, 0x10)
	}
	tables := ingesttest.MustRead(t, "perf.data", r.file())
	tables.Want(t, "thread", "tid|name", "0|NULL", "7|main", "10|own", "8|main", "9|main", "11|NULL")
	tables.Want(t, "process", "pid|name", "0|NULL", "7|main", "9|main", "11|NULL")
}

// TestLives checks the times of threads and processes, and that a thread whose tid was another's before is one of its own.
func TestLives(t *testing.T) {
	r := &recording{order: binary.LittleEndian}
	r.events = []event{{period: 1, sampleType: sampleType, flags: []int{sampleIDAll}, ids: []uint64{1}}}
	task := func(kind, misc uint32, pid, parent, tid uint32, time int) {
		r.add(kind, uint16(misc), pid, parent, tid, parent, time, r.id(pid, tid, time, 0, 1))
	}
	const fork, exit, before = 7, 4, 1 << 13
	task(fork, before, 5, 7, 5, 0)
	r.comm(0, 5, 5, 0, "old")
	r.comm(0, 7, 7, 0, "shell")
	r.comm(0, 15, 15, 0, "listed") // after it had begun
	task(fork, 0, 9, 7, 9, 100)
	task(fork, 0, 9, 7, 9, 100) // of another event
	task(fork, 0, 9, 9, 10, 150)
	r.sample(user, 1, 9, 10, 160, 0, 0x10)
	task(exit, 0, 9, 7, 9, 200)
	r.sample(user, 1, 9, 9, 205, 0, 0x10) // on its way out
	task(exit, 0, 9, 9, 10, 210)
	task(fork, 0, 9, 7, 9, 300) // another process
	task(fork, 0, 9, 9, 10, 310)
	r.sample(user, 1, 9, 10, 320, 0, 0x10)
	task(exit, 0, 9, 9, 10, 330)
	task(fork, 0, 12, 9, 12, 340) // never sampled
	task(exit, 0, 12, 9, 12, 350)
	task(fork, 0, 13, 9, 13, 360) // nor its parent
	task(fork, 0, 14, 13, 14, 370)
	r.sample(user, 1, 14, 14, 380, 0, 0x10)
	task(fork, 0, 15, 7, 15, 390)
	task(exit, 0, 15, 7, 15, 400)
	tables := ingesttest.MustRead(t, "perf.data", r.file())
	tables.Want(t, "thread", "utid|tid|upid|start_ts|end_ts", "0|0|0|NULL|NULL", "1|5|1|NULL|NULL", "2|7|2|NULL|NULL", "3|15|3|390|400",
		"4|9|4|100|200", "5|10|4|150|210", "6|9|5|300|NULL", "7|10|5|310|330", "8|13|6|360|NULL", "9|14|7|370|NULL")
	tables.Want(t, "process", "upid|pid|name|parent_upid|start_ts|end_ts", "0|0|NULL|NULL|NULL|NULL", "1|5|old|2|NULL|NULL", "2|7|shell|NULL|NULL|NULL",
		"3|15|listed|2|390|400", "4|9|shell|2|100|210", "5|9|shell|2|300|NULL", "6|13|shell|5|360|NULL", "7|14|shell|6|370|NULL")
	tables.Want(t, "stack_sample", "ts|utid", "160|5", "205|4", "320|7", "380|9")
}

// TestSamplesWithoutTime adds up samples that have no place on the timeline.
func TestSamplesWithoutTime(t *testing.T) {
	const ip, tid, callchain, period, identifier = 1, 2, 1 << 5, 1 << 8, 1 << 16
	r := &recording{order: binary.LittleEndian}
	r.events = []event{
		{kind: 1, period: 4000, sampleType: ip | tid | callchain | period | identifier, flags: []int{freq, sampleIDAll}, ids: []uint64{1}},
		{kind: 1, config: 2, period: 3, sampleType: ip | tid | callchain | identifier, flags: []int{sampleIDAll}, ids: []uint64{2}},
		{kind: 1, config: 3, period: 99, sampleType: ip | tid | callchain | identifier, flags: []int{freq, sampleIDAll}, ids: []uint64{3}},
	}
	r.add(1, user, uint32(7), uint32(7), 0x400000, 0x1000, 0, "/bin/a", uint32(7), uint32(7), 1)
	r.add(9, user, 1, 0x400010, uint32(7), uint32(7), 50, 1, uint64(0x400010))
	r.add(9, user, 1, 0x400020, uint32(7), uint32(8), 70, 1, uint64(0x400020))
	r.add(9, user, 1, 0x400010, uint32(7), uint32(8), 60, 1, uint64(0x400010))
	r.add(9, user, 2, 0x400010, uint32(7), uint32(7), 1, uint64(0x400010))
	r.add(9, user, 3, 0x400010, uint32(7), uint32(7), 1, uint64(0x400010)) // of an unknown period
	tables := ingesttest.MustRead(t, "perf.data", r.file())
	tables.Want(t, "stack_sample", "ts")
	tables.Want(t, "aggregate_profile", "scope|name|sample_type_unit|is_default", "perf.data|cpu-clock|nanoseconds|true", "perf.data|page-faults|count|false")
	tables.Want(t, "aggregate_sample", "aggregate_profile_id|callsite_id|value", "0|0|110", "0|1|70", "1|0|3")
	tables.Want(t, "stats", "name|value|description", "perf_record_skipped|1|Records of perf that cannot be read, by type.",
		"unread_fact|5|samples without a time are only in the profile of all threads")
}

// TestGuests looks for the addresses of a virtual machine in its own kernel's mappings, never in the host's.
func TestGuests(t *testing.T) {
	const guestKernel, guestUser = 4, 5
	r := &recording{order: binary.LittleEndian}
	r.events = []event{{period: 1, sampleType: sampleType, flags: []int{sampleIDAll}, ids: []uint64{1}}}
	r.mmap(kernel, 1<<32-1, 0x1000000, 0x10000, 0x1000000, 10, "[kernel.kallsyms]_text")
	r.mmap(user, 7, 0x400000, 0x1000, 0, 20, "/bin/qemu")
	r.sample(guestKernel, 1, 7, 7, 100, 0, 0x1000010)
	r.mmap(guestKernel, 0, 0x1000000, 0x10000, 0x1000000, 110, "[guest.kernel.kallsyms]_text")
	r.sample(kernel, 1, 7, 7, 120, 0, 0x1000010)
	r.sample(guestKernel, 1, 7, 7, 130, 0, 0x1000010)
	r.mmap(guestKernel, 7, 0x1000000, 0x10000, 0x1000000, 140, "[guest.kernel.kallsyms.7]_text")
	r.sample(guestKernel, 1, 7, 7, 150, 0, 0x1000010)
	r.sample(guestUser, 1, 7, 7, 160, 0, 0x400010)
	r.sample(user, 1, 7, 7, 170, 0, 0x400010)
	tables := ingesttest.MustRead(t, "perf.data", r.file())
	tables.Want(t, "stack_profile_mapping", "name", "[kernel.kallsyms]_text", "/bin/qemu", "",
		"[guest.kernel.kallsyms]_text", "[guest.kernel.kallsyms.7]_text")
	tables.Want(t, "stack_sample", "ts|cpu_mode|callsite_id", "100|guest_kernel|0", "120|kernel|1", "130|guest_kernel|2",
		"150|guest_kernel|3", "160|guest_user|4", "170|user|5")
	tables.Want(t, "stack_profile_frame", "mapping|rel_pc", "2|16777232", "0|16", "3|16", "4|16", "2|4194320", "1|16")
}

// TestKernelSymbols names the functions that the kernel made while it ran, such as programs of BPF.
func TestKernelSymbols(t *testing.T) {
	const address = 0xffffffffc0001000
	for _, o := range []order{binary.LittleEndian, binary.BigEndian} {
		r := &recording{order: o}
		r.events = []event{{period: 1, sampleType: sampleType, flags: []int{sampleIDAll}, ids: []uint64{1}}}
		r.mmap(kernel, 1<<32-1, 0x1000000, 0x10000, 0x1000000, 10, "[kernel.kallsyms]_text")
		r.add(17, 0, uint64(address), uint32(0x40), uint16(1), uint16(0), "bpf_prog_1234_count", r.id(0, 0, 20, 0, 1))
		r.sample(kernel, 1, 7, 7, 100, 0, address+0x3f)
		r.sample(kernel, 1, 7, 7, 110, 0, address+0x40)
		r.add(17, 0, uint64(address), uint32(0x40), uint16(1), uint16(1), "bpf_prog_1234_count", r.id(0, 0, 200, 0, 1))
		tables := ingesttest.MustRead(t, "perf.data", r.file())
		tables.Want(t, "stack_profile_frame", "name", "bpf_prog_1234_count", "")
		tables.Want(t, "stats", "name|value", "perf_dummy_mapping_used|2")
	}
}

// TestMissingMappings counts the processes whose mappings perf had no time to read.
func TestMissingMappings(t *testing.T) {
	r := example(binary.LittleEndian)
	r.add(10, 1<<12|user, uint32(7), uint32(7), 0x600000, 0x1000, 0, make([]byte, 24), uint32(5), uint32(2), "/lib/c.so", r.id(7, 7, 130, 0, 1))
	tables := ingesttest.MustRead(t, "perf.data", r.file())
	if stats := tables.Rows("stats", "name", "value", "description"); !slices.Contains(stats, "unread_fact|1|process lacks mappings: perf record --proc-map-timeout MS") {
		t.Error(stats)
	}
}

// TestFilteredSamples does not count what the user's own filter left out as lost.
func TestFilteredSamples(t *testing.T) {
	r := &recording{order: binary.LittleEndian}
	r.events = []event{{period: 1, sampleType: sampleType, flags: []int{sampleIDAll}, ids: []uint64{1}}}
	r.sample(user, 1, 7, 7, 100, 0, 0x10)
	r.add(13, 1<<15, 40, r.id(7, 7, 200, 1, 1))
	r.add(13, 0, 2, r.id(7, 7, 200, 1, 1))
	tables := ingesttest.MustRead(t, "perf.data", r.file())
	tables.Want(t, "stats", "name|idx|value", "perf_cpu_lost_records|1|2", "perf_dummy_mapping_used|NULL|1")
}

// TestCoresOfSeveralKinds knows the unit of an event whose config says on which kind of core it counts.
func TestCoresOfSeveralKinds(t *testing.T) {
	r := &recording{order: binary.LittleEndian}
	r.events = []event{{config: 4 << 32, period: 1, sampleType: sampleType, ids: []uint64{1}},
		{config: 8<<32 | 1, period: 1, sampleType: sampleType, ids: []uint64{2}}}
	tables := ingesttest.MustRead(t, "perf.data", r.file())
	tables.Want(t, "profiler_session", "timebase_unit", "cycles", "instructions")
}

func TestRecordedFiles(t *testing.T) {
	data, err := os.ReadFile("../../testdata/perf.data")
	if err != nil {
		t.Fatal(err)
	}
	tables := ingesttest.MustRead(t, "perf.data", data)
	samples := len(tables.Rows("stack_sample", "ts"))
	if samples == 0 || len(tables.Rows("counter", "ts")) != samples {
		t.Errorf("%d samples", samples)
	}
	piped, err := os.ReadFile("../../testdata/perf.pipe.data")
	if err != nil {
		t.Fatal(err)
	}
	// perf inject wrote the same recording as a stream.
	other := ingesttest.MustRead(t, "perf.data", piped)
	for table, columns := range map[string]string{
		"stack_sample": "ts|utid|callsite_id|cpu_mode", "stack_profile_frame": "mapping|rel_pc", "counter": "ts|value", "thread": "tid|name",
	} {
		other.Want(t, table, columns, tables.Rows(table, strings.Split(columns, "|")...)...)
	}
}

func TestCutRecordings(t *testing.T) {
	r := example(binary.LittleEndian)
	for kind, data := range map[string][]byte{"file": r.file(), "pipe": r.pipe(), "compressed": r.compressed(81)} {
		for n := 8; n < len(data); n += 37 {
			tables, err := ingesttest.Read(t, ingesttest.File{Name: "cut", Reader: bytes.NewReader(data[:n])})
			if err != nil && !format.BadInput(err) {
				t.Fatalf("%s of %d bytes: %v", kind, n, err)
			}
			if kind == "file" && err == nil && !slices.Contains(tables.Rows("stats", "name"), "truncated_input") {
				t.Errorf("%s of %d bytes: the cut is not counted", kind, n)
			}
		}
	}
}

func TestBadRecordings(t *testing.T) {
	r := example(binary.LittleEndian)
	file := r.file()
	change := func(at int, b ...byte) []byte {
		changed := slices.Clone(file)
		copy(changed[at:], b)
		return changed
	}
	for name, data := range map[string][]byte{
		"size of the header": change(8, 1),
		"size of an event":   change(16, 1),
		"events at":          change(24, 255, 255, 255),
		"no events":          change(32, 0, 0),
		"records at":         change(40, 255, 255, 255, 255, 255),
		"size of records":    change(48, 255, 255, 255, 255, 255, 255, 255, 127),
		"ids at":             change(104+112, 255, 255),
		"old":                change(0, []byte("PERFFILE")...),
	} {
		_, err := ingesttest.Read(t, ingesttest.File{Name: "x", Reader: bytes.NewReader(data)})
		if !format.BadInput(err) || !strings.Contains(err.Error(), "x (perf.data) at byte ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A record with an invalid size ends the records, but not the features.
	first := bytes.Index(file, []byte("other\x00")) - 16
	tables := ingesttest.MustRead(t, "x", change(first+6, 3, 0))
	tables.Want(t, "stack_sample", "ts", "200", "300", "500")
	tables.Want(t, "import_log", "name|byte_offset", fmt.Sprintf("perf_record_skipped|%d", first), fmt.Sprintf("perf_features_skipped|%d", bytes.Index(file, r.features[5])))
}

func FuzzPerfData(f *testing.F) {
	for _, o := range []order{binary.LittleEndian, binary.BigEndian} {
		r := example(o)
		f.Add(r.file())
		f.Add(r.pipe())
		f.Add(r.compressed(81))
	}
	f.Add(aux(4).file())
	f.Add(scheduling(binary.LittleEndian).all().file())
	f.Add(scheduling(binary.BigEndian).all().stream())
	fuzz.Run(f, func(t *testing.T, data []byte) {
		if detected := ingest.Detect(data); detected == nil || detected.Name != "perf" {
			return
		}
		_, err := ingesttest.Read(t, ingesttest.File{Name: "fuzz", Reader: bytes.NewReader(data)})
		if err != nil && !format.BadInput(err) {
			t.Fatal(err)
		}
	})
}
