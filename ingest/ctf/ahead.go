package ctf

import (
	"cmp"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/token"
	"github.com/tpconvert/tpconvert/internal/pipeline"
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

// start opens a file and starts to decode it.
func (r *reader) start(part format.Part) (*stream, error) {
	from, err := part.Open()
	if err != nil {
		return nil, err
	}
	r.parser.streams = append(r.parser.streams, streamTrack{name: part.Name[strings.LastIndexByte(part.Name, '/')+1:]})
	s := &stream{reader: r, file: part.File, from: from, before: r.found, number: len(r.parser.streams) - 1, events: r.in.Sorter.NewStream(r.parser)}
	s.slots, s.steps = make([]uint64, r.kept), freeSteps
	if n := len(r.windows); n > 0 {
		s.window, r.windows = r.windows[n-1][:0], r.windows[:n-1]
	}
	s.decoding = pipeline.Help(batchesAhead, func(h *pipeline.Helper[*batch]) {
		s.helper = h
		s.failed = cmp.Or(s.read(), s.broken)
		if s.batch != nil {
			h.Done(s.batch)
		}
	})
	for range batchesAhead {
		s.decoding.Give(&batch{tokens: token.NewWriter(r.in.Store)})
	}
	return s, nil
}

// close stops to decode the file.
func (s *stream) close() {
	s.decoding.Stop()
	s.from.Close()
	s.windows = append(s.windows, s.window)
}

// pass passes the events of the next batch to the sorter. It returns false after the last one, or an error.
func (s *stream) pass() (more bool, err error) {
	b, ok := s.decoding.Take()
	if !ok {
		return false, nil
	}
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
			return false, err
		}
	}
	b.items = b.items[:0]
	b.tokens.Reset()
	s.decoding.Give(b)
	return true, nil
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
