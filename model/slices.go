package model

import (
	"math"
	"slices"

	"github.com/tpconvert/tpconvert/internal/paged"
	"github.com/tpconvert/tpconvert/model/table"
)

// MaxDepth is the number of slices that may be open on a track; deeper ones are
// dropped and logged, as in Trace Processor.
const MaxDepth = 512

// pending is the dur of a slice that has not ended.
const pending int64 = -1

// Slices nests the slices of each track: it computes depth, parent and stack ids, and
// finds the slice that an end event ends. Events must come in order of time.
type Slices struct {
	context *Context
	*sliceStacks
}

// sliceStacks has the open slices of all tracks. All files and machines share it, because an
// archive may hold thousands of traces.
type sliceStacks struct {
	store *Store
	// By track id: its index in active plus one; or minus the index of its top slice
	// in resting plus one; or 0 if nothing is open.
	tracks      paged.Sparse[int32]
	active      []*slicesOfTrack // nil at free places
	free        []int32          // places in active
	idle        []*slicesOfTrack // for reuse
	resting     paged.List[restingSlice]
	freeResting int32  // index of the first free place in resting plus one, 0 for none
	restAt      int    // number of active tracks at which to call rest
	now         int64  // time of the latest begin or end
	scratch     ArgSet // args of a slice that is complete
	spare       []*ArgSet
}

// slicesOfTrack is the state of a track with open slices.
type slicesOfTrack struct {
	track TrackID
	stack []openSlice
	// A track of unnestable slices (Android's legacy async ones) has at most one open
	// slice. begins counts all begins, also those that started no slice.
	unnestable bool
	async      bool // an end may end a slice after the one around it
	begins     int64
	lastBegin  int64
	waiting    []waitingFlow
	// orphans are slices around which one has ended, on async tracks. They end with it, unless their own end comes.
	orphans []openSlice
	ended   endedSlice // the last one, the innermost of those that ended at one time
}

// endedSlice is a slice that is no longer on its track's stack.
type endedSlice struct {
	row     int64
	ts, end int64
}

var noneEnded = endedSlice{None, math.MinInt64, math.MinInt64}

type openSlice struct {
	row            int64
	ts, dur        int64
	until          int64 // earliest end of this slice and those around it
	name, category StringID
	stack          uint64
	pinned         bool // its dur or args may still change
	clock          ThreadClock
	args           *ArgSet      // nil if none so far
	child          *table.Table // child table with a row for the slice, or nil
	childRow       int64
}

// restingSlice is a slice on a track that was not used recently. There may be millions
// of them.
type restingSlice struct {
	row            int64
	ts, dur        int64
	name, category StringID
	below          int32 // index of the enclosing slice plus one, 0 for none; if free, the same for the next free place
	pinned         bool
}

// Overlap is the range, in ns, in which a slice and an open one overlap without
// nesting, together with the open slice.
type Overlap struct {
	Start, End int64
	Name       StringID
	TS, Dur    int64
}

// AddArgs adds the details of an overlap for the import log.
func (o *Overlap) AddArgs(s *Store, set *ArgSet) {
	set.Add(s.Strings.Intern("overlap_start"), IntArg(o.Start))
	set.Add(s.Strings.Intern("overlap_end"), IntArg(o.End))
	set.Add(s.Strings.Intern("conflicting_slice_name"), StringArg(o.Name))
	set.Add(s.Strings.Intern("conflicting_slice_ts"), IntArg(o.TS))
	set.Add(s.Strings.Intern("conflicting_slice_dur"), IntArg(o.Dur))
}

// ThreadClock has the values of a thread's own clocks at an event: its CPU time in ns
// and the number of instructions it had retired.
type ThreadClock struct {
	Time, Instructions       int64
	HasTime, HasInstructions bool
}

// BeginAt is Begin with the thread's own clocks.
func (s *Slices) BeginAt(ts int64, track TrackID, category, name StringID, args ArgSource, clock ThreadClock) SliceID {
	id := s.Begin(ts, track, category, name, args)
	if id == None {
		return None
	}
	on := s.track(track)
	slice := &on.stack[len(on.stack)-1]
	slice.clock = clock
	if clock.HasTime {
		s.context.Store.Slice.ThreadTS.Set(slice.row, clock.Time)
	}
	if clock.HasInstructions {
		s.context.Store.Slice.ThreadInstructionCount.Set(slice.row, clock.Instructions)
	}
	return id
}

