package sort

import (
	"fmt"
	"slices"
)

const (
	// spillAhead is the reciprocal of the budget's share for events that arrive while
	// others are spilled.
	spillAhead = 4
	// fanIn is the number of runs that are merged into one.
	fanIn = 32

	// readShare is the reciprocal of the memory's share for read buffers.
	readShare     = 8
	minReadBuffer = 4 << 10
	maxReadBuffer = 64 << 10
)

// spilling is a stage that is being written to a run.
type spilling struct {
	*stage
	size   int64 // memory in use
	writer *runWriter
	parts  []spillingPart
	done   chan error
}

// spillingPart is one stream's part.
type spillingPart struct {
	stream   *Stream
	queue    queue
	tie      func(payload []byte) int64
	tiedFrom int64
	segment  *segment // with the part's events, nil if there are none
}

// spill starts to write all staged events to a new run.
func (s *Sorter) spill(size int64) error {
	w, err := newRunWriter(s.tempDir, 0)
	if err != nil {
		return spillError(err)
	}
	s.runs = append(s.runs, w.run)
	job := &spilling{stage: s.stage, size: size, writer: w, done: make(chan error, 1)}
	s.stage = job.stage.next()
	for _, st := range s.active {
		job.parts = append(job.parts, spillingPart{
			stream: st, queue: st.queue, tie: st.tie, tiedFrom: st.tiedFrom(),
		})
	}
	for _, st := range s.streams {
		st.queue = queue{pool: &s.stage.pages}
	}
	s.prune()
	s.spilling = job
	go func() { job.done <- job.run() }()
	return nil
}

// settle waits until the spill is done.
func (s *Sorter) settle() error {
	job := s.spilling
	if job == nil {
		return nil
	}
	s.spilling = nil
	if err := <-job.done; err != nil {
		return err
	}
	s.stage.adopt(job.stage, s.budget())
	for _, p := range job.parts {
		if p.segment != nil {
			p.stream.segments = append(p.stream.segments, p.segment)
		}
	}
	return s.compact()
}

// spillRest spills the staged events before the last delivery, if earlier events were spilled.
// Those are mostly delivered first, while the sinks need more and more memory.
func (s *Sorter) spillRest() error {
	if len(s.runs) == 0 || s.stage.used() == 0 {
		return nil
	}
	if err := s.spill(s.stage.used()); err != nil {
		return err
	}
	err := s.settle()
	s.stage.free()
	return err
}

func spillError(err error) error {
	return fmt.Errorf("sort: spilling events to disk: %w", err)
}

func (j *spilling) run() error {
	for i := range j.parts {
		if err := j.write(&j.parts[i]); err != nil {
			return err
		}
	}
	j.arena.reset()
	return j.writer.flush()
}

// write writes the staged events of a stream to a segment.
func (j *spilling) write(p *spillingPart) error {
	if p.queue.empty() {
		return nil
	}
	p.queue.sort(&j.arena, p.tie)
	p.segment = j.writer.segment(p.stream, p.tiedFrom)
	j.writer.begin(p.segment)
	var payloads [lookups][]byte
	for !p.queue.empty() {
		front := p.queue.front()
		front = front[:min(len(front), lookups)]
		j.arena.payloads(payloads[:], front)
		for i, e := range front {
			if err := j.writer.add(e.ts, e.loc, payloads[i]); err != nil {
				return err
			}
		}
		p.queue.pop(len(front))
	}
	j.writer.end(p.segment)
	return nil
}

// compact merges the last fanIn runs into one while they have the same level, so that
// the number of runs only grows with the logarithm of the spilled bytes.
func (s *Sorter) compact() error {
	for {
		n := len(s.runs)
		if n < fanIn || s.runs[n-fanIn].level != s.runs[n-1].level {
			return nil
		}
		last := s.runs[n-fanIn:]
		w, err := newRunWriter(s.tempDir, last[0].level+1)
		if err != nil {
			return spillError(err)
		}
		s.runs = append(s.runs, w.run)
		for _, st := range s.streams {
			if err := st.compact(last, w); err != nil {
				return err
			}
		}
		if err := w.flush(); err != nil {
			return err
		}
		s.runs = slices.Delete(s.runs, n-fanIn, n)
	}
}

// compact merges the rest of the stream's last segments, those in runs, into a new segment.
func (st *Stream) compact(runs []*run, w *runWriter) error {
	var m merger[*segment]
	from := slices.IndexFunc(st.segments, func(g *segment) bool { return slices.Contains(runs, g.run) })
	if from < 0 {
		from = len(st.segments)
	}
	buffer := st.sorter.readBuffer(len(st.segments) - from)
	if err := openSegments(st.segments[from:], buffer, func(g *segment) { m.add(g.head.key, g) }); err != nil {
		return err
	}
	if m.empty() {
		return nil
	}
	g := w.segment(st, st.tiedFrom())
	if err := w.merge(g, &m); err != nil {
		return err
	}
	st.segments = append(st.segments[:from], g)
	return nil
}

// readBuffer returns the size of each of n read buffers. It shrinks as more memory is held.
func (s *Sorter) readBuffer(n int) int {
	return min(max(int(s.budget()/(readShare-1))/max(n, 1), minReadBuffer), maxReadBuffer)
}

// dropRuns drops runs and segments that were read to their end.
func (s *Sorter) dropRuns() {
	for _, st := range s.streams {
		st.segments = slices.DeleteFunc(st.segments, func(g *segment) bool { return g.run == nil })
	}
	s.runs = slices.DeleteFunc(s.runs, func(r *run) bool { return r.live == 0 })
}
