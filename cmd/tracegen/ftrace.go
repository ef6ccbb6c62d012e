package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
)

// writeFtrace writes the text of ftrace as atrace records a phone: what the
// scheduler does on eight CPUs, the marks of apps, frequencies and binder calls.
func writeFtrace(w *bufio.Writer, size int64, rng *rand.Rand) error {
	g := &ftraceWriter{w: w, rng: rng, left: size, now: 1_000_000_000_000}
	g.threads = append(g.threads, &ftraceThread{comm: "<idle>", priority: 120})
	pid := 600
	for _, name := range ftraceProcesses {
		tgid := pid
		for _, thread := range append([]string{name}, ftraceThreads...) {
			g.threads = append(g.threads, &ftraceThread{comm: thread[max(0, len(thread)-15):], tid: pid, tgid: tgid, priority: 96 + rng.IntN(4)*8})
			pid += 1 + rng.IntN(3)
		}
	}
	for i := range g.cpus {
		g.cpus[i] = g.threads[0]
	}
	fmt.Fprintf(w, "# tracer: nop\n#\n%s", ftraceColumns)
	for g.left > 0 && g.err == nil {
		g.now += 200 + rng.Int64N(8000)
		g.event(rng.IntN(len(g.cpus)))
	}
	return g.err
}

const ftraceColumns = `#           TASK-PID     TGID   CPU#  ||||    TIMESTAMP  FUNCTION
#              | |         |      |   ||||       |         |
`

var (
	ftraceProcesses = []string{"system_server", "surfaceflinger", "com.android.systemui", "com.example.browser", "com.example.camera", "media.codec",
		"audioserver", "com.example.launcher"}
	ftraceThreads = []string{"RenderThread", "Jit thread pool", "HeapTaskDaemon", "FinalizerDaemon", "Binder:600_1", "Binder:600_2", "pool-1-thread-1", "GLThread 42"}
	ftraceMarks   = []string{"Choreographer#doFrame", "traversal", "draw", "DrawFrame", "queueBuffer", "dequeueBuffer", "eglSwapBuffers",
		"onMessageReceived", "handleMessageRefresh", "measure", "layout", "inflate", "Lock contention on InternTable lock (owner tid: 1234)"}
	ftraceCounters = []string{"HW_VSYNC_0", "VSYNC-app", "Heap size (KB)", "TX - com.example.browser/Main#0", "iq"}
)

type ftraceThread struct {
	comm      string
	tid, tgid int
	priority  int
	depth     int // of marks that did not end
}

type ftraceWriter struct {
	w       *bufio.Writer
	rng     *rand.Rand
	left    int64 // bytes to write
	err     error
	now     int64 // ns
	threads []*ftraceThread
	cpus    [8]*ftraceThread // what runs
	binder  int
}

// line writes the event of a CPU.
func (g *ftraceWriter) line(cpu int, format string, args ...any) {
	t := g.cpus[cpu]
	tgid := "-----"
	if t.tid != 0 {
		tgid = fmt.Sprintf("%5d", t.tgid)
	}
	n, err := fmt.Fprintf(g.w, "%16s-%-5d (%s) [%03d] d..%d %d.%06d: "+format+"\n",
		append([]any{t.comm, t.tid, tgid, cpu, 1 + g.rng.IntN(3), g.now / 1e9, g.now % 1e9 / 1e3}, args...)...)
	g.left -= int64(n)
	if err != nil {
		g.err = err
	}
}

func (g *ftraceWriter) event(cpu int) {
	t := g.cpus[cpu]
	switch kind := g.rng.IntN(100); {
	case kind < 35:
		g.schedule(cpu)
	case kind >= 60 && t.tid == 0: // only threads write marks
	case kind < 50:
		wakee := g.threads[1+g.rng.IntN(len(g.threads)-1)]
		g.line(cpu, "sched_waking: comm=%s pid=%d prio=%d target_cpu=%03d", wakee.comm, wakee.tid, wakee.priority, g.rng.IntN(len(g.cpus)))
	case kind < 56:
		g.line(cpu, "cpu_idle: state=%d cpu_id=%d", []uint32{0, 1, 2, 4294967295}[g.rng.IntN(4)], cpu)
	case kind < 58:
		g.line(cpu, "cpu_frequency: state=%d cpu_id=%d", 300000+g.rng.IntN(16)*140800, cpu)
	case kind < 60:
		g.binder++
		g.line(cpu, "binder_transaction: transaction=%d dest_node=%d dest_proc=%d dest_thread=0 reply=0 flags=0x11 code=0x%x",
			g.binder, 1000+g.rng.IntN(50), t.tgid, 1+g.rng.IntN(30))
	case kind < 68:
		g.line(cpu, "tracing_mark_write: C|%d|%s|%d", t.tgid, ftraceCounters[g.rng.IntN(len(ftraceCounters))], g.rng.IntN(5000))
	case t.depth > 0 && (t.depth > 6 || g.rng.IntN(2) == 0):
		t.depth--
		g.line(cpu, "tracing_mark_write: E|%d", t.tgid)
	default:
		t.depth++
		g.line(cpu, "tracing_mark_write: B|%d|%s", t.tgid, ftraceMarks[g.rng.IntN(len(ftraceMarks))])
	}
}

// schedule switches a CPU to a thread that does not run, or to its idle thread.
func (g *ftraceWriter) schedule(cpu int) {
	prev, next := g.cpus[cpu], g.threads[0]
	if prev == next || g.rng.IntN(3) > 0 {
		next = g.threads[1+g.rng.IntN(len(g.threads)-1)]
		for _, running := range g.cpus {
			if running == next {
				return
			}
		}
	}
	state := []string{"S", "S", "S", "D", "R", "R+"}[g.rng.IntN(6)]
	if prev.tid == 0 {
		state = "R"
	}
	comm := func(t *ftraceThread) string {
		if t.tid == 0 {
			return fmt.Sprintf("swapper/%d", cpu)
		}
		return t.comm
	}
	g.line(cpu, "sched_switch: prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s ==> next_comm=%s next_pid=%d next_prio=%d",
		comm(prev), prev.tid, prev.priority, state, comm(next), next.tid, next.priority)
	g.cpus[cpu] = next
}
