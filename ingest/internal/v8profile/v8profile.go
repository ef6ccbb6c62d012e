// Package v8profile reads V8's CPU profiles, which traces of several formats
// contain as JSON.
package v8profile

import (
	"encoding/binary"

	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
	"github.com/tpconvert/tpconvert/sort"
)

// Profiles turns chunks into samples.
type Profiles struct {
	*model.Context
	thread   func(process, thread int64) model.UTID
	samples  *sort.Stream
	profiles []*cpuProfile
	byKey    map[Key]int
	early    map[Key][]earlyChunk
	room     int // for early chunks, by their size
	time     model.StringID
}

// earlyChunk is a chunk that comes before the start of its profile: Chrome writes the events of each thread apart, and those of the
// thread that began the profile may come last.
type earlyChunk struct {
	*Chunk
	thread int64
}

// maxEarly is the size of all early chunks that are kept, some 50 MB at most.
const maxEarly = 1 << 18

// Key identifies a profile.
type Key struct {
	ID      uint64
	Process int64 // None if unknown
}

type cpuProfile struct {
	process  int64
	ts       int64            // of the last sample, ns
	begun    int64            // when it began, ns
	start    int64            // the same as V8 says it
	sample   profile.SampleID // that which lasts until the next one, or None
	since    int64            // its time
	mapping  profile.MappingID
	callsite map[uint32]profile.CallsiteID
	parent   map[uint32]uint32 // of nodes listed by their parents
}

// New returns the profiles of a trace. thread finds a thread by what the trace calls it and its process, such as a tid and a pid.
func New(c *model.Context, sorter *sort.Sorter, thread func(process, thread int64) model.UTID) *Profiles {
	p := &Profiles{Context: c, thread: thread, byKey: map[Key]int{}, early: map[Key][]earlyChunk{}, room: maxEarly, time: c.Store.Strings.Intern("time")}
	p.samples = sorter.NewStream(p)
	return p
}

// Start begins a profile at ts, in ns of the trace clock. start is what the profile calls that time.
func (p *Profiles) Start(key Key, ts, start int64) error {
	i, ok := p.byKey[key]
	if !ok {
		i = len(p.profiles)
		p.byKey[key] = i
		p.profiles = append(p.profiles, &cpuProfile{
			process: key.Process, mapping: p.Store.Stacks.DummyMapping(""),
			callsite: map[uint32]profile.CallsiteID{}, parent: map[uint32]uint32{}, sample: model.None,
		})
	}
	cpu := p.profiles[i]
	cpu.ts, cpu.begun, cpu.start = ts, ts, start
	early := p.early[key]
	delete(p.early, key)
	for _, c := range early {
		p.invalid(c.Chunk, p.File.Uncount)
		p.room += c.size()
		if err := p.Add(key, c.thread, c.Chunk); err != nil {
			return err
		}
	}
	return nil
}

// invalid counts what is in a chunk without a profile, or takes the count back.
func (p *Profiles) invalid(c *Chunk, count func(model.Stat)) {
	for range c.Nodes {
		count(model.StatLegacyV8CPUProfileInvalidCallsite)
	}
	for range c.Samples {
		count(model.StatLegacyV8CPUProfileInvalidSample)
	}
}

// Add adds the nodes of a chunk, and its samples, which belong to a thread. The chunk is not changed afterwards.
func (p *Profiles) Add(key Key, thread int64, c *Chunk) error {
	i, ok := p.byKey[key]
	if !ok {
		p.invalid(c, p.File.Count)
		if c.size() <= p.room {
			p.room -= c.size()
			p.early[key] = append(p.early[key], earlyChunk{c, thread})
		}
		return nil
	}
	cpu := p.profiles[i]
	for n := range c.Nodes {
		if !p.node(cpu, &c.Nodes[n]) {
			p.File.Count(model.StatLegacyV8CPUProfileInvalidCallsite)
		}
	}
	for _, name := range c.Unread {
		p.File.Unread(model.StatUnreadFact, model.None, name+" of V8 profile").Add(model.LogEntry{})
	}
	timed := min(len(c.Samples), len(c.Deltas))
	if lost := max(len(c.Samples), len(c.Deltas)) - timed; lost > 0 {
		p.File.Add(model.StatLegacyV8CPUProfileInvalidSample, model.None, int64(lost))
	}
	for n, node := range c.Samples[:timed] {
		cpu.ts += c.Deltas[n]
		if err := p.push(cpu.ts, uint32(i), node, thread); err != nil {
			return err
		}
	}
	if end := cpu.begun + c.End - cpu.start; c.Ends && end > cpu.ts {
		return p.push(end, uint32(i)|ends, 0, thread)
	}
	return nil
}

// ends marks the end of a profile, at which its last sample ends.
const ends = 1 << 31

// push has Event called at a time in ns.
func (p *Profiles) push(at int64, number, node uint32, thread int64) error {
	ts, failed := p.Clocks.DefaultToTrace(at)
	if failed != nil {
		p.File.LogTime(failed.Stat, at, failed)
		return nil
	}
	b, err := p.samples.Reserve(ts, 16)
	if err != nil {
		return err
	}
	binary.LittleEndian.PutUint32(b, number)
	binary.LittleEndian.PutUint32(b[4:], node)
	binary.LittleEndian.PutUint64(b[8:], uint64(thread))
	return nil
}

// node adds a node to the call tree.
func (p *Profiles) node(cpu *cpuProfile, n *Node) bool {
	if _, ok := cpu.callsite[n.ID]; ok {
		return false
	}
	stacks, strings := p.Store.Stacks, p.Store.Strings
	var url model.StringID
	if n.URL != "" {
		url = strings.Intern(n.URL)
	}
	frame := stacks.FunctionFrame(cpu.mapping, strings.Intern(n.Function), url, n.Line)
	parent := profile.CallsiteID(model.None)
	above, ok := cpu.parent[n.ID]
	if n.HasParent {
		above, ok = n.Parent, true
	}
	if ok {
		if parent, ok = cpu.callsite[above]; !ok {
			return false
		}
	}
	id := stacks.Callsite(parent, frame)
	cpu.callsite[n.ID] = id
	for _, child := range n.Children {
		if _, ok := cpu.parent[child]; ok {
			return false
		}
		cpu.parent[child] = n.ID
		if callsite, ok := cpu.callsite[child]; ok && callsite != id {
			stacks.SetParent(callsite, id)
		}
	}
	return true
}

// Event adds a sample, which lasts until the next one of the profile, as in Chrome's DevTools.
func (p *Profiles) Event(ts int64, token []byte) error {
	number := binary.LittleEndian.Uint32(token)
	cpu := p.profiles[number&^ends]
	if cpu.sample != model.None {
		p.Store.Stacks.AddSampleEvent(cpu.sample, p.time, ts-cpu.since)
		cpu.sample = model.None
	}
	if number&ends != 0 {
		return nil
	}
	callsite, ok := cpu.callsite[binary.LittleEndian.Uint32(token[4:])]
	if !ok {
		p.File.Count(model.StatLegacyV8CPUProfileInvalidSample)
		return nil
	}
	sample := profile.NewSample(ts, "legacy_v8")
	sample.Callsite = callsite
	if cpu.process != model.None {
		sample.UTID = p.thread(cpu.process, int64(binary.LittleEndian.Uint64(token[8:])))
		sample.UPID = p.Machine.ProcessOf(sample.UTID)
	}
	cpu.sample, cpu.since = p.Store.Stacks.AddSample(sample), ts
	return nil
}
