// Package stackprof reads profiles of Ruby's stackprof, in JSON or as it dumps them. With its option raw they have stacks, outermost frame first;
// otherwise only the number of samples in each frame.
package stackprof

import (
	"bufio"
	"bytes"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/aggregate"
	"github.com/tpconvert/tpconvert/ingest/internal/jsonlex"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
)

// Format is stackprof's format.
var Format = &format.Format{Name: "stackprof", Sniff: sniff, Read: read}

var statParseErrors = model.NewStat(1032, model.StatInfo{
	Name: "stackprof_parse_errors", Severity: model.DataLoss, Effect: model.Lost,
	Description: "Frames and stacks of stackprof's profiles that cannot be read.",
})

// sniff accepts an object that begins with members of a profile.
func sniff(head []byte) bool {
	start, isDump := bytes.CutPrefix(head, signature)
	start = bytes.TrimSpace(start)
	for _, member := range []string{"mode", "interval", "gc_samples", "missed_samples"} {
		if !isDump {
			member = `"` + member + `"`
		}
		if !bytes.Contains(start[:min(len(start), sniffBytes)], []byte(member)) {
			return false
		}
	}
	return start[0] == '{'
}

const sniffBytes = 400

type reader struct {
	aggregate.Reader
	mapping profile.MappingID
	numbers map[string]int32  // of frames, by their ids
	frames  []profile.FrameID // by number
	self    []float64         // samples by number
	edges   int               // frames with callees, which say no more than stacks do if there are any
	raw     []sample
	deltas  []float64 // µs
	facts   map[string]jsonlex.Value
	mode    string
}

// sample is a stack that was seen so many times in a row.
type sample struct {
	stack profile.StackNumber
	count int64
}

func read(in *format.Input) error {
	text := bufio.NewReader(in)
	head, _ := text.Peek(len(signature)) // the reader returns an error again later
	d := newDump(text)
	r := &reader{Reader: aggregate.NewReader(in, statParseErrors), mapping: in.Store.Stacks.DummyMapping("[stackprof]"),
		numbers: map[string]int32{}, facts: map[string]jsonlex.Value{}}
	r.Reader.Reader = jsonlex.NewReader(text)
	if bytes.Equal(head, signature) {
		r.Reader.Reader, r.Converted = jsonlex.NewReader(d), true
	}
	_, err := r.Peek()
	if err == nil {
		err = r.EachMember(r.member)
	}
	r.store()
	if d.err != nil && d.input == nil {
		if len(r.frames) == 0 {
			return format.Errorf(format.ErrCorrupt, d.offset, "%v", d.err)
		}
		r.Damaged()
		return nil
	}
	return r.End(err, len(r.frames) > 0)
}

// member reads a member of the profile.
func (r *reader) member(key []byte) error {
	switch name, c := string(key), r.Buf[r.Pos]; {
	case name == "frames" && c == '{':
		return r.EachMember(r.frame)
	case name == "raw" && c == '[':
		return r.stacks()
	case name == "raw_timestamp_deltas" && c == '[':
		return r.EachElement(func() error {
			n, err := r.number()
			r.deltas = append(r.deltas, n)
			return err
		})
	case c == '[' || c == '{':
		return r.Unread(name + " member")
	default:
		v, err := r.ReadValue()
		if name == "mode" {
			r.mode = string(v.Raw)
		}
		v.Raw = bytes.Clone(v.Raw)
		r.facts[name] = v
		if fact, ok := v.Fact(r.In.Store.Strings); ok && err == nil {
			r.In.File.SetMetadata("stackprof_"+name, fact)
		}
		return err
	}
}

// number reads a number.
func (r *reader) number() (float64, error) {
	v, err := r.ReadValue()
	switch {
	case err != nil || v.Kind == jsonlex.Double:
		return v.Float, err
	case v.Kind == jsonlex.Integer:
		return float64(v.Int), nil
	}
	r.Damaged()
	return 0, nil
}

