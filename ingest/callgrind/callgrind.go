// Package callgrind reads profiles of Valgrind's Callgrind, which other profilers write, too. They have the cost of each line
// of a function, and of each call from one function to another with all that the callee did. Which call stacks the costs
// belong to is not known, so a cost is that of a stack of one function. The costs of calls contain each other, and are not
// read; how often a function called another is.
package callgrind

import (
	"bytes"
	"cmp"
	"strconv"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/aggregate"
	"github.com/tpconvert/tpconvert/ingest/internal/lines"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
)

// Format is Callgrind's format.
var Format = &format.Format{Name: "callgrind", Sniff: sniff, Read: read}

var statParseErrors = model.NewStat(1040, model.StatInfo{
	Name: "callgrind_parse_errors", Severity: model.DataLoss, Effect: model.Lost,
	Description: "Lines of Callgrind's profiles that cannot be read, and totals that are not the sum of the costs.",
})

// sniff accepts a header that names events, before the first costs.
func sniff(head []byte) bool {
	for line := range bytes.Lines(head) {
		line = bytes.TrimSpace(line)
		key, _, ok := bytes.Cut(line, []byte(":"))
		switch {
		case len(line) == 0 || line[0] == '#':
		case !ok || !headers[string(key)]:
			return false
		case string(key) == "events":
			return true
		}
	}
	return false
}

// headers are the keys of a header.
var headers = map[string]bool{"version": true, "creator": true, "pid": true, "cmd": true, "part": true, "thread": true, "desc": true,
	"positions": true, "events": true, "event": true, "summary": true, "totals": true, "target": true}

// facts are the headers that become metadata.
var facts = map[string]bool{"creator": true, "pid": true, "cmd": true}

type reader struct {
	in *format.Input
	*aggregate.Profile
	measures   map[string]int    // by scope and event
	eventUnits map[string]string // by the names of events
	scope      string
	events     []int     // measures of the costs in a line
	scales     []float64 // by which they are multiplied
	calls      int       // measure of the numbers of calls, or none
	kinds      int       // of positions
	address    int       // its place among the positions, or none
	line       int       // its place
	found      bool
	complete   bool // each part of the file ends with totals, as Callgrind writes it
	open       bool // the totals of the part are yet to come
	joined     bool // the last line has no end, as yappi writes it

	position   []uint64 // of the last line with costs
	sums       []float64
	object     model.StringID
	file       model.StringID // of the costs, where code may be inlined
	home       model.StringID // file of the function
	function   model.StringID
	toObject   model.StringID
	toFile     model.StringID
	to         model.StringID
	inCall     bool    // the next costs are those of a call
	called     float64 // how often; 0 for a call that began before the part
	names      [3]map[string]model.StringID
	mappings   map[model.StringID]profile.MappingID
	edges      *model.Unread
	lastOffset int64
}

const none = -1

// The kinds of names that have numbers of their own.
const (
	objects = iota
	files
	functions
)

