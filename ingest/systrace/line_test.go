package systrace

import (
	"fmt"
	"testing"

	"github.com/tpconvert/tpconvert/internal/fuzz"
)

func TestLines(t *testing.T) {
	for text, want := range map[string]string{
		"kworker/u16:1-77    (   77) [004] ....   316.196720: 0: B|77|x|0": "kworker/u16:1 77 77 4 316196720000 0 B|77|x|0",
		"<idle>-0     [000] ...2     0.002188: task_newtask: pid=1":        "<idle> 0 - 0 2188000 task_newtask pid=1",
		"<idle>-0     [000]  0.002188: task_newtask: pid=1":                "<idle> 0 - 0 2188000 task_newtask pid=1",
		"a-1 (-----) [01] d..5 1.5: x: ":                                   "a 1 - 1 1500000000 x ",
		"a-1 1 [01] d..5 1.5: x: y":                                        "a 1 1 1 1500000000 x y",
		" a-b -1-22-333 (1) [7] .N..2 1.000000001: a:b: c ":                "a-b -1-22 333 1 7 1000000001 a:b c",
		"a-1 [2] -3 [4] 1.5: x: y":                                         "a-1 [2] 3 - 4 1500000000 x y",
		"a-1\t(\t1)\t[001]\t....\t1.5:\tx:\ty\t":                           "a 1 1 1 1500000000 x y",
		"a-1 [001] d..316.196720: x: y":                                    "a 1 - 1 316196720000 x y",
		"a-1 [001] d....6 316.196720: x: y":                                "a 1 - 1 316196720000 x y",
		"-1 [001] 538.065259: x:":                                          " 1 - 1 538065259000 x ",
		"a-1 [001] 9007199254.740993123: x:":                               "a 1 - 1 9007199254740993123 x ",
		"a-1 [001] 1.00000000000000000000000001: x:":                       "a 1 - 1 1000000000 x ",
		"a-1 [001] 1.0000000005: x:":                                       "a 1 - 1 1000000001 x ",
		"a-1 [001] 1.9999999995: x:":                                       "a 1 - 1 2000000000 x ",
		"a-1 [001] 1.99999999949: x:":                                      "a 1 - 1 1999999999 x ",
		"a-1 [001] 28304.424884: x:":                                       "a 1 - 1 28304424884000 x ",
		"a-1 (-------) [001] dNh2. 1.5: x:":                                "a 1 - 1 1500000000 x ",
		"a-1       ( 123456) [001] D.Zff 1.5: x:":                          "a 1 123456 1 1500000000 x ",
		"a-1 [001] d..2.1 1.5: x:":                                         "a 1 - 1 1500000000 x ",
		"a-1 [1024] 1.5: x:":                                               "a 1 - 1024 1500000000 x ",
		"  <idle>-0         3d.h2.    4.000005: x: y":                      "<idle> 0 - 3 4000005000 x y",
		"  <idle>-0         3.....    4.000005: x: y":                      "<idle> 0 - 3 4000005000 x y",
		"  <idle>-0         3d.h2.    4us+: x: y":                          "no",
		"a-1 [001] 1.5: (+25)    x: y":                                     "a 1 - 1 1500000000 x y",
		"a-1 [001] 1.5: (+25)":                                             "no",
		"a-1 12 1.5: x: y":                                                 "no",
		"a-1 [001] .... 1.5: <stack trace>":                                "a 1 - 1 1500000000 stack trace ",
		"a-1 [001] .... 1.5: <user stack trace>":                           "a 1 - 1 1500000000 stack trace ",
		"a-1 [001] .... 1.5: path_put <-path_walk":                         "a 1 - 1 1500000000 function ",
		"a-1 [001] .... 1.5: path_put x <-path_walk":                       "no",
		"a-1 [001] .... 1.5: path_put <801341d8> <-path_walk <80135b38>":   "a 1 - 1 1500000000 function ",
		"a-1 [001] .... 1.5: put+0x4/0x20 [fs] <-walk+0x8/0x90 [fs]":       "a 1 - 1 1500000000 function ",
		"a-1 [001] .... 1.5: path_put(path=0x1, n=2) <-path_walk":          "a 1 - 1 1500000000 function ",
		"a-1 [001] .... 1.5: path_put <8066bb5c>: n: 1":                    "a 1 - 1 1500000000 path_put n: 1",
		"a-1 [001] .... 1.5: path_put <8066bb5c>: [+] n: 1":                "a 1 - 1 1500000000 path_put [+] n: 1",
		"a-1 [001] .... 1.5: put+0x4/0x20 [fs]: <n>: 1":                    "a 1 - 1 1500000000 put+0x4/0x20 <n>: 1",
		"a-1 [001] .... 1.5: # 2a buf: 01 02":                              "a 1 - 1 1500000000 trace_marker_raw ",
		"a-1 [001] .... 1.5: # 2a":                                         "no",
		"a-1 [001] .... 1.5: put+0x4/0x20 [fs] <8066bb5c>: n: 1":           "a 1 - 1 1500000000 put+0x4/0x20 n: 1",
		"a-1 [001] .... 1.5: path_put <8066bb5c>":                          "no",
		"a-1 [001] .... 1.5: path_put [fs] x":                              "no",
		"a-1 [001] .... 1.5: sys_ioctl(fd: ff, cmd: 5410)":                 "a 1 - 1 1500000000 system call ",
		"a-1 [001] .... 1.5: sys_getpid()":                                 "a 1 - 1 1500000000 system call ",
		"a-1 [001] .... 1.5: sys_getpid -> 0x1":                            "a 1 - 1 1500000000 system call ",
		"a-1 [001] .... 1.5: sys_enter: NR 98 (1, 2)":                      "a 1 - 1 1500000000 sys_enter NR 98 (1, 2)",
		"a-1 [001] .... 1.5: sys_getpid 1":                                 "no",
		"a-1 [001] .... 1.5: sys_":                                         "no",
		"a-4294967296 [001] 1.5: x:":                                       "no",
		"a-1 (4294967296) [001] 1.5: x:":                                   "a 1 - 1 1500000000 x ",
		"a-1 (99999999999999999999) [001] 1.5: x:":                         "no",
		"a-1 [65536] 1.5: x:":                                              "no",
		"a-1 [001] 99999999999.5: x:":                                      "no",
		"a-1 [001] 99999999999999999999.5: x:":                             "no",
		"a-1 [001] 15: x:":                                                 "no",
		"a-1 [001] 1.: x:":                                                 "no",
		"a-1 [001] 1.5 x:":                                                 "no",
		"a-1 [001] 1.5: x y":                                               "no",
		"a-1 [001] 1.5: :":                                                 "no",
		"a-1 [001] 1.5:x: y":                                               "no",
		"a-1 [001":                                                         "no",
		"a-1":                                                              "no",
		"a-":                                                               "no",
		"":                                                                 "no",
		"USER     PID   PPID  VSIZE  RSS     WCHAN    PC  NAME":            "no",
	} {
		var l line
		got := "no"
		if l.parse([]byte(text)) {
			tgid := "-"
			if l.inTGID {
				tgid = fmt.Sprint(l.tgid)
			}
			got = fmt.Sprintf("%s %d %s %d %d %s %s", l.task, l.pid, tgid, l.cpu, l.ts, l.event, l.args)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func FuzzLine(f *testing.F) {
	f.Add([]byte("kworker/u16:1-77    (   77) [004] d..2   316.196720: sched_switch: prev_comm=a"))
	f.Add([]byte("a-1 [2] -3 [4] 1.5: x: y"))
	fuzz.Run(f, func(t *testing.T, text []byte) {
		var l line
		if l.parse(text) && (l.ts < 0 || len(l.event) == 0 || len(l.task)+len(l.args) > len(text)) {
			t.Errorf("%+v", l)
		}
	})
}
