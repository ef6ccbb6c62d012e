package ftrace

import (
	"strings"

	"github.com/tpconvert/tpconvert/model"
)

// Generic returns a tracepoint that the trace itself describes. If its fields
// follow the kernel's convention for track events, its events also become slices
// or counter values:
//
//   - track_event_type and slice_name make slices; the type is B, E or I;
//   - counter_value makes counter values;
//   - track_name names the track, which otherwise has the tracepoint's name;
//   - scope_tgid, scope_cpu or another field that begins with scope_ tells what
//     the track belongs to, which otherwise is the thread.
func (p *Parser) Generic(name string, fields []Field) *Tracepoint {
	t := &Tracepoint{Name: name, Fields: fields}
	p.prepare(t)
	if k, ok := matchTrackEvent(t); ok {
		t.handle = k.handle
	}
	return t
}

// Legacy returns a tracepoint that old recorders did not know, whose events
// bring their own field names.
func (p *Parser) Legacy(name []byte) *Tracepoint {
	t := p.legacy[string(name)]
	if t == nil {
		t = p.Generic(string(name), nil)
		t.handle = nil
		p.legacy[t.Name] = t
	}
	return t
}

// LegacyField returns a field of a tracepoint that Legacy returned.
func (p *Parser) LegacyField(t *Tracepoint, name []byte, kind FieldType) *Field {
	for i := range t.Fields {
		if f := &t.Fields[i]; f.Name == string(name) && f.Type == kind {
			return f
		}
	}
	t.Fields = append(t.Fields, Field{Name: string(name), Type: kind, key: p.Store.Strings.InternBytes(name)})
	return &t.Fields[len(t.Fields)-1]
}

// trackEvent says which fields of the convention a tracepoint has.
type trackEvent struct {
	slices       bool
	track, scope bool
	scopeField   string
	byThread     *model.Blueprint
	byProcess    *model.Blueprint
	byCPU        *model.Blueprint
	byScope      *model.Blueprint
}

func kernelTracks(kind string, event model.EventType) trackEvent {
	blueprint := func(scope, dim string) *model.Blueprint {
		return &model.Blueprint{Classification: "kernel_trackevent_" + scope + "_" + kind, Event: event, Dims: []string{dim, "tracepoint", "name"}}
	}
	return trackEvent{
		byThread:  blueprint("thread", "utid"),
		byProcess: blueprint("process", "upid"),
		byCPU:     blueprint("cpu", "cpu"),
		byScope:   blueprint("custom", "scope"),
	}
}

var (
	kernelSlices   = kernelTracks("slice", model.SliceTrack)
	kernelCounters = kernelTracks("counter", model.CounterTrack)
)

func matchTrackEvent(t *Tracepoint) (trackEvent, bool) {
	has := map[string]bool{}
	scope := ""
	for _, f := range t.Fields {
		text := f.Name == "slice_name" || f.Name == "track_name"
		if text != (f.Type == Text) || f.Type == Bool {
			continue
		}
		has[f.Name] = true
		if strings.HasPrefix(f.Name, "scope_") {
			scope = f.Name
		}
	}
	var k trackEvent
	switch {
	case has["track_event_type"] && has["slice_name"]:
		k = kernelSlices
		k.slices = true
	case has["counter_value"]:
		k = kernelCounters
	default:
		return k, false
	}
	k.track, k.scope, k.scopeField = has["track_name"], scope != "", scope
	return k, true
}

func (k trackEvent) handle(p *Parser, e *Event) {
	track, ok := k.trackOf(p, e)
	if ok && !k.slices {
		if ok = e.Has("counter_value"); ok {
			p.count(e, track, float64(e.Int("counter_value")), nil)
		}
	} else if ok {
		ok = k.slice(p, e, track)
	}
	if !ok {
		p.File.LogTime(model.StatKernelTrackeventFormatError, e.TS, nil)
	}
}

func (k trackEvent) slice(p *Parser, e *Event, track model.TrackID) bool {
	if !e.Has("track_event_type") || !e.Has("slice_name") {
		return false
	}
	switch byte(e.Int("track_event_type")) {
	case 'B':
		p.Slices.Begin(e.TS, track, 0, p.text(e, "slice_name"), nil)
	case 'E':
		p.Slices.End(e.TS, track, 0, 0, nil)
	case 'I':
		p.Slices.Scoped(e.TS, 0, track, 0, p.text(e, "slice_name"), nil)
	default:
		return false
	}
	return true
}

func (k trackEvent) trackOf(p *Parser, e *Event) (model.TrackID, bool) {
	name := e.Tracepoint.id
	if k.track {
		if !e.Has("track_name") {
			return 0, false
		}
		name = p.text(e, "track_name")
	}
	b := k.byThread
	var scope model.Dim
	switch {
	case !k.scope:
		scope = model.IntDim(p.thread(e))
	case !e.Has(k.scopeField):
		return 0, false
	case k.scopeField == "scope_tgid":
		b, scope = k.byProcess, model.IntDim(p.Machine.Process(e.Int(k.scopeField)))
	case k.scopeField == "scope_cpu":
		b, scope = k.byCPU, model.IntDim(e.Int(k.scopeField))
	default:
		b, scope = k.byScope, model.IntDim(e.Int(k.scopeField))
	}
	return p.Tracks.Intern(b, &model.TrackOptions{Name: name},
		scope, model.StringDim(e.Tracepoint.id), model.StringDim(name)), true
}
