package system

import (
	"bytes"

	"github.com/tpconvert/tpconvert/ingest/internal/tracks"
	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

// processes reads what the recorder finds about processes in /proc.
type processes struct{ *proto.Reader }

func processEvents(r *proto.Reader) *proto.Module {
	ps := processes{r}
	return &proto.Module{
		Fields: []uint32{pb.TracePacket_ProcessTree, pb.TracePacket_ProcessStats},
		Parse: func(e *proto.Event) {
			if e.Field == pb.TracePacket_ProcessTree {
				ps.tree(e)
				return
			}
			for process := range message.Messages(e.Data, pb.ProcessStats_Processes) {
				ps.stats(e.TS, process)
			}
		},
	}
}

// kthreadd is the pid of the parent of all kernel threads.
const kthreadd = 2

// tree reads processes and their threads.
func (r processes) tree(e *proto.Event) {
	kernel := map[int64]bool{}
	for process := range message.Messages(e.Data, pb.ProcessTree_Processes) {
		if message.Has(process, pb.ProcessTree_Process_Cmdline) {
			r.process(e.TS, process, kernel)
		}
	}
	for thread := range message.Messages(e.Data, pb.ProcessTree_Threads) {
		r.thread(e.TS, thread, kernel)
	}
}

// process reads a process. It notes kernel threads in kernel.
func (r processes) process(ts int64, data []byte, kernel map[int64]bool) {
	m, pid, ppid := r.Machine, int64(message.Uint32(data, pb.ProcessTree_Process_PID)),
		int64(message.Uint32(data, pb.ProcessTree_Process_PPID))
	if local := levels(data, pb.ProcessTree_Process_Nspid); local != nil {
		m.SetNamespacedProcess(pid, local)
	}
	name, cmdline := commandLine(data)
	if ppid == kthreadd {
		kernel[pid] = true
		if worker := workerName(name); len(worker) < len(name) {
			name, cmdline = worker, worker
		}
	}
	parent, upid := m.Process(ppid), m.Process(pid)
	if !m.SetParent(upid, parent) {
		r.File.LogTime(model.StatProcessTrackerParentPIDChanged, ts, nil)
	}
	m.SetProcessName(upid, r.Store.Strings.InternBytes(name), model.ProcessNameSystem)
	m.SetCmdline(upid, r.Store.Strings.InternBytes(cmdline))
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case pb.ProcessTree_Process_UID:
			m.SetUID(upid, int64(f.Uint32()))
		case pb.ProcessTree_Process_ProcessStartFromBoot:
			boot := model.Clock{ID: model.ClockBoottime}
			if start, err := r.Clocks.ToTrace(boot, f.Int64()); err == nil {
				m.SetProcessStart(upid, start)
			}
		case pb.ProcessTree_Process_IsKthread:
			m.ProcessArgs(upid).Add(r.Store.Strings.Intern("is_kthread"), model.BoolArg(f.Bool()))
		case pb.ProcessTree_Process_CmdlineIsComm:
			if f.Bool() {
				m.SetThreadName(m.Thread(pid), r.Store.Strings.InternBytes(cmdline), model.ThreadNameSystem)
			}
		}
	}
}

// commandLine returns the program's name and the whole command line.
func commandLine(process []byte) (name, cmdline []byte) {
	parts := 0
	for part := range message.Messages(process, pb.ProcessTree_Process_Cmdline) {
		if parts++; parts == 1 {
			name, cmdline = part, part
			continue
		}
		cmdline = append(append(bytes.Clone(cmdline), ' '), part...)
	}
	// Some processes replace their command line with a single text.
	if i := bytes.IndexByte(name, ' '); parts == 1 && i >= 0 {
		name = name[:i]
	}
	return name, cmdline
}

// workerName removes the last work item from the name of a kernel worker thread.
func workerName(name []byte) []byte {
	const prefix = "kworker/"
	if bytes.HasPrefix(name, []byte(prefix)) {
		if i := bytes.IndexAny(name[len(prefix):], "+-"); i >= 0 {
			return name[:len(prefix)+i]
		}
	}
	return name
}

// levels are the ids of a process or thread in its namespaces, outermost first.
func levels(data []byte, number uint32) []int64 {
	var local []int64
	for v := range message.Numbers(data, number) {
		local = append(local, int64(int32(v)))
	}
	return local
}

func (r processes) thread(ts int64, data []byte, kernel map[int64]bool) {
	m, tid, tgid := r.Machine, int64(message.Uint32(data, pb.ProcessTree_Thread_TID)),
		int64(message.Uint32(data, pb.ProcessTree_Thread_TGID))
	m.ThreadOf(tid, tgid)
	if f, ok := wire.Find(data, pb.ProcessTree_Thread_Name); ok {
		name := f.Bytes()
		if tid == tgid && kernel[tid] {
			name = workerName(name)
		}
		m.SetThreadName(m.Thread(tid), r.Store.Strings.InternBytes(name), model.ThreadNameSystem)
	}
	if local := levels(data, pb.ProcessTree_Thread_Nstid); local != nil && !m.SetNamespacedThread(tgid, tid, local) {
		r.File.LogTime(model.StatNamespacedThreadMissingProcess, ts, nil)
	}
}

