package rpc

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// message is an encoded message that is being written.
type message []byte

func (m *message) bytes(field protowire.Number, v []byte) {
	*m = protowire.AppendBytes(protowire.AppendTag(*m, field, protowire.BytesType), v)
}

func (m *message) text(field protowire.Number, v string) {
	*m = protowire.AppendString(protowire.AppendTag(*m, field, protowire.BytesType), v)
}

func (m *message) integer(field protowire.Number, v int64) {
	*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.VarintType), uint64(v))
}

func (m *message) truth(field protowire.Number, v bool) {
	m.integer(field, int64(protowire.EncodeBool(v)))
}

func (m *message) real(field protowire.Number, v float64) {
	*m = protowire.AppendFixed64(protowire.AppendTag(*m, field, protowire.Fixed64Type), math.Float64bits(v))
}

// failure returns a message with nothing but the text of an error, if there is one.
func failure(field protowire.Number, err error) message {
	var m message
	if err != nil {
		m.text(field, err.Error())
	}
	return m
}

// field is a field of a message being read. It has a value or data, by type.
type field struct {
	number protowire.Number
	value  uint64
	data   []byte
}

// text returns the bytes of a field as text.
func (f field) text() string { return string(f.data) }

// fields calls each with every field of an encoded message, except groups.
func fields(encoded []byte, each func(field)) error {
	for len(encoded) > 0 {
		number, kind, n := protowire.ConsumeTag(encoded)
		if n < 0 {
			return protowire.ParseError(n)
		}
		encoded = encoded[n:]
		f := field{number: number}
		switch kind {
		case protowire.VarintType:
			f.value, n = protowire.ConsumeVarint(encoded)
		case protowire.Fixed64Type:
			f.value, n = protowire.ConsumeFixed64(encoded)
		case protowire.BytesType:
			f.data, n = protowire.ConsumeBytes(encoded)
		default:
			n = protowire.ConsumeFieldValue(number, kind, encoded)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		encoded = encoded[n:]
		if kind != protowire.StartGroupType {
			each(f)
		}
	}
	return nil
}
