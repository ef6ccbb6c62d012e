// Package plan divides traces into tasks.
package plan

import (
	"cmp"
	"slices"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/lake"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
)

// Options are the limits of tasks.
type Options struct {
	Bytes    int64 // of traces in a task; a larger trace has a task of its own
	Traces   int   // in a task
	RetryBad bool  // also plan traces that could not be read before
	Large    bool  // also plan traces that took more than a worker may use

	KeepVersions bool // leave the rows of older versions of the objects in the tables
}

// Left returns the traces that are not in the ledger, each once and in order, and the number of those that are.
func Left(traces []task.Trace, ledger *lake.Ledger, o Options) (left []task.Trace, known int) {
	slices.SortFunc(traces, func(a, b task.Trace) int { return cmp.Compare(a.URL, b.URL) })
	for i, t := range traces {
		if i > 0 && t.URL == traces[i-1].URL {
			continue
		}
		if k := ledger.Object(t); k.Done || k.Bad != "" && !o.RetryBad || k.Large && !o.Large {
			known++
			continue
		}
		left = append(left, t)
	}
	return left, known
}

// Again divides traces that were tried before into tasks that replace their rows. Traces whose rows are from the same task
// stay together, so that files can go as a whole.
func Again(tried []lake.Tried, layout string, stores []string, o Options) []task.Task {
	slices.SortFunc(tried, func(a, b lake.Tried) int { return cmp.Or(cmp.Compare(a.Task, b.Task), cmp.Compare(a.URL, b.URL)) })
	var bad, good []task.Trace
	before, labels := map[task.Trace]lake.Tried{}, map[string]task.Labels{}
	for _, t := range tried {
		labels[t.URL] = t.Labels
		if t.ID == "" {
			bad = append(bad, t.Trace)
		} else {
			good = append(good, t.Trace)
			before[t.Trace] = t
		}
	}
	tasks := Tasks(good, layout, stores, o)
	for i := range tasks {
		t := &tasks[i]
		t.Replaces = map[string]string{}
		for _, trace := range t.Traces {
			t.Replaces[before[trace].ID] = before[trace].Task
		}
		t.ID = task.ID(t.Traces, t.Replaces)
	}
	all := append(tasks, Tasks(bad, layout, stores, o)...)
	for i := range all {
		all[i].Label(func(t task.Trace) task.Labels { return labels[t.URL] })
	}
	return all
}

// Tasks divides traces into tasks.
func Tasks(traces []task.Trace, layout string, stores []string, o Options) (tasks []task.Task) {
	first, size := 0, int64(0)
	end := func(i int) {
		if i > first {
			tasks = append(tasks, task.Task{ID: task.ID(traces[first:i], nil), Layout: layout, Stores: stores, Traces: traces[first:i], KeepVersions: o.KeepVersions})
		}
		first, size = i, 0
	}
	for i, t := range traces {
		if size+t.Bytes > o.Bytes || i-first >= o.Traces {
			end(i)
		}
		size += t.Bytes
	}
	end(len(traces))
	return tasks
}
