// Package profile stores mappings, frames, call stacks and samples of profilers.
package profile

import (
	"encoding/hex"
	"iter"

	"github.com/tpconvert/tpconvert/internal/paged"
	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/model/table"
)

type (
	FrameID        = table.ID[schema.StackProfileFrame]
	CallsiteID     = table.ID[schema.StackProfileCallsite]
	MappingID      = table.ID[schema.StackProfileMapping]
	SampleID       = table.ID[schema.StackSample]
	SessionID      = table.ID[schema.ProfilerSession]
	AggregateID    = table.ID[schema.AggregateProfile]
	AsyncContextID = table.ID[schema.ProfilerAsyncContext]
	SymbolSetID    = table.SetID[schema.StackProfileSymbol]
	CounterSetID   = table.SetID[schema.ProfilerCounterSet]
)

// Stacks stores each mapping, frame and call stack once.
type Stacks struct {
	tables    *schema.Tables
	strings   *table.StringPool
	mappings  map[Mapping]MappingID
	frames    paged.Map[int32] // by a hash of mapping, address and name
	functions paged.Map[int32] // by a hash of mapping, address and functions
	callsites StackTree
	depths    paged.List[int32] // by callsite
}

// Mapping is a file mapped into memory. Addresses and offsets are in bytes.
type Mapping struct {
	BuildID     table.StringID // in hexadecimal
	ExactOffset uint64
	StartOffset uint64
	Start, End  uint64
	LoadBias    uint64
	Name        table.StringID
}

// NewStacks returns the stacks that fill these tables.
func NewStacks(tables *schema.Tables, strings *table.StringPool) *Stacks {
	return &Stacks{tables: tables, strings: strings, mappings: map[Mapping]MappingID{}}
}

// BuildID returns a build id in hexadecimal, as mappings store it. Breakpad's module
// ids, which have 33 characters, are in hexadecimal already.
func BuildID(raw string) string {
	if len(raw) == 33 {
		return raw
	}
	return hex.EncodeToString([]byte(raw))
}

// Mapping returns the id of the mapping.
func (s *Stacks) Mapping(m Mapping) MappingID {
	if id, ok := s.mappings[m]; ok {
		return id
	}
	id := s.AddMapping(m)
	s.mappings[m] = id
	return id
}

// AddMapping adds a mapping, even if there is an equal one.
func (s *Stacks) AddMapping(m Mapping) MappingID {
	t := &s.tables.StackProfileMapping
	row := t.Append()
	t.BuildID.Set(row, s.text(m.BuildID))
	t.ExactOffset.Set(row, int64(m.ExactOffset))
	t.StartOffset.Set(row, int64(m.StartOffset))
	t.Start.Set(row, int64(m.Start))
	t.End.Set(row, int64(m.End))
	t.LoadBias.Set(row, int64(m.LoadBias))
	t.Name.Set(row, s.text(m.Name))
	return MappingID(row)
}

// text returns the string itself, or the empty string for NULL, because mappings have
// no NULLs.
func (s *Stacks) text(id table.StringID) table.StringID {
	if id == 0 {
		return s.strings.Intern("")
	}
	return id
}

// DummyMapping adds a mapping that spans all addresses, for code whose mapping is
// unknown.
func (s *Stacks) DummyMapping(name string) MappingID {
	return s.AddMapping(Mapping{End: ^uint64(0), Name: s.strings.Intern(name)})
}

// Frame returns the frame of a function (zero if unknown) at an address relative to a
// mapping.
func (s *Stacks) Frame(mapping MappingID, relPC uint64, name table.StringID) FrameID {
	key := paged.Mix(paged.Mix(uint64(mapping), relPC), uint64(name))
	if id := s.frames.Get(key); id != nil {
		return FrameID(*id)
	}
	id := s.AddFrame(mapping, relPC, name)
	s.frames.Add(key, int32(id))
	return id
}

// FunctionFrame returns the frame of a function identified by its name and place in
// the source instead of its address. file and line may be zero.
func (s *Stacks) FunctionFrame(mapping MappingID, name, file table.StringID, line int64) FrameID {
	return s.SymbolizedFrame(mapping, 0, []Symbol{{Name: name, File: file, Line: line}})
}

