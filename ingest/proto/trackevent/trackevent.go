// Package trackevent reads track events: the slices, counters and states that apps
// tell of themselves.
package trackevent

import (
	"encoding/binary"
	"math"

	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/args"
	"github.com/tpconvert/tpconvert/ingest/proto/descriptor"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/ingest/proto/translation"
	"github.com/tpconvert/tpconvert/ingest/v8profile"
	"github.com/tpconvert/tpconvert/ingest/wire"
	"github.com/tpconvert/tpconvert/model"
)

// Modules read the packets of the family.
var Modules = proto.Family{readTrackEvents}

const (
	fieldTrackEvent        = 11
	fieldProcessDescriptor = 43
	fieldThreadDescriptor  = 44
	fieldTrackDescriptor   = 60
	fieldRangeOfInterest   = 90
)

// trackEvents reads track events and the descriptors of their tracks.
type trackEvents struct {
	tracks
	args   *args.Writer
	stream *proto.Stream
	extras extraCounters // of the event being tokenized
	head   []byte
	parser eventParser
	root   *descriptor.MessageType

	profiles  *v8profile.Profiles
	processes aliveProcesses

	cropBefore int64 // events before this time are dropped, ns
}

// deltas are the values that the next events of a sequence count on from.
type deltas struct {
	valid        bool  // since a thread descriptor, if no packet was lost
	time         int64 // ns
	threadTime   int64 // ns
	instructions int64
	counters     map[uint64]float64 // by uuid of the track
}

var sequenceDeltas = proto.NewLocal[deltas](proto.UntilLoss)

// heads are decoded ahead.
var heads = proto.Ahead[eventHead]{Field: fieldTrackEvent, Decode: (*eventHead).read}

func readTrackEvents(r *proto.Reader) *proto.Module {
	t := &trackEvents{
		tracks: tracks{
			Reader: r, byUUID: map[uint64]*eventTrack{}, byUTID: map[model.UTID]uint64{}, byUPID: map[model.UPID]uint64{},
			begun: map[uint32]bool{}, pids: map[uint64]int64{}, translations: translation.Of(r),
		},
		args:      args.NewWriter(r),
		profiles:  v8profile.New(r.Context, r.Input().Sorter),
		processes: aliveProcesses{byUPID: map[model.UPID]*aliveProcess{}},
	}
	t.stream = r.NewStream(t.parseEvent)
	t.root = r.Types().Message("perfetto.protos.TrackEvent")
	t.parser.init(t)
	return &proto.Module{
		Fields:   []uint32{fieldTrackEvent, fieldProcessDescriptor, fieldThreadDescriptor, fieldTrackDescriptor, fieldRangeOfInterest},
		Ahead:    &heads,
		Tokenize: t.tokenizePacket,
		Parse:    t.parsePacket,
		FirstPacket: func(sequence uint32) {
			t.begun[sequence] = true
		},
		End: func() { t.processes.end(r.Store) },
	}
}

func (t *trackEvents) tokenizePacket(p *proto.Packet, f *wire.Field) bool {
	switch f.Number {
	case fieldTrackEvent:
		t.tokenizeEvent(p, heads.Of(p, f), f.Bytes())
	case fieldTrackDescriptor:
		return t.tokenize(p, f.Bytes())
	case fieldThreadDescriptor:
		return t.tokenizeThread(p, f.Bytes())
	case fieldRangeOfInterest:
		start, ok := wire.Find(f.Bytes(), 1)
		if !ok {
			t.File.LogAt(model.StatTrackEventRangeOfInterestMissingStartUS, p.Offset, nil)
			return true
		}
		t.File.SetMetadata("range_of_interest_start_us", model.IntArg(start.Int64()))
		if t.Input().Crop {
			t.cropBefore = saturatingMul(start.Int64(), 1000)
		}
	default:
		return false
	}
	return true
}

