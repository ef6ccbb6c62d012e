// Package report makes reports of traces, of the differences between traces, and of the traces of a dataset: what a page shows.
package report

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tpconvert/tpconvert/internal/human"
	"github.com/tpconvert/tpconvert/internal/terminal"
	"github.com/tpconvert/tpconvert/sqlfuncs/analysis/stacks"
	"github.com/tpconvert/tpconvert/sqlfuncs/derive"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// Options say what a report needs besides the trace.
type Options struct {
	Name      string // of the input
	Format    string // in words, or ""
	Alarm     string // what the reader should know before all else, or ""
	Badge     string // what was lost, if there is no alarm
	Alerts    []derive.Definition
	Printable func(string) string // shows what a text hides: controls of terminals, and of the direction of text
}

// Page is a report.
type Page struct {
	Title   string
	Summary string
	When    string // as RFC 3339, or ""
	SQLNote string // what the SQL of the figures runs on
	Alarm   string
	Badge   string
	// Sentences say what matters.
	Sentences []Sentence
	Sections  []Section
	// Drawn is what the script of the page draws, as compressed JSON, or nil.
	Drawn []byte
	data  data
}

// Section is the figures about one thing.
type Section struct {
	Title   string
	Figures []Figure
}

// Figure is a table, or a picture that the script draws.
type Figure struct {
	Title, Note string
	SQL         string // gives the numbers, in PerfettoSQL
	Table       *Table
	Folded      bool // until one clicks on it
	Timeline    bool
	Trees       []int // flame graphs, by their index in the data
	Plot        *Plot
}

// Table is rows, the first of Total.
type Table struct {
	Columns []Column
	Rows    []Row
	Total   int
}

// Left is the number of rows that are not shown.
func (t *Table) Left() int { return t.Total - len(t.Rows) }

// Column is a column of a table.
type Column struct {
	Name   string
	Number bool
}

// Long reports whether the name has several lines.
func (c Column) Long() bool { return len(c.Name) > 24 }

// Row is a row of a table. Where it has a time, the overview can show it.
type Row struct {
	Cells   []Cell
	TS, Dur *int64 // since the trace began
}

// Cell is a value.
type Cell struct {
	Text  string
	Whole string  // the text, if only its start and its end are shown
	Link  string  // of the text, or ""
	Sort  string  // a number, for columns of numbers
	Share float64 // of the greatest value of the column, in percent; 0 for no bar
	Parts []Part  // of a bar
	Diff  *Part   // a bar from the middle
	Sides []Side  // values before and after
	Curve string  // points of a line, 128 wide and 16 high
}

// Short reports whether the text stays on one line.
func (c Cell) Short() bool { return utf8.RuneCountInString(c.Text) <= 20 }

// Part is a part of a bar, in percent.
type Part struct {
	Name, Class string
	From, Share float64
}

// data is what the script draws.
type data struct {
	Dur     int64             `json:"dur"`   // of the trace, ns
	Width   int64             `json:"width"` // of a bucket, ns
	Buckets int               `json:"buckets"`
	Lanes   []lane            `json:"lanes"`
	Names   []string          `json:"names"`  // of functions
	Places  map[string]string `json:"places"` // where functions are in the source
	Trees   []tree            `json:"trees"`
	graphs  []graph
}

// lostTitle is the title of the section with losses.
const lostTitle = "Lost and not read"

// AlarmLink leads to what is lost.
func (p *Page) AlarmLink() string {
	if at := slices.IndexFunc(p.Sections, func(section Section) bool { return section.Title == lostTitle }); at >= 0 {
		return fmt.Sprintf("#s%d", at)
	}
	return ""
}

// maxText is the length of texts, in characters.
const maxText = 300

// maker makes a report.
type maker struct {
	Options
	s      *session.Session
	page   *Page
	start  int64             // of the trace
	shown  *stacks.Profile   // the first one, or nil
	places map[string]string // of functions in the source
}

