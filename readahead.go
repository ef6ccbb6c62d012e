package tpconvert

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"sync/atomic"

	"github.com/tpconvert/tpconvert/internal/pipeline"
)

// readAhead reads and hashes an input on its own goroutine, a few blocks ahead of the parser.
type readAhead struct {
	*pipeline.Ahead
	taken  *atomic.Int64 // counts the bytes that Read returned
	digest hash.Hash     // of all bytes, valid at the end
	size   int64         // number of bytes that Read returned
}

// newReadAhead starts to read r. Reading ends with the error of ctx when ctx is
// done, even while r blocks.
func newReadAhead(ctx context.Context, r io.Reader, taken *atomic.Int64) *readAhead {
	a := &readAhead{taken: taken, digest: sha256.New()}
	a.Ahead = pipeline.ReadAhead(ctx, io.TeeReader(r, a.digest))
	return a
}

// Read implements io.Reader.
func (a *readAhead) Read(p []byte) (int, error) {
	n, err := a.Ahead.Read(p)
	a.size += int64(n)
	a.taken.Add(int64(n))
	return n, err
}

// sum reads the rest of the input, and returns the size of the whole input in bytes
// and its SHA-256 in hexadecimal.
func (a *readAhead) sum() (int64, string, error) {
	if _, err := io.Copy(io.Discard, a); err != nil {
		return 0, "", err
	}
	return a.size, hex.EncodeToString(a.digest.Sum(nil)), nil
}
