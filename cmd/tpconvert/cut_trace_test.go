//go:build cgo

package main

import (
	"database/sql"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/tpconvert/tpconvert/internal/tracecase"
)

// withNames are rows that reach into a range, with what they refer to by name, because another trace may have other ids.
var withNames = map[string]string{
	"slice": `SELECT s.ts, s.dur, s.category, s.name, s.depth, k.name, t.tid, t.name, coalesce(p.pid, q.pid), coalesce(p.name, q.name), ` + argsOf + `
		FROM {slice} AS s JOIN {track} AS k ON k.id = s.track_id LEFT JOIN {thread} AS t ON t.utid = k.utid
		LEFT JOIN {process} AS p ON p.upid = t.upid LEFT JOIN {process} AS q ON q.upid = k.upid
		WHERE s.ts < {to} AND (s.ts >= {from} OR s.dur = -1 OR s.ts + s.dur > {from})`,
	"flow": `SELECT a.ts, a.name, b.ts, b.name FROM {flow} AS f JOIN {slice} AS a ON a.id = f.slice_out JOIN {slice} AS b ON b.id = f.slice_in
		WHERE a.ts < {to} AND (a.ts >= {from} OR a.ts + a.dur > {from}) AND b.ts < {to} AND (b.ts >= {from} OR b.ts + b.dur > {from})`,
	"sched_slice": `SELECT s.ts, s.dur, s.cpu, s.end_state, s.priority, t.tid, t.name FROM {sched_slice} AS s JOIN {thread} AS t USING (utid)
		WHERE s.ts < {to} AND (s.ts >= {from} OR s.dur = -1 OR s.ts + s.dur > {from})`,
	"thread_state": `SELECT s.ts, s.dur, s.cpu, s.state, s.io_wait, t.tid, w.tid FROM {thread_state} AS s JOIN {thread} AS t USING (utid)
		LEFT JOIN {thread} AS w ON w.utid = s.waker_utid WHERE s.ts < {to} AND (s.ts >= {from} OR s.dur = -1 OR s.ts + s.dur > {from})`,
	"counter": `SELECT c.ts, c.value, k.name, k.unit, k.cpu, p.pid, t.tid FROM {counter} AS c JOIN {counter_track} AS k ON k.id = c.track_id
		LEFT JOIN {thread} AS t ON t.utid = k.utid LEFT JOIN {process} AS p ON p.upid = k.upid
		WHERE c.ts < {to} AND c.ts >= (SELECT coalesce(max(ts), {from}) FROM {counter} AS b WHERE b.track_id = c.track_id AND b.ts <= {from})`,
}

const argsOf = `(SELECT string_agg(a.flat_key || '=' || concat(a.int_value, a.string_value, a.real_value), ' ' ORDER BY a.flat_key, a.id) FROM {args} AS a
	WHERE a.arg_set_id = s.arg_set_id)`

// TestCutTrace compares the rows in a range of a Perfetto trace that was cut with those of the whole.
func TestCutTrace(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	traces := append([]string{recorded(t, "chromium.pftrace.gz"), recorded(t, "frames.pftrace")}, shared(t, "perfetto/0xZOne__*")...)
	for _, trace := range append(traces, shared(t, "perfetto/Gracker__Perfetto-Skills__*")...) {
		dir, rows := t.TempDir(), 0
		tpconvert(t, dir, "-q", trace, "whole").expect(t, exitDone, "")
		whole := manifestAt(t, dir, "whole", "_tpconvert.json")
		for _, tenths := range [][2]int64{{1, 2}, {4, 5}, {8, 11}} {
			from, to := *whole.Start+tenths[0]*(*whole.End-*whole.Start)/10, *whole.Start+tenths[1]*(*whole.End-*whole.Start)/10
			span := []string{"--from", strconv.FormatInt(from, 10), "--to", strconv.FormatInt(to, 10)}
			tpconvert(t, dir, append([]string{"cut", "-q", "-f", trace, "-o", "part.pftrace"}, span...)...).expect(t, exitDone, "")
			tpconvert(t, dir, "-q", "--force", "part.pftrace", "part").expect(t, exitDone, "")
			for table, query := range withNames {
				if _, err := os.Stat(filepath.Join(dir, "whole", table+".parquet")); err != nil {
					continue
				}
				from, to := from, to
				if table == "sched_slice" || table == "thread_state" { // these stay outside of the range, too
					from, to = 0, math.MaxInt64
				}
				of := func(folder string) string {
					text := strings.NewReplacer("{from}", strconv.FormatInt(from, 10), "{to}", strconv.FormatInt(to, 10)).Replace(query)
					return strings.NewReplacer("{", "'"+filepath.Join(dir, folder)+"/", "}", ".parquet'").Replace(text)
				}
				differ(t, db, trace+": "+table, of("whole"), of("part"))
				var n int
				if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM ("+of("whole")+")").Scan(&n); err != nil {
					t.Fatal(err)
				}
				rows += n
			}
		}
		if rows == 0 {
			t.Errorf("%s: no rows are compared", trace)
		}
	}
}

