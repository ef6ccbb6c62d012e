package families

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/internal/fuzz"
)

// ftraceEvent is a thread's FtraceEvent with the tracepoint of a number.
func ftraceEvent(ts, tid int64, tracepoint int, fields message) message {
	return message{}.num(1, ts).num(2, tid).msg(tracepoint, fields)
}

// bundle is a packet with a CPU's events.
func bundle(cpu int64, events ...message) message {
	b := message{}.num(1, cpu)
	for _, e := range events {
		b = b.msg(2, e)
	}
	return message{}.num(10, 1).msg(fieldFtraceEvents, b)
}

func schedSwitch(ts, prev, state, next int64) message {
	return ftraceEvent(ts, prev, 4, message{}.text(1, "a").num(2, prev).num(3, 120).num(4, state).text(5, "b").num(6, next).num(7, 100))
}

// packedNumbers is a packed field.
func packedNumbers(numbers ...uint64) (m message) {
	for _, n := range numbers {
		m = binary.AppendUvarint(m, n)
	}
	return m
}

func TestFtraceBundles(t *testing.T) {
	r := readTrace(t, packets(
		bundle(1, schedSwitch(20, 5, 1, 0), ftraceEvent(25, 0, 13, message{}.num(1, 2).num(2, 1))),
		bundle(0, schedSwitch(10, 0, 0, 6), ftraceEvent(15, 6, 20, message{}.text(1, "a").num(2, 5).num(5, 1))),
		bundle(0, schedSwitch(30, 6, 0, 0)),
	))
	want(t, "sched_slice", r.rows("sched_slice", "ts", "dur", "cpu", "priority", "end_state"),
		"10 20 0 100 R", "20 -1 1 100 ", "30 -1 0 100 ")
	want(t, "thread_state", r.rows("thread_state", "ts", "dur", "state", "cpu"),
		"10 20 Running 0", "15 -1 R ", "20 -1 S ", "30 -1 R ")
	want(t, "ftrace_event", r.rows("ftrace_event", "id", "ts", "name", "cpu"),
		"0 10 sched_switch 0", "1 15 sched_waking 0", "2 20 sched_switch 1", "3 25 cpu_idle 1", "4 30 sched_switch 0")
	want(t, "counter", r.rows("counter", "ts", "value"), "25 2")
}

func TestCompactSched(t *testing.T) {
	compact := message{}.text(5, "idle").text(5, "app").
		msg(1, packedNumbers(10, 5, 5)).msg(2, packedNumbers(0, 0, 1)).msg(3, packedNumbers(9, 0, 9)).msg(4, packedNumbers(1, 2, 3)).msg(6, packedNumbers(1, 0, 1)).
		msg(7, packedNumbers(17)).msg(8, packedNumbers(4)).msg(9, packedNumbers(1)).msg(10, packedNumbers(7)).msg(11, packedNumbers(1)).msg(12, packedNumbers(8))
	r := readTrace(t, packets(message{}.num(10, 1).msg(fieldFtraceEvents, message{}.num(1, 2).msg(4, compact))))
	want(t, "sched_slice", r.rows("sched_slice", "ts", "dur", "cpu", "priority"), "15 5 2 2", "20 -1 2 3")
	want(t, "thread_state", r.rows("thread_state", "ts", "dur", "state", "irq_context"),
		"15 5 R ", "17 -1 R true", "20 -1 Running ")
	if got := r.stats["compact_sched_switch_skipped"]; got != 1 {
		t.Errorf("%d switches skipped, want the first of the CPU", got)
	}
	short := message{}.text(5, "idle").msg(1, packedNumbers(10, 5)).msg(2, packedNumbers(0)).msg(3, packedNumbers(9)).msg(4, packedNumbers(1)).msg(6, packedNumbers(0))
	r = readTrace(t, packets(message{}.num(10, 1).msg(fieldFtraceEvents, message{}.num(1, 2).msg(4, short))))
	if got := r.stats["compact_sched_has_parse_errors"]; got != 1 {
		t.Errorf("%d errors in columns of different lengths", got)
	}
}

func TestFtraceBeforeTracingIsDropped(t *testing.T) {
	r := readTrace(t, packets(
		message{}.num(8, 100).num(10, 2).msg(fieldServiceEvent, message{}.num(2, 1)),
		bundle(0, ftraceEvent(99, 1, 13, message{}.num(1, 0).num(2, 0)), ftraceEvent(101, 1, 13, message{}.num(1, 1).num(2, 0))),
	))
	want(t, "counter", r.rows("counter", "ts"), "101")
	if got := r.stats["ftrace_packet_before_tracing_start"]; got != 1 {
		t.Errorf("%d events before the start", got)
	}
}

