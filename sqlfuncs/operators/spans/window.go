package spans

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

// window is a table of equal steps of a time:
//
//	CREATE VIRTUAL TABLE w USING __intrinsic_window(start, dur, step)
//
// A step of 0 is the whole time.
type window struct{ start, dur, quantum int64 }

// Window returns the module of windows.
func Window() sqlite.Module {
	const name = "__intrinsic_window"
	return sqlite.Module{Create: func(_ string, args []string) (sqlite.Table, string, error) {
		if len(args) != 3 {
			return nil, "", fmt.Errorf("%s: want 3 arguments, not %d", name, len(args))
		}
		var n [3]int64
		for i, a := range args {
			var err error
			if n[i], err = strconv.ParseInt(strings.TrimSpace(a), 10, 64); err != nil {
				return nil, "", fmt.Errorf("%s: the argument %q is not an integer", name, a)
			}
		}
		if n[2] < 0 {
			return nil, "", fmt.Errorf("%s: the step %d is negative", name, n[2])
		}
		return &window{n[0], n[1], n[2]}, `CREATE TABLE x(rowid BIGINT HIDDEN, quantum BIGINT HIDDEN, window_start BIGINT HIDDEN,
window_dur BIGINT HIDDEN, ts BIGINT, dur BIGINT, quantum_ts BIGINT, PRIMARY KEY(rowid)) WITHOUT ROWID`, nil
	}}
}

// The columns of a window.
const (
	windowRow = iota
	windowQuantum
	windowStart
	windowDur
	windowTS
	windowStep
	windowNumber
)

func (w *window) Destroy() {}

func (w *window) Open() (sqlite.Cursor, error) { return &windowCursor{window: w}, nil }

func (w *window) Best(x *sqlite.Index) error {
	if len(x.Orders) == 1 && x.Orders[0] == (sqlite.Order{Column: windowTS}) {
		x.Ordered()
	}
	if len(x.Constraints) == 1 && x.Constraints[0] == (sqlite.Constraint{Column: windowRow, Op: sqlite.EQ, Usable: true}) {
		x.Use(0, 0, false)
		x.Plan(1, "")
	}
	return nil
}

type windowCursor struct {
	*window
	row  int64
	only bool // the first row
}

func (c *windowCursor) Filter(number int, _ string, args []sqlite.Value) error {
	c.row, c.only = 0, number == 1 && args[0].Int() == 0
	return nil
}

func (c *windowCursor) step() int64 {
	if c.quantum == 0 {
		return c.dur
	}
	return c.quantum
}

func (c *windowCursor) Next() error {
	c.row++
	return nil
}

func (c *windowCursor) EOF() bool {
	return c.only && c.row > 0 || c.dur <= 0 || c.row > (c.dur-1)/c.step()
}

func (c *windowCursor) Rowid() int64 { return sqlite.NoRowid }

func (c *windowCursor) Close() {}

func (c *windowCursor) Column(to sqlite.Context, i int) error {
	switch i {
	case windowRow, windowNumber:
		to.Int(c.row)
	case windowQuantum:
		to.Int(c.quantum)
	case windowStart:
		to.Int(c.start)
	case windowDur:
		to.Int(c.dur)
	case windowTS:
		to.Int(c.start + c.row*c.step())
	case windowStep:
		to.Int(c.step())
	}
	return nil
}
