package operators

import (
	"errors"
	"strings"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

// counters are the values of counters by track.
type counters struct {
	tracks []*counterTrack
	byID   map[int64]*counterTrack
}

type counterTrack struct {
	id     int64
	values []counterValue
	equal  counterValue // the last that was left out; none if its ts is 0
}

type counterValue struct {
	id, ts int64
	value  float64
}

// countersAggregate collects the values of counters. Of a run of equal values it keeps the first two, and the last: then
// counters of deltas fall back to 0, and differences between values stay right.
type countersAggregate struct{ counters }

func (a *countersAggregate) Step(args []sqlite.Value) error {
	v := counterValue{args[0].Int(), args[1].Int(), args[3].Float()}
	id := int64(uint32(args[2].Int()))
	t := a.byID[id]
	if t == nil {
		if a.byID == nil {
			a.byID = map[int64]*counterTrack{}
		}
		t = &counterTrack{id: id}
		a.byID[id] = t
		a.tracks = append(a.tracks, t)
	} else {
		n := len(t.values)
		if n > 1 && t.values[n-1].value == v.value && t.values[n-2].value == v.value {
			t.equal = v
			return nil
		}
		if t.equal.ts != 0 {
			t.values = append(t.values, t.equal)
		}
		t.equal = counterValue{}
	}
	t.values = append(t.values, v)
	return nil
}

func (a *countersAggregate) Result(c sqlite.Context) error {
	if a.tracks != nil {
		c.Pointer(&a.counters, countersPointer)
	}
	return nil
}

// counterIntervals makes an interval of each value up to the next of its track, the last up to the end of the trace.
func (o *operators) counterIntervals(c sqlite.Context, args []sqlite.Value) error {
	const name = "__intrinsic_counter_intervals"
	switch {
	case args[0].IsNull():
		return errors.New(name + ": the first argument is NULL")
	case strings.EqualFold(args[0].View(), "lagging"):
		return errors.New(name + ": 'lagging' is not implemented")
	case !strings.EqualFold(args[0].View(), "leading"):
		return errors.New(name + ": the first argument has to be 'leading'")
	}
	b := dataframe.NewBuilder(o.pool, append(integers("id", "ts", "dur", "track_id"),
		dataframe.Spec{Name: "value", Kind: dataframe.Real},
		dataframe.Spec{Name: "next_value", Kind: dataframe.Real},
		dataframe.Spec{Name: "delta_value", Kind: dataframe.Real})...)
	in, _ := args[2].Pointer(countersPointer).(*counters)
	if in == nil {
		in = &counters{}
	}
	keys := make([]uint64, len(in.tracks))
	for i, t := range in.tracks {
		keys[i] = uint64(t.id)
	}
	const slot = 104 // bytes
	end, rows := args[1].Int(), 0
	for _, i := range hashOrder(keys, slot) {
		t := in.tracks[i]
		for k, v := range t.values {
			b.Int(0, v.id)
			b.Int(1, v.ts)
			b.Int(3, t.id)
			b.Float(4, v.value)
			if k == len(t.values)-1 {
				b.Int(2, end-v.ts)
				b.Null(5)
			} else {
				next := t.values[k+1]
				b.Int(2, next.ts-v.ts)
				b.Float(5, next.value)
			}
			if k == 0 {
				b.Null(6)
			} else {
				b.Float(6, v.value-t.values[k-1].value)
			}
			if err := o.interrupted(rows); err != nil {
				return err
			}
			rows++
		}
	}
	numberedTable(c, b.Frame())
	return nil
}
