package operators

import (
	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

// timestampsAggregate collects times that the query has sorted.
type timestampsAggregate struct{ ts []int64 }

func (a *timestampsAggregate) Step(args []sqlite.Value) error {
	a.ts = append(a.ts, args[0].Int())
	return nil
}

func (a *timestampsAggregate) Result(c sqlite.Context) error {
	if a.ts != nil {
		c.Pointer(a.ts, timestampsPointer)
	}
	return nil
}

// intervalCreate makes an interval from each start to the first end after it. A start without one is left out.
func (o *operators) intervalCreate(c sqlite.Context, args []sqlite.Value) error {
	starts, _ := args[0].Pointer(timestampsPointer).([]int64)
	ends, _ := args[1].Pointer(timestampsPointer).([]int64)
	b := dataframe.NewBuilder(o.pool, integers("ts", "dur")...)
	for _, ts := range starts {
		for len(ends) > 0 && ends[0] <= ts {
			ends = ends[1:]
		}
		if len(ends) == 0 {
			break
		}
		b.Int(0, ts)
		b.Int(1, ends[0]-ts)
	}
	numberedTable(c, b.Frame())
	return nil
}
