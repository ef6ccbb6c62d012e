package trackevent

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strconv"

	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/args"
	"github.com/tpconvert/tpconvert/ingest/proto/gpulinks"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/ingest/proto/thread"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/saturating"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
)

// eventParser parses track events into slices, counters and states.
type eventParser struct {
	*trackEvents
	keys eventKeys

	// The event being parsed.
	ts           int64
	state        *proto.State
	e            trackEvent
	phase        byte
	category     model.StringID
	name         model.StringID
	uuid         uint64
	track        *eventTrack // nil if the event belongs to the thread of its sequence
	utid         model.UTID  // None if the event belongs to no thread
	upid         model.UPID
	passThrough  model.UTID // thread that wrote an event of a track that is not a thread's
	sourceID     int64      // of a legacy async event
	hasSourceID  bool
	counter      float64
	threadTime   int64
	instructions int64
	hasTime      bool // threadTime is set
	hasCount     bool // instructions is set
	extra        [maxExtraCounters]float64
	log          logMessage
	start        int64 // ts of the slice that ends
	categories   []byte
	packet       []byte            // that the event is in, if its content is analyzed
	inline       profile.MappingID // mapping of frames known only by name; None until used

	lifecycles map[model.UPID]int64 // rows of android_track_event_process
}

// Errors in events, which are counted.
var (
	errNoKind     = errors.New("event without type or phase")
	errNoTrack    = errors.New("event on an unknown track")
	errNoThread   = errors.New("event without a thread")
	errNoProcess  = errors.New("event without a process")
	errIdleThread = errors.New("event with pid or tid 0")
	errNegative   = errors.New("negative duration")
	errNoID       = errors.New("event without an id")
	errNoName     = errors.New("event without a name")
	errNoPhase    = errors.New("event with an unknown type")
	errNoStack    = errors.New("unknown call stack")
	errNoLocation = errors.New("unknown source location")
	errTwoNames   = errors.New("histogram with two names")
)

// eventKeys are the arg keys that are written without a descriptor.
type eventKeys struct {
	phase, passThrough, sourceID, correlation, screenshot          *args.Path
	taskFile, taskFunction, taskLine                               *args.Path
	sourceFile, sourceFunction, sourceLine                         *args.Path
	logBody, logFile, logFunction, logLine, logPriority, histogram *args.Path
	debug                                                          *args.Path
	category, name                                                 model.StringID // of packets whose content is analyzed
}

func (p *eventParser) init(t *trackEvents) {
	p.trackEvents = t
	p.inline, p.lifecycles = model.None, map[model.UPID]int64{}
	tables := t.translations
	t.args.Translate("chrome_histogram_sample.name_hash", tables.Histograms, "chrome_histogram_sample.name")
	t.args.Translate("chrome_user_event.action_hash", tables.UserEvents, "chrome_user_event.action")
	t.args.Translate("chrome_hashed_performance_mark.site_hash", tables.Sites, "chrome_hashed_performance_mark.site")
	t.args.Translate("chrome_hashed_performance_mark.mark_hash", tables.Marks, "chrome_hashed_performance_mark.mark")
	p.addOverrides()
	key := func(name string) *args.Path { return t.args.Named(t.args.Root(), name) }
	p.keys = eventKeys{
		phase: key("legacy_event.phase"), passThrough: key("legacy_event.passthrough_utid"),
		sourceID: key("legacy_trace_source_id"), correlation: key("correlation_id"), screenshot: key("screenshot"),
		taskFile: key("task.posted_from.file_name"), taskFunction: key("task.posted_from.function_name"),
		taskLine:   key("task.posted_from.line_number"),
		sourceFile: key("source.file_name"), sourceFunction: key("source.function_name"), sourceLine: key("source.line_number"),
		logBody: key("track_event.log_message.message"), logFile: key("track_event.log_message.file_name"),
		logFunction: key("track_event.log_message.function_name"), logLine: key("track_event.log_message.line_number"),
		logPriority: key("track_event.priority"), histogram: key("chrome_histogram_sample.name"),
		debug:    key("debug"),
		category: t.Store.Strings.Intern("event.category"), name: t.Store.Strings.Intern("event.name"),
	}
}

