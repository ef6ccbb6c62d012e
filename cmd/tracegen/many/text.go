package many

import "github.com/tpconvert/tpconvert/cmd/tracegen/template"

const (
	systraceHead = "# tracer: nop\n#\n"
	seconds      = "$(i/1000000).$(i%1000000:06d)" // of i µs
	instruments  = "<?xml version=\"1.0\"?>\n<trace-query-result>\n<node xpath='//trace-toc[1]/run[1]/data[1]/table[2]'><schema name=\"time-profile\"><col><mnemonic>time</mnemonic></col></schema>"
)

// Traces that are text but not JSON.
var texts = []Format{
	marks("systrace-open", "1", "B|1|n$i"),
	marks("systrace-async", "1", "S|1|n|$i"),
	marks("systrace-same-async", "1", "S|1|n|1"),
	marks("systrace-async-names", "1", "S|1|n$i|1"),
	marks("systrace-tracks", "1", "G|1|t$i|n|1"),
	marks("systrace-counters", "1", "C|1|c$i|1"),
	marks("systrace-processes", "$(i+1)", "B|$(i+1)|n"),
	lines("systrace-sched", systraceHead,
		"  a-$i (1) [000] d..3 "+seconds+": sched_switch: prev_comm=a prev_pid=$i prev_prio=120 prev_state=R ==> next_comm=a next_pid=$(i+1) next_prio=120\n"),
	lines("systrace-tasks", systraceHead, "  a-5 (-----) [000] d..3 "+seconds+": task_newtask: pid=$(i+10) comm=b clone_flags=3d0f00 oom_score_adj=0\n"+
		"  c-9 (    9) [000] d..3 "+seconds+": tracing_mark_write: I|9|n\n"),
	lines("systrace-wakeups", systraceHead, "  a-1 (1) [000] d..3 "+seconds+": sched_waking: comm=b pid=$(i+2) prio=120 target_cpu=000\n"),
	lines("systrace-binder", systraceHead,
		"  a-1 (1) [000] d..3 "+seconds+": binder_transaction: transaction=$(i+1) dest_node=1 dest_proc=7 dest_thread=8 reply=0 flags=0x10 code=0x1\n"),
	lines("strace-unfinished", "", "$(i+1) 1700000000.$(100000+i%900000) read(3, <unfinished ...>\n"),
	lines("strace-calls", "", "1 $(1700000000+i).000001 read(3, \"x$i\", 1) = 1 <0.000010>\n"),
	lines("strace-overlapping", "", "1 $(1700000000+i).000001 read(3, \"x\", 1) = 1 <$n.000010>\n"),
	lines("logcat-lines", "--------- beginning of main\n", "2024-01-02 03:04:05.678  1000  $(1000+i) I Tag$i: message $i\n"),
	lines("ninja-parallel", "# ninja log v5\n", "$i\t$(n+i)\t0\tout$i\t$(i*7919+1:x)\n"),
	lines("ninja-nested", "# ninja log v5\n", "$i\t$(2*n-i)\t0\tout$i\t$(i*7919+1:x)\n"),
	lines("ninja-outputs", "# ninja log v5\n", "1\t5\t0\tout$i\tabc\n"),
	lines("ninja-repeated", "# ninja log v5\n", "$i\t$(i+1)\t0\tout\tabc\n"),
	lines("collapsed-stacks", "", "main;f$i;g 3\n"),
	whole("collapsed-frames", "main;f 1\nmain", each("", ";f$i"), " 1\n"),
	lines("perftext-samples", "",
		"main  $i/$(i+1) [003]  $i.500000:        321 cycles:u:\n\t    7f2b9c00a1f0 f$i+0x10 (/usr/lib/$i.so)\n\n"),
	whole("perftext-frames", "main  7/8 [003]  12.500000:        321 cycles:u:\n",
		each("", "\t    $(i+4096:x) f$i+0x10 (/usr/lib/a.so)\n"), "\n"),
	whole("instruments-samples", instruments,
		each("", `<row><sample-time id="$(10*i+10)">$(i*1000)</sample-time><thread id="$(10*i+11)" fmt="m"><tid id="$(10*i+12)">$(i+1)</tid><process id="$(10*i+13)" fmt="app"><pid id="$(10*i+14)">7</pid></process></thread><backtrace id="$(10*i+15)"><frame id="$(10*i+16)" name="f" addr="0x$(i+4096:x)"><binary id="$(10*i+17)" name="app" UUID="DE46DD52-4994-3FD8-B4B4-E352A1A19354" load-addr="0x1000" path="/bin/app"/></frame></backtrace></row>`),
		"</node></trace-query-result>"),
	whole("instruments-frames", instruments,
		`<row><sample-time id="1">1000</sample-time><thread id="2" fmt="m"><tid id="3">1</tid></thread><backtrace id="4">`,
		each("", `<frame id="$(i+10)" name="f" addr="0x$(i+4096:x)"/>`), "</backtrace></row></node></trace-query-result>"),
	whole("instruments-attributes", instruments, "<row", each("", ` a$i="1"`),
		`><sample-time id="1">1000</sample-time><thread id="2" fmt="m"><tid id="3">1</tid></thread><backtrace id="4"><frame id="5" name="f" addr="0x1000"/></backtrace></row></node></trace-query-result>`),
	lines("battery-items", "9,0,i,vers,36,214,A,B\n9,hsp,0,10216,\"app\"\n9,h,0:RESET:TIME:1732816430344\n",
		"9,h,10,Bl=$(i%100),+w=0,+S\n"),
	lines("battery-strings", "9,0,i,vers,36,214,A,B\n9,h,0:RESET:TIME:1732816430344\n", "9,hsp,$i,10216,\"app$i\"\n9,h,1,+Ewl=$i\n"),
	lines("dumpstate-sections",
		"========================================================\n== dumpstate: 2024-01-02 03:04:05\n========================================================\n",
		"------ SECTION $i (/proc/$i) ------\nline\n"),
	lines("names-lines", "com.app.A -> a.a:\n", "    void method$i() -> m$i\n"),
	art("art-calls", template.Text(artMethod), `[2:7 4:16 4:i] [2:7 4:17 4:n+i]`),
	art("art-methods", each("", artMethod), `[2:7 4:16+4*i 4:2*i 2:7 4:17+4*i 4:2*i+1]`),
	art("art-wrong-ends", each("", artMethod), `[2:7 4:16+4*i 4:i] [2:7 4:17+4*i 4:n+i]`),
}

// marks are lines of a mark that a thread writes at i µs.
func marks(name, tid, mark string) Format {
	return lines(name, systraceHead, "  a-"+tid+" (1) [000] .... "+seconds+": tracing_mark_write: "+mark+"\n")
}

// artMethod is a line for a method in a trace of ART's.
const artMethod = "0x$(16+4*i:x)\tcom.app.C\tf$i\t()V\tC.java\t1\n"

// art is a trace of ART's with records that a thread enters or leaves a method at a time in µs.
func art(name string, methods template.Shape, records string) Format {
	return whole(name, "*version\n2\nclock=wall\n*threads\n7\tmain\n*methods\n", methods, "*end\nSLOW\x02\x00\x20\x00"+string(make([]byte, 24)), template.Little(records))
}
