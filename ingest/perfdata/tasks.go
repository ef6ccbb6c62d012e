package perfdata

import (
	"slices"

	"github.com/tpconvert/tpconvert/model"
)

// fork is a new thread that no row mentions yet. Threads that end before they are sampled get none.
type fork struct {
	tid, pid   uint32
	parent     uint32         // pid of the process that forked it
	name       model.StringID // of the thread that forked it, or 0
	start, end *int64         // ns, nil if unknown
}

// fork notes a new thread. Its tid may be that of a thread that is over. A process has the mappings of its parent.
func (p *parser) fork(start *int64, token []byte) {
	tid, parent := pidOf(token, forkThread), pidOf(token, forkParentThread)
	f := &fork{tid: tid, pid: pidOf(token, forkPID), parent: pidOf(token, forkParent), start: start}
	switch {
	case p.begun(tid, start):
		return // another event has the same record
	case p.listed(tid) && start != nil:
		p.start(f)
		return
	case !p.listed(tid):
		p.forks[tid] = f
	}
	if from := p.forks[parent]; from != nil {
		f.name = from.name
	} else if utid := p.Machine.LiveThread(int64(parent)); utid != model.None {
		f.name, _ = p.Store.Thread.Name.Get(int64(utid))
	}
	if f.pid != f.parent {
		child := p.process(f.pid)
		child.exec()
		child.files = p.process(f.parent).files.Copy()
	}
}

// begun reports whether the newest thread with a tid began at a time.
func (p *parser) begun(tid uint32, ts *int64) bool {
	if ts == nil {
		return false
	}
	if f := p.forks[tid]; f != nil {
		return f.start != nil && *f.start == *ts
	}
	utid := p.Machine.LiveThread(int64(tid))
	if utid == model.None {
		return false
	}
	start, ok := p.Store.Thread.StartTS.Get(int64(utid))
	return ok && start == *ts
}

// listed reports whether a thread is known without its start. Those that begin while perf lists all threads are in the list, too.
func (p *parser) listed(tid uint32) bool {
	utid := p.Machine.LiveThread(int64(tid))
	if p.forks[tid] != nil || utid == model.None {
		return false
	}
	_, began := p.Store.Thread.StartTS.Get(int64(utid))
	_, ended := p.Store.Thread.EndTS.Get(int64(utid))
	return !began && !ended
}

// start stores the start of a thread that is listed.
func (p *parser) start(f *fork) {
	p.Store.Thread.StartTS.Set(int64(p.Machine.LiveThread(int64(f.tid))), *f.start)
	if upid := p.Machine.LiveProcess(int64(f.pid)); f.tid == f.pid && upid != model.None {
		p.Machine.SetProcessStart(upid, *f.start)
		p.begin(f.parent, f.parent)
		if parent := p.Machine.LiveProcess(int64(f.parent)); parent != model.None && parent != upid {
			p.Machine.SetParent(upid, parent)
		}
	}
}

// exit notes the end of a thread. It may still be sampled until it leaves its CPU.
func (p *parser) exit(ts int64, token []byte) {
	tid := pidOf(token, forkThread)
	if f := p.forks[tid]; f != nil {
		f.end = &ts
	} else if utid := p.Machine.LiveThread(int64(tid)); utid != model.None {
		p.end(utid, ts)
	}
}

// end stores the end of a thread.
func (p *parser) end(utid model.UTID, ts int64) {
	p.Store.Thread.EndTS.Set(int64(utid), ts)
	if upid := p.Machine.ProcessOf(utid); upid != model.None {
		p.ends[upid] = max(p.ends[upid], ts)
	}
}

// thread returns the thread whose ids are at these offsets of a token.
func (p *parser) thread(token []byte, pid, tid int) model.UTID {
	main, id := pidOf(token, pid), pidOf(token, tid)
	p.begin(main, main)
	p.begin(id, main)
	return p.Machine.ThreadOf(int64(id), int64(main))
}

// begin makes the rows of a thread that was forked, and of the processes from which it comes.
func (p *parser) begin(tid, pid uint32) {
	var line []*fork
	for f := p.forks[tid]; f != nil && f.pid == pid; f = p.forks[tid] {
		delete(p.forks, tid)
		line = append(line, f)
		if tid == pid {
			tid, pid = f.parent, f.parent
		}
	}
	for _, f := range slices.Backward(line) {
		p.add(f)
	}
}

// add makes the rows of a thread.
func (p *parser) add(f *fork) {
	var utid model.UTID
	if f.tid == f.pid {
		p.Machine.StartProcess(f.start, p.Machine.LiveProcess(int64(f.parent)), int64(f.pid), f.name, model.ThreadNameSystem)
		utid = p.Machine.LiveThread(int64(f.tid))
	} else {
		upid := p.Machine.Process(int64(f.pid))
		utid = p.Machine.StartThread(f.start, int64(f.tid))
		p.Machine.Join(utid, upid, false)
		p.Machine.SetThreadName(utid, f.name, model.ThreadNameSystem)
	}
	if f.end != nil {
		p.end(utid, *f.end)
	}
}

// finishProcesses stores the ends of processes, of which each thread has ended, and the parents of those that ran before.
func (p *parser) finishProcesses() {
	for _, f := range p.forks {
		if p.forks[f.pid] != nil {
			continue // a thread of a process without a row
		}
		upid := p.Machine.LiveProcess(int64(f.pid))
		switch last, ok := p.ends[upid]; {
		case !ok:
		case f.end == nil:
			delete(p.ends, upid)
		default:
			p.ends[upid] = max(last, *f.end)
		}
	}
	for upid, ts := range p.ends {
		if p.over(upid) {
			p.Store.Process.EndTS.Set(int64(upid), ts)
		}
	}
	for pid, parent := range p.parents {
		if child, parent := p.earlier(pid), p.earlier(parent); child != parent && child != model.None && parent != model.None {
			p.Machine.SetParent(child, parent)
		}
	}
}

// over reports whether each thread of a process has ended.
func (p *parser) over(upid model.UPID) bool {
	for utid := range p.Machine.Threads(upid) {
		if _, ended := p.Store.Thread.EndTS.Get(int64(utid)); !ended {
			return false
		}
	}
	return true
}

// earlier returns the process that had the pid before the recording, or None if it has no row or another one has the pid now.
func (p *parser) earlier(pid uint32) model.UPID {
	upid := p.Machine.LiveProcess(int64(pid))
	if upid != model.None {
		if _, began := p.Store.Process.StartTS.Get(int64(upid)); began {
			return model.None
		}
	}
	return upid
}