func TestFtraceStatsOfMachines(t *testing.T) {
	stats := func(machine, phase, entries int64) message {
		return packet(1).num(98, machine).msg(fieldFtraceStats, message{}.num(1, phase).msg(2, message{}.num(1, 0).num(2, entries)))
	}
	r := readTrace(t, packets(stats(0, 1, 3), stats(7, 1, 20), stats(0, 2, 10), stats(7, 2, 21)))
	var got []string
	for _, row := range r.tables["stats"] {
		if strings.HasPrefix(row["name"], "ftrace_cpu_entries_") {
			got = append(got, fmt.Sprint(row["name"], " ", row["machine_id"], " ", row["value"]))
		}
	}
	want(t, "stats", got, "ftrace_cpu_entries_begin 0 3", "ftrace_cpu_entries_begin 1 20", "ftrace_cpu_entries_end 0 10",
		"ftrace_cpu_entries_end 1 21", "ftrace_cpu_entries_delta 0 7", "ftrace_cpu_entries_delta 1 1")
}

func TestKernelSymbolsAndGenericEvents(t *testing.T) {
	descriptor := message{}.text(1, "my_event").msg(2, message{}.text(1, "value").num(3, 1).num(5, 13))
	described := message{}.num(1, 0).msg(11, message{}.num(1, firstGenericEvent).msg(2, descriptor)).
		msg(2, ftraceEvent(30, 1, firstGenericEvent, message{}.num(1, 42)))
	r := readTrace(t, packets(
		message{}.num(10, 1).num(13, 1).msg(fieldInternedData, message{}.msg(internedKernelSymbols, message{}.num(1, 3).text(2, "do_work"))).
			msg(fieldFtraceEvents, message{}.num(1, 0).msg(2, ftraceEvent(10, 1, 58, message{}.num(2, 3))).msg(2, ftraceEvent(20, 1, 57, message{}.num(1, 1)))),
		message{}.num(10, 1).msg(fieldFtraceEvents, described),
	))
	want(t, "slice", r.rows("slice", "ts", "dur", "name", "category"), "10 10 do_work workqueue")
	want(t, "ftrace_event", r.rows("ftrace_event", "id", "ts", "name"), "0 10 workqueue_execute_start", "1 20 workqueue_execute_end", "2 30 my_event")
}

// TestKernelSymbolsThatAreMissing checks that only symbols of a recorder that looks them up can be missing.
func TestKernelSymbolsThatAreMissing(t *testing.T) {
	for i, symbols := range []message{{}, message{}.msg(internedKernelSymbols, message{}.num(1, 4).text(2, "f"))} {
		r := readTrace(t, packets(message{}.num(10, 1).num(13, 1).msg(fieldInternedData, symbols).
			msg(fieldFtraceEvents, message{}.num(1, 0).msg(2, ftraceEvent(10, 1, 58, message{}.num(2, 3))))))
		if missing, want := r.stats["interned_data_tokenizer_errors"] > 0, i == 1; missing != want {
			t.Errorf("a symbol is missing: %t, want %t", missing, want)
		}
	}
}

func TestProcessTreeAndStats(t *testing.T) {
	process := func(pid, ppid int64, cmdline ...string) message {
		m := message{}.num(1, pid).num(2, ppid)
		for _, s := range cmdline {
			m = m.text(3, s)
		}
		return m
	}
	tree := message{}.msg(1, process(1, 0, "init")).msg(1, process(7, 2, "kworker/0:1-events")).
		msg(1, process(9, 1, "/bin/app", "-x")).msg(2, message{}.num(1, 10).num(3, 9).text(2, "worker"))
	stats := message{}.msg(1, message{}.num(1, 9).num(3, 4).num(10, 200))
	r := readTrace(t, packets(packet(5).msg(fieldProcessTree, tree), packet(6).msg(fieldProcessStats, stats)))
	want(t, "process", r.rows("process", "pid", "name", "cmdline"),
		"0  ", "1 init init", "2  ", "7 kworker/0:1 kworker/0:1", "9 /bin/app /bin/app -x")
	want(t, "counter", r.rows("counter", "ts", "value"), "6 4096", "6 200")
	var worker string
	for _, row := range r.tables["thread"] {
		if row["tid"] == "10" {
			worker = fmt.Sprint(row["name"], " of ", row["upid"])
		}
	}
	if worker != "worker of 4" {
		t.Errorf("thread 10 is %s", worker)
	}
}

func TestFactsOfMachines(t *testing.T) {
	on := func(machine int64, name string) message {
		return packet(1).num(98, machine).msg(fieldSystemInfo, message{}.msg(1, message{}.text(1, name).text(2, "v").text(3, "r").text(4, "m")))
	}
	bundle := func(machine, begin int64) message {
		return message{}.num(10, 1).num(98, machine).msg(fieldFtraceEvents, message{}.num(1, 0).num(9, begin))
	}
	r := readTrace(t, packets(on(0, "Linux"), on(7, "Darwin"), bundle(0, 1000), bundle(7, 2000)))
	want(t, "metadata", r.rows("metadata", "name", "int_value", "str_value", "machine_id", "local_trace_id"),
		"system_name  Linux 0 ", "system_version  v 0 ", "system_release  r 0 ", "system_machine  m 0 ",
		"system_name  Darwin 1 ", "system_version  v 1 ", "system_release  r 1 ", "system_machine  m 1 ",
		"ftrace_latest_data_start_ns 1000  0 0", "ftrace_latest_data_start_ns 2000  1 0")
}

