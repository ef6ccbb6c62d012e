package pprof

import (
	"slices"

	"github.com/tpconvert/tpconvert/ingest/wire"
	"github.com/tpconvert/tpconvert/model"
)

// profile is what a profile says. Its parts refer to each other by id, and to
// texts by their index, and come in any order.
type profile struct {
	context   *model.Context
	types     []valueType
	mappings  []mapping
	functions map[uint64]function
	locations []location
	lines     []line // of locations
	stacks    stacks
	texts     []model.StringID

	// Of the sample that is read, and of the location that is stored.
	path, values []uint64
	symbols      []model.Symbol
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
	name, file textIndex
	startLine  int64
}

type location struct {
	mapping, address uint64
	from, to         uint32 // of the lines: what is inlined here, innermost first
	number           int32
}

type line struct {
	function uint64
	number   int64
}

func newProfile(c *model.Context) *profile {
	return &profile{context: c, functions: map[uint64]function{}}
}

// read adds a field of the profile. It returns false if that has damage.
func (p *profile) read(f *wire.Field) bool {
	if f.Number <= fieldStringTable && f.Type != wire.Bytes {
		return false
	}
	switch f.Number {
	case fieldSampleType:
		return p.readValueType(f.Bytes())
	case fieldSample:
		return p.readSample(f.Bytes())
	case fieldMapping:
		return p.readMapping(f.Bytes())
	case fieldLocation:
		return p.readLocation(f.Bytes())
	case fieldFunction:
		return p.readFunction(f.Bytes())
	case fieldStringTable:
		p.texts = append(p.texts, p.context.Store.Strings.InternBytes(f.Bytes()))
	}
	return true
}

// fault counts damage and logs what and where it is.
func (p *profile) fault(reason string, where model.LogEntry) {
	strings := p.context.Store.Strings
	where.Args = model.ArgFunc(func(set *model.ArgSet) {
		set.Add(strings.Intern("reason"), model.StringArg(strings.Intern(reason)))
	})
	p.context.File.Log(model.StatPprofParseErrors, where)
}

func (p *profile) readValueType(message []byte) bool {
	t := valueType{absent, absent}
	r := wire.Read(message)
	for r.Next() {
		switch r.Number {
		case 1:
			t.name = textIndex(r.Int64())
		case 2:
			t.unit = textIndex(r.Int64())
		}
	}
	p.types = append(p.types, t)
	return !r.Bad()
}

func (p *profile) readSample(message []byte) bool {
	p.path, p.values = p.path[:0], p.values[:0]
	r := wire.Read(message)
	for r.Next() {
		switch r.Number {
		case 1:
			p.path = slices.AppendSeq(p.path, r.Varints)
		case 2:
			p.values = slices.AppendSeq(p.values, r.Varints)
		}
	}
	p.stacks.add(p.path, p.values)
	return !r.Bad()
}

func (p *profile) readMapping(message []byte) bool {
	m := mapping{file: absent, buildID: absent}
	r := wire.Read(message)
	for r.Next() {
		switch r.Number {
		case 1:
			m.id = r.Uint64()
		case 2:
			m.start = r.Uint64()
		case 3:
			m.limit = r.Uint64()
		case 4:
			m.offset = r.Uint64()
		case 5:
			m.file = textIndex(r.Int64())
		case 6:
			m.buildID = textIndex(r.Int64())
		}
	}
	if m.id == 0 {
		return false
	}
	p.mappings = append(p.mappings, m)
	return !r.Bad()
}

func (p *profile) readLocation(message []byte) bool {
	l := location{from: uint32(len(p.lines))}
	var id uint64
	r := wire.Read(message)
	ok := true
	for r.Next() {
		switch r.Number {
		case 1:
			id = r.Uint64()
		case 2:
			l.mapping = r.Uint64()
		case 3:
			l.address = r.Uint64()
		case 4:
			var at line
			inner := wire.Read(r.Bytes())
			for inner.Next() {
				switch inner.Number {
				case 1:
					at.function = inner.Uint64()
				case 2:
					at.number = inner.Int64()
				}
			}
			ok = ok && !inner.Bad()
			p.lines = append(p.lines, at)
		}
	}
	if id == 0 {
		return false
	}
	l.to, l.number = uint32(len(p.lines)), p.stacks.locations.of(id)
	p.locations = append(p.locations, l)
	return ok && !r.Bad()
}

func (p *profile) readFunction(message []byte) bool {
	var id uint64
	f := function{name: absent, file: absent}
	r := wire.Read(message)
	for r.Next() {
		switch r.Number {
		case 1:
			id = r.Uint64()
		case 2:
			f.name = textIndex(r.Int64())
		case 4:
			f.file = textIndex(r.Int64())
		case 5:
			f.startLine = r.Int64()
		}
	}
	if id == 0 {
		return false
	}
	p.functions[id] = f
	return !r.Bad()
}
