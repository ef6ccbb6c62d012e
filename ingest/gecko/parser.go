package gecko

import (
	"bytes"
	"math"
	"regexp"

	"github.com/tpconvert/tpconvert/ingest/internal/jsonlex"
	"github.com/tpconvert/tpconvert/ingest/internal/token"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
)

// phase says whether a marker is an instant, an interval or one end of an interval.
type phase int32

const (
	instant phase = iota
	interval
	intervalStart
	intervalEnd
	sample // not a marker
)

// nanoseconds converts a time from ms. Writers divide whole nanoseconds, so the nearest one is meant.
func nanoseconds(ms float64) (ns int64, ok bool) {
	n := ms * 1e6
	if !(n > -math.MaxInt64/2 && n < math.MaxInt64/2) {
		return 0, false
	}
	rest := math.FMA(ms, 1e6, -n) // what the product lost
	whole := math.Floor(n)
	return int64(whole) + int64(math.Round(n-whole+rest)), true
}

// push pushes the samples and markers of a thread to the sorter. shift is added to all
// times, in ns.
func (r *reader) push(number int64, t *thread, shift int64) error {
	s := &t.samples
	if len(s.times) == 0 {
		s.times = s.deltas
		sum(s.times)
	}
	counted, timed := s.weightType == "" || s.weightType == "samples", s.weightType == "tracing-ms"
	if !counted && !timed && len(s.weights) > 0 {
		r.in.File.Unread(model.StatUnreadFact, model.None, "weight in "+s.weightType).Add(model.LogEntry{})
	}
	for i := range min(len(s.stacks), len(s.times)) {
		if s.stacks[i] == none {
			continue // no stack was taken
		}
		r.begin(number, sample)
		r.event.Uint(uint64(s.stacks[i]))
		weight, period := int64(1), int64(model.None)
		if i < len(s.weights) {
			switch w := s.weights[i]; {
			case counted && math.Abs(w) < 1<<53:
				weight = int64(w)
			case timed && w < 0:
				r.in.File.Unread(model.StatUnreadFact, model.None, "negative weight").AddAt(t.offset)
			case timed:
				if ns, ok := nanoseconds(w); ok {
					period = ns
				}
			}
		}
		r.event.Int(weight)
		r.event.Int(period)
		if err := r.pushAt(t, s.times[i], shift); err != nil {
			return err
		}
	}
	*s = samples{}
	m := &t.markers
	for i := range m.names {
		if err := r.marker(number, t, i, shift); err != nil {
			return err
		}
	}
	*m = markers{}
	return nil
}

// sum replaces deltas by their sums. It carries what each addition rounds off, which would be
// several ns after some thousand of them.
func sum(deltas []float64) {
	total, lost := 0.0, 0.0
	for i, d := range deltas {
		d -= lost
		next := total + d
		total, lost = next, next-total-d
		deltas[i] = total
	}
}

func (r *reader) begin(number int64, p phase) {
	r.event.Reset()
	r.event.Uint(uint64(number))
	r.event.Uint(uint64(p))
}

func (r *reader) pushAt(t *thread, ms float64, shift int64) error {
	ns, ok := nanoseconds(ms)
	if !ok || shift > math.MaxInt64/2 || shift < -math.MaxInt64/2 {
		r.damaged(t.offset)
		return nil
	}
	ts, ok := r.in.TraceTime(ns+shift, t.offset)
	if !ok {
		return nil
	}
	return r.events.Push(ts, r.event.Bytes())
}

// marker pushes a marker.
func (r *reader) marker(number int64, t *thread, i int, shift int64) error {
	m := &t.markers
	data := m.data.get(i)
	var p phase
	var start float64
	end := math.NaN()
	switch {
	case i < len(m.starts) && i < len(m.phases):
		p, start = phase(m.phases[i]), m.starts[i]
		if i < len(m.ends) {
			end = m.ends[i]
		}
	case i < len(m.times):
		p, start, end = ofData(data, m.times[i])
	default:
		// There are names without times, because the columns were cut off.
		return nil
	}
	var dur int64
	switch p {
	case instant, intervalStart:
	case interval:
		ok := false
		if dur, ok = nanoseconds(end - start); !ok {
			r.damaged(t.offset)
			return nil
		}
	case intervalEnd:
		start = end
	default:
		r.damaged(t.offset)
		return nil
	}
	category := int32(none)
	if i < len(m.categories) {
		category = m.categories[i]
	}
	r.begin(number, p)
	r.event.Int(int64(m.names[i]))
	r.event.Int(int64(category))
	r.event.Uint(uint64(max(dur, 0)))
	r.event.Rest(data)
	return r.pushAt(t, start, shift)
}

// ofData reads the phase and times of an old marker from its data.
func ofData(data []byte, time float64) (p phase, start, end float64) {
	start, end = math.NaN(), math.NaN()
	p = instant
	if len(data) > 0 {
		l := jsonlex.Lexer{Buf: data}
		_ = l.Members(func(key []byte, v jsonlex.Value) {
			switch string(key) {
			case "startTime":
				start, _ = number(v)
			case "endTime":
				end, _ = number(v)
			case "interval":
				if bytes.Equal(v.Raw, []byte("start")) {
					p = intervalStart
				} else if bytes.Equal(v.Raw, []byte("end")) {
					p = intervalEnd
				}
			}
		})
	}
	if p == instant && !math.IsNaN(start) && !math.IsNaN(end) {
		return interval, start, end
	}
	return p, time, time
}

