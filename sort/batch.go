package sort

import (
	"encoding/binary"
	"slices"
)

// A Batch is a run of events on their way to a stream. Unlike the stream, it may be
// filled on another goroutine than the sorter's, and to push it costs less than to
// push its events one by one.
type Batch struct {
	entries []entry // loc is where the event begins in stored
	stored  []byte  // payloads with their lengths, as an arena has them
}

// Len is how many events the batch has.
func (b *Batch) Len() int { return len(b.entries) }

// Reset empties the batch.
func (b *Batch) Reset() { b.entries, b.stored = b.entries[:0], b.stored[:0] }

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
	b.entries = append(b.entries, entry{ts, uint64(from)})
}

// end is where the event i ends in stored.
func (b *Batch) end(i int) int {
	if i+1 < len(b.entries) {
		return int(b.entries[i+1].loc)
	}
	return len(b.stored)
}

// PushBatch stages the events of a batch, in its order. It copies the payloads.
func (st *Stream) PushBatch(b *Batch) error {
	s := st.sorter
	for i := 0; i < len(b.entries); {
		from := int(b.entries[i].loc)
		if err := st.ready(b.end(i) - from); err != nil {
			return err
		}
		a := &s.stage.arena
		n := min(st.queue.room(), len(b.entries)-i)
		if room := max(a.room(), b.end(i)-from); b.end(i+n-1)-from > room {
			n = 1
			for b.end(i+n)-from <= room {
				n++
			}
		}
		events := b.entries[i : i+n]
		stored := b.stored[from:b.end(i+n-1)]
		loc, to := a.take(len(stored), n)
		copy(to, stored)
		for _, e := range events {
			st.arrive(entry{e.ts, loc + e.loc - uint64(from)})
		}
		i += n
	}
	return nil
}