func (t *trackEvents) parsePacket(e *proto.Event) {
	switch e.Field {
	case fieldTrackDescriptor:
		t.parseDescriptor(e)
	case fieldProcessDescriptor:
		t.parseProcess(e.TS, e.Data)
	case fieldThreadDescriptor:
		t.parseThread(e.Data, false)
	}
}

// threadFields is a ThreadDescriptor.
type threadFields struct {
	pid              int32
	tid              int64
	hasPID, hasTID   bool
	name             []byte
	chromeType       int32
	hasChromeType    bool
	time, threadTime int64 // us
	instructions     int64
}

func readThread(data []byte) (d threadFields) {
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case 1:
			d.pid, d.hasPID = f.Int32(), true
		case 2:
			d.tid, d.hasTID = f.Int64(), true
		case 4:
			d.chromeType, d.hasChromeType = f.Int32(), true
		case 5:
			d.name = f.Bytes()
		case 6:
			d.time = f.Int64()
		case 7:
			d.threadTime = f.Int64()
		case 8:
			d.instructions = f.Int64()
		}
	}
	return d
}

// threadDescriptor is the thread that a sequence's events are of.
type threadDescriptor struct {
	valid     bool
	pid       int32
	tid       int64
	synthetic bool // the tid is one of a sandbox
}

var threads = proto.NewLocal[threadDescriptor](proto.Always)

var noThread threadDescriptor

// threadOf returns the thread of a sequence.
func threadOf(s *proto.State) *threadDescriptor {
	if d := threads.Get(s); d != nil {
		return d
	}
	return &noThread
}

func (d *threadDescriptor) id() int64 {
	if d.synthetic {
		return syntheticTID(d.tid, int64(d.pid))
	}
	return d.tid
}

// setThread makes a thread the one of a sequence's events that name none.
func (t *tracks) setThread(s *proto.State, d threadFields, synthetic bool) {
	*threads.Of(s) = threadDescriptor{valid: true, pid: d.pid, tid: d.tid, synthetic: synthetic}
	now := sequenceDeltas.Of(s)
	now.valid = true
	now.time = saturatingMul(d.time, 1000)
	now.threadTime = saturatingMul(d.threadTime, 1000)
	now.instructions = d.instructions
}

func (t *trackEvents) tokenizeThread(p *proto.Packet, data []byte) bool {
	switch {
	case !p.HasSequence:
		t.File.LogAt(model.StatThreadDescriptorMissingSequenceID, p.Offset, nil)
	case !p.State.Valid:
		t.File.LogAt(model.StatThreadDescriptorSkippedIncrementalStateInvalid, p.Offset, t.SequenceArg(p.Sequence))
	default:
		t.setThread(p.State, readThread(data), false)
		return false
	}
	return true
}

// eventHead is the part of a TrackEvent that it takes to tokenize it, which is
// decoded with the packet.
type eventHead struct {
	trackUUID    uint64
	counter      float64
	kind         int32 // type
	hasKind      bool
	hasTrackUUID bool
	hasCounter   bool
	hasExtras    bool
	hasRare      bool // rare is not zero
	rare         eventHeadRarities
}

// eventHeadRarities are what events of modern recorders do without.
type eventHeadRarities struct {
	time         int64     // timestamp_delta_us
	absoluteTime int64     // us
	threadTime   timeField // us
	instructions timeField
	profile      []byte // the legacy_event, if it is a part of a profile
	hasTime      bool
}

// extraCounters are the values of other counters that an event brings along.
type extraCounters struct {
	ints, doubles           []float64 // extra_counter_values, extra_double_counter_values
	intTracks, doubleTracks []uint64
}

// trackEvent is a TrackEvent.
type trackEvent struct {
	eventHead
	extraCounters
	hasNameIID bool
	hasName    bool
	hasMore    bool
	nameIID    uint64
	name       []byte

	categoryIIDs []uint64
	categories   [][]byte
	annotations  [][]byte
	typed        []wire.Field // fields that are args by their descriptors

	flows, oldFlows []uint64 // flow_ids, and as written formerly
	stops, oldStops []uint64 // terminating_flow_ids, likewise

	// What few events have. It is not cleared where the event before had nothing
	// of it either.
	more
}

