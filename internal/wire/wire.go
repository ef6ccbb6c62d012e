// Package wire reads the wire format of protocol buffers
// (https://protobuf.dev/programming-guides/encoding) in place, field by field. It
// never panics: reading a truncated or malformed message ends at the first field
// that cannot be read.
//
//	for r := wire.Read(message); r.Next(); {
//		switch r.Number {
//		case 1:
//			id = r.Uint64()
//		case 2:
//			name = r.Bytes()
//		}
//	}
package wire

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// Type is the encoding of a field.
type Type uint8

// The wire types. Groups are not supported; they end a message.
const (
	Varint  Type = 0
	Fixed64 Type = 1
	Bytes   Type = 2
	Fixed32 Type = 5
)

// MaxVarint is the size in bytes of the longest varint.
const MaxVarint = 10

// Field is one field of a message. Its methods return the value as the field's
// declared type, or zero if the encoding does not match.
type Field struct {
	Number uint32
	Type   Type
	value  uint64
	data   []byte
}

// NewField returns a numeric field, for example one value of a packed field.
func NewField(number uint32, t Type, value uint64) Field {
	return Field{Number: number, Type: t, value: value}
}

// ScannedField returns the field in b for which Scan returned tag, v and next.
func ScannedField(b []byte, tag, v uint64, next int) Field {
	f := Field{Number: uint32(tag >> 3), Type: Type(tag & 7), value: v}
	if f.Type == Bytes {
		f.value, f.data = 0, b[next-int(v):next:next]
	}
	return f
}

// Reader reads the fields of a message in order.
type Reader struct {
	Field
	rest []byte
	bad  bool
}

// Read returns a reader before the first field of the message.
func Read(message []byte) Reader { return Reader{rest: message} }

// Next reads the next field and reports whether there is one.
func (r *Reader) Next() bool {
	b := r.rest
	if len(b) == 0 {
		return false
	}
	tag := uint64(b[0])
	n := 1
	if tag >= 0x80 {
		tag, n = Uvarint(b)
	}
	if n <= 0 || tag>>3 == 0 || tag>>3 > math.MaxUint32 {
		return r.fail()
	}
	b = b[n:]
	r.Number, r.Type, r.data = uint32(tag>>3), Type(tag&7), nil
	switch r.Type {
	case Varint:
		if len(b) > 0 && b[0] < 0x80 {
			r.value, r.rest = uint64(b[0]), b[1:]
			return true
		}
		v, n := Uvarint(b)
		if n <= 0 {
			return r.fail()
		}
		r.value, r.rest = v, b[n:]
	case Bytes:
		var size uint64
		n := 1
		if len(b) > 0 && b[0] < 0x80 {
			size = uint64(b[0])
		} else if size, n = Uvarint(b); n <= 0 {
			return r.fail()
		}
		b = b[n:]
		if size > uint64(len(b)) {
			return r.fail()
		}
		r.data, r.rest = b[:size:size], b[size:]
	case Fixed64:
		if len(b) < 8 {
			return r.fail()
		}
		r.value, r.rest = binary.LittleEndian.Uint64(b), b[8:]
	case Fixed32:
		if len(b) < 4 {
			return r.fail()
		}
		r.value, r.rest = uint64(binary.LittleEndian.Uint32(b)), b[4:]
	default:
		return r.fail()
	}
	return true
}

// Scan reads the field of b at i. It returns the field's tag, which is its number
// times 8 plus its type; its value, which for Bytes is the size of the data that
// ends at next; and the offset of the next field, or -1 if the field cannot be
// read. It is meant for fast loops that need only a few fields:
//
//	for i := 0; i < len(b); {
//		tag, v, next := wire.Scan(b, i)
//		if next < 0 {
//			break
//		}
//		switch i = next; tag {
//		case 1<<3 | uint64(wire.Varint):
//			id = v
//		case 2<<3 | uint64(wire.Bytes):
//			name = b[i-int(v) : i]
//		}
//	}
func Scan(b []byte, i int) (tag, v uint64, next int) {
	// Most fields have a one-byte tag, and a one-byte number or size.
	if i+1 < len(b) && b[i] < 0x80 && b[i] >= 1<<3 && b[i+1] < 0x80 {
		tag, v, next = uint64(b[i]), uint64(b[i+1]), i+2
		switch Type(tag & 7) {
		case Varint:
			return tag, v, next
		case Bytes:
			if next += int(v); next <= len(b) {
				return tag, v, next
			}
		}
	}
	return scan(b, i)
}

func scan(b []byte, i int) (tag, v uint64, next int) {
	tag, i = varint(b, i)
	if i < 0 || tag>>3 == 0 || tag>>3 > math.MaxUint32 {
		return 0, 0, -1
	}
	switch Type(tag & 7) {
	case Varint:
		v, i = varint(b, i)
		return tag, v, i
	case Bytes:
		v, i = varint(b, i)
		if i < 0 || v > uint64(len(b)-i) {
			return 0, 0, -1
		}
		return tag, v, i + int(v)
	case Fixed64:
		if len(b)-i >= 8 {
			return tag, binary.LittleEndian.Uint64(b[i:]), i + 8
		}
	case Fixed32:
		if len(b)-i >= 4 {
			return tag, uint64(binary.LittleEndian.Uint32(b[i:])), i + 4
		}
	}
	return 0, 0, -1
}

