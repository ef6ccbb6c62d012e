package perfdata_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
)

// The numbers of tracepoints' formats.
const (
	idSwitch = 300 + iota
	idEnter
	idNewTask
	idIRQ
	idOwnSwitch
)

// description returns a format of tracefs. A field is declaration|offset|size|signed.
func description(name string, id int, fields ...string) []byte {
	text := fmt.Sprintf("name: %s\nID: %d\nformat:\n", name, id)
	for _, f := range append([]string{"unsigned short common_type|0|2|0", "unsigned char common_flags|2|1|0", "int common_pid|4|4|1"}, fields...) {
		words := strings.Split(f, "|")
		text += fmt.Sprintf("\tfield:%s;\toffset:%s;\tsize:%s;\tsigned:%s;\n", words[0], words[1], words[2], words[3])
	}
	return []byte(text + "\nprint fmt: \"\"\n")
}

// tracingData returns the descriptions of tracepoints as perf copies them.
func (r *recording) tracingData() []byte {
	endian := byte(0)
	if r.order.String() == "BigEndian" {
		endian = 1
	}
	long := func(b []byte) []byte { return r.w(len(b), b) }
	formats := [][]byte{
		description("sched_switch", idSwitch, "char prev_comm[16]|8|16|1", "pid_t prev_pid|24|4|1", "int prev_prio|28|4|1", "long prev_state|32|8|1",
			"char next_comm[16]|40|16|1", "pid_t next_pid|56|4|1", "int next_prio|60|4|1"),
		description("sys_enter", idEnter, "long id|8|8|1", "unsigned long args[6]|16|48|0", "u32 more|64|4|0"),
		description("task_newtask", idNewTask, "pid_t pid|8|4|1", "char comm[16]|12|16|1", "unsigned long clone_flags|32|8|0"),
		description("irq_handler_exit", idIRQ, "int irq|8|4|1", "u16 ret[2]|12|4|0"),
		description("sched_switch", idOwnSwitch, "char prev_comm[16]|8|16|1", "pid_t prev_pid|24|4|1", "int prev_prio|28|4|1", "long prev_state|32|8|1",
			"char next_comm[16]|40|16|1", "pid_t next_pid|56|4|1", "int next_prio|60|4|1", "u8 flags[2]|64|2|0", "s16 reason|66|2|1",
			"__data_loc unsigned long[] waits|68|4|0", "__data_loc cpumask_t mask|72|4|0"),
	}
	b := r.w([]byte("\x17\x08\x44tracing"), "0.6", []byte{endian, 8}, uint32(4096),
		"header_page", long(nil), "header_event", long(nil), uint32(0), uint32(1), "all", uint32(len(formats)))
	for _, f := range formats {
		b = r.w(b, long(f))
	}
	return r.w(b, uint32(0), uint32(0), long([]byte("11 app\n")))
}

// tracepoint adds a sample of an event, with the event's fields behind the common ones.
func (r *recording) tracepoint(event int, id uint16, tid, time, cpu int, fields ...any) {
	record := r.w(append([]any{id, uint16(0), uint32(tid)}, fields...)...)
	record = append(record, make([]byte, 4-len(record)%8&7)...)
	pid := map[int]uint32{0: 0, 11: 10, 12: 12}[tid]
	r.add(9, kernel, event, 0x1000010, pid, uint32(tid), time, uint32(cpu), uint32(0), 1, 0, uint32(len(record)), record)
}

func comm(name string) []byte { return append([]byte(name), make([]byte, 16-len(name))...) }

// switched adds a switch between threads.
func (r *recording) switched(event, time, cpu int, prev string, tid, state int, next string, nextTID int) {
	r.tracepoint(event, idSwitch, tid, time, cpu, comm(prev), uint32(tid), uint32(120), state, comm(next), uint32(nextTID), uint32(120))
}

