package proto

import (
	"strings"

	"github.com/tpconvert/tpconvert/ingest/wire"
	"github.com/tpconvert/tpconvert/model"
)

// stackIDs are the ids of interned mappings, frames and call stacks in the
// tables.
type stackIDs struct {
	mappings  map[uint64]internedMapping
	frames    map[uint64]model.FrameID
	callsites map[uint64]model.CallsiteID
}

type internedMapping struct {
	id      model.MappingID
	symbols symbols
}

var sequenceStacks Local[stackIDs]

// interned finds an interned message of stacks, or counts that it is missing.
func (s *State) internedStack(field uint32, iid uint64, missing model.Stat) ([]byte, bool) {
	data, ok := s.Interned(field, iid)
	if !ok {
		s.reader.File.Count(missing)
	}
	return data, ok
}

// internedName finds an interned string, "" for iid 0.
func (s *State) internedName(field uint32, iid uint64) (model.StringID, bool) {
	if iid == 0 {
		return s.reader.Store.Strings.Intern(""), true
	}
	id, ok := s.InternedString(field, iid)
	if !ok {
		s.reader.File.Count(model.StatStackprofileInvalidStringID)
	}
	return id, ok
}

// internedBuildID finds an interned build id, in hexadecimal, "" for iid 0.
func (s *State) internedBuildID(iid uint64) (model.StringID, bool) {
	var data []byte
	if iid != 0 {
		var ok bool
		if data, ok = s.internedStack(internedBuildIDs, iid, model.StatStackprofileInvalidStringID); !ok {
			return 0, false
		}
	}
	return s.reader.Store.Strings.Intern(model.BuildID(string(bytesField(data, 2)))), true
}

// Mapping returns an interned Mapping.
func (s *State) Mapping(iid uint64) (mapping internedMapping, ok bool) {
	ids := sequenceStacks.Of(s)
	if mapping, ok = ids.mappings[iid]; ok {
		return mapping, true
	}
	data, ok := s.internedStack(internedMappings, iid, model.StatStackprofileInvalidMappingID)
	if !ok {
		return mapping, false
	}
	strs := s.reader.Store.Strings
	var m model.Mapping
	var build uint64
	var path strings.Builder
	broken := false
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case 2:
			build = f.Uint64()
		case 3:
			m.StartOffset = f.Uint64()
		case 4:
			m.Start = f.Uint64()
		case 5:
			m.End = f.Uint64()
		case 6:
			m.LoadBias = f.Uint64()
		case 7:
			for part := range f.Varints {
				name, ok := s.internedName(internedMappingPaths, part)
				if broken = broken || !ok; !broken {
					path.WriteString("/" + strs.Get(name))
				}
			}
		case 8:
			m.ExactOffset = f.Uint64()
		}
	}
	if m.BuildID, ok = s.internedBuildID(build); !ok {
		return mapping, false
	}
	// Chrome gives the whole path as one part.
	name := path.String()
	if strings.HasPrefix(name, "//") {
		name = name[1:]
	}
	m.Name = strs.Intern(name)
	mapping = internedMapping{s.reader.Store.Stacks.Mapping(m), s.reader.symbols[codeFile{m.Name, m.BuildID}]}
	if ids.mappings == nil {
		ids.mappings = map[uint64]internedMapping{}
	}
	ids.mappings[iid] = mapping
	return mapping, true
}

// frameKinds are the values of Frame.kind.
var frameKinds = [...]string{1: "native", 2: "kernel", 3: "interpreted", 4: "jit", 5: "gc", 6: "runtime"}

