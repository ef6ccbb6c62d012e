package trackevent

import (
	"strconv"

	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/thread"
	"github.com/tpconvert/tpconvert/internal/paged"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

// tracks are one machine's tracks, which track events refer to by uuid.
//
// A descriptor reserves a track as soon as it is read, since it may come after the
// track's first event. Parsing runs in time order; when it first needs the track,
// it resolves the thread or process that the track belongs to. With its first
// event, the track becomes a row of the track table.
type tracks struct {
	*proto.Reader
	all    paged.List[eventTrack]
	byUUID paged.Index
	// A thread or process has one track. Another track with the same pid or tid
	// belongs to a later thread or process that reuses the number.
	ofThreads, ofProcesses paged.Sparse[bool]  // by utid and upid: whether it has a track
	begun                  map[uint32]bool     // sequences whose first packet is in the trace
	recent                 [64]*eventTrack     // tracks looked up last, by a hash of the uuid
	details                paged.List[details] // the last ones belong to the latest track with details

	translations *proto.Translations

	// Memory that siblings reuses for its results.
	dims    []model.Dim
	options model.TrackOptions
	args    trackArgs
}

// eventTrack is a track with a uuid. There may be millions of them.
type eventTrack struct {
	uuid, parent uint64
	details      int32 // index in tracks.details plus one, or 0
	name         model.StringID
	owner        int32 // utid or upid; before the track is resolved, the pid of the descriptor's writer
	// id is the track's row. If the track is merged with its siblings, its slices
	// are on several rows, and id is the row of their parent.
	id        int32
	mergeName model.StringID // name of the merged rows
	sequence  uint32         // sequence of the first event

	scope     scope
	hasWriter bool
	resolved  bool
	root      bool // the track of the thread or process itself
	created   bool
	merged    bool
	hasParent bool
}

// scope is what a track belongs to.
type scope uint8

const (
	globalScope scope = iota
	processScope
	threadScope
)

// reservation is the content of a track's descriptor.
type reservation struct {
	details
	parent uint64
	name   model.StringID
	writer *int32
}

// details are shared by tracks, because most tracks lack them or have equal ones.
type details struct {
	identity
	description     model.StringID
	separate        bool // do not merge with the thread's other track
	synthetic       bool // the tid is only valid inside a sandbox
	unit            model.StringID
	ordering        int32 // of the children
	rank            int32 // among the siblings
	ranked          bool
	processOrdering bool // processes are ordered by rank
	threadOrdering  bool
}

// identity is the part of a reservation that, like the parent, must not change.
type identity struct {
	pid, tid       int64
	hasPID, hasTID bool
	counter        counterIdentity
	state          bool
	merge          int32 // sibling_merge_behavior
	mergeKey       model.StringID
}

type counterIdentity struct {
	is          bool
	category    model.StringID
	multiplier  int64
	incremental bool
	builtin     model.StringID // thread_time, thread_instruction_count
	yAxis       model.StringID
}

// Values of sibling_merge_behavior, as in the dimensions of merged tracks.
const (
	mergeByName = 0
	mergeNone   = 1
	mergeByKey  = 2
)

// defaultTrack is the uuid of the track for events without a track.
const defaultTrack = 0

// syntheticTID returns a tid that is unique across processes.
func syntheticTID(tid, pid int64) int64 { return pid<<32 | tid }

// threadID returns the tid of a sequence's thread.
func threadID(d *thread.Descriptor) int64 {
	if d.Synthetic {
		return syntheticTID(d.TID, int64(d.PID))
	}
	return d.TID
}

func isSyntheticTID(tid int64) bool { return tid>>32 != 0 }

// orderings are the values of child_ordering.
var orderings = [...]string{1: "lexicographic", 2: "chronological", 3: "explicit"}

// counterUnits are the values of CounterDescriptor.unit.
var counterUnits = [...]string{1: "ns", 2: "count", 3: "bytes"}

// builtinCounters are the values of CounterDescriptor.type, and their units.
var builtinCounters = [...]struct{ name, unit string }{1: {"thread_time", "ns"}, 2: {"thread_instruction_count", "count"}}

func (t *tracks) uuidArg(uuid uint64) model.ArgFunc {
	return func(set *model.ArgSet) {
		set.Add(t.Store.Strings.Intern("track_uuid"), model.UintArg(uuid))
	}
}

// tokenize reads a TrackDescriptor in file order. done is false if it must also be parsed.
func (t *tracks) tokenize(p *proto.Packet, data []byte) (done bool) {
	strs := t.Store.Strings
	var uuid uint64
	var hasUUID, hasThread, hasProcess bool
	var thread, process, counter, chromeThread []byte
	r := reservation{}
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case pb.TrackDescriptor_UUID:
			uuid, hasUUID = f.Uint64(), true
		case pb.TrackDescriptor_Name:
			r.name = strs.InternBytes(f.Bytes())
		case pb.TrackDescriptor_StaticName, pb.TrackDescriptor_AtraceName:
			if r.name == 0 {
				r.name = strs.InternBytes(f.Bytes())
			}
		case pb.TrackDescriptor_Process:
			process, hasProcess = f.Bytes(), true
		case pb.TrackDescriptor_Thread:
			thread, hasThread = f.Bytes(), true
		case pb.TrackDescriptor_ParentUUID:
			r.parent = f.Uint64()
		case pb.TrackDescriptor_ChromeThread:
			chromeThread = f.Bytes()
		case pb.TrackDescriptor_Counter:
			counter, r.counter.is = f.Bytes(), true
		case pb.TrackDescriptor_DisallowMergingWithSystemTracks:
			r.separate = f.Bool()
		case pb.TrackDescriptor_ChildOrdering:
			r.ordering = f.Int32()
		case pb.TrackDescriptor_SiblingOrderRank:
			r.rank, r.ranked = f.Int32(), true
		case pb.TrackDescriptor_Description:
			r.description = strs.InternBytes(f.Bytes())
		case pb.TrackDescriptor_SiblingMergeBehavior:
			r.merge = f.Int32()
		case pb.TrackDescriptor_SiblingMergeKey:
			r.mergeKey = strs.InternBytes(f.Bytes())
		case pb.TrackDescriptor_SiblingMergeKeyInt:
			if r.mergeKey == 0 {
				r.mergeKey = strs.Intern("sibling_merge_key_int:" + strconv.FormatUint(f.Uint64(), 10))
			}
		case pb.TrackDescriptor_State:
			r.state = true
		case pb.TrackDescriptor_ProcessOrdering:
			r.processOrdering = f.Int32() == 1
		case pb.TrackDescriptor_ThreadOrdering:
			r.threadOrdering = f.Int32() == 1
		}
	}
	if !hasUUID {
		t.File.LogAt(model.StatTrackDescriptorMissingUUID, p.Offset, nil)
		return true
	}
	if r.ordering < 0 || int(r.ordering) >= len(orderings) {
		t.File.LogAt(model.StatTrackDescriptorInvalidChildOrdering, p.Offset, model.ArgFunc(func(set *model.ArgSet) {
			t.uuidArg(uuid)(set)
			set.Add(strs.Intern("child_order"), model.IntArg(int64(r.ordering)))
		}))
		return true
	}
	switch r.merge {
	case pb.TrackDescriptor_SiblingMergeBehavior_None:
		r.merge, r.mergeKey = mergeNone, 0
	case pb.TrackDescriptor_SiblingMergeBehavior_BySiblingMergeKey:
		r.merge = mergeByKey
	default:
		r.merge, r.mergeKey = mergeByName, 0
	}
	if p.HasPID {
		r.writer = &p.TrustedPID
	}
	// A descriptor of several kinds counts as the first matching case.
	switch {
	case hasThread:
		r.counter, r.state = counterIdentity{}, false
		d := readThread(thread)
		if !d.hasPID || !d.hasTID {
			t.File.LogAt(model.StatTrackDescriptorThreadMissingPIDTID, p.Offset, t.uuidArg(uuid))
			return true
		}
		r.pid, r.tid, r.hasPID, r.hasTID = int64(d.pid), d.tid, true, true
		sandboxed, _ := wire.Find(chromeThread, pb.ChromeThreadDescriptor_IsSandboxedTID)
		r.synthetic = sandboxed.Bool()
		t.reserve(uuid, r)
		if p.State.Valid {
			t.setThread(p.State, d, r.synthetic)
		}
		return false
	case hasProcess:
		r.counter, r.state = counterIdentity{}, false
		pid, ok := wire.Find(process, pb.ProcessDescriptor_PID)
		if !ok {
			t.File.LogAt(model.StatTrackDescriptorProcessMissingPID, p.Offset, t.uuidArg(uuid))
			return true
		}
		r.pid, r.hasPID = int64(uint32(pid.Int32())), true
	case r.counter.is:
		r.state = false
		t.readCounter(&r, counter)
	}
	t.reserve(uuid, r)
	return false
}

