// Package netlog reads Chrome's network logs, which chrome://net-export and --log-net-log write: constants, which name the
// numbers in the events, and a list of events, each on a line of its own. What happens to one request, socket or job has a
// source in common.
package netlog

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/jsonlex"
	"github.com/tpconvert/tpconvert/ingest/internal/token"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/sort"
)

// Format is the format of Chrome's network logs.
var Format = &format.Format{Name: "netlog", Title: "Chrome NetLog", Sniff: sniff, Read: read}

var statParseErrors = model.NewStat(1036, model.StatInfo{
	Name: "netlog_parse_errors", Severity: model.DataLoss, Effect: model.Lost,
	Description: "Events of Chrome's network logs that cannot be read.",
})

// constants are members of which one comes first in the constants. logEventTypes itself may be beyond the first bytes.
var constants = []string{"activeFieldTrialGroups", "addressFamily", "certPathBuilderDigestPolicy", "certStatusFlag", "certVerifierFlags",
	"clientInfo", "dnsQueryType", "loadFlag", "loadState", "logCaptureMode", "logEventPhase", "logEventTypes", "logFormatVersion", "logSourceType"}

// sniff accepts an object that begins with the constants.
func sniff(head []byte) bool {
	l := jsonlex.Lexer{Buf: head}
	for _, known := range [][]string{{"constants"}, constants} {
		if c, err := l.Space(); err != nil || c != '{' {
			return false
		}
		l.Pos++
		if key, err := l.Key(); err != nil || !slices.Contains(known, string(key)) {
			return false
		}
	}
	return true
}

type reader struct {
	jsonlex.Reader
	*parser
	in     *format.Input
	events *sort.Stream
	event  *token.Writer

	types, sources map[int64]model.StringID // names by number
	phases         map[int64]phase
	start          int64 // of the log's clock, ms since 1970
	open           openEvents
	found          bool // there was a list of events
}

type phase uint64

const (
	instant phase = iota
	begin
	end
)

// phases are the names of the phases.
var phases = map[string]phase{"PHASE_NONE": instant, "PHASE_BEGIN": begin, "PHASE_END": end}

func read(in *format.Input) error {
	r := &reader{Reader: jsonlex.NewReader(in), parser: newParser(in.Context), in: in, event: token.NewWriter(in.Store),
		types: map[int64]model.StringID{}, sources: map[int64]model.StringID{}, phases: map[int64]phase{}, open: newOpenEvents()}
	r.events = in.Sorter.NewStream(r.parser)
	_, err := r.Peek()
	if err == nil {
		err = r.EachMember(r.member)
	}
	switch {
	case err == jsonlex.ErrTruncated && r.found:
		in.File.LogAt(model.StatTruncatedInput, r.Base+int64(len(r.Buf)), nil)
	case err == jsonlex.ErrTruncated:
		return format.Errorf(format.ErrCorrupt, r.Offset(), "cut off before its events")
	case damage(err) && r.found:
		r.damaged()
	case damage(err):
		return format.Errorf(format.ErrCorrupt, r.Offset(), "%v: %s, got %s", err, r.Why, r.Glimpse())
	case err == nil && !r.found:
		return format.Errorf(format.ErrNoEvents, -1, "a network log without events")
	default:
		return err
	}
	return nil
}

// damage reports whether the error is about the text, and the rest may be readable.
func damage(err error) bool { return err == jsonlex.ErrSyntax || err == jsonlex.ErrTooLarge }

// damaged counts a damaged part at the position.
func (r *reader) damaged() { r.in.File.LogAt(statParseErrors, r.Offset(), nil) }

func (r *reader) member(key []byte) error {
	switch first := r.Buf[r.Pos]; {
	case string(key) == "constants" && first == '{':
		return r.EachMember(r.constant)
	case string(key) == "events" && first == '[':
		r.found = true
		r.in.UseClock(r.clock())
		return r.list()
	}
	return r.unread(string(key))
}

// clock returns the clock of the events, which is the log's own if the constants do not relate it to 1970.
func (r *reader) clock() uint32 {
	if r.start == 0 {
		return model.ClockTraceFile
	}
	return model.ClockRealtime
}

// unread skips a member that makes no rows, and counts it.
func (r *reader) unread(name string) error {
	r.in.File.Unread(model.StatUnreadFact, model.None, name+" member").AddAt(r.Offset())
	return r.Skip()
}

