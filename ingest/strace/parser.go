package strace

import (
	"github.com/tpconvert/tpconvert/ingest/internal/token"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/machine"
	"github.com/tpconvert/tpconvert/model/profile"
)

// parser turns calls, in order of time, into slices.
type parser struct {
	*model.Context
	category, args, returned model.StringID

	first      int64 // the thread of lines without one, 0 if unknown
	resolution int64 // of times, ns
	nameless   model.UTID
	ends       map[model.UTID]int64 // when the last call of each thread ended
	mappings   map[model.StringID]profile.MappingID
	frames     []profile.FrameID
}

// overlapping are the tracks of calls that begin before the last one of their thread ended, because the clock was set back.
var overlapping = model.AsyncBlueprint(model.Blueprint{Classification: "thread_overlapping_slice", Dims: []string{"utid"}})

func newParser(c *model.Context) *parser {
	intern := c.Store.Strings.Intern
	return &parser{Context: c, category: intern("strace"), args: intern("args"), returned: intern("ret"), nameless: model.None,
		ends: map[model.UTID]int64{}, mappings: map[model.StringID]profile.MappingID{}}
}

// noTID is the id of a thread whose id is unknown. Ids of Linux are below it (PID_MAX_LIMIT).
const noTID = 4 << 20

// thread returns the thread with an id, or the one of lines without an id.
func (p *parser) thread(tid int64) model.UTID {
	if tid == 0 {
		tid = p.first
	}
	if tid != 0 {
		return p.Machine.Thread(tid)
	}
	if p.nameless == model.None {
		p.nameless = p.Machine.AddThread(noTID, p.Machine.AddProcess(noTID), true)
	}
	return p.nameless
}

// Event turns a call into a slice.
func (p *parser) Event(ts int64, event []byte) error {
	r := token.Reader(event)
	utid := p.thread(r.Int())
	dur, name, passed, returned, comm := r.Int(), r.Text(), r.Text(), r.Text(), r.Text()
	p.Machine.SetThreadName(utid, comm, machine.ThreadNameFtrace)
	// The calls of a thread follow each other, also where times are less precise than durations.
	if end := p.ends[utid]; ts < end && end < ts+p.resolution {
		ts = end
	}
	p.ends[utid] = ts + dur
	track := p.Tracks.Thread(utid)
	id := p.slice(ts, dur, utid, track, name, model.ArgFunc(func(set *model.ArgSet) {
		if passed != 0 {
			set.Add(p.args, model.StringArg(passed))
		}
		if returned != 0 {
			set.Add(p.returned, model.StringArg(returned))
		}
	}))
	if len(r) > 0 {
		p.Store.Stacks.AddToSlice(id, track, p.stack(r), false)
	}
	return nil
}

func (p *parser) slice(ts, dur int64, utid model.UTID, track model.TrackID, name model.StringID, args model.ArgSource) model.SliceID {
	switch {
	case dur == unknown:
		return p.Slices.Begin(ts, track, p.category, name, args)
	case dur == 0: // also if unknown: a call does not contain the next one
		return p.Slices.Instant(ts, track, p.category, name, args)
	}
	id, overlap := p.Slices.ScopedOr(ts, dur, track, p.category, name, args)
	if overlap != nil {
		p.File.LogTime(model.StatSliceSpillOverlappingCompleteEvent, ts, model.ArgFunc(func(set *model.ArgSet) { overlap.AddArgs(p.Store, set) }))
		id = p.Slices.Scoped(ts, dur, p.Async.Overlapping(overlapping, nil, ts, dur, model.IntDim(utid)), p.category, name, args)
	}
	return id
}

// stack returns the call stack of frames, which begin with the innermost one.
func (p *parser) stack(r token.Reader) profile.CallsiteID {
	stacks := p.Store.Stacks
	p.frames = p.frames[:0]
	for len(r) > 0 {
		address, file, symbol, source, line := r.Uint(), r.Text(), r.Text(), r.Text(), r.Uint()
		mapping, known := p.mappings[file]
		if !known {
			mapping = stacks.DummyMapping(p.Store.Strings.Get(file))
			p.mappings[file] = mapping
		}
		frame := stacks.Frame(mapping, address, symbol)
		if source != 0 {
			frame = stacks.SymbolizedFrame(mapping, address, []profile.Symbol{{Name: symbol, File: source, Line: int64(line)}})
		}
		p.frames = append(p.frames, frame)
	}
	callsite := profile.CallsiteID(model.None)
	for i := len(p.frames) - 1; i >= 0; i-- {
		callsite = stacks.Callsite(callsite, p.frames[i])
	}
	return callsite
}
