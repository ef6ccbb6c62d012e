package metrics

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// Compare returns a table with the rows of both tables. Each value has three columns: in base, in t, and the difference.
// A row that only one table has differs by its whole value. Rows with the same dimensions are matched in order. The
// largest differences of the main value come first.
func (t Table) Compare(base Table) Table {
	both := Table{ID: t.ID, Columns: slices.Clone(t.Columns[:t.Dimensions]), Dimensions: t.Dimensions}
	for _, c := range t.Columns[t.Dimensions:] {
		for _, suffix := range []string{"_base", "", "_diff"} {
			both.Columns = append(both.Columns, session.Column{Name: c.Name + suffix, Kind: c.Kind})
		}
	}
	both.Main = t.Dimensions + 3*(t.Main-t.Dimensions) + 2
	key := func(row []any) string { return fmt.Sprintf("%#v", row[:t.Dimensions]) }
	before := map[string][][]any{}
	for _, row := range base.Rows {
		before[key(row)] = append(before[key(row)], row)
	}
	none := make([]any, len(t.Columns))
	add := func(was, is, dimensions []any) {
		row := slices.Clone(dimensions[:t.Dimensions])
		for i := t.Dimensions; i < len(t.Columns); i++ {
			row = append(row, was[i], is[i], difference(was[i], is[i]))
		}
		both.Rows = append(both.Rows, row)
	}
	for _, row := range t.Rows {
		was := none
		if same := before[key(row)]; len(same) > 0 {
			was, before[key(row)] = same[0], same[1:]
		}
		add(was, row, row)
	}
	for _, row := range base.Rows {
		if left := before[key(row)]; len(left) > 0 {
			before[key(row)] = left[1:]
			add(left[0], none, left[0])
		}
	}
	size := func(row []any) float64 {
		switch d := row[both.Main].(type) {
		case int64:
			return math.Abs(float64(d))
		case float64:
			return math.Abs(d)
		}
		return -1
	}
	slices.SortStableFunc(both.Rows, func(a, b []any) int { return cmp.Compare(size(b), size(a)) })
	return both
}

// difference returns is minus was, of which a missing one counts as 0. If both are missing, so is the difference.
func difference(was, is any) any {
	_, integer := cmp.Or(is, was).(int64)
	switch {
	case was == nil && is == nil:
		return nil
	case integer:
		a, _ := was.(int64)
		b, _ := is.(int64)
		return b - a
	}
	a, _ := was.(float64)
	b, _ := is.(float64)
	return b - a
}
