//go:build !windows

package export

import "os"

// rename gives a file or folder another name, which may be that of a file.
func rename(from, to string) error { return os.Rename(from, to) }

// syncFolder makes sure that the names in a folder have reached the disk.
func syncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return closeSynced(f)
}
