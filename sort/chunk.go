package sort

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
)

// chunk is a part of a batch that was pushed: a table of its events in order of time
// and arrival, and their payloads, each with its length (uvarint) before it. An event
// takes 64 bits of the table (little-endian): its time since base, and where behind
// the table it begins. The events arrived one after the other, so one location stands
// for the arrival of all.
type chunk struct {
	base     int64 // ns
	ts, last int64 // of the next event and the last one, ns
	events   int
	done     int    // events that were delivered
	loc      uint64 // in the arena, or where it was
	size     int    // bytes
	run      *run   // nil while it is in the arena
	off      int64  // in the run
}

// eventBytes is the size of an event in the table of a chunk.
const eventBytes = 8

func (c *chunk) key() key { return key{ts: c.ts, loc: c.loc} }

// chunks are the batches of a stream, one of its sources. They are merged as they
// are, which is fast where few overlap, as do those of a source that writes about in
// order of time.
type chunks struct {
	stream          *Stream
	staged, spilled []chunk

	// While they are delivered, of those that are left.
	arena   *arena
	waiting []chunk              // in order of their keys
	reading merger[*chunkReader] // whose time has come
	spare   []*chunkReader
}

// chunkReader reads a chunk, of which done events come before the current one.
type chunkReader struct {
	chunk
	data    []byte
	stored  []byte // what is behind the table
	payload []byte // of the current event
	buffer  []byte // data that was read from a file
}

func (c *chunks) empty() bool { return len(c.staged)+len(c.spilled) == 0 }

// open prepares to read. Those that are staged are in a. It returns false if there
// are no events.
func (c *chunks) open(a *arena) (ok bool, err error) {
	c.arena = a
	c.waiting = append(c.spilled, c.staged...)
	c.spilled, c.staged = nil, nil
	slices.SortFunc(c.waiting, func(a, b chunk) int {
		return cmp.Or(cmp.Compare(a.ts, b.ts), cmp.Compare(a.loc, b.loc))
	})
	return c.begin()
}

// begin begins to read the chunks that the next event may be of.
func (c *chunks) begin() (ok bool, err error) {
	for len(c.waiting) > 0 && (c.reading.empty() || c.waiting[0].key().before(c.reading.first().key)) {
		r := new(chunkReader)
		if n := len(c.spare); n > 0 {
			r, c.spare = c.spare[n-1], c.spare[:n-1]
		}
		if err := r.open(c.waiting[0], c.arena); err != nil {
			return false, err
		}
		c.reading.add(r.key(), r)
		c.waiting = c.waiting[1:]
	}
	return !c.reading.empty(), nil
}

func (c *chunks) current() event {
	first := c.reading.first()
	return event{first.key, first.seq.payload}
}

// advance moves to the next event. It returns false at the end.
func (c *chunks) advance() (ok bool, err error) {
	more, err := c.reading.first().seq.next()
	if err != nil {
		return false, err
	}
	return c.goOn(more)
}

// goOn goes on after the first chunk was read on, which has more events or not.
func (c *chunks) goOn(more bool) (ok bool, err error) {
	r := c.reading.first().seq
	if more {
		c.reading.advance(r.key())
	} else {
		c.reading.drop()
		if err := r.close(c.arena); err != nil {
			return false, err
		}
		c.spare = append(c.spare, r)
	}
	return c.begin()
}

func (c *chunks) deliver(d *delivery, limit key, end int64, mark uint64) (more bool, err error) {
	s, stream := c.stream.sorter, uint32(c.stream.index)
	for more = true; more; {
		first := c.reading.first()
		if first.loc >= mark || first.ts > end || !first.before(limit) {
			return true, nil
		}
		until := c.reading.second()
		if limit.before(until) {
			until = limit
		}
		if len(c.waiting) > 0 {
			if k := c.waiting[0].key(); k.before(until) {
				until = k
			}
		}
		r := first.seq
		for more && r.ts <= end && (r.ts < until.ts || r.key().before(until)) {
			if err := s.send(d, stream, r.ts, r.payload); err != nil {
				return false, err
			}
			if more, err = r.next(); err != nil {
				return false, err
			}
		}
		if more, err = c.goOn(more); err != nil {
			return false, err
		}
	}
	return false, nil
}

// pause ends the reading. What was read in part is opened again later.
func (c *chunks) pause() {
	for _, n := range c.reading.nodes {
		c.waiting = append(c.waiting, n.seq.chunk)
	}
	for _, k := range c.waiting {
		if k.run == nil {
			c.staged = append(c.staged, k)
		} else {
			c.spilled = append(c.spilled, k)
		}
	}
	c.waiting, c.reading, c.spare = nil, merger[*chunkReader]{}, nil
}

// open opens a chunk at its next event.
func (r *chunkReader) open(c chunk, a *arena) error {
	r.chunk = c
	if c.run == nil {
		r.data = a.payload(c.loc)
	} else {
		r.buffer = slices.Grow(r.buffer[:0], c.size)[:c.size]
		r.data = r.buffer
		if err := c.run.read(r.data, c.off); err != nil {
			return fmt.Errorf("sort: reading back spilled events: %w", err)
		}
	}
	r.stored = r.data[c.events*eventBytes:]
	return r.read()
}

// next moves to the next event, if there is one.
func (r *chunkReader) next() (ok bool, err error) {
	r.done++
	if r.done == r.events {
		return false, nil
	}
	return true, r.read()
}

// read reads the current event.
func (r *chunkReader) read() error {
	e := binary.LittleEndian.Uint64(r.data[r.done*eventBytes:])
	r.ts = r.base + int64(e>>placeBits)
	n, start := uvarint(r.stored, int(e&placeMask))
	if start < 0 || n > uint64(len(r.stored)-start) {
		return errSpill
	}
	r.payload = r.stored[start : start+int(n)]
	return nil
}

// close gives up a chunk that was read to its end.
func (r *chunkReader) close(a *arena) error {
	r.data, r.stored, r.payload = nil, nil, nil
	if r.run == nil {
		a.release(r.loc)
		return nil
	}
	run := r.run
	r.run = nil
	return run.release()
}

// depth is how many of some chunks have a time in common, at most.
func depth(chunks []chunk) int {
	begins, ends := make([]int64, len(chunks)), make([]int64, len(chunks))
	for i, c := range chunks {
		begins[i], ends[i] = c.ts, c.last
	}
	slices.Sort(begins)
	slices.Sort(ends)
	most, ended := 0, 0
	for i, at := range begins {
		for ends[ended] < at {
			ended++
		}
		most = max(most, i+1-ended)
	}
	return most
}
