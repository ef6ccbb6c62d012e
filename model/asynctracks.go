package model

// AsyncTracks lays slices that may overlap on as few tracks as they need:
// slices with one cookie share a track while they are open, and a track that is
// free again is given to the next cookie. The tracks of one set have one
// track_group_id and differ in the dimension track_compressor_idx.
type AsyncTracks struct {
	context *Context
	sets    map[uint64]*trackSet
	roots   firstNames // of legacy ids
	legacy  legacyArgs
	options TrackOptions // of legacy tracks
	dims    []Dim        // likewise
}

type trackSet struct {
	group   int64
	lanes   []lane
	cookies map[int64]int32 // lane that a cookie had last; nil while there are few lanes
	free    int             // no cookie lane before this one is free
}

type laneKind uint8

const (
	cookieLane laneKind = iota
	spanLane
	nestedLane
)

// There may be millions of lanes.
type lane struct {
	kind   laneKind
	open   int32    // open slices of the cookie
	track  int32    // TrackID
	cookie int64    // of a cookieLane
	end    int64    // of a spanLane, ns
	nested *[]int64 // ends of the open slices of a nestedLane, outermost first, ns
}

// fewLanes is how many are looked through one by one.
const fewLanes = 8

const compressorIndex = "track_compressor_idx"

// AsyncBlueprint returns a blueprint for tracks that AsyncTracks makes.
func AsyncBlueprint(b Blueprint) *Blueprint {
	b.Dims = append(append([]string(nil), b.Dims...), compressorIndex)
	return &b
}

func (a *AsyncTracks) set(b *Blueprint, dims []Dim) *trackSet {
	key := a.context.Tracks.key(b, dims)
	set, ok := a.sets[key]
	if !ok {
		set = &trackSet{group: a.context.Store.groups}
		a.context.Store.groups++
		a.sets[key] = set
	}
	return set
}

// track returns the track of a lane, which it creates the first time.
func (a *AsyncTracks) track(b *Blueprint, o *TrackOptions, set *trackSet, i int, dims []Dim) TrackID {
	l := &set.lanes[i]
	if l.track == none {
		id := a.context.Tracks.Create(b, o, append(append([]Dim(nil), dims...), IntDim(int64(i)))...)
		a.context.Store.Track.TrackGroupID.Set(id, set.group)
		l.track = int32(id)
	}
	return TrackID(l.track)
}

// Begin returns the track on which a slice with the cookie begins.
func (a *AsyncTracks) Begin(b *Blueprint, o *TrackOptions, cookie int64, dims ...Dim) TrackID {
	set := a.set(b, dims)
	i := set.lane(cookie)
	if b.saturates() {
		set.lanes[i].open = 1
	} else {
		set.lanes[i].open++
	}
	return a.track(b, o, set, i, dims)
}

// End returns the track on which a slice with the cookie ends.
func (a *AsyncTracks) End(b *Blueprint, o *TrackOptions, cookie int64, dims ...Dim) TrackID {
	set := a.set(b, dims)
	i := set.lane(cookie)
	if l := &set.lanes[i]; l.open > 0 {
		l.open--
		if l.open == 0 {
			set.free = min(set.free, i)
		}
	}
	return a.track(b, o, set, i, dims)
}

// Scoped returns a track that is free from ts to ts+dur, ns.
func (a *AsyncTracks) Scoped(b *Blueprint, o *TrackOptions, ts, dur int64, dims ...Dim) TrackID {
	set := a.set(b, dims)
	for i := range set.lanes {
		if l := &set.lanes[i]; l.kind == spanLane && l.end <= ts {
			l.end = ts + dur
			return a.track(b, o, set, i, dims)
		}
	}
	return a.track(b, o, set, set.add(lane{kind: spanLane, end: ts + dur}), dims)
}

