package sort

import (
	"cmp"
	"errors"
	"math"

	"github.com/tpconvert/tpconvert/internal/pipeline"
)

// errStopped ends the merge when a sink has failed.
var errStopped = errors.New("sort: delivery was stopped")

const (
	parcels      = 12
	parcelEvents = 2048
	parcelBytes  = 128 << 10
	parcelRoom   = parcelBytes + 16<<10 // the last payload may begin before parcelBytes
	// largeParcel is the size in bytes from which a parcel waits until all others
	// are delivered.
	largeParcel = 256 << 10
)

// A parcel is a run of events in order, on its way from the merge to the sinks.
// It holds copies of their payloads, so that the arena and the read buffers are
// free as soon as the parcel is packed.
type parcel struct {
	events []parcelEvent
	data   []byte
}

type parcelEvent struct {
	ts     int64
	end    uint32 // end of the payload in data; it starts at the end of the previous one
	stream uint32 // index in the sorter's streams
}

func (p *parcel) full() bool {
	return len(p.events) >= parcelEvents || len(p.data) >= parcelBytes
}

// prepare allocates the memory at once, because growing takes several times as much.
func (p *parcel) prepare() {
	if p.events == nil {
		p.events = make([]parcelEvent, 0, parcelEvents)
	}
	if p.data == nil {
		p.data = make([]byte, 0, parcelRoom)
	}
}

func (p *parcel) reset() {
	p.events, p.data = p.events[:0], p.data[:0]
	if cap(p.data) > 2*parcelBytes {
		p.data = nil // large because of an unusually large payload
	}
}

// deliver hands the events to the sinks of their streams.
func (p *parcel) deliver(sinks []Sink) error {
	from := uint32(0)
	for i := range p.events {
		e := &p.events[i]
		if err := sinks[e.stream].Event(e.ts, p.data[from:e.end:e.end]); err != nil {
			return err
		}
		from = e.end
	}
	return nil
}

// delivery carries events from the goroutine that merges to the goroutine whose
// sinks parse them, so that each can use a core.
type delivery struct {
	to      *pipeline.Helper[*parcel]
	packing *parcel
	spare   []*parcel // empty parcels
}

// deliver delivers events in order, up to the first one that arrived at or after
// mark. The sinks run on the caller's goroutine. Until deliver returns, the rest
// of the sorter belongs to the goroutine that merges.
func (s *Sorter) deliver(mark uint64) error {
	if s.err != nil {
		return s.err
	}
	if s.err = s.settle(); s.err != nil {
		return s.err
	}
	if mark == math.MaxUint64 {
		if s.err = s.spillRest(); s.err != nil {
			return s.err
		}
	}
	s.err = ErrDelivering
	s.progress.Staged.Add(s.arrived)
	s.arrived = 0
	var sinks []Sink
	for _, st := range s.streams {
		sinks = append(sinks, st.sink)
	}
	var merged error
	merge := pipeline.Help(parcels, func(h *pipeline.Helper[*parcel]) {
		merged = s.merge(&delivery{to: h}, mark)
	})
	for i := range s.parcels {
		merge.Give(&s.parcels[i])
	}
	err := s.hand(sinks, merge)
	merge.Stop() // the merge must end before the sorter goes on
	s.err = cmp.Or(err, merged)
	return s.err
}

// hand passes packed events to the sinks until the merge ends or a sink fails.
func (s *Sorter) hand(sinks []Sink, merge *pipeline.Helper[*parcel]) error {
	for {
		p, ok := merge.Take()
		if !ok {
			return nil
		}
		if err := s.ctx.Err(); err != nil {
			return err
		}
		if err := p.deliver(sinks); err != nil {
			return err
		}
		s.progress.Delivered.Add(int64(len(p.events)))
		p.reset()
		merge.Give(p)
	}
}

// add packs an event.
func (d *delivery) add(stream uint32, ts int64, payload []byte) error {
	if d.packing == nil {
		if len(d.spare) == 0 && !d.fetch() {
			return errStopped
		}
		last := len(d.spare) - 1
		d.packing, d.spare = d.spare[last], d.spare[:last]
	}
	p := d.packing
	p.data = append(p.data, payload...)
	p.events = append(p.events, parcelEvent{ts, uint32(len(p.data)), stream})
	if p.full() {
		d.flush()
	}
	return nil
}

// fetch waits for an empty parcel. It returns false once delivery has stopped.
func (d *delivery) fetch() bool {
	p, ok := d.to.Next()
	if ok {
		p.prepare()
		d.spare = append(d.spare, p)
	}
	return ok
}

// flush hands on the packed events.
func (d *delivery) flush() {
	if d.packing == nil {
		return
	}
	if len(d.packing.data) >= largeParcel {
		for len(d.spare) < parcels-1 && d.fetch() {
		}
	}
	d.to.Done(d.packing)
	d.packing = nil
}
