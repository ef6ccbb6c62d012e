package nettrace

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
)

// images are the files in the memory of processes, and their functions. Recorders of the whole machine name them in events of
// Universal.System; its samples are events of Universal.Events.
type images struct {
	ofProcess map[int64][]image
	symbols   map[uint64][]function // by image
	builds    map[uint64]string     // by id of the metadata
	sorted    bool
}

type image struct {
	start, end, offset, id, build uint64
	path                          model.StringID
}

type function struct {
	start, end uint64
	name       model.StringID
}

// short returns a text in UTF-8 behind 16 bits with its length.
func (c *cursor) short() string { return string(c.take(c.uint(2))) }

func (p *parser) learnName(pid int64, payload []byte) bool {
	c := cursor{b: payload}
	c.varint() // the number in the namespace
	name := c.short()
	if c.failed {
		return false
	}
	upid := p.Machine.Process(pid)
	if name != "" {
		p.Machine.SetProcessName(upid, p.Store.Strings.Intern(name), model.ProcessNameOther)
	}
	return true
}

func (p *parser) learnImage(pid int64, payload []byte) bool {
	c := cursor{b: payload}
	m := image{id: c.varint(), start: c.varint(), end: c.varint(), offset: c.varint()}
	m.path = p.Store.Strings.Intern(c.short())
	m.build = c.varint()
	if c.failed {
		return false
	}
	p.images.ofProcess[pid] = append(p.images.ofProcess[pid], m)
	return true
}

func (p *parser) learnBuild(_ int64, payload []byte) bool {
	c := cursor{b: payload}
	id := c.varint()
	var facts struct {
		BuildID string `json:"build_id"`
	}
	if err := json.Unmarshal([]byte(c.short()), &facts); err != nil || c.failed {
		return !c.failed // of a kind without a build id
	}
	p.images.builds[id] = facts.BuildID
	return true
}

func (p *parser) learnSymbol(_ int64, payload []byte) bool {
	c := cursor{b: payload}
	c.varint() // the symbol's id
	id := c.varint()
	f := function{start: c.varint(), end: c.varint()}
	f.name = p.Store.Strings.Intern(c.short())
	if c.failed {
		return false
	}
	p.images.symbols[id] = append(p.images.symbols[id], f)
	return true
}

// frame returns the frame of an address in a process, if an image has it.
func (m *images) frame(p *parser, pid int64, address uint64) (id profile.FrameID, ok bool) {
	if len(m.ofProcess) == 0 {
		return model.None, false
	}
	if !m.sorted {
		for _, all := range m.ofProcess {
			slices.SortStableFunc(all, func(a, b image) int { return cmp.Compare(a.start, b.start) })
		}
		for _, all := range m.symbols {
			slices.SortStableFunc(all, func(a, b function) int { return cmp.Compare(a.start, b.start) })
		}
		m.sorted = true
	}
	for _, pid := range []int64{pid, 0} { // those of the kernel are in process 0
		at := last(m.ofProcess[pid], func(i image) bool { return i.start <= address })
		if at == nil || address >= at.end {
			continue
		}
		name := model.StringID(0)
		if f := last(m.symbols[at.id], func(f function) bool { return f.start <= address }); f != nil && address < f.end {
			name = f.name
		}
		mapping := p.Store.Stacks.Mapping(profile.Mapping{BuildID: p.Store.Strings.Intern(m.builds[at.build]), ExactOffset: at.offset,
			Start: at.start, End: at.end, Name: at.path})
		return p.Store.Stacks.Frame(mapping, address-at.start+at.offset, name), true
	}
	return model.None, false
}

// last returns the last element for which a condition is true, in a slice where it is true for the first ones, or nil.
func last[T any](all []T, is func(T) bool) *T {
	n, _ := slices.BinarySearchFunc(all, true, func(v T, _ bool) int {
		if is(v) {
			return -1
		}
		return 1
	})
	if n == 0 {
		return nil
	}
	return &all[n-1]
}

// universalSample stores a sample of the processor's time. Its value is its weight.
func (p *parser) universalSample(ts int64, utid model.UTID, stack, labels int64, cpu uint64, payload []byte) {
	v := profile.NewSample(ts, "nettrace")
	v.UTID, v.UPID = utid, p.Machine.ProcessOf(utid)
	if cpu < model.MaxCPUs {
		v.CPU, v.UCPU = int64(cpu), p.Machine.CPU(int64(cpu))
	}
	if stack != noStack {
		v.Callsite = p.callsite(stack)
	}
	c := cursor{b: payload}
	if weight := int64(c.varint()); !c.failed && weight > 0 {
		v.Weight = weight
	}
	id := p.Store.Stacks.AddSample(v)
	if labels == noLabels {
		return
	}
	var set model.ArgSet
	p.addLabels(&set, labels)
	row := p.Store.Stacks.AddSampleEvent(id, p.Store.Strings.Intern("cpu"), model.None)
	p.Store.StackSampleEvent.ArgSetID.Set(row, p.Store.InternArgs(&set))
}
