package systrace_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/ingest"
	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
	"github.com/tpconvert/tpconvert/internal/fuzz"
)

const header = `# tracer: nop
#
# entries-in-buffer/entries-written: 6/6   #P:2
#
#           TASK-PID    TGID   CPU#  ||||    TIMESTAMP  FUNCTION
#              | |        |      |   ||||       |         |
`

// trace returns a trace of events that are 1 s apart and start at 1 s. An event
// consists of the head of the line up to the bracket, and the rest of the line
// from the tracepoint on.
func trace(events ...string) []byte {
	b := []byte(header)
	for i, e := range events {
		head, rest, _ := strings.Cut(e, "] ")
		b = fmt.Appendf(b, "%s] d..2 %d.000000: %s\n", head, i+1, rest)
	}
	return b
}

func TestScheduler(t *testing.T) {
	tables := ingesttest.MustRead(t, "trace", trace(
		"<idle>-0     (-----) [001] sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=Jit thread pool next_pid=7 next_prio=129",
		"Jit thread pool-7 (    5) [001] sched_waking: comm=b=c pid=8 prio=120 success=1 target_cpu=001",
		"Jit thread pool-7 (    5) [001] sched_switch: prev_comm=Jit thread pool prev_pid=7 prev_prio=129 prev_state=D|K ==> next_comm=b=c next_pid=8 next_prio=97",
		"<...>-8 (    5) [001] sched_blocked_reason: pid=7 iowait=1 caller=wait_for+0x1/0x2 [wlan]",
		"<...>-8 (    5) [001] sched_switch: prev_comm=b=c prev_pid=8 prev_prio=97 prev_state=R+ ==> next_comm=swapper/1 next_pid=0 next_prio=120",
		"<idle>-0     (-----) [001] sched_wakeup: comm=other pid=9 prio=120 success=1 target_cpu=000",
	))
	tables.Want(t, "sched_slice", "ts|dur|cpu|end_state|priority",
		"1000000000|2000000000|1|DK|129", "3000000000|2000000000|1|R+|97", "5000000000|-1|1|NULL|120")
	tables.Want(t, "thread_state", "ts|dur|utid|state|cpu|io_wait|blocked_function|waker_utid",
		"1000000000|2000000000|1|Running|1|NULL|NULL|NULL",
		"2000000000|1000000000|3|R|NULL|NULL|NULL|1",
		"3000000000|-1|1|DK|NULL|true|wait_for+0x1/0x2|NULL",
		"3000000000|2000000000|3|Running|1|NULL|NULL|NULL",
		"5000000000|-1|3|R+|NULL|NULL|NULL|NULL")
	tables.Want(t, "thread", "tid|name|upid", "0|swapper|0", "7|Jit thread pool|1", "5|NULL|1", "8|b=c|1")
	tables.Want(t, "process", "pid|name", "0|NULL", "5|NULL")
	tables.Want(t, "ftrace_event", "ts|name|cpu|utid", "1000000000|sched_switch|1|0", "3000000000|sched_switch|1|1", "5000000000|sched_switch|1|3")
	tables.Want(t, "stats", "name")
}

// TestFields reads what the kernel writes with the option fields: the fields as numbers, hexadecimal and decimal.
func TestFields(t *testing.T) {
	tables := ingesttest.MustRead(t, "trace", trace(
		"sh-7 [001] sched_switch: prev_comm=swapper/1 prev_pid=0x0 (0) prev_prio=0x78 (120) prev_state=0x0 (0) next_comm=my sh next_pid=0x7 (7) next_prio=0x78 (120)",
		"sh-7 [001] task_newtask: pid=0x4b41 (19265) comm=my sh clone_flags=0x4100 (16640) oom_score_adj=0x0 (0)",
		"sh-7 [001] irq_handler_entry: irq=0x24 (36) name=virtio1",
		"sh-7 [001] irq_handler_exit: irq=0x24 (36) ret=0x1 (1)",
		"kworker/u8:0-7 [001] workqueue_execute_start: work=0xffff888102537a48 (-131387305526712) function=flush+0x0/0x20 (-2124685472)",
		"kworker/u8:0-7 [001] workqueue_execute_end: work=0xffff888102537a48 (-131387305526712) function=flush+0x0/0x20 (-2124685472)",
		"sh-7 [001] sched_switch: prev_comm=my sh prev_pid=0x7 (7) prev_prio=0x78 (120) prev_state=0x80 (128) next_comm=swapper/1 next_pid=0x0 (0) next_prio=0x78 (120)",
		"<idle>-0 [001] sched_switch: prev_comm=swapper/1 prev_pid=0x0 (0) prev_prio=0x78 (120) prev_state=0x0 (0) next_comm=my sh next_pid=0x7 (7) next_prio=0x78 (120)",
		"sh-7 [001] sched_switch: prev_comm=my sh prev_pid=0x7 (7) prev_prio=0x78 (120) prev_state=0x100 (256) next_comm=swapper/1 next_pid=0x0 (0) next_prio=0x78 (120)",
	))
	tables.Want(t, "sched_slice", "ts|end_state|priority", "1000000000|I|120", "7000000000|R|120", "8000000000|R+|120", "9000000000|NULL|120")
	tables.Want(t, "slice", "ts|dur|name", "3000000000|1000000000|IRQ (virtio1)", "5000000000|1000000000|flush")
	tables.Want(t, "thread", "tid|name", "0|swapper", "7|my sh", "19265|my sh")
	tables.Want(t, "stats", "name")
}

