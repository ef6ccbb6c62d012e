package model

import (
	"cmp"

	"github.com/tpconvert/tpconvert/model/clock"
)

// The clocks that mean the same in all traces, numbered as in Perfetto's BuiltinClock.
const (
	ClockRealtime        = 1
	ClockRealtimeCoarse  = 2
	ClockMonotonic       = 3
	ClockMonotonicCoarse = 4
	ClockMonotonicRaw    = 5
	ClockBoottime        = 6
	ClockPerf            = 10 // the kernel's sched_clock, used by perf_event_open
	ClockTraceFile       = 11 // the clock of a trace that names none
)

var clockNames = map[uint32]string{
	ClockRealtime: "REALTIME", ClockRealtimeCoarse: "REALTIME_COARSE",
	ClockMonotonic: "MONOTONIC", ClockMonotonicCoarse: "MONOTONIC_COARSE",
	ClockMonotonicRaw: "MONOTONIC_RAW", ClockBoottime: "BOOTTIME",
}

// ClockNamed returns the id of the clock that Perfetto's manifests call name.
func ClockNamed(name string) (id uint32, ok bool) {
	for id, n := range clockNames {
		if n == name {
			return id, true
		}
	}
	return 0, false
}

// Clock and Reading identify a clock of a trace, and give its value in a snapshot.
type (
	Clock   = clock.Clock
	Reading = clock.Reading
)

// clocks relate the clocks of all files and machines.
type clocks struct {
	*clock.Graph
	owner *File              // that chose the trace clock, or nil
	first map[*Machine]*File // the file whose clocks are used as the machine's
	links map[int]ClockLink  // the origin of the first snapshot of each kind
	zone  int64              // see SetZone
	zoned bool               // zone is known
}

// clockStats count the reasons why times cannot be converted.
var clockStats = map[error]Stat{
	clock.ErrUnknownSource: StatClockSyncFailureUnknownSourceClock,
	clock.ErrUnknownTarget: StatClockSyncFailureUnknownTargetClock,
	clock.ErrNoPath:        StatClockSyncFailureNoPath,
}

// ClockError says why a time could not be converted. It is also the source of args for its
// entry in the import log.
type ClockError struct {
	Stat     Stat
	From, To Clock
	Value    int64
	store    *Store
}

func (e *ClockError) Error() string { return e.Stat.String() }

// AddArgs adds the details of the failure for the import log.
func (e *ClockError) AddArgs(set *ArgSet) {
	if e.From.Sequence != 0 {
		set.Add(e.store.Strings.Intern("source_sequence_id"), UintArg(uint64(e.From.Sequence)))
	}
	set.Add(e.store.Strings.Intern("source_clock_id"), IntArg(int64(e.From.ID)))
	set.Add(e.store.Strings.Intern("source_timestamp"), IntArg(e.Value))
	if e.To.Sequence != 0 {
		set.Add(e.store.Strings.Intern("target_sequence_id"), UintArg(uint64(e.To.Sequence)))
	}
	set.Add(e.store.Strings.Intern("target_clock_id"), IntArg(int64(e.To.ID)))
}

// Clocks converts the times of one machine in one trace file to the trace clock, using the
// snapshots of all files and machines.
//
// The first file of a machine uses the machine's clocks. A later file with its own
// snapshots gets its own clocks, so that two recordings cannot disturb each other.
type Clocks struct {
	context     *Context
	conversions int
	used        uint64 // bit set of the ids of converted clocks; ids from 63 on share a bit
	tag         FileID // file whose clocks this context uses, see Clock.file
	fallback    *Clock
	defaults    uint32 // clock of events that name none, 0 if unknown
}

// ToTrace converts a time of a clock, in the clock's unit, to ns of the trace clock.
func (c *Clocks) ToTrace(clock Clock, value int64) (int64, *ClockError) {
	if c.fallback != nil {
		c.bridge()
	}
	c.conversions++
	c.used |= 1 << min(clock.ID, otherClocks)
	ts, err := c.convert(c.own(clock), value, c.context.Store.clocks.Trace)
	return c.Moved(ts), err
}

// Moved adds the file's offset to a time on the timeline, in ns.
func (c *Clocks) Moved(ts int64) int64 { return ts + c.context.File.offset }

// DefaultToTrace converts a time in ns, of an event that names no clock, to the trace
// clock. If there is no default clock, the time is taken as trace time.
func (c *Clocks) DefaultToTrace(value int64) (int64, *ClockError) {
	if c.defaults == 0 {
		return c.Moved(value), nil
	}
	return c.ToTrace(Clock{ID: c.defaults}, value)
}

// SetZone sets how far local time, where the trace is recorded, is ahead of UTC, in ns.
func (c *Clocks) SetZone(offset int64) {
	all := &c.context.Store.clocks
	all.zone, all.zoned = offset, true
}

