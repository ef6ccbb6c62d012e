package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/internal/human"
	"github.com/tpconvert/tpconvert/sqlfuncs/analysis/stacks"
	"github.com/tpconvert/tpconvert/sqlfuncs/derive"
	"github.com/tpconvert/tpconvert/sqlfuncs/functions/profiles"
	"github.com/tpconvert/tpconvert/sqlfuncs/metrics"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

func (m *maker) lost(ctx context.Context) ([]Figure, error) {
	figures, err := m.tables(ctx, query{sql: lossesOf("'lost', 'damaged'")}, query{title: "Not read, and notes", sql: lossesOf("'not_read', 'notice'"), limit: 100})
	if err == nil {
		figures[1].Folded = true
	}
	return figures, err
}

// facts turns the only row, with what is known of the trace, on its side.
func (m *maker) facts(ctx context.Context) ([]Figure, error) {
	f, err := m.table(ctx, query{sql: facts, asIs: true, units: map[string]string{"start_ts": "id", "end_ts": "id", "android_sdk_version": "id"}})
	if err != nil || len(f.Table.Rows) == 0 {
		return nil, err
	}
	known := func(name string) string {
		i := slices.IndexFunc(f.Table.Columns, func(c Column) bool { return c.Name == name })
		return cmp.Or(f.Table.Rows[0].Cells[i].Whole, f.Table.Rows[0].Cells[i].Text)
	}
	m.page.Title = cmp.Or(known("name"), m.page.Title)
	dur := known("recorded dur")
	if m.page.data.Dur > 1 { // a profile may have no times, and a dump only one
		dur = human.Quantity(float64(m.page.data.Dur), "ns")
	}
	summary := []string{known("program"), known("runtime"), known("device"), known("gpus"), dur, cmp.Or(m.Format, known("format")), known("bytes"), known("machine name"), known("system")}
	m.page.Summary = strings.Join(slices.DeleteFunc(summary, func(text string) bool { return text == "" }), ", ")
	if recorded, ok := strings.CutSuffix(known("recorded"), " UTC"); ok {
		m.page.When = strings.Replace(recorded, " ", "T", 1) + "Z"
	}
	t := &Table{Columns: []Column{{Name: "fact"}, {Name: "value"}}}
	for i, c := range f.Table.Columns {
		cell := f.Table.Rows[0].Cells[i]
		if cell.Text == "" {
			continue
		}
		cell.Sort = ""
		if cell.Whole != "" {
			cell.Text = cell.Whole
		}
		t.Rows = append(t.Rows, Row{Cells: []Cell{{Text: c.Name}, cell}})
	}
	t.Total = len(t.Rows)
	f.Table = t
	return []Figure{f}, nil
}

// lostAlert is the alert of what the last section shows.
const lostAlert = "lost_data"

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
	found = slices.DeleteFunc(found, func(a derive.Alert) bool { return a.Name == lostAlert })
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
			sql := b.SQL
			if order, ok := orders[b.ID]; ok {
				sql = "SELECT * FROM (" + sql + ") ORDER BY " + order
			}
			q := query{title: titles[b.ID], sql: strings.Join(append(b.Setup, sql), ";\n"), units: map[string]string{"upid": hidden}}
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
	"memory": "Memory of processes", "frames": "Frames by jank type: None was on time", "startup": "Starts of apps", "binder": "Binder calls",
	"io": "Uninterruptible sleep", "gc": "Garbage collections", "gpu_kernels": "Kernels and copies", "gpu_devices": "Devices", "gpu_streams": "Streams",
	"gpu_copies": "Copies", "gpu_launches": "Delays of launches", "gpu_collectives": "Communication", "gpu_steps": "Steps", "gpu_critical_path": "What steps took their time for",
	"gpu_critical_work": "Work and calls on the critical paths of steps", "gpu_memory": "Memory of PyTorch's allocator",
	"gpu_memory_timeline": "Memory of PyTorch's allocator over time, in twentieths of the trace", "profile": "Functions by the value of their own",
}

// orders are other orders than those of the specs. Address spaces are larger than the memory in use, but say little.
var orders = map[string]string{"memory": "counter_name GLOB 'mem.rss*' DESC, max_bytes DESC, process_name, pid, counter_name"}

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
	byProcess := query{title: "CPU time by process", sql: cpuByProcess, bar: "running_dur"}
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
	err := m.each(ctx, states, func(v []any) {
		if id, _ := v[4].(int64); id != last || len(t.Rows) == 0 {
			last = id
			t.Rows = append(t.Rows, Row{Cells: []Cell{{Text: m.text(v[0])}, {Text: m.text(v[1])}, {}, {}}})
		}
		row := &t.Rows[len(t.Rows)-1]
		state, dur := m.text(v[2]), session.Float(v[3])
		row.Cells[2].Parts = append(row.Cells[2].Parts, Part{Name: state + ": " + human.Quantity(dur, "ns"), Class: class(state), Share: dur})
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
			p.From, p.Share = from, 100*p.Share/max(float64(m.page.data.Dur), 1)
			from += p.Share
		}
		t.Rows[i].Cells[3] = m.cell(active, "ns")
	}
	t.Total = len(t.Rows)
	return Figure{Title: "States of threads", Note: "Green runs, yellow waits for a CPU, red for a disk or the kernel, grey sleeps; violet is another state. A whole bar is the time of the trace.", SQL: strings.TrimSpace(states), Table: t}, err
}

