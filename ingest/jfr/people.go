package jfr

import (
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
)

// person identifies a thread: tids are used again, and virtual threads have none.
type person struct{ tid, java int64 }

// people are the process and its threads, and where its code is from.
type people struct {
	context  *model.Context
	pid      int64
	upid     model.UPID
	started  bool
	threads  map[person]model.UTID
	latest   map[int64]person // of each tid
	mappings map[model.StringID]profile.MappingID
}

// describe notes the pid and the command of the process.
func (p *people) describe(pid int64, command []byte) {
	if p.started {
		return
	}
	p.pid = pid
	p.start()
	for i, c := range command {
		if c == ' ' {
			command = command[:i]
			break
		}
	}
	if len(command) > 0 {
		p.context.Machine.SetProcessName(p.upid, p.context.Store.Strings.InternBytes(command), model.ProcessNameSystem)
	}
}

func (p *people) start() {
	if p.started {
		return
	}
	p.started = true
	p.threads, p.latest = map[person]model.UTID{}, map[int64]person{}
	if p.pid > 0 {
		p.upid = p.context.Machine.ProcessWithoutThread(p.pid)
	} else {
		p.upid = p.context.Machine.AddProcess(0)
	}
}

// thread returns a thread and its name.
func (p *people) thread(c *chunk, v value) (model.UTID, model.StringID) {
	p.start()
	id := person{int64(c.get(v, "osThreadId").n), int64(c.get(v, "javaThreadId").n)}
	name := c.textOf(v, "javaName")
	if len(name) == 0 {
		name = c.textOf(v, "osName")
	}
	utid, ok := p.threads[id]
	if before, used := p.latest[id.tid]; !ok && used && id.tid > 0 && (id.java <= 0 || before.java <= 0) {
		utid, ok = p.threads[before], true // one that was not yet, or is no longer, Java's
	}
	machine := p.context.Machine
	switch {
	case ok:
	case id.tid <= 0:
		utid = machine.AddThread(id.java, p.upid, false)
	case p.pid > 0 && p.latest[id.tid] == person{}:
		utid = machine.ThreadOf(id.tid, p.pid)
	default:
		utid = machine.AddThread(id.tid, p.upid, id.tid == p.pid)
	}
	p.threads[id], p.latest[id.tid] = utid, id
	word := p.context.Store.Strings.InternBytes(name)
	if len(name) > 0 {
		machine.SetThreadName(utid, word, model.ThreadNameOther)
	}
	return utid, word
}

// mapping returns the mapping that stands for how code was made, such as [JIT compiled].
func (p *people) mapping(kind model.StringID) profile.MappingID {
	id, ok := p.mappings[kind]
	if !ok {
		name := "[jfr]"
		if kind != 0 {
			name = "[" + p.context.Store.Strings.Get(kind) + "]"
		}
		if p.mappings == nil {
			p.mappings = map[model.StringID]profile.MappingID{}
		}
		id = p.context.Store.Stacks.DummyMapping(name)
		p.mappings[kind] = id
	}
	return id
}
