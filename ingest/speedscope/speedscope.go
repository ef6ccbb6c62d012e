// Package speedscope reads speedscope's files, which py-spy, rbspy and many others write. See
// https://www.speedscope.app/file-format-schema.json.
//
// A profile is a list of sampled stacks with weights, or of the begins and ends of frames. Each becomes sums at stacks. Begins
// and ends in time become slices, too.
package speedscope

import (
	"bytes"
	"math"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/aggregate"
	"github.com/tpconvert/tpconvert/ingest/internal/jsonlex"
	"github.com/tpconvert/tpconvert/ingest/internal/token"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
	"github.com/tpconvert/tpconvert/sort"
)

// Format is speedscope's format.
var Format = &format.Format{Name: "speedscope", Sniff: sniff, Read: read}

var statParseErrors = model.NewStat(1030, model.StatInfo{
	Name: "speedscope_parse_errors", Severity: model.DataLoss, Effect: model.Lost,
	Description: "Frames, samples and events of speedscope's files that cannot be read.",
})

// sniff accepts an object with speedscope's schema. PHP writes a backslash before each slash.
func sniff(head []byte) bool {
	start := bytes.TrimSpace(head)
	return len(start) > 0 && start[0] == '{' &&
		bytes.Contains(bytes.ReplaceAll(start, []byte(`\/`), []byte("/")), []byte("speedscope.app/file-format-schema.json"))
}

type reader struct {
	aggregate.Reader
	mapping  profile.MappingID
	frames   []profile.FrameID
	names    []model.StringID // of the frames
	stream   *sort.Stream
	token    *token.Writer
	profiles []model.StringID // names
	found    bool
	section
}

// section is the profile being read.
type section struct {
	name, unit string
	hasMeasure bool
	measure    int
	start, end jsonlex.Value
	waiting    []event // until the unit is known
	// Of begins and ends.
	open   []profile.StackNumber // stacks of the open frames, outermost first
	at     float64               // of the last event, in the unit
	events bool
	// Of samples.
	stacks  []profile.StackNumber
	weights []float64
}

// event is the begin of a frame, or its end.
type event struct {
	open  bool
	frame int32
	at    jsonlex.Value
}

func read(in *format.Input) error {
	in.UseClock(model.ClockTraceFile)
	r := &reader{Reader: aggregate.NewReader(in, statParseErrors), token: token.NewWriter(in.Store)}
	r.stream = in.Sorter.NewStream(r)
	_, err := r.Peek()
	if err == nil {
		err = r.file()
	}
	r.Store(func(number int32) profile.FrameID {
		if int(number) < len(r.frames) {
			return r.frames[number]
		}
		r.Damaged()
		return model.None
	})
	if err == jsonlex.ErrTooLarge {
		return format.Errorf(format.ErrUnsupported, r.Offset(), "a value %v", err)
	}
	if err := r.End(err, r.found); err != nil {
		return err
	}
	if !r.found {
		return format.Errorf(format.ErrNoEvents, -1, "a file without profiles")
	}
	return nil
}

// file reads the object at the position.
func (r *reader) file() error {
	return r.EachMember(func(key []byte) error {
		switch string(key) {
		case "shared":
			return r.inside('{', func() error {
				return r.EachMember(func(key []byte) error {
					if string(key) == "frames" {
						return r.inside('[', func() error { return r.EachElement(r.frame) })
					}
					return r.Unread(string(key) + " member")
				})
			})
		case "profiles":
			return r.inside('[', func() error {
				return r.EachElement(func() error { return r.inside('{', r.readProfile) })
			})
		case "$schema", "activeProfileIndex":
			return r.Skip()
		case "name", "exporter":
			v, err := r.ReadValue()
			if fact, ok := v.Fact(r.In.Store.Strings); ok && err == nil {
				r.In.File.SetMetadata("speedscope_"+string(key), fact)
			}
			return err
		}
		return r.Unread(string(key) + " member")
	})
}

// inside calls f if the value at the position begins with the bracket.
func (r *reader) inside(bracket byte, f func() error) error {
	if r.Buf[r.Pos] != bracket {
		r.Damaged()
		return r.Skip()
	}
	return f()
}

