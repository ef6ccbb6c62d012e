package profiles

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/tpconvert/tpconvert/sqlfuncs"
	"github.com/tpconvert/tpconvert/sqlfuncs/functions/define"
)

// profileBuilder is a profile, with its parts by what makes them equal.
type profileBuilder struct {
	profile.Profile
	callsites *callsiteTable
	lines     *lineTable

	stacks    map[entry][]*profile.Location // of callsites
	samples   map[string]*profile.Sample
	locations map[string]*profile.Location
	functions map[functionKey]*profile.Function
	mappings  map[mappingKey]*profile.Mapping
}

func newProfileBuilder(callsites *callsiteTable, lines *lineTable) *profileBuilder {
	return &profileBuilder{
		callsites: callsites, lines: lines, stacks: map[entry][]*profile.Location{},
		samples: map[string]*profile.Sample{}, locations: map[string]*profile.Location{},
		functions: map[functionKey]*profile.Function{}, mappings: map[mappingKey]*profile.Mapping{},
	}
}

type functionKey struct{ name, symbol, file string }

// mappingKey identifies a file's mapping in several processes.
type mappingKey struct {
	size, offset int64
	file         string // or its build id
}

// add adds a sample. Samples of one stack are added up.
func (b *profileBuilder) add(entries []entry, values []int64) error {
	var stack []*profile.Location
	for _, e := range entries {
		switch e.field {
		case entryName:
			stack = append(stack, b.location(nil, 0, []profile.Line{{Function: b.function(nil, functionKey{name: e.name})}}))
		case entryFrame:
			l, err := b.frameLocation(e.id, "")
			if err != nil {
				return err
			}
			stack = append(stack, l)
		case entryCallsite, entryAnnotated:
			locations, err := b.callsiteLocations(e)
			if err != nil {
				return err
			}
			stack = append(stack, locations...)
		}
	}
	var key []byte
	for _, l := range stack {
		key = binary.AppendUvarint(key, l.ID)
	}
	sum := b.samples[string(key)]
	if sum == nil {
		sum = &profile.Sample{Location: stack, Value: make([]int64, len(b.SampleType))}
		b.samples[string(key)], b.Sample = sum, append(b.Sample, sum)
	}
	if len(values) != len(sum.Value) {
		return fmt.Errorf("a sample has %d values, not %d", len(values), len(sum.Value))
	}
	for i, v := range values {
		sum.Value[i] += v
	}
	return nil
}

// callsiteLocations returns the locations from a callsite to the root.
func (b *profileBuilder) callsiteLocations(e entry) ([]*profile.Location, error) {
	if known, ok := b.stacks[e]; ok {
		return known, nil
	}
	c := b.callsites
	row := c.byID.Find(e.id)
	if row < 0 {
		return nil, fmt.Errorf("there is no callsite %d", e.id)
	}
	above, err := define.Ancestors(row, c.parentOf)
	if err != nil {
		return nil, err
	}
	var stack []*profile.Location
	for _, at := range slices.Backward(append(above, uint32(row))) {
		suffix := ""
		if e.field == entryAnnotated {
			a, err := c.annotation(int(at))
			if err != nil {
				return nil, err
			}
			suffix = a.text
		}
		l, err := b.frameLocation(c.of.Int(int(at)), suffix)
		if err != nil {
			return nil, err
		}
		stack = append(stack, l)
	}
	b.stacks[e] = stack
	return stack, nil
}

// frameLocation returns the location of a frame. The names of its functions get a suffix in brackets, if it is not empty.
func (b *profileBuilder) frameLocation(id int64, suffix string) (*profile.Location, error) {
	c := b.callsites
	row := c.frames.Find(id)
	if row < 0 {
		return nil, fmt.Errorf("there is no frame %d", id)
	}
	m, err := b.mapping(c.mapping.Int(row))
	if err != nil {
		return nil, err
	}
	annotated := func(name string) string {
		if name != "" && suffix != "" {
			name += " [" + suffix + "]"
		}
		return name
	}
	var known []sourceLine
	if l, ok := b.lines.compiled[id]; ok {
		known = []sourceLine{l}
	} else if !c.symbols.IsNull(row) {
		known = b.lines.symbols[c.symbols.Int(row)]
		m.HasInlineFrames, m.HasLineNumbers = true, true
	}
	var lines []profile.Line
	for _, l := range known {
		if function := b.function(m, functionKey{name: annotated(l.function), file: l.file}); function != nil {
			lines = append(lines, profile.Line{Function: function, Line: l.line})
		}
	}
	if lines == nil {
		symbol := c.function.Text(row)
		name := c.deobfuscated.Text(row)
		if c.deobfuscated.IsNull(row) {
			name = symbol
			if demangled, ok := sqlfuncs.Demangle(name); ok {
				name = demangled
			}
		}
		if function := b.function(m, functionKey{name: annotated(name), symbol: symbol}); function != nil {
			lines = []profile.Line{{Function: function}}
		}
	}
	return b.location(m, c.address.Int(row), lines), nil
}

