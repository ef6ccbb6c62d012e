// Package descriptor holds the message types of traces: the names and types of their
// fields, which are needed to turn messages into args. It contains Perfetto's types and
// adds those that a trace describes.
package descriptor

import (
	"bytes"
	"fmt"
	"maps"
	"math/bits"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/tpconvert/tpconvert/internal/perfetto"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
)

// Type is the type of a field.
type Type = descriptorpb.FieldDescriptorProto_Type

// The types of fields.
const (
	Double   = descriptorpb.FieldDescriptorProto_TYPE_DOUBLE
	Float    = descriptorpb.FieldDescriptorProto_TYPE_FLOAT
	Int64    = descriptorpb.FieldDescriptorProto_TYPE_INT64
	Uint64   = descriptorpb.FieldDescriptorProto_TYPE_UINT64
	Int32    = descriptorpb.FieldDescriptorProto_TYPE_INT32
	Fixed64  = descriptorpb.FieldDescriptorProto_TYPE_FIXED64
	Fixed32  = descriptorpb.FieldDescriptorProto_TYPE_FIXED32
	Bool     = descriptorpb.FieldDescriptorProto_TYPE_BOOL
	String   = descriptorpb.FieldDescriptorProto_TYPE_STRING
	Message  = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE
	Bytes    = descriptorpb.FieldDescriptorProto_TYPE_BYTES
	Uint32   = descriptorpb.FieldDescriptorProto_TYPE_UINT32
	Enum     = descriptorpb.FieldDescriptorProto_TYPE_ENUM
	Sfixed32 = descriptorpb.FieldDescriptorProto_TYPE_SFIXED32
	Sfixed64 = descriptorpb.FieldDescriptorProto_TYPE_SFIXED64
	Sint32   = descriptorpb.FieldDescriptorProto_TYPE_SINT32
	Sint64   = descriptorpb.FieldDescriptorProto_TYPE_SINT64
)

// Field is a field of a message type.
type Field struct {
	Number    uint32
	Name      string
	Type      Type
	TypeName  string // of a message or enum, without a leading dot
	Repeated  bool
	Extension bool
	PID, TID  bool   // the number identifies a process or thread of the trace
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

// Name returns the name of a value, or "" if it has none.
func (e *EnumType) Name(value int32) string { return e.names[value] }

// Flags returns the names of the bits that are set in value, lowest first, and the bits
// without a name.
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

// Pool is a set of types. A type is decoded when it is first used. A pool is not safe
// for concurrent use.
type Pool struct {
	declared *declarations // those built in, until some are added
	atoms    bool          // has those of statsd
	messages map[string]*MessageType
	enums    map[string]*EnumType
}

// New returns a pool of Perfetto's types.
func New() *Pool {
	return &Pool{declared: builtin(), messages: map[string]*MessageType{}, enums: map[string]*EnumType{}}
}

// decoded are the types built in that were used, for all pools.
var decoded struct {
	sync.Mutex
	messages map[string]map[uint32]*Field
	enums    map[string]map[int32]string
}

// declarations are encoded descriptors. A type may be declared in parts. If they
// disagree, the first counts.
type declarations struct {
	messages   map[string][][]byte // DescriptorProto, by full name
	enums      map[string][][]byte // EnumDescriptorProto
	extensions map[string][]extension
}

// extension is a FieldDescriptorProto, in the scope of a package or message.
type extension struct {
	scope string
	data  []byte
}

var builtin = sync.OnceValue(func() *declarations {
	d := &declarations{map[string][][]byte{}, map[string][][]byte{}, map[string][]extension{}}
	for _, e := range d.read(perfetto.Descriptors()) {
		field, _ := decode(e.data) // built in, so it cannot fail
		d.extend(strings.TrimPrefix(field.GetExtendee(), "."), e)
	}
	return d
})

func (d *declarations) clone() *declarations {
	return &declarations{maps.Clone(d.messages), maps.Clone(d.enums), maps.Clone(d.extensions)}
}

func (d *declarations) extend(message string, e extension) {
	all := d.extensions[message]
	d.extensions[message] = append(all[:len(all):len(all)], e) // a clone shares its array with others
}

// read finds the types that a FileDescriptorSet declares, and returns extensions.
func (d *declarations) read(set []byte) (extensions []extension) {
	for files := wire.Read(set); files.Next(); {
		if files.Number != pb.FileDescriptorSet_File {
			continue
		}
		var pkg string
		if f, ok := wire.Find(files.Bytes(), pb.FileDescriptorProto_Package); ok {
			pkg = string(f.Bytes())
		}
		for f := wire.Read(files.Bytes()); f.Next(); {
			switch f.Number {
			case pb.FileDescriptorProto_MessageType:
				d.message(f.Bytes(), pkg, 0, &extensions)
			case pb.FileDescriptorProto_EnumType:
				d.enum(f.Bytes(), pkg)
			case pb.FileDescriptorProto_Extension:
				extensions = append(extensions, extension{pkg, f.Bytes()})
			}
		}
	}
	return extensions
}

// maxNesting limits how deep type declarations may be nested.
const maxNesting = 64

func (d *declarations) message(data []byte, scope string, depth int, extensions *[]extension) {
	if depth > maxNesting {
		return
	}
	name, _ := wire.Find(data, pb.DescriptorProto_Name)
	full := join(scope, string(name.Bytes()))
	known := d.messages[full]
	d.messages[full] = append(known[:len(known):len(known)], data)
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case pb.DescriptorProto_NestedType:
			d.message(f.Bytes(), full, depth+1, extensions)
		case pb.DescriptorProto_EnumType:
			d.enum(f.Bytes(), full)
		case pb.DescriptorProto_Extension:
			*extensions = append(*extensions, extension{full, f.Bytes()})
		}
	}
}

