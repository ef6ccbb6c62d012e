// Package pb writes protobuf messages.
package pb

import "encoding/binary"

// Message is a message under construction.
type Message []byte

// Number appends a field that is a number.
func (m Message) Number(field int, v uint64) Message {
	return binary.AppendUvarint(binary.AppendUvarint(m, uint64(field)<<3), v)
}

// Bytes appends a field that is a text, bytes or a message.
func (m Message) Bytes(field int, b []byte) Message {
	m = binary.AppendUvarint(binary.AppendUvarint(m, uint64(field)<<3|2), uint64(len(b)))
	return append(m, b...)
}

// Fixed64 appends a field of 64 bits.
func (m Message) Fixed64(field int, v uint64) Message {
	return binary.LittleEndian.AppendUint64(binary.AppendUvarint(m, uint64(field)<<3|1), v)
}
