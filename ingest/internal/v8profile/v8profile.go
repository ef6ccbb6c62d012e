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
}

// Key identifies a profile.
type Key struct {
	ID      uint64
	Process int64 // None if unknown
}

type cpuProfile struct {
	process  int64
	ts       int64 // of the last sample, ns
	mapping  profile.MappingID
	callsite map[uint32]profile.CallsiteID
	parent   map[uint32]uint32 // of nodes listed by their parents
}

// New returns the profiles of a trace. thread finds a thread by what the trace calls it and its process, such as a tid and a pid.
func New(c *model.Context, sorter *sort.Sorter, thread func(process, thread int64) model.UTID) *Profiles {
	p := &Profiles{Context: c, thread: thread, byKey: map[Key]int{}}
	p.samples = sorter.NewStream(p)
	return p
}

// Start begins a profile at ts, in ns of the trace clock.
func (p *Profiles) Start(key Key, ts int64) {
	i, ok := p.byKey[key]
	if !ok {
		i = len(p.profiles)
		p.byKey[key] = i
		p.profiles = append(p.profiles, &cpuProfile{
			process: key.Process, mapping: p.Store.Stacks.DummyMapping(""),
			callsite: map[uint32]profile.CallsiteID{}, parent: map[uint32]uint32{},
		})
	}
	p.profiles[i].ts = ts
}

// Add adds the nodes of a chunk, and its samples, which belong to a thread.
func (p *Profiles) Add(key Key, thread int64, c *Chunk) error {
	i, ok := p.byKey[key]
	if !ok {
		for range c.Nodes {
			p.File.Count(model.StatLegacyV8CPUProfileInvalidCallsite)
		}
		for range c.Samples {
			p.File.Count(model.StatLegacyV8CPUProfileInvalidSample)
		}
		return nil
	}
	of := p.profiles[i]
	for n := range c.Nodes {
		if !p.node(of, &c.Nodes[n]) {
			p.File.Count(model.StatLegacyV8CPUProfileInvalidCallsite)
		}
	}
	if len(c.Samples) != len(c.Deltas) {
		p.File.Count(model.StatLegacyV8CPUProfileInvalidSample)
		return nil
	}
	for n, node := range c.Samples {
		of.ts += c.Deltas[n]
		ts, failed := p.Clocks.DefaultToTrace(of.ts)
		switch {
		case failed != nil:
			p.File.LogTime(failed.Stat, of.ts, failed)
			continue
		case ts < 0:
			p.File.Count(model.StatTraceSorterNegativeTimestampDropped)
			continue
		}
		b, err := p.samples.Reserve(ts, 16)
		if err != nil {
			return err
		}
		binary.LittleEndian.PutUint32(b, uint32(i))
		binary.LittleEndian.PutUint32(b[4:], node)
		binary.LittleEndian.PutUint64(b[8:], uint64(thread))
	}
	return nil
}

// node adds a node to the call tree.
func (p *Profiles) node(of *cpuProfile, n *Node) bool {
	if _, ok := of.callsite[n.ID]; ok {
		return false
	}
	stacks, strings := p.Store.Stacks, p.Store.Strings
	var url model.StringID
	if n.URL != "" {
		url = strings.Intern(n.URL)
	}
	frame := stacks.FunctionFrame(of.mapping, strings.Intern(n.Function), url, 0)
	parent := profile.CallsiteID(model.None)
	above, ok := of.parent[n.ID]
	if n.HasParent {
		above, ok = n.Parent, true
	}
	if ok {
		if parent, ok = of.callsite[above]; !ok {
			return false
		}
	}
	id := stacks.Callsite(parent, frame)
	of.callsite[n.ID] = id
	for _, child := range n.Children {
		if _, ok := of.parent[child]; ok {
			return false
		}
		of.parent[child] = n.ID
		if callsite, ok := of.callsite[child]; ok && callsite != id {
			stacks.SetParent(callsite, id)
		}
	}
	return true
}

// Event adds a sample.
func (p *Profiles) Event(ts int64, token []byte) error {
	of := p.profiles[binary.LittleEndian.Uint32(token)]
	callsite, ok := of.callsite[binary.LittleEndian.Uint32(token[4:])]
	if !ok {
		p.File.Count(model.StatLegacyV8CPUProfileInvalidSample)
		return nil
	}
	sample := profile.NewSample(ts, "legacy_v8")
	sample.Callsite = callsite
	if of.process != model.None {
		sample.UTID = p.thread(of.process, int64(binary.LittleEndian.Uint64(token[8:])))
		sample.UPID = p.Machine.ProcessOf(sample.UTID)
	}
	p.Store.Stacks.AddSample(sample)
	return nil
}