// scheduling returns a recording of switches and a system call.
func scheduling(o order) *recording {
	r := &recording{order: o}
	r.events = []event{
		{kind: 2, config: idSwitch, period: 1, sampleType: sampleType | 1<<10, flags: []int{sampleIDAll}, ids: []uint64{1}},
		{kind: 2, config: idEnter, period: 1, sampleType: sampleType | 1<<10, flags: []int{sampleIDAll}, ids: []uint64{2}},
	}
	r.comm(0, 10, 11, 0, "app")
	r.switched(1, 100, 0, "swapper/0", 0, 0, "app", 11)
	r.tracepoint(2, idEnter, 11, 150, 0, 0, 3, 4, 5, 6, 7, 8, uint32(77)) // read
	r.switched(1, 200, 0, "app", 11, 1, "worker", 12)
	r.switched(1, 300, 0, "worker", 12, 2, "swapper/0", 0)
	r.features = map[int][]byte{1: r.tracingData()}
	return r
}

// all adds the record that says that the threads of the whole machine were recorded.
func (r *recording) all() *recording {
	r.records = slices.Insert(r.records, 0, record{73, 0, r.w(1, ^uint64(0), comm(""))})
	return r
}

// stream returns the recording as a stream, in which the descriptions are behind a record.
func (r *recording) stream() []byte {
	data := r.features[1]
	r.features = nil
	head := record{66, 0, r.w(uint32(len(data)), uint32(0))}
	b := r.pipe()
	at := len(b) - len(r.write(r.records))
	return slices.Concat(b[:at], r.write([]record{head}), data, make([]byte, -len(data)&7), b[at:])
}

const switches = "ts|cpu|name"

var switchRows = []string{"100|0|sched_switch", "150|0|sys_enter", "200|0|sched_switch", "300|0|sched_switch"}

func TestTracepoints(t *testing.T) {
	for _, o := range []order{binary.LittleEndian, binary.BigEndian} {
		for kind, data := range map[string][]byte{"file": scheduling(o).all().file(), "stream": scheduling(o).all().stream()} {
			t.Run(fmt.Sprint(o, " ", kind), func(t *testing.T) {
				tables := ingesttest.MustRead(t, "perf.data", data)
				tables.Want(t, "ftrace_event", switches, switchRows...)
				tables.Want(t, "sched_slice", "ts|dur|cpu|utid|end_state|priority", "100|100|0|2|S|120", "200|100|0|3|D|120", "300|-1|0|0|NULL|120")
				tables.Want(t, "thread", "tid|name|upid", "0|swapper|0", "10|NULL|1", "11|app|1", "12|worker|2")
				args := tables.Rows("args", "key", "int_value")
				for _, want := range []string{"args[0]|3", "args[5]|8", "more|77"} { // which Perfetto's message does not have
					if !slices.Contains(args, want) {
						t.Errorf("%s is missing in %q", want, args)
					}
				}
				tables.Want(t, "stack_sample", "ts", "100", "150", "200", "300")
				tables.Want(t, "stats", "name", "perf_dummy_mapping_used")
			})
		}
	}
}

// TestTracepointsOfSomeThreads reads a recording of one process: what ran at other times is unknown.
func TestTracepointsOfSomeThreads(t *testing.T) {
	tables := ingesttest.MustRead(t, "perf.data", scheduling(binary.LittleEndian).file())
	tables.Want(t, "ftrace_event", switches, switchRows...)
	tables.Want(t, "sched_slice", "ts")
	tables.Want(t, "thread_state", "ts")
}

// TestSampledTracepoints reads events of which only every third was recorded.
func TestSampledTracepoints(t *testing.T) {
	r := scheduling(binary.LittleEndian).all()
	for i := range r.events {
		r.events[i].period = 3
	}
	tables := ingesttest.MustRead(t, "perf.data", r.file())
	tables.Want(t, "ftrace_event", switches, switchRows...)
	tables.Want(t, "sched_slice", "ts")
	tables.Want(t, "slice", "ts")
}