// TestWakeups reads a trace without sched_waking. Where the CPU of the event is the target, another one may have asked it to wake the thread.
func TestWakeups(t *testing.T) {
	tables := ingesttest.MustRead(t, "trace", trace(
		"a-7 [001] sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=a next_pid=7 next_prio=120",
		"a-7 [001] sched_wakeup: comm=b pid=8 prio=120 success=1 target_cpu=000",
		"a-7 [001] sched_wakeup: comm=c pid=9 prio=120 target_cpu=001",
		"a-7 [001] sched_wakeup: comm=b pid=8 prio=120 success=0 target_cpu=001",
		"a-7 [001] sched_wakeup_new: comm=d pid=10 prio=120 target_cpu=000",
		"a-7 [001] sched_wakeup:         e:f:11 [120] success=1 CPU:000",
		"a-7 [001] sched_wakeup:         a:7 [120] CPU:001",
		"a-7 [001] sched_wakeup:         a:x [120] CPU:001",
	))
	tables.Want(t, "thread_state", "ts|dur|utid|state|waker_utid", "1000000000|-1|1|Running|NULL", "2000000000|-1|2|R|1", "3000000000|-1|3|R|NULL",
		"5000000000|-1|4|R|1", "6000000000|-1|5|R|1")
	tables.Want(t, "spurious_sched_wakeup", "ts|thread_state_id|utid|waker_utid", "7000000000|0|1|1")
	tables.Want(t, "thread", "tid|name", "0|swapper", "7|a", "8|b", "9|c", "10|d", "11|e:f")
	tables.Want(t, "stats", "name|value", "systrace_parse_failure|1")
}

// TestReport reads events that trace-cmd report's plugins write in their own
// form.
func TestReport(t *testing.T) {
	tables := ingesttest.MustRead(t, "trace", trace(
		"<idle>-0     [001] sched_switch:         swapper/1:0 [120] R ==> kworker/u8:3:7 [129]",
		"kworker/u8:3-7 [001] sched_switch:         kworker/u8:3:7 [129] D ==> Jit thread pool:8 [97]",
		"Jit thread pool-8 [001] sched_switch:         Jit thread pool:8 [97] S ==> swapper/1:x [120]",
		"Jit thread pool-8 [001] sched_switch:         Jit thread pool:8 97 S ==> swapper/1:0 [120]",
		"Jit thread pool-8 [001] print:                tracing_mark_write: B|8|work",
		"Jit thread pool-8 [001] print:                tracing_mark_write: E|8",
	))
	tables.Want(t, "slice", "ts|dur|name", "5000000000|1000000000|work")
	tables.Want(t, "sched_slice", "ts|dur|cpu|end_state|priority", "1000000000|1000000000|1|D|129", "2000000000|-1|1|NULL|97")
	tables.Want(t, "thread", "tid|name", "0|swapper", "7|kworker/u8:3", "8|Jit thread pool")
	tables.Want(t, "stats", "name|value", "systrace_parse_failure|2")
}

