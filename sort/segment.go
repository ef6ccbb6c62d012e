package sort

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// source is one of the sorted sequences that make up a stream.
type source interface {
	current() event
	// deliver delivers the events before limit, up to the time end and up to the
	// first one that arrived at or after mark. It returns false at the end.
	deliver(d *delivery, limit key, end int64, mark uint64) (more bool, err error)
}

// openSegments opens segments with read buffers of the given size, and calls add
// for those with events.
func openSegments(segments []*segment, buffer int, add func(*segment)) error {
	for _, g := range segments {
		ok, err := g.open(buffer)
		if err != nil {
			return err
		}
		if ok {
			add(g)
		}
	}
	return nil
}

// staged is the source of a stream's events in memory.
type staged struct{ *Stream }

func (s staged) current() event {
	e := s.queue.at(s.queue.head)
	payload := s.sorter.stage.arena.payload(e.loc)
	return event{s.key(e.ts, e.loc, payload), payload}
}

// lookups is the number of payloads that are looked up at once.
const lookups = 32

func (st staged) deliver(d *delivery, limit key, end int64, mark uint64) (more bool, err error) {
	s := st.sorter
	var payloads [lookups][]byte
	for {
		front := st.queue.front()
		front = front[:min(len(front), lookups)]
		n := 0
		for n < len(front) {
			e := front[n]
			if e.loc >= mark || e.ts > end || e.ts >= limit.ts {
				break
			}
			n++
		}
		switch {
		case len(front) == 0:
			return false, nil
		case n == 0: // it may still precede others of the same time
			e := front[0]
			if e.loc >= mark || e.ts > end || !st.key(e.ts, e.loc, s.stage.arena.payload(e.loc)).before(limit) {
				return true, nil
			}
			n = 1
		}
		s.stage.arena.payloads(payloads[:n], front[:n])
		for i, e := range front[:n] {
			if err := s.send(d, uint32(st.index), e.ts, payloads[i]); err != nil {
				return false, err
			}
			s.stage.arena.release(e.loc)
		}
		st.queue.pop(n)
	}
}

// maxEventHead is the maximum size in bytes of the fields before an event's payload.
const maxEventHead = 3 * binary.MaxVarintLen64

var errSpill = errors.New("sort: spilled events are damaged")

// event is an event read back from a run.
type event struct {
	key
	payload []byte
}

// segment is the part of a run that belongs to one stream: its events in order.
// Each event has the differences of its time (uvarint) and location (varint) to
// the previous event, the length of the payload (uvarint), and the payload.
type segment struct {
	stream   *Stream
	run      *run  // nil at the end
	end      int64 // in the file
	tiedFrom int64 // time from which equal times are in order of tie

	position          // after the current event
	back     position // before the current event
	head     event    // the current event; its payload may lie in buf
	group    []event  // head and later events, if they had to be reordered

	bufSize int
	store   []byte // contains buf
	buf     []byte // unused data from the file; it ends at off
}

// position is a point between two events of a segment.
type position struct {
	off int64 // in the file
	ts  int64 // of the previous event
	loc uint64
}

// open starts or resumes reading, with a buffer of about size bytes.
func (g *segment) open(size int) (ok bool, err error) {
	g.bufSize = size
	if len(g.group) > 0 {
		return true, nil
	}
	return g.advance()
}

// pause releases the buffer. open reads the current event again, because its order
// among events of equal time may have changed by then.
func (g *segment) pause() {
	if len(g.group) == 0 {
		g.position = g.back
	} else {
		g.off -= int64(len(g.buf))
	}
	g.store, g.buf = nil, nil
}

func (g *segment) current() event { return g.head }

func (g *segment) deliver(d *delivery, limit key, end int64, mark uint64) (more bool, err error) {
	s, stream := g.stream.sorter, uint32(g.stream.index)
	for more = true; more && err == nil; more, err = g.advance() {
		e := &g.head
		if e.loc >= mark || e.ts > end || !e.before(limit) {
			return true, nil
		}
		if err := s.send(d, stream, e.ts, e.payload); err != nil {
			return false, err
		}
	}
	return more, err
}

