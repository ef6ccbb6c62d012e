package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tpconvert/tpconvert/internal/overdue"
)

// maxWaiting and maxWaitingBytes limit the calls of a client that wait for an answer.
const (
	maxWaiting      = 10_000
	maxWaitingBytes = 256 << 20
)

// longCall is how long a call may take before somebody else reads what the client sends.
const longCall = 10 * time.Millisecond

var errFlood = errors.New("too many calls wait for an answer")

// takeAll answers calls, whose parts come from read and count as bodies, until the client disconnects. During a long call it calls gone
// then. read is told how many bytes the client holds.
func (s *stream) takeAll(ctx context.Context, gone func(), read func(held int64) ([]byte, error)) error {
	bodies := &s.server.bodies
	var waiting, held atomic.Int64
	a := &arrivals{gone: gone, free: bodies.free, read: func() ([]byte, error) {
		part, err := read(held.Load())
		if err != nil {
			return nil, err
		}
		held.Add(int64(len(part)))
		if waiting.Add(int64(len(part))) > maxWaitingBytes {
			bodies.free(len(part))
			return nil, errFlood
		}
		return part, nil
	}}
	long := overdue.New(longCall)
	defer func() {
		bodies.free(len(s.rest))
		a.drop()
	}()
	for {
		part, ok := a.next()
		if !ok {
			return nil
		}
		before := len(s.rest) + len(part)
		long.Begin(a.readAhead)
		err := s.take(ctx, part)
		long.End()
		bodies.free(before - len(s.rest))
		held.Add(int64(len(s.rest) - before))
		if err != nil {
			return err
		}
		waiting.Add(-int64(len(part)))
	}
}

// arrivals are the parts that a client sends. The goroutine that answers them reads them itself, so that a short call need not wake
// another one. During a long call another one reads ahead, which notices that the client disconnects.
type arrivals struct {
	read func() ([]byte, error)
	free func(n int) // takes back what read has counted
	gone func()

	mu        sync.Mutex
	answering bool
	ahead     bool        // a goroutine reads
	wanted    bool        // next waits for it
	parts     chan []byte // that it has read; closed when the client disconnects
}

// next returns the next part, unless the client has disconnected. Until it is called again the part is being answered.
func (a *arrivals) next() (part []byte, ok bool) {
	a.mu.Lock()
	a.answering = false
	if !a.ahead && len(a.parts) == 0 {
		a.mu.Unlock()
		var err error
		part, err = a.read()
		a.mu.Lock()
		ok = err == nil
	} else {
		a.wanted = true
		a.mu.Unlock()
		part, ok = <-a.parts
		a.mu.Lock()
		a.wanted = false
	}
	a.answering = ok
	a.mu.Unlock()
	return part, ok
}

// readAhead begins to read ahead, until next has waited for a part.
func (a *arrivals) readAhead() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.answering || a.ahead {
		return
	}
	a.ahead = true
	if a.parts == nil {
		a.parts = make(chan []byte, maxWaiting)
	}
	go func() {
		for a.add(a.read()) {
		}
	}()
}

// add takes what was read, and reports whether to read on. What next has waited for is there when that is decided, and not before: the
// part may be answered at once, and next wait for another one.
func (a *arrivals) add(part []byte, err error) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err == nil {
		select {
		case a.parts <- part:
		default:
			a.free(len(part))
			err = errFlood
		}
	}
	if err != nil {
		a.gone()
		close(a.parts)
		return false
	}
	a.ahead = !a.wanted
	return a.ahead
}

// drop forgets the parts that nobody answers. Who reads ahead ends when the caller disconnects.
func (a *arrivals) drop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answering = false
	parts := a.parts
	if a.ahead {
		go func() {
			for part := range parts {
				a.free(len(part))
			}
		}()
		return
	}
	for len(parts) > 0 {
		a.free(len(<-parts))
	}
}

// partBytes is how much of a stream is read at once.
const partBytes = 256 << 10

// maxStreams is the number of streams at a time, each of which has a session of some MiB.
const maxStreams = 256

// enterStream counts a stream, or fails if there are too many.
func (s *Server) enterStream() error {
	if s.streams.Add(1) > maxStreams {
		s.streams.Add(-1)
		return fmt.Errorf("%d clients are connected already", maxStreams)
	}
	return nil
}

// ServeStream answers the TraceProcessorRpcStream of a client, such as one of a Unix socket, until it disconnects or
// the context is done, and closes the connection.
func (s *Server) ServeStream(ctx context.Context, conn net.Conn) {
	ctx, gone := context.WithCancel(ctx)
	defer gone()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	defer conn.Close()
	if s.enterStream() != nil {
		return
	}
	defer s.streams.Add(-1)
	own := s.room(s.starting)
	defer own.close()
	sending := overdue.New(patience)
	calls := &stream{server: s, room: own, send: func(m []byte) error {
		sending.Begin(gone)
		defer sending.End()
		_, err := conn.Write(m)
		return err
	}}
	buffer := make([]byte, partBytes)
	_ = calls.takeAll(ctx, gone, func(held int64) ([]byte, error) {
		n, err := conn.Read(buffer)
		if err == nil {
			err = s.bodies.take(n, held)
		}
		return bytes.Clone(buffer[:n]), err
	})
}
