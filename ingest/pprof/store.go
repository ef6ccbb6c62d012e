package pprof

import "github.com/tpconvert/tpconvert/model"

// store turns the profile into rows, once all of it is read.
func (p *profile) store(scope string) {
	callsites := p.callsites(p.frames(p.mappingIDs()))

	// Locations that differ may be one frame, and stacks of them one callsite.
	sums := map[model.CallsiteID][]int64{}
	var order []model.CallsiteID
	for i, s := range p.stacks.nodes {
		if s.sums == nil {
			continue
		}
		had, ok := sums[callsites[i]]
		if !ok {
			order = append(order, callsites[i])
		}
		sums[callsites[i]] = addTo(had, s.sums)
	}

	profiles := p.aggregateProfiles(scope)
	t := &p.context.Store.AggregateSample
	for _, callsite := range order {
		values := sums[callsite]
		if len(values) > len(profiles) {
			p.fault("more values than sample types", model.LogEntry{})
			values = values[:len(profiles)]
		}
		for i, v := range values {
			row := t.Append()
			t.AggregateProfileID.Set(row, profiles[i])
			if callsite != model.None {
				t.CallsiteID.Set(row, callsite)
			}
			t.Value.Set(row, float64(v))
		}
	}
}

// aggregateProfiles stores the sample types and returns their rows.
func (p *profile) aggregateProfiles(scope string) []int64 {
	strings := p.context.Store.Strings
	t := &p.context.Store.AggregateProfile
	var rows []int64
	for _, v := range p.types {
		name := p.text(v.name, "unknown")
		row := t.Append()
		t.Scope.Set(row, strings.Intern(scope))
		t.Name.Set(row, strings.Intern("pprof "+strings.Get(name)))
		t.SampleTypeType.Set(row, name)
		t.SampleTypeUnit.Set(row, p.text(v.unit, "count"))
		rows = append(rows, row)
	}
	return rows
}

// storedMapping is where a mapping's frames go.
type storedMapping struct {
	id    model.MappingID
	start uint64
}

func (p *profile) mappingIDs() map[uint64]storedMapping {
	strings := p.context.Store.Strings
	ids := map[uint64]storedMapping{}
	for _, m := range p.mappings {
		buildID := model.BuildID(strings.Get(p.text(m.buildID, "")))
		ids[m.id] = storedMapping{start: m.start, id: p.context.Store.Stacks.Mapping(model.Mapping{
			BuildID:     strings.Intern(buildID),
			ExactOffset: m.offset,
			Start:       m.start,
			End:         m.limit,
			Name:        p.text(m.file, unknown),
		})}
	}
	return ids
}

// frames stores a frame for each location, named after the innermost function
// there, and the functions as its symbols. It returns the frames by location.
func (p *profile) frames(mappings map[uint64]storedMapping) map[uint64]model.FrameID {
	stacks := p.context.Store.Stacks
	frames := map[uint64]model.FrameID{}
	symbols := map[model.FrameID][]model.Symbol{}
	var order []model.FrameID
	for _, l := range p.locations {
		m, ok := mappings[l.mapping]
		if !ok {
			m.id = stacks.DummyMapping(unknown)
		}
		relPC := l.address
		if relPC >= m.start {
			relPC -= m.start
		}
		inlined := p.symbols(l.lines)
		name := p.context.Store.Strings.Intern(unknown)
		if len(inlined) > 0 {
			name = inlined[0].Name
		}
		frame := stacks.Frame(m.id, relPC, name)
		frames[l.id] = frame
		if _, again := symbols[frame]; !again {
			order = append(order, frame)
		}
		symbols[frame] = inlined
	}
	for _, frame := range order {
		stacks.AddSymbols(frame, symbols[frame])
	}
	return frames
}

func (p *profile) symbols(lines []line) []model.Symbol {
	var all []model.Symbol
	for _, at := range lines {
		f, ok := p.functions[at.function]
		if !ok {
			continue
		}
		number := at.number
		if number <= 0 {
			number = f.startLine
		}
		symbol := model.Symbol{Name: p.text(f.name, unknown), Line: number, Inlined: new(true)}
		if f.file != absent {
			symbol.File = p.text(f.file, "")
		}
		all = append(all, symbol)
	}
	if n := len(all); n > 0 {
		*all[n-1].Inlined = false
	}
	return all
}

// callsites stores the stacks and returns the callsite of each, None for the
// empty stack.
func (p *profile) callsites(frames map[uint64]model.FrameID) []model.CallsiteID {
	callsites := make([]model.CallsiteID, len(p.stacks.nodes))
	callsites[0] = model.None
	for i, s := range p.stacks.nodes[1:] {
		parent := callsites[s.parent]
		if frame, ok := frames[s.location]; ok {
			callsites[i+1] = p.context.Store.Stacks.Callsite(parent, frame)
			continue
		}
		p.fault("sample at a location that is not there", model.LogEntry{})
		callsites[i+1] = parent
	}
	return callsites
}

// unknown is the name of what has none.
const unknown = "[unknown]"

// text returns an entry of the string table, the fallback if there is no index.
func (p *profile) text(i textIndex, fallback string) model.StringID {
	switch {
	case i == absent:
		return p.context.Store.Strings.Intern(fallback)
	case i < 0 || int64(i) >= int64(len(p.texts)):
		return p.context.Store.Strings.Intern("")
	}
	return p.texts[i]
}
