// Package descriptor knows the message types of traces: the names and types of
// their fields, by which messages are turned into args. It has the types of
// Perfetto v58 and takes others from a trace that describes them.
package descriptor

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
	"math/bits"
	"strconv"
	"strings"
	"sync"

	"github.com/tpconvert/tpconvert/ingest/wire"
)

//go:generate go run ../internal/gendescriptor $PROTO_FIELDS $PROTO_ENUMS types.gz

//go:embed types.gz
var compressed []byte

// Type is the type of a field, numbered as in FieldDescriptorProto.
type Type uint8

// The types of fields.
const (
	Double   Type = 1
	Float    Type = 2
	Int64    Type = 3
	Uint64   Type = 4
	Int32    Type = 5
	Fixed64  Type = 6
	Fixed32  Type = 7
	Bool     Type = 8
	String   Type = 9
	Message  Type = 11
	Bytes    Type = 12
	Uint32   Type = 13
	Enum     Type = 14
	Sfixed32 Type = 15
	Sfixed64 Type = 16
	Sint32   Type = 17
	Sint64   Type = 18
)

var types = map[string]Type{
	"double": Double, "float": Float, "int64": Int64, "uint64": Uint64, "int32": Int32, "fixed64": Fixed64,
	"fixed32": Fixed32, "bool": Bool, "string": String, "message": Message, "bytes": Bytes, "uint32": Uint32,
	"enum": Enum, "sfixed32": Sfixed32, "sfixed64": Sfixed64, "sint32": Sint32, "sint64": Sint64,
}

// Field is a field of a message type.
type Field struct {
	Number    uint32
	Name      string
	Type      Type
	TypeName  string // of a message or enum, without a leading dot
	Repeated  bool
	Extension bool
	PID, TID  bool   // the number is a process or thread of the trace
	Flags     string // enum whose values are the bits of the number, or ""
}

// MessageType is a message type.
type MessageType struct {
	Name   string
	fields map[uint32]*Field
}

// Field returns the field with the number, or nil.
func (m *MessageType) Field(number uint32) *Field { return m.fields[number] }

// EnumType is an enum.
type EnumType struct {
	names map[int32]string
}

// Name returns the name of a value, "" if it has none.
func (e *EnumType) Name(value int32) string { return e.names[value] }

// Flags returns the names of the bits that are set in value, lowest first, and
// the bits that have none.
func (e *EnumType) Flags(value uint64) (names []string, rest uint64) {
	for v := value; v != 0; v &= v - 1 {
		bit := uint64(1) << bits.TrailingZeros64(v)
		if name := e.names[int32(bit)]; name != "" && bit < 1<<32 {
			names = append(names, name)
		} else {
			rest |= bit
		}
	}
	return names, rest
}

// Pool is a set of types. Types are decoded when they are asked for first. A pool
// is not safe for concurrent use.
type Pool struct {
	messages map[string]*MessageType
	enums    map[string]*EnumType
}

// New returns a pool of the types of Perfetto.
func New() *Pool {
	return &Pool{messages: map[string]*MessageType{}, enums: map[string]*EnumType{}}
}

// builtin are the lines of Perfetto's types, by name with "." before that of a
// message and "#" before that of an enum.
var builtin = sync.OnceValue(func() map[string]string {
	z, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		panic(err) // the table is part of the program
	}
	text, err := io.ReadAll(z)
	if err != nil {
		panic(err)
	}
	index := map[string]string{}
	for rest := string(text); rest != ""; {
		name, body, _ := strings.Cut(rest, "\n")
		end := 0
		for end < len(body) && body[end] != '.' && body[end] != '#' {
			end += strings.IndexByte(body[end:], '\n') + 1
		}
		index[name], rest = body[:end], body[end:]
	}
	return index
})

// Message returns the message type with the full name, or nil.
func (p *Pool) Message(name string) *MessageType {
	if m, ok := p.messages[name]; ok {
		return m
	}
	lines, ok := builtin()["."+name]
	if !ok {
		return nil
	}
	m := &MessageType{Name: name, fields: map[uint32]*Field{}}
	for line := range strings.Lines(lines) {
		f := parseField(strings.Split(strings.TrimSuffix(line, "\n"), " "))
		m.fields[f.Number] = f
	}
	p.messages[name] = m
	return m
}

// parseField decodes a line: number, name, type, marks, flags, type name, of
// which the last three may be missing or empty.
func parseField(words []string) *Field {
	number, _ := strconv.ParseUint(words[0], 10, 32)
	f := &Field{Number: uint32(number), Name: words[1], Type: types[words[2]]}
	if len(words) < 4 {
		return f
	}
	f.Extension = strings.Contains(words[3], "+")
	f.Repeated = strings.Contains(words[3], "*")
	f.PID = strings.Contains(words[3], "p")
	f.TID = strings.Contains(words[3], "t")
	if len(words) > 4 {
		if f.Type == Enum || f.Type == Message {
			f.TypeName = words[4]
		} else {
			f.Flags = words[4]
		}
	}
	return f
}

