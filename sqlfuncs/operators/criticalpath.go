package operators

import (
	"fmt"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

// wakeups are times that threads ran after they were woken.
type wakeups struct {
	index []uint32 // position in list + 1 by id, 0 without
	list  []wakeup
}

// wakeup is a time that a thread ran. Times are in ns; -1 says that one of the ids or idle is unknown.
type wakeup struct {
	utid            uint32
	ts, dur         int64
	idle            int64 // time that it slept before
	knownIdle       bool
	waker, previous int64 // ids: who woke it, and when it ran before
}

// at returns a wakeup by its id, or nil.
func (w *wakeups) at(id int64) *wakeup {
	if id < 0 || id >= int64(len(w.index)) || w.index[id] == 0 {
		return nil
	}
	return &w.list[w.index[id]-1]
}

// wakeupsAggregate collects id, utid, ts, dur, idle_dur, waker_id and prev_id, of which the last three can be NULL.
type wakeupsAggregate struct{ wakeups }

func (a *wakeupsAggregate) Step(args []sqlite.Value) error {
	id, err := node(args[0].Int())
	if err != nil {
		return fmt.Errorf("__intrinsic_wakeup_graph_agg: %w", err)
	}
	w := wakeup{
		utid: uint32(args[1].Int()), ts: args[2].Int(), dur: args[3].Int(),
		idle: args[4].Int(), knownIdle: !args[4].IsNull(), waker: -1, previous: -1,
	}
	if !args[5].IsNull() {
		w.waker = int64(uint32(args[5].Int()))
	}
	if !args[6].IsNull() {
		w.previous = int64(uint32(args[6].Int()))
	}
	if n := int(id) + 1 - len(a.index); n > 0 {
		a.index = append(a.index, make([]uint32, n)...)
	}
	a.list = append(a.list, w)
	a.index[id] = uint32(len(a.list))
	return nil
}

func (a *wakeupsAggregate) Result(c sqlite.Context) error {
	if a.list != nil {
		c.Pointer(&a.wakeups, wakeupsPointer)
	}
	return nil
}

// criticalPathWalk finds what each of an array of roots waited for. Its time asleep and awake is that of the thread that
// woke it, while it slept, and so on; where an interrupt woke it, its own.
func (o *operators) criticalPathWalk(c sqlite.Context, args []sqlite.Value) error {
	w, _ := args[0].Pointer(wakeupsPointer).(*wakeups)
	roots, _ := args[1].Pointer(integersPointer).([]int64)
	walk := criticalPath{operators: o, wakeups: w, table: dataframe.NewBuilder(o.pool,
		integers("id", "root_id", "depth", "ts", "dur", "blocker_id", "blocker_utid", "parent_id")...)}
	if w != nil {
		for _, root := range roots {
			if err := walk.from(int64(uint32(root))); err != nil {
				return err
			}
		}
	}
	table(c, walk.table.Frame())
	return nil
}

type criticalPath struct {
	*operators
	*wakeups
	table *dataframe.Builder
	stack []waiting
	rows  int
	steps int
}

// waiting is a time for which a wakeup is to blame, at a depth of wakers from the root.
type waiting struct {
	id         int64
	start, end int64
	depth      int64
	parent     int64
}

func (p *criticalPath) from(root int64) error {
	first := p.at(root)
	if first == nil {
		return nil
	}
	p.stack = append(p.stack[:0], waiting{root, first.ts - first.idle, first.ts + first.dur, 0, root})
	for len(p.stack) > 0 {
		f := p.stack[len(p.stack)-1]
		p.stack = p.stack[:len(p.stack)-1]
		p.steps++
		if err := p.interrupted(p.steps); err != nil {
			return err
		}
		w := p.at(f.id)
		if w == nil || f.start >= f.end {
			continue
		}
		asleep := f.start
		if w.knownIdle {
			asleep = w.ts - w.idle
			if f.start < asleep && w.previous >= 0 { // the same thread, before
				p.stack = append(p.stack, waiting{w.previous, f.start, min(f.end, asleep), f.depth, f.parent})
			}
		}
		start, end := max(f.start, asleep), min(f.end, w.ts+w.dur)
		if start >= end {
			continue
		}
		if woken := min(end, w.ts); start < woken {
			switch {
			case w.waker >= 0:
				p.stack = append(p.stack, waiting{w.waker, start, woken, f.depth + 1, f.parent})
			case w.previous >= 0: // an interrupt woke it
				p.add(root, f, w, start, woken)
			}
		}
		if ran := max(start, w.ts); ran < end {
			p.add(root, f, w, ran, end)
		}
	}
	return nil
}

func (p *criticalPath) add(root int64, f waiting, w *wakeup, start, end int64) {
	for i, v := range [...]int64{int64(p.rows), root, f.depth, start, end - start, f.id, int64(w.utid), f.parent} {
		p.table.Int(i, v)
	}
	p.rows++
}