func (t *tracks) readCounter(r *reservation, data []byte) {
	strs := t.Store.Strings
	var kind, unit int32
	var unitName model.StringID
	var categories []byte
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case pb.CounterDescriptor_Type:
			kind = f.Int32()
		case pb.CounterDescriptor_Categories:
			if len(categories) > 0 {
				categories = append(categories, ',')
			}
			categories = append(categories, f.Bytes()...)
		case pb.CounterDescriptor_Unit:
			unit = f.Int32()
		case pb.CounterDescriptor_UnitMultiplier:
			r.counter.multiplier = f.Int64()
		case pb.CounterDescriptor_IsIncremental:
			r.counter.incremental = f.Bool()
		case pb.CounterDescriptor_UnitName:
			unitName = strs.InternBytes(f.Bytes())
		case pb.CounterDescriptor_YAxisShareKey:
			r.counter.yAxis = strs.InternBytes(f.Bytes())
		}
	}
	if len(categories) > 0 {
		r.counter.category = strs.InternBytes(categories)
	}
	switch {
	case kind > 0 && int(kind) < len(builtinCounters):
		r.counter.builtin = strs.Intern(builtinCounters[kind].name)
		r.unit = strs.Intern(builtinCounters[kind].unit)
		if r.name == 0 {
			r.name = r.counter.builtin
		}
	case unit > 0 && int(unit) < len(counterUnits):
		r.unit = strs.Intern(counterUnits[unit])
	default:
		r.unit = unitName
	}
}

