package main

import (
	"database/sql"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/sqlfuncs"
)

// profileBuilder builds a profile of stacks of any traces: what is equal in several of them is one.
type profileBuilder struct {
	profile   *profile.Profile
	mappings  map[profile.Mapping]*profile.Mapping
	functions map[functionName]*profile.Function
	locations map[string]int32 // of the profile
	plain     map[string]int32 // locations that are nothing but a function, by its name
	owners    map[owner]sampleLabels
	stacks    model.StackTree // of locations
	samples   map[sampleKey]*profile.Sample
}

type functionName struct{ name, file string }

type sampleKey struct {
	stack  int32
	labels string
}

func newProfileBuilder(metrics []profile.ValueType) *profileBuilder {
	b := &profileBuilder{
		profile:   &profile.Profile{PeriodType: &profile.ValueType{}}, // without one pprof cannot merge
		mappings:  map[profile.Mapping]*profile.Mapping{},
		functions: map[functionName]*profile.Function{},
		locations: map[string]int32{},
		plain:     map[string]int32{},
		owners:    map[owner]sampleLabels{},
		samples:   map[sampleKey]*profile.Sample{},
	}
	for _, t := range metrics {
		b.profile.SampleType = append(b.profile.SampleType, &t)
	}
	return b
}

// frame is a frame of a dataset, with the functions there, innermost first.
type frame struct {
	relPC              int64
	file, buildID      string // of the mapping, as is what follows
	start, end, offset int64
	relOffset          int64 // what relPC is of the first address of the mapping
	lines              []frameLine
}

type frameLine struct {
	name, file string
	line       int64
	symbol     bool // it has symbols, not a name only
}

// location returns the place of a frame among the profile's locations.
func (b *profileBuilder) location(f *frame) int32 {
	l := &profile.Location{Mapping: b.mapping(f), Address: uint64(f.start + f.relPC - f.relOffset)}
	for _, line := range f.lines {
		if !line.symbol && f.relPC != 0 && (line.name == "" || line.name == unknownFunction) {
			continue // pprof may find a name for the address
		}
		l.Line = append(l.Line, profile.Line{Function: b.functionOf(functionName{line.name, line.file}), Line: line.line})
	}
	if m := l.Mapping; m != nil && len(l.Line) > 0 { // there is nothing that pprof could add
		m.HasFunctions, m.HasFilenames, m.HasLineNumbers, m.HasInlineFrames = true, true, true, true
	}
	return b.place(l)
}

// function returns the place of a function without an address among the profile's locations.
func (b *profileBuilder) function(name string) int32 {
	at, ok := b.plain[name]
	if !ok {
		at = b.place(&profile.Location{Line: []profile.Line{{Function: b.functionOf(functionName{name: name})}}})
		b.plain[name] = at
	}
	return at
}

// place returns the place of a location, which is new or like one before.
func (b *profileBuilder) place(l *profile.Location) int32 {
	var key strings.Builder
	fmt.Fprintf(&key, "%p %x", l.Mapping, l.Address)
	for _, line := range l.Line {
		fmt.Fprintf(&key, " %d:%d", line.Function.ID, line.Line)
	}
	at, ok := b.locations[key.String()]
	if !ok {
		at = int32(len(b.profile.Location))
		l.ID = uint64(at) + 1
		b.profile.Location = append(b.profile.Location, l)
		b.locations[key.String()] = at
	}
	return at
}

func (b *profileBuilder) functionOf(n functionName) *profile.Function {
	f := b.functions[n]
	if f == nil {
		f = &profile.Function{ID: uint64(len(b.functions)) + 1, Name: n.name, SystemName: n.name, Filename: n.file}
		if name, ok := sqlfuncs.Demangle(n.name); ok {
			f.Name = name
		} else if n.name == "" {
			f.Name = "(anonymous)" // as JavaScript has them
		}
		b.functions[n] = f
		b.profile.Function = append(b.profile.Function, f)
	}
	return f
}

// mapping returns the binary of a frame, nil for one that stands for all that is not known.
func (b *profileBuilder) mapping(f *frame) *profile.Mapping {
	if f.file == "" || strings.HasPrefix(f.file, "[") && f.start == 0 && uint64(f.end) == math.MaxUint64 {
		return nil
	}
	key := profile.Mapping{
		Start: uint64(f.start), Limit: uint64(f.end), Offset: uint64(f.offset), File: f.file, BuildID: f.buildID,
	}
	m := b.mappings[key]
	if m == nil {
		m = &key
		b.mappings[key] = m
		m.ID = uint64(len(b.mappings))
		b.profile.Mapping = append(b.profile.Mapping, m)
	}
	return m
}

