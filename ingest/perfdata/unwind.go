package perfdata

import (
	"encoding/binary"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/internal/binaries"
	"github.com/tpconvert/tpconvert/ingest/internal/unwind"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
)

// code is a binary, which may be mapped at several places.
type code struct {
	path, buildID string
	unwinder      *unwind.File // nil if no file says how to unwind it
	named         *unwind.File // nil if no file has its symbols
	looked        bool
}

// codes are the binaries of a recording.
type codes struct {
	finder    *binaries.Finder
	file      *model.File
	all       map[[2]string]*code
	byMapping map[profile.MappingID]*code
}

func newCodes(finder *binaries.Finder, file *model.File) *codes {
	return &codes{finder: finder, file: file, all: map[[2]string]*code{}, byMapping: map[profile.MappingID]*code{}}
}

// of returns the binary with a path and a build id.
func (c *codes) of(path, buildID string) *code {
	key := [2]string{path, buildID}
	known := c.all[key]
	if known == nil {
		known = &code{path: path, buildID: buildID}
		c.all[key] = known
	}
	return known
}

// find looks for the files of a binary.
func (c *codes) find(b *code) {
	if b.looked {
		return
	}
	b.looked = true
	found := c.finder.Find(b.path, b.buildID)
	for _, f := range found.Files {
		if b.unwinder == nil && f.CanUnwind() {
			b.unwinder = f
		}
		if b.named == nil || !b.named.HasSymbols() && f.HasSymbols() {
			b.named = f
		}
	}
	for _, why := range found.Wrong {
		c.file.Unread(model.StatUnreadFact, model.None, "binary "+why).
			Say("binary is not used: "+why, "binaries are not used: "+why).Add(model.LogEntry{})
	}
}

// isFile reports whether a mapping's path is that of a file, and not of memory such as what a JIT compiler wrote.
func (b *code) isFile() bool {
	if !strings.HasPrefix(b.path, "/") {
		return false
	}
	for _, memory := range []string{"//", "/memfd:", "/dev/", "/SYSV", "/anon_hugepage"} {
		if strings.HasPrefix(b.path, memory) {
			return false
		}
	}
	return true
}

// space is the memory of a process.
type space struct {
	codes *codes
	of    *process
}

// Binary implements unwind.Space.
func (s *space) Binary(address uint64) (*unwind.File, uint64) {
	m, ok := s.of.files.Find(address)
	if !ok {
		return nil, 0
	}
	s.codes.find(m.code)
	if m.code.unwinder == nil {
		return nil, 0
	}
	in, ok := m.code.unwinder.Address(address - m.start + m.offset)
	if !ok {
		return nil, 0
	}
	return m.code.unwinder, address - in
}

// Mapped implements unwind.Space.
func (s *space) Mapped(address uint64) bool {
	_, ok := s.of.files.Find(address)
	return ok
}

// unwind finds the user frames of a sample, innermost first, from the registers and the copy of the stack that follow the
// addresses in its token. They are nil if the binary of the innermost one is not known.
func (p *parser) unwind(ts int64, owner *process, e *event, token, rest []byte) []uint64 {
	n := int(binary.LittleEndian.Uint32(token[sampleRegs:]))
	if token[sampleHas]&hasOtherABI != 0 {
		p.cut(ts, "user stack of another machine", " of a program for another kind of machine")
		return nil
	}
	if n == 0 {
		return nil
	}
	p.registers = p.registers[:0]
	for i := range n {
		p.registers = append(p.registers, binary.LittleEndian.Uint64(rest[8*i:]))
	}
	registers, ok := unwind.NewRegisters(e.registers, p.registers)
	if !ok {
		p.cut(ts, "user stack of another machine", " of a program for another kind of machine")
		return nil
	}
	p.space.of = owner
	var end unwind.End
	p.users, end = unwind.Unwind(p.users[:0], registers, &p.space, unwind.Stack{Address: registers.SP(), Bytes: rest[8*n:]})
	switch end {
	case unwind.Complete:
	case unwind.Limit:
		p.cut(ts, "long user stack", " of more than 127 frames")
	case unwind.Copied:
		p.cut(ts, "user stack beyond its copy", " beyond the recorded copy of the stack: perf record --call-graph dwarf,SIZE")
	case unwind.NoBinary:
		last := p.users[len(p.users)-1]
		if m, ok := owner.files.Find(last); ok && m.code.isFile() && m.code.unwinder == nil && !m.code.hasFile() {
			p.File.Unread(model.StatUnreadFact, model.None, "user stack without binaries").
				Say("user stack needs its binaries: tpconvert --symbols DIR", "user stacks need their binaries: tpconvert --symbols DIR").
				Add(model.LogEntry{TS: ts, HasTS: true})
			break
		}
		fallthrough
	case unwind.NoRules:
		p.cut(ts, "user stack in code without rules", " in code without unwind information")
	}
	if end == unwind.NoBinary && len(p.users) == 1 {
		return nil
	}
	return p.users
}

// hasFile reports whether a file of the binary was found.
func (b *code) hasFile() bool { return b.named != nil }

// cut counts a user stack whose outer frames are not known.
func (p *parser) cut(ts int64, noun, where string) {
	p.File.Unread(model.StatUnreadFact, model.None, noun).
		Say("user stack is cut"+where, "user stacks are cut"+where).Add(model.LogEntry{TS: ts, HasTS: true})
}

// resolve names the frames in binaries whose files were found and that have no name yet.
func (c *codes) resolve(into *model.Context) {
	frames := &into.Store.StackProfileFrame
	empty := into.Store.Strings.Intern("")
	for row := range frames.Rows() {
		if name, _ := frames.Name.Get(row); name != empty {
			continue
		}
		mapping, _ := frames.Mapping.Get(row)
		b := c.byMapping[mapping]
		if b == nil {
			continue
		}
		if c.find(b); b.named == nil {
			continue
		}
		pc, _ := frames.RelPC.Get(row)
		loaded := b.named
		if b.unwinder != nil { // files of symbols may not have the code's place in the file
			loaded = b.unwinder
		}
		if in, ok := loaded.Address(uint64(pc)); ok {
			if name := b.named.Function(in); name != "" {
				frames.Name.Set(row, into.Store.Strings.Intern(name))
			}
		}
	}
}
