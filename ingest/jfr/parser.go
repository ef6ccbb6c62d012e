package jfr

import (
	"math"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/internal/token"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
)

// The events that are samples of a profiler.
var samples = map[string]bool{"jdk.ExecutionSample": true, "jdk.NativeMethodSample": true, "jdk.CPUTimeSample": true, "profiler.WallClockSample": true,
	"datadog.ExecutionSample": true, "datadog.MethodSample": true}

// counters are the fields of events that are values of counters.
var counters = map[string][]string{
	"jdk.CPULoad":                {"jvmUser", "jvmSystem", "machineTotal"},
	"jdk.ThreadCPULoad":          {"user", "system"},
	"jdk.GCHeapSummary":          {"heapUsed", "heapSpace.committedSize"},
	"jdk.MetaspaceSummary":       {"metaspace.used", "metaspace.committed"},
	"jdk.PhysicalMemory":         {"usedSize"},
	"jdk.ResidentSetSize":        {"size"},
	"jdk.JavaThreadStatistics":   {"activeCount"},
	"jdk.ClassLoadingStatistics": {"loadedClassCount"},
	"jdk.ExceptionStatistics":    {"throwables"},
}

// sizes are the fields of events that profiles of memory add up.
var sizes = map[string]string{"jdk.ObjectAllocationInNewTLAB": "tlabSize", "jdk.ObjectAllocationOutsideTLAB": "allocationSize",
	"jdk.ObjectAllocationSample": "weight", "profiler.LiveObject": "allocationSize", "profiler.Malloc": "size"}

var (
	others  = model.AsyncBlueprint(model.Blueprint{Classification: "jfr_event", Dims: []string{"upid", "name"}})
	overlap = model.AsyncBlueprint(model.Blueprint{Classification: "thread_overlapping_slice", Dims: []string{"utid"}})
	process = &model.Blueprint{Classification: "jfr_counter", Event: model.CounterTrack, Dims: []string{"upid", "name"}}
	thread  = &model.Blueprint{Classification: "jfr_thread_counter", Event: model.CounterTrack, Dims: []string{"utid", "name"}}
)

// losses are the fields of events that say what the JVM did not record.
var losses = map[string]loss{"jdk.CPUTimeSamplesLost": {"lostSamples", statSamplesLost}, "jdk.DataLoss": {"amount", statBytesLost}}

type loss struct {
	field string
	stat  model.Stat
}

// kind is how events of a type become rows.
type kind struct {
	number         int
	name, category model.StringID
	sample         bool
	counters       map[model.StringID]model.StringID // names of counters, by the key of the arg
	size           model.StringID                    // key of the arg that a profile adds up
	starts, ends   bool                              // of a thread
	lost           model.StringID                    // key of the arg that is how much was lost, or 0
	loss           model.Stat
	profile        profile.AggregateID              // or None
	unread         map[model.StringID]*model.Unread // fields of samples that make no rows, by the key of the arg
}

// site is a place whose values a profile adds up.
type site struct {
	profile  profile.AggregateID
	callsite profile.CallsiteID
}

// parser turns events, in order of time, into rows.
type parser struct {
	*model.Context
	kinds  []*kind
	byName map[[2]string]*kind
	people *people
	sums   map[site]float64
	sites  []site
	args   []arg
	// Keys of args, and the measure of profiles of time.
	subject, samples, truncated, state, period, duration model.StringID
}

func newParser(c *model.Context) *parser {
	word := c.Store.Strings.Intern
	return &parser{Context: c, byName: map[[2]string]*kind{}, sums: map[site]float64{}, subject: word("thread.utid"), samples: word("samples"), truncated: word(truncated),
		state: word("state"), period: word("samplingPeriod"), duration: word("duration")}
}

// kind returns how events of a type become rows.
func (p *parser) kind(t *class) *kind {
	key := [2]string{t.name, t.category}
	if k := p.byName[key]; k != nil {
		return k
	}
	word := p.Store.Strings.Intern
	known := t.name
	if old, ok := strings.CutPrefix(known, "com.oracle.jdk."); ok { // JDK 9
		known = "jdk." + old
	}
	k := &kind{number: len(p.kinds), name: word(t.name), category: word(t.category), sample: samples[known], profile: model.None,
		starts: known == "jdk.ThreadStart", ends: known == "jdk.ThreadEnd", counters: map[model.StringID]model.StringID{}, unread: map[model.StringID]*model.Unread{}}
	for _, c := range counters[known] {
		k.counters[word(c)] = word(t.name + "." + c)
	}
	if size := sizes[known]; size != "" {
		k.size = word(size)
	}
	if l, ok := losses[known]; ok {
		k.lost, k.loss = word(l.field), l.stat
	}
	p.kinds, p.byName[key] = append(p.kinds, k), k
	return k
}

// Event stores an event.
func (p *parser) Event(ts int64, event []byte) error {
	r := token.Reader(event)
	k := p.kinds[r.Uint()]
	dur, utid, callsite := r.Int(), model.UTID(r.Int()), profile.CallsiteID(r.Int())
	p.unpack(r)
	p.people.start()
	if k.sample {
		p.sample(ts, k, utid, callsite)
		return nil
	}
	size := 0.0
	for _, a := range p.args {
		if name := k.counters[a.key]; name != 0 {
			blueprint, owner := process, model.IntDim(p.people.upid)
			if utid != model.None {
				blueprint, owner = thread, model.IntDim(utid)
			}
			p.Counters.Push(ts, a.float(), p.Tracks.Intern(blueprint, &model.TrackOptions{Name: name}, owner, model.StringDim(name)))
		}
		if k.size != 0 && a.key == k.size {
			size = a.float()
		}
		if k.lost != 0 && a.key == k.lost {
			p.File.Add(k.loss, model.None, max(a.value.Int(), 0))
		}
		if (k.starts || k.ends) && a.key == p.subject {
			if subject := a.value.Int(); k.starts {
				p.Store.Thread.StartTS.Set(subject, ts)
			} else {
				p.Store.Thread.EndTS.Set(subject, ts)
			}
		}
	}
	slice, track := p.slice(ts, max(dur, 0), k, utid)
	if callsite == model.None {
		return nil
	}
	p.Store.Stacks.AddToSlice(slice, track, callsite, false)
	if k.size != 0 {
		p.add(k, callsite, k.size, "bytes", size)
	} else if dur != model.None {
		p.add(k, callsite, p.duration, "nanoseconds", float64(dur))
	}
	return nil
}

