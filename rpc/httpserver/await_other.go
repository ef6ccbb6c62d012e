//go:build !linux

package httpserver

import (
	"net"
	"time"
)

// await does nothing: Go's poller notices what comes.
func await(net.Conn, time.Duration) {}