func (d *declarations) enum(data []byte, scope string) {
	name, _ := wire.Find(data, pb.EnumDescriptorProto_Name)
	full := join(scope, string(name.Bytes()))
	known := d.enums[full]
	d.enums[full] = append(known[:len(known):len(known)], data)
}

func join(scope, name string) string {
	if scope == "" {
		return name
	}
	return scope + "." + name
}

// resolve returns the full name of a type referred to within a scope.
func (d *declarations) resolve(name, scope string) string {
	if full, ok := strings.CutPrefix(name, "."); ok {
		return full
	}
	for {
		full := join(scope, name)
		if d.messages[full] != nil || d.enums[full] != nil || scope == "" {
			return full
		}
		scope = scope[:max(0, strings.LastIndexByte(scope, '.'))]
	}
}

// atomPackage has the types of statsd.
const atomPackage = "android.os.statsd"

// Atom returns the type of statsd's atoms.
func (p *Pool) Atom() *MessageType {
	if !p.atoms {
		p.atoms = true
		if err := p.Add(perfetto.Atoms()); err != nil {
			panic(err) // built in
		}
	}
	return p.Message(atomPackage + ".Atom")
}

// Add adds the types of a FileDescriptorSet. Known types and fields do not change.
func (p *Pool) Add(set []byte) error {
	if bytes.Contains(set, []byte(atomPackage)) {
		p.Atom() // before what may extend it
	}
	var all descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(set, &all); err != nil {
		return fmt.Errorf("descriptor set: %w", err)
	}
	if p.declared == builtin() {
		p.declared = p.declared.clone()
	}
	for _, e := range p.declared.read(set) {
		field, err := decode(e.data)
		if err != nil {
			return err
		}
		extended := p.declared.resolve(field.GetExtendee(), e.scope)
		if p.declared.messages[extended] == nil {
			return fmt.Errorf("extension %s of unknown type %s", field.GetName(), extended)
		}
		p.declared.extend(extended, e)
	}
	for _, m := range p.messages {
		m.fields = maps.Clone(m.fields) // which other pools may share
		p.declared.fill(m.Name, m.fields)
	}
	for name, e := range p.enums {
		e.names = maps.Clone(e.names)
		p.declared.fillEnum(name, e.names)
	}
	return nil
}