// parseEvent parses a token of tokenizeEvent.
func (t *trackEvents) parseEvent(ts int64, state *proto.State, token []byte) {
	if ts < t.cropBefore {
		t.File.Count(model.StatTrackEventDroppedPacketsOutsideOfRangeOfInterest)
		return
	}
	p := &t.parser
	flags := token[0]
	token = token[1:]
	next := func() uint64 {
		v := binary.LittleEndian.Uint64(token)
		token = token[8:]
		return v
	}
	p.ts, p.state = ts, state
	p.hasTime, p.hasCount = flags&tokenThreadTime != 0, flags&tokenInstructions != 0
	if p.hasTime {
		p.threadTime = int64(next())
	}
	if p.hasCount {
		p.instructions = int64(next())
	}
	if flags&tokenCounter != 0 {
		p.counter = math.Float64frombits(next())
	}
	if flags&tokenExtra != 0 {
		n := token[0]
		token = token[1:]
		for i := range n {
			p.extra[i] = math.Float64frombits(next())
		}
	}
	if t.Content() != nil {
		p.packet = token
		f, _ := wire.Find(token, pb.TracePacket_TrackEvent)
		token = f.Bytes()
	}
	p.e.decode(token)
	if err := p.parse(); err != nil {
		t.File.Count(model.StatTrackEventParserErrors)
	}
}

func (p *eventParser) parse() error {
	e := &p.e
	if e.kind == 0 && !e.legacy.hasPhase {
		return errNoKind
	}
	p.hasSourceID = false
	p.category = p.readCategory()
	p.name = p.readName()
	if c := p.Content(); c != nil {
		c.Add(p.packet, proto.Annotations{{Key: p.keys.category, Value: p.category}, {Key: p.keys.name, Value: p.name}})
	}
	if err := p.findOwner(); err != nil {
		return err
	}
	p.threadCounters()
	p.extraCounters()
	p.readAhead()
	p.phase = 0
	switch e.kind {
	case pb.TrackEvent_Type_Counter:
		return p.counterEvent()
	case pb.TrackEvent_Type_State:
		return p.stateEvent()
	}
	p.phase = byte(e.legacy.phase)
	if !e.legacy.hasPhase {
		// Slices of threads nest on the thread's stack; others may overlap.
		switch on := p.utid != model.None; {
		case e.kind == pb.TrackEvent_Type_SliceBegin && on:
			p.phase = 'B'
		case e.kind == pb.TrackEvent_Type_SliceBegin:
			p.phase = 'b'
		case e.kind == pb.TrackEvent_Type_SliceEnd && on:
			p.phase = 'E'
		case e.kind == pb.TrackEvent_Type_SliceEnd:
			p.phase = 'e'
		case e.kind == pb.TrackEvent_Type_Instant && on:
			p.phase = 'i'
		case e.kind == pb.TrackEvent_Type_Instant:
			p.phase = 'n'
		default:
			return errNoPhase
		}
	}
	switch p.phase {
	case 'B', 'E':
		if p.utid == model.None {
			return errNoThread
		}
		if p.phase == 'B' {
			return p.begin()
		}
		return p.end()
	case 'b', 'S':
		return p.begin()
	case 'e', 'F':
		return p.end()
	case 'X':
		return p.complete()
	case 'i', 'I', 'R', 'n', 'T', 'p':
		return p.instant()
	case 's', 't', 'f':
		return p.flow()
	case 'M':
		return p.metadata()
	}
	return p.raw()
}

