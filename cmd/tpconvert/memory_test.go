package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// underRace says whether the race detector is on.
var underRace bool

// If a trace needs more than --max-memory, only that trace fails.
func TestMaxMemory(t *testing.T) {
	if underRace {
		t.Skip("the race detector's own memory is above the limit")
	}
	var large strings.Builder // what is known of processes and threads stays in memory until the end
	large.WriteString("[")
	for i := range 1_000_000 {
		fmt.Fprintf(&large, `{"ph":"i","pid":%d,"tid":1,"ts":1,"name":"a"},`, 2+i)
	}
	large.WriteString("]")
	dir := folder(t, map[string]string{"large.json": large.String(), "small.json": goodTrace})
	tpconvert(t, dir, "--max-memory=100MiB", "large.json", "alone").expect(t, exitFailure, "large.json: this needs more than --max-memory=100 MiB")
	if got := names(t, dir); slices.Contains(got, "alone") {
		t.Error("there is a dataset")
	}
	tpconvert(t, dir, "--max-memory=100MiB", "-j2", "large.json", "small.json", "both").expect(t, exitSomeFailed, "large.json: this needs more than")
	var traces []string
	for _, name := range names(t, dir, "both") {
		if strings.HasPrefix(name, "trace_id=t_") {
			traces = append(traces, name)
		}
	}
	if len(traces) != 1 {
		t.Errorf("traces %q, want the small one", traces)
	}
}
