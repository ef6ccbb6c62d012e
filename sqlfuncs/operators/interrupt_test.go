package operators_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tpconvert/tpconvert/sqlfuncs/operators/operatorstest"
)

// Operators that would run for long, or without an end, stop when their statement is interrupted.
func TestInterrupt(t *testing.T) {
	const numbers = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) "
	const nested = "__intrinsic_interval_tree_intervals_agg(i, i, 40000)"
	interrupted := func(t *testing.T, text string) time.Duration {
		db := operatorstest.Open(t)
		cause := errors.New("too late")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 200*time.Millisecond, cause)
		defer cancel()
		begun := time.Now()
		if err := db.During(ctx, func() error { _, err := operatorstest.Query(db, text); return err }); !errors.Is(err, cause) {
			t.Errorf("got error %v", err)
		}
		return time.Since(begun)
	}
	plain := interrupted(t, "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n")
	for name, text := range map[string]string{
		"intersection": numbers + "SELECT __intrinsic_interval_intersect((SELECT " + nested + " FROM n), (SELECT " + nested + " FROM n), '')",
		"scan": `SELECT __intrinsic_graph_scan((SELECT __intrinsic_graph_agg(1, 1)), (SELECT __intrinsic_row_dataframe_agg('id', 1, 'n', 1)),
			'(SELECT id, n + 1 AS n FROM $table)', '(n)')`,
		"span join": "CREATE VIEW s AS " + numbers + "SELECT a.i * 20000 + b.i AS ts, 1 AS dur FROM n a, n b; CREATE VIEW p AS SELECT ts, ts AS t FROM s;" +
			"CREATE VIRTUAL TABLE j USING SPAN_JOIN(s, p); SELECT count(*) FROM j",
	} {
		t.Run(name, func(t *testing.T) {
			if took := interrupted(t, text); took > 10*plain {
				t.Errorf("it took %v, SQLite's own statement %v", took, plain)
			}
		})
	}
}

// A scan along a cycle ends with an error that says so.
func TestScanOfCycle(t *testing.T) {
	_, err := operatorstest.Query(operatorstest.Open(t), `SELECT __intrinsic_graph_aggregating_scan(
		(SELECT __intrinsic_graph_agg(column1, column2) FROM (VALUES (1, 2), (2, 3), (3, 2))),
		(SELECT __intrinsic_row_dataframe_agg('id', 1, 'n', 1)), '(SELECT id, sum(n) AS n FROM $table GROUP BY id)', '(n)')`)
	if err == nil || !strings.Contains(err.Error(), "the graph has a cycle through node 2") {
		t.Errorf("got error %v", err)
	}
}

// Numbers that cannot be nodes are errors, before memory is taken for them.
func TestLargeNode(t *testing.T) {
	for _, text := range []string{
		"SELECT __intrinsic_graph_agg(5000000000, 1)",
		"SELECT __intrinsic_graph_agg(1, -1)",
		"SELECT __intrinsic_dominator_tree(1, 1 << 40, 1)",
		"SELECT __intrinsic_structural_tree_partition(1, NULL, 1 << 40)",
		"SELECT __intrinsic_wakeup_graph_agg(1 << 40, 1, 1, 1, 1, 1, 1)",
		"SELECT __intrinsic_bfs((SELECT __intrinsic_graph_agg(1, 2)), (SELECT __intrinsic_array_agg(1 << 40)))",
	} {
		if _, err := operatorstest.Query(operatorstest.Open(t), text); err == nil || !strings.Contains(err.Error(), "cannot be a node") {
			t.Errorf("%s: got error %v", text, err)
		}
	}
}
