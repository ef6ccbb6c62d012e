package trackevent

import (
	"math"

	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/internal/perfetto/androidpb"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
)

// eventHead is the part of a TrackEvent that tokenizing needs. It is decoded ahead.
type eventHead struct {
	trackUUID    uint64
	counter      float64
	kind         int32 // type
	hasKind      bool
	hasTrackUUID bool
	hasCounter   bool
	hasExtras    bool // extras is not zero
	hasRare      bool // rare is not zero
	extras       extraCounters
	rare         rareHeadFields
}

// rareHeadFields hold what modern recorders no longer write.
type rareHeadFields struct {
	time         int64     // timestamp_delta_us
	absoluteTime int64     // us
	threadTime   timeField // us
	instructions timeField
	profile      []byte // the legacy_event, if it is part of a profile
	hasTime      bool
}

// extraCounters are values of further counters that an event carries.
type extraCounters struct {
	ints, doubles           []float64 // extra_counter_values, extra_double_counter_values
	intTracks, doubleTracks []uint64
}

type trackEvent struct {
	eventHead
	eventBody
}

// eventBody is the rest of a TrackEvent.
type eventBody struct {
	hasName bool
	hasMore bool
	nameIID uint64
	name    []byte

	categoryIIDs []uint64
	categories   [][]byte
	annotations  [][]byte
	typed        []wire.Field // fields that become args by their descriptors

	flows, oldFlows []uint64 // flow_ids, and the deprecated flow_ids_old
	stops, oldStops []uint64 // terminating_flow_ids, and the deprecated terminating_flow_ids_old

	// Set for few events. It is cleared only if the last event used it.
	more
}

type more struct {
	legacy            legacyEvent
	sourceLocation    uint64
	hasSourceLocation bool
	task, log         []byte
	screenshot        []byte
	histogram         []byte
	alive             [][]byte // chrome_active_processes
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

// timeField is a value given as a delta from the last one or as an absolute value.
// The delta takes precedence.
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
	instantScope                     int32
	pid, tid                         int32 // overrides
	hasPID, hasTID                   bool
}

// firstExtension is the first field number of TrackEvent extensions.
const firstExtension = 1000

// rareFields returns the event's rare fields, for reading only.
func (e *eventHead) rareFields() *rareHeadFields {
	if e.hasRare {
		return &e.rare
	}
	return &noRareHeadFields
}

var noRareHeadFields rareHeadFields

// setRare returns the event's rare fields, for changing.
func (e *eventHead) setRare() *rareHeadFields {
	e.hasRare = true
	return &e.rare
}

func (e *eventHead) clear() {
	if e.hasRare {
		e.rare = rareHeadFields{}
	}
	if x := &e.extras; e.hasExtras {
		*x = extraCounters{x.ints[:0], x.doubles[:0], x.intTracks[:0], x.doubleTracks[:0]}
	}
	e.trackUUID, e.counter, e.kind = 0, 0, 0
	e.hasKind, e.hasTrackUUID, e.hasCounter, e.hasExtras, e.hasRare = false, false, false, false, false
}

func (b *eventBody) clear() {
	if b.hasMore {
		b.more = more{}
	}
	b.hasName, b.hasMore, b.nameIID, b.name = false, false, 0, nil
	b.categoryIIDs, b.categories, b.annotations, b.typed = b.categoryIIDs[:0], b.categories[:0], b.annotations[:0], b.typed[:0]
	b.flows, b.oldFlows, b.stops, b.oldStops = b.flows[:0], b.oldFlows[:0], b.stops[:0], b.oldStops[:0]
}

// decodeHead decodes only the head of an event.
func (e *eventHead) decodeHead(data []byte) { decode(data, e, nil) }

// decode decodes an event.
func (e *trackEvent) decode(data []byte) { decode(data, &e.eventHead, &e.eventBody) }