func TestCounters(t *testing.T) {
	tables := ingesttest.MustRead(t, "trace", trace(
		"<idle>-0 [000] cpu_idle: state=4294967295 cpu_id=3",
		"<idle>-0 [000] cpu_frequency: state=1766400 cpu_id=3",
		"<idle>-0 [000] cpu_frequency_limits: min=500000 max=2800000 cpu_id=6",
		"<idle>-0 [000] cpu_frequency_limits: min_freq=1 max_freq=2 cpu_id=6",
		"a-4 (4) [000] clock_set_rate: cpu clk state=300000000 cpu_id=7",
		"a-4 (4) [000] clock_disable: cpu clk state=0 cpu_id=7",
		"a-4 (4) [000] thermal_temperature: thermal_zone=soc id=0 temp_prev=68794 temp=-5",
		"a-4 (4) [000] cdev_update: type=fan target=2",
		"a-4 (4) [000] rss_stat: size=8437760 member=1 curr=1 mm_id=2824390453",
		"b-9 (4) [000] rss_stat: size=4096 member=0 curr=0 mm_id=2824390453",
		"a-4 (4) [000] rss_stat: mm_id=2824390453 curr=1 type=MM_FILEPAGES size=8192B",
	))
	tables.Want(t, "counter", "ts|value|track_id",
		"1000000000|4.294967295e+09|0", "2000000000|1.7664e+06|1",
		"3000000000|2.8e+06|2", "3000000000|500000|3", "4000000000|2|2", "4000000000|1|3",
		"5000000000|3e+08|4", "6000000000|0|5", "7000000000|-5|6", "8000000000|2|7",
		"9000000000|8.43776e+06|8", "10000000000|4096|9", "11000000000|8192|9")
	tables.Want(t, "counter_track", "classification|name|type", "cpu_idle|cpuidle|cpu_counter_track", "cpu_frequency|cpufreq|cpu_counter_track",
		"cpu_max_frequency_limit|Cpu 6 Max Freq Limit|cpu_counter_track", "cpu_min_frequency_limit|Cpu 6 Min Freq Limit|cpu_counter_track",
		"clock_frequency|cpu clk Frequency|counter_track", "clock_state|cpu clk State|counter_track",
		"thermal_temperature|soc Temperature|counter_track", "cooling_device_counter|fan Cooling Device|counter_track",
		"process_memory|mem.rss.anon|process_counter_track", "process_memory|mem.rss.file|process_counter_track")
	tables.Want(t, "stats", "name")
}

// TestInterrupts are slices of CPUs, and the end of a thread is stored.
func TestInterrupts(t *testing.T) {
	tables := ingesttest.MustRead(t, "trace", trace(
		"a-4 (4) [001] irq_handler_entry: irq=11 name=arch timer",
		"a-4 (4) [001] irq_handler_exit: irq=11 ret=handled",
		"a-4 (4) [001] irq_handler_entry: irq=12 name=eth0",
		"a-4 (4) [001] irq_handler_exit: irq=12 ret=unhandled",
		"a-4 (4) [001] softirq_entry: vec=7 [action=SCHED]",
		"a-4 (4) [001] softirq_exit: vec=7 [action=SCHED]",
		"a-4 (4) [001] irq_handler_exit: irq=12 ret=maybe",
		"b-9 (9) [001] sched_process_free: comm=a pid=4 prio=120",
	))
	tables.Want(t, "slice", "ts|dur|category|name|track_id", "1000000000|1000000000|irq|IRQ (arch timer)|0", "3000000000|1000000000|irq|IRQ (eth0)|0",
		"5000000000|1000000000|irq|SCHED|1")
	tables.Want(t, "track", "id|classification|name", "0|cpu_irq|Irq Cpu 1", "1|cpu_softirq|SoftIrq Cpu 1")
	tables.Want(t, "args", "key|int_value|string_value", "cpu|1|NULL", "ret|NULL|handled", "ret|NULL|unhandled", "vec|7|NULL")
	tables.Want(t, "thread", "tid|end_ts", "0|NULL", "4|8000000000", "9|NULL")
	tables.Want(t, "stats", "name|value", "systrace_parse_failure|1")
}

func TestMarks(t *testing.T) {
	tables := ingesttest.MustRead(t, "trace", trace(
		"atrace-5 (5) [000] tracing_mark_write: trace_event_clock_sync: parent_ts=1.0",
		"a-4 (-----) [000] tracing_mark_write: B|4|outer | bar: a",
		"a-4 (-----) [000] 0: B|4|inner",
		"a-4 (-----) [000] print: E|4",
		"a-4 (-----) [000] tracing_mark_write: E",
		"a-4 (-----) [000] tracing_mark_write: C|4|count|-3",
		"a-4 (-----) [000] tracing_mark_write: S|4|async|77",
		"a-4 (-----) [000] tracing_mark_write: F|4|async|77",
		"a-4 (-----) [000] tracing_mark_write: I|4|now",
		"a-4 (-----) [000] tracing_mark_write: N|4|lane|on lane",
		"a-4 (-----) [000] tracing_mark_write: G|4|lane|long|9",
		"a-4 (-----) [000] tracing_mark_write: H|4|lane|9",
		"a-4 (-----) [000] tracing_mark_write: X|4|unknown",
	))
	tables.Want(t, "slice", "ts|dur|name|depth|track_id",
		"2000000000|3000000000|outer | bar: a|0|0", "3000000000|1000000000|inner|1|0", "7000000000|1000000000|async|0|2",
		"9000000000|0|now|0|0", "10000000000|0|on lane|0|3", "11000000000|1000000000|long|0|4")
	tables.Want(t, "counter", "value|track_id", "-3|1")
	tables.Want(t, "stats", "name|value", "systrace_parse_failure|1")
}

