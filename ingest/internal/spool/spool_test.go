package spool

import (
	"errors"
	"io"
	"testing"

	"github.com/tpconvert/tpconvert/ingest/format"
)

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// TestExpansion checks that a few MB that expand to many GB are not copied to
// the disk.
func TestExpansion(t *testing.T) {
	const taken = maxExpanded / maxExpansion * 2
	e := &expansion{in: &format.Input{Reader: zeros{}, Taken: func() int64 { return taken }}}
	n, err := io.Copy(struct{ io.Writer }{io.Discard}, e)
	if !format.BadInput(err) || !errors.Is(err, format.ErrUnsupported) || n < 2*maxExpanded-maxExpansion || n > 2*maxExpanded+1<<20 {
		t.Errorf("%d bytes, %v", n, err)
	}
	e = &expansion{in: &format.Input{Reader: io.LimitReader(zeros{}, 2*maxExpanded), Taken: func() int64 { return taken }}}
	if n, err := io.Copy(struct{ io.Writer }{io.Discard}, e); n != 2*maxExpanded || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
}
