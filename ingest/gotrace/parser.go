package gotrace

import (
	"strings"

	"golang.org/x/exp/trace"

	"github.com/tpconvert/tpconvert/ingest/internal/token"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
)

// maxProcs is more Ps than any program has. Before Go 1.22, Ps numbered from a million up stand for timers, the
// network and the like.
const maxProcs = 1 << 16

var (
	metrics = &model.Blueprint{Classification: "go_metric", Event: model.CounterTrack, Dims: []string{"upid", "name"}}
	tasks   = model.AsyncBlueprint(model.Blueprint{Classification: "go_task", Dims: []string{"upid", "name"}})
	// Ranges of the whole program, such as stop-the-world, whichever goroutine caused it.
	programRanges = &model.Blueprint{Classification: "go_range", Dims: []string{"upid", "name"}}
	procRanges    = &model.Blueprint{Classification: "go_proc_range", Dims: []string{"cpu", "name"}}
	// When a P runs, and events outside of any goroutine.
	procs = &model.Blueprint{Classification: "go_proc", Dims: []string{"cpu"}, NameOf: model.NameOf("P %[1]d")}
	other = &model.Blueprint{Classification: "go_runtime", Dims: []string{"upid"}, Name: "Go runtime"}
)

const stopTheWorld = "stop-the-world"

// goroutine is a goroutine that has not ended.
type goroutine struct {
	utid  model.UTID
	named bool
	cpu   int64 // P that it runs on, or None
	state trace.GoState
	opens int // open range slices
}

type task struct {
	slice model.SliceID
	track model.TrackID
	name  model.StringID
}

type words struct {
	runnable, waiting, dead, inSyscall, running             model.StringID // states
	syscall, region, task, log, label, runtime              model.StringID // categories
	network, stopTheWorld, proc                             model.StringID
	argThread, argGoroutine, argTask, argParent, argMessage model.StringID
}

// parser turns events into rows.
type parser struct {
	*model.Context
	words
	upid       model.UPID // None before the first event
	goroutines map[int64]*goroutine
	tasks      map[uint64]task // by id, not yet ended
}

func newParser(c *model.Context) *parser {
	text := c.Store.Strings.Intern
	return &parser{Context: c, upid: model.None, goroutines: map[int64]*goroutine{}, tasks: map[uint64]task{}, words: words{
		runnable: text("R"), waiting: text("S"), dead: text("X"), inSyscall: text("Syscall"), running: text("Running"),
		syscall: text("syscall"), region: text("region"), task: text("task"), log: text("log"), label: text("label"), runtime: text("runtime"),
		network: text("network"), stopTheWorld: text(stopTheWorld), proc: text("running"),
		argThread: text("thread"), argGoroutine: text("goroutine"), argTask: text("task"), argParent: text("parent"), argMessage: text("message"),
	}}
}

// Event stores an event.
func (p *parser) Event(ts int64, payload []byte) error {
	event := token.Reader(payload)
	k, on, proc, thread := kind(event.Uint()), event.Int(), procOf(event.Int()), event.Int()
	if p.upid == model.None {
		p.upid = p.Machine.AddProcess(0)
	}
	switch k {
	case goroutineState:
		id := event.Int()
		c := change{from: trace.GoState(event.Uint()), to: trace.GoState(event.Uint()), reason: event.Text(), start: event.Text(), stack: callsite(&event)}
		p.goroutineState(ts, p.goroutine(id), c, on, proc)
		if c.to == trace.GoNotExist {
			delete(p.goroutines, id)
		}
	case procState:
		p.procState(ts, procOf(event.Int()), event.Uint() != 0, event.Uint() != 0, thread)
	case metric:
		name, value := event.Text(), event.Uint()
		_, unit, _ := strings.Cut(p.Store.Strings.Get(name), ":")
		options := &model.TrackOptions{Name: name, Unit: p.Store.Strings.Intern(unit)}
		p.Counters.Push(ts, float64(value), p.Tracks.Intern(metrics, options, model.IntDim(p.upid), model.StringDim(name)))
	case rangeBegin, rangeActive, rangeEnd:
		p.span(ts, k, event.Text(), trace.ResourceKind(event.Uint()), event.Int(), event)
	case taskBegin:
		p.taskBegin(ts, event.Uint(), trace.TaskID(event.Uint()), event.Text(), callsite(&event), on)
	case taskEnd:
		p.taskEnd(ts, event.Uint(), callsite(&event))
	case regionBegin:
		task, name := event.Uint(), event.Text()
		p.begin(ts, p.track(on), p.region, name, callsite(&event), p.taskArg(task))
	case regionEnd:
		_, name := event.Uint(), event.Text()
		p.end(ts, p.track(on), p.region, name, callsite(&event))
	case logged:
		task, category, message := event.Uint(), event.Text(), event.Text()
		if category == 0 {
			category = p.log
		}
		slice := p.Slices.Scoped(ts, 0, p.track(on), p.log, category, model.ArgFunc(func(set *model.ArgSet) {
			set.Add(p.argMessage, model.StringArg(message))
			p.taskArg(task).AddArgs(set)
		}))
		p.Store.Stacks.AddToSlice(slice, p.track(on), callsite(&event), false)
	case label:
		p.Slices.Scoped(ts, 0, p.track(on), p.label, event.Text(), nil)
	case sample:
		p.sample(ts, on, proc, callsite(&event))
	}
	return nil
}

