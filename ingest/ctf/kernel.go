package ctf

import (
	"bytes"
	"path"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/internal/ftrace"
	"github.com/tpconvert/tpconvert/model"
)

// kernel is the state of a trace of Linux's kernel.
type kernel struct {
	*model.Context
	ftrace  *ftrace.Parser
	derived ftrace.Event // what an event means as one of ftrace
	wakings bool         // the trace may have sched_waking
	running []running    // by CPU
	lttng   bool         // LTTng recorded the trace
	raw     bool         // states of threads are those in the kernel's memory, of which ftrace shows some
}

// running is the thread that a CPU runs, or none, and since when that is known.
type running struct{ tid, ts int64 }

func newKernel(c *model.Context, d *declarations) *kernel {
	c.Machine.UseIdleProcess()
	k := &kernel{Context: c, ftrace: ftrace.NewParser(c)}
	for _, e := range d.env {
		k.lttng = k.lttng || e.name == "tracer_name" && e.text == "lttng-modules"
	}
	for _, e := range d.events {
		k.wakings = k.wakings || base(e.name) == "sched_waking"
	}
	return k
}

// base returns the name of a kernel's event without that of its subsystem, which perf adds.
func base(name string) string { return name[strings.LastIndexByte(name, ':')+1:] }

// subsystems are the prefixes that LTTng puts before the names of some tracepoints.
var subsystems = []string{"irq_", "timer_", "power_", "kmem_"}

// add finds the tracepoint of a kind of event and its fields.
func (k *kernel) add(e *eventClass) {
	name := base(e.name)
	t := k.ftrace.TracepointNamed(name)
	for _, prefix := range subsystems {
		if short, ok := strings.CutPrefix(name, prefix); ok && t == nil {
			t = k.ftrace.TracepointNamed(short)
		}
	}
	known := t != nil && name != ""
	if !known {
		t = k.ftrace.Generic(name, nil)
	}
	e.tracepoint, e.handle = t, k.handlerOf(name)
	e.fields.assign("perf_tid", tidRole)
	e.fields.assign("perf_pid", pidRole)
	e.fields.assign("perf_cpu", cpuRole)
	for _, f := range e.fields.leaves() {
		f.hidden = f.hidden || strings.HasPrefix(f.name, "common_") // as in the formats of events that have them
	}
	for _, f := range e.fields.leaves() {
		as := plain(f.name)
		if known {
			if renamed := e.fields.kernelName(as); renamed != as {
				as = renamed
				f.names(k.Store, as)
			}
			f.to = t.FieldNamed(as)
		}
		if f.to == nil || (f.to.Type == ftrace.Text) != f.isText() {
			f.to = k.ftrace.LegacyField(t, []byte(as), f.fieldType())
		}
	}
	if name == "sched_switch" {
		k.addSwitch(e)
	}
}

// addSwitch prepares events of sched_switch.
func (k *kernel) addSwitch(e *eventClass) {
	for _, f := range e.fields.leaves() {
		switch {
		case f.text == "prev_pid":
			f.role = previousRole
		case f.text == "prev_state" && k.lttng:
			f.role, f.as = stateRole, k.state
		case strings.HasSuffix(f.text, "_prio") && k.lttng: // LTTng counts from the lowest priority that is not real-time
			f.as = func(n uint64) uint64 { return n + lowestRealtime }
		}
	}
	for _, c := range []*class{e.stream.eventContext, e.context, e.fields} {
		for _, f := range c.all() {
			if !f.hidden && !strings.HasPrefix(f.text, "prev_") && !strings.HasPrefix(f.text, "next_") {
				k.File.Unread(model.StatUnreadFact, model.None, "field "+f.text+" of sched_switch").Add(model.LogEntry{})
			}
		}
	}
}

// lowestRealtime is MAX_RT_PRIO of Linux.
const lowestRealtime = 100

