package compare

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/tpconvert/tpconvert/internal/human"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// Columns are the columns of Cells, for programs.
var Columns = func() []session.Column {
	var all []session.Column
	for _, name := range []string{"kind", "name", "process", "thread", "unit", "measure"} {
		all = append(all, session.Column{Name: name, Kind: session.Text})
	}
	names := []string{"before", "after", "diff", "ratio", "p", "effect"}
	for _, f := range fieldNames {
		names = append(names, f+"_before", f+"_after")
	}
	for _, name := range names {
		all = append(all, session.Column{Name: name, Kind: session.Real})
	}
	return all
}()

// Cells returns the row's values. What is unknown is nil.
func (r *Row) Cells() []any {
	cells := []any{r.Name, r.Process, r.Thread, r.Unit}
	for i, v := range cells {
		if v == "" && i > 0 {
			cells[i] = nil
		}
	}
	cells = append(append([]any{r.Kind}, cells...), r.Measure)
	numbers := []float64{r.Before, r.After, r.Diff(), r.After / r.Before, r.P, r.Effect}
	for _, get := range fields {
		numbers = append(numbers, *get(&r.Was), *get(&r.Is))
	}
	for _, v := range numbers {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			cells = append(cells, nil)
		} else {
			cells = append(cells, v)
		}
	}
	return cells
}

// Shown are the columns of Texts, for people.
var Shown = []string{"before", "after", "diff", "change", "p", "count", "p50", "p95", "kind", "measure", "name", "where"}

// ShowsNumber reports whether a column of Texts has numbers.
func ShowsNumber(column string) bool {
	return slices.Index(Shown, column) < slices.Index(Shown, "kind")
}

// Texts returns the row's values as people read them.
func (r *Row) Texts() []string {
	where := r.Process
	if r.Thread != "" && where != "" {
		where += " / "
	}
	where += r.Thread
	diff := human.Quantity(r.Diff(), r.Unit)
	if r.Diff() > 0 {
		diff = "+" + diff
	}
	p := ""
	if !math.IsNaN(r.P) {
		p = strconv.FormatFloat(r.P, 'g', 2, 64)
	}
	unit := r.Unit
	if r.Kind == kindFrame {
		unit = "ns" // of each frame
	}
	counts := pair(r.Was.Count, r.Is.Count, "")
	if r.Kind == kindSlice && r.Was.Total == 0 && r.Is.Total == 0 { // instants take no time
		return []string{"", "", "", "", "", counts, "", "", r.Kind, "", r.Name, where}
	}
	return []string{human.Quantity(r.Before, r.Unit), human.Quantity(r.After, r.Unit), diff, Change(r.Before, r.After), p,
		counts, pair(r.Was.P50, r.Is.P50, unit), pair(r.Was.P95, r.Is.P95, unit), r.Kind, r.Measure, r.Name, where}
}

// pair shows a value before and after.
func pair(before, after float64, unit string) string {
	a, b := human.Quantity(before, unit), human.Quantity(after, unit)
	if a == b {
		return a
	}
	return a + " → " + b
}

// Change shows how much more there is after.
func Change(before, after float64) string {
	switch {
	case before == after || math.IsNaN(after-before):
		return ""
	case before == 0:
		return "new"
	case after == 0:
		return "gone"
	case after > 10*before && before > 0:
		return fmt.Sprintf("× %.3g", after/before)
	}
	return fmt.Sprintf("%+.1f %%", 100*(after/before-1))
}

// Notes say how far the test carries.
func (r *Result) Notes() []string {
	notes := []string{fmt.Sprintf("%s before, %d after", traces(r.BeforeTraces), r.AfterTraces)}
	switch {
	case r.Tested == 0:
		notes[0] += ": a test for noise needs several on both sides"
	default:
		notes[0] += fmt.Sprintf("; values are medians; %d comparisons, for which p is corrected", r.Tested)
		if r.LeastP > Significant {
			notes = append(notes, fmt.Sprintf("with so few traces no p can be below %.2g: compare more traces, or fewer kinds (--kinds)", r.LeastP))
		}
	}
	return notes
}

func traces(n int) string {
	if n == 1 {
		return "1 trace"
	}
	return fmt.Sprintf("%d traces", n)
}
