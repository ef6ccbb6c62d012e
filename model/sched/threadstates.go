package sched

import (
	"github.com/tpconvert/tpconvert/internal/paged"
	"github.com/tpconvert/tpconvert/model/machine"
	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/model/table"
)

// Threads stores the scheduling states of threads, as reported by switches
// and wakeups. Idle threads have none.
type Threads struct {
	tables            *schema.Tables
	machine           *machine.Machine
	threads           paged.Sparse[threadStates] // by utid
	running, runnable table.StringID
}

// threadStates has the last state of a thread and its last blocked state. The
// reason for blocking may come late, even after the thread was woken.
type threadStates struct {
	last    int64 // row of thread_state, table.None before the first
	blocked int64
	ts      int64
	state   table.StringID
	known   bool // there was a state
}

// Wakeup describes the origin of a wakeup.
type Wakeup struct {
	Waker schema.UTID // thread that was running there
	// Remote is whether the waker may have run on another CPU.
	Remote bool
	// Flags are the flags of the ftrace record, which identify interrupts, or
	// table.None.
	Flags int64
}

const (
	flagHardIRQ = 0x08
	flagSoftIRQ = 0x10
)

// NewThreads returns the states of a machine's threads.
func NewThreads(t *schema.Tables, strings *table.StringPool, m *machine.Machine) *Threads {
	return &Threads{tables: t, machine: m, running: strings.Intern("Running"), runnable: strings.Intern("R")}
}

// Switch passes a CPU from one thread, which is left in the given state, to
// another.
func (s *Threads) Switch(ts, cpu int64, prev schema.UTID, state table.StringID, next schema.UTID) {
	if t := s.thread(prev); t.last != table.None && t.state == s.running {
		s.close(ts, t)
	}
	s.open(ts, prev, state, table.None, nil)
	// A thread that is migrated by force is on two CPUs for a moment.
	s.close(ts, s.thread(next))
	s.open(ts, next, s.running, cpu, nil)
}

// Enter puts a thread into a state on a CPU, which ends its previous state.
// waker is the thread that caused this, possibly itself, or table.None.
func (s *Threads) Enter(ts, cpu int64, utid schema.UTID, state table.StringID, waker schema.UTID) {
	if utid == s.machine.IdleThread() {
		return
	}
	during := int64(table.None)
	if waker != table.None {
		during = s.thread(waker).last
	}
	s.close(ts, s.thread(utid))
	s.open(ts, utid, state, cpu, nil)
	if waker == table.None {
		return
	}
	t, row := &s.tables.ThreadState, s.thread(utid).last
	t.WakerUTID.Set(row, waker)
	if during != table.None {
		t.WakerID.Set(row, schema.ThreadStateID(during))
	}
}

// Wake makes a thread runnable. If it was not blocked, the wakeup is stored as
// spurious.
func (s *Threads) Wake(ts int64, utid schema.UTID, by Wakeup) {
	t := s.thread(utid)
	if t.last != table.None {
		if t.state == s.running || t.state == s.runnable {
			s.spurious(ts, t.last, utid, by)
			return
		}
		s.close(ts, t)
	}
	s.open(ts, utid, s.runnable, table.None, &by)
}

func (s *Threads) spurious(ts, during int64, utid schema.UTID, by Wakeup) {
	t := &s.tables.SpuriousSchedWakeup
	row := t.Append()
	t.TS.Set(row, ts)
	t.ThreadStateID.Set(row, schema.ThreadStateID(during))
	t.UTID.Set(row, utid)
	t.WakerUTID.Set(row, by.Waker)
	if by.Flags != table.None {
		t.IRQContext.Set(row, by.fromInterrupt())
	}
}

// Start begins the states of a thread that another thread created.
func (s *Threads) Start(ts int64, utid, creator schema.UTID) {
	s.open(ts, utid, s.runnable, table.None, &Wakeup{Waker: creator})
}

