package rpc

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"time"
)

// maxWaiting and maxWaitingBytes limit the calls of a client that wait for an answer.
const (
	maxWaiting      = 10_000
	maxWaitingBytes = 256 << 20
)

// takeAll answers calls, whose parts come from read and count as bodies, until the client disconnects. It keeps reading during a query, to
// notice that, and then calls gone. read is told how many bytes the client holds.
func (s *stream) takeAll(ctx context.Context, gone func(), read func(held int64) ([]byte, error)) error {
	parts := make(chan []byte, maxWaiting)
	bodies := &s.server.bodies
	var waiting, held atomic.Int64
	go func() {
		defer gone()
		defer close(parts)
		for {
			part, err := read(held.Load())
			if err != nil {
				return
			}
			held.Add(int64(len(part)))
			if waiting.Add(int64(len(part))) <= maxWaitingBytes {
				select {
				case parts <- part:
					continue
				default:
				}
			}
			bodies.free(len(part))
			return
		}
	}()
	defer func() {
		bodies.free(len(s.rest))
		go func() { // the reader ends when the caller disconnects
			for part := range parts {
				bodies.free(len(part))
			}
		}()
	}()
	for part := range parts {
		before := len(s.rest) + len(part)
		err := s.take(ctx, part)
		bodies.free(before - len(s.rest))
		held.Add(int64(len(s.rest) - before))
		if err != nil {
			return err
		}
		waiting.Add(-int64(len(part)))
	}
	return nil
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
	calls := &stream{server: s, room: own, send: func(m []byte) error {
		if err := conn.SetWriteDeadline(time.Now().Add(patience)); err != nil {
			return err
		}
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
