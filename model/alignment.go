package model

import (
	"math/bits"
	"strconv"
)

// otherClocks is the bit of all clocks in Clocks.used whose ids have no bit of their own.
const otherClocks = 63

// ClockLink says what relates two clocks.
type ClockLink struct {
	By   LinkedBy
	File *File // the file with the snapshots, or nil
}

// LinkedBy is a reason to relate two clocks.
type LinkedBy string

// The reasons, first those that a trace or the user states, then those that are assumed.
const (
	BySnapshots  LinkedBy = "clock snapshots"
	ByMachines   LinkedBy = "clock synchronization of machines"
	ByManifest   LinkedBy = "manifest"
	BySameClock  LinkedBy = "the same clock, if the machine was not booted in between"
	ByWallClock  LinkedBy = "wall clocks, assumed to be the same"
	ByAssumption LinkedBy = "assumed to be the same"
)

// Alignment says how the times of one clock in a file were placed on the timeline.
type Alignment struct {
	File    *File
	Machine string // name, or the raw id if it has none
	Clock   string // name or kind of the clock; "" if the file's times have none
	// Steps lead from the clock to the timeline's. There are none if the two are the
	// same, or if Lost.
	Steps []AlignmentStep
	Lost  bool // nothing relates the clock to the timeline
}

// AlignmentStep is a relation of one clock to the next.
type AlignmentStep struct {
	Clock string // the clock reached by this step
	Link  ClockLink
}

// TimelineClock returns the clock that the times of all tables are measured in, and the
// file that chose it (nil if none did).
func (s *Store) TimelineClock() (clock string, chosenBy *File) {
	return clockName(s.clocks.Trace), s.clocks.owner
}

// Alignments lists, file by file, the clocks that events were timed by. Call it after
// reading ends and before Finish.
func (s *Store) Alignments() []Alignment {
	var all []Alignment
	for _, f := range s.files {
		for _, context := range f.contexts {
			if context.Clocks.used == 0 {
				all = append(all, Alignment{File: f, Machine: context.Machine.Name()})
			}
			for used := context.Clocks.used; used != 0; used &= used - 1 {
				all = append(all, context.Clocks.alignment(uint32(bits.TrailingZeros64(used))))
			}
		}
	}
	return all
}

func (c *Clocks) alignment(id uint32) Alignment {
	graph := &c.context.Store.clocks
	own := c.own(Clock{ID: id})
	a := Alignment{File: c.context.File, Machine: c.context.Machine.Name(), Clock: clockName(own)}
	if id == otherClocks { // each packet sequence has its own; snapshots relate them
		a.Clock = "clocks of packet sequences"
		a.Steps = []AlignmentStep{{clockName(graph.Trace), ClockLink{BySnapshots, c.context.File}}}
		return a
	}
	if own == graph.Trace {
		return a
	}
	path := graph.Path(own, graph.Trace)
	a.Lost = path == nil
	for _, edge := range path {
		a.Steps = append(a.Steps, AlignmentStep{clockName(edge.To), graph.links[edge.Kind]})
	}
	return a
}

// Offset is how far the file's times were moved, in ns.
func (f *File) Offset() int64 { return f.offset }

// Dropped returns the number of the file's events that could not be placed on the
// timeline.
func (f *File) Dropped() int64 {
	var n int64
	for key, count := range f.store.stats {
		if key.file == f.ID && dropsEvents[key.stat] {
			n += count
		}
	}
	return n
}

// dropsEvents are the stats that count events without a place on the timeline.
var dropsEvents = map[Stat]bool{
	StatClockSyncFailureUnknownSourceClock:  true,
	StatClockSyncFailureUnknownTargetClock:  true,
	StatClockSyncFailureNoPath:              true,
	StatTraceSorterNegativeTimestampDropped: true,
}

// clockName is what Perfetto calls a clock.
func clockName(c Clock) string {
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
