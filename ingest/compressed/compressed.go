// Package compressed reads files that are compressed as a whole: gzip (RFC 1952),
// Zstandard (RFC 8878), xz and bzip2. A file may have several members, frames or
// streams.
package compressed

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"encoding/binary"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/model"
)

// Gzip is the format that gzip and pigz write.
var Gzip = &format.Format{
	Name: "gzip", Container: true, Turn: format.TurnContainer,
	Sniff: func(head []byte) bool { return bytes.HasPrefix(head, []byte{0x1f, 0x8b}) },
	Read: func(in *format.Input) error {
		return read(in, func(r io.Reader) (io.ReadCloser, error) { return gzip.NewReader(r) })
	},
}

// maxWindow is the maximum memory in bytes that a Zstandard frame or an xz
// dictionary may ask for. Encoders stay below it by default.
const maxWindow = 128 << 20

var errWindow = errors.New("the dictionary is too large")

// Zstd is the format that zstd writes.
var Zstd = &format.Format{
	Name: "zstd", Container: true, Turn: format.TurnContainer,
	Sniff: func(head []byte) bool { return bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}) },
	Read: func(in *format.Input) error {
		return read(in, func(r io.Reader) (io.ReadCloser, error) {
			d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
				zstd.WithDecoderMaxWindow(maxWindow))
			if err != nil {
				return nil, err
			}
			return d.IOReadCloser(), nil
		})
	},
}

// Bzip2 is the format that bzip2 writes.
var Bzip2 = &format.Format{
	Name: "bzip2", Container: true, Turn: format.TurnContainer,
	Sniff: func(head []byte) bool {
		const block = "\x31\x41\x59\x26\x53\x59" // magic of the first block, after the level
		return bytes.HasPrefix(head, []byte("BZh")) && len(head) >= 4+len(block) && string(head[4:4+len(block)]) == block
	},
	Read: func(in *format.Input) error {
		return read(in, func(r io.Reader) (io.ReadCloser, error) { return io.NopCloser(bzip2.NewReader(r)), nil })
	},
}

// Xz is the format that xz writes.
var Xz = &format.Format{
	Name: "xz", Container: true, Turn: format.TurnContainer,
	Sniff: func(head []byte) bool { return bytes.HasPrefix(head, []byte("\xfd7zXZ\x00")) },
	Read: func(in *format.Input) error {
		return read(in, func(r io.Reader) (io.ReadCloser, error) {
			buffered := bufio.NewReader(r)
			head, _ := buffered.Peek(xzHeads) // the reader returns an error again later
			if xzDictionary(head) > maxWindow {
				return nil, errWindow
			}
			d, err := xz.NewReader(buffered)
			if err != nil {
				return nil, err
			}
			return io.NopCloser(d), nil
		})
	},
}

// xzHeads is the maximum size in bytes of xz's stream header and first block header
// together.
const xzHeads = 12 + 1024

// lzma2 is the id of xz's compression filter, whose property is its dictionary
// size.
const lzma2 = 0x21

// xzDictionary returns the dictionary size in bytes of the first xz block, or 0 if
// the header does not contain it.
func xzDictionary(head []byte) int64 {
	if len(head) < 14 {
		return 0
	}
	flags, rest := head[13], head[14:]
	next := func() uint64 {
		n, size := binary.Uvarint(rest)
		rest = rest[max(size, 0):]
		return n
	}
	if flags&0x40 != 0 { // the compressed size follows
		next()
	}
	if flags&0x80 != 0 { // the uncompressed size follows
		next()
	}
	for range flags&3 + 1 {
		id, size := next(), next()
		if size > uint64(len(rest)) {
			break
		}
		if id == lzma2 && size == 1 {
			return int64(2|rest[0]&1) << (rest[0]&0x3f/2 + 11)
		}
		rest = rest[size:]
	}
	return 0
}

// atraceMarker separates atrace's own messages from the trace.
var atraceMarker = []byte("TRACE:\n")

// Ctrace is the output of atrace -z: zlib data (RFC 1950) after a marker.
var Ctrace = &format.Format{
	Name: "ctrace", Title: "compressed atrace", Container: true,
	Sniff: func(head []byte) bool {
		_, data, _ := bytes.Cut(head[:min(len(head), 128)], atraceMarker)
		return len(data) >= 2 && data[0] == 0x78 && (int(data[0])<<8|int(data[1]))%31 == 0
	},
	Read: func(in *format.Input) error {
		buffered := bufio.NewReader(in.Reader)
		head, _ := buffered.Peek(128) // the reader returns an error again later
		if _, err := buffered.Discard(bytes.Index(head, atraceMarker) + len(atraceMarker)); err != nil {
			return err
		}
		in.Reader = buffered
		var data *bufio.Reader
		err := read(in, func(r io.Reader) (io.ReadCloser, error) {
			data = bufio.NewReader(r) // zlib must not read past the end of its data
			return zlib.NewReader(data)
		})
		if err != nil {
			return err
		}
		if _, err := data.Peek(1); err == nil {
			in.File.Count(model.StatTrailingGarbage)
		}
		return nil
	},
}

func read(in *format.Input, open func(io.Reader) (io.ReadCloser, error)) error {
	from := &source{Reader: in.Reader}
	data, err := open(from)
	if err != nil {
		return from.fault(err, 0)
	}
	defer data.Close()
	c := &contents{data: data, from: from}
	err = in.Member("", c)
	if err != nil && !in.Alone { // the other files are still read, and how far this was decompressed depends on chance
		_, _ = io.Copy(io.Discard, c) // the error is reported already
	}
	if c.padded {
		in.File.Count(model.StatTrailingGarbage)
	}
	return err
}

// source remembers its read error, to tell it from damage.
type source struct {
	io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != io.EOF {
		s.err = err
	}
	return n, err
}

// fault turns a decompression error, after this many bytes, into a read error or an
// error of the data.
func (s *source) fault(err error, offset int64) error {
	switch {
	case s.err != nil:
		return s.err
	case errors.Is(err, zstd.ErrWindowSizeExceeded) || err == errWindow:
		return format.Errorf(format.ErrUnsupported, offset, "%v: more than %d bytes", err, maxWindow)
	}
	return format.Errorf(format.ErrCorrupt, offset, "the data cannot be decompressed")
}

// contents is the decompressed data. If the data is truncated, it returns what
// there is and then io.ErrUnexpectedEOF.
type contents struct {
	data   io.Reader
	from   *source
	n      int64
	padded bool // other data follows the last member
}

func (c *contents) Read(p []byte) (int, error) {
	n, err := c.data.Read(p)
	c.n += int64(n)
	switch {
	case err == nil || err == io.EOF:
		return n, err
	case c.from.err == nil && errors.Is(err, io.ErrUnexpectedEOF):
		return n, io.ErrUnexpectedEOF
	case errors.Is(err, gzip.ErrHeader) || errors.Is(err, zstd.ErrMagicMismatch):
		// What follows a complete member is not another member but padding, which
		// some devices add. The first member's header has already been read.
		c.padded = true
		c.data = bytes.NewReader(nil)
		return n, io.EOF
	}
	return n, c.from.fault(err, c.n)
}