type more struct {
	legacy            legacyEvent
	sourceLocation    uint64
	hasSourceLocation bool
	task, log         []byte
	screenshot        []byte
	histogram         []byte
	processes         []byte // chrome_active_processes
	correlation       uint64
	hasCorrelation    bool
	correlationText   []byte
	correlationIID    uint64
	stack             []byte
	stackIID          uint64
	hasStackIID       bool
	stackWeight       float64
	hasStackWeight    bool
	gpu               []byte       // gpu_correlation
	lifecycle         []wire.Field // of a process
}

// timeField is a value that is given either as the difference from the one
// before, which goes first, or as it is.
type timeField struct {
	value                 int64
	hasDelta, hasAbsolute bool
}

func (t *timeField) setDelta(v int64) { t.value, t.hasDelta = v, true }

func (t *timeField) setAbsolute(v int64) {
	t.hasAbsolute = true
	if !t.hasDelta {
		t.value = v
	}
}

// legacyEvent is a TrackEvent.LegacyEvent.
type legacyEvent struct {
	nameIID                          uint64
	phase                            int32
	hasPhase                         bool
	duration                         int64 // us
	hasDuration                      bool
	threadDuration                   int64 // us
	hasThreadDuration                bool
	instructions                     int64 // thread_instruction_delta
	hasInstructions                  bool
	unscoped, local, global          uint64
	hasUnscoped, hasLocal, hasGlobal bool
	scope                            []byte // id_scope
	hasScope                         bool
	asyncTTS                         bool
	bind                             uint64
	hasBind                          bool
	bindToEnclosing                  bool
	direction                        int32
	hasDirection                     bool
	instantScope                     int32
	pid, tid                         int32 // overrides
	hasPID, hasTID                   bool
}

// Tags of fields.
const (
	tagVarint = uint64(wire.Varint)
	tagBytes  = uint64(wire.Bytes)
	tagFixed  = uint64(wire.Fixed64)
)

// Fields of TrackEvent.
const (
	fieldLegacyEvent    = 6
	fieldGPUCorrelation = 3000
)

// Fields of InternedData.
const (
	internedCategories      = 1
	internedEventNames      = 2
	internedAnnotationNames = 3
	internedSourceLocations = 4
	internedLogBodies       = 20
	internedHistograms      = 25
	internedUnsymbolized    = 28
	internedCorrelations    = 43
	internedAndroidJobs     = 44
)

// firstExtension is where the fields of TrackEvent begin that others define.
const firstExtension = 1000

var noHeadRarities eventHeadRarities

// rarities returns what few events have, which must not be changed.
func (e *eventHead) rarities() *eventHeadRarities {
	if e.hasRare {
		return &e.rare
	}
	return &noHeadRarities
}

func (e *eventHead) clear() {
	if e.hasRare {
		e.rare = eventHeadRarities{}
	}
	e.trackUUID, e.counter, e.kind = 0, 0, 0
	e.hasKind, e.hasTrackUUID, e.hasCounter, e.hasExtras, e.hasRare = false, false, false, false, false
}

// read decodes the head of an event.
func (e *eventHead) read(data []byte) {
	e.clear()
	for i := 0; i < len(data); {
		tag, v, next := wire.Scan(data, i)
		if next < 0 {
			return
		}
		i = next
		switch tag {
		case 9<<3 | tagVarint:
			e.kind, e.hasKind = int32(v), true
		case 11<<3 | tagVarint:
			e.trackUUID, e.hasTrackUUID = v, true
		case 3<<3 | tagVarint, 4<<3 | tagBytes, 10<<3 | tagVarint, 23<<3 | tagBytes:
		default:
			f := wire.ScannedField(data, tag, v, next)
			if !e.take(&f) && f.Number == fieldLegacyEvent && message.Int64(f.Bytes(), 2) == 'P' {
				e.hasRare, e.rare.profile = true, f.Bytes()
			}
		}
	}
}

