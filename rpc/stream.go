package rpc

import (
	"bytes"
	"context"
	"net"
	"sync/atomic"
	"time"
)

// maxWaiting and maxWaitingBytes limit the calls of a client that wait for an answer.
const (
	maxWaiting      = 10_000
	maxWaitingBytes = 256 << 20
)

// takeAll answers calls, whose parts come from read, until the client disconnects. It keeps reading during a query, to
// notice that, and then calls gone.
func (s *stream) takeAll(ctx context.Context, gone func(), read func() ([]byte, error)) error {
	parts := make(chan []byte, maxWaiting)
	var waiting atomic.Int64
	go func() {
		defer gone()
		defer close(parts)
		for {
			part, err := read()
			if err != nil || waiting.Add(int64(len(part))) > maxWaitingBytes {
				return
			}
			select {
			case parts <- part:
			default:
				return
			}
		}
	}()
	for part := range parts {
		if err := s.take(ctx, part); err != nil {
			return err
		}
		waiting.Add(-int64(len(part)))
	}
	return nil
}

// partBytes is how much of a stream is read at once.
const partBytes = 256 << 10

// ServeStream answers the TraceProcessorRpcStream of a client, such as one of a Unix socket, until it disconnects or
// the context is done, and closes the connection.
func (s *Server) ServeStream(ctx context.Context, conn net.Conn) {
	ctx, gone := context.WithCancel(ctx)
	defer gone()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	defer conn.Close()
	own := s.room()
	defer own.close()
	calls := &stream{server: s, room: own, send: func(m []byte) error {
		if err := conn.SetWriteDeadline(time.Now().Add(patience)); err != nil {
			return err
		}
		_, err := conn.Write(m)
		return err
	}}
	buffer := make([]byte, partBytes)
	_ = calls.takeAll(ctx, gone, func() ([]byte, error) {
		n, err := conn.Read(buffer)
		return bytes.Clone(buffer[:n]), err
	})
}
