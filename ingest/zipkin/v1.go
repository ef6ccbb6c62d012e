package zipkin

import (
	"slices"

	"github.com/tpconvert/tpconvert/ingest/internal/jsonlex"
)

// A v1 is a span of version 1. Its annotations have an endpoint each: the service that made them. If a client and its server share the
// span, it has those of both, and becomes a span for each. Zipkin's V1SpanConverter does the same.
type v1 struct {
	found       bool // the span has what only version 1 has
	annotations []annotation
	tags        []tag
	sides       []*side
	core        map[string]*annotation // annotations that are begins and ends, by their values, until they are used
	byKind      map[string]*side
}

// endpoint is a service at an address.
type endpoint struct {
	service string
	json    jsonlex.Value
}

// annotation is an event.
type annotation struct {
	time  uint64 // ns
	value string
	at    *endpoint // nil if unknown
}

// tag is a binary annotation.
type tag struct {
	key   string
	value jsonlex.Value
	at    *endpoint
}

// side is what one service says of a span.
type side struct {
	times
	at, remote  *endpoint
	kind        string
	shared      bool
	annotations []annotation
	tags        []tag
}

// times are those of a span.
type times struct {
	start, dur uint64 // ns
	ended      bool   // its duration is known
}

// coreKinds are the kinds of span that annotations say: a request or its response was sent or received, or a message. ws and wr, when
// bytes were written or read, may be in each.
var coreKinds = map[string]string{"cs": "CLIENT", "cr": "CLIENT", "sr": "SERVER", "ss": "SERVER", "ms": "PRODUCER", "mr": "CONSUMER", "ws": "", "wr": ""}

// split returns the sides of the span, whose own times are zero if it has none. It calls unread for each address of nobody.
func (v *v1) split(own times, unread func(key string)) []*side {
	v.core, v.byKind = map[string]*annotation{}, map[string]*side{}
	v.sides = []*side{{}}
	for i := range v.annotations {
		a := &v.annotations[i]
		s := v.side(a.at)
		kind, core := coreKinds[a.value]
		if !core || a.at == nil || v.core[a.value] != nil {
			s.annotations = append(s.annotations, *a)
			continue
		}
		v.core[a.value] = a
		if kind != "" {
			s.kind, v.byKind[kind] = kind, s
		}
	}
	v.messages(own)
	v.calls(own)
	for i := range v.annotations {
		if a := &v.annotations[i]; v.core[a.value] == a { // its other half is missing
			s := v.side(a.at)
			s.annotations = append(s.annotations, *a)
		}
	}
	v.addTags(unread)
	return v.sides
}

// side returns the side of a service. The first one takes what nobody says.
func (v *v1) side(at *endpoint) *side {
	if at == nil {
		return v.sides[0]
	}
	for _, s := range v.sides {
		if s.at == nil {
			s.at = at
		}
		if s.at.service == at.service {
			return s
		}
	}
	return v.newSide(at)
}

func (v *v1) newSide(at *endpoint) *side {
	s := &side{at: at}
	v.sides = append(v.sides, s)
	return s
}

// between sets the times of a side: the span's own or, if these are not known, those of two annotations, of which the second may be
// missing. A service that calls itself has two sides.
func (v *v1) between(own times, kind string, begin, end *annotation) *side {
	s := v.side(begin.at)
	if s.start != 0 {
		s = v.newSide(begin.at)
	}
	s.kind, v.byKind[kind] = kind, s
	s.times = times{start: begin.time}
	delete(v.core, begin.value)
	if end != nil {
		s.dur, s.ended = end.time-begin.time, true
		delete(v.core, end.value)
	}
	if own.start != 0 && own.dur != 0 {
		s.times = own
	}
	return s
}

// calls sets the times of clients and servers. If a begin is missing, the span's own may stand for it.
func (v *v1) calls(own times) {
	cs, cr, sr, ss := v.core["cs"], v.core["cr"], v.core["sr"], v.core["ss"]
	begin := func(end *annotation) *annotation {
		if end == nil || own.start == 0 || own.dur == 0 || own.start+own.dur != end.time {
			return nil
		}
		return &annotation{time: own.start, at: end.at}
	}
	if cs == nil {
		cs = begin(cr)
	}
	if sr == nil {
		sr = begin(ss)
	}
	switch {
	case cs != nil && sr != nil:
		v.between(own, "CLIENT", cs, cr)
		v.between(times{}, "SERVER", sr, ss).shared = true
	case cs != nil && cr != nil:
		v.between(own, "CLIENT", cs, cr)
	case sr != nil && ss != nil: // without times of its own, it shares the client's span
		v.between(own, "SERVER", sr, ss).shared = own.start == 0 || own.dur == 0
	default:
		if cs != nil {
			v.between(times{}, "CLIENT", cs, nil)
		}
		if sr != nil {
			v.between(times{}, "SERVER", sr, nil).shared = own.start == 0
		}
		if own.start != 0 && v.sides[0].dur == 0 {
			v.sides[0].times = own
		}
	}
}

// messages sets the times of producers and consumers.
func (v *v1) messages(own times) {
	ms, ws, mr, wr := v.core["ms"], v.core["ws"], v.core["mr"], v.core["wr"]
	if ms != nil && mr != nil {
		own = times{} // of neither
	}
	if ms != nil {
		v.between(own, "PRODUCER", ms, ws)
	}
	switch {
	case mr != nil && wr != nil:
		v.between(own, "CONSUMER", wr, mr)
	case mr != nil:
		v.between(own, "CONSUMER", mr, nil)
	}
}

// addTags adds the tags. ca, sa and ma are no tags, but the addresses of the client, the server and the broker: what is remote to a side.
func (v *v1) addTags(unread func(key string)) {
	addresses := map[string]*endpoint{}
	for _, t := range v.tags {
		if t.at != nil && (t.key == "ca" || t.key == "sa" || t.key == "ma") {
			addresses[t.key] = t.at
			continue
		}
		s := v.side(t.at)
		if t.key != "lc" || len(t.value.Raw) > 0 { // which marks a local span
			s.tags = append(s.tags, t)
		}
	}
	client, server := v.byKind["CLIENT"], v.byKind["SERVER"]
	switch ca, sa := addresses["ca"], addresses["sa"]; {
	case client != nil || server != nil:
	case ca != nil && sa != nil:
		client = v.side(ca)
	case sa != nil:
		client = v.sides[0]
	case ca != nil:
		server = v.sides[0]
		server.kind = "SERVER"
	}
	for _, address := range []struct {
		key string
		of  []*side
	}{{"ca", []*side{server}}, {"sa", []*side{client}}, {"ma", []*side{v.byKind["PRODUCER"], v.byKind["CONSUMER"]}}} {
		at := addresses[address.key]
		known := at == nil || slices.ContainsFunc(v.sides, func(s *side) bool { return s.at != nil && s.at.service == at.service })
		for _, s := range address.of {
			if s != nil {
				s.remote, known = at, true
			}
		}
		if !known {
			unread(address.key)
		}
	}
}