// callsite reads the callsite of a stack, or None.
func callsite(event *token.Reader) profile.CallsiteID { return profile.CallsiteID(event.Int()) }

// procOf returns the P with an id, or None if that P does not run goroutines.
func procOf(id int64) int64 {
	if id < 0 || id >= maxProcs {
		return model.None
	}
	return id
}

// goroutine returns a goroutine. It adds unknown ones.
func (p *parser) goroutine(id int64) *goroutine {
	g := p.goroutines[id]
	if g == nil {
		// Goroutine 1 runs main.
		g = &goroutine{utid: p.Machine.AddThread(id, p.upid, id == 1), cpu: model.None}
		p.goroutines[id] = g
	}
	return g
}

// track returns the track for a goroutine's slices, or for slices outside of any goroutine.
func (p *parser) track(id int64) model.TrackID {
	if id == int64(trace.NoGoroutine) {
		return p.Tracks.Intern(other, nil, model.IntDim(p.upid))
	}
	return p.Tracks.Thread(p.goroutine(id).utid)
}

// begin starts a slice, with its stack unless that is None.
func (p *parser) begin(ts int64, track model.TrackID, category, name model.StringID, stack profile.CallsiteID, args model.ArgSource) model.SliceID {
	slice := p.Slices.Begin(ts, track, category, name, args)
	p.Store.Stacks.AddToSlice(slice, track, stack, false)
	return slice
}

func (p *parser) end(ts int64, track model.TrackID, category, name model.StringID, stack profile.CallsiteID) {
	p.Store.Stacks.AddToSlice(p.Slices.End(ts, track, category, name, nil), track, stack, true)
}

// taskArg returns an arg with the task that something belongs to.
func (p *parser) taskArg(id uint64) model.ArgFunc {
	return func(set *model.ArgSet) {
		if task := trace.TaskID(id); task != trace.BackgroundTask && task != trace.NoTask {
			set.Add(p.argTask, model.UintArg(id))
		}
	}
}

// change is a state change of a goroutine.
type change struct {
	from, to      trace.GoState
	reason, start model.StringID // start is the goroutine's start function
	stack         profile.CallsiteID
}

// goroutineState stores a state change of g on a P. The goroutine by, if any, caused it.
func (p *parser) goroutineState(ts int64, g *goroutine, c change, by, proc int64) {
	if c.start != 0 && !g.named {
		g.named = true
		p.Machine.SetThreadName(g.utid, c.start, model.ThreadNameOther)
	}
	if c.from == trace.GoNotExist {
		p.Store.Thread.StartTS.Set(int64(g.utid), ts)
	}
	if c.to == g.state {
		return // generations begin with the states of all goroutines
	}
	state := p.stateName(c.to)
	if g.state == trace.GoRunning && g.cpu != model.None && p.Sched.Running(g.cpu) == g.utid {
		p.Sched.End(ts, g.cpu, state)
	}
	if g.state == trace.GoSyscall {
		p.Slices.End(ts, p.Tracks.Thread(g.utid), p.syscall, 0, nil)
	}
	g.state, g.cpu = c.to, model.None
	switch c.to {
	case trace.GoNotExist:
		p.Store.Thread.EndTS.Set(int64(g.utid), ts)
		p.Threads.End(ts, g.utid)
		return
	case trace.GoRunning:
		if g.cpu = proc; proc != model.None {
			p.Sched.Begin(ts, proc, g.utid, 0)
		}
	case trace.GoSyscall:
		name := p.syscall
		if c.stack != model.None {
			name = p.caller(c.stack)
		}
		p.begin(ts, p.Tracks.Thread(g.utid), p.syscall, name, c.stack, nil)
	}
	waker := model.UTID(model.None)
	if c.to == trace.GoRunnable && by != int64(trace.NoGoroutine) && p.goroutine(by) != g {
		waker = p.goroutine(by).utid
	}
	p.Threads.Enter(ts, g.cpu, g.utid, state, waker)
	if c.to == trace.GoWaiting {
		p.Threads.Block(g.utid, c.reason == p.network, c.reason)
	}
}

func (p *parser) stateName(s trace.GoState) model.StringID {
	switch s {
	case trace.GoRunning:
		return p.running
	case trace.GoRunnable:
		return p.runnable
	case trace.GoWaiting:
		return p.waiting
	case trace.GoSyscall:
		return p.inSyscall
	case trace.GoNotExist:
		return p.dead
	}
	return 0
}

