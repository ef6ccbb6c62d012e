//go:build unix && cgo

package sqlfuncs

import (
	"database/sql"
	"fmt"
	"syscall"
	"testing"
	"time"
)

// BenchmarkSpanJoin joins two tables with the same number of spans, in 1,000 partitions.
func BenchmarkSpanJoin(b *testing.B) {
	for _, millions := range []int{1, 2, 4, 8} {
		b.Run(fmt.Sprintf("%dM", millions), func(b *testing.B) {
			db := open(b, OneTrace)
			for i, table := range []string{"a", "b"} {
				exec(b, db, fmt.Sprintf(`CREATE TABLE %s AS
					SELECT i // 1000 * 1000 + (i * 7919 + %d) %% 300 AS ts, 1 + (i * 104729 + %d) %% 600 AS dur,
					       i %% 1000 AS part, i AS id_%s
					FROM range(%d) AS r(i)`, table, i*100, i*77, table, millions*1_000_000))
			}
			repeat(b, db, "SELECT count(*), sum(dur), sum(id_a), sum(id_b) FROM span_join('a', 'b', 'part')")
		})
	}
}

// BenchmarkDescendantsOfAll counts the descendants of each of a million slices. Each track holds a binary
// tree of a thousand.
func BenchmarkDescendantsOfAll(b *testing.B) {
	db := open(b, OneTrace)
	exec(b, db, `INSERT INTO slice BY NAME
		SELECT i AS id, i // 1000 AS track_id, CASE WHEN i % 1000 > 0 THEN i - i % 1000 + (i % 1000 - 1) // 2 END AS parent_id
		FROM range(1000000) AS r(i)`)
	got := repeat(b, db, "SELECT count(*), sum(n) FROM (SELECT (SELECT count(*) FROM descendant_slice(s.id)) AS n FROM slice AS s)")
	if got[1][1] != "7987000" {
		b.Fatalf("got %v", got[1])
	}
}

// BenchmarkToFtrace formats a million scheduler switches as text.
func BenchmarkToFtrace(b *testing.B) {
	db := open(b, OneTrace)
	exec(b, db, `INSERT INTO thread BY NAME SELECT i AS utid, i AS id, 1000 + i AS tid, 'thread' || i AS name FROM range(1000) AS r(i)`)
	exec(b, db, `INSERT INTO ftrace_event BY NAME
		SELECT i AS id, i * 1000 AS ts, 'sched_switch' AS name, i % 1000 AS utid, i % 8 AS cpu, i AS arg_set_id FROM range(1000000) AS r(i)`)
	exec(b, db, `INSERT INTO args BY NAME
		SELECT i * 7 + n AS id, i AS arg_set_id, CASE WHEN n % 4 > 0 THEN i % 1000 + n END AS int_value,
		       CASE WHEN n % 4 = 0 THEN 'thread' || (i % 1000) END AS string_value,
		       ['prev_comm', 'prev_pid', 'prev_prio', 'prev_state', 'next_comm', 'next_pid', 'next_prio'][n + 1] AS key
		FROM range(1000000) AS r(i), range(7) AS s(n)`)
	repeat(b, db, "SELECT sum(length(to_ftrace(id))) FROM ftrace_event")
}

// repeat runs a query for the benchmark and returns its rows. Besides the elapsed time, it reports the CPU
// time spread over two cores.
func repeat(b *testing.B, db *sql.DB, q string) (rows [][]string) {
	begun := cpuTime(b)
	for b.Loop() {
		rows = query(b, db, q)
	}
	b.ReportMetric((cpuTime(b)-begun).Seconds()/2/float64(b.N), "s/op-on-2-cores")
	return rows
}

func cpuTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
