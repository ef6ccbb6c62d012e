package model

import "github.com/tpconvert/tpconvert/internal/paged"

// ThreadStates stores the scheduling states of threads, as reported by switches
// and wakeups. Idle threads have none.
type ThreadStates struct {
	context           *Context
	threads           paged.Sparse[threadStates] // by utid
	running, runnable StringID
}

// threadStates has the last state of a thread and its last blocked state. The
// reason for blocking may come late, even after the thread was woken.
type threadStates struct {
	last    int64 // row of thread_state, None before the first
	blocked int64
	ts      int64
	state   StringID
	known   bool // there was a state
}

// Wakeup describes the origin of a wakeup.
type Wakeup struct {
	Waker UTID // thread that was running there
	// Flags are the flags of the ftrace record, which identify interrupts, or
	// None.
	Flags int64
}

const (
	flagHardIRQ = 0x08
	flagSoftIRQ = 0x10
)

func newThreadStates(c *Context) *ThreadStates {
	return &ThreadStates{context: c, running: c.Store.Strings.Intern("Running"), runnable: c.Store.Strings.Intern("R")}
}

// Switch passes a CPU from one thread, which is left in the given state, to
// another.
func (s *ThreadStates) Switch(ts, cpu int64, prev UTID, state StringID, next UTID) {
	if t := s.thread(prev); t.last != None && t.state == s.running {
		s.close(ts, t)
	}
	s.open(ts, prev, state, None, nil)
	// A thread that is migrated by force is on two CPUs for a moment.
	s.close(ts, s.thread(next))
	s.open(ts, next, s.running, cpu, nil)
}

// Enter puts a thread into a state on a CPU, which ends its previous state.
// waker is the thread that caused this, possibly itself, or None.
func (s *ThreadStates) Enter(ts, cpu int64, utid UTID, state StringID, waker UTID) {
	if utid == s.context.Machine.swapperThread {
		return
	}
	during := int64(None)
	if waker != None {
		during = s.thread(waker).last
	}
	s.close(ts, s.thread(utid))
	s.open(ts, utid, state, cpu, nil)
	if waker == None {
		return
	}
	t, row := &s.context.Store.ThreadState, s.thread(utid).last
	t.WakerUTID.Set(row, waker)
	if during != None {
		t.WakerID.Set(row, ThreadStateID(during))
	}
}

// Wake makes a thread runnable. If it was not blocked, the wakeup is stored as
// spurious.
func (s *ThreadStates) Wake(ts int64, utid UTID, by Wakeup) {
	t := s.thread(utid)
	if t.last != None {
		if t.state == s.running || t.state == s.runnable {
			s.spurious(ts, t.last, utid, by)
			return
		}
		s.close(ts, t)
	}
	s.open(ts, utid, s.runnable, None, &by)
}

func (s *ThreadStates) spurious(ts, during int64, utid UTID, by Wakeup) {
	t := &s.context.Store.SpuriousSchedWakeup
	row := t.Append()
	t.TS.Set(row, ts)
	t.ThreadStateID.Set(row, ThreadStateID(during))
	t.UTID.Set(row, utid)
	t.WakerUTID.Set(row, by.Waker)
	if by.Flags != None {
		t.IRQContext.Set(row, by.fromInterrupt())
	}
}

// Start begins the states of a thread that another thread created.
func (s *ThreadStates) Start(ts int64, utid, creator UTID) {
	s.open(ts, utid, s.runnable, None, &Wakeup{Waker: creator})
}

// Block sets why a thread was last blocked: whether it waited for I/O, and in
// which kernel function, if known.
func (s *ThreadStates) Block(utid UTID, ioWait bool, function StringID) {
	row := s.thread(utid).blocked
	if row == None {
		return
	}
	t := &s.context.Store.ThreadState
	t.IOWait.Set(row, ioWait)
	if function != 0 {
		t.BlockedFunction.Set(row, function)
	}
}

func (by Wakeup) fromInterrupt() bool { return by.Flags&(flagHardIRQ|flagSoftIRQ) != 0 }

func (s *ThreadStates) thread(utid UTID) *threadStates {
	t := s.threads.At(int(utid))
	if !t.known {
		*t = threadStates{last: None, blocked: None, known: true}
	}
	return t
}

func (s *ThreadStates) close(ts int64, t *threadStates) {
	if t.last != None {
		s.context.Store.ThreadState.Dur.Set(t.last, ts-t.ts)
	}
}

func (s *ThreadStates) open(ts int64, utid UTID, state StringID, cpu int64, by *Wakeup) {
	if utid == s.context.Machine.swapperThread {
		return
	}
	t := &s.context.Store.ThreadState
	row := t.Append()
	t.Pin(row)
	t.TS.Set(row, ts)
	t.Dur.Set(row, pending)
	t.UTID.Set(row, utid)
	t.State.Set(row, state)
	if cpu != None {
		t.CPU.Set(row, int32(cpu))
		t.UCPU.Set(row, s.context.Machine.CPU(cpu))
	}
	if by != nil {
		t.WakerUTID.Set(row, by.Waker)
		if by.Flags != None {
			t.IRQContext.Set(row, by.fromInterrupt())
		}
		// The first switch of the waker's CPU may be missing.
		if waker := s.thread(by.Waker); waker.last != None && waker.state == s.running {
			t.WakerID.Set(row, ThreadStateID(waker.last))
		}
	}
	s.advance(s.thread(utid), row, ts, state)
}

// advance makes a row the last of its thread. The row stays pinned until the
// next one or, if the thread is blocked in it, until the one after that.
func (s *ThreadStates) advance(t *threadStates, row, ts int64, state StringID) {
	if t.last != None && t.last != t.blocked {
		s.context.Store.ThreadState.Unpin(t.last)
	}
	if state != s.runnable {
		if t.blocked != None {
			s.context.Store.ThreadState.Unpin(t.blocked)
		}
		t.blocked = None
		if state != s.running {
			t.blocked = row
		}
	}
	t.last, t.ts, t.state = row, ts, state
}

// Forget releases the rows of a thread that gets no more states.
func (s *ThreadStates) Forget(utid UTID) {
	t := s.thread(utid)
	if t.last != None && t.last != t.blocked {
		s.context.Store.ThreadState.Unpin(t.last)
	}
	if t.blocked != None {
		s.context.Store.ThreadState.Unpin(t.blocked)
	}
	*t = threadStates{last: None, blocked: None, known: true}
}

// End ends the last state of a thread at ts (ns).
func (s *ThreadStates) End(ts int64, utid UTID) {
	s.close(ts, s.thread(utid))
	s.Forget(utid)
}

// flush releases the states that did not end.
func (s *ThreadStates) flush() {
	s.threads.Each(func(utid int, t *threadStates) {
		if t.known {
			s.Forget(UTID(utid))
		}
	})
}

// Set begins a state of a thread, on a CPU or None, for kernels that report
// states instead of switches. It counts two states that begin at the same time.
func (s *ThreadStates) Set(ts int64, utid UTID, state StringID, cpu int64) {
	t := s.thread(utid)
	s.close(ts, t)
	if t.last != None && t.ts == ts {
		s.context.File.Count(StatGenericTaskStateInvalidOrder)
	}
	s.open(ts, utid, state, cpu, nil)
}

// Correct replaces the current state of a thread.
func (s *ThreadStates) Correct(utid UTID, state StringID) {
	if t := s.thread(utid); t.last != None {
		s.context.Store.ThreadState.State.Set(t.last, state)
		t.state = state
	}
}

// State returns the current state of a thread, zero if unknown.
func (s *ThreadStates) State(utid UTID) StringID { return s.thread(utid).state }
