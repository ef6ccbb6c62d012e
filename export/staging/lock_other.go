//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package staging

import (
	"errors"
	"io"
	"os"
)

// lock fails: without a lock, a run cannot tell a folder in use from one that a
// killed run left.
func lock(f *os.File, _ bool) (io.Closer, error) {
	return nil, errors.Join(errors.New("tpconvert cannot lock folders on this system"), f.Close())
}
