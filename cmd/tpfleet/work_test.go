package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
	"github.com/tpconvert/tpconvert/model/table"
)

// The tables of two tasks have the same rows as the traces converted one by one.
func TestWork(t *testing.T) {
	good, bad := traces(t)
	dir := t.TempDir()
	layout := localLayout(t, dir)
	oneByOne(t, filepath.Join(dir, "want"), good...)
	missing := filepath.Join(dir, "missing.json")
	half := len(good) / 2
	tasks := []task.Task{
		newTask(layout, append(append(slices.Clone(bad[:1]), good[:half]...), good[0], missing)...),
		newTask(layout, append(slices.Clone(good[half:]), bad[1:]...)...),
	}
	results := lines[task.Result](t, tpfleet(t, line(t, tasks[0])+line(t, tasks[1]), "work"))
	if len(results) != 2 {
		t.Fatalf("%d results, want 2", len(results))
	}
	statuses := map[string]int{}
	for i, r := range results {
		if r.Task != tasks[i].ID || len(r.Traces) != len(tasks[i].Traces) {
			t.Errorf("result of %s with %d traces, want %s, %d", r.Task, len(r.Traces), tasks[i].ID, len(tasks[i].Traces))
		}
		for k, o := range r.Traces {
			statuses[o.Status]++
			file := strings.TrimPrefix(tasks[i].Traces[k].URL, "file://")
			switch {
			case o.URL != tasks[i].Traces[k].URL:
				t.Errorf("outcome of %s, want %s", o.URL, tasks[i].Traces[k].URL)
			case file == missing:
				if o.Status != task.Failed || o.ExitCode != 1 || o.Error == "" {
					t.Errorf("a missing trace: %+v", o)
				}
			case slices.Contains(bad, file):
				if o.Status != task.Bad || o.ExitCode != 4 || !strings.Contains(o.Error, filepath.Base(file)) || o.SHA256 == "" {
					t.Errorf("a bad trace: %+v", o)
				}
			default:
				info, err := os.Stat(file)
				if err != nil || o.Bytes != info.Size() || len(o.SHA256) != 64 || o.ETag == "" || o.ExitCode != 0 || o.Format == "" {
					t.Errorf("%+v, %v", o, err)
				}
			}
		}
	}
	if want := fmt.Sprint(map[string]int{task.OK: len(good), task.Bad: len(bad), task.Copy: 1, task.Failed: 1}); fmt.Sprint(statuses) != want {
		t.Errorf("%v, want %v", statuses, want)
	}
	db := database(t)
	filled := equalTables(t, db, filepath.Join(dir, "want"), func(table string) string {
		files, _ := filepath.Glob(filepath.Join(dir, table, "data", "*.parquet"))
		if len(files) == 0 {
			return ""
		}
		return fmt.Sprintf("read_parquet(%s)", strings.ReplaceAll(fmt.Sprintf("%q", files), `" "`, `", "`))
	})
	if filled < 20 {
		t.Errorf("only %d tables have rows", filled)
	}
	checkFiles(t, results)
}

// checkFiles compares what results say of files with what DuckDB finds in them.
func checkFiles(t *testing.T, results []task.Result) {
	t.Helper()
	db := database(t)
	for _, r := range results {
		for _, f := range r.Files {
			path := strings.TrimPrefix(f.URL, "file://")
			var days string
			if err := db.QueryRow("SELECT string_agg(DISTINCT trace_day) FROM read_parquet(?)", path).Scan(&days); err != nil {
				t.Fatal(err)
			}
			if filepath.Base(path) != r.Task+"-"+r.Attempt+"-"+days+".parquet" {
				t.Errorf("%s is a file of task %s, attempt %s, with the days %s", path, r.Task, r.Attempt, days)
			}
			info, err := os.Stat(path)
			if err != nil || info.Size() != f.Bytes {
				t.Errorf("%s: %v, want %d bytes", path, err, f.Bytes)
			}
			if n := number(t, db, "SELECT count(*) FROM read_parquet(?)", path); n != f.Rows {
				t.Errorf("%s: %d rows, want %d", path, n, f.Rows)
			}
			// trace_id is the first column, in order, and has a bloom filter, as name has.
			if n := number(t, db, "SELECT count(*) FROM (SELECT trace_id < lag(trace_id) OVER (ORDER BY file_row_number) AS back FROM read_parquet(?, file_row_number = true)) WHERE back", path); n != 0 {
				t.Errorf("%s is not sorted by trace_id", path)
			}
			if n := number(t, db, "SELECT count(*) FROM parquet_metadata(?) WHERE path_in_schema IN ('trace_id', 'name') AND stats_null_count < num_values AND bloom_filter_offset IS NULL", path); n != 0 {
				t.Errorf("%s: %d column chunks have no bloom filter", path, n)
			}
			if n := number(t, db, "SELECT count(*) FROM parquet_metadata(?) WHERE compression <> 'ZSTD'", path); n != 0 {
				t.Errorf("%s is not all zstd", path)
			}
			if n := number(t, db, "SELECT count(*) FROM parquet_schema(?) WHERE field_id >= 1000", path); n != int64(len(f.Columns)) {
				t.Errorf("%s: %d columns with field ids of the layout, want %d", path, n, len(f.Columns))
			}
			if f.Table != "slice" {
				continue
			}
			slice := task.Packed()[slices.IndexFunc(task.Packed(), func(s *table.Schema) bool { return s.Name == "slice" })]
			ts, name := f.Columns[slice.Column("ts")], f.Columns[slice.Column("name")]
			least, greatest := int64(binary.LittleEndian.Uint64(ts.Least)), int64(binary.LittleEndian.Uint64(ts.Greatest))
			if n := number(t, db, "SELECT count(*) FROM read_parquet(?) HAVING min(ts) = ? AND max(ts) = ?", path, least, greatest); n != f.Rows {
				t.Errorf("%s: ts is not from %d to %d", path, least, greatest)
			}
			if n := number(t, db, "SELECT count(*) FROM read_parquet(?) WHERE encode(name) < ? OR encode(name) > ?", path, name.Least, name.Greatest); n != 0 {
				t.Errorf("%s: %d names are not between %q and %q", path, n, name.Least, name.Greatest)
			}
			if n := number(t, db, "SELECT count(*) FROM read_parquet(?) WHERE name IS NULL", path); n != name.Nulls {
				t.Errorf("%s: %d names are NULL, want %d", path, n, name.Nulls)
			}
		}
	}
}