// take decodes a field if it is of the head.
func (e *eventHead) take(f *wire.Field) bool {
	switch f.Number {
	case 9:
		e.kind, e.hasKind = f.Int32(), true
	case 11:
		e.trackUUID, e.hasTrackUUID = f.Uint64(), true
	case 12, 31, 45, 46:
		e.hasExtras = true
	case 30:
		e.counter, e.hasCounter = float64(f.Int64()), true
	case 44:
		if !e.hasCounter {
			e.counter, e.hasCounter = f.Float64(), true
		}
	default:
		return e.takeRare(f)
	}
	return true
}

func (e *eventHead) takeRare(f *wire.Field) bool {
	r := &e.rare
	switch f.Number {
	case 1:
		r.time, r.hasTime = f.Int64(), true
	case 2:
		r.threadTime.setDelta(f.Int64())
	case 8:
		r.instructions.setDelta(f.Int64())
	case 16:
		r.absoluteTime = f.Int64()
	case 17:
		r.threadTime.setAbsolute(f.Int64())
	case 20:
		r.instructions.setAbsolute(f.Int64())
	default:
		return false
	}
	e.hasRare = true
	return true
}

// readExtras decodes the extra counters of an event.
func (x *extraCounters) readExtras(data []byte) {
	*x = extraCounters{x.ints[:0], x.doubles[:0], x.intTracks[:0], x.doubleTracks[:0]}
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case 12:
			for v := range f.Varints {
				x.ints = append(x.ints, float64(int64(v)))
			}
		case 31:
			x.intTracks = appendVarints(x.intTracks, &f.Field)
		case 45:
			x.doubleTracks = appendVarints(x.doubleTracks, &f.Field)
		case 46:
			for v := range f.Fixed(8) {
				x.doubles = append(x.doubles, math.Float64frombits(v))
			}
		}
	}
}

func appendVarints(to []uint64, f *wire.Field) []uint64 {
	for v := range f.Varints {
		to = append(to, v)
	}
	return to
}

func appendFixed(to []uint64, f *wire.Field) []uint64 {
	for v := range f.Fixed(8) {
		to = append(to, v)
	}
	return to
}

// read decodes an event.
func (e *trackEvent) read(data []byte) {
	if e.hasMore {
		e.more = more{}
	}
	e.clear()
	e.hasNameIID, e.hasName, e.hasMore, e.nameIID, e.name = false, false, false, 0, nil
	e.categoryIIDs, e.categories, e.annotations, e.typed = e.categoryIIDs[:0], e.categories[:0], e.annotations[:0], e.typed[:0]
	e.flows, e.oldFlows, e.stops, e.oldStops = e.flows[:0], e.oldFlows[:0], e.stops[:0], e.oldStops[:0]
	for i := 0; i < len(data); {
		tag, v, next := wire.Scan(data, i)
		if next < 0 {
			break
		}
		i = next
		switch tag {
		case 3<<3 | tagVarint:
			e.categoryIIDs = append(e.categoryIIDs, v)
		case 4<<3 | tagBytes:
			e.annotations = append(e.annotations, data[i-int(v):i:i])
		case 9<<3 | tagVarint:
			e.kind, e.hasKind = int32(v), true
		case 10<<3 | tagVarint:
			e.nameIID, e.hasNameIID = v, true
		case 11<<3 | tagVarint:
			e.trackUUID, e.hasTrackUUID = v, true
		case 23<<3 | tagBytes:
			e.name, e.hasName = data[i-int(v):i:i], true
		case 47<<3 | tagFixed:
			e.flows = append(e.flows, v)
		default:
			f := wire.ScannedField(data, tag, v, next)
			e.takeOther(&f)
		}
	}
	if e.hasExtras {
		e.readExtras(data)
	}
}

