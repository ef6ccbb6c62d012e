package sqlfuncs

import "testing"

// BenchmarkDescendantsOfAll counts the descendants of each of a million slices, of which a track holds a binary tree of
// a thousand.
func BenchmarkDescendantsOfAll(b *testing.B) {
	db := open(b, OneTrace)
	exec(b, db, `INSERT INTO slice BY NAME
		SELECT i AS id, i // 1000 AS track_id, CASE WHEN i % 1000 > 0 THEN i - i % 1000 + (i % 1000 - 1) // 2 END AS parent_id
		FROM range(1000000) AS r(i)`)
	for b.Loop() {
		got := query(b, db, "SELECT count(*), sum(n) FROM (SELECT (SELECT count(*) FROM descendant_slice(s.id)) AS n FROM slice AS s)")
		if got[1][1] != "7987000" {
			b.Fatalf("got %v", got[1])
		}
	}
}
