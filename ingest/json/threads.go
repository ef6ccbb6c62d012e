package json

import (
	"github.com/tpconvert/tpconvert/internal/attached"
	"github.com/tpconvert/tpconvert/model"
)

// threads finds the threads and processes of a machine by the pids and tids of events. These identify them, whatever they are: a
// number, a text, or nothing.
//
// The machine finds threads by numbers. It does not know texts, and its pid 0 and tid 0 are the idle process and thread in traces
// of Linux. In Trace Event Format they are processes and threads as any others: GPU 0, and its stream 0.
type threads struct {
	machine *model.Machine
	places  *places
	// What the machine cannot find.
	processes map[id]model.UPID
	threads   map[threadKey]model.UTID
	newest    map[id]model.UTID // of the threads with each tid
	recent    [256]recentThread
}

type threadKey struct {
	upid model.UPID
	tid  id
}

// recentThread is a thread that was looked up, which is valid until the machine changes.
type recentThread struct {
	pid, tid id
	utid     model.UTID
	changes  int
}

var sharedThreads = attached.Value[*model.Machine, threads]{}

func threadsOf(machine *model.Machine, places *places) *threads {
	t := sharedThreads.Of(machine)
	if t.machine == nil {
		*t = threads{machine: machine, places: places, processes: map[id]model.UPID{}, threads: map[threadKey]model.UTID{}, newest: map[id]model.UTID{}}
	}
	return t
}

// foreign reports whether the machine cannot find a pid or tid.
func (i id) foreign() bool { return i.kind != idNumber || i.v == 0 }

// thread returns the thread with a tid in the process with a pid, and adds whichever is missing. Without a tid it is the main thread.
func (t *threads) thread(pid, tid id) model.UTID {
	recent := &t.recent[(pid.v*31+tid.v)%uint64(len(t.recent))]
	if recent.pid == pid && recent.tid == tid && recent.changes == t.machine.ThreadChanges() {
		return recent.utid
	}
	number := tid
	if tid.kind == idNone {
		number = pid
	}
	utid := t.find(pid, number)
	t.name(utid, tid)
	*recent = recentThread{pid, tid, utid, t.machine.ThreadChanges()}
	return utid
}

func (t *threads) find(pid, tid id) model.UTID {
	if !pid.foreign() && !tid.foreign() {
		return t.machine.ThreadOf(int64(tid.v), int64(pid.v))
	}
	if pid.kind == idText {
		t.process(pid)
	}
	utid := model.UTID(model.None)
	if _, known := t.newest[tid]; tid.kind == idText && !known { // Trace Processor adds the thread before its process
		utid = t.add(tid)
	}
	key := threadKey{t.process(pid), tid}
	if known, ok := t.threads[key]; ok {
		return known
	}
	if utid == model.None {
		utid = t.add(tid)
	}
	t.machine.Join(utid, key.upid, tid == pid)
	t.threads[key], t.newest[tid] = utid, utid
	return utid
}

// add adds a thread without a process.
func (t *threads) add(tid id) model.UTID {
	utid := t.machine.AddThread(t.number(tid), model.None, false)
	if tid.kind == idText {
		t.machine.InventedThread(utid)
	}
	return utid
}

// name gives a thread without a name its tid, if that is a text.
func (t *threads) name(utid model.UTID, tid id) {
	if tid.kind == idText && t.machine.ThreadName(utid) == 0 {
		t.machine.SetThreadName(utid, model.StringID(tid.v), model.ThreadNameOther)
	}
}

// process returns the process with a pid, and adds it and its main thread if there is none.
func (t *threads) process(pid id) model.UPID {
	if !pid.foreign() {
		return t.machine.Process(int64(pid.v))
	}
	upid, ok := t.processes[pid]
	if !ok {
		upid = t.machine.AddProcess(t.number(pid))
		t.processes[pid] = upid
		if pid.kind == idText {
			t.machine.SetProcessName(upid, model.StringID(pid.v), model.ProcessNameSystem)
			t.machine.InventedProcess(upid)
		}
		utid := t.add(pid)
		t.machine.Join(utid, upid, true)
		t.threads[threadKey{upid, pid}], t.newest[pid] = utid, utid
	}
	return upid
}

// byTID returns the thread with a tid in any process, for what has no pid.
func (t *threads) byTID(tid id) model.UTID {
	if !tid.foreign() {
		if utid := t.machine.LiveThread(int64(tid.v)); utid != model.None {
			return utid
		}
	}
	utid, ok := t.newest[tid]
	switch {
	case ok:
	case !tid.foreign():
		utid = t.machine.Thread(int64(tid.v))
	default:
		utid = t.add(tid)
		t.newest[tid] = utid
	}
	t.name(utid, tid)
	return utid
}

// number returns the number that the tables show. That of a text is none of a real process or thread in the end.
func (t *threads) number(i id) int64 {
	if i.kind == idText {
		return int64(t.places.of(model.StringID(i.v)))
	}
	return int64(i.v)
}
