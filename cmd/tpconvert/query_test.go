//go:build cgo

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/tpconvert/tpconvert/model/table"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

const twoSlices = "SELECT name, dur, depth, thread_ts, category FROM slice ORDER BY ts"

// TestSliceLayout places slices of several tracks as Trace Processor v58 does.
func TestSliceLayout(t *testing.T) {
	dir := t.TempDir()
	const trace = `[{"ph":"X","pid":1,"tid":1,"ts":0,"dur":10,"name":"a"},{"ph":"X","pid":1,"tid":1,"ts":2,"dur":3,"name":"in a"},
{"ph":"X","pid":1,"tid":2,"ts":5,"dur":3,"name":"beside a"},{"ph":"X","pid":1,"tid":1,"ts":10,"dur":2,"name":"after a"},
{"ph":"X","pid":1,"tid":2,"ts":10,"dur":0,"name":"instant"},{"ph":"B","pid":1,"tid":3,"ts":11,"name":"unfinished"},
{"ph":"X","pid":1,"tid":2,"ts":20,"dur":2,"name":"beside unfinished"}]`
	if err := os.WriteFile(filepath.Join(dir, "t.json"), []byte(trace), 0o666); err != nil {
		t.Fatal(err)
	}
	const sql = `CREATE PERFETTO FUNCTION rows_of(track_ids STRING) RETURNS INT AS SELECT max(layout_depth) + 1 FROM experimental_slice_layout($track_ids);
CREATE PERFETTO FUNCTION rows_unless(n INT, track_ids STRING) RETURNS INT AS
SELECT iif($n = 1, 9, (SELECT max(layout_depth) + 1 FROM experimental_slice_layout($track_ids)));
SELECT s.name, l.layout_depth AS depth, rows_of(t.ids) AS n, rows_unless(1, t.ids) AS one, rows_unless(2, t.ids) AS two, rows_unless(NULL, t.ids) AS none
FROM (SELECT group_concat(id) AS ids FROM track) AS t JOIN experimental_slice_layout(t.ids) AS l JOIN slice AS s USING (id) ORDER BY s.id`
	want := `"name","depth","n","one","two","none"
"a",0,3,9,3,3
"in a",1,3,9,3,3
"beside a",2,3,9,3,3
"after a",0,3,9,3,3
"instant",0,3,9,3,3
"unfinished",0,3,9,3,3
"beside unfinished",1,3,9,3,3
`
	if got := rowsOf(t, dir, "t.json", sql, "--perfetto"); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestSmallFunctions calls functions of SQLite and Trace Processor v58, with its results.
func TestSmallFunctions(t *testing.T) {
	t.Parallel()
	dir := dataset(t, goodTrace)
	for call, want := range map[string]string{
		"hex(NULL), typeof(NULL)": `"","null"`,
		"octet_length(x'0102'), octet_length('é'), octet_length(5), hex(zeroblob(2))":                                                                                                                         `2,2,1,"0000"`,
		"mod(-7, 3), mod(7, 0), mod(7.5, 2), like('A%', 'ab'), likelihood(3, 0.5)":                                                                                                                            `-1.000000,"[NULL]",1.500000,1,3`,
		"json_type('{}'), json_type('[2.5, true]', '$[0]'), json_type('[1, true]', '$[1]'), json_type('7'), json_type('\"a\"')":                                                                               `"object","real","true","integer","text"`,
		"percentile_cont(column1, 0.4), percentile_disc(column1, 0.4), median(column1) FROM (VALUES (1), (5), (2), (9))":                                                                                      "2.600000,2.000000,3.500000",
		"__intrinsic_ln(2), __intrinsic_regexp_with_flags('A', 'a', 'i'), __intrinsic_to_timecode(1), __intrinsic_demangle('_Z1fv')":                                                                          `0.693147,1,"00:00:00 000 000 001","f()"`,
		"json_extract(x, '$.a') + 1, json_extract(x, '$.b[1]'), json_extract(x, '$.b'), x ->> 'a' > 9, x ->> '$.c', x -> 'c', x ->> 'd' FROM (SELECT '{\"a\":5,\"b\":[1, 2.5],\"c\":\"t\",\"d\":true}' AS x)": `6,2.500000,"[1,2.5]",0,"t",""t"",1`,
		"group_concat(key || type || (value > 3)) FROM json_each('[5, \"x\", 2.5, true]')":                                                                                                                    `"0integer1,1text1,2real0,3true0"`,
		"key, atom, fullkey FROM json_tree('{\"a\":[7]}') WHERE type = 'integer'":                                                                                                                             `0,7,"$.a[0]"`,
		"hex(__intrinsic_zstd_compress('a')) LIKE '28B52FFD%', __intrinsic_zstd_compress(NULL)":                                                                                                               `1,"[NULL]"`,
		// What is the same for every trace, and the stack_id of module slices.stack, as Trace Processor v58 has them.
		"count(*), min(name), max(name) FROM trace_metrics":                                                                                  `84,"ad_services_metric","webview_jank_approximation"`,
		"count(*), min(name), max(name) FROM __intrinsic_build_flags":                                                                        `34,"PERFETTO_AMALGAMATED_SDK","PERFETTO_ZSTD"`,
		"severity, name FROM _stat_key_to_severity_and_name WHERE key = 2":                                                                   `"error","android_log_num_failed"`,
		"hash(group_concat(hash('|' || name), '|')) FROM (SELECT name FROM slice WHERE id = 1 UNION ALL SELECT name FROM ancestor_slice(1))": "442768129791843476",
		"__intrinsic_perf_counter_for_sample(NULL, 'x')":                                                                                     `"[NULL]"`,
	} {
		_, got, _ := strings.Cut(rowsOf(t, dir, "out", "SELECT "+call, "--perfetto"), "\n")
		if got != want+"\n" {
			t.Errorf("%s: got %q, want %q", call, got, want)
		}
	}
	for call, want := range map[string]string{
		"percentile_disc(id, 1.5)":                    "percentile_disc: the fraction is not between 0.0 and 1.0",
		"__intrinsic_zstd_compress(1)":                "__intrinsic_zstd_compress: the argument is neither a text nor a BLOB",
		"__intrinsic_perf_counter_for_sample(1, 'x')": "there is no sample 1",
	} {
		tpconvert(t, dir, "query", "--perfetto", "out", "SELECT "+call+" FROM slice").expect(t, exitFailure, want)
	}
}

// TestWindow has the steps of a time window, as in Trace Processor v58.
func TestWindow(t *testing.T) {
	t.Parallel()
	dir := dataset(t, goodTrace)
	for _, c := range []struct{ window, rows string }{
		{"10, 35, 10", "10,10,0\n20,10,1\n30,10,2\n40,10,3\n"},
		{"10, 35, 0", "10,35,0\n"},
		{"-5, 3000000000000, 1500000000000", "-5,1500000000000,0\n1499999999995,1500000000000,1\n"},
		{"1, 0, 0", ""},
	} {
		sql := "CREATE VIRTUAL TABLE w USING __intrinsic_window(" + c.window + "); SELECT * FROM w ORDER BY ts; DROP TABLE w"
		if got, want := rowsOf(t, dir, "out", sql, "--perfetto"), "\"ts\",\"dur\",\"quantum_ts\"\n"+c.rows; got != want {
			t.Errorf("%s: got %q, want %q", c.window, got, want)
		}
	}
	const join = `CREATE VIEW s AS SELECT 3 AS ts, 20 AS dur; CREATE VIRTUAL TABLE w USING __intrinsic_window(0, 40, 10);
CREATE VIRTUAL TABLE j USING span_join(w, s); SELECT * FROM j ORDER BY ts`
	want := "\"ts\",\"dur\",\"quantum_ts\"\n3,7,0\n10,10,1\n20,3,2\n"
	if got := rowsOf(t, dir, "out", join, "--perfetto"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for arguments, want := range map[string]string{
		"":            "want 3 arguments, not 0",
		"(1, 2)":      "want 3 arguments, not 2",
		"(1, 2, x)":   `the argument "x" is not an integer`,
		"(0, 10, -1)": "the step -1 is negative",
	} {
		tpconvert(t, dir, "query", "--perfetto", "out", "CREATE VIRTUAL TABLE w USING __intrinsic_window"+arguments).expect(t, exitFailure, want)
	}
}

// TestMipmaps draws slices and a counter with one row for each step of 10 us, as Trace Processor v58 does.
func TestMipmaps(t *testing.T) {
	dir := t.TempDir()
	const trace = `[{"ph":"X","pid":1,"tid":1,"ts":0,"dur":10,"name":"a"},{"ph":"X","pid":1,"tid":1,"ts":2,"dur":3,"name":"in a"},
{"ph":"X","pid":1,"tid":1,"ts":6,"dur":2,"name":"in a, shorter"},{"ph":"X","pid":1,"tid":1,"ts":12,"dur":2,"name":"b"},
{"ph":"X","pid":1,"tid":1,"ts":15,"dur":2,"name":"c"},{"ph":"X","pid":1,"tid":1,"ts":35,"dur":4,"name":"d"},
{"ph":"C","pid":1,"ts":1,"name":"n","args":{"n":5}},{"ph":"C","pid":1,"ts":3,"name":"n","args":{"n":1}},
{"ph":"C","pid":1,"ts":9,"name":"n","args":{"n":2}},{"ph":"C","pid":1,"ts":22,"name":"n","args":{"n":7.5}}]`
	if err := os.WriteFile(filepath.Join(dir, "t.json"), []byte(trace), 0o666); err != nil {
		t.Fatal(err)
	}
	const sql = `CREATE VIRTUAL TABLE slices_of USING __intrinsic_slice_mipmap((SELECT id, ts, dur, depth FROM slice WHERE dur > 0));
SELECT m.ts, m.count, m.dur, m.depth, s.name FROM slices_of(3000, 36000, 10000) AS m CROSS JOIN slice AS s USING (id) ORDER BY m.depth, m.ts;
DROP TABLE slices_of;
CREATE VIRTUAL TABLE values_of USING __intrinsic_counter_mipmap((SELECT ts, value FROM counter));
SELECT * FROM values_of(2000, 30000, 10000) ORDER BY last_ts;
SELECT * FROM values_of(3000, 10000, 10000);
SELECT count(*) AS n FROM values_of(3000, 3000, 10000);
DROP TABLE IF EXISTS values_of`
	want := `"ts","count","dur","depth","name"
0,2,10000,0,"a"
15000,1,2000,0,"c"
35000,1,4000,0,"d"
2000,2,3000,1,"in a"

"min_value","max_value","last_ts","last_value"
1.000000,5.000000,9000,2.000000
7.500000,7.500000,22000,7.500000

"min_value","max_value","last_ts","last_value"
1.000000,2.000000,9000,2.000000

"n"
0
`
	if got := rowsOf(t, dir, "t.json", sql, "--perfetto"); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestRegister(t *testing.T) {
	dir := dataset(t, goodTrace)
	for _, flags := range [][]string{{}, {"--paths", "relative"}, {"--materialize"}} {
		t.Run(strings.Join(flags, ""), func(t *testing.T) {
			sub := filepath.Join(dir, "sub"+strings.Join(flags, ""))
			if err := os.Mkdir(sub, 0o777); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(sub, "trace.duckdb")
			tpconvert(t, dir, append([]string{"register", "out", file}, flags...)...).expect(t, exitDone, "")
			// Another client has neither our settings nor our code, but runs in the file's folder.
			t.Chdir(sub)
			d, err := session.OpenDatabase(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			if err := d.Exec(t.Context(), "ATTACH 'trace.duckdb' AS t (READ_ONLY)", "USE t"); err != nil {
				t.Fatal(err)
			}
			for sql, want := range map[string]int{
				"SELECT count(*) FROM slice":                                                     2,
				"SELECT count(*) FROM slice s, ancestor_slice(s.id)":                             1,
				"SELECT count(*) FROM thread_slice WHERE tid = 2":                                2,
				"SELECT count(*) FROM raw":                                                       0, // has no file
				"SELECT count(*) FROM duckdb_columns() WHERE table_name = 'heap_graph_object'":   12,
				"SELECT count(*) FROM duckdb_tables() WHERE table_name = 'slice'":                len(flags) % 2,
				"SELECT count(*) FROM duckdb_views() WHERE view_name = 'slice' AND comment > ''": 1 - len(flags)%2,
			} {
				var got int
				if err := d.Conn.QueryRowContext(t.Context(), sql).Scan(&got); err != nil || got != want {
					t.Errorf("%s = %d, %v, want %d", sql, got, err, want)
				}
			}
		})
	}
}

func TestRegisterRefuses(t *testing.T) {
	t.Parallel()
	dir := dataset(t, goodTrace)
	tpconvert(t, dir, "register", "out", "t.duckdb").expect(t, exitDone, "")
	tpconvert(t, dir, "register", "out", "t.duckdb").expect(t, exitFailure, "already exists")
	tpconvert(t, dir, "register", "-f", "out", "t.duckdb").expect(t, exitDone, "")
	tpconvert(t, dir, "register", "-f", "out", "a.json").expect(t, exitFailure, "not a DuckDB file")
	tpconvert(t, dir, "register", "missing", "m.duckdb").expect(t, exitFailure, "not a dataset")
	tpconvert(t, dir, "register", "--paths", "odd", "out", "m.duckdb").expect(t, exitUsage, "absolute or relative")
	tpconvert(t, dir, "-q", "--format", "arrow", "a.json", "arrow").expect(t, exitDone, "")
	tpconvert(t, dir, "register", "arrow", "m.duckdb").expect(t, exitFailure, "Arrow files")

	held, err := session.OpenDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := held.Attach(t.Context(), filepath.Join(dir, "t.duckdb"), ""); err != nil {
		t.Fatal(err)
	}
	tpconvert(t, dir, "register", "-f", "out", "t.duckdb").expect(t, exitFailure, "t.duckdb is locked by another process")
	tpconvert(t, dir, "query", "t.duckdb", "SELECT 1").expect(t, exitFailure, "t.duckdb is locked by another process")

	manifest := filepath.Join(dir, "out", "_tpconvert.json")
	text, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, fmt.Appendf(nil, `"schema_version": %d`, table.SchemaVersion), []byte(`"schema_version": 0`), 1)
	if err := os.WriteFile(manifest, text, 0o666); err != nil {
		t.Fatal(err)
	}
	tpconvert(t, dir, "register", "out", "m.duckdb").expect(t, exitFailure, "out has schema version 0")
	for _, pattern := range []string{"m.duckdb*", ".*"} {
		if left, _ := filepath.Glob(filepath.Join(dir, pattern)); left != nil {
			t.Errorf("left behind: %q", left)
		}
	}
}

func TestRegisterTwiceAtOnce(t *testing.T) {
	t.Parallel()
	dir := dataset(t, goodTrace)
	tpconvert(t, dir, "register", "out", "t.duckdb").expect(t, exitDone, "")
	for range 3 {
		var outcomes [4]outcome
		var running sync.WaitGroup
		for i := range outcomes {
			running.Go(func() { outcomes[i] = tpconvert(t, dir, "register", "-f", "out", "t.duckdb") })
		}
		running.Wait()
		for _, got := range outcomes {
			got.expect(t, exitDone, "")
		}
	}
	if got := rowsOf(t, dir, "t.duckdb", "SELECT count(*) AS n FROM slice"); got != "n\n2\n" {
		t.Errorf("got %q", got)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); left != nil {
		t.Errorf("left behind: %q", left)
	}
}

func TestRegisterWithConversion(t *testing.T) {
	t.Parallel()
	dir := dataset(t, goodTrace)
	tpconvert(t, dir, "-q", "--duckdb", "both.duckdb", "a.json", "again").expect(t, exitDone, "")
	if got := rowsOf(t, dir, "both.duckdb", "SELECT count(*) AS n FROM slice"); got != "n\n2\n" {
		t.Errorf("got %q", got)
	}
	// The conversion does not start if the DuckDB file exists already.
	tpconvert(t, dir, "-q", "--duckdb", "both.duckdb", "a.json", "third").expect(t, exitFailure, "already exists")
	if _, err := os.Stat(filepath.Join(dir, "third")); err == nil {
		t.Error("converted all the same")
	}
}

func TestDemangle(t *testing.T) {
	t.Parallel()
	dir := dataset(t, `{"traceEvents":[{"ph":"X","pid":1,"tid":2,"ts":1,"dur":5,"name":"n"}],
		"stackFrames":{"1":{"name":"_ZN3foo3barEv"},"2":{"name":"main"}},
		"samples":[{"cpu":0,"tid":2,"ts":2,"name":"s","sf":"1"},{"cpu":0,"tid":2,"ts":3,"name":"s","sf":"2"}]}`)
	tpconvert(t, dir, "register", "out", "t.duckdb").expect(t, exitDone, "")
	const sql = "SELECT name, demangle(name) AS plain, demangle('_Z1fv') AS other FROM stack_profile_frame ORDER BY name"
	const want = "name,plain,other\n_ZN3foo3barEv,foo::bar(),f()\nmain,,f()\n"
	for _, input := range []string{"out", "t.duckdb"} {
		if got := rowsOf(t, dir, input, sql); got != want {
			t.Errorf("%s: got %q, want %q", input, got, want)
		}
	}
	// Other clients know the names of the dataset.
	got := rowsOf(t, dir, "out", "ATTACH '"+filepath.Join(dir, "t.duckdb")+"' AS t (READ_ONLY); USE t; "+sql, "--allow-writes")
	if want := strings.ReplaceAll(want, ",f()\n", ",\n"); got != want {
		t.Errorf("other client: got %q, want %q", got, want)
	}
}

func TestManyTracesStayApart(t *testing.T) {
	t.Parallel()
	dir := dataset(t, goodTrace, lossyTrace)
	tpconvert(t, dir, "register", "out", "many.duckdb").expect(t, exitDone, "")
	for _, input := range []string{"out", "many.duckdb"} {
		got := rowsOf(t, dir, input, `SELECT count(DISTINCT s.trace_id) AS traces, count(*) AS n FROM slice s, ancestor_slice(s.id, s.trace_id);
			SELECT count(DISTINCT trace_id) AS traces, count(DISTINCT local_trace_id) AS own FROM metadata`)
		if want := "traces,n\n2,2\n\ntraces,own\n2,1\n"; got != want {
			t.Errorf("%s: got %q, want %q", input, got, want)
		}
	}
}

func TestQueryFormats(t *testing.T) {
	t.Parallel()
	dir := dataset(t, goodTrace)
	for format, want := range map[string]string{
		"csv": "name,dur,depth,thread_ts,category\nwork,5000,0,,\npart,2000,1,,\n",
		"json": `[{"name":"work","dur":5000,"depth":0,"thread_ts":null,"category":null},
 {"name":"part","dur":2000,"depth":1,"thread_ts":null,"category":null}]
`,
		"ndjson": `{"name":"work","dur":5000,"depth":0,"thread_ts":null,"category":null}
{"name":"part","dur":2000,"depth":1,"thread_ts":null,"category":null}
`,
		"markdown": `| name | dur | depth | thread_ts | category |
| --- | ---: | ---: | ---: | --- |
| work | 5000 | 0 | NULL | NULL |
| part | 2000 | 1 | NULL | NULL |
`,
		"table": `name   dur  depth  thread_ts  category
----  ----  -----  ---------  --------
work  5000      0       NULL  NULL
part  2000      1       NULL  NULL
(2 rows)
`,
	} {
		got := tpconvert(t, dir, "query", "--format", format, "out", twoSlices)
		if got.code != exitDone || got.stdout != want {
			t.Errorf("%s: exit %d %s\n%s\nwant\n%s", format, got.code, got.stderr, got.stdout, want)
		}
	}
	got := tpconvert(t, dir, "query", "--format", "arrow", "out", twoSlices)
	r, err := ipc.NewFileReader(bytes.NewReader([]byte(got.stdout)))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	record, err := r.RecordBatch(0)
	if err != nil || record.NumRows() != 2 || record.Column(0).ValueStr(1) != "part" || !record.Column(3).IsNull(0) {
		t.Errorf("arrow: %v, %v", record, err)
	}
	got = tpconvert(t, dir, "query", "--format", "parquet", "out", twoSlices)
	if err := os.WriteFile(filepath.Join(dir, "rows.parquet"), []byte(got.stdout), 0o666); err != nil {
		t.Fatal(err)
	}
	if got := rowsOf(t, dir, "out", "SELECT sum(dur) AS dur FROM '"+dir+"/rows.parquet'", "--allow-writes"); got != "dur\n7000\n" {
		t.Errorf("parquet: %q", got)
	}
	tpconvert(t, dir, "query", "--format", "arrow", "out", "SELECT 1; SELECT 2").expect(t, exitUsage, "only one statement")
	tpconvert(t, dir, "query", "--format", "xml", "out", "SELECT 1").expect(t, exitUsage, "want one of table")
}

func TestQueryTypes(t *testing.T) {
	t.Parallel()
	dir := dataset(t, `[{"ph":"X","pid":1,"tid":2,"ts":1,"dur":5,"name":"n","args":{"i":7,"s":"a|b","d":0.5}}]`)
	got := tpconvert(t, dir, "query", "--format", "ndjson", "out", `
		SELECT extract_arg_int(arg_set_id, 'args.i') AS i, extract_arg(arg_set_id, 'args.s') AS s,
		       _extract_arg(arg_set_id, 'args.d') AS d, extract_arg(arg_set_id, 'none') AS none,
		       sum(dur) OVER () AS h, [1, 2] AS l, {a: 'x'} AS st, 'b'::BLOB AS bl, 1.25::DECIMAL(4, 2) AS dec,
		       DATE '2024-01-02' AS day, 'inf'::DOUBLE AS inf, true AS t
		FROM slice`)
	got.expect(t, exitDone, "")
	want := `{"i":7,"s":"a|b","d":0.5,"none":null,"h":5000,"l":[1,2],"st":{"a":"x"},"bl":"\\x62","dec":1.25,` +
		`"day":"2024-01-02","inf":"inf","t":true}` + "\n"
	if got.stdout != want {
		t.Errorf("got  %swant %s", got.stdout, want)
	}
	if !json.Valid([]byte(got.stdout)) {
		t.Error("not JSON")
	}
}

func TestQueryInputs(t *testing.T) {
	t.Parallel()
	dir := dataset(t, goodTrace)
	const count = "SELECT count(*) AS n FROM slice"
	if err := os.WriteFile(filepath.Join(dir, "q.sql"), []byte(count+" -- all\n;\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := command(t, dir, "query", "--format", "csv", "out")
	cmd.Stdin = strings.NewReader(count)
	piped := command(t, dir, "query", "--format", "csv", "-", count)
	piped.Stdin = strings.NewReader(goodTrace)
	for name, got := range map[string]outcome{
		"dataset": tpconvert(t, dir, "query", "--format", "csv", "out", count),
		"trace":   tpconvert(t, dir, "query", "--format", "csv", "a.json", count),
		"file":    tpconvert(t, dir, "query", "--format", "csv", "--file", "q.sql", "out"),
		"comment": tpconvert(t, dir, "query", "out", "--all of them\n"+count, "--format=csv"),
		"stdin":   finish(t, cmd),
		"piped":   finish(t, piped),
	} {
		if got.code != exitDone || got.stdout != "n\n2\n" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "empty"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	tpconvert(t, dir, "query", "empty", count).expect(t, exitBadInput, "the input is empty")
	got := tpconvert(t, dir, "query", "--perfetto", "--format", "csv", "empty", count+"; SELECT *, trace_start() + trace_end() + trace_dur() AS t FROM trace_bounds")
	if want := "\"n\"\n0\n\n\"start_ts\",\"end_ts\",\"t\"\n0,0,0\n"; got.code != exitDone || got.stdout != want {
		t.Errorf("empty: %+v, want %q", got, want)
	}
	tpconvert(t, dir, "query", "missing", count).expect(t, exitFailure, "no such file")
	tpconvert(t, dir, "query", "q.sql", count).expect(t, exitBadInput, "q.sql")
	tpconvert(t, dir, "query", "out", " -- nothing").expect(t, exitUsage, "no SQL")
	tpconvert(t, dir, "query", "--file", "q.sql", "out", count).expect(t, exitUsage, "both")
}

// TestRecursiveFunctions runs functions that call themselves, as Trace Processor v58 does.
func TestRecursiveFunctions(t *testing.T) {
	t.Parallel()
	dir := dataset(t, goodTrace)
	const tree = `CREATE PERFETTO TABLE tree AS SELECT column1 AS id, column2 AS parent_id FROM (VALUES (1, NULL), (2, 1), (3, 1), (4, 2), (5, 4));
SELECT create_function('size(id INT)', 'INT', 'SELECT 1 + ifnull((SELECT sum(size(child.id)) FROM tree child WHERE child.parent_id = $id), 0)');
SELECT experimental_memoize('size');
`
	for _, c := range []struct{ sql, rows string }{
		{"CREATE PERFETTO FUNCTION f(x INT) RETURNS INT AS SELECT iif($x = 0, 1, $x * f($x - 1)); SELECT f(5) AS a, f(20) AS b", "120,2432902008176640000"},
		{"SELECT create_function('f(x INT)', 'STRING', 'SELECT iif($x = 0, \"\", f($x - 1) || char(96 + $x) || f($x - 1))'); SELECT f(4)", `"abacabadabacaba"`},
		{"SELECT create_function('f(x INT)', 'INT', 'SELECT iif($x = 0, 1, f($x - 1) + f($x - 1))'); SELECT experimental_memoize('f'); SELECT f(50)", "1125899906842624"},
		{"SELECT create_function('f(x INT)', 'INT', 'SELECT iif($x = 0, 1, iif(f($x - 1) IS NULL, 1, NULL))'); SELECT f(50), f(51)", `1,"[NULL]"`},
		{"CREATE PERFETTO FUNCTION f(x INT) RETURNS INT AS SELECT iif($x = 0, 'a', f($x)); SELECT f(0)", `"a"`},
		{"SELECT create_function('f(x INT)', 'INT', 'SELECT iif($x <= 0, 1.5, f($x - 1) + 1)'); SELECT f(3)", "4.500000"},
		{"SELECT create_function('f(x INT, y STRING)', 'STRING', 'SELECT iif($x <= 0, $y, f($x - 1, $y || $x))'); SELECT f(3, 'a'), f(0, NULL)", `"a321","[NULL]"`},
		{"SELECT create_function('f(x INT)', 'INT', 'SELECT CASE WHEN $x > 100 THEN (SELECT f($x / 2)) WHEN $x > 0 THEN (SELECT 1 + f($x - 1)) ELSE 0 END'); SELECT f(1000)", "62"},
		{"SELECT create_function('g(x INT)', 'INT', 'SELECT iif($x <= 0, 0, 1 + g($x - 1))'); SELECT create_function('f(x INT)', 'INT', 'SELECT iif($x <= 0, 0, g($x) + f($x - 1))'); SELECT f(5)", "15"},
		{tree + "SELECT group_concat(size(id)) FROM tree", `"5,3,1,2,1"`},
		{strings.Replace(tree, "PERFETTO TABLE", "TABLE", 1) + "INSERT INTO tree VALUES (6, 5); SELECT group_concat(size(id)) FROM tree", `"6,4,1,3,2,1"`},
		{"CREATE PERFETTO FUNCTION f(n INT) RETURNS INT AS SELECT iif($n < 2, $n, f($n - 1) + f($n - 2)); SELECT max(f(id)), f(20) FROM slice", "1,6765"},
	} {
		_, got, _ := strings.Cut(rowsOf(t, dir, "out", c.sql, "--perfetto"), "\n")
		if want := c.rows + "\n"; got != want {
			t.Errorf("%s: got %q, want %q", c.sql, got, want)
		}
	}
	for sql, want := range map[string]string{
		"CREATE PERFETTO FUNCTION f(x INT) RETURNS INT AS SELECT 1 + f($x); SELECT f(5)":             "f calls itself more than 20000 times deep",
		"CREATE PERFETTO FUNCTION f(x) RETURNS INT AS SELECT f($x)":                                  `near ")": syntax error`,
		"CREATE PERFETTO FUNCTION f(x INT) RETURNS INT AS SELECT nothing + f($x)":                    `near "nothing": syntax error`,
		"SELECT experimental_memoize('f')":                                                           "there is no function f of one integer",
		"SELECT create_function('f(x STRING)', 'INT', 'SELECT 1'); SELECT experimental_memoize('f')": "the argument of f is not an integer",
	} {
		tpconvert(t, dir, "query", "--perfetto", "out", sql).expect(t, exitFailure, want)
	}
}

// TestFreeRows places slices in the first free rows, as Trace Processor v58 does.
func TestFreeRows(t *testing.T) {
	t.Parallel()
	dir := dataset(t, goodTrace)
	const rows = `CREATE PERFETTO TABLE s AS SELECT column1 AS ts, column2 AS dur, column3 AS k
FROM (VALUES (1, 3, 'A'), (2, 5, 'A'), (3, 7, 'B'), (5, 4, 'A'), (6, 2, 'B'), (7, -1, 'B'));
`
	for _, c := range []struct{ over, want string }{
		{"(ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)", "0,1,2,0,3,1"},
		{"(PARTITION BY k ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)", "0,1,0,0,1,2"},
		{"w", "0,1,0,0,1,2"},
	} {
		sql := rows + "SELECT group_concat(n) FROM (SELECT ts, internal_layout(ts, dur) OVER " + c.over + ` AS n FROM s
WINDOW w AS (PARTITION BY k ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) ORDER BY ts)`
		_, got, _ := strings.Cut(rowsOf(t, dir, "out", sql, "--perfetto"), "\n")
		if want := strconv.Quote(c.want) + "\n"; got != want {
			t.Errorf("OVER %s: got %q, want %q", c.over, got, want)
		}
	}
	for sql, want := range map[string]string{
		"SELECT internal_layout(ts, dur) OVER w FROM slice":  "no such window: w",
		"SELECT internal_layout(ts, dur) OVER () FROM slice": `the window must be "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"`,
	} {
		tpconvert(t, dir, "query", "--perfetto", "out", sql).expect(t, exitFailure, want)
	}
}

// TestQueryForEffects leaves out the rows of calls with effects, as Trace Processor's shell does.
func TestQueryForEffects(t *testing.T) {
	dir := dataset(t, goodTrace)
	got := rowsOf(t, dir, "out", "SELECT CREATE_FUNCTION('f()', 'INT', 'SELECT 1'); SELECT IMPORT('time.conversion'); SELECT f() AS b", "--perfetto")
	if want := "\"b\"\n1\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Tables, views and macros of DuckDB are created when a statement names them, which must not be seen.
func TestQueryFindsWhatItDoesNotName(t *testing.T) {
	dir := dataset(t, goodTrace)
	all := rowsOf(t, dir, "out", "SELECT count(*) FROM (SHOW ALL TABLES)")
	for sql, want := range map[string]string{
		"FROM thread_slice SELECT count(*); SELECT count(*) FROM (SHOW ALL TABLES)":                           "count_star()\n2\n\n" + all,
		"FROM relation('sl' || 'ice') SELECT count(*) AS n":                                                   "n\n2\n",
		"BEGIN; CREATE TABLE x AS FROM thread; FROM slice SELECT count(*) AS n; ROLLBACK":                     "n\n2\n",
		"CREATE VIEW v AS FROM thread_slice; CREATE MACRO m() AS TABLE FROM v; SELECT count(*) AS n FROM m()": "n\n2\n",
	} {
		if got := rowsOf(t, dir, "out", sql); got != want {
			t.Errorf("%s: got %q, want %q", sql, got, want)
		}
	}
	if !strings.Contains(all, "\n1") { // more than 100
		t.Errorf("SHOW ALL TABLES: got %q", all)
	}
	tpconvert(t, dir, "query", "out", "FROM slces").expect(t, exitFailure, `Did you mean "slice`)
	tpconvert(t, dir, "query", "--perfetto", "out", "SELECT * FROM slces").expect(t, exitFailure, "no such table: slces")
}

func TestQueryErrorsShowThePlace(t *testing.T) {
	t.Parallel()
	dir := dataset(t, goodTrace)
	long := strings.Repeat("'long', ", 40)
	for sql, want := range map[string]string{
		"SELECT 1;\nSELECT ts,\n  durr FROM slice": "line 3:   durr FROM slice\n          ^\n",
		"SELECT " + long + "nope FROM slice":       "nope FROM slice\n" + strings.Repeat(" ", len("line 1: SELECT "+long)) + "^\n",
		"SELECT * FROM slices WHERE cat =":         "syntax error at end of input\nline 1: SELECT * FROM slices WHERE cat =\n" + strings.Repeat(" ", 40) + "^\n",
		"SELECT\t'a',\tdurr\tFROM slice":           "line 1: SELECT 'a', durr FROM slice\n                    ^\n",
		"SELECT '日本', durr FROM slice":             "line 1: SELECT '日本', durr FROM slice\n                       ^\n",
		"SELECT 'open":                             "line 1: SELECT 'open\n               ^\n",
		"SELECT * FROM nothing":                    "Table with name nothing does not exist",
		"SELECT name::INT FROM slice":              "Could not convert string 'work' to INT32",
	} {
		tpconvert(t, dir, "query", "out", sql).expect(t, exitFailure, want)
	}
}
