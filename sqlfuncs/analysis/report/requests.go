package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/internal/human"
)

// isError says whether a span failed: by OpenTelemetry's status, or by the tag error of Jaeger and Zipkin.
const isError = `(coalesce(extract_arg(s.arg_set_id, 'status.code') = 'STATUS_CODE_ERROR', 0)
    OR coalesce(extract_arg(s.arg_set_id, 'attributes.error') NOT IN (0, 'false'), 0))`

// requests are the spans without a parent in the trace, by name. The quantiles are of those that ended.
const requests = `
WITH request AS MATERIALIZED (
  SELECT upid, name, iif(is_unfinished, NULL, ts_end - ts) AS dur, ` + isError + ` AS failed FROM _span AS s WHERE parent_id IS NULL
)
SELECT count(*) AS count, sum(failed) AS errors, percentile(dur, 50) AS p50_dur, percentile(dur, 95) AS p95_dur, percentile(dur, 99) AS p99_dur,
  max(dur) AS max_dur, sum(dur) AS total_dur, request.name AS request, p.name AS service
FROM request LEFT JOIN process AS p USING (upid)
GROUP BY p.name, request.name
ORDER BY total_dur DESC, service, request`

// edges are the calls of a service by another.
const edges = `
WITH span AS MATERIALIZED (SELECT id, upid, parent_id, iif(is_unfinished, NULL, ts_end - ts) AS dur, ` + isError + ` AS failed FROM _span AS s)
SELECT count(*) AS calls, sum(c.failed) AS errors, percentile(c.dur, 50) AS p50_dur, percentile(c.dur, 95) AS p95_dur, sum(c.dur) AS total_dur,
  a.name AS caller, b.name AS callee
FROM span AS c JOIN span AS p ON p.id = c.parent_id
LEFT JOIN process AS a ON a.upid = p.upid LEFT JOIN process AS b ON b.upid = c.upid
WHERE p.upid <> c.upid
GROUP BY a.name, b.name
ORDER BY calls DESC, caller, callee`

// spanTimes are the spans by time.
const spanTimes = `
SELECT s.id, ifnull(s.parent_id, -1) AS parent_id, s.name, p.name AS service, s.ts, s.ts_end, s.is_unfinished, ` + isError + ` AS failed
FROM _span AS s LEFT JOIN process AS p USING (upid)
ORDER BY s.ts, s.id`

const (
	maxWaterfalls = 3
	maxWaterfall  = 40 // spans of one
)

// call is a span of a request.
type call struct {
	id, parent, ts, end int64
	name, service       string
	open, failed        bool
}

// requests shows the spans of distributed traces: requests by name, the calls between services, and the slowest requests.
func (m *maker) requests(ctx context.Context) ([]Figure, error) {
	figures, err := m.tables(ctx, query{title: "Requests by name, those that take most time first", sql: requests, bar: "total_dur"},
		query{title: "Calls between services", sql: edges, bar: "calls"})
	if err != nil || len(figures[0].Table.Rows) == 0 {
		return figures, err
	}
	figures[0].Note, err = m.requestsNote(ctx)
	if err != nil {
		return nil, err
	}
	var all []*call
	err = m.each(ctx, spanTimes, func(v []any) {
		c := &call{name: m.text(v[2]), service: m.text(v[3])}
		c.id, _ = v[0].(int64)
		c.parent, _ = v[1].(int64)
		c.ts, _ = v[4].(int64)
		c.end, _ = v[5].(int64)
		open, _ := v[6].(int64)
		failed, _ := v[7].(int64)
		c.open, c.failed = open != 0, failed != 0
		all = append(all, c)
	})
	if err != nil {
		return nil, err
	}
	return append(figures, m.waterfalls(all)...), nil
}

// requestsNote says what the quantiles leave out, and which requests are parts of others.
func (m *maker) requestsNote(ctx context.Context) (string, error) {
	var notes []string
	err := m.each(ctx, `SELECT (SELECT count(*) FROM _span WHERE parent_id IS NULL AND is_unfinished),
		(SELECT ifnull(sum(value), 0) FROM stats WHERE name = 'span_reference_missing')`, func(v []any) {
		if n, _ := v[0].(int64); n > 0 {
			notes = append(notes, fmt.Sprintf("%s requests did not end: they are counted, and have no duration.", human.Count(n)))
		}
		if n, _ := v[1].(int64); n > 0 {
			notes = append(notes, fmt.Sprintf("%s parents and links are missing from the trace: spans whose parent is missing count as requests.", human.Count(n)))
		}
	})
	return strings.Join(notes, " "), err
}

// waterfalls shows the slowest requests.
func (m *maker) waterfalls(all []*call) (figures []Figure) {
	byID := map[int64]*call{}
	for _, c := range all {
		byID[c.id] = c
	}
	below := map[int64][]*call{}
	var roots []*call
	for _, c := range all {
		switch {
		case byID[c.parent] != nil:
			below[c.parent] = append(below[c.parent], c)
		case !c.open:
			roots = append(roots, c)
		}
	}
	slices.SortStableFunc(roots, func(a, b *call) int { return cmp.Compare(b.end-b.ts, a.end-a.ts) })
	for i, root := range roots[:min(len(roots), maxWaterfalls)] {
		figures = append(figures, Figure{Title: fmt.Sprintf("Slowest requests, %d: %s, %s", i+1, root.name, human.Quantity(float64(root.end-root.ts), "ns")),
			Note: "A whole bar is the time of the request.", SQL: strings.TrimSpace(spanTimes), Table: m.waterfall(root, below), Folded: i > 0})
	}
	return figures
}

// waterfall has the calls of a request in the order of a tree, the longest ones.
func (m *maker) waterfall(root *call, below map[int64][]*call) *Table {
	type line struct {
		*call
		depth int
	}
	var lines []line
	todo := []line{{root, 0}}
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		lines = append(lines, at)
		for _, c := range slices.Backward(below[at.id]) {
			todo = append(todo, line{c, at.depth + 1})
		}
	}
	t := &Table{Columns: []Column{{"dur", true}, {"since begin", true}, {Name: "when"}, {Name: "span"}, {Name: "service"}, {Name: "error"}}, Total: len(lines)}
	durations := make([]int64, len(lines))
	for i, l := range lines {
		durations[i] = l.end - l.ts
	}
	slices.SortFunc(durations, func(a, b int64) int { return cmp.Compare(b, a) })
	least := durations[min(len(durations), maxWaterfall)-1]
	whole := float64(max(root.end-root.ts, 1))
	share := func(ts int64) float64 { return max(0, min(100, 100*float64(ts-root.ts)/whole)) }
	for _, l := range lines {
		if l.end-l.ts < least || len(t.Rows) == maxWaterfall {
			continue
		}
		part := Part{Name: l.name + ": " + human.Quantity(float64(l.end-l.ts), "ns"), Class: "running", From: share(l.ts), Share: share(l.end) - share(l.ts)}
		dur, failed := m.cell(l.end-l.ts, "ns"), ""
		if l.failed {
			part.Class, failed = "blocked", "error"
		}
		if l.open {
			dur = Cell{Text: "did not end"}
		}
		ts, length := l.ts-m.start, l.end-l.ts
		t.Rows = append(t.Rows, Row{TS: &ts, Dur: &length, Cells: []Cell{dur, m.cell(l.ts-root.ts, "ns"), {Parts: []Part{part}},
			{Text: strings.Repeat("\u2003", min(l.depth, 20)) + l.name}, {Text: l.service}, {Text: failed}}})
	}
	return t
}
