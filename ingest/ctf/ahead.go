package ctf

import (
	"github.com/tpconvert/tpconvert/ingest/internal/token"
	"github.com/tpconvert/tpconvert/internal/handoff"
)

const (
	batchesAhead = 4
	batchItems   = 2048
	batchBytes   = 128 << 10
)

// batch is a part of a stream on its way from the goroutine that decodes it.
type batch struct {
	items  []item
	tokens *token.Writer // of the events, one after the other
}

// item is an event or, if report is not nil, something that is not read.
type item struct {
	report       func()
	time, offset int64
	end          int // of its token in the batch
	switched     switched
}

// switched is the thread that a CPU switched from, and its state.
type switched struct {
	known    bool
	cpu, tid int64
	state    uint64
}

func (b *batch) full() bool { return len(b.items) >= batchItems || len(b.tokens.Bytes()) >= batchBytes }

// ahead passes the events of all packets to the sorter while a goroutine decodes those after them.
func (s *stream) ahead() error {
	var failed error // valid once the helper has ended
	h := handoff.Help(batchesAhead, func(h *handoff.Helper[*batch]) {
		s.helper = h
		failed = s.read()
		if s.batch != nil {
			h.Done(s.batch)
		}
	})
	defer h.Stop()
	for range batchesAhead {
		h.Give(&batch{tokens: token.NewWriter(s.in.Store)})
	}
	for {
		b, ok := h.Take()
		if !ok {
			return failed
		}
		if err := s.pass(b); err != nil {
			return err
		}
		b.items = b.items[:0]
		b.tokens.Reset()
		h.Give(b)
	}
}

// pass passes the events of a batch to the sorter.
func (s *stream) pass(b *batch) error {
	from := 0
	for i := range b.items {
		it := &b.items[i]
		if it.report != nil {
			it.report()
			continue
		}
		payload := b.tokens.Bytes()[from:it.end]
		from = it.end
		ts, ok := s.in.TraceTime(it.time, it.offset)
		if !ok {
			continue
		}
		if it.switched.known {
			s.parser.kernel.switchedFrom(it.switched, ts)
		}
		if err := s.events.Push(ts, payload); err != nil {
			return err
		}
	}
	return nil
}

// room returns the batch to fill, or nil if no more is wanted.
func (s *stream) room() *batch {
	if s.batch != nil && s.batch.full() {
		s.helper.Done(s.batch)
		s.batch = nil
	}
	if s.batch == nil {
		s.batch, _ = s.helper.Next()
	}
	return s.batch
}

// report has f count or log what is not read, in its turn.
func (s *stream) report(f func()) {
	if b := s.room(); b != nil {
		b.items = append(b.items, item{report: f})
	}
}
