package pprof

import (
	"slices"

	"github.com/tpconvert/tpconvert/internal/perfetto/pprofpb"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
)

// store turns the profile into rows, once it has been read completely.
func (p *contents) store(scope string) error {
	// Different locations may give the same frame, and their stacks the same
	// callsite.
	var all sums // by callsite plus one
	callsites := p.callsites(p.frames(p.mappingIDs()))
	for i, callsite := range callsites {
		if values := p.stacks.sums.of(int64(i)); values != nil {
			all.add(int64(callsite)+1, values)
		}
	}

	p.storeFacts()
	profiles := p.aggregateProfiles(scope, p.defaultType(&all))
	t := &p.context.Store.AggregateSample
	for i := range all.groups.Len() {
		g := all.groups.At(i)
		callsite, values := profile.CallsiteID(g.key-1), g.sums
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
			t.Value.Set(row, float64(int64(v)))
		}
	}
	return p.labeled.each(func(stack int64, values []uint64, labels []label) {
		p.storeLabels(callsites[stack], profiles, values, labels)
	})
}

// storeLabels stores a labeled sample a second time, with its labels.
func (p *contents) storeLabels(callsite profile.CallsiteID, profiles []profile.AggregateID, values []uint64, labels []label) {
	t := &p.context.Store.AggregateSampleLabel
	sample := t.Rows()
	values = values[:min(len(values), len(profiles))]
	labels, left := profile.Share(labels, len(values))
	for range left {
		p.context.File.Unread(model.StatUnreadFact, model.None, "shared label").Add(model.LogEntry{})
	}
	for i, v := range values {
		for _, l := range labels {
			row := t.Append()
			t.SampleID.Set(row, sample)
			t.AggregateProfileID.Set(row, profiles[i])
			if callsite != model.None {
				t.CallsiteID.Set(row, callsite)
			}
			t.Value.Set(row, float64(int64(v)))
			t.Key.Set(row, p.text(l.key, ""))
			if l.text != absent {
				t.StringValue.Set(row, p.text(l.text, ""))
				continue
			}
			t.IntValue.Set(row, l.number)
			if l.unit != absent {
				t.Unit.Set(row, p.text(l.unit, ""))
			}
		}
	}
}

// defaultType returns the place of the sample type that pprof shows: the one that the profile names, or the last one with values.
func (p *contents) defaultType(all *sums) int {
	chosen := 0
	for i := range all.groups.Len() {
		for at, v := range all.groups.At(i).sums {
			if v != 0 {
				chosen = max(chosen, at)
			}
		}
	}
	for _, f := range p.facts {
		if f.name != factNames[pprofpb.Profile_DefaultSampleType] {
			continue
		}
		name := p.text(textIndex(f.number), "")
		if i := slices.IndexFunc(p.types, func(t valueType) bool { return p.text(t.name, "unknown") == name }); i >= 0 {
			chosen = i
		}
	}
	return chosen
}

// aggregateProfiles stores the sample types, of which one is the default, and returns their rows.
func (p *contents) aggregateProfiles(scope string, shown int) []profile.AggregateID {
	strings := p.context.Store.Strings
	t := &p.context.Store.AggregateProfile
	var ids []profile.AggregateID
	for i, v := range p.types {
		name := p.text(v.name, "unknown")
		row := t.Append()
		t.Scope.Set(row, strings.Intern(scope))
		t.Name.Set(row, strings.Intern("pprof "+strings.Get(name)))
		t.SampleTypeType.Set(row, name)
		t.SampleTypeUnit.Set(row, p.text(v.unit, "count"))
		t.IsDefault.Set(row, i == shown)
		ids = append(ids, profile.AggregateID(row))
	}
	return ids
}

// storedMapping is the stored row of a mapping.
type storedMapping struct {
	id    profile.MappingID
	start uint64
}

func (p *contents) mappingIDs() map[uint64]storedMapping {
	strings := p.context.Store.Strings
	ids := map[uint64]storedMapping{}
	for _, m := range p.mappings {
		buildID := profile.BuildID(strings.Get(p.text(m.buildID, "")))
		ids[m.id] = storedMapping{start: m.start, id: p.context.Store.Stacks.Mapping(profile.Mapping{
			BuildID:     strings.Intern(buildID),
			ExactOffset: m.offset,
			Start:       m.start,
			End:         m.limit,
			Name:        p.text(m.file, unknown),
		})}
	}
	return ids
}

// frames stores the frame of each location, with the functions there as its symbols. It
// returns the frames by location number, None for missing locations.
func (p *contents) frames(mappings map[uint64]storedMapping) []profile.FrameID {
	stacks := p.context.Store.Stacks
	noName := p.context.Store.Strings.Intern(unknown)
	frames := slices.Repeat([]profile.FrameID{model.None}, int(p.stacks.locations.count))
	for i := range p.locations.Len() {
		l := p.locations.At(i)
		m, ok := mappings[l.mapping]
		if !ok {
			m.id = stacks.DummyMapping(unknown)
		}
		relPC := l.address
		if relPC >= m.start {
			relPC -= m.start
		}
		if symbols := p.symbolsOf(l); len(symbols) > 0 {
			frames[l.number] = stacks.SymbolizedFrame(m.id, relPC, symbols)
		} else {
			frames[l.number] = stacks.Frame(m.id, relPC, noName)
		}
	}
	return frames
}

// inlined and outermost are values for Symbol.Inlined.
var inlined, outermost = true, false

// symbolsOf returns the functions at a location. They are valid until the next call.
func (p *contents) symbolsOf(l *location) []profile.Symbol {
	all := p.symbols[:0]
	for i := l.from; i < l.to; i++ {
		at := p.lines.At(int(i))
		f, ok := p.functions[at.function]
		if !ok {
			continue
		}
		number := at.number
		if number <= 0 {
			number = f.startLine
		}
		symbol := profile.Symbol{Name: p.text(f.name, unknown), Line: number, Inlined: &inlined}
		if f.file != absent {
			symbol.File = p.text(f.file, "")
		}
		all = append(all, symbol)
	}
	if n := len(all); n > 0 {
		all[n-1].Inlined = &outermost
	}
	p.symbols = all
	return all
}

// callsites stores the stacks and returns the callsite of each, by its number plus
// one. The empty stack has None.
func (p *contents) callsites(frames []profile.FrameID) []profile.CallsiteID {
	tree := &p.stacks.tree
	callsites := make([]profile.CallsiteID, tree.Len()+1)
	callsites[0] = model.None
	for i := range profile.StackNumber(tree.Len()) {
		below, location := tree.Stack(i)
		callsite := callsites[below+1]
		if frame := frames[location]; frame != model.None {
			callsite = p.context.Store.Stacks.Callsite(callsite, frame)
		} else {
			p.fault("sample at a location that is not there", model.LogEntry{})
		}
		callsites[i+1] = callsite
	}
	return callsites
}

// unknown is the name of anything without a name.
const unknown = "[unknown]"

// text returns an entry of the string table, or the fallback if the index is absent.
func (p *contents) text(i textIndex, fallback string) model.StringID {
	switch {
	case i == absent:
		return p.context.Store.Strings.Intern(fallback)
	case i < 0 || int64(i) >= int64(len(p.texts)):
		return p.context.Store.Strings.Intern("")
	}
	return p.texts[i]
}
