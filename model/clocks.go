package model

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sort"
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

// Clock identifies a clock of a trace.
type Clock struct {
	ID       uint32
	Sequence uint32 // packet sequence the clock is local to, 0 for a clock of the machine

	file    FileID // of the file that owns the clock, plus one; 0 for a clock shared by files
	machine MachineID
}

func compareClocks(a, b Clock) int {
	return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Sequence, b.Sequence),
		cmp.Compare(a.file, b.file), cmp.Compare(a.machine, b.machine))
}

// Reading is the value of a clock in a snapshot, in units of Unit ns. Events on an
// incremental clock give the time since the previous event or snapshot.
type Reading struct {
	Clock       Clock
	Value       int64
	Unit        int64
	Incremental bool
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
	graph := c.context.Store.clocks
	ts, err := graph.convert(c.own(clock), value, graph.trace)
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
	graph := c.context.Store.clocks
	graph.zone, graph.zoned = offset, true
}

// Zone returns the value of the last SetZone, or false if no file has set it yet.
func (c *Clocks) Zone() (offset int64, ok bool) {
	graph := c.context.Store.clocks
	return graph.zone, graph.zoned
}

// FromTrace converts ns of the trace clock to ns of a clock.
func (c *Clocks) FromTrace(ts int64, clock Clock) (int64, *ClockError) {
	graph := c.context.Store.clocks
	return graph.convert(graph.trace, ts-c.context.File.offset, c.own(clock))
}

// own returns the machine's clock, or the file's if the file has its own.
func (c *Clocks) own(clock Clock) Clock {
	clock.machine = c.context.Machine.ID
	switch {
	case clock.Sequence != 0 || clock.ID == ClockTraceFile:
		clock.file = c.context.File.ID + 1
	case clock.file == 0:
		clock.file = c.tag
	}
	return clock
}

