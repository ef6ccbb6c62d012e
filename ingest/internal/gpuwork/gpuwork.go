// Package gpuwork makes rows of what profiles of GPUs have in common: the work of each stream, the
// calls that launched it, and the calls of a thread.
package gpuwork

import (
	"strconv"

	"github.com/tpconvert/tpconvert/internal/paged"
	"github.com/tpconvert/tpconvert/model"
)

// The categories of work, as PyTorch calls them.
const (
	Kernel = "kernel"
	Copy   = "gpu_memcpy"
	Set    = "gpu_memset"
)

var (
	streams = model.AsyncBlueprint(model.Blueprint{Classification: "gpu_stream", Dims: []string{"ugpu", "upid", "stream_id"}})
	// overlapping are the slices of a thread that neither nest in others nor follow them.
	overlapping = model.AsyncBlueprint(model.Blueprint{Classification: "thread_overlapping_slice", Dims: []string{"utid"}})
)

// Tracker makes the rows.
type Tracker struct {
	*model.Context
	launches paged.Map[model.SliceID] // calls, by hash of process and correlation id
	early    map[uint64][]early       // work that began before its call, because clocks differ, by the same
	order    []uint64                 // keys of early, oldest first
	names    map[int64]model.StringID // of streams
}

type early struct {
	slice       model.SliceID
	correlation int64
}

// New returns a tracker for a file.
func New(c *model.Context) *Tracker {
	return &Tracker{Context: c, early: map[uint64][]early{}, names: map[int64]model.StringID{}}
}

// Work is what a GPU does in a stream.
type Work struct {
	TS, Dur        int64 // ns
	UGPU           model.UGPU
	UPID           model.UPID
	Stream         int64
	StreamName     model.StringID // 0 for one made of the number
	Context        int64          // model.None if unknown
	Category, Name model.StringID
	Correlation    int64 // of the call that launched it in this process, model.None if unknown
	Args           model.ArgSource
}

// Add adds work and returns its slice, or model.None.
func (t *Tracker) Add(w Work) model.SliceID {
	if w.StreamName == 0 {
		name := t.names[w.Stream]
		if name == 0 {
			name = t.Store.Strings.Intern("Stream " + strconv.FormatInt(w.Stream, 10))
			t.names[w.Stream] = name
		}
		w.StreamName = name
	}
	track := t.Async.Overlapping(streams, &model.TrackOptions{Name: w.StreamName}, w.TS, w.Dur,
		model.IntDim(w.UGPU), model.IntDim(w.UPID), model.IntDim(w.Stream))
	slice := t.Slices.Scoped(w.TS, w.Dur, track, w.Category, w.Name, w.Args)
	if slice == model.None {
		return slice
	}
	gpu := &t.Store.GPUSlice
	row := t.Slices.Child(track, &gpu.Table)
	gpu.HWQueueID.Set(row, w.Stream)
	if w.UPID != model.None {
		gpu.UPID.Set(row, w.UPID)
	}
	if w.Context != model.None {
		gpu.ContextID.Set(row, w.Context)
	}
	if w.Correlation == model.None {
		return slice
	}
	gpu.SubmissionID.Set(row, w.Correlation)
	key := key(w.UPID, w.Correlation)
	if call := t.launches.Get(key); call != nil {
		t.link(*call, slice, w.Correlation)
	} else {
		t.wait(key, early{slice, w.Correlation})
	}
	return slice
}

// maxEarly is how much work may wait for its call. What waits longer has no call in the profile.
const maxEarly = 1 << 12

func (t *Tracker) wait(key uint64, e early) {
	t.early[key] = append(t.early[key], e)
	t.order = append(t.order, key)
	if len(t.order) == 2*maxEarly {
		for _, old := range t.order[:maxEarly] {
			delete(t.early, old)
		}
		t.order = append(t.order[:0], t.order[maxEarly:]...)
	}
}

// Call adds a call of a thread, which launches the work of its process with this correlation id, unless that is None.
// A call without an end has a negative duration. It returns the call's slice, or model.None.
func (t *Tracker) Call(ts, dur int64, utid model.UTID, category, name model.StringID, correlation int64, args model.ArgSource) model.SliceID {
	track := t.Tracks.Thread(utid)
	var slice model.SliceID
	if dur < 0 {
		slice = t.Slices.Begin(ts, track, category, name, args)
	} else {
		var overlap *model.Overlap
		if slice, overlap = t.Slices.ScopedOr(ts, dur, track, category, name, args); overlap != nil {
			t.File.LogTime(model.StatSliceSpillOverlappingCompleteEvent, ts, model.ArgFunc(func(set *model.ArgSet) { overlap.AddArgs(t.Store, set) }))
			track = t.Async.Overlapping(overlapping, nil, ts, dur, model.IntDim(utid))
			slice = t.Slices.Scoped(ts, dur, track, category, name, args)
		}
	}
	if slice == model.None || correlation == model.None {
		return slice
	}
	key := key(t.Machine.ProcessOf(utid), correlation)
	if t.launches.Get(key) != nil { // the calls of an API may be inside those of another with the same id
		return slice
	}
	t.launches.Add(key, slice)
	for _, e := range t.early[key] {
		t.link(slice, e.slice, e.correlation)
	}
	delete(t.early, key)
	return slice
}

func (t *Tracker) link(call, work model.SliceID, correlation int64) {
	t.Store.Flow.LocalTraceID.Set(t.Flows.Link(call, work), correlation)
}

// key hashes a process and a correlation id. Both are below 2^32 in practice, so that keys differ.
func key(upid model.UPID, correlation int64) uint64 {
	return uint64(correlation) ^ uint64(upid)<<40 ^ uint64(upid)>>24
}
