package rpc

import (
	"bytes"
	"errors"
	"io"
	"sync/atomic"
)

// maxBodies is the size of all requests that the server holds at a time.
const maxBodies = 512 << 20

var errBusy = errors.New("the server has too many large requests at once; try again")

// budget counts the bytes of requests in memory.
type budget struct{ used atomic.Int64 }

// take adds n bytes, or fails if that would be too many.
func (b *budget) take(n int) error {
	if b.used.Add(int64(n)) > maxBodies {
		b.free(n)
		return errBusy
	}
	return nil
}

func (b *budget) free(n int) { b.used.Add(-int64(n)) }

// readAll reads all of r. The result counts until it is freed.
func (b *budget) readAll(r io.Reader) ([]byte, error) {
	var all bytes.Buffer
	for {
		held := all.Cap()
		all.Grow(bytes.MinRead)
		if err := b.take(all.Cap() - held); err != nil {
			b.free(held)
			return nil, err
		}
		n, err := r.Read(all.AvailableBuffer()[:all.Available()])
		all.Write(all.AvailableBuffer()[:n])
		if err == nil {
			continue
		}
		b.free(all.Cap() - all.Len())
		if err != io.EOF {
			b.free(all.Len())
			return nil, err
		}
		return all.Bytes(), nil
	}
}
