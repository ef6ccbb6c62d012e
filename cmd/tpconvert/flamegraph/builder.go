package flamegraph

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	stacks "github.com/tpconvert/tpconvert/model/profile"
	"github.com/tpconvert/tpconvert/sqlfuncs"
)

// builder builds a profile from the stacks of any number of traces. It merges what is equal in several traces.
type builder struct {
	profile   *profile.Profile
	mappings  map[profile.Mapping]*profile.Mapping
	functions map[functionName]*profile.Function
	locations map[string]int32 // indices by a key made of all fields
	plain     map[string]int32 // indices of locations with only a function, by its name
	owners    map[owner]sampleLabels
	stacks    stacks.StackTree // of indices of locations
	samples   map[sampleKey]*profile.Sample
}

type functionName struct{ name, file string }

type sampleKey struct {
	stack  stacks.StackNumber
	labels string
}

func newBuilder(metrics []profile.ValueType) *builder {
	b := &builder{
		profile:   &profile.Profile{PeriodType: &profile.ValueType{}}, // pprof cannot merge without one
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

// location returns the index of a frame's location.
func (b *builder) location(f *frame) int32 {
	l := &profile.Location{Mapping: b.mapping(f), Address: uint64(f.start + f.relPC - f.relOffset)}
	for _, line := range f.lines {
		if !line.known && !strings.HasPrefix(f.file, "[") {
			continue // leave the name to a tool that finds the symbols in the file later
		}
		l.Line = append(l.Line, profile.Line{Function: b.functionOf(functionName{line.name, line.file}), Line: line.line})
	}
	if m := l.Mapping; m != nil && len(l.Line) > 0 { // keeps pprof from symbolizing again
		m.HasFunctions, m.HasFilenames, m.HasLineNumbers, m.HasInlineFrames = true, true, true, true
	}
	return b.place(l)
}

// function returns the index of the location of a function without an address.
func (b *builder) function(name string) int32 {
	at, ok := b.plain[name]
	if !ok {
		at = b.place(&profile.Location{Line: []profile.Line{{Function: b.functionOf(functionName{name: name})}}})
		b.plain[name] = at
	}
	return at
}

// place returns the index of a location equal to l, and adds l if there is none.
func (b *builder) place(l *profile.Location) int32 {
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

// functionOf returns a function of the profile. A system name equal to the name would have pprof shorten it.
func (b *builder) functionOf(n functionName) *profile.Function {
	f := b.functions[n]
	if f == nil {
		f = &profile.Function{ID: uint64(len(b.functions)) + 1, Name: n.name, Filename: n.file}
		if name, ok := sqlfuncs.Demangle(n.name); ok {
			f.Name, f.SystemName = name, n.name
		} else if n.name == "" {
			f.Name = "(anonymous)" // as JavaScript tools call such functions
		}
		b.functions[n] = f
		b.profile.Function = append(b.profile.Function, f)
	}
	return f
}

// mapping returns the binary of a frame, or nil if the frame's mapping is a placeholder.
func (b *builder) mapping(f *frame) *profile.Mapping {
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

// push returns the stack with a location on top of another stack.
func (b *builder) push(stack stacks.StackNumber, location int32) stacks.StackNumber {
	stack, _ = b.stacks.Push(stack, location)
	return stack
}

// add adds to the value of a stack in one metric.
func (b *builder) add(stack stacks.StackNumber, labels sampleLabels, metric int, value int64) {
	key := sampleKey{stack, labels.key}
	s := b.samples[key]
	if s == nil {
		s = &profile.Sample{Value: make([]int64, len(b.profile.SampleType)), Label: labels.texts, NumLabel: labels.numbers, NumUnit: labels.units}
		for at := stack; at != stacks.EmptyStack; {
			var location int32
			at, location = b.stacks.Stack(at)
			s.Location = append(s.Location, b.profile.Location[location])
		}
		b.samples[key] = s
		b.profile.Sample = append(b.profile.Sample, s)
	}
	s.Value[metric] += value
}

// finish returns the profile without samples whose values are all zero.
func (b *builder) finish() *profile.Profile {
	b.profile.Sample = slices.DeleteFunc(b.profile.Sample, func(s *profile.Sample) bool {
		return !slices.ContainsFunc(s.Value, func(v int64) bool { return v != 0 })
	})
	return b.profile
}

// sampleLabels are the labels of a sample.
type sampleLabels struct {
	key     string // unique to these labels
	texts   map[string][]string
	numbers map[string][]int64
	units   map[string][]string
}

// ownerLabels returns the labels for a thread or process.
func (b *builder) ownerLabels(o owner) sampleLabels {
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
