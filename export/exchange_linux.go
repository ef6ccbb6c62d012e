package export

import (
	"os"

	"golang.org/x/sys/unix"
)

// exchange makes two folders change names at once.
func exchange(a, b string) error {
	return os.NewSyscallError("renameat2", unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE))
}
