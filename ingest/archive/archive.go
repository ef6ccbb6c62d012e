// Package archive reads archives of traces: ZIP (APPNOTE.TXT 6.3) and tar (POSIX
// ustar and pax, GNU). Their members are read from where they are, nothing is
// written under their names.
package archive

import (
	"errors"
	"io"
	"os"

	"github.com/tpconvert/tpconvert/ingest/format"
)

// store is an archive in a file: members are not read in the order in which they
// are in it.
type store struct {
	file *os.File
	size int64
	err  error // of reading the file
}

// spool writes an input to a temporary file.
func spool(in *format.Input) (*store, error) {
	file, err := os.CreateTemp(in.TempDir, "tpconvert-archive-*")
	if err != nil {
		return nil, err
	}
	os.Remove(file.Name()) // where this fails, close does it
	size, err := io.Copy(file, in)
	if err != nil {
		file.Close()
		os.Remove(file.Name())
		return nil, err
	}
	return &store{file: file, size: size}, nil
}

func (s *store) close() {
	s.file.Close()
	os.Remove(s.file.Name())
}

// ReadAt remembers an error, to tell a file that cannot be read from one that is
// damaged.
func (s *store) ReadAt(p []byte, offset int64) (int, error) {
	if offset < 0 {
		return 0, errors.New("a place before the archive")
	}
	n, err := s.file.ReadAt(p, offset)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// fault is the error of the file if there is one, else that of what is in it.
func (s *store) fault(err error, offset int64) error {
	if s.err != nil {
		return s.err
	}
	return format.Errorf(format.ErrCorrupt, offset, "%v", err)
}

// contents turns errors of a member's data into those of its format.
type contents struct {
	io.ReadCloser
	store *store
	n     int64
}

func (c *contents) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.n += int64(n)
	if err == nil || err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) && c.store.err == nil {
		return n, err
	}
	return n, c.store.fault(err, c.n)
}