// TestTracepointsWithoutDescription counts events whose fields nobody describes.
func TestTracepointsWithoutDescription(t *testing.T) {
	r := scheduling(binary.LittleEndian).all()
	r.features = nil
	tables := ingesttest.MustRead(t, "perf.data", r.file())
	tables.Want(t, "ftrace_event", "ts")
	tables.Want(t, "stack_sample", "ts", "100", "150", "200", "300")
	tables.Want(t, "stats", "name|value|description", "perf_dummy_mapping_used|4|Frames of perf at addresses that no mapping has.",
		"unread_fact|4|PERF_SAMPLE_RAW fields are not read")
}

// TestDamagedDescriptions counts descriptions that are cut off.
func TestDamagedDescriptions(t *testing.T) {
	r := scheduling(binary.LittleEndian).all()
	r.features[1] = r.features[1][:200]
	tables := ingesttest.MustRead(t, "perf.data", r.file())
	tables.Want(t, "ftrace_event", "ts")
	stats := tables.Rows("stats", "name", "value", "description")
	if !slices.Contains(stats, "unread_fact|4|PERF_SAMPLE_RAW fields are not read") || len(stats) != 3 {
		t.Errorf("%q", stats)
	}
}

// TestArrays reads an array where Perfetto's message has a number.
func TestArrays(t *testing.T) {
	r := scheduling(binary.LittleEndian).all()
	r.events[1].config = idIRQ
	r.records = r.records[:2]
	r.tracepoint(2, idIRQ, 11, 100, 0, uint32(7), uint16(8), uint16(9))
	args := ingesttest.MustRead(t, "perf.data", r.file()).Rows("args", "key", "int_value")
	for _, want := range []string{"irq|7", "ret[0]|8", "ret[1]|9"} {
		if !slices.Contains(args, want) {
			t.Errorf("%s is missing in %q", want, args)
		}
	}
}

// TestOwnFieldsOfSwitches reads fields of switches that only some kernels have, in recordings of all threads and of some.
func TestOwnFieldsOfSwitches(t *testing.T) {
	for _, o := range []order{binary.LittleEndian, binary.BigEndian} {
		for _, all := range []bool{true, false} {
			r := scheduling(o)
			if all {
				r = r.all()
			}
			r.events[0].config = idOwnSwitch
			r.records = slices.DeleteFunc(r.records, func(r record) bool { return r.kind == 9 })
			own := func(time int, waits uint32) {
				r.tracepoint(1, idOwnSwitch, 11, time, 0, comm("app"), uint32(11), uint32(120), 1, comm("worker"), uint32(12), uint32(100), []byte{3, 4},
					uint16(1<<16-2), waits, uint32(0), 5, 6)
			}
			own(100, 16<<16|76)
			own(200, 16<<16|100) // beyond the end
			own(300, 12<<16|76)  // one and a half
			tables := ingesttest.MustRead(t, "perf.data", r.file())
			tables.Want(t, "ftrace_event", switches, "100|0|sched_switch")
			args := strings.Join(tables.Rows("args", "key", "int_value"), " ")
			if want := "next_pid|12 next_prio|100 flags[0]|3 flags[1]|4 reason|-2 waits[0]|5 waits[1]|6"; !strings.Contains(args, want) {
				t.Errorf("%s is not among %s", want, args)
			}
			tables.Want(t, "stats", "name|value|description", "perf_record_skipped|2|Records of perf that cannot be read, by type.",
				"perf_dummy_mapping_used|3|Frames of perf at addresses that no mapping has.", "unread_fact|1|field mask of format sched_switch is not read")
		}
	}
}