// Make makes the report of a trace. The session runs PerfettoSQL.
func Make(ctx context.Context, s *session.Session, o Options) (*Page, error) {
	m := &maker{Options: o, s: s, page: &Page{Title: o.Printable(o.Name), Alarm: o.Printable(o.Alarm), Badge: o.Printable(o.Badge), SQLNote: "For tpconvert query --perfetto.", data: data{Buckets: buckets}}}
	err := m.each(ctx, "SELECT start_ts, end_ts FROM trace_bounds", func(v []any) {
		end, _ := v[1].(int64)
		m.start, _ = v[0].(int64)
		m.page.data.Dur = end - m.start
		m.page.data.Width = m.page.data.Dur/buckets + 1
	})
	if err != nil {
		return nil, err
	}
	for _, part := range []struct {
		title   string
		figures func(context.Context) ([]Figure, error)
	}{
		{"Requests", m.requests}, {"Alerts", m.alerts}, {"Overview", m.overview}, {"GPU", m.specs("gpu")}, {"CPU", m.cpu},
		{"Frames and starts", m.specs("frames", "startup")}, {"Profile", m.profile}, {"Slices", m.slices}, {"Waiting", m.specs("binder", "io", "gc")},
		{"Memory and counters", m.memory}, {"Recorded", m.facts}, {lostTitle, m.lost},
	} {
		figures, err := part.figures(ctx)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", strings.ToLower(part.title), err)
		}
		figures = slices.DeleteFunc(figures, func(f Figure) bool { return f.Table != nil && len(f.Table.Rows) == 0 })
		for _, f := range figures {
			f.Table.dropEmpty()
		}
		if len(figures) > 0 {
			m.page.Sections = append(m.page.Sections, Section{part.title, figures})
		}
	}
	if m.page.Sentences, err = m.glance(ctx, glanceYAML); err != nil {
		return nil, fmt.Errorf("at a glance: %w", err)
	}
	m.page.link()
	m.page.Drawn, err = m.encode()
	return m.page, err
}

// each calls row with the values of each row of the last statement.
func (m *maker) each(ctx context.Context, sql string, row func([]any)) error {
	return m.s.Each(ctx, sql, func(q *session.Query) error {
		return q.Each(ctx, func(v []any) error { row(v); return nil })
	})
}

// text returns a value of SQL as a text to show.
func (m *maker) text(v any) string {
	s := ""
	if v != nil {
		s = fmt.Sprint(v)
	}
	return m.Printable(terminal.Elided(s, maxText))
}

// query is a figure that is a table.
type query struct {
	title, note, sql string
	units            map[string]string // of columns; by default what their names say
	bar              string            // column with bars
	also             string            // rows with the greatest values in this column are shown, too
	limit            int
	asIs             bool // columns keep their order
}

// unit returns the unit of a column.
func (q *query) unit(column string) string {
	switch unit, ok := q.units[column]; {
	case ok:
		return unit
	case column == "dur" || strings.HasSuffix(column, "_dur"):
		return "ns"
	case column == "bytes" || strings.HasSuffix(column, "_bytes"):
		return "bytes"
	case column == "ts":
		return "ts"
	case slices.Contains([]string{"pid", "cpu", "device", "stream", "upid"}, column):
		return "id"
	}
	return ""
}

// hidden is the unit of columns that are not shown.
const hidden = "hidden"

// first returns the first rows of a query, then those with the greatest values in the column also, and how many rows there are.
func (m *maker) first(ctx context.Context, q query) (names []string, rows [][]any, total int, err error) {
	limit := cmp.Or(q.limit, 20)
	var others [][]any
	also := -1
	greater := func(a, b []any) int { return cmp.Compare(session.Float(b[also]), session.Float(a[also])) }
	err = m.s.Each(ctx, q.sql, func(found *session.Query) error {
		for _, c := range found.Columns {
			names = append(names, c.Name)
		}
		also = slices.Index(names, q.also)
		return found.Each(ctx, func(v []any) error {
			total++
			switch {
			case len(rows) < limit:
				rows = append(rows, slices.Clone(v))
			case also >= 0 && (len(others) < limit || greater(v, others[limit-1]) < 0):
				others = append(others, slices.Clone(v))
				slices.SortStableFunc(others, greater)
				others = others[:min(len(others), limit)]
			}
			return nil
		})
	})
	if len(others) > 0 { // some of the first rows may be among the greatest
		all := slices.Concat(rows, others)
		slices.SortStableFunc(all, greater)
		rows = append(rows, slices.DeleteFunc(others, func(v []any) bool { return greater(v, all[limit-1]) > 0 })...)
	}
	return names, rows, total, err
}

