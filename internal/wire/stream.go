package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math"
)

// ErrMalformed is the error for a field that cannot be read.
var ErrMalformed = errors.New("malformed protobuf")

// Stream reads the fields of a message that may be larger than memory, such as a
// whole file. Each field must fit in memory.
type Stream struct {
	Field        // valid until the next call of Next
	Offset int64 // offset of the field in the message, bytes
	// Open reports whether the fields of a message with this number are read one by one, after the
	// message itself, which has no data then. nil means none. A message in which others are read may be
	// larger than memory.
	Open func(number uint32) bool

	r     *bufio.Reader
	size  int          // bytes of the field, which is in r's buffer
	large bytes.Buffer // holds fields larger than r's buffer
	end   int64        // of the field in the message, bytes
	err   error
}

// NewStream returns a stream before the first field of the message in r.
func NewStream(r io.Reader) *Stream {
	return &Stream{r: bufio.NewReaderSize(r, 64<<10)}
}

// Next reads the next field and reports whether there is one.
func (s *Stream) Next() bool {
	if s.err == nil {
		s.err = s.read()
	}
	return s.err == nil
}

// End returns the offset of the end of the field, also of one that is opened.
func (s *Stream) End() int64 { return s.end }

// Position returns the offset of what Next reads next.
func (s *Stream) Position() int64 { return s.Offset + int64(s.size+s.large.Len()) }

// Err returns why reading stopped before the end of the message, or nil:
// io.ErrUnexpectedEOF inside a field, ErrMalformed, or the reader's error.
func (s *Stream) Err() error {
	if s.err == io.EOF {
		return nil
	}
	return s.err
}

func (s *Stream) read() error {
	s.r.Discard(s.size)
	s.Offset += int64(s.size + s.large.Len())
	s.size = 0
	s.large.Reset()

	const maxHead = 2 * MaxVarint // a tag and a number, or a tag and a length
	field, err := s.r.Peek(maxHead)
	if len(field) == 0 {
		return err
	}
	size := fieldSize(field)
	s.end = s.Offset + int64(min(size, math.MaxInt64/2))
	if size > 0 && s.Open != nil {
		if tag, n := Uvarint(field); s.Open(uint32(tag >> 3)) {
			_, m := Uvarint(field[n:])
			s.Field, s.size = Field{Number: uint32(tag >> 3), Type: Bytes}, n+m
			return nil
		}
	}
	if size > uint64(s.r.Size()) {
		if size > math.MaxInt32 { // protobuf's own limit
			return ErrMalformed
		}
		// The buffer grows only as bytes arrive, because the length may be
		// wrong.
		_, err = io.CopyN(&s.large, s.r, int64(size))
		field = s.large.Bytes()
	} else if size > uint64(len(field)) {
		field, err = s.r.Peek(int(size))
	}
	r := Read(field)
	switch {
	case r.Next():
		s.Field = r.Field
		if s.large.Len() == 0 {
			s.size = len(field) - len(r.rest)
		}
		s.end = s.Offset + int64(s.size+s.large.Len())
		return nil
	case err == io.EOF:
		return io.ErrUnexpectedEOF
	case err != nil:
		return err
	}
	return ErrMalformed
}

// fieldSize returns the size in bytes of the field that starts with head. It
// returns 0 for a malformed field, and for types without a length, which are no
// longer than head.
func fieldSize(head []byte) uint64 {
	tag, n := Uvarint(head)
	if n <= 0 || Type(tag&7) != Bytes {
		return 0
	}
	size, m := Uvarint(head[n:])
	if m <= 0 {
		return 0
	}
	return min(size, math.MaxInt64) + uint64(n+m)
}