// varint reads the varint of b at i, and returns its value and its end, or -1.
func varint(b []byte, i int) (v uint64, end int) {
	if uint(i) < uint(len(b)) && b[i] < 0x80 {
		return uint64(b[i]), i + 1
	}
	return longVarint(b, i)
}

func longVarint(b []byte, i int) (v uint64, end int) {
	if i+1 < len(b) && b[i+1] < 0x80 {
		return uint64(b[i]&0x7f) | uint64(b[i+1])<<7, i + 2
	}
	v, n := Uvarint(b[i:])
	if n <= 0 {
		return 0, -1
	}
	return v, i + n
}

func (r *Reader) fail() bool {
	r.bad, r.rest = true, nil
	return false
}

// Bad reports whether reading ended before the end of the message.
func (r *Reader) Bad() bool { return r.bad }

// Uvarint decodes a varint at the start of b and returns its value and its size in
// bytes. The size is 0 if b is too short, and negative if the varint is too long.
// A ten-byte varint is truncated to 64 bits.
func Uvarint(b []byte) (uint64, int) {
	if len(b) >= 8 {
		w := binary.LittleEndian.Uint64(b)
		if ends := ^w & 0x8080808080808080; ends != 0 {
			// Drop the bytes after the first one without a high bit, then pack the
			// groups of seven bits pairwise.
			w &= ends - 1 ^ ends
			w = w&0x007f007f007f007f | w&0x7f007f007f007f00>>1
			w = w&0x00003fff00003fff | w&0x3fff00003fff0000>>2
			w = w&0x000000000fffffff | w&0x0fffffff00000000>>4
			return w, bits.TrailingZeros64(ends)/8 + 1
		}
	}
	var v uint64
	for i, c := range b {
		if i == MaxVarint {
			return 0, -1
		}
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			return v, i + 1
		}
	}
	if len(b) >= MaxVarint {
		return 0, -1
	}
	return 0, 0
}

// Bytes returns the value of a bytes, string or message field.
func (f *Field) Bytes() []byte { return f.data }

// Uint64 returns the value of a uint64, fixed64 or fixed32 field.
func (f *Field) Uint64() uint64 {
	if f.Type == Bytes {
		return 0
	}
	return f.value
}

// Int64 returns the value of an int64 or sfixed64 field.
func (f *Field) Int64() int64 { return int64(f.Uint64()) }

// Uint32 returns the value of a uint32 or fixed32 field.
func (f *Field) Uint32() uint32 { return uint32(f.Uint64()) }

// Int32 returns the value of an int32, sfixed32 or enum field.
func (f *Field) Int32() int32 { return int32(f.Uint64()) }

// Bool returns the value of a bool field.
func (f *Field) Bool() bool { return f.Uint64() != 0 }

// Sint64 returns the value of a sint32 or sint64 field.
func (f *Field) Sint64() int64 { return ZigZag(f.Uint64()) }

// Float64 returns the value of a double or float field.
func (f *Field) Float64() float64 {
	switch f.Type {
	case Fixed64:
		return math.Float64frombits(f.value)
	case Fixed32:
		return float64(math.Float32frombits(uint32(f.value)))
	}
	return 0
}

// ZigZag decodes a number whose sign is in the lowest bit.
func ZigZag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

// Varints yields the values of a repeated varint field, packed or not.
func (f *Field) Varints(yield func(uint64) bool) {
	if f.Type != Bytes {
		yield(f.value)
		return
	}
	for b := f.data; len(b) > 0; {
		v, n := Uvarint(b)
		if n <= 0 || !yield(v) {
			return
		}
		b = b[n:]
	}
}

// AppendVarints appends the values of a repeated varint field, packed or not.
func (f *Field) AppendVarints(to []uint64) []uint64 {
	if f.Type != Bytes {
		return append(to, f.value)
	}
	for b := f.data; len(b) > 0; {
		if b[0] < 0x80 {
			to, b = append(to, uint64(b[0])), b[1:]
			continue
		}
		v, n := Uvarint(b)
		if n <= 0 {
			break
		}
		to, b = append(to, v), b[n:]
	}
	return to
}

// Fixed yields the values of a repeated fixed64 or fixed32 field, packed or not.
// size is 8 or 4 bytes.
func (f *Field) Fixed(size int) func(yield func(uint64) bool) {
	return func(yield func(uint64) bool) {
		if f.Type != Bytes {
			yield(f.value)
			return
		}
		for b := f.data; len(b) >= size; b = b[size:] {
			v := uint64(0)
			if size == 8 {
				v = binary.LittleEndian.Uint64(b)
			} else {
				v = uint64(binary.LittleEndian.Uint32(b))
			}
			if !yield(v) {
				return
			}
		}
	}
}

// Find returns the first field of the message with this number.
func Find(message []byte, number uint32) (Field, bool) {
	for r := Read(message); r.Next(); {
		if r.Number == number {
			return r.Field, true
		}
	}
	return Field{}, false
}