// takeOther decodes a field that is rarely there, or rarely encoded so.
func (e *trackEvent) takeOther(f *wire.Field) {
	switch f.Number {
	case 3:
		e.categoryIIDs = appendVarints(e.categoryIIDs, f)
	case 4:
		e.annotations = append(e.annotations, f.Bytes())
	case 10:
		e.nameIID, e.hasNameIID = f.Uint64(), true
	case 22:
		e.categories = append(e.categories, f.Bytes())
	case 23:
		e.name, e.hasName = f.Bytes(), true
	case 36:
		e.oldFlows = appendVarints(e.oldFlows, f)
	case 42:
		e.oldStops = appendVarints(e.oldStops, f)
	case 47:
		e.flows = appendFixed(e.flows, f)
	case 48:
		e.stops = appendFixed(e.stops, f)
	default:
		if !e.take(f) && !e.takeMore(f) {
			e.typed = append(e.typed, *f)
		}
	}
}

// takeMore decodes a field that few events have. It returns false if the field
// is also, or only, an arg by its descriptor.
func (e *trackEvent) takeMore(f *wire.Field) bool {
	e.hasMore = true
	switch f.Number {
	case 5:
		e.task = f.Bytes()
	case fieldLegacyEvent:
		e.legacy = readLegacy(f.Bytes())
	case 21:
		e.log = f.Bytes()
	case 28:
		e.histogram = f.Bytes()
		return false
	case 34:
		e.sourceLocation, e.hasSourceLocation = f.Uint64(), true
		return false
	case 49:
		e.processes = f.Bytes()
		return false
	case 50:
		e.screenshot = f.Bytes()
		return false
	case 52:
		e.correlation, e.hasCorrelation = f.Uint64(), true
	case 53:
		e.correlationText = f.Bytes()
	case 54:
		e.correlationIID = f.Uint64()
	case 55:
		e.stack = f.Bytes()
	case 56:
		e.stackIID, e.hasStackIID = f.Uint64(), true
	case 57:
		e.stackWeight, e.hasStackWeight = f.Float64(), true
	case fieldGPUCorrelation:
		e.gpu = f.Bytes()
		return false
	case fieldProcessStart, fieldBinderDied:
		e.lifecycle = append(e.lifecycle, *f)
		return false
	default:
		return false
	}
	return true
}

func readLegacy(data []byte) (l legacyEvent) {
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case 1:
			l.nameIID = f.Uint64()
		case 2:
			l.phase, l.hasPhase = f.Int32(), true
		case 3:
			l.duration, l.hasDuration = f.Int64(), true
		case 4:
			l.threadDuration, l.hasThreadDuration = f.Int64(), true
		case 6:
			l.unscoped, l.hasUnscoped = f.Uint64(), true
		case 7:
			l.scope, l.hasScope = f.Bytes(), true
		case 8:
			l.bind, l.hasBind = f.Uint64(), true
		case 9:
			l.asyncTTS = f.Bool()
		case 10:
			l.local, l.hasLocal = f.Uint64(), true
		case 11:
			l.global, l.hasGlobal = f.Uint64(), true
		case 12:
			l.bindToEnclosing = f.Bool()
		case 13:
			l.direction, l.hasDirection = f.Int32(), true
		case 14:
			l.instantScope = f.Int32()
		case 15:
			l.instructions, l.hasInstructions = f.Int64(), true
		case 18:
			l.pid, l.hasPID = f.Int32(), true
		case 19:
			l.tid, l.hasTID = f.Int32(), true
		}
	}
	return l
}

// trackEventDefaults are the defaults of a sequence's events.
type trackEventDefaults struct {
	trackUUID    uint64
	hasTrackUUID bool
	extra        []uint64 // tracks of extra_counter_values
	extraDouble  []uint64 // tracks of extra_double_counter_values
}

var (
	eventDefaults = proto.NewDefault(fieldTrackEvent, readTrackEventDefaults)
	noDefaults    trackEventDefaults
)

