// Package compressed reads files that are compressed as a whole: gzip (RFC 1952,
// one or several members) and Zstandard (RFC 8878).
package compressed

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"

	kgzip "github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/tpconvert/tpconvert/ingest/format"
)

// Gzip is the format of gzip and pigz.
var Gzip = &format.Format{
	Name: "gzip", Priority: 60, Container: true,
	Sniff: func(head []byte) bool { return bytes.HasPrefix(head, []byte{0x1f, 0x8b}) },
	Read: func(in *format.Input) error {
		return read(in, func(r io.Reader) (io.ReadCloser, error) { return kgzip.NewReader(r) })
	},
}

// Zstd is the format of zstd.
var Zstd = &format.Format{
	Name: "zstd", Priority: 65, Container: true,
	Sniff: func(head []byte) bool { return bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}) },
	Read: func(in *format.Input) error {
		return read(in, func(r io.Reader) (io.ReadCloser, error) {
			d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<30))
			if err != nil {
				return nil, err
			}
			return d.IOReadCloser(), nil
		})
	},
}

func read(in *format.Input, open func(io.Reader) (io.ReadCloser, error)) error {
	r, err := open(in)
	if err != nil {
		return format.Errorf(format.ErrCorrupt, 0, "%v", err)
	}
	defer r.Close()
	return in.Member("", faults{r})
}

// faults turns damage of the compressed data into a format.Error. A stream that
// merely stops early is the end of the file: what was read of it counts.
type faults struct{ r io.Reader }

func (f faults) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if err != nil && err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
		if errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader) || n == 0 {
			return n, format.Errorf(format.ErrCorrupt, -1, "%v", err)
		}
	}
	return n, err
}
