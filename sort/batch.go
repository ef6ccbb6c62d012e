package sort

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
)

// A Batch is a run of events on their way to a stream. Unlike the stream, it may be
// filled on another goroutine than the sorter's, and to push it costs much less
// than to push its events one by one.
//
// It consists of parts, each of which is best about in order of time. Where parts
// overlap little, as those of a few sources that take turns do, they need only be
// merged.
type Batch struct {
	parts  []part
	open   *part    // the last one, nil if the next event begins one
	events []uint64 // of each: the time since the base of its part, and where its payload begins in that
	stored []byte   // payloads with their lengths (uvarint)
}

// part is a part of a batch. It ends where the next one begins.
type part struct {
	base    int64 // ns
	event   int   // the first one's index
	from    int   // in stored
	ordered bool
	max     int64 // ns, highest time
}

const (
	// placeBits are the bits of an event that say where its payload begins. The
	// others, its time, reach for some four hours.
	placeBits = 20
	placeMask = 1<<placeBits - 1
	// halfSpan is how far in ns the times of a part are from its first one, at most.
	halfSpan = 1 << (63 - placeBits)
)

// Len is how many events the batch has.
func (b *Batch) Len() int { return len(b.events) }

// Size is how many bytes their payloads take.
func (b *Batch) Size() int { return len(b.stored) }

// Reset empties the batch.
func (b *Batch) Reset() {
	b.parts, b.open, b.events, b.stored = b.parts[:0], nil, b.events[:0], b.stored[:0]
}

// Cut begins a new part.
func (b *Batch) Cut() { b.open = nil }

// Buffer returns what the payload of the next event is to be appended to.
func (b *Batch) Buffer() []byte { return append(b.stored, 0) } // the length, as a rule

// Add adds an event of time ts, in ns, whose payload was appended to the Buffer.
func (b *Batch) Add(ts int64, buf []byte) {
	from := len(b.stored)
	if n := len(buf) - from - 1; n < 0x80 {
		buf[from] = byte(n)
	} else {
		var length [binary.MaxVarintLen64]byte
		buf = slices.Replace(buf, from, from+1, length[:binary.PutUvarint(length[:], uint64(n))]...)
	}
	b.stored = buf
	p := b.open
	if p == nil || !p.takes(ts, from) {
		p = b.begin(ts, from)
	}
	if ts >= p.max {
		p.max = ts
	} else {
		p.ordered = false
	}
	b.events = append(b.events, uint64(ts-p.base)<<placeBits|uint64(from-p.from))
}

// begin begins a part with an event.
func (b *Batch) begin(ts int64, from int) *part {
	base := max(ts, math.MinInt64+halfSpan) - halfSpan
	b.parts = append(b.parts, part{base, len(b.events), from, true, ts})
	b.open = &b.parts[len(b.parts)-1]
	return b.open
}

// takes reports whether an event that begins at from can be part of p.
func (p *part) takes(ts int64, from int) bool {
	return ts >= p.base && uint64(ts)-uint64(p.base) < 2*halfSpan && from-p.from <= placeMask
}

var (
	errBatchTie = errors.New("sort: batch for a stream with a tie")
	errPartSize = errors.New("sort: part of a batch is too large")
)

// PushBatch stages the events of a batch, in its order, and puts them in order of
// time. It copies the payloads. The stream must not have a tie.
func (st *Stream) PushBatch(b *Batch) error {
	if st.tie != nil {
		return errBatchTie
	}
	for i := range b.parts {
		p := &b.parts[i]
		events, stored := b.events[p.event:], b.stored[p.from:]
		if i+1 < len(b.parts) {
			next := &b.parts[i+1]
			events, stored = events[:next.event-p.event], stored[:next.from-p.from]
		}
		if !p.ordered {
			sortEvents(events)
		}
		push := st.pushChunk
		if len(events) < minChunk {
			push = st.pushEvents
		}
		if err := push(p, events, stored); err != nil {
			return err
		}
	}
	return nil
}

// minChunk is how many events a part must have for it to be worth a chunk.
const minChunk = 16

// pushEvents stages the events of a part one by one.
func (st *Stream) pushEvents(p *part, events []uint64, stored []byte) error {
	for _, e := range events {
		n, start := uvarint(stored, int(e&placeMask))
		if err := st.Push(p.base+int64(e>>placeBits), stored[start:start+int(n)]); err != nil {
			return err
		}
	}
	return nil
}

// pushChunk stages a part whose events are in order as a chunk.
func (st *Stream) pushChunk(p *part, events []uint64, stored []byte) error {
	size := len(events)*eventBytes + len(stored)
	if size > maxPayload {
		return errPartSize
	}
	if err := st.ready(storedSize(size)); err != nil {
		return err
	}
	s := st.sorter
	loc, data := s.stage.arena.alloc(size)
	table := data[:0]
	for _, e := range events {
		table = binary.LittleEndian.AppendUint64(table, e)
	}
	copy(data[len(table):], stored)
	st.chunks.staged = append(st.chunks.staged, chunk{
		base: p.base, ts: p.base + int64(events[0]>>placeBits), last: p.max,
		events: len(events), loc: loc, size: size,
	})
	s.pushing(p.max)
	return nil
}

// nearMoves is by how many places events are late on average, at most, where
// sorting by insertion is fastest.
const nearMoves = 16

// sortEvents sorts events by time and arrival, as their numbers are.
func sortEvents(events []uint64) {
	moves := nearMoves * len(events)
	for i := 1; i < len(events); i++ {
		e := events[i]
		j := i
		for ; j > 0 && events[j-1] > e; j-- {
			events[j] = events[j-1]
		}
		events[j] = e
		if moves -= i - j; moves < 0 {
			slices.Sort(events)
			return
		}
	}
}
