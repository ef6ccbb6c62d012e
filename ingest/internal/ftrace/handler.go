package ftrace

import (
	"fmt"

	"github.com/tpconvert/tpconvert/model"
)

// Most tracepoints make one of a few kinds of rows: a counter value, the begin or
// end of a slice, an instant. The functions here build their handlers from what
// differs between tracepoints.

// An argument is an arg of a slice or counter value, taken from a field.
type argument struct {
	key, field string
	as         func(*Parser, *Event, string) model.ArgValue
}

func asInt(_ *Parser, e *Event, field string) model.ArgValue  { return model.IntArg(e.Int(field)) }
func asUint(_ *Parser, e *Event, field string) model.ArgValue { return model.UintArg(e.Uint(field)) }
func asBool(_ *Parser, e *Event, field string) model.ArgValue {
	return model.BoolArg(e.Int(field) != 0)
}

// ints returns args that have the names of their fields.
func ints(fields ...string) []argument {
	var all []argument
	for _, f := range fields {
		all = append(all, argument{f, f, asInt})
	}
	return all
}

// argsOf returns the args of an event. They are valid until the next call.
func (p *Parser) argsOf(e *Event, arguments []argument) model.ArgSource {
	if len(arguments) == 0 {
		return nil
	}
	p.args.reset()
	for _, a := range arguments {
		p.args.add(a.key, a.as(p, e, a.field))
	}
	return &p.args
}

// argList is a list of args to pass to a tracker.
type argList struct {
	words *words
	args  []model.Arg
}

func (l *argList) reset() { l.args = l.args[:0] }

func (l *argList) add(key string, v model.ArgValue) *argList {
	l.args = append(l.args, model.Arg{Key: l.words.intern(key), Value: v})
	return l
}

// AddArgs adds the list's args.
func (l *argList) AddArgs(set *model.ArgSet) {
	for _, a := range l.args {
		set.Add(a.Key, a.Value)
	}
}

// list returns the parser's list of args, emptied.
func (p *Parser) list() *argList {
	p.args.reset()
	return &p.args
}

// word interns a handler's text.
func (p *Parser) word(s string) model.StringID { return p.words.intern(s) }

// text interns a text of the event. It returns NULL if the event lacks the field.
func (p *Parser) text(e *Event, field string) model.StringID {
	v := e.find(field)
	if v == nil {
		return 0
	}
	return p.Store.Strings.InternBytes(v.text)
}

// has reports whether the event has the fields without which it names no thread. The idle thread has tid 0, so a
// missing one must not read as 0. One that lacks a field is counted as damaged.
func (p *Parser) has(e *Event, fields ...string) bool {
	for _, f := range fields {
		if !e.Has(f) {
			p.File.LogTime(model.StatFtraceBundleTokenizerErrors, e.TS, nil)
			return false
		}
	}
	return true
}

func (p *Parser) thread(e *Event) model.UTID {
	if e.utid == model.None {
		e.utid = p.Machine.Thread(e.TID)
	}
	return e.utid
}

// A place returns the track for the slices of a tracepoint.
type place func(*Parser, *Event) model.TrackID

// onThread returns the track of the thread that ran.
func onThread(p *Parser, e *Event) model.TrackID { return p.Tracks.Thread(p.thread(e)) }

// onCPU returns a track of the event's CPU.
func onCPU(b *model.Blueprint) place {
	return func(p *Parser, e *Event) model.TrackID { return p.Tracks.Intern(b, nil, model.IntDim(e.CPU)) }
}

// on returns a track identified by fields of the event.
func on(b *model.Blueprint, fields ...string) place {
	return func(p *Parser, e *Event) model.TrackID {
		var dims [3]model.Dim
		for i, f := range fields {
			dims[i] = p.dim(e, f)
		}
		return p.Tracks.Intern(b, nil, dims[:len(fields)]...)
	}
}

func (p *Parser) dim(e *Event, field string) model.Dim {
	if f := e.Tracepoint.FieldNamed(field); f != nil && f.Type == Text {
		return model.StringDim(p.text(e, field))
	}
	return model.IntDim(e.Int(field))
}

