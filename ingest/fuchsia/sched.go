package fuchsia

import (
	"math"

	"github.com/tpconvert/tpconvert/model"
)

// idleWeight is the weight of the idle threads.
const idleWeight = math.MinInt32

// The thread states, ZX_THREAD_STATE.
const (
	threadNew = iota
	threadRunning
	threadSuspended
	threadBlocked
	threadDying
	threadDead
)

// schedule parses a scheduling record.
func (p *parser) schedule(ts int64, s *switching) {
	cpu := int64(s.cpu)
	switch s.kind {
	case contextSwitch:
		p.switchThreads(ts, s, s.outgoingWeight == idleWeight, s.incomingWeight == idleWeight)
	case legacySwitch:
		p.switchThreads(ts, s, s.outgoingWeight == 0 && p.scheduled.all[s.outgoing].process == 0,
			s.incomingWeight == 0 && p.scheduled.all[s.incoming].process == 0)
	case wakeup, wakeupBy:
		var waker model.UTID
		if s.kind == wakeupBy {
			waker = p.Machine.Thread(int64(p.scheduled.all[s.outgoing].thread))
		}
		if s.incomingWeight == idleWeight {
			return
		}
		woken := p.utid(&p.scheduled.all[s.incoming])
		if s.kind == wakeup {
			waker = woken // for example by a timer
		}
		p.Threads.Enter(ts, cpu, woken, p.waking, waker)
	}
}

// switchThreads hands a CPU from one thread to another. Idle threads have no
// rows.
func (p *parser) switchThreads(ts int64, s *switching, fromIdle, toIdle bool) {
	cpu := int64(s.cpu)
	if !fromIdle {
		utid, state := p.utid(&p.scheduled.all[s.outgoing]), p.stateOf(s.state)
		if p.Sched.Running(cpu) == utid {
			p.Sched.End(ts, cpu, state)
		}
		p.Threads.Enter(ts, cpu, utid, state, model.None)
	}
	if !toIdle {
		utid := p.utid(&p.scheduled.all[s.incoming])
		p.Sched.Begin(ts, cpu, utid, s.incomingWeight)
		p.Threads.Enter(ts, cpu, utid, p.running, model.None)
	}
}

// stateOf returns the state in which a thread leaves its CPU.
func (p *parser) stateOf(state uint64) model.StringID {
	switch state {
	case threadNew, threadRunning:
		return p.runnable
	case threadSuspended:
		return p.suspended
	case threadBlocked:
		return p.blocked
	case threadDying:
		return p.dying
	case threadDead:
		return p.dead
	}
	return 0
}