// The kernel's states of threads that ftrace shows as others. Where they are in memory is in include/linux/sched.h of each version.
const (
	reportedStates = 0x7f  // bits that ftrace shows, since Linux 4.14
	preempted      = 0x100 // since Linux 4.14
	oldPreempted   = 0x800 // before
	idle           = 0x80  // in what ftrace shows, since Linux 4.14; in memory, dead
	dead           = 0x10
	rawPreempted   = 0x1000 // in memory, since Linux 4.14
	rawIdle        = 0x402
)

// state converts a state that LTTng recorded to what ftrace shows.
func (k *kernel) state(n uint64) uint64 {
	switch at := k.Machine.KernelAtLeast; {
	case !at(4, 14) && (!at(4, 2) && n == 0x400 || !at(3, 9) && n == 0x200):
		return oldPreempted
	case !at(4, 14):
	case n == rawPreempted:
		return preempted
	case n&rawIdle == rawIdle:
		return idle
	case n > preempted:
		return n & reportedStates
	case n == idle && k.raw:
		return dead
	}
	return n
}

// kernelName returns the kernel's name of a field. What the kernel calls a pid, LTTng calls a tid.
func (c *class) kernelName(name string) string {
	has := func(name string) bool { return c.field([]string{name}) != nil || c.field([]string{"_" + name}) != nil }
	if to, ok := strings.CutSuffix(name, "tid"); ok && (to == "" || strings.HasSuffix(to, "_")) {
		return to + "pid"
	}
	if to, ok := strings.CutSuffix(name, "pid"); ok && has(to+"tid") {
		return to + "tgid"
	}
	return name
}

// unknownThread stands for a thread that is not known.
const unknownThread = 1<<32 - 1

// kernelEvent turns an event of the kernel into rows.
func (p *parser) kernelEvent(e *current, threadName []byte) {
	k, f := p.kernel, &p.event
	f.Reset(e.tracepoint)
	if e.tid == none {
		e.tid = k.thread(e.cpu)
	}
	f.TS, f.CPU, f.TID = e.ts, max(e.cpu, 0), e.tid
	if e.tid == none {
		f.TID = unknownThread
	} else if len(threadName) > 0 {
		p.Machine.SetThreadName(p.thread(e), p.Store.Strings.InternBytes(threadName), model.ThreadNameFtrace)
	}
	k.ftrace.RecordArgs(f, p)
	k.ftrace.Handle(f)
	if e.handle != nil {
		e.handle(p, e)
	}
}

// thread returns the thread that a CPU runs, or none.
func (k *kernel) thread(cpu int64) int64 {
	if cpu < 0 || cpu >= int64(len(k.running)) {
		return none
	}
	return k.running[cpu].tid
}

func (k *kernel) run(cpu, tid, ts int64) {
	for int64(len(k.running)) <= cpu {
		k.running = append(k.running, running{tid: none})
	}
	k.running[cpu] = running{tid, ts}
}

// switchedFrom notes the thread that a CPU switched from. The first one has run since the start of the trace. The reader calls it before events are
// parsed.
func (k *kernel) switchedFrom(s switched, ts int64) {
	k.raw = k.raw || s.state > preempted
	if k.thread(s.cpu) == none || ts < k.running[s.cpu].ts {
		k.run(s.cpu, s.tid, ts)
	}
}

// handlerOf returns what else an event of the kernel means.
func (k *kernel) handlerOf(name string) handler {
	for _, s := range []struct {
		prefix string
		begin  bool
	}{{"syscall_entry_", true}, {"compat_syscall_entry_", true}, {"syscall_exit_", false}, {"compat_syscall_exit_", false}, {"compat_sys_", true}, {"sys_", true}} {
		if call, ok := strings.CutPrefix(name, s.prefix); ok {
			return syscall(k.Store.Strings.Intern("sys_"+call), s.begin)
		}
	}
	return kernelHandlers[name]
}

var kernelHandlers = map[string]handler{
	"sched_switch":                  runNext,
	"sched_wakeup":                  wakeup,
	"sched_wakeup_new":              wakeup,
	"sched_process_fork":            fork,
	"sched_process_exec":            exec,
	"lttng_statedump_process_state": processState,
	"exit_syscall":                  syscall(0, false), // LTTng before 2.6
}

