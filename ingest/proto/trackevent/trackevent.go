// Package trackevent reads track events: the slices, counters and states that apps
// report about themselves.
package trackevent

import (
	"encoding/binary"
	"math"

	"github.com/tpconvert/tpconvert/ingest/internal/v8profile"
	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/args"
	"github.com/tpconvert/tpconvert/ingest/proto/descriptor"
	"github.com/tpconvert/tpconvert/ingest/proto/thread"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/saturating"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

// Modules read the packets of the family.
var Modules = proto.Family{readTrackEvents}

// trackEvents reads track events and the descriptors of their tracks.
type trackEvents struct {
	tracks
	args   *args.Writer
	stream *proto.Stream
	head   []byte
	parser eventParser
	root   *descriptor.MessageType

	profiles  *v8profile.Profiles
	processes aliveProcesses

	cropBefore int64 // events before this time are dropped, ns
}

// heads are decoded ahead.
var heads = proto.Ahead[eventHead]{Field: pb.TracePacket_TrackEvent, Decode: (*eventHead).decodeHead}

func readTrackEvents(r *proto.Reader) *proto.Module {
	t := &trackEvents{
		tracks: tracks{
			Reader: r, begun: map[uint32]bool{}, translations: proto.TranslationsOf(r),
		},
		args:      args.NewWriter(r),
		profiles:  v8profile.New(r.Context, r.Input().Sorter, func(pid, tid int64) model.UTID { return r.Machine.ThreadOf(tid, pid) }),
		processes: aliveProcesses{byUPID: map[model.UPID]*aliveProcess{}},
	}
	t.stream = r.NewStream(t.parseEvent)
	t.root = r.Types().Message("perfetto.protos.TrackEvent")
	t.parser.init(t)
	return &proto.Module{
		Fields:   []uint32{pb.TracePacket_TrackEvent, pb.TracePacket_ProcessDescriptor, pb.TracePacket_ThreadDescriptor, pb.TracePacket_TrackDescriptor, pb.TracePacket_TrackEventRangeOfInterest},
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
	case pb.TracePacket_TrackEvent:
		t.tokenizeEvent(p, heads.Of(p, f), f.Bytes())
	case pb.TracePacket_TrackDescriptor:
		return t.tokenize(p, f.Bytes())
	case pb.TracePacket_ThreadDescriptor:
		return t.tokenizeThread(p, f.Bytes())
	case pb.TracePacket_TrackEventRangeOfInterest:
		start, ok := wire.Find(f.Bytes(), pb.TrackEventRangeOfInterest_StartUS)
		if !ok {
			t.File.LogAt(model.StatTrackEventRangeOfInterestMissingStartUS, p.Offset, nil)
			return true
		}
		t.File.SetMetadata("range_of_interest_start_us", model.IntArg(start.Int64()))
		if t.Input().Crop {
			t.cropBefore = saturating.Mul(start.Int64(), 1000)
		}
	default:
		return false
	}
	return true
}

func (t *trackEvents) parsePacket(e *proto.Event) {
	switch e.Field {
	case pb.TracePacket_TrackDescriptor:
		t.parseDescriptor(e)
	case pb.TracePacket_ProcessDescriptor:
		t.parseProcess(e.TS, e.Data)
	case pb.TracePacket_ThreadDescriptor:
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
		case pb.ThreadDescriptor_PID:
			d.pid, d.hasPID = f.Int32(), true
		case pb.ThreadDescriptor_TID:
			d.tid, d.hasTID = f.Int64(), true
		case pb.ThreadDescriptor_ChromeThreadType:
			d.chromeType, d.hasChromeType = f.Int32(), true
		case pb.ThreadDescriptor_ThreadName:
			d.name = f.Bytes()
		case pb.ThreadDescriptor_ReferenceTimestampUS:
			d.time = f.Int64()
		case pb.ThreadDescriptor_ReferenceThreadTimeUS:
			d.threadTime = f.Int64()
		case pb.ThreadDescriptor_ReferenceThreadInstructionCount:
			d.instructions = f.Int64()
		}
	}
	return d
}

// setThread sets the thread of a sequence's events that name no other.
func (t *tracks) setThread(s *proto.State, d threadFields, synthetic bool) {
	thread.Set(s, thread.Descriptor{Valid: true, PID: d.pid, TID: d.tid, Synthetic: synthetic})
	now := thread.TimesOf(s)
	now.Valid = true
	now.Time = saturating.Mul(d.time, 1000)
	now.ThreadTime = saturating.Mul(d.threadTime, 1000)
	now.Instructions = d.instructions
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

// trackEventDefaults are the defaults of a sequence's events.
type trackEventDefaults struct {
	trackUUID    uint64
	hasTrackUUID bool
	extra        []uint64 // tracks of extra_counter_values
	extraDouble  []uint64 // tracks of extra_double_counter_values
}

var (
	eventDefaults = proto.NewDefault(pb.TracePacket_TrackEvent, readTrackEventDefaults)
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
		case pb.TrackEventDefaults_TrackUUID:
			d.trackUUID, d.hasTrackUUID = f.Uint64(), true
		case pb.TrackEventDefaults_ExtraCounterTrackUUIDs:
			for uuid := range f.Varints {
				d.extra = append(d.extra, uuid)
			}
		case pb.TrackEventDefaults_ExtraDoubleCounterTrackUUIDs:
			for uuid := range f.Varints {
				d.extraDouble = append(d.extraDouble, uuid)
			}
		}
	}
	return d
}

