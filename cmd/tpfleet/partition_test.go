package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/lake"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
)

// datedTraces returns traces that began on several days, n a day, interleaved, and those days.
func datedTraces(t *testing.T, days, n int) (files, names []string) {
	t.Helper()
	dir, first := t.TempDir(), time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	for i := range days * n {
		day := first.AddDate(0, 0, i%days)
		if i < days {
			names = append(names, day.Format(time.DateOnly))
		}
		file := filepath.Join(dir, fmt.Sprintf("%03d.json", i))
		// A trace of OpenTelemetry has the wall clock.
		text := fmt.Sprintf(`{"resourceSpans":[{"resource":{},"scopeSpans":[{"spans":[{"traceId":"%032x","spanId":"%016x","name":"span %d","startTimeUnixNano":"%d","endTimeUnixNano":"%d"}]}]}]}`,
			i+1, i+1, i, day.UnixNano(), day.UnixNano()+1e6)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files, names
}

// Files are of one day, of which compaction makes one, without touching other days.
func TestPartitions(t *testing.T) { withLedger(t, testPartitions) }

func testPartitions(t *testing.T, f *fleet) {
	const days, perDay = 4, 12
	files, names := datedTraces(t, days, perDay+1)
	late := files[days*perDay:]
	f.run(t, tpfleet(t, f.run(t, "", "plan", "--task-traces", "8", f.upload(t, files[:days*perDay]...)), "work"), "commit") // each task has traces of all days
	l := f.lake(t.Context(), t)
	if all, day := fileCounts(t, f)["slice"], len(filesOfDay(t, l, "slice", names[1])); all != 6*days || day != 6 {
		t.Errorf("%d files, %d of a day", all, day)
	}
	if n := number(t, database(t), "SELECT count(DISTINCT trace_day) FROM "+f.source(t, l)(task.Ledger)); n != days {
		t.Errorf("the ledger has %d days", n)
	}
	f.run(t, "", "compact")
	before := map[string][]string{}
	for _, name := range names {
		if before[name] = filesOfDay(t, l, "slice", name); len(before[name]) != 1 {
			t.Errorf("%s has the files %s", name, before[name])
		}
	}
	f.run(t, "", "run", f.upload(t, late[0], late[2]))
	var done lake.Compacted
	if err := json.Unmarshal([]byte(f.run(t, "", "compact", "--min-files", "2")), &done); err != nil || done.Removed != 2*done.Added {
		t.Errorf("%+v, %v", done, err)
	}
	for i, name := range names {
		after := filesOfDay(t, l, "slice", name)
		if changed := after[0] != before[name][0]; len(after) != 1 || changed != (i%2 == 0) {
			t.Errorf("%s has the files %s, had %s", name, after, before[name])
		}
	}
	f.run(t, "", "run", f.upload(t, late...))
	equalTables(t, database(t), converted(t, files...), f.source(t, l))
	checkDays(t, f, len(files))
}

// filesOfDay returns the files of a table with rows of a day, by Iceberg's metadata.
func filesOfDay(t *testing.T, l *lake.Lake, table, day string) []string {
	t.Helper()
	files, err := l.Files(t.Context(), table, iceberg.EqualTo(iceberg.Reference("trace_day"), day))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// checkDays checks that each row of slice, one of each trace, has the day of its trace, and each file one day.
func checkDays(t *testing.T, f *fleet, traces int) {
	t.Helper()
	db, l := database(t), f.lake(t.Context(), t)
	source := f.source(t, l)
	if n := number(t, db, "SELECT count(*) FROM "+source("slice")+" s JOIN "+source(task.Ledger)+" t USING (trace_id, trace_day)"); n != int64(traces) {
		t.Errorf("%d rows have the day of their trace, want %d", n, traces)
	}
	files, err := l.Files(t.Context(), "slice")
	if err != nil {
		t.Fatal(err)
	}
	from := strings.TrimSuffix(f.reading(files), ")") + ", filename = true)"
	if n := number(t, db, "SELECT count(*) FROM (SELECT filename FROM "+from+" GROUP BY filename HAVING count(DISTINCT trace_day) > 1)"); n != 0 {
		t.Errorf("%d files have several days", n)
	}
}

// The files of days that are forgotten leave. No other file is read or written. A query reads those of its traces' days.
func TestForgetDays(t *testing.T) { withLedger(t, testForgetDays) }

func testForgetDays(t *testing.T, f *fleet) {
	files, names := datedTraces(t, 4, 2)
	f.run(t, "", "run", f.upload(t, files...))
	tables := len(fileCounts(t, f)) - 1
	l := f.lake(t.Context(), t)
	show := func() {}
	if f.folder != "" {
		hidden := []string{}
		for _, name := range names[2:] {
			for _, url := range filesOfDay(t, l, "slice", name) {
				hidden = append(hidden, strings.TrimPrefix(url, "file://"))
			}
		}
		move := func(from, to string) {
			for _, file := range hidden {
				if err := os.Rename(file+from, file+to); err != nil {
					t.Fatal(err)
				}
			}
		}
		move("", ".hidden")
		show = func() { move(".hidden", "") }
		if out := f.run(t, "", "query", "--format", "csv", "--where", "trace_day < '2026-11-03'", "SELECT name FROM slice"); strings.Count(out, "\n") != 1+4 {
			t.Errorf("slices of two days: %s", out)
		}
	}
	age := time.Since(time.Date(2026, 11, 3, 0, 0, 0, 0, time.UTC)) // two of the days are before that
	var done lake.Forgot
	out := f.run(t, "", "forget", "--older", fmt.Sprintf("%dd", int(age.Hours()/24)))
	if err := json.Unmarshal([]byte(out), &done); err != nil || done.Traces != 4 || done.Files != 2*tables {
		t.Errorf("%s, %v, want 4 traces and %d files", out, err, 2*tables)
	}
	for table, n := range fileCounts(t, f) {
		if table != task.Ledger && n != 2 {
			t.Errorf("%s has %d files", table, n)
		}
	}
	show()
	for i, name := range names {
		if left := filesOfDay(t, l, "slice", name); (len(left) > 0) != (i > 1) || strings.Contains(fmt.Sprint(left), "compact-") {
			t.Errorf("%s has the files %s", name, left)
		}
	}
}

// A lake of an older version, whose tables have no partitions and whose files have several days, is read as before. init gives its
// tables partitions, and compact its files.
func TestUnpartitioned(t *testing.T) {
	long(t)
	f := newFolder(t)
	for _, s := range task.Packed() {
		unpartition(t, f, s.Name)
	}
	files, names := datedTraces(t, 3, 6)
	add := func(files ...string) {
		t.Helper()
		tasks := f.run(t, "", "plan", "--task-traces", "6", f.upload(t, files...))
		for _, r := range lines[task.Result](t, tpfleet(t, tasks, "work")) {
			f.run(t, line(t, mixDays(t, r)), "commit")
		}
	}
	add(files[:12]...)
	l := f.lake(t.Context(), t)
	if day, all := len(filesOfDay(t, l, "slice", names[2])), fileCounts(t, f)["slice"]; day != 2 || all != 2 {
		t.Errorf("%d of %d files have rows of a day", day, all)
	}
	f.run(t, "", "run", f.upload(t, files[12])) // of this version
	equalTables(t, database(t), converted(t, files[:13]...), f.source(t, l))
	if out, err := command(t, "compact", "--lake", f.folder).CombinedOutput(); err == nil || !strings.Contains(string(out), `run "tpfleet init" again`) {
		t.Errorf("compact: %s, %v", out, err)
	}
	f.run(t, "", "init")
	add(files[13:]...)
	ask := func() string {
		return converter(t, "query", "--format", "csv", f.folder, "SELECT trace_id, name, count(*) FROM slice GROUP BY ALL ORDER BY ALL")
	}
	before := ask()
	f.run(t, "", "forget", idOf(t, f, "014.json")) // of a file with several days
	f.run(t, "", "forget", "--undo", "--where", "status = 'forgotten'")
	f.run(t, "", "run", f.upload(t, files[14]))
	f.run(t, "", "compact", "--min-files", "2") // the files with several days
	f.run(t, "", "compact", "--min-files", "2")
	for _, name := range names {
		if n := len(filesOfDay(t, l, "slice", name)); n != 1 {
			t.Errorf("%s has %d files", name, n)
		}
	}
	if out := f.run(t, "", "compact", "--min-files", "2"); !strings.Contains(out, `"removed":0`) {
		t.Errorf("compacting again: %s", out)
	}
	if after := ask(); after != before {
		t.Errorf("%s\nbefore compacting\n%s", after, before)
	}
	f.run(t, "", "expire", "--older-than", "0s", "--keep", "1")
	equalTables(t, database(t), converted(t, files...), f.source(t, l))
	checkDays(t, f, len(files))
}

// mixDays makes one file per table of a result, as older versions did.
func mixDays(t *testing.T, r task.Result) task.Result {
	t.Helper()
	db, mixed := database(t), map[string]*task.File{}
	for _, f := range r.Files {
		to := mixed[f.Table]
		if to == nil {
			to = &task.File{Table: f.Table, URL: f.URL[:strings.LastIndex(f.URL, "/")] + "/" + r.Name() + ".parquet", Groups: []int64{4}, Columns: f.Columns}
			mixed[f.Table] = to
		}
		to.Rows += f.Rows
	}
	files := r.Files
	r.Files = nil
	for table, to := range mixed {
		var from, ids []string
		for _, f := range files {
			if f.Table == table {
				from = append(from, "'"+strings.TrimPrefix(f.URL, "file://")+"'")
			}
		}
		rows, err := db.Query("SELECT name, field_id FROM parquet_schema(" + from[0] + ") WHERE field_id IS NOT NULL")
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var name string
			var id int
			if err := rows.Scan(&name, &id); err != nil {
				t.Fatal(err)
			}
			ids = append(ids, fmt.Sprintf(`"%s": %d`, name, id))
		}
		path := strings.TrimPrefix(to.URL, "file://")
		if _, err := db.Exec(fmt.Sprintf("COPY (FROM read_parquet([%s]) ORDER BY trace_id) TO '%s' (FORMAT parquet, FIELD_IDS {%s})", strings.Join(from, ", "), path, strings.Join(ids, ", "))); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		to.Bytes = info.Size()
		for i := range to.Columns { // the bounds are not known
			to.Columns[i].Nulls, to.Columns[i].Least, to.Columns[i].Greatest = 0, nil, nil
		}
		r.Files = append(r.Files, *to)
	}
	return r
}

// unpartition takes the partitions of a table away, as if it had never had any.
func unpartition(t *testing.T, f *fleet, table string) {
	t.Helper()
	alter(t, f, table, func(metadata map[string]any) {
		metadata["partition-specs"], metadata["default-spec-id"] = []any{map[string]any{"spec-id": 0, "fields": []any{}}}, 0
		metadata["last-partition-id"] = 999
	})
}