func runNext(p *parser, e *current) {
	if p.event.Has("next_pid") {
		p.kernel.run(max(e.cpu, 0), p.event.Int("next_pid"), e.ts)
	}
}

// syscall returns the handler of a system call, or of its end. An end without a name is of any call.
func syscall(name model.StringID, begin bool) handler {
	return func(p *parser, e *current) {
		args := p.kernel.ftrace.Recorded()
		if begin {
			p.Slices.Begin(e.ts, p.track(e), 0, name, args)
		} else {
			p.Slices.End(e.ts, p.track(e), 0, name, args)
		}
	}
}

// wakeup makes a thread runnable, unless sched_waking does.
func wakeup(p *parser, e *current) {
	if p.kernel.wakings {
		return
	}
	p.derive(e, "sched_wakeup", e.tid, func(t *ftrace.Tracepoint, f *ftrace.Event) {
		f.AddText(t.FieldNamed("comm"), p.event.Text("comm"))
		for _, name := range []string{"pid", "success", "target_cpu"} {
			if p.event.Has(name) {
				f.AddInt(t.FieldNamed(name), p.event.Uint(name))
			}
		}
	})
}

const cloneThread = 0x10000 // CLONE_THREAD of Linux

func fork(p *parser, e *current) {
	tid, parent := p.event.Int("child_pid"), p.event.Int("parent_pid")
	if !p.event.Has("child_tgid") { // LTTng before 2.3 does not say whether it is a process
		if tid > 0 {
			utid := p.Machine.StartThread(&e.ts, tid)
			p.Machine.SetThreadName(utid, p.Store.Strings.InternBytes(p.event.Text("child_comm")), model.ThreadNameFtrace)
			p.kernel.Threads.Start(e.ts, utid, p.Machine.Thread(parent))
		}
		return
	}
	p.derive(e, "task_newtask", parent, func(t *ftrace.Tracepoint, f *ftrace.Event) {
		f.AddInt(t.FieldNamed("pid"), uint64(tid))
		f.AddText(t.FieldNamed("comm"), p.event.Text("child_comm"))
		flags := uint64(0)
		if p.event.Int("child_tgid") != tid {
			flags = cloneThread
		}
		f.AddInt(t.FieldNamed("clone_flags"), flags)
	})
}

// derive handles an event as one of another tracepoint.
func (p *parser) derive(e *current, tracepoint string, tid int64, add func(*ftrace.Tracepoint, *ftrace.Event)) {
	k := p.kernel
	t, f := k.ftrace.TracepointNamed(tracepoint), &k.derived
	f.Reset(t)
	f.TS, f.CPU, f.TID = e.ts, max(e.cpu, 0), tid
	if tid < 0 {
		f.TID = unknownThread
	}
	add(t, f)
	k.ftrace.Handle(f)
}

// maxComm is the size of a thread's name in the kernel.
const maxComm = 15

func exec(p *parser, e *current) {
	name := path.Base(string(p.event.Text("filename")))
	id := p.Store.Strings.Intern(name[:min(len(name), maxComm)])
	if tid := p.event.Int("pid"); tid > 0 {
		p.Machine.SetThreadAndProcessName(p.Machine.Thread(tid), id, model.ThreadNameFtrace)
	}
}

// processState adds a thread that was there when the recording began.
func processState(p *parser, _ *current) {
	tid, pid, parent := p.event.Int("tid"), p.event.Int("pid"), p.event.Int("ppid")
	if tid <= 0 || pid <= 0 { // idle
		return
	}
	upid := p.Machine.Process(pid)
	utid := p.Machine.ThreadOf(tid, pid)
	p.Machine.SetThreadAndProcessName(utid, p.Store.Strings.InternBytes(bytes.TrimSpace(p.event.Text("name"))), model.ThreadNameFtrace)
	if parent > 0 {
		p.Machine.SetParent(upid, p.Machine.Process(parent))
	}
}
