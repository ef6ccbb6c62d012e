package machine

import (
	"cmp"
	"maps"
	"slices"

	"github.com/tpconvert/tpconvert/model/args"
	"github.com/tpconvert/tpconvert/model/facts"
	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/model/table"
)

// Machines are the machines of all traces.
type Machines struct {
	tables  *schema.Tables
	strings *table.StringPool
	args    *args.Sets

	threads   states[threadState]
	processes states[processState]
	byRaw     map[int64]*Machine
	rows      map[int64]schema.MachineID // by raw id, including machines without a state
	named     int64
	odd       []oddCPU
}

// New returns an empty Machines.
func New(tables *schema.Tables, strings *table.StringPool, args *args.Sets) *Machines {
	return &Machines{tables: tables, strings: strings, args: args, byRaw: map[int64]*Machine{}, rows: map[int64]schema.MachineID{}}
}

// Machine returns the state of the machine with this raw id. Raw id 0 is the machine
// that recorded the trace.
func (s *Machines) Machine(raw int64) *Machine {
	if m, ok := s.byRaw[raw]; ok {
		return m
	}
	id := s.Row(raw)
	m := &Machine{
		ID:    id,
		Facts: facts.New(&s.tables.Metadata, s.strings, table.None, id),
		all:   s,
		gpus:  map[int64]schema.UGPU{},
		tids:  tidIndex{all: &s.threads},

		threadHints:  map[schema.UTID]*hints{},
		processHints: map[schema.UPID]*hints{},
	}
	// The idle process and thread exist even if no event mentions them.
	m.swapperProcess = m.addProcess(0)
	m.swapperThread = m.addThread(0)
	m.setProcess(m.swapperThread, m.swapperProcess, true)
	s.tables.Thread.IsIdle.Set(int64(m.swapperThread), true)
	s.byRaw[raw] = m
	return m
}

// Row returns the id of the machine with a raw id.
func (s *Machines) Row(raw int64) schema.MachineID {
	id, ok := s.rows[raw]
	if !ok {
		row := s.tables.Machine.Append()
		s.tables.Machine.RawID.Set(row, raw)
		id = schema.MachineID(row)
		s.rows[raw] = id
	}
	return id
}

// firstNamed is the raw id of the first machine that a manifest names. It is above
// the 32-bit ids in packets.
const firstNamed = 1 << 32

// Name adds a machine with a name and returns its raw id.
func (s *Machines) Name(name string) (raw int64) {
	raw = firstNamed + s.named
	s.named++
	s.tables.Machine.Name.Set(int64(s.Row(raw)), s.strings.Intern(name))
	return raw
}

// Adopt assigns the raw id found in the events to machine 0, which recorded
// the trace. It returns false if that machine already has a raw id, or if another
// machine has this raw id.
func (s *Machines) Adopt(raw int64) bool {
	m := s.Machine(0)
	_, taken := s.rows[raw]
	if had, _ := s.tables.Machine.RawID.Get(int64(m.ID)); had != 0 || taken {
		return false
	}
	s.tables.Machine.RawID.Set(int64(m.ID), raw)
	s.rows[raw] = m.ID
	s.byRaw[raw] = m
	return true
}

// sorted returns the machines with a state, by id.
func (s *Machines) sorted() []*Machine {
	all := slices.SortedFunc(maps.Values(s.byRaw), func(a, b *Machine) int { return cmp.Compare(a.ID, b.ID) })
	return slices.Compact(all)
}

// WithID returns the machine with this id, or nil.
func (s *Machines) WithID(id schema.MachineID) *Machine {
	for _, m := range s.byRaw {
		if m.ID == id {
			return m
		}
	}
	return nil
}

// Finish stores the args of processes and threads, and forgets the states of both.
func (s *Machines) Finish() {
	for _, m := range s.sorted() {
		m.finish()
	}
	s.threads, s.processes = states[threadState]{}, states[processState]{}
}