// plainBuildID returns a build id as pprof had it: Trace Processor takes it for bytes, and writes these in hexadecimal.
func plainBuildID(id string) string {
	if plain, err := hex.DecodeString(id); err == nil {
		return string(plain)
	}
	return id
}

// push returns the stack of a location on top of another stack.
func (b *profileBuilder) push(stack, location int32) int32 {
	stack, _ = b.stacks.Push(stack, location)
	return stack
}

// add adds to a value of a stack, that of a metric by its place.
func (b *profileBuilder) add(stack int32, labels sampleLabels, metric int, value int64) {
	key := sampleKey{stack, labels.key}
	s := b.samples[key]
	if s == nil {
		s = &profile.Sample{Value: make([]int64, len(b.profile.SampleType)), Label: labels.texts, NumLabel: labels.numbers, NumUnit: labels.units}
		for at := stack; at != model.EmptyStack; {
			var location int32
			at, location = b.stacks.Stack(at)
			s.Location = append(s.Location, b.profile.Location[location])
		}
		b.samples[key] = s
		b.profile.Sample = append(b.profile.Sample, s)
	}
	s.Value[metric] += value
}

// finish returns the profile, without samples that came to nothing.
func (b *profileBuilder) finish() *profile.Profile {
	b.profile.Sample = slices.DeleteFunc(b.profile.Sample, func(s *profile.Sample) bool {
		return !slices.ContainsFunc(s.Value, func(v int64) bool { return v != 0 })
	})
	return b.profile
}

// sampleLabels are the labels of a sample.
type sampleLabels struct {
	key     string // different for different labels
	texts   map[string][]string
	numbers map[string][]int64
	units   map[string][]string
}

// ownerLabels are the labels of what a thread or a process did.
func (b *profileBuilder) ownerLabels(o owner) sampleLabels {
	l, ok := b.owners[o]
	if !ok {
		for _, label := range []struct{ key, text string }{{"process", o.process}, {"pid", o.pid}, {"thread", o.thread}, {"tid", o.tid}} {
			if label.text != "" {
				l.addText(label.key, label.text)
			}
		}
		b.owners[o] = l
	}
	return l
}

func (l *sampleLabels) addText(key, text string) {
	if l.texts == nil {
		l.texts = map[string][]string{}
	}
	l.texts[key] = append(l.texts[key], text)
	l.key += fmt.Sprintf("%q=%q ", key, text)
}

func (l *sampleLabels) addNumber(key string, number int64, unit string) {
	if l.numbers == nil {
		l.numbers, l.units = map[string][]int64{}, map[string][]string{}
	}
	l.numbers[key] = append(l.numbers[key], number)
	l.units[key] = append(l.units[key], unit)
	l.key += fmt.Sprintf("%q=%d%q ", key, number, unit)
}

// traceStacks finds the stacks of callsites of the traces of a dataset.
type traceStacks struct {
	builder *profileBuilder
	traces  map[string]*callsites
}

// callsites are the call stacks of a trace.
type callsites struct {
	frames map[int64]int32 // locations by frame
	byID   map[int64]*callsite
}

type callsite struct {
	parent sql.NullInt64
	frame  int64
	stack  int32
	known  bool // stack is
}

func (s *traceStacks) of(trace string) *callsites {
	c := s.traces[trace]
	if c == nil {
		c = &callsites{map[int64]int32{}, map[int64]*callsite{}}
		s.traces[trace] = c
	}
	return c
}

// stack returns the stack of a callsite, the empty one if there is none.
func (s *traceStacks) stack(trace string, id sql.NullInt64) (int32, error) {
	all := s.of(trace)
	var above []*callsite
	stack := model.EmptyStack
	for id.Valid {
		c := all.byID[id.Int64]
		if c == nil {
			return 0, fmt.Errorf("there is no callsite %d", id.Int64)
		}
		if c.known {
			stack = c.stack
			break
		}
		if above = append(above, c); len(above) > len(all.byID) {
			return 0, errCycle
		}
		id = c.parent
	}
	for _, c := range slices.Backward(above) {
		location, ok := all.frames[c.frame]
		if !ok {
			return 0, fmt.Errorf("there is no frame %d", c.frame)
		}
		stack = s.builder.push(stack, location)
		c.stack, c.known = stack, true
	}
	return stack, nil
}
