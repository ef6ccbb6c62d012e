package staging

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// MakeParents creates the missing folders above a path. undo removes those that are still empty.
func MakeParents(path string) (undo func(), err error) {
	var missing []string
	for dir := filepath.Dir(filepath.Clean(path)); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		missing = append(missing, dir)
	}
	if len(missing) > 0 {
		err = os.MkdirAll(missing[0], 0o777)
	}
	return func() {
		for _, dir := range missing {
			_ = os.Remove(dir) // fails if the folder is not empty
		}
	}, err
}
