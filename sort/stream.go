package sort

import (
	"fmt"
	"math"
)

// A Stream takes the events of one source. It is fastest if they come in order of
// time.
type Stream struct {
	sorter *Sorter
	index  int64 // among the sorter's streams
	sink   Sink
	tie    func(payload []byte) int64
	queue  queue
	active bool // among the sorter's active streams

	segments []*segment     // spilled events, in order of arrival
	sources  merger[source] // segments and queue, during delivery

	max     int64 // highest time staged
	tieFrom int64 // lowest time staged that was out of order
}

// SetTie sets the secondary key of this stream's events: among events of equal
// time, those with a lower key come first. Call it once, before the events that
// it affects are delivered. The key must only depend on the payload, because
// other goroutines call tie too.
//
// An event is out of order if its time is below that of an earlier event or, once
// tie is set, equal to the highest time so far. The tie applies from the lowest time
// of such an event. Events before that time arrived in order before SetTie, and keep
// their order. Trace Processor treats the phases of Chrome JSON events in this way,
// from the first complete event on.
func (st *Stream) SetTie(tie func(payload []byte) int64) {
	st.tie = tie
	if !st.queue.empty() && st.tieFrom != math.MaxInt64 {
		st.queue.disorder(st.queue.tail, st.tieFrom)
	}
}

// maxPayload is the size in bytes of the largest payload.
const maxPayload = math.MaxInt32

// Push stages an event of time ts, in ns. It copies the payload.
func (st *Stream) Push(ts int64, payload []byte) error {
	buf, err := st.Reserve(ts, len(payload))
	if err == nil {
		copy(buf, payload)
	}
	return err
}

// Reserve stages an event of time ts, in ns, and returns the n bytes of its
// payload, to be filled before the next call to the sorter or its streams.
func (st *Stream) Reserve(ts int64, n int) ([]byte, error) {
	if n < 0 || n > maxPayload {
		return nil, fmt.Errorf("sort: payload of %d bytes", n)
	}
	if err := st.ready(storedSize(n)); err != nil {
		return nil, err
	}
	loc, buf := st.sorter.stage.arena.alloc(n)
	st.arrive(entry{ts, loc})
	return buf, nil
}

// ready makes room for an event whose payload takes size bytes.
func (st *Stream) ready(size int) error {
	s := st.sorter
	if s.err != nil {
		return s.err
	}
	full := st.queue.full()
	if full && st.queue.unsettled() {
		st.sort()
	}
	if full || !s.stage.arena.fits(size) {
		s.err = s.makeRoom(size)
	}
	if !st.active && s.err == nil {
		st.active = true
		s.active = append(s.active, st)
	}
	return s.err
}

// arrive adds an event whose payload is already in the arena.
func (st *Stream) arrive(e entry) {
	st.queue.push(e)
	if e.ts > st.max || e.ts == st.max && st.tie == nil {
		st.max = e.ts
	} else {
		st.queue.disorder(st.queue.tail-1, e.ts)
		st.tieFrom = min(st.tieFrom, e.ts)
	}
	st.sorter.pushing(e.ts)
}

// restart forgets the order of delivered events.
func (st *Stream) restart() {
	st.max, st.tieFrom = math.MinInt64, math.MaxInt64
}

// sort puts the staged events in order.
func (st *Stream) sort() { st.queue.sort(&st.sorter.stage.arena, st.tie) }

// ties reports whether tie decides the order of events at time ts.
func (st *Stream) ties(ts int64) bool { return st.tie != nil && ts >= st.tieFrom }

// tiedFrom returns the time from which a tie applies.
func (st *Stream) tiedFrom() int64 {
	if st.tie == nil {
		return math.MaxInt64
	}
	return st.tieFrom
}

// key returns an event's key in the order of the stream.
func (st *Stream) key(ts int64, loc uint64, payload []byte) key {
	k := key{ts: ts, loc: loc}
	if st.ties(ts) {
		k.tie = st.tie(payload)
	}
	return k
}

// open prepares delivery. buffer is the size of the buffers for reading spilled events.
func (st *Stream) open(buffer int) error {
	st.sort()
	if len(st.segments) == 0 {
		return nil
	}
	if !st.queue.empty() {
		src := staged{st}
		st.sources.add(src.current().key, src)
	}
	return openSegments(st.segments, buffer, func(g *segment) { st.sources.add(g.head.key, g) })
}

// pause ends delivery.
func (st *Stream) pause() {
	for _, g := range st.segments {
		if g.run != nil {
			g.pause()
		}
	}
	st.sources = merger[source]{}
}

// next returns the key of the next event in the order of all streams.
func (st *Stream) next() (k key, ok bool) {
	switch {
	case !st.sources.empty():
		first := st.sources.first()
		return key{first.ts, st.index, first.loc}, true
	case !st.queue.empty():
		e := st.queue.at(st.queue.head)
		return key{e.ts, st.index, e.loc}, true
	}
	return key{}, false
}

// deliver delivers the events up to the time end and up to the first one that
// arrived at or after mark.
func (st *Stream) deliver(d *delivery, end int64, mark uint64) error {
	if st.sources.empty() {
		_, err := staged{st}.deliver(d, lastKey, end, mark)
		return err
	}
	for !st.sources.empty() {
		first := st.sources.first()
		if first.loc >= mark || first.ts > end {
			return nil
		}
		more, err := first.seq.deliver(d, st.sources.second(), end, mark)
		switch {
		case err != nil:
			return err
		case more:
			st.sources.advance(first.seq.current().key)
		default:
			st.sources.drop()
		}
	}
	return nil
}