// readCategory returns the event's categories, joined by commas.
func (p *eventParser) readCategory() model.StringID {
	e := &p.e
	strs := p.Store.Strings
	switch {
	case len(e.categoryIIDs) == 1 && len(e.categories) == 0:
		if id, ok := p.state.InternedString(pb.InternedData_EventCategories, e.categoryIIDs[0]); ok {
			return id
		}
		p.categories = strconv.AppendUint(append(p.categories[:0], "unknown("...), e.categoryIIDs[0], 10)
		return strs.InternBytes(append(p.categories, ')'))
	case len(e.categoryIIDs) == 0 && len(e.categories) == 1:
		return strs.InternBytes(e.categories[0])
	case len(e.categoryIIDs)+len(e.categories) == 0:
		return 0
	}
	all := p.categories[:0]
	for _, iid := range e.categoryIIDs {
		if id, ok := p.state.InternedString(pb.InternedData_EventCategories, iid); ok {
			all = appendJoined(all, strs.Get(id))
		}
	}
	for _, c := range e.categories {
		all = appendJoined(all, string(c))
	}
	p.categories = all
	if len(all) == 0 {
		return 0
	}
	return strs.InternBytes(all)
}

func appendJoined(all []byte, s string) []byte {
	if len(all) > 0 {
		all = append(all, ',')
	}
	return append(all, s...)
}

func (p *eventParser) readName() model.StringID {
	e := &p.e
	iid := e.nameIID
	if iid == 0 {
		iid = e.legacy.nameIID
	}
	if iid != 0 {
		name, _ := p.state.InternedString(pb.InternedData_EventNames, iid)
		return name
	}
	if e.hasName {
		return p.Store.Strings.InternBytes(e.name)
	}
	return 0
}

// sliceName returns the event's name, translated if a translation table has it.
func (p *eventParser) sliceName() model.StringID {
	if translated, ok := p.translations.Slices[p.name]; ok {
		return translated
	}
	return p.name
}

// findOwner finds the event's track, by its own uuid or the sequence's default, and
// the thread and process that the track belongs to.
func (p *eventParser) findOwner() error {
	e, owner, m := &p.e, thread.Of(p.state), p.Machine
	defaults := defaultsOf(p.state)
	p.utid, p.upid, p.passThrough, p.track = model.None, model.None, model.None, nil
	p.uuid = e.trackUUID
	if !e.hasTrackUUID {
		p.uuid = defaults.trackUUID
	}
	// Old events belong to their sequence's thread, unless they name another.
	ofSequence := p.uuid == defaultTrack && ((!e.hasTrackUUID || !e.hasKind) && owner.Valid || e.legacy.hasPID || e.legacy.hasTID && owner.Valid)
	switch {
	case ofSequence:
		pid, tid := int64(uint32(owner.PID)), threadID(owner)
		if e.legacy.hasPID {
			pid = int64(uint32(e.legacy.pid))
			tid = syntheticTID(-1, pid)
		}
		if e.legacy.hasTID {
			tid = int64(uint32(e.legacy.tid))
			if isSyntheticTID(threadID(owner)) {
				tid = syntheticTID(tid, pid)
			}
		}
		if pid == 0 || tid == 0 {
			return errIdleThread
		}
		p.utid = m.ThreadOf(tid, pid)
		p.upid = m.ProcessOf(p.utid)
	case p.uuid != defaultTrack:
		if p.track = p.resolve(p.uuid); p.track == nil {
			return errNoTrack
		}
		switch p.track.scope {
		case threadScope:
			p.utid = model.UTID(p.track.owner)
			p.upid = m.ProcessOf(p.utid)
		case processScope:
			p.upid = model.UPID(p.track.owner)
			if owner.Valid {
				if utid := m.ThreadOf(int64(uint32(threadID(owner))), int64(uint32(owner.PID))); m.ProcessOf(utid) == p.upid {
					p.passThrough = utid
				}
			}
		case globalScope:
			if owner.Valid {
				p.passThrough = m.ThreadOf(int64(uint32(threadID(owner))), int64(uint32(owner.PID)))
			}
		}
	}
	if !e.legacy.hasPhase {
		return nil
	}
	switch e.legacy.phase {
	case 'b', 'e', 'n', 'S', 'T', 'p', 'F':
		p.passThrough = p.utid
	case 'i', 'I':
		switch e.legacy.instantScope {
		case pb.TrackEvent_LegacyEvent_InstantEventScope_ScopeGlobal:
			p.passThrough, p.utid = p.utid, model.None
		case pb.TrackEvent_LegacyEvent_InstantEventScope_ScopeProcess:
			if p.upid == model.None {
				return errNoProcess
			}
			p.passThrough, p.utid = p.utid, model.None
		default:
			if p.utid == model.None {
				return errNoThread
			}
		}
	}
	return nil
}

