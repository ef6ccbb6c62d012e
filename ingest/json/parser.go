package json

import (
	"cmp"
	"fmt"
	"math"
	"strconv"

	"github.com/zeebo/xxh3"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/jsonlex"
	"github.com/tpconvert/tpconvert/internal/attached"
	"github.com/tpconvert/tpconvert/model"
)

// parser turns events, in timestamp order, into rows.
type parser struct {
	*model.Context
	ts      int64 // of the event
	event   event
	threads *threads
	early   earlyEnds
	frames  func() map[string]*frame // stackFrames
	// Of async events of phases S, T, p and F.
	oldSlices map[oldAsyncKey]oldAsyncSlices
	*scratch
	known *knownArgs

	noName, running           model.StringID
	threadName, processName   model.StringID
	threadIndex, processIndex model.StringID
	processLabel              model.StringID
	sourceKey, chrome         model.StringID
	eventNameKey, phaseKey    model.StringID
}

// scratch is memory for parsing an event.
type scratch struct {
	lexer       jsonlex.Lexer
	args        *jsonlex.ArgWriter
	set         model.ArgSet
	counterName []byte
	repaired    []byte // args
}

// earlyEnds are the ends of flows that came before their begins, at one time. Times in us, and writers that put the work of a
// GPU before the calls that launch it, make such.
type earlyEnds struct {
	ts     int64
	all    []earlyEnd
	latest map[model.FlowID]int // in all
}

type earlyEnd struct {
	flow     model.FlowID
	slice    model.SliceID
	ts       int64 // of the slice
	previous int   // end of the flow in all, or -1
}

var sharedScratch = attached.Value[*format.Input, scratch]{New: func(in *format.Input) *scratch {
	return &scratch{args: jsonlex.NewArgWriter(in.Store.Strings)}
}}

func newParser(in *format.Input, threads *threads) *parser {
	s := in.Store.Strings
	return &parser{
		Context:      in.Context,
		scratch:      sharedScratch.Of(in),
		threads:      threads,
		early:        earlyEnds{latest: map[model.FlowID]int{}},
		oldSlices:    map[oldAsyncKey]oldAsyncSlices{},
		known:        newKnownArgs(in.Store),
		noName:       s.Intern("[No name]"),
		running:      s.Intern("Running"),
		threadName:   s.Intern("thread_name"),
		processName:  s.Intern("process_name"),
		processIndex: s.Intern("process_sort_index"),
		processLabel: s.Intern("process_labels"),
		threadIndex:  s.Intern("thread_sort_index"),
		sourceKey:    s.Intern("source"),
		chrome:       s.Intern("chrome"),
		eventNameKey: s.Intern("event_name"),
		phaseKey:     s.Intern("event_phase"),
	}
}

var (
	globalInstants  = model.Blueprint{Classification: "legacy_chrome_global_instants"}
	processInstants = model.Blueprint{Classification: "chrome_process_instant", Dims: []string{"upid"}}
	overlapping     = model.AsyncBlueprint(model.Blueprint{Classification: "thread_overlapping_slice", Dims: []string{"utid"}})
	counters        = model.ProcessCounter{
		Process: &model.Blueprint{Classification: "json_counter", Event: model.CounterTrack, Dims: []string{"upid", "name"}, NameOf: model.NameOf("%[2]s")},
		Thread: &model.Blueprint{Classification: "json_counter_thread_fallback", Event: model.CounterTrack, Dims: []string{"utid", "name"},
			NameOf: model.NameOf("%[2]s")},
	}
)