// A token begins with a byte of these bits. The values that they announce follow, of
// 8 bytes each; then the number of extra counters and their values; then the event, or
// the whole packet if its content is analyzed.
const (
	tokenThreadTime = 1 << iota
	tokenInstructions
	tokenCounter
	tokenExtra
)

// maxExtraCounters is the largest number of extra counters an event may have.
const maxExtraCounters = 8

// tokenizeEvent finds the time of an event and turns deltas into absolute values,
// which must happen in file order.
func (t *trackEvents) tokenizeEvent(p *proto.Packet, e *eventHead, data []byte) {
	fail := func(stat model.Stat, args model.ArgSource) { t.File.LogAt(stat, p.Offset, args) }
	failSequence := func(stat model.Stat) { fail(stat, t.SequenceArg(p.Sequence)) }
	if !p.HasSequence {
		fail(model.StatTrackEventMissingSequenceID, nil)
		return
	}
	rare := e.rareFields()
	var now *thread.Times
	if rare.hasTime || rare.threadTime.hasDelta || rare.instructions.hasDelta {
		now = thread.TimesOf(p.State)
	}
	ts, legacyClock := p.TS, true
	switch {
	case rare.hasTime && !now.Valid:
		failSequence(model.StatTrackEventSkippedTimestampDeltaWithoutValidState)
		return
	case rare.hasTime:
		ts = now.Advance(rare.time)
	case rare.absoluteTime != 0:
		ts = saturating.Mul(rare.absoluteTime, 1000)
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
		} else {
			t.File.LogAt(err.Stat, p.Offset, err)
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
	case v.hasDelta && !now.Valid:
		failSequence(model.StatTrackEventSkippedThreadTimeDeltaWithoutValidState)
		return
	case v.hasDelta:
		now.ThreadTime = saturating.Add(now.ThreadTime, saturating.Mul(v.value, 1000))
		add(tokenThreadTime, uint64(now.ThreadTime))
	case v.hasAbsolute:
		add(tokenThreadTime, uint64(saturating.Mul(v.value, 1000)))
	}
	switch v := &rare.instructions; {
	case v.hasDelta && !now.Valid:
		failSequence(model.StatTrackEventSkippedThreadInstructionDeltaWithoutValidState)
		return
	case v.hasDelta:
		now.Instructions = saturating.Add(now.Instructions, v.value)
		add(tokenInstructions, uint64(now.Instructions))
	case v.hasAbsolute:
		add(tokenInstructions, uint64(v.value))
	}
	defaults := defaultsOf(p.State)
	uuid, hasTrack := e.trackUUID, e.hasTrackUUID
	if !hasTrack {
		uuid, hasTrack = defaults.trackUUID, defaults.hasTrackUUID
	}
	switch {
	case e.kind == pb.TrackEvent_Type_Counter && !hasTrack:
		fail(model.StatTrackEventCounterMissingTrackUUID, nil)
		return
	case e.kind == pb.TrackEvent_Type_Counter && !e.hasCounter:
		fail(model.StatTrackEventCounterMissingValue, t.uuidArg(uuid))
		return
	case e.kind == pb.TrackEvent_Type_Counter:
		v, ok := t.counterValue(p.State, uuid, e.counter)
		if !ok {
			fail(model.StatTrackEventCounterInvalidTrackUUID, t.uuidArg(uuid))
			return
		}
		add(tokenCounter, math.Float64bits(v))
	case e.kind == pb.TrackEvent_Type_State && !hasTrack:
		fail(model.StatTrackEventStateMissingTrackUUID, nil)
		return
	}
	if n := e.extras.len(); e.hasExtras && n > 0 {
		head[0] |= tokenExtra
		head = append(head, byte(min(n, maxExtraCounters)))
		for i := range n {
			v, track, missing := e.extras.at(defaults, i)
			switch {
			case missing:
				failSequence(model.StatTrackEventExtraCounterMissingTrackUUIDs)
				return
			case track == 0:
				failSequence(model.StatTrackEventExtraCounterTrackUUIDMismatch)
				return
			case i >= maxExtraCounters:
				failSequence(model.StatTrackEventExtraCounterExceedsMax)
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
	if t.Content() != nil {
		data = p.Bytes()
	}
	t.stream.Push(ts, p.State, head, data)
}

// len returns how many extra counters the event has.
func (x *extraCounters) len() int { return len(x.ints) + len(x.doubles) }

// at returns the value and the track of extra counter i. The track is 0 if there are
// more values than tracks; missing says that there are no tracks at all. Integers
// come before doubles.
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

// counterValue returns the absolute value for a counter track's value, and false if
// the track is not a counter.
func (t *trackEvents) counterValue(s *proto.State, uuid uint64, v float64) (float64, bool) {
	e := t.find(uuid)
	if e == nil {
		return 0, false
	}
	counter := &t.detailsOf(e).counter
	if !counter.is {
		return 0, false
	}
	if counter.multiplier > 0 {
		v *= float64(counter.multiplier)
	}
	if counter.incremental {
		now := thread.TimesOf(s)
		if now.Counters == nil {
			now.Counters = map[uint64]float64{}
		}
		v += now.Counters[uuid]
		now.Counters[uuid] = v
	}
	return v, true
}