// SymbolizedFrame returns the frame of the functions at an address, innermost first, of
// which there is at least one. The same address has another frame where other functions,
// or lines of them, were recorded.
func (s *Stacks) SymbolizedFrame(mapping MappingID, relPC uint64, symbols []Symbol) FrameID {
	key := paged.Mix(uint64(mapping), relPC)
	for _, f := range symbols {
		key = paged.Mix(paged.Mix(key, uint64(f.Name)<<32|uint64(f.File)), uint64(f.Line))
	}
	if id := s.functions.Get(key); id != nil {
		return FrameID(*id)
	}
	id := s.AddFrame(mapping, relPC, symbols[0].Name)
	s.functions.Add(key, int32(id))
	s.AddSymbols(id, symbols)
	return id
}

// AddFrame adds a frame, even if there is an equal one.
func (s *Stacks) AddFrame(mapping MappingID, relPC uint64, name table.StringID) FrameID {
	t := &s.tables.StackProfileFrame
	row := t.Append()
	t.Name.Set(row, name)
	t.Mapping.Set(row, mapping)
	t.RelPC.Set(row, int64(relPC))
	return FrameID(row)
}

// Symbol is a function at an address. Line is zero if unknown.
type Symbol struct {
	Name, File table.StringID
	Line       int64
	Inlined    *bool // nil if unknown
}

// AddSymbols sets the functions inlined at a frame's address, innermost first.
func (s *Stacks) AddSymbols(frame FrameID, symbols []Symbol) {
	if len(symbols) > 0 {
		s.tables.StackProfileFrame.SymbolSetID.Set(int64(frame), s.symbolSet(symbols))
	}
}

// symbolSet stores the functions inlined at one address, and returns their set's id.
func (s *Stacks) symbolSet(symbols []Symbol) SymbolSetID {
	t := &s.tables.StackProfileSymbol
	set := SymbolSetID(t.Rows())
	for _, symbol := range symbols {
		row := t.Append()
		t.SymbolSetID.Set(row, set)
		t.Name.Set(row, symbol.Name)
		t.SourceFile.Set(row, symbol.File)
		if symbol.Line > 0 {
			t.LineNumber.Set(row, symbol.Line)
		}
		if symbol.Inlined != nil {
			t.Inlined.Set(row, *symbol.Inlined)
		}
	}
	return set
}

// LineOf returns the source line of a frame's innermost function with a line, or
// false if none has one.
func (s *Stacks) LineOf(frame FrameID) (line int64, ok bool) {
	set, ok := s.tables.StackProfileFrame.SymbolSetID.Get(int64(frame))
	if !ok {
		return 0, false
	}
	t := &s.tables.StackProfileSymbol
	for row := int64(set); row < t.Rows(); row++ {
		if known, _ := t.SymbolSetID.Get(row); known != set {
			break
		}
		if line, ok := t.LineNumber.Get(row); ok {
			return line, true
		}
	}
	return 0, false
}

// Frames yields the frames of a stack, innermost first.
func (s *Stacks) Frames(callsite CallsiteID) iter.Seq[FrameID] {
	return func(yield func(FrameID) bool) {
		for callsite != table.None {
			parent, frame := s.callsites.Stack(StackNumber(callsite))
			if !yield(FrameID(frame)) {
				return
			}
			callsite = CallsiteID(parent)
		}
	}
}

// Callsite returns the stack with the frame on top of parent. parent is table.None for an
// outermost frame.
func (s *Stacks) Callsite(parent CallsiteID, frame FrameID) CallsiteID {
	id, added := s.callsites.Push(StackNumber(parent), int32(frame))
	if !added {
		return CallsiteID(id)
	}
	t := &s.tables.StackProfileCallsite
	row := t.Append()
	var depth int32
	if parent != table.None {
		depth = *s.depths.At(int(parent)) + 1
		t.ParentID.Set(row, parent)
	}
	t.Depth.Set(row, depth)
	t.FrameID.Set(row, frame)
	s.depths.Append(depth)
	return CallsiteID(id)
}

// SetParent changes the parent of a stack; the stacks on top of it keep their depth.
func (s *Stacks) SetParent(id, parent CallsiteID) {
	s.tables.StackProfileCallsite.ParentID.Set(int64(id), parent)
	s.SetDepth(id, *s.depths.At(int(parent))+1)
}

// SetDepth sets the depth of an outermost frame; the frames on top of it count from
// there.
func (s *Stacks) SetDepth(id CallsiteID, depth int32) {
	*s.depths.At(int(id)) = depth
	s.tables.StackProfileCallsite.Depth.Set(int64(id), depth)
}

