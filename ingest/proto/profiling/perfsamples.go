package profiling

import (
	"fmt"

	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/javanames"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/ingest/proto/stacks"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
)

// perfReader reads the Linux perf samples that Perfetto's profiler took.
type perfReader struct {
	*proto.Reader
	sessions map[uint32]*perfSession // by sequence
	counters []model.CounterID       // the current sample's
}

// perfSession is one run of a profiler. Each run has its own sequence.
type perfSession struct {
	id   profile.SessionID
	cpus map[uint32]*perfCPU
}

// perfCPU are the counters of a CPU.
type perfCPU struct {
	timebase  model.TrackID
	followers []model.TrackID
}

// perfDefaults is a PerfSampleDefaults.
type perfDefaults struct {
	given          bool
	timebase       perfEvent
	followers      []perfEvent
	shards, chosen uint32
}

// perfEvent is the event that a perf counter counts.
type perfEvent struct{ name, unit string }

// clockEvent is what old recorders sampled on. They wrote no defaults.
var clockEvent = perfEvent{"cpu-clock", "ns"}

var perfSampleDefaults = proto.NewDefault(pb.TracePacketDefaults_PerfSampleDefaults, readPerfDefaults)

func perfSamples(r *proto.Reader) *proto.Module {
	p := &perfReader{Reader: r, sessions: map[uint32]*perfSession{}}
	return &proto.Module{Fields: []uint32{pb.TracePacket_PerfSample}, Parse: p.parse}
}

func readPerfDefaults(data []byte) perfDefaults {
	d := perfDefaults{given: true, timebase: perfEvent{name: "unknown"}}
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case pb.PerfSampleDefaults_Timebase:
			d.timebase = timebaseFields.read(f.Bytes())
		case pb.PerfSampleDefaults_Followers:
			d.followers = append(d.followers, followerFields.read(f.Bytes()))
		case pb.PerfSampleDefaults_ProcessShardCount:
			d.shards = f.Uint32()
		case pb.PerfSampleDefaults_ChosenProcessShard:
			d.chosen = f.Uint32()
		}
	}
	return d
}

// perfEventFields are the field numbers of a message that describes an event.
type perfEventFields struct{ name, counter, tracepoint, raw, modifiers uint32 }

var (
	timebaseFields = perfEventFields{pb.PerfEvents_Timebase_Name, pb.PerfEvents_Timebase_Counter,
		pb.PerfEvents_Timebase_Tracepoint, pb.PerfEvents_Timebase_RawEvent, pb.PerfEvents_Timebase_Modifiers}
	followerFields = perfEventFields{pb.FollowerEvent_Name, pb.FollowerEvent_Counter,
		pb.FollowerEvent_Tracepoint, pb.FollowerEvent_RawEvent, pb.FollowerEvent_Modifiers}
)

// read returns an event, named as perf names it.
func (fields *perfEventFields) read(data []byte) perfEvent {
	event := perfEvent{name: "unknown"}
	if counter, ok := wire.Find(data, fields.counter); ok {
		if event, ok = perfCounters[counter.Int32()]; !ok {
			event = perfEvent{"unknown", "count"}
		}
	} else if tracepoint, ok := wire.Find(data, fields.tracepoint); ok {
		event = perfEvent{string(message.Bytes(tracepoint.Bytes(), pb.PerfEvents_Tracepoint_Name)), "count"}
	} else if raw, ok := wire.Find(data, fields.raw); ok {
		event.name = fmt.Sprintf("raw.0x%x.0x%x.0x%x.0x%x", message.Uint32(raw.Bytes(), pb.PerfEvents_RawEvent_Type),
			message.Uint64(raw.Bytes(), pb.PerfEvents_RawEvent_Config), message.Uint64(raw.Bytes(), pb.PerfEvents_RawEvent_Config1),
			message.Uint64(raw.Bytes(), pb.PerfEvents_RawEvent_Config2))
	}
	if name := message.Bytes(data, fields.name); len(name) > 0 {
		event.name = string(name)
	}
	modifiers := ""
	for v := range message.Numbers(data, fields.modifiers) {
		modifiers += perfModifiers[v]
	}
	if modifiers != "" {
		event.name += ":" + modifiers
	}
	return event
}

