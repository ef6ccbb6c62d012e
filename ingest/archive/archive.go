// Package archive reads archives of traces: ZIP (APPNOTE.TXT 6.3) and tar (POSIX ustar
// and pax, GNU). It reads members in place, and never writes a file under a member's
// name.
package archive

import (
	"errors"
	"io"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/spool"
)

// store gives random access to an archive, because members are not read in archive order.
type store struct{ *spool.File }

// fault returns the archive file's own read error if there is one, else err as an error
// of the contents.
func (s *store) fault(err error, offset int64) error {
	if failed := s.Err(); failed != nil {
		return failed
	}
	return format.Errorf(format.ErrCorrupt, offset, "%v", err)
}

// contents turns errors in a member's data into format errors.
type contents struct {
	io.ReadCloser
	store *store
	n     int64
}

func (c *contents) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.n += int64(n)
	if err == nil || err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) && c.store.Err() == nil {
		return n, err
	}
	return n, c.store.fault(err, c.n)
}