// Zone returns the value of the last SetZone, or false if no file has set it yet.
func (c *Clocks) Zone() (offset int64, ok bool) {
	all := &c.context.Store.clocks
	return all.zone, all.zoned
}

// FromTrace converts ns of the trace clock to ns of a clock.
func (c *Clocks) FromTrace(ts int64, clock Clock) (int64, *ClockError) {
	return c.convert(c.context.Store.clocks.Trace, ts-c.context.File.offset, c.own(clock))
}

func (c *Clocks) convert(from Clock, value int64, to Clock) (int64, *ClockError) {
	ts, err := c.context.Store.clocks.Convert(from, value, to)
	if err != nil {
		return 0, &ClockError{Stat: clockStats[err], From: from, To: to, Value: value, store: c.context.Store}
	}
	return ts, nil
}

// own returns the machine's clock, or the file's if the file has its own.
func (c *Clocks) own(clock Clock) Clock {
	clock.Machine = c.context.Machine.ID
	switch {
	case clock.Sequence != 0 || clock.ID == ClockTraceFile:
		clock.File = c.context.File.ID + 1
	case clock.File == 0:
		clock.File = c.tag
	}
	return clock
}

// shared returns the clock that all files of the machine share, or the file's own
// timeline.
func (c *Clocks) shared(clock Clock) Clock {
	clock.Machine = c.context.Machine.ID
	if clock.ID == ClockTraceFile {
		clock.File = c.context.File.ID + 1
	}
	return clock
}

// Assume sets the clock of the file's events. If no snapshot links it to the trace clock
// by the time the first event is converted, the two are taken to be the same, unless they
// are different kinds of clocks.
func (c *Clocks) Assume(id uint32) {
	if id != ClockRealtime { // a file with only a wall clock leaves the other clocks to a file that has them
		c.claim()
	}
	c.fallback = &Clock{ID: id}
}

// claim makes the file the first of its machine unless there is one, and reports whether
// it is the first.
func (c *Clocks) claim() bool {
	first := c.context.Store.clocks.first
	if first[c.context.Machine] == nil {
		first[c.context.Machine] = c.context.File
	}
	return first[c.context.Machine] == c.context.File
}

// Default returns the clock of events that name none, or false if there is none.
func (c *Clocks) Default() (Clock, bool) { return Clock{ID: c.defaults}, c.defaults != 0 }

// SetDefault sets the clock of events that name none.
func (c *Clocks) SetDefault(id uint32) { c.defaults = id }

// SetTraceClock makes a clock the trace clock, in which the times of all tables are
// measured. Only the first file to set it may change it, and only before its first
// conversion.
func (c *Clocks) SetTraceClock(id uint32) {
	all := &c.context.Store.clocks
	if c.conversions > 0 || all.owner != nil && all.owner != c.context.File {
		return
	}
	all.owner = c.context.File
	all.Trace = c.shared(Clock{ID: id})
	c.context.Store.SetMetadata("trace_time_clock_id", IntArg(int64(id)))
}

// ClaimTraceClock makes a clock the trace clock before any file does.
func (s *Store) ClaimTraceClock(owner *File, clock Clock) {
	s.clocks.owner, s.clocks.Trace = owner, clock
	s.SetMetadata("trace_time_clock_id", IntArg(int64(clock.ID)))
}

// MachineClock returns a clock of the machine with the given raw id.
func (s *Store) MachineClock(raw int64, id uint32) Clock {
	return Clock{ID: id, Machine: s.machines.Row(raw)}
}

// Timeline returns the file-local clock of the named file, recorded on the machine with
// the given raw id, or false if there is no such file.
func (s *Store) Timeline(name string, raw int64) (Clock, bool) {
	for _, f := range s.files {
		if f.Name == name {
			return Clock{ID: ClockTraceFile, File: f.ID + 1, Machine: s.machines.Row(raw)}, true
		}
	}
	return Clock{}, false
}

// RelateClocks states that two clocks had these values, in ns, at the same moment.
func (s *Store) RelateClocks(a Clock, aValue int64, b Clock, bValue int64) {
	s.addSnapshot([]Reading{{Clock: a, Value: aValue, Unit: 1}, {Clock: b, Value: bValue, Unit: 1}}, ClockLink{By: ByManifest})
}