// reserve stores a track's reservation, unless it contradicts an earlier descriptor.
func (t *tracks) reserve(uuid uint64, r reservation) {
	if uuid == defaultTrack && r.parent != 0 {
		t.File.Log(model.StatTrackDescriptorDefaultTrackWithParent, model.LogEntry{Args: model.ArgFunc(func(set *model.ArgSet) {
			set.Add(t.Store.Strings.Intern("parent_uuid"), model.UintArg(r.parent))
		})})
		return
	}
	had := t.find(uuid)
	added := had == nil
	if added {
		had = t.add(eventTrack{uuid: uuid, parent: r.parent, details: t.share(&r.details), name: r.name})
	}
	if r.writer != nil && !had.resolved {
		had.owner, had.hasWriter = *r.writer, true
	}
	switch {
	case added:
	case had.parent != r.parent || t.detailsOf(had).identity != r.identity:
		t.log(model.StatTrackDescriptorConflictingReservation, uuid)
	case r.name != 0 && r.merge == mergeNone:
		had.name = r.name
		if had.created {
			t.Store.Track.Name.Set(int64(had.id), r.name)
		}
	case r.name != 0 && had.name == 0:
		had.name = r.name
	}
}

func (t *tracks) uuidOf(index int) uint64 { return t.all.At(index).uuid }

// find returns the track with the uuid, or nil.
func (t *tracks) find(uuid uint64) *eventTrack {
	index, ok := t.byUUID.Find(uuid, t.uuidOf)
	if !ok {
		return nil
	}
	return t.all.At(index)
}

// add adds a track whose uuid is new.
func (t *tracks) add(e eventTrack) *eventTrack {
	index := t.all.Append(e)
	t.byUUID.Set(e.uuid, index, t.uuidOf)
	return t.all.At(index)
}

// share stores details, unless they equal the latest ones, and returns their value
// for eventTrack.details.
func (t *tracks) share(d *details) int32 {
	if *d == (details{}) {
		return 0
	}
	if n := t.details.Len(); n == 0 || *t.details.At(n - 1) != *d {
		t.details.Append(*d)
	}
	return int32(t.details.Len())
}

var noDetails details

// detailsOf returns the details of a track. They are read-only.
func (t *tracks) detailsOf(e *eventTrack) *details {
	if e.details == 0 {
		return &noDetails
	}
	return t.details.At(int(e.details - 1))
}

func (t *tracks) log(stat model.Stat, uuid uint64) {
	t.File.Log(stat, model.LogEntry{Args: t.uuidArg(uuid)})
}

// maxAncestors limits the depth of nested tracks.
const maxAncestors = 100

// valid reports whether all ancestors of a track are known and form no loop.
func (t *tracks) valid(uuid uint64) bool {
	var seen [maxAncestors]uint64
	at := uuid
	for i := range seen {
		if at == defaultTrack {
			return true
		}
		for _, before := range seen[:i] {
			if before == at {
				t.log(model.StatTrackEventTrackHierarchyLoop, uuid)
				return false
			}
		}
		e := t.find(at)
		if e == nil {
			t.log(model.StatTrackHierarchyMissingUUID, uuid)
			return false
		}
		seen[i], at = at, e.parent
	}
	t.log(model.StatTrackEventTrackHierarchyTooDeep, uuid)
	return false
}

