package fuchsia

import (
	"cmp"
	"errors"

	"github.com/tpconvert/tpconvert/model/handoff"
	"github.com/tpconvert/tpconvert/sort"
)

const (
	spareBatches = 12
	batchTokens  = 2048
)

// errStopped ends the reading of records when the sorter has failed.
var errStopped = errors.New("the sorter takes no more events")

// batch is a run of tokens on its way to the sorter.
type batch struct {
	ends []tokenEnd
	data []byte
}

// tokenEnd is the time of a token, and its end in the batch, where the next
// begins.
type tokenEnd struct {
	ts int64
	at int
}

// push pushes the tokens and forgets them.
func (b *batch) push(to *sort.Stream) error {
	from := 0
	for _, end := range b.ends {
		if err := to.Push(end.ts, b.data[from:end.at]); err != nil {
			return err
		}
		from = end.at
	}
	b.ends, b.data = b.ends[:0], b.data[:0]
	return nil
}

// batches carry tokens from the goroutine that reads records to the one that
// fills the sorter, so that both have a core of their own.
type batches struct {
	*batch             // that is being filled
	full   chan *batch // closed at the end
	free   chan *batch // closed when the sorter has failed
	err    error       // of the sorter
}

func newBatches() batches {
	b := batches{batch: new(batch), free: make(chan *batch, spareBatches)}
	for range spareBatches {
		b.free <- new(batch)
	}
	return b
}

// add adds a token that was appended to data.
func (b *batches) add(ts int64, data []byte) error {
	b.data = data
	b.ends = append(b.ends, tokenEnd{ts, len(data)})
	if len(b.ends) < batchTokens {
		return nil
	}
	return b.flush()
}

// flush hands over what there is.
func (b *batches) flush() error {
	b.full <- b.batch
	if b.batch = <-b.free; b.batch == nil {
		return errStopped
	}
	return nil
}

// carry pushes what read adds, while that goes on on a goroutine of its own.
func (b *batches) carry(to *sort.Stream, read func() error) error {
	if b.err != nil {
		return b.err
	}
	b.full = make(chan *batch, spareBatches)
	var err error
	go func() {
		defer close(b.full)
		if err = read(); err != errStopped {
			err = cmp.Or(b.flush(), err)
		}
	}()
	for {
		full, ok := handoff.Receive(b.full)
		if !ok {
			return cmp.Or(b.err, err)
		}
		if b.err != nil {
			continue
		}
		if b.err = full.push(to); b.err != nil {
			close(b.free)
			continue
		}
		b.free <- full
	}
}
