package metricsv1

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Build returns a message as a value of SQL: its type, a zero byte and its encoding. An empty message is an empty value, as
// in Trace Processor. args are names of fields and their values: nil, integers, reals, texts, messages and, for repeated
// fields, lists of these.
func (l *Library) Build(function string, args []any) ([]byte, error) {
	m := l.messages[strings.ToLower(function)]
	if m == nil {
		return nil, fmt.Errorf("%s builds no message", function)
	}
	if len(args)%2 != 0 {
		return nil, fmt.Errorf("%s: want names of fields and their values, not %d arguments", function, len(args))
	}
	var encoded []byte
	for i := 0; i < len(args); i += 2 {
		name, ok := args[i].(string)
		if !ok {
			return nil, fmt.Errorf("%s: argument %d is not the name of a field", function, i+1)
		}
		var err error
		if encoded, err = appendField(encoded, m, name, args[i+1]); err != nil {
			return nil, fmt.Errorf("%s: field %s: %w", function, name, err)
		}
	}
	if len(encoded) == 0 {
		return []byte{}, nil
	}
	return append(append([]byte(m.FullName()), 0), encoded...), nil
}

// appendField appends the values of a field to an encoded message.
func appendField(to []byte, m protoreflect.MessageDescriptor, name string, value any) ([]byte, error) {
	field := m.Fields().ByName(protoreflect.Name(name))
	if field == nil {
		return nil, fmt.Errorf("%s has no such field", m.FullName())
	}
	list, repeated := value.([]any)
	switch {
	case value == nil:
		return to, nil
	case !repeated && field.IsList():
		return nil, fmt.Errorf("it is repeated, but %v is one value", value)
	case repeated && !field.IsList():
		return nil, fmt.Errorf("it is not repeated, but there is a list")
	case !repeated:
		list = []any{value}
	}
	for _, v := range list {
		if v == nil {
			v = []byte{}
		}
		var err error
		if to, err = appendValue(to, field, v); err != nil {
			return nil, err
		}
	}
	return to, nil
}

func appendValue(to []byte, field protoreflect.FieldDescriptor, value any) ([]byte, error) {
	number := field.Number()
	switch kind := field.Kind(); kind {
	case protoreflect.StringKind:
		if text, ok := value.(string); ok {
			return protowire.AppendString(protowire.AppendTag(to, number, protowire.BytesType), text), nil
		}
	case protoreflect.MessageKind:
		encoded, err := content(value, field.Message())
		return protowire.AppendBytes(protowire.AppendTag(to, number, protowire.BytesType), encoded), err
	case protoreflect.DoubleKind, protoreflect.FloatKind:
		v, ok := real(value)
		switch {
		case !ok:
		case kind == protoreflect.FloatKind:
			return protowire.AppendFixed32(protowire.AppendTag(to, number, protowire.Fixed32Type), math.Float32bits(float32(v))), nil
		default:
			return protowire.AppendFixed64(protowire.AppendTag(to, number, protowire.Fixed64Type), math.Float64bits(v)), nil
		}
	case protoreflect.EnumKind:
		v := field.Enum().Values()
		var found protoreflect.EnumValueDescriptor
		if text, ok := value.(string); ok {
			found = v.ByName(protoreflect.Name(text))
		} else if n, ok := integer(value); ok && n >= math.MinInt32 && n <= math.MaxInt32 {
			found = v.ByNumber(protoreflect.EnumNumber(n))
		}
		if found != nil {
			return protowire.AppendVarint(protowire.AppendTag(to, number, protowire.VarintType), uint64(found.Number())), nil
		}
	default:
		if v, ok := integer(value); ok {
			return appendInteger(to, field, v)
		}
	}
	return nil, fmt.Errorf("%v (%T) is not of type %s", value, value, field.Kind())
}

// content returns the encoding of a message of this type.
func content(value any, m protoreflect.MessageDescriptor) ([]byte, error) {
	b, ok := value.([]byte)
	if !ok {
		return nil, fmt.Errorf("%v is not a message", value)
	}
	if len(b) == 0 {
		return b, nil
	}
	name, encoded, ok := bytes.Cut(b, []byte{0})
	if !ok || string(name) != string(m.FullName()) {
		return nil, fmt.Errorf("want a message %s, not %s", m.FullName(), name)
	}
	return encoded, nil
}

func appendInteger(to []byte, field protoreflect.FieldDescriptor, v int64) ([]byte, error) {
	number := field.Number()
	switch field.Kind() {
	case protoreflect.Int32Kind, protoreflect.Int64Kind, protoreflect.Uint32Kind, protoreflect.Uint64Kind, protoreflect.BoolKind:
		return protowire.AppendVarint(protowire.AppendTag(to, number, protowire.VarintType), uint64(v)), nil
	case protoreflect.Sint32Kind, protoreflect.Sint64Kind:
		return protowire.AppendVarint(protowire.AppendTag(to, number, protowire.VarintType), protowire.EncodeZigZag(v)), nil
	case protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind:
		return protowire.AppendFixed32(protowire.AppendTag(to, number, protowire.Fixed32Type), uint32(v)), nil
	case protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind:
		return protowire.AppendFixed64(protowire.AppendTag(to, number, protowire.Fixed64Type), uint64(v)), nil
	}
	return nil, fmt.Errorf("%d is not of type %s", v, field.Kind())
}

// integer returns the value of an integer, or of a real number that is one.
func integer(value any) (int64, bool) {
	switch v := value.(type) {
	case int8:
		return int64(v), true
	case int16:
		return int64(v), true
	case int32:
		return int64(v), true
	case int64:
		return v, true
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	case *big.Int:
		return v.Int64(), v.IsInt64()
	case float64:
		return int64(v), v == math.Trunc(v) && math.Abs(v) < 1<<63
	}
	return 0, false
}

func real(value any) (float64, bool) {
	switch v := value.(type) {
	case float64:
		return v, true
	case float32:
		return float64(v), true
	case interface{ Float64() float64 }: // a decimal
		return v.Float64(), true
	}
	v, ok := integer(value)
	return float64(v), ok
}