// Enum returns the enum with the full name, or nil.
func (p *Pool) Enum(name string) *EnumType {
	if e, ok := p.enums[name]; ok {
		return e
	}
	lines, ok := builtin()["#"+name]
	if !ok {
		return nil
	}
	e := &EnumType{names: map[int32]string{}}
	for line := range strings.Lines(lines) {
		number, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		n, _ := strconv.ParseInt(number, 10, 32)
		if _, alias := e.names[int32(n)]; !alias {
			e.names[int32(n)] = value
		}
	}
	p.enums[name] = e
	return e
}

// Add adds the types of a FileDescriptorSet. Types and fields that are known
// already stay as they are.
func (p *Pool) Add(set []byte) error {
	var extensions []extension
	files := wire.Read(set)
	for files.Next() {
		if files.Number != 1 {
			continue
		}
		var pkg string
		if f, ok := wire.Find(files.Bytes(), 2); ok {
			pkg = string(f.Bytes())
		}
		for f := wire.Read(files.Bytes()); f.Next(); {
			switch f.Number {
			case 4:
				p.addMessage(f.Bytes(), pkg, 0, &extensions)
			case 5:
				p.addEnum(f.Bytes(), pkg)
			case 7:
				extensions = append(extensions, extension{pkg, f.Bytes()})
			}
		}
	}
	for _, e := range extensions {
		f, extended := p.field(e.data, e.scope)
		m := p.Message(extended)
		if m == nil {
			return fmt.Errorf("extension %s of %s, which is not known", f.Name, extended)
		}
		f.Extension = true
		if m.fields[f.Number] == nil {
			m.fields[f.Number] = f
		}
	}
	if files.Bad() {
		return fmt.Errorf("a set of descriptors that is cut off")
	}
	return nil
}

type extension struct {
	scope string
	data  []byte
}

// maxNesting is how deep types may be declared in types.
const maxNesting = 64

func join(scope, name string) string {
	if scope == "" {
		return name
	}
	return scope + "." + name
}

func (p *Pool) addMessage(data []byte, scope string, depth int, extensions *[]extension) {
	if depth > maxNesting {
		return
	}
	name, _ := wire.Find(data, 1)
	full := join(scope, string(name.Bytes()))
	m := p.Message(full)
	if m == nil {
		m = &MessageType{Name: full, fields: map[uint32]*Field{}}
		p.messages[full] = m
	}
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case 3:
			p.addMessage(f.Bytes(), full, depth+1, extensions)
		case 4:
			p.addEnum(f.Bytes(), full)
		case 6:
			*extensions = append(*extensions, extension{full, f.Bytes()})
		}
	}
	for f := wire.Read(data); f.Next(); {
		if f.Number != 2 {
			continue
		}
		field, _ := p.field(f.Bytes(), full)
		if m.fields[field.Number] == nil {
			m.fields[field.Number] = field
		}
	}
}

func (p *Pool) addEnum(data []byte, scope string) {
	name, _ := wire.Find(data, 1)
	full := join(scope, string(name.Bytes()))
	e := p.Enum(full)
	if e == nil {
		e = &EnumType{names: map[int32]string{}}
		p.enums[full] = e
	}
	for f := wire.Read(data); f.Next(); {
		if f.Number != 2 {
			continue
		}
		value, _ := wire.Find(f.Bytes(), 1)
		number, _ := wire.Find(f.Bytes(), 2)
		if _, known := e.names[number.Int32()]; !known {
			e.names[number.Int32()] = string(value.Bytes())
		}
	}
}

// Fields of FieldOptions that say how a field is shown.
const (
	optionFlags = 73921
	optionPID   = 73922
	optionTID   = 73923
)

const labelRepeated = 3

// field decodes a FieldDescriptorProto and the message that it extends.
func (p *Pool) field(data []byte, scope string) (f *Field, extended string) {
	f = &Field{Type: Message}
	for r := wire.Read(data); r.Next(); {
		switch r.Number {
		case 1:
			f.Name = string(r.Bytes())
		case 2:
			extended = p.resolve(string(r.Bytes()), scope)
		case 3:
			f.Number = r.Uint32()
		case 4:
			f.Repeated = r.Int32() == labelRepeated
		case 5:
			f.Type = Type(r.Uint32())
		case 6:
			f.TypeName = p.resolve(string(r.Bytes()), scope)
		case 8:
			for o := wire.Read(r.Bytes()); o.Next(); {
				switch o.Number {
				case optionFlags:
					f.Flags = strings.TrimPrefix(string(o.Bytes()), ".")
				case optionPID:
					f.PID = o.Bool()
				case optionTID:
					f.TID = o.Bool()
				}
			}
		}
	}
	return f, extended
}

// resolve returns the full name of a type that is named in a scope.
func (p *Pool) resolve(name, scope string) string {
	if full, ok := strings.CutPrefix(name, "."); ok {
		return full
	}
	for {
		full := join(scope, name)
		if p.Message(full) != nil || p.Enum(full) != nil || scope == "" {
			return full
		}
		scope = scope[:max(0, strings.LastIndexByte(scope, '.'))]
	}
}
