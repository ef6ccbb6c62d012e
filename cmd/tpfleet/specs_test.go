package main

import (
	"bytes"
	"database/sql"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
	"github.com/tpconvert/tpconvert/export"
)

// slicesColumns are those of the spec slices.
const slicesColumns = "trace_id, name, count::DOUBLE, total_dur::DOUBLE, p50_dur::DOUBLE, p95_dur::DOUBLE, p99_dur::DOUBLE"

// summarized returns the metrics of a spec that tpconvert computes, in SQL.
func summarized(t *testing.T, spec string, files ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "want.ndjson")
	out, err := exec.Command(tpconvertPath, "summarize", "--format", "ndjson", "--spec", spec, converted(t, files...)).Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, out, 0o644); err != nil {
		t.Fatal(err)
	}
	return "read_json('" + file + "', format = 'newline_delimited')"
}

// equal compares some columns of two tables in SQL, which have rows.
func equal(t *testing.T, db *sql.DB, got, want, columns string) {
	t.Helper()
	got, want = "(SELECT "+columns+" FROM "+got+")", "(SELECT "+columns+" FROM "+want+")"
	if n, all := number(t, db, "SELECT count(*) FROM "+want), number(t, db, "SELECT count(*) FROM "+got); n < 10 || n != all {
		t.Errorf("%d rows, want %d", all, n)
	}
	for _, pair := range [][2]string{{got, want}, {want, got}} {
		if n := number(t, db, "SELECT count(*) FROM (FROM "+pair[0]+" EXCEPT ALL FROM "+pair[1]+")"); n != 0 {
			t.Errorf("%d rows differ", n)
		}
	}
}

// Tables of metrics have what tpconvert summarizes: of traces that are converted, of those that were before, after a spec has changed, and
// without those that are forgotten.
func TestSpecs(t *testing.T) { withLedger(t, testSpecs) }

