package otlp

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/spans"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

// The fields of the messages around spans.
const (
	tracesResourceSpans = 1

	resourceSpansResource = 1
	resourceSpansScopes   = 2

	scopeSpansScope = 1
	scopeSpansSpans = 2
)

// errMalformed is the error for a message that cannot be read further.
var errMalformed = errors.New("malformed message")

// cursor reads messages of any size, and keeps no more than a span.
type cursor struct {
	*bufio.Reader
	in     *format.Input
	spans  *spans.Reader
	offset int64 // in the input
	buffer []byte
	found  bool   // a span
	other  signal // of records that are no spans, or ""
}

// maxMessage is the size in bytes of the largest message that is kept.
const maxMessage = 32 << 20

func readMessages(in *format.Input, r *bufio.Reader, f framing) error {
	c := &cursor{Reader: r, in: in, spans: spans.New(in)}
	switch err := c.all(f); err {
	case nil:
	case io.ErrUnexpectedEOF:
		in.File.LogAt(model.StatTruncatedInput, c.offset, nil)
	case errMalformed:
		c.spans.Damaged(c.offset)
		if _, err := io.Copy(io.Discard, r); err != nil {
			return err
		}
	default:
		return err
	}
	return noSpans(c.spans, c.other)
}

func (c *cursor) all(f framing) error {
	switch f {
	case alone:
		return c.fields(math.MaxInt64, c.traces)
	case wrapped:
		return c.fields(math.MaxInt64, func(number uint64, end int64) error {
			if number == responseTrace {
				return c.message(end, c.traces)
			}
			c.unread("TraceByIDResponse", number, c.offset)
			return nil
		})
	}
	for {
		size, err := c.size(f)
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case size > math.MaxInt32: // protobuf's own limit
			return errMalformed
		}
		if err := c.message(c.offset+int64(size), c.traces); err != nil {
			return err
		}
	}
}

// size reads the size of the next message.
func (c *cursor) size(f framing) (uint64, error) {
	if f == delimited {
		return c.varint()
	}
	var size [sizeBytes]byte
	n, err := io.ReadFull(c, size[:])
	c.offset += int64(n)
	return uint64(binary.BigEndian.Uint32(size[:])), err
}

// message reads the fields of a message that ends at the offset end, where the next one is even if this one is damaged.
func (c *cursor) message(end int64, f func(number uint64, end int64) error) error {
	err := c.fields(end, f)
	if err == errMalformed && c.offset <= end {
		c.spans.Damaged(c.offset)
		return c.skip(end)
	}
	return err
}

// fields calls f for each field with bytes up to the offset end. f may read up to the offset that it is given.
func (c *cursor) fields(end int64, f func(number uint64, end int64) error) error {
	for c.offset < end {
		tag, err := c.varint()
		switch {
		case err == io.EOF && end == math.MaxInt64:
			return nil
		case err != nil:
			return unexpected(err)
		}
		at := c.offset
		var size uint64
		switch wire.Type(tag & 7) {
		case wire.Varint:
			_, err = c.varint()
		case wire.Fixed64:
			size = 8
		case wire.Fixed32:
			size = 4
		case wire.Bytes:
			size, err = c.varint()
		default:
			return errMalformed
		}
		switch {
		case err != nil:
			return unexpected(err)
		case tag>>3 == 0 || size > math.MaxInt64 || int64(size) > end-c.offset:
			return errMalformed
		}
		next := c.offset + int64(size)
		if wire.Type(tag&7) == wire.Bytes {
			err = f(tag>>3, next)
		} else {
			c.unread("number", tag>>3, at)
		}
		if err == nil {
			err = c.skip(next)
		}
		if err != nil {
			return err
		}
	}
	if c.offset > end {
		return errMalformed
	}
	return nil
}

func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (c *cursor) varint() (v uint64, err error) {
	for shift := 0; shift < 7*wire.MaxVarint; shift += 7 {
		b, err := c.ReadByte()
		if err != nil {
			if shift > 0 {
				err = unexpected(err)
			}
			return 0, err
		}
		c.offset++
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v, nil
		}
	}
	return 0, errMalformed
}

// skip moves to the offset end.
func (c *cursor) skip(end int64) error {
	n, err := io.CopyN(io.Discard, c.Reader, end-c.offset)
	c.offset += n
	return unexpected(err)
}

// take returns the bytes up to the offset end, or false if there are too many. They are valid until the next call.
func (c *cursor) take(end int64) (b []byte, ok bool, err error) {
	n := end - c.offset
	if n > maxMessage {
		c.spans.Damaged(c.offset)
		return nil, false, nil
	}
	if int64(cap(c.buffer)) < n {
		// It grows only as bytes arrive, because the size may be wrong.
		b, err = io.ReadAll(io.LimitReader(c.Reader, n))
		c.buffer = b
	} else {
		b = c.buffer[:n]
		var got int
		got, err = io.ReadFull(c.Reader, b)
		b = b[:got]
	}
	c.offset += int64(len(b))
	if err == nil && int64(len(b)) < n {
		err = io.ErrUnexpectedEOF
	}
	return b, err == nil, unexpected(err)
}

func (c *cursor) unread(message string, number uint64, offset int64) {
	c.in.File.Unread(model.StatUnreadFact, model.None, fmt.Sprintf("%s field %d", message, number)).AddAt(offset)
}

// traces reads a field of TracesData.
func (c *cursor) traces(number uint64, end int64) error {
	if number != tracesResourceSpans {
		c.unread("TracesData", number, c.offset)
		return nil
	}
	resource := c.spans.NewResource()
	described := false
	err := c.message(end, func(number uint64, end int64) error {
		switch number {
		case resourceSpansResource:
			b, ok, err := c.take(end)
			if ok {
				c.spans.SetResource(resource, b)
				described = true
			}
			return err
		case resourceSpansScopes:
			return c.scope(resource, end)
		}
		c.unread("ResourceSpans", number, c.offset)
		return nil
	})
	if !described {
		c.spans.SetResource(resource, nil)
	}
	return err
}

// scope reads a ScopeSpans.
func (c *cursor) scope(resource int, end int64) error {
	scope := c.spans.Scope(nil)
	return c.message(end, func(number uint64, end int64) error {
		at := c.offset
		switch number {
		case scopeSpansScope:
			b, ok, err := c.take(end)
			if ok {
				scope = c.spans.Scope(b)
			}
			return err
		case scopeSpansSpans:
			b, ok, err := c.take(end)
			if !ok {
				return err
			}
			if !c.found {
				if s := signalOf(b); s != ofTraces {
					c.other = s
					c.in.File.Unread(model.StatUnreadFact, model.None, "OpenTelemetry record of "+string(s)).AddAt(at)
					return nil
				}
			}
			c.found = true
			return c.spans.Span(resource, scope, b, at)
		}
		c.unread("ScopeSpans", number, at)
		return nil
	})
}
