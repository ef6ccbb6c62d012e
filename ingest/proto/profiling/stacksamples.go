package profiling

import (
	"slices"

	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/javanames"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/ingest/proto/stacks"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
)

// stackReader reads samples in the generic form that any profiler may write.
type stackReader struct {
	*proto.Reader
	sessions map[uint32]profile.SessionID // by sequence
	inline   profile.MappingID            // mapping of frames inside a sample; None until used
	counters []model.CounterID            // the current sample's
}

func stackSamples(r *proto.Reader) *proto.Module {
	s := &stackReader{Reader: r, sessions: map[uint32]profile.SessionID{}, inline: model.None}
	return &proto.Module{Fields: []uint32{pb.TracePacket_StackSample}, Parse: s.parse}
}

// sampleDefaults is a StackSampleDefaults.
type sampleDefaults struct {
	source    string
	primary   []byte
	followers [][]byte
}

var (
	stackSampleDefaults = proto.NewDefault(pb.TracePacketDefaults_StackSampleDefaults, readSampleDefaults)
	noSampleDefaults    sampleDefaults
)

func readSampleDefaults(data []byte) (d sampleDefaults) {
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case pb.StackSampleDefaults_Source:
			d.source = string(f.Bytes())
		case pb.StackSampleDefaults_PrimaryDescriptor:
			d.primary = f.Bytes()
		case pb.StackSampleDefaults_FollowerDescriptors:
			d.followers = append(d.followers, f.Bytes())
		}
	}
	return d
}

// sampleFields is a StackSample.
type sampleFields struct {
	task, execution, callstack, primary             []byte
	taskIID, executionIID, callstackIID, primaryIID uint64
	hasCallstack, hasPrimaryIID                     bool
	weight                                          uint64
	hasWeight                                       bool
	unwindError                                     []byte
}

func (v *sampleFields) read(data []byte) {
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case pb.StackSample_TaskContext:
			v.task = f.Bytes()
		case pb.StackSample_TaskContextIID:
			v.taskIID = f.Uint64()
		case pb.StackSample_ExecutionContext:
			v.execution = f.Bytes()
		case pb.StackSample_ExecutionContextIID:
			v.executionIID = f.Uint64()
		case pb.StackSample_Callstack:
			v.callstack = f.Bytes()
		case pb.StackSample_CallstackIID:
			v.callstackIID, v.hasCallstack = f.Uint64(), true
		case pb.StackSample_PrimaryDescriptor:
			v.primary = f.Bytes()
		case pb.StackSample_PrimaryDescriptorIID:
			v.primaryIID, v.hasPrimaryIID = f.Uint64(), true
		case pb.StackSample_PrimaryWeight:
			v.weight, v.hasWeight = f.Uint64(), true
		case pb.StackSample_UnwindError:
			v.unwindError = f.Bytes()
		}
	}
}

func (s *stackReader) parse(e *proto.Event) {
	defaults := stackSampleDefaults.Of(e.State)
	if defaults == nil {
		defaults = &noSampleDefaults
	}
	var fields sampleFields
	fields.read(e.Data)
	v := profile.NewSample(e.TS, defaults.source)
	v.UnwindError = s.TextID(fields.unwindError)
	if task := s.message(e.State, fields.task, pb.InternedData_StackSampleTaskContexts, fields.taskIID); task != nil {
		s.task(e.State, &v, task)
	}
	if execution := s.message(e.State, fields.execution, pb.InternedData_StackSampleExecutionContexts, fields.executionIID); execution != nil {
		s.execution(&v, execution)
	}
	session, known := s.sessions[e.State.Sequence]
	if !known {
		session = s.Store.Stacks.NewSession(defaults.source, "")
		s.sessions[e.State.Sequence] = session
	}
	v.Session = session
	s.counters = s.counters[:0]
	s.primary(e, &v, &fields, defaults)
	s.followers(e, &v, defaults)
	switch {
	case fields.hasCallstack:
		if callsite, ok := stacks.Callsite(e.State, v.UPID, fields.callstackIID); ok {
			v.Callsite = callsite
		}
	case fields.callstack != nil:
		if s.inline == model.None {
			s.inline = s.Store.Stacks.DummyMapping("stack_sample_inline")
		}
		v.Callsite = stacks.Inline(s.Reader, s.inline, fields.callstack)
	}
	javanames.Of(s.Reader).Sampled(v.UPID, v.Callsite)
	v.CounterSet = s.Store.Stacks.CounterSet(s.counters)
	s.Store.Stacks.AddSample(v)
}

