package tracefile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"sync/atomic"

	"github.com/tpconvert/tpconvert/internal/pipeline"
)

// Ahead reads and hashes an input on its own goroutine, a few blocks ahead of the parser.
type Ahead struct {
	*pipeline.Ahead
	taken  *atomic.Int64
	digest hash.Hash // of all bytes, valid at the end
	size   int64     // number of bytes that Read returned
}

// ReadAhead starts to read r, and counts the bytes that were read from it in taken. Reading ends with the error of ctx when ctx
// is done, even while r blocks.
func ReadAhead(ctx context.Context, r io.Reader, taken *atomic.Int64) *Ahead {
	a := &Ahead{taken: taken, digest: sha256.New()}
	a.Ahead = pipeline.ReadAhead(ctx, io.TeeReader(r, a.digest))
	return a
}

// Read implements io.Reader.
func (a *Ahead) Read(p []byte) (int, error) {
	n, err := a.Ahead.Read(p)
	a.size += int64(n)
	a.taken.Add(int64(n))
	return n, err
}

// Sum reads the rest of the input, and returns the size of the whole input in bytes
// and its SHA-256 in hexadecimal.
func (a *Ahead) Sum() (int64, string, error) {
	if _, err := io.Copy(io.Discard, a); err != nil {
		return 0, "", err
	}
	return a.size, hex.EncodeToString(a.digest.Sum(nil)), nil
}