// TestTexts reads texts that are no marks, though they begin with the letter of one.
func TestTexts(t *testing.T) {
	tables := ingesttest.MustRead(t, "trace", trace(
		"sh-5 (5) [000] tracing_mark_write: trace_event_clock_sync: parent_ts=1.0",
		"sh-5 (5) [000] tracing_mark_write: B|5|loop",
		"sh-5 (5) [001] tracing_mark_write: Entering the loop",
		"sh-5 (5) [000] tracing_mark_write: Count|5|rounds|3",
		"sh-5 (5) [000] tracing_mark_write: E|5",
	))
	tables.Want(t, "slice", "ts|dur|name", "2000000000|3000000000|loop")
	tables.Want(t, "counter", "ts")
	tables.Want(t, "ftrace_event", "ts|name|cpu|utid", "3000000000|print|1|1", "4000000000|print|0|1")
	tables.Want(t, "args", "key|string_value", "utid|NULL", "buf|Entering the loop", "buf|Count|5|rounds|3")
	tables.Want(t, "stats", "name")
}

func TestKernelSlices(t *testing.T) {
	tables := ingesttest.MustRead(t, "trace", trace(
		"kworker/5:0-71 [000] workqueue_execute_start: work struct ffffff83b8f89238: function binder_deferred_func",
		"kworker/5:0-71 [000] workqueue_execute_end: work struct ffffff83b8f89238",
		"c-10 (10) [000] binder_command: cmd=0x40406300 BC_TRANSACTION",
		"c-10 (10) [000] binder_transaction: transaction=5149 dest_node=5143 dest_proc=20 dest_thread=0 reply=0 flags=0x10 code=0x3",
		"c-10 (10) [000] binder_transaction_alloc_buf: transaction=5149 data_size=100 offsets_size=8",
		"s-20 (20) [001] binder_transaction_received: transaction=5149",
		"s-20 (20) [001] binder_transaction: transaction=5150 dest_node=0 dest_proc=10 dest_thread=10 reply=1 flags=0x20 code=0x3",
		"c-10 (10) [000] binder_transaction_received: transaction=5150",
	))
	tables.Want(t, "slice", "ts|dur|category|name", "1000000000|1000000000|workqueue|binder_deferred_func",
		"4000000000|4000000000|binder|binder transaction", "6000000000|1000000000|binder|binder reply")
	tables.Want(t, "flow", "slice_out|slice_in", "1|2")
	args := strings.Join(tables.Rows("args", "key", "string_value"), "\n")
	if !strings.Contains(args, "code|0x3 Java Layer Dependent") || strings.Contains(args, "cpu|") {
		t.Errorf("args:\n%s", args)
	}
	tables.Want(t, "stats", "name")
}

func TestTasks(t *testing.T) {
	tables := ingesttest.MustRead(t, "trace", trace(
		"sh-10 (10) [000] task_newtask: pid=30 comm=sh clone_flags=1200011 oom_score_adj=0",
		"<...>-30 (-----) [000] task_newtask: pid=31 comm=sh clone_flags=3d0f00 oom_score_adj=0",
		"<...>-30 (-----) [000] task_rename: pid=30 oldcomm=sh newcomm=my app oom_score_adj=0",
	))
	tables.Want(t, "thread", "tid|name|start_ts|is_main_thread", "0|swapper|NULL|true", "10|sh|NULL|true", "30|my app|1000000000|true", "31|sh|2000000000|false")
	tables.Want(t, "process", "pid|name|parent_upid", "0|NULL|NULL", "10|NULL|NULL", "30|my app|1")
}

const page = `<!DOCTYPE html>
<html><head><script>a-1 [000] .... 1.0: tracing_mark_write: B|1|not data</script></head>
<script class="trace-data" type="application/text">
PROCESS DUMP
USER           PID  PPID     VSZ    RSS WCHAN  PC S NAME                        COMM
root             1     0   10632   2216 0       0 S init                        init
u0_a8           44     1 1573700  51720 ffffffff 00000000 S com.example.app   e.app --x
short line
u0_a8           xx     1 1573700  51720 ffffffff 00000000 S com.example.app   e.app
USER           PID   TID CMD
root             1     1 init
u0_a8           44    45 Jit thread pool
u0_a8           44    -6 broken
</script>
<script class="trace-data" type="application/text">
CGROUP DUMP
a-1 [000] .... 1.0: tracing_mark_write: B|1|not a trace
</script>
<script class="trace-data" type="application/text">
# tracer: nop
#           TASK-PID    TGID   CPU#  ||||    TIMESTAMP  FUNCTION
<...>-45 (   44) [000] ...1 1.000000: tracing_mark_write: B|44|first
  </script>
<p>a-1 [000] .... 1.0: tracing_mark_write: B|1|not data</p>
<script class="trace-data" type="application/text">
#           TASK-PID    TGID   CPU#  ||||    TIMESTAMP  FUNCTION
<...>-45 (   44) [000] ...1 2.000000: tracing_mark_write: B|44|second
</script>
</html>
`