func TestCutTraceRefuses(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"a.json": `[{"ph":"X","ts":10,"dur":10,"pid":1,"tid":1,"name":"a"}]`, "there.pftrace": "x"})
	if err := os.Mkdir(filepath.Join(dir, "out"), 0o777); err != nil {
		t.Fatal(err)
	}
	for args, message := range map[string]string{
		"cut a.json -o part.json --from 1us":       "only Perfetto's own traces are cut as traces",
		"cut a.json -o a.json -f --from 1us":       "is a folder or the trace itself",
		"cut a.json -o out --from 1us":             "is a folder or the trace itself",
		"cut none.pftrace -o p.pftrace --from 1us": "no such file",
	} {
		if r := tpconvert(t, dir, strings.Fields(args)...); r.code == exitDone || !strings.Contains(r.stderr, message) {
			t.Errorf("%s: %d, %s", args, r.code, r.stderr)
		}
	}
	trace := recorded(t, "frames.pftrace")
	tpconvert(t, dir, "cut", trace, "-o", "part.pftrace", "--from", "1h").expect(t, exitUsage, "tpconvert: "+trace+": --from 1h0m0s is after the end")
	if r := tpconvert(t, dir, "cut", trace, "-o", "there.pftrace", "--from", "1us"); r.code == exitDone {
		t.Errorf("a file is replaced: %s", r.stderr)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "there.pftrace")); err != nil || string(text) != "x" {
		t.Errorf("the file is %q, %v", text, err)
	}
	if got := names(t, dir); len(got) != 3 {
		t.Errorf("left: %v", got)
	}
}

// TestCutTraceNamesThreads cuts off the only marks that say which process a thread is of, ends of what began before the trace. A slice that is open at the end of the
// range ends all the same.
func TestCutTraceNamesThreads(t *testing.T) {
	t.Parallel()
	_, trace, err := tracecase.Trace(&txtar.File{Name: "t.textproto", Data: []byte(`packet { ftrace_events { cpu: 0
  event { timestamp: 1000 pid: 7 print { buf: "B|7|long\n" } }
  event { timestamp: 2000 pid: 7 sched_switch { prev_comm: "app" prev_pid: 7 prev_state: 1 next_comm: "late" next_pid: 9 } }
  event { timestamp: 5000 pid: 9 print { buf: "E|7\n" } }
  event { timestamp: 5100 pid: 9 print { buf: "E|7\n" } }
  event { timestamp: 6000 pid: 7 print { buf: "B|7|inside\n" } }
  event { timestamp: 6100 pid: 7 print { buf: "E|7\n" } }
  event { timestamp: 7000 pid: 7 print { buf: "E|7\n" } } } }
`)})
	if err != nil {
		t.Fatal(err)
	}
	dir := folder(t, map[string]string{"a.pftrace": string(trace)})
	tpconvert(t, dir, "cut", "-q", "a.pftrace", "-o", "b.pftrace", "--from", "1500", "--to", "3000").expect(t, exitDone, "")
	ask := func(name, query, want string) {
		t.Helper()
		if got := tpconvert(t, dir, "query", "--format", "csv", name, query); got.stdout != want {
			t.Errorf("%s: %s gives %q, want %q; %s", name, query, got.stdout, want, got.stderr)
		}
	}
	for _, name := range []string{"a", "b"} {
		tpconvert(t, dir, "-q", name+".pftrace", name).expect(t, exitDone, "")
		ask(name, "SELECT tid, pid FROM thread LEFT JOIN process USING (upid) WHERE tid > 0 ORDER BY tid", "tid,pid\n7,7\n9,7\n")
		ask(name, "SELECT ts, dur FROM slice WHERE name = 'long'", "ts,dur\n1000,6000\n")
	}
	ask("b", "SELECT name, dur FROM slice WHERE ts > 3000", "name,dur\nend,0\n")
}

// TestCutTraceEndsOfOtherEvents has a reply to a call from before the trace, which ends the innermost slice of the thread, as in Trace
// Processor. Neither it nor the slice that it ends is in the part, or it would end what reaches into the range.
func TestCutTraceEndsOfOtherEvents(t *testing.T) {
	t.Parallel()
	_, trace, err := tracecase.Trace(&txtar.File{Name: "t.textproto", Data: []byte(`packet { ftrace_events { cpu: 0
  event { timestamp: 1000 pid: 7 print { buf: "B|7|long\n" } }
  event { timestamp: 2000 pid: 7 print { buf: "B|7|inside\n" } }
  event { timestamp: 2100 pid: 7 print { buf: "E|7\n" } }
  event { timestamp: 4000 pid: 7 print { buf: "B|7|after\n" } }
  event { timestamp: 4400 pid: 8 binder_transaction { debug_id: 5 reply: 1 to_proc: 7 to_thread: 7 } }
  event { timestamp: 4500 pid: 7 binder_transaction_received { debug_id: 5 } }
  event { timestamp: 5000 pid: 7 print { buf: "E|7\n" } } } }
`)})
	if err != nil {
		t.Fatal(err)
	}
	dir := folder(t, map[string]string{"a.pftrace": string(trace)})
	tpconvert(t, dir, "cut", "-q", "a.pftrace", "-o", "b.pftrace", "--from", "1500", "--to", "3000").expect(t, exitDone, "")
	for name, after := range map[string]string{"a": "after,4000,500\n", "b": ""} {
		tpconvert(t, dir, "-q", name+".pftrace", name).expect(t, exitDone, "")
		got := tpconvert(t, dir, "query", "--format", "csv", name, "SELECT name, ts, dur FROM slice ORDER BY ts")
		if want := "name,ts,dur\nlong,1000,4000\ninside,2000,100\n" + after; got.stdout != want {
			t.Errorf("%s: %s, want %s", name, got.stdout, want)
		}
	}
}