func defaultsOf(s *proto.State) *trackEventDefaults {
	if d := eventDefaults.Of(s); d != nil {
		return d
	}
	return &noDefaults
}

func readTrackEventDefaults(data []byte) (d trackEventDefaults) {
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case 11:
			d.trackUUID, d.hasTrackUUID = f.Uint64(), true
		case 31:
			for uuid := range f.Varints {
				d.extra = append(d.extra, uuid)
			}
		case 45:
			for uuid := range f.Varints {
				d.extraDouble = append(d.extraDouble, uuid)
			}
		}
	}
	return d
}

// Values of TrackEvent.type.
const (
	eventBegin   = 1
	eventEnd     = 2
	eventInstant = 3
	eventCounter = 4
	eventState   = 5
)

// What a token of an event begins with: a byte of these bits, then the values
// that they say are there, of 8 bytes each, then the number of extra counters and
// their values. The event follows.
const (
	tokenThreadTime = 1 << iota
	tokenInstructions
	tokenCounter
	tokenExtra
)

// maxExtraCounters is how many extra counters an event may have.
const maxExtraCounters = 8

// tokenizeEvent finds the time of an event and makes what is given as
// differences absolute, which takes the order of the file.
func (t *trackEvents) tokenizeEvent(p *proto.Packet, e *eventHead, data []byte) {
	fail := func(stat model.Stat, args model.ArgSource) { t.File.LogAt(stat, p.Offset, args) }
	onSequence := t.SequenceArg(p.Sequence)
	if !p.HasSequence {
		fail(model.StatTrackEventMissingSequenceID, nil)
		return
	}
	rare := e.rarities()
	var now *deltas
	if rare.hasTime || rare.threadTime.hasDelta || rare.instructions.hasDelta {
		now = sequenceDeltas.Of(p.State)
	}
	ts, legacyClock := p.TS, true
	switch {
	case rare.hasTime && !now.valid:
		fail(model.StatTrackEventSkippedTimestampDeltaWithoutValidState, onSequence)
		return
	case rare.hasTime:
		now.time = saturatingAdd(now.time, saturatingMul(rare.time, 1000))
		ts = now.time
	case rare.absoluteTime != 0:
		ts = saturatingMul(rare.absoluteTime, 1000)
	case !p.HasTimestamp:
		fail(model.StatTrackEventMissingTimestamp, nil)
		return
	default:
		legacyClock = false
	}
	if ts < 0 {
		fail(model.StatTrackEventInvalidTimestamp, nil)
		return
	}
	if legacyClock {
		if converted, err := t.Clocks.ToTrace(model.Clock{ID: model.ClockMonotonic}, ts); err == nil {
			ts = converted
		}
	}
	if rare.profile != nil {
		t.tokenizeProfile(p, data, rare.profile)
	}
	head := append(t.head[:0], 0)
	add := func(bit byte, v uint64) {
		head[0] |= bit
		head = binary.LittleEndian.AppendUint64(head, v)
	}
	switch v := &rare.threadTime; {
	case v.hasDelta && !now.valid:
		fail(model.StatTrackEventSkippedThreadTimeDeltaWithoutValidState, onSequence)
		return
	case v.hasDelta:
		now.threadTime = saturatingAdd(now.threadTime, saturatingMul(v.value, 1000))
		add(tokenThreadTime, uint64(now.threadTime))
	case v.hasAbsolute:
		add(tokenThreadTime, uint64(saturatingMul(v.value, 1000)))
	}
	switch v := &rare.instructions; {
	case v.hasDelta && !now.valid:
		fail(model.StatTrackEventSkippedThreadInstructionDeltaWithoutValidState, onSequence)
		return
	case v.hasDelta:
		now.instructions = saturatingAdd(now.instructions, v.value)
		add(tokenInstructions, uint64(now.instructions))
	case v.hasAbsolute:
		add(tokenInstructions, uint64(v.value))
	}
	defaults := defaultsOf(p.State)
	uuid, hasTrack := e.trackUUID, e.hasTrackUUID
	if !hasTrack {
		uuid, hasTrack = defaults.trackUUID, defaults.hasTrackUUID
	}
	switch {
	case e.kind == eventCounter && !hasTrack:
		fail(model.StatTrackEventCounterMissingTrackUUID, nil)
		return
	case e.kind == eventCounter && !e.hasCounter:
		fail(model.StatTrackEventCounterMissingValue, t.uuidArg(uuid))
		return
	case e.kind == eventCounter:
		v, ok := t.counterValue(p.State, uuid, e.counter)
		if !ok {
			fail(model.StatTrackEventCounterInvalidTrackUUID, t.uuidArg(uuid))
			return
		}
		add(tokenCounter, math.Float64bits(v))
	case e.kind == eventState && !hasTrack:
		fail(model.StatTrackEventStateMissingTrackUUID, nil)
		return
	}
	if e.hasExtras {
		t.extras.readExtras(data)
	}
	if n := t.extras.len(); e.hasExtras && n > 0 {
		head[0] |= tokenExtra
		head = append(head, byte(min(n, maxExtraCounters)))
		for i := range n {
			v, track, missing := t.extras.at(defaults, i)
			switch {
			case missing:
				fail(model.StatTrackEventExtraCounterMissingTrackUUIDs, onSequence)
				return
			case track == 0:
				fail(model.StatTrackEventExtraCounterTrackUUIDMismatch, onSequence)
				return
			case i >= maxExtraCounters:
				fail(model.StatTrackEventExtraCounterExceedsMax, onSequence)
				return
			}
			v, ok := t.counterValue(p.State, track, v)
			if !ok {
				fail(model.StatTrackEventExtraCounterInvalidTrack, t.uuidArg(track))
				return
			}
			head = binary.LittleEndian.AppendUint64(head, math.Float64bits(v))
		}
	}
	t.head = head
	t.stream.Push(ts, p.State, head, data)
}