// of returns the number of a frame.
func (r *reader) of(id []byte) int32 {
	number, ok := r.numbers[string(id)]
	if !ok {
		number = int32(len(r.frames))
		r.numbers[string(id)] = number
		r.frames = append(r.frames, model.None)
		r.self = append(r.self, 0)
	}
	return number
}

// frame reads a frame, whose key is its id.
func (r *reader) frame(id []byte) error {
	number := r.of(id)
	v, err := r.ReadValue()
	if err != nil {
		return err
	}
	strings := r.In.Store.Strings
	var name, file model.StringID
	var line int64
	l := jsonlex.Lexer{Buf: v.Raw}
	if v.Kind != jsonlex.Object || l.Members(func(key []byte, v jsonlex.Value) {
		switch string(key) {
		case "name":
			if v.Kind == jsonlex.Text {
				name = strings.InternBytes(v.Raw)
			}
		case "file":
			if len(v.Raw) > 0 {
				file = strings.InternBytes(v.Raw)
			}
		case "line":
			line = v.Int
		case "samples":
			r.self[number] = float64(v.Int)
		case "edges":
			if v.Kind == jsonlex.Object && len(v.Raw) > len("{}") {
				r.edges++
			}
		}
	}) != nil {
		r.Damaged()
	}
	r.frames[number] = r.In.Store.Stacks.FunctionFrame(r.mapping, name, file, line)
	return nil
}

// stacks reads the list of stacks: the number of frames, the frames, and the number of samples of each.
func (r *reader) stacks() error {
	left, stack := int64(0), profile.EmptyStack
	const isSize, isFrame, isCount = 0, 1, 2
	next := isSize
	err := r.EachElement(func() error {
		v, err := r.ReadValue()
		if err != nil {
			return err
		}
		switch {
		case v.Kind != jsonlex.Integer && !(next == isFrame && v.Kind == jsonlex.Double): // an id may have 64 bits and no sign
			r.Damaged()
		case next == isSize:
			left, stack, next = v.Int, profile.EmptyStack, isFrame
			if left <= 0 {
				next = isCount
			}
		case next == isFrame:
			stack = r.Push(stack, r.of(v.Raw))
			if left--; left == 0 {
				next = isCount
			}
		default:
			r.raw = append(r.raw, sample{stack, v.Int})
			next = isSize
		}
		return nil
	})
	if err == nil && next != isSize {
		r.Damaged()
	}
	return err
}

// store adds up what was read.
func (r *reader) store() {
	samples := r.Measure(r.In.Name, "stackprof samples", "samples", "count")
	if len(r.raw) == 0 {
		edges := r.In.File.Unread(model.StatUnreadFact, model.None, "callers of a frame").Say("frame's calls are not read", "frames' calls are not read")
		for range r.edges {
			edges.Add(model.LogEntry{})
		}
		for number, n := range r.self {
			if n != 0 {
				r.Add(samples, r.Push(profile.EmptyStack, int32(number)), n)
			}
		}
	}
	interval := r.facts["interval"]
	timed := r.mode == "wall" || r.mode == "cpu"
	byDelta := r.mode == "wall" && len(r.deltas) > 0
	measure := 0
	if timed && len(r.raw) > 0 {
		measure = r.Measure(r.In.Name, "stackprof "+r.mode, r.mode, "microseconds")
	}
	at := 0
	for _, s := range r.raw {
		r.Add(samples, s.stack, float64(s.count))
		switch {
		case byDelta:
			for range min(max(s.count, 0), int64(len(r.deltas)-at)) {
				r.Add(measure, s.stack, r.deltas[at])
				at++
			}
		case timed:
			r.Add(measure, s.stack, float64(s.count)*float64(interval.Int))
		}
	}
	if byDelta && at != len(r.deltas) {
		r.Damaged()
	}
	r.Store(func(number int32) profile.FrameID {
		if r.frames[number] == model.None {
			r.Damaged()
		}
		return r.frames[number]
	})
}
