package proto

import (
	"bytes"

	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/internal/attached"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
)

// Lifetime is how long a value kept with a sequence lasts.
type Lifetime uint8

// The lifetimes.
const (
	UntilLoss Lifetime = iota // until a packet is lost or the sequence starts anew
	UntilAnew                 // until the sequence starts anew
	Always                    // when the sequence starts anew, it continues with a copy
)

// Local is a value that a module keeps for each sequence, zero at first. It is made by NewLocal and
// held in a package variable.
type Local[T any] struct {
	lifetime Lifetime
	value    attached.Value[locals, T]
}

// locals keeps the values of a sequence with one lifetime.
type locals struct {
	*State
	lifetime Lifetime
}

// Values makes room for the sequence's first values.
func (l locals) Values() *attached.Values {
	if l.State.locals == nil {
		l.State.locals = new([Always + 1]attached.Values)
	}
	return &l.State.locals[l.lifetime]
}

// NewLocal returns a Local.
func NewLocal[T any](lifetime Lifetime) Local[T] { return Local[T]{lifetime: lifetime} }

// Of returns the value for the state's sequence.
func (l *Local[T]) Of(s *State) *T { return l.value.Of(locals{s, l.lifetime}) }

// Get is Of, except that it returns nil while there is no value.
func (l *Local[T]) Get(s *State) *T {
	if s.locals == nil {
		return nil
	}
	return l.value.Get(locals{s, l.lifetime})
}

// keptLocals returns the values of at least the given lifetime, for the next interval.
func (iv *interval) keptLocals(lifetime Lifetime) *[Always + 1]attached.Values {
	if iv.locals == nil {
		return nil
	}
	var kept [Always + 1]attached.Values
	for l := lifetime; l < Always; l++ {
		kept[l] = iv.locals[l].Clone()
	}
	kept[Always] = iv.locals[Always].Copy()
	return &kept
}

// defaults are a TracePacketDefaults.
type defaults struct {
	data    []byte
	clockID uint32
	decoded attached.Values
}

// Values are the fields decoded so far.
func (d *defaults) Values() *attached.Values { return &d.decoded }

func newDefaults(data []byte) *defaults {
	d := &defaults{data: bytes.Clone(data)}
	d.clockID = message.Uint32(d.data, pb.TracePacket_TimestampClockID)
	return d
}

// clockID is the clock of packets that name none, 0 if there is no default.
func (s *State) clockID() uint32 {
	if s.defaults == nil {
		return 0
	}
	return s.defaults.clockID
}

// Default is a field of a sequence's defaults. It is made by NewDefault and held in
// a package variable.
type Default[T any] struct {
	value attached.Value[*defaults, T]
}

// NewDefault returns the Default for a field of TracePacketDefaults.
func NewDefault[T any](field uint32, decode func([]byte) T) Default[T] {
	return Default[T]{attached.Value[*defaults, T]{New: func(d *defaults) *T {
		v := new(T)
		if f, ok := wire.Find(d.data, field); ok {
			*v = decode(f.Bytes())
		}
		return v
	}}}
}

// Of returns the field from a state's defaults, or nil if it has none. Each set of
// defaults decodes it once.
func (d *Default[T]) Of(s *State) *T {
	if s.defaults == nil {
		return nil
	}
	return d.value.Of(s.defaults)
}
