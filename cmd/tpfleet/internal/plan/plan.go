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
}

// Left returns the traces that are not in the ledger, each once and in order, and the number of those that are.
func Left(traces []task.Trace, ledger *lake.Ledger, o Options) (left []task.Trace, known int) {
	slices.SortFunc(traces, func(a, b task.Trace) int { return cmp.Compare(a.URL, b.URL) })
	for i, t := range traces {
		if i > 0 && t.URL == traces[i-1].URL {
			continue
		}
		if k := ledger.Object(t); k.Done || k.Bad != "" && !o.RetryBad {
			known++
			continue
		}
		left = append(left, t)
	}
	return left, known
}

// Tasks divides traces into tasks.
func Tasks(traces []task.Trace, layout string, stores []string, o Options) (tasks []task.Task) {
	first, size := 0, int64(0)
	end := func(i int) {
		if i > first {
			tasks = append(tasks, task.Task{ID: task.ID(traces[first:i], nil), Layout: layout, Stores: stores, Traces: traces[first:i]})
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
