package httpserver

import (
	"io"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// direct is a connection whose calls wait in the kernel, with their thread and its processor. Go's poller first wakes another thread
// when something comes, which takes as long as a small query. Only its owner may read, write and release it.
type direct struct {
	local, remote net.Addr
	fd            int

	mu          sync.Mutex
	released    bool // fd may be that of another
	read, write time.Time
}

// takeOver returns a direct connection in place of c, or nil if c must stay.
func takeOver(c net.Conn) blocking {
	t, ok := c.(*net.TCPConn)
	if !ok {
		return nil
	}
	raw, err := t.SyscallConn()
	if err != nil {
		return nil
	}
	fd := -1
	if err := raw.Control(func(of uintptr) { fd, _ = unix.FcntlInt(of, unix.F_DUPFD_CLOEXEC, 0) }); err != nil || fd < 0 {
		return nil
	}
	if unix.SetNonblock(fd, false) != nil {
		unix.Close(fd)
		return nil
	}
	t.Close()
	return &direct{local: c.LocalAddr(), remote: c.RemoteAddr(), fd: fd}
}

// pollable returns the connection as one of package net.
func (d *direct) pollable() (net.Conn, error) {
	fd, err := unix.FcntlInt(uintptr(d.fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "")
	defer f.Close()
	return net.FileConn(f)
}

// release closes the connection for good.
func (d *direct) release() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.released {
		d.released = true
		unix.Close(d.fd)
	}
}

// shutdown ends one direction or both, also under calls that wait. Any goroutine may call it.
func (d *direct) shutdown(how int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.released {
		return net.ErrClosed
	}
	return os.NewSyscallError("shutdown", unix.Shutdown(d.fd, how))
}

// left reports whether the client sends no more. Any goroutine may call it.
func (d *direct) left() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.released {
		return false
	}
	poll := []unix.PollFd{{Fd: int32(d.fd), Events: unix.POLLRDHUP}}
	n, err := unix.Poll(poll, 0)
	return err == nil && n > 0
}

// Close implements net.Conn: it ends the calls of the owner, who releases the connection.
func (d *direct) Close() error { return d.shutdown(unix.SHUT_RDWR) }

// CloseWrite is as that of net.TCPConn.
func (d *direct) CloseWrite() error { return d.shutdown(unix.SHUT_WR) }

// Read implements net.Conn.
func (d *direct) Read(p []byte) (int, error) {
	for {
		if err := d.limit(unix.SO_RCVTIMEO, &d.read); err != nil {
			return 0, err
		}
		n, err := unix.Read(d.fd, p)
		switch {
		case err == unix.EINTR || err == unix.EAGAIN:
		case err != nil:
			return 0, os.NewSyscallError("read", err)
		case n == 0 && len(p) > 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

// Write implements net.Conn.
func (d *direct) Write(p []byte) (written int, err error) {
	flags := unix.MSG_NOSIGNAL | unix.MSG_DONTWAIT // in most cases there is room
	for written < len(p) {
		n, err := unix.SendmsgN(d.fd, p[written:], nil, nil, flags)
		switch {
		case err == unix.EINTR:
		case err == unix.EAGAIN:
			flags = unix.MSG_NOSIGNAL
			if err := d.limit(unix.SO_SNDTIMEO, &d.write); err != nil {
				return written, err
			}
		case err != nil:
			return written, os.NewSyscallError("write", err)
		default:
			written += n
		}
	}
	return written, nil
}

// limit has the kernel end a call at a deadline. It returns an error once that has passed.
func (d *direct) limit(option int, deadline *time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if deadline.IsZero() {
		return nil
	}
	left := time.Until(*deadline)
	if left <= 0 {
		return os.ErrDeadlineExceeded
	}
	t := unix.NsecToTimeval(max(left, time.Millisecond).Nanoseconds())
	return os.NewSyscallError("setsockopt", unix.SetsockoptTimeval(d.fd, unix.SOL_SOCKET, option, &t))
}

// SetReadDeadline implements net.Conn. Only the owner may call it, and a call that waits does not notice.
func (d *direct) SetReadDeadline(t time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.read = t
	if !t.IsZero() || d.released {
		return nil
	}
	return os.NewSyscallError("setsockopt", unix.SetsockoptTimeval(d.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{}))
}

// SetWriteDeadline implements net.Conn. A write that waits notices only a time that has passed, which ends what is sent.
func (d *direct) SetWriteDeadline(t time.Time) error {
	d.mu.Lock()
	d.write = t
	d.mu.Unlock()
	if !t.IsZero() && time.Until(t) <= 0 {
		return d.CloseWrite()
	}
	return nil
}

// SetDeadline implements net.Conn.
func (d *direct) SetDeadline(t time.Time) error {
	if err := d.SetReadDeadline(t); err != nil {
		return err
	}
	return d.SetWriteDeadline(t)
}

// LocalAddr implements net.Conn.
func (d *direct) LocalAddr() net.Addr { return d.local }

// RemoteAddr implements net.Conn.
func (d *direct) RemoteAddr() net.Addr { return d.remote }
