package model

import (
	"github.com/tpconvert/tpconvert/internal/paged"
	"github.com/tpconvert/tpconvert/model/lanes"
)

// AsyncTracks places slices that may overlap on as few tracks as possible: open slices
// with the same cookie share a track, and a track that becomes free goes to the next
// cookie. The tracks of one set share a track_group_id and differ in the dimension
// track_compressor_idx.
type AsyncTracks struct {
	context *Context
	sets    paged.Map[trackSet]
	lanes   paged.List[lane]       // of all sets
	cookies []map[int64]int32      // of the sets with more than fewLanes lanes: the last lane of each cookie
	nested  map[int32]*nestedLanes // of each set that has some, by its group
	roots   firstNames             // names of legacy ids
	legacy  legacyArgs
	options TrackOptions // options of the current legacy track
	dims    []Dim        // dimensions of the current legacy track
}

// There may be millions of sets and lanes. A lane's number is its place in lanes plus
// one, and later lanes of a set have greater numbers. 0 means none.
type trackSet struct {
	group       int32
	first, last int32
	n           int32
	free        int32 // no cookie lane before this one is free
	cookies     int32 // index in cookies plus one, 0 while there are few lanes
}

type laneKind uint8

const (
	cookieLane laneKind = iota
	spanLane
	nestedLane
)

type lane struct {
	of    int64 // by kind: its cookie, or the end of its span (ns)
	track int32 // TrackID
	next  int32 // the set's next lane
	open  int32 // number of the cookie's open slices
	kind  laneKind
}

// fewLanes is the number of lanes up to which a linear search is used.
const fewLanes = 8

const compressorIndex = "track_compressor_idx"

// NewTrackGroup returns a track_group_id for the tracks of one set.
func (s *Store) NewTrackGroup() int32 {
	s.groups++
	return s.groups - 1
}

// AsyncBlueprint returns a blueprint for the tracks of AsyncTracks.
func AsyncBlueprint(b Blueprint) *Blueprint {
	b.Dims = append(append([]string(nil), b.Dims...), compressorIndex)
	return &b
}

// A laneSet is a set together with what it takes to create its tracks.
type laneSet struct {
	*trackSet
	tracks    *AsyncTracks
	blueprint *Blueprint
	options   *TrackOptions
	dims      []Dim
}

func (a *AsyncTracks) set(b *Blueprint, o *TrackOptions, dims []Dim) laneSet {
	key := a.context.Tracks.key(b, dims)
	set := a.sets.Get(key)
	if set == nil {
		set = a.sets.Add(key, trackSet{group: a.context.Store.NewTrackGroup()})
	}
	return laneSet{set, a, b, o, dims}
}

func (a *AsyncTracks) lane(at int32) *lane { return a.lanes.At(int(at - 1)) }

// Begin returns the track on which a slice with the cookie begins.
func (a *AsyncTracks) Begin(b *Blueprint, o *TrackOptions, cookie int64, dims ...Dim) TrackID {
	set := a.set(b, o, dims)
	l := a.lane(set.lane(cookie))
	if b.OneOpen {
		l.open = 1
	} else {
		l.open++
	}
	return TrackID(l.track)
}

// End returns the track on which a slice with the cookie ends.
func (a *AsyncTracks) End(b *Blueprint, o *TrackOptions, cookie int64, dims ...Dim) TrackID {
	set := a.set(b, o, dims)
	at := set.lane(cookie)
	l := a.lane(at)
	if l.open > 0 {
		l.open--
		if l.open == 0 {
			set.free = min(set.free, at)
		}
	}
	return TrackID(l.track)
}

// Scoped returns a track that is free from ts to ts+dur (ns).
func (a *AsyncTracks) Scoped(b *Blueprint, o *TrackOptions, ts, dur int64, dims ...Dim) TrackID {
	set := a.set(b, o, dims)
	at := set.first
	for ; at != 0; at = a.lane(at).next {
		if l := a.lane(at); l.kind == spanLane && l.of <= ts {
			break
		}
	}
	if at == 0 {
		at = set.add(spanLane)
	}
	l := a.lane(at)
	l.of = ts + dur
	return TrackID(l.track)
}

