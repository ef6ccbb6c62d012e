package table

import (
	"math"
	"sync"
)

// Bounds watches sealed chunks on their way to a sink for the earliest and
// latest time of any event. Several goroutines send chunks.
type Bounds struct {
	mutex      sync.Mutex
	start, end int64 // ns
	to         Sink  // or nil
}

// NewBounds returns the bounds of the chunks that go to a sink, which may be nil.
func NewBounds(to Sink) *Bounds { return &Bounds{start: math.MaxInt64, end: math.MinInt64, to: to} }

// Of returns the earliest and the latest time in ns, or false if there was no event.
func (b *Bounds) Of() (start, end int64, any bool) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.start, b.end, b.start != math.MaxInt64
}

// Chunk notes the chunk's times and passes it on.
func (b *Bounds) Chunk(c *Chunk) error {
	if times := c.Schema.Bounds; times != "" {
		ts, _ := c.Column(c.Schema.Column(times)).Values.([]int64)
		var dur []int64
		if i := c.Schema.Column("dur"); i >= 0 {
			dur, _ = c.Column(i).Values.([]int64)
		}
		start, end := int64(math.MaxInt64), int64(math.MinInt64)
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
