package ftrace

import (
	"github.com/tpconvert/tpconvert/ingest/internal/linux"
	"github.com/tpconvert/tpconvert/model"
)

// sched is the state of scheduler events.
type sched struct {
	switches, wakings *Tracepoint
	waking            bool // whether there was a sched_waking
	newTask           bool // whether there was a task_newtask
	cpus              []lastSwitch
	states            map[int64]model.StringID // by the state in a switch
}

// lastSwitch is the thread that a CPU last switched to.
type lastSwitch struct {
	known    bool
	open     bool // whether it has a row in sched_slice
	pid      int64
	utid     model.UTID
	priority int32
}

func (s *sched) init(p *Parser) {
	s.switches, s.wakings = p.TracepointNamed("sched_switch"), p.TracepointNamed("sched_waking")
	s.states = map[int64]model.StringID{}
}

func (s *sched) cpu(cpu int64) *lastSwitch {
	for int64(len(s.cpus)) <= cpu {
		s.cpus = append(s.cpus, lastSwitch{})
	}
	return &s.cpus[cpu]
}

// Task is a thread as a scheduler switch names it.
type Task struct {
	PID      int64
	Comm     model.StringID
	Priority int32
}

// Switch handles a CPU's switch from one thread to the next. state is the previous thread's
// state, as the kernel encodes it. e has fields of the trace's own, unless it is nil.
func (p *Parser) Switch(ts, cpu int64, prev Task, state int64, next Task, e *Event) {
	nextUTID := p.Machine.Thread(next.PID)
	p.Machine.SetThreadName(nextUTID, next.Comm, model.ThreadNameFtrace)
	last := p.sched.cpu(cpu)
	endState := p.TaskState(ts, state)
	if last.open {
		if last.pid == prev.PID {
			p.Sched.End(ts, cpu, endState)
		} else {
			p.File.LogTime(model.StatMismatchedSchedSwitchTIDs, ts, nil)
		}
	}
	// A thread may have changed its name while it ran.
	prevUTID := p.Machine.Thread(prev.PID)
	p.Machine.SetThreadName(prevUTID, prev.Comm, model.ThreadNameFtrace)

	p.recordSwitch(ts, cpu, prevUTID, prev, state, next, e)
	*last = lastSwitch{known: true, open: true, pid: next.PID, utid: nextUTID, priority: next.Priority}
	p.Sched.Begin(ts, cpu, nextUTID, next.Priority)
	p.Threads.Switch(ts, cpu, prevUTID, endState, nextUTID)
}

// CompactSwitch is like Switch, but takes the previous thread from the last switch on the same
// CPU. If record is true, the switch is only stored in ftrace_event.
func (p *Parser) CompactSwitch(ts, cpu, state int64, next Task, record bool) {
	nextUTID := p.Machine.Thread(next.PID)
	p.Machine.SetThreadName(nextUTID, next.Comm, model.ThreadNameFtrace)
	last := p.sched.cpu(cpu)
	before := *last
	last.known, last.pid, last.utid, last.priority = true, next.PID, nextUTID, next.Priority
	if !before.known {
		p.File.Count(model.StatCompactSchedSwitchSkipped)
		return
	}
	endState := p.TaskState(ts, state)
	if before.open {
		p.Sched.End(ts, cpu, endState)
	}
	prev := Task{before.pid, p.Machine.ThreadName(before.utid), before.priority}
	p.recordSwitch(ts, cpu, before.utid, prev, state, next, nil)
	if record {
		return
	}
	last.open = true
	p.Sched.Begin(ts, cpu, nextUTID, next.Priority)
	p.Threads.Switch(ts, cpu, before.utid, endState, nextUTID)
}

// CompactWaking handles a wakeup by the thread that the CPU last switched to.
func (p *Parser) CompactWaking(ts, cpu int64, wakee Task, target, flags int64, record bool) {
	p.sched.waking = true
	waker := p.sched.cpu(cpu)
	if !waker.known {
		p.File.Count(model.StatCompactSchedWakingSkipped)
		return
	}
	fields := p.sched.wakings.Fields
	p.set.Reset()
	p.set.Add(fields[1].key, model.StringArg(wakee.Comm))
	p.set.Add(fields[2].key, model.IntArg(wakee.PID))
	p.set.Add(fields[3].key, model.IntArg(int64(wakee.Priority)))
	p.set.Add(fields[5].key, model.IntArg(target))
	p.record(ts, cpu, waker.utid, flags, p.sched.wakings)
	if record {
		return
	}
	p.Threads.Wake(ts, p.Machine.Thread(wakee.PID), model.Wakeup{Waker: waker.utid, Flags: flags})
}