// location returns the location at an address in a mapping. The mapping of functions that are only names is nil.
func (b *profileBuilder) location(m *profile.Mapping, address int64, lines []profile.Line) *profile.Location {
	l := &profile.Location{ID: uint64(len(b.Location) + 1), Mapping: m, Line: lines}
	key := binary.AppendVarint(nil, address)
	if m != nil {
		key = binary.AppendUvarint(key, m.ID)
		l.Address = m.Start + uint64(address)
	}
	for _, line := range lines {
		var function uint64
		if line.Function != nil {
			function = line.Function.ID
		}
		key = binary.AppendVarint(binary.AppendUvarint(key, function), line.Line)
	}
	if old := b.locations[string(key)]; old != nil {
		return old
	}
	b.locations[string(key)], b.Location = l, append(b.Location, l)
	return l
}

// function returns a function, or nil if nothing of it is known. As in Trace Processor, only the mapping in which a function
// comes first is said to have functions.
func (b *profileBuilder) function(m *profile.Mapping, key functionKey) *profile.Function {
	f := b.functions[key]
	if f != nil || key == (functionKey{}) {
		return f
	}
	key = functionKey{strings.Clone(key.name), strings.Clone(key.symbol), strings.Clone(key.file)}
	f = &profile.Function{ID: uint64(len(b.Function) + 1), Name: key.name, SystemName: key.symbol, Filename: key.file}
	b.functions[key], b.Function = f, append(b.Function, f)
	if m != nil {
		m.HasFunctions = m.HasFunctions || key.name != "" || key.symbol != ""
		m.HasFilenames = m.HasFilenames || key.file != ""
	}
	return f
}

func (b *profileBuilder) mapping(id int64) (*profile.Mapping, error) {
	c := b.callsites
	row := c.mappings.Find(id)
	if row < 0 {
		return nil, fmt.Errorf("there is no mapping %d", id)
	}
	start, end, offset := c.start.Int(row), c.end.Int(row), c.offset.Int(row)
	build, file := c.build.Text(row), c.file.Text(row)
	key := mappingKey{end - start, offset, cmp.Or(build, file)}
	m := b.mappings[key]
	if m == nil {
		m = &profile.Mapping{
			ID: uint64(len(b.Mapping) + 1), Start: uint64(start), Limit: uint64(end), Offset: uint64(offset), File: file, BuildID: build,
		}
		b.mappings[key], b.Mapping = m, append(b.Mapping, m)
	}
	return m, nil
}

// putProgramFirst moves the mapping that is most likely the program's to the place where pprof expects it.
func (b *profileBuilder) putProgramFirst() {
	if len(b.Mapping) == 0 {
		return
	}
	program := slices.MaxFunc(b.Mapping, func(x, y *profile.Mapping) int { return cmp.Compare(programScore(x), programScore(y)) })
	libraries := slices.DeleteFunc(b.Mapping, func(m *profile.Mapping) bool { return m == program })
	b.Mapping = append([]*profile.Mapping{program}, libraries...)
}

// programScore is higher for mappings that are more likely the program and not a library.
func programScore(m *profile.Mapping) int {
	score := 0
	for _, known := range []bool{m.BuildID != "", m.File != "", m.HasFunctions, m.HasFilenames, m.HasLineNumbers, m.HasInlineFrames} {
		if known {
			score++
		}
	}
	if m.Start == m.Limit {
		score -= 100
	}
	if strings.HasSuffix(m.File, ".so") {
		score -= 100
	}
	if hasAnyPrefix(m.File, "/apex", "/system", "/[", "[") {
		score -= 100
	}
	return score
}
