package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tpconvert/tpconvert/internal/human"
	"github.com/tpconvert/tpconvert/internal/terminal"
	"github.com/tpconvert/tpconvert/sqlfuncs/analysis/compare"
	"github.com/tpconvert/tpconvert/sqlfuncs/analysis/trend"
)

// Plot shows values of groups: their medians and quantiles.
type Plot struct {
	Label         string
	Width, Height float64
	Left, Top     float64 // of the area of the values
	Across, Down  float64 // its size
	Ticks, Groups []Tick
	Whiskers      string // a path from the 5th to the 95th percentile of each group
	Boxes         string // a path from the 25th to the 75th
	Medians       string // a path through them, "" if the groups have no order
	Dots          []Dot  // at the medians
	Levels        string // a path at the medians before and after each change
	Changes       []Tick // where these are
}

// Bottom is the lower end of the area of the values.
func (p *Plot) Bottom() float64 { return p.Top + p.Down }

// Tick is a place on an axis.
type Tick struct {
	At   float64
	Text string
}

// Dot is a group.
type Dot struct {
	X, Y float64
	Text string
}

// Trend makes the report of trends.
func Trend(r *trend.Result, printable func(string) string) *Page {
	m := maker{Options: Options{Printable: printable}}
	p := &Page{
		Title:   m.text("Trends by " + r.By),
		Summary: fmt.Sprintf("%s traces in %s groups; a change has p of at most %g", human.Count(r.Traces), human.Count(r.Groups), r.Significance),
		Alarm:   m.text(strings.Join(r.LeftOut(), "; ")),
	}
	if len(r.Series) == 1 {
		p.Title = m.text(r.Series[0].Name + " by " + r.By)
	} else if changes := m.changes(r); len(changes.Rows) > 0 {
		p.Sections = append(p.Sections, Section{"Changes", []Figure{{Table: changes}}})
	}
	for _, s := range r.Series {
		note := m.text(strings.Join(append([]string{s.Summary(r.By)}, r.Sentences(s)...), "; "))
		note += ". Points are medians, bars reach from the 25th to the 75th percentile, and lines from the 5th to the 95th."
		p.Sections = append(p.Sections, Section{m.text(s.Name), []Figure{{Note: note, Plot: m.plot(s)}, {Title: "Numbers", Folded: true, Table: m.groups(s, r.By)}}})
	}
	return p
}

// changes are those of all series, as a table.
func (m *maker) changes(r *trend.Result) *Table {
	t := &Table{Columns: []Column{{"change", true}, {"before", true}, {"after", true}, {"p", true}, {"groups before", true}, {"groups after", true}, {m.text(r.By), false}, {"metric", false}}}
	for _, s := range r.Series {
		for i := range s.Changes {
			c := &s.Changes[i]
			t.Rows = append(t.Rows, Row{Cells: []Cell{
				{Text: c.Size(s.Unit), Sort: fmt.Sprint(c.After / c.Before)}, m.cell(c.Before, s.Unit), m.cell(c.After, s.Unit),
				{Text: c.Probability(), Sort: fmt.Sprint(c.P)}, m.cell(int64(c.GroupsBefore), ""), m.cell(int64(c.GroupsAfter), ""), elided(m.text(c.Name)), elided(m.text(s.Name)),
			}})
		}
	}
	t.Total = len(t.Rows)
	return t
}

// groups are those of a series, as a table.
func (m *maker) groups(s *trend.Series, by string) *Table {
	t := &Table{Total: len(s.Groups)}
	for _, name := range trend.Shown {
		t.Columns = append(t.Columns, Column{name, true})
	}
	t.Columns = append(t.Columns, Column{m.text(by), false})
	for i, g := range s.Groups {
		var cells []Cell
		for _, text := range s.Texts(i) {
			cells = append(cells, Cell{Text: m.text(text)})
		}
		for k, v := range []float64{float64(g.Traces), g.P5, g.P25, g.P50, g.P75, g.P95} {
			cells[k].Sort = fmt.Sprint(v)
		}
		if c := s.Change(i); c != nil {
			cells[6].Sort, cells[7].Sort = fmt.Sprint(c.After/c.Before), fmt.Sprint(c.P)
		}
		t.Rows = append(t.Rows, Row{Cells: append(cells, elided(m.text(g.Name)))})
	}
	t.dropEmpty()
	return t
}

