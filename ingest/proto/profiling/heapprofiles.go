package profiling

import (
	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/javanames"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/ingest/proto/stacks"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
)

// heapReader reads the dumps of heapprofd, which samples allocations, and of samplers of
// other heaps that write the same packets.
type heapReader struct {
	*proto.Reader
	profiles map[heapDump]bool      // dumps that have a row
	open     map[*heapSequence]bool // sequences with an unfinished profile
}

// heapDump identifies a dump of a heap. Packets that continue it repeat its head.
type heapDump struct {
	upid model.UPID
	end  int64
	heap model.StringID // zero in old traces
}

func heapProfiles(r *proto.Reader) *proto.Module {
	h := &heapReader{r, map[heapDump]bool{}, map[*heapSequence]bool{}}
	return &proto.Module{
		Fields: []uint32{pb.TracePacket_ProfilePacket},
		Parse:  h.parse,
		End: func() {
			for range h.open {
				r.File.Count(model.StatHeapprofdNonFinalizedProfile)
			}
		},
	}
}

// heapSequence is the state of a sequence of heap profiles.
type heapSequence struct {
	next    uint64       // index of the next packet
	old     oldStacks    // of the profile being read
	pending []allocation // of the profile being read
	stacks  map[heapStack]*allocated
	// A profiler forgets a stack once all its allocations are freed. If the stack
	// comes back, it has a new id and counts from zero: bases hold what was counted
	// under the earlier ids. All processes and heaps share the ids, but each counts
	// for itself.
	seen  map[sourceStack]map[profile.CallsiteID]bool
	bases map[sourceStack]allocated
}

var heapSequences = proto.NewLocal[heapSequence](proto.UntilAnew)

// allocation is a HeapSample.
type allocation struct {
	upid    model.UPID
	heap    model.StringID
	ts      int64
	stack   uint64
	counted allocated
}

// allocated counts what was allocated and freed at a stack.
type allocated struct{ count, size, freedCount, freedSize int64 }

type heapStack struct {
	upid     model.UPID
	heap     model.StringID
	callsite profile.CallsiteID
}

type sourceStack struct {
	upid  model.UPID
	stack uint64
	heap  model.StringID
}

func (h *heapReader) parse(e *proto.Event) {
	q := heapSequences.Of(e.State)
	if message.Uint64(e.Data, pb.ProfilePacket_Index) != q.next {
		h.File.Count(model.StatHeapprofdMissingPacket)
	}
	q.next = message.Uint64(e.Data, pb.ProfilePacket_Index) + 1
	q.old.read(h.Reader, e.Data)
	for dump := range message.Messages(e.Data, pb.ProfilePacket_ProcessDumps) {
		h.dump(e.TS, q, dump)
	}
	if continued, _ := wire.Find(e.Data, pb.ProfilePacket_Continued); continued.Bool() {
		h.open[q] = true
		return
	}
	delete(h.open, q)
	for i := range q.pending {
		h.allocate(e.State, q, &q.pending[i])
	}
	q.pending, q.old = nil, oldStacks{}
}

// processHeap is a ProcessHeapSamples without its samples.
type processHeap struct {
	pid, end, start, interval, originalInterval uint64
	hasStart                                    bool
	name, stats                                 []byte
	clientError                                 int32
	disconnected, corrupted, overran            bool
	rejected, guardrail                         bool
}