// message returns a message that is either inside a sample or interned, or nil if it is
// neither.
func (s *stackReader) message(state *proto.State, given []byte, field uint32, iid uint64) []byte {
	if given == nil && iid != 0 {
		given, _ = state.Interned(field, iid)
	}
	return given
}

// task reads a TaskContext: the thread, process or coroutine that was sampled.
func (s *stackReader) task(state *proto.State, v *profile.Sample, data []byte) {
	pid, hasPID := wire.Find(data, pb.StackSample_TaskContext_PID)
	tid, hasTID := wire.Find(data, pb.StackSample_TaskContext_TID)
	if hasPID {
		v.UPID = s.Machine.Process(int64(pid.Uint32()))
	}
	switch {
	case hasTID && hasPID:
		v.UTID = s.Machine.ThreadOf(int64(tid.Uint32()), int64(pid.Uint32()))
	case hasTID:
		v.UTID = s.Machine.Thread(int64(tid.Uint32()))
	}
	if id := message.Uint64(data, pb.StackSample_TaskContext_AsyncID); id != 0 {
		v.Async = s.async(state, id)
	}
}

// asyncContexts maps the iids of interned coroutines to ids.
var asyncContexts = proto.NewLocal[map[uint64]profile.AsyncContextID](proto.UntilAnew)

// async returns the id of an interned coroutine, whose parents are the coroutines that
// enclose it, or None if it is unknown. A cycle of parents is cut.
func (s *stackReader) async(state *proto.State, iid uint64) profile.AsyncContextID {
	known := asyncContexts.Of(state)
	if *known == nil {
		*known = map[uint64]profile.AsyncContextID{}
	}
	parent := profile.AsyncContextID(model.None)
	var inner []uint64
	var contexts [][]byte
	for iid != 0 {
		if id, ok := (*known)[iid]; ok {
			parent = id
			break
		}
		context, ok := state.Interned(pb.InternedData_StackSampleAsyncContextDescriptors, iid)
		if !ok {
			break
		}
		(*known)[iid] = model.None // until it has a row
		inner, contexts = append(inner, iid), append(contexts, context)
		iid = message.Uint64(context, pb.StackSample_AsyncContextDescriptor_ParentIID)
	}
	t := &s.Store.ProfilerAsyncContext
	for i, context := range slices.Backward(contexts) {
		row := t.Append()
		if name := message.Bytes(context, pb.StackSample_AsyncContextDescriptor_Name); len(name) > 0 {
			t.Name.Set(row, s.Store.Strings.InternBytes(name))
		}
		if kind := message.Bytes(context, pb.StackSample_AsyncContextDescriptor_Kind); len(kind) > 0 {
			t.Kind.Set(row, s.Store.Strings.InternBytes(kind))
		}
		if parent != model.None {
			t.ParentID.Set(row, parent)
		}
		parent = profile.AsyncContextID(row)
		(*known)[inner[i]] = parent
	}
	return parent
}

// sampleModes are the values of StackSample.Mode.
var sampleModes = []string{"", "user", "kernel", "hypervisor", "guest_user", "guest_kernel"}

// execution reads an ExecutionContext: the CPU and its mode.
func (s *stackReader) execution(v *profile.Sample, data []byte) {
	if cpu, ok := wire.Find(data, pb.StackSample_ExecutionContext_CPU); ok {
		v.CPU, v.UCPU = int64(int32(cpu.Uint32())), s.Machine.CPU(int64(cpu.Uint32()))
	}
	if mode := message.Int32(data, pb.StackSample_ExecutionContext_Mode); mode > 0 && int(mode) < len(sampleModes) {
		v.CPUMode = s.Store.Strings.Intern(sampleModes[mode])
	}
}

// sampleUnits are the values of StackSample.Unit.
var sampleUnits = []string{"", "ns", "cycles", "instructions", "bytes", "page-faults", "cache-misses", "cache-references", "branch-misses", "count"}

var (
	sessionCounter = &model.Blueprint{Classification: "stack_sample_session_counter", Event: model.CounterTrack,
		Dims: []string{"session_id", "source", "counter_name"}}
	sampleCPUCounter = &model.Blueprint{Classification: "stack_sample_cpu_counter", Event: model.CounterTrack,
		Dims: []string{"cpu", "session_id", "source", "counter_name"}}
)