// plot draws a series. Nearly all of its values are in sight: an outlier does not flatten the others.
func (m *maker) plot(s *trend.Series) *Plot {
	n := len(s.Groups)
	var low, high []float64
	for _, g := range s.Groups {
		low, high = append(low, g.P5), append(high, g.P95)
	}
	slices.Sort(low)
	slices.Sort(high)
	from, to := compare.Quantile(low, 0.05), compare.Quantile(high, 0.95)
	for _, g := range s.Groups {
		from, to = min(from, g.P50), max(to, g.P50)
	}
	margin := 0.05 * (to - from)
	if margin == 0 {
		margin = max(1, math.Abs(to))
	}
	from, to = from-margin, to+margin
	p := &Plot{Label: m.text(s.Name), Width: 1000, Height: 260, Left: 80, Top: 24, Across: 910, Down: 200}
	x := func(group float64) float64 { return p.Left + p.Across*(group+0.5)/float64(n) }
	y := func(v float64) float64 { return p.Top + p.Down*(to-v)/(to-from) }
	step := niceStep((to - from) / 4)
	for v := math.Ceil(from/step) * step; v <= to; v += step {
		p.Ticks = append(p.Ticks, Tick{y(v), human.Quantity(v, s.Unit)})
	}
	var whiskers, boxes, medians, levels strings.Builder
	longest := 1
	for i, g := range s.Groups {
		at, texts := x(float64(i)), s.Texts(i)
		fmt.Fprintf(&whiskers, "M%.1f %.1fV%.1f", at, y(g.P5), y(g.P95))
		fmt.Fprintf(&boxes, "M%.1f %.1fV%.1f", at, y(g.P25), y(g.P75))
		fmt.Fprintf(&medians, "%c%.1f %.1f", "ML"[min(i, 1)], at, y(g.P50))
		p.Dots = append(p.Dots, Dot{at, y(g.P50), m.text(fmt.Sprintf("%s\nmedian %s of %s traces\nfrom %s to %s", g.Name, texts[3], texts[0], texts[1], texts[5]))})
		longest = max(longest, utf8.RuneCountInString(groupName(g.Name)))
	}
	for i, c := range s.Changes {
		p.Changes = append(p.Changes, Tick{x(float64(c.At) - 0.5), c.Size(s.Unit)})
		if i == 0 {
			fmt.Fprintf(&levels, "M%.1f %.1fH%.1f", x(float64(c.At-c.GroupsBefore)-0.5), y(c.Before), x(float64(c.At)-0.5))
		}
		fmt.Fprintf(&levels, "M%.1f %.1fH%.1f", x(float64(c.At)-0.5), y(c.After), x(float64(c.At+c.GroupsAfter)-0.5))
	}
	p.Whiskers, p.Boxes, p.Levels = whiskers.String(), boxes.String(), levels.String()
	if s.LeastP > 0 { // they have an order
		p.Medians = medians.String()
	}
	fit := max(2, int(p.Across)/(8*longest+16)) // names
	every := (n + fit - 1) / fit
	for i := 0; i < n; i += every {
		p.Groups = append(p.Groups, Tick{x(float64(i)), m.text(groupName(s.Groups[i].Name))})
	}
	return p
}

// groupName is the name of a group on an axis.
func groupName(name string) string { return terminal.Elided(name, 24) }

// niceStep is the least of 1, 2 and 5 times a power of ten that is not less than a step.
func niceStep(step float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(step)))
	for _, part := range []float64{1, 2, 5} {
		if part*power >= step {
			return part * power
		}
	}
	return 10 * power
}
