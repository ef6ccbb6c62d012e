package pipeline

import (
	"context"
	"io"
)

const (
	blockBytes  = 256 << 10
	blocksAhead = 4
)

// Ahead reads an input on a goroutine of its own, up to 1 MiB ahead of its owner.
type Ahead struct {
	ctx   context.Context
	stop  context.CancelFunc
	full  chan []byte // blocks read from the input, in order; closed at the end
	free  chan []byte
	block []byte // the block that Read is in
	rest  []byte // unread part of the block
	err   error  // from the input, valid once full is closed
	fault error  // the panic of reading, likewise
}

// ReadAhead starts to read r. Reading ends with the error of ctx when ctx is done, even
// while r blocks.
func ReadAhead(ctx context.Context, r io.Reader) *Ahead {
	a := &Ahead{full: make(chan []byte, blocksAhead), free: make(chan []byte, blocksAhead)}
	a.ctx, a.stop = context.WithCancel(ctx)
	for range blocksAhead {
		a.free <- nil
	}
	go a.fill(r)
	return a
}

func (a *Ahead) fill(r io.Reader) {
	defer close(a.full)
	defer caught(&a.fault)
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
		n := 0
		for n < blockBytes && a.err == nil && a.ctx.Err() == nil {
			var more int
			more, a.err = r.Read(block[n:blockBytes])
			n += more
		}
		a.full <- block[:n]
	}
}

// Read implements io.Reader. It returns the input's own errors after all its bytes.
func (a *Ahead) Read(p []byte) (int, error) {
	for len(a.rest) == 0 {
		if a.block != nil {
			a.free <- a.block
			a.block = nil
		}
		select {
		case <-a.ctx.Done():
			return 0, a.ctx.Err()
		case block, ok := <-a.full:
			if !ok && a.fault != nil {
				panic(a.fault)
			}
			if !ok {
				a.free = nil // the blocks' memory
				return 0, a.err
			}
			a.block, a.rest = block, block
		}
	}
	n := copy(p, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}

// Stop ends reading, and waits until nothing reads the input any more.
func (a *Ahead) Stop() {
	a.stop()
	for range a.full {
	}
}
