package report

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/internal/human"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// lane is a line of the overview.
type lane struct {
	Group   string `json:"group"`
	Name    string `json:"name"`
	Process string `json:"process,omitempty"`
	Sum     string `json:"sum"`
	Busy    []byte `json:"busy"` // of each bucket, 255 for all of it
	rank    int64  // of the trace in a job
}

// overview reads the lanes. Where it is known when threads ran, their slices are not asked for.
func (m *maker) overview(ctx context.Context) ([]Figure, error) {
	var used []string
	scheduled := false
	for _, kind := range []struct{ group, sql, unit string }{
		{"CPUs", cpus, "ns"}, {"Threads, running", running, "ns"}, {"Threads, in slices", inSlices, "ns"},
		{"GPUs", gpus, "ns"}, {"Threads, samples", samples, "samples"},
	} {
		n := len(m.page.data.Lanes)
		if kind.group == "Threads, in slices" && scheduled {
			continue
		}
		if err := m.lanes(ctx, kind.group, kind.sql, kind.unit); err != nil {
			return nil, err
		}
		if len(m.page.data.Lanes) > n {
			used = append(used, "-- "+kind.group+kind.sql)
			scheduled = scheduled || kind.group == "Threads, running"
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
		l.buckets[bucket] = session.Float(v[4])
		l.at = bucket + 1
		l.runs, _ = v[5].(int64)
	})
	if err != nil {
		return err
	}
	greatest := math.SmallestNonzeroFloat64 // all values may be 0
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
		l.Sum = human.Quantity(l.sum, unit)
		if unit != "ns" {
			l.Sum = human.Count(int64(l.sum)) + " " + unit
		}
		m.page.data.Lanes = append(m.page.data.Lanes, l.lane)
	}
	return nil
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
