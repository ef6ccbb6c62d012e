package model

import (
	"math"
	"sync"

	"github.com/tpconvert/tpconvert/model/table"
)

// bounds watches sealed chunks on their way to the sink for the earliest and
// latest time of any event. Several goroutines send chunks.
type bounds struct {
	mutex      sync.Mutex
	start, end int64 // ns
	to         table.Sink
}

// Chunk notes the chunk's times and passes it on.
func (b *bounds) Chunk(c *table.Chunk) error {
	if times := c.Schema.Bounds; times != "" {
		ts, _ := c.Column(c.Schema.Column(times)).Values.([]int64)
		var dur []int64
		if i := c.Schema.Column("dur"); i >= 0 {
			dur, _ = c.Column(i).Values.([]int64)
		}
		start, end := int64(math.MaxInt64), int64(0)
		for i, t := range ts {
			start = min(start, t)
			if dur != nil {
				t += max(dur[i], 0)
			}
			end = max(end, t)
		}
		c.Drop(c.Schema.Column(times))
		if dur != nil {
			c.Drop(c.Schema.Column("dur"))
		}
		b.mutex.Lock()
		b.start, b.end = min(b.start, start), max(b.end, end)
		b.mutex.Unlock()
	}
	if b.to == nil {
		c.Release()
		return nil
	}
	return b.to.Chunk(c)
}

// writeBounds fills trace_bounds from all tables sealed so far. A trace without
// events has no bounds.
func (s *Store) writeBounds() {
	start, end := s.bounds.start, s.bounds.end
	if start == math.MaxInt64 {
		return
	}
	if start == end {
		end++ // Trace Processor never reports an empty range
	}
	row := s.TraceBounds.Append()
	s.TraceBounds.StartTS.Set(row, start)
	s.TraceBounds.EndTS.Set(row, end)
}