// An array job carries out one line of a file of tasks each, and writes its result to a folder.
func TestWorkByIndex(t *testing.T) {
	good, _ := traces(t)
	dir := t.TempDir()
	layout := localLayout(t, dir)
	tasks := filepath.Join(dir, "tasks.jsonl")
	text := line(t, newTask(layout, good[0])) + line(t, newTask(layout, good[5]))
	if err := os.WriteFile(tasks, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 { // another attempt overwrites nothing
		if out := tpfleet(t, "", "work", "--index", "1", "--results", "file://"+dir+"/results", tasks); out != "" {
			t.Errorf("output %q", out)
		}
	}
	results, _ := filepath.Glob(filepath.Join(dir, "results", "*.json"))
	files, _ := filepath.Glob(filepath.Join(dir, "stats", "data", "*"))
	if len(results) != 2 || len(files) != 2 {
		t.Errorf("results %q, files %q", results, files)
	}
	if out, err := command(t, "work", "--index", "2", tasks).CombinedOutput(); err == nil || !strings.Contains(string(out), "has 2 tasks") {
		t.Errorf("%s, %v", out, err)
	}
}

// If a task as a whole cannot be done, its traces have failed.
func TestWorkWithoutLayout(t *testing.T) {
	good, _ := traces(t)
	r := lines[task.Result](t, tpfleet(t, line(t, newTask("file:///nowhere/layout.json", good[0])), "work"))[0]
	if len(r.Traces) != 1 || r.Traces[0].Status != task.Failed || !strings.Contains(r.Traces[0].Error, "layout.json") {
		t.Errorf("%+v", r)
	}
	c := command(t, "work")
	c.Stdin = strings.NewReader("not a task\n")
	if out, err := c.CombinedOutput(); err == nil || c.ProcessState.ExitCode() != exitUsage || !strings.Contains(string(out), "line 1") {
		t.Errorf("%s, %v", out, err)
	}
}

// Metrics of the files of tasks have the same rows as those of the traces, and so have alerts.
func TestSummarizeTasks(t *testing.T) {
	good, _ := traces(t)
	dir := t.TempDir()
	layout := localLayout(t, dir)
	tpfleet(t, line(t, newTask(layout, good[:5]...))+line(t, newTask(layout, good[5:]...)), "work")
	want := converted(t, good...)
	run := func(args ...string) string {
		t.Helper()
		out, err := exec.Command(tpconvertPath, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %s%v", args, out, err)
		}
		return string(out)
	}
	run("summarize", "-o", filepath.Join(dir, "metrics"), dir)
	run("summarize", "-o", filepath.Join(want, "metrics"), want)
	files, _ := filepath.Glob(filepath.Join(want, "metrics", "*.parquet"))
	db := database(t)
	filled := 0
	for _, file := range files {
		packed := filepath.Join(dir, "metrics", filepath.Base(file))
		if n := number(t, db, fmt.Sprintf("SELECT count(*) FROM (FROM '%[1]s' EXCEPT ALL FROM '%[2]s') UNION ALL SELECT count(*) FROM (FROM '%[2]s' EXCEPT ALL FROM '%[1]s') ORDER BY ALL DESC", packed, file)); n != 0 {
			t.Errorf("%s: %d rows differ", packed, n)
		}
		if number(t, db, "SELECT count(*) FROM read_parquet(?)", file) > 0 {
			filled++
		}
	}
	if filled < 4 {
		t.Errorf("only %d of %d metrics have rows", filled, len(files))
	}
	if got, want := run("alerts", "--format", "csv", dir), run("alerts", "--format", "csv", want); got != want {
		t.Errorf("alerts\n%s, want\n%s", got, want)
	}
}
