package pprof

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/tpconvert/tpconvert/internal/paged"
	stacks "github.com/tpconvert/tpconvert/model/profile"
	"github.com/tpconvert/tpconvert/sqlfuncs"
)

// builder builds a profile from the stacks of any number of traces. It merges what is equal in several traces.
type builder struct {
	profile   *profile.Profile
	mappings  index
	functions index
	locations index
	plain     map[string]int32 // indices of locations with only a function, by its name
	owners    map[owner]sampleLabels
	stacks    stacks.StackTree  // of indices of locations
	labels    map[string]uint64 // their numbers, by key
	samples   paged.Map[*sample]
	scales    []float64 // by metric: what values are multiplied by
	summed    []*sample
}

// sample is a sample of the profile with the parts of its values that are not whole.
type sample struct {
	*profile.Sample
	parts []float64
}

type functionName struct{ name, file string }

// index has the places of values in a list, by hashes.
type index struct{ paged.Map[int32] }

// find returns the place of a value, or -1 and the key with which to add it.
func (x *index) find(hash uint64, is func(place int32) bool) (place int32, key uint64) {
	for key = hash; ; key++ {
		switch place := x.Get(key); {
		case place == nil:
			return -1, key
		case is(*place):
			return *place, key
		}
	}
}

var seed = maphash.MakeSeed()

// newBuilder returns a builder of a profile with metrics. pprof's values are whole numbers, so those of a metric with fractions are
// thousandths of its unit.
func newBuilder(metrics []profile.ValueType, fractions []bool) *builder {
	b := &builder{
		profile: &profile.Profile{PeriodType: &profile.ValueType{}}, // pprof cannot merge without one
		plain:   map[string]int32{},
		owners:  map[owner]sampleLabels{},
		labels:  map[string]uint64{},
	}
	for i, t := range metrics {
		scale := 1.0
		if i < len(fractions) && fractions[i] {
			t.Unit, scale = t.Unit+thousandths, 1000
		}
		b.profile.SampleType = append(b.profile.SampleType, &t)
		b.scales = append(b.scales, scale)
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
	h := maphash.Comparable(seed, struct {
		mapping *profile.Mapping
		address uint64
	}{l.Mapping, l.Address})
	for _, line := range l.Line {
		h = maphash.Comparable(seed, struct {
			profile.Line
			above uint64
		}{line, h})
	}
	at, key := b.locations.find(h, func(place int32) bool {
		o := b.profile.Location[place]
		return o.Mapping == l.Mapping && o.Address == l.Address && slices.Equal(o.Line, l.Line)
	})
	if at < 0 {
		at = int32(len(b.profile.Location))
		l.ID = uint64(at) + 1
		b.profile.Location = append(b.profile.Location, l)
		b.locations.Add(key, at)
	}
	return at
}

// functionOf returns a function of the profile. A system name equal to the name would have pprof shorten it.
func (b *builder) functionOf(n functionName) *profile.Function {
	if n.name == "" {
		n.name = "(anonymous)" // as JavaScript tools call such functions
	}
	at, key := b.functions.find(maphash.Comparable(seed, n), func(place int32) bool {
		f := b.profile.Function[place]
		return cmp.Or(f.SystemName, f.Name) == n.name && f.Filename == n.file
	})
	if at >= 0 {
		return b.profile.Function[at]
	}
	f := &profile.Function{ID: uint64(len(b.profile.Function)) + 1, Name: n.name, Filename: n.file}
	if name, ok := sqlfuncs.Demangle(n.name); ok {
		f.Name, f.SystemName = name, n.name
	}
	b.functions.Add(key, int32(len(b.profile.Function)))
	b.profile.Function = append(b.profile.Function, f)
	return f
}

// mapping returns the binary of a frame, or nil if the frame's mapping is a placeholder.
func (b *builder) mapping(f *frame) *profile.Mapping {
	if f.file == "" || strings.HasPrefix(f.file, "[") && f.start == 0 && uint64(f.end) == math.MaxUint64 {
		return nil
	}
	type mapping struct {
		start, limit, offset uint64
		file, buildID        string
	}
	m := mapping{uint64(f.start), uint64(f.end), uint64(f.offset), f.file, f.buildID}
	at, key := b.mappings.find(maphash.Comparable(seed, m), func(place int32) bool {
		o := b.profile.Mapping[place]
		return mapping{o.Start, o.Limit, o.Offset, o.File, o.BuildID} == m
	})
	if at < 0 {
		at = int32(len(b.profile.Mapping))
		b.mappings.Add(key, at)
		b.profile.Mapping = append(b.profile.Mapping, &profile.Mapping{
			ID: uint64(at) + 1, Start: m.start, Limit: m.limit, Offset: m.offset, File: m.file, BuildID: m.buildID,
		})
	}
	return b.profile.Mapping[at]
}

// push returns the stack with a location on top of another stack.
func (b *builder) push(stack stacks.StackNumber, location int32) stacks.StackNumber {
	stack, _ = b.stacks.Push(stack, location)
	return stack
}

// thousandths follow the unit of values that are thousandths of it.
const thousandths = "/1000"

// addReal adds to the value of a stack in one metric. Only sums are rounded.
func (b *builder) addReal(stack stacks.StackNumber, labels sampleLabels, metric int, value float64) {
	whole, part := math.Modf(value * b.scales[metric])
	s := b.add(stack, labels, metric, int64(whole))
	if part == 0 {
		return
	}
	if s.parts == nil {
		s.parts = make([]float64, len(b.scales))
		b.summed = append(b.summed, s)
	}
	s.parts[metric] += part
}

// add adds to the value of a stack in one metric.
func (b *builder) add(stack stacks.StackNumber, labels sampleLabels, metric int, value int64) *sample {
	number, ok := b.labels[labels.key]
	if !ok {
		number = uint64(len(b.labels))
		b.labels[labels.key] = number
	}
	key := uint64(stack)<<32 | number
	var s *sample
	if known := b.samples.Get(key); known != nil {
		s = *known
	} else {
		s = &sample{Sample: &profile.Sample{Value: make([]int64, len(b.profile.SampleType)), Label: labels.texts, NumLabel: labels.numbers, NumUnit: labels.units}}
		for at := stack; at != stacks.EmptyStack; {
			var location int32
			at, location = b.stacks.Stack(at)
			s.Location = append(s.Location, b.profile.Location[location])
		}
		b.samples.Add(key, s)
		b.profile.Sample = append(b.profile.Sample, s.Sample)
	}
	s.Value[metric] += value
	return s
}

// finish returns the profile without samples whose values are all zero.
func (b *builder) finish() *profile.Profile {
	for _, s := range b.summed {
		for i, part := range s.parts {
			s.Value[i] += int64(math.Round(part))
		}
	}
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
