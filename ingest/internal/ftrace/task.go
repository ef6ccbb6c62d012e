package ftrace

import "github.com/tpconvert/tpconvert/model"

// cloneThread is CLONE_THREAD in the kernel's include/uapi/linux/sched.h.
const cloneThread = 0x10000

func taskNewtask(p *Parser, e *Event) {
	p.sched.newTask = true
	if !p.has(e, "pid") {
		return
	}
	tid, comm := unsigned(e.Int("pid")), p.text(e, "comm")
	if tid == 0 {
		return // idle threads of other CPUs, in traces that start at boot
	}
	if e.Int("clone_flags")&cloneThread == 0 {
		upid := p.Machine.StartProcess(&e.TS, model.None, tid, comm, model.ThreadNameFtrace)
		parent := p.thread(e)
		p.Machine.SetParentThread(upid, parent)
		p.Threads.Start(e.TS, p.Machine.Thread(tid), parent)
		return
	}
	creator := p.thread(e)
	utid := p.Machine.StartListed(e.TS, tid, p.Machine.ProcessOf(creator))
	if utid == model.None {
		utid = p.Machine.StartThread(&e.TS, tid)
	}
	p.Machine.SetThreadName(utid, comm, model.ThreadNameFtrace)
	p.Machine.Associate(creator, utid, true)
	p.Threads.Start(e.TS, utid, creator)
}

func taskRename(p *Parser, e *Event) {
	if !p.has(e, "pid") {
		return
	}
	utid := p.Machine.Thread(unsigned(e.Int("pid")))
	p.Machine.SetThreadAndProcessName(utid, p.text(e, "newcomm"), model.ThreadNameFtrace)
}

func schedProcessFree(p *Parser, e *Event) {
	if !p.has(e, "pid") {
		return
	}
	tid := unsigned(e.Int("pid"))
	if utid := p.Machine.LiveThread(tid); utid != model.None {
		p.Threads.Forget(utid)
	}
	p.Machine.EndThread(e.TS, tid)
}

// signal returns a handler that adds an instant to the track of a thread.
func signal(name string, thread func(*Parser, *Event) model.UTID) handler {
	at := func(p *Parser, e *Event) model.TrackID { return p.Tracks.Thread(thread(p, e)) }
	return instant(at, "", named(name), argument{"signal.sig", "sig", asInt})
}

func pidThread(p *Parser, e *Event) model.UTID { return p.Machine.Thread(unsigned(e.Int("pid"))) }

func kprobe(p *Parser, e *Event) {
	const (
		beginKind = 1 + iota
		endKind
		instantKind
	)
	track, name := onThread(p, e), p.text(e, "name")
	switch e.Int("type") {
	case beginKind:
		p.Slices.Begin(e.TS, track, 0, name, nil)
	case endKind:
		p.Slices.End(e.TS, track, 0, name, nil)
	case instantKind:
		p.Slices.Scoped(e.TS, 0, track, 0, name, nil)
	}
}

var (
	threadFuncgraph = &model.Blueprint{Classification: "thread_funcgraph", Dims: []string{"utid"}, Name: "Funcgraph"}
	cpuFuncgraph    = spans("cpu_funcgraph", "swapper%[1]d -funcgraph", "cpu")
)

// onFuncgraph returns the track of a thread's functions. The idle threads of all
// CPUs share tid 0, so they get tracks by CPU.
func onFuncgraph(p *Parser, e *Event) model.TrackID {
	if e.TID == 0 {
		return p.Tracks.Intern(cpuFuncgraph, nil, model.IntDim(e.CPU))
	}
	return p.Tracks.Intern(threadFuncgraph, nil, model.IntDim(p.thread(e)))
}
