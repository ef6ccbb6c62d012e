package netlog

import (
	"github.com/tpconvert/tpconvert/ingest/internal/jsonlex"
	"github.com/tpconvert/tpconvert/ingest/internal/token"
	"github.com/tpconvert/tpconvert/model"
)

// parser turns events, in order of time, into slices on a track for each source.
type parser struct {
	*model.Context
	args     *jsonlex.ArgWriter
	errors   map[int64]model.StringID // names of network errors
	labels   map[int64]model.StringID // what the sources are about
	starts   map[int64]int64          // when sources began that are older than their first event, 0 for others
	crossing map[model.StringID]bool  // the events that do not nest in others of their source
	first    map[int64]slice          // of the sources
	waiting  map[int64][]slice        // those that refer to a source before its first
	began    int64                    // when the slice that the event ended began
	global   model.StringID
	netError model.StringID
	startTS  model.StringID
}

type slice struct {
	id model.SliceID
	ts int64
}

func newParser(c *model.Context) *parser {
	word := c.Store.Strings.Intern
	return &parser{Context: c, args: jsonlex.NewArgWriter(c.Store.Strings), errors: map[int64]model.StringID{}, labels: map[int64]model.StringID{}, starts: map[int64]int64{},
		crossing: map[model.StringID]bool{}, first: map[int64]slice{}, waiting: map[int64][]slice{}, global: word("NONE"), netError: word("net_error"), startTS: word("start_ts")}
}

var (
	sourceTracks = &model.Blueprint{Classification: "netlog_source", Dims: []string{"source_id", "source_type"}}
	// Events that do not nest in others of their source have tracks of their own, on which they nest in each other.
	eventTracks = &model.Blueprint{Classification: "netlog_source_event", Dims: []string{"source_id", "event_type"}}
)

// Event parses an event.
func (p *parser) Event(ts int64, event []byte) error {
	r := token.Reader(event)
	name, kind, phase, source, dependency := r.Text(), r.Text(), phase(r.Uint()), r.Int(), r.Int()
	args := args{p, ts, r}
	track := p.track(source, kind)
	if phase != instant && p.crossing[name] {
		track = p.Tracks.Intern(eventTracks, &model.TrackOptions{Name: name, Parent: track, HasParent: true}, model.IntDim(source), model.StringDim(name))
	}
	changed := slice{ts: ts}
	switch phase {
	case begin:
		changed.id = p.Slices.Begin(ts, track, kind, name, args)
	case end:
		changed.id = p.Slices.End(ts, track, kind, name, args)
		changed.ts = p.began
	default:
		changed.id = p.Slices.Instant(ts, track, kind, name, args)
	}
	if changed.id == model.None {
		return nil
	}
	if _, ok := p.first[source]; !ok {
		p.first[source] = changed
		for _, from := range p.waiting[source] {
			p.link(from, changed)
		}
		delete(p.waiting, source)
	}
	if dependency == none {
		return nil
	}
	if to, ok := p.first[dependency]; ok {
		p.link(to, changed)
	} else {
		p.waiting[dependency] = append(p.waiting[dependency], changed)
	}
	return nil
}

// link draws an arrow from the slice that began first.
func (p *parser) link(a, b slice) {
	if b.ts < a.ts {
		a, b = b, a
	}
	p.Flows.Link(a.id, b.id)
}

func (p *parser) track(source int64, kind model.StringID) model.TrackID {
	name := kind
	if about := p.labels[source]; about != 0 {
		strings := p.Store.Strings
		name = strings.Intern(strings.Get(kind) + " " + strings.Get(about))
	}
	o := &model.TrackOptions{Name: name}
	if start := p.starts[source]; start != 0 {
		o.Args = model.ArgFunc(func(set *model.ArgSet) { set.Add(p.startTS, model.IntArg(start)) })
	}
	return p.Tracks.Intern(sourceTracks, o, model.IntDim(source), model.StringDim(kind))
}

// args are the params of an event.
type args struct {
	*parser
	ts     int64
	params []byte
}

// EndSlice is called for the slice that the event ends.
func (a args) EndSlice(_ model.SliceID, ts int64) { a.began = ts }

func (a args) AddArgs(set *model.ArgSet) {
	if len(a.params) == 0 {
		return
	}
	if !a.parser.args.Add(set, "params", a.params) {
		a.File.LogTime(statParseErrors, a.ts, nil)
	}
	members(jsonlex.Value{Kind: jsonlex.Object, Raw: a.params}, func(key []byte, v jsonlex.Value) {
		if name := a.errors[v.Int]; name != 0 && string(key) == "net_error" && v.Kind == jsonlex.Integer {
			set.Add(a.netError, model.StringArg(name))
		}
	})
}
