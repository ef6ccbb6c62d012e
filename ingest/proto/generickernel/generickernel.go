// Package generickernel reads the events of kernels other than Linux.
package generickernel

import (
	"bytes"

	"github.com/tpconvert/tpconvert/ingest/ftrace"
	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/ingest/wire"
	"github.com/tpconvert/tpconvert/model"
)

// Modules read the packets of the family.
var Modules = proto.Family{otherKernels}

const (
	fieldTaskState             = 117
	fieldKernelCPUFreq         = 118
	fieldTaskRename            = 120
	fieldKernelProcesses       = 122
	fieldKernelGPUFreq         = 129
	taskCreated                = 1
	taskRunning                = 3
	taskDestroyed              = 8
	maxGenericCPUs       int64 = 4096
)

// taskStates are the states of GenericKernelTaskStateEvent.
var taskStates = [...]string{"Unknown", "Created", "R", "Running", "S", "D", "T", "Z", "X"}

// genericKernel reads the events of kernels other than Linux, which tell of the
// states of threads. A switch is two events: one thread runs, and the one before
// it is in another state, in either order.
type genericKernel struct {
	*proto.Reader
	running map[int64]runningTask    // by cpu
	ended   map[model.UTID]endedSpan // whose state is still to come
	states  [len(taskStates)]model.StringID
}

type runningTask struct {
	tid  int64
	utid model.UTID
}

// endedSpan is a row of sched_slice and when it ended, ns.
type endedSpan struct {
	row, end int64
}

func otherKernels(r *proto.Reader) *proto.Module {
	k := &genericKernel{Reader: r, running: map[int64]runningTask{}, ended: map[model.UTID]endedSpan{}}
	for i, name := range taskStates {
		k.states[i] = r.Store.Strings.Intern(name)
	}
	return &proto.Module{
		Fields: []uint32{fieldTaskState, fieldKernelCPUFreq, fieldTaskRename, fieldKernelProcesses, fieldKernelGPUFreq},
		Parse:  k.parse,
		End: func() {
			for utid := range k.ended {
				k.forget(utid)
			}
		},
	}
}

func (k *genericKernel) parse(e *proto.Event) {
	switch e.Field {
	case fieldTaskState:
		k.taskState(e.TS, e.Data)
	case fieldKernelCPUFreq:
		track := k.Tracks.Intern(ftrace.CPUFrequency, nil, model.IntDim(message.Int64(e.Data, 1)))
		k.Counters.Push(e.TS, float64(message.Int64(e.Data, 2))/1000, track)
	case fieldTaskRename:
		k.Machine.SetThreadAndProcessName(k.Machine.Thread(message.Int64(e.Data, 1)), k.TextField(e.Data, 2), model.ThreadNameFtrace)
	case fieldKernelProcesses:
		k.processes(e.Data)
	case fieldKernelGPUFreq:
		gpu := int64(message.Uint32(e.Data, 1))
		track := k.Tracks.Intern(ftrace.GPUFrequency, nil, model.IntDim(k.Machine.GPU(gpu)), model.IntDim(gpu))
		k.Counters.Push(e.TS, float64(message.Uint32(e.Data, 2)), track)
	}
}

func (k *genericKernel) processes(data []byte) {
	m := k.Machine
	for process := range message.Messages(data, 1) {
		cmdline, ok := wire.Find(process, 3)
		if !ok {
			continue
		}
		name, _, _ := bytes.Cut(cmdline.Bytes(), []byte(" "))
		parent, upid := m.ProcessWithoutThread(message.Int64(process, 2)), m.ProcessWithoutThread(message.Int64(process, 1))
		if !m.SetParent(upid, parent) {
			k.File.Log(model.StatProcessTrackerParentPIDChanged, model.LogEntry{})
		}
		m.SetProcessName(upid, k.Store.Strings.InternBytes(name), model.ProcessNameSystem)
		m.SetCmdline(upid, k.TextField(process, 3))
	}
	for thread := range message.Messages(data, 2) {
		upid := m.ProcessWithoutThread(message.Int64(thread, 2))
		utid := m.ThreadIn(message.Int64(thread, 1), upid, false)
		m.SetMainThread(utid, message.Int64(thread, 4) != 0)
		m.SetIdleThread(utid, message.Int64(thread, 5) != 0)
		if message.Has(thread, 3) {
			m.SetThreadName(utid, k.TextField(thread, 3), model.ThreadNameSystem)
		}
	}
}

func (k *genericKernel) taskState(ts int64, data []byte) {
	cpu, tid, state := message.Int64(data, 1), message.Int64(data, 3), message.Int64(data, 4)
	if cpu < 0 || cpu >= maxGenericCPUs || state <= 0 || state >= int64(len(taskStates)) {
		k.File.Count(model.StatTaskStateInvalid)
		return
	}
	utid, ok := k.thread(ts, tid, state, k.TextField(data, 2))
	if !ok {
		k.File.Count(model.StatGenericTaskStateInvalidOrder)
		return
	}
	name, before := k.states[state], k.running[cpu]
	if state == taskRunning {
		if row := k.Sched.Open(cpu); row != model.None {
			k.end(ts, cpu, row, before.utid)
			k.Threads.Set(ts, before.utid, 0, model.None)
		}
		k.Sched.Begin(ts, cpu, utid, message.Int32(data, 5))
		k.running[cpu] = runningTask{tid, utid}
		k.Threads.Set(ts, utid, name, cpu)
		return
	}
	if k.Sched.Open(cpu) != model.None && before.tid == tid {
		k.Sched.End(ts, cpu, name)
	} else if span, ok := k.ended[utid]; ok && span.end == ts {
		k.Store.SchedSlice.EndState.Set(span.row, name)
		k.forget(utid)
		k.Threads.Correct(utid, name)
		return
	}
	k.Threads.Set(ts, utid, name, model.None)
}

// end ends a span of a thread whose state is not known yet.
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

// thread returns the thread of a state event, false if it cannot be in that state.
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