// Event parses one event.
func (p *parser) Event(ts int64, token []byte) error {
	e := &p.event
	e.decode(token)
	p.ts = ts
	tid := e.tid
	if tid == (id{idNumber, 0}) && !p.ofThread() {
		tid = id{}
	}
	utid := p.threads.thread(e.pid, tid)
	raw := model.StringID(e.name)
	name, category := raw, model.StringID(e.category)
	if name == 0 {
		name = p.noName
	}
	switch e.phase {
	case 'X':
		p.complete(ts, utid, category, name)
	case 'B':
		track := p.Tracks.Thread(utid)
		slice := p.Slices.BeginAt(ts, track, category, name, p.source(), e.clock())
		p.stacks(slice, track)
		p.bindFlow(ts, slice)
	case 'E':
		track := p.Tracks.Thread(utid)
		p.stacks(p.Slices.EndAt(ts, track, category, raw, p.source(), e.clock()), track)
	case 'b', 'e', 'n':
		p.async(ts, category, raw, name)
	case 'S', 'F', 'T', 'p':
		if e.phase == 'T' && e.hasDur {
			p.threadState(ts, utid, name)
		} else {
			p.oldAsync(ts, category, name)
		}
	case 'i', 'I', 'R':
		p.instant(ts, utid, category, raw, name)
	case 'C':
		p.counter(ts, utid)
	case 's', 't', 'f':
		p.flow(ts, utid)
	case 'M':
		p.metadata(ts, utid)
	default:
		p.File.Unread(model.StatUnreadEvent, model.None, fmt.Sprintf("phase %q event", e.phase)).Add(model.LogEntry{TS: ts, HasTS: true})
	}
	return nil
}

// ofThread reports whether the event belongs to a thread. Others, of processes or of all, often have tid 0, which means no thread.
func (p *parser) ofThread() bool {
	switch e := &p.event; e.phase {
	case 'X', 'B', 'E', 's', 't', 'f', 'T':
		return true
	case 'i', 'I', 'R':
		return e.scope != scopeProcess && e.scope != scopeGlobal
	case 'M':
		return e.name == int32(p.threadName) || e.name == int32(p.threadIndex)
	}
	return false
}

// clock returns the thread's own clock at the event.
func (e *event) clock() model.ThreadClock { return model.ThreadClock{Time: e.tts, HasTime: e.hasTTS} }

// source returns the event's args, or nil if there are none.
func (p *parser) source() model.ArgSource {
	if len(p.event.args) == 0 {
		return nil
	}
	return p
}

// AddArgs adds the event's args.
func (p *parser) AddArgs(set *model.ArgSet) { p.addArgs(set) }

// addArgs adds the event's args and reports whether they are valid JSON.
func (p *parser) addArgs(set *model.ArgSet) bool {
	fresh := set.Len() == 0
	if p.args.Add(set, "args", p.event.args) {
		return p.tolerate(p.args.Tolerated())
	}
	if fresh {
		set.Reset()
		p.repaired = jsonlex.Repair(p.repaired[:0], p.event.args, true)
		if p.args.Add(set, "args", p.repaired) {
			p.File.LogTime(statRepaired, p.ts, nil)
			p.tolerate(p.args.Tolerated())
			return false
		}
	}
	p.File.LogTime(model.StatJSONParserFailure, p.ts, nil)
	return false
}

// tolerate counts what was read although it is not JSON, and reports whether there is none. The tokenizer has counted control characters.
func (p *parser) tolerate(what jsonlex.Tolerated) bool {
	what &^= jsonlex.Controls
	for _, c := range tolerated {
		if what&c.what != 0 {
			p.File.LogTime(c.stat, p.ts, nil)
		}
	}
	return what == 0
}

// members calls f for each member of the event's args.
func (p *parser) members(f func(key []byte, v jsonlex.Value)) {
	p.lexer.Reset(p.event.args)
	if p.lexer.Members(f) != nil {
		p.fail(p.ts, model.StatJSONParserFailure, nil)
	}
	p.tolerate(p.lexer.Tolerated)
}

// setArgs gives a slice that gets no other args those of the event. Equal texts give equal sets.
func (p *parser) setArgs(slice model.SliceID) {
	if len(p.event.args) <= 2 {
		return
	}
	hash := xxh3.Hash(p.event.args) | 1
	if p.known.reuse(hash, slice) {
		return
	}
	p.set.Reset()
	if !p.addArgs(&p.set) {
		hash = 0 // to be counted each time
	}
	p.known.add(hash, slice, &p.set)
}

