// Package etw reads the events of Event Tracing for Windows.
package etw

import (
	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

// Modules read the packets of the family.
var Modules = proto.Family{events}

const (
	maxCPUs = 1024
	// unknownThread stands for a thread whose id the recorder left out, as Chrome does for those of others. 0 would be the
	// idle thread.
	unknownThread = int64(1<<32 - 1)
)

// windows reads bundles of events. Each CPU's events are a stream, because they are in order.
type windows struct {
	*proto.Reader
	cpus    map[uint32]*proto.Stream
	running map[uint32]int64 // thread ids by CPU
	open    map[uint64]openOperation
	set     model.ArgSet
}

func events(r *proto.Reader) *proto.Module {
	w := &windows{Reader: r, cpus: map[uint32]*proto.Stream{}, running: map[uint32]int64{}, open: map[uint64]openOperation{}}
	return &proto.Module{Fields: []uint32{pb.TracePacket_ETWEvents}, Tokenize: w.tokenize, End: w.endAll}
}

// tokenize pushes each event of a bundle. Their times are on the trace clock.
func (w *windows) tokenize(p *proto.Packet, f *wire.Field) bool {
	bundleCPU, bundleHasCPU := wire.Find(f.Bytes(), pb.EtwTraceEventBundle_CPU)
	for event := range message.Messages(f.Bytes(), pb.EtwTraceEventBundle_Event) {
		cpu, hasCPU := wire.Find(event, pb.EtwTraceEvent_CPU)
		if !hasCPU {
			cpu, hasCPU = bundleCPU, bundleHasCPU
		}
		ts, hasTime := wire.Find(event, pb.EtwTraceEvent_Timestamp)
		if !hasCPU || !hasTime || cpu.Uint32() >= maxCPUs {
			w.File.LogAt(model.StatCorruptPacket, p.Offset, nil)
			continue
		}
		if message.Has(event, pb.EtwTraceEvent_StackWalk) {
			w.File.Unread(model.StatUnreadEvent, model.None, "stack_walk event").AddAt(p.Offset)
		}
		at := ts.Int64()
		if disk, ok := wire.Find(event, pb.EtwTraceEvent_DiskIO); ok {
			at = max(at-responseTime(disk.Bytes()), 0) // the event is written when the operation has ended
		}
		w.cpu(cpu.Uint32()).Push(at, p.State, event)
	}
	return true
}

func (w *windows) cpu(cpu uint32) *proto.Stream {
	s := w.cpus[cpu]
	if s == nil {
		s = w.NewStream(func(ts int64, _ *proto.State, event []byte) { w.parse(ts, cpu, event) })
		w.cpus[cpu] = s
	}
	return s
}

func (w *windows) parse(ts int64, cpu uint32, event []byte) {
	for f := wire.Read(event); f.Next(); {
		switch o := fileOperations[f.Number]; {
		case o != nil:
			w.fileEvent(ts, w.thread(event, pb.EtwTraceEvent_ThreadID), o, f.Bytes())
		case f.Number == pb.EtwTraceEvent_CSwitch:
			w.contextSwitch(ts, cpu, f.Bytes())
		case f.Number == pb.EtwTraceEvent_ReadyThread:
			for part := wire.Read(f.Bytes()); part.Next(); {
				w.unread(ts, readyFields[part.Number])
			}
			wakee := w.thread(f.Bytes(), pb.ReadyThreadEtwEvent_TThreadID)
			w.Threads.Wake(ts, wakee, model.Wakeup{Waker: w.thread(event, pb.EtwTraceEvent_ThreadID), Flags: model.None})
		case f.Number == pb.EtwTraceEvent_MemInfo:
			w.memory(ts, f.Bytes())
		case f.Number == pb.EtwTraceEvent_DiskIO:
			w.diskEvent(ts, event, f.Bytes())
		}
	}
}

// switchFields and readyFields are the fields of context switches and wakeups that make no rows.
var (
	switchFields = map[uint32]string{
		pb.CSwitchEtwEvent_OldThreadPriority:           "old_thread_priority field",
		pb.CSwitchEtwEvent_PreviousCState:              "previous_c_state field",
		pb.CSwitchEtwEvent_OldThreadWaitMode:           "old_thread_wait_mode field",
		pb.CSwitchEtwEvent_OldThreadWaitModeInt:        "old_thread_wait_mode field",
		pb.CSwitchEtwEvent_OldThreadWaitIdealProcessor: "old_thread_wait_ideal_processor field",
		pb.CSwitchEtwEvent_NewThreadWaitTime:           "new_thread_wait_time field",
	}
	readyFields = map[uint32]string{
		pb.ReadyThreadEtwEvent_AdjustReason:    "adjust_reason field",
		pb.ReadyThreadEtwEvent_AdjustReasonInt: "adjust_reason field",
		pb.ReadyThreadEtwEvent_AdjustIncrement: "adjust_increment field",
		pb.ReadyThreadEtwEvent_Flag:            "flag field",
		pb.ReadyThreadEtwEvent_FlagInt:         "flag field",
	}
)

// unread counts a field that makes no rows, if it has a name.
func (w *windows) unread(ts int64, noun string) {
	if noun != "" {
		w.File.Unread(model.StatUnreadFact, model.None, noun).Add(model.LogEntry{TS: ts, HasTS: true})
	}
}

// thread returns the thread that a field of a message names.
func (w *windows) thread(message []byte, field uint32) model.UTID {
	if tid, ok := wire.Find(message, field); ok {
		return w.Machine.Thread(int64(tid.Uint32()))
	}
	return w.unknown()
}

// unknown returns the thread that stands for those without an id.
func (w *windows) unknown() model.UTID {
	utid := w.Machine.Thread(unknownThread)
	w.Machine.SetThreadName(utid, w.word("Anonymized Process"), model.ThreadNameFtrace)
	return utid
}

// states are the names of CSwitchEtwEvent.OldThreadState.
var states = [...]string{"Initialized", "Ready", "Running", "Standby", "Terminated", "Waiting", "Transition", "DeferredReady"}

// waitReasons are the names of CSwitchEtwEvent.OldThreadWaitReason.
var waitReasons = [...]string{
	"Executive", "FreePage", "PageIn", "PoolAllocation", "DelayExecution", "Suspended", "UserRequest",
	"WrExecutive", "WrFreePage", "WrPageIn", "WrPoolAllocation", "WrDelayExecution", "WrSuspended", "WrUserRequest",
	"WrEventPair", "WrQueue", "WrLpcReceive", "WrLpcReply", "WrVirtualMemory", "WrPageOut", "WrRendezvous",
	"WrKeyedEvent", "WrTerminated", "WrProcessInSwap", "WrCpuRateControl", "WrCalloutStack", "WrKernel", "WrResource",
	"WrPushLock", "WrMutex", "WrQuantumEnd", "WrDispatchInt", "WrPreempted", "WrYieldExecution", "WrFastMutex",
	"WrGuardedMutex", "WrRundown",
}

func (w *windows) contextSwitch(ts int64, cpu uint32, data []byte) {
	var state, reason uint64
	prev, next, priority := unknownThread, unknownThread, int32(0)
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case pb.CSwitchEtwEvent_OldThreadID:
			prev = int64(f.Uint32())
		case pb.CSwitchEtwEvent_NewThreadID:
			next = int64(f.Uint32())
		case pb.CSwitchEtwEvent_NewThreadPriority:
			priority = int32(f.Sint64())
		case pb.CSwitchEtwEvent_OldThreadState:
			state = f.Uint64()
		case pb.CSwitchEtwEvent_OldThreadStateInt:
			state = uint64(f.Sint64())
		case pb.CSwitchEtwEvent_OldThreadWaitReason, pb.CSwitchEtwEvent_OldThreadWaitReasonInt:
			reason = f.Uint64()
		default:
			w.unread(ts, switchFields[f.Number])
		}
	}
	if prev == unknownThread || next == unknownThread {
		w.unknown()
	}
	var end model.StringID
	if state < uint64(len(states)) {
		end = w.word(states[state])
	} else {
		w.File.LogTime(model.StatTaskStateInvalid, ts, nil)
	}

	nextUTID := w.Machine.Thread(next)
	if w.Sched.Open(int64(cpu)) != model.None {
		if w.running[cpu] == prev {
			w.Sched.End(ts, int64(cpu), end)
		} else {
			w.File.LogTime(model.StatMismatchedSchedSwitchTIDs, ts, nil)
		}
	}
	w.Sched.Begin(ts, int64(cpu), nextUTID, priority)
	w.running[cpu] = next
	prevUTID := w.Machine.Thread(prev)
	w.Threads.Switch(ts, int64(cpu), prevUTID, end, nextUTID)
	if state == pb.CSwitchEtwEvent_OldThreadState_Waiting {
		var name model.StringID
		if reason < uint64(len(waitReasons)) {
			name = w.word(waitReasons[reason])
		}
		w.Threads.Block(prevUTID, waitsForIO(reason), name)
	}
}

// waitsForIO is true for alertable waits, which are mostly for I/O, and for pages that are read.
func waitsForIO(reason uint64) bool {
	return reason == pb.CSwitchEtwEvent_OldThreadWaitReason_PageIn ||
		reason >= pb.CSwitchEtwEvent_OldThreadWaitReason_WrExecutive && reason <= pb.CSwitchEtwEvent_OldThreadWaitReason_WrRundown
}

func (w *windows) word(s string) model.StringID { return w.Store.Strings.Intern(s) }
