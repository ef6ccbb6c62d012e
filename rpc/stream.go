package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"

	"github.com/tpconvert/tpconvert/internal/web"
)

// maxWaiting and maxWaitingBytes limit the parts that a client sends ahead of the answers.
const (
	maxWaiting      = 10_000
	maxWaitingBytes = 256 << 20
)

var errFlood = errors.New("too many calls wait for an answer")

// takeAll answers calls, whose parts come from read and count as bodies, until the client disconnects, which ends the call that runs. read
// is told how many bytes the client holds.
func (s *stream) takeAll(ctx context.Context, read func(held int64) ([]byte, error)) error {
	ctx, gone := context.WithCancelCause(ctx)
	var held atomic.Int64
	parts := make(chan []byte, maxWaiting)
	go func() {
		defer close(parts)
		for {
			part, err := read(held.Load())
			if err == nil && (held.Add(int64(len(part))) > maxWaitingBytes || len(parts) == maxWaiting) {
				err = errFlood
			}
			if err != nil {
				gone(err)
				return
			}
			parts <- part
		}
	}()
	defer func() {
		gone(nil)
		go func() { // read fails once the caller has closed the connection
			for range parts {
			}
			s.server.bodies.free(int(held.Load()))
		}()
	}()
	for part := range parts {
		before := len(s.rest) + len(part)
		err := s.take(ctx, part)
		answered := before - len(s.rest)
		s.server.bodies.free(answered)
		held.Add(-int64(answered))
		if err != nil {
			return err
		}
	}
	return context.Cause(ctx)
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
	conn = web.Patient(conn)
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if s.enterStream() != nil {
		return
	}
	defer s.streams.Add(-1)
	own := s.newWorkspace()
	defer own.close()
	calls := &stream{server: s, at: own, send: func(m []byte) error {
		_, err := conn.Write(m)
		return err
	}}
	buffer := make([]byte, partBytes)
	_ = calls.takeAll(ctx, func(held int64) ([]byte, error) {
		n, err := conn.Read(buffer)
		if err == nil {
			err = s.bodies.take(n, held)
		}
		return bytes.Clone(buffer[:n]), err
	})
}
