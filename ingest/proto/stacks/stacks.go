// Package stacks finds the call stacks that packets refer to, and the symbols of
// what is on them.
package stacks

import (
	"strings"

	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/ingest/wire"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/model"
)

// Symbols are the functions at addresses in binaries.
type Symbols map[binary]atAddress

// binary is a file that mappings are of.
type binary struct {
	path    model.StringID
	buildID model.StringID // in hexadecimal
}

// atAddress are the functions at addresses in a binary, those that are inlined
// first.
type atAddress map[uint64][]model.Symbol

var sharedSymbols = proto.Shared[Symbols]{New: func(*proto.Reader) *Symbols { return &Symbols{} }}

// SymbolsOf are the symbols that a machine's packets bring.
func SymbolsOf(r *proto.Reader) Symbols { return *sharedSymbols.Of(r) }

// Add adds the functions at an address in a binary.
func (s Symbols) Add(path, buildID model.StringID, address uint64, lines []model.Symbol) {
	of := binary{path, buildID}
	if s[of] == nil {
		s[of] = atAddress{}
	}
	s[of][address] = lines
}

// stackIDs are the ids of interned mappings, frames and call stacks in the
// tables.
type stackIDs struct {
	mappings  map[uint64]Mapping
	frames    map[uint64]model.FrameID
	callsites map[uint64]model.CallsiteID
}

// Mapping is an interned Mapping.
type Mapping struct {
	ID      model.MappingID
	symbols atAddress
}

// Symbols are the functions at an address, those that are inlined first.
func (m *Mapping) Symbols(address uint64) []model.Symbol { return m.symbols[address] }

var sequenceStacks = proto.NewLocal[stackIDs](proto.UntilAnew)

// interned finds an interned message of stacks, or counts that it is missing.
func interned(s *proto.State, field uint32, iid uint64, missing model.Stat) ([]byte, bool) {
	data, ok := s.Interned(field, iid)
	if !ok {
		s.Reader().File.Count(missing)
	}
	return data, ok
}

// internedName finds an interned string, "" for iid 0.
func internedName(s *proto.State, field uint32, iid uint64) (model.StringID, bool) {
	if iid == 0 {
		return s.Reader().Store.Strings.Intern(""), true
	}
	id, ok := s.InternedString(field, iid)
	if !ok {
		s.Reader().File.Count(model.StatStackprofileInvalidStringID)
	}
	return id, ok
}

// internedBuildID finds an interned build id, in hexadecimal, "" for iid 0.
func internedBuildID(s *proto.State, iid uint64) (model.StringID, bool) {
	var data []byte
	if iid != 0 {
		var ok bool
		if data, ok = interned(s, pb.InternedData_BuildIDs, iid, model.StatStackprofileInvalidStringID); !ok {
			return 0, false
		}
	}
	return s.Reader().Store.Strings.Intern(model.BuildID(string(message.Bytes(data, pb.InternedString_Str)))), true
}

// MappingOf returns an interned Mapping.
func MappingOf(s *proto.State, iid uint64) (mapping Mapping, ok bool) {
	ids := sequenceStacks.Of(s)
	if mapping, ok = ids.mappings[iid]; ok {
		return mapping, true
	}
	data, ok := interned(s, pb.InternedData_Mappings, iid, model.StatStackprofileInvalidMappingID)
	if !ok {
		return mapping, false
	}
	strs := s.Reader().Store.Strings
	var m model.Mapping
	var build uint64
	var path strings.Builder
	broken := false
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case pb.Mapping_BuildID:
			build = f.Uint64()
		case pb.Mapping_StartOffset:
			m.StartOffset = f.Uint64()
		case pb.Mapping_Start:
			m.Start = f.Uint64()
		case pb.Mapping_End:
			m.End = f.Uint64()
		case pb.Mapping_LoadBias:
			m.LoadBias = f.Uint64()
		case pb.Mapping_PathStringIDs:
			for part := range f.Varints {
				name, ok := internedName(s, pb.InternedData_MappingPaths, part)
				if broken = broken || !ok; !broken {
					path.WriteString("/" + strs.Get(name))
				}
			}
		case pb.Mapping_ExactOffset:
			m.ExactOffset = f.Uint64()
		}
	}
	if m.BuildID, ok = internedBuildID(s, build); !ok {
		return mapping, false
	}
	// Chrome gives the whole path as one part.
	name := path.String()
	if strings.HasPrefix(name, "//") {
		name = name[1:]
	}
	m.Name = strs.Intern(name)
	mapping = Mapping{s.Reader().Store.Stacks.Mapping(m), SymbolsOf(s.Reader())[binary{m.Name, m.BuildID}]}
	if ids.mappings == nil {
		ids.mappings = map[uint64]Mapping{}
	}
	ids.mappings[iid] = mapping
	return mapping, true
}

