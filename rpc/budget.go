package rpc

import (
	"bytes"
	"errors"
	"io"
	"sync/atomic"
)

// maxBodies is the size of all requests that the server holds at a time. The last part of it is for small ones, so that large ones do
// not keep them out.
const (
	maxBodies = 512 << 20
	forSmall  = 128 << 20
	smallBody = 1 << 20
)

var errBusy = errors.New("the server has too many large requests at once; try again")

// budget counts the bytes of requests in memory.
type budget struct{ used atomic.Int64 }

// take adds n bytes to what a client holds already, or fails if that would be too many.
func (b *budget) take(n int, held int64) error {
	most := int64(maxBodies)
	if held+int64(n) > smallBody {
		most -= forSmall
	}
	if b.used.Add(int64(n)) > most {
		b.free(n)
		return errBusy
	}
	return nil
}

func (b *budget) free(n int) { b.used.Add(-int64(n)) }

// readAll reads all of r for a client. The result counts until it is freed.
func (b *budget) readAll(r io.Reader, held int64) ([]byte, error) {
	var all bytes.Buffer
	for {
		before := all.Cap()
		all.Grow(bytes.MinRead)
		if err := b.take(all.Cap()-before, held+int64(before)); err != nil {
			b.free(before)
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