// perfCounters are the values of PerfEvents.Counter, as perf calls them, and what
// each counts.
var perfCounters = map[int32]perfEvent{
	pb.PerfEvents_Counter_SwCPUClock:              {"cpu-clock", "ns"},
	pb.PerfEvents_Counter_SwPageFaults:            {"page-faults", "count"},
	pb.PerfEvents_Counter_SwTaskClock:             {"task-clock", "ns"},
	pb.PerfEvents_Counter_SwContextSwitches:       {"context-switches", "count"},
	pb.PerfEvents_Counter_SwCPUMigrations:         {"cpu-migrations", "count"},
	pb.PerfEvents_Counter_SwPageFaultsMin:         {"minor-faults", "count"},
	pb.PerfEvents_Counter_SwPageFaultsMaj:         {"major-faults", "count"},
	pb.PerfEvents_Counter_SwAlignmentFaults:       {"alignment-faults", "count"},
	pb.PerfEvents_Counter_SwEmulationFaults:       {"emulation-faults", "count"},
	pb.PerfEvents_Counter_SwDummy:                 {"dummy", "count"},
	pb.PerfEvents_Counter_HwCPUCycles:             {"cpu-cycles", "cycles"},
	pb.PerfEvents_Counter_HwInstructions:          {"instructions", "instructions"},
	pb.PerfEvents_Counter_HwCacheReferences:       {"cache-references", "count"},
	pb.PerfEvents_Counter_HwCacheMisses:           {"cache-misses", "count"},
	pb.PerfEvents_Counter_HwBranchInstructions:    {"branch-instructions", "count"},
	pb.PerfEvents_Counter_HwBranchMisses:          {"branch-misses", "count"},
	pb.PerfEvents_Counter_HwBusCycles:             {"bus-cycles", "cycles"},
	pb.PerfEvents_Counter_HwStalledCyclesFrontend: {"stalled-cycles-frontend", "count"},
	pb.PerfEvents_Counter_HwStalledCyclesBackend:  {"stalled-cycles-backend", "count"},
	pb.PerfEvents_Counter_HwRefCPUCycles:          {"ref-cycles", "cycles"},
}

// perfModifiers are perf's suffixes for the CPU modes in which an event is counted.
var perfModifiers = map[uint64]string{
	pb.PerfEvents_EventModifier_CountUserspace:  "u",
	pb.PerfEvents_EventModifier_CountKernel:     "k",
	pb.PerfEvents_EventModifier_CountHypervisor: "h",
}

// session returns a sequence's session and the counters of a CPU in it.
func (p *perfReader) session(s *proto.State, cpu uint32) (*perfSession, *perfCPU) {
	session := p.sessions[s.Sequence]
	if session == nil {
		session = &perfSession{id: p.Store.Stacks.NewSession(linuxPerf, ""), cpus: map[uint32]*perfCPU{}}
		p.sessions[s.Sequence] = session
	}
	reader := session.cpus[cpu]
	if reader != nil {
		return session, reader
	}
	defaults := perfSampleDefaults.Of(s)
	if defaults == nil || !defaults.given {
		defaults = &perfDefaults{timebase: clockEvent}
	}
	if unit := defaults.timebase.unit; unit != "" {
		setUnit(p.Reader, session.id, p.Store.Strings.Intern(unit))
	}
	reader = &perfCPU{timebase: p.track(session, cpu, defaults.timebase, true)}
	for _, follower := range defaults.followers {
		reader.followers = append(reader.followers, p.track(session, cpu, follower, false))
	}
	session.cpus[cpu] = reader
	if defaults.shards > 0 {
		p.File.SetStat(model.StatPerfProcessShardCount, int64(session.id), int64(defaults.shards))
		p.File.SetStat(model.StatPerfChosenProcessShard, int64(session.id), int64(defaults.chosen))
	}
	return session, reader
}

// setUnit sets the unit that a session counts between samples. The first known unit
// stays.
func setUnit(r *proto.Reader, session profile.SessionID, unit model.StringID) {
	units := &r.Store.ProfilerSession.TimebaseUnit
	if known, _ := units.Get(int64(session)); known == 0 {
		units.Set(int64(session), unit)
	}
}

func (p *perfReader) track(session *perfSession, cpu uint32, event perfEvent, timebase bool) model.TrackID {
	name := p.Store.Strings.Intern(event.name)
	o := model.TrackOptions{Name: name, Args: model.ArgFunc(func(set *model.ArgSet) {
		set.Add(p.Store.Strings.Intern("is_timebase"), model.BoolArg(timebase))
	})}
	return p.Tracks.Intern(model.PerfCounter, &o, model.IntDim(int64(cpu)), model.IntDim(session.id), model.StringDim(name))
}

