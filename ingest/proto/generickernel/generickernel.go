// Package generickernel reads the events of kernels other than Linux.
package generickernel

import (
	"bytes"

	"github.com/tpconvert/tpconvert/ingest/internal/tracks"
	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

// Modules read the packets of the family.
var Modules = proto.Family{otherKernels}

const (
	taskCreated          = 1
	taskRunning          = 3
	taskDestroyed        = 8
	maxGenericCPUs int64 = 4096
)

// taskStates are the states of GenericKernelTaskStateEvent.
var taskStates = [...]string{"Unknown", "Created", "R", "Running", "S", "D", "T", "Z", "X"}

// genericKernel reads the events of kernels other than Linux, which report the states
// of threads. A switch is two events, in either order: one thread starts running, and
// the previous one enters another state.
type genericKernel struct {
	*proto.Reader
	running map[int64]runningTask    // by cpu
	cpus    map[int64]int64          // on which threads ran last, by tid
	ended   map[model.UTID]endedSpan // spans whose end state is still to come
	states  [len(taskStates)]model.StringID
}

type runningTask struct {
	tid  int64
	utid model.UTID
}

// endedSpan is a row of sched_slice and the time when it ended, in ns.
type endedSpan struct {
	row, end int64
}

func otherKernels(r *proto.Reader) *proto.Module {
	k := &genericKernel{Reader: r, running: map[int64]runningTask{}, cpus: map[int64]int64{}, ended: map[model.UTID]endedSpan{}}
	for i, name := range taskStates {
		k.states[i] = r.Store.Strings.Intern(name)
	}
	return &proto.Module{
		Fields: []uint32{pb.TracePacket_GenericKernelTaskStateEvent, pb.TracePacket_GenericKernelCPUFreqEvent,
			pb.TracePacket_GenericKernelTaskRenameEvent, pb.TracePacket_GenericKernelProcessTree, pb.TracePacket_GenericGPUFrequencyEvent},
		Parse: k.parse,
		End: func() {
			for utid := range k.ended {
				k.forget(utid)
			}
		},
	}
}

func (k *genericKernel) parse(e *proto.Event) {
	switch e.Field {
	case pb.TracePacket_GenericKernelTaskStateEvent:
		k.taskState(e.TS, e.Data)
	case pb.TracePacket_GenericKernelCPUFreqEvent:
		track := k.Tracks.Intern(tracks.CPUFrequency, nil, model.IntDim(message.Int64(e.Data, pb.GenericKernelCpuFrequencyEvent_CPU)))
		k.Counters.Push(e.TS, float64(message.Int64(e.Data, pb.GenericKernelCpuFrequencyEvent_FreqHz))/1000, track)
	case pb.TracePacket_GenericKernelTaskRenameEvent:
		k.Machine.SetThreadAndProcessName(k.Machine.Thread(message.Int64(e.Data, pb.GenericKernelTaskRenameEvent_TID)),
			k.TextField(e.Data, pb.GenericKernelTaskRenameEvent_Comm), model.ThreadNameFtrace)
	case pb.TracePacket_GenericKernelProcessTree:
		k.processes(e.Data)
	case pb.TracePacket_GenericGPUFrequencyEvent:
		gpu := int64(message.Uint32(e.Data, pb.GenericGpuFrequencyEvent_GPUID))
		track := k.Tracks.Intern(tracks.GPUFrequency, nil, model.IntDim(k.Machine.GPU(gpu)), model.IntDim(gpu))
		k.Counters.Push(e.TS, float64(message.Uint32(e.Data, pb.GenericGpuFrequencyEvent_FrequencyKhz)), track)
	}
}

func (k *genericKernel) processes(data []byte) {
	m := k.Machine
	for process := range message.Messages(data, pb.GenericKernelProcessTree_Processes) {
		cmdline, ok := wire.Find(process, pb.GenericKernelProcessTree_Process_Cmdline)
		if !ok {
			continue
		}
		name, _, _ := bytes.Cut(cmdline.Bytes(), []byte(" "))
		parent, upid := m.ProcessWithoutThread(message.Int64(process, pb.GenericKernelProcessTree_Process_PPID)),
			m.ProcessWithoutThread(message.Int64(process, pb.GenericKernelProcessTree_Process_PID))
		if !m.SetParent(upid, parent) {
			k.File.Log(model.StatProcessTrackerParentPIDChanged, model.LogEntry{})
		}
		m.SetProcessName(upid, k.Store.Strings.InternBytes(name), model.ProcessNameSystem)
		m.SetCmdline(upid, k.TextField(process, pb.GenericKernelProcessTree_Process_Cmdline))
	}
	for thread := range message.Messages(data, pb.GenericKernelProcessTree_Threads) {
		upid := m.ProcessWithoutThread(message.Int64(thread, pb.GenericKernelProcessTree_Thread_PID))
		utid := m.ThreadIn(message.Int64(thread, pb.GenericKernelProcessTree_Thread_TID), upid, false)
		m.SetMainThread(utid, message.Int64(thread, pb.GenericKernelProcessTree_Thread_IsMainThread) != 0)
		m.SetIdleThread(utid, message.Int64(thread, pb.GenericKernelProcessTree_Thread_IsIdle) != 0)
		if message.Has(thread, pb.GenericKernelProcessTree_Thread_Comm) {
			m.SetThreadName(utid, k.TextField(thread, pb.GenericKernelProcessTree_Thread_Comm), model.ThreadNameSystem)
		}
	}
}

func (k *genericKernel) taskState(ts int64, data []byte) {
	cpu, tid, state := message.Int64(data, pb.GenericKernelTaskStateEvent_CPU), message.Int64(data, pb.GenericKernelTaskStateEvent_TID),
		message.Int64(data, pb.GenericKernelTaskStateEvent_State)
	if state == taskRunning && (cpu < 0 || cpu >= maxGenericCPUs) || state <= 0 || state >= int64(len(taskStates)) {
		k.File.Count(model.StatTaskStateInvalid)
		return
	}
	utid, ok := k.thread(ts, tid, state, k.TextField(data, pb.GenericKernelTaskStateEvent_Comm))
	if !ok {
		k.File.Count(model.StatGenericTaskStateInvalidOrder)
		return
	}
	name := k.states[state]
	if state == taskRunning {
		if row := k.Sched.Open(cpu); row != model.None {
			before := k.running[cpu].utid
			k.end(ts, cpu, row, before)
			k.setState(ts, before, 0, model.None)
		}
		k.Sched.Begin(ts, cpu, utid, message.Int32(data, pb.GenericKernelTaskStateEvent_Prio))
		k.running[cpu], k.cpus[tid] = runningTask{tid, utid}, cpu
		k.setState(ts, utid, name, cpu)
		return
	}
	if at, ok := k.runsOn(cpu, tid); ok {
		k.Sched.End(ts, at, name)
	} else if span, ok := k.ended[utid]; ok && span.end == ts {
		k.Store.SchedSlice.EndState.Set(span.row, name)
		k.forget(utid)
		k.Threads.Correct(utid, name)
		return
	}
	k.setState(ts, utid, name, model.None)
}

// runsOn returns the CPU on which a thread runs. That of the event comes first, but has a meaning only if a thread starts running.
func (k *genericKernel) runsOn(cpu, tid int64) (int64, bool) {
	for _, at := range [...]int64{cpu, k.cpus[tid]} {
		if task, ok := k.running[at]; ok && task.tid == tid && k.Sched.Open(at) != model.None {
			return at, true
		}
	}
	return 0, false
}

// setState begins a state of a thread.
func (k *genericKernel) setState(ts int64, utid model.UTID, state model.StringID, cpu int64) {
	if k.Threads.Set(ts, utid, state, cpu) {
		k.File.Count(model.StatGenericTaskStateInvalidOrder)
	}
}

// end ends a thread's span whose end state is not known yet.
func (k *genericKernel) end(ts, cpu, row int64, utid model.UTID) {
	k.forget(utid)
	k.Store.SchedSlice.Pin(row)
	k.Sched.End(ts, cpu, 0)
	k.ended[utid] = endedSpan{row, ts}
}

func (k *genericKernel) forget(utid model.UTID) {
	if span, ok := k.ended[utid]; ok {
		k.Store.SchedSlice.Unpin(span.row)
		delete(k.ended, utid)
	}
}

// thread returns the thread of a state event, or false if it cannot be in that state.
func (k *genericKernel) thread(ts, tid, state int64, comm model.StringID) (model.UTID, bool) {
	m := k.Machine
	utid := m.LiveThread(tid)
	known := utid != model.None
	switch {
	case state == taskCreated:
		if known {
			return utid, false
		}
		utid = m.StartThread(&ts, tid)
	case state == taskDestroyed:
		if !known {
			utid = m.Thread(tid)
			m.SetThreadName(utid, comm, model.ThreadNameFtrace)
		}
		m.EndThread(ts, tid)
		return utid, true
	case known:
		const dead = 7
		if last := k.Threads.State(utid); last == k.states[dead] || state == taskRunning && last == k.states[taskRunning] {
			return utid, false
		}
	default:
		utid = m.Thread(tid)
	}
	m.SetThreadName(utid, comm, model.ThreadNameFtrace)
	return utid, true
}
