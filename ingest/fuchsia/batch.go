package fuchsia

import (
	"cmp"
	"errors"

	"github.com/tpconvert/tpconvert/model/handoff"
	"github.com/tpconvert/tpconvert/sort"
)

const (
	aheadBatches = 12
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
	*batch // that is being filled
	helper *handoff.Helper[*batch]
	all    [aheadBatches]batch
	err    error // of the sorter
}

// add adds a token that was appended to data.
func (b *batches) add(ts int64, data []byte) error {
	b.data = data
	b.ends = append(b.ends, tokenEnd{ts, len(data)})
	if len(b.ends) < batchTokens {
		return nil
	}
	b.helper.Done(b.batch)
	return b.next()
}

// next takes the batch to be filled next.
func (b *batches) next() (err error) {
	var ok bool
	if b.batch, ok = b.helper.Next(); !ok {
		return errStopped
	}
	return nil
}

// carry pushes what read adds, while that goes on on a goroutine of its own.
func (b *batches) carry(to *sort.Stream, read func() error) error {
	if b.err != nil {
		return b.err
	}
	var err error
	helper := handoff.Help(aheadBatches, func(h *handoff.Helper[*batch]) {
		b.helper = h
		if err = b.next(); err == nil {
			err = read()
		}
		if b.batch != nil {
			h.Done(b.batch)
		}
	})
	for i := range b.all {
		helper.Give(&b.all[i])
	}
	for b.err == nil {
		full, ok := helper.Take()
		if !ok {
			break
		}
		if b.err = full.push(to); b.err == nil {
			helper.Give(full)
		}
	}
	helper.Stop()
	return cmp.Or(b.err, err)
}