// EndAt is End with the thread's own clocks.
func (s *Slices) EndAt(ts int64, track TrackID, category, name StringID, args ArgSource, clock ThreadClock) SliceID {
	return s.end(ts, track, category, name, args, clock)
}

// Begin starts a slice that a later End ends. It returns None if the slice cannot be
// added.
func (s *Slices) Begin(ts int64, track TrackID, category, name StringID, args ArgSource) SliceID {
	on := s.track(track)
	if on.unnestable {
		on.begins++
		on.lastBegin = ts
		if len(on.stack) > 0 {
			return None
		}
	}
	id, _ := s.start(on, ts, pending, track, category, name)
	if id == None {
		return None
	}
	if args != nil {
		args.AddArgs(s.argsOf(&on.stack[len(on.stack)-1]))
	}
	return id
}

// BeginUnnestable is Begin on a track whose slices do not nest.
func (s *Slices) BeginUnnestable(ts int64, track TrackID, name StringID, args ArgSource) SliceID {
	s.track(track).unnestable = true
	return s.Begin(ts, track, 0, name, args)
}

// Instant adds a slice without duration. Unlike one of Scoped, it does not contain others that begin at the same time.
func (s *Slices) Instant(ts int64, track TrackID, category, name StringID, args ArgSource) SliceID {
	on := s.track(track)
	if on.unnestable {
		id := s.Begin(ts, track, category, name, args)
		if id != None {
			s.End(ts, track, category, name, nil)
		}
		return id
	}
	id, _ := s.start(on, ts, pending, track, category, name)
	if id == None {
		return None
	}
	slices := &s.context.Store.Slice
	slices.Dur.Set(int64(id), 0)
	s.context.Store.args.AssignOf(&slices.ArgSetID, int64(id), args, &s.scratch)
	s.pop(on)
	return id
}

// Scoped adds a slice with a duration in ns, 0 for an instant. If the slice does not
// nest in the open ones, Scoped logs why and returns None.
func (s *Slices) Scoped(ts, dur int64, track TrackID, category, name StringID, args ArgSource) SliceID {
	id, overlap := s.ScopedOr(ts, dur, track, category, name, args)
	if overlap != nil {
		s.context.File.Log(StatSliceDropOverlappingCompleteEvent, LogEntry{TS: ts, HasTS: true, Args: ArgFunc(func(set *ArgSet) {
			overlap.AddArgs(s.context.Store, set)
		})})
	}
	return id
}

// ScopedOr is Scoped, but lets the caller handle a slice that overlaps an open one
// without nesting in it.
func (s *Slices) ScopedOr(ts, dur int64, track TrackID, category, name StringID, args ArgSource) (SliceID, *Overlap) {
	if dur < 0 {
		s.context.File.Log(StatSliceNegativeDuration, LogEntry{TS: ts, HasTS: true})
		return None, nil
	}
	id, overlap := s.start(s.track(track), ts, dur, track, category, name)
	if id == None {
		return None, overlap
	}
	s.context.Store.args.AssignOf(&s.context.Store.Slice.ArgSetID, int64(id), args, &s.scratch)
	return id, nil
}

// Ending is a source of args that also acts on the slice that ends.
type Ending interface {
	ArgSource
	// EndSlice is called before AddArgs for a slice that starts at ts, ns. It may
	// change the slice's row.
	EndSlice(id SliceID, ts int64)
}

// End ends the innermost open slice of the track with this name and category; zero
// matches any. args may be an Ending. End returns None if there is no such slice, for
// example because it began before the trace.
func (s *Slices) End(ts int64, track TrackID, category, name StringID, args ArgSource) SliceID {
	return s.end(ts, track, category, name, args, ThreadClock{})
}

