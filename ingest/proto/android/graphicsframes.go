package android

import (
	"fmt"
	"strconv"

	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

// graphicsFrames follows buffers from an app through the GPU and the compositor to the
// display. Each event is a slice on its buffer's track. Between events the buffer is
// in a phase, which is a slice on a separate track:
//
//	APP      from dequeue to queue
//	GPU      from queue to the signal of the acquire fence
//	SF       from latch to present
//	Display  from present to the next present of the layer
type graphicsFrames struct {
	*proto.Reader
	buffers  map[string]*buffer // by id and layer: layers may share a buffer
	displays map[string]bool    // layers with an open Display slice
}

// buffer is the state of a buffer. Times are in ns, 0 if there was no such event.
type buffer struct {
	acquired, queued, latched int64
	dequeuedLast              bool // the last event was a dequeue
	acquiredEver              bool

	phase   bufferPhase
	track   model.TrackID // of the open phase
	slice   model.SliceID
	row     int64 // the slice's row in frame_slice
	started int64
}

type bufferPhase uint8

const (
	noPhase bufferPhase = iota
	appPhase
	gpuPhase
	compositorPhase
)

func bufferEvents(r *proto.Reader) *proto.Module {
	g := &graphicsFrames{Reader: r, buffers: map[string]*buffer{}, displays: map[string]bool{}}
	return &proto.Module{Fields: []uint32{pb.TracePacket_GraphicsFrameEvent}, Parse: g.parse}
}

var bufferTracks = &model.Blueprint{Classification: "graphics_frame_event", Dims: []string{"name"}}

func (g *graphicsFrames) track(format string, args ...any) model.TrackID {
	name := g.Store.Strings.Intern(fmt.Sprintf(format, args...))
	return g.Tracks.Intern(bufferTracks, &model.TrackOptions{Name: name}, model.StringDim(name))
}

// bufferEventNames are the names of BufferEvent's types.
var bufferEventNames = []string{"unspecified_event", "Dequeue", "Queue", "Post", "AcquireFenceSignaled", "Latch", "HWCCompositionQueued",
	"FallbackComposition", "PresentFenceSignaled", "ReleaseFenceSignaled", "Modify", "Detach", "Attach", "Cancel"}

const (
	bufferDequeue = 1
	bufferQueue   = 2
	bufferAcquire = 4
	bufferLatch   = 5
	bufferPresent = 8
)

// bufferEvent is a BufferEvent, decoded.
type bufferEvent struct {
	ts        int64
	id, frame int64
	kind      int32
	hasKind   bool
	layer     []byte
	layerName model.StringID
	dur       int64
}

func (g *graphicsFrames) parse(e *proto.Event) {
	data := message.Bytes(e.Data, pb.GraphicsFrameEvent_BufferEvent)
	if data == nil {
		return
	}
	if !message.Has(data, pb.GraphicsFrameEvent_BufferEvent_BufferID) {
		g.File.Count(model.StatGraphicsFrameEventParserErrors)
		return
	}
	event := bufferEvent{ts: e.TS, layerName: g.Store.Strings.Intern("no_layer_name")}
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case pb.GraphicsFrameEvent_BufferEvent_FrameNumber:
			event.frame = int64(f.Uint32())
		case pb.GraphicsFrameEvent_BufferEvent_Type:
			event.kind, event.hasKind = f.Int32(), true
		case pb.GraphicsFrameEvent_BufferEvent_LayerName:
			event.layer, event.layerName = f.Bytes(), g.TextID(f.Bytes())
		case pb.GraphicsFrameEvent_BufferEvent_DurationNS:
			event.dur = f.Int64()
		case pb.GraphicsFrameEvent_BufferEvent_BufferID:
			event.id = int64(f.Uint32())
		}
	}
	key := strconv.FormatInt(event.id, 10) + string(event.layer)
	b := g.buffers[key]
	if b == nil {
		b = &buffer{}
		g.buffers[key] = b
	}
	g.event(&event, b)
	g.phase(&event, b)
}

