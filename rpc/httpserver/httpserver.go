// Package httpserver serves HTTP at the least cost for small requests. For each request net/http starts a goroutine, which notices that
// the client leaves, and to wake a thread for it takes as long as a small query. Here one is started once a request takes long. What is
// not a small request of HTTP/1.1, or comes in a crowd of connections, is left to net/http, with the connection.
package httpserver

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// headTime is how long a client may take to send the head of a request.
const headTime = 10 * time.Second

// Serve answers requests until the context ends, and then cancels those that still run. It closes the listeners.
func Serve(ctx context.Context, handler http.Handler, listeners []net.Listener) error {
	calls, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer func() {
		for _, l := range listeners {
			l.Close()
		}
	}()
	others := &passed{ctx: calls, conns: make(chan net.Conn), addr: listeners[0].Addr()}
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: headTime,
		BaseContext: func(net.Listener) context.Context { return calls },
	}
	failed := make(chan error, len(listeners)+1)
	go func() { failed <- server.Serve(others) }()
	for _, l := range listeners {
		go func() {
			failed <- accept(calls, l, func(c net.Conn) { newConn(c, handler).serve(calls, others) })
		}()
	}
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		stop()
		return server.Close()
	}
}

// accept serves connections until the listener is closed. Other errors pass, such as too many open files.
func accept(ctx context.Context, l net.Listener, serve func(net.Conn)) error {
	wait := time.Duration(0)
	for {
		c, err := l.Accept()
		switch {
		case err == nil:
			wait = 0
			go serve(c)
			continue
		case errors.Is(err, net.ErrClosed):
			return err
		}
		wait = min(max(2*wait, 5*time.Millisecond), time.Second)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// passed is the listener of net/http. Its connections are those that were passed on.
type passed struct {
	ctx   context.Context
	conns chan net.Conn
	addr  net.Addr
	kept  atomic.Int64 // connections that were not passed on
}

// Accept implements net.Listener.
func (p *passed) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.ctx.Done():
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. Accept ends with the context.
func (p *passed) Close() error { return nil }

// Addr implements net.Listener.
func (p *passed) Addr() net.Addr { return p.addr }

// pass leaves a connection to net/http, with the bytes that were read of it.
func (p *passed) pass(c net.Conn, read []byte) error {
	select {
	case p.conns <- rest{c, io.MultiReader(bytes.NewReader(read), c)}:
		return nil
	case <-p.ctx.Done():
		return p.ctx.Err()
	}
}

// rest is what comes after that which was read of a connection.
type rest struct {
	net.Conn
	in io.Reader
}

// CloseWrite is for net/http, which ends some connections by it.
func (r rest) CloseWrite() error {
	if half, ok := r.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// Read implements net.Conn.
func (r rest) Read(p []byte) (int, error) { return r.in.Read(p) }
