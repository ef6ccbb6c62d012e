package export

import (
	"errors"
	"os"
)

// Temporary makes a folder, which only the user can read, among the system's temporary files. The next call removes what
// calls with this prefix have left whose processes were killed.
func Temporary(prefix string) (path string, remove func() error, err error) {
	// Folders of others, which cannot be removed, are no reason to fail.
	_ = Sweep(os.TempDir(), prefix, nil)
	s, err := NewStage(os.TempDir(), prefix)
	if err != nil {
		return "", nil, err
	}
	if err := os.Chmod(s.Path, 0o700); err != nil {
		return "", nil, errors.Join(err, s.Remove())
	}
	return s.Path, s.Remove, nil
}
