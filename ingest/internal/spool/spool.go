// Package spool gives random access to inputs.
package spool

import (
	"errors"
	"io"
	"os"
	"sync/atomic"

	"github.com/tpconvert/tpconvert/ingest/format"
)

// File is an input with random access: the input itself, or a copy in a temporary file.
type File struct {
	Size int64
	at   io.ReaderAt
	copy *os.File      // nil if at is the input itself
	read chan struct{} // closed once the input itself is read to its end
	err  atomic.Pointer[error]
}

// Err returns the error of reading the file, which distinguishes a failing disk from a damaged input.
func (f *File) Err() error {
	if err := f.err.Load(); err != nil {
		return *err
	}
	return nil
}

// Open reads an input to its end, because its hash is that of all bytes. If the input has random access, another goroutine
// does that until Close, else Open copies it to a file in the temporary directory.
func Open(in *format.Input) (*File, error) {
	if in.At != nil {
		f := &File{Size: in.At.Size(), at: in.At, read: make(chan struct{})}
		go func() {
			defer close(f.read)
			io.Copy(io.Discard, in) // an error shows again when the hash is asked for
		}()
		return f, nil
	}
	file, err := os.CreateTemp(in.TempDir, "tpconvert-input-*")
	if err != nil {
		return nil, err
	}
	os.Remove(file.Name()) // if this fails, Close removes the file
	f := &File{at: file, copy: file}
	if f.Size, err = io.Copy(file, &expansion{in: in}); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Close releases the file.
func (f *File) Close() {
	if f.read != nil {
		<-f.read
	}
	if f.copy != nil {
		f.copy.Close()
		os.Remove(f.copy.Name())
	}
}

// ReadAt implements io.ReaderAt. Members of an archive may be read at the same time.
func (f *File) ReadAt(p []byte, offset int64) (int, error) {
	if offset < 0 {
		return 0, errors.New("a position before the start")
	}
	n, err := f.at.ReadAt(p, offset)
	if err != nil && err != io.EOF {
		f.err.Store(&err)
	}
	return n, err
}

// A copy is refused if it exceeds both maxExpanded bytes and maxExpansion times the bytes that
// were read from the compressed input. Traces typically compress to a twentieth.
const (
	maxExpanded  = 1 << 30
	maxExpansion = 200
)

// expansion reads an input to copy. It refuses tiny inputs that would fill the disk.
type expansion struct {
	in *format.Input
	n  int64
}

func (e *expansion) Read(p []byte) (int, error) {
	n, err := e.in.Read(p)
	if e.n += int64(n); e.n > maxExpanded && e.n/maxExpansion > e.in.Taken() {
		return 0, format.Errorf(format.ErrUnsupported, e.n, "a file that expands to more than %d times its compressed size", maxExpansion)
	}
	return n, err
}