// A naming returns the name for a slice.
type naming func(*Parser, *Event) model.StringID

// named returns a constant name.
func named(name string) naming {
	return func(p *Parser, _ *Event) model.StringID { return p.word(name) }
}

// byField takes the name from a text field.
func byField(field string) naming {
	return func(p *Parser, e *Event) model.StringID { return p.text(e, field) }
}

// bySymbol takes the name from a kernel function in a field.
func bySymbol(field string) naming {
	return func(p *Parser, e *Event) model.StringID {
		if name := p.function(e, field); name != 0 {
			return name
		}
		return p.word(hex(e.Uint(field)))
	}
}

// function returns the kernel function in a field, which holds its name or its
// number, or zero if the name is unknown.
func (p *Parser) function(e *Event, field string) model.StringID {
	if text := e.Text(field); text != nil {
		return p.Store.Strings.InternBytes(text)
	}
	return e.symbol(e.Uint(field))
}

// hex formats a number as C does with %#x, which gives zero no prefix.
func hex(n uint64) string {
	if n == 0 {
		return "0"
	}
	return fmt.Sprintf("%#x", n)
}

// formatted formats a name from fields of the event.
func formatted(format string, fields ...string) naming {
	return func(p *Parser, e *Event) model.StringID {
		values := make([]any, len(fields))
		for i, name := range fields {
			switch f := e.Tracepoint.FieldNamed(name); {
			case f.Type == Text:
				values[i] = e.Text(name)
			case f.Type == Uint64:
				values[i] = e.Uint(name)
			default:
				values[i] = e.Int(name)
			}
		}
		return p.word(fmt.Sprintf(format, values...))
	}
}

// begin starts a slice.
func begin(at place, category string, name naming, args ...argument) handler {
	return func(p *Parser, e *Event) {
		p.Slices.Begin(e.TS, at(p, e), p.category(category), name(p, e), p.argsOf(e, args))
	}
}

// end ends the innermost slice of the category, or of any category if it is "".
func end(at place, category string, args ...argument) handler {
	return endNamed(at, category, func(*Parser, *Event) model.StringID { return 0 }, args...)
}

// endNamed ends the innermost slice with this category and name.
func endNamed(at place, category string, name naming, args ...argument) handler {
	return func(p *Parser, e *Event) {
		p.Slices.End(e.TS, at(p, e), p.category(category), name(p, e), p.argsOf(e, args))
	}
}

// instant adds a slice without duration.
func instant(at place, category string, name naming, args ...argument) handler {
	return func(p *Parser, e *Event) {
		p.Slices.Scoped(e.TS, 0, at(p, e), p.category(category), name(p, e), p.argsOf(e, args))
	}
}

func (p *Parser) category(s string) model.StringID {
	if s == "" {
		return 0
	}
	return p.word(s)
}

// counter adds the number in a field as a counter value.
func counter(at place, field string) handler {
	return func(p *Parser, e *Event) { p.Counters.Push(e.TS, e.Float(field), at(p, e)) }
}

func (p *Parser) count(e *Event, track model.TrackID, value float64, args model.ArgSource) {
	if args == nil {
		p.Counters.Push(e.TS, value, track)
		return
	}
	p.Counters.PushWithArgs(e.TS, value, track, args)
}

// all runs several handlers.
func all(list ...handler) handler {
	return func(p *Parser, e *Event) {
		for _, h := range list {
			h(p, e)
		}
	}
}

// spans and counters return blueprints of tracks with a constant name or one made
// by model.NameOf.
func spans(classification, name string, dims ...string) *model.Blueprint {
	return &model.Blueprint{Classification: classification, Dims: dims, NameOf: model.NameOf(name)}
}

func counters(classification, name string, dims ...string) *model.Blueprint {
	return &model.Blueprint{Classification: classification, Event: model.CounterTrack, Dims: dims, NameOf: model.NameOf(name)}
}

// uints is like ints, for unsigned numbers.
func uints(fields ...string) []argument {
	var all []argument
	for _, f := range fields {
		all = append(all, argument{f, f, asUint})
	}
	return all
}