// table runs a query.
func (m *maker) table(ctx context.Context, q query) (Figure, error) {
	names, rows, total, err := m.first(ctx, q)
	if err != nil {
		return Figure{}, err
	}
	t := &Table{Rows: make([]Row, len(rows)), Total: total}
	for i, name := range names {
		unit := q.unit(name)
		if unit == hidden {
			continue
		}
		column := Column{Name: strings.ReplaceAll(name, "_", " ")}
		greatest := 0.0
		for _, v := range rows {
			if n := session.Float(v[i]); n > greatest {
				greatest = n
			}
		}
		for r, v := range rows {
			c := m.cell(v[i], unit)
			if unit == "ns" && instant(q, names, v) { // takes no time
				c.Text = ""
			}
			column.Number = column.Number || c.Sort != ""
			if share := 100 * session.Float(v[i]) / greatest; name == q.bar && share > 0 {
				c.Share = share
			}
			row := &t.Rows[r]
			row.Cells = append(row.Cells, c)
			if n, ok := v[i].(int64); ok {
				switch name {
				case "ts":
					n -= m.start
					row.TS = &n
				case "dur":
					row.Dur = &n
				}
			}
		}
		t.Columns = append(t.Columns, column)
	}
	if !q.asIs {
		t.numbersFirst()
	}
	return Figure{Title: q.title, Note: q.note, SQL: strings.TrimSpace(q.sql), Table: t}, nil
}

// numbersFirst puts the columns of texts, which differ in length, behind those of numbers.
func (t *Table) numbersFirst() {
	var order []int
	for _, number := range []bool{true, false} {
		for i, c := range t.Columns {
			if c.Number == number {
				order = append(order, i)
			}
		}
	}
	t.Columns = ordered(t.Columns, order)
	for i := range t.Rows {
		t.Rows[i].Cells = ordered(t.Rows[i].Cells, order)
	}
}

// ordered returns the elements at the places in order.
func ordered[T any](all []T, order []int) []T {
	to := make([]T, len(order))
	for i, from := range order {
		to[i] = all[from]
	}
	return to
}

// instant reports whether all durations of a row are 0.
func instant(q query, names []string, values []any) bool {
	found := false
	for i, name := range names {
		if q.unit(name) == "ns" {
			if session.Float(values[i]) != 0 {
				return false
			}
			found = true
		}
	}
	return found
}

// shows reports whether the cell is not empty.
func (c *Cell) shows() bool { return c.Text != "" || c.Parts != nil || c.Curve != "" || c.Sides != nil }

// dropEmpty drops columns without values.
func (t *Table) dropEmpty() {
	if t == nil {
		return
	}
	for i := len(t.Columns) - 1; i >= 0; i-- {
		if !slices.ContainsFunc(t.Rows, func(r Row) bool { return r.Cells[i].shows() }) {
			t.Columns = slices.Delete(t.Columns, i, i+1)
			for r := range t.Rows {
				t.Rows[r].Cells = slices.Delete(t.Rows[r].Cells, i, i+1)
			}
		}
	}
}

// cell formats a value.
func (m *maker) cell(v any, unit string) Cell {
	n := session.Float(v)
	if math.IsNaN(n) {
		return elided(m.text(v))
	}
	c := Cell{Sort: fmt.Sprint(v)}
	i, isInteger := v.(int64)
	switch {
	case unit == "ts":
		c.Text = human.Quantity(float64(i-m.start), "ns")
	case unit == "id":
		c.Text = c.Sort
	case unit == "ns" || unit == "bytes":
		c.Text = human.Quantity(n, unit)
	case isInteger:
		c.Text = human.Count(i)
	case n == math.Trunc(n) && math.Abs(n) < 1<<53:
		c.Text = human.Count(int64(n))
	default:
		c.Text = human.Quantity(n, unit)
	}
	return c
}

// maxName is the length of names, in characters.
const maxName = 80

// elided is a text whose middle is left out if it is long.
func elided(text string) Cell {
	c := Cell{Text: terminal.Elided(text, maxName)}
	if c.Text != text {
		c.Whole = text
	}
	return c
}

// tables runs queries.
func (m *maker) tables(ctx context.Context, all ...query) (figures []Figure, err error) {
	for _, q := range all {
		f, err := m.table(ctx, q)
		if err != nil {
			return nil, err
		}
		figures = append(figures, f)
	}
	return figures, nil
}