func read(in *format.Input) error {
	r := &reader{in: in, Profile: aggregate.New(in.Store), measures: map[string]int{}, scope: in.Name, calls: none,
		eventUnits: map[string]string{"wall_time": "microseconds", "gc_time": "microseconds"}, // in ruby-prof's call_tree_printer.rb
		names:      [3]map[string]model.StringID{{}, {}, {}}, mappings: map[model.StringID]profile.MappingID{}}
	r.positions("line")
	err := lines.EachToEndIf(in, func() bool { return r.joined }, func(offset int64, line []byte) error {
		r.lastOffset = offset
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' && !r.read(line) {
			in.File.LogAt(statParseErrors, offset, nil)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if r.open && in.File.Stat(model.StatTruncatedInput, model.None) == 0 {
		in.File.LogAt(model.StatTruncatedInput, r.lastOffset, nil)
	}
	if !r.found {
		return format.Errorf(format.ErrNoEvents, -1, "a profile without costs")
	}
	r.Store(func(number int32) profile.FrameID { return profile.FrameID(number) })
	return nil
}

// positions sets what the positions are.
func (r *reader) positions(text string) {
	words := strings.Fields(text)
	r.kinds, r.address, r.line = len(words), none, none
	for i, word := range words {
		switch word {
		case "instr", "addr":
			r.address = i
		case "line":
			r.line = i
		}
	}
	r.position = make([]uint64, len(words))
}

// read reads a line, and reports whether it could.
func (r *reader) read(line []byte) bool {
	if c := line[0]; c == '+' || c == '-' || c == '*' || c >= '0' && c <= '9' {
		return r.costs(line)
	}
	key, value, _ := strings.Cut(string(line), ":")
	value = strings.TrimSpace(value)
	if !headers[key] {
		key, value, ok := bytes.Cut(line, []byte("="))
		return ok && r.assign(string(key), bytes.TrimSpace(value))
	}
	if facts[key] && value != "" {
		r.in.File.SetMetadata("callgrind."+key, model.StringArg(r.in.Store.Strings.Intern(value)))
	}
	switch key {
	case "creator":
		r.complete, r.joined = strings.HasPrefix(value, "callgrind-"), value == "yappi"
		if r.joined {
			r.eventUnits["Ticks"] = "microseconds" // _save_as_CALLGRIND in its yappi.py
		}
		if strings.HasPrefix(value, "xdebug ") { // before 3.0, as in its profiler.c; then the names of events have units
			r.eventUnits["Time"], r.eventUnits["Memory"] = "microseconds", "bytes"
		}
	case "thread":
		r.scope = r.in.Name + " thread " + value
	case "positions":
		r.positions(value)
	case "event": // sysTime : sysTime (elapsed ns), or ns : Nanoseconds
		name, long, _ := strings.Cut(value, ":")
		text := strings.TrimSuffix(long, ")")
		if u := units[text[strings.LastIndexByte(text, ' ')+1:]]; u.scale == 1 {
			r.eventUnits[strings.TrimSpace(name)] = u.unit
		}
	case "events":
		r.open = r.complete
		r.events, r.scales, r.sums = r.events[:0], r.scales[:0], r.sums[:0]
		for event := range strings.FieldsSeq(value) {
			name, unit, scale := unitOf(event)
			unit = cmp.Or(r.eventUnits[event], unit)
			r.events, r.scales = append(r.events, r.measure(event, name, unit)), append(r.scales, scale)
			r.sums = append(r.sums, 0)
		}
		r.calls = r.measure("calls", "calls", "count")
	case "totals":
		r.open = false
		return r.addUp(value)
	}
	return true
}

// unitOf splits the name of an event as Xdebug writes it, such as Time_(10ns), or pprof, such as cpu(ms): its name, its unit, and how
// many of these a cost is.
func unitOf(event string) (name, unit string, scale float64) {
	name, rest, ok := strings.Cut(event, "(")
	rest, closed := strings.CutSuffix(rest, ")")
	short := strings.TrimLeft(rest, "0123456789")
	base, known := units[short]
	if !ok || !closed || !known {
		return event, "count", 1
	}
	if scale, _ = strconv.ParseFloat(rest[:len(rest)-len(short)], 64); scale == 0 {
		scale = 1
	}
	return strings.TrimSuffix(name, "_"), base.unit, scale * base.scale
}

var units = map[string]struct {
	unit  string
	scale float64
}{
	"ns": {"nanoseconds", 1}, "us": {"microseconds", 1}, "µs": {"microseconds", 1}, "μs": {"microseconds", 1}, "ms": {"milliseconds", 1}, "s": {"seconds", 1},
	"mins": {"seconds", 60}, "hrs": {"seconds", 3600}, "bytes": {"bytes", 1}, "B": {"bytes", 1}, "kB": {"bytes", 1 << 10}, "MB": {"bytes", 1 << 20},
	"GB": {"bytes", 1 << 30}, "TB": {"bytes", 1 << 40}, "count": {"count", 1}, "Nanoseconds": {"nanoseconds", 1},
}

// measure returns the measure of an event in the scope.
func (r *reader) measure(event, name, unit string) int {
	key := r.scope + "\x00" + event
	number, ok := r.measures[key]
	if !ok {
		number = r.Measure(r.scope, "callgrind "+name, name, unit)
		r.measures[key] = number
	}
	return number
}

// addUp reports whether the costs since the header are what the file says.
func (r *reader) addUp(totals string) bool {
	for i, total := range strings.Fields(totals) {
		want, err := strconv.ParseFloat(total, 64)
		if err != nil || i >= len(r.sums) || r.sums[i] != want {
			return false
		}
		r.sums[i] = 0
	}
	return true
}

// assign reads a name, or how often a function was called.
func (r *reader) assign(key string, value []byte) bool {
	var ok bool
	switch key {
	case "ob":
		r.object, ok = r.name(objects, value)
	case "fl":
		r.file, ok = r.name(files, value)
		r.home = r.file
	case "fi", "fe":
		r.file, ok = r.name(files, value)
	case "fn":
		r.function, ok = r.name(functions, value)
		r.file = r.home
	case "cob":
		r.toObject, ok = r.name(objects, value)
	case "cfi", "cfl":
		r.toFile, ok = r.name(files, value)
	case "cfn":
		r.to, ok = r.name(functions, value)
	case "jfi": // of jumps, whose names others may refer to
		_, ok = r.name(files, value)
	case "jfn":
		_, ok = r.name(functions, value)
	case "calls":
		count, _, _ := bytes.Cut(value, []byte(" "))
		n, err := number(string(count))
		r.called, r.inCall, ok = float64(n), true, err == nil && r.to != 0
	case "jump", "jcnd":
		r.in.File.Unread(model.StatUnreadFact, model.None, "jump").AddAt(r.lastOffset)
		return true
	}
	return ok
}

// name returns a name, which may be given once with a number, and by the number alone from then on.
func (r *reader) name(kind int, value []byte) (model.StringID, bool) {
	number, rest, numbered := bytes.Cut(value, []byte(")"))
	if numbered = numbered && len(number) > 1 && number[0] == '(' && len(bytes.Trim(number[1:], "0123456789")) == 0; numbered {
		if value = bytes.TrimSpace(rest); len(value) == 0 {
			name, ok := r.names[kind][string(number)]
			return name, ok
		}
	}
	name := r.in.Store.Strings.InternBytes(value)
	if numbered {
		r.names[kind][string(number)] = name
	}
	return name, true
}

// costs reads a line with the costs of a position, or of a call from there.
func (r *reader) costs(line []byte) bool {
	inCall := r.inCall
	r.inCall = false
	words := bytes.Fields(line)
	if len(words) < r.kinds || len(words) > r.kinds+len(r.events) {
		return false
	}
	for i := range r.kinds {
		if !move(&r.position[i], words[i]) {
			return false
		}
	}
	if inCall {
		if r.called > 0 {
			stack := r.Push(profile.EmptyStack, int32(r.frame(r.object, r.function, r.home, 0, 0)))
			r.Add(r.calls, r.Push(stack, int32(r.frame(r.callee()))), r.called)
		}
		r.toObject, r.toFile, r.to = 0, 0, 0
		if r.edges == nil {
			r.edges = r.in.File.Unread(model.StatUnreadFact, model.None, "call cost")
		}
		r.edges.AddAt(r.lastOffset)
		return true
	}
	var address, number uint64
	if r.address != none {
		address = r.position[r.address]
	}
	if r.line != none {
		number = r.position[r.line]
	}
	stack := r.Push(profile.EmptyStack, int32(r.frame(r.object, r.function, r.file, address, int64(number))))
	for i, word := range words[r.kinds:] {
		cost, ok := costOf(string(word))
		if !ok {
			return false
		}
		r.found = true
		r.sums[i] += cost
		r.Add(r.events[i], stack, cost*r.scales[i])
	}
	return true
}

// costOf reads a cost. That of memory is below 0 if more was freed than allocated.
func costOf(text string) (cost float64, ok bool) {
	if digits, negative := strings.CutPrefix(text, "-"); negative {
		n, err := number(digits)
		return -float64(n), err == nil
	}
	n, err := number(text)
	return float64(n), err == nil
}

// number reads a number, which is hexadecimal after 0x.
func number(text string) (uint64, error) {
	if digits, ok := strings.CutPrefix(text, "0x"); ok {
		return strconv.ParseUint(digits, 16, 64)
	}
	return strconv.ParseUint(text, 10, 64)
}

// callee returns what identifies the function that is called. It is in the object and file of the caller unless they are given.
func (r *reader) callee() (object, function, file model.StringID, address uint64, line int64) {
	object, file = r.toObject, r.toFile
	if object == 0 {
		object = r.object
	}
	if file == 0 {
		file = r.home
	}
	return object, r.to, file, 0, 0
}

// move sets a position, which may be relative to the one before.
func move(position *uint64, text []byte) bool {
	if string(text) == "*" {
		return true
	}
	sign := text[0]
	digits := string(bytes.TrimLeft(text, "+-"))
	n, err := number(digits)
	switch sign {
	case '+':
		*position += n
	case '-':
		*position -= n
	default:
		*position = n
	}
	return err == nil
}

func (r *reader) frame(object, function, file model.StringID, address uint64, line int64) profile.FrameID {
	mapping, ok := r.mappings[object]
	if !ok {
		mapping = r.in.Store.Stacks.DummyMapping(r.in.Store.Strings.Get(object))
		r.mappings[object] = mapping
	}
	return r.in.Store.Stacks.SymbolizedFrame(mapping, address, []profile.Symbol{{Name: function, File: file, Line: line}})
}
