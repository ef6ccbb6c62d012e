package pprof

import (
	"fmt"

	"github.com/tpconvert/tpconvert/internal/paged"
	"github.com/tpconvert/tpconvert/internal/perfetto/pprofpb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
)

// contents are the contents of a profile. Its parts refer to each other by id and to texts by index,
// and come in any order.
type contents struct {
	context   *model.Context
	types     []valueType
	mappings  []mapping
	functions map[uint64]function
	locations paged.List[location]
	lines     paged.List[line] // of locations
	stacks    stacks
	labeled   *labeled
	texts     []model.StringID
	facts     []fact

	// Scratch space for the sample being read and the location being stored.
	path, values []uint64
	labels       []label
	symbols      []profile.Symbol
}

// textIndex is an index in the string table, or absent.
type textIndex int64

const absent textIndex = -1

type valueType struct{ name, unit textIndex }

type mapping struct {
	id                   uint64
	start, limit, offset uint64 // bytes
	file, buildID        textIndex
}

type function struct {
	name, system, file textIndex
	startLine          int64
}

type location struct {
	mapping, address uint64
	from, to         uint32 // range in lines: functions inlined here, innermost first
	number           int32
}

type line struct {
	function uint64
	number   int64
}

func newContents(c *model.Context) *contents {
	return &contents{context: c, functions: map[uint64]function{}, labeled: newLabeled(c.Store)}
}

// read adds a field of the profile, found at this offset. It returns false for a damaged field.
func (p *contents) read(f *wire.Field, offset int64) bool {
	if f.Number <= pprofpb.Profile_StringTable && f.Type != wire.Bytes {
		return false
	}
	if factNames[f.Number] != "" {
		return p.readFact(f)
	}
	switch f.Number {
	case pprofpb.Profile_SampleType:
		return p.readValueType(f.Bytes())
	case pprofpb.Profile_Sample:
		return p.readSample(f.Bytes())
	case pprofpb.Profile_Mapping:
		return p.readMapping(f.Bytes())
	case pprofpb.Profile_Location:
		return p.readLocation(f.Bytes())
	case pprofpb.Profile_Function:
		return p.readFunction(f.Bytes())
	case pprofpb.Profile_StringTable:
		p.texts = append(p.texts, p.context.Store.Strings.InternBytes(f.Bytes()))
	default:
		p.context.File.Unread(model.StatUnreadFact, model.None, fmt.Sprintf("number %d field", f.Number)).AddAt(offset)
	}
	return true
}

// unread counts a fact that has no column.
func (p *contents) unread(noun string) {
	p.context.File.Unread(model.StatUnreadFact, model.None, noun).Add(model.LogEntry{})
}

// fault counts damage, and logs what it is and where.
func (p *contents) fault(reason string, where model.LogEntry) {
	strings := p.context.Store.Strings
	where.Args = model.ArgFunc(func(set *model.ArgSet) {
		set.Add(strings.Intern("reason"), model.StringArg(strings.Intern(reason)))
	})
	p.context.File.Log(statParseErrors, where)
}

func (p *contents) readValueType(message []byte) bool {
	t, whole := valueTypeOf(message)
	p.types = append(p.types, t)
	return whole
}

// valueTypeOf returns a ValueType, and whether its message is intact.
func valueTypeOf(message []byte) (t valueType, whole bool) {
	t = valueType{absent, absent}
	r := wire.Read(message)
	for r.Next() {
		switch r.Number {
		case pprofpb.ValueType_Type:
			t.name = textIndex(r.Int64())
		case pprofpb.ValueType_Unit:
			t.unit = textIndex(r.Int64())
		}
	}
	return t, !r.Bad()
}

func (p *contents) readSample(message []byte) bool {
	p.path, p.values, p.labels = p.path[:0], p.values[:0], p.labels[:0]
	r := wire.Read(message)
	ok := true
	for r.Next() {
		switch r.Number {
		case pprofpb.Sample_LocationID:
			p.path = r.AppendVarints(p.path)
		case pprofpb.Sample_Value:
			p.values = r.AppendVarints(p.values)
		case pprofpb.Sample_Label:
			l, whole := readLabel(r.Bytes())
			p.labels = append(p.labels, l)
			ok = ok && whole
		}
	}
	stack := p.stacks.add(p.path, p.values)
	if len(p.labels) > 0 {
		p.labeled.add(stack, p.values, p.labels)
	}
	return ok && !r.Bad()
}

func (p *contents) readMapping(message []byte) bool {
	m := mapping{file: absent, buildID: absent}
	r := wire.Read(message)
	for r.Next() {
		switch r.Number {
		case pprofpb.Mapping_ID:
			m.id = r.Uint64()
		case pprofpb.Mapping_MemoryStart:
			m.start = r.Uint64()
		case pprofpb.Mapping_MemoryLimit:
			m.limit = r.Uint64()
		case pprofpb.Mapping_FileOffset:
			m.offset = r.Uint64()
		case pprofpb.Mapping_Filename:
			m.file = textIndex(r.Int64())
		case pprofpb.Mapping_BuildID:
			m.buildID = textIndex(r.Int64())
		}
	}
	if m.id == 0 {
		return false
	}
	p.mappings = append(p.mappings, m)
	return !r.Bad()
}

func (p *contents) readLocation(message []byte) bool {
	l := location{from: uint32(p.lines.Len())}
	var id uint64
	r := wire.Read(message)
	ok := true
	for r.Next() {
		switch r.Number {
		case pprofpb.Location_ID:
			id = r.Uint64()
		case pprofpb.Location_MappingID:
			l.mapping = r.Uint64()
		case pprofpb.Location_Address:
			l.address = r.Uint64()
		case pprofpb.Location_IsFolded:
			if r.Uint64() != 0 {
				p.unread("folded location")
			}
		case pprofpb.Location_Line:
			var at line
			inner := wire.Read(r.Bytes())
			for inner.Next() {
				switch inner.Number {
				case pprofpb.Line_FunctionID:
					at.function = inner.Uint64()
				case pprofpb.Line_Line:
					at.number = inner.Int64()
				case lineColumn:
					if inner.Int64() != 0 {
						p.unread("column of a line")
					}
				}
			}
			ok = ok && !inner.Bad()
			p.lines.Append(at)
		}
	}
	if id == 0 {
		return false
	}
	l.to, l.number = uint32(p.lines.Len()), p.stacks.locations.of(id)
	p.locations.Append(l)
	return ok && !r.Bad()
}

func (p *contents) readFunction(message []byte) bool {
	var id uint64
	f := function{name: absent, system: absent, file: absent}
	r := wire.Read(message)
	for r.Next() {
		switch r.Number {
		case pprofpb.Function_ID:
			id = r.Uint64()
		case pprofpb.Function_Name:
			f.name = textIndex(r.Int64())
		case pprofpb.Function_SystemName:
			f.system = textIndex(r.Int64())
		case pprofpb.Function_Filename:
			f.file = textIndex(r.Int64())
		case pprofpb.Function_StartLine:
			f.startLine = r.Int64()
		}
	}
	if id == 0 {
		return false
	}
	switch {
	case f.system <= 0 || f.system == f.name:
	case f.name <= 0:
		f.name = f.system
	default:
		p.unread("system name of a function")
	}
	p.functions[id] = f
	return !r.Bad()
}
