package plan

import (
	"fmt"
	"testing"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/lake"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
)

func TestTasks(t *testing.T) {
	var traces []task.Trace
	for i, size := range []int64{40, 50, 20, 300, 1, 1, 1, 1} {
		traces = append(traces, task.Trace{URL: fmt.Sprint("file:///", 9-i), Bytes: size})
	}
	left, known := Left(append(traces, traces[0]), &lake.Ledger{}, Options{})
	if len(left) != len(traces) || known != 0 || left[0].URL != "file:///2" {
		t.Fatalf("%v, %d known", left, known)
	}
	tasks := Tasks(traces, "layout", nil, Options{Bytes: 100, Traces: 3})
	var sizes []int
	ids := map[string]bool{}
	for _, task := range tasks {
		sizes = append(sizes, len(task.Traces))
		ids[task.ID] = true
	}
	if fmt.Sprint(sizes) != "[2 1 1 3 1]" || len(ids) != 5 {
		t.Errorf("tasks of %v traces, %d ids", sizes, len(ids))
	}
}
