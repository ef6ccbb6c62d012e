package sort

import (
	"encoding/binary"
	"errors"
	"os"
)

const (
	writeBuffer = 256 << 10
	readAhead   = 64 << 10
)

// run is a temporary file of sorted events: segments and chunks of each stream.
type run struct {
	file  *os.File // nil once closed
	path  string   // empty once unlinked
	live  int      // segments and chunks not read to their end
	level int      // how often its events were merged

	ahead   []byte // read from aheadAt on, of the chunks that come next
	aheadAt int64
}

// read reads a chunk that is at off. Those that follow each other, as they do when
// few overlap, are read together.
func (r *run) read(to []byte, off int64) error {
	from, n := off-r.aheadAt, int64(len(r.ahead))
	switch {
	case from >= 0 && from+int64(len(to)) <= n:
		copy(to, r.ahead[from:])
		return nil
	case from < 0 || from > n || len(to) > readAhead:
		r.ahead, r.aheadAt = r.ahead[:0], off+int64(len(to))
		_, err := r.file.ReadAt(to, off)
		return err
	}
	if cap(r.ahead) == 0 {
		r.ahead = make([]byte, readAhead)
	}
	got, err := r.file.ReadAt(r.ahead[:readAhead], off)
	r.ahead, r.aheadAt = r.ahead[:got], off
	if got < len(to) {
		return err
	}
	copy(to, r.ahead)
	return nil
}

// release counts a segment or a chunk as read and drops the run with the last one.
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
	r.file, r.ahead = nil, nil
	if r.path != "" {
		err = errors.Join(err, os.Remove(r.path))
	}
	return err
}

// runWriter writes a run, one segment or chunk after the other.
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

// segment returns a segment of st, to be begun and ended one after the other, in
// which events of equal time are in order of ties from some time on.
func (w *runWriter) segment(st *Stream, tiedFrom int64) *segment {
	w.live++
	return &segment{stream: st, run: w.run, tiedFrom: tiedFrom}
}

func (w *runWriter) begin(g *segment) {
	g.off = w.off
	w.ts, w.loc = 0, 0
}

func (w *runWriter) end(g *segment) { g.end = w.off }

func (w *runWriter) add(ts int64, loc uint64, payload []byte) error {
	if err := w.ready(maxEventHead + len(payload)); err != nil {
		return err
	}
	b := binary.AppendUvarint(w.buf, uint64(ts-w.ts))
	b = binary.AppendVarint(b, int64(loc-w.loc))
	b = binary.AppendUvarint(b, uint64(len(payload)))
	b = append(b, payload...)
	w.position = position{w.off + int64(len(b)-len(w.buf)), ts, loc}
	w.buf = b
	return nil
}

// ready makes room for n bytes.
func (w *runWriter) ready(n int) error {
	if len(w.buf)+n > writeBuffer {
		return w.flush()
	}
	return nil
}

// merge writes a segment of sources that have events.
func (w *runWriter) merge(g *segment, m *merger[spillable]) error {
	w.begin(g)
	for !m.empty() {
		first := m.first().seq
		e := first.current()
		if err := w.add(e.ts, e.loc, e.payload); err != nil {
			return err
		}
		switch ok, err := first.advance(); {
		case err != nil:
			return err
		case ok:
			m.advance(first.current().key)
		default:
			m.drop()
		}
	}
	w.end(g)
	return nil
}

// spillable is a source that a segment can be written of.
type spillable interface {
	current() event
	// advance moves to the next event. It returns false at the end.
	advance() (ok bool, err error)
}

// copy writes a chunk.
func (w *runWriter) copy(c *chunk, data []byte) error {
	if err := w.ready(len(data)); err != nil {
		return err
	}
	w.buf = append(w.buf, data...)
	c.run, c.off = w.run, w.off
	w.off += int64(len(data))
	w.live++
	return nil
}

func (w *runWriter) flush() error {
	_, err := w.file.Write(w.buf)
	w.buf = w.buf[:0]
	if err != nil {
		return spillError(err)
	}
	return nil
}
