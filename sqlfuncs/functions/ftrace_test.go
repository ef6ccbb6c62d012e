package functions

import (
	"fmt"
	"testing"

	"github.com/tpconvert/tpconvert/sqlfuncs/functions/functionstest"
)

func TestFtrace(t *testing.T) {
	type args map[string]any // an int is of type int, a uint of type uint
	events := []struct {
		name string
		args args
		want string // after the name
	}{
		{"sched_switch", args{"prev_comm": "a", "prev_pid": 12, "prev_prio": 120, "prev_state": 3, "next_comm": "b", "next_pid": 7, "next_prio": 100},
			"sched_switch: prev_comm=a prev_pid=12 prev_prio=120 prev_state=S|D ==> next_comm=b next_pid=7 next_prio=100"},
		{"sched_switch", args{"prev_state": 256}, "sched_switch: prev_state=R+ ==>"},
		{"sched_switch", args{"prev_state": 0}, "sched_switch: prev_state=R ==>"},
		{"sched_switch", args{"prev_state": 512}, "sched_switch: prev_state=? ==>"},
		{"sched_wakeup", args{"comm": "x", "pid": 7, "prio": 120, "target_cpu": 3}, "sched_wakeup: comm=x pid=7 prio=120 target_cpu=003"},
		{"sched_blocked_reason", args{"pid": 3, "io_wait": uint(1), "caller": uint(160)}, "sched_blocked_reason: pid=3 iowait=1 caller=a0"},
		{"clock_set_rate", args{"name": "gpu", "state": uint(300), "cpu_id": uint(0)}, "clock_set_rate: gpu state=300 cpu_id=0"},
		{"clk_set_rate", args{"name": "gpu", "rate": uint(300)}, "clk_set_rate: gpu 300"},
		{"clock_enable", args{"name": "gpu", "state": 1, "cpu_id": 2}, "clock_enable:gpu state=1 cpu_id=2"},
		{"binder_transaction", args{"debug_id": -1, "flags": uint(18), "code": uint(10), "target_node": 5, "to_proc": 6, "to_thread": 0, "reply": 0},
			"binder_transaction: transaction=4294967295 dest_node=5 dest_proc=6 dest_thread=0 reply=0 flags=0x12 code=0xa"},
		{"binder_transaction_alloc_buf", args{"debug_id": 5, "data_size": uint(8), "offsets_size": uint(0)},
			"binder_transaction_alloc_buf: transaction=5 data_size=8 offsets_size=0"},
		{"mm_filemap_add_to_page_cache", args{"pfn": uint(9), "i_ino": uint(31), "index": uint(2), "s_dev": uint(264241155)},
			"mm_filemap_add_to_page_cache: dev 252:3 ino 1f page=0000000000000000 pfn=9 ofs=8192"},
		{"print", args{"buf": "B|10|work\n"}, "tracing_mark_write: B|10|work"},
		{"workqueue_execute_start", args{"work": uint(255), "function": "do_work"}, "workqueue_execute_start: work struct ff: function do_work"},
		{"workqueue_queue_work", args{"work": uint(255), "function": uint(160), "workqueue": uint(16), "req_cpu": uint(3), "cpu": uint(4)},
			"workqueue_queue_work: work struct=ff function=a0 workqueue=1034"},
		{"irq_handler_exit", args{"irq": 5, "ret": 0}, "irq_handler_exit: irq=5 ret=unhandled"},
		{"softirq_entry", args{"vec": uint(9)}, "softirq_entry: vec=9 [action=RCU]"},
		{"softirq_exit", args{"vec": uint(12)}, "softirq_exit: vec=12 [action=12]"},
		{"tracing_mark_write", args{"pid": 3, "trace_name": "work", "trace_begin": uint(1)}, "tracing_mark_write:B|3|work"},
		{"dpu_tracing_mark_write", args{"pid": 3, "name": "n", "type": uint(67), "value": 7}, "tracing_mark_write:C|3|n|7"},
		{"samsung_tracing_mark_write", args{"pid": 3, "trace_name": "n", "trace_type": uint(83), "value": 0}, "samsung_tracing_mark_write:S|3|n|0"},
		{"cgroup_attach_task", args{"pid": 3, "cname": "bar"}, "cgroup_attach_task: cgroup=bar pid=3"},
		{"i2c_write", args{"adapter_nr": 1, "msg_nr": uint(0), "addr": uint(18), "flags": uint(1), "len": uint(2), "buf": "AB"},
			"i2c_write: i2c-1 #0 a=012 f=0001 l=2 [41-42]"},
		{"mm_page_alloc", args{"gfp_flags": uint(54558920)}, "mm_page_alloc: gfp_flags=GFP_KERNEL|__GFP_ZERO|__GFP_MOVABLE|0x2000000"},
		{"mm_page_alloc", args{"gfp_flags": uint(0)}, "mm_page_alloc: gfp_flags=GFP_NOWAIT"},
		{"unknown_event", args{"x": ^uint(0)}, "unknown_event: x=18446744073709551615"},
		{"sys_enter", nil, "sys_enter:"},
	}
	s := functionstest.NewTables()
	var eventRows, argRows [][]any
	var tests []functionstest.Test
	for i, e := range events {
		eventRows = append(eventRows, []any{i, 1000002999, e.name, 1, i, 3})
		for key, v := range e.args {
			switch v := v.(type) {
			case int:
				argRows = append(argRows, []any{i, key, v, nil, nil, "int"})
			case uint:
				argRows = append(argRows, []any{i, key, int64(v), nil, nil, "uint"})
			case string:
				argRows = append(argRows, []any{i, key, nil, v, nil, "string"})
			}
		}
		tests = append(tests, functionstest.Test{fmt.Sprintf("SELECT substr(to_ftrace(%d), 53)", i), "'" + e.want + "'"})
	}
	n := len(events)
	eventRows = append(eventRows, []any{n, 5, "a", 0, nil, 0}, []any{n + 1, 7000000000, "b", 2, nil, 0}, []any{n + 2, 0, "track_event.c", 0, nil, 0})
	s.Add(t, "ftrace_event", "id, ts, name text, utid, arg_set_id, ucpu", eventRows...)
	s.Add(t, "args", "arg_set_id, key text, int_value, string_value text, real_value real, value_type text", argRows...)
	s.Add(t, "cpu", "id, cpu", []any{0, 0}, []any{3, 3})
	s.Add(t, "thread", "id, tid, name text, upid", []any{0, 0, "swapper", nil}, []any{1, 12, "a-thread", 1}, []any{2, 123456, nil, nil})
	s.Add(t, "process", "id, pid", []any{0, 0}, []any{1, 10})
	s.Add(t, "metadata", "name text, str_value text, int_value, machine_id, trace_id", []any{"system_release", "4.19.110-g1", nil, 0, 0})
	functionstest.Check(t, s.Open(t, Data{}.define), append(tests,
		functionstest.Test{`SELECT substr(to_ftrace(0), 1, 52)`, `'        a_thread-12    (   10) [003] .... 1.000002: '`},
		functionstest.Test{fmt.Sprintf(`SELECT to_ftrace(%d)`, n), `'          <idle>-0     (-----) [000] .... 0.000000: a:'`},
		functionstest.Test{fmt.Sprintf(`SELECT to_ftrace(%d)`, n+1), `'       <unknown>-123456 (-----) [000] .... 7.000000: b:'`},
		functionstest.Test{fmt.Sprintf(`SELECT to_ftrace(%d)`, n+2), `error: to_ftrace: event`},
		functionstest.Test{`SELECT to_ftrace(999)`, `error: to_ftrace: there is no event 999`},
		functionstest.Test{`SELECT to_ftrace(NULL)`, `error: to_ftrace: the argument is not the id of an event`}))
}

func TestTaskState(t *testing.T) {
	for _, x := range []struct {
		raw    uint16
		kernel int
		want   string
	}{
		{0, 4004, "R"}, {0x800, 4004, "R+"}, {0x1000, 4004, "R"}, {0x1000, 4008, "R+"}, {0x100, 4014, "R+"}, {0x402, 4004, "I"},
		{0x82, 4014, "D|I"}, {0x40, 4014, "P"}, {0x40, 4004, "x"}, {0x283, 4004, "S|D|K|P"},
	} {
		if got := taskState(x.raw, x.kernel); got != x.want {
			t.Errorf("%#x on %d is %s, not %s", x.raw, x.kernel, got, x.want)
		}
	}
}
