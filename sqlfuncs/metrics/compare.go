package metrics

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// Compare returns a table with the rows of both tables. Each value has three columns: in
// base, in t, and the difference, which is NULL unless both tables have the row. Rows with
// the same dimensions are matched in order. The largest differences of the first value come
// first, then rows that only one table has.
func (t Table) Compare(base Table) Table {
	of := Table{ID: t.ID, Columns: slices.Clone(t.Columns[:t.Dimensions]), Dimensions: t.Dimensions}
	for _, c := range t.Columns[t.Dimensions:] {
		for _, suffix := range []string{"_base", "", "_diff"} {
			of.Columns = append(of.Columns, session.Column{Name: c.Name + suffix, Kind: session.Real})
		}
	}
	key := func(row []any) string { return fmt.Sprintf("%#v", row[:t.Dimensions]) }
	before := map[string][][]any{}
	for _, row := range base.Rows {
		before[key(row)] = append(before[key(row)], row)
	}
	none := make([]any, len(t.Columns))
	add := func(was, is, dimensions []any) {
		row := slices.Clone(dimensions[:t.Dimensions])
		for i := t.Dimensions; i < len(t.Columns); i++ {
			var difference any
			a, hasA := was[i].(float64)
			b, hasB := is[i].(float64)
			if hasA && hasB {
				difference = b - a
			}
			row = append(row, was[i], is[i], difference)
		}
		of.Rows = append(of.Rows, row)
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
		if d, ok := row[t.Dimensions+2].(float64); ok {
			return math.Abs(d)
		}
		return -1
	}
	slices.SortStableFunc(of.Rows, func(a, b []any) int { return cmp.Compare(size(b), size(a)) })
	return of
}
