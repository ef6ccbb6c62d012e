package httpserver

import (
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// await waits until there is something to read, but not for longer than soon. The thread waits in the kernel, with its processor:
// when Go's poller notices a request, it first wakes another thread, which takes as long as a small query.
func await(c net.Conn, soon time.Duration) {
	s, ok := c.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { // who reads finds out what went wrong
		_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(soon.Milliseconds()))
	})
}