// Block sets why a thread was last blocked: whether it waited for I/O, and in
// which kernel function, if known.
func (s *Threads) Block(utid schema.UTID, ioWait bool, function table.StringID) {
	row := s.thread(utid).blocked
	if row == table.None {
		return
	}
	t := &s.tables.ThreadState
	t.IOWait.Set(row, ioWait)
	if function != 0 {
		t.BlockedFunction.Set(row, function)
	}
}

func (by Wakeup) fromInterrupt() bool { return by.Flags&(flagHardIRQ|flagSoftIRQ) != 0 }

func (s *Threads) thread(utid schema.UTID) *threadStates {
	t := s.threads.At(int(utid))
	if !t.known {
		*t = threadStates{last: table.None, blocked: table.None, known: true}
	}
	return t
}

func (s *Threads) close(ts int64, t *threadStates) {
	if t.last != table.None {
		s.tables.ThreadState.Dur.Set(t.last, ts-t.ts)
	}
}

func (s *Threads) open(ts int64, utid schema.UTID, state table.StringID, cpu int64, by *Wakeup) {
	if utid == s.machine.IdleThread() {
		return
	}
	t := &s.tables.ThreadState
	row := t.Append()
	t.Pin(row)
	t.TS.Set(row, ts)
	t.Dur.Set(row, pending)
	t.UTID.Set(row, utid)
	t.State.Set(row, state)
	if cpu != table.None {
		t.CPU.Set(row, int32(cpu))
		t.UCPU.Set(row, s.machine.CPU(cpu))
	}
	if by != nil && by.Flags != table.None {
		t.IRQContext.Set(row, by.fromInterrupt())
	}
	if by != nil && !by.Remote {
		t.WakerUTID.Set(row, by.Waker)
		// The first switch of the waker's CPU may be missing.
		if waker := s.thread(by.Waker); waker.last != table.None && waker.state == s.running {
			t.WakerID.Set(row, schema.ThreadStateID(waker.last))
		}
	}
	s.advance(s.thread(utid), row, ts, state)
}

// advance makes a row the last of its thread. The row stays pinned until the
// next one or, if the thread is blocked in it, until the one after that.
func (s *Threads) advance(t *threadStates, row, ts int64, state table.StringID) {
	if t.last != table.None && t.last != t.blocked {
		s.tables.ThreadState.Unpin(t.last)
	}
	if state != s.runnable {
		if t.blocked != table.None {
			s.tables.ThreadState.Unpin(t.blocked)
		}
		t.blocked = table.None
		if state != s.running {
			t.blocked = row
		}
	}
	t.last, t.ts, t.state = row, ts, state
}

// Forget releases the rows of a thread that gets no more states.
func (s *Threads) Forget(utid schema.UTID) {
	t := s.thread(utid)
	if t.last != table.None && t.last != t.blocked {
		s.tables.ThreadState.Unpin(t.last)
	}
	if t.blocked != table.None {
		s.tables.ThreadState.Unpin(t.blocked)
	}
	*t = threadStates{last: table.None, blocked: table.None, known: true}
}

// End ends the last state of a thread at ts (ns).
func (s *Threads) End(ts int64, utid schema.UTID) {
	s.close(ts, s.thread(utid))
	s.Forget(utid)
}

// Flush releases the states that did not end.
func (s *Threads) Flush() {
	s.threads.Each(func(utid int, t *threadStates) {
		if t.known {
			s.Forget(schema.UTID(utid))
		}
	})
}

// Set begins a state of a thread, on a CPU or table.None, for kernels that report
// states instead of switches. It reports whether two states begin at the same time.
func (s *Threads) Set(ts int64, utid schema.UTID, state table.StringID, cpu int64) (twice bool) {
	t := s.thread(utid)
	s.close(ts, t)
	twice = t.last != table.None && t.ts == ts
	s.open(ts, utid, state, cpu, nil)
	return twice
}

// Correct replaces the current state of a thread.
func (s *Threads) Correct(utid schema.UTID, state table.StringID) {
	if t := s.thread(utid); t.last != table.None {
		s.tables.ThreadState.State.Set(t.last, state)
		t.state = state
	}
}

// State returns the current state of a thread, zero if unknown.
func (s *Threads) State(utid schema.UTID) table.StringID { return s.thread(utid).state }
