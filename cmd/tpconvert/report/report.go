// Package report shows a trace, or the differences between traces, as one page that needs neither a server nor a network.
package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tpconvert/tpconvert/cmd/tpconvert/stacks"
	"github.com/tpconvert/tpconvert/internal/count"
	"github.com/tpconvert/tpconvert/sqlfuncs/derive"
	"github.com/tpconvert/tpconvert/sqlfuncs/metrics"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// Options say what a report needs besides the trace.
type Options struct {
	Name      string // of the input
	Alarm     string // what the reader should know before all else, or ""
	Alerts    []derive.Definition
	Printable func(string) string // shows what a text hides: controls of terminals, and of the direction of text
}

// Page is a report.
type Page struct {
	Title    string
	Summary  string
	Alarm    string
	Sections []Section
	data     data
	json     []byte // of data
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
}

// Table is rows, the first of Total.
type Table struct {
	Columns []Column
	Rows    []Row
	Total   int
}

// Column is a column of a table.
type Column struct {
	Name   string
	Number bool
}

// Row is a row of a table. Where it has a time, the overview can show it.
type Row struct {
	Cells   []Cell
	TS, Dur *int64 // since the trace began
}

// Cell is a value.
type Cell struct {
	Text  string
	Sort  string  // a number, for columns of numbers
	Share float64 // of the greatest value of the column, in percent; 0 for no bar
	Parts []Part  // of a bar
	Curve string  // points of a line, 128 wide and 16 high
}

// Part is a part of a bar, in percent.
type Part struct {
	Name, Class string
	From, Share float64
}

// data is what the script draws.
type data struct {
	Dur      int64    `json:"dur"`   // of the trace, ns
	Width    int64    `json:"width"` // of a bucket, ns
	Buckets  int      `json:"buckets"`
	Lanes    []lane   `json:"lanes"`
	Names    []string `json:"names"` // of functions
	Trees    []tree   `json:"trees"`
	profiles []*stacks.Profile
}

// lane is a line of the overview.
type lane struct {
	Group   string `json:"group"`
	Name    string `json:"name"`
	Process string `json:"process,omitempty"`
	Sum     string `json:"sum"`
	Busy    []byte `json:"busy"` // of each bucket, 255 for all of it
}

// maxText is the length of texts, in characters.
const maxText = 300

// maker makes a report.
type maker struct {
	Options
	s     *session.Session
	page  *Page
	start int64 // of the trace
}

// Make makes the report of a trace. The session runs PerfettoSQL.
func Make(ctx context.Context, s *session.Session, o Options) (*Page, error) {
	m := &maker{Options: o, s: s, page: &Page{Title: o.Printable(o.Name), Alarm: o.Printable(o.Alarm), data: data{Buckets: buckets}}}
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
		{"Lost and not read", m.lost}, {"Recorded", m.facts}, {"Alerts", m.alerts}, {"Overview", m.overview}, {"CPU", m.cpu},
		{"Slices", m.slices}, {"Frames and starts", m.specs("frames", "startup")}, {"Waiting", m.specs("binder", "io", "gc")},
		{"Memory and counters", m.memory}, {"Profile", m.profile}, {"GPU", m.specs("gpu")},
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
	m.page.json, err = m.encode()
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
	if utf8.RuneCountInString(s) > maxText {
		s = string([]rune(s)[:maxText]) + "…"
	}
	return m.Printable(s)
}

