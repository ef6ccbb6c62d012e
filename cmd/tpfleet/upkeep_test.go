package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/lake"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
)

// fill uploads traces and commits each task by itself, from the first result on with the function beside, if any.
func fill(t *testing.T, f *fleet, beside func(), traces ...string) {
	t.Helper()
	tasks := f.run(t, "", "plan", "--task-traces", "2", f.upload(t, traces...))
	results := strings.SplitAfter(strings.TrimSpace(tpfleet(t, tasks, "work")), "\n")
	var others sync.WaitGroup
	for i, r := range results {
		f.run(t, r, "commit")
		if i == 2 && beside != nil {
			others.Go(beside)
		}
	}
	others.Wait()
}

// fileCounts counts the files of each table.
func fileCounts(t *testing.T, f *fleet) map[string]int64 {
	t.Helper()
	s, err := f.lake(t.Context(), t).Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int64{}
	for _, s := range s.Tables {
		counts[s.Name] = s.Files
	}
	return counts
}

// checkPacked checks the layout of the files that compacting made of a table.
func checkPacked(t *testing.T, f *fleet, table string) {
	t.Helper()
	db := database(t)
	source, err := f.rows(t.Context(), f.lake(t.Context(), t), table)
	if err != nil {
		t.Fatal(err)
	}
	paths := strings.Split(source, "'")
	i := slices.IndexFunc(paths, func(path string) bool { return strings.Contains(path, "/compact-") })
	if i < 0 {
		t.Fatalf("the files of %s are %s", table, source)
	}
	path := paths[i]
	if n := number(t, db, "SELECT count(*) FROM (SELECT trace_id < lag(trace_id) OVER (ORDER BY file_row_number) AS back FROM read_parquet(?, file_row_number = true)) WHERE back", path); n != 0 {
		t.Errorf("%s is not sorted by trace_id", path)
	}
	if n := number(t, db, "SELECT count(*) FROM parquet_metadata(?) WHERE path_in_schema IN ('trace_id', 'name') AND bloom_filter_offset IS NOT NULL AND compression = 'ZSTD'", path); n != 2 {
		t.Errorf("%s has %d bloom filters", path, n)
	}
	if n := number(t, db, "SELECT count(DISTINCT row_group_id) FROM parquet_metadata(?)", path); n != 1 {
		t.Errorf("%s has %d row groups", path, n)
	}
}

// Rival processes compact while others commit: no row is lost or doubled. Nessie keeps all states, so nothing is
// removed, unless it is forced.
func TestCompact(t *testing.T) { withLedger(t, testCompact) }

func testCompact(t *testing.T, f *fleet) {
	good, bad := traces(t)
	fill(t, f, func() {
		var rivals sync.WaitGroup
		for range 2 {
			rivals.Go(func() { f.run(t, "", "compact", "--min-files", "2") })
		}
		rivals.Wait()
	}, append(good, bad...)...)
	dataset := converted(t, good...)
	checkLake(t, f, dataset, len(good), len(bad))
	f.run(t, "", "compact", "--min-files", "2")
	days := number(t, database(t), "SELECT count(DISTINCT trace_day) FROM "+f.source(t, f.lake(t.Context(), t))(task.Ledger))
	for table, n := range fileCounts(t, f) {
		if n > days || table == task.Ledger && n > 1 {
			t.Errorf("%s has %d files, there are %d days", table, n, days)
		}
	}
	checkPacked(t, f, "slice")
	if out := f.run(t, "", "compact", "--min-files", "2"); !strings.Contains(out, `"removed":0`) {
		t.Errorf("compacting again: %s", out)
	}
	if f.folder == "" && !f.single {
		keepsHistory(t, f)
	}
	checkLake(t, f, dataset, len(good), len(bad))
}

// keepsHistory checks that nothing is removed of a lake whose catalog keeps all states, unless it is forced.
func keepsHistory(t *testing.T, f *fleet) {
	t.Helper()
	for _, name := range []string{"expire", "gc"} {
		if out, err := command(t, append([]string{name}, f.flags()...)...).CombinedOutput(); err == nil || !strings.Contains(string(out), "nessie-gc") {
			t.Errorf("%s: %s, %v", name, out, err)
		}
	}
	if out := f.run(t, "", "gc", "--force"); !strings.Contains(out, `"files":0`) {
		t.Errorf("young files were removed: %s", out)
	}
	if out := f.run(t, "", "gc", "--force", "--older-than", "0s"); strings.Contains(out, `"files":0`) {
		t.Errorf("nothing was removed: %s", out)
	}
}

// After compacting and expiring, gc removes what was never committed, and nothing else.
func TestExpire(t *testing.T) {
	t.Run("folder", func(t *testing.T) { testExpire(t, newFolder(t)) })
	t.Run("catalog", func(t *testing.T) { testExpire(t, newFleetOn(t, needServers(t).withSnapshots(t))) })
	t.Run("ledger", func(t *testing.T) { testExpire(t, newSingle(t)) })
}

func testExpire(t *testing.T, f *fleet) {
	good, bad := traces(t)
	fill(t, f, nil, append(good, bad...)...)
	f.run(t, "", "compact", "--min-files", "2")
	inFolder := func() (n int) {
		for _, s := range task.Packed() {
			files, _ := filepath.Glob(filepath.Join(f.tables, s.Name, "data", "*"))
			n += len(files)
		}
		return n
	}
	before := inFolder()
	if out := f.run(t, "", "expire"); !strings.Contains(out, `"snapshots":0`) {
		t.Errorf("young snapshots were removed: %s", out)
	}
	if out := f.run(t, "", "expire", "--older-than", "0s", "--keep", "1"); strings.Contains(out, `"snapshots":0`) {
		t.Errorf("no snapshot was removed: %s", out)
	}
	if after := inFolder(); after >= before {
		t.Errorf("%d files before expiring, %d after", before, after)
	}
	dataset := converted(t, good...)
	checkLake(t, f, dataset, len(good), len(bad))

	// A result that is never committed, and files that are none of the tables' data.
	l := f.lake(t.Context(), t)
	layout, err := l.Layout(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	orphan := newTask(layout, good[0])
	orphan.Stores = f.buckets()
	made := tpfleet(t, line(t, orphan), "work")
	stray := filepath.Join(f.tables, "slice", "notes.txt")
	if err := os.WriteFile(stray, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	count := len(lines[task.Result](t, made)[0].Files)
	for _, c := range []struct {
		want int
		args []string
	}{{0, nil}, {count, []string{"--older-than", "0s", "--dry-run"}}, {count, []string{"--older-than", "0s"}}, {0, []string{"--older-than", "0s"}}} {
		var got lake.Cleaned
		out := f.run(t, "", "gc", c.args...)
		if err := json.Unmarshal([]byte(out), &got); err != nil || got.Files != c.want {
			t.Errorf("gc %q: %s, want %d files", c.args, out, c.want)
		}
	}
	if _, err := os.Stat(stray); err != nil {
		t.Error(err)
	}
	// The result of the orphan cannot be committed any more.
	var r task.Result
	if err := json.Unmarshal([]byte(made), &r); err != nil {
		t.Fatal(err)
	}
	r.Traces[0].URL, r.Traces[0].TraceID = f.traces+"another", "t_0000000000000000"
	if a := account(t, f.run(t, line(t, r), "commit")); a.Again != 1 || a.OK != 0 {
		t.Errorf("a result without files: %+v", a)
	}
	checkLake(t, f, dataset, len(good), len(bad))
}
