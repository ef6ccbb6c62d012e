package model

// Counters stores the values of counter tracks.
type Counters struct {
	context *Context
	waiting []waitingCounter
	scratch ArgSet
}

type waitingCounter struct {
	row     int64
	utid    UTID
	counter ProcessCounter
	dims    [2]StringID
}

// ProcessCounter is a counter of a process whose values come with one of its threads.
// If a thread's process never becomes known, the thread gets its own counter.
type ProcessCounter struct {
	Process, Thread *Blueprint
}

// PerfCounter is a counter of a CPU in a session of Linux perf.
var PerfCounter = &Blueprint{Classification: "perf_cpu_counter", Event: CounterTrack, Dims: []string{"cpu", "perf_session_id", "name"}}

// Push adds a value.
func (c *Counters) Push(ts int64, value float64, track TrackID) CounterID {
	t := &c.context.Store.Counter
	row := t.Append()
	t.TS.Set(row, ts)
	t.TrackID.Set(row, track)
	t.Value.Set(row, value)
	return CounterID(row)
}

// PushWithArgs adds a value with args.
func (c *Counters) PushWithArgs(ts int64, value float64, track TrackID, args ArgSource) {
	id := c.Push(ts, value, track)
	c.context.Store.args.AssignOf(&c.context.Store.Counter.ArgSetID, int64(id), args, &c.scratch)
}

// PushByThread adds a value, with the thread that reported it in its args.
func (c *Counters) PushByThread(ts int64, value float64, track TrackID, utid UTID) CounterID {
	id := c.Push(ts, value, track)
	c.context.Store.setThread(id, utid, &c.scratch)
	return id
}

// PushForThread adds a value to a counter of the thread's process, which has up
// to two dimensions besides the process.
func (c *Counters) PushForThread(counter ProcessCounter, ts int64, value float64, utid UTID, dims ...StringID) {
	row := int64(c.Push(ts, value, 0))
	w := waitingCounter{row: row, utid: utid, counter: counter}
	copy(w.dims[:], dims)
	if upid := c.context.Machine.ProcessOf(utid); upid != None {
		c.resolve(w, upid)
		return
	}
	c.context.Store.Counter.Pin(row)
	c.waiting = append(c.waiting, w)
}

func (c *Counters) resolve(w waitingCounter, upid UPID) {
	b, owner := w.counter.Process, IntDim(upid)
	if upid == None {
		b, owner = w.counter.Thread, IntDim(w.utid)
	}
	dims := [3]Dim{owner, StringDim(w.dims[0]), StringDim(w.dims[1])}
	track := c.context.Tracks.Intern(b, nil, dims[:len(b.Dims)]...)
	c.context.Store.Counter.TrackID.Set(w.row, track)
}

// flush assigns tracks to the values still waiting for their process.
func (c *Counters) flush() {
	for _, w := range c.waiting {
		c.resolve(w, c.context.Machine.ProcessOf(w.utid))
		c.context.Store.Counter.Unpin(w.row)
	}
	c.waiting = nil
}

// setThread sets the args of a value to one that holds only a utid. It overwrites scratch.
func (s *Store) setThread(id CounterID, utid UTID, scratch *ArgSet) {
	if known := s.threadSets.Get(int(utid)); known > 0 {
		s.Counter.ArgSetID.Set(int64(id), known-1)
		return
	}
	scratch.Reset()
	scratch.Add(s.words.utid, UintArg(uint64(utid)))
	s.SetArgs(threadSet{s, utid}, int64(id), scratch)
}

// threadSet sets the args of counter values, and keeps the id of a thread's set.
type threadSet struct {
	*Store
	utid UTID
}

// Set implements ArgTarget.
func (t threadSet) Set(row int64, id ArgSetID) {
	t.Counter.ArgSetID.Set(row, id)
	*t.threadSets.At(int(t.utid)) = id + 1
}