// slices shows slices. Where their time is added up, those that did not end last until the end of the trace.
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
	err = m.each(ctx, unfinished, func(v []any) {
		if n, _ := v[0].(int64); n > 0 {
			note := fmt.Sprintf("Without %s slices that did not end.", human.Count(n))
			figures[0].Note, figures[1].Note = note, note
		}
	})
	if err != nil {
		return nil, err
	}
	spans, err := stacks.Spans(ctx, m.s)
	if err != nil {
		return nil, err
	}
	if spans != nil && spans.Total > 0 {
		f := Figure{Title: "Spans by what calls them", Note: "The time in which a span has no child, in any service. Children may run at the same time.",
			SQL: strings.TrimSpace(stacks.SpansByParent), Trees: []int{m.draw(spans, nil)}}
		figures = append([]Figure{f}, figures...)
	}
	all, err := stacks.Slices(ctx, m.s)
	if err != nil {
		return nil, err
	}
	threadCharts, gpuCharts, err := stacks.SliceCharts(ctx, m.s)
	if err != nil {
		return nil, err
	}
	f := Figure{Title: "Slices by what is around them", SQL: strings.TrimSpace(stacks.SlicesByStack)}
	for _, p := range all {
		charts := threadCharts
		if p.Kind == stacks.KindGPUSlices {
			charts = gpuCharts
		}
		if p.Total > 0 {
			f.Trees = append(f.Trees, m.draw(p, charts))
		}
	}
	if len(f.Trees) > 0 {
		figures = append([]Figure{f}, figures...)
	}
	return figures, nil
}

// draw adds a profile to what the script draws, and returns its place.
func (m *maker) draw(p *stacks.Profile, charts []*stacks.Chart) int {
	m.page.data.graphs = append(m.page.data.graphs, graph{p, charts})
	return len(m.page.data.graphs) - 1
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
		bucket, least, greatest := session.Float(v[4]), session.Float(v[5]), session.Float(v[6])
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

// profile shows profiles, the default measure of each first.
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
	found := len(all)
	all = slices.DeleteFunc(all, func(p *stacks.Profile) bool { return p.Total <= 0 })
	if len(all) > 0 {
		m.shown = all[0]
	}
	flame := Figure{SQL: strings.TrimSpace(stacks.Values)}
	var figures []Figure
	for i, p := range all[:min(len(all), maxTrees)] {
		var charts []*stacks.Chart
		if p.Kind == profiles.KindSamples {
			if charts, err = stacks.SampleCharts(ctx, m.s, p); err != nil {
				return nil, err
			}
		}
		flame.Trees = append(flame.Trees, m.draw(p, charts))
		functions := Figure{Title: "Functions of " + m.text(p.Scope) + ": " + m.text(p.Metric), SQL: q.sql, Table: m.functions(p), Folded: i > 0}
		if p.Dropped {
			functions.Note = droppedNote
			flame.Note = droppedNote + " "
		}
		figures = append(figures, functions)
	}
	if more := found - len(flame.Trees); more > 0 {
		flame.Note += fmt.Sprintf("%d more profiles are left out.", more)
	}
	if len(all) > 0 {
		figures = append([]Figure{flame}, figures...)
		if err := m.readPlaces(ctx); err != nil {
			return nil, err
		}
	}
	heap, err := m.table(ctx, query{title: "Classes of objects on the heap", sql: heapClasses, bar: "retained_bytes",
		note: "What objects keep alive is what could not be reached without them, with their own. It counts once where an object keeps another of its class."})
	return append(figures, heap), err
}

const droppedNote = "Functions that match drop_frames of the file are left out, with what they call. The SQL has them, too."

// readPlaces reads where functions are in the source: the file, and the lines that were seen.
func (m *maker) readPlaces(ctx context.Context) error {
	m.places = map[string]string{}
	return m.each(ctx, places, func(v []any) {
		place := m.text(v[1])
		if first, _ := v[2].(int64); first > 0 {
			place += fmt.Sprintf(":%d", first)
			if last, _ := v[3].(int64); last > first {
				place += fmt.Sprintf("–%d", last)
			}
		}
		if others, _ := v[4].(int64); others > 0 {
			place += fmt.Sprintf(" and %d other files", others)
		}
		m.places[m.text(v[0])] = place
	})
}

// functions are the functions of a profile with the greatest values of their own.
func (m *maker) functions(p *stacks.Profile) *Table {
	all := p.Functions()
	t := &Table{Columns: []Column{{"self", true}, {"self %", true}, {"total", true}, {"total %", true}, {Name: "function"}, {Name: "process"}}, Total: len(all)}
	for _, f := range all[:min(len(all), 20)] {
		t.Rows = append(t.Rows, Row{Cells: []Cell{m.cell(f.Self, unitOf(p)), percent(f.Self, p.Total), m.cell(f.Total, unitOf(p)), percent(f.Total, p.Total),
			elided(m.text(f.Name)), elided(m.text(f.Process))}})
	}
	return t
}

func percent(v, whole float64) Cell {
	share := 100 * v / whole
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
