// Package sched stores what the scheduler did: the threads on each CPU, and the states of each thread.
package sched

import (
	"github.com/tpconvert/tpconvert/model/machine"
	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/model/table"
)

// pending is the dur of a span that has not ended.
const pending int64 = -1

// CPUs stores which thread runs on each CPU: one row of sched_slice from each
// switch to the next on the same CPU.
type CPUs struct {
	tables  *schema.Tables
	machine *machine.Machine
	running []runningSlice // by cpu
}

type runningSlice struct {
	row  int64 // table.None if no thread is known to run
	ts   int64
	utid schema.UTID
}

// NewCPUs returns the CPUs of a machine.
func NewCPUs(t *schema.Tables, m *machine.Machine) *CPUs { return &CPUs{tables: t, machine: m} }

// Begin starts a thread's span on a CPU at ts (ns). If a span is still open
// there, it never gets an end.
func (s *CPUs) Begin(ts, cpu int64, utid schema.UTID, priority int32) {
	for int64(len(s.running)) <= cpu {
		s.running = append(s.running, runningSlice{row: table.None})
	}
	t := &s.tables.SchedSlice
	s.drop(cpu)
	row := t.Append()
	t.Pin(row)
	t.TS.Set(row, ts)
	t.Dur.Set(row, pending)
	t.CPU.Set(row, int32(cpu))
	t.UTID.Set(row, utid)
	t.Priority.Set(row, priority)
	t.UCPU.Set(row, s.machine.CPU(cpu))
	s.running[cpu] = runningSlice{row, ts, utid}
}

// Running returns the thread of the CPU's open span, or table.None.
func (s *CPUs) Running(cpu int64) schema.UTID {
	if cpu >= int64(len(s.running)) || s.running[cpu].row == table.None {
		return table.None
	}
	return s.running[cpu].utid
}

// End ends the CPU's open span, if any, at ts (ns) and records the state in
// which it left its thread.
func (s *CPUs) End(ts, cpu int64, endState table.StringID) {
	if cpu >= int64(len(s.running)) || s.running[cpu].row == table.None {
		return
	}
	on, t := s.running[cpu], &s.tables.SchedSlice
	t.Dur.Set(on.row, ts-on.ts)
	t.EndState.Set(on.row, endState)
	s.drop(cpu)
}

func (s *CPUs) drop(cpu int64) {
	if row := s.running[cpu].row; row != table.None {
		s.tables.SchedSlice.Unpin(row)
		s.running[cpu].row = table.None
	}
}

// Flush releases the spans that did not end.
func (s *CPUs) Flush() {
	for cpu := range s.running {
		s.drop(int64(cpu))
	}
}

// Open returns the row of the CPU's open span, or table.None.
func (s *CPUs) Open(cpu int64) int64 {
	if cpu >= int64(len(s.running)) {
		return table.None
	}
	return s.running[cpu].row
}