// frame reads a frame of the list that all profiles share.
func (r *reader) frame() error {
	v, err := r.ReadValue()
	if err != nil {
		return err
	}
	var name, file model.StringID
	var line int64
	strings := r.In.Store.Strings
	l := jsonlex.Lexer{Buf: v.Raw}
	if v.Kind != jsonlex.Object || l.Members(func(key []byte, v jsonlex.Value) {
		switch {
		case string(key) == "name" && v.Kind == jsonlex.Text:
			name = strings.InternBytes(v.Raw)
		case string(key) == "file" && v.Kind == jsonlex.Text:
			file = strings.InternBytes(v.Raw)
		case string(key) == "line":
			line = v.Int
		case string(key) == "col" && v.Kind == jsonlex.Integer:
			r.In.File.Unread(model.StatUnreadFact, model.None, "column of a frame").Say("column of a frame is not read", "columns of frames are not read").AddAt(r.Offset())
		}
	}) != nil {
		r.Damaged()
	}
	if len(r.frames) == 0 {
		r.mapping = r.In.Store.Stacks.DummyMapping("[speedscope]")
	}
	r.names = append(r.names, name)
	r.frames = append(r.frames, r.In.Store.Stacks.FunctionFrame(r.mapping, name, file, line))
	return nil
}

// units are the units of times: the powers of ten by which they are longer than a ns.
var units = map[string]int{"nanoseconds": 0, "microseconds": 3, "milliseconds": 6, "seconds": 9}

// readProfile reads a profile.
func (r *reader) readProfile() error {
	r.section = section{}
	r.found = true
	r.profiles = append(r.profiles, 0)
	err := r.EachMember(func(key []byte) error {
		switch string(key) {
		case "name", "unit":
			isName := string(key) == "name"
			v, err := r.ReadValue()
			if isName {
				r.name = string(v.Raw)
				r.profiles[len(r.profiles)-1] = r.In.Store.Strings.InternBytes(v.Raw)
			} else {
				r.unit = string(v.Raw)
			}
			return err
		case "startValue", "endValue":
			to := &r.start
			if string(key) == "endValue" {
				to = &r.end
			}
			v, err := r.ReadValue()
			v.Raw = bytes.Clone(v.Raw)
			*to = v
			return err
		case "type":
			return r.Skip()
		case "events":
			return r.inside('[', func() error { return r.EachElement(r.readEvent) })
		case "samples":
			return r.inside('[', func() error { return r.EachElement(r.sample) })
		case "weights":
			return r.inside('[', func() error {
				return r.EachElement(func() error {
					v, err := r.ReadValue()
					r.weights = append(r.weights, number(v))
					return err
				})
			})
		}
		return r.Unread(string(key) + " member")
	})
	if pushed := r.finishProfile(); pushed != nil {
		return pushed
	}
	return err
}

// number returns a number, or NaN.
func number(v jsonlex.Value) float64 {
	switch v.Kind {
	case jsonlex.Integer:
		return float64(v.Int)
	case jsonlex.Double:
		return v.Float
	}
	return math.NaN()
}

// add adds a value at a stack.
func (r *reader) add(stack profile.StackNumber, value float64) {
	if math.IsNaN(value) {
		r.Damaged()
		return
	}
	if !r.hasMeasure {
		r.hasMeasure = true
		kind, unit := "samples", r.unit
		if _, ok := units[unit]; ok {
			kind = "time"
		} else if unit == "bytes" {
			kind = "space"
		} else if unit == "" || unit == "none" {
			unit = "count"
		}
		scope := r.name
		if scope == "" {
			scope = r.In.Name
		}
		r.measure = r.Measure(scope, "speedscope "+kind, kind, unit)
	}
	r.Add(r.measure, stack, value)
}

// sample reads a stack: the numbers of its frames, outermost first.
func (r *reader) sample() error {
	v, err := r.ReadValue()
	if err != nil {
		return err
	}
	stack := profile.EmptyStack
	l := jsonlex.Lexer{Buf: v.Raw}
	if v.Kind != jsonlex.Array || l.Elements(func(v jsonlex.Value) {
		if v.Kind != jsonlex.Integer || v.Int < 0 || v.Int > math.MaxInt32 {
			r.Damaged()
			return
		}
		stack = r.Push(stack, int32(v.Int))
	}) != nil {
		r.Damaged()
	}
	r.stacks = append(r.stacks, stack)
	return nil
}