// TestCutTraceLeavesOutMarksAndSizes cuts off what was before: marks but the first, which names the process of its thread, and sizes but the
// first of an address space, which says whose it is.
func TestCutTraceLeavesOutMarksAndSizes(t *testing.T) {
	t.Parallel()
	_, trace, err := tracecase.Trace(&txtar.File{Name: "t.textproto", Data: []byte(`packet { ftrace_events { cpu: 0
  event { timestamp: 1000 pid: 7 print { buf: "B|7|first\n" } }
  event { timestamp: 1100 pid: 7 print { buf: "E|7\n" } }
  event { timestamp: 1200 pid: 7 rss_stat { member: 1 size: 4096 mm_id: 5 curr: 1 } }
  event { timestamp: 1300 pid: 7 rss_stat { member: 0 size: 4096 mm_id: 5 curr: 1 } }
  event { timestamp: 1400 pid: 7 rss_stat { member: 1 size: 8192 mm_id: 5 curr: 1 } }
  event { timestamp: 1500 pid: 7 print { buf: "B|7|before\n" } }
  event { timestamp: 1600 pid: 7 print { buf: "E|7\n" } }
  event { timestamp: 1700 pid: 7 rss_stat { member: 1 size: 12288 mm_id: 5 curr: 1 } }
  event { timestamp: 3000 pid: 7 print { buf: "B|7|inside\n" } }
  event { timestamp: 3100 pid: 9 rss_stat { member: 1 size: 16384 mm_id: 5 curr: 0 } }
  event { timestamp: 3200 pid: 7 print { buf: "E|7\n" } } } }
`)})
	if err != nil {
		t.Fatal(err)
	}
	dir := folder(t, map[string]string{"a.pftrace": string(trace)})
	tpconvert(t, dir, "cut", "-q", "a.pftrace", "-o", "b.pftrace", "--from", "2000", "--to", "4000").expect(t, exitDone, "")
	tpconvert(t, dir, "-q", "b.pftrace", "b").expect(t, exitDone, "")
	for query, want := range map[string]string{
		"SELECT ts, name FROM slice ORDER BY ts": "ts,name\n1000,first\n3000,inside\n",
		`SELECT c.ts, value::BIGINT AS value, k.name, pid FROM counter c JOIN process_counter_track k ON k.id = track_id JOIN process USING (upid)
			ORDER BY c.ts`: "ts,value,name,pid\n1200,4096,mem.rss.anon,7\n1300,4096,mem.rss.file,7\n1700,12288,mem.rss.anon,7\n3100,16384,mem.rss.anon,7\n",
	} {
		if got := tpconvert(t, dir, "query", "--format", "csv", "b", query); got.stdout != want {
			t.Errorf("%s gives %q, want %q; %s", query, got.stdout, want, got.stderr)
		}
	}
}

// TestCutTraceAddsSteps has counters whose values are steps from the last one: those of events that go become one instant.
func TestCutTraceAddsSteps(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString(`packet { trusted_packet_sequence_id: 1 track_descriptor { uuid: 1 thread { pid: 7 tid: 7 } } }
packet { trusted_packet_sequence_id: 1 track_descriptor { uuid: 2 parent_uuid: 1 counter { is_incremental: true } } }
`)
	for i := range 8 {
		fmt.Fprintf(&text, `packet { trusted_packet_sequence_id: 1 timestamp: %d track_event { type: TYPE_INSTANT name: "e" track_uuid: 1
  extra_counter_track_uuids: 2 extra_counter_values: %d } }
`, 1000+100*i, 1<<i)
	}
	_, trace, err := tracecase.Trace(&txtar.File{Name: "t.textproto", Data: []byte(text.String())})
	if err != nil {
		t.Fatal(err)
	}
	dir := folder(t, map[string]string{"a.pftrace": string(trace)})
	tpconvert(t, dir, "cut", "-q", "a.pftrace", "-o", "b.pftrace", "--from", "1550", "--to", "1650").expect(t, exitDone, "")
	tpconvert(t, dir, "-q", "b.pftrace", "b").expect(t, exitDone, "")
	got := tpconvert(t, dir, "query", "--format", "csv", "b", "SELECT ts, value::BIGINT AS value FROM counter ORDER BY ts")
	if want := "ts,value\n1000,1\n1400,31\n1500,63\n1600,127\n"; got.stdout != want {
		t.Errorf("%q, want %q; %s", got.stdout, want, got.stderr)
	}
}