// frameKinds are the values of Frame.kind.
var frameKinds = [...]string{1: "native", 2: "kernel", 3: "interpreted", 4: "jit", 5: "gc", 6: "runtime"}

// frame returns the id of an interned Frame.
func frame(s *proto.State, iid uint64) (model.FrameID, bool) {
	ids := sequenceStacks.Of(s)
	if id, ok := ids.frames[iid]; ok {
		return id, true
	}
	data, ok := interned(s, pb.InternedData_Frames, iid, model.StatStackprofileInvalidFrameID)
	if !ok {
		return model.None, false
	}
	store := s.Reader().Store
	var function, mapping, pc, source uint64
	var line, kind int64
	var hasSource bool
	var kindName []byte
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case pb.Frame_FunctionNameID:
			function = f.Uint64()
		case pb.Frame_MappingID:
			mapping = f.Uint64()
		case pb.Frame_RelPC:
			pc = f.Uint64()
		case pb.Frame_SourcePathIID:
			source, hasSource = f.Uint64(), true
		case pb.Frame_LineNumber:
			line = int64(f.Uint32())
		case pb.Frame_Kind:
			kind = f.Int64()
		case pb.Frame_KindStr:
			kindName = f.Bytes()
		}
	}
	name, ok := internedName(s, pb.InternedData_FunctionNames, function)
	if !ok {
		return model.None, false
	}
	var file model.StringID
	if hasSource {
		if file, ok = internedName(s, pb.InternedData_SourcePaths, source); !ok || source == 0 {
			return model.None, false
		}
	}
	var id model.FrameID
	if mapping == 0 {
		id = store.Stacks.FunctionFrame(*namedFrames.Of(s.Reader()), name, file, line)
	} else {
		in, ok := MappingOf(s, mapping)
		if !ok {
			return model.None, false
		}
		id = store.Stacks.Frame(in.ID, pc, name)
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
var namedFrames = proto.Shared[model.MappingID]{New: func(r *proto.Reader) *model.MappingID {
	id := r.Store.Stacks.DummyMapping("")
	return &id
}}

// Callsite returns the id of an interned Callstack.
func Callsite(s *proto.State, iid uint64) (model.CallsiteID, bool) {
	ids := sequenceStacks.Of(s)
	if id, ok := ids.callsites[iid]; ok {
		return id, true
	}
	data, ok := interned(s, pb.InternedData_Callstacks, iid, model.StatStackprofileInvalidCallstackID)
	if !ok {
		return model.None, false
	}
	callsite := model.None
	for f := wire.Read(data); f.Next(); {
		if f.Number != pb.Callstack_FrameIDs {
			continue
		}
		for iid := range f.Varints {
			id, ok := frame(s, iid)
			if !ok {
				return model.None, false
			}
			callsite = s.Reader().Store.Stacks.Callsite(callsite, id)
		}
	}
	if callsite == model.None {
		s.Reader().File.Count(model.StatStackprofileEmptyCallstack)
		return model.None, false
	}
	if ids.callsites == nil {
		ids.callsites = map[uint64]model.CallsiteID{}
	}
	ids.callsites[iid] = callsite
	return callsite, true
}