func (p *Parser) recordSwitch(ts, cpu int64, utid model.UTID, prev Task, state int64, next Task, e *Event) {
	fields := p.sched.switches.Fields
	p.set.Reset()
	p.set.Add(fields[1].key, model.StringArg(prev.Comm))
	p.set.Add(fields[2].key, model.IntArg(prev.PID))
	p.set.Add(fields[3].key, model.IntArg(int64(prev.Priority)))
	p.set.Add(fields[4].key, model.IntArg(state))
	p.set.Add(fields[5].key, model.StringArg(next.Comm))
	p.set.Add(fields[6].key, model.IntArg(next.PID))
	p.set.Add(fields[7].key, model.IntArg(int64(next.Priority)))
	if e != nil {
		for i := range e.values {
			if v := &e.values[i]; v.field.own {
				p.addArg(e, v)
			}
		}
	}
	p.record(ts, cpu, utid, 0, p.sched.switches)
}

func schedSwitch(p *Parser, e *Event) {
	if p.Partial || !p.has(e, "prev_pid", "next_pid") {
		return
	}
	prev := Task{unsigned(e.Int("prev_pid")), p.text(e, "prev_comm"), int32(e.Int("prev_prio"))}
	next := Task{unsigned(e.Int("next_pid")), p.text(e, "next_comm"), int32(e.Int("next_prio"))}
	p.Switch(e.TS, e.CPU, prev, e.Int("prev_state"), next, e)
}

// unsigned converts a pid to its unsigned 32 bits, because -1 stands for an unknown one.
func unsigned(pid int64) int64 { return int64(uint32(pid)) }

func schedWaking(p *Parser, e *Event) {
	p.sched.waking = true
	p.wake(e, false)
}

// schedWakeup wakes threads in traces without sched_waking, as of Linux before 4.3.
func schedWakeup(p *Parser, e *Event) {
	if !p.sched.waking {
		p.wakeup(e)
	}
}

// schedWakeupNew makes a new thread runnable, unless task_newtask does.
func schedWakeupNew(p *Parser, e *Event) {
	if !p.sched.newTask {
		p.wakeup(e)
	}
}

// wakeup handles an event that may come from the CPU to which the wakee was sent, out of an interrupt or the idle loop. Only on another
// CPU the current thread is the waker for sure.
func (p *Parser) wakeup(e *Event) {
	if e.Has("success") && e.Int("success") == 0 {
		return // the wakee was awake
	}
	p.wake(e, !e.Has("target_cpu") || e.Int("target_cpu") == e.CPU)
}

func (p *Parser) wake(e *Event, remote bool) {
	if p.Partial || !p.has(e, "pid") {
		return
	}
	wakee := p.Machine.Thread(unsigned(e.Int("pid")))
	p.Machine.SetThreadName(wakee, p.text(e, "comm"), model.ThreadNameFtrace)
	p.Threads.Wake(e.TS, wakee, model.Wakeup{Waker: p.thread(e), Remote: remote, Flags: model.None})
}

func schedBlockedReason(p *Parser, e *Event) {
	if !p.has(e, "pid") {
		return
	}
	p.Threads.Block(p.Machine.Thread(unsigned(e.Int("pid"))), e.Int("io_wait") != 0, p.function(e, "caller"))
}

// TaskState returns the name of a state. If the kernel has no such state, it is counted and zero
// is returned.
func (p *Parser) TaskState(ts, raw int64) model.StringID {
	id, ok := p.sched.states[raw]
	if !ok {
		atLeast := func(major, minor int) bool { return !p.OldStates && p.Machine.KernelAtLeast(major, minor) }
		if name := linux.TaskState(uint16(raw), atLeast); name != "" {
			id = p.word(name)
		}
		p.sched.states[raw] = id
	}
	if id == 0 {
		p.File.LogTime(model.StatTaskStateInvalid, ts, nil)
	}
	return id
}