// shared returns the clock that all files of the machine share, or the file's own
// timeline.
func (c *Clocks) shared(clock Clock) Clock {
	clock.machine = c.context.Machine.ID
	if clock.ID == ClockTraceFile {
		clock.file = c.context.File.ID + 1
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
	m := c.context.Machine
	if m.clocksOf == nil {
		m.clocksOf = c.context.File
	}
	return m.clocksOf == c.context.File
}

// Default returns the clock of events that name none, or false if there is none.
func (c *Clocks) Default() (Clock, bool) { return Clock{ID: c.defaults}, c.defaults != 0 }

// SetDefault sets the clock of events that name none.
func (c *Clocks) SetDefault(id uint32) { c.defaults = id }

// SetTraceClock makes a clock the trace clock, in which the times of all tables are
// measured. Only the first file to set it may change it, and only before its first
// conversion.
func (c *Clocks) SetTraceClock(id uint32) {
	graph := c.context.Store.clocks
	if c.conversions > 0 || graph.owner != nil && graph.owner != c.context.File {
		return
	}
	graph.owner = c.context.File
	graph.trace = c.shared(Clock{ID: id})
	c.context.Store.SetMetadata("trace_time_clock_id", IntArg(int64(id)))
}

// ClaimTraceClock makes a clock the trace clock before any file does.
func (s *Store) ClaimTraceClock(owner *File, clock Clock) {
	s.clocks.owner, s.clocks.trace = owner, clock
	s.SetMetadata("trace_time_clock_id", IntArg(int64(clock.ID)))
}

// MachineClock returns a clock of the machine with the given raw id.
func (s *Store) MachineClock(raw int64, id uint32) Clock {
	return Clock{ID: id, machine: s.machineRow(raw)}
}

// Timeline returns the file-local clock of the named file, recorded on the machine with
// the given raw id, or false if there is no such file.
func (s *Store) Timeline(name string, raw int64) (Clock, bool) {
	for _, f := range s.files {
		if f.Name == name {
			return Clock{ID: ClockTraceFile, file: f.ID + 1, machine: s.machineRow(raw)}, true
		}
	}
	return Clock{}, false
}

// RelateClocks states that two clocks had these values, in ns, at the same moment.
func (s *Store) RelateClocks(a Clock, aValue int64, b Clock, bValue int64) {
	s.addSnapshot([]Reading{{Clock: a, Value: aValue, Unit: 1}, {Clock: b, Value: bValue, Unit: 1}}, ClockLink{By: ByManifest})
}

// AddSnapshot adds readings taken at the same moment. If they contradict earlier ones, it
// counts that and returns false.
func (c *Clocks) AddSnapshot(readings []Reading) bool {
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
	trace := c.context.Store.clocks.trace
	if !first && (c.context.Machine.ID != trace.machine || trace == c.shared(Clock{ID: ClockRealtime})) {
		for _, r := range readings {
			if r.Clock.ID == ClockRealtime || r.Clock.ID == ClockRealtimeCoarse {
				r.Clock = c.shared(Clock{ID: r.Clock.ID})
				all = append(all, r)
			}
		}
	}
	return c.context.Store.addSnapshot(all, ClockLink{By: BySnapshots, File: c.context.File})
}

// Link adds a snapshot that relates a clock of this machine to the same clock of another
// machine.
func (c *Clocks) Link(other *Machine, id uint32, otherValue, value int64) {
	c.context.Store.addSnapshot([]Reading{
		{Clock: Clock{ID: id, machine: other.ID}, Value: otherValue, Unit: 1},
		{Clock: c.shared(Clock{ID: id}), Value: value, Unit: 1},
	}, ClockLink{By: ByMachines, File: c.context.File})
}

// TraceMachine is the machine whose clock is the trace clock.
func (c *Clocks) TraceMachine() *Machine {
	for _, m := range c.context.Store.machines {
		if m.ID == c.context.Store.clocks.trace.machine {
			return m
		}
	}
	return c.context.Machine
}

// bridge connects the clock of Assume with the trace clock: through the wall clocks if
// both sides have one, else directly if the two may be the same.
func (c *Clocks) bridge() {
	store, graph := c.context.Store, c.context.Store.clocks
	own, shared := c.own(*c.fallback), c.shared(*c.fallback)
	c.fallback = nil
	if own != shared && !graph.leads(own, shared) {
		store.addSnapshot([]Reading{{Clock: own, Unit: 1}, {Clock: shared, Unit: 1}}, ClockLink{By: BySameClock})
	}
	if shared == graph.trace || graph.leads(shared, graph.trace) {
		return
	}
	wall := c.shared(Clock{ID: ClockRealtime})
	traceWall := Clock{ID: ClockRealtime, machine: graph.trace.machine}
	switch {
	case wall != traceWall && graph.leads(shared, wall) && graph.leads(traceWall, graph.trace):
		if !graph.leads(wall, traceWall) {
			store.addSnapshot([]Reading{{Clock: wall, Unit: 1}, {Clock: traceWall, Unit: 1}}, ClockLink{By: ByWallClock})
		}
	case shared.ID == ClockTraceFile || graph.trace.ID == ClockTraceFile || shared.ID == graph.trace.ID:
		store.addSnapshot([]Reading{{Clock: shared, Unit: 1}, {Clock: graph.trace, Unit: 1}}, ClockLink{By: ByAssumption})
	default:
		c.context.File.Log(StatClockSyncUnrelatableClockDomains, LogEntry{Args: ArgFunc(func(set *ArgSet) {
			set.Add(store.Strings.Intern("source_clock_id"), IntArg(int64(shared.ID)))
			set.Add(store.Strings.Intern("target_clock_id"), IntArg(int64(graph.trace.ID)))
		})})
	}
}

// addSnapshot adds a snapshot to the graph and to clock_snapshot.
func (s *Store) addSnapshot(readings []Reading, link ClockLink) bool {
	graph := s.clocks
	if err := graph.add(readings, link); err != nil {
		s.stats[statKey{StatInvalidClockSnapshots, None, None, None}]++
		return false
	}
	var atTrace *int64
	for i := range readings {
		if readings[i].Clock == graph.trace {
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
		ts, err := graph.convert(r.Clock, value, graph.trace)
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
		t.SnapshotID.Set(row, graph.snapshots-1)
		t.MachineID.Set(row, r.Clock.machine)
	}
	return true
}

// clockGraph leads from a clock to all others that occur in one snapshot with it. Snapshots
// of the same clocks are of one kind. A conversion takes the shortest path through the
// graph, and on each edge the latest snapshot of the edge's kind that is not after the
// event. A snapshot may have very many clocks, so edges are not stored.
type clockGraph struct {
	store     *Store
	trace     Clock
	owner     *File
	nodes     map[Clock]*clockNode
	kinds     map[string]int
	clocks    [][]Clock   // by kind, in order; none if all its snapshots are invalid
	links     []ClockLink // by kind: the origin of its first snapshot
	snapshots int64
	routes    [8]clockRoute // the latest conversions
	oldest    int           // index in routes of the one to replace next
	hints     [16]uint8     // index of the route used last, by a hash of the clock
	zone      int64         // see SetZone
	zoned     bool          // zone is known
}

type clockNode struct {
	unit         int64
	incremental  bool
	last         int64         // latest value in ns, to which an incremental clock adds
	nonMonotonic bool          // the clock went back, so its times may be ambiguous
	kinds        []int         // of the snapshots that it occurs in, in order
	series       []clockSeries // of each of the kinds
	joined       *clockNode    // see root
}

// root returns a node that stands for all clocks that snapshots connect, directly or not.
func (n *clockNode) root() *clockNode {
	for n.joined != nil {
		if n.joined.joined != nil {
			n.joined = n.joined.joined
		}
		n = n.joined
	}
	return n
}

// shared returns the first kind of snapshots with both clocks.
func (n *clockNode) shared(other *clockNode) (kind int, ok bool) {
	few, many := n, other
	if len(few.kinds) > len(many.kinds) {
		few, many = many, few
	}
	for _, kind := range few.kinds {
		if many.of(kind) != nil {
			return kind, true
		}
	}
	return 0, false
}

type clockEdge struct {
	to   Clock
	kind int
}

// of returns the series of a kind of snapshots, or nil if the clock does not occur in them.
func (n *clockNode) of(kind int) clockSeries {
	if at, ok := slices.BinarySearch(n.kinds, kind); ok {
		return n.series[at]
	}
	return nil
}

// clockSeries has the readings of a clock in the snapshots of one kind, in order.
type clockSeries []clockReading

type clockReading struct{ snapshot, ns int64 }

// compareSnapshots orders a reading and a snapshot.
func compareSnapshots(r clockReading, snapshot int64) int { return cmp.Compare(r.snapshot, snapshot) }

// clockRoute is a conversion that is valid for times from min up to max.
type clockRoute struct {
	from, to     Clock
	node         *clockNode
	min, max, by int64
}

func newClockGraph(s *Store) *clockGraph {
	return &clockGraph{store: s, trace: Clock{ID: ClockTraceFile}, nodes: map[Clock]*clockNode{}, kinds: map[string]int{}}
}

func (n *clockNode) ns(value int64) int64 {
	if !n.incremental {
		return value * n.unit
	}
	n.last += value * n.unit
	return n.last
}

func (g *clockGraph) convert(from Clock, value int64, to Clock) (int64, *ClockError) {
	if from == to {
		return value, nil
	}
	var ns int64
	known := false
	hint := &g.hints[(from.Sequence+from.ID)%uint32(len(g.hints))]
	for i := range g.routes {
		// Try the hinted route first: it swaps places with route 0.
		switch {
		case i == 0:
			i = int(*hint)
		case i == int(*hint):
			i = 0
		}
		route := &g.routes[i]
		if route.node == nil || route.from != from || route.to != to {
			continue
		}
		if !known {
			ns, known = route.node.ns(value), true
		}
		if ns >= route.min && ns < route.max {
			*hint = uint8(i)
			return ns + route.by, nil
		}
	}
	g.store.stats[statKey{StatClockSyncCacheMiss, None, None, None}]++
	path := g.path(from, to)
	if path == nil {
		err := &ClockError{From: from, To: to, Value: value, Stat: StatClockSyncFailureNoPath, store: g.store}
		if g.nodes[from] == nil {
			err.Stat = StatClockSyncFailureUnknownSourceClock
		} else if g.nodes[to] == nil {
			err.Stat = StatClockSyncFailureUnknownTargetClock
		}
		return 0, err
	}
	node := g.nodes[from]
	if !known {
		ns = node.ns(value)
	}
	route := clockRoute{from: from, to: to, node: node, min: math.MinInt64, max: math.MaxInt64}
	at := node
	for _, edge := range path {
		series := at.of(edge.kind)
		i := max(0, sort.Search(len(series), func(i int) bool { return series[i].ns > ns+route.by })-1)
		if i > 0 {
			route.min = max(route.min, series[i].ns-route.by)
		}
		if i+1 < len(series) {
			route.max = min(route.max, series[i+1].ns-route.by)
		}
		next := g.nodes[edge.to]
		other := next.of(edge.kind)
		if j, ok := slices.BinarySearchFunc(other, series[i].snapshot, compareSnapshots); ok {
			route.by += other[j].ns - series[i].ns
		}
		at = next
	}
	g.routes[g.oldest] = route
	g.oldest = (g.oldest + 1) % len(g.routes)
	return ns + route.by, nil
}

func (g *clockGraph) leads(from, to Clock) bool {
	_, err := g.convert(from, 0, to)
	return err == nil
}

// maxClockHops is the most snapshots that one conversion may go through.
const maxClockHops = 4

// path finds the shortest way from one clock to another. Of several it takes the one
// whose clocks, then kinds, come first.
func (g *clockGraph) path(from, to Clock) []clockEdge {
	target := g.nodes[to]
	if g.nodes[from] == nil || target == nil || g.nodes[from].root() != target.root() {
		return nil
	}
	type step struct {
		clock Clock
		via   clockEdge
		back  int
		hops  int
	}
	queue := []step{{clock: from, back: -1}}
	seen := map[Clock]bool{from: true}
	left := map[int]bool{} // kinds all of whose clocks were seen
	for i := 0; i < len(queue); i++ {
		if queue[i].hops == maxClockHops {
			break
		}
		node := g.nodes[queue[i].clock]
		if node.nonMonotonic {
			continue
		}
		if kind, ok := node.shared(target); ok {
			path := []clockEdge{{to, kind}}
			for at := i; at > 0; at = queue[at].back {
				path = append(path, queue[at].via)
			}
			slices.Reverse(path)
			return path
		}
		first := len(queue)
		for _, kind := range node.kinds {
			if left[kind] {
				continue
			}
			left[kind] = true
			for _, clock := range g.clocks[kind] {
				if !seen[clock] {
					seen[clock] = true
					queue = append(queue, step{clock: clock, via: clockEdge{clock, kind}, back: i, hops: queue[i].hops + 1})
				}
			}
		}
		slices.SortFunc(queue[first:], func(a, b step) int { return compareClocks(a.clock, b.clock) })
	}
	return nil
}

// check returns an error if a snapshot is invalid.
func (g *clockGraph) check(readings []Reading, kind int) error {
	clocks := sortedClocks(readings)
	for i := 1; i < len(clocks); i++ {
		if clocks[i] == clocks[i-1] {
			return fmt.Errorf("clock %d occurs twice in a snapshot", clocks[i].ID)
		}
	}
	for _, r := range readings {
		if node := g.nodes[r.Clock]; node == nil {
			if r.Incremental && r.Clock.Sequence == 0 {
				return fmt.Errorf("clock %d is incremental, but does not belong to a sequence", r.Clock.ID)
			}
		} else if node.unit != r.Unit || node.incremental != r.Incremental {
			return fmt.Errorf("clock %d changes its unit", r.Clock.ID)
		} else if series := node.of(kind); r.Clock == g.trace && series != nil && r.Value*r.Unit < series[len(series)-1].ns {
			return fmt.Errorf("the trace clock, %d, goes backwards", r.Clock.ID)
		}
		if r.Clock == g.trace && r.Unit != 1 {
			return fmt.Errorf("the trace clock, %d, does not count ns", r.Clock.ID)
		}
	}
	return nil
}

func (g *clockGraph) add(readings []Reading, link ClockLink) error {
	snapshot := g.snapshots
	g.snapshots++
	g.routes = [len(g.routes)]clockRoute{}
	var name []byte
	for _, r := range readings {
		name = binary.AppendUvarint(name, uint64(r.Clock.ID))
		name = binary.AppendUvarint(name, uint64(r.Clock.Sequence))
		name = binary.AppendUvarint(name, uint64(r.Clock.file))
		name = binary.AppendUvarint(name, uint64(r.Clock.machine))
	}
	kind, seen := g.kinds[string(name)]
	if !seen {
		kind = len(g.kinds)
		g.kinds[string(name)] = kind
		g.clocks = append(g.clocks, nil)
		g.links = append(g.links, link)
	}
	if err := g.check(readings, kind); err != nil {
		return err
	}
	for _, r := range readings {
		node := g.nodes[r.Clock]
		if node == nil {
			node = &clockNode{unit: r.Unit, incremental: r.Incremental}
			g.nodes[r.Clock] = node
		}
		node.last = r.Value * r.Unit
		at, ok := slices.BinarySearch(node.kinds, kind)
		if !ok {
			node.kinds = slices.Insert(node.kinds, at, kind)
			node.series = slices.Insert(node.series, at, nil)
		}
		series := &node.series[at]
		if n := len(*series); n > 0 && node.last < (*series)[n-1].ns {
			// A wall clock may be set back. Other clocks can still be converted to it, but
			// it can no longer be converted to them.
			node.nonMonotonic = true
		}
		*series = append(*series, clockReading{snapshot, node.last})
	}
	if g.clocks[kind] == nil {
		g.clocks[kind] = sortedClocks(readings)
		for _, clock := range g.clocks[kind] {
			g.join(clock, g.clocks[kind][0])
		}
	}
	return nil
}

// join notes that snapshots connect two clocks.
func (g *clockGraph) join(a, b Clock) {
	if from, to := g.nodes[a].root(), g.nodes[b].root(); from != to {
		from.joined = to
	}
}

func sortedClocks(readings []Reading) []Clock {
	clocks := make([]Clock, len(readings))
	for i, r := range readings {
		clocks[i] = r.Clock
	}
	slices.SortFunc(clocks, compareClocks)
	return clocks
}
