//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package staging

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// lock locks the folder that f opened. Unless wait is set, it returns ErrLocked instead of
// waiting. If it fails, it closes f.
func lock(f *os.File, wait bool) (io.Closer, error) {
	how := syscall.LOCK_EX
	if !wait {
		how |= syscall.LOCK_NB
	}
	for {
		err := syscall.Flock(int(f.Fd()), how)
		switch {
		case err == nil:
			return f, nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			f.Close()
			return nil, ErrLocked
		case !errors.Is(err, syscall.EINTR):
			f.Close()
			return nil, os.NewSyscallError("flock", err)
		}
	}
}