// Sample is a profiler's sample. A missing field is table.None, or the empty or NULL string.
type Sample struct {
	TS          int64 // ns of the trace clock
	Source      string
	UTID        table.ID[schema.Thread]
	UPID        table.ID[schema.Process]
	UCPU        table.ID[schema.CPU]
	CPU         int64
	CPUMode     table.StringID
	Callsite    CallsiteID
	UnwindError table.StringID
	Session     SessionID
	CounterSet  CounterSetID
	Async       AsyncContextID
	Weight      int64 // how many samples it stands for
}

// AddToSlice stores the call stack at which a slice began or, with atEnd, ended. It returns the row, or None if there is no slice or
// no stack.
func (s *Stacks) AddToSlice(slice table.ID[schema.Slice], track table.ID[schema.Track], callsite CallsiteID, atEnd bool) int64 {
	if slice == table.None || callsite == table.None {
		return table.None
	}
	t := &s.tables.TrackEventCallstacks
	row := t.Append()
	t.SliceID.Set(row, slice)
	t.TrackID.Set(row, track)
	if atEnd {
		t.EndCallsiteID.Set(row, callsite)
	} else {
		t.CallsiteID.Set(row, callsite)
	}
	return row
}

// NewSample returns a sample at ts (ns) without other fields.
func NewSample(ts int64, source string) Sample {
	return Sample{TS: ts, Source: source, UTID: table.None, UPID: table.None, UCPU: table.None, CPU: table.None,
		Callsite: table.None, Session: table.None, CounterSet: table.None, Async: table.None, Weight: 1}
}

// AddSample stores a sample and returns its id.
func (s *Stacks) AddSample(v Sample) SampleID {
	t := &s.tables.StackSample
	row := t.Append()
	t.TS.Set(row, v.TS)
	if v.Source != "" {
		t.Source.Set(row, s.strings.Intern(v.Source))
	}
	t.CPUMode.Set(row, v.CPUMode)
	t.UnwindError.Set(row, v.UnwindError)
	if v.Weight != 1 {
		t.Weight.Set(row, v.Weight)
	}
	if v.UTID != table.None {
		t.UTID.Set(row, v.UTID)
	}
	if v.UPID != table.None {
		t.UPID.Set(row, v.UPID)
	}
	if v.UCPU != table.None {
		t.UCPU.Set(row, v.UCPU)
	}
	if v.CPU != table.None {
		t.CPU.Set(row, int32(v.CPU))
	}
	if v.Callsite != table.None {
		t.CallsiteID.Set(row, v.Callsite)
	}
	if v.Session != table.None {
		t.SessionID.Set(row, v.Session)
	}
	if v.CounterSet != table.None {
		t.CounterSetID.Set(row, v.CounterSet)
	}
	if v.Async != table.None {
		t.AsyncContextID.Set(row, v.Async)
	}
	return SampleID(row)
}

// AddSampleEvent says which event a sample is of, and returns the row. period is table.None if it is not known.
func (s *Stacks) AddSampleEvent(sample SampleID, event table.StringID, period int64) int64 {
	t := &s.tables.StackSampleEvent
	row := t.Append()
	t.StackSampleID.Set(row, sample)
	t.Event.Set(row, event)
	if period != table.None {
		t.Period.Set(row, period)
	}
	return row
}

// NewSession adds a profiler session. source is the profiler's name and unit the unit
// that it counts between samples; each is "" if unknown.
func (s *Stacks) NewSession(source, unit string) SessionID {
	t := &s.tables.ProfilerSession
	row := t.Append()
	if source != "" {
		t.Source.Set(row, s.strings.Intern(source))
	}
	if unit != "" {
		t.TimebaseUnit.Set(row, s.strings.Intern(unit))
	}
	return SessionID(row)
}

// CounterSet stores which counter values were read together, and returns their set's
// id, or table.None for no values.
func (s *Stacks) CounterSet(counters []table.ID[schema.Counter]) CounterSetID {
	if len(counters) == 0 {
		return table.None
	}
	t := &s.tables.ProfilerCounterSet
	set := CounterSetID(t.Rows())
	for _, id := range counters {
		row := t.Append()
		t.CounterSetID.Set(row, set)
		t.CounterID.Set(row, id)
	}
	return set
}
