//go:build !linux

package httpserver

import "net"

// takeOver leaves all connections to Go's poller.
func takeOver(net.Conn) blocking { return nil }