var (
	globalInstants  = model.Blueprint{Classification: "legacy_chrome_global_instants"}
	processInstants = model.Blueprint{Classification: "chrome_process_instant", Dims: []string{"upid"}}
)

// use is what an event does with its track.
type use uint8

const (
	useBegin use = iota
	useEnd
	useInstant
	useWhole // needs the track as a single row, which merged tracks do not have
)

// row returns the track that the event's slice is on.
func (p *eventParser) row(u use) (model.TrackID, error) {
	e := &p.e
	if e.legacy.hasPhase {
		switch e.legacy.phase {
		case 'b', 'e', 'n', 'S', 'T', 'p', 'F':
			return p.asyncRow()
		case 'i', 'I':
			source := model.TrackOptions{Args: model.ArgFunc(func(set *model.ArgSet) {
				set.Add(p.Store.Strings.Intern("source"), model.StringArg(p.Store.Strings.Intern("chrome")))
			})}
			switch e.legacy.instantScope {
			case pb.TrackEvent_LegacyEvent_InstantEventScope_ScopeGlobal:
				return p.Tracks.Intern(&globalInstants, &source), nil
			case pb.TrackEvent_LegacyEvent_InstantEventScope_ScopeProcess:
				return p.Tracks.Intern(&processInstants, &source, model.IntDim(p.upid)), nil
			}
		}
	}
	if p.track == nil && p.utid != model.None && p.uuid == defaultTrack {
		return p.Tracks.Thread(p.utid), nil
	}
	track := p.track
	if track == nil {
		if track = p.resolve(p.uuid); track == nil {
			return model.None, errNoTrack
		}
	}
	if !track.created {
		p.create(track, p.name, p.state.Sequence)
	}
	switch u {
	case useBegin:
		return p.tracks.begin(track), nil
	case useEnd:
		return p.tracks.end(track), nil
	case useInstant:
		p.tracks.begin(track)
		return p.tracks.end(track), nil
	}
	if track.merged {
		return model.None, errNoTrack
	}
	return model.TrackID(track.id), nil
}

// asyncRow returns the track of a legacy async event. Such tracks are identified by
// an id and a scope.
func (p *eventParser) asyncRow() (model.TrackID, error) {
	l := &p.e.legacy
	local := false
	switch {
	case l.hasUnscoped:
		p.sourceID = int64(l.unscoped)
	case l.hasGlobal:
		p.sourceID = int64(l.global)
	case l.hasLocal:
		if p.upid == model.None {
			return model.None, errNoProcess
		}
		p.sourceID, local = int64(l.local), true
	default:
		return model.None, errNoID
	}
	p.hasSourceID = true
	scope, phase := p.category, model.AsyncInstant
	switch l.phase {
	case 'b', 'S':
		phase = model.AsyncBegin
	case 'e', 'T': // Trace Processor lets T end a slice that S began
		phase = model.AsyncEnd
	}
	switch l.phase {
	case 'S', 'T', 'p', 'F':
		scope = p.name
	}
	if l.hasScope {
		strs := p.Store.Strings
		scope = strs.Intern(strs.Get(p.category) + ":" + string(l.scope))
	}
	return p.Async.Legacy(p.name, max(p.upid, 0), p.sourceID, local, scope, phase), nil
}

