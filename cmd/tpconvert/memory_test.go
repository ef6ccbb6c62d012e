package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/model/table"
)

// underRace says whether the race detector is on.
var underRace bool

// If a trace needs more than --max-memory, only that trace fails.
func TestMaxMemory(t *testing.T) {
	if underRace {
		t.Skip("the race detector's own memory is above the limit")
	}
	var large strings.Builder
	large.WriteString("[")
	name := strings.Repeat("x", 25<<20)
	for i := range 8 {
		fmt.Fprintf(&large, `{"ph":"X","pid":1,"tid":2,"ts":%d,"dur":1,"name":"%d%s"},`, i, i, name)
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

// putOff is a sink that postpones all conversions as soon as it receives rows.
type putOff struct{ guard *memoryGuard }

func (p putOff) Chunk(c *table.Chunk) error {
	for _, of := range p.guard.begun {
		of.end(errPutOff)
	}
	c.Release()
	return nil
}

// A postponed trace is read again from its beginning, and its bytes count once.
func TestPutOffProgress(t *testing.T) {
	r := traceReader{ui: &textPrinter{options: &uiOptions{quiet: true}, out: io.Discard, messages: io.Discard}}
	trace := filepath.Join(folder(t, map[string]string{"a.json": goodTrace}), "a.json")
	if _, err := r.read(t.Context(), trace, putOff{&r.guard}); !errors.Is(err, errPutOff) {
		t.Fatalf("error %v", err)
	}
	if _, err := r.read(t.Context(), trace, nil); err != nil {
		t.Fatal(err)
	}
	if p := r.progress(); p.read != int64(len(goodTrace)) || p.rows == 0 || p.delivered > p.staged {
		t.Errorf("%+v, want %d bytes read", p, len(goodTrace))
	}
}