// constant reads a member of the constants. Facts about the log become metadata. The names of numbers that only params
// have are left out.
func (r *reader) constant(key []byte) error {
	name, at := string(key), r.Offset()
	v, err := r.ReadValue()
	if err != nil {
		return err
	}
	word := r.Store.Strings.Intern
	switch {
	case name == "logEventTypes":
		r.names(v, func(name string, number int64) { r.types[number] = word(name) })
	case name == "logSourceType":
		r.names(v, func(name string, number int64) { r.sources[number] = word(name) })
	case name == "netError":
		r.names(v, func(name string, number int64) { r.errors[number] = word(name) })
	case name == "logEventPhase":
		r.names(v, func(name string, number int64) {
			if p, ok := phases[name]; ok {
				r.phases[number] = p
			}
		})
	case name == "clientInfo" && v.Kind == jsonlex.Object:
		l := jsonlex.Lexer{Buf: v.Raw}
		if l.Members(func(key []byte, v jsonlex.Value) { r.fact("clientInfo."+string(key), v) }) != nil {
			r.damaged()
		}
	case v.Kind < jsonlex.Object:
		if number, ok := integer(v); ok && name == "timeTickOffset" {
			r.start = number
		}
		r.fact(name, v)
	case v.Kind == jsonlex.Array && len(v.Raw) > len("[]"):
		r.in.File.Unread(model.StatUnreadFact, model.None, name+" member").AddAt(at)
	}
	return nil
}

func (r *reader) fact(name string, v jsonlex.Value) {
	if fact, ok := v.Fact(r.Store.Strings); ok {
		r.in.File.SetMetadata("netlog."+name, fact)
	}
}

// names calls add for each name of a number.
func (r *reader) names(v jsonlex.Value, add func(name string, number int64)) {
	l := jsonlex.Lexer{Buf: v.Raw}
	if v.Kind != jsonlex.Object || l.Members(func(key []byte, v jsonlex.Value) { add(string(key), v.Int) }) != nil {
		r.damaged()
	}
}

// list reads the events. After damage, it goes on at the next line that begins like an event, or at the end of the list.
func (r *reader) list() error {
	for {
		err := r.EachElement(r.readEvent)
		if err != jsonlex.ErrTruncated && !damage(err) {
			return err
		}
		at := r.Offset()
		found, failed := r.nextLine()
		if failed != nil {
			return failed
		}
		if !found && err == jsonlex.ErrTruncated {
			return err
		}
		r.in.File.LogAt(statParseErrors, at, nil)
		if !found {
			return nil
		}
	}
}

// nextLine moves to the newline before the next event or the end of the list, or to the end of the input.
func (r *reader) nextLine() (found bool, err error) {
	for {
		for i := bytes.IndexByte(r.Buf[r.Pos:], '\n'); i >= 0 && r.Pos+i+1 < len(r.Buf); i = bytes.IndexByte(r.Buf[r.Pos:], '\n') {
			r.Pos += i
			if c := r.Buf[r.Pos+1]; c == '{' || c == ']' {
				return true, nil
			}
			r.Pos++
		}
		// A newline at the end of the buffer stays, because what follows it counts.
		if n := len(r.Buf); n > 0 && r.Buf[n-1] == '\n' {
			r.Pos = n - 1
		} else {
			r.Pos = n
		}
		if err := r.More(); err == jsonlex.ErrTruncated {
			r.Pos = len(r.Buf)
			return false, nil
		} else if err != nil {
			return false, err
		}
	}
}

// entry is an event of the log.
type entry struct {
	time           int64 // ms
	began          int64 // of the source, ms, or none
	name, kind     model.StringID
	source         int64
	phase          phase
	params         []byte
	label          []byte // what the source is about
	dependency     int64  // the source that the params refer to, or none
	hasTime, known bool
}

const none = -1

// readEvent reads the event at the position and pushes it.
func (r *reader) readEvent() error {
	if r.Buf[r.Pos] != '{' {
		return r.Fail("expected an event")
	}
	at := r.Offset()
	v, err := r.ReadValue()
	if err != nil {
		return err
	}
	e, ok := r.parse(v.Raw)
	if !ok {
		// A quote too many or too few can make one value of several lines.
		if bytes.IndexByte(v.Raw, '\n') >= 0 {
			r.Pos -= len(v.Raw)
			return r.Fail("expected an event")
		}
		r.in.File.LogAt(statParseErrors, at, nil)
		return nil
	}
	if len(e.label) > 0 && r.labels[e.source] == 0 {
		r.labels[e.source] = r.Store.Strings.InternBytes(e.label)
	}
	if !r.nest(e) {
		r.in.File.LogAt(model.StatSliceEndWithoutBegin, at, nil)
		return nil
	}
	ts, ok := r.in.TraceTime((r.start+e.time)*int64(time.Millisecond), at)
	if !ok {
		return nil
	}
	if _, seen := r.starts[e.source]; !seen {
		r.starts[e.source] = 0
		if e.began >= 0 && e.began < e.time && e.kind != r.global { // before the log did
			r.starts[e.source], _ = r.in.TraceTime((r.start+e.began)*int64(time.Millisecond), at)
		}
	}
	w := r.event
	w.Reset()
	w.Uint(uint64(e.name))
	w.Uint(uint64(e.kind))
	w.Uint(uint64(e.phase))
	w.Int(e.source)
	w.Int(e.dependency)
	w.Rest(e.params)
	return r.events.Push(ts, w.Bytes())
}

