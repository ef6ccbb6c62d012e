package metrics

import (
	"google.golang.org/protobuf/reflect/protoreflect"
)

// node is a message of a spec. Fields are read by name; one that is not set has its default value.
type node struct{ protoreflect.Message }

func (n node) field(name string) protoreflect.FieldDescriptor {
	return n.Descriptor().Fields().ByName(protoreflect.Name(name))
}

func (n node) has(name string) bool    { return n.Has(n.field(name)) }
func (n node) text(name string) string { return n.Get(n.field(name)).String() }
func (n node) integer(name string) int64 {
	return n.Get(n.field(name)).Int()
}
func (n node) real(name string) float64 { return n.Get(n.field(name)).Float() }
func (n node) truth(name string) bool   { return n.Get(n.field(name)).Bool() }
func (n node) message(name string) node { return node{n.Get(n.field(name)).Message()} }

// enum returns the name of an enum's value.
func (n node) enum(name string) string {
	f := n.field(name)
	if v := f.Enum().Values().ByNumber(n.Get(f).Enum()); v != nil {
		return string(v.Name())
	}
	return ""
}

// values returns the values of a repeated field.
func (n node) values(name string) []protoreflect.Value {
	list := n.Get(n.field(name)).List()
	values := make([]protoreflect.Value, list.Len())
	for i := range values {
		values[i] = list.Get(i)
	}
	return values
}

func (n node) texts(name string) (all []string) {
	for _, v := range n.values(name) {
		all = append(all, v.String())
	}
	return all
}

func (n node) messages(name string) (all []node) {
	for _, v := range n.values(name) {
		all = append(all, node{v.Message()})
	}
	return all
}

// which returns the name of the field of a oneof that is set, or "".
func (n node) which(oneof string) string {
	if f := n.WhichOneof(n.Descriptor().Oneofs().ByName(protoreflect.Name(oneof))); f != nil {
		return string(f.Name())
	}
	return ""
}

// set sets a field, and returns n.
func (n node) set(name string, value any) node {
	n.Set(n.field(name), protoreflect.ValueOf(value))
	return n
}

// add appends a message to a repeated field and returns it.
func (n node) add(name string) node {
	return node{n.Mutable(n.field(name)).List().AppendMutable().Message()}
}

// make sets a field to an empty message and returns it.
func (n node) make(name string) node { return node{n.Mutable(n.field(name)).Message()} }

// take sets a field to its value in another message, if it is set there.
func (n node) take(name string, from node) {
	switch f := n.field(name); {
	case !from.has(name):
	case f.IsList():
		to := n.Mutable(f).List()
		for _, v := range from.values(name) {
			to.Append(v)
		}
	default:
		n.Set(f, from.Get(from.field(name)))
	}
}
