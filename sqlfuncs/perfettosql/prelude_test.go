package perfettosql_test

import (
	"fmt"
	"testing"

	"github.com/tpconvert/tpconvert/sqlfuncs/perfettosql"
)

// Tables and views of the prelude are made when they are named. Nobody sees that: lists have all of them, and they outlast a transaction
// that is rolled back.
func TestPreludeWaits(t *testing.T) {
	columns := func(statements ...string) string {
		t.Helper()
		s, err := perfettosql.New(empty(t), perfettosql.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		got := ""
		for _, sql := range statements {
			err := s.Run(t.Context(), sql, func(rows *perfettosql.Rows) error {
				got = fmt.Sprint(rows.Columns())
				for more, err := rows.Next(); more || err != nil; more, err = rows.Next() {
					if err != nil {
						return err
					}
					for i := range rows.Columns() {
						got += fmt.Sprint(" ", rows.Any(i))
					}
				}
				return nil
			})
			if err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
		}
		return got
	}
	const list = "SELECT group_concat(name, ' ') FROM (SELECT name FROM sqlite_schema ORDER BY name)"
	want := columns(list)
	for _, first := range []string{"SELECT * FROM slice", "SELECT trace_dur()", "PRAGMA table_list", "BEGIN; SELECT * FROM slice; ROLLBACK"} {
		if got := columns(first, list); got != want {
			t.Errorf("after %s there are %s, want %s", first, got, want)
		}
	}
	slices := columns("SELECT * FROM slice")
	for _, before := range []string{"BEGIN; SELECT * FROM slice; ROLLBACK", "SAVEPOINT x; SELECT * FROM slice; ROLLBACK TO x"} {
		if got := columns(before, "SELECT * FROM slice"); got != slices {
			t.Errorf("after %s a slice has %s, want %s", before, got, slices)
		}
	}
	for _, sql := range []string{"CREATE VIEW slice AS SELECT 1", "CREATE PERFETTO VIEW slice AS SELECT 1 AS x"} {
		s, err := perfettosql.New(empty(t), perfettosql.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Run(t.Context(), sql, nil); err == nil {
			t.Errorf("%s: there is such a view", sql)
		}
		s.Close()
	}
}
