// Package spool lets inputs be read that are not read from front to back.
package spool

import (
	"errors"
	"io"
	"os"

	"github.com/tpconvert/tpconvert/ingest/format"
)

// File is an input that can be read at any place: the input itself, or a copy in a temporary
// file.
type File struct {
	Size int64
	Err  error // of reading the file, to tell a disk that fails from damage of the input
	at   io.ReaderAt
	copy *os.File // nil if at is the input itself
}

// Open reads an input to its end. It makes a copy, in the folder for temporary files, if the
// input cannot be read again.
func Open(in *format.Input) (*File, error) {
	if in.At != nil {
		size, err := io.Copy(io.Discard, in)
		return &File{Size: size, at: in.At}, err
	}
	file, err := os.CreateTemp(in.TempDir, "tpconvert-input-*")
	if err != nil {
		return nil, err
	}
	os.Remove(file.Name()) // where this fails, Close does it
	f := &File{at: file, copy: file}
	if f.Size, err = io.Copy(file, &expansion{in: in}); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Close gives up the file.
func (f *File) Close() {
	if f.copy != nil {
		f.copy.Close()
		os.Remove(f.copy.Name())
	}
}

// ReadAt is that of io.ReaderAt.
func (f *File) ReadAt(p []byte, offset int64) (int, error) {
	if offset < 0 {
		return 0, errors.New("a place before the start")
	}
	n, err := f.at.ReadAt(p, offset)
	if err != nil && err != io.EOF {
		f.Err = err
	}
	return n, err
}

// A copy may have so many bytes, and so many times those of the input that it was found in.
// Traces compress to a twentieth or so.
const (
	maxExpanded  = 1 << 30
	maxExpansion = 200
)

// expansion reads an input that is to be copied. It refuses one that would fill the disk with
// next to nothing.
type expansion struct {
	in *format.Input
	n  int64
}

func (e *expansion) Read(p []byte) (int, error) {
	n, err := e.in.Read(p)
	if e.n += int64(n); e.n > maxExpanded && e.n/maxExpansion > e.in.Taken() {
		return 0, format.Errorf(format.ErrUnsupported, e.n, "a file that is more than %d times as large as what it is compressed in", maxExpansion)
	}
	return n, err
}
