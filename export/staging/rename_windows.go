package staging

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// patience is how long Rename waits for other programs, such as a virus scanner, to close what
// it renames.
const patience = 2 * time.Second

// Rename gives a file or folder another name, which may be that of a file. Windows does not
// Rename open files, nor folders with such files.
func Rename(from, to string) error {
	deadline := time.Now().Add(patience)
	for pause := time.Millisecond; ; pause *= 2 {
		err := os.Rename(from, to)
		inUse := errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_ACCESS_DENIED)
		if !inUse || time.Now().Add(pause).After(deadline) {
			return err
		}
		time.Sleep(pause)
	}
}

// Sync does nothing: Windows does not flush folders, and NTFS has a journal of names.
func Sync(string) error { return nil }