// Message returns the message type with the full name, or nil.
func (p *Pool) Message(name string) *MessageType {
	if m, ok := p.messages[name]; ok {
		return m
	}
	if p.declared.messages[name] == nil {
		return nil
	}
	m := &MessageType{Name: name, fields: use(p, &decoded.messages, name, (*declarations).fill)}
	p.messages[name] = m
	return m
}

// use returns the members of a type, decoded by fill. All pools share those of the types built
// in, which then do not change.
func use[K comparable, V any](p *Pool, shared *map[string]map[K]V, name string, fill func(*declarations, string, map[K]V)) map[K]V {
	if p.declared == builtin() {
		decoded.Lock()
		defer decoded.Unlock()
		if *shared == nil {
			*shared = map[string]map[K]V{}
		}
		if members, ok := (*shared)[name]; ok {
			return members
		}
	}
	members := map[K]V{}
	fill(p.declared, name, members)
	if p.declared == builtin() {
		(*shared)[name] = members
	}
	return members
}

// fill adds all declared fields of a message.
func (d *declarations) fill(message string, fields map[uint32]*Field) {
	for _, data := range d.messages[message] {
		for f := wire.Read(data); f.Next(); {
			if f.Number == pb.DescriptorProto_Field {
				d.add(fields, f.Bytes(), message, false)
			}
		}
	}
	for _, e := range d.extensions[message] {
		d.add(fields, e.data, e.scope, true)
	}
}

// add adds a field unless there is one with its number.
func (d *declarations) add(fields map[uint32]*Field, data []byte, scope string, extension bool) {
	declared, err := decode(data)
	if err != nil || fields[uint32(declared.GetNumber())] != nil {
		return
	}
	f := &Field{
		Number:    uint32(declared.GetNumber()),
		Name:      declared.GetName(),
		Type:      Message, // a type name without a type means a message, unless it names an enum
		Repeated:  declared.GetLabel() == descriptorpb.FieldDescriptorProto_LABEL_REPEATED,
		Extension: extension,
	}
	if declared.Type != nil {
		f.Type = declared.GetType()
	}
	if declared.TypeName != nil {
		f.TypeName = d.resolve(declared.GetTypeName(), scope)
	}
	// The options are extensions, which the library leaves encoded.
	for o := wire.Read(declared.GetOptions().ProtoReflect().GetUnknown()); o.Next(); {
		switch o.Number {
		case pb.FlagsEnum:
			f.Flags = strings.TrimPrefix(string(o.Bytes()), ".")
		case pb.IsPID:
			f.PID = o.Bool()
		case pb.IsTID:
			f.TID = o.Bool()
		}
	}
	fields[f.Number] = f
}

func decode(field []byte) (*descriptorpb.FieldDescriptorProto, error) {
	d := new(descriptorpb.FieldDescriptorProto)
	return d, proto.Unmarshal(field, d)
}

// Enum returns the enum with the full name, or nil.
func (p *Pool) Enum(name string) *EnumType {
	if e, ok := p.enums[name]; ok {
		return e
	}
	if p.declared.enums[name] == nil {
		return nil
	}
	e := &EnumType{names: use(p, &decoded.enums, name, (*declarations).fillEnum)}
	p.enums[name] = e
	return e
}

// fillEnum adds all declared values of an enum. If several have the same number, the first
// counts.
func (d *declarations) fillEnum(enum string, names map[int32]string) {
	for _, data := range d.enums[enum] {
		declared := new(descriptorpb.EnumDescriptorProto)
		if proto.Unmarshal(data, declared) != nil {
			continue // the rest of the set is known
		}
		for _, v := range declared.GetValue() {
			if _, alias := names[v.GetNumber()]; !alias {
				names[v.GetNumber()] = v.GetName()
			}
		}
	}
}
