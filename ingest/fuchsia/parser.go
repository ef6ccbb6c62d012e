package fuchsia

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/tpconvert/tpconvert/model"
)

// parser turns events, in timestamp order, into rows.
type parser struct {
	*model.Context
	forms     forms
	form      *form           // of the event
	value     uint64          // of the event
	args      token           // the values of the event's args
	pid       int64           // of the event
	threads   threads[koids]  // of events
	scheduled threads[uint64] // by koid, in the process that their kernel object names
	flows     flows
	counters  map[series]model.TrackID

	null, unknown                   model.StringID // values of args
	running, runnable, waking       model.StringID
	blocked, suspended, dying, dead model.StringID
}

// series identifies a counter of the trace: a process, category and name give each of
// theirs an id of its own (TRACE_COUNTER in Fuchsia's lib/trace/event.h).
type series struct {
	upid                model.UPID
	category, name, arg model.StringID
	id                  uint64
}

func newParser(c *model.Context) *parser {
	s := c.Store.Strings
	return &parser{
		Context:   c,
		forms:     newForms(),
		threads:   newThreads[koids](),
		scheduled: newThreads[uint64](),
		flows:     newFlows(),
		counters:  map[series]model.TrackID{},
		null:      s.Intern("null"),
		unknown:   s.Intern("unknown"),
		running:   s.Intern("Running"),
		runnable:  s.Intern("R"),
		waking:    s.Intern("W"),
		blocked:   s.Intern("S"),
		suspended: s.Intern("T"),
		dying:     s.Intern("Z"),
		dead:      s.Intern("X"),
	}
}

// Event parses one event.
func (p *parser) Event(ts int64, b []byte) error {
	number, t := binary.LittleEndian.Uint16(b), token{bytes: b, at: 2}
	f := &p.forms.all[number]
	if number == ownForm {
		f.decode(&t)
	}
	if f.kind > flowEnd {
		s := switching{kind: f.kind}
		s.decode(&t)
		p.schedule(ts, &s)
		return nil
	}
	p.form, p.value = f, 0
	if f.kind.hasValue() {
		p.value = t.number()
	}
	p.args = t
	thread := &p.threads.all[f.thread]
	p.pid = int64(thread.process)
	switch f.kind {
	case counter:
		p.counter(ts)
	case asyncBegin, asyncInstant, asyncEnd:
		p.async(ts)
	default:
		p.onThread(ts, p.Tracks.Thread(p.utid(thread)))
	}
	return nil
}

// onThread parses an event that belongs to the track of its thread.
func (p *parser) onThread(ts int64, track model.TrackID) {
	switch f := p.form; f.kind {
	case instant:
		p.Slices.Scoped(ts, 0, track, f.category, f.name, p.source())
	case durationBegin:
		p.Slices.Begin(ts, track, f.category, f.name, p.source())
	case durationEnd:
		// Of slices that end at the same time the innermost ends first,
		// whichever event came first.
		p.Slices.End(ts, track, 0, 0, p.source())
	case durationComplete:
		p.Slices.Scoped(ts, int64(p.value), track, f.category, f.name, p.source())
	case flowBegin:
		p.Flows.Begin(track, ts, p.flows.begin(p.pid, correlation{f.category, f.name, p.value}))
	case flowStep:
		if flow, ok := p.flows.find(p.pid, correlation{f.category, f.name, p.value}); ok {
			p.Flows.Step(track, ts, flow.id)
		} else {
			p.File.Count(model.StatFlowStepWithoutStart)
		}
	case flowEnd:
		if flow, ok := p.flows.find(p.pid, correlation{f.category, f.name, p.value}); ok {
			p.Flows.End(track, ts, flow.id, true)
			p.flows.end(flow)
		} else {
			p.File.Count(model.StatFlowEndWithoutStart)
		}
	}
}

var asyncTrack = model.AsyncBlueprint(model.Blueprint{Classification: "legacy_async_process_slice", Dims: []string{"upid", "scope", "name"}})

// async parses an event of an operation. A process, category and name give each of their operations an id of its own, as
// TRACE_ASYNC_BEGIN in Fuchsia's lib/trace/event.h says.
func (p *parser) async(ts int64) {
	f, id := p.form, int64(p.value)
	options := model.TrackOptions{Name: f.name}
	dims := []model.Dim{model.IntDim(p.Machine.Process(p.pid)), model.StringDim(f.category), model.StringDim(f.name)} // the scope is the category
	var track model.TrackID
	if f.kind != asyncEnd {
		track = p.Async.Begin(asyncTrack, &options, id, dims...)
	}
	if f.kind != asyncBegin {
		track = p.Async.End(asyncTrack, &options, id, dims...)
	}
	switch f.kind {
	case asyncBegin:
		p.Slices.Begin(ts, track, f.category, f.name, p.source())
	case asyncInstant:
		p.Slices.Scoped(ts, 0, track, f.category, f.name, p.source())
	case asyncEnd:
		p.Slices.End(ts, track, f.category, f.name, p.source())
	}
}

var counterTrack = model.Blueprint{Classification: "fuchsia_counter", Event: model.CounterTrack, Dims: []string{"upid", "name"}}

// counter adds a counter value for each arg. The counter's name consists of the
// event's name, the arg's name and the counter's id.
func (p *parser) counter(ts int64) {
	f := p.form
	upid := p.Machine.Process(p.pid)
	args := p.args
	for _, a := range f.args {
		bits := args.number()
		var value float64
		switch a.kind {
		case argInt32, argInt64:
			value = float64(int64(bits))
		case argUint32, argUint64:
			value = float64(bits)
		case argDouble:
			value = math.Float64frombits(bits)
		default:
			p.File.LogTime(model.StatFuchsiaNonNumericCounters, ts, nil)
			continue
		}
		key := series{upid, f.category, f.name, a.name, p.value}
		track, ok := p.counters[key]
		if !ok {
			s := p.Store.Strings
			name := s.Intern(s.Get(f.name) + ":" + s.Get(a.name) + ":" + strconv.FormatUint(p.value, 10))
			track = p.Tracks.Create(&counterTrack, &model.TrackOptions{Name: name}, model.IntDim(upid), model.StringDim(name))
			p.counters[key] = track
		}
		p.Counters.Push(ts, value, track)
	}
}

// source returns the event's args, or nil if there are none.
func (p *parser) source() model.ArgSource {
	if len(p.form.args) == 0 {
		return nil
	}
	return p
}

// AddArgs adds the event's args.
func (p *parser) AddArgs(set *model.ArgSet) {
	args := p.args
	for _, a := range p.form.args {
		set.Add(a.name, p.argValue(a.kind, args.number()))
	}
}

// argValue returns the value of an arg. In a token it is a number, the bits of
// a double, or a StringID.
func (p *parser) argValue(kind byte, v uint64) model.ArgValue {
	switch kind {
	case argNull:
		return model.StringArg(p.null)
	case argInt32, argUint32, argInt64, argUint64, argKoid:
		return model.IntArg(int64(v))
	case argDouble:
		return model.RealArg(math.Float64frombits(v))
	case argString:
		return model.StringArg(model.StringID(v))
	case argPointer:
		return model.PointerArg(v)
	case argBool:
		return model.BoolArg(v != 0)
	}
	return model.StringArg(p.unknown)
}