// slice adds the slice of an event, on the track of its thread or type.
func (p *parser) slice(ts, dur int64, k *kind, utid model.UTID) (model.SliceID, model.TrackID) {
	if utid == model.None {
		track := p.Async.Overlapping(others, &model.TrackOptions{Name: k.name}, ts, dur, model.IntDim(p.people.upid), model.StringDim(k.name))
		return p.Slices.Scoped(ts, dur, track, k.category, k.name, p), track
	}
	track := p.Tracks.Thread(utid)
	slice, crossing := p.Slices.ScopedOr(ts, dur, track, k.category, k.name, p)
	if crossing != nil {
		track = p.Async.Overlapping(overlap, nil, ts, dur, model.IntDim(utid))
		slice = p.Slices.Scoped(ts, dur, track, k.category, k.name, p)
	}
	return slice, track
}

// sample adds a sample of a profiler.
func (p *parser) sample(ts int64, k *kind, utid model.UTID, callsite profile.CallsiteID) {
	s := profile.NewSample(ts, "jfr")
	s.UTID, s.Callsite = utid, callsite
	if utid != model.None {
		s.UPID = p.Machine.ProcessOf(utid)
	}
	state, period := model.StringID(0), int64(model.None)
	for _, a := range p.args {
		switch {
		case a.key == p.truncated:
			s.UnwindError = p.truncated
			continue
		case a.key == p.state && a.text != nil:
			state = p.Store.Strings.InternBytes(a.text)
			continue
		case a.key == p.period && a.value.Int() > 0:
			period = a.value.Int()
			continue
		case a.key == p.samples && a.value.Int() > 0:
			s.Weight = a.value.Int()
			continue
		}
		if k.unread[a.key] == nil {
			k.unread[a.key] = p.File.Unread(model.StatUnreadFact, model.None, p.Store.Strings.Get(k.name)+" "+p.Store.Strings.Get(a.key))
		}
		k.unread[a.key].Add(model.LogEntry{TS: ts, HasTS: true})
	}
	row := p.Store.Stacks.AddSampleEvent(p.Store.Stacks.AddSample(s), k.name, period)
	p.Store.StackSampleEvent.ThreadState.Set(row, state)
}

// add adds a value at a callsite to the profile of a kind of events.
func (p *parser) add(k *kind, callsite profile.CallsiteID, measure model.StringID, unit string, value float64) {
	if k.profile == model.None {
		t := &p.Store.AggregateProfile
		row := t.Append()
		t.Scope.Set(row, k.name)
		t.Name.Set(row, k.name)
		t.SampleTypeType.Set(row, measure)
		t.SampleTypeUnit.Set(row, p.Store.Strings.Intern(unit))
		t.IsDefault.Set(row, measure != p.duration) // durations of events are no profile of the program
		k.profile = profile.AggregateID(row)
	}
	at := site{k.profile, callsite}
	if _, ok := p.sums[at]; !ok {
		p.sites = append(p.sites, at)
	}
	p.sums[at] += value
}

// finish stores the profiles.
func (p *parser) finish() error {
	t := &p.Store.AggregateSample
	for _, at := range p.sites {
		row := t.Append()
		t.AggregateProfileID.Set(row, at.profile)
		t.CallsiteID.Set(row, at.callsite)
		t.Value.Set(row, p.sums[at])
	}
	return nil
}

// arg is a field of an event.
type arg struct {
	flat, key model.StringID
	value     model.ArgValue
	text      []byte // instead of the value
}

func (a arg) float() float64 {
	switch a.value.Kind {
	case model.ArgReal:
		return math.Float64frombits(uint64(a.value.Int()))
	case model.ArgUint:
		return float64(uint64(a.value.Int()))
	default:
		return float64(a.value.Int())
	}
}

// AddArgs adds the fields of the event.
func (p *parser) AddArgs(set *model.ArgSet) {
	for _, a := range p.args {
		if a.text != nil {
			set.AddText(a.flat, a.key, a.text)
		} else {
			set.AddFlat(a.flat, a.key, a.value)
		}
	}
}

// The args of an event follow each other: flat key, key, kind and value.
const (
	argInt uint64 = iota
	argUint
	argReal
	argBool
	argPointer
	argWord // a text of the pool
	argText // a text that is not
)

func (p *parser) unpack(r token.Reader) {
	p.args = p.args[:0]
	for len(r) > 0 {
		a := arg{flat: r.Text(), key: r.Text()}
		switch r.Uint() {
		case argInt:
			a.value = model.IntArg(r.Int())
		case argUint:
			a.value = model.UintArg(r.Uint())
		case argReal:
			a.value = model.RealArg(math.Float64frombits(r.Uint()))
		case argBool:
			a.value = model.BoolArg(r.Uint() != 0)
		case argPointer:
			a.value = model.PointerArg(r.Uint())
		case argWord:
			a.value = model.StringArg(r.Text())
		case argText:
			a.text = r.Raw()
		}
		p.args = append(p.args, a)
	}
}
