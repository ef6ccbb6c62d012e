package sort

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
)

const (
	// fanIn is how many runs are merged into one when there are as many.
	fanIn = 32

	minReadBuffer = 4 << 10
	maxReadBuffer = 1 << 20
	writeBuffer   = 256 << 10
)

// run is a temporary file of sorted events: a segment for each stream.
type run struct {
	file  *os.File // nil once closed
	path  string   // empty once unlinked
	live  int      // segments not read to their end
	level int      // how often its events were merged
}

// release counts a segment as read and drops the run with the last one.
func (r *run) release() error {
	if r.live--; r.live > 0 {
		return nil
	}
	return r.close()
}

func (r *run) close() error {
	if r.file == nil {
		return nil
	}
	err := r.file.Close()
	r.file = nil
	if r.path != "" {
		err = errors.Join(err, os.Remove(r.path))
	}
	return err
}

// runWriter writes a run, one segment after the other.
type runWriter struct {
	*run
	buf []byte // not written yet
	position
}

func newRunWriter(dir string, level int) (*runWriter, error) {
	file, err := os.CreateTemp(dir, "tpconvert-sort-*")
	if err != nil {
		return nil, err
	}
	r := &run{file: file, path: file.Name(), level: level}
	if os.Remove(r.path) == nil {
		r.path = "" // the file lives until it is closed, even by a kill
	}
	return &runWriter{run: r, buf: make([]byte, 0, writeBuffer)}, nil
}

// segment returns a segment of st, to be begun and ended one after the other.
func (w *runWriter) segment(st *Stream) *segment {
	g := &segment{stream: st, run: w.run, tiedFrom: math.MaxInt64}
	if st.tie != nil {
		g.tiedFrom = st.tieFrom
	}
	w.live++
	return g
}

func (w *runWriter) begin(g *segment) {
	g.off = w.off
	w.ts, w.loc = 0, 0
}

func (w *runWriter) end(g *segment) { g.end = w.off }

func (w *runWriter) add(ts int64, loc uint64, payload []byte) error {
	if len(w.buf)+maxEventHead+len(payload) > writeBuffer {
		if err := w.flush(); err != nil {
			return err
		}
	}
	b := binary.AppendUvarint(w.buf, uint64(ts-w.ts))
	b = binary.AppendVarint(b, int64(loc-w.loc))
	b = binary.AppendUvarint(b, uint64(len(payload)))
	b = append(b, payload...)
	w.position = position{w.off + int64(len(b)-len(w.buf)), ts, loc}
	w.buf = b
	return nil
}

func (w *runWriter) flush() error {
	_, err := w.file.Write(w.buf)
	w.buf = w.buf[:0]
	return err
}

// spillAhead is the part of the budget, its reciprocal, that is left for events
// that arrive while others are spilled.
const spillAhead = 4

// spilling is a stage on its way to a run.
type spilling struct {
	*stage
	size   int64 // bytes that it takes
	writer *runWriter
	parts  []spillingPart
	done   chan error
}

// spillingPart is the part of a stream.
type spillingPart struct {
	segment *segment
	queue   queue
	tie     func(payload []byte) int64
}

// spill begins to write all staged events, which take some bytes, to a new run.
func (s *Sorter) spill(size int64) error {
	w, err := newRunWriter(s.tempDir, 0)
	if err != nil {
		return spillError(err)
	}
	s.runs = append(s.runs, w.run)
	job := &spilling{stage: s.stage, size: size, writer: w, done: make(chan error, 1)}
	s.stage = job.stage.next()
	for _, st := range s.streams {
		if !st.queue.empty() {
			job.parts = append(job.parts, spillingPart{w.segment(st), st.queue, st.tie})
		}
		st.queue = queue{pool: &s.stage.pages}
	}
	s.spilling = job
	go func() { job.done <- job.run() }()
	return nil
}

// settle waits for what is being spilled.
func (s *Sorter) settle() error {
	job := s.spilling
	if job == nil {
		return nil
	}
	s.spilling = nil
	if err := <-job.done; err != nil {
		return spillError(err)
	}
	s.stage.adopt(job.stage, s.limit)
	for _, p := range job.parts {
		p.segment.stream.segments = append(p.segment.stream.segments, p.segment)
	}
	return s.compact()
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

// write writes the events of a stream to its segment.
func (j *spilling) write(p *spillingPart) error {
	p.queue.sort(&j.arena, p.tie)
	j.writer.begin(p.segment)
	var payloads [batch][]byte
	for !p.queue.empty() {
		front := p.queue.front()
		front = front[:min(len(front), batch)]
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

// compact merges the last runs into one while there are fanIn of a level, so
// that the number of runs grows only with the logarithm of what is spilled.
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
			return spillError(err)
		}
		s.runs = slices.Delete(s.runs, n-fanIn, n)
	}
}

// compact moves what is left of the stream's segments in runs, which are its
// last ones, to a new segment.
func (st *Stream) compact(runs []*run, w *runWriter) error {
	from := slices.IndexFunc(st.segments, func(g *segment) bool { return slices.Contains(runs, g.run) })
	if from < 0 {
		return nil
	}
	var m merger[*segment]
	buffer := st.sorter.readBuffer(len(st.segments) - from)
	if err := openSegments(st.segments[from:], buffer, func(g *segment) { m.add(g.head.key, g) }); err != nil {
		return err
	}
	g := w.segment(st)
	w.begin(g)
	for !m.empty() {
		first := m.first().seq
		if err := w.add(first.head.ts, first.head.loc, first.head.payload); err != nil {
			return spillError(err)
		}
		switch ok, err := first.advance(); {
		case err != nil:
			return err
		case ok:
			m.advance(first.head.key)
		default:
			m.drop()
		}
	}
	w.end(g)
	st.segments = append(st.segments[:from], g)
	return nil
}

// readBuffer is the size of each of n read buffers.
func (s *Sorter) readBuffer(n int) int {
	return min(max(int(s.reading)/max(n, 1), minReadBuffer), maxReadBuffer)
}

// dropRuns forgets the runs that were read to their end, and those segments of
// the others.
func (s *Sorter) dropRuns() {
	for _, st := range s.streams {
		st.segments = slices.DeleteFunc(st.segments, func(g *segment) bool { return g.run == nil })
	}
	s.runs = slices.DeleteFunc(s.runs, func(r *run) bool { return r.live == 0 })
}