func (s *Slices) end(ts int64, track TrackID, category, name StringID, args ArgSource, clock ThreadClock) SliceID {
	on := s.track(track)
	if _, ok := s.closeEnded(on, ts, pending); !ok {
		return None
	}
	i := matching(on.stack, category, name)
	if i < 0 {
		if id := s.endOrphan(on, ts, category, name, args); id != None {
			return id
		}
		s.context.File.Count(StatSliceEndWithoutBegin)
		return None
	}
	slice := &on.stack[i]
	slice.dur = ts - slice.ts
	rows := &s.context.Store.Slice
	rows.Dur.Set(slice.row, slice.dur)
	if clock.HasTime && slice.clock.HasTime {
		rows.ThreadDur.Set(slice.row, clock.Time-slice.clock.Time)
	}
	if clock.HasInstructions && slice.clock.HasInstructions {
		rows.ThreadInstructionDelta.Set(slice.row, clock.Instructions-slice.clock.Instructions)
	}
	if e, ok := args.(Ending); ok {
		e.EndSlice(SliceID(slice.row), slice.ts)
	}
	if args != nil {
		args.AddArgs(s.argsOf(slice))
	}
	if on.unnestable {
		strings := s.context.Store.Strings
		set := s.argsOf(slice)
		set.Add(strings.Intern("legacy_unnestable_begin_count"), IntArg(on.begins))
		set.Add(strings.Intern("legacy_unnestable_last_begin_ts"), IntArg(on.lastBegin))
	}
	id := SliceID(slice.row)
	switch {
	case i == len(on.stack)-1:
		s.pop(on)
	case on.async:
		s.orphan(on, i)
	default:
		on.bound(i)
	}
	return id
}

// AddArgs adds args to the innermost open slice of the track with this name and category, if there is one.
func (s *Slices) AddArgs(track TrackID, category, name StringID, args ArgSource) {
	on := s.track(track)
	if i := matching(on.stack, category, name); i >= 0 {
		args.AddArgs(s.argsOf(&on.stack[i]))
	}
}

// Child adds a row to a child table of slice, for the innermost slice of the track,
// which must have just begun. It returns the row. The columns inherited from slice are
// filled when the slice is complete.
func (s *Slices) Child(track TrackID, child *table.Table) int64 {
	on := s.track(track)
	slice, slices := &on.stack[len(on.stack)-1], &s.context.Store.Slice
	row := child.Append()
	child.Pin(row)
	if !slice.pinned {
		slice.pinned = true
		slices.Pin(slice.row)
	}
	slice.child, slice.childRow = child, row
	slices.Type.Set(slice.row, s.context.Store.Strings.Intern(child.Schema().Name))
	return row
}

// Enclosing returns the slice of the track that encloses ts and starts last, and its ts (ns), or None. A slice
// reaches up to its end and, while it has none, to any time. No event of the track may be later than ts.
func (s *Slices) Enclosing(track TrackID, ts int64) (SliceID, int64) {
	on := s.track(track)
	for i := len(on.stack) - 1; i >= 0; i-- {
		if slice := &on.stack[i]; slice.dur == pending || ts <= slice.ts+slice.dur {
			return SliceID(slice.row), slice.ts
		}
	}
	return None, 0
}

// EnclosingOrEnded is Enclosing, but also finds slices that ended at ts before the event in question. This is for formats
// whose events of one time are in no order.
func (s *Slices) EnclosingOrEnded(track TrackID, ts int64) (SliceID, int64) {
	slice, start := s.Enclosing(track, ts)
	ended := &s.track(track).ended
	if ended.end == ts && (slice == None || ended.ts > start || ended.ts == start && start < ts) {
		return SliceID(ended.row), ended.ts
	}
	return slice, start
}

// Starting returns the innermost slice on the track's stack that starts at ts and has this duration (ns), or None.
func (s *Slices) Starting(track TrackID, ts, dur int64) SliceID {
	on := s.track(track)
	for i := len(on.stack) - 1; i >= 0 && on.stack[i].ts >= ts; i-- {
		if on.stack[i].ts == ts && on.stack[i].dur == dur {
			return SliceID(on.stack[i].row)
		}
	}
	return None
}

// Top returns the innermost open slice of the track, or None.
func (s *Slices) Top(track TrackID) SliceID {
	on := s.track(track)
	if len(on.stack) == 0 {
		return None
	}
	return SliceID(on.stack[len(on.stack)-1].row)
}

// Release forgets the slices of a track to which no more come, unless one has no end.
func (s *Slices) Release(id TrackID) {
	on := s.track(id)
	for i := range on.stack {
		if on.stack[i].dur == pending {
			return
		}
	}
	for len(on.stack) > 0 {
		s.pop(on)
	}
	s.finishOrphans(on)
	at := s.tracks.Get(int(id)) - 1
	s.active[at] = nil
	s.free, s.idle = append(s.free, at), append(s.idle, on)
	paged.Clear(&s.tracks, int(id))
}

