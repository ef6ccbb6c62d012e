// Package stacks finds the call stacks that packets refer to, and the symbols of their
// frames.
package stacks

import (
	"fmt"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/ingest/proto/thread"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/model/table"
)

var symbols = proto.Shared[profile.Symbols]{New: func(*proto.Reader) *profile.Symbols { return profile.NewSymbols() }}

// SymbolsOf returns the symbols in a machine's packets.
func SymbolsOf(r *proto.Reader) *profile.Symbols { return symbols.Of(r) }

// Generated is the code that programs generated while they ran.
type Generated struct {
	// Find finds code. may is false at addresses where the process never had such code; the code is nil if none is known there now.
	Find    func(upid model.UPID, address uint64) (code *Code, may bool)
	Changes int // how often an address was added for which may is true
}

// Code is generated code.
type Code struct {
	ID      table.ID[schema.JITCode]
	Name    model.StringID
	Symbols []profile.Symbol // none if its source is unknown
	frames  map[at]profile.FrameID
}

// at is an address relative to a mapping.
type at struct {
	mapping profile.MappingID
	pc      uint64
}

var generated = proto.Shared[Generated]{New: func(*proto.Reader) *Generated { return new(Generated) }}

// GeneratedOf returns what finds generated code. A module that reads such code sets it.
func GeneratedOf(r *proto.Reader) *Generated { return generated.Of(r) }

// codeAt finds the generated code at a place in a process.
func codeAt(r *proto.Reader, upid model.UPID, place at) (code *Code, may bool) {
	find := generated.Of(r).Find
	if find == nil || upid == model.None {
		return nil, false
	}
	m, row := &r.Store.StackProfileMapping, int64(place.mapping)
	start, _ := m.Start.Get(row)
	offset, _ := m.ExactOffset.Get(row)
	bias, _ := m.LoadBias.Get(row)
	return find(upid, place.pc+uint64(start-offset-bias))
}

// frame returns the frame of code at a place.
func (c *Code) frame(store *model.Store, place at) profile.FrameID {
	if id, ok := c.frames[place]; ok {
		return id
	}
	id := store.Stacks.AddFrame(place.mapping, place.pc, c.Name)
	store.Stacks.AddSymbols(id, c.Symbols)
	if c.frames == nil {
		c.frames = map[at]profile.FrameID{}
	}
	c.frames[place] = id
	row := store.JITFrame.Append()
	store.JITFrame.JITCodeID.Set(row, c.ID)
	store.JITFrame.FrameID.Set(row, id)
	return id
}

// inProcess is an interned message in a process: the same address means different things
// in different processes. upid is None if the process is unknown.
type inProcess struct {
	upid model.UPID
	iid  uint64
}

// stackIDs are the table ids of interned mappings, frames and call stacks.
type stackIDs struct {
	mappings  map[inProcess]profile.MappingID
	frames    map[inProcess]profile.FrameID
	callsites map[inProcess]profile.CallsiteID
	changes   int // of generated code, when the frames and call stacks were kept
}

var sequenceStacks = proto.NewLocal[stackIDs](proto.UntilAnew)

// interned finds an interned message for stacks, or counts it as missing.
func interned(s *proto.State, field uint32, iid uint64, missing model.Stat) ([]byte, bool) {
	data, ok := s.Interned(field, iid)
	if !ok {
		s.Reader().File.Count(missing)
	}
	return data, ok
}

// internedName finds an interned string. It returns zero for iid 0.
func internedName(s *proto.State, field uint32, iid uint64) (model.StringID, bool) {
	if iid == 0 {
		return 0, true
	}
	id, ok := s.InternedString(field, iid)
	if !ok {
		s.Reader().File.Count(model.StatStackprofileInvalidStringID)
	}
	return id, ok
}

// internedBuildID finds an interned build id, in hexadecimal. It returns "" for iid 0.
func internedBuildID(s *proto.State, iid uint64) (model.StringID, bool) {
	var data []byte
	if iid != 0 {
		var ok bool
		if data, ok = interned(s, pb.InternedData_BuildIDs, iid, model.StatStackprofileInvalidStringID); !ok {
			return 0, false
		}
	}
	return s.Reader().Store.Strings.Intern(profile.BuildID(string(message.Bytes(data, pb.InternedString_Str)))), true
}