// resolve returns the track with the uuid, and resolves the thread or process that
// it belongs to. It returns nil if the track is not valid.
func (t *tracks) resolve(uuid uint64) *eventTrack {
	recent := &t.recent[(uuid^uuid>>32)%uint64(len(t.recent))]
	if e := *recent; e != nil && e.uuid == uuid {
		return e
	}
	e := t.find(uuid)
	if e == nil {
		e = t.add(eventTrack{uuid: uuid})
		if uuid == defaultTrack {
			e.name = t.Store.Strings.Intern("Default Track")
		}
	}
	if !e.resolved {
		if !t.valid(uuid) {
			return nil
		}
		t.resolveOwner(e)
		e.resolved = true
	}
	*recent = e
	return e
}

func (t *tracks) resolveOwner(e *eventTrack) {
	m := t.Machine
	byRank := &noDetails
	if root := t.find(defaultTrack); root != nil {
		byRank = t.detailsOf(root)
	}
	d := t.detailsOf(e)
	pid, tid, outside := d.pid, d.tid, false // outside: the tid is already the machine's, not the container's
	if e.hasWriter {
		writer := int64(e.owner)
		if outer, ok := m.ResolveNamespaced(writer, pid); ok && d.hasPID {
			pid = outer
		}
		tid, outside = m.ResolveNamespaced(writer, tid)
	}
	if d.synthetic && !outside {
		tid = syntheticTID(tid, pid)
	}
	var parent *eventTrack
	if e.parent != defaultTrack {
		parent = t.resolve(e.parent)
	}
	switch {
	case d.hasTID:
		utid := m.ThreadOf(tid, pid)
		if t.ofThreads.Get(int(utid)) {
			m.StartThread(nil, tid)
			utid = m.ThreadOf(tid, pid)
		}
		*t.ofThreads.At(int(utid)) = true
		if byRank.threadOrdering && d.ranked {
			m.SetThreadSortIndex(utid, int64(d.rank), model.SortDescriptor)
		}
		e.scope, e.owner, e.root = threadScope, int32(utid), true
	case d.hasPID:
		upid := m.Process(pid)
		if t.ofProcesses.Get(int(upid)) {
			upid = m.StartProcess(nil, model.None, pid, 0, model.ThreadNameDescriptor)
		}
		*t.ofProcesses.At(int(upid)) = true
		if byRank.processOrdering && d.ranked {
			m.SetProcessSortIndex(upid, int64(d.rank), model.SortDescriptor)
		}
		e.scope, e.owner, e.root = processScope, int32(upid), true
	case parent != nil:
		e.scope, e.owner = parent.scope, parent.owner
	}
}

// The blueprints of tracks by scope.
var (
	uuidDim            = "track_uuid"
	eventCounterTracks = blueprints("counter_track_event", model.CounterTrack, uuidDim)
	eventSliceTracks   = blueprints("track_event", model.SliceTrack, uuidDim)
	eventStateTracks   = blueprints("state_track_event", model.StateTrack, uuidDim)
	mergedTracks       = mergedBlueprints()
)

func blueprints(name string, event model.EventType, dims ...string) [3]model.Blueprint {
	threads, processes, globals := "thread_"+name, "process_"+name, "global_"+name
	if event == model.SliceTrack && dims[0] == uuidDim {
		threads, processes, globals = "thread_track_event", "process_track_event", "global_track_event"
	}
	return [3]model.Blueprint{
		globalScope:  {Classification: globals, Event: event, Dims: dims},
		processScope: {Classification: processes, Event: event, Dims: append([]string{"upid"}, dims...)},
		threadScope:  {Classification: threads, Event: event, Dims: append([]string{"utid"}, dims...)},
	}
}

func mergedBlueprints() (merged [3]*model.Blueprint) {
	for i, b := range blueprints("merged_track_event", model.SliceTrack, "parent_track_uuid", "merge_key_type", "merge_key_value") {
		merged[i] = model.AsyncBlueprint(b)
	}
	return merged
}

// dims appends the dimensions of a track: its owner, if any, and others.
func (e *eventTrack) dims(to []model.Dim, others ...model.Dim) []model.Dim {
	if e.scope != globalScope {
		to = append(to, model.IntDim(int64(e.owner)))
	}
	return append(to, others...)
}

