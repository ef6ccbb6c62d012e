//go:build !windows

package staging

import "os"

// Rename gives a file or folder another name, which may be that of a file.
func Rename(from, to string) error { return os.Rename(from, to) }

// Sync makes sure that the names in a folder have reached the disk.
func Sync(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return CloseSynced(f)
}