// complete adds a complete event. If it overlaps a slice of its thread without
// nesting in it, it goes to a separate track beside the thread's.
func (p *parser) complete(ts int64, utid model.UTID, category, name model.StringID) {
	e := &p.event
	if !e.hasDur && !e.hasTDur {
		p.fail(ts, model.StatJSONParserFailure, nil)
		return
	}
	track := p.Tracks.Thread(utid)
	if !e.hasDur { // Chrome writes an event this way if the recording ends before it
		id := p.Slices.BeginAt(ts, track, category, name, p.source(), e.clock())
		if id != model.None && e.tdur != 0 {
			p.Store.Slice.ThreadDur.Set(int64(id), e.tdur)
		}
		p.stacks(id, track)
		p.bindFlow(ts, id)
		return
	}
	id, overlap := p.Slices.ScopedOr(ts, e.dur, track, category, name, nil)
	if overlap != nil {
		p.fail(ts, model.StatSliceSpillOverlappingCompleteEvent, func(set *model.ArgSet) { overlap.AddArgs(p.Store, set) })
		beside := p.Async.Overlapping(overlapping, nil, ts, e.dur, model.IntDim(utid))
		if id = p.Slices.Scoped(ts, e.dur, beside, category, name, nil); id != model.None {
			p.Flows.BindNext(track, id)
		}
		track = beside
	}
	if id != model.None {
		p.setArgs(id)
		if e.hasTTS {
			p.Store.Slice.ThreadTS.Set(int64(id), e.tts)
		}
		if e.hasTDur {
			p.Store.Slice.ThreadDur.Set(int64(id), e.tdur)
		}
	}
	p.stacks(id, track)
	p.bindFlow(ts, id)
}

// stacks adds the event's call stacks to a slice, which begins or ends there.
func (p *parser) stacks(slice model.SliceID, track model.TrackID) {
	e := &p.event
	for i, id := range [...]uint32{uint32(e.stacks), uint32(e.stacks >> 32)} {
		if id == 0 {
			continue
		}
		f := p.frames()[p.Store.Strings.Get(model.StringID(id))]
		if f == nil {
			p.File.Unread(model.StatUnreadFact, model.None, "stack without frames").
				Say("stack is not in stackFrames", "stacks are not in stackFrames").Add(model.LogEntry{TS: p.ts, HasTS: true})
			continue
		}
		p.Store.Stacks.AddToSlice(slice, track, f.callsite, i == 1 || e.phase == 'E' || e.phase == 'e')
	}
}

// asyncTrack returns the track of the async event, or false if it lacks what identifies it.
func (p *parser) asyncTrack(ts int64, name model.StringID, phase model.AsyncPhase) (model.TrackID, bool) {
	e := &p.event
	if e.pid.kind == idNone || e.cookieKind == cookieNone {
		p.fail(ts, model.StatJSONParserFailure, nil)
		return model.None, false
	}
	upid := p.threads.process(e.pid)
	return p.Async.Legacy(name, upid, int64(e.cookie), e.cookieKind == cookieLocal, 0, phase), true
}

func (p *parser) async(ts int64, category, raw, name model.StringID) {
	e := &p.event
	phase := map[byte]model.AsyncPhase{'b': model.AsyncBegin, 'e': model.AsyncEnd, 'n': model.AsyncInstant}[e.phase]
	track, ok := p.asyncTrack(ts, raw, phase)
	if !ok {
		return
	}
	switch e.phase {
	case 'b':
		slice := p.Slices.Begin(ts, track, category, name, p.source())
		p.stacks(slice, track)
		p.bindFlow(ts, slice)
	case 'e':
		p.stacks(p.Slices.End(ts, track, category, raw, p.source()), track)
	default:
		p.bindFlow(ts, p.point(ts, track, category, raw))
	}
}

