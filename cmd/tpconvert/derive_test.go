//go:build cgo

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tpconvert/tpconvert/export"
)

// contentOf returns the contents of all files in a folder and its subfolders.
func contentOf(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			all[path], err = os.ReadFile(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// unchanged checks that a folder has the same files as before.
func unchanged(t *testing.T, dir string, before map[string][]byte) {
	t.Helper()
	after := contentOf(t, dir)
	for path := range after {
		if before[path] == nil {
			t.Errorf("%s is new", path)
		}
	}
	for path, text := range before {
		if !bytes.Equal(after[path], text) {
			t.Errorf("%s changed", path)
		}
	}
}

// TestDerive runs the file of docs/derive.md.
func TestDerive(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "derive.md"))
	if err != nil {
		t.Fatal(err)
	}
	example := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(page)
	dir := folder(t, map[string]string{"definitions.yaml": string(example[1])})
	tpconvert(t, dir, "-q", recorded(t, "chromium.json.gz"), "out").expect(t, exitDone, "")
	out := filepath.Join(dir, "out")
	before := contentOf(t, out)
	converted := rowsOf(t, dir, "out", "FROM slice")
	got := tpconvert(t, dir, "derive", "definitions.yaml", "out")
	got.expect(t, exitDone, "")
	if want := "events long_tasks: 13 rows\nevents tasks_at_once: 3,991 rows\nannotations requests: 5 rows\nalerts slow_script: 1 rows\n"; got.stdout != want {
		t.Errorf("got %s, want %s", got.stdout, want)
	}
	after := contentOf(t, out)
	for path, text := range before {
		if filepath.Ext(path) == ".parquet" && !bytes.Equal(after[path], text) {
			t.Errorf("%s changed", path)
		}
	}
	// By default, SQL counts what the file has.
	for _, flags := range [][]string{nil, {"--perfetto"}} {
		for extra, want := range map[string]string{"": "6033,0,5,1", "--derived": "6046,3991,5,1"} {
			args := append([]string{"query", "--format", "csv"}, flags...)
			if extra != "" {
				args = append(args, extra)
			}
			got := tpconvert(t, dir, append(args, "out", "SELECT (SELECT count(*) FROM slice) AS s, (SELECT count(*) FROM counter) AS c, (SELECT count(*) FROM annotation) AS n, (SELECT count(*) FROM alert) AS a")...)
			if got.expect(t, exitDone, ""); !strings.HasSuffix(got.stdout, "\n"+want+"\n") {
				t.Errorf("%s %s: got %s, want %s", flags, extra, got.stdout, want)
			}
		}
	}
	if got := rowsOf(t, dir, "out", "FROM slice"); got != converted {
		t.Error("rows of slice changed")
	}
	if got := rowsOf(t, dir, "out", "SELECT count(*) AS n FROM 'out/slice.parquet'"); got != "n\n6033\n" {
		t.Errorf("slice.parquet: %s", got)
	}
	if all := derivedRows(t, dir, "out", "FROM slice"); !strings.HasPrefix(all, converted) || all == converted {
		t.Error("derived slices do not follow those of the conversion")
	}
	for sql, want := range map[string]string{
		// Ids follow those of the conversion.
		"SELECT count(*), max(id), min(id) FILTER (track_id >= 95) FROM slice":                                                                                                                        "6046,6045,6033",
		"SELECT count(*), count(DISTINCT track_id) FROM thread_slice AS s JOIN thread_track AS t ON t.id = s.track_id WHERE t.name = 'Long tasks'":                                                    "13,7",
		"SELECT t.type, t.classification, t.unit, extract_arg(t.source_arg_set_id, 'derivation'), min(value), max(value) FROM counter AS c JOIN counter_track AS t ON t.id = c.track_id GROUP BY ALL": "counter_track,global_counter_track_event,tasks,tasks_at_once,0.0,6.0",
		"SELECT slice_id, a.name, text = 'requests ' || link, s.name FROM annotation AS a JOIN slice AS s ON s.id = a.slice_id LIMIT 1":                                                               "1400,requests,true,ResourceSendRequest",
		"SELECT level, a.name, text, a.dur = s.dur, a.utid FROM alert AS a JOIN slice AS s ON s.id = a.slice_id LIMIT 1":                                                                              "warning,slow_script,A script took 1480 µs,true,4",
	} {
		if got := derivedRows(t, dir, "out", sql); !strings.HasSuffix(got, "\n"+want+"\n") {
			t.Errorf("%s\ngives %s, want %s", sql, got, want)
		}
	}
	if again := tpconvert(t, dir, "inspect", "out"); !strings.Contains(again.stdout, "long_tasks") {
		t.Errorf("inspect does not show derivations: %s", again.stdout)
	}
	// Deriving again replaces the rows.
	derived := contentOf(t, out)
	tpconvert(t, dir, "derive", "-q", "definitions.yaml", "out").expect(t, exitDone, "")
	unchanged(t, out, derived)
	tpconvert(t, dir, "derive", "--remove", "long_tasks", "requests", "out").expect(t, exitDone, "")
	if got := derivedRows(t, dir, "out", "SELECT (SELECT count(*) FROM slice), (SELECT count(*) FROM annotation), (SELECT count(*) FROM counter)"); !strings.HasSuffix(got, "\n6033,0,3991\n") {
		t.Errorf("got %s", got)
	}
	tpconvert(t, dir, "derive", "--remove", "out").expect(t, exitDone, "")
	unchanged(t, out, before)
	if all := names(t, dir); !slices.Equal(all, []string{"definitions.yaml", "out"}) {
		t.Errorf("left behind: %v", all)
	}
}