// flush releases the slices that did not end, and stores their args.
func (s *sliceStacks) flush() {
	s.tracks.Each(func(_ int, state *int32) {
		at := *state
		if at > 0 {
			on := s.active[at-1]
			for len(on.stack) > 0 {
				s.pop(on)
			}
			s.finishOrphans(on)
		}
		for at < 0 {
			slice := s.resting.At(int(-at - 1))
			if slice.pinned {
				s.store.Slice.Unpin(slice.row)
			}
			at = -slice.below
		}
	})
}

func (s *sliceStacks) track(id TrackID) *slicesOfTrack {
	at := *s.tracks.At(int(id))
	if at > 0 {
		return s.active[at-1]
	}
	on := s.activate(id)
	if at < 0 {
		s.wake(on, -at)
	}
	return on
}

// fewTracks is the number of active tracks from which it pays to look for tracks that
// can rest.
const fewTracks = 1 << 12

func (s *sliceStacks) activate(id TrackID) *slicesOfTrack {
	if len(s.active)-len(s.free) >= max(s.restAt, fewTracks) {
		s.rest()
		s.restAt = 2 * (len(s.active) - len(s.free))
	}
	on := new(slicesOfTrack)
	if n := len(s.idle); n > 0 {
		on, s.idle = s.idle[n-1], s.idle[:n-1]
	}
	on.track, on.ended, on.async = id, noneEnded, false
	if n := len(s.free); n > 0 {
		at := s.free[n-1]
		s.free = s.free[:n-1]
		s.active[at], *s.tracks.At(int(id)) = on, at+1
		return on
	}
	s.active = append(s.active, on)
	*s.tracks.At(int(id)) = int32(len(s.active))
	return on
}

// rest moves the tracks that can rest out of active. Slices that have ended stay on
// their tracks until a later event pops them, so they are kept too.
func (s *sliceStacks) rest() {
	for at, on := range s.active {
		if on == nil || !on.canRest(s.now) {
			continue
		}
		top := int32(0)
		for i := range on.stack {
			slice := &on.stack[i]
			top = s.addResting(restingSlice{slice.row, slice.ts, slice.dur, slice.name, slice.category, top, slice.pinned})
		}
		on.stack = on.stack[:0]
		if cap(on.stack) > 2 { // idle tracks should not keep the memory of the deepest stacks
			on.stack = nil
		}
		*s.tracks.At(int(on.track)), s.active[at] = -top, nil
		s.free, s.idle = append(s.free, int32(at)), append(s.idle, on)
	}
}

// canRest reports whether the track can rest. A flow at the time now may still refer to a slice that ended now.
func (on *slicesOfTrack) canRest(now int64) bool {
	if on.unnestable || len(on.orphans) > 0 || len(on.waiting) > 0 || on.ended.end >= now {
		return false
	}
	for i := range on.stack {
		slice := &on.stack[i]
		if slice.args != nil || slice.child != nil || slice.clock != (ThreadClock{}) {
			return false
		}
	}
	return true
}

// addResting returns the slice's index plus one.
func (s *sliceStacks) addResting(slice restingSlice) int32 {
	if at := s.freeResting; at > 0 {
		place := s.resting.At(int(at - 1))
		s.freeResting, *place = place.below, slice
		return at
	}
	return int32(s.resting.Append(slice)) + 1
}

// wake restores a track's resting slices. top is the index of the top slice plus one.
func (s *sliceStacks) wake(on *slicesOfTrack, top int32) {
	for top > 0 {
		r := s.resting.At(int(top - 1))
		slice := on.push()
		slice.row, slice.ts, slice.dur, slice.pinned = r.row, r.ts, r.dur, r.pinned
		slice.name, slice.category = r.name, r.category
		top, r.below, s.freeResting = r.below, s.freeResting, top
	}
	slices.Reverse(on.stack)
	var stack uint64
	for i := range on.stack {
		slice := &on.stack[i]
		stack = s.stackHash(stack, slice.category, slice.name)
		slice.stack = stack
	}
	on.bound(0)
}