// readEvent reads the begin or the end of a frame.
func (r *reader) readEvent() error {
	v, err := r.ReadValue()
	if err != nil {
		return err
	}
	e := event{frame: -1}
	kind := byte(0)
	l := jsonlex.Lexer{Buf: v.Raw}
	whole := v.Kind == jsonlex.Object && l.Members(func(key []byte, v jsonlex.Value) {
		switch {
		case string(key) == "type" && len(v.Raw) == 1:
			kind = v.Raw[0]
		case string(key) == "frame" && v.Kind == jsonlex.Integer && v.Int >= 0 && v.Int <= math.MaxInt32:
			e.frame = int32(v.Int)
		case string(key) == "at":
			e.at = v
		}
	}) == nil
	if e.open = kind == 'O'; !whole || e.frame < 0 || !e.open && kind != 'C' || math.IsNaN(number(e.at)) {
		r.Damaged()
		return nil
	}
	if r.unit == "" {
		e.at.Raw = bytes.Clone(e.at.Raw)
		r.waiting = append(r.waiting, e)
		return nil
	}
	return r.event(e)
}

// event adds what passed since the last event to the stack.
func (r *reader) event(e event) error {
	top := profile.EmptyStack
	if n := len(r.open); n > 0 {
		top = r.open[n-1]
	}
	since, at := r.at, number(e.at)
	if !r.events {
		r.events, since = true, number(r.start)
		if math.IsNaN(since) {
			since = at
		}
	}
	if at < since {
		r.Damaged()
		return nil
	}
	if top != profile.EmptyStack {
		r.add(top, at-since)
	}
	r.at = at
	ends := 0
	if e.open {
		r.open = append(r.open, r.Push(top, e.frame))
	} else {
		kept := len(r.open)
		for kept--; kept >= 0 && r.Frame(r.open[kept]) != e.frame; kept-- {
		}
		if kept < 0 || kept < len(r.open)-1 {
			r.Damaged()
		}
		if kept < 0 {
			return nil
		}
		ends = len(r.open) - kept // with those of the frames in it whose ends are missing, as in old files of dotnet-trace
		r.open = r.open[:kept]
	}
	power, timed := units[r.unit]
	ns, fits := e.at.Scaled(power)
	if !timed || !fits {
		return nil
	}
	ts, ok := r.In.TraceTime(ns, r.Offset())
	if !ok {
		r.Damaged()
		return nil
	}
	r.token.Reset()
	r.token.Uint(uint64(len(r.profiles) - 1))
	r.token.Int(int64(e.frame))
	r.token.Uint(uint64(ends))
	return r.stream.Push(ts, r.token.Bytes())
}

// finishProfile adds what had to wait for the end of the profile.
func (r *reader) finishProfile() error {
	for _, e := range r.waiting {
		if err := r.event(e); err != nil {
			return err
		}
	}
	for n := len(r.open); n > 0 && number(r.end) >= r.at; n = len(r.open) { // frames that the recording left open
		if err := r.event(event{frame: r.Frame(r.open[n-1]), at: r.end}); err != nil {
			return err
		}
	}
	if len(r.stacks) != len(r.weights) {
		r.Damaged()
	}
	for i := range min(len(r.stacks), len(r.weights)) {
		r.add(r.stacks[i], r.weights[i])
	}
	return nil
}

var tracks = &model.Blueprint{Classification: "speedscope_profile", Dims: []string{"profile"}}

// Event adds the begin or the end of a slice.
func (r *reader) Event(ts int64, payload []byte) error {
	t := token.Reader(payload)
	number := t.Uint()
	frame := t.Int()
	track := r.In.Tracks.Intern(tracks, &model.TrackOptions{Name: r.profiles[number]}, model.IntDim(int64(number)))
	if ends := t.Uint(); ends > 0 {
		for range ends {
			r.In.Slices.End(ts, track, 0, 0, nil)
		}
		return nil
	}
	var name model.StringID
	if frame < int64(len(r.names)) {
		name = r.names[frame]
	}
	r.In.Slices.Begin(ts, track, 0, name, nil)
	return nil
}
