package sort

import (
	"encoding/binary"
	"errors"
	"os"
)

const writeBuffer = 256 << 10

// run is a temporary file of sorted events: segments of the streams.
type run struct {
	file  *os.File // nil once closed
	path  string   // empty once unlinked
	live  int      // segments not read to their end
	level int      // number of times its events were merged
}

// release counts a segment as read, and closes the run after its last segment.
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

// runWriter writes the segments of a run one after the other.
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
		r.path = "" // the kernel frees the file when it is closed, even if the process is killed
	}
	return &runWriter{run: r, buf: make([]byte, 0, writeBuffer)}, nil
}

// segment returns a new segment of st. Its events of equal time are in order of
// tie from tiedFrom on. A segment must end before the next one begins.
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

// merge writes the events of other segments to one segment.
func (w *runWriter) merge(g *segment, m *merger[*segment]) error {
	w.begin(g)
	for !m.empty() {
		first := m.first().seq
		e := &first.head
		if err := w.add(e.ts, e.loc, e.payload); err != nil {
			return err
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
