// Package lines reads text line by line, as fast as newlines can be found, without
// copying each line.
package lines

import (
	"bytes"
	"io"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/model"
)

// Max is the maximum size of a line in bytes. Pages with minified scripts have
// lines of several megabytes.
const Max = 64 << 20

// The buffer grows to its full size while the input fills it: an archive may have
// very many small members.
const (
	firstBuffer = 4 << 10
	fullBuffer  = 256 << 10
)

// Each calls f with each line of an input, without its newline, and the line's
// offset in bytes from the start of the input. The line is valid during the call.
// An error of f stops the reading. A last line without a newline is truncated: it
// is left out and counted as truncated input.
func Each(in *format.Input, f func(offset int64, line []byte) error) error {
	return EachToEndIf(in, func() bool { return false }, f)
}

// EachToEnd is Each for formats whose files are often saved without the last line end: the last line is read as it is, and a notice
// says that it may be cut off.
func EachToEnd(in *format.Input, f func(offset int64, line []byte) error) error {
	return EachToEndIf(in, func() bool { return true }, f)
}

// EachToEndIf is EachToEnd if isSo, which is asked at the end, says that it is such a file, else Each.
func EachToEndIf(in *format.Input, isSo func() bool, f func(offset int64, line []byte) error) error {
	l := NewReader(in)
	for l.Next() {
		if err := f(l.Offset(), l.Bytes()); err != nil {
			return err
		}
	}
	rest := l.Rest()
	switch {
	case l.Err() != nil || len(rest) == 0:
		return l.Err()
	case !isSo():
		in.File.LogAt(model.StatTruncatedInput, l.Offset(), nil)
		return nil
	case len(bytes.TrimSpace(rest)) == 0:
		return nil
	}
	in.File.LogAt(model.StatUnendedLine, l.Offset(), nil)
	return f(l.Offset(), rest)
}

// Whole returns a text that was read as a whole, up to the end of its last line. What follows may be the start of a longer line, so
// it is left out, as by Each.
func Whole(in *format.Input, text []byte) []byte {
	end := bytes.LastIndexByte(text, '\n') + 1
	if end < len(text) {
		in.File.LogAt(model.StatTruncatedInput, int64(end), nil)
	}
	return text[:end]
}

// A Reader reads the lines of an input.
type Reader struct {
	r      io.Reader
	buf    []byte
	pos    int // of the next line, in buf
	line   []byte
	offset int64 // of buf in the input, bytes
	start  int   // of the line in buf
	eof    bool
	err    error
}

// NewReader returns a reader for the lines of r.
func NewReader(r io.Reader) *Reader { return &Reader{r: r} }

// Next moves to the next line that ends with a newline. It returns false at the
// end of the input and after an error.
func (l *Reader) Next() bool {
	seen := 0
	for {
		if i := bytes.IndexByte(l.buf[l.pos+seen:], '\n'); i >= 0 {
			end := l.pos + seen + i
			l.start, l.line = l.pos, l.buf[l.pos:end]
			l.pos = end + 1
			return true
		}
		seen = len(l.buf) - l.pos
		if !l.fill() {
			l.start, l.line = l.pos, nil
			return false
		}
	}
}

// fill reads more of the input, after the unread rest of the buffer.
func (l *Reader) fill() bool {
	if l.eof || l.err != nil {
		return false
	}
	left, size := len(l.buf)-l.pos, cap(l.buf)
	switch {
	case left >= Max:
		l.err = format.Errorf(format.ErrCorrupt, l.offset+int64(l.pos), "a line of more than %d bytes", Max)
		return false
	case left == size, len(l.buf) == size && size < fullBuffer:
		l.buf = append(make([]byte, 0, max(firstBuffer, 2*size)), l.buf[l.pos:]...)
	default:
		l.buf = l.buf[:copy(l.buf, l.buf[l.pos:])]
	}
	l.offset += int64(l.pos)
	l.pos = 0
	n, err := l.r.Read(l.buf[len(l.buf):cap(l.buf)])
	l.buf = l.buf[:len(l.buf)+n]
	if err == io.EOF {
		l.eof = true
	} else {
		l.err = err
	}
	return n > 0 || err == nil
}

// Bytes returns the line without its newline. It is valid until the next call of
// Next.
func (l *Reader) Bytes() []byte { return l.line }

// Offset returns the offset of the line in bytes from the start of the input.
func (l *Reader) Offset() int64 { return l.offset + int64(l.start) }

// Rest returns the text after the last newline, once Next has returned false: a
// truncated line, unless it is empty.
func (l *Reader) Rest() []byte { return l.buf[l.pos:] }

// Err returns the error that stopped the reading, or nil at the end of the input.
func (l *Reader) Err() error { return l.err }
