//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package export

import (
	"errors"
	"os"
)

// lock fails: without a lock, a run cannot tell a folder in use from one that a
// killed run left.
func lock(*os.File, bool) error { return errors.New("tpconvert cannot lock folders on this system") }
