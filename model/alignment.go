package model

import (
	"math/bits"
	"strconv"
)

// ClockLink is how two clocks came to be related.
type ClockLink struct {
	By   LinkedBy
	File *File // that has the snapshots, or nil
}

// LinkedBy is a reason to relate two clocks.
type LinkedBy string

// The reasons, from those that a trace or the user gives to those that are assumed.
const (
	BySnapshots  LinkedBy = "clock snapshots"
	ByMachines   LinkedBy = "clock synchronization of machines"
	ByManifest   LinkedBy = "manifest"
	BySameClock  LinkedBy = "the same clock, if the machine was not booted in between"
	ByWallClock  LinkedBy = "wall clocks, taken to be the same"
	ByAssumption LinkedBy = "taken to be the same"
)

// Alignment is how the times of a clock in a file came to the timeline.
type Alignment struct {
	File    *File
	Machine string // name, or else the raw id
	Clock   string // name, or what kind of clock it is; "" if the file's times have none
	// Steps lead from the clock to that of the timeline. There are none if it is that
	// clock, or if Lost.
	Steps []AlignmentStep
	Lost  bool // nothing relates the clock to the timeline
}

// AlignmentStep is a relation of one clock to the next.
type AlignmentStep struct {
	Clock string // that it leads to
	Link  ClockLink
}

// TimelineClock is the clock that the times of all tables are of, and the file that chose
// it, nil if none did.
func (s *Store) TimelineClock() (clock string, chosenBy *File) {
	return s.clocks.trace.name(), s.clocks.owner
}

// Alignments are the clocks that events were of, by file. It may be called between the
// end of reading and Finish.
func (s *Store) Alignments() []Alignment {
	var all []Alignment
	for _, f := range s.files {
		for _, context := range f.contexts {
			if context.Clocks.used == 0 {
				all = append(all, Alignment{File: f, Machine: context.Machine.name()})
			}
			for used := context.Clocks.used; used != 0; used &= used - 1 {
				all = append(all, context.Clocks.alignment(uint32(bits.TrailingZeros64(used))))
			}
		}
	}
	return all
}

func (c *Clocks) alignment(id uint32) Alignment {
	graph := c.context.Store.clocks
	own := c.own(Clock{ID: id})
	a := Alignment{File: c.context.File, Machine: c.context.Machine.name(), Clock: own.name()}
	if id == 63 { // of a sequence each, which snapshots relate
		a.Clock = "clocks of packet sequences"
		a.Steps = []AlignmentStep{{graph.trace.name(), ClockLink{BySnapshots, c.context.File}}}
		return a
	}
	if own == graph.trace {
		return a
	}
	path := graph.path(own, graph.trace)
	a.Lost = path == nil
	for _, edge := range path {
		a.Steps = append(a.Steps, AlignmentStep{edge.to.name(), graph.links[edge.kind]})
	}
	return a
}

// name is that of the machine, or its raw id.
func (m *Machine) name() string {
	t := &m.store.Tables.Machine
	if name, ok := t.Name.Get(m.ID); ok && name != 0 {
		return m.store.Strings.Get(name)
	}
	raw, _ := t.RawID.Get(m.ID)
	return strconv.FormatInt(raw, 10)
}

// Offset is by how many ns the file's times were moved.
func (f *File) Offset() int64 { return f.offset }

// Dropped is how many events of the file have no place on the timeline.
func (f *File) Dropped() int64 {
	var n int64
	for key, count := range f.store.stats {
		if key.file == f.ID && dropsEvents[key.stat] {
			n += count
		}
	}
	return n
}

// dropsEvents are the stats of events that have no place on the timeline.
var dropsEvents = map[Stat]bool{
	StatClockSyncFailureUnknownSourceClock:  true,
	StatClockSyncFailureUnknownTargetClock:  true,
	StatClockSyncFailureNoPath:              true,
	StatTraceSorterNegativeTimestampDropped: true,
}

// name is what Perfetto calls the clock.
func (c Clock) name() string {
	if name, ok := clockNames[c.ID]; ok {
		return name
	}
	switch c.ID {
	case ClockPerf:
		return "PERF"
	case ClockTraceFile:
		return "own clock"
	}
	return "clock " + strconv.Itoa(int(c.ID))
}
