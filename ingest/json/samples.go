package json

import (
	"cmp"
	"slices"

	"github.com/tpconvert/tpconvert/ingest/internal/jsonlex"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
)

// sampleSource is the source of the Trace Event Format's own samples.
const sampleSource = "trace_event"

// stacks turns the data beside the events into samples: samples and stackFrames
// of the Trace Event Format, or the members of a .cpuprofile file.
func (t *tokenizer) stacks() error {
	if len(t.profile.Nodes) > 0 {
		return t.profileFile()
	}
	if t.samples == nil {
		return nil
	}
	frames := t.parser.frames()
	var all []sample
	l := jsonlex.Lexer{Buf: append(t.samples, ' ')}
	err := l.Elements(func(v jsonlex.Value) {
		if sample, ok := t.sample(frames, v); ok {
			all = append(all, sample)
		} else {
			t.in.File.Count(model.StatJSONParserFailure)
		}
	})
	if err != nil {
		t.in.File.Count(model.StatJSONParserFailure)
	}
	slices.SortStableFunc(all, func(a, b sample) int { return cmp.Compare(a.TS, b.TS) })
	for _, s := range all {
		id := t.in.Store.Stacks.AddSample(s.Sample)
		if s.event != 0 {
			t.in.Store.Stacks.AddSampleEvent(id, s.event, model.None)
		}
	}
	return nil
}

// sample is an element of samples. The event is what was sampled, such as cycles.
type sample struct {
	profile.Sample
	event model.StringID
}

// frame is a member of stackFrames: a function and its caller.
type frame struct {
	category, name model.StringID
	parent         string
	callsite       profile.CallsiteID
	visited        bool
}

// frames reads stackFrames and stores each call stack.
func (t *tokenizer) frames() map[string]*frame {
	strings := t.in.Store.Strings
	all := map[string]*frame{}
	var order []*frame
	if t.stackFrames != nil {
		l := jsonlex.Lexer{Buf: append(t.stackFrames, ' ')}
		_ = l.Members(func(id []byte, v jsonlex.Value) {
			if v.Kind != jsonlex.Object {
				return
			}
			f := &frame{callsite: model.None}
			inner := jsonlex.Lexer{Buf: v.Raw}
			_ = inner.Members(func(key []byte, v jsonlex.Value) {
				switch string(key) {
				case "name":
					f.name = strings.InternBytes(v.Raw)
				case "category":
					f.category = strings.InternBytes(v.Raw)
				case "parent":
					f.parent = string(v.Raw)
				}
			})
			all[string(id)] = f
			order = append(order, f)
		})
	}
	mappings := map[model.StringID]profile.MappingID{}
	for _, f := range order {
		// Go from the outermost caller inwards. A cycle of callers is broken
		// where it closes.
		var chain []*frame
		for ; f != nil && !f.visited; f = all[f.parent] {
			f.visited = true
			chain = append(chain, f)
		}
		parent := profile.CallsiteID(model.None)
		if f != nil {
			parent = f.callsite
		}
		for _, f := range slices.Backward(chain) {
			mapping, ok := mappings[f.category]
			if !ok {
				mapping = t.in.Store.Stacks.DummyMapping(strings.Get(f.category))
				mappings[f.category] = mapping
			}
			f.callsite = t.in.Store.Stacks.Callsite(parent, t.in.Store.Stacks.FunctionFrame(mapping, f.name, 0, 0))
			parent = f.callsite
		}
	}
	return all
}

// sample reads an element of samples. It has a timestamp, and usually a thread,
// a CPU, the id of the innermost frame, an event and a weight.
func (t *tokenizer) sample(frames map[string]*frame, v jsonlex.Value) (s sample, ok bool) {
	s.Sample = profile.NewSample(0, sampleSource)
	if v.Kind != jsonlex.Object {
		return s, false
	}
	var pid, tid id
	inner := jsonlex.Lexer{Buf: v.Raw}
	err := inner.Members(func(key []byte, v jsonlex.Value) {
		switch string(key) {
		case "ts":
			var why string
			s.TS, why = nanoseconds(v)
			var failed *model.ClockError
			if ok = why == ""; ok {
				s.TS, failed = t.in.Clocks.DefaultToTrace(s.TS)
				ok = failed == nil && s.TS >= 0
			}
		case "pid":
			pid = t.number(v)
		case "tid":
			tid = t.number(v)
		case "cpu":
			if cpu, isCPU := v.Whole(); isCPU && cpu >= 0 && cpu < 1<<20 {
				s.CPU, s.UCPU = cpu, t.in.Machine.CPU(cpu)
			}
		case "sf":
			if f := frames[string(v.Raw)]; f != nil {
				s.Callsite = f.callsite
			}
		case "name":
			if v.Kind == jsonlex.Text && len(v.Raw) > 0 {
				s.event = t.in.Store.Strings.InternBytes(v.Raw)
			}
		case "weight":
			var whole bool
			if s.Weight, whole = v.Whole(); !whole {
				s.Weight = 1
				t.in.File.Unread(model.StatUnreadFact, model.None, "weight of a sample").Add(model.LogEntry{})
			}
		}
	})
	switch {
	case pid.kind != idNone:
		s.UTID = t.parser.threads.thread(pid, tid)
	case tid.kind != idNone:
		s.UTID = t.parser.threads.byTID(tid)
	}
	if s.UTID != model.None {
		s.UPID = t.in.Machine.ProcessOf(s.UTID)
	}
	return s, ok && err == nil
}

// number returns the pid or tid of a sample.
func (t *tokenizer) number(v jsonlex.Value) id {
	t.one.reset(0, nil)
	i, _ := t.one.number(v, &scanned{})
	if i.kind == idText {
		i.v = uint64(t.places.intern(v.Raw))
	}
	return i
}