// oldAsyncKey identifies the async slice of an S event.
type oldAsyncKey struct {
	cookie uint64
	upid   model.UPID // None unless the id is local
	name   model.StringID
}

// oldAsyncSlices are those of S events whose F has not come.
type oldAsyncSlices struct {
	open   int
	step   model.StringID
	inStep bool
}

// oldAsync handles the async events that were there before b, e and n. S begins a slice and F ends it. In between, T begins a
// step, which the next T or the F ends; p marks where a step ended.
func (p *parser) oldAsync(ts int64, category, name model.StringID) {
	e := &p.event
	phase := model.AsyncInstant
	switch e.phase {
	case 'S':
		phase = model.AsyncBegin
	case 'F':
		phase = model.AsyncEnd
	}
	track, ok := p.asyncTrack(ts, name, phase)
	if !ok {
		return
	}
	key := oldAsyncKey{e.cookie, model.None, name}
	if e.cookieKind == cookieLocal {
		key.upid = p.threads.process(e.pid)
	}
	s := p.oldSlices[key]
	if s.inStep && e.phase != 'p' {
		p.Slices.End(ts, track, category, s.step, nil)
		s.inStep = false
	}
	switch e.phase {
	case 'S':
		p.Slices.Begin(ts, track, category, name, p.source())
		s.open++
	case 'F':
		p.Slices.End(ts, track, category, name, p.source())
		s.open--
	default:
		if step := p.stepName(name); e.phase == 'T' && s.open > 0 {
			p.Slices.Begin(ts, track, category, step, p.source())
			s.step, s.inStep = step, true
		} else {
			p.point(ts, track, category, step)
		}
	}
	if s.open > 0 {
		p.oldSlices[key] = s
	} else {
		delete(p.oldSlices, key)
	}
}

// stepName returns the name of a step: its arg step, or else the event's name.
func (p *parser) stepName(name model.StringID) model.StringID {
	p.lexer.Reset(p.event.args)
	_ = p.lexer.Members(func(key []byte, v jsonlex.Value) { // the args of the slice tell what is damaged
		if string(key) == "step" && (v.Kind == jsonlex.Text || v.Kind == jsonlex.Integer) && len(v.Raw) > 0 {
			name = p.Store.Strings.InternBytes(v.Raw)
		}
	})
	return name
}

// point adds a slice without duration.
func (p *parser) point(ts int64, track model.TrackID, category, name model.StringID) model.SliceID {
	id := p.Slices.Scoped(ts, 0, track, category, name, nil)
	if id != model.None {
		p.setArgs(id)
	}
	p.stacks(id, track)
	return id
}

func (p *parser) instant(ts int64, utid model.UTID, category, raw, name model.StringID) {
	e := &p.event
	source := &model.TrackOptions{Args: model.ArgFunc(func(set *model.ArgSet) { set.Add(p.sourceKey, model.StringArg(p.chrome)) })}
	switch e.scope {
	case scopeGlobal:
		p.point(ts, p.Tracks.Intern(&globalInstants, source), category, raw)
	case scopeProcess:
		if e.pid.kind == idNone {
			p.fail(ts, model.StatJSONParserFailure, nil)
			return
		}
		upid := p.threads.process(e.pid)
		p.point(ts, p.Tracks.Intern(&processInstants, source, model.IntDim(upid)), category, raw)
	default:
		if e.tid.kind == idNone {
			p.fail(ts, model.StatJSONParserFailure, nil)
			return
		}
		if id := p.point(ts, p.Tracks.Thread(utid), category, name); id != model.None && e.hasTTS {
			p.Store.Slice.ThreadTS.Set(int64(id), e.tts)
		}
	}
}