// Overlapping returns the first track on which a slice from ts to ts+dur, ns,
// either nests in the open slices or comes after them. Calls must have
// ascending ts.
func (a *AsyncTracks) Overlapping(b *Blueprint, o *TrackOptions, ts, dur int64, dims ...Dim) TrackID {
	set := a.set(b, dims)
	end := ts + dur
	for i := range set.lanes {
		l := &set.lanes[i]
		if l.kind != nestedLane {
			continue
		}
		ends := *l.nested
		for n := len(ends); n > 0 && ends[n-1] <= ts; n-- {
			ends = ends[:n-1]
		}
		*l.nested = ends
		if n := len(ends); n == 0 || end <= ends[n-1] {
			*l.nested = append(ends, end)
			return a.track(b, o, set, i, dims)
		}
	}
	return a.track(b, o, set, set.add(lane{kind: nestedLane, nested: &[]int64{end}}), dims)
}

// Default returns the first track of the set, which it creates if there is none.
func (a *AsyncTracks) Default(b *Blueprint, o *TrackOptions, dims ...Dim) TrackID {
	set := a.set(b, dims)
	if len(set.lanes) == 0 {
		set.lane(0)
	}
	return a.track(b, o, set, 0, dims)
}

func (s *trackSet) add(l lane) int {
	l.track = none
	s.lanes = append(s.lanes, l)
	return len(s.lanes) - 1
}

// lane returns the lane that the cookie has, else the first that is free.
func (s *trackSet) lane(cookie int64) int {
	if i, ok := s.find(cookie); ok {
		return i
	}
	i := s.free
	for i < len(s.lanes) && (s.lanes[i].kind != cookieLane || s.lanes[i].open > 0) {
		i++
	}
	s.free = i
	if i == len(s.lanes) {
		s.add(lane{kind: cookieLane})
	} else {
		delete(s.cookies, s.lanes[i].cookie)
	}
	s.lanes[i].cookie = cookie
	switch {
	case s.cookies != nil:
		s.cookies[cookie] = int32(i)
	case len(s.lanes) > fewLanes:
		s.cookies = map[int64]int32{}
		for i, l := range s.lanes {
			if l.kind == cookieLane {
				s.cookies[l.cookie] = int32(i)
			}
		}
	}
	return i
}

// find returns the lane that a cookie had last.
func (s *trackSet) find(cookie int64) (int, bool) {
	if s.cookies != nil {
		i, ok := s.cookies[cookie]
		return int(i), ok
	}
	for i := range s.lanes {
		if l := &s.lanes[i]; l.kind == cookieLane && l.cookie == cookie {
			return i, true
		}
	}
	return 0, false
}

// saturates is true of Android's async slices, of which one cookie has only
// one open at a time.
func (b *Blueprint) saturates() bool { return b.Classification == "atrace_async_slice" }

// AsyncPhase is what a legacy async event does.
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

// Legacy returns the track of an async event of the Chrome JSON format and its
// descendants, which are told apart by an id, within a process or not, and a
// scope. The tracks of an id are named after its first event.
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
	switch phase {
	case AsyncBegin:
		return a.Begin(b, &a.options, id, a.dims...)
	case AsyncEnd:
		return a.End(b, &a.options, id, a.dims...)
	default:
		a.Begin(b, &a.options, id, a.dims...)
		return a.End(b, &a.options, id, a.dims...)
	}
}

// firstNames remembers the name with which an id came first. As ids often follow each
// other, some of them share an entry of the index.
type firstNames struct {
	index hashIndex // of groups
	names [][groupedIDs]nameOrNone
}

const groupedIDs = 4

// nameOrNone is a StringID plus one, 0 if there is none.
type nameOrNone uint32

// of returns the first name of an id of a process.
func (f *firstNames) of(process, id uint64, name StringID) StringID {
	group, added := f.index.insert(mix(process, id/groupedIDs)|1, int64(len(f.names)))
	if added {
		f.names = append(f.names, [groupedIDs]nameOrNone{})
	}
	first := &f.names[group][id%groupedIDs]
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
