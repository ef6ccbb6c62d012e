package proto

import (
	"errors"
	"io"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/internal/wire"
)

const (
	packetTag = 1<<3 | byte(wire.Bytes) // of Trace.packet

	maxHeaderBytes = 2 * wire.MaxVarint
	// maxPacketBytes is the limit of the size field in messages that Perfetto writes.
	maxPacketBytes   = 1 << 28
	frameBufferBytes = 256 << 10
)

// frames cuts a trace into packets. Those it returns stay valid: a full buffer is replaced, never overwritten.
type frames struct {
	r          io.Reader
	buf        []byte // at first an empty one, or none
	start, end int    // of the unused bytes in buf
	offset     int64  // of start in the trace
}

// next returns the next packet that is not empty, or nil for another field, which a trace should not have, and its offset. It
// returns io.EOF at the end of the trace, io.ErrUnexpectedEOF if the trace ends inside a field, and a format.Error if the start
// of the next field cannot be found.
func (f *frames) next() ([]byte, int64, error) {
	for {
		head, err := f.peek(maxHeaderBytes)
		if len(head) == 0 {
			return nil, f.offset, err
		}
		tag, size, n := header(head)
		switch {
		case n == 0:
			return nil, f.offset, unexpected(err)
		case n < 0:
			return nil, f.offset, format.Errorf(format.ErrCorrupt, f.offset, "malformed field")
		case tag != uint64(packetTag):
			offset := f.offset
			f.use(n)
			if err := f.skip(size); err != nil {
				return nil, f.offset, err
			}
			return nil, offset, nil
		case size > maxPacketBytes:
			return nil, f.offset, format.Errorf(format.ErrCorrupt, f.offset, "packet of %d bytes", size)
		case size == 0:
			f.use(n)
		default:
			whole, err := f.peek(n + int(size))
			if len(whole) < n+int(size) {
				return nil, f.offset, unexpected(err)
			}
			offset := f.offset + int64(n)
			f.use(len(whole))
			return whole[n:len(whole):len(whole)], offset, nil
		}
	}
}

// header decodes the beginning of a field: its tag, and the size in bytes of what
// follows the n bytes of the header. n is 0 if b is too short, and negative if b does
// not begin with a field.
func header(b []byte) (tag, size uint64, n int) {
	tag, n = wire.Uvarint(b)
	if n <= 0 {
		return tag, 0, n
	}
	m := 0
	switch wire.Type(tag & 7) {
	case wire.Varint:
		_, m = wire.Uvarint(b[n:])
	case wire.Bytes:
		size, m = wire.Uvarint(b[n:])
	case wire.Fixed64:
		return tag, 8, n
	case wire.Fixed32:
		return tag, 4, n
	default:
		return tag, 0, -1
	}
	if m <= 0 {
		return tag, 0, m
	}
	return tag, size, n + m
}

func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// rest returns the part of the buffer that no packet is in.
func (f *frames) rest() []byte { return f.buf[f.start:] }

func (f *frames) use(n int) {
	f.start += n
	f.offset += int64(n)
}

// peek returns the next n bytes, or fewer and the error that prevented more.
func (f *frames) peek(n int) ([]byte, error) {
	for f.end-f.start < n {
		if f.end == len(f.buf) {
			// Grow with the bytes read, so that a false size cannot take much memory.
			buf := make([]byte, max(frameBufferBytes, min(n, 2*(f.end-f.start))))
			f.end = copy(buf, f.buf[f.start:f.end])
			f.buf, f.start = buf, 0
		}
		got, err := f.r.Read(f.buf[f.end:])
		f.end += got
		if err != nil && f.end-f.start < n {
			if errors.Is(err, io.ErrUnexpectedEOF) {
				err = io.EOF // the compressed file or archive around the trace is cut short
			}
			return f.buf[f.start:f.end], err
		}
	}
	return f.buf[f.start : f.start+n], nil
}

func (f *frames) skip(n uint64) error {
	for n > 0 {
		part := int(min(n, frameBufferBytes))
		got, err := f.peek(part)
		f.use(len(got))
		if len(got) < part {
			return unexpected(err)
		}
		n -= uint64(part)
	}
	return nil
}
