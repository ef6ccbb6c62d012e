package jsonlex

import (
	"bytes"
	"errors"
	"io"
)

const (
	// The buffer begins small, because an archive may have thousands of small files, and
	// grows up to readBytes, or to the size of a value.
	firstBytes = 64 << 10
	readBytes  = 1 << 20
	// MaxValue is the maximum size in bytes of a value that must be in memory as a
	// whole.
	MaxValue = 32 << 20
)

var (
	// ErrTruncated is the error for an input whose end is missing.
	ErrTruncated = errors.New("truncated")
	// ErrTooLarge is the error for a value of more than MaxValue bytes.
	ErrTooLarge = errors.New("larger than 32 MiB")
)

// Reader is a lexer whose buffer moves over an input.
type Reader struct {
	Lexer
	Base int64 // bytes of the input before Buf[0]
	EOF  bool  // the buffer ends at the end of the input
	in   io.Reader
}

// NewReader returns a reader for the input.
func NewReader(in io.Reader) Reader { return Reader{in: in} }

// Offset returns the offset of the position in the input, in bytes.
func (r *Reader) Offset() int64 { return r.Base + int64(r.Pos) }

// More reads more input. It keeps the buffer from the position on, which moves to the
// start of the buffer. It returns ErrTruncated at the end of the input.
func (r *Reader) More() error {
	if r.EOF {
		return ErrTruncated
	}
	space := r.Buf
	if size := cap(space); len(r.Buf)-r.Pos == size || size < readBytes {
		size = max(2*(len(r.Buf)-r.Pos), min(4*size, readBytes), firstBytes)
		space = make([]byte, 0, min(size, MaxValue))
	}
	return r.MoreInto(space)
}

// MoreInto reads more input as More does, but into the memory of space unless the rest of the
// buffer fills that. The buffer's memory stays as it was.
func (r *Reader) MoreInto(space []byte) error {
	if r.EOF {
		return ErrTruncated
	}
	rest := r.Buf[r.Pos:]
	if len(rest) >= cap(space) {
		space = make([]byte, 0, min(2*len(rest), MaxValue))
	}
	r.Base += int64(r.Pos)
	r.Buf, r.Pos = append(space[:0], rest...), 0
	n, err := io.ReadFull(r.in, r.Buf[len(rest):cap(r.Buf)])
	r.Buf = r.Buf[:len(rest)+n]
	switch {
	case err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF):
		r.EOF = true
		if n == 0 {
			return ErrTruncated
		}
	case err != nil:
		return err
	}
	return nil
}

// Peek moves to the next byte that is not whitespace, and returns it.
func (r *Reader) Peek() (byte, error) {
	for {
		c, err := r.Space()
		if err == nil {
			return c, nil
		}
		if err := r.More(); err != nil {
			return 0, err
		}
	}
}

// Whole calls parse at the start of a value. While the value extends past the buffer,
// it reads more input and calls parse again. If the value has more than MaxValue
// bytes, Whole restores the position and returns ErrTooLarge.
func (r *Reader) Whole(parse func() error) error {
	for {
		start := r.Pos
		err := parse()
		if err != ErrMore {
			return err
		}
		r.Pos = start
		if start == 0 && len(r.Buf) == MaxValue {
			return ErrTooLarge
		}
		if err := r.More(); err != nil {
			return err
		}
	}
}

// ReadValue returns the value at the position and moves past it. It reads more input
// until the buffer contains the whole value.
func (r *Reader) ReadValue() (Value, error) {
	v, err := r.Value()
	if err == ErrMore {
		err = r.Whole(func() (err error) {
			v, err = r.Value()
			return err
		})
	}
	if err != nil {
		return Value{}, err
	}
	return v, nil
}

// EachMember calls f with the key of each member of the object at the position. The
// position is then at the member's value, and f must move past it. The key is valid
// until f reads on.
func (r *Reader) EachMember(f func(key []byte) error) error {
	return r.each('}', func() error {
		var key []byte
		if err := r.Whole(func() (err error) {
			key, err = r.Key()
			return err
		}); err != nil {
			return err
		}
		return f(key)
	})
}

// EachElement calls f at each element of the array at the position. f must move past
// the element.
func (r *Reader) EachElement(f func() error) error { return r.each(']', f) }

// each calls f for each part of the object or array, up to its closing bracket.
func (r *Reader) each(close byte, f func() error) error {
	r.Pos++
	c, err := r.Peek()
	for err == nil && c != close {
		if err = f(); err != nil {
			break
		}
		if i := r.Pos; i+1 < len(r.Buf) && r.Buf[i] == ',' && r.Buf[i+1] > ' ' { // as usual
			r.Pos++
			c = r.Buf[r.Pos]
			continue
		}
		if c, err = r.Peek(); err == nil && c == ',' {
			r.Pos++
			c, err = r.Peek()
		} else if err == nil && c != close {
			return r.Fail("expected a comma or " + string(close))
		}
	}
	if err == nil {
		r.Pos++
	}
	return err
}

// Glimpse returns the first bytes at the position, for messages.
func (r *Reader) Glimpse() string {
	if r.Pos >= len(r.Buf) {
		return "the end of the input"
	}
	return string(append([]byte{'"'}, append(bytes.ToValidUTF8(r.Buf[r.Pos:min(len(r.Buf), r.Pos+12)], []byte("?")), '"')...))
}

// Skip moves past the value at the position without keeping it in memory.
func (r *Reader) Skip() error {
	for depth, inString := 0, false; ; {
		for ; r.Pos < len(r.Buf); r.Pos++ {
			c := r.Buf[r.Pos]
			switch {
			case inString && c == '\\':
				r.Pos++ // the next byte is part of the string, even beyond the buffer
				continue
			case c == '"':
				inString = !inString
			case inString:
				continue
			case c == '{' || c == '[':
				depth++
			case depth == 0 && (c == ',' || c == '}' || c == ']'):
				return nil // the end of a number or a literal
			case c == '}' || c == ']':
				depth--
			default:
				continue
			}
			if depth == 0 && !inString {
				r.Pos++
				return nil
			}
		}
		// An escape may have moved the position one byte past the buffer.
		past := r.Pos - len(r.Buf)
		r.Pos = len(r.Buf)
		if err := r.More(); err != nil {
			return err
		}
		r.Pos = past
	}
}