// nest follows which events of a source are open, and finds the kinds of events that do not nest in others. It reports
// false for the end of an event that has not begun.
func (r *reader) nest(e entry) bool {
	switch e.phase {
	case begin:
		r.open.begin(e.source, e.name)
	case end:
		begun, innermost := r.open.end(e.source, e.name)
		if begun && !innermost {
			r.crossing[e.name] = true
		}
		return begun
	}
	return true
}

// parse reads an event.
func (r *reader) parse(text []byte) (e entry, ok bool) {
	e.dependency, e.began = none, none
	valid := true
	number := func(v jsonlex.Value) int64 {
		n, ok := integer(v)
		valid = valid && ok
		return n
	}
	l := jsonlex.Lexer{Buf: text}
	err := l.Members(func(key []byte, v jsonlex.Value) {
		switch string(key) {
		case "time":
			e.time, e.hasTime = number(v), true
		case "type":
			e.name = r.name(r.types, "event", number(v))
		case "phase":
			e.phase, e.known = r.phases[number(v)]
		case "source":
			var kind int64
			valid = members(v, func(key []byte, v jsonlex.Value) {
				switch string(key) {
				case "id":
					e.source = number(v)
				case "start_time":
					e.began = number(v)
				case "type":
					kind = number(v)
				}
			}) && valid
			if e.kind = r.name(r.sources, "source", kind); e.kind == r.global {
				e.source = 0 // each such event has an id of its own
			}
		case "params":
			e.params = v.Raw
			valid = members(v, func(key []byte, v jsonlex.Value) {
				if string(key) == "source_dependency" {
					valid = members(v, func(key []byte, v jsonlex.Value) {
						if string(key) == "id" {
							e.dependency = number(v)
						}
					}) && valid
				}
			}) && valid
		default:
			r.in.File.Unread(model.StatUnreadFact, model.None, "event member "+string(key)).AddAt(r.Offset())
		}
	})
	const latest = math.MaxInt64 / int64(time.Millisecond) / 2
	if err != nil || !valid || !e.hasTime || !e.known || e.name == 0 || e.kind == 0 || e.time < 0 || e.time > latest || r.start > latest || r.start < 0 {
		return e, false
	}
	if e.phase == begin && r.labels[e.source] == 0 && e.params != nil {
		e.label = label(e.params)
	}
	return e, true
}

// about are the params that say what a source is about.
var about = []string{"url", "host", "hostname", "group_id", "group_name", "destination", "address", "key", "entry_hash"}

// label returns the param that says what a source is about, or nil.
func label(params []byte) (text []byte) {
	best := len(about)
	members(jsonlex.Value{Kind: jsonlex.Object, Raw: params}, func(key []byte, v jsonlex.Value) {
		if i := slices.Index(about, string(key)); i >= 0 && i < best && v.Kind == jsonlex.Text {
			best, text = i, bytes.Clone(v.Raw)
		}
	})
	return text
}

// members calls f for each member of an object, and reports whether there is a valid one.
func members(v jsonlex.Value, f func(key []byte, v jsonlex.Value)) bool {
	l := jsonlex.Lexer{Buf: v.Raw}
	return v.Kind == jsonlex.Object && l.Members(f) == nil
}

// integer returns an integer, which may be text.
func integer(v jsonlex.Value) (int64, bool) {
	if v.Kind == jsonlex.Text {
		n, err := strconv.ParseInt(string(v.Raw), 10, 64)
		return n, err == nil
	}
	if v.Kind == jsonlex.Double && v.Float == math.Trunc(v.Float) && math.Abs(v.Float) < 1<<53 {
		return int64(v.Float), true // Chrome's numbers above 32 bits are doubles, which some writers print as 1.0
	}
	return v.Int, v.Kind == jsonlex.Integer
}

// name returns the name of a number.
func (r *reader) name(names map[int64]model.StringID, kind string, number int64) model.StringID {
	if name := names[number]; name != 0 {
		return name
	}
	return r.Store.Strings.Intern(fmt.Sprint(kind, " ", number))
}
