// Package archive reads archives of traces: ZIP (APPNOTE.TXT 6.3) and tar (POSIX
// ustar and pax, GNU). Their members are read from where they are, nothing is
// written under their names.
package archive

import (
	"errors"
	"io"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/spool"
)

// store is an archive that can be read at any place: members are not read in the order in
// which they are in it.
type store struct{ *spool.File }

// fault is the error of the file if there is one, else that of what is in it.
func (s *store) fault(err error, offset int64) error {
	if s.Err != nil {
		return s.Err
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
	if err == nil || err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) && c.store.Err == nil {
		return n, err
	}
	return n, c.store.fault(err, c.n)
}