func (s *Slices) start(on *slicesOfTrack, ts, dur int64, track TrackID, category, name StringID) (SliceID, *Overlap) {
	if overlap, ok := s.closeEnded(on, ts, dur); !ok {
		return None, overlap
	}
	depth := len(on.stack)
	if depth >= MaxDepth {
		s.logTooDeep(ts, on.stack[depth-1].name, name)
		return None, nil
	}
	store := s.context.Store
	slices := &store.Slice
	row := slices.Append()
	// A slice inside one that has no end yet is cut when its parent is cut.
	pin := dur == pending || depth > 0 && on.stack[depth-1].pinned
	if pin {
		slices.Pin(row)
	}
	slices.TS.Set(row, ts)
	slices.Dur.Set(row, dur)
	slices.TrackID.Set(row, track)
	slices.Category.Set(row, category)
	slices.Name.Set(row, name)
	slices.Depth.Set(row, int32(depth))
	slices.Type.Set(row, store.words.slice)
	var parentStack uint64
	if depth > 0 {
		parent := &on.stack[depth-1]
		slices.ParentID.Set(row, SliceID(parent.row))
		parentStack = parent.stack
	}
	stack := s.stackHash(parentStack, category, name)
	slices.StackID.Set(row, int64(stack))
	slices.ParentStackID.Set(row, int64(parentStack))
	slice := on.push()
	slice.row, slice.ts, slice.dur, slice.pinned = row, ts, dur, pin
	slice.name, slice.category, slice.stack = name, category, stack
	on.bound(depth)
	if len(on.waiting) > 0 {
		s.context.Flows.bind(on, SliceID(row))
	}
	return SliceID(row), nil
}

// push adds a slice to the stack.
func (on *slicesOfTrack) push() *openSlice {
	on.stack = append(on.stack, openSlice{})
	return &on.stack[len(on.stack)-1]
}

// bound recomputes until for the slices from index i on.
func (on *slicesOfTrack) bound(i int) {
	until := int64(math.MaxInt64)
	if i > 0 {
		until = on.stack[i-1].until
	}
	for ; i < len(on.stack); i++ {
		slice := &on.stack[i]
		if slice.dur != pending {
			until = min(until, slice.ts+slice.dur)
		}
		slice.until = until
	}
}

func (s *sliceStacks) stackHash(parent uint64, category, name StringID) uint64 {
	return StackID(s.store.Strings, parent, category, name)
}

// StackID returns the stack_id of a slice inside one with the stack_id parent, which is 0 for the outermost. It is never
// negative, so that stack ids read well in any tool.
func StackID(strings *table.StringPool, parent uint64, category, name StringID) uint64 {
	return paged.Mix(paged.Mix(parent, strings.Hash(category)), strings.Hash(name)) &^ (1 << 63)
}

// closeEnded pops the slices that ended before ts, for a slice from ts of length dur,
// or for an end event at ts (dur is pending). Slices include their start but not their
// end; instants at the same time nest. It reports false if the slice overlaps an open
// one without nesting in it.
func (s *Slices) closeEnded(on *slicesOfTrack, ts, dur int64) (*Overlap, bool) {
	s.now = ts
	if n := len(on.stack); n == 0 || ts < on.stack[n-1].until && ts+dur <= on.stack[n-1].until {
		return nil, true
	}
	openInside := false
	for i := len(on.stack) - 1; i >= 0; i-- {
		slice := &on.stack[i]
		if slice.dur == pending {
			openInside = true
			continue
		}
		end := slice.ts + slice.dur
		if openInside {
			if ts <= end {
				continue
			}
			// Slices without an end are inside one that has ended: they end with it.
			s.context.File.Count(StatMisplacedEndEvent)
			for len(on.stack)-1 > i {
				inner := &on.stack[len(on.stack)-1]
				s.context.Store.Slice.Dur.Set(inner.row, end-inner.ts)
				s.pop(on)
			}
			s.pop(on)
			openInside = false
			continue
		}
		if end < ts || end == ts && (slice.dur != 0 || dur != 0) {
			s.pop(on)
			continue
		}
		if dur != pending && ts < end && ts+dur > end {
			return &Overlap{Start: ts, End: end, Name: slice.name, TS: slice.ts, Dur: slice.dur}, false
		}
	}
	return nil, true
}