func (p *eventParser) counterEvent() error {
	track, err := p.row(useWhole)
	if err != nil {
		return err
	}
	p.Counters.PushWithArgs(p.ts, p.counter, track, p)
	p.addFacts(p.ts)
	return nil
}

func (p *eventParser) stateEvent() error {
	if p.track == nil || !p.detailsOf(p.track).state {
		return errNoTrack
	}
	track, err := p.row(useBegin)
	if err != nil {
		return err
	}
	if p.name == 0 {
		p.States.Set(p.ts, track, 0, 0, nil)
		return nil
	}
	p.States.Set(p.ts, track, p.category, p.name, p)
	p.addFacts(p.ts)
	return nil
}

var (
	threadTimes  = model.Blueprint{Classification: "thread_time", Event: model.CounterTrack, Dims: []string{"utid"}, Name: "thread_time"}
	threadCounts = model.Blueprint{Classification: "thread_instructions", Event: model.CounterTrack, Dims: []string{"utid"},
		Name: "thread_instruction_count"}
)

// threadCounters stores the thread's CPU time and instruction count, which old events
// carry, as counter values.
func (p *eventParser) threadCounters() {
	if p.utid == model.None {
		return
	}
	if p.hasTime {
		p.Counters.Push(p.ts, float64(p.threadTime), p.Tracks.Intern(&threadTimes, nil, model.IntDim(p.utid)))
	}
	if p.hasCount {
		p.Counters.Push(p.ts, float64(p.instructions), p.Tracks.Intern(&threadCounts, nil, model.IntDim(p.utid)))
	}
}

// extraCounters stores the values of further counters that the event carries.
func (p *eventParser) extraCounters() {
	e := &p.e
	if !e.hasExtras {
		return
	}
	for i := range min(e.extras.len(), maxExtraCounters) {
		_, uuid, _ := e.extras.at(defaultsOf(p.state), i)
		track := p.resolve(uuid)
		if track == nil {
			continue
		}
		p.create(track, 0, p.state.Sequence)
		p.Counters.Push(p.ts, p.extra[i], model.TrackID(track.id))
		switch p.Store.Strings.Get(track.name) {
		case builtinCounters[1].name:
			p.threadTime, p.hasTime = int64(p.extra[i]), true
		case builtinCounters[2].name:
			p.instructions, p.hasCount = int64(p.extra[i]), true
		}
	}
}

func (p *eventParser) begin() error {
	track, err := p.row(useBegin)
	if err != nil {
		return err
	}
	slice := p.Slices.Begin(p.ts, track, p.category, p.sliceName(), p)
	if slice == model.None {
		return nil
	}
	if p.phase == 'B' {
		p.setThreadValues(slice)
	}
	p.finish(slice, p.ts, track)
	return nil
}

func (p *eventParser) setThreadValues(slice model.SliceID) {
	t, row := &p.Store.Slice, int64(slice)
	if p.hasTime {
		t.ThreadTS.Set(row, p.threadTime)
	}
	if p.hasCount {
		t.ThreadInstructionCount.Set(row, p.instructions)
	}
}

func (p *eventParser) end() error {
	track, err := p.row(useEnd)
	if err != nil {
		return err
	}
	if slice := p.Slices.End(p.ts, track, p.category, p.sliceName(), p); slice != model.None {
		p.finish(slice, p.start, track)
	}
	return nil
}

// EndSlice notes the slice's start, and stores the CPU time and instructions that the
// thread spent in it.
func (p *eventParser) EndSlice(slice model.SliceID, ts int64) {
	p.start = ts
	if p.phase != 'E' {
		return
	}
	t, row := &p.Store.Slice, int64(slice)
	if from, ok := t.ThreadTS.Get(row); ok && p.hasTime && p.threadTime != from {
		t.ThreadDur.Set(row, p.threadTime-from)
	}
	if from, ok := t.ThreadInstructionCount.Get(row); ok && p.hasCount {
		t.ThreadInstructionDelta.Set(row, p.instructions-from)
	}
}