func testSpecs(t *testing.T, f *fleet) {
	long(t)
	good, bad := traces(t)
	dir := t.TempDir()
	own := filepath.Join(dir, "long.textproto")
	write := func(most int, more string) {
		t.Helper()
		text := fmt.Sprintf(`metric_template_spec {
  id_prefix: "long"
  dimensions_specs { name: "name" type: STRING }
  dimensions_specs { name: "outer" type: BOOLEAN }
  value_column_specs { name: "n" unit: COUNT }
  value_column_specs { name: "mean" unit: TIME_NANOS }
  %s
  dimension_uniqueness: UNIQUE
  query { sql { sql: "SELECT name, depth = 0 AS outer, count() AS n, avg(dur) AS mean, 7 AS seven FROM slice GROUP BY 1, 2 HAVING n <= %d" } }
}`, more, most)
		if err := os.WriteFile(own, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(3, "")
	if a := account(t, f.run(t, "", "run", "-j2", "--task-traces", "3", "--spec", own, f.upload(t, slices.Concat(good[:8], bad)...))); a.OK != 8 || a.Unmeasured != 0 {
		t.Errorf("%+v", a)
	}
	f.run(t, "", "run", "-j2", f.upload(t, good[8:]...)) // has the spec, too
	db := database(t)
	check := func(table, spec, columns string, files ...string) {
		t.Helper()
		rows := f.source(t, f.lake(t.Context(), t))(table)
		equal(t, db, rows, summarized(t, spec, files...), columns)
		if n := number(t, db, "SELECT count(*) FROM "+rows+" WHERE trace_day IS NULL OR trace_day NOT LIKE '____-__-__'"); n != 0 {
			t.Errorf("%s: %d rows have no day", table, n)
		}
	}
	const long = `trace_id, name, "outer", n::DOUBLE, mean::DOUBLE`
	measured := func(want string, args ...string) {
		t.Helper()
		if out := f.run(t, "", "rework", append([]string{"--metrics-only", "-j2"}, args...)...); out != want+"\n" {
			t.Errorf("%q: %s, want %s", args, out, want)
		}
	}
	check("metric_long", own, long, good...)
	measured(`{"traces":0,"known":12}`)
	if f.folder != "" {
		out, err := exec.Command(tpconvertPath, "query", "--format", "csv", f.folder, "SELECT count(DISTINCT trace_id) AS n FROM metric_long JOIN trace USING (trace_id)").Output()
		if err != nil || !strings.HasPrefix(string(out), "n\n") || string(out) == "n\n0\n" {
			t.Errorf("tpconvert query: %s, %v", out, err)
		}
		metadata, _ := filepath.Glob(filepath.Join(f.tables, "slice", "metadata", "*.json"))
		if len(metadata) == 0 {
			t.Fatal("the table slice has no metadata")
		}
		if text, err := os.ReadFile(metadata[0]); err != nil || !strings.Contains(string(text), `"comment":"`) {
			t.Errorf("the table slice has no comment: %v", err)
		}
	}
	measured(`{"traces":12,"known":0}`, "--spec", "slices")
	check("metric_slices", "slices", slicesColumns, good...)
	write(2, `value_column_specs { name: "seven" unit: COUNT }`)
	measured(`{"traces":12,"known":0}`, "--spec", own)
	check("metric_long", own, long+", seven::DOUBLE", good...)
	f.run(t, "", "rework", "--where", "format LIKE '%json%'")
	f.run(t, "", "compact", "--min-files", "2")
	check("metric_long", own, long+", seven::DOUBLE", good...)
	f.run(t, "", "forget", idOf(t, f, filepath.Base(good[0])))
	check("metric_slices", "slices", slicesColumns, good[1:]...)

	// A spec that fails for a trace leaves out its rows, and says so.
	failing := filepath.Join(dir, "failing.textproto")
	text := `metric_spec { id: "failing" dimensions: "name" value: "n" dimension_uniqueness: UNIQUE query { sql { sql: "SELECT name, 1 AS n FROM slice" } } }`
	if err := os.WriteFile(failing, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	failed := number(t, db, "SELECT count(DISTINCT trace_id) FROM (SELECT trace_id, name FROM "+f.source(t, f.lake(t.Context(), t))("slice")+" GROUP BY 1, 2 HAVING count(*) > 1)")
	if failed < 2 || failed > 10 {
		t.Fatal(failed)
	}
	measured(fmt.Sprintf(`{"traces":11,"unmeasured":%d,"known":0}`, failed), "--spec", failing)
	why := f.run(t, "", "query", "--where", "metrics ->> 'failing' LIKE '%: its dimensions are not unique'", "--format", "csv", "SELECT 1 AS one")
	if n := strings.Count(why, "\n") - 1; n != int(failed) {
		t.Errorf("the ledger has %d traces for which the spec failed, want %d", n, failed)
	}
	endless := filepath.Join(dir, "endless.textproto")
	text = `metric_spec { id: "endless" value: "n" query { sql { sql: "WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x) SELECT max(n) AS n FROM x" } } }`
	if err := os.WriteFile(endless, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	f.run(t, "", "rework", "--metrics-only", "--max-time", "10ms", "--spec", endless, idOf(t, f, filepath.Base(good[1])))
	if out := f.run(t, "", "query", "--where", "metrics ->> 'endless' LIKE '%: it takes more than --max-time=10ms'", "--format", "csv", "SELECT 1 AS one"); strings.Count(out, "\n") != 2 {
		t.Errorf("a spec without an end: %s", out)
	}
	named := filepath.Join(dir, "labels.textproto")
	text = `metric_spec { id: "labels" dimensions: "labels" value: "n" query { sql { sql: "SELECT 1 AS n, 'x' AS labels" } } }`
	if err := os.WriteFile(named, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []string{"nothing", good[0], named} {
		c := command(t, append(append([]string{"run"}, f.flags()...), "--spec", wrong, good[0])...)
		if out, _ := c.CombinedOutput(); c.ProcessState.ExitCode() != exitUsage {
			t.Errorf("--spec %s: exit code %d, %s", wrong, c.ProcessState.ExitCode(), out)
		}
	}
}

// Where tables are committed to one at a time, a rival may come to the ledger after the metrics are in their tables: they stay, once.
func TestMetricsBesideRival(t *testing.T) {
	f := newSingle(t)
	good, _ := traces(t)
	f.run(t, "", "run", "-j2", f.upload(t, good...))
	f.run(t, "", "init", "--spec", "slices")
	p := f.before(t, func(r *http.Request) bool { return commits(r, task.Ledger) })
	var out bytes.Buffer
	c := command(t, append(append([]string{"rework"}, f.flags()...), "--metrics-only", "-j2")...)
	c.Env = append(c.Env, "TPFLEET_CATALOG="+p.URL)
	c.Stdout, c.Stderr = &out, os.Stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	<-p.held
	other := smallTraces(t, 1)[0]
	f.run(t, "", "run", "-j1", f.upload(t, other))
	close(p.release)
	if err := c.Wait(); err != nil || out.String() != fmt.Sprintf("{\"traces\":%d,\"known\":0}\n", len(good)) {
		t.Fatalf("%s, %v", out.String(), err)
	}
	equal(t, database(t), f.source(t, f.lake(t.Context(), t))("metric_slices"), summarized(t, "slices", append(good, other)...), slicesColumns)
}

// Where a fleet's folder has the metrics of a spec, summarize gives their rows, which are those that it computes, and else computes them.
func TestSummarizeStored(t *testing.T) {
	long(t)
	good, bad := traces(t)
	own := filepath.Join(t.TempDir(), "own.textproto")
	write := func(most int) {
		t.Helper()
		text := fmt.Sprintf(`metric_template_spec {
  id_prefix: "Own-Slices"
  dimensions_specs { name: "name" type: STRING }
  dimensions_specs { name: "outer" type: BOOLEAN }
  dimensions_specs { name: "n" type: INT64 }
  dimensions_specs { name: "half" type: DOUBLE }
  value_column_specs { name: "count" unit: COUNT }
  value_column_specs { name: "mean" unit: TIME_NANOS }
  value_column_specs { name: "parts" unit: COUNT }
  value_column_specs { name: "none" unit: COUNT }
  query { sql { sql: "SELECT iif(depth > 1, NULL, name) AS name, depth = 0 AS outer, depth AS n, depth / 2.0 AS half, count() AS count, avg(dur) AS mean, count() / 2.0 AS parts, NULL AS none FROM slice GROUP BY 1, 2, 3, 4 HAVING count() <= %d ORDER BY mean DESC, 1, 2, 3" } }
}`, most)
		if err := os.WriteFile(own, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(5)
	f := newFolder(t)
	f.run(t, "", "run", "-j2", "--task-traces", "5", "--spec", "slices", "--spec", "memory", "--spec", own, f.upload(t, slices.Concat(good, bad)...))
	dataset := converted(t, good...)
	check := func(when string, specs ...string) {
		t.Helper()
		args := append([]string{"summarize"}, specs...)
		want, got := converter(t, append(args, dataset)...), converter(t, append(args, f.folder)...)
		if got != want || strings.Count(got, "\n") < 4 {
			t.Errorf("%s, %q gives\n%s\nwant\n%s", when, args, got, want)
		}
	}
	check("stored", "--format", "csv", "slices", "memory", own)
	check("stored", "--format", "ndjson", own)
	check("a metric", "--metric", "slices_p95_dur", "slices")
	check("one is not stored", "slices", "cpu")
	f.run(t, "", "compact", "--min-files", "2")
	check("compacted", "slices", own)

	// Without rows of slices, only what is stored can be right.
	list := filepath.Join(f.folder, "files.json")
	all, err := export.ReadLakeFiles(f.folder)
	if err != nil {
		t.Fatal(err)
	}
	delete(all.Namespaces["traces"], "slice")
	if err := all.Write(f.folder); err != nil {
		t.Fatal(err)
	}
	check("without slices", "slices", own)
	if out := converter(t, "summarize", "--format", "csv", "slices", "cpu", f.folder); strings.Contains(out, "slices,") {
		t.Errorf("without slices, they are computed: %s", out)
	}
	if err := os.Remove(list); err != nil {
		t.Fatal(err)
	}
	f.run(t, "", "status") // writes the list
	write(2)
	check("a changed spec", own)
}