// Overlapping returns the first track on which a slice from ts to ts+dur (ns) either
// nests in the open slices or follows them. Calls must have ascending ts.
func (a *AsyncTracks) Overlapping(b *Blueprint, o *TrackOptions, ts, dur int64, dims ...Dim) TrackID {
	set := a.set(b, o, dims)
	nested := a.nested[set.group]
	if nested == nil {
		if a.nested == nil {
			a.nested = map[int32]*nestedLanes{}
		}
		nested = &nestedLanes{places: lanes.Nested{MaxDepth: MaxDepth}}
		a.nested[set.group] = nested
	}
	place, isNew := nested.places.Place(ts, ts+dur)
	if isNew {
		nested.lanes = append(nested.lanes, set.add(nestedLane))
	}
	return a.trackAt(nested, place, true)
}

// OverlappingAt returns the track of Overlapping of the last slice with these times (ns), or false.
func (a *AsyncTracks) OverlappingAt(b *Blueprint, ts, dur int64, dims ...Dim) (TrackID, bool) {
	nested := a.nestedOf(b, dims)
	if nested == nil {
		return None, false
	}
	place, ok := nested.places.Placed(ts, ts+dur)
	return a.trackAt(nested, place, ok), ok
}

// OverlappingAround returns the track of Overlapping of the slice that starts last, of those that enclose ts (ns), or false. Calls
// must have ascending ts, together with those of Overlapping.
func (a *AsyncTracks) OverlappingAround(b *Blueprint, ts int64, dims ...Dim) (TrackID, bool) {
	nested := a.nestedOf(b, dims)
	if nested == nil {
		return None, false
	}
	place, ok := nested.places.Enclosing(ts)
	return a.trackAt(nested, place, ok), ok
}

func (a *AsyncTracks) nestedOf(b *Blueprint, dims []Dim) *nestedLanes {
	if a.nested == nil {
		return nil
	}
	if set := a.sets.Get(a.context.Tracks.key(b, dims)); set != nil {
		return a.nested[set.group]
	}
	return nil
}

func (a *AsyncTracks) trackAt(nested *nestedLanes, place int, ok bool) TrackID {
	if !ok {
		return None
	}
	return TrackID(a.lane(nested.lanes[place]).track)
}

// nestedLanes are the lanes of a set on which slices nest, by place.
type nestedLanes struct {
	lanes  []int32
	places lanes.Nested
}

// Default returns the first track of the set, and creates it if the set is empty.
func (a *AsyncTracks) Default(b *Blueprint, o *TrackOptions, dims ...Dim) TrackID {
	set := a.set(b, o, dims)
	if set.first == 0 {
		set.lane(0)
	}
	return TrackID(a.lane(set.first).track)
}

// add adds a lane and creates its track.
func (s *laneSet) add(kind laneKind) int32 {
	a := s.tracks
	track := a.context.Tracks.Create(s.blueprint, s.options, append(append([]Dim(nil), s.dims...), IntDim(int64(s.n)))...)
	a.context.Store.Track.TrackGroupID.Set(int64(track), int64(s.group))
	at := int32(a.lanes.Append(lane{track: int32(track), kind: kind})) + 1
	if s.n == 0 {
		s.first = at
	} else {
		a.lane(s.last).next = at
	}
	s.last = at
	s.n++
	return at
}

// lane returns the cookie's lane, or else the first free one.
func (s *laneSet) lane(cookie int64) int32 {
	if at := s.find(cookie); at != 0 {
		return at
	}
	a := s.tracks
	at := s.free
	if at == 0 {
		at = s.first
	}
	for at != 0 && (a.lane(at).kind != cookieLane || a.lane(at).open > 0) {
		at = a.lane(at).next
	}
	if at == 0 {
		at = s.add(cookieLane)
	} else {
		delete(s.known(), a.lane(at).of)
	}
	s.free = at
	a.lane(at).of = cookie
	switch {
	case s.cookies != 0:
		s.known()[cookie] = at
	case s.n > fewLanes:
		cookies := map[int64]int32{}
		for at := s.first; at != 0; at = a.lane(at).next {
			if l := a.lane(at); l.kind == cookieLane {
				cookies[l.of] = at
			}
		}
		a.cookies = append(a.cookies, cookies)
		s.cookies = int32(len(a.cookies))
	}
	return at
}