// query is a figure that is a table.
type query struct {
	title, sql string
	units      map[string]string // of columns; by default what their names say
	bar        string            // column with bars
	also       string            // rows with the greatest values in this column are shown, too
	limit      int
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
	greater := func(a, b []any) int { return cmp.Compare(number(b[also]), number(a[also])) }
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
			if n := number(v[i]); n > greatest {
				greatest = n
			}
		}
		for r, v := range rows {
			c := m.cell(v[i], unit)
			column.Number = column.Number || c.Sort != ""
			if share := 100 * number(v[i]) / greatest; name == q.bar && share > 0 {
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
	return Figure{Title: q.title, SQL: strings.TrimSpace(q.sql), Table: t}, nil
}

// dropEmpty drops columns without values.
func (t *Table) dropEmpty() {
	if t == nil {
		return
	}
	for i := len(t.Columns) - 1; i >= 0; i-- {
		if !slices.ContainsFunc(t.Rows, func(r Row) bool { return r.Cells[i].Text != "" || r.Cells[i].Parts != nil || r.Cells[i].Curve != "" }) {
			t.Columns = slices.Delete(t.Columns, i, i+1)
			for r := range t.Rows {
				t.Rows[r].Cells = slices.Delete(t.Rows[r].Cells, i, i+1)
			}
		}
	}
}

// number returns a number, or NaN.
func number(v any) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return math.NaN()
}

