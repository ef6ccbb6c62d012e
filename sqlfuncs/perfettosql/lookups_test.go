package perfettosql_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestLookups calls functions that look up rows of a table, many times and in turn: what one lookup leaves for the next must not
// change it, nor outlive the table.
func TestLookups(t *testing.T) {
	var setup strings.Builder
	setup.WriteString(`CREATE PERFETTO TABLE t AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99) SELECT i AS id, i / 2 AS half, 'n' || i AS name FROM n;`)
	tests := []string{"id = $x", "half = $x", "id < $x", "id <= $x", "id > $x", "id >= $x", "id = $x AND half > 20", "half = $x AND id > 50", "id < $x AND half = 3",
		"id > $x AND name = 'n80'", "half = $x AND name IS NOT NULL", "id = $x AND name != 'n7'",
		"id = $x AND half IN (1, 2.0, 3.5, '4', NULL, 7, 1e19)", "half = $x AND name IN ('n14', 'n15', 16, 'N17', x'6e38')", "id <= $x AND half IN (2, 4)", "id IS NULL AND half = $x"}
	limited := []string{"id > $x LIMIT 1", "half = $x LIMIT 1", "half = $x LIMIT 0", "id >= $x AND name != 'n5' LIMIT 2", "half = $x AND id > 50 LIMIT 1"}
	var calls []string
	for i, test := range tests {
		fmt.Fprintf(&setup, "CREATE PERFETTO FUNCTION f%d(x LONG) RETURNS LONG AS SELECT count(*) + sum(id) FROM t WHERE %s;", i, test)
		calls = append(calls, fmt.Sprintf("sum(f%d(id)), f%d(7), f%d(NULL), (SELECT sum(n) FROM (SELECT (SELECT count(*) + sum(id) FROM t WHERE %s) AS n FROM (SELECT id AS x FROM t)))",
			i, i, i, strings.ReplaceAll(test, "$x", "+x")))
	}
	for i, test := range limited {
		fmt.Fprintf(&setup, "CREATE PERFETTO FUNCTION g%d(x LONG) RETURNS LONG AS SELECT coalesce((SELECT id FROM t WHERE %s), -1);", i, test)
		calls = append(calls, fmt.Sprintf("sum(g%d(id)), g%d(7), g%d(NULL), (SELECT sum(n) FROM (SELECT coalesce((SELECT id FROM t WHERE %s), -1) AS n FROM (SELECT id AS x FROM t)))",
			i, i, i, strings.ReplaceAll(test, "$x", "+x")))
	}
	tests = append(tests, limited...)
	ask := "SELECT " + strings.Join(calls, ", ") + " FROM t;"
	for _, change := range []string{"", "CREATE OR REPLACE PERFETTO TABLE t AS SELECT id, half + 1 AS half, name FROM t WHERE id % 3 > 0;"} {
		got, err := rows(t, setup.String()+ask+ask+change+ask)
		if err != nil || len(got) != 1 {
			t.Fatal(got, err)
		}
		cells := strings.Split(got[0], " | ")
		for i, test := range tests {
			if of := cells[4*i : 4*i+4]; of[0] != of[3] || of[0] == "NULL" && test != "id IS NULL AND half = $x" {
				t.Errorf("%s%s: %s", change, test, of)
			}
		}
		plain, err := rows(t, setup.String()+change+"SELECT "+strings.Join(calls, ", ")+" FROM t")
		if err != nil || !slices.Equal(got, plain) {
			t.Errorf("%s\nafter other calls %s\nat once %s, %v", change, got, plain, err)
		}
	}
}

// TestTextLookups joins tables by texts, of which some are equal, empty, in one table only, or NULL.
func TestTextLookups(t *testing.T) {
	const setup = `CREATE PERFETTO TABLE a AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 4999)
		SELECT i AS id, CASE i % 50 WHEN 0 THEN NULL WHEN 1 THEN '' ELSE 'n' || (i * 7 % 300) END AS name, i % 3 AS part FROM n;
		CREATE PERFETTO TABLE b AS SELECT id, name, part FROM a WHERE id < 40 OR id % 97 = 0;`
	for _, test := range []string{"%sa.name = %[1]sb.name", "%sa.name = %[1]sb.name AND a.part < b.part", "%sa.name = %[1]sb.name AND %[1]sa.id = %[1]sb.id",
		"%sa.name = %[1]ssubstr(b.name, 1, 3)", "%sa.name = %[1]s(b.name || x'00')", "%sa.name = %[1]sb.id"} {
		ask := func(plus string) string {
			return "SELECT count(*), sum(a.id * 10000 + b.id) FROM b JOIN a ON " + fmt.Sprintf(test, plus) + ";"
		}
		got, err := rows(t, setup+ask("")+ask("")+ask(""))
		want, wantErr := rows(t, setup+ask("+"))
		if err != nil || wantErr != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %s, %v, not %s, %v", test, got, err, want, wantErr)
		}
	}
}