func (p *eventParser) complete() error {
	l := &p.e.legacy
	dur := saturating.Mul(l.duration, 1000)
	if p.utid == model.None {
		return errNoThread
	}
	if dur < 0 {
		return errNegative
	}
	track, err := p.row(useWhole)
	if err != nil {
		return err
	}
	slice := p.Slices.Scoped(p.ts, dur, track, p.category, p.sliceName(), p)
	if slice == model.None {
		return nil
	}
	p.setThreadValues(slice)
	if p.hasTime {
		p.Store.Slice.ThreadDur.Set(int64(slice), saturating.Mul(l.threadDuration, 1000))
	}
	if p.hasCount {
		p.Store.Slice.ThreadInstructionDelta.Set(int64(slice), l.instructions)
	}
	p.finish(slice, p.ts, track)
	return nil
}

func (p *eventParser) instant() error {
	track, err := p.row(useInstant)
	if err != nil {
		return err
	}
	slice := p.Slices.Scoped(p.ts, 0, track, p.category, p.sliceName(), p)
	if slice == model.None {
		return nil
	}
	switch p.phase {
	case 'T', 'p':
		p.addCallstack(slice, track, p.addFacts(p.ts))
		return nil
	case 'i', 'I', 'R':
		if p.utid == model.None {
			break
		}
		p.setThreadValues(slice)
		if p.hasTime {
			p.Store.Slice.ThreadDur.Set(int64(slice), 0)
		}
		if p.hasCount {
			p.Store.Slice.ThreadInstructionDelta.Set(int64(slice), 0)
		}
	}
	p.finish(slice, p.ts, track)
	return nil
}

// finish connects the event's flows to its slice, which starts at ts, and stores its
// call stack.
func (p *eventParser) finish(slice model.SliceID, ts int64, track model.TrackID) {
	e := &p.e
	if e.legacy.hasBind {
		id := model.FlowID(e.legacy.bind)
		switch e.legacy.direction {
		case pb.TrackEvent_LegacyEvent_FlowDirection_FlowOut:
			p.Flows.BeginAt(slice, ts, id)
		case pb.TrackEvent_LegacyEvent_FlowDirection_FlowInout:
			p.Flows.StepAt(slice, ts, id)
		case pb.TrackEvent_LegacyEvent_FlowDirection_FlowIn:
			p.Flows.EndAt(slice, ts, id, false)
		default:
			p.File.Count(model.StatFlowWithoutDirection)
		}
	}
	flows, stops := e.flows, e.stops
	if len(flows) == 0 {
		flows = e.oldFlows
	}
	if len(stops) == 0 {
		stops = e.oldStops
	}
	for _, id := range flows {
		if id := model.FlowID(id); p.Flows.Active(id) {
			p.Flows.StepAt(slice, ts, id)
		} else {
			p.Flows.BeginAt(slice, ts, id)
		}
	}
	for _, id := range stops {
		if id := model.FlowID(id); p.Flows.Active(id) {
			p.Flows.EndAt(slice, ts, id, true)
		}
	}
	if e.gpu != nil {
		gpulinks.Of(p.Reader).Correlate(e.gpu, slice)
	}
	p.addCallstack(slice, track, p.addFacts(ts))
}

// addFacts adds what the event holds besides its args and its slice, which starts at
// ts. It returns the event's call stack, or None.
func (p *eventParser) addFacts(ts int64) profile.CallsiteID {
	if p.isLifecycle() {
		p.readLifecycle(ts)
		return model.None
	}
	p.addLogRow()
	callsite, err := p.readStack()
	p.check(err)
	return callsite
}