// TestDeriveHelp runs the example of the help.
func TestDeriveHelp(t *testing.T) {
	t.Parallel()
	help := tpconvert(t, t.TempDir(), "derive", "--help").stdout
	from, to := strings.Index(help, "    events:\n"), strings.Index(help, "Queries are DuckDB")
	if from < 0 || to < from {
		t.Fatalf("no example in %s", help)
	}
	dir := folder(t, map[string]string{"definitions.yaml": strings.ReplaceAll(help[from:to], "\n    ", "\n")[4:]})
	tpconvert(t, dir, "-q", recorded(t, "chromium.json.gz"), "out").expect(t, exitDone, "")
	got := tpconvert(t, dir, "derive", "definitions.yaml", "out")
	got.expect(t, exitDone, "")
	if strings.Count(got.stdout, "\n") != 3 || strings.Contains(got.stdout, ": 0 rows") {
		t.Errorf("derived: %s", got.stdout)
	}
	if got := rowsOf(t, dir, "out", "SELECT count(*) AS n FROM annotation WHERE link IS NULL OR link = ''"); got != "n\n0\n" {
		t.Errorf("annotations without a link: %s", got)
	}
	// What the files promise still holds: rows ascend by id.
	for _, name := range []string{"slice", "track", "thread_track", "args"} {
		sql := "SELECT count(*) AS n FROM (SELECT id, lag(id) OVER (ORDER BY file_row_number) AS before FROM read_parquet('out/_derived/" + name + ".parquet', file_row_number = true)) WHERE id <= before"
		if got := rowsOf(t, dir, "out", sql); got != "n\n0\n" {
			t.Errorf("%s is not sorted: %s", name, got)
		}
	}
	m := manifestAt(t, filepath.Join(dir, "out"), "_tpconvert.json")
	named := func(name string) func(export.Table) bool { return func(t export.Table) bool { return t.Name == name } }
	if at := slices.IndexFunc(m.Tables, named("slice")); m.Tables[at].Rows != 6033 {
		t.Errorf("slice: %+v", m.Tables[at])
	}
	if at := slices.IndexFunc(m.DerivedTables, named("slice")); at < 0 || m.DerivedTables[at].Rows == 0 || m.DerivedTables[at].File != "_derived/slice.parquet" {
		t.Errorf("derived: %+v", m.DerivedTables)
	}
}

