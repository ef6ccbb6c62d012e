package staging

import (
	"os"

	"golang.org/x/sys/unix"
)

// exchange swaps the names of two folders atomically.
func exchange(a, b string) error {
	return os.NewSyscallError("renameat2", unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE))
}
