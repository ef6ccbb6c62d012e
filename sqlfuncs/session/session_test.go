package session_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert"
	"github.com/tpconvert/tpconvert/internal/datasettest"
	"github.com/tpconvert/tpconvert/model/table"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

const (
	work = `[{"ph":"X","pid":1,"tid":2,"ts":1,"dur":5,"name":"work"},{"ph":"X","pid":1,"tid":2,"ts":2,"dur":2,"name":"part"}]`
	rest = `[{"ph":"X","pid":1,"tid":2,"ts":1,"dur":5,"name":"rest"}]`
)

// begin returns a session of PerfettoSQL without data.
func begin(t *testing.T, o session.Options) *session.Session {
	t.Helper()
	o.Perfetto = true
	s, err := session.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// ask returns the rows of all statements of a text, or the error.
func ask(ctx context.Context, s *session.Session, text string) (rows []string, err error) {
	err = s.Each(ctx, text, func(q *session.Query) error {
		return q.Each(ctx, func(values []any) error {
			rows = append(rows, strings.TrimSpace(fmt.Sprintln(values...)))
			return nil
		})
	})
	return rows, err
}

func want(t *testing.T, s *session.Session, text string, rows ...string) {
	t.Helper()
	if got, err := ask(t.Context(), s, text); err != nil || !slices.Equal(got, rows) {
		t.Errorf("%s: %q, %v, want %q", text, got, err, rows)
	}
}

func TestErrorsHaveAPlace(t *testing.T) {
	s := begin(t, session.Options{})
	if err := s.OpenDataset(t.Context(), datasettest.Convert(t, work)); err != nil {
		t.Fatal(err)
	}
	want(t, s, "SELECT name, dur FROM slice ORDER BY ts; SELECT count() FROM thread WHERE tid = 2", "work 5000", "part 2000", "1")
	_, err := ask(t.Context(), s, "SELECT 1;\nSELECT 2,\n  absent FROM slice")
	if err == nil || !strings.Contains(err.Error(), "line 3:   absent FROM slice\n          ^") {
		t.Errorf("no caret under the name: %v", err)
	}
	if line, message := session.ErrorLine(err); line != 3 || message != "no such column: absent" {
		t.Errorf("line %d: %q", line, message)
	}
	if _, err := ask(t.Context(), s, " -- nothing\n"); err != session.ErrNoSQL {
		t.Errorf("a text without SQL: %v", err)
	}
}

// Sessions of a server see the trace, but not what others make.
func TestForksAreApart(t *testing.T) {
	s := begin(t, session.Options{Shared: true})
	if err := s.OpenDataset(t.Context(), datasettest.Convert(t, work)); err != nil {
		t.Fatal(err)
	}
	one, other := s.Fork(), s.Fork()
	for _, f := range []*session.Session{one, other} {
		if err := f.Begin(); err != nil {
			t.Fatal(err)
		}
	}
	want(t, one, "CREATE PERFETTO TABLE mine AS SELECT name FROM slice; SELECT count() FROM mine", "2")
	if _, err := ask(t.Context(), other, "SELECT count() FROM mine"); err == nil {
		t.Error("another session sees the table")
	}
	if err := one.Close(); err != nil {
		t.Error(err)
	}
	want(t, other, "SELECT count() FROM slice", "2")
	if err := other.Close(); err != nil {
		t.Error(err)
	}
}

func TestMemoryIsLimited(t *testing.T) {
	s := begin(t, session.Options{Memory: 16 << 20})
	if err := s.OpenEmpty(t.Context()); err != nil {
		t.Fatal(err)
	}
	const numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 10000000) "
	if _, err := ask(t.Context(), s, "CREATE PERFETTO TABLE large AS "+numbers+"SELECT i FROM n"); err == nil || !strings.Contains(err.Error(), "memory") {
		t.Errorf("80 MB in 16 MiB: %v", err)
	}
	want(t, s, "SELECT count() FROM slice", "0")
}

// Rows that are kept are those of the dataset, in memory and in a temporary file, and some tables have none.
func TestKept(t *testing.T) {
	const query = "SELECT s.name, s.ts, s.dur, s.depth, s.parent_id, t.name, t.tid, a.string_value FROM slice AS s " +
		"JOIN thread_track AS k ON k.id = s.track_id JOIN thread AS t USING (utid) LEFT JOIN args AS a USING (arg_set_id) ORDER BY s.id"
	stored := begin(t, session.Options{})
	if err := stored.OpenDataset(t.Context(), datasettest.Convert(t, work)); err != nil {
		t.Fatal(err)
	}
	all, err := ask(t.Context(), stored, query)
	if err != nil {
		t.Fatal(err)
	}
	for _, limit := range []int64{0, 1 << 20} {
		rows := table.Keep(limit)
		if _, err := tpconvert.Read(t.Context(), "a.json", strings.NewReader(work), rows, tpconvert.Options{}); err != nil {
			t.Fatal(err)
		}
		s := begin(t, session.Options{})
		if err := s.OpenKept(rows, "process"); err != nil {
			t.Fatal(err)
		}
		want(t, s, query, all...)
		want(t, s, "SELECT count() FROM process", "0")
	}
}

func TestManyTraces(t *testing.T) {
	folder := datasettest.Convert(t, work, rest)
	if err := begin(t, session.Options{}).OpenDataset(t.Context(), folder); !errors.Is(err, session.ErrManyTraces) {
		t.Errorf("PerfettoSQL on two traces: %v", err)
	}
	traces, err := session.ReadTraces(t.Context(), folder)
	if err != nil || len(traces.IDs) != 2 {
		t.Fatalf("%+v, %v", traces, err)
	}
	if _, err := traces.Folder("2"); err == nil || !strings.Contains(err.Error(), "has no trace 2, only ") {
		t.Errorf("a name that is not there: %v", err)
	}
	for name, slice := range map[string]string{"0": "work", "1": "rest"} {
		path, err := traces.Folder(name)
		if err != nil {
			t.Fatal(err)
		}
		s := begin(t, session.Options{})
		if err := s.OpenFolder(t.Context(), path, strings.TrimPrefix(path, folder+string(os.PathSeparator)+"trace_id=")); err != nil {
			t.Fatal(err)
		}
		want(t, s, "SELECT name FROM slice ORDER BY ts LIMIT 1", slice)
	}
}

func TestFindTrace(t *testing.T) {
	ids, names := []string{"a", "b", "c"}, map[string]string{"a": "x/one", "b": "y/one", "c": "two"}
	for wanted, id := range map[string]string{"a": "a", "x/one": "a", "two": "c", "c": "c"} {
		if got, err := session.FindTrace("in", wanted, ids, names); got != id || err != nil {
			t.Errorf("%s: %q, %v", wanted, got, err)
		}
	}
	if _, err := session.FindTrace("in", "one", ids, names); err == nil || err.Error() != "in has several traces with the name one: x/one (a), y/one (b)" {
		t.Errorf("a name of two traces: %v", err)
	}
}
