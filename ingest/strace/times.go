package strace

import (
	"math"
	"time"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/model"
)

// times turns the stamps of lines into times. All lines of a log have the same kind of stamps.
type times struct {
	in     *format.Input
	kind   kind
	digits int
	sums   bool // the differences are more precise than the clock
	base   int64
	date   int64 // start of the day, ns since 1970
	last   int64 // time of day
}

const day = int64(24 * time.Hour)

func (t *times) started() bool { return t.kind != noTime }

// at returns the time of a line in ns, or what is wrong. It must be called for every line that has a difference.
func (t *times) at(l *leader) (ns int64, fault model.Stat) {
	kind := l.clock.kind
	if kind == noTime {
		kind = l.since.kind
	}
	switch {
	case kind == noTime:
		return 0, model.StatStraceParseFailure
	case t.kind == noTime:
		t.start(l, kind)
	case kind != t.kind:
		return 0, model.StatStraceUnsupportedTimestampFormat
	case t.base > math.MaxInt64-l.since.ns:
		return 0, model.StatStraceParseFailure
	case t.sums:
		t.base += l.since.ns
		return t.base, 0
	}
	if t.sums {
		return t.base, 0
	}
	if kind == sinceEpoch {
		return l.clock.ns, 0
	}
	if l.clock.ns < t.last-day/2 {
		t.date += day
	}
	t.last = l.clock.ns
	return t.date + t.last, 0
}

// start takes the first stamp.
func (t *times) start(l *leader, kind kind) {
	t.kind, t.digits, t.last = kind, l.clock.digits, l.clock.ns
	if kind == sinceLine {
		t.in.UseClock(model.ClockTraceFile)
		t.sums, t.digits, t.base = true, l.since.digits, l.since.ns
		return
	}
	t.in.UseClock(model.ClockRealtime)
	if kind == sinceDay {
		t.date = t.today()
	}
	if t.sums = l.since.digits > l.clock.digits; t.sums {
		t.base = t.date + l.clock.ns
		t.digits = l.since.digits
	}
}

// today returns the start of the day of the latest event in the traces read before, or of 1970, so that every run gives
// the same result.
func (t *times) today() int64 {
	wall, ok := t.in.Latest()
	if !ok {
		return 0
	}
	zone, _ := t.in.Clocks.Zone()
	return (wall+zone)/day*day - zone
}

// resolution returns the unit of the times, in ns.
func (t *times) resolution() int64 {
	unit := int64(time.Second)
	for range t.digits {
		unit /= 10
	}
	return unit
}
