package export

import (
	"os"

	"golang.org/x/sys/unix"
)

// startWriteback makes the kernel write a file's data to the disk now. An error shows again
// when the file is synced.
func startWriteback(f *os.File) {
	_ = unix.SyncFileRange(int(f.Fd()), 0, 0, unix.SYNC_FILE_RANGE_WRITE)
}
