package model

import (
	"github.com/tpconvert/tpconvert/internal/paged"
)

// FlowID is the id by which a trace links the slices of a flow.
type FlowID uint64

// v1Space are the FlowIDs of flows of phases s, t and f: their number, apart from the ids that slices name.
const v1Space FlowID = 1 << 63

// Flows stores the arrows between slices.
type Flows struct {
	context *Context
	open    paged.Map[flowEnd] // by FlowID
	v1      paged.List[FlowKey]
	v1Index paged.Index // of v1, by hash
	scratch ArgSet
}

// flowEnd is the last slice that a flow reached, and its ts in ns.
type flowEnd struct {
	slice SliceID
	ts    int64
	ended bool // a later begin may use the id again
}

// waitingFlow is a flow that ends at the next slice of a track.
type waitingFlow struct {
	flow FlowID
	last flowEnd // its slice is None if the flow had not begun anew: the begin may follow at the same time
}

// FlowKey identifies a flow of phases s, t and f.
type FlowKey struct {
	ID             uint64
	Text           bool // the id is a StringID
	Process        UPID // the process that the id belongs to, if Local
	Local          bool
	Category, Name StringID
}

// V1 returns the FlowID of a flow of phases s, t and f.
func (f *Flows) V1(v1 FlowKey) FlowID {
	key := v1.hash()
	flow, ok := f.v1Index.Find(key, f.hashOf)
	if !ok {
		flow = f.v1.Append(v1)
		f.v1Index.Set(key, flow, f.hashOf)
	}
	return FlowID(flow) | v1Space
}

func (v FlowKey) hash() uint64 {
	key := paged.Mix(v.ID, uint64(uint32(v.Category))<<32|uint64(uint32(v.Name)))
	if v.Text {
		key = paged.Mix(key, 1)
	}
	if v.Local {
		key = paged.Mix(key, uint64(v.Process)+2)
	}
	return key
}

func (f *Flows) hashOf(flow int) uint64 { return f.v1.At(flow).hash() }

// Active reports whether the flow has begun.
func (f *Flows) Active(flow FlowID) bool {
	return f.open.Get(uint64(flow)) != nil
}

// Begin starts a flow at the slice of the track that encloses ts (ns).
func (f *Flows) Begin(track TrackID, ts int64, flow FlowID) {
	if slice, start := f.enclosing(track, ts); slice != None {
		f.BeginAt(slice, start, flow)
	}
}

// BeginAt starts a flow at a slice that starts at ts (ns). One of the same id that was begun before has no end, and is counted.
func (f *Flows) BeginAt(slice SliceID, ts int64, flow FlowID) {
	last := f.open.Get(uint64(flow))
	if last == nil {
		f.open.Add(uint64(flow), flowEnd{slice: slice, ts: ts})
		return
	}
	if !last.ended {
		f.context.File.Count(StatFlowDuplicateID)
	}
	*last = flowEnd{slice: slice, ts: ts}
}

// Step leads a flow through the slice of the track that encloses ts (ns).
func (f *Flows) Step(track TrackID, ts int64, flow FlowID) {
	if slice, start := f.enclosing(track, ts); slice != None {
		f.step(slice, start, flow, true)
	}
}

// StepAt leads a flow through a slice that starts at ts (ns).
func (f *Flows) StepAt(slice SliceID, ts int64, flow FlowID) {
	f.step(slice, ts, flow, flow&v1Space != 0)
}

func (f *Flows) step(slice SliceID, ts int64, flow FlowID, directed bool) {
	if f.arrow(slice, ts, flow, directed, StatFlowStepWithoutStart) {
		*f.open.Get(uint64(flow)) = flowEnd{slice: slice, ts: ts}
	}
}

// End ends a flow at the slice of the track that encloses ts (ns). If close is true, no other end follows.
func (f *Flows) End(track TrackID, ts int64, flow FlowID, close bool) {
	if slice, start := f.enclosing(track, ts); slice != None {
		f.end(slice, start, flow, true, close)
	}
}

// EndAt ends a flow at a slice that starts at ts (ns).
func (f *Flows) EndAt(slice SliceID, ts int64, flow FlowID, close bool) {
	f.end(slice, ts, flow, flow&v1Space != 0, close)
}

func (f *Flows) end(slice SliceID, ts int64, flow FlowID, directed, close bool) {
	switch {
	case !f.arrow(slice, ts, flow, directed, StatFlowEndWithoutStart):
	case close:
		f.open.Delete(uint64(flow))
	default:
		f.open.Get(uint64(flow)).ended = true
	}
}

// EndAtNext ends a flow at the next slice that starts on the track.
func (f *Flows) EndAtNext(track TrackID, flow FlowID) {
	waiting := waitingFlow{flow, flowEnd{slice: None}}
	if last := f.open.Get(uint64(flow)); last != nil && !last.ended {
		waiting.last = *last
		last.ended = true
	}
	on := f.context.Slices.track(track)
	on.waiting = append(on.waiting, waiting)
}

// arrow connects slice with the last slice that the flow reached. If the flow has no direction, the arrow points from the
// earlier slice to the later.
func (f *Flows) arrow(slice SliceID, ts int64, flow FlowID, directed bool, missing Stat) bool {
	last := f.open.Get(uint64(flow))
	if last == nil {
		f.context.File.Count(missing)
		return false
	}
	if last.ts > ts && !directed {
		f.insert(flow, slice, last.slice)
	} else {
		f.insert(flow, last.slice, slice)
	}
	return true
}

// bind ends the flows that wait for the next slice of a track.
func (f *Flows) bind(on *slicesOfTrack, slice SliceID) {
	for _, w := range on.waiting {
		if last := f.open.Get(uint64(w.flow)); w.last.slice == None && last != nil {
			w.last = *last
			last.ended = true
		}
		if w.last.slice != None {
			f.insert(w.flow, w.last.slice, slice)
		} else {
			f.context.File.Count(StatFlowEndWithoutStart)
		}
	}
	on.waiting = on.waiting[:0]
}

// BindNext ends the flows that wait for the next slice of a track at a slice on another track.
func (f *Flows) BindNext(track TrackID, slice SliceID) {
	if on := f.context.Slices.track(track); len(on.waiting) > 0 {
		f.bind(on, slice)
	}
}

func (f *Flows) enclosing(track TrackID, ts int64) (SliceID, int64) {
	slice, start := f.context.Slices.Enclosing(track, ts)
	if slice == None {
		f.context.File.Count(StatFlowNoEnclosingSlice)
	}
	return slice, start
}

func (f *Flows) insert(flow FlowID, out, in SliceID) {
	row := f.Link(out, in)
	s := f.context.Store
	number := flow &^ v1Space
	if flow&v1Space == 0 || number >= FlowID(f.v1.Len()) {
		s.Flow.LocalTraceID.Set(row, int64(flow))
	} else {
		s.Flow.LocalTraceID.Set(row, int64(number))
		v1 := f.v1.At(int(number))
		f.scratch.Reset()
		f.scratch.Add(s.Strings.Intern("name"), StringArg(v1.Name))
		f.scratch.Add(s.Strings.Intern("cat"), StringArg(v1.Category))
		s.SetArgs(&s.Flow.ArgSetID, row, &f.scratch)
	}
}

// Link draws a single arrow, not part of a longer flow, and returns its row.
func (f *Flows) Link(out, in SliceID) int64 {
	t := &f.context.Store.Flow
	row := t.Append()
	t.SliceOut.Set(row, out)
	t.SliceIn.Set(row, in)
	return row
}