// create adds a track's row or, for a merged track, stores what its rows will need. A
// track without a name takes the name of its first event.
func (t *tracks) create(e *eventTrack, event model.StringID, sequence uint32) {
	if e.created {
		return
	}
	var parent *eventTrack
	if e.parent != defaultTrack {
		if parent = t.resolve(e.parent); parent != nil {
			t.create(parent, 0, sequence)
		}
	}
	e.created = true
	d := t.detailsOf(e)
	if e.root && e.scope == threadScope && !d.counter.is && !d.separate {
		e.id = int32(t.Tracks.Thread(model.UTID(e.owner)))
		return
	}
	name := e.name
	if name == 0 && !e.root && !d.counter.is {
		name = event
	}
	if translated, ok := t.translations.ProcessTracks[name]; ok && e.scope == processScope {
		name = translated
	}
	o := model.TrackOptions{Name: name, Args: trackArgs{t, e, sequence}}
	// The parent is not stored if it is the track of a thread or process itself.
	if parent != nil && !e.root && !parent.root {
		o.Parent, o.HasParent = t.parent(parent), true
	}
	kind := &eventSliceTracks
	switch {
	case d.counter.is:
		kind, o.Unit = &eventCounterTracks, d.unit
	case d.state:
		kind = &eventStateTracks
	case !e.root && d.merge != mergeNone:
		e.merged, e.mergeName, e.sequence = true, name, sequence
		e.id, e.hasParent = int32(o.Parent), o.HasParent
		return
	}
	e.id = int32(t.Tracks.Create(&kind[e.scope], &o, e.dims(nil, model.IntDim(int64(e.uuid)))...))
}

// siblings returns the blueprint, options and dimensions that a merged track shares
// with its siblings. They are valid until the next call, because storing them for every
// track would take too much memory.
func (t *tracks) siblings(e *eventTrack) (*model.Blueprint, *model.TrackOptions, []model.Dim) {
	key, d := e.mergeName, t.detailsOf(e)
	if d.merge == mergeByKey {
		key = d.mergeKey
	}
	t.args = trackArgs{t, e, e.sequence}
	t.options = model.TrackOptions{Name: e.mergeName, Parent: model.TrackID(e.id), HasParent: e.hasParent, Args: &t.args}
	t.dims = e.dims(t.dims[:0], model.IntDim(int64(e.parent)), model.IntDim(int64(d.merge)), model.StringDim(key))
	return mergedTracks[e.scope], &t.options, t.dims
}

// parent returns the row that is the parent of a track's children.
func (t *tracks) parent(e *eventTrack) model.TrackID {
	if e.merged {
		blueprint, options, dims := t.siblings(e)
		return t.Async.Default(blueprint, options, dims...)
	}
	return model.TrackID(e.id)
}

// begin returns the row for a new slice of the track.
func (t *tracks) begin(e *eventTrack) model.TrackID {
	if e.merged {
		blueprint, options, dims := t.siblings(e)
		return t.Async.Begin(blueprint, options, int64(e.uuid), dims...)
	}
	return model.TrackID(e.id)
}

// end returns the row of the track's slice that ends.
func (t *tracks) end(e *eventTrack) model.TrackID {
	if e.merged {
		blueprint, options, dims := t.siblings(e)
		return t.Async.End(blueprint, options, int64(e.uuid), dims...)
	}
	return model.TrackID(e.id)
}

// trackArgs are the args of a track.
type trackArgs struct {
	tracks   *tracks
	track    *eventTrack
	sequence uint32 // sequence of the first event
}

func (a trackArgs) AddArgs(set *model.ArgSet) {
	strs, e := a.tracks.Store.Strings, a.track
	d := a.tracks.detailsOf(e)
	text := func(key string, v model.StringID) {
		if v != 0 {
			set.Add(strs.Intern(key), model.StringArg(v))
		}
	}
	text("source", strs.Intern("descriptor"))
	set.Add(strs.Intern("trace_id"), model.IntArg(int64(e.uuid)))
	set.Add(strs.Intern("is_root_in_scope"), model.BoolArg(e.root || e.uuid == defaultTrack))
	text("category", d.counter.category)
	text("builtin_counter_type", d.counter.builtin)
	text("y_axis_share_key", d.counter.yAxis)
	if e.uuid != defaultTrack && a.tracks.begun[a.sequence] {
		set.Add(strs.Intern("has_first_packet_on_sequence"), model.BoolArg(true))
	}
	if d.ordering != 0 {
		text("child_ordering", strs.Intern(orderings[d.ordering]))
	}
	if d.ranked {
		set.Add(strs.Intern("sibling_order_rank"), model.IntArg(int64(d.rank)))
	}
	text("description", d.description)
}