// linuxPerf is the source of perf's samples.
const linuxPerf = "linux.perf"

// cpuModes and unwindErrors are the values of Profiling.CpuMode and
// Profiling.StackUnwindError.
var (
	cpuModes     = []string{"unknown", "kernel", "user", "hypervisor", "guest_kernel", "guest_user"}
	unwindErrors = []string{"unknown", "none", "memory_invalid", "unwind_info", "unsupported", "invalid_map", "max_frames_exceeded",
		"repeated_frame", "invalid_elf", "system_call", "thread_timeout", "thread_does_not_exist", "bad_arch", "maps_parse",
		"invalid_parameter", "ptrace_call"}
)

func (p *perfReader) parse(e *proto.Event) {
	v := profile.NewSample(e.TS, linuxPerf)
	var cpu, pid, tid uint32
	var stack, lost, timebase uint64
	var hasCPU, hasStack, hasTimebase bool
	var producer []byte
	skipped := int32(-1)
	for f := wire.Read(e.Data); f.Next(); {
		switch f.Number {
		case pb.PerfSample_CPU:
			cpu, hasCPU = f.Uint32(), true
		case pb.PerfSample_PID:
			pid = f.Uint32()
		case pb.PerfSample_TID:
			tid = f.Uint32()
		case pb.PerfSample_CPUMode:
			if mode := f.Int32(); mode != pb.Profiling_CpuMode_ModeUnknown {
				v.CPUMode = p.NameOf(cpuModes, int64(mode))
			}
		case pb.PerfSample_TimebaseCount:
			timebase, hasTimebase = f.Uint64(), true
		case pb.PerfSample_CallstackIID:
			stack, hasStack = f.Uint64(), true
		case pb.PerfSample_UnwindError:
			v.UnwindError = p.NameOf(unwindErrors, f.Int64())
		case pb.PerfSample_KernelRecordsLost:
			lost = f.Uint64()
		case pb.PerfSample_SampleSkippedReason:
			skipped = f.Int32()
		case pb.PerfSample_ProducerEvent:
			producer = f.Bytes()
		}
	}
	session, counters := p.session(e.State, cpu)
	switch {
	case lost > 0:
		p.File.Add(model.StatPerfCPULostRecords, int64(cpu), int64(lost))
		return
	case producer != nil:
		if message.Int32(producer, pb.PerfSample_ProducerEvent_SourceStopReason) == pb.PerfSample_ProducerEvent_DataSourceStopReason_ProfilerStopGuardrail {
			p.File.SetStat(model.StatPerfGuardrailStopTS, int64(session.id), e.TS)
		}
		return
	}
	switch skipped {
	case pb.PerfSample_SampleSkipReason_ProfilerSkipReadStage, pb.PerfSample_SampleSkipReason_ProfilerSkipUnwindStage:
		p.File.Count(model.StatPerfSamplesSkipped)
	case pb.PerfSample_SampleSkipReason_ProfilerSkipUnwindEnqueue:
		p.File.Count(model.StatPerfSamplesSkippedDataloss)
	}
	p.counters = p.counters[:0]
	if hasTimebase {
		p.counters = append(p.counters, p.Counters.Push(e.TS, float64(timebase), counters.timebase))
	}
	followers := counters.followers
	for value := range message.Numbers(e.Data, pb.PerfSample_FollowerCounts) {
		if len(followers) == 0 {
			break
		}
		p.counters = append(p.counters, p.Counters.Push(e.TS, float64(value), followers[0]))
		followers = followers[1:]
	}
	v.CounterSet = p.Store.Stacks.CounterSet(p.counters)
	v.UTID = p.Machine.ThreadOf(int64(tid), int64(pid))
	v.UPID = p.Machine.Process(int64(pid))
	if hasStack {
		if callsite, ok := stacks.Callsite(e.State, v.UPID, stack); ok {
			v.Callsite = callsite
			javanames.Of(p.Reader).Sampled(v.UPID, callsite)
		}
	}
	if hasCPU {
		v.CPU, v.UCPU = int64(int32(cpu)), p.Machine.CPU(int64(cpu))
	}
	v.Session = session.id
	p.Store.Stacks.AddSample(v)
}