func TestPage(t *testing.T) {
	for name, text := range map[string]string{"LF": page, "CR LF": strings.ReplaceAll(page, "\n", "\r\n")} {
		t.Run(name, func(t *testing.T) {
			tables := ingesttest.MustRead(t, "page", []byte(text))
			tables.Want(t, "slice", "ts|name", "1000000000|first", "2000000000|second")
			tables.Want(t, "process", "pid|name|parent_upid", "0|NULL|NULL", "1|init|0", "44|com.example.app|1")
			tables.Want(t, "thread", "tid|name|upid", "0|swapper|0", "1|init|1", "44|NULL|2", "45|Jit thread pool|2")
			tables.Want(t, "stats", "name|value|description", "systrace_parse_failure|2|Lines and events of ftrace text, and marks in them, that cannot be read.", "unread_fact|1|cgroup dump section is not read")
			if n := len(tables.Rows("import_log", "byte_offset")); n != 3 {
				t.Errorf("%d entries in import_log", n)
			}
		})
	}
}

func TestOtherLines(t *testing.T) {
	event := "a-1 [000] .... 1.000000: tracing_mark_write: I|1|x"
	for text, want := range map[string][]string{
		"# tracer: nop\n\n" + event + "\n##### CPU 1 buffer started ####\n": nil,
		"cpus=8\n" + event + "\n":                                                                                            nil,
		"version = 6\nCPU 0 is empty\ncpus=6\n" + event + "\n":                                                               nil,
		"capturing trace... done\nTRACE:\n" + event + "\n":                                                                   nil,
		" " + event + "\r\n":                                                                                                 nil,
		"cpus=8\n" + event + "\nCPU:3 [LOST 12 EVENTS]\nCPU:4 [7 EVENTS DROPPED]\n":                                          {"ftrace_cpu_has_data_loss|3|1", "ftrace_cpu_has_data_loss|4|1", "ftrace_events_lost|3|12", "ftrace_events_lost|4|7"},
		"cpus=8\n" + event + "\nCPU:3 [LOST 25 EVENTS]\nCPU:3 [LOST 2 EVENTS]\n":                                             {"ftrace_cpu_has_data_loss|3|1", "ftrace_events_lost|3|27"},
		"cpus=8\n" + event + "\nCPU:3 [LOST EVENTS]\nCPU:1024 [EVENTS DROPPED]\n":                                            {"ftrace_cpu_has_data_loss|3|1", "ftrace_cpu_has_data_loss|1024|1"},
		"cpus=8\n" + event + "\na-1 [000] .... 1.000001: <stack trace>\n => schedule\n => do_nanosleep\n":                    {"unread_event|0|1"},
		"cpus=8\n" + event + "\n \t \n":                                                                                      nil,
		"cpus=8\n" + event + "\na-1 [000] .... 1.000001: path_put <-path_walk\n":                                             {"unread_event|0|1"},
		"cpus=8\n" + event + "\na-1 [000] .... 1.1: sys_read(fd: 3)\na-1 [000] .... 1.2: sys_read -> 0x0\n":                  {"unread_event|0|2"},
		"cpus=8\na-1 [000] .... 1.000000: tracing_mark_write+0x1a8/0x2b0: I|1|x\n":                                           nil,
		"cpus=8\n  <idle>-0         3d.h2.    4.000005: print: tracing_mark_write: I|1|x\n":                                  nil,
		"cpus=8\n" + event + "\nCPU:99999999999 [LOST 1 EVENTS]\nCPU:1 [":                                                    {"systrace_parse_failure|NULL|1", "truncated_input|NULL|1"},
		"cpus=8\n" + event + "\nUSER PID PPID VSIZE RSS WCHAN PC NAME\nroot 1 0 8 7 f 0 S /init\n\nroot 2 0 8 7 f 0 S [k]\n": {"unread_fact|0|1"},
		"cpus=8\n" + event + "\n\x00\xff\xfe-1 [000] \x01\n" + event[:30] + "\n":                                             {"systrace_parse_failure|NULL|2"},
		"cpus=8\n" + event + "\na-1 [000] 1.1: cpu_idle: state=18446744073709551616 cpu_id=0\n":                              {"systrace_parse_failure|NULL|1"},
		"cpus=8\n" + event + "\na-1 [000] 1.1: cpu_idle: state=4294967296 cpu_id=0\n":                                        {"systrace_parse_failure|NULL|1"},
		"cpus=8\n" + event + "\na-1 [000] 1.1: cpu_idle: state=1x cpu_id=0\n":                                                {"systrace_parse_failure|NULL|1"},
		"cpus=8\n" + event + "\na-1 [000] 1.1: cpu_idle: state= cpu_id\n":                                                    {"systrace_parse_failure|NULL|1"},
		"cpus=8\n" + event + "\na-1 [000] 1.1: cpu_idle:\n":                                                                  {"systrace_parse_failure|NULL|1"},
		"cpus=8\n" + event + "\na-1 [000] 1.1: cdev_update: type==a= target=0x10 target=x =\n":                               nil,
		"cpus=8\n" + event + "\na-1 [000] 1.1: task_newtask: pid=1 comm=a clone_flags=xyz\n":                                 {"systrace_parse_failure|NULL|1"},
		"cpus=8\n" + event + "\na-1 [000] 1.1: task_rename: pid=-2147483649 newcomm=a\n":                                     {"systrace_parse_failure|NULL|1"},
		"cpus=8\n" + event + "\na-1 [000] 1.1: workqueue_execute_start: work struct 0: func x\n":                             {"systrace_parse_failure|NULL|1"},
		"cpus=8\n" + event + "\na-1 [000] 1.1: sched_switch: prev_comm=a prev_pid=1 prev_prio=1 prev_state=? ==> next_comm=b next_pid=2 next_prio=1\n" +
			"a-1 [000] 1.2: sched_switch: prev_comm=b prev_pid=2 prev_prio=1 ==> next_comm=b next_pid=3 next_prio=1\n": {"task_state_invalid|NULL|1"},
	} {
		tables := ingesttest.MustRead(t, "trace", []byte(text))
		if n := len(tables.Rows("slice", "id")); n != 1 {
			t.Errorf("%q: %d slices", text, n)
		}
		tables.Want(t, "stats", "name|idx|value", want...)
	}
}

