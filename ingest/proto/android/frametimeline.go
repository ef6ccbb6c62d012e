package android

import (
	"math"
	"strconv"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/internal/perfetto/androidpb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

// frameTimeline reads what SurfaceFlinger, Android's compositor, reports about frames:
// surface frames, which apps draw, and display frames, which it composes from them. A
// frame has one slice for its expected and one for its actual time of work.
type frameTimeline struct {
	*proto.Reader
	open     map[int64]openFrame // by cookie
	expected map[surfaceToken]bool
	surfaces map[int64][]model.SliceID // actual slices by the token of their display frame
}

type openFrame struct {
	upid   model.UPID
	tracks *model.Blueprint
}

type surfaceToken struct {
	upid  model.UPID
	token int64
}

func surfaceFrames(r *proto.Reader) *proto.Module {
	t := &frameTimeline{Reader: r, open: map[int64]openFrame{}, expected: map[surfaceToken]bool{}, surfaces: map[int64][]model.SliceID{}}
	return &proto.Module{Fields: []uint32{androidpb.FrameworksNativeTracePacket_FrameTimelineEvent}, Parse: t.parse}
}

var (
	expectedFrames = model.AsyncBlueprint(model.Blueprint{Classification: "android_expected_frame_timeline", Dims: []string{"upid"}, Name: "Expected Timeline"})
	actualFrames   = model.AsyncBlueprint(model.Blueprint{Classification: "android_actual_frame_timeline", Dims: []string{"upid"}, Name: "Actual Timeline"})
)

// latestFrame limits times, in ns. Later ones are a producer's mistake.
const latestFrame = math.MaxInt64 - 10_000_000_000

func (t *frameTimeline) parse(e *proto.Event) {
	f := wire.Read(e.Data)
	if e.TS >= latestFrame || !f.Next() {
		t.File.Count(model.StatFrameTimelineEventParserErrors)
		return
	}
	switch f.Number {
	case androidpb.FrameTimelineEvent_ExpectedDisplayFrameStart:
		t.frame(e.TS, f.Bytes(), &displayFields, false)
	case androidpb.FrameTimelineEvent_ActualDisplayFrameStart:
		t.frame(e.TS, f.Bytes(), &displayFields, true)
	case androidpb.FrameTimelineEvent_ExpectedSurfaceFrameStart:
		t.frame(e.TS, f.Bytes(), &surfaceFields, false)
	case androidpb.FrameTimelineEvent_ActualSurfaceFrameStart:
		t.frame(e.TS, f.Bytes(), &surfaceFields, true)
	case androidpb.FrameTimelineEvent_FrameEnd:
		t.end(e.TS, f.Bytes())
	default:
		t.File.Count(model.StatFrameTimelineEventParserErrors)
	}
}

func (t *frameTimeline) end(ts int64, data []byte) {
	cookie, ok := wire.Find(data, androidpb.FrameTimelineEvent_FrameEnd_Cookie)
	if !ok {
		t.File.Count(model.StatFrameTimelineEventParserErrors)
		return
	}
	frame, ok := t.open[cookie.Int64()]
	if !ok {
		t.File.Count(model.StatFrameTimelineUnpairedEndEvent)
		return
	}
	delete(t.open, cookie.Int64())
	t.Slices.End(ts, t.Async.End(frame.tracks, nil, cookie.Int64(), model.IntDim(frame.upid)), 0, 0, nil)
}

// frameFields are field numbers in ActualSurfaceFrameStart or ActualDisplayFrameStart;
// the first four also apply to the expected messages. 0 stands for fields that a
// message does not have.
type frameFields struct {
	surface                                             bool
	displayToken, pid, layer                            uint32
	present, onTime, gpu, jank, prediction, isBuffer    uint32
	severity, delay, jitter, score, newJank, newPresent uint32
	debug, unsignaled, addressable, fence, animation    uint32
}

var (
	displayFields = frameFields{
		displayToken: androidpb.FrameTimelineEvent_ActualDisplayFrameStart_Token,
		pid:          androidpb.FrameTimelineEvent_ActualDisplayFrameStart_PID,
		present:      androidpb.FrameTimelineEvent_ActualDisplayFrameStart_PresentType,
		onTime:       androidpb.FrameTimelineEvent_ActualDisplayFrameStart_OnTimeFinish,
		gpu:          androidpb.FrameTimelineEvent_ActualDisplayFrameStart_GPUComposition,
		jank:         androidpb.FrameTimelineEvent_ActualDisplayFrameStart_JankType,
		prediction:   androidpb.FrameTimelineEvent_ActualDisplayFrameStart_PredictionType,
		severity:     androidpb.FrameTimelineEvent_ActualDisplayFrameStart_JankSeverityType,
		delay:        androidpb.FrameTimelineEvent_ActualDisplayFrameStart_PresentDelayMillis,
		score:        androidpb.FrameTimelineEvent_ActualDisplayFrameStart_JankSeverityScore,
		newJank:      androidpb.FrameTimelineEvent_ActualDisplayFrameStart_JankTypeExperimental,
		newPresent:   androidpb.FrameTimelineEvent_ActualDisplayFrameStart_PresentTypeExperimental,
		debug:        androidpb.FrameTimelineEvent_ActualDisplayFrameStart_JankDebugMetadata,
		unsignaled:   androidpb.FrameTimelineEvent_ActualDisplayFrameStart_LatchedUnsignaledCount,
		addressable:  androidpb.FrameTimelineEvent_ActualDisplayFrameStart_AddressableUnsignaledLatchCount,
	}
	surfaceFields = frameFields{
		surface:      true,
		displayToken: androidpb.FrameTimelineEvent_ActualSurfaceFrameStart_LatchedFenceState_LatchedDelayedLatchUnsignaled,
		pid:          androidpb.FrameTimelineEvent_ActualSurfaceFrameStart_PID,
		layer:        androidpb.FrameTimelineEvent_ActualSurfaceFrameStart_LayerName,
		present:      androidpb.FrameTimelineEvent_ActualSurfaceFrameStart_PresentType,
		onTime:       androidpb.FrameTimelineEvent_ActualSurfaceFrameStart_OnTimeFinish,
		gpu:          androidpb.FrameTimelineEvent_ActualSurfaceFrameStart_GPUComposition,
		jank:         androidpb.FrameTimelineEvent_ActualSurfaceFrameStart_JankType,
		prediction:   androidpb.FrameTimelineEvent_ActualSurfaceFrameStart_PredictionType,
		isBuffer:     androidpb.FrameTimelineEvent_ActualSurfaceFrameStart_IsBuffer,
		severity:     androidpb.FrameTimelineEvent_ActualSurfaceFrameStart_JankSeverityType,
		delay:        androidpb.FrameTimelineEvent_ActualSurfaceFrameStart_PresentDelayMillis,
		jitter:       androidpb.FrameTimelineEvent_ActualSurfaceFrameStart_VsyncResyncedJitterMillis,
		score:        androidpb.FrameTimelineEvent_ActualSurfaceFrameStart_JankSeverityScore,
		newJank:      androidpb.FrameTimelineEvent_ActualSurfaceFrameStart_JankTypeExperimental,
		newPresent:   androidpb.FrameTimelineEvent_ActualSurfaceFrameStart_PresentTypeExperimental,
		debug:        androidpb.FrameTimelineEvent_ActualSurfaceFrameStart_JankDebugMetadata,
		fence:        androidpb.FrameTimelineEvent_ActualSurfaceFrameStart_LatchedFenceState,
		animation:    androidpb.FrameTimelineEvent_ActualSurfaceFrameStart_AnimationTimeMillis,
	}
)

// frame begins the slice of a frame.
func (t *frameTimeline) frame(ts int64, data []byte, n *frameFields, actual bool) {
	const ( // the same in all four messages
		cookieNumber = androidpb.FrameTimelineEvent_ActualDisplayFrameStart_Cookie
		tokenNumber  = androidpb.FrameTimelineEvent_ActualDisplayFrameStart_Token
	)
	if !message.Has(data, cookieNumber) || !message.Has(data, tokenNumber) || !message.Has(data, n.displayToken) || !message.Has(data, n.pid) {
		t.File.Count(model.StatFrameTimelineEventParserErrors)
		return
	}
	cookie, token, upid := message.Int64(data, cookieNumber), message.Int64(data, tokenNumber), t.Machine.Process(int64(message.Uint32(data, n.pid)))
	tracks := expectedFrames
	if actual {
		tracks = actualFrames
	}
	t.open[cookie] = openFrame{upid, tracks}
	if n.surface && !actual {
		// All frames with the same token share one expectation.
		if t.expected[surfaceToken{upid, token}] {
			return
		}
		t.expected[surfaceToken{upid, token}] = true
	}
	track := t.Async.Begin(tracks, nil, cookie, model.IntDim(upid))
	f := frame{timeline: t, data: data, fields: n, token: token, display: message.Int64(data, n.displayToken), upid: upid, layer: t.TextField(data, n.layer)}
	if actual {
		f.read()
	}
	name := t.Store.Strings.Intern(strconv.FormatInt(token, 10))
	slice := t.Slices.Begin(ts, track, 0, name, f.args(actual))
	if slice == model.None {
		return
	}
	if !actual {
		f.storeExpected(track)
		return
	}
	f.storeActual(track)
	if n.surface {
		t.surfaces[f.display] = append(t.surfaces[f.display], slice)
		return
	}
	// The surface frames are known: apps draw before the compositor works on a frame.
	for _, surface := range t.surfaces[token] {
		t.Flows.Link(surface, slice)
	}
	delete(t.surfaces, token)
}

// frame is one frame, decoded.
type frame struct {
	timeline       *frameTimeline
	data           []byte
	fields         *frameFields
	token, display int64
	upid           model.UPID
	layer          model.StringID

	present, newPresent, jank, newJank, severity, prediction, tag, newTag model.StringID
}

var (
	presentTypes    = []string{"Unspecified Present", "On-time Present", "Late Present", "Early Present", "Dropped Frame", "Unknown Present"}
	predictionTypes = []string{"Unspecified Prediction", "Valid Prediction", "Expired Prediction", "Unknown Prediction"}
	severityTypes   = []string{"Unknown", "None", "Partial", "Full"}
	fenceStates     = []string{"Unknown", "Latched Signaled", "Latched Unsignaled", "Delayed Latch Fence Unsignaled"}
)

const presentDropped = androidpb.FrameTimelineEvent_PresentType_PresentDropped

// Bits of JankType.
const (
	jankNone            = androidpb.FrameTimelineEvent_JankType_JankNone
	jankSFScheduling    = androidpb.FrameTimelineEvent_JankType_JankSfScheduling
	jankPrediction      = androidpb.FrameTimelineEvent_JankType_JankPredictionError
	jankDisplayHAL      = androidpb.FrameTimelineEvent_JankType_JankDisplayHal
	jankSFCPU           = androidpb.FrameTimelineEvent_JankType_JankSfCPUDeadlineMissed
	jankSFGPU           = androidpb.FrameTimelineEvent_JankType_JankSfGPUDeadlineMissed
	jankApp             = androidpb.FrameTimelineEvent_JankType_JankAppDeadlineMissed
	jankBufferStuffing  = androidpb.FrameTimelineEvent_JankType_JankBufferStuffing
	jankUnknown         = androidpb.FrameTimelineEvent_JankType_JankUnknown
	jankSFStuffing      = androidpb.FrameTimelineEvent_JankType_JankSfStuffing
	jankDropped         = androidpb.FrameTimelineEvent_JankType_JankDropped
	jankNonAnimating    = androidpb.FrameTimelineEvent_JankType_JankNonAnimating
	jankAppJitter       = androidpb.FrameTimelineEvent_JankType_JankAppResyncedJitter
	jankDisplayNotOn    = androidpb.FrameTimelineEvent_JankType_JankDisplayNotOn
	jankModeChange      = androidpb.FrameTimelineEvent_JankType_JankDisplayModeChangeInProgress
	jankPowerModeChange = androidpb.FrameTimelineEvent_JankType_JankDisplayPowerModeChangeInProgress

	// Causes by responsibility.
	jankByDisplay = jankSFScheduling | jankPrediction | jankDisplayHAL | jankSFCPU | jankSFGPU
	jankByApp     = jankApp | jankAppJitter | jankUnknown
)

// jankNames are the causes of jank, in the order in which they are listed.
var jankNames = []struct {
	bit  int32
	name string
}{
	{jankSFScheduling, "SurfaceFlinger Scheduling"}, {jankPrediction, "Prediction Error"}, {jankDisplayHAL, "Display HAL"},
	{jankSFCPU, "SurfaceFlinger CPU Deadline Missed"}, {jankSFGPU, "SurfaceFlinger GPU Deadline Missed"},
	{jankApp, "App Deadline Missed"}, {jankAppJitter, "App Resynced Jitter"}, {jankBufferStuffing, "Buffer Stuffing"},
	{jankUnknown, "Unknown Jank"}, {jankSFStuffing, "SurfaceFlinger Stuffing"}, {jankDropped, "Dropped Frame"},
	{jankNonAnimating, "Non Animating"}, {jankDisplayNotOn, "Display not ON"}, {jankModeChange, "ModeChange in progress"},
	{jankPowerModeChange, "PowerModeChange in progress"},
}

func jankText(jank int32) string {
	switch jank {
	case androidpb.FrameTimelineEvent_JankType_JankUnspecified:
		return "Unspecified"
	case jankNone:
		return "None"
	}
	var causes []string
	for _, c := range jankNames {
		if jank&c.bit != 0 {
			causes = append(causes, c.name)
		}
	}
	return strings.Join(causes, ", ")
}

// jankTag names the party responsible for jank.
func jankTag(jank, present int32, surface bool) string {
	perceivable := jank != jankNone && jank != jankNonAnimating && jank != jankDisplayNotOn
	byDisplay := perceivable && jank&jankByDisplay != 0
	switch {
	case jank == 0:
		return "Unspecified"
	case surface && perceivable && jank&jankByApp != 0, !surface && byDisplay:
		return "Self Jank"
	case byDisplay:
		return "Other Jank"
	case surface && jank == jankBufferStuffing:
		return "Buffer Stuffing"
	case jank == jankSFStuffing:
		return "SurfaceFlinger Stuffing"
	case surface && present == presentDropped, !surface && jank == jankDropped:
		return "Dropped Frame"
	case jank == jankNonAnimating, jank == jankDisplayNotOn, jank == jankPowerModeChange:
		return "Non-perceivable Jank"
	}
	return "No Jank"
}

func (f *frame) int32(number uint32) int32 { return message.Int32(f.data, number) }

func (f *frame) word(s string) model.StringID { return f.timeline.Store.Strings.Intern(s) }

// enum returns a field's value and name, or the enum's first if the field has none.
func (f *frame) enum(number uint32, names []string) (int32, model.StringID) {
	if !message.Has(f.data, number) {
		return 0, f.word(names[0])
	}
	v := f.int32(number)
	if v < 1 || int(v) >= len(names) {
		f.timeline.File.Count(model.StatFrameTimelineEventParserErrors)
		return 0, f.word(names[0])
	}
	return v, f.word(names[v])
}

// read decodes the fields of an actual frame.
func (f *frame) read() {
	n := f.fields
	present, newPresent := int32(0), int32(0)
	present, f.present = f.enum(n.present, presentTypes)
	newPresent, f.newPresent = f.enum(n.newPresent, presentTypes)
	_, f.prediction = f.enum(n.prediction, predictionTypes)
	jank, newJank := f.int32(n.jank), f.int32(n.newJank)
	f.jank, f.newJank = f.word(jankText(jank)), f.word(jankText(newJank))
	f.tag, f.newTag = f.word(jankTag(jank, present, n.surface)), f.word(jankTag(newJank, newPresent, n.surface))
	// Before severity was recorded, a frame without jank means severity "None".
	severity := f.int32(n.severity)
	if !message.Has(f.data, n.severity) && jank == jankNone {
		severity = 1
	}
	f.severity = f.word(severityTypes[0])
	if severity >= 0 && int(severity) < len(severityTypes) {
		f.severity = f.word(severityTypes[severity])
	}
}

func (f *frame) args(actual bool) model.ArgSource {
	return model.ArgFunc(func(set *model.ArgSet) {
		if f.fields.surface {
			set.Add(f.word("Surface frame token"), model.IntArg(f.token))
		}
		set.Add(f.word("Display frame token"), model.IntArg(f.display))
		if actual {
			f.actualArgs(set)
		} else if f.fields.surface {
			set.Add(f.word("Layer name"), model.StringArg(f.layer))
		}
	})
}

func (f *frame) actualArgs(set *model.ArgSet) {
	n := f.fields
	real := func(key string, number uint32) { set.Add(f.word(key), model.RealArg(message.Float64(f.data, number))) }
	number := func(key string, number uint32) { set.Add(f.word(key), model.IntArg(message.Int64(f.data, number))) }
	text := func(key string, id model.StringID) { set.Add(f.word(key), model.StringArg(id)) }
	if message.Has(f.data, n.animation) {
		real("Animation Time (ms)", n.animation)
	}
	real("Present Delay (ms)", n.delay)
	if n.surface {
		real("Vsync Resynced Jitter (ms)", n.jitter)
		text("Layer name", f.layer)
	}
	text("Present type", f.present)
	text("Present type (experimental)", f.newPresent)
	number("On time finish", n.onTime)
	number("GPU composition", n.gpu)
	text("Jank type", f.jank)
	text("Jank type (experimental)", f.newJank)
	text("Jank severity type", f.severity)
	real("Jank Severity Score", n.score)
	text("Prediction type", f.prediction)
	text("Jank tag", f.tag)
	text("Jank tag (experimental)", f.newTag)
	if n.surface {
		text("Is Buffer?", f.word(f.buffer()))
	}
	real("Jank Metadata (debugging only)", n.debug)
	if message.Has(f.data, n.unsignaled) {
		number("Latched unsignaled count", n.unsignaled)
	}
	if message.Has(f.data, n.addressable) {
		number("Addressable unsignaled latch count", n.addressable)
	}
	if fence := f.fence(); fence != 0 {
		text("Latched fence state", fence)
	}
}

func (f *frame) buffer() string {
	switch {
	case !message.Has(f.data, f.fields.isBuffer):
		return "Unspecified"
	case f.int32(f.fields.isBuffer) != 0:
		return "Yes"
	}
	return "No"
}

func (f *frame) fence() model.StringID {
	if v := f.int32(f.fields.fence); message.Has(f.data, f.fields.fence) && v >= 0 && int(v) < len(fenceStates) {
		return f.word(fenceStates[v])
	}
	return 0
}

func (f *frame) storeExpected(track model.TrackID) {
	t := &f.timeline.Store.ExpectedFrameTimelineSlice
	row := f.timeline.Slices.Child(track, &t.Table)
	t.DisplayFrameToken.Set(row, f.display)
	t.UPID.Set(row, f.upid)
	t.LayerName.Set(row, f.layer)
	if f.fields.surface {
		t.SurfaceFrameToken.Set(row, f.token)
	}
}

func (f *frame) storeActual(track model.TrackID) {
	t, n := &f.timeline.Store.ActualFrameTimelineSlice, f.fields
	row := f.timeline.Slices.Child(track, &t.Table)
	t.DisplayFrameToken.Set(row, f.display)
	t.UPID.Set(row, f.upid)
	t.LayerName.Set(row, f.layer)
	if n.surface {
		t.SurfaceFrameToken.Set(row, f.token)
	}
	t.PresentType.Set(row, f.present)
	t.OnTimeFinish.Set(row, f.int32(n.onTime) != 0)
	t.GPUComposition.Set(row, f.int32(n.gpu) != 0)
	t.JankType.Set(row, f.jank)
	t.JankSeverityType.Set(row, f.severity)
	t.PredictionType.Set(row, f.prediction)
	t.JankTag.Set(row, f.tag)
	t.JankTagExperimental.Set(row, f.newTag)
	t.JankScore.Set(row, message.Float64(f.data, n.score))
	if message.Has(f.data, n.unsignaled) {
		t.LatchedUnsignaledCount.Set(row, message.Int64(f.data, n.unsignaled))
	}
	if message.Has(f.data, n.addressable) {
		t.AddressableUnsignaledLatchCount.Set(row, message.Int64(f.data, n.addressable))
	}
	t.LatchedFenceState.Set(row, f.fence())
}