// cell formats a value.
func (m *maker) cell(v any, unit string) Cell {
	n := number(v)
	if math.IsNaN(n) {
		return Cell{Text: m.text(v)}
	}
	c := Cell{Sort: fmt.Sprint(v)}
	i, isInteger := v.(int64)
	switch {
	case unit == "ts":
		c.Text = count.Quantity(float64(i-m.start), "ns")
	case unit == "id":
		c.Text = c.Sort
	case unit == "ns" || unit == "bytes":
		c.Text = count.Quantity(n, unit)
	case isInteger:
		c.Text = count.String(i)
	case n == math.Trunc(n) && math.Abs(n) < 1<<53:
		c.Text = count.String(int64(n))
	default:
		c.Text = count.Quantity(n, unit)
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

func (m *maker) lost(ctx context.Context) ([]Figure, error) {
	figures, err := m.tables(ctx, query{sql: lossesOf("'lost', 'damaged'")}, query{title: "Not read, and notes", sql: lossesOf("'not_read', 'notice'"), limit: 100})
	if err == nil {
		figures[1].Folded = true
	}
	return figures, err
}

// facts turns the only row, with what is known of the trace, on its side.
func (m *maker) facts(ctx context.Context) ([]Figure, error) {
	f, err := m.table(ctx, query{sql: facts, units: map[string]string{"start_ts": "id", "end_ts": "id", "android_sdk_version": "id"}})
	if err != nil || len(f.Table.Rows) == 0 {
		return nil, err
	}
	known := func(name string) string {
		i := slices.IndexFunc(f.Table.Columns, func(c Column) bool { return c.Name == name })
		return f.Table.Rows[0].Cells[i].Text
	}
	m.page.Title = cmp.Or(known("name"), m.page.Title)
	m.page.Summary = known("format") + ", " + known("bytes") + ", " + count.Quantity(float64(m.page.data.Dur), "ns")
	t := &Table{Columns: []Column{{Name: "fact"}, {Name: "value"}}}
	for i, c := range f.Table.Columns {
		cell := f.Table.Rows[0].Cells[i]
		if cell.Text == "" {
			continue
		}
		cell.Sort = ""
		t.Rows = append(t.Rows, Row{Cells: []Cell{{Text: c.Name}, cell}})
	}
	t.Total = len(t.Rows)
	f.Table = t
	return []Figure{f}, nil
}

func (m *maker) alerts(ctx context.Context) (figures []Figure, err error) {
	e := derive.Evaluator{Open: func(context.Context, bool) (*session.Session, error) {
		s := m.s.Fork()
		if err := s.Begin(); err != nil {
			return nil, errors.Join(err, s.Close())
		}
		return s, nil
	}}
	found, err := e.Alerts(ctx, m.Alerts)
	if err := cmp.Or(err, e.Close()); err != nil {
		return nil, err
	}
	t := &Table{Columns: []Column{{Name: "level"}, {Name: "alert"}, {Name: "text"}, {"ts", true}, {"dur", true}}, Total: len(found)}
	sql := "SELECT level, name, text, ts, dur FROM alert ORDER BY id"
	shown := map[string]bool{}
	for _, a := range found[:min(len(found), 50)] {
		row := Row{Cells: []Cell{{Text: a.Level}, {Text: m.text(a.Name)}, {Text: m.text(a.Text)}, {}, {}}, Dur: a.Dur}
		if a.TS != nil {
			since := *a.TS - m.start
			row.TS = &since
			row.Cells[3] = m.cell(*a.TS, "ts")
		}
		if a.Dur != nil {
			row.Cells[4] = m.cell(*a.Dur, "ns")
		}
		t.Rows = append(t.Rows, row)
		i := slices.IndexFunc(m.Alerts, func(d derive.Definition) bool { return d.Name == a.Name })
		if i >= 0 && !shown[a.Name] {
			sql += ";\n\n-- " + a.Name + "\n" + strings.TrimSuffix(strings.TrimSpace(m.Alerts[i].Query), ";")
			shown[a.Name] = true
		}
	}
	return []Figure{{SQL: sql, Table: t}}, nil
}

// overview reads the lanes. Where it is known when threads ran, their slices are not asked for.
func (m *maker) overview(ctx context.Context) ([]Figure, error) {
	var used []string
	scheduled := false
	for _, of := range []struct{ group, sql, unit string }{
		{"CPUs", cpus, "ns"}, {"Threads, running", running, "ns"}, {"Threads, in slices", inSlices, "ns"},
		{"GPUs", gpus, "ns"}, {"Threads, samples", samples, "samples"},
	} {
		n := len(m.page.data.Lanes)
		if of.group == "Threads, in slices" && scheduled {
			continue
		}
		if err := m.lanes(ctx, of.group, of.sql, of.unit); err != nil {
			return nil, err
		}
		if len(m.page.data.Lanes) > n {
			used = append(used, "-- "+of.group+of.sql)
			scheduled = scheduled || of.group == "Threads, running"
		}
	}
	if len(used) == 0 || m.page.data.Dur <= 0 {
		m.page.data.Lanes = nil
		return nil, nil
	}
	return []Figure{{SQL: strings.Join(used, ";\n\n"), Timeline: true}}, nil
}

// lanes adds the lanes of a query, the busiest first but for CPUs.
func (m *maker) lanes(ctx context.Context, group, sql, unit string) error {
	type line struct {
		lane
		id       int64
		buckets  [buckets]float64
		sum      float64
		at, runs int64 // where the line is complete, and how many spans run on
	}
	width := float64(m.page.data.Width)
	var all []*line
	fill := func(l *line, to int64) {
		for ; l.at < to; l.at++ {
			l.buckets[l.at] = float64(l.runs) * width
		}
	}
	err := m.each(ctx, sql, func(v []any) {
		id, _ := v[0].(int64)
		bucket, _ := v[3].(int64)
		if bucket < 0 || bucket >= buckets {
			return
		}
		if len(all) == 0 || all[len(all)-1].id != id {
			all = append(all, &line{id: id, lane: lane{Group: group, Name: m.text(v[1]), Process: m.text(v[2])}})
		}
		l := all[len(all)-1]
		fill(l, bucket)
		l.buckets[bucket] = number(v[4])
		l.at = bucket + 1
		l.runs, _ = v[5].(int64)
	})
	if err != nil {
		return err
	}
	greatest := 0.0
	for _, l := range all {
		for _, v := range l.buckets {
			l.sum += v
			greatest = max(greatest, v)
		}
	}
	if unit == "ns" {
		greatest = width
	}
	if group != "CPUs" {
		slices.SortStableFunc(all, func(a, b *line) int { return cmp.Compare(b.sum, a.sum) })
	}
	for _, l := range all {
		l.Busy = make([]byte, buckets)
		for i, v := range l.buckets {
			l.Busy[i] = byte(math.Ceil(255 * min(v/greatest, 1)))
		}
		l.Sum = count.Quantity(l.sum, unit)
		if unit != "ns" {
			l.Sum = count.String(int64(l.sum)) + " " + unit
		}
		m.page.data.Lanes = append(m.page.data.Lanes, l.lane)
	}
	return nil
}

// specQueries are the tables of specs of summarize.
func specQueries(names ...string) (all []query, err error) {
	for _, name := range names {
		text, _ := metrics.Spec(name)
		var s metrics.Summarizer
		if err := s.Add(text); err != nil {
			return nil, err
		}
		bundles, err := s.Queries()
		if err != nil {
			return nil, err
		}
		for _, b := range bundles {
			q := query{title: titles[b.ID], sql: strings.Join(append(b.Setup, b.SQL), ";\n"), units: map[string]string{"upid": hidden}}
			for column, unit := range b.Units {
				q.units[column] = map[string]string{"TIME_NANOS": "ns", "BYTES": "bytes"}[unit]
			}
			for _, bar := range []string{"running_dur", "total_dur", "max_bytes", "busy", "count", "self_value"} {
				if _, ok := q.units[bar]; ok {
					q.bar = bar
					break
				}
			}
			all = append(all, q)
		}
	}
	return all, nil
}

// titles are those of the tables of specs.
var titles = map[string]string{
	"slices": "Slices by name, those that take longest and those that come most often", "cpu_by_thread": "CPU time by thread", "cpu_by_core": "CPU time by core",
	"memory": "Memory of processes", "frames": "Frames by what made them late", "startup": "Starts of apps", "binder": "Binder calls",
	"io": "Uninterruptible sleep", "gc": "Garbage collections", "gpu_kernels": "Kernels and copies", "gpu_devices": "Devices", "gpu_streams": "Streams",
	"gpu_copies": "Copies", "profile": "Functions by the value of their own",
}

func (m *maker) specs(names ...string) func(context.Context) ([]Figure, error) {
	return func(ctx context.Context) ([]Figure, error) {
		queries, err := specQueries(names...)
		if err != nil {
			return nil, err
		}
		return m.tables(ctx, queries...)
	}
}

func (m *maker) cpu(ctx context.Context) ([]Figure, error) {
	queries, err := specQueries("cpu")
	if err != nil {
		return nil, err
	}
	last := strings.LastIndex(queries[0].sql, ";\n") + 1
	byProcess := queries[0]
	byProcess.title = "CPU time by process"
	byProcess.sql = queries[0].sql[:last] + "SELECT coalesce(process_name, '[unknown]') AS process_name, sum(running_dur) AS running_dur FROM (\n" + queries[0].sql[last:] +
		"\n) GROUP BY 1 ORDER BY running_dur DESC, 1"
	figures, err := m.tables(ctx, append([]query{byProcess}, queries...)...)
	if err != nil {
		return nil, err
	}
	f, err := m.states(ctx)
	return append(figures, f), err
}

// states shows the states of each thread as a bar.
func (m *maker) states(ctx context.Context) (Figure, error) {
	t := &Table{Columns: []Column{{Name: "thread name"}, {Name: "process name"}, {Name: "states"}, {"active", true}}}
	last := int64(-1)
	var sums []float64
	err := m.each(ctx, states, func(v []any) {
		if id, _ := v[4].(int64); id != last || len(t.Rows) == 0 {
			last = id
			t.Rows = append(t.Rows, Row{Cells: []Cell{{Text: m.text(v[0])}, {Text: m.text(v[1])}, {}, {}}})
			sums = append(sums, 0)
		}
		row := &t.Rows[len(t.Rows)-1]
		state, dur := m.text(v[2]), number(v[3])
		row.Cells[2].Parts = append(row.Cells[2].Parts, Part{Name: state + ": " + count.Quantity(dur, "ns"), Class: class(state), Share: dur})
		sums[len(sums)-1] += dur
	})
	for i := range t.Rows {
		from := 0.0
		parts := t.Rows[i].Cells[2].Parts
		active := 0.0
		slices.SortStableFunc(parts, func(a, b Part) int {
			return cmp.Compare(slices.Index(classes, a.Class), slices.Index(classes, b.Class))
		})
		for j := range parts {
			p := &parts[j]
			if p.Class != "sleeping" {
				active += p.Share
			}
			p.From, p.Share = from, 100*p.Share/sums[i]
			from += p.Share
		}
		t.Rows[i].Cells[3] = m.cell(active, "ns")
	}
	t.Total = len(t.Rows)
	return Figure{Title: "States of threads", Note: "Green runs, yellow waits for a CPU, red for a disk or the kernel, grey sleeps; violet is another state.", SQL: strings.TrimSpace(states), Table: t}, err
}

// classes are the kinds of states, in the order of a bar.
var classes = []string{"running", "runnable", "blocked", "other", "sleeping"}

func class(state string) string {
	switch {
	case state == "Running":
		return "running"
	case strings.HasPrefix(state, "R"):
		return "runnable"
	case strings.HasPrefix(state, "D"):
		return "blocked"
	case state == "S" || state == "I":
		return "sleeping"
	}
	return "other"
}

func (m *maker) slices(ctx context.Context) ([]Figure, error) {
	queries, err := specQueries("slices")
	if err != nil {
		return nil, err
	}
	queries[0].also = "count"
	queries[0].limit = 15
	figures, err := m.tables(ctx, queries[0], query{title: "Longest slices", sql: longest, bar: "dur"},
		query{title: "Threads by the time in their slices", sql: threads, bar: "dur"})
	if err != nil {
		return nil, err
	}
	p, err := stacks.Slices(ctx, m.s)
	if err != nil || p.Total == 0 {
		return figures, err
	}
	f := Figure{Title: "Slices by what is around them", SQL: strings.TrimSpace(stacks.SlicesByStack), Trees: []int{len(m.page.data.profiles)}}
	m.page.data.profiles = append(m.page.data.profiles, p)
	return append([]Figure{f}, figures...), nil
}

func (m *maker) memory(ctx context.Context) ([]Figure, error) {
	figures, err := m.specs("memory")(ctx)
	if err != nil {
		return nil, err
	}
	f, err := m.counters(ctx)
	return append(figures, f), err
}

// counters shows counters as curves. A value holds until the next one.
func (m *maker) counters(ctx context.Context) (Figure, error) {
	type counter struct {
		row             Row
		unit            string
		id              int64
		least, greatest float64
		points          [][2]float64 // bucket, value
	}
	var all []*counter
	err := m.each(ctx, counters, func(v []any) {
		id, _ := v[3].(int64)
		bucket, least, greatest := number(v[4]), number(v[5]), number(v[6])
		if len(all) == 0 || all[len(all)-1].id != id {
			unit, _ := v[2].(string)
			if name, _ := v[0].(string); strings.HasPrefix(name, "mem.") {
				unit = "bytes"
			}
			all = append(all, &counter{row: Row{Cells: []Cell{{Text: m.text(v[0])}, {Text: m.text(v[1])}}}, unit: unit, id: id, least: least, greatest: greatest})
		}
		c := all[len(all)-1]
		c.least, c.greatest = min(c.least, least), max(c.greatest, greatest)
		c.points = append(c.points, [2]float64{bucket, greatest})
	})
	t := &Table{Columns: []Column{{Name: "counter"}, {Name: "of"}, {Name: "over time"}, {"least", true}, {"greatest", true}, {Name: "unit"}}, Total: len(all)}
	for _, c := range all {
		var curve strings.Builder
		height := func(v float64) float64 { return 15.5 - 15*(v-c.least)/(c.greatest-c.least) }
		for i, p := range c.points {
			if i > 0 {
				fmt.Fprintf(&curve, "%.0f,%.1f ", p[0], height(c.points[i-1][1]))
			}
			fmt.Fprintf(&curve, "%.0f,%.1f ", p[0], height(p[1]))
		}
		if n := len(c.points); n > 0 {
			fmt.Fprintf(&curve, "128,%.1f", height(c.points[n-1][1]))
		}
		unit := c.unit
		if unit == "bytes" || unit == "ns" {
			c.unit = ""
		}
		c.row.Cells = append(c.row.Cells, Cell{Curve: curve.String()}, m.cell(c.least, unit), m.cell(c.greatest, unit), Cell{Text: m.text(c.unit)})
		t.Rows = append(t.Rows, c.row)
	}
	return Figure{Title: "Counters over time: memory, and others with the most values", SQL: strings.TrimSpace(counters), Table: t}, err
}

// profile shows profiles, those of time and of memory in use first.
func (m *maker) profile(ctx context.Context) ([]Figure, error) {
	all, err := stacks.Read(ctx, m.s)
	if err != nil {
		return nil, err
	}
	queries, err := specQueries("profile")
	if err != nil {
		return nil, err
	}
	q := queries[0]
	rank := func(p *stacks.Profile) int {
		return slices.Index([]bool{p.Unit == "nanoseconds", p.Metric == "inuse_space", true}, true)
	}
	slices.SortStableFunc(all, func(a, b *stacks.Profile) int { return cmp.Compare(rank(a), rank(b)) })
	found := len(all)
	all = slices.DeleteFunc(all, func(p *stacks.Profile) bool { return p.Total <= 0 })
	flame := Figure{SQL: strings.TrimSpace(stacks.Values)}
	var figures []Figure
	for i, p := range all[:min(len(all), maxTrees)] {
		flame.Trees = append(flame.Trees, len(m.page.data.profiles))
		m.page.data.profiles = append(m.page.data.profiles, p)
		figures = append(figures, Figure{Title: "Functions of " + m.text(p.Scope) + ": " + m.text(p.Metric), SQL: q.sql, Table: m.functions(p), Folded: i > 0})
	}
	if more := found - len(flame.Trees); more > 0 {
		flame.Note = fmt.Sprintf("%d more profiles are left out.", more)
	}
	if len(all) > 0 {
		figures = append([]Figure{flame}, figures...)
	}
	last := strings.LastIndex(q.sql, ";\n") + 1
	q.sql = q.sql[:last] + "SELECT process_name, function AS class, self_value AS bytes FROM (\n" + q.sql[last:] +
		"\n) WHERE profile = 'heap_graph' AND metric = 'inuse_space' ORDER BY bytes DESC, class"
	q.title, q.bar = "Classes of objects on the heap", "bytes"
	heap, err := m.table(ctx, q)
	return append(figures, heap), err
}

// functions are the functions of a profile with the greatest values of their own.
func (m *maker) functions(p *stacks.Profile) *Table {
	all := p.Functions()
	t := &Table{Columns: []Column{{"self", true}, {"self %", true}, {"total", true}, {"total %", true}, {Name: "function"}, {Name: "process"}}, Total: len(all)}
	for _, f := range all[:min(len(all), 20)] {
		t.Rows = append(t.Rows, Row{Cells: []Cell{m.cell(f.Self, unitOf(p)), percent(f.Self, p.Total), m.cell(f.Total, unitOf(p)), percent(f.Total, p.Total),
			{Text: m.text(f.Name)}, {Text: m.text(f.Process)}}})
	}
	return t
}

func percent(v, of float64) Cell {
	share := 100 * v / of
	return Cell{Text: fmt.Sprintf("%.1f", share), Sort: fmt.Sprint(share), Share: max(share, 0)}
}

// unitOf returns the unit of a profile's values.
func unitOf(p *stacks.Profile) string {
	switch p.Unit {
	case "nanoseconds":
		return "ns"
	case "count":
		return ""
	}
	return p.Unit
}
