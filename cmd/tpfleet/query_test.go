package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A query gives the rows that tpconvert gives for each trace alone, those of the traces in the ledger's present state, and says which
// traces it leaves out.
func TestQuery(t *testing.T) { withLedger(t, testQuery) }

func testQuery(t *testing.T, f *fleet) {
	good, bad := traces(t)
	private := secretTrace(t)
	f.run(t, "", "run", "-j2", "--task-traces", "4", f.upload(t, slices.Concat(good, bad, []string{private})...))
	f.run(t, "", "forget", idOf(t, f, filepath.Base(private)))
	f.run(t, "", "rework", "--where", "format LIKE '%json%'") // the rows of a file that was rewritten
	ask := func(args ...string) string { return f.run(t, "", "query", append([]string{"-j2"}, args...)...) }

	const sql = `CREATE PERFETTO TABLE busy AS SELECT t.name, sum(s.dur) AS dur, count() AS n FROM slice AS s JOIN thread_track AS k ON s.track_id = k.id
		JOIN thread AS t USING (utid) GROUP BY 1; SELECT name, dur, n, trace_dur() AS of FROM busy UNION ALL
		SELECT 'samples', count(*), NULL, EXTRACT_ARG(0, 'none') FROM perf_sample ORDER BY 1, 2`
	dataset := converted(t, good...)
	folders, err := filepath.Glob(filepath.Join(dataset, "trace_id=t_*"))
	if err != nil || len(folders) != len(good) {
		t.Fatal(folders, err)
	}
	slices.Sort(folders)
	want := ""
	for _, folder := range folders {
		out, err := exec.Command(tpconvertPath, "query", "--perfetto", "--format", "ndjson", folder, sql).CombinedOutput()
		if err != nil {
			t.Fatalf("%s%v", out, err)
		}
		id := strings.TrimPrefix(filepath.Base(folder), "trace_id=")
		for line := range strings.Lines(string(out)) {
			want += fmt.Sprintf(`{"trace_id":"%s",%s`, id, strings.TrimPrefix(line, "{"))
		}
	}
	got := ask("--format", "ndjson", sql)
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	// Parts are the whole, and a compacted lake has the same rows.
	f.run(t, "", "compact", "--min-files", "2")
	parts := ""
	for _, part := range []string{"1/3", "2/3", "3/3"} {
		parts += ask("--format", "ndjson", "--part", part, sql)
	}
	if parts != want {
		t.Errorf("the parts are\n%s\nwant\n%s", parts, want)
	}

	// What the ledger says of a trace is in its rows, and selects it.
	out := ask("--format", "csv", "--where", "format LIKE '%pprof%'", "--columns", "format,bytes,lost", "SELECT count(*) AS n, 1.5 AS x FROM slice")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 3 || lines[0] != "trace_id,format,bytes,lost,n,x" || !strings.HasSuffix(lines[1], ",0,0,1.5") || !strings.Contains(out, "pprof") {
		t.Errorf("pprof: %s", out)
	}
	file := filepath.Join(t.TempDir(), "out.parquet")
	parquet := ask("--format", "parquet", "SELECT CASE WHEN count(*) > 100 THEN 1.5 ELSE 2 END AS mixed, count(*) AS n FROM slice")
	if err := os.WriteFile(file, []byte(parquet), 0o644); err != nil {
		t.Fatal(err)
	}
	if n := number(t, database(t), "SELECT count(*) FROM read_parquet('"+file+"') WHERE mixed IN (1.5, 2) AND typeof(mixed) = 'DOUBLE' AND typeof(n) = 'BIGINT'"); n != int64(len(good)) {
		t.Errorf("%d rows of Parquet, want %d", n, len(good))
	}
	if out := ask("--format", "csv", "--where", "false", "SELECT 1 AS one"); out != "trace_id,one\n" {
		t.Errorf("no traces: %q", out)
	}

	// Errors of some traces leave these out, and those of all are errors of the command line.
	for _, test := range []struct {
		code   int
		says   string
		prints string
		args   []string
	}{
		{1, "left out: trace_id t_", "trace_id,n", []string{"--format", "csv", "SELECT CASE WHEN count(*) > 1000 THEN abs(-9223372036854775807 - 1) ELSE count(*) END AS n FROM slice"}},
		{2, "no such table: slicez: did you mean slice?", "", []string{"SELECT 1 FROM slicez"}},
		{2, "only the last statement may give rows", "", []string{"SELECT 1; SELECT 2"}},
		{2, "the last statement gives no rows", "", []string{"CREATE VIEW x AS SELECT 1"}},
		{2, "the ledger has no such column: device", "", []string{"--columns", "device", "SELECT 1"}},
		{2, "not a predicate", "", []string{"--where", "device = 1", "SELECT 1"}},
		{2, `--part "4/3" is not one such as 2/8`, "", []string{"--part", "4/3", "SELECT 1"}},
	} {
		c := command(t, slices.Concat([]string{"query"}, f.flags(), test.args)...)
		var messages strings.Builder
		c.Stderr = &messages
		out, _ := c.Output()
		if c.ProcessState.ExitCode() != test.code || !strings.Contains(messages.String(), test.says) || !strings.Contains(string(out), test.prints) {
			t.Errorf("%q: exit code %d, %s\n%s", test.args, c.ProcessState.ExitCode(), out, messages.String())
		}
	}
}
