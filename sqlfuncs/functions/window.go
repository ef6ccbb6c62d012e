package functions

import (
	"container/heap"
	"errors"
	"math"

	"github.com/tpconvert/tpconvert/sqlfuncs/functions/define"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

func defineWindows(d *define.Definer) {
	d.Window("last_non_null", 1, func() sqlite.Window { return &lastNonNull{} })
	d.Window("internal_layout", 2, func() sqlite.Window { return &layoutWindow{} })
	d.Aggregate("value_at_max_ts", 2, func() sqlite.Aggregate { return &valueAtMaxTS{} })
}

// lastNonNull keeps the last value that is not NULL.
type lastNonNull struct {
	value any
	after int64 // rows of the window from the value on
	rows  int64
}

func (l *lastNonNull) Step(args []sqlite.Value) error {
	l.rows++
	l.after++
	if v := args[0].Any(); v != nil {
		l.value, l.after = v, 1
	}
	return nil
}

func (l *lastNonNull) Inverse([]sqlite.Value) error {
	if l.rows--; l.rows < l.after {
		l.value = nil
	}
	return nil
}

func (l *lastNonNull) Current(c sqlite.Context) error {
	c.Any(l.value)
	return nil
}

func (l *lastNonNull) Result(c sqlite.Context) error { return l.Current(c) }

// valueAtMaxTS keeps the value of the row with the greatest timestamp, the last of several. The first row says whether
// values are integers or real numbers.
type valueAtMaxTS struct {
	kind  sqlite.Type
	ts    int64
	value any
}

func (m *valueAtMaxTS) Step(args []sqlite.Value) error {
	if m.kind == 0 {
		if args[0].Type() != sqlite.Integer {
			return errors.New("value_at_max_ts: the timestamp is no integer")
		}
		kind := args[1].Type()
		if kind != sqlite.Integer && kind != sqlite.Real {
			return errors.New("value_at_max_ts: the value is no number")
		}
		m.kind, m.ts = kind, math.MinInt64
	}
	if ts := args[0].Int(); ts >= m.ts {
		m.ts = ts
		if m.kind == sqlite.Integer {
			m.value = args[1].Int()
		} else {
			m.value = args[1].Float()
		}
	}
	return nil
}

func (m *valueAtMaxTS) Result(c sqlite.Context) error {
	c.Any(m.value)
	return nil
}

// layoutWindow gives each slice of several tracks, in order of ts, the first depth that is free. An instant takes no room.
type layoutWindow struct {
	asked bool // for the depth of the last slice
	ts    int64
	busy  []bool // by depth
	ends  sliceEnds
	depth int64
}

func (l *layoutWindow) Step(args []sqlite.Value) error {
	for i, name := range []string{"ts", "dur"} {
		if args[i].Type() != sqlite.Integer {
			return errors.New("internal_layout: " + name + " is no integer")
		}
	}
	ts, dur := args[0].Int(), args[1].Int()
	switch {
	case ts < 0:
		return errors.New("internal_layout: ts is negative")
	case dur < -1:
		return errors.New("internal_layout: dur is less than -1")
	case !l.asked && len(l.busy) > 0:
		return errors.New(`internal_layout: the window must be "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"`)
	case ts < l.ts:
		return errors.New("internal_layout: the window must have ORDER BY ts")
	}
	l.ts, l.asked = ts, false
	for len(l.ends) > 0 && l.ends[0].ts <= ts {
		l.busy[heap.Pop(&l.ends).(sliceEnd).depth] = false
	}
	depth := 0
	for depth < len(l.busy) && l.busy[depth] {
		depth++
	}
	if depth == len(l.busy) {
		l.busy = append(l.busy, false)
	}
	if dur != 0 {
		end := int64(math.MaxInt64)
		if dur > 0 {
			end = ts + dur
		}
		l.busy[depth] = true
		heap.Push(&l.ends, sliceEnd{end, depth})
	}
	l.depth = int64(depth)
	return nil
}

func (l *layoutWindow) Inverse([]sqlite.Value) error {
	return errors.New(`internal_layout: the window must be "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"`)
}

func (l *layoutWindow) Current(c sqlite.Context) error {
	l.asked = true
	c.Int(l.depth)
	return nil
}

func (l *layoutWindow) Result(c sqlite.Context) error {
	if len(l.busy) > 0 {
		c.Int(l.depth)
	}
	return nil
}

// sliceEnds are the ends of open slices, the first one first.
type sliceEnds []sliceEnd

type sliceEnd struct {
	ts    int64
	depth int
}

func (e sliceEnds) Len() int           { return len(e) }
func (e sliceEnds) Less(i, j int) bool { return e[i].ts < e[j].ts }
func (e sliceEnds) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *sliceEnds) Push(x any)        { *e = append(*e, x.(sliceEnd)) }

func (e *sliceEnds) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}
