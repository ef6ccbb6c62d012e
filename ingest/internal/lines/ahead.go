package lines

import (
	"bytes"
	"io"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/internal/pipeline"
)

const (
	blockBytes = 64 << 10 // of lines that a worker decodes; they stay in a core's cache
	largeBlock = 1 << 20  // from here on a block waits until all before are used, so that there is one in memory
)

// An Ahead reads the lines of an input in blocks, and decodes each block into a T. Workers decode blocks ahead of their use.
type Ahead[T any] struct {
	r      io.Reader
	here   bool
	decode func(value *T, offset int64, lines []byte)
	offset int64
	rest   []byte // after the last newline
	size   int    // of the next block, bytes
	err    error

	helper *pipeline.Helper[*block[T]] // nil until there is a full block
	given  int
	spare  []*block[T]
}

// block is a part of the input that ends with a newline.
type block[T any] struct {
	offset int64 // bytes of the input before lines
	lines  []byte
	value  T
}

// NewAhead returns a reader for the lines of r. decode gets whole lines and their offset in bytes from the start of the input, and must
// depend on these alone. Its value may have been used before, and may keep slices of the lines. If here is true, lines are read and
// decoded no sooner than they are used, on the caller's goroutine.
func NewAhead[T any](r io.Reader, here bool, decode func(value *T, offset int64, lines []byte)) *Ahead[T] {
	return &Ahead[T]{r: r, here: here, decode: decode, size: firstBuffer}
}

// Each calls f with the value of each block, valid during the call. It returns the error of f or of the input.
func (a *Ahead[T]) Each(f func(value *T) error) error {
	ahead := pipeline.Workers() + 2
	for more := true; more; {
		b := a.block()
		more = a.cut(b)
		if a.here || len(b.lines) < blockBytes/2 || len(b.lines) >= largeBlock {
			if err := a.take(a.given, f); err != nil {
				return err
			}
			a.decodeIn(b)
			if err := a.use(b, f); err != nil {
				return err
			}
			continue
		}
		if a.helper == nil {
			a.helper = pipeline.Each(ahead, a.decodeIn)
			defer a.helper.Stop()
		}
		if a.given == ahead {
			if err := a.take(1, f); err != nil {
				return err
			}
		}
		a.helper.Give(b)
		a.given++
	}
	if err := a.take(a.given, f); err != nil {
		return err
	}
	return a.err
}

// Offset returns how many bytes of the input are whole lines, after Each.
func (a *Ahead[T]) Offset() int64 { return a.offset }

// Rest returns the text after the last newline, after Each: a truncated line, unless it is empty.
func (a *Ahead[T]) Rest() []byte { return a.rest }

func (a *Ahead[T]) decodeIn(b *block[T]) { a.decode(&b.value, b.offset, b.lines) }

// take uses the next n blocks that workers have.
func (a *Ahead[T]) take(n int, f func(*T) error) error {
	for range n {
		b, _ := a.helper.Take()
		a.given--
		if err := a.use(b, f); err != nil {
			return err
		}
	}
	return nil
}

// use calls f with a block's value, and keeps the block to fill it again.
func (a *Ahead[T]) use(b *block[T], f func(*T) error) error {
	if cap(b.lines) < largeBlock {
		a.spare = append(a.spare, b)
	}
	return f(&b.value)
}

// block returns a block to fill.
func (a *Ahead[T]) block() *block[T] {
	n := len(a.spare)
	if n == 0 {
		return new(block[T])
	}
	b := a.spare[n-1]
	a.spare = a.spare[:n-1]
	return b
}

// cut reads the next whole lines into a block. It returns false after the last ones.
func (a *Ahead[T]) cut(b *block[T]) bool {
	b.offset = a.offset
	b.lines = append(b.lines[:0], a.rest...)
	end := 0
	for a.err == nil {
		if len(b.lines) >= Max {
			a.err = format.Errorf(format.ErrCorrupt, a.offset, "a line of more than %d bytes", Max)
			break
		}
		if cap(b.lines)-len(b.lines) < a.size/2 {
			b.lines = append(make([]byte, 0, max(a.size, 2*len(b.lines))), b.lines...)
		}
		from := len(b.lines)
		n, err := a.r.Read(b.lines[from:cap(b.lines)])
		a.err = err
		b.lines = b.lines[:from+n]
		if i := bytes.LastIndexByte(b.lines[from:], '\n'); i >= 0 {
			end = from + i + 1
		}
		if end > 0 && (a.here || cap(b.lines)-len(b.lines) < a.size/2) {
			break
		}
	}
	a.rest = append(a.rest[:0], b.lines[end:]...)
	b.lines = b.lines[:end]
	a.offset += int64(end)
	a.size = min(2*a.size, blockBytes)
	more := a.err == nil
	if a.err == io.EOF {
		a.err = nil
	}
	return more
}
