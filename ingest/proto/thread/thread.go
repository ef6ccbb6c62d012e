// Package thread knows which thread the packets of a sequence are of, and the times
// that they count on from, as a ThreadDescriptor says.
package thread

import (
	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/internal/saturating"
)

// Descriptor is the thread that a sequence's packets are of if they name none.
type Descriptor struct {
	Valid     bool
	PID       int32
	TID       int64
	Synthetic bool // TID is one of a sandbox
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

// Set makes a thread the one of a sequence.
func Set(s *proto.State, d Descriptor) { *descriptors.Of(s) = d }

// Times are the values that the next packets of a sequence count on from.
type Times struct {
	Valid        bool  // since a thread descriptor, if no packet was lost
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