// len is how many extra counters the event has.
func (x *extraCounters) len() int { return len(x.ints) + len(x.doubles) }

// at returns the value of the extra counter i and its track, 0 if there are more
// values than tracks, and whether there are no tracks at all. The integers come
// before the doubles.
func (x *extraCounters) at(defaults *trackEventDefaults, i int) (v float64, uuid uint64, missing bool) {
	values, tracks, byDefault := x.ints, x.intTracks, defaults.extra
	if i >= len(values) {
		i -= len(values)
		values, tracks, byDefault = x.doubles, x.doubleTracks, defaults.extraDouble
	}
	if len(tracks) == 0 {
		tracks = byDefault
	}
	if i < len(tracks) {
		uuid = tracks[i]
	}
	return values[i], uuid, len(tracks) == 0
}

// counterValue makes the value of a counter track absolute. It returns false if
// the track is no counter.
func (t *trackEvents) counterValue(s *proto.State, uuid uint64, v float64) (float64, bool) {
	e := t.byUUID[uuid]
	if e == nil || !e.counter.is {
		return 0, false
	}
	if e.counter.multiplier > 0 {
		v *= float64(e.counter.multiplier)
	}
	if e.counter.incremental {
		now := sequenceDeltas.Of(s)
		if now.counters == nil {
			now.counters = map[uint64]float64{}
		}
		v += now.counters[uuid]
		now.counters[uuid] = v
	}
	return v, true
}

func saturatingAdd(a, b int64) int64 {
	sum := a + b
	if (sum > a) == (b > 0) {
		return sum
	}
	if b > 0 {
		return math.MaxInt64
	}
	return math.MinInt64
}

func saturatingMul(a, b int64) int64 {
	if a == 0 || b == 0 {
		return 0
	}
	product := a * b
	if product/b == a {
		return product
	}
	if (a < 0) == (b < 0) {
		return math.MaxInt64
	}
	return math.MinInt64
}