// advance makes the next event the current one. At the end it returns false
// and releases the run.
func (g *segment) advance() (ok bool, err error) {
	if len(g.group) > 1 {
		g.group = g.group[1:]
		g.head = g.group[0]
		return true, nil
	}
	g.group = nil
	g.back = g.position
	g.back.off -= int64(len(g.buf))
	if g.back.off == g.end {
		err = g.run.release()
		g.run, g.store, g.buf = nil, nil, nil
		return false, err
	}
	if err = g.read(&g.head); err != nil {
		return false, err
	}
	if g.head.ts < g.tiedFrom && g.stream.ties(g.head.ts) {
		err = g.regroup()
	}
	return true, err
}

// regroup sorts the current event and those of equal time by tie. They were
// written before a tie function applied to them.
func (g *segment) regroup() error {
	if len(g.buf) > 0 && g.buf[0] != 0 { // the next event has a later time
		return nil
	}
	e := g.head
	for {
		e.payload = bytes.Clone(e.payload)
		g.group = append(g.group, e)
		b, err := g.peek(1)
		if err != nil {
			return err
		}
		if len(b) == 0 || b[0] != 0 { // the end, or a later time
			break
		}
		if err = g.read(&e); err != nil {
			return err
		}
	}
	slices.SortFunc(g.group, func(a, b event) int {
		return cmp.Or(cmp.Compare(a.tie, b.tie), cmp.Compare(a.loc, b.loc))
	})
	g.head = g.group[0]
	return nil
}

// read reads an event into e. Its payload is valid until the next call.
func (g *segment) read(e *event) error {
	b := g.buf
	var err error
	if len(b) < maxEventHead {
		if b, err = g.peek(maxEventHead); err != nil {
			return err
		}
	}
	ts, at := uvarint(b, 0)
	loc, at := uvarint(b, at)
	size, start := uvarint(b, at)
	if start < 0 || size > uint64(g.end) {
		return errSpill
	}
	end := start + int(size)
	if len(b) < end {
		if b, err = g.peek(end); err != nil {
			return err
		}
		if len(b) < end {
			return errSpill
		}
	}
	g.buf = g.buf[end:]
	g.ts += int64(ts)
	g.loc += loc>>1 ^ -(loc & 1)
	e.payload = b[start:end:end]
	e.key = g.stream.key(g.ts, g.loc, e.payload)
	return nil
}

// uvarint reads the uvarint of b at i and returns its end, or -1 if there is none
// or i is -1.
func uvarint(b []byte, i int) (v uint64, end int) {
	if uint(i) < uint(len(b)) && b[i] < 0x80 {
		return uint64(b[i]), i + 1
	}
	return longUvarint(b, i)
}

func longUvarint(b []byte, i int) (v uint64, end int) {
	if i < 0 {
		return 0, -1
	}
	v, n := binary.Uvarint(b[i:])
	if n <= 0 {
		return 0, -1
	}
	return v, i + n
}

// peek returns at least the next n bytes, or all that remain.
func (g *segment) peek(n int) ([]byte, error) {
	left := g.end - g.off
	if len(g.buf) >= n || left == 0 {
		return g.buf, nil
	}
	size := int(min(int64(max(g.bufSize, n)), int64(len(g.buf))+left))
	if cap(g.store) < size || cap(g.store) > 2*size {
		g.store = make([]byte, size)
	}
	have := copy(g.store[:size], g.buf)
	g.buf = g.store[:size]
	if _, err := g.run.file.ReadAt(g.buf[have:], g.off); err != nil {
		return nil, fmt.Errorf("sort: reading back spilled events: %w", err)
	}
	g.off += int64(size - have)
	return g.buf, nil
}