// known returns the last lane of each cookie, or nil while there are few lanes.
func (s *laneSet) known() map[int64]int32 {
	if s.cookies == 0 {
		return nil
	}
	return s.tracks.cookies[s.cookies-1]
}

// find returns the last lane of a cookie, or 0.
func (s *laneSet) find(cookie int64) int32 {
	if s.cookies != 0 {
		return s.known()[cookie]
	}
	for at := s.first; at != 0; at = s.tracks.lane(at).next {
		if l := s.tracks.lane(at); l.kind == cookieLane && l.of == cookie {
			return at
		}
	}
	return 0
}

// AsyncPhase is the phase of a legacy async event.
type AsyncPhase uint8

// The phases of legacy async events.
const (
	AsyncBegin AsyncPhase = iota
	AsyncEnd
	AsyncInstant
)

var (
	legacyAsyncProcess = AsyncBlueprint(Blueprint{Classification: "legacy_async_process_slice", Dims: []string{"upid", "scope", "name"}})
	legacyAsyncGlobal  = AsyncBlueprint(Blueprint{Classification: "legacy_async_global_slice", Dims: []string{"scope", "name"}})
)

// Legacy returns the track of an async event of the Chrome JSON format. Tracks are
// identified by an id, either per process or global, and a scope. They are named after
// the first event with their id.
func (a *AsyncTracks) Legacy(name StringID, upid UPID, id int64, inProcess bool, scope StringID, phase AsyncPhase) TrackID {
	a.legacy = legacyArgs{a.context.Store, upid, inProcess, scope}
	a.options = TrackOptions{Name: name, Args: &a.legacy}
	b, process := legacyAsyncGlobal, uint64(0)
	a.dims = a.dims[:0]
	if inProcess {
		b, process = legacyAsyncProcess, uint64(upid)+1
		a.dims = append(a.dims, IntDim(upid))
	}
	a.dims = append(a.dims, StringDim(scope), StringDim(a.roots.of(process, uint64(id), name)))
	var track TrackID
	if phase != AsyncEnd {
		track = a.Begin(b, &a.options, id, a.dims...)
	}
	if phase != AsyncBegin {
		track = a.End(b, &a.options, id, a.dims...)
	}
	a.context.Slices.track(track).async = true
	return track
}

// firstNames remembers the first name seen with each id. Ids are often consecutive, so
// neighbors share an entry.
type firstNames struct {
	groups paged.Map[[groupedIDs]nameOrNone]
}

const groupedIDs = 4

// nameOrNone is a StringID plus one, 0 if there is none.
type nameOrNone uint32

// of returns the first name seen with an id of a process.
func (f *firstNames) of(process, id uint64, name StringID) StringID {
	key := paged.Mix(process, id/groupedIDs)
	group := f.groups.Get(key)
	if group == nil {
		group = f.groups.Add(key, [groupedIDs]nameOrNone{})
	}
	first := &group[id%groupedIDs]
	if *first == 0 {
		*first = nameOrNone(name) + 1
	}
	return StringID(*first - 1)
}

// legacyArgs are the args of a legacy track, from the event that made it.
type legacyArgs struct {
	store     *Store
	upid      UPID
	inProcess bool
	scope     StringID
}

// AddArgs adds the args.
func (l *legacyArgs) AddArgs(set *ArgSet) {
	words := &l.store.words
	set.Add(words.source, StringArg(words.chrome))
	set.Add(l.store.Strings.Intern("trace_id_is_process_scoped"), BoolArg(l.inProcess))
	set.Add(words.upid, UintArg(uint64(l.upid)))
	set.Add(l.store.Strings.Intern("source_scope"), StringArg(l.scope))
}
