package ftrace

import (
	"github.com/tpconvert/tpconvert/ingest/internal/linux"
	"github.com/tpconvert/tpconvert/model"
)

// syscalls is the state of the tracepoints sys_enter and sys_exit.
type syscalls struct {
	arch    string
	names   []model.StringID // by number, for arch
	writes  map[model.UTID]bool
	write   model.StringID
	returns model.StringID // the call that does not return
}

// name returns the name of a system call, or zero for a number out of range.
func (s *syscalls) name(p *Parser, number int64) model.StringID {
	if arch := p.Machine.Arch(); s.names == nil || s.arch != arch {
		s.arch, s.names = arch, s.names[:0]
		s.write, s.returns = p.word("sys_write"), p.word("sys_rt_sigreturn")
		for _, name := range linux.Syscalls(arch) {
			s.names = append(s.names, p.word(name))
		}
	}
	if number = unsigned(number); number < int64(len(s.names)) {
		return s.names[number]
	}
	return 0
}

func sysEnter(p *Parser, e *Event) {
	s := &p.syscall
	name := s.name(p, e.Int("id"))
	if name == 0 {
		return
	}
	args := model.ArgFunc(func(set *model.ArgSet) {
		e.each("args", func(v *value) { p.addElement(set, e, v) })
	})
	utid := p.thread(e)
	if name == s.returns {
		p.Slices.Scoped(e.TS, 0, p.Tracks.Thread(utid), 0, name, args)
	} else {
		p.Slices.Begin(e.TS, p.Tracks.Thread(utid), 0, name, args)
	}
	if name == s.write {
		s.writing(utid, true)
	}
}

func sysExit(p *Parser, e *Event) {
	s := &p.syscall
	name, utid := s.name(p, e.Int("id")), p.thread(e)
	if name == 0 {
		return
	}
	if name == s.write {
		if !s.writes[utid] {
			return
		}
		s.writing(utid, false)
	}
	var args model.ArgSource
	if e.Has("ret") {
		args = p.list().add("ret", model.IntArg(e.Int("ret")))
	}
	p.Slices.End(e.TS, p.Tracks.Thread(utid), 0, name, args)
}

func (s *syscalls) writing(utid model.UTID, on bool) {
	if s.writes == nil {
		s.writes = map[model.UTID]bool{}
	}
	s.writes[utid] = on
}

// truncateWrite ends the call that writes a mark. A slice that a mark begins
// outlasts the call, so the two would not nest.
func (s *syscalls) truncateWrite(p *Parser, e *Event) {
	if len(s.writes) == 0 {
		return
	}
	if utid := p.Machine.LiveThread(e.TID); utid != model.None && s.writes[utid] {
		s.writing(utid, false)
		p.File.Count(model.StatTruncatedSysWriteDuration)
		p.Slices.End(e.TS, p.Tracks.Thread(utid), 0, s.write, nil)
	}
}