// TestNewTasks takes the threads of a process from perf's own records.
func TestNewTasks(t *testing.T) {
	r := scheduling(binary.LittleEndian).all()
	r.events[1].config = idNewTask
	r.records = r.records[:2]
	r.tracepoint(2, idNewTask, 11, 100, 0, uint32(13), comm("app"), uint32(0), 0x10000)
	r.add(7, 0, uint32(10), uint32(10), uint32(13), uint32(11), 101, r.id(10, 11, 101, 0, 1))
	r.switched(1, 150, 0, "app", 11, 0, "app", 13)
	tables := ingesttest.MustRead(t, "perf.data", r.file())
	tables.Want(t, "ftrace_event", switches, "100|0|task_newtask", "150|0|sched_switch")
	tables.Want(t, "thread", "tid|name|upid|start_ts", "0|swapper|0|NULL", "10|NULL|1|NULL", "11|app|1|NULL", "13|app|1|101")
}

// TestSwitches reads the switches of perf record --switch-events, unless those of ftrace say more.
func TestSwitches(t *testing.T) {
	const out, preempted, gone = 1 << 13, 1 << 14, math.MaxUint32
	r := &recording{order: binary.LittleEndian, events: []event{{sampleType: sampleType, flags: []int{sampleIDAll}, ids: []uint64{1}}}}
	r.add(15, out, uint32(0), uint32(0), r.id(10, 11, 100, 1, 1)) // it ran before the recording
	r.add(15, 0, uint32(10), uint32(11), r.id(0, 0, 101, 1, 1))
	r.add(15, out|preempted, uint32(12), uint32(12), r.id(0, 0, 200, 1, 1))
	r.add(15, 0, uint32(0), uint32(0), r.id(12, 12, 201, 1, 1))
	r.add(15, out, uint32(0), uint32(0), r.id(gone, gone, 300, 1, 1)) // it has ended
	r.add(14, 0, r.id(10, 11, 310, 1, 1))
	tables := ingesttest.MustRead(t, "perf.data", r.file())
	tables.Want(t, "sched_slice", "ts|dur|cpu|utid|end_state", "101|99|1|0|R+", "201|99|1|3|NULL", "310|-1|1|2|NULL")
	tables.Want(t, "thread", "tid|name|upid", "0|swapper|0", "10|NULL|1", "11|NULL|1", "12|NULL|2")
	tables.Want(t, "stats", "name")

	r = scheduling(binary.LittleEndian).all()
	r.add(15, 0, uint32(0), uint32(0), r.id(12, 12, 201, 1, 1))
	tables = ingesttest.MustRead(t, "perf.data", r.file())
	tables.Want(t, "sched_slice", "ts|cpu", "100|0", "200|0", "300|0")
}

// TestSwitchesOfOneThread counts switches that do not say on which CPU they were.
func TestSwitchesOfOneThread(t *testing.T) {
	r := &recording{order: binary.LittleEndian, events: []event{{sampleType: sampleType &^ (1 << 7), flags: []int{sampleIDAll}, ids: []uint64{1}}}}
	r.add(14, 0, uint32(10), uint32(11), 100, 1)
	tables := ingesttest.MustRead(t, "perf.data", r.file())
	tables.Want(t, "sched_slice", "ts")
	tables.Want(t, "stats", "name|idx|value|description", "perf_unknown_record_type|14|1|switch record is not read")
}

// TestImpossibleCPUs counts numbers of CPUs for which there would not be enough memory.
func TestImpossibleCPUs(t *testing.T) {
	r := scheduling(binary.LittleEndian).all()
	r.switched(1, 400, math.MaxInt32, "swapper/0", 0, 0, "app", 11)
	r.add(15, 0, uint32(0), uint32(0), r.id(12, 12, 401, math.MaxInt32, 1))
	tables := ingesttest.MustRead(t, "perf.data", r.file())
	tables.Want(t, "ftrace_event", switches, switchRows...)
	tables.Want(t, "stats", "name|idx|value|description", "perf_unknown_record_type|15|1|switch_cpu_wide record is not read",
		"perf_dummy_mapping_used|NULL|5|Frames of perf at addresses that no mapping has.", "unread_fact|1|1|PERF_SAMPLE_RAW field is not read")
}
