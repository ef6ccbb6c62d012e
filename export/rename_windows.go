package export

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// patience is how long rename waits for other programs, such as a virus scanner, to close what
// it renames.
const patience = 2 * time.Second

// rename gives a file or folder another name, which may be that of a file. Windows does not
// rename open files, nor folders with such files.
func rename(from, to string) error {
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

// syncFolder does nothing: Windows does not flush folders, and NTFS has a journal of names.
func syncFolder(string) error { return nil }