// addCallstack stores the call stack at which a slice began or ended.
func (p *eventParser) addCallstack(slice model.SliceID, track model.TrackID, callsite profile.CallsiteID) {
	row := p.Store.Stacks.AddToSlice(slice, track, callsite, p.e.kind == pb.TrackEvent_Type_SliceEnd)
	if row != model.None && p.e.hasStackWeight {
		p.Store.TrackEventCallstacks.Weight.Set(row, p.e.stackWeight)
	}
}

// flow adds a step of a legacy flow, whose arrows lead from one of its events to the
// next.
func (p *eventParser) flow() error {
	l := &p.e.legacy
	if !l.hasUnscoped {
		p.File.Count(model.StatFlowInvalidID)
		return errNoID
	}
	id := p.Flows.V1(model.FlowKey{ID: l.unscoped, Category: p.category, Name: p.name})
	track, err := p.row(useWhole)
	if err != nil {
		return err
	}
	switch p.phase {
	case 's':
		p.Flows.Begin(track, p.ts, id)
	case 't':
		p.Flows.Step(track, p.ts, id)
	case 'f':
		if l.bindToEnclosing {
			p.Flows.End(track, p.ts, id, false)
		} else {
			p.Flows.EndAtNext(track, id)
		}
	}
	return nil
}

// metadata reads the names of threads and processes.
func (p *eventParser) metadata() error {
	if p.name == 0 {
		return errNoName
	}
	name := p.Store.Strings.Get(p.name)
	if name != "thread_name" && name != "process_name" {
		return p.raw()
	}
	if len(p.e.annotations) == 0 {
		return errNoName
	}
	var value model.StringID
	if a := args.DecodeAnnotation(p.e.annotations[0]); len(a.Text()) > 0 {
		value = p.Store.Strings.InternBytes(a.Text())
	}
	switch {
	case name == "thread_name" && p.utid == model.None:
		return errNoThread
	case name == "thread_name":
		p.Machine.SetThreadName(p.utid, value, model.ThreadNameDescriptorType)
	case p.upid == model.None:
		return errNoProcess
	default:
		p.Machine.SetProcessName(p.upid, value, model.ProcessNameDescriptor)
	}
	return nil
}

// raw stores an event that no other table represents.
func (p *eventParser) raw() error {
	if p.utid == model.None {
		return errNoThread
	}
	strs, l := p.Store.Strings, &p.e.legacy
	set := new(model.ArgSet)
	add := func(key string, v model.ArgValue) { set.Add(strs.Intern("legacy_event."+key), v) }
	add("category", model.StringArg(p.category))
	add("name", model.StringArg(p.name))
	add("phase", model.StringArg(strs.Intern(string(rune(p.phase)))))
	if l.hasDuration {
		add("duration_ns", model.IntArg(saturating.Mul(l.duration, 1000)))
	}
	if p.hasTime {
		add("thread_timestamp_ns", model.IntArg(p.threadTime))
		if l.hasThreadDuration {
			add("thread_duration_ns", model.IntArg(saturating.Mul(l.threadDuration, 1000)))
		}
	}
	if p.hasCount {
		add("thread_instruction_count", model.IntArg(p.instructions))
		if l.hasInstructions {
			add("thread_instruction_delta", model.IntArg(l.instructions))
		}
	}
	if l.asyncTTS {
		add("use_async_tts", model.BoolArg(true))
	}
	switch {
	case l.hasUnscoped:
		add("unscoped_id", model.UintArg(l.unscoped))
	case l.hasGlobal:
		add("global_id", model.UintArg(l.global))
	case l.hasLocal:
		add("local_id", model.UintArg(l.local))
	}
	if (l.hasUnscoped || l.hasGlobal || l.hasLocal) && len(l.scope) > 0 {
		add("id_scope", model.StringArg(strs.InternBytes(l.scope)))
	}
	p.AddArgs(set)
	p.addFacts(p.ts)
	p.AddChromeRaw(p.ts, "track_event.legacy_event", p.utid, set)
	return nil
}

// check counts an error in a part of the event.
func (p *eventParser) check(err error) {
	if err != nil {
		p.File.Count(model.StatTrackEventParserErrors)
	}
}

