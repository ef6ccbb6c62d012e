package proto

import (
	"bytes"

	"github.com/tpconvert/tpconvert/ingest/proto/message"
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

// Local is a value that a module keeps for each sequence. It is made by NewLocal and
// held in a package variable.
type Local[T any] struct {
	slot int
}

// localKind is a Local of any type.
type localKind struct {
	lifetime Lifetime
	copy     func(any) any
}

// localKinds are the Locals of all packages, by slot.
var localKinds []localKind

// NewLocal returns a Local. It must be called before anything is read.
func NewLocal[T any](lifetime Lifetime) Local[T] {
	localKinds = append(localKinds, localKind{lifetime, func(v any) any {
		value := *v.(*T)
		return &value
	}})
	return Local[T]{len(localKinds) - 1}
}

// Of returns the value for the state's sequence, zero at first.
func (l Local[T]) Of(s *State) *T {
	if v := l.Get(s); v != nil {
		return v
	}
	v := new(T)
	if s.locals == nil {
		s.locals = new([]any)
	}
	*s.locals = put(*s.locals, l.slot, v)
	return v
}

// Get is Of, except that it returns nil while there is no value.
func (l Local[T]) Get(s *State) *T {
	if s.locals != nil && l.slot < len(*s.locals) {
		if v := (*s.locals)[l.slot]; v != nil {
			return v.(*T)
		}
	}
	return nil
}

// keptLocals returns the values of at least the given lifetime, for the next interval.
func (iv *interval) keptLocals(lifetime Lifetime) *[]any {
	if iv.locals == nil {
		return nil
	}
	var kept []any
	for slot, v := range *iv.locals {
		kind := localKinds[slot]
		if v == nil || kind.lifetime < lifetime {
			continue
		}
		if kind.lifetime == Always {
			v = kind.copy(v)
		}
		kept = put(kept, slot, v)
	}
	return &kept
}

// put sets the value in a slot.
func put(slots []any, slot int, v any) []any {
	for len(slots) <= slot {
		slots = append(slots, nil)
	}
	slots[slot] = v
	return slots
}

// defaults are a TracePacketDefaults.
type defaults struct {
	data    []byte
	clockID uint32
	decoded []any // by slot
}

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
	slot   int
	field  uint32
	decode func([]byte) T
}

var defaultSlots int

// NewDefault returns the Default for a field of TracePacketDefaults. It must be
// called before anything is read.
func NewDefault[T any](field uint32, decode func([]byte) T) Default[T] {
	defaultSlots++
	return Default[T]{defaultSlots - 1, field, decode}
}

// Of returns the field from a state's defaults, or nil if it has none. Each set of
// defaults decodes it once.
func (d *Default[T]) Of(s *State) *T {
	if s.defaults == nil {
		return nil
	}
	if d.slot < len(s.defaults.decoded) {
		if v := s.defaults.decoded[d.slot]; v != nil {
			return v.(*T)
		}
	}
	v := new(T)
	if f, ok := wire.Find(s.defaults.data, d.field); ok {
		*v = d.decode(f.Bytes())
	}
	s.defaults.decoded = put(s.defaults.decoded, d.slot, v)
	return v
}