// derivedRows is rowsOf with derived rows.
func derivedRows(t *testing.T, dir, input, sql string) string {
	t.Helper()
	got := tpconvert(t, dir, "query", "--derived", "--format", "csv", input, sql)
	got.expect(t, exitDone, "")
	return got.stdout
}

// TestDeriveReplacesOnlyItsOwn shows that --force and derive handle the folder of derived rows as a part of the dataset, and
// refuse files that are not.
func TestDeriveReplacesOnlyItsOwn(t *testing.T) {
	t.Parallel()
	dir := dataset(t, goodTrace)
	if err := os.WriteFile(filepath.Join(dir, "d.yaml"), []byte(definitions), 0o666); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, "out", "_derived")
	for range 2 {
		tpconvert(t, dir, "derive", "d.yaml", "out").expect(t, exitDone, "")
		if len(names(t, folder)) == 0 {
			t.Error("no derived files")
		}
		tpconvert(t, dir, "--force", "a.json", "out").expect(t, exitDone, "")
		if _, err := os.Stat(folder); !os.IsNotExist(err) {
			t.Errorf("derived rows of the replaced dataset are left: %v", err)
		}
	}
	tpconvert(t, dir, "derive", "d.yaml", "out").expect(t, exitDone, "")
	if err := os.WriteFile(filepath.Join(folder, "notes"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	tpconvert(t, dir, "--force", "a.json", "out").expect(t, exitFailure, "it also contains _derived/notes")
	tpconvert(t, dir, "derive", "--remove", "out").expect(t, exitFailure, "it also contains _derived/notes")
}

// TestOlderDerivedRows shows that a dataset with derived rows in the files of the conversion is not read as if they were converted.
func TestOlderDerivedRows(t *testing.T) {
	t.Parallel()
	dir := dataset(t, goodTrace)
	path := filepath.Join(dir, "out", "_tpconvert.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	old := regexp.MustCompile(`("name": "slice",\s+)`).ReplaceAllString(string(text), `${1}"converted_rows": 2, "converted_bytes": 10, `)
	if err := os.WriteFile(path, []byte(old), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"query", "out", "FROM slice"}, {"derive", "builtin", "out"}, {"inspect", "out"}, {"register", "out", "x.duckdb"}} {
		tpconvert(t, dir, args...).expect(t, exitFailure, "an older version of tpconvert added derived rows to slice.parquet")
	}
	tpconvert(t, dir, "--force", "a.json", "out").expect(t, exitDone, "")
	tpconvert(t, dir, "query", "out", "FROM slice").expect(t, exitDone, "")
}

const definitions = `
events:
  parts: {query: "SELECT ts, dur, name, utid, dur AS size FROM thread_slice WHERE name = 'part'"}
  queue:
    query: |
      SELECT * FROM (VALUES (1, 10, 'a'), (5, 10, 'b'), (6, 2, 'c'), (30, -1, 'd'), (31, 0, 'e')) AS t (ts, dur, name)
alerts:
  late: {query: "SELECT id AS slice_id, ts, dur FROM slice WHERE name = 'part'", level: error, text: "part took {dur} ns"}
`

// TestDeriveNests shows that overlapping slices are on tracks of their own, in one group.
func TestDeriveNests(t *testing.T) {
	t.Parallel()
	dir := dataset(t, goodTrace)
	if err := os.WriteFile(filepath.Join(dir, "d.yaml"), []byte(definitions), 0o666); err != nil {
		t.Fatal(err)
	}
	tpconvert(t, dir, "derive", "d.yaml", "out").expect(t, exitDone, "")
	got := derivedRows(t, dir, "out", `SELECT s.id, s.name, s.ts, s.dur, s.depth, s.parent_id, t.id AS track, t.name, t.track_group_id, t.utid,
		extract_arg_int(s.arg_set_id, 'size') AS size FROM slice AS s JOIN track AS t ON t.id = s.track_id ORDER BY s.id`)
	if want := `id,name,ts,dur,depth,parent_id,track,name,track_group_id,utid,size
0,work,10000,5000,0,,0,,,2,
1,part,11000,2000,1,0,0,,,2,
2,part,11000,2000,0,,1,parts,,2,2000
3,a,1,10,0,,2,queue,0,,
4,b,5,10,0,,3,queue,0,,
5,c,6,2,1,3,2,queue,0,,
6,d,30,-1,0,,2,queue,0,,
7,e,31,0,1,6,2,queue,0,,
`; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestDeriveManyTraces(t *testing.T) {
	t.Parallel()
	dir := dataset(t, goodTrace, strings.ReplaceAll(goodTrace, "part", "other"))
	if err := os.WriteFile(filepath.Join(dir, "d.yaml"), []byte(definitions), 0o666); err != nil {
		t.Fatal(err)
	}
	before := contentOf(t, filepath.Join(dir, "out"))
	tpconvert(t, dir, "derive", "d.yaml", "out").expect(t, exitDone, "")
	tpconvert(t, dir, "register", "--derived", "out", "derived.duckdb").expect(t, exitDone, "")
	tpconvert(t, dir, "register", "out", "converted.duckdb").expect(t, exitDone, "")
	const counted = "SELECT count(*) AS slices, (SELECT count(*) FROM alert) AS alerts FROM slice"
	for _, input := range []string{"out", "converted.duckdb"} {
		if got := rowsOf(t, dir, input, counted); got != "slices,alerts\n4,1\n" {
			t.Errorf("%s: %s", input, got)
		}
	}
	if got := rowsOf(t, dir, "out", "SELECT count(*) AS n FROM 'out/trace_id=*/slice.parquet'"); got != "n\n4\n" {
		t.Errorf("the pattern of the table finds %s", got)
	}
	for _, input := range []string{"out", "derived.duckdb"} {
		got := derivedRows(t, dir, input, `SELECT t.name, count(*) AS slices, (SELECT count(*) FROM alert AS a WHERE a.trace_id = t.trace_id) AS alerts
			FROM slice JOIN trace AS t USING (trace_id) GROUP BY ALL ORDER BY ALL`)
		if want := "name,slices,alerts\na.json,8,1\nb.json,7,0\n"; got != want {
			t.Errorf("%s: got %s, want %s", input, got, want)
		}
	}
	tpconvert(t, dir, "derive", "--remove", "out").expect(t, exitDone, "")
	unchanged(t, filepath.Join(dir, "out"), before)
	// A trace knows its own id, although its files do not have it.
	const own = "alerts:\n  own: {query: SELECT trace_id AS id FROM trace, level: warning, text: 'id {id}'}\n"
	for _, dialect := range []string{"", "dialect: perfetto\n"} {
		if err := os.WriteFile(filepath.Join(dir, "own.yaml"), []byte(dialect+own), 0o666); err != nil {
			t.Fatal(err)
		}
		tpconvert(t, dir, "derive", "own.yaml", "out").expect(t, exitDone, "")
		if got := rowsOf(t, dir, "out", `SELECT count(*) AS n FROM alert WHERE text = 'id ' || trace_id`); got != "n\n2\n" {
			t.Errorf("%salerts with their traces' ids: %s", dialect, got)
		}
	}
	tpconvert(t, dir, "alerts", "own.yaml", "out").expect(t, exitDone, "")
}

func TestDeriveErrors(t *testing.T) {
	t.Parallel()
	dir := dataset(t, goodTrace)
	before := contentOf(t, filepath.Join(dir, "out"))
	for _, test := range []struct{ text, want string }{
		{"", "bad.yaml: the file is empty"},
		{"events: {}\n", "bad.yaml: it defines nothing"},
		{"events:\n\ta: 1\n", "bad.yaml:2: found character that cannot start any token"},
		{"events:\n  a: 1\n", "bad.yaml:2: a: want keys and values"},
		{"event:\n  a: {query: SELECT 1}\n", `bad.yaml:1: unknown key "event"`},
		{"events:\n  a:\n    query: SELECT 1\n    txt: x\n", `bad.yaml:4: a: unknown key "txt"`},
		{"events:\n  a: {query: SELECT 1 AS ts}\n  a: {query: SELECT 1 AS ts}\n", "bad.yaml:3: a is there twice"},
		{"events:\n  a: {query: SELECT 1 AS ts}\nalerts:\n  a: {query: SELECT 1, level: error, text: x}\n", "bad.yaml:4: a is there twice"},
		{"alerts:\n  a: {query: SELECT 1, level: fatal, text: x}\n", `bad.yaml:2: a: level "fatal"`},
		{"alerts:\n  a: {level: error, text: x}\n", "bad.yaml:2: a: the key query is missing"},
		{"dialect: sqlite\nevents:\n  a: {query: SELECT 1 AS ts}\n", `bad.yaml:1: dialect "sqlite"`},
		{"alerts:\n  a:\n    query: |\n      SELECT 1,\n        nothing\n    level: error\n    text: x\n", `bad.yaml:5: a: Binder Error: Referenced column "nothing" was not found`},
		{"alerts:\n  a:\n    query: SELEC 1\n    level: error\n    text: x\n", "bad.yaml:3: a: Parser Error"},
		{"dialect: perfetto\nalerts:\n  a:\n    query: |\n      SELECT 1;\n      SELECT 2\n    level: error\n    text: x\n", "only the last statement may give rows"},
		{"alerts:\n  a: {query: 'SELECT 1 AS b', level: error, text: '{c}'}\n", `bad.yaml:2: a: "{c}" names {c}, but the columns are b`},
		{"alerts:\n  a: {query: 'CREATE TABLE x (i INT)', level: error, text: x}\n", "bad.yaml:2: a: the query gives no rows"},
		{"alerts:\n  a: {query: 'SELECT 7 AS slice_id', level: error, text: x}\n", "row 1 has 7, but the table slice has no such id"},
		{"annotations:\n  a: {query: 'SELECT -1 AS slice_id', text: x}\n", "row 1 has -1, but the table slice has no such id"},
		{"annotations:\n  a: {query: 'SELECT 1 AS id', text: x}\n", "the query has no column slice_id, only id"},
		{"annotations:\n  a: {query: 'SELECT NULL AS slice_id', text: x}\n", "column slice_id: row 1 has NULL"},
		{"events:\n  a: {query: SELECT name AS ts FROM slice}\n", "column ts: row 1 has work, want an integer"},
		{"events:\n  a: {query: SELECT 1.5 AS ts}\n", "column ts: row 1 has 1.5, want an integer"},
		{"events:\n  a: {query: SELECT 1 AS dur}\n", "the query has no column ts, only dur"},
		{"events:\n  a: {query: 'SELECT 1 AS ts, -5 AS dur'}\n", "column dur: row 1 has -5"},
		{"events:\n  a: {query: 'SELECT 1 AS ts, 1 AS dur, 1 AS value'}\n", "both dur, for slices, and value, for counters"},
		{"events:\n  a: {query: 'SELECT 1 AS ts, NULL AS value'}\n", "want a number"},
		{"events:\n  a: {query: 'SELECT 1 AS ts, 99 AS utid'}\n", "the table thread has no such id"},
		{"events:\n  a: {query: 'SELECT 1 AS ts, 0 AS utid, 0 AS upid'}\n", "only one of utid, upid and cpu"},
		{"events:\n  a: {query: 'COPY slice TO ''x.csv'''}\n", "COPY is not allowed"},
	} {
		if err := os.WriteFile(filepath.Join(dir, "bad.yaml"), []byte(test.text), 0o666); err != nil {
			t.Fatal(err)
		}
		tpconvert(t, dir, "derive", "builtin", "bad.yaml", "out").expect(t, exitFailure, test.want)
	}
	tpconvert(t, dir, "derive", "out").expect(t, exitUsage, "FILE is missing")
	tpconvert(t, dir, "derive", "--remove", "a", "out").expect(t, exitUsage, "nothing named a was derived")
	tpconvert(t, dir, "derive", "builtin", "a.json").expect(t, exitFailure, "not a dataset")
	unchanged(t, filepath.Join(dir, "out"), before)
	if all := names(t, dir); !slices.Equal(all, []string{"a.json", "bad.yaml", "out"}) {
		t.Errorf("left behind: %v", all)
	}
}

func TestDeriveKilled(t *testing.T) {
	t.Parallel()
	dir := dataset(t, goodTrace)
	before := contentOf(t, filepath.Join(dir, "out"))
	endless := "events:\n  a: {query: SELECT 1 AS ts}\n  b: {query: SELECT sum(a.range) AS ts FROM range(100000000) AS a CROSS JOIN range(100000000) AS b}\n"
	for name, text := range map[string]string{"endless.yaml": endless, "d.yaml": definitions} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	cmd := command(t, dir, "derive", "endless.yaml", "out")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for range 600 { // until its folder is there
		if len(names(t, dir)) > 4 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if len(names(t, dir)) <= 4 {
		t.Error("nothing to clean up: the test shows nothing")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	unchanged(t, filepath.Join(dir, "out"), before)
	tpconvert(t, dir, "derive", "d.yaml", "out").expect(t, exitDone, "")
	if all := names(t, dir); !slices.Equal(all, []string{"a.json", "d.yaml", "endless.yaml", "out"}) {
		t.Errorf("not cleaned up: %v", all)
	}
}

// androidTrace has an ANR, a kill, two times of throttling, and a fan.
const androidTrace = `# tracer: nop
#
 system_server-1000  ( 1000) [000] .... 10.000000: tracing_mark_write: C|1000|ErrorId:com.example.app 300#0b1c2d|1
          lmkd-100   (  100) [000] .... 11.000000: tracing_mark_write: C|100|kill_one_process|300
           app-300   (  300) [000] .... 11.500000: binder_transaction: transaction=1 dest_node=2 dest_proc=1000 dest_thread=0 reply=0 flags=0x10 code=0x1
 system_server-1000  ( 1000) [000] .... 11.500100: binder_transaction_received: transaction=1
 system_server-1000  ( 1000) [000] .... 11.700000: binder_transaction: transaction=2 dest_node=0 dest_proc=300 dest_thread=300 reply=1 flags=0x0 code=0x0
           app-300   (  300) [000] .... 11.700100: binder_transaction_received: transaction=2
     kworker/0-5     (    5) [000] .... 12.000000: cdev_update: type=thermal-cpufreq-0 target=0
     kworker/0-5     (    5) [000] .... 12.500000: cdev_update: type=thermal-cpufreq-0 target=2
     kworker/0-5     (    5) [000] .... 13.000000: cdev_update: type=thermal-cpufreq-0 target=3
     kworker/0-5     (    5) [000] .... 14.000000: cdev_update: type=thermal-cpufreq-0 target=0
     kworker/0-5     (    5) [000] .... 14.500000: cdev_update: type=thermal-cpufreq-0 target=1
     kworker/0-5     (    5) [000] .... 14.600000: cdev_update: type=fan target=1
     kworker/0-5     (    5) [000] .... 14.700000: nonsense: what=1
     kworker/0-5     (    5) [000] .... 14.800000: sched_switch: nothing
`

const androidAlerts = `level,name,text,ts,dur,slice_id,utid,upid
warning,long_binder_call,The main thread of app waited 200 ms for a binder call,11500000000,200100000,1,3,3
error,anr,com.example.app is not responding (ANR),10000000000,,,,3
warning,lost_data,Data is lost: systrace_parse_failure is 1,,,,,
warning,memory_kill,Process 300 was killed because memory was low,11000000000,,0,,3
warning,thermal_throttling,thermal-cpufreq-0 was throttled to state 3 because of heat,12500000000,1500000000,,,
warning,thermal_throttling,thermal-cpufreq-0 was throttled to state 1 because of heat,14500000000,100000000,,,
`

func TestBuiltinAlerts(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"trace.txt": androidTrace})
	tpconvert(t, dir, "-q", "trace.txt", "out").expect(t, exitDone, "")
	tpconvert(t, dir, "register", "out", "trace.duckdb").expect(t, exitDone, "")
	for _, input := range []string{"trace.txt", "out", "trace.duckdb"} {
		got := tpconvert(t, dir, "alerts", "--format", "csv", input)
		got.expect(t, exitAlert, "alerts of level error: 1")
		if got.stdout != androidAlerts {
			t.Errorf("%s: got\n%s\nwant\n%s", input, got.stdout, androidAlerts)
		}
	}
	// They are the same rows once they are stored, and are not listed twice.
	tpconvert(t, dir, "derive", "builtin", "out").expect(t, exitDone, "")
	got := tpconvert(t, dir, "alerts", "--format", "csv", "out")
	if got.expect(t, exitAlert, ""); got.stdout != androidAlerts {
		t.Errorf("got\n%s\nwant\n%s", got.stdout, androidAlerts)
	}
	if got := rowsOf(t, dir, "out", "SELECT level, name, text, ts, dur, slice_id, utid, upid FROM alert"); got != androidAlerts {
		t.Errorf("got\n%s\nwant\n%s", got, androidAlerts)
	}
}

func TestAlerts(t *testing.T) {
	t.Parallel()
	dir := dataset(t, goodTrace)
	own := "dialect: perfetto\nalerts:\n  part: {query: 'SELECT ts FROM slice WHERE name GLOB \"p*t\"', level: warning, text: a part}\n"
	if err := os.WriteFile(filepath.Join(dir, "own.yaml"), []byte(own), 0o666); err != nil {
		t.Fatal(err)
	}
	if got := tpconvert(t, dir, "alerts", "--json", "a.json"); got.code != exitDone || got.stdout != "" && got.stdout != "\n" {
		t.Errorf("a trace without alerts: exit code %d, %q, %s", got.code, got.stdout, got.stderr)
	}
	for _, format := range [][]string{{"--json"}, {"--format", "ndjson"}} {
		got := tpconvert(t, dir, append([]string{"alerts", "own.yaml", "a.json"}, format...)...)
		if want := `{"level":"warning","name":"part","text":"a part","ts":11000,"dur":null,"slice_id":null,"utid":null,"upid":null}` + "\n"; got.code != exitDone || got.stdout != want {
			t.Errorf("%s: exit code %d, got %s, want %s", format, got.code, got.stdout, want)
		}
	}
	stdin := command(t, dir, "alerts", "own.yaml", "-", "--format", "csv")
	stdin.Stdin = strings.NewReader(goodTrace)
	if got := finish(t, stdin); !strings.Contains(got.stdout, "a part") {
		t.Errorf("standard input: %v", got)
	}
	many := dataset(t, goodTrace, strings.ReplaceAll(goodTrace, "part", "other"))
	if got := tpconvert(t, many, "alerts", filepath.Join(dir, "own.yaml"), "out", "--format", "csv"); strings.Count(got.stdout, "a part") != 1 || !strings.HasPrefix(got.stdout, "trace_id,") {
		t.Errorf("many traces: %v", got)
	}
	tpconvert(t, many, "register", "out", "many.duckdb").expect(t, exitDone, "")
	tpconvert(t, many, "alerts", "many.duckdb").expect(t, exitFailure, "has many traces")
	tpconvert(t, dir, "alerts", "missing.json").expect(t, exitFailure, "no such file")
	tpconvert(t, dir, "alerts", "--format", "xml", "out").expect(t, exitUsage, "want one of")
}
