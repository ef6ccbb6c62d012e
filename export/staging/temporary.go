package staging

import (
	"errors"
	"os"
)

// Temporary makes a folder in the system's temporary directory that only the user can read. It also removes
// the folders with this prefix that killed processes left.
func Temporary(prefix string) (path string, remove func() error, err error) {
	// Other users' folders cannot be removed, which is no reason to fail.
	_ = Sweep(os.TempDir(), prefix, nil)
	s, err := New(os.TempDir(), prefix)
	if err != nil {
		return "", nil, err
	}
	if err := os.Chmod(s.Path, 0o700); err != nil {
		return "", nil, errors.Join(err, s.Remove())
	}
	return s.Path, s.Remove, nil
}
