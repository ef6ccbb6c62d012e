package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/sqlfuncs/analysis/compare"
)

const (
	maxDifferences = 200 // of a kind
	maxLargest     = 12
	maxDots        = 32 // of a side
)

// Side is the values of one side, 100 wide and 18 high.
type Side struct {
	Class string // before or after
	Bar   Part   // from zero to the value, unless there are dots
	Y     int
	Dots  string // a path with a point for each trace
	Mark  string // a line at their median
}

// kindTitles name the sections of a comparison.
var kindTitles = map[string]string{
	"slice": "Slices", "gpu": "GPU: kernels and copies", "cpu": "CPU time of threads", "state": "Waiting of threads", "frame": "Frames",
	"profile": "Functions", "memory": "Memory", "counter": "Counters", "alert": "Alerts", "metric": "Metrics",
}

// measures describe what is tested.
var measures = map[string]string{
	"self": "their own, without what is nested or called", "total": "totals", "count": "counts", "mean": "means over time",
}

// Compare makes the report of a comparison.
func Compare(before, after []string, r *compare.Result, printable func(string) string) *Page {
	m := maker{Options: Options{Printable: printable}}
	p := &Page{
		Title:   m.text(strings.Join(before, ", ") + " → " + strings.Join(after, ", ")),
		Summary: strings.Join(r.Notes(), "; "),
	}
	kinds := map[string][]*compare.Row{}
	var largest []*compare.Row
	for i := range r.Rows {
		row := &r.Rows[i]
		kinds[row.Kind] = append(kinds[row.Kind], row)
		if len(largest) < maxLargest && row.Diff() != 0 && (r.Tested == 0 || row.P < compare.Significant) {
			largest = append(largest, row)
		}
	}
	first := Section{Title: "Largest differences", Figures: []Figure{{Note: legend(r), Table: m.differences(largest, len(largest))}}}
	if r.Tested > 0 {
		first.Title = fmt.Sprintf("Differences that are not noise: p below %g", compare.Significant)
		if len(largest) == 0 {
			first.Figures[0] = Figure{Note: fmt.Sprintf("There are none: no difference has p below %g.", compare.Significant)}
		}
	}
	if len(kinds) > 1 || r.Tested > 0 {
		p.Sections = append(p.Sections, first)
	}
	for _, kind := range compare.Kinds {
		if rows := kinds[kind]; rows != nil {
			note := fmt.Sprintf("%s Values are %s.", legend(r), measures[rows[0].Measure])
			p.Sections = append(p.Sections, Section{kindTitles[kind], []Figure{{Note: note, Table: m.differences(rows, maxDifferences)}}})
		}
	}
	return p
}

// legend explains the pictures.
func legend(r *compare.Result) string {
	switch least, most := min(r.BeforeTraces, r.AfterTraces), max(r.BeforeTraces, r.AfterTraces); {
	case least < 2:
		return "Grey is before, blue after."
	case most <= maxDots:
		return "Grey is before, blue after: a point for each trace, and a line at the median."
	}
	return fmt.Sprintf("Grey is before, blue after: points for the traces, at most %d of a side, and a line at the median.", maxDots)
}

// differences are rows as a table, the first of them.
func (m *maker) differences(rows []*compare.Row, most int) *Table {
	t := &Table{Total: len(rows)}
	for _, name := range compare.Shown {
		if name == "before" {
			t.Columns = append(t.Columns, Column{Name: "before and after"})
		}
		t.Columns = append(t.Columns, Column{name, numeric[name]})
	}
	rows = rows[:min(len(rows), most)]
	greatest := map[string]float64{} // difference by unit
	for _, row := range rows {
		greatest[row.Unit] = max(greatest[row.Unit], math.Abs(row.Diff()))
	}
	sameKind := !slices.ContainsFunc(rows, func(r *compare.Row) bool { return r.Kind != rows[0].Kind }) // and the same measure
	for _, row := range rows {
		var cells []Cell
		for j, text := range row.Texts() {
			name := compare.Shown[j]
			if sameKind && (name == "kind" || name == "measure") {
				text = "" // a column without any is dropped
			}
			c := Cell{Text: m.text(text)}
			if value, ok := map[string]float64{"before": row.Before, "after": row.After, "diff": row.Diff(), "change": row.After / row.Before, "p": row.P}[name]; ok {
				c.Sort = fmt.Sprint(value)
			}
			switch name {
			case "before":
				cells = append(cells, Cell{Sides: sidesOf(row)})
			case "diff":
				c.Diff = diffBar(row.Diff() / greatest[row.Unit])
			}
			cells = append(cells, c)
		}
		t.Rows = append(t.Rows, Row{Cells: cells})
	}
	t.dropEmpty()
	return t
}

// numeric are the columns with numbers.
var numeric = map[string]bool{"before": true, "after": true, "diff": true, "change": true, "p": true}

// diffBar is the bar of a difference, which is a fraction of the greatest one.
func diffBar(fraction float64) *Part {
	switch {
	case fraction > 0:
		return &Part{Class: "more", From: 50, Share: 50 * fraction}
	case fraction < 0:
		return &Part{Class: "less", From: 50 + 50*fraction, Share: -50 * fraction}
	}
	return nil
}

// sidesOf draws the values of a row, on one scale that has zero.
func sidesOf(row *compare.Row) []Side {
	least, greatest := 0.0, 0.0
	for _, v := range slices.Concat(row.All[0], row.All[1]) {
		least, greatest = min(least, v), max(greatest, v)
	}
	if least == greatest {
		return nil
	}
	several := len(row.All[0]) > 1 && len(row.All[1]) > 1
	x := func(v float64) float64 { return 1 + 98*(v-least)/(greatest-least) }
	var all []Side
	for i, median := range []float64{row.Before, row.After} {
		s := Side{Class: []string{"before", "after"}[i], Y: 1 + 9*i}
		if values := row.All[i]; several {
			var dots strings.Builder
			n := min(len(values), maxDots)
			for k := range n {
				fmt.Fprintf(&dots, "M%.1f %dh0", x(values[k*(len(values)-1)/(n-1)]), s.Y+4)
			}
			s.Dots, s.Mark = dots.String(), fmt.Sprintf("M%.1f %dv8", x(median), s.Y)
		} else if from, to := x(0), x(median); !math.IsNaN(median) {
			s.Bar = Part{From: min(from, to), Share: math.Abs(to - from)}
		}
		all = append(all, s)
	}
	return all
}
