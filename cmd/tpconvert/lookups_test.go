//go:build cgo

package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// lookedUp has the number and a checksum of the rows that functions of slices and flows give for some slices. Flows are known by their
// slices: their ids differ in DuckDB.
const lookedUp = `SELECT of, count(*) AS n, sum((start * 1009 + a * 31 + b) % 1000003) AS checksum FROM (
	SELECT 'ancestor' AS of, s.id AS start, r.id AS a, r.depth AS b FROM starts AS s, ancestor_slice(s.id) AS r
	UNION ALL SELECT 'descendant', s.id, r.id, r.depth FROM starts AS s, descendant_slice(s.id) AS r
	UNION ALL SELECT 'following', s.id, r.slice_out, r.slice_in FROM starts AS s, following_flow(s.id) AS r
	UNION ALL SELECT 'preceding', s.id, r.slice_out, r.slice_in FROM starts AS s, preceding_flow(s.id) AS r
	UNION ALL SELECT * FROM (SELECT DISTINCT 'connected', s.id, r.slice_out, r.slice_in FROM starts AS s, directly_connected_flow(s.id) AS r)
) GROUP BY of ORDER BY of`

// TestSliceLookups asks DuckDB and PerfettoSQL for what is around and inside of slices, and for their flows.
func TestSliceLookups(t *testing.T) {
	t.Parallel()
	traces, err := filepath.Glob("../../testdata/*.json*")
	if err != nil {
		t.Fatal(err)
	}
	for _, trace := range append(traces, shared(t, "*/*")...) {
		t.Run(filepath.Base(trace), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path, err := filepath.Abs(trace)
			if err != nil {
				t.Fatal(err)
			}
			if tpconvert(t, dir, "-q", path, "out").code != exitDone {
				t.Skip("no trace")
			}
			if rowsOf(t, dir, "out", "SELECT count(*) FROM slice") == "count_star()\n0\n" {
				t.Skip("no slices")
			}
			const starts = `WITH starts AS (SELECT id FROM slice WHERE id % 10 = 0 AND id < 300 OR id % 2000 = 1
				UNION SELECT slice_out FROM flow WHERE id % 500 = 0) `
			_, duckdb, _ := strings.Cut(rowsOf(t, dir, "out", starts+lookedUp), "\n")
			_, perfetto, _ := strings.Cut(rowsOf(t, dir, "out", starts+lookedUp, "--perfetto"), "\n")
			if duckdb != strings.ReplaceAll(perfetto, `"`, "") {
				t.Errorf("DuckDB %q, PerfettoSQL %q", duckdb, perfetto)
			}
			t.Log(duckdb)
		})
	}
}