// MappingOf returns an interned Mapping in the sequence's process, if the process is
// known.
func MappingOf(s *proto.State, iid uint64) (profile.MappingID, bool) {
	upid := model.UPID(model.None)
	if owner := thread.Of(s); owner.Valid {
		upid = s.Reader().Machine.Process(int64(uint32(owner.PID)))
	}
	return mapping(s, inProcess{upid, iid})
}

func mapping(s *proto.State, key inProcess) (profile.MappingID, bool) {
	ids := sequenceStacks.Of(s)
	if id, ok := ids.mappings[key]; ok {
		return id, true
	}
	data, ok := interned(s, pb.InternedData_Mappings, key.iid, model.StatStackprofileInvalidMappingID)
	if !ok {
		return model.None, false
	}
	store := s.Reader().Store
	var m MappingFields
	m.Read(data)
	var path []string
	for _, part := range m.Path {
		name, ok := s.InternedString(pb.InternedData_MappingPaths, part)
		if !ok { // keep the path up to here
			s.Reader().File.Count(model.StatStackprofileInvalidStringID)
			break
		}
		path = append(path, store.Strings.Get(name))
	}
	m.Name = store.Strings.Intern(MappingName(path))
	if m.Mapping.BuildID, ok = internedBuildID(s, m.BuildID); !ok {
		return model.None, false
	}
	var id profile.MappingID
	if key.upid != model.None && m.Start < m.End {
		id = store.Stacks.AddMapping(m.Mapping)
	} else {
		id = store.Stacks.Mapping(m.Mapping)
	}
	if ids.mappings == nil {
		ids.mappings = map[inProcess]profile.MappingID{}
	}
	ids.mappings[key] = id
	return id, true
}

// MappingFields is a Mapping with the interned texts that it refers to.
type MappingFields struct {
	profile.Mapping
	BuildID uint64
	Path    []uint64
}

// Read reads a Mapping.
func (m *MappingFields) Read(data []byte) {
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case pb.Mapping_BuildID:
			m.BuildID = f.Uint64()
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
				m.Path = append(m.Path, part)
			}
		case pb.Mapping_ExactOffset:
			m.ExactOffset = f.Uint64()
		}
	}
}

// MappingName joins the parts of a path. Chrome gives the whole path as one part.
func MappingName(parts []string) string {
	var name strings.Builder
	for _, part := range parts {
		name.WriteString("/" + part)
	}
	if path := name.String(); !strings.HasPrefix(path, "//") {
		return path
	}
	return name.String()[1:]
}

// frameKinds are the values of Frame.kind.
var frameKinds = [...]string{1: "native", 2: "kernel", 3: "interpreted", 4: "jit", 5: "gc", 6: "runtime"}

