package reading

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"sync/atomic"
)

const (
	blockBytes  = 1 << 20
	blocksAhead = 4
)

// readAhead reads and hashes an input on its own goroutine, a few blocks ahead of the parser.
type readAhead struct {
	ctx    context.Context
	taken  *atomic.Int64 // counts the bytes that Read returned
	full   chan []byte   // blocks read from the input, in order; closed at the end
	free   chan []byte
	block  []byte // the block that Read is in
	rest   []byte // unread part of the block
	err    error  // from the source; like the fields below, valid once full is closed
	size   int64
	digest hash.Hash
}

// newReadAhead starts to read r. Reading ends with the error of ctx when ctx is
// done, even while r blocks.
func newReadAhead(ctx context.Context, r io.Reader, taken *atomic.Int64) *readAhead {
	a := &readAhead{
		ctx:    ctx,
		taken:  taken,
		full:   make(chan []byte, blocksAhead),
		free:   make(chan []byte, blocksAhead),
		digest: sha256.New(),
	}
	for range blocksAhead {
		a.free <- nil
	}
	go a.fill(r)
	return a
}

func (a *readAhead) fill(r io.Reader) {
	defer close(a.full)
	for a.err == nil {
		var block []byte
		select {
		case block = <-a.free:
		case <-a.ctx.Done():
			a.err = a.ctx.Err()
			return
		}
		if block == nil {
			block = make([]byte, blockBytes)
		}
		var n int
		n, a.err = io.ReadFull(r, block[:blockBytes])
		if a.err == io.ErrUnexpectedEOF {
			a.err = io.EOF
		}
		a.size += int64(n)
		a.digest.Write(block[:n])
		a.full <- block[:n]
	}
}

// Read implements io.Reader.
func (a *readAhead) Read(p []byte) (int, error) {
	for len(a.rest) == 0 {
		if a.block != nil {
			a.free <- a.block
			a.block = nil
		}
		select {
		case <-a.ctx.Done():
			return 0, a.ctx.Err()
		case block, ok := <-a.full:
			if !ok {
				a.free = nil // the blocks' memory
				return 0, a.err
			}
			a.block, a.rest = block, block
		}
	}
	n := copy(p, a.rest)
	a.rest = a.rest[n:]
	a.taken.Add(int64(n))
	return n, nil
}

// sum reads the rest of the input, and returns the size of the whole input in bytes
// and its SHA-256 in hexadecimal.
func (a *readAhead) sum() (int64, string, error) {
	if _, err := io.Copy(io.Discard, a); err != nil {
		return 0, "", err
	}
	return a.size, hex.EncodeToString(a.digest.Sum(nil)), nil
}
