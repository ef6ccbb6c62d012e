//go:build cgo

package sqlfuncs

import (
	"cmp"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

type span struct {
	ts, dur int64
	part    int // -1 is NULL
	id      int
}

func (s span) end() int64    { return s.ts + max(s.dur, 0) }
func (s span) isPoint() bool { return s.dur <= 0 }

// joined is a row of a span join; an id of 0 is NULL.
type joined struct {
	ts, dur int64
	part    int
	a, b    int
}

const (
	horizon    = 14 // all random spans start earlier
	partitions = 3
)

// randomSide returns spans that do not overlap within a partition. They include points, adjacent spans and
// NULL partitions.
func randomSide(r *rand.Rand, partitioned bool) []span {
	var spans []span
	for part := -1; part < partitions; part++ {
		if !partitioned && part >= 0 || r.IntN(4) == 0 {
			continue
		}
		for ts := int64(r.IntN(4)); ts < horizon; {
			s := span{ts: ts, dur: int64(r.IntN(6)) - 1, part: part, id: len(spans) + 1}
			spans = append(spans, s)
			ts = s.end() + max(0, int64(r.IntN(6))-2)
			if s.isPoint() && r.IntN(4) > 0 {
				ts++
			}
		}
	}
	return spans
}

// bruteForce computes a span join by checking each unit of time.
func bruteForce(a, b []span, aPartitioned, bPartitioned, left, outer bool) []joined {
	in := func(spans []span, partitioned bool, part int) []span {
		return slices.DeleteFunc(slices.Clone(spans), func(s span) bool { return partitioned && s.part != part })
	}
	parts := map[int]bool{}
	for _, s := range a {
		parts[s.part] = parts[s.part] || aPartitioned && s.part >= 0
	}
	for _, s := range b {
		parts[s.part] = parts[s.part] || bPartitioned && s.part >= 0
	}
	if !aPartitioned && !bPartitioned {
		parts = map[int]bool{-1: true}
	}
	var rows []joined
	for part, used := range parts {
		if used {
			rows = append(rows, bruteForcePart(in(a, aPartitioned, part), in(b, bPartitioned, part), part, left, outer)...)
		}
	}
	return rows
}

func bruteForcePart(a, b []span, part int, left, outer bool) []joined {
	points := func(spans []span, t int64) (at []span) {
		for _, s := range spans {
			if s.isPoint() && s.ts == t {
				at = append(at, s)
			}
		}
		return at
	}
	around := func(spans []span, t int64) (int, bool) {
		for _, s := range spans {
			if s.ts <= t && t < s.end() {
				return s.id, true
			}
		}
		return 0, false
	}
	var rows []joined
	var run *joined // the row that extends to t so far
	for t := int64(0); t < 2*horizon; t++ {
		pa, pb := points(a, t), points(b, t)
		ia, hasA := around(a, t)
		ib, hasB := around(b, t)
		for _, x := range pa {
			for _, y := range pb {
				rows = append(rows, joined{t, min(x.dur, y.dur), part, x.id, y.id})
			}
			if hasB || left {
				rows = append(rows, joined{t, x.dur, part, x.id, ib})
			}
		}
		for _, y := range pb {
			if hasA || outer && len(pa) == 0 {
				rows = append(rows, joined{t, y.dur, part, ia, y.id})
			}
		}
		// A point within a gap of its side ends that gap, and another begins.
		cut := len(pa) > 0 && !hasA || len(pb) > 0 && !hasB
		if run != nil && (cut || run.a != ia || run.b != ib) {
			rows = append(rows, *run)
			run = nil
		}
		if hasA && hasB || hasA && left || hasB && outer {
			if run == nil {
				run = &joined{t, 0, part, ia, ib}
			}
			run.dur++
		}
	}
	if run != nil {
		rows = append(rows, *run)
	}
	return rows
}

// TestSpanJoinsAgainstBruteForce joins 10,000 random inputs of each partition shape. Each input is a trace of
// its own.
func TestSpanJoinsAgainstBruteForce(t *testing.T) {
	const inputs = 3000
	db := open(t, ManyTraces)
	exec(t, db, "CREATE TABLE a (ts BIGINT, dur BIGINT, part INTEGER, a INTEGER, trace_id VARCHAR)")
	exec(t, db, "CREATE TABLE b (ts BIGINT, dur BIGINT, part INTEGER, b INTEGER, trace_id VARCHAR)")
	side := func(table string, partitioned bool) string {
		if partitioned {
			return table
		}
		return fmt.Sprintf("SELECT * EXCLUDE (part) FROM %s", table)
	}
	for shape, partitioned := range map[string][2]bool{
		"both": {true, true}, "left": {true, false}, "right": {false, true}, "neither": {false, false},
	} {
		r := rand.New(rand.NewPCG(1, uint64(len(shape))))
		var as, bs [inputs][]span
		exec(t, db, "TRUNCATE a")
		exec(t, db, "TRUNCATE b")
		for i := range inputs {
			as[i], bs[i] = randomSide(r, partitioned[0]), randomSide(r, partitioned[1])
		}
		load(t, db, "a", as[:])
		load(t, db, "b", bs[:])
		for macro, kind := range map[string]struct{ left, outer bool }{
			"span_join": {}, "span_left_join": {left: true}, "span_outer_join": {left: true, outer: true},
		} {
			t.Run(shape+"/"+macro, func(t *testing.T) {
				partition := "'part'"
				if shape == "neither" {
					partition = "NULL"
				}
				rows, err := db.Query(fmt.Sprintf(`SELECT trace_id::INTEGER, ts, dur, %s, coalesce(a, 0), coalesce(b, 0) FROM %s('%s', '%s', %s)`,
					map[bool]string{true: "-1", false: "part"}[shape == "neither"],
					macro, side("a", partitioned[0]), side("b", partitioned[1]), partition))
				if err != nil {
					t.Fatal(err)
				}
				defer rows.Close()
				got := make([][]joined, inputs)
				for rows.Next() {
					var input int
					var row joined
					if err := rows.Scan(&input, &row.ts, &row.dur, &row.part, &row.a, &row.b); err != nil {
						t.Fatal(err)
					}
					got[input] = append(got[input], row)
				}
				if err := rows.Err(); err != nil {
					t.Fatal(err)
				}
				for i := range inputs {
					want := bruteForce(as[i], bs[i], partitioned[0], partitioned[1], kind.left, kind.outer)
					sortJoined(want)
					sortJoined(got[i])
					if !slices.Equal(got[i], want) {
						t.Fatalf("input %d:\na    %v\nb    %v\ngot  %v\nwant %v", i, as[i], bs[i], got[i], want)
					}
				}
			})
		}
	}
}

// TestIntersectionsAgainstBruteForce intersects 10,000 random inputs, whose intervals overlap within a side.
func TestIntersectionsAgainstBruteForce(t *testing.T) {
	const inputs = 3000
	db := open(t, ManyTraces)
	for _, table := range []string{"a", "b"} {
		exec(t, db, fmt.Sprintf("CREATE TABLE %s (ts BIGINT, dur BIGINT, part INTEGER, id INTEGER, trace_id VARCHAR)", table))
	}
	r := rand.New(rand.NewPCG(2, 2))
	var as, bs [inputs][]span
	for i := range inputs {
		for _, side := range []*[]span{&as[i], &bs[i]} {
			for id := range r.IntN(6) {
				*side = append(*side, span{ts: r.Int64N(horizon), dur: r.Int64N(6), part: r.IntN(partitions) - 1, id: id + 1})
			}
		}
	}
	load(t, db, "a", as[:])
	load(t, db, "b", bs[:])
	for name, partitioned := range map[string]bool{"'part'": true, "NULL": false} {
		t.Run(name, func(t *testing.T) {
			rows, err := db.Query(fmt.Sprintf("SELECT trace_id::INTEGER, ts, dur, id_0, id_1 FROM interval_intersect('a', 'b', %s)", name))
			if err != nil {
				t.Fatal(err)
			}
			defer rows.Close()
			got := make([][]joined, inputs)
			for rows.Next() {
				var input int
				var row joined
				if err := rows.Scan(&input, &row.ts, &row.dur, &row.a, &row.b); err != nil {
					t.Fatal(err)
				}
				got[input] = append(got[input], row)
			}
			if err := rows.Err(); err != nil {
				t.Fatal(err)
			}
			for i := range inputs {
				var want []joined
				for _, a := range as[i] {
					for _, b := range bs[i] {
						ts := max(a.ts, b.ts)
						in := func(s span) bool { return s.ts == ts || ts < s.end() }
						if in(a) && in(b) && (!partitioned || a.part == b.part) {
							want = append(want, joined{ts: ts, dur: min(a.end(), b.end()) - ts, a: a.id, b: b.id})
						}
					}
				}
				sortJoined(want)
				sortJoined(got[i])
				if !slices.Equal(got[i], want) {
					t.Fatalf("input %d:\na    %v\nb    %v\ngot  %v\nwant %v", i, as[i], bs[i], got[i], want)
				}
			}
		})
	}
}

func sortJoined(rows []joined) {
	slices.SortFunc(rows, func(x, y joined) int {
		return cmp.Or(cmp.Compare(x.part, y.part), cmp.Compare(x.ts, y.ts), cmp.Compare(x.dur, y.dur),
			cmp.Compare(x.a, y.a), cmp.Compare(x.b, y.b))
	})
}

// load fills a table with the spans of each input, using the input's number as trace_id.
func load(t testing.TB, db *sql.DB, table string, inputs [][]span) {
	t.Helper()
	var rows strings.Builder
	for i, spans := range inputs {
		for _, s := range spans {
			part := ""
			if s.part >= 0 {
				part = fmt.Sprint(s.part)
			}
			fmt.Fprintf(&rows, "%d,%d,%s,%d,%d\n", s.ts, s.dur, part, s.id, i)
		}
	}
	path := filepath.Join(t.TempDir(), "rows.csv")
	if err := os.WriteFile(path, []byte(rows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	exec(t, db, fmt.Sprintf("COPY %s FROM '%s' (HEADER false)", table, path))
}
