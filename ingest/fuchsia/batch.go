package fuchsia

import (
	"cmp"
	"errors"

	"github.com/tpconvert/tpconvert/model/handoff"
	"github.com/tpconvert/tpconvert/sort"
)

const (
	batchesAhead = 12
	batchTokens  = 2048
	batchBytes   = 64 << 10
	// sectionTokens is how many tokens of a section are worth a part of a batch.
	sectionTokens = 128
)

// errStopped ends the reading of records when the sorter has failed.
var errStopped = errors.New("the sorter takes no more events")

// batches carry tokens from the goroutine that reads records to the one that
// fills the sorter, so that both have a core of their own.
type batches struct {
	*sort.Batch // that is being filled
	helper      *handoff.Helper[*sort.Batch]
	all         [batchesAhead]sort.Batch
	cut         int   // tokens of the batch before the section
	err         error // of the sorter
}

// add adds a token that was appended to the batch's buffer.
func (b *batches) add(ts int64, token []byte) error {
	b.Add(ts, token)
	if b.Len() < batchTokens && b.Size() < batchBytes {
		return nil
	}
	b.helper.Done(b.Batch)
	return b.next()
}

// section says that a section of a provider begins, each of which is at a time of
// its own.
func (b *batches) section() {
	if b.Len() >= b.cut+sectionTokens {
		b.Cut()
		b.cut = b.Len()
	}
}

// next takes the batch to be filled next.
func (b *batches) next() error {
	var ok bool
	b.cut = 0
	if b.Batch, ok = b.helper.Next(); !ok {
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
	helper := handoff.Help(batchesAhead, func(h *handoff.Helper[*sort.Batch]) {
		b.helper = h
		if err = b.next(); err == nil {
			err = read()
		}
		if b.Batch != nil {
			h.Done(b.Batch)
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
		b.err = to.PushBatch(full)
		full.Reset()
		if b.err == nil {
			helper.Give(full)
		}
	}
	helper.Stop()
	return cmp.Or(b.err, err)
}