func (v *processHeap) read(data []byte) {
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case pb.ProfilePacket_ProcessHeapSamples_PID:
			v.pid = f.Uint64()
		case pb.ProfilePacket_ProcessHeapSamples_Timestamp:
			v.end = f.Uint64()
		case pb.ProfilePacket_ProcessHeapSamples_StartTimestamp:
			v.start, v.hasStart = f.Uint64(), true
		case pb.ProfilePacket_ProcessHeapSamples_SamplingIntervalBytes:
			v.interval = f.Uint64()
		case pb.ProfilePacket_ProcessHeapSamples_OrigSamplingIntervalBytes:
			v.originalInterval = f.Uint64()
		case pb.ProfilePacket_ProcessHeapSamples_HeapName:
			v.name = f.Bytes()
		case pb.ProfilePacket_ProcessHeapSamples_Stats:
			v.stats = f.Bytes()
		case pb.ProfilePacket_ProcessHeapSamples_ClientError:
			v.clientError = f.Int32()
		case pb.ProfilePacket_ProcessHeapSamples_Disconnected:
			v.disconnected = f.Bool()
		case pb.ProfilePacket_ProcessHeapSamples_BufferCorrupted:
			v.corrupted = f.Bool()
		case pb.ProfilePacket_ProcessHeapSamples_BufferOverran:
			v.overran = f.Bool()
		case pb.ProfilePacket_ProcessHeapSamples_RejectedConcurrent:
			v.rejected = f.Bool()
		case pb.ProfilePacket_ProcessHeapSamples_HitGuardrail:
			v.guardrail = f.Bool()
		}
	}
}

// monotonicCoarse is the clock of heapprofd.
var monotonicCoarse = model.Clock{ID: model.ClockMonotonicCoarse}

// dump reads what a process allocated since its profiling began.
func (h *heapReader) dump(ts int64, q *heapSequence, data []byte) {
	var v processHeap
	v.read(data)
	end, err := h.Clocks.ToTrace(monotonicCoarse, int64(v.end))
	if err != nil {
		h.File.LogTime(err.Stat, ts, err)
		return
	}
	start := end // for recorders that do not write it
	if v.hasStart {
		if start, err = h.Clocks.ToTrace(monotonicCoarse, int64(v.start)); err != nil {
			h.File.LogTime(err.Stat, ts, err)
			start = end
		}
	}
	upid := h.Machine.Process(int64(uint32(v.pid)))
	heap, allocationHeap := model.StringID(0), h.Store.Strings.Intern("unknown")
	if len(v.name) > 0 {
		heap = h.Store.Strings.InternBytes(v.name)
		allocationHeap = heap
	}
	if dumped := (heapDump{upid, end, heap}); !h.profiles[dumped] {
		h.profiles[dumped] = true
		t := &h.Store.HeapProfile
		row := t.Append()
		t.TS.Set(row, start)
		t.TSEnd.Set(row, end)
		t.Dur.Set(row, end-start)
		t.UPID.Set(row, upid)
		t.HeapName.Set(row, heap)
	}
	h.count(ts, &v)
	// Recorders that do not write the requested interval write a wrong count for the
	// maximum.
	trusted := v.originalInterval > 0
	for sample := range message.Messages(data, pb.ProfilePacket_ProcessHeapSamples_Samples) {
		a := allocation{upid: upid, heap: allocationHeap, ts: end}
		a.read(sample, trusted)
		q.pending = append(q.pending, a)
	}
}

// count counts what the profiler reports about itself.
func (h *heapReader) count(ts int64, v *processHeap) {
	pid := int64(int32(v.pid))
	set := func(stat model.Stat, value int64) { h.File.SetStat(stat, pid, value) }
	add := func(stat model.Stat, n int64) { h.File.Add(stat, pid, n) }
	set(model.StatHeapprofdLastProfileTimestamp, ts)
	for _, problem := range []struct {
		is   bool
		stat model.Stat
	}{
		{v.disconnected, model.StatHeapprofdClientDisconnected},
		{v.corrupted, model.StatHeapprofdBufferCorrupted},
		{v.overran || v.clientError == pb.ProfilePacket_ProcessHeapSamples_ClientError_HitTimeout, model.StatHeapprofdBufferOverran},
		{v.rejected, model.StatHeapprofdRejectedConcurrent},
		{v.guardrail, model.StatHeapprofdHitGuardrail},
	} {
		if problem.is {
			add(problem.stat, 1)
		}
	}
	if v.clientError != 0 {
		set(model.StatHeapprofdClientError, int64(v.clientError))
	}
	if v.originalInterval != 0 {
		set(model.StatHeapprofdSamplingIntervalAdjusted, int64(v.interval)-int64(v.originalInterval))
	}
	add(model.StatHeapprofdUnwindTimeUS, int64(message.Uint64(v.stats, pb.ProfilePacket_ProcessStats_TotalUnwindingTimeUS)))
	add(model.StatHeapprofdUnwindSamples, int64(message.Uint64(v.stats, pb.ProfilePacket_ProcessStats_HeapSamples)))
	add(model.StatHeapprofdClientSpinlockBlocked, int64(message.Uint64(v.stats, pb.ProfilePacket_ProcessStats_ClientSpinlockBlockedUS)))
}

