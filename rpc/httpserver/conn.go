package httpserver

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/tpconvert/tpconvert/internal/overdue"
)

// few is how many connections have their requests answered here. In a crowd, those of net/http wait less.
var few int64 = 8

const (
	// smallBody is the size in bytes of the largest body of a small request.
	smallBody = 16 << 10
	// bodyTime is how long a client may take to send it.
	bodyTime = time.Minute
	// long is how long a request takes before somebody looks whether the client leaves.
	long = 10 * time.Millisecond
	// again is how long it is until somebody looks again.
	again = 20 * time.Millisecond
)

// conn is a connection whose requests have been small so far.
type conn struct {
	net.Conn
	direct  blocking // the same, or nil if it is one of package net
	handler http.Handler
	in      *bufio.Reader
	out     []byte         // empty, to send the next answer
	body    []byte         // empty, for the body of the next answer
	late    *overdue.Watch // of a body
	running *overdue.Watch // of a request

	mu       sync.Mutex
	active   bool       // a request runs
	watching chan error // gets the result of watch; nil if it does not look
}

// blocking is a connection outside of Go's poller, see direct.
type blocking interface {
	net.Conn
	left() bool
	pollable() (net.Conn, error)
	release()
}

func newConn(c net.Conn, handler http.Handler) *conn {
	return &conn{Conn: c, handler: handler, in: bufio.NewReader(c), late: overdue.New(bodyTime), running: overdue.New(long)}
}

// serve answers requests until the client leaves, the context ends, a request is not small, or there are too many connections.
func (c *conn) serve(ctx context.Context, others *passed) {
	kept := others.kept.Add(1)
	defer others.kept.Add(-1)
	// A thread that waits keeps its processor for a while. One is left for whatever else there is to do.
	if kept < int64(runtime.GOMAXPROCS(0)) {
		if c.direct = takeOver(c.Conn); c.direct != nil {
			defer c.direct.release()
			c.Conn = c.direct
			c.in.Reset(c.direct)
		}
	}
	ctx, gone := context.WithCancel(ctx)
	defer gone()
	keep := context.AfterFunc(ctx, func() { c.Close() })
	if c.SetReadDeadline(time.Now().Add(headTime)) != nil {
		return
	}
	for first := true; ; first = false {
		if !first && !c.skipLines() {
			return
		}
		head, r := c.next()
		switch {
		case head == nil:
			return
		case r == nil || others.kept.Load() > few:
			if keep() && c.pass(others, head) != nil {
				c.Close()
			}
			return
		case first:
			if c.SetReadDeadline(time.Time{}) != nil {
				return
			}
		}
		if !c.answer(ctx, gone, r) {
			c.linger()
			return
		}
	}
}

// pass leaves the connection to net/http, with the head that was read.
func (c *conn) pass(others *passed, head []byte) error {
	rest, _ := c.in.Peek(c.in.Buffered())
	to := c.Conn
	if c.direct != nil {
		var err error
		if to, err = c.direct.pollable(); err != nil {
			return err
		}
	}
	return others.pass(to, slices.Concat(head, rest))
}

// lingerTime is how long the end of a connection waits for the client to read the last answer.
const lingerTime = 500 * time.Millisecond

// linger says that no further answer comes. A connection that is closed while the client still sends loses what was sent to it last.
func (c *conn) linger() {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil && c.SetReadDeadline(time.Now().Add(lingerTime)) == nil {
		_, _ = io.Copy(io.Discard, c.in)
	}
}

// skipLines waits for a request, and skips the ends of lines that some clients send after the body of the one before.
func (c *conn) skipLines() bool {
	for {
		b, err := c.in.ReadByte()
		if err != nil {
			return false
		}
		if b != '\r' && b != '\n' {
			return c.in.UnreadByte() == nil
		}
	}
}

// next waits for a request. It returns the head, which is nil if the client leaves, and the request, which is nil if it is not a small
// one.
func (c *conn) next() (head []byte, r *http.Request) {
	if _, err := c.in.Peek(1); err != nil {
		return nil, nil
	}
	head, _ = c.in.Peek(c.in.Buffered())
	end := bytes.Index(head, []byte("\r\n\r\n"))
	if end < 0 {
		return []byte{}, nil
	}
	head = bytes.Clone(head[:end+4])
	r, err := http.ReadRequest(c.in)
	if err != nil || !small(r) {
		return head, nil
	}
	r.RemoteAddr = c.RemoteAddr().String()
	return head, r
}

// small reports whether a request is answered here.
func small(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodPost, http.MethodOptions:
		return r.ProtoMajor == 1 && r.ProtoMinor == 1 && r.Host != "" && r.ContentLength >= 0 && r.ContentLength <= smallBody &&
			r.Header["Expect"] == nil && r.Header["Upgrade"] == nil
	}
	return false
}

// answer runs a request, and reports whether another one may follow. It calls gone if the client leaves meanwhile.
func (c *conn) answer(ctx context.Context, gone func(), r *http.Request) (more bool) {
	body := make([]byte, r.ContentLength)
	c.late.Begin(gone)
	_, err := io.ReadFull(r.Body, body)
	c.late.End()
	if err != nil {
		return false
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	defer func() {
		if p := recover(); p != nil { // as in net/http, the others go on
			if p != http.ErrAbortHandler {
				log.Printf("panic while a request of %s is answered: %v\n%s", r.RemoteAddr, p, debug.Stack())
			}
			_ = c.end() // the connection ends anyway
			gone()
		}
	}()
	c.begin(gone)
	ctx, end := context.WithCancel(ctx)
	w := &response{conn: c, header: http.Header{}, closing: r.Close, body: *bytes.NewBuffer(c.body)}
	c.handler.ServeHTTP(w, r.WithContext(ctx))
	end()
	more = w.finish()
	return c.end() == nil && more
}

// begin says that a request runs.
func (c *conn) begin(gone func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.active = true
	c.running.Begin(func() { c.watch(gone) })
}

// watch looks whether the client leaves while a request runs.
func (c *conn) watch(gone func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.active || c.watching != nil {
		return
	}
	c.watching = make(chan error, 1)
	if c.direct != nil {
		go c.look(gone, c.watching)
		return
	}
	go func(result chan<- error) {
		_, err := c.in.Peek(1)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = nil // end does not want to know any more
		}
		if err != nil {
			gone()
		}
		result <- err
	}(c.watching)
}

// look is watch for a connection whose reads nobody can end. It ends itself some time after the request.
func (c *conn) look(gone func(), of chan error) {
	for c.looking(of) {
		if c.direct.left() {
			gone()
			return
		}
		time.Sleep(again)
	}
}

func (c *conn) looking(of chan error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.watching == of
}

// end says that a request has ended, and returns an error if the client has left.
func (c *conn) end() error {
	c.running.End()
	c.mu.Lock()
	watching := c.watching
	c.active, c.watching = false, nil
	c.mu.Unlock()
	if watching == nil || c.direct != nil {
		return nil
	}
	if err := c.SetReadDeadline(time.Unix(1, 0)); err != nil {
		return err
	}
	return errors.Join(<-watching, c.SetReadDeadline(time.Time{}))
}
