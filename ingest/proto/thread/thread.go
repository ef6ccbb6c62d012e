// Package thread keeps the thread that a sequence's packets belong to, and the values
// that their deltas start from, as set by a ThreadDescriptor.
package thread

import (
	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/internal/saturating"
)

// Descriptor is the thread of a sequence's packets that name no other.
type Descriptor struct {
	Valid     bool
	PID       int32
	TID       int64
	Synthetic bool // TID is one inside a sandbox
}

var (
	descriptors = proto.NewLocal[Descriptor](proto.Always)
	none        Descriptor
)

// Of returns the thread of a sequence.
func Of(s *proto.State) *Descriptor {
	if d := descriptors.Get(s); d != nil {
		return d
	}
	return &none
}

// Set sets the thread of a sequence.
func Set(s *proto.State, d Descriptor) { *descriptors.Of(s) = d }

// Times are the values to which a sequence's next deltas are added.
type Times struct {
	Valid        bool  // a thread descriptor came, and no packet was lost since
	Time         int64 // ns
	ThreadTime   int64 // ns
	Instructions int64
	Counters     map[uint64]float64 // by uuid of the track
}

var times = proto.NewLocal[Times](proto.UntilLoss)

// TimesOf returns the values of a sequence.
func TimesOf(s *proto.State) *Times { return times.Of(s) }

// Advance adds us to the time and returns it, in ns.
func (t *Times) Advance(us int64) int64 {
	t.Time = saturating.Add(t.Time, saturating.Mul(us, 1000))
	return t.Time
}