// read reads a HeapSample: the sums so far, or the sums at the heap's maximum.
func (a *allocation) read(data []byte, trusted bool) {
	var max, maxCount int64
	hasMax := false
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case pb.ProfilePacket_HeapSample_CallstackID:
			a.stack = f.Uint64()
		case pb.ProfilePacket_HeapSample_SelfAllocated:
			a.counted.size = f.Int64()
		case pb.ProfilePacket_HeapSample_SelfFreed:
			a.counted.freedSize = -f.Int64()
		case pb.ProfilePacket_HeapSample_AllocCount:
			a.counted.count = f.Int64()
		case pb.ProfilePacket_HeapSample_FreeCount:
			a.counted.freedCount = -f.Int64()
		case pb.ProfilePacket_HeapSample_SelfMax:
			max, hasMax = f.Int64(), true
		case pb.ProfilePacket_HeapSample_SelfMaxCount:
			maxCount = f.Int64()
		}
	}
	if !hasMax {
		return
	}
	if !trusted {
		maxCount = 0
	}
	a.counted = allocated{count: maxCount, size: max}
}

// artHeap is ART's heap. Only its allocations are recorded, not what it frees.
const artHeap = "com.android.art"

// allocate adds the difference from the previous dump.
func (h *heapReader) allocate(s *proto.State, q *heapSequence, a *allocation) {
	callsite, ok := q.old.callsites[a.stack]
	if !ok {
		if callsite, ok = stacks.Callsite(s, a.upid, a.stack); !ok {
			return
		}
	}
	javanames.Of(h.Reader).Allocated(a.upid, callsite)
	place := heapStack{a.upid, a.heap, callsite}
	before := q.stacks[place]
	if before == nil {
		if q.stacks == nil {
			q.stacks, q.seen, q.bases = map[heapStack]*allocated{}, map[sourceStack]map[profile.CallsiteID]bool{}, map[sourceStack]allocated{}
		}
		before = &allocated{}
		q.stacks[place] = before
	}
	source := sourceStack{a.upid, a.stack, a.heap}
	if !q.seen[source][callsite] {
		if q.seen[source] == nil {
			q.seen[source] = map[profile.CallsiteID]bool{}
		}
		q.seen[source][callsite] = true
		q.bases[source] = *before
	}
	now := a.counted.plus(q.bases[source])
	if now.count < before.count && before.freed() { // forgotten, but its id is that of another heap's stack
		q.bases[source] = *before
		now = a.counted.plus(*before)
	}
	delta := now.minus(*before)
	if delta.count < 0 || delta.size < 0 || delta.freedCount > 0 || delta.freedSize > 0 {
		h.File.Add(model.StatHeapprofdMalformedPacket, int64(a.upid), 1)
		return
	}
	h.add(a, callsite, delta.count, delta.size)
	if h.Store.Strings.Get(a.heap) != artHeap {
		h.add(a, callsite, delta.freedCount, delta.freedSize)
	}
	*before = now
}

func (h *heapReader) add(a *allocation, callsite profile.CallsiteID, count, size int64) {
	if count == 0 && size == 0 {
		return
	}
	t := &h.Store.HeapProfileAllocation
	row := t.Append()
	t.TS.Set(row, a.ts)
	t.UPID.Set(row, a.upid)
	t.HeapName.Set(row, a.heap)
	t.CallsiteID.Set(row, callsite)
	t.Count.Set(row, count)
	t.Size.Set(row, size)
}