// counter adds a counter value for each member of the args. The counter's name
// consists of the event's name, its id and the member's name.
func (p *parser) counter(ts int64, utid model.UTID) {
	e := &p.event
	if len(e.args) == 0 {
		p.fail(ts, model.StatJSONParserFailure, nil)
		return
	}
	strings := p.Store.Strings
	prefix := append(p.counterName[:0], strings.Get(model.StringID(e.name))...)
	if id := p.idText(); id != "" {
		prefix = append(append(prefix, " id: "...), id...)
	}
	prefix = append(prefix, ' ')
	p.members(func(key []byte, v jsonlex.Value) {
		var n float64
		switch v.Kind {
		case jsonlex.Integer:
			n = float64(v.Int)
		case jsonlex.Double:
			n = v.Float
		case jsonlex.Text:
			var err error
			if n, err = strconv.ParseFloat(string(v.Raw), 64); err != nil {
				p.fail(ts, model.StatJSONParserFailure, nil)
				return
			}
		default:
			p.fail(ts, model.StatJSONParserFailure, nil)
			return
		}
		p.counterName = append(prefix, key...)
		p.Counters.PushForThread(counters, ts, n, utid, strings.InternBytes(p.counterName))
	})
	p.counterName = prefix
}

// idText returns the event's id as text, "" if there is none.
func (p *parser) idText() string {
	switch e := &p.event; e.idKind {
	case idText:
		return p.Store.Strings.Get(model.StringID(e.id))
	case idNumber:
		return strconv.FormatInt(int64(e.id), 10)
	}
	return ""
}

// flowID returns an id as a number, or as a StringID if it is text that is no hexadecimal number of 64 bits.
func (p *parser) flowID(kind byte, id uint64) (n uint64, isText, ok bool) {
	if kind == idText {
		if n, ok := hexNumber(p.Store.Strings.Get(model.StringID(id))); ok && n != math.MaxUint64 {
			return n, false, true
		}
	}
	return id, kind == idText, kind != idNone
}

// hexNumber reads a hexadecimal number as C's strtoull does: white space, a
// sign and 0x may precede it, and a number too large becomes the largest.
func hexNumber(s string) (uint64, bool) {
	i := 0
	for i < len(s) && (s[i] == ' ' || s[i] >= '\t' && s[i] <= '\r') {
		i++
	}
	negative := i < len(s) && s[i] == '-'
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		i++
	}
	if len(s) > i+2 && s[i] == '0' && s[i+1]|0x20 == 'x' {
		i += 2
	}
	n, err := strconv.ParseUint(s[i:], 16, 64)
	if err != nil && n != math.MaxUint64 {
		return 0, false
	}
	if negative {
		n = -n
	}
	return n, true
}

// flow handles the flow events of version 1: start, step and finish. They belong to the slice that encloses their time.
func (p *parser) flow(ts int64, utid model.UTID) {
	e := &p.event
	id, isText, ok := p.flowID(e.idKind, e.id)
	if !ok {
		p.fail(ts, model.StatFlowInvalidID, nil)
		return
	}
	key := model.FlowKey{ID: id, Text: isText, Category: model.StringID(e.category), Name: model.StringID(e.name)}
	if e.cookieKind == cookieLocal {
		key.Process, key.Local = p.threads.process(e.pid), true
	}
	flow := p.Flows.V1(key)
	if e.phase == 'f' && !e.bindEnclosing {
		p.Flows.EndAtNext(p.Tracks.Thread(utid), flow)
		return
	}
	slice, start := p.enclosing(ts, utid)
	switch {
	case slice == model.None:
		p.File.Count(model.StatFlowNoEnclosingSlice)
	case e.phase == 's':
		p.beginFlow(ts, slice, start, flow)
	case e.phase == 't':
		p.Flows.StepAt(slice, start, flow)
	default:
		p.endFlow(ts, slice, start, flow)
	}
}