// caller returns the name of the innermost function of a stack.
func (p *parser) caller(stack profile.CallsiteID) (name model.StringID) {
	for frame := range p.Store.Stacks.Frames(stack) {
		name, _ = p.Store.StackProfileFrame.Name.Get(int64(frame))
		break
	}
	return name
}

// procState stores when a P runs, and on which OS thread.
func (p *parser) procState(ts, proc int64, ran, runs bool, thread int64) {
	if proc == model.None {
		return
	}
	track := p.Tracks.Intern(procs, nil, model.IntDim(proc))
	open := p.Slices.Top(track)
	switch {
	case runs && open == model.None:
		p.Slices.Begin(ts, track, p.runtime, p.proc, model.ArgFunc(func(set *model.ArgSet) {
			set.Add(p.argThread, model.IntArg(thread))
		}))
	case ran && !runs:
		p.Slices.End(ts, track, p.runtime, p.proc, nil)
	}
}

// span stores the begin or end of a range. At the start of a generation, rangeActive repeats the ranges begun earlier.
func (p *parser) span(ts int64, k kind, name model.StringID, resource trace.ResourceKind, id int64, rest token.Reader) {
	var g *goroutine
	var track model.TrackID
	var args model.ArgSource
	text := p.Store.Strings.Get(name)
	options := &model.TrackOptions{Name: name}
	switch proc := procOf(id); {
	case strings.HasPrefix(text, stopTheWorld):
		track = p.Tracks.Intern(programRanges, &model.TrackOptions{Name: p.stopTheWorld}, model.IntDim(p.upid), model.StringDim(p.stopTheWorld))
		args = model.ArgFunc(func(set *model.ArgSet) { set.Add(p.argGoroutine, model.IntArg(id)) })
	case resource == trace.ResourceGoroutine && id != int64(trace.NoGoroutine):
		g = p.goroutine(id)
		track = p.Tracks.Thread(g.utid)
	case resource == trace.ResourceProc && proc != model.None:
		track = p.Tracks.Intern(procRanges, options, model.IntDim(proc), model.StringDim(name))
	default:
		track = p.Tracks.Intern(programRanges, options, model.IntDim(p.upid), model.StringDim(name))
	}
	if k == rangeEnd {
		if g != nil {
			g.opens = max(g.opens-1, 0)
		}
		p.Slices.End(ts, track, p.runtime, name, model.ArgFunc(func(set *model.ArgSet) {
			for len(rest) > 0 {
				set.Add(rest.Text(), model.UintArg(rest.Uint()))
			}
		}))
		return
	}
	open := g != nil && g.opens > 0
	if g == nil {
		open = p.Slices.Top(track) != model.None
	}
	if k == rangeActive && open {
		return
	}
	if g != nil {
		g.opens++
	}
	stack := profile.CallsiteID(model.None)
	if k == rangeBegin {
		stack = callsite(&rest)
	}
	p.begin(ts, track, p.runtime, name, stack, args)
}

func (p *parser) taskBegin(ts int64, id uint64, parent trace.TaskID, name model.StringID, stack profile.CallsiteID, on int64) {
	dims := []model.Dim{model.IntDim(p.upid), model.StringDim(name)}
	track := p.Async.Begin(tasks, &model.TrackOptions{Name: name}, int64(id), dims...)
	slice := p.begin(ts, track, p.words.task, name, stack, model.ArgFunc(func(set *model.ArgSet) {
		p.taskArg(id).AddArgs(set)
		if parent != trace.BackgroundTask && parent != trace.NoTask {
			set.Add(p.argParent, model.UintArg(uint64(parent)))
		}
		if on != int64(trace.NoGoroutine) {
			set.Add(p.argGoroutine, model.IntArg(on))
		}
	}))
	if above, ok := p.tasks[uint64(parent)]; ok && above.slice != model.None && slice != model.None {
		p.Flows.Link(above.slice, slice)
	}
	p.tasks[id] = task{slice, track, name}
}

func (p *parser) taskEnd(ts int64, id uint64, stack profile.CallsiteID) {
	t, ok := p.tasks[id]
	if !ok {
		p.File.Count(model.StatSliceEndWithoutBegin)
		return
	}
	delete(p.tasks, id)
	p.Async.End(tasks, nil, int64(id), model.IntDim(p.upid), model.StringDim(t.name))
	p.end(ts, t.track, p.words.task, t.name, stack)
}

// sample stores a sample of the CPU profiler.
func (p *parser) sample(ts, on, proc int64, stack profile.CallsiteID) {
	v := profile.NewSample(ts, "go_trace")
	v.Callsite = stack
	if on == int64(trace.NoGoroutine) {
		v.UPID = p.upid
	} else {
		v.UTID = p.goroutine(on).utid
	}
	if proc != model.None {
		v.CPU, v.UCPU = proc, p.Machine.CPU(proc)
	}
	p.Store.Stacks.AddSample(v)
}