// decode decodes an event into a head and, unless b is nil, a body.
func decode(data []byte, e *eventHead, b *eventBody) {
	e.clear()
	if b != nil {
		b.clear()
	}
	const varint = uint64(wire.Varint)
	for i := 0; i < len(data); {
		tag, v, next := wire.Scan(data, i)
		if next < 0 {
			return
		}
		i = next
		switch tag { // most fields of most events
		case pb.TrackEvent_Type<<3 | varint:
			e.kind, e.hasKind = int32(v), true
			continue
		case pb.TrackEvent_TrackUUID<<3 | varint:
			e.trackUUID, e.hasTrackUUID = v, true
			continue
		case pb.TrackEvent_CategoryIIDs<<3 | varint:
			if b != nil {
				b.categoryIIDs = append(b.categoryIIDs, v)
			}
			continue
		case pb.TrackEvent_NameIID<<3 | varint:
			if b != nil {
				b.nameIID = v
			}
			continue
		case pb.TrackEvent_DebugAnnotations<<3 | uint64(wire.Bytes):
			if b != nil {
				b.annotations = append(b.annotations, data[i-int(v):i:i])
			}
			continue
		}
		f := wire.ScannedField(data, tag, v, next)
		switch f.Number {
		case pb.TrackEvent_Type:
			e.kind, e.hasKind = f.Int32(), true
		case pb.TrackEvent_TrackUUID:
			e.trackUUID, e.hasTrackUUID = f.Uint64(), true
		case pb.TrackEvent_CounterValue:
			e.counter, e.hasCounter = float64(f.Int64()), true
		case pb.TrackEvent_DoubleCounterValue:
			if !e.hasCounter {
				e.counter, e.hasCounter = f.Float64(), true
			}
		case pb.TrackEvent_ExtraCounterValues:
			e.hasExtras = true
			for v := range f.Varints {
				e.extras.ints = append(e.extras.ints, float64(int64(v)))
			}
		case pb.TrackEvent_ExtraCounterTrackUUIDs:
			e.hasExtras = true
			e.extras.intTracks = appendVarints(e.extras.intTracks, &f)
		case pb.TrackEvent_ExtraDoubleCounterValues:
			e.hasExtras = true
			for v := range f.Fixed(8) {
				e.extras.doubles = append(e.extras.doubles, math.Float64frombits(v))
			}
		case pb.TrackEvent_ExtraDoubleCounterTrackUUIDs:
			e.hasExtras = true
			e.extras.doubleTracks = appendVarints(e.extras.doubleTracks, &f)
		case pb.TrackEvent_TimestampDeltaUS:
			r := e.setRare()
			r.time, r.hasTime = f.Int64(), true
		case pb.TrackEvent_TimestampAbsoluteUS:
			e.setRare().absoluteTime = f.Int64()
		case pb.TrackEvent_ThreadTimeDeltaUS:
			e.setRare().threadTime.setDelta(f.Int64())
		case pb.TrackEvent_ThreadTimeAbsoluteUS:
			e.setRare().threadTime.setAbsolute(f.Int64())
		case pb.TrackEvent_ThreadInstructionCountDelta:
			e.setRare().instructions.setDelta(f.Int64())
		case pb.TrackEvent_ThreadInstructionCountAbsolute:
			e.setRare().instructions.setAbsolute(f.Int64())
		case pb.TrackEvent_LegacyEvent:
			if message.Int32(f.Bytes(), pb.TrackEvent_LegacyEvent_Phase) == 'P' {
				e.setRare().profile = f.Bytes()
			}
			if b != nil {
				b.hasMore, b.legacy = true, decodeLegacy(f.Bytes())
			}
		default:
			if b != nil {
				b.take(&f)
			}
		}
	}
}

// take decodes a field of the body.
func (b *eventBody) take(f *wire.Field) {
	switch f.Number {
	case pb.TrackEvent_CategoryIIDs:
		b.categoryIIDs = appendVarints(b.categoryIIDs, f) // packed
	case pb.TrackEvent_DebugAnnotations:
		b.annotations = append(b.annotations, f.Bytes())
	case pb.TrackEvent_NameIID:
		b.nameIID = f.Uint64()
	case pb.TrackEvent_Categories:
		b.categories = append(b.categories, f.Bytes())
	case pb.TrackEvent_Name:
		b.name, b.hasName = f.Bytes(), true
	case pb.TrackEvent_FlowIDsOld:
		b.oldFlows = appendVarints(b.oldFlows, f)
	case pb.TrackEvent_TerminatingFlowIDsOld:
		b.oldStops = appendVarints(b.oldStops, f)
	case pb.TrackEvent_FlowIDs:
		b.flows = appendFixed(b.flows, f)
	case pb.TrackEvent_TerminatingFlowIDs:
		b.stops = appendFixed(b.stops, f)
	default:
		b.hasMore = true
		if !b.more.take(f) {
			b.typed = append(b.typed, *f)
		}
	}
}