// track returns the track of a CounterDescriptor. It returns false for a per-CPU counter
// if the sample's CPU is unknown.
func (s *stackReader) track(v *profile.Sample, data []byte, timebase bool) (model.TrackID, bool) {
	var unit, description model.StringID
	var scope int32
	var multiplier uint64
	var hasMultiplier, knownUnit bool
	name := s.Store.Strings.Intern("")
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case pb.StackSample_CounterDescriptor_Name:
			name = s.Store.Strings.InternBytes(f.Bytes())
		case pb.StackSample_CounterDescriptor_Unit:
			if standard := f.Int32(); standard != pb.StackSample_Unit_Unspecified {
				unit, knownUnit = s.NameOf(sampleUnits, int64(standard)), true
			}
		case pb.StackSample_CounterDescriptor_UnitStr:
			if text := f.Bytes(); len(text) > 0 && !knownUnit {
				unit = s.Store.Strings.InternBytes(text)
			}
		case pb.StackSample_CounterDescriptor_UnitMultiplier:
			multiplier, hasMultiplier = f.Uint64(), true
		case pb.StackSample_CounterDescriptor_Description:
			if text := f.Bytes(); len(text) > 0 {
				description = s.Store.Strings.InternBytes(text)
			}
		case pb.StackSample_CounterDescriptor_Scope:
			scope = f.Int32()
		}
	}
	if timebase && unit != 0 {
		setUnit(s.Reader, v.Session, unit)
	}
	o := model.TrackOptions{Name: name, Unit: unit, Args: model.ArgFunc(func(set *model.ArgSet) {
		set.Add(s.Store.Strings.Intern("is_timebase"), model.BoolArg(timebase))
		if hasMultiplier {
			set.Add(s.Store.Strings.Intern("unit_multiplier"), model.IntArg(int64(multiplier)))
		}
		if description != 0 {
			set.Add(s.Store.Strings.Intern("description"), model.StringArg(description))
		}
	})}
	session, source := model.IntDim(v.Session), model.StringDim(s.Store.Strings.Intern(v.Source))
	if scope != pb.StackSample_CounterDescriptor_Scope_CPU {
		return s.Tracks.Intern(sessionCounter, &o, session, source, model.StringDim(name)), true
	}
	if v.CPU == model.None {
		return 0, false
	}
	return s.Tracks.Intern(sampleCPUCounter, &o, model.IntDim(v.CPU), session, source, model.StringDim(name)), true
}

// primary adds the value that the profiler sampled on.
func (s *stackReader) primary(e *proto.Event, v *profile.Sample, fields *sampleFields, defaults *sampleDefaults) {
	descriptor := fields.primary
	switch {
	case descriptor != nil:
	case fields.hasPrimaryIID:
		descriptor, _ = e.State.Interned(pb.InternedData_StackSampleCounterDescriptors, fields.primaryIID)
	default:
		descriptor = defaults.primary
	}
	if descriptor == nil {
		return
	}
	if track, ok := s.track(v, descriptor, true); ok && fields.hasWeight {
		s.counters = append(s.counters, s.Counters.Push(e.TS, float64(fields.weight), track))
	}
}

// followers adds the values of the other counters, which are in the order of their
// descriptors.
func (s *stackReader) followers(e *proto.Event, v *profile.Sample, defaults *sampleDefaults) {
	var descriptors [][]byte
	for descriptor := range message.Messages(e.Data, pb.StackSample_FollowerDescriptors) {
		descriptors = append(descriptors, descriptor)
	}
	if len(descriptors) == 0 {
		for iid := range message.Numbers(e.Data, pb.StackSample_FollowerDescriptorIIDs) {
			descriptor, _ := e.State.Interned(pb.InternedData_StackSampleCounterDescriptors, iid)
			descriptors = append(descriptors, descriptor)
		}
	}
	if len(descriptors) == 0 {
		descriptors = defaults.followers
	}
	tracks := make([]model.TrackID, len(descriptors))
	for i, descriptor := range descriptors {
		tracks[i] = model.None
		if descriptor == nil {
			continue
		}
		if track, ok := s.track(v, descriptor, false); ok {
			tracks[i] = track
		}
	}
	for weight := range message.Numbers(e.Data, pb.StackSample_FollowerWeights) {
		if len(tracks) == 0 {
			return
		}
		if tracks[0] != model.None {
			s.counters = append(s.counters, s.Counters.Push(e.TS, float64(weight), tracks[0]))
		}
		tracks = tracks[1:]
	}
}