// AddSnapshot adds readings taken at the same moment, and counts those that contradict
// earlier ones.
func (c *Clocks) AddSnapshot(readings []Reading) {
	first := c.claim()
	if !first && c.tag == 0 {
		if c.conversions > 0 {
			c.context.File.Log(StatClockSyncMixedClockSources, LogEntry{Args: ArgFunc(func(set *ArgSet) {
				set.Add(c.context.Store.Strings.Intern("num_conversions_using_primary"), UintArg(uint64(c.conversions)))
			})})
		}
		c.tag = c.context.File.ID + 1
	}
	var all []Reading
	for _, r := range readings {
		r.Clock = c.own(r.Clock)
		all = append(all, r)
	}
	// Files of different machines are related by their wall clocks. So are files of
	// different boots if the wall clock is the trace clock.
	trace := c.context.Store.clocks.Trace
	if !first && (c.context.Machine.ID != trace.Machine || trace == c.shared(Clock{ID: ClockRealtime})) {
		for _, r := range readings {
			if r.Clock.ID == ClockRealtime || r.Clock.ID == ClockRealtimeCoarse {
				r.Clock = c.shared(Clock{ID: r.Clock.ID})
				all = append(all, r)
			}
		}
	}
	c.context.Store.addSnapshot(all, ClockLink{By: BySnapshots, File: c.context.File})
}

// Link adds a snapshot that relates a clock of this machine to the same clock of another
// machine.
func (c *Clocks) Link(other *Machine, id uint32, otherValue, value int64) {
	c.context.Store.addSnapshot([]Reading{
		{Clock: Clock{ID: id, Machine: other.ID}, Value: otherValue, Unit: 1},
		{Clock: c.shared(Clock{ID: id}), Value: value, Unit: 1},
	}, ClockLink{By: ByMachines, File: c.context.File})
}

// TraceMachine is the machine whose clock is the trace clock.
func (c *Clocks) TraceMachine() *Machine {
	return cmp.Or(c.context.Store.machines.WithID(c.context.Store.clocks.Trace.Machine), c.context.Machine)
}

// bridge connects the clock of Assume with the trace clock: through the wall clocks if
// both sides have one, else directly if the two may be the same.
func (c *Clocks) bridge() {
	store, graph := c.context.Store, c.context.Store.clocks.Graph
	own, shared := c.own(*c.fallback), c.shared(*c.fallback)
	c.fallback = nil
	if own != shared && !graph.Leads(own, shared) {
		store.addSnapshot([]Reading{{Clock: own, Unit: 1}, {Clock: shared, Unit: 1}}, ClockLink{By: BySameClock})
	}
	if shared == graph.Trace || graph.Leads(shared, graph.Trace) {
		return
	}
	wall := c.shared(Clock{ID: ClockRealtime})
	traceWall := Clock{ID: ClockRealtime, Machine: graph.Trace.Machine}
	switch {
	case wall != traceWall && graph.Leads(shared, wall) && graph.Leads(traceWall, graph.Trace):
		if !graph.Leads(wall, traceWall) {
			store.addSnapshot([]Reading{{Clock: wall, Unit: 1}, {Clock: traceWall, Unit: 1}}, ClockLink{By: ByWallClock})
		}
	case shared.ID == ClockTraceFile || graph.Trace.ID == ClockTraceFile || shared.ID == graph.Trace.ID:
		store.addSnapshot([]Reading{{Clock: shared, Unit: 1}, {Clock: graph.Trace, Unit: 1}}, ClockLink{By: ByAssumption})
	default:
		c.context.File.Log(StatClockSyncUnrelatableClockDomains, LogEntry{Args: ArgFunc(func(set *ArgSet) {
			set.Add(store.Strings.Intern("source_clock_id"), IntArg(int64(shared.ID)))
			set.Add(store.Strings.Intern("target_clock_id"), IntArg(int64(graph.Trace.ID)))
		})})
	}
}

// addSnapshot adds a snapshot to the graph and to clock_snapshot.
func (s *Store) addSnapshot(readings []Reading, link ClockLink) {
	graph := s.clocks.Graph
	kind, ok := graph.Add(readings)
	if _, seen := s.clocks.links[kind]; !seen {
		s.clocks.links[kind] = link
	}
	if !ok {
		s.stats[statKey{StatInvalidClockSnapshots, None, None, None}]++
		return
	}
	var atTrace *int64
	for i := range readings {
		if readings[i].Clock == graph.Trace {
			atTrace = &readings[i].Value
			break
		}
	}
	t := &s.ClockSnapshot
	for _, r := range readings {
		value := r.Value
		if r.Incremental {
			value = 0
		}
		ts, err := graph.Convert(r.Clock, value, graph.Trace)
		if err != nil {
			if atTrace == nil {
				continue
			}
			ts = *atTrace
		}
		row := t.Append()
		t.TS.Set(row, ts)
		t.ClockID.Set(row, int64(r.Clock.ID))
		t.ClockValue.Set(row, r.Value*r.Unit)
		if name, ok := clockNames[r.Clock.ID]; ok {
			t.ClockName.Set(row, s.Strings.Intern(name))
		}
		t.SnapshotID.Set(row, graph.Snapshots-1)
		t.MachineID.Set(row, r.Clock.Machine)
	}
}