// readAhead reads what both the event's args and other tables need, and what its args
// refer to.
func (p *eventParser) readAhead() {
	if p.e.log != nil {
		p.log = p.readLog(p.e.log)
	}
	for _, data := range p.e.alive {
		p.addProcesses(data)
	}
}

// AddArgs writes the event's args: those with dedicated code, the typed ones, and the
// debug annotations. Errors are counted.
func (p *eventParser) AddArgs(set *model.ArgSet) {
	e, w, k := &p.e, p.args, &p.keys
	if p.isLifecycle() {
		return
	}
	w.To(set, p.state)
	if e.hasSourceLocation {
		p.check(p.addLocation(e.sourceLocation, k.sourceFile, k.sourceFunction, k.sourceLine))
	}
	if e.task != nil {
		p.check(p.addLocation(message.Uint64(e.task, pb.TaskExecution_PostedFromIID), k.taskFile, k.taskFunction, k.taskLine))
	}
	if e.log != nil {
		p.check(p.addLogArgs())
	}
	if e.screenshot != nil {
		p.addScreenshot(e.screenshot)
	}
	if e.histogram != nil {
		p.check(p.addHistogram(e.histogram))
	}
	if e.hasCorrelation {
		w.Add(k.correlation, w.Text("tp:#"+strconv.FormatUint(e.correlation, 10)))
	}
	if e.correlationText != nil {
		w.Add(k.correlation, w.TextOf(e.correlationText))
	}
	if e.correlationIID != 0 {
		if id, ok := p.state.InternedString(pb.InternedData_CorrelationIDStr, e.correlationIID); ok {
			w.Add(k.correlation, model.StringArg(id))
		}
	}
	if p.hasSourceID {
		w.Add(k.sourceID, model.IntArg(p.sourceID))
	}
	if len(e.typed) > 0 {
		p.check(p.addTyped())
	}
	for _, a := range e.annotations {
		p.check(w.Annotation(a, k.debug))
	}
	if p.passThrough != model.None {
		w.AddIfAbsent(k.passThrough, model.UintArg(uint64(p.passThrough)))
	}
	switch p.phase {
	case 'R', 'S', 'T', 'p':
		w.Add(k.phase, w.Text(string(rune(p.phase))))
	}
}

// reflected lists the fields of TrackEvent below firstExtension that become args by
// their descriptors.
var reflected = [firstExtension]bool{
	pb.TrackEvent_CcSchedulerState: true, pb.TrackEvent_ChromeUserEvent: true,
	pb.TrackEvent_ChromeKeyedService: true, pb.TrackEvent_ChromeLegacyIPC: true,
	pb.TrackEvent_ChromeHistogramSample: true, pb.TrackEvent_ChromeLatencyInfo: true,
	pb.TrackEvent_ChromeFrameReporter: true, pb.TrackEvent_SourceLocation: true,
	pb.TrackEvent_SourceLocationIID: true, pb.TrackEvent_ChromeMessagePump: true,
	pb.TrackEvent_ChromeMojoEventInfo: true, pb.TrackEvent_ChromeApplicationStateInfo: true,
	pb.TrackEvent_ChromeRendererSchedulerState: true, pb.TrackEvent_ChromeWindowHandleEventInfo: true,
	pb.TrackEvent_ChromeContentSettingsEventInfo: true, pb.TrackEvent_ChromeActiveProcesses: true,
	pb.TrackEvent_Screenshot: true,
}

func (p *eventParser) addTyped() error {
	p.e.typed = slices.DeleteFunc(p.e.typed, func(f wire.Field) bool {
		return f.Number < firstExtension && !reflected[f.Number] && p.root.Field(f.Number) != nil
	})
	err := p.args.Fields(p.root, p.e.typed)
	if n := p.args.Unknown(); n > 0 && err == nil {
		p.File.Add(model.StatUnknownExtensionFields, model.None, n)
	}
	return err
}
