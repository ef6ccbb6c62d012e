package model

// Sched stores which thread runs on each CPU: one row of sched_slice from each
// switch to the next on the same CPU.
type Sched struct {
	context *Context
	running []runningSlice // by cpu
}

type runningSlice struct {
	row  int64 // None if no thread is known to run
	ts   int64
	utid UTID
}

// Begin starts a thread's span on a CPU at ts (ns). If a span is still open
// there, it never gets an end.
func (s *Sched) Begin(ts, cpu int64, utid UTID, priority int32) {
	for int64(len(s.running)) <= cpu {
		s.running = append(s.running, runningSlice{row: None})
	}
	t := &s.context.Store.SchedSlice
	s.drop(cpu)
	row := t.Append()
	t.Pin(row)
	t.TS.Set(row, ts)
	t.Dur.Set(row, pending)
	t.CPU.Set(row, int32(cpu))
	t.UTID.Set(row, utid)
	t.Priority.Set(row, priority)
	t.UCPU.Set(row, s.context.Machine.CPU(cpu))
	s.running[cpu] = runningSlice{row, ts, utid}
}

// Running returns the thread of the CPU's open span, or None.
func (s *Sched) Running(cpu int64) UTID {
	if cpu >= int64(len(s.running)) || s.running[cpu].row == None {
		return None
	}
	return s.running[cpu].utid
}

// End ends the CPU's open span, if any, at ts (ns) and records the state in
// which it left its thread.
func (s *Sched) End(ts, cpu int64, endState StringID) {
	if cpu >= int64(len(s.running)) || s.running[cpu].row == None {
		return
	}
	on, t := s.running[cpu], &s.context.Store.SchedSlice
	t.Dur.Set(on.row, ts-on.ts)
	t.EndState.Set(on.row, endState)
	s.drop(cpu)
}

func (s *Sched) drop(cpu int64) {
	if row := s.running[cpu].row; row != None {
		s.context.Store.SchedSlice.Unpin(row)
		s.running[cpu].row = None
	}
}

// flush releases the spans that did not end.
func (s *Sched) flush() {
	for cpu := range s.running {
		s.drop(int64(cpu))
	}
}

// Open returns the row of the CPU's open span, or None.
func (s *Sched) Open(cpu int64) int64 {
	if cpu >= int64(len(s.running)) {
		return None
	}
	return s.running[cpu].row
}
