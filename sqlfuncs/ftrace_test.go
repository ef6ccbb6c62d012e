package sqlfuncs

import "testing"

// BenchmarkToFtrace writes a million switches of the scheduler as text.
func BenchmarkToFtrace(b *testing.B) {
	const events = 1_000_000
	db := open(b, OneTrace)
	exec(b, db, `INSERT INTO thread BY NAME SELECT i AS utid, i AS id, 1000 + i AS tid, 'thread' || i AS name FROM range(1000) AS r(i)`)
	exec(b, db, `INSERT INTO ftrace_event BY NAME
		SELECT i AS id, i * 1000 AS ts, 'sched_switch' AS name, i % 1000 AS utid, i % 8 AS cpu, i AS arg_set_id FROM range(1000000) AS r(i)`)
	exec(b, db, `INSERT INTO args BY NAME
		SELECT i * 7 + n AS id, i AS arg_set_id, CASE WHEN n % 4 = 0 THEN NULL ELSE i % 1000 + n END AS int_value,
		       CASE WHEN n % 4 = 0 THEN 'thread' || (i % 1000) END AS string_value,
		       ['prev_comm', 'prev_pid', 'prev_prio', 'prev_state', 'next_comm', 'next_pid', 'next_prio'][n + 1] AS key
		FROM range(1000000) AS r(i), range(7) AS s(n)`)
	for b.Loop() {
		query(b, db, "SELECT sum(length(to_ftrace(id))) FROM ftrace_event")
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/events, "ns/event")
}