// enclosing returns the slice of the thread to which a flow event belongs, and its ts, or None: the slice of the complete event before
// it, if that begins at its time, or else the one that encloses it and starts last.
func (p *parser) enclosing(ts int64, utid model.UTID) (slice model.SliceID, start int64) {
	e, track := &p.event, p.Tracks.Thread(utid)
	if e.hasDur {
		if slice = p.Slices.Starting(track, ts, e.dur); slice != model.None {
			return slice, ts
		}
		if beside, ok := p.Async.OverlappingAt(overlapping, ts, e.dur, model.IntDim(utid)); ok {
			if slice = p.Slices.Starting(beside, ts, e.dur); slice != model.None {
				return slice, ts
			}
		}
	}
	slice, start = p.Slices.EnclosingOrEnded(track, ts)
	if slice != model.None && start == ts {
		return slice, start
	}
	if beside, ok := p.Async.OverlappingAround(overlapping, ts, model.IntDim(utid)); ok {
		other, otherStart := p.Slices.EnclosingOrEnded(beside, ts)
		if other != model.None && (slice == model.None || otherStart > start) {
			return other, otherStart
		}
	}
	return slice, start
}

// beginFlow begins a flow at a slice that starts at start.
func (p *parser) beginFlow(ts int64, slice model.SliceID, start int64, flow model.FlowID) {
	p.Flows.BeginAt(slice, start, flow)
	if at, ok := p.early.latest[flow]; ok && ts == p.early.ts {
		p.endFlows(flow, at)
	}
}

// endFlow ends a flow at a slice that starts at start. The begin may follow at the same time.
func (p *parser) endFlow(ts int64, slice model.SliceID, start int64, flow model.FlowID) {
	if p.Flows.Active(flow) {
		p.Flows.EndAt(slice, start, flow, false)
		return
	}
	if ts != p.early.ts {
		p.endEarly()
		p.early.ts = ts
	}
	previous, ok := p.early.latest[flow]
	if !ok {
		previous = model.None
	}
	p.early.latest[flow] = len(p.early.all)
	p.early.all = append(p.early.all, earlyEnd{flow, slice, start, previous})
}

// endFlows ends a flow that has begun where it ended early: at the end at, and those before it.
func (p *parser) endFlows(flow model.FlowID, at int) {
	for at != model.None {
		end := &p.early.all[at]
		p.Flows.EndAt(end.slice, end.ts, flow, false)
		at, end.slice = end.previous, model.None
	}
	delete(p.early.latest, flow)
}

// end is called after all events.
func (p *parser) end() error {
	p.endEarly()
	return nil
}

// endEarly counts the ends of flows that did not begin.
func (p *parser) endEarly() {
	for _, end := range p.early.all {
		if end.slice != model.None {
			p.Flows.EndAt(end.slice, end.ts, end.flow, false)
		}
	}
	if len(p.early.all) > maxCleared {
		p.early.latest = map[model.FlowID]int{}
	} else if len(p.early.all) > 0 {
		clear(p.early.latest)
	}
	p.early.all = p.early.all[:0]
}

// maxCleared is up to how many ends a map is used again: to clear it takes as long as its size.
const maxCleared = 64

// bindFlow handles flows of version 2, which the slice of the event names by bind_id.
func (p *parser) bindFlow(ts int64, slice model.SliceID) {
	e := &p.event
	id, isText, ok := p.flowID(e.bind, e.bindID)
	if !ok || slice == model.None {
		return
	}
	if isText {
		id = p.Store.Strings.Hash(model.StringID(id))
	}
	flow := model.FlowID(id)
	switch {
	case e.flowIn && e.flowOut:
		p.Flows.StepAt(slice, ts, flow)
	case e.flowOut:
		p.beginFlow(ts, slice, ts, flow)
	case e.flowIn:
		p.endFlow(ts, slice, ts, flow)
	default:
		p.fail(ts, model.StatFlowWithoutDirection, nil)
	}
}