// TestLastLine reads a last line without a line end, unless it is visibly cut off.
func TestLastLine(t *testing.T) {
	const start, mark = "cpus=8\na-1 [000] .... 1.000000: tracing_mark_write: I|1|x\n", "a-1 [000] .... 2.000000: tracing_mark_write: "
	for last, want := range map[string]string{
		mark + "I|1|y":   "unended_line|1",
		mark + "I|1|y\r": "unended_line|1",
		"# end":          "unended_line|1",
		mark:             "truncated_input|1",
		mark[:40]:        "truncated_input|1",
		"a-1 [000] .... 2.000000: sched_switch: prev_comm=a prev_pid=1 prev_prio=1 prev_state=S ==> next_comm=b next_pid=2": "truncated_input|1",
	} {
		tables := ingesttest.MustRead(t, "trace", []byte(start+last))
		tables.Want(t, "stats", "name|value", want)
		if n := len(tables.Rows("slice", "id")); n != 1+strings.Count(last, "|y") {
			t.Errorf("%q: %d slices", last, n)
		}
	}
	page := "<!DOCTYPE html>\n<script class=\"trace-data\" type=\"application/text\">\n# TASK-PID\n" + start[len("cpus=8\n"):] + mark + "I|1|y"
	ingesttest.MustRead(t, "trace.html", []byte(page)).Want(t, "stats", "name|value", "truncated_input|1")
}

func TestNoTrace(t *testing.T) {
	for text, want := range map[string]error{
		"<!DOCTYPE html>\n<html>hello</html>\n":                    format.ErrUnsupported,
		"cpus=8\n just\n a text\n":                                 format.ErrCorrupt,
		"# tracer: nop\na-1 [000] d..2 4711: x: y\n":               format.ErrUnsupported,
		"# tracer: nop\n  <idle>-0         3d.h2.    4us+: x: y\n": format.ErrUnsupported,
		" just\n a text\n":                                         format.ErrUnknown,
		strings.Repeat(" ", 100_000):                               format.ErrUnknown,
	} {
		_, err := ingesttest.Read(t, ingesttest.File{Name: "x", Reader: strings.NewReader(text)})
		if !errors.Is(err, want) || !format.BadInput(err) || strings.HasPrefix(err.Error(), "x (systrace)") != (want != format.ErrUnknown) {
			t.Errorf("%q: %v", text, err)
		}
	}
	lists, _, _ := strings.Cut(page, "</script>\n<script class=\"trace-data\" type=\"application/text\">\nCGROUP")
	for text, want := range map[string]error{header: format.ErrNoEvents, lists: nil} {
		if _, err := ingesttest.Read(t, ingesttest.File{Name: "x", Reader: strings.NewReader(text)}); !errors.Is(err, want) {
			t.Errorf("%q without events: %v", text, err)
		}
	}
}