// take decodes a rare field. It returns false if the field also, or only, becomes an
// arg by its descriptor.
func (m *more) take(f *wire.Field) bool {
	switch f.Number {
	case pb.TrackEvent_TaskExecution:
		m.task = f.Bytes()
	case pb.TrackEvent_LogMessage:
		m.log = f.Bytes()
	case pb.TrackEvent_CorrelationID:
		m.correlation, m.hasCorrelation = f.Uint64(), true
	case pb.TrackEvent_CorrelationIDStr:
		m.correlationText = f.Bytes()
	case pb.TrackEvent_CorrelationIDStrIID:
		m.correlationIID = f.Uint64()
	case pb.TrackEvent_Callstack:
		m.stack = f.Bytes()
	case pb.TrackEvent_CallstackIID:
		m.stackIID, m.hasStackIID = f.Uint64(), true
	case pb.TrackEvent_CallstackWeight:
		m.stackWeight, m.hasStackWeight = f.Float64(), true
	default:
		m.note(f)
		return false
	}
	return true
}

// note decodes a field that is needed for more than the arg it becomes.
func (m *more) note(f *wire.Field) {
	switch f.Number {
	case pb.TrackEvent_ChromeHistogramSample:
		m.histogram = f.Bytes()
	case pb.TrackEvent_SourceLocationIID:
		m.sourceLocation, m.hasSourceLocation = f.Uint64(), true
	case pb.TrackEvent_ChromeActiveProcesses, pb.ChromeTrackEvent_ActiveProcesses: // the same message
		m.alive = append(m.alive, f.Bytes())
	case pb.TrackEvent_Screenshot:
		m.screenshot = f.Bytes()
	case pb.GpuTrackEvent_GPUCorrelation:
		m.gpu = f.Bytes()
	case androidpb.FrameworksBaseTrackEvent_ProcessStartEvent, androidpb.FrameworksBaseTrackEvent_BinderDiedEvent:
		m.lifecycle = append(m.lifecycle, *f)
	}
}

func appendVarints(to []uint64, f *wire.Field) []uint64 {
	if f.Type == wire.Varint { // nearly always
		return append(to, f.Uint64())
	}
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

func decodeLegacy(data []byte) (l legacyEvent) {
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case pb.TrackEvent_LegacyEvent_NameIID:
			l.nameIID = f.Uint64()
		case pb.TrackEvent_LegacyEvent_Phase:
			l.phase, l.hasPhase = f.Int32(), true
		case pb.TrackEvent_LegacyEvent_DurationUS:
			l.duration, l.hasDuration = f.Int64(), true
		case pb.TrackEvent_LegacyEvent_ThreadDurationUS:
			l.threadDuration, l.hasThreadDuration = f.Int64(), true
		case pb.TrackEvent_LegacyEvent_UnscopedID:
			l.unscoped, l.hasUnscoped = f.Uint64(), true
		case pb.TrackEvent_LegacyEvent_IDScope:
			l.scope, l.hasScope = f.Bytes(), true
		case pb.TrackEvent_LegacyEvent_BindID:
			l.bind, l.hasBind = f.Uint64(), true
		case pb.TrackEvent_LegacyEvent_UseAsyncTts:
			l.asyncTTS = f.Bool()
		case pb.TrackEvent_LegacyEvent_LocalID:
			l.local, l.hasLocal = f.Uint64(), true
		case pb.TrackEvent_LegacyEvent_GlobalID:
			l.global, l.hasGlobal = f.Uint64(), true
		case pb.TrackEvent_LegacyEvent_BindToEnclosing:
			l.bindToEnclosing = f.Bool()
		case pb.TrackEvent_LegacyEvent_FlowDirection:
			l.direction = f.Int32()
		case pb.TrackEvent_LegacyEvent_InstantEventScope:
			l.instantScope = f.Int32()
		case pb.TrackEvent_LegacyEvent_ThreadInstructionDelta:
			l.instructions, l.hasInstructions = f.Int64(), true
		case pb.TrackEvent_LegacyEvent_PIDOverride:
			l.pid, l.hasPID = f.Int32(), true
		case pb.TrackEvent_LegacyEvent_TIDOverride:
			l.tid, l.hasTID = f.Int32(), true
		}
	}
	return l
}
