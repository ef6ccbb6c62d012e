package perfettosql_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/sqlfuncs/perfettosql"
)

// TestMacroText checks that a call of a macro is one part of its statement: a comment at the end of a body or an argument hides
// nothing that follows, and tokens stay apart.
func TestMacroText(t *testing.T) {
	t.Parallel()
	const twice = "CREATE PERFETTO MACRO twice(x Expr) RETURNS Expr AS\n$x * 2 -- doubles\n;\n"
	for _, c := range []struct{ sql, want string }{
		{twice + "SELECT twice!(3) + 1 AS v", "7"},
		{twice + "SELECT count(*) AS n FROM (SELECT 1 AS a UNION ALL SELECT 2) WHERE a = twice!(1) AND a > 5", "0"},
		{twice + "SELECT twice!(3 -- three\n) + 1", "7"},
		{twice + "SELECT twice!(twice!(3)) + 1", "13"},
		{"CREATE PERFETTO MACRO minus(x Expr) RETURNS Expr AS 2 -$x; SELECT minus!(-2)", "4"},
		{"CREATE PERFETTO MACRO same(x Expr) RETURNS Expr AS $x /* c */; SELECT 1+same!(1)AS v", "2"},
		{"CREATE PERFETTO MACRO same(x Expr) RETURNS Expr AS $x; SELECT 4-same!(-1), 'a'||same!('b')||'c', same!(1)<same!(2)", "5 | 'abc' | 1"},
		{"CREATE PERFETTO FUNCTION f(x LONG) RETURNS LONG AS SELECT $x + 1 -- more\n; SELECT f(1)", "2"},
		{"CREATE PERFETTO VIEW v AS SELECT 1 AS a -- one\n; SELECT a FROM v", "1"},
	} {
		if got, err := rows(t, c.sql); err != nil || !slices.Equal(got, []string{c.want}) {
			t.Errorf("%s: %q, %v, want %s", c.sql, got, err, c.want)
		}
	}
	if got, err := rows(t, "CREATE PERFETTO MACRO one(x Expr) RETURNS Expr AS 1$x; SELECT one!(2)"); err == nil {
		t.Errorf("two numbers are one: %q", got)
	}
}

// TestColumnNames checks the names of columns without AS, which are their text.
func TestColumnNames(t *testing.T) {
	t.Parallel()
	s, err := perfettosql.New(empty(t), perfettosql.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, c := range []struct{ sql, want string }{
		{"SELECT 1 -- trailing", "1"},
		{"SELECT 1 /* trailing */ -- more\n;", "1"},
		{"SELECT 1 -- a\n, 2 -- b\n;", "1 -- a|2"},
		{"SELECT 1 + -- a\n 2 /* b */;", "1 + -- a\n 2"},
		{"CREATE PERFETTO MACRO m(x Expr) RETURNS Expr AS $x + 1; SELECT m!(2) -- c", "2 + 1"},
	} {
		var got []string
		err := s.Run(t.Context(), c.sql, func(r *perfettosql.Rows) error {
			got = r.Columns()
			return nil
		})
		if names := strings.Join(got, "|"); err != nil || names != c.want {
			t.Errorf("%s: %q, %v, want %q", c.sql, names, err, c.want)
		}
	}
}

// TestArgumentType checks the error for an integer where a function wants a real number.
func TestArgumentType(t *testing.T) {
	t.Parallel()
	_, err := rows(t, "CREATE PERFETTO FUNCTION half(x DOUBLE) RETURNS DOUBLE AS SELECT $x / 2; SELECT half(3)")
	if want := "half: argument x: expected DOUBLE, actual LONG"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	got, err := rows(t, "CREATE PERFETTO FUNCTION half(x DOUBLE) RETURNS DOUBLE AS SELECT $x / 2; SELECT half(3.0), half(NULL)")
	if err != nil || !slices.Equal(got, []string{"real 1.5 | NULL"}) {
		t.Errorf("got %q, %v", got, err)
	}
}
