package ingesttest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
)

// recorder is a test whose failures are wanted.
type recorder struct {
	testing.TB
	failures []string
}

func (r *recorder) Helper() {}
func (r *recorder) Errorf(text string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(text, args...))
}

const (
	head = `[{"ph":"X","pid":1,"tid":2,"ts":1,"dur":5,"name":"work"},`
	tail = `{"ph":"X","pid":1,"tid":2,"ts":2,"dur":2,"name":"part"}]`
)

func TestWant(t *testing.T) {
	tables := ingesttest.MustRead(t, "a.json", []byte(head+tail))
	tables.Want(t, "slice", "ts|dur|name|parent_id", "1000|5000|work|NULL", "2000|2000|part|0")
	for _, rows := range [][]string{{"work"}, {"part", "work"}, {"work", "part", "part"}, nil} {
		r := &recorder{TB: t}
		tables.Want(r, "slice", "name", rows...)
		if len(r.failures) != 1 || !strings.Contains(r.failures[0], "work\npart\nwant:") {
			t.Errorf("rows that differ from %q: %q", rows, r.failures)
		}
	}
}

// Damaged input gives an error of the input, or rows.
func TestMayFail(t *testing.T) {
	if _, failed := ingesttest.MayFail(t, []byte("no trace\n")); !failed {
		t.Error("a text is no trace")
	}
	if tables, failed := ingesttest.MayFail(t, []byte(head)); failed || len(tables.Rows("slice", "id")) != 1 {
		t.Error("a trace without its end has no rows")
	}
}

// Stacks adds up what a profile measures at each stack.
func TestStacks(t *testing.T) {
	tables := ingesttest.MustRead(t, "a.collapsed", []byte("main;work 3\nmain;idle 2\nmain;work 4\n"))
	got := tables.Stacks("samples", func(function, _, _ string) string { return "<" + function + ">" })
	want := map[string]float64{"<main>\x1f<idle>": 2, "<main>\x1f<work>": 7}
	for stack, value := range got {
		_, stack, _ := strings.Cut(stack, "\t") // after the scope
		if want[stack] != value {
			t.Errorf("%q is %v", stack, value)
		}
		delete(want, stack)
	}
	if len(want) > 0 {
		t.Errorf("missing: %v in %v", want, got)
	}
}