// freed reports whether all that was allocated has been freed.
func (a allocated) freed() bool { return a.count+a.freedCount == 0 && a.size+a.freedSize == 0 }

func (a allocated) plus(b allocated) allocated {
	return allocated{a.count + b.count, a.size + b.size, a.freedCount + b.freedCount, a.freedSize + b.freedSize}
}

func (a allocated) minus(b allocated) allocated {
	return allocated{a.count - b.count, a.size - b.size, a.freedCount - b.freedCount, a.freedSize - b.freedSize}
}

// oldStacks are the stacks that old recorders wrote inside the profile, by their ids
// there.
type oldStacks struct {
	texts     map[uint64]string
	mappings  map[uint64]profile.MappingID
	frames    map[uint64]profile.FrameID
	callsites map[uint64]profile.CallsiteID
}

func (o *oldStacks) read(r *proto.Reader, data []byte) {
	if o.texts == nil {
		*o = oldStacks{map[uint64]string{0: ""}, map[uint64]profile.MappingID{}, map[uint64]profile.FrameID{}, map[uint64]profile.CallsiteID{}}
	}
	for text := range message.Messages(data, pb.ProfilePacket_Strings) {
		iid := message.Uint64(text, pb.InternedString_IID)
		if _, known := o.texts[iid]; !known {
			o.texts[iid] = string(message.Bytes(text, pb.InternedString_Str))
		}
	}
	for mapping := range message.Messages(data, pb.ProfilePacket_Mappings) {
		o.mapping(r, mapping)
	}
	for frame := range message.Messages(data, pb.ProfilePacket_Frames) {
		o.frame(r, frame)
	}
	for callstack := range message.Messages(data, pb.ProfilePacket_Callstacks) {
		o.callstack(r, callstack)
	}
}

func (o *oldStacks) mapping(r *proto.Reader, data []byte) {
	var m stacks.MappingFields
	m.Read(data)
	build, ok := o.texts[m.BuildID]
	if !ok {
		r.File.Count(model.StatStackprofileInvalidStringID)
		return
	}
	var path []string
	for _, part := range m.Path {
		name, ok := o.texts[part]
		if !ok {
			r.File.Count(model.StatStackprofileInvalidStringID)
			break
		}
		path = append(path, name)
	}
	m.Name = r.Store.Strings.Intern(stacks.MappingName(path))
	m.Mapping.BuildID = r.Store.Strings.Intern(profile.BuildID(build))
	addOnce(o.mappings, message.Uint64(data, pb.Mapping_IID), r.Store.Stacks.Mapping(m.Mapping))
}

func (o *oldStacks) frame(r *proto.Reader, data []byte) {
	mapping, ok := o.mappings[message.Uint64(data, pb.Frame_MappingID)]
	if !ok {
		r.File.Count(model.StatStackprofileInvalidMappingID)
		return
	}
	name, ok := o.texts[message.Uint64(data, pb.Frame_FunctionNameID)]
	if !ok {
		r.File.Count(model.StatStackprofileInvalidStringID)
		return
	}
	id := r.Store.Stacks.Frame(mapping, message.Uint64(data, pb.Frame_RelPC), r.Store.Strings.Intern(name))
	addOnce(o.frames, message.Uint64(data, pb.Frame_IID), id)
}

func (o *oldStacks) callstack(r *proto.Reader, data []byte) {
	callsite := profile.CallsiteID(model.None)
	for iid := range message.Numbers(data, pb.Callstack_FrameIDs) {
		frame, ok := o.frames[iid]
		if !ok {
			r.File.Count(model.StatStackprofileInvalidFrameID)
			return
		}
		callsite = r.Store.Stacks.Callsite(callsite, frame)
	}
	if callsite == model.None {
		r.File.Count(model.StatStackprofileEmptyCallstack)
		return
	}
	addOnce(o.callsites, message.Uint64(data, pb.Callstack_IID), callsite)
}

// addOnce sets an id's value unless it has one.
func addOnce[T any](to map[uint64]T, iid uint64, v T) {
	if _, known := to[iid]; !known {
		to[iid] = v
	}
}
