package define

import (
	"fmt"
	"slices"

	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

// MaxDepth bounds trees, in case one has a cycle.
const MaxDepth = 1 << 20

// Ancestors returns the rows above a row, the root first.
func Ancestors(row int, parent func(int) int) ([]uint32, error) {
	var above []uint32
	for at := parent(row); at >= 0; at = parent(at) {
		above = append(above, uint32(at))
		if len(above) > MaxDepth {
			return nil, fmt.Errorf("row %d has more than %d ancestors", row, MaxDepth)
		}
	}
	slices.Reverse(above)
	return above, nil
}

// StartRow returns the row whose id is an argument, or -1 for NULL.
func StartRow(function, table string, rows RowsByID, arg sqlite.Value) (int, error) {
	switch arg.Type() {
	case sqlite.Null:
		return -1, nil
	case sqlite.Integer:
		if row := rows.Find(arg.Int()); row >= 0 {
			return row, nil
		}
		return 0, fmt.Errorf("%s: there is no %s %d", function, table, arg.Int())
	}
	return 0, fmt.Errorf("%s: the argument is not the id of a %s", function, table)
}