// threadState adds a thread state, which tools write that know the scheduler. A
// running thread with a CPU also becomes a scheduler slice.
func (p *parser) threadState(ts int64, utid model.UTID, state model.StringID) {
	e := &p.event
	if !e.hasDur {
		p.fail(ts, model.StatJSONParserFailure, nil)
		return
	}
	t := &p.Store.ThreadState
	row := t.Append()
	t.TS.Set(row, ts)
	t.Dur.Set(row, e.dur)
	t.UTID.Set(row, utid)
	t.State.Set(row, state)
	cpu := int64(model.None)
	if len(e.args) > 0 {
		p.members(func(key []byte, v jsonlex.Value) {
			switch {
			case string(key) == "cpu" && v.Kind == jsonlex.Integer:
				cpu = v.Int
			case string(key) == "io_wait" && v.Kind == jsonlex.Integer:
				t.IOWait.Set(row, v.Int != 0)
			case string(key) == "blocked_function" && v.Kind == jsonlex.Text:
				t.BlockedFunction.Set(row, p.Store.Strings.InternBytes(v.Raw))
			}
		})
	}
	if state != p.running || cpu < 0 || cpu > math.MaxInt32 {
		return
	}
	sched := &p.Store.SchedSlice
	row = sched.Append()
	sched.TS.Set(row, ts)
	sched.Dur.Set(row, e.dur)
	sched.UTID.Set(row, utid)
	sched.CPU.Set(row, int32(cpu))
	sched.UCPU.Set(row, p.Machine.CPU(cpu))
	sched.Priority.Set(row, 0) // which such traces do not have
}

// metadata handles events that name, label and order processes and threads.
func (p *parser) metadata(ts int64, utid model.UTID) {
	e := &p.event
	name := model.StringID(e.name)
	switch name {
	case p.threadName, p.processName, p.threadIndex, p.processIndex, p.processLabel:
	default:
		p.File.Unread(model.StatUnreadFact, model.None, cmp.Or(p.Store.Strings.Get(name), "unnamed")+" metadata event").Add(model.LogEntry{TS: ts, HasTS: true})
		return
	}
	if len(e.args) == 0 {
		return
	}
	p.members(func(key []byte, v jsonlex.Value) {
		switch {
		case name == p.processIndex || name == p.threadIndex:
			if string(key) != "sort_index" {
				return
			}
			index, ok := v.Whole()
			if v.Kind == jsonlex.Double {
				index, ok = int64(v.Float), true
			}
			if !ok {
				p.fail(ts, model.StatJSONParserFailure, nil)
				return
			}
			if name == p.processIndex {
				p.Machine.SetProcessSortIndex(p.threads.process(e.pid), int64(int32(index)), model.SortOther)
			} else {
				p.Machine.SetThreadSortIndex(utid, int64(int32(index)), model.SortOther)
			}
		case name == p.processLabel:
			if string(key) == "labels" && v.Kind == jsonlex.Text && len(v.Raw) > 0 {
				p.Machine.SetProcessLabels(p.threads.process(e.pid), p.Store.Strings.InternBytes(v.Raw))
			}
		case string(key) != "name":
		case v.Kind != jsonlex.Text:
			p.fail(ts, model.StatJSONParserFailure, nil)
		case len(v.Raw) == 0: // Clang's of a thread without a name
		case name == p.threadName:
			p.Machine.SetThreadName(utid, p.Store.Strings.InternBytes(v.Raw), model.ThreadNameOther)
		default:
			p.Machine.SetProcessName(p.threads.process(e.pid), p.Store.Strings.InternBytes(v.Raw), model.ProcessNameSystem)
		}
	})
}

// fail logs that the event was not imported, or not unchanged.
func (p *parser) fail(ts int64, stat model.Stat, more model.ArgFunc) {
	strings := p.Store.Strings
	p.File.LogTime(stat, ts, model.ArgFunc(func(set *model.ArgSet) {
		set.Add(p.eventNameKey, model.StringArg(model.StringID(p.event.name)))
		set.Add(p.phaseKey, model.StringArg(strings.Intern(string(rune(p.event.phase)))))
		if more != nil {
			more(set)
		}
	}))
}