var (
	smaps  = &model.Blueprint{Classification: "smaps", Event: model.CounterTrack, Dims: []string{"upid", "smaps_key"}, NameOf: model.NameOf("mem.smaps.%[2]s")}
	chrome = &model.Blueprint{Classification: "chrome_process_stats", Event: model.CounterTrack, Dims: []string{"upid", "key"},
		NameOf: model.NameOf("chrome.%[2]s")}
	runtime = &model.Blueprint{Classification: "proc_stat_runtime", Event: model.CounterTrack, Dims: []string{"upid", "proc_stat_runtime_key"}, NameOf: model.NameOf("runtime.%[2]s")}
)

// processCounters are the counters of ProcessStats.Process by field.
var processCounters = map[uint32]struct {
	track *model.Blueprint
	key   string
	scale float64 // from kB to bytes, for values in kB
}{
	pb.ProcessStats_Process_VMSizeKB:                 {tracks.ProcessMemory.Process, "virt", 1024},
	pb.ProcessStats_Process_VMRSSKB:                  {tracks.ProcessMemory.Process, "rss", 1024},
	pb.ProcessStats_Process_RSSAnonKB:                {tracks.ProcessMemory.Process, "rss.anon", 1024},
	pb.ProcessStats_Process_RSSFileKB:                {tracks.ProcessMemory.Process, "rss.file", 1024},
	pb.ProcessStats_Process_RSSShmemKB:               {tracks.ProcessMemory.Process, "rss.shmem", 1024},
	pb.ProcessStats_Process_VMSwapKB:                 {tracks.ProcessMemory.Process, "swap", 1024},
	pb.ProcessStats_Process_VMLockedKB:               {tracks.ProcessMemory.Process, "locked", 1024},
	pb.ProcessStats_Process_VMHwmKB:                  {tracks.ProcessMemory.Process, "rss.watermark", 1024},
	pb.ProcessStats_Process_DmabufRSSKB:              {tracks.ProcessMemory.Process, "dmabuf_rss", 1024},
	pb.ProcessStats_Process_SmrRSSKB:                 {smaps, "rss", 1024},
	pb.ProcessStats_Process_SmrPssKB:                 {smaps, "pss", 1024},
	pb.ProcessStats_Process_SmrPssAnonKB:             {smaps, "pss.anon", 1024},
	pb.ProcessStats_Process_SmrPssFileKB:             {smaps, "pss.file", 1024},
	pb.ProcessStats_Process_SmrPssShmemKB:            {smaps, "pss.smem", 1024},
	pb.ProcessStats_Process_SmrSwapPssKB:             {smaps, "swap.pss", 1024},
	pb.ProcessStats_Process_ChromePrivateFootprintKB: {chrome, "private_footprint_kb", 1024},
	pb.ProcessStats_Process_ChromePeakResidentSetKB:  {chrome, "peak_resident_set_kb", 1024},
	pb.ProcessStats_Process_RuntimeUserMode:          {runtime, "user_ns", 1},
	pb.ProcessStats_Process_RuntimeKernelMode:        {runtime, "kernel_ns", 1},
}

// stats reads the counters, threads and open files of a process.
func (r processes) stats(ts int64, data []byte) {
	pid := int64(message.Uint32(data, pb.ProcessStats_Process_PID))
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case pb.ProcessStats_Process_PID:
		case pb.ProcessStats_Process_IsPeakRSSResettable:
			r.Machine.ProcessArgs(r.Machine.Process(pid)).Add(r.Store.Strings.Intern("is_peak_rss_resettable"), model.BoolArg(f.Bool()))
		case pb.ProcessStats_Process_Threads:
			r.Machine.ThreadOf(int64(message.Uint32(f.Bytes(), pb.ProcessStats_Thread_TID)), pid)
		case pb.ProcessStats_Process_FDs:
			r.openFile(ts, pid, f.Bytes())
		case pb.ProcessStats_Process_OOMScoreAdj:
			track := r.Tracks.Intern(tracks.OOMScoreAdj.Process, nil, model.IntDim(r.Machine.Process(pid)))
			r.Counters.Push(ts, float64(f.Int64()), track)
		default:
			c, ok := processCounters[f.Number]
			if !ok {
				r.File.Count(model.StatProcStatUnknownCounters)
				continue
			}
			key := model.StringDim(r.Store.Strings.Intern(c.key))
			track := r.Tracks.Intern(c.track, nil, model.IntDim(r.Machine.Process(pid)), key)
			r.Counters.Push(ts, float64(f.Int64())*c.scale, track)
		}
	}
}

func (r processes) openFile(ts, pid int64, data []byte) {
	t := &r.Store.Filedescriptor
	row := t.Append()
	t.UFD.Set(row, row)
	t.FD.Set(row, message.Int64(data, pb.ProcessStats_FDInfo_FD))
	t.TS.Set(row, ts)
	t.UPID.Set(row, r.Machine.Process(pid))
	t.Path.Set(row, r.TextField(data, pb.ProcessStats_FDInfo_Path))
}
