package store

import (
	"io"
	"strings"

	lru "github.com/hashicorp/golang-lru/v2"
)

// Input is an open object.
type Input interface {
	io.ReaderAt
	io.Seeker
	io.Closer
}

// Blocks keeps blocks of objects that are read in small pieces, because each request to a store takes a while. It is safe for concurrent use.
type Blocks struct{ cache *lru.Cache[block, []byte] }

// block is a part of an object.
type block struct {
	input Input
	n     int64
}

const (
	blockSize  = 1 << 20
	mostBlocks = 256
)

// NewBlocks returns an empty cache, which takes up to 256 MiB.
func NewBlocks() *Blocks {
	cache, err := lru.New[block, []byte](mostBlocks)
	if err != nil {
		panic(err) // the size is positive
	}
	return &Blocks{cache}
}

// Of returns an object of a size in bytes that is read by blocks. Files are read as they are.
func (b *Blocks) Of(in Input, url string, size int64) Input {
	if scheme, _, found := strings.Cut(url, "://"); !found || scheme == "file" {
		return in
	}
	return &inBlocks{io.NewSectionReader(in, 0, size), in, b}
}

// inBlocks is an object that is read by blocks.
type inBlocks struct {
	*io.SectionReader // for Seek
	in                Input
	from              *Blocks
}

// ReadAt implements io.ReaderAt.
func (r *inBlocks) ReadAt(p []byte, off int64) (n int, err error) {
	for n < len(p) {
		at := off + int64(n)
		if at >= r.Size() {
			return n, io.EOF
		}
		b, err := r.from.block(block{r.in, at / blockSize}, r.Size())
		if err != nil {
			return n, err
		}
		n += copy(p[n:], b[at%blockSize:])
	}
	return n, nil
}

func (b *Blocks) block(key block, size int64) ([]byte, error) {
	if bytes, there := b.cache.Get(key); there {
		return bytes, nil
	}
	from := key.n * blockSize
	bytes := make([]byte, min(blockSize, size-from))
	if n, err := key.input.ReadAt(bytes, from); n < len(bytes) {
		return nil, err
	}
	b.cache.Add(key, bytes)
	return bytes, nil
}

// Close closes the object.
func (r *inBlocks) Close() error { return r.in.Close() }