// matching returns the index of the innermost slice without an end that has this
// category and name, where zero matches any, or -1.
func matching(stack []openSlice, category, name StringID) int {
	for i := len(stack) - 1; i >= 0; i-- {
		slice := &stack[i]
		if slice.dur != pending ||
			category != 0 && category != slice.category ||
			name != 0 && slice.name != 0 && name != slice.name {
			continue
		}
		return i
	}
	return -1
}

// argsOf returns the args of a slice, for the caller to add to.
func (s *sliceStacks) argsOf(slice *openSlice) *ArgSet {
	if slice.args == nil {
		if n := len(s.spare); n > 0 {
			slice.args, s.spare = s.spare[n-1], s.spare[:n-1]
		} else {
			slice.args = new(ArgSet)
		}
	}
	return slice.args
}

// pop removes the innermost slice from the stack and stores its args.
func (s *sliceStacks) pop(on *slicesOfTrack) {
	slice := &on.stack[len(on.stack)-1]
	if slice.dur != pending {
		on.end(slice)
	}
	s.finish(slice)
	on.stack = on.stack[:len(on.stack)-1]
}

// end notes a slice that has ended.
func (on *slicesOfTrack) end(slice *openSlice) {
	if end := slice.ts + slice.dur; end > on.ended.end || end == on.ended.end && slice.ts > on.ended.ts {
		on.ended = endedSlice{slice.row, slice.ts, end}
	}
}

// orphan removes the slice at i, which has ended, and those inside of it. Those that have no end yet end with it, for now.
func (s *Slices) orphan(on *slicesOfTrack, i int) {
	s.context.File.Count(StatMisplacedEndEvent)
	end := on.stack[i].ts + on.stack[i].dur
	for len(on.stack)-1 > i {
		inner := &on.stack[len(on.stack)-1]
		if inner.dur != pending {
			s.pop(on)
			continue
		}
		s.store.Slice.Dur.Set(inner.row, end-inner.ts)
		if len(on.orphans) == MaxDepth {
			s.finish(&on.orphans[0])
			on.orphans = slices.Delete(on.orphans, 0, 1)
		}
		inner.until = end
		on.orphans = append(on.orphans, *inner)
		on.stack = on.stack[:len(on.stack)-1]
	}
	s.pop(on)
}

// endOrphan ends an orphan, or returns None.
func (s *Slices) endOrphan(on *slicesOfTrack, ts int64, category, name StringID, args ArgSource) SliceID {
	i := matching(on.orphans, category, name)
	if i < 0 {
		return None
	}
	slice := &on.orphans[i]
	s.context.Store.Slice.Dur.Set(slice.row, ts-slice.ts)
	if args != nil {
		args.AddArgs(s.argsOf(slice))
	}
	id := SliceID(slice.row)
	end := slice.until
	s.finish(slice)
	on.orphans = slices.Delete(on.orphans, i, i+1)
	if !slices.ContainsFunc(on.orphans, func(o openSlice) bool { return o.until == end }) {
		s.context.File.Uncount(StatMisplacedEndEvent) // all ends came
	}
	return id
}

// finishOrphans releases the orphans that did not end.
func (s *sliceStacks) finishOrphans(on *slicesOfTrack) {
	for i := range on.orphans {
		s.finish(&on.orphans[i])
	}
	on.orphans = nil
}

// finish stores the args of a slice that leaves the stack.
func (s *sliceStacks) finish(slice *openSlice) {
	slices := &s.store.Slice
	if spare := slice.args; spare != nil {
		s.store.SetArgs(&slices.ArgSetID, slice.row, spare)
		spare.Reset()
		s.spare = append(s.spare, spare)
	}
	if slice.child != nil {
		slice.child.Inherit(slice.childRow, &slices.Table, slice.row)
		slice.child.Unpin(slice.childRow)
	}
	if slice.pinned {
		slices.Unpin(slice.row)
	}
}

func (s *Slices) logTooDeep(ts int64, parent, name StringID) {
	strings := s.context.Store.Strings
	s.context.File.Log(StatSliceMaxDepthExceeded, LogEntry{TS: ts, HasTS: true, Args: ArgFunc(func(set *ArgSet) {
		set.Add(strings.Intern("parent_slice_name"), StringArg(parent))
		set.Add(strings.Intern("current_slice_name"), StringArg(name))
	})})
}