// Frame returns the id of an interned Frame.
func (s *State) Frame(iid uint64) (model.FrameID, bool) {
	ids := sequenceStacks.Of(s)
	if id, ok := ids.frames[iid]; ok {
		return id, true
	}
	data, ok := s.internedStack(internedFrames, iid, model.StatStackprofileInvalidFrameID)
	if !ok {
		return model.None, false
	}
	store := s.reader.Store
	var function, mapping, pc, source uint64
	var line, kind int64
	var hasSource bool
	var kindName []byte
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case 2:
			function = f.Uint64()
		case 3:
			mapping = f.Uint64()
		case 4:
			pc = f.Uint64()
		case 5:
			source, hasSource = f.Uint64(), true
		case 6:
			line = int64(f.Uint32())
		case 7:
			kind = f.Int64()
		case 8:
			kindName = f.Bytes()
		}
	}
	name, ok := s.internedName(internedFunctionNames, function)
	if !ok {
		return model.None, false
	}
	var file model.StringID
	if hasSource {
		if file, ok = s.internedName(internedSourcePaths, source); !ok || source == 0 {
			return model.None, false
		}
	}
	var id model.FrameID
	if mapping == 0 {
		id = store.Stacks.FunctionFrame(s.reader.namedFrames(), name, file, line)
	} else {
		in, ok := s.Mapping(mapping)
		if !ok {
			return model.None, false
		}
		id = store.Stacks.Frame(in.id, pc, name)
		lines := in.symbols[pc]
		if len(lines) == 0 && (hasSource || line > 0) {
			lines = []model.Symbol{{Name: name, File: file, Line: line}}
		}
		if _, known := store.StackProfileFrame.SymbolSetID.Get(id); !known {
			store.Stacks.AddSymbols(id, lines)
		}
	}
	if kind > 0 && kind < int64(len(frameKinds)) {
		store.StackProfileFrame.Type.Set(id, store.Strings.Intern(frameKinds[kind]))
	} else if kindName != nil && kind == 0 {
		store.StackProfileFrame.Type.Set(id, store.Strings.InternBytes(kindName))
	}
	if ids.frames == nil {
		ids.frames = map[uint64]model.FrameID{}
	}
	ids.frames[iid] = id
	return id, true
}

// namedFrames is the mapping of frames that are known by name only.
func (r *Reader) namedFrames() model.MappingID {
	if r.named == nil {
		id := r.Store.Stacks.DummyMapping("")
		r.named = &id
	}
	return *r.named
}

// Callstack returns the id of an interned Callstack.
func (s *State) Callstack(iid uint64) (model.CallsiteID, bool) {
	ids := sequenceStacks.Of(s)
	if id, ok := ids.callsites[iid]; ok {
		return id, true
	}
	data, ok := s.internedStack(internedCallstacks, iid, model.StatStackprofileInvalidCallstackID)
	if !ok {
		return model.None, false
	}
	callsite := model.None
	for f := wire.Read(data); f.Next(); {
		if f.Number != 2 {
			continue
		}
		for frame := range f.Varints {
			id, ok := s.Frame(frame)
			if !ok {
				return model.None, false
			}
			callsite = s.reader.Store.Stacks.Callsite(callsite, id)
		}
	}
	if callsite == model.None {
		s.reader.File.Count(model.StatStackprofileEmptyCallstack)
		return model.None, false
	}
	if ids.callsites == nil {
		ids.callsites = map[uint64]model.CallsiteID{}
	}
	ids.callsites[iid] = callsite
	return callsite, true
}

// readStack finds the event's call stack, interned or given with the event.
func (p *eventParser) readStack() error {
	e := &p.e
	if e.hasStackIID {
		id, ok := p.state.Callstack(e.stackIID)
		if !ok {
			return errNoStack
		}
		p.callsite = id
		return nil
	}
	if len(e.stack) == 0 { // as of nearly all events
		return nil
	}
	for f := wire.Read(e.stack); f.Next(); {
		if f.Number != 1 {
			continue
		}
		if p.inline == model.None {
			p.inline = p.Store.Stacks.DummyMapping("track_event_inline")
		}
		strs := p.Store.Strings
		name := strs.Intern("")
		var file model.StringID
		var line int64
		for frame := wire.Read(f.Bytes()); frame.Next(); {
			switch frame.Number {
			case 1:
				name = strs.InternBytes(frame.Bytes())
			case 2:
				file = strs.InternBytes(frame.Bytes())
			case 3:
				line = int64(frame.Uint32())
			}
		}
		p.callsite = p.Store.Stacks.Callsite(p.callsite, p.Store.Stacks.FunctionFrame(p.inline, name, file, line))
	}
	return nil
}
