package model

import (
	"github.com/tpconvert/tpconvert/model/facts"
	"github.com/tpconvert/tpconvert/model/sched"
)

// Context is the state of one machine in one trace file. Formats use its
// trackers to turn events into rows.
type Context struct {
	facts.Facts
	Store    *Store
	File     *File
	Machine  *Machine
	Tracks   *Tracks
	Async    *AsyncTracks
	Slices   *Slices
	Counters *Counters
	Flows    *Flows
	States   *States
	Sched    *sched.CPUs
	Threads  *sched.Threads
	Clocks   *Clocks
}

func newContext(s *Store, f *File, m *Machine) *Context {
	c := &Context{Facts: s.newFacts(f.ID, m.ID), Store: s, File: f, Machine: m}
	c.Tracks = &Tracks{context: c}
	c.Async = &AsyncTracks{context: c}
	c.Slices = &Slices{context: c, sliceStacks: &s.slices}
	c.Counters = &Counters{context: c}
	c.States = &States{context: c, open: map[TrackID]*openState{}}
	c.Clocks = &Clocks{context: c}
	c.Sched = sched.NewCPUs(&s.Tables, m)
	c.Threads = sched.NewThreads(&s.Tables, s.Strings, m)
	c.Flows = &Flows{context: c}
	return c
}

// Wakeup describes the origin of a wakeup.
type Wakeup = sched.Wakeup

// SetStat sets a count that the trace itself reports for the machine.
func (c *Context) SetStat(stat Stat, index, value int64) {
	c.Store.stats[statKey{stat, index, c.File.ID, c.Machine.ID}] = value
}

// Stat returns a count, and whether SetStat set it.
func (c *Context) Stat(stat Stat, index int64) (value int64, ok bool) {
	value, ok = c.Store.stats[statKey{stat, index, c.File.ID, c.Machine.ID}]
	return value, ok
}

// HasStat reports whether a count of the machine in this file is above 0.
func (c *Context) HasStat(is func(Stat) bool) bool {
	for key, n := range c.Store.stats {
		if n > 0 && key.file == c.File.ID && max(key.machine, 0) == c.Machine.ID && is(key.stat) {
			return true
		}
	}
	return false
}

// AddChromeRaw adds a row to chrome_raw, which holds Chrome events that fit no
// other table.
func (c *Context) AddChromeRaw(ts int64, name string, utid UTID, args *ArgSet) {
	t := &c.Store.ChromeRaw
	row := t.Append()
	t.SetID(row, c.Store.Raw.Append())
	t.TS.Set(row, ts)
	t.Name.Set(row, c.Store.Strings.Intern(name))
	t.UTID.Set(row, utid)
	t.CommonFlags.Set(row, 0)
	t.Type.Set(row, c.Store.Strings.Intern(t.Schema().Name))
	c.Store.SetArgs(&t.ArgSetID, row, args)
}

// finish stores everything but slices that had to wait for the end of the file.
func (c *Context) finish() {
	c.Counters.flush()
	c.States.flush()
	c.Sched.Flush()
	c.Threads.Flush()
}
