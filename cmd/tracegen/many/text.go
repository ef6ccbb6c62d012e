package many

import (
	"strconv"
	"strings"
)

func systraceOf(name string, line func(e *textOf)) Format {
	return textsOf(name, "# tracer: nop\n#\n", "", line)
}

// mark appends a line of a mark that thread tid writes at i µs.
func (e *textOf) mark(tid, i int, parts ...any) {
	e.text("  a-", tid, " (1) [000] .... ", i/1e6, ".", strconv.Itoa(1e6 + i%1e6)[1:], ": tracing_mark_write: ")
	e.text(parts...)
	e.text("\n")
}

// Traces that are text but not JSON.
var texts = []Format{
	systraceOf("systrace-open", func(e *textOf) { e.mark(1, e.i, "B|1|n", e.i) }),
	systraceOf("systrace-async", func(e *textOf) { e.mark(1, e.i, "S|1|n|", e.i) }),
	systraceOf("systrace-same-async", func(e *textOf) { e.mark(1, e.i, "S|1|n|1") }),
	systraceOf("systrace-async-names", func(e *textOf) { e.mark(1, e.i, "S|1|n", e.i, "|1") }),
	systraceOf("systrace-tracks", func(e *textOf) { e.mark(1, e.i, "G|1|t", e.i, "|n|1") }),
	systraceOf("systrace-counters", func(e *textOf) { e.mark(1, e.i, "C|1|c", e.i, "|1") }),
	systraceOf("systrace-processes", func(e *textOf) { e.mark(e.i+1, e.i, "B|", e.i+1, "|n") }),
	systraceOf("systrace-sched", func(e *textOf) {
		e.text("  a-", e.i, " (1) [000] d..3 ", e.i/1e6, ".", strconv.Itoa(1e6 + e.i%1e6)[1:],
			": sched_switch: prev_comm=a prev_pid=", e.i, " prev_prio=120 prev_state=R ==> next_comm=a next_pid=", e.i+1, " next_prio=120\n")
	}),
	systraceOf("systrace-wakeups", func(e *textOf) {
		e.text("  a-1 (1) [000] d..3 ", e.i/1e6, ".", strconv.Itoa(1e6 + e.i%1e6)[1:],
			": sched_waking: comm=b pid=", e.i+2, " prio=120 target_cpu=000\n")
	}),
	systraceOf("systrace-binder", func(e *textOf) {
		e.text("  a-1 (1) [000] d..3 ", e.i/1e6, ".", strconv.Itoa(1e6 + e.i%1e6)[1:],
			": binder_transaction: transaction=", e.i+1, " dest_node=1 dest_proc=7 dest_thread=8 reply=0 flags=0x10 code=0x1\n")
	}),
	textsOf("strace-unfinished", "", "", func(e *textOf) {
		e.text(e.i+1, " 1700000000.", 100000+e.i%900000, " read(3, <unfinished ...>\n")
	}),
	textsOf("strace-calls", "", "", func(e *textOf) {
		e.text("1 ", 1700000000+e.i, ".000001 read(3, \"x", e.i, "\", 1) = 1 <0.000010>\n")
	}),
	textsOf("strace-overlapping", "", "", func(e *textOf) {
		e.text("1 ", 1700000000+e.i, ".000001 read(3, \"x\", 1) = 1 <", e.n, ".000010>\n")
	}),
	textsOf("logcat-lines", "--------- beginning of main\n", "", func(e *textOf) {
		e.text("2024-01-02 03:04:05.678  1000  ", 1000+e.i, " I Tag", e.i, ": message ", e.i, "\n")
	}),
	textsOf("ninja-parallel", "# ninja log v5\n", "", func(e *textOf) {
		e.text(e.i, "\t", e.n+e.i, "\t0\tout", e.i, "\t", strconv.FormatInt(int64(e.i)*7919+1, 16), "\n")
	}),
	textsOf("ninja-nested", "# ninja log v5\n", "", func(e *textOf) {
		e.text(e.i, "\t", 2*e.n-e.i, "\t0\tout", e.i, "\t", strconv.FormatInt(int64(e.i)*7919+1, 16), "\n")
	}),
	textsOf("ninja-outputs", "# ninja log v5\n", "", func(e *textOf) {
		e.text("1\t5\t0\tout", e.i, "\tabc\n")
	}),
	textsOf("ninja-repeated", "# ninja log v5\n", "", func(e *textOf) {
		e.text(e.i, "\t", e.i+1, "\t0\tout\tabc\n")
	}),
	textsOf("collapsed-stacks", "", "", func(e *textOf) { e.text("main;f", e.i, ";g 3\n") }),
	textOfAll("collapsed-frames", func(e *textOf) {
		e.text("main;f 1\nmain")
		e.repeat("", func(i int) { e.text(";f", i) })
		e.text(" 1\n")
	}),
	textsOf("perftext-samples", "", "", func(e *textOf) {
		e.text("main  ", e.i, "/", e.i+1, " [003]  ", e.i, ".500000:        321 cycles:u:\n\t    7f2b9c00a1f0 f", e.i, "+0x10 (/usr/lib/", e.i, ".so)\n\n")
	}),
	textOfAll("perftext-frames", func(e *textOf) {
		e.text("main  7/8 [003]  12.500000:        321 cycles:u:\n")
		e.repeat("", func(i int) {
			e.text("\t    ", strconv.FormatInt(int64(i)+4096, 16), " f", i, "+0x10 (/usr/lib/a.so)\n")
		})
		e.text("\n")
	}),
	textOfAll("instruments-samples", func(e *textOf) {
		e.instruments()
		e.repeat("", func(i int) {
			e.text(`<row><sample-time id="`, 10*i+10, `">`, i*1000, `</sample-time><thread id="`, 10*i+11, `" fmt="m"><tid id="`, 10*i+12, `">`, i+1,
				`</tid><process id="`, 10*i+13, `" fmt="app"><pid id="`, 10*i+14, `">7</pid></process></thread><backtrace id="`, 10*i+15, `"><frame id="`, 10*i+16, `" name="f" addr="0x`,
				strconv.FormatInt(int64(i)+4096, 16), `"><binary id="`, 10*i+17, `" name="app" UUID="DE46DD52-4994-3FD8-B4B4-E352A1A19354" load-addr="0x1000" path="/bin/app"/></frame></backtrace></row>`)
		})
		e.text("</node></trace-query-result>")
	}),
	textOfAll("instruments-frames", func(e *textOf) {
		e.instruments()
		e.text(`<row><sample-time id="1">1000</sample-time><thread id="2" fmt="m"><tid id="3">1</tid></thread><backtrace id="4">`)
		e.repeat("", func(i int) {
			e.text(`<frame id="`, i+10, `" name="f" addr="0x`, strconv.FormatInt(int64(i)+4096, 16), `"/>`)
		})
		e.text("</backtrace></row></node></trace-query-result>")
	}),
	textOfAll("instruments-attributes", func(e *textOf) {
		e.instruments()
		e.text("<row")
		e.repeat("", func(i int) { e.text(" a", i, `="1"`) })
		e.text(`><sample-time id="1">1000</sample-time><thread id="2" fmt="m"><tid id="3">1</tid></thread><backtrace id="4"><frame id="5" name="f" addr="0x1000"/></backtrace></row></node></trace-query-result>`)
	}),
	textsOf("battery-items", "9,0,i,vers,36,214,A,B\n9,hsp,0,10216,\"app\"\n9,h,0:RESET:TIME:1732816430344\n", "", func(e *textOf) {
		e.text("9,h,10,Bl=", e.i%100, ",+w=0,+S\n")
	}),
	textsOf("battery-strings", "9,0,i,vers,36,214,A,B\n9,h,0:RESET:TIME:1732816430344\n", "", func(e *textOf) {
		e.text("9,hsp,", e.i, ",10216,\"app", e.i, "\"\n9,h,1,+Ewl=", e.i, "\n")
	}),
	textsOf("dumpstate-sections", "========================================================\n== dumpstate: 2024-01-02 03:04:05\n========================================================\n", "", func(e *textOf) {
		e.text("------ SECTION ", e.i, " (/proc/", e.i, ") ------\nline\n")
	}),
	textsOf("names-lines", "com.app.A -> a.a:\n", "", func(e *textOf) {
		e.text("    void method", e.i, "() -> m", e.i, "\n")
	}),
	textOfAll("art-calls", func(e *textOf) {
		e.artMethods(1)
		e.repeat("", func(i int) { e.text(artRecord(7, 0x10, i)) })
		e.repeat("", func(i int) { e.text(artRecord(7, 0x11, e.n+i)) })
	}),
	textOfAll("art-methods", func(e *textOf) {
		e.artMethods(e.n)
		e.repeat("", func(i int) { e.text(artRecord(7, 0x10+4*i, 2*i), artRecord(7, 0x11+4*i, 2*i+1)) })
	}),
	textOfAll("art-wrong-ends", func(e *textOf) {
		e.artMethods(e.n)
		e.repeat("", func(i int) { e.text(artRecord(7, 0x10+4*i, i)) })
		e.repeat("", func(i int) { e.text(artRecord(7, 0x11+4*i, e.n+i)) })
	}),
}

func (e *textOf) instruments() {
	e.text("<?xml version=\"1.0\"?>\n<trace-query-result>\n<node xpath='//trace-toc[1]/run[1]/data[1]/table[2]'><schema name=\"time-profile\"><col><mnemonic>time</mnemonic></col></schema>")
}

// artMethods appends the head of a trace of ART's with n methods.
func (e *textOf) artMethods(n int) {
	e.text("*version\n2\nclock=wall\n*threads\n7\tmain\n*methods\n")
	for i := range n {
		e.text("0x", strconv.FormatInt(int64(0x10+4*i), 16), "\tcom.app.C\tf", i, "\t()V\tC.java\t1\n")
	}
	e.text("*end\nSLOW\x02\x00\x20\x00", strings.Repeat("\x00", 24))
}

// artRecord returns that thread tid enters or leaves a method at ts µs.
func artRecord(tid, method, ts int) string {
	return string([]byte{byte(tid), byte(tid >> 8), byte(method), byte(method >> 8), byte(method >> 16), byte(method >> 24), byte(ts), byte(ts >> 8), byte(ts >> 16), byte(ts >> 24)})
}