// event stores the slice of an event.
func (g *graphicsFrames) event(e *bufferEvent, b *buffer) {
	switch e.kind {
	case bufferDequeue:
	case bufferAcquire:
		b.acquired = e.ts
	case bufferQueue:
		b.queued = e.ts
	case bufferLatch:
		b.latched = e.ts
	default:
		g.File.Count(model.StatGraphicsFrameEventParserErrors)
	}
	afterDequeue := b.dequeuedLast
	b.dequeuedLast = e.kind == bufferDequeue
	name := "unknown_event"
	if e.hasKind && e.kind >= 0 && int(e.kind) < len(bufferEventNames) {
		name = bufferEventNames[e.kind]
	}
	track := g.track("Buffer: %d %s", e.id, e.layer)
	if e.kind == bufferQueue && afterDequeue {
		g.Slices.AddArgs(track, 0, 0, g.frameArg(e.frame)) // not known at the dequeue
	}
	slice := g.Slices.Scoped(e.ts, e.dur, track, 0, g.Store.Strings.Intern(name), model.ArgFunc(func(set *model.ArgSet) {
		intern := g.Store.Strings.Intern
		set.Add(intern("frame_number"), model.IntArg(e.frame))
		set.Add(intern("layer_name"), model.StringArg(e.layerName))
		set.Add(intern("queue_to_acquire_time"), model.IntArg(max(b.acquired-b.queued, 0)))
		set.Add(intern("acquire_to_latch_time"), model.IntArg(b.latched-b.acquired))
		set.Add(intern("latch_to_present_time"), model.IntArg(e.ts-b.latched))
	}))
	if slice != model.None {
		t := &g.Store.FrameSlice
		row := g.child(e, track)
		t.QueueToAcquireTime.Set(row, max(b.acquired-b.queued, 0))
		t.AcquireToLatchTime.Set(row, b.latched-b.acquired)
		t.LatchToPresentTime.Set(row, e.ts-b.latched)
	}
}

// child adds the row of the track's innermost slice to frame_slice.
func (g *graphicsFrames) child(e *bufferEvent, track model.TrackID) int64 {
	t := &g.Store.FrameSlice
	row := g.Slices.Child(track, &t.Table)
	t.LayerName.Set(row, e.layerName)
	t.FrameNumber.Set(row, e.frame)
	return row
}

func (g *graphicsFrames) frameArg(frame int64) model.ArgSource {
	return model.ArgFunc(func(set *model.ArgSet) { set.Add(g.Store.Strings.Intern("frame_number"), model.IntArg(frame)) })
}

// phase ends the buffer's phase and begins the next, as the event requires.
func (g *graphicsFrames) phase(e *bufferEvent, b *buffer) {
	switch e.kind {
	case bufferDequeue:
		g.loseApp(b)
		g.begin(e, b, appPhase, g.track("APP_%d %s", e.id, e.layer))
		b.started = e.ts
	case bufferQueue:
		if b.phase == appPhase {
			g.setFrame(b, e.frame)
			g.Slices.End(e.ts, b.track, 0, 0, nil)
			// The fence may be signaled before the buffer is queued.
			if b.acquiredEver && b.acquired > b.started {
				b.phase = noPhase
				return
			}
		}
		g.begin(e, b, gpuPhase, g.track("GPU_%d %s", e.id, e.layer))
	case bufferAcquire:
		if b.phase == gpuPhase {
			g.Slices.End(e.ts, b.track, 0, 0, nil)
			b.phase = noPhase
		}
		b.acquiredEver = true
	case bufferLatch:
		g.loseApp(b) // the queue event can be missing
		g.begin(e, b, compositorPhase, g.track("SF_%d %s", e.id, e.layer))
	case bufferPresent:
		if b.phase == compositorPhase {
			g.Slices.End(e.ts, b.track, 0, 0, nil)
			b.phase = noPhase
		}
		track := g.track("Display_%s", e.layer)
		if g.displays[string(e.layer)] {
			g.Slices.End(e.ts, track, 0, 0, nil)
		}
		g.displays[string(e.layer)] = true
		g.insert(e, track)
	}
}

func (g *graphicsFrames) begin(e *bufferEvent, b *buffer, phase bufferPhase, track model.TrackID) {
	b.slice, b.row = g.insert(e, track)
	b.phase, b.track = phase, track
	if b.slice == model.None && phase == appPhase {
		b.phase = noPhase
	}
}

// insert begins a slice named after the frame number or, if that is unknown, after the
// time, to keep names distinct. It returns the slice and its row in frame_slice.
func (g *graphicsFrames) insert(e *bufferEvent, track model.TrackID) (slice model.SliceID, row int64) {
	name := e.ts
	if e.frame != 0 {
		name = e.frame
	}
	id := g.Store.Strings.Intern(strconv.FormatInt(name, 10))
	slice = g.Slices.Begin(e.ts, track, 0, id, model.ArgFunc(func(set *model.ArgSet) {
		set.Add(g.Store.Strings.Intern("frame_number"), model.IntArg(e.frame))
		set.Add(g.Store.Strings.Intern("layer_name"), model.StringArg(e.layerName))
	}))
	if slice != model.None {
		row = g.child(e, track)
	}
	return slice, row
}

// loseApp marks an app phase whose end is missing.
func (g *graphicsFrames) loseApp(b *buffer) {
	if b.phase == appPhase {
		g.setFrame(b, 0)
		b.phase = noPhase
	}
}

// setFrame sets the frame number of the open phase, which is also its slice's name.
func (g *graphicsFrames) setFrame(b *buffer, frame int64) {
	g.Store.Slice.Name.Set(int64(b.slice), g.Store.Strings.Intern(strconv.FormatInt(frame, 10)))
	g.Store.FrameSlice.FrameNumber.Set(b.row, frame)
	g.Slices.AddArgs(b.track, 0, 0, g.frameArg(frame))
}