var tracks = &model.Blueprint{Classification: "firefox_marker",
	Dims: []string{"utid", "firefox_marker_category", "firefox_marker_name"}}

var overlapping = model.AsyncBlueprint(model.Blueprint{Classification: "firefox_overlapping_marker", Dims: tracks.Dims})

// parser turns samples and markers into rows.
type parser struct {
	*reader
	args *jsonlex.ArgWriter
	time model.StringID // the event of samples that are times
}

func newParser(r *reader) *parser {
	return &parser{reader: r, args: jsonlex.NewArgWriter(r.in.Store.Strings), time: r.in.Store.Strings.Intern("time")}
}

// utid returns the thread's utid, and names the thread when it is first seen.
func (p *parser) utid(t *thread) model.UTID {
	if t.seen {
		return t.utid
	}
	t.seen = true
	machine := p.in.Machine
	switch {
	case t.tid == 0:
		// Threads without a tid must stay separate.
		machine.StartThread(nil, 0)
		t.utid = machine.ThreadIn(0, machine.ProcessWithoutThread(t.pid), false)
	case p.saysMain: // not of all systems does it have the number of its process
		t.utid = machine.ThreadIn(t.tid, machine.ProcessWithoutThread(t.pid), false)
	default:
		t.utid = machine.ThreadOf(t.tid, t.pid)
	}
	if t.main {
		machine.SetMainThread(t.utid, true)
	}
	if machine.ThreadName(t.utid) == 0 || !placeholder.MatchString(p.in.Store.Strings.Get(t.name)) {
		machine.SetThreadName(t.utid, t.name, model.ThreadNameOther)
	}
	if upid := machine.ProcessOf(t.utid); upid != model.None && !placeholder.MatchString(p.in.Store.Strings.Get(t.process)) {
		machine.SetProcessName(upid, t.process, model.ProcessNameSystem)
	}
	return t.utid
}

// placeholder matches what samply calls threads and processes without a name.
var placeholder = regexp.MustCompile(`^(Thread )?<[0-9.]+>$`)

// Event stores a sample or a marker.
func (p *parser) Event(ts int64, payload []byte) error {
	event := token.Reader(payload)
	t, kind := p.threads[event.Uint()], phase(event.Uint())
	if kind == sample {
		stack, weight, period := event.Uint(), event.Int(), event.Int()
		if stack >= uint64(len(t.callsites)) || t.callsites[stack] == model.None {
			p.in.File.LogTime(statParseErrors, ts, nil)
			return nil
		}
		v := profile.NewSample(ts, "gecko")
		v.UTID, v.Callsite, v.Weight = p.utid(t), t.callsites[stack], weight
		if id := p.in.Store.Stacks.AddSample(v); period != model.None {
			p.in.Store.Stacks.AddSampleEvent(id, p.time, period)
		}
		return nil
	}
	at, in, dur := event.Int(), event.Int(), int64(event.Uint())
	if at < 0 || at >= int64(len(t.names)) {
		p.in.File.LogTime(statParseErrors, ts, nil)
		return nil
	}
	name, category := t.names[at], model.StringID(0)
	if in >= 0 && in < int64(len(t.categories)) {
		category = t.categories[in]
	}
	var args model.ArgSource
	if len(event) > 0 {
		args = model.ArgFunc(func(set *model.ArgSet) {
			p.args.Add(set, "data", event)
			p.texts(set, event, t)
		})
	}
	track := p.in.Tracks.Intern(tracks, &model.TrackOptions{Name: name}, model.IntDim(p.utid(t)), model.StringDim(category), model.StringDim(name))
	switch slices := p.in.Slices; kind {
	case intervalStart:
		slices.Begin(ts, track, category, name, args)
	case intervalEnd:
		slices.End(ts, track, category, name, args)
	default:
		// Markers may overlap; those of the types that are stack-based do not.
		if _, overlap := slices.ScopedOr(ts, dur, track, category, name, args); overlap != nil {
			track = p.in.Async.Overlapping(overlapping, &model.TrackOptions{Name: name}, ts, dur,
				model.IntDim(p.utid(t)), model.StringDim(category), model.StringDim(name))
			slices.Scoped(ts, dur, track, category, name, args)
		}
	}
	return nil
}

// texts replaces the indices of texts in the args of a marker with the texts.
func (p *parser) texts(set *model.ArgSet, data []byte, t *thread) {
	if len(p.textFields) == 0 {
		return
	}
	fields := p.textFields[member(jsonlex.Value{Kind: jsonlex.Object, Raw: data}, "type")]
	if fields == nil {
		return
	}
	l := jsonlex.Lexer{Buf: data}
	_ = l.Members(func(key []byte, v jsonlex.Value) {
		if arg, ok := fields[string(key)]; ok && v.Kind == jsonlex.Integer && v.Int >= 0 && v.Int < int64(len(t.names)) {
			set.Add(arg, model.StringArg(t.names[v.Int]))
		}
	})
}