// frame returns the id of an interned Frame, and whether it stays the same.
func frame(s *proto.State, key inProcess) (id profile.FrameID, fixed, ok bool) {
	ids := sequenceStacks.Of(s)
	if id, ok := ids.frames[key]; ok {
		return id, true, true
	}
	data, ok := interned(s, pb.InternedData_Frames, key.iid, model.StatStackprofileInvalidFrameID)
	if !ok {
		return model.None, false, false
	}
	store := s.Reader().Store
	var function, binary, pc, source uint64
	var line, kind int64
	var hasSource bool
	var kindName []byte
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case pb.Frame_FunctionNameID:
			function = f.Uint64()
		case pb.Frame_MappingID:
			binary = f.Uint64()
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
		return model.None, false, false
	}
	var file model.StringID
	if hasSource {
		if file, ok = internedName(s, pb.InternedData_SourcePaths, source); !ok || source == 0 {
			return model.None, false, false
		}
	}
	fixed = true
	if binary == 0 {
		id = store.Stacks.FunctionFrame(*namedFrames.Of(s.Reader()), name, file, line)
	} else {
		in, ok := mapping(s, inProcess{key.upid, binary})
		if !ok {
			return model.None, false, false
		}
		place := at{in, pc}
		code, may := codeAt(s.Reader(), key.upid, place)
		fixed = !may
		if code != nil {
			id = code.frame(store, place)
		} else {
			if may && name == 0 {
				name = store.Strings.Intern(fmt.Sprintf("[+0x%x]", pc))
			}
			next := profile.FrameID(store.StackProfileFrame.Rows())
			id = store.Stacks.Frame(in, pc, name)
			if may && id == next {
				s.Reader().File.Count(model.StatJitUnknownFrame)
			}
			if id == next && (hasSource || line > 0) {
				store.Stacks.AddSymbols(id, []profile.Symbol{{Name: name, File: file, Line: line}})
			}
		}
	}
	if kind > 0 && kind < int64(len(frameKinds)) {
		store.StackProfileFrame.Type.Set(int64(id), store.Strings.Intern(frameKinds[kind]))
	} else if kindName != nil && kind == 0 {
		store.StackProfileFrame.Type.Set(int64(id), store.Strings.InternBytes(kindName))
	}
	if !fixed {
		return id, false, true
	}
	if ids.frames == nil {
		ids.frames = map[inProcess]profile.FrameID{}
	}
	ids.frames[key] = id
	return id, true, true
}

// namedFrames is the mapping of frames that are known only by name.
var namedFrames = proto.Shared[profile.MappingID]{New: func(r *proto.Reader) *profile.MappingID {
	id := r.Store.Stacks.DummyMapping("")
	return &id
}}

// Callsite returns the id of a process's interned Callstack, or None if it is unknown.
func Callsite(s *proto.State, upid model.UPID, iid uint64) (profile.CallsiteID, bool) {
	ids, key := sequenceStacks.Of(s), inProcess{upid, iid}
	if changes := generated.Of(s.Reader()).Changes; changes != ids.changes {
		ids.frames, ids.callsites, ids.changes = nil, nil, changes
	}
	if id, ok := ids.callsites[key]; ok {
		return id, true
	}
	data, ok := interned(s, pb.InternedData_Callstacks, iid, model.StatStackprofileInvalidCallstackID)
	if !ok {
		return model.None, false
	}
	callsite, keep := profile.CallsiteID(model.None), true
	for iid := range message.Numbers(data, pb.Callstack_FrameIDs) {
		id, fixed, ok := frame(s, inProcess{upid, iid})
		if !ok {
			return model.None, false
		}
		keep = keep && fixed
		callsite = s.Reader().Store.Stacks.Callsite(callsite, id)
	}
	if callsite == model.None {
		s.Reader().File.Count(model.StatStackprofileEmptyCallstack)
		return model.None, false
	}
	if !keep {
		return callsite, true
	}
	if ids.callsites == nil {
		ids.callsites = map[inProcess]profile.CallsiteID{}
	}
	ids.callsites[key] = callsite
	return callsite, true
}

// Inline returns the id of an InlineCallstack, or None if it is empty. Its frames are
// functions in a dummy mapping.
func Inline(r *proto.Reader, mapping profile.MappingID, data []byte) profile.CallsiteID {
	callsite := profile.CallsiteID(model.None)
	for frame := range message.Messages(data, pb.InlineCallstack_Frames) {
		var name, file model.StringID
		var line int64
		for f := wire.Read(frame); f.Next(); {
			switch f.Number {
			case pb.InlineCallstack_Frame_FunctionName:
				name = r.Store.Strings.InternBytes(f.Bytes())
			case pb.InlineCallstack_Frame_SourceFile:
				file = r.Store.Strings.InternBytes(f.Bytes())
			case pb.InlineCallstack_Frame_LineNumber:
				line = int64(f.Uint32())
			}
		}
		callsite = r.Store.Stacks.Callsite(callsite, r.Store.Stacks.FunctionFrame(mapping, name, file, line))
	}
	return callsite
}
