package android

import (
	"encoding/binary"
	"math"

	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/model"
)

// sparseCounters stores counters whose values are written only around changes: the last old value and the new one.
type sparseCounters struct {
	stream *proto.Stream
	last   map[model.TrackID]*sparseValue
}

// sparseValue is the last value of a counter.
type sparseValue struct {
	value   float64
	ts      int64
	written bool
}

var sparse = proto.Shared[sparseCounters]{New: func(r *proto.Reader) *sparseCounters {
	return &sparseCounters{last: map[model.TrackID]*sparseValue{}, stream: r.NewStream(func(ts int64, _ *proto.State, data []byte) {
		r.Counters.Push(ts, math.Float64frombits(binary.LittleEndian.Uint64(data[8:])), model.TrackID(binary.LittleEndian.Uint64(data)))
	})}
}}

// push adds a counter's value at the time of a packet.
func (c *sparseCounters) push(p *proto.Packet, track model.TrackID, value float64) {
	last := c.last[track]
	switch {
	case last == nil:
		last = new(sparseValue)
		c.last[track] = last
	case last.value == value:
		last.ts, last.written = p.TS, false
		return
	case !last.written:
		c.write(last.ts, p.State, track, last.value)
	}
	c.write(p.TS, p.State, track, value)
	*last = sparseValue{value, p.TS, true}
}

func (c *sparseCounters) write(ts int64, state *proto.State, track model.TrackID, value float64) {
	var token [16]byte
	binary.LittleEndian.PutUint64(token[:], uint64(track))
	binary.LittleEndian.PutUint64(token[8:], math.Float64bits(value))
	c.stream.Push(ts, state, token[:])
}
