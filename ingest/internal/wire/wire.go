// Package wire reads the wire format of protocol buffers: see Encoding in their
// documentation. Groups, which nothing uses, and lengths of 2 GiB and more are
// malformed.
package wire

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
)

// ErrMalformed says that no field can be read. Bytes that end within a field
// are io.ErrUnexpectedEOF instead.
var ErrMalformed = errors.New("malformed protobuf")

// Type is the type of a field on the wire.
type Type uint8

// The types of fields.
const (
	Varint  Type = 0
	Fixed64 Type = 1
	Bytes   Type = 2
	Fixed32 Type = 5
)

// Field is a field of a message.
type Field struct {
	Number int32
	Type   Type
	Uint   uint64 // value of a number, length of Bytes
	Bytes  []byte // text, bytes, message or packed numbers, nil if a number
}

// Int is the field as an int32, int64 or enum.
func (f *Field) Int() int64 { return int64(f.Uint) }

// AppendUints appends the varints of a repeated field, packed or not.
func (f *Field) AppendUints(to []uint64) ([]uint64, error) {
	switch f.Type {
	case Varint:
		return append(to, f.Uint), nil
	case Bytes:
		for b := f.Bytes; len(b) > 0; {
			v, n := Uvarint(b)
			if n <= 0 {
				return to, ErrMalformed
			}
			to, b = append(to, v), b[n:]
		}
		return to, nil
	}
	return to, ErrMalformed
}

// maxHead is how long a field without its Bytes can be.
const maxHead = 2 * binary.MaxVarintLen64

// readHead reads all but the Bytes of the field at the start of b and returns
// the length of that.
func (f *Field) readHead(b []byte) (int, error) {
	tag, n := Uvarint(b)
	if n <= 0 {
		return 0, varintError(n)
	}
	f.Number, f.Type, f.Bytes = int32(tag>>3), Type(tag&7), nil
	if number := tag >> 3; number == 0 || number >= 1<<29 {
		return 0, ErrMalformed
	}
	b = b[n:]
	switch f.Type {
	case Varint, Bytes:
		v, size := Uvarint(b)
		if size <= 0 {
			return 0, varintError(size)
		}
		if f.Type == Bytes && v > math.MaxInt32 {
			return 0, ErrMalformed
		}
		f.Uint = v
		return n + size, nil
	case Fixed32:
		if len(b) < 4 {
			return 0, io.ErrUnexpectedEOF
		}
		f.Uint = uint64(binary.LittleEndian.Uint32(b))
		return n + 4, nil
	case Fixed64:
		if len(b) < 8 {
			return 0, io.ErrUnexpectedEOF
		}
		f.Uint = binary.LittleEndian.Uint64(b)
		return n + 8, nil
	}
	return 0, ErrMalformed
}

// Uvarint returns the varint at the start of b and its length, which is 0 if b
// ends within it and -1 if it is longer than ten bytes. Bits past the 64th are
// dropped.
func Uvarint(b []byte) (uint64, int) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), 1
	}
	var v uint64
	for i, c := range b {
		if i == binary.MaxVarintLen64 {
			return 0, -1
		}
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			return v, i + 1
		}
	}
	if len(b) >= binary.MaxVarintLen64 {
		return 0, -1
	}
	return 0, 0
}

func varintError(n int) error {
	if n == 0 {
		return io.ErrUnexpectedEOF
	}
	return ErrMalformed
}

// Message walks the fields of a message in memory. After Next its Field is the
// current one.
type Message struct {
	Field
	rest []byte
	err  error
}

// Read returns the message encoded in b, before its first field.
func Read(b []byte) Message { return Message{rest: b} }

// Next moves to the next field. It returns false at the end of the message and
// where it cannot be read on; see Err.
func (m *Message) Next() bool {
	if len(m.rest) == 0 || m.err != nil {
		return false
	}
	n, err := m.readHead(m.rest)
	if err != nil {
		m.err = err
		return false
	}
	m.rest = m.rest[n:]
	if m.Type == Bytes {
		if m.Uint > uint64(len(m.rest)) {
			m.err = io.ErrUnexpectedEOF
			return false
		}
		m.Bytes, m.rest = m.rest[:m.Uint:m.Uint], m.rest[m.Uint:]
	}
	return true
}

// Err is why the message could not be read to its end, or nil.
func (m *Message) Err() error { return m.err }

// Stream walks the fields of a message that is too large for memory, such as
// one that is a whole file. After Next its Field is the current one, until the
// next call.
type Stream struct {
	Field
	Offset int64 // of the field, in bytes

	r      *bufio.Reader
	next   int64 // offset of the next field
	peeked int   // bytes of the reader that Field has
	large  bytes.Buffer
	err    error
}

// NewStream returns the message that r reads, before its first field.
func NewStream(r io.Reader) *Stream {
	return &Stream{r: bufio.NewReaderSize(r, 64<<10)}
}

// Next moves to the next field. It returns false at the end of the message and
// where it cannot be read on; see Err.
func (s *Stream) Next() bool {
	if s.err == nil {
		s.err = s.read()
	}
	return s.err == nil
}

// Err is why the message could not be read to its end, or nil.
func (s *Stream) Err() error {
	if s.err == io.EOF {
		return nil
	}
	return s.err
}

func (s *Stream) read() error {
	s.skip(s.peeked)
	s.peeked, s.Offset = 0, s.next
	head, err := s.r.Peek(maxHead)
	if len(head) == 0 {
		return err
	}
	n, malformed := s.readHead(head)
	if malformed != nil {
		if malformed == io.ErrUnexpectedEOF && err != io.EOF {
			return err
		}
		return malformed
	}
	s.skip(n)
	switch {
	case s.Type != Bytes:
		return nil
	case s.Uint <= uint64(s.r.Size()):
		s.peeked = int(s.Uint)
		s.Bytes, err = s.r.Peek(s.peeked)
	default:
		// The buffer grows as the bytes come: the length may lie.
		s.large.Reset()
		var n int64
		n, err = io.CopyN(&s.large, s.r, int64(s.Uint))
		s.next += n
		s.Bytes = s.large.Bytes()
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// skip discards bytes that are in the reader's buffer.
func (s *Stream) skip(n int) {
	s.r.Discard(n)
	s.next += int64(n)
}
