package perftext_test

import (
	"bytes"
	"errors"
	"os"
	"slices"
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

// The fields before the time, and what they become: thread, process, CPU, mode and name.
func TestHeaders(t *testing.T) {
	for fields, want := range map[string]string{
		"a 7":                                "7|NULL|NULL|NULL|a",
		"a 7/8":                              "8|7|NULL|NULL|a",
		"    a b   7/8     [1024]":           "8|7|1024|NULL|a b",
		"a  b     7 [000] U":                 "7|NULL|0|user|a  b",
		"a     7 [000] KUH  ":                "7|NULL|0|hypervisor|a",
		"a     7 [000] KGg  ":                "7|NULL|0|guest_user|a",
		"a     7 [000]       ":               "7|NULL|0|NULL|a",
		"a     7 G":                          "7|NULL|NULL|guest_kernel|a",
		"     awk 18456   1":                 "18456|NULL|1|NULL|awk",
		"awk 18 18456":                       "18456|NULL|NULL|NULL|awk 18",
		"K 1":                                "1|NULL|NULL|NULL|K",
		"1: 2.000000: 3     7":               "7|NULL|NULL|NULL|1: 2.000000: 3",
		"a 1 2.000000:     7/8 [003]":        "8|7|3|NULL|a 1 2.000000:",
		"kworker/u8:1-ev    77":              "77|NULL|NULL|NULL|kworker/u8:1-ev",
		"[a] 7":                              "7|NULL|NULL|NULL|[a]",
		"a 7 [1] 2026-11-28 20:43:24.178511": "7|NULL|1|NULL|a",
		":-1    -1/-1    [001]":              "NULL|NULL|1|NULL|",
		":-1     7/-1    [001]":              "NULL|7|1|NULL|",
	} {
		tables := ingesttest.MustRead(t, "script", []byte(fields+"  5.000000:   1 x:\n\t0 f (m)\n"))
		tids, pids, names := column(tables, "thread", "tid"), column(tables, "process", "pid"), column(tables, "thread", "name")
		for _, row := range tables.Rows("stack_sample", "utid", "upid", "cpu", "cpu_mode", "ts") {
			c := strings.Split(row, "|")
			name := names[c[0]]
			if c[0] == "NULL" {
				name = ""
			}
			if got := strings.Join([]string{tids[c[0]], pids[c[1]], c[2], c[3], name}, "|"); got != want || c[4] != "5000000000" {
				t.Errorf("%q: %s at %s, want %s", fields, got, c[4], want)
			}
		}
		tables.Want(t, "stack_sample_event", "event|period", "x|1")
	}
}

// Text after the time, and the frame and event that it has.
func TestFrameOnTheSampleLine(t *testing.T) {
	for text, want := range map[string]string{
		"     250000 cpu-clock:  ffffffff815ebcd6 __handle_mm_fault+0x326 ([kernel.kallsyms])":             "__handle_mm_fault|[kernel.kallsyms]|cpu-clock|250000",
		"     250000 cpu-clock:      7f32e30ad9c3 operator()(int (*)(char)) const+0x5 (/opt/a (b)/c.so)":   "operator()(int (*)(char)) const|/opt/a (b)/c.so|cpu-clock|250000",
		"     250000 cpu-clock:      7f32e30ad9c3 f(int) (/bin/a (deleted)) ABI:2    SP:0x7ffe8d040c50 ":   "f(int)|/bin/a (deleted)|cpu-clock|250000",
		" 1 x:           4005d0 main+0x10 (/bin/a) 0x4005d0(/bin/a)/0x4005e0(/bin/a)/P/-/-/1  insn: 0f b7": "main|/bin/a|x|1",
		" 1 x:           4005d0 main+0x10 (/bin/a)main+0x20/foo+0x3/P/-/-/3 ":                              "main|/bin/a|x|1",
		" 1 x:                0 ffffffff815ebcd6 f ([kernel.kallsyms])":                                    "f|[kernel.kallsyms]|x|1",
		" 1 x:           4005d0 data+0x8 (/bin/a)           4005e0 main+0x10 (/bin/a)":                     "main|/bin/a|x|1",
		" 1 x:       1e05080021 |OP N/A|LVL N/A|BLK  N/A               0           4005e0 main (/bin/a)":   "main|/bin/a|x|1",
		" 1 branches:           4005d0 main (/bin/a) =>           4005e0 foo (/bin/a)":                     "main|/bin/a|branches|1",
		" 1 x:           4005d0 [unknown] ([unknown]) \t IPC: 0.50 (12/24) ":                               "[unknown]|[unknown]|x|1",
		" 1 x: 4005d0 main (/bin/a)":                 "main|/bin/a|x|1",
		" 1 x:           4005d0 operator+":           "operator+||x|1",
		" 1 x:           4005d0":                     "||x|1",
		"            4005d0 main (/bin/a)":           "main|/bin/a||",
		"     250000           4005d0 main (/bin/a)": "main|/bin/a||250000",
		" 1 a:b: x=1 y=0 add (z)":                    "||a:b|1",
	} {
		tables := ingesttest.MustRead(t, "script", []byte("a 1 1.000000: 1 x:\n\na 7 2.000000:"+text+"\n"))
		files, names := fileStacks(tables), stacks(tables, column(tables, "stack_profile_frame", "name"))
		events := tables.Rows("stack_sample_event", "stack_sample_id", "event", "period")
		event := "|"
		if e, ok := strings.CutPrefix(events[len(events)-1], "1|"); ok {
			event = e
		}
		callsite := tables.Rows("stack_sample", "callsite_id")[1]
		if got := strings.Join(names(callsite), ";") + "|" + strings.Join(files(callsite), ";") + "|" + event; got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// TestTracepoints reads the fields of tracepoints, in which a frame may follow. That other threads ran in between is not known.
func TestTracepoints(t *testing.T) {
	const stack = "\n\tffffffff815ebcd6 schedule ([kernel.kallsyms])\n"
	tables := ingesttest.MustRead(t, "script", []byte(
		"swapper     0 [001] 1.000001: sched:sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R+ ==> next_comm=a b next_pid=7 next_prio=100\n\n"+
			"a b     7/7 [001] 1.000002: 1 sched:sched_waking: comm=c pid=9 prio=120 target_cpu=003"+stack+"\n"+
			"a b     7 [001] 1.000003: irq:softirq_entry: vec=4 [action=BLOCK] ffffffff815ebcd6 f ([kernel.kallsyms])\n\n"+
			"a b     7 [001] 1.000004: sched:sched_stat_runtime: comm=a b pid=7 runtime=5000 [ns]\n\n"+
			"a b     7 [001] 1.000005: sched:sched_wakeup: c:9 [120] success=1 CPU:003\n\n"+
			"a b     7 [001] 1.000006: raw_syscalls:sys_enter: NR 16 (55, 0, 7fe218e2b5e0, 1, 2, 3)\n\n"+
			"a b     7 [001] 1.000007: raw_syscalls:sys_exit: NR 16 = -11\n\n"+
			"a b     7 [001] 1.000008: sched:sched_process_exit: comm=a b pid=7 prio=100 group_dead=true\n\n"))
	tables.Want(t, "ftrace_event", "ts|name|cpu|utid|arg_set_id", "1000001000|sched_switch|1|0|0", "1000002000|sched_waking|1|1|7", "1000003000|softirq_entry|1|1|11",
		"1000004000|sched_stat_runtime|1|1|12", "1000005000|sched_wakeup|1|1|15", "1000006000|sys_enter|1|1|20",
		"1000007000|sys_exit|1|1|27", "1000008000|sched_process_exit|1|1|29")
	tables.Want(t, "args", "arg_set_id|key|int_value|string_value",
		"0|prev_comm|NULL|swapper/1", "0|prev_pid|0|NULL", "0|prev_prio|120|NULL", "0|prev_state|NULL|R+", "0|next_comm|NULL|a b", "0|next_pid|7|NULL", "0|next_prio|100|NULL",
		"7|comm|NULL|c", "7|pid|9|NULL", "7|prio|120|NULL", "7|target_cpu|3|NULL", "11|vec|4|NULL",
		"12|comm|NULL|a b", "12|pid|7|NULL", "12|runtime|5000|NULL", "15|comm|NULL|c", "15|pid|9|NULL", "15|prio|120|NULL", "15|success|1|NULL", "15|target_cpu|3|NULL",
		"20|id|16|NULL", "20|args[0]|85|NULL", "20|args[1]|0|NULL", "20|args[2]|140609056847328|NULL", "20|args[3]|1|NULL", "20|args[4]|2|NULL", "20|args[5]|3|NULL",
		"27|id|16|NULL", "27|ret|-11|NULL", "29|comm|NULL|a b", "29|pid|7|NULL", "29|prio|100|NULL", "29|group_dead|1|NULL")
	tables.Want(t, "stack_sample", "ts|callsite_id", "1000001000|NULL", "1000002000|0", "1000003000|1", "1000004000|NULL", "1000005000|NULL", "1000006000|NULL", "1000007000|NULL", "1000008000|NULL")
	tables.Want(t, "thread", "tid|name", "0|swapper", "7|a b")
	tables.Want(t, "sched_slice", "ts")
	tables.Want(t, "thread_state", "ts")
	tables.Want(t, "stats", "name")
}

// TestOtherTracepoints counts fields of which it is not certain what they are, and those of events without a CPU.
func TestOtherTracepoints(t *testing.T) {
	for line, want := range map[string]string{
		"a 7 [001] 1.000000: sched:sched_waking: comm=b x=1 pid=9 prio=120 target_cpu=003": "1|trailing text is not read",
		"a 7 [001] 1.000000: sched:sched_waking: comm=b":                                   "1|trailing text is not read",
		"a 7 [001] 1.000000: sched:sched_waking: comm=b pid=x prio=120 target_cpu=003":     "1|trailing text is not read",
		"a 7 [99999] 1.000000: sched:sched_waking: comm=b pid=9 prio=120 target_cpu=003":   "1|trailing text is not read",
		"a 7 1.000000: sched:sched_waking: comm=b pid=9 prio=120 target_cpu=003":           "1|trailing text is not read",
		"a 7 [001] 1.000000: raw_syscalls:sys_enter: NR 16 (55, x":                         "1|trailing text is not read",
		"a 7 [001] 1.000000: probe:schedule: (ffffffff815ebcd6)":                           "1|trailing text is not read",
	} {
		tables := ingesttest.MustRead(t, "script", []byte(line+"\n\n"))
		tables.Want(t, "ftrace_event", "ts")
		tables.Want(t, "stack_sample", "ts", "1000000000")
		tables.Want(t, "stats", "value|description", want)
	}
}

// perf script -F +metric prints metrics under the head of a sample (script_print_metric in builtin-script.c).
func TestMetricsAreNoSamples(t *testing.T) {
	tables := ingesttest.MustRead(t, "script", []byte("echo  62  3.000000001:      20003        instructions:  ffffffff8115320d f ([k])\n"+
		"echo  62  3.000000001: \tmetric:    1.00  insn per cycle\necho  62  3.000000002:      20003              cycles: \n\t 0 f (m)\n\n"+
		"echo  62  3.000000002: \tmetric:    0.50  insn per cycle\n"))
	tables.Want(t, "stack_sample", "ts", "3000000001", "3000000002")
	tables.Want(t, "stack_sample_event", "event|period", "instructions|20003", "cycles|20003")
	tables.Want(t, "stats", "name|value", "unread_event|2")
}

func TestLastLineNeedsNoLineEnd(t *testing.T) {
	for text, want := range map[string][]string{
		"a 1/1 [000] 1.000001:  10 cycles: \n\t  401000 main (/bin/a)\n\na 1/1 [000] 2.000002:  10 cycles: \n\t  401000 main (/bin/a)": {"1000001000", "2000002000"},
		"a 1 1.000000: 1 x: \na 1 2.000000: 1 x:":                      {"1000000000", "2000000000"},
		"a 1 1.000000: 1 x: \r\n\t 0 f\r\n\r\na 1 2.000000:\r\n\t 0 f": {"1000000000", "2000000000"},
	} {
		tables := ingesttest.MustRead(t, "script", []byte(text))
		tables.Want(t, "stack_sample", "ts", want...)
		tables.Want(t, "stats", "name")
	}
}

// simpleperf's report_sample.py has had three layouts.
func TestSimpleperf(t *testing.T) {
	for layout, text := range map[string]string{
		"unpadded": "a b\t7 [001] 12.34:\t\t321 cycles:u\nffffffff815ebcd6\tf(int) (/system/lib/a.so)\n          4005d0\tmain (/bin/a)\n\n",
		"tabs":     "a b\t7 [001] 12.000034:\t\t321 cycles:u\nffffffff815ebcd6\tf(int) (/system/lib/a.so)\n          4005d0\tmain (/bin/a)\n\n",
		"now": "a b\t7/7 [001] 12.000034: 321 cycles:u\n\tffffffff815ebcd6 f(int) (/system/lib/a.so)\n\t          4005d0 main (/bin/a)\n" +
			"\ttracing data:\n\t\tprev_comm : sh\n\n",
	} {
		tables := ingesttest.MustRead(t, "script", []byte(strings.ReplaceAll(text, "cycles:u\n", "cycles:u:\n")))
		tables.Want(t, "stack_sample", "ts|cpu|callsite_id", "12000034000|1|1")
		tables.Want(t, "stack_sample_event", "event|period", "cycles:u|321")
		tables.Want(t, "stack_profile_frame", "name", "f(int)", "main")
		tables.Want(t, "stack_profile_mapping", "name", "/system/lib/a.so", "/bin/a")
		names := tables.Rows("stats", "name")
		if slices.Contains(names, "perf_text_parse_errors") {
			t.Errorf("%s: %v", layout, names)
		}
	}
}

func TestLostRecords(t *testing.T) {
	tables := ingesttest.MustRead(t, "script", []byte("a 1 [002] 1.000000: PERF_RECORD_LOST lost 12\na 1 [002] 2.000000: 1 x:\nPERF_RECORD_FINISHED_ROUND\n"+
		"perf-exec     0 [000]     0.000000: PERF_RECORD_NAMESPACES 18888/18888 - nr_namespaces: 7\n\t\t[0/net: 4/0xeffffff9, 1/uts: 4/0xeffffffe\n"+
		"a  b/1 1 3.000000: PERF_RECORD_COMM exec: c:d/1:5/6\na 1 4.000000: PERF_RECORD_FORK(5:7):(5:6)\na 1 4.000000: PERF_RECORD_EXIT(5:7):(5:6)\n"))
	tables.Want(t, "stack_sample", "ts", "2000000000")
	tables.Want(t, "stats", "name|idx|value", "perf_cpu_lost_records|2|12", "perf_unknown_record_type|16|1")
	tables.Want(t, "thread", "tid|name", "0|NULL", "1|a", "5|NULL", "6|c:d/1", "7|NULL")
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
		"\t0 g (m)\n":                                      "perf_text_parse_errors|1",
		"a 1 2.000000: x:\n\t0 f (m)\n\tnothex g (m)\n":    "perf_text_parse_errors|1",
		"hello\nb 1 2.000000: x:\n\t0 f (m)\n":             "perf_text_parse_errors|1",
		"b 2.000000: x:\n\t0 f (m)\n":                      "perf_text_parse_errors|1",
		"a 99999999999 2.000000: x:\n\t0 f (m)\n\n":        "perf_text_parse_errors|1",
		"a 1 [x] 2.000000: x:\n\t0 f (m)\n\n":              "perf_text_parse_errors|1",
		"a 1 99999999999999.000000: x:\n\t0 f (m)\n\n":     "perf_text_parse_errors|1",
		"a 1 2.000000: x:\n\t0 f (m)\n\nb 1 3.000000: cut": "truncated_input|1",
	} {
		tables := ingesttest.MustRead(t, "script", []byte(good+bad))
		tables.Want(t, "stats", "name|value", want)
	}
	for _, text := range []string{
		"app 1234 [main] 12.345678: message\n", "app 12.345678: error: message\n", "worker 7 12.345678: started\n",
		"a thread with a long name 12.345678: 1 x:\n", "12.345678: x: y\n", "[   12.345678] usb 1-1: new device\n", "bash-1 [000] d..3 1.000000: sched_switch: x\n", "a 1 1.000000: x:", "# only\n", "[0] 1.000000: x\n",
	} {
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
	f.Add([]byte("a 1 [1] 1.000001: sched:sched_waking: comm=b pid=2 prio=3 target_cpu=004\na 1 [1] 1.000002: irq:softirq_exit: vec=9 [action=RCU]\n"))
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