func TestUnsupportedText(t *testing.T) {
	for text, want := range map[string]string{
		"# tracer: nop\na-1 [000] d..2 4711: x: y\n":               "trace_clock mono",
		"# tracer: nop\n  <idle>-0         3d.h2.    4us+: x: y\n": "latency-format",
		"# tracer: nop\n  <idle>-0         3d.h2.    4us : x: y\n": "latency-format",
		"# tracer: function_graph\n#\n 0)   1.2 us    |  f();\n":   `the tracer "function_graph"`,
	} {
		_, err := ingesttest.Read(t, ingesttest.File{Name: "x", Reader: strings.NewReader(text)})
		if !errors.Is(err, format.ErrUnsupported) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestListed reads lists that name threads before and after task_newtask creates one with their tid.
func TestListed(t *testing.T) {
	page := func(events string) []byte {
		return []byte(`<!DOCTYPE html>
<html>
<script class="trace-data" type="application/text">
PROCESS DUMP
USER           PID  PPID     VSZ    RSS WCHAN  PC S NAME                        COMM
shell           10     1   10000   1000 0      0 R adbd                        adbd
shell           90    10   10000   1000 0      0 R ps                          ps
USER           PID   TID CMD
shell           10    10 adbd
shell           10    12 Background Job.
shell           90    90 ps
</script>
<script class="trace-data" type="application/text">
#           TASK-PID    TGID   CPU#  ||||    TIMESTAMP  FUNCTION
` + events + "</script>\n</html>\n")
	}
	tables := ingesttest.MustRead(t, "page", page("a-10 (10) [000] .... 1.000000: task_newtask: pid=90 comm=sh clone_flags=1200011 oom_score_adj=0\n"+
		"a-10 (10) [000] .... 2.000000: task_newtask: pid=12 comm=a clone_flags=3d0f00 oom_score_adj=0\n"))
	tables.Want(t, "process", "pid|name|parent_upid|start_ts", "0|NULL|NULL|NULL", "1|NULL|NULL|NULL", "10|adbd|1|NULL", "90|ps|2|1000000000")
	tables.Want(t, "thread", "tid|upid|start_ts", "0|0|NULL", "1|1|NULL", "10|2|NULL", "90|3|1000000000", "12|2|2000000000")
	// A thread that ran before is another one.
	tables = ingesttest.MustRead(t, "page", page("<...>-90 (-----) [000] .... 0.500000: tracing_mark_write: I|90|x\n"+
		"<...>-12 (-----) [000] .... 0.500000: tracing_mark_write: I|10|x\n"+
		"a-10 (10) [000] .... 1.000000: task_newtask: pid=90 comm=sh clone_flags=1200011 oom_score_adj=0\n"+
		"a-10 (10) [000] .... 2.000000: task_newtask: pid=12 comm=a clone_flags=3d0f00 oom_score_adj=0\n"))
	tables.Want(t, "process", "pid|name|start_ts", "0|NULL|NULL", "1|NULL|NULL", "10|adbd|NULL", "90|ps|NULL", "90|sh|1000000000")
	tables.Want(t, "thread", "tid|upid|start_ts", "0|0|NULL", "1|1|NULL", "10|2|NULL", "90|3|NULL", "12|2|NULL", "90|4|1000000000", "12|2|2000000000")
	// So is one of another process.
	tables = ingesttest.MustRead(t, "page", page("a-10 (10) [000] .... 1.000000: task_newtask: pid=90 comm=a clone_flags=3d0f00 oom_score_adj=0\n"))
	tables.Want(t, "thread", "tid|upid|start_ts", "0|0|NULL", "1|1|NULL", "10|2|NULL", "90|3|NULL", "12|2|NULL", "90|2|1000000000")
}

// TestOldPage reads a page whose trace is a string of JavaScript.
func TestOldPage(t *testing.T) {
	for _, end := range []string{"\\n\";\n", "\";\n", "  </script>\n"} {
		tables := ingesttest.MustRead(t, "page", []byte("<!DOCTYPE HTML>\n<html>\n<script>\n  var linuxPerfData = \"\\\n"+
			"# tracer: nop\\n\\\n#\\n\\\n           a-10 [000] .... 1.000000: tracing_mark_write: I|10|x\\n\\\n           a-10 [000] .... 2.000000: tracing_mark_write: I|10|y\\n\\\n"+
			end+"a-10 [000] .... 3.000000: tracing_mark_write: I|10|no data\n</script>\n</html>\n"))
		tables.Want(t, "slice", "ts|name", "1000000000|x", "2000000000|y")
		tables.Want(t, "stats", "name")
	}
}

// What looks like the line end of an old page, or like an event in a comment, is neither in a trace.
func TestEndsAndComments(t *testing.T) {
	tables := ingesttest.MustRead(t, "trace", []byte(header+"a-10 [000] .... 1.000000: tracing_mark_write: I|10|x\n"+
		"a-10 [000] .... 2.000000: tracing_mark_write: I|10|y\\n\\\n# a-10 [000] .... 3.000000: tracing_mark_write: I|10|z\n"))
	tables.Want(t, "slice", "ts|name", "1000000000|x", `2000000000|y\n\`)
}

func TestInJSON(t *testing.T) {
	text, _ := json.Marshal(string(trace("a-4 (4) [000] tracing_mark_write: B|4|\"quoted\"", "a-4 (4) [000] tracing_mark_write: E|4")))
	data := fmt.Appendf(nil, `{"traceEvents":[{"ph":"X","name":"json","pid":1,"tid":1,"ts":5,"dur":1}],"systemTraceEvents":%s}`, text)
	tables := ingesttest.MustRead(t, "trace.json", data)
	tables.Want(t, "slice", "ts|dur|name", "5000|1000|json", "1000000000|1000000000|\"quoted\"")
	tables.Want(t, "trace_file", "trace_type", "json")
	tables.Want(t, "stats", "name")
}

func TestTruncatedAnywhere(t *testing.T) {
	whole := append(trace("a-4 (4) [000] tracing_mark_write: B|4|x",
		"a-4 (4) [001] sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=Jit next_pid=7 next_prio=129"), page...)
	for n := 1; n < len(whole); n += 7 {
		_, err := ingesttest.Read(t, ingesttest.File{Name: "x", Reader: bytes.NewReader(whole[:n])})
		if err != nil && !format.BadInput(err) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

func FuzzSystrace(f *testing.F) {
	f.Add([]byte(page))
	f.Add(trace("a-4 (4) [000] tracing_mark_write: B|4|x", "a-4 (4) [000] clock_set_rate: cpu clk state=300000000 cpu_id=7",
		"a-4 (4) [000] workqueue_execute_start: work struct ffffff83b8f89238: function f", "a-4 (4) [000] binder_command: cmd=0x40406300 BC_TRANSACTION",
		"a-4 (4) [001] sched_switch: prev_comm=a prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=Jit next_pid=7 next_prio=129"))
	fuzz.Run(f, func(t *testing.T, data []byte) {
		if detected := ingest.Detect(data); detected == nil || detected.Name != "systrace" {
			return
		}
		_, err := ingesttest.Read(t, ingesttest.File{Name: "fuzz", Reader: bytes.NewReader(data)})
		if err != nil && !format.BadInput(err) {
			t.Fatal(err)
		}
	})
}

// TestStatesOfNewKernel reads the letters of states beside a Perfetto trace that says that the kernel is new.
func TestStatesOfNewKernel(t *testing.T) {
	field := func(number byte, data string) string { return string([]byte{number<<3 | 2, byte(len(data))}) + data }
	system := field(1, field(1, "Linux")+field(3, "6.1.0"))
	packet := "\xea\x02" + string([]byte{byte(len(system))}) + system // system_info, 45
	text := trace(
		"a-1 (1) [000] sched_switch: prev_comm=a prev_pid=1 prev_prio=120 prev_state=R+ ==> next_comm=b next_pid=2 next_prio=120",
		"b-2 (2) [000] sched_switch: prev_comm=b prev_pid=2 prev_prio=120 prev_state=I ==> next_comm=a next_pid=1 next_prio=120",
		"a-1 (1) [000] sched_switch: prev_comm=a prev_pid=1 prev_prio=120 prev_state=P ==> next_comm=b next_pid=2 next_prio=120",
		"b-2 (2) [000] sched_switch: prev_comm=b prev_pid=2 prev_prio=120 prev_state=R+ ==> next_comm=a next_pid=1 next_prio=120")
	tables, err := ingesttest.Read(t, ingesttest.File{Name: "a.pftrace", Reader: strings.NewReader(field(1, packet))},
		ingesttest.File{Name: "b.txt", Reader: bytes.NewReader(text)})
	if err != nil {
		t.Fatal(err)
	}
	tables.Want(t, "sched_slice", "ts|end_state", "1000000000|I", "2000000000|P", "3000000000|R+", "4000000000|NULL")
	tables.Want(t, "stats", "name")
}
