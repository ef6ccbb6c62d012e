package model

import (
	"github.com/tpconvert/tpconvert/internal/hash"
	"github.com/tpconvert/tpconvert/internal/paged"
)

// FlowID is the id by which a trace links the slices of a flow.
type FlowID uint64

// Flows stores the arrows between slices.
type Flows struct {
	context *Context
	open    paged.Map[flowEnd] // by FlowID
	v1      paged.List[v1Flow] // by FlowID
	v1Index paged.Index        // of v1, by hash
	scratch ArgSet
}

// flowEnd is the last slice that a flow reached, and its ts in ns.
type flowEnd struct {
	slice SliceID
	ts    int64
}

type v1Flow struct {
	id             uint64
	category, name StringID
}

// V1 returns the FlowID of a flow of phases s, t and f, which is identified by
// id, category and name.
func (f *Flows) V1(id uint64, category, name StringID) FlowID {
	v1 := v1Flow{id, category, name}
	key := v1.hash()
	flow, ok := f.v1Index.Find(key, f.hashOf)
	if !ok {
		flow = f.v1.Append(v1)
		f.v1Index.Set(key, flow, f.hashOf)
	}
	return FlowID(flow)
}

func (v v1Flow) hash() uint64 {
	return hash.Mix(v.id, uint64(uint32(v.category))<<32|uint64(uint32(v.name)))
}

func (f *Flows) hashOf(flow int) uint64 { return f.v1.At(flow).hash() }

// Active reports whether the flow has begun.
func (f *Flows) Active(flow FlowID) bool {
	return f.open.Get(uint64(flow)) != nil
}

// Begin starts a flow at the innermost open slice of the track.
func (f *Flows) Begin(track TrackID, flow FlowID) {
	if slice, ts := f.enclosing(track); slice != None {
		f.BeginAt(slice, ts, flow)
	}
}

// BeginAt starts a flow at a slice that starts at ts (ns).
func (f *Flows) BeginAt(slice SliceID, ts int64, flow FlowID) {
	if f.Active(flow) {
		f.context.File.Count(StatFlowDuplicateID)
		return
	}
	f.open.Add(uint64(flow), flowEnd{slice, ts})
}

// Step leads a flow through the innermost open slice of the track.
func (f *Flows) Step(track TrackID, flow FlowID) {
	if slice, ts := f.enclosing(track); slice != None {
		f.StepAt(slice, ts, flow)
	}
}

// StepAt leads a flow through a slice that starts at ts (ns).
func (f *Flows) StepAt(slice SliceID, ts int64, flow FlowID) {
	if f.arrow(slice, ts, flow, StatFlowStepWithoutStart) {
		*f.open.Get(uint64(flow)) = flowEnd{slice, ts}
	}
}

// End ends a flow at the innermost open slice of the track or, if enclosing is
// false, at the next slice that starts on it. If close is true, a later Begin
// may use the id again.
func (f *Flows) End(track TrackID, flow FlowID, enclosing, close bool) {
	if !enclosing {
		on := f.context.Slices.track(track)
		on.pendingFlow = append(on.pendingFlow, flow)
		return
	}
	if slice, ts := f.enclosing(track); slice != None {
		f.EndAt(slice, ts, flow, close)
	}
}

// EndAt ends a flow at a slice that starts at ts (ns).
func (f *Flows) EndAt(slice SliceID, ts int64, flow FlowID, close bool) {
	if f.arrow(slice, ts, flow, StatFlowEndWithoutStart) && close {
		f.open.Delete(uint64(flow))
	}
}

// arrow connects slice with the last slice that the flow reached; the arrow
// points from the earlier slice to the later.
func (f *Flows) arrow(slice SliceID, ts int64, flow FlowID, missing Stat) bool {
	last := f.open.Get(uint64(flow))
	if last == nil {
		f.context.File.Count(missing)
		return false
	}
	if last.ts > ts {
		f.insert(flow, slice, last.slice)
	} else {
		f.insert(flow, last.slice, slice)
	}
	return true
}

// bind ends the flows waiting for the next slice on a track.
func (f *Flows) bind(on *slicesOfTrack, slice SliceID) {
	for _, flow := range on.pendingFlow {
		if last := f.open.Get(uint64(flow)); last != nil {
			f.insert(flow, last.slice, slice)
		} else {
			f.context.File.Count(StatFlowEndWithoutStart)
		}
	}
	on.pendingFlow = on.pendingFlow[:0]
}

func (f *Flows) enclosing(track TrackID) (SliceID, int64) {
	slice, ts := f.context.Slices.Top(track)
	if slice == None {
		f.context.File.Count(StatFlowNoEnclosingSlice)
	}
	return slice, ts
}

func (f *Flows) insert(flow FlowID, out, in SliceID) {
	row := f.Link(out, in)
	s := f.context.Store
	s.Flow.LocalTraceID.Set(row, int64(flow))
	if flow < FlowID(f.v1.Len()) {
		v1 := f.v1.At(int(flow))
		f.scratch.Reset()
		f.scratch.Add(s.Strings.Intern("name"), StringArg(v1.name))
		f.scratch.Add(s.Strings.Intern("cat"), StringArg(v1.category))
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