func TestAndroidFingerprint(t *testing.T) {
	r := readTrace(t, packets(message{}.num(10, 1).msg(fieldSystemInfo, message{}.text(2, "google/coral/coral:12/SP1A.210812.015/7679548:userdebug/dev-keys"))))
	want(t, "machine", r.rows("machine", "android_sdk_version"), "31")
	if got := r.store.Rows()["metadata"]; got == 0 {
		t.Error("no metadata")
	}
}

// FuzzPacketFields gives arbitrary messages to each module for the recorder's probes.
func FuzzPacketFields(f *testing.F) {
	events, _ := bytes.CutPrefix(bundle(1, schedSwitch(20, 5, 1, 0)), message{}.num(10, 1))
	f.Add(uint16(0), []byte(events))
	for _, field := range probes {
		f.Add(uint16(field), []byte(message{}.msg(1, message{}.num(1, 1).num(2, 2).text(3, "x")).num(2, 3)))
		f.Add(uint16(field), []byte(message{}.msg(2, message{}.num(1, 1).num(2, 2).num(3, 4).num(4, 5).num(5, 6)).msg(1, nil)))
	}
	fuzz.Run(f, func(t *testing.T, field uint16, data []byte) {
		number := int(probes[int(field)%len(probes)])
		r := readAll(bytes.NewReader(packets(packet(1).msg(number, data), packet(2).msg(number, data))))
		if r.err != nil {
			t.Fatal(r.err)
		}
	})
}

// probes are the fields of TracePacket that the fuzzer tries.
var probes = []uint32{
	fieldFtraceEvents, fieldFtraceStats, fieldProcessTree, fieldProcessStats, fieldSysStats, fieldSystemInfo, fieldCPUInfo, fieldGPUInfo,
	fieldInterruptInfo, fieldAndroidLog, fieldPackagesList, fieldUserList, fieldSystemProperty, fieldBattery, fieldPowerRails,
	fieldEnergyBreakdown, fieldEntityResidency, fieldFrameTimeline, fieldGraphicsFrame, fieldGPUCounters, fieldRenderStage, fieldGPULog,
	fieldVulkanAPI, fieldVulkanMemory, fieldGPUMemoryTotal, fieldTaskState, fieldKernelCPUFreq, fieldTaskRename, fieldKernelProcesses,
	fieldConcurrentSession, fieldModuleSymbols, fieldCPUPerUID, fieldBluetooth, fieldGameInterventions, fieldAflags,
	fieldStatsdAtom, fieldModemEvents, fieldModemTokens, fieldV8JSCode, fieldV8InternalCode, fieldV8WasmCode, fieldV8RegExpCode, fieldV8CodeMove,
}

// A field that occurs twice in an event counts once, with the last value, and equal
// arg sets are stored once.
func TestFieldsOfEvents(t *testing.T) {
	idle := func(ts int64, states ...int64) message {
		body := message{}
		for _, state := range states {
			body = body.num(1, state)
		}
		return ftraceEvent(ts, 7, 13, body.num(2, 1))
	}
	field := func(name string) message { return message{}.text(1, name) }
	old := message{}.text(1, "old").msg(2, field("a").num(4, 1)).msg(2, field("b").text(3, "x")).msg(2, field("a").text(3, "y"))
	r := readTrace(t, packets(bundle(0, idle(10, 3), idle(20, 2, 3), idle(30, 4), ftraceEvent(40, 7, fieldEventGeneric, old))))
	want(t, "args", r.rows("args", "arg_set_id", "key", "int_value", "string_value"),
		"0 state 3 ", "0 cpu_id 1 ", "2 cpu 1 ", "3 state 4 ", "3 cpu_id 1 ", "5 a  y", "5 b  x") // 2: the counter's track
	want(t, "ftrace_event", r.rows("ftrace_event", "ts", "name", "arg_set_id"),
		"10 cpu_idle 0", "20 cpu_idle 0", "30 cpu_idle 3", "40 old 5")
}

// A field of a newer recorder is not read, which is no error.
func TestFtraceUnknownField(t *testing.T) {
	r := readTrace(t, packets(bundle(0, ftraceEvent(10, 5, 3, message{}.text(2, "B|5|a").num(90, 1)), ftraceEvent(20, 5, 3, message{}.text(2, "E|5").num(91, 1)))))
	want(t, "slices", r.rows("slice", "ts", "dur", "name"), "10 10 a")
	stats := r.rows("stats", "name", "value", "description")
	want(t, "stats", stats[len(stats)-1:], "unread_fact 2 unknown print fields are not read")
	if n := r.stats["ftrace_generic_descriptor_errors"]; n != 0 {
		t.Errorf("%d errors", n)
	}
}
