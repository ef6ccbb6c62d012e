package functions

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/functions/define"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

// Ids of clocks, as in Linux and Perfetto's traces.
const (
	realtimeClock  = 1
	monotonicClock = 3
)

// clocks has the snapshots of clocks by id, in order of the trace's clock. Times are in ns.
type clocks map[int64][]snapshot

type snapshot struct{ ts, value int64 }

func readClocks(tables dataframe.Source) (*clocks, error) {
	var ts, clock, value dataframe.Reader
	f, err := define.Columns(tables, "clock_snapshot", define.Readers{"ts": &ts, "clock_id": &clock, "clock_value": &value})
	if err != nil {
		return nil, err
	}
	all := clocks{}
	for row := range f.Rows {
		if id := clock.Int(row); id == realtimeClock || id == monotonicClock {
			all[id] = append(all[id], snapshot{ts.Int(row), value.Int(row)})
		}
	}
	for id, snapshots := range all {
		slices.SortStableFunc(snapshots, func(a, b snapshot) int { return cmp.Compare(a.ts, b.ts) })
		all[id] = slices.CompactFunc(snapshots, func(a, b snapshot) bool { return a.ts == b.ts })
	}
	return &all, nil
}

// at returns what a clock shows at a time of the trace. Between two snapshots it goes on from the first, but not beyond the
// second; before the first snapshot it stands still.
func (all clocks) at(clock, ts int64) (int64, bool) {
	snapshots := all[clock]
	if len(snapshots) == 0 {
		return 0, false
	}
	next := sort.Search(len(snapshots), func(i int) bool { return snapshots[i].ts >= ts })
	if next < len(snapshots) && (next == 0 || snapshots[next].ts == ts) {
		return snapshots[next].value, true
	}
	before := snapshots[next-1]
	value := before.value + ts - before.ts
	if next < len(snapshots) {
		value = min(value, snapshots[next].value)
	}
	return value, true
}

func defineClocks(d *define.Definer) {
	load := define.Once(func() (*clocks, error) { return readClocks(d.Tables) })
	// define defines a function of a timestamp. The result of NULL is NULL.
	define := func(name string, f func(c sqlite.Context, ts int64) error) {
		d.Twins(name, 1, func(c sqlite.Context, args []sqlite.Value) error {
			switch args[0].Type() {
			case sqlite.Null:
				return nil
			case sqlite.Integer:
				return f(c, args[0].Int())
			}
			return errors.New(name + ": the argument is no timestamp")
		})
	}
	convert := func(name string, clock int64, result func(sqlite.Context, int64)) {
		define(name, func(c sqlite.Context, ts int64) error {
			all, err := load()
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if value, ok := all.at(clock, ts); ok {
				result(c, value)
			}
			return nil
		})
	}
	convert("to_realtime", realtimeClock, sqlite.Context.Int)
	convert("to_monotonic", monotonicClock, sqlite.Context.Int)
	convert("abs_time_str", realtimeClock, func(c sqlite.Context, value int64) {
		seconds := time.Unix(value/1e9, 0).UTC()
		c.Text(seconds.Format("2006-01-02T15:04:05") + fmt.Sprintf(".%09d", value%1e9))
	})
	define("to_timecode", func(c sqlite.Context, ts int64) error {
		us, ms, s := ts/1e3, ts/1e6, ts/1e9
		c.Text(fmt.Sprintf("%02d:%02d:%02d %03d %03d %03d", s/3600, s/60%60, s%60, ms%1000, us%1000, ts%1000))
		return nil
	})
}
