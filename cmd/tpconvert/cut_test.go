//go:build cgo

package main

import (
	"bytes"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/export"
)

// reaching are the rows of a table that reach into a range, as SQL with the folder of the whole trace and the range.
var reaching = map[string]string{
	"slice": spans, "gpu_slice": spans, "frame_slice": spans, "expected_frame_timeline_slice": spans, "actual_frame_timeline_slice": spans,
	"state": spans, "sched_slice": spans, "thread_state": spans,
	"spurious_sched_wakeup": moments, "ftrace_event": moments, "chrome_raw": moments, "android_logs": moments, "stack_sample": moments,
	"protolog": moments, "profiler_smaps": moments, "windowmanager": moments, "surfaceflinger_layers_snapshot": moments,
	"counter": `SELECT * FROM {table} AS c WHERE ts < {to} AND ts >= (
		SELECT coalesce(max(ts), {from}) FROM {table} AS before WHERE before.track_id = c.track_id AND ts <= {from})`,
	"flow":                   `SELECT * FROM {table} WHERE slice_out IN (SELECT id FROM {part}slice.parquet') AND slice_in IN (SELECT id FROM {part}slice.parquet')`,
	"track_event_callstacks": `SELECT * FROM {table} WHERE slice_id IN (SELECT id FROM {part}slice.parquet')`,
	"stack_sample_event":     `SELECT * FROM {table} WHERE stack_sample_id IN (SELECT id FROM {part}stack_sample.parquet')`,
	"profiler_counter_set":   `SELECT * FROM {table} WHERE counter_set_id IN (SELECT counter_set_id FROM {part}stack_sample.parquet')`,
	"trace":                  "",
	"trace_bounds":           "SELECT 0, greatest(start_ts, {from}), least(end_ts, {to}) FROM {table}",
}

const (
	spans   = "SELECT * FROM {table} WHERE ts < {to} AND (ts >= {from} OR dur = -1 OR ts + dur > {from})"
	moments = "SELECT * FROM {table} WHERE ts >= {from} AND ts < {to}"
)

// cutTraces are traces of all kinds of tables that are cut.
func cutTraces(t *testing.T) (paths []string) {
	for _, name := range []string{"chromium.pftrace.gz", "chromium.json.gz", "frames.pftrace", "app.ftrace", "perf.data", "perf.script", "go.trace.gz"} {
		paths = append(paths, recorded(t, name))
	}
	for _, pattern := range []string{"perfetto/Gracker__Smart*", "systrace/google*", "fxt/*c-hello*", "art-trace/*new*"} {
		paths = append(paths, shared(t, pattern)...)
	}
	return paths
}

// TestCut compares the rows of a part of a trace with those that SQL finds in the whole.
func TestCut(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, trace := range cutTraces(t) {
		dir := t.TempDir()
		tpconvert(t, dir, "-q", "--row-group-rows", "1000", trace, "whole").expect(t, exitDone, "")
		whole := manifestAt(t, dir, "whole", "_tpconvert.json")
		if whole.Start == nil || *whole.End-*whole.Start < 10 {
			continue
		}
		tenth := (*whole.End - *whole.Start) / 10
		from, to := *whole.Start+4*tenth, *whole.Start+5*tenth
		absolute := []string{"--from", strconv.FormatInt(from, 10), "--to", strconv.FormatInt(to, 10)}
		tpconvert(t, dir, append([]string{"cut", "-q", "whole", "-o", "part"}, absolute...)...).expect(t, exitDone, "")
		relative := []string{"--from", fmt.Sprint(4*tenth, "ns"), "--to", fmt.Sprint(5*tenth, "ns")}
		tpconvert(t, dir, append([]string{"-q", "--row-group-rows", "1000", trace, "converted"}, relative...)...).expect(t, exitDone, "")

		if cut, converted := contentOf(t, filepath.Join(dir, "part")), contentOf(t, filepath.Join(dir, "converted")); len(cut) != len(converted) {
			t.Errorf("%s: %d files, but %d with --from and --to", trace, len(cut), len(converted))
		} else {
			for path, content := range cut {
				if filepath.Ext(path) == ".parquet" && !bytes.Equal(converted[strings.Replace(path, "/part/", "/converted/", 1)], content) {
					t.Errorf("%s: %s is another one with --from and --to", trace, path)
				}
			}
		}
		part := manifestAt(t, dir, "part", "_tpconvert.json")
		if part.Whole == nil || *part.Whole != (export.Span{Start: *whole.Start, End: *whole.End}) || *part.Start != from || *part.End != to {
			t.Errorf("%s: the part from %d to %d is from %d to %d of %v", trace, from, to, *part.Start, *part.End, part.Whole)
		}
		rows := strings.NewReplacer("{from}", strconv.FormatInt(from, 10), "{to}", strconv.FormatInt(to, 10), "{part}", "'"+filepath.Join(dir, "part")+"/")
		for _, of := range whole.Tables {
			file := func(folder string) string { return "'" + filepath.Join(dir, folder, of.File) + "'" }
			want, known := reaching[of.Name]
			switch {
			case want == "" && known:
				continue
			case of.Name == "args":
				want = "SELECT * FROM {table} WHERE arg_set_id IN (" + argSetsOf(t, db, filepath.Join(dir, "part"), part) + ")"
			case !known:
				want = "SELECT * FROM {table}"
			}
			want = strings.ReplaceAll(rows.Replace(want), "{table}", file("whole"))
			if !slices.ContainsFunc(part.Tables, func(p export.Table) bool { return p.Name == of.Name }) {
				differ(t, db, trace+": "+of.Name+" is missing, but", want, want+" LIMIT 0")
				continue
			}
			differ(t, db, trace+": "+of.Name, want, "FROM "+file("part"))
		}
	}
}

// differ fails if two queries differ in a row.
func differ(t *testing.T, db *sql.DB, what, want, got string) {
	t.Helper()
	var missing, extra int
	err := db.QueryRowContext(t.Context(), fmt.Sprintf("SELECT (SELECT count(*) FROM (%[1]s EXCEPT ALL %[2]s)), (SELECT count(*) FROM (%[2]s EXCEPT ALL %[1]s))",
		"("+want+")", "("+got+")")).Scan(&missing, &extra)
	if err != nil || missing > 0 || extra > 0 {
		t.Errorf("%s: %d rows are missing, %d too many: %v", what, missing, extra, err)
	}
}

// argSetsOf returns SQL with all sets of arguments that a dataset refers to.
func argSetsOf(t *testing.T, db *sql.DB, folder string, m export.Manifest) string {
	t.Helper()
	var all []string
	for _, of := range m.Tables {
		path := "'" + filepath.Join(folder, of.File) + "'"
		columns, err := db.QueryContext(t.Context(), "SELECT name FROM parquet_schema("+path+") WHERE name LIKE '%arg_set_id'")
		if err != nil {
			t.Fatal(err)
		}
		defer columns.Close()
		for columns.Next() {
			var name string
			if err := columns.Scan(&name); err != nil {
				t.Fatal(err)
			}
			if of.Name != "args" {
				all = append(all, "SELECT "+name+" FROM "+path)
			}
		}
	}
	return strings.Join(all, " UNION ALL ")
}

// A part can be used like a whole: its slices nest, and what is derived from it has ids of its own.
func TestPartIsDataset(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"d.yaml": "events: {all: {query: 'SELECT ts, dur, name FROM slice'}}"})
	tpconvert(t, dir, "-q", recorded(t, "chromium.json.gz"), "whole").expect(t, exitDone, "")
	tpconvert(t, dir, "cut", "-q", "whole", "-o", "part", "--from", "1s", "--to", "1.1s").expect(t, exitDone, "")
	tpconvert(t, dir, "derive", "-q", "d.yaml", "part").expect(t, exitDone, "")
	for sql, want := range map[string]string{
		"SELECT count(*) - count(DISTINCT id) AS n FROM slice":                                                                            "n\n0\n",
		"SELECT count(*) - count(DISTINCT id) AS n FROM track":                                                                            "n\n0\n",
		"SELECT count(*) AS n FROM slice AS s WHERE depth > 0 AND NOT EXISTS (FROM slice AS p WHERE p.id = s.parent_id AND p.ts <= s.ts)": "n\n0\n",
		"SELECT trace_dur() AS n": "n\n100000000\n",
	} {
		if got := derivedRows(t, dir, "part", sql); got != want {
			t.Errorf("%s: %s", sql, got)
		}
	}
	// A part of a part has no derived rows, and names the whole.
	tpconvert(t, dir, "cut", "-q", "part", "-o", "less", "--to", "50ms").expect(t, exitDone, "")
	tpconvert(t, dir, "cut", "-q", "whole", "-o", "direct", "--from", "1s", "--to", "1.05s").expect(t, exitDone, "")
	for _, name := range []string{"slice", "counter", "args", "trace_bounds"} {
		query := "FROM " + name
		if got, want := rowsOf(t, dir, "less", query), rowsOf(t, dir, "direct", query); got != want {
			t.Errorf("%s of a part of a part differs", name)
		}
	}
	if got, want := manifestAt(t, dir, "less", "_tpconvert.json"), manifestAt(t, dir, "direct", "_tpconvert.json"); *got.Whole != *want.Whole || *got.Start != *want.Start {
		t.Errorf("it is a part of %v, not of %v", got.Whole, want.Whole)
	}
}

// In a dataset of many traces each is cut, from its own start.
func TestCutMany(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{
		"a.json": `[{"ph":"X","ts":0,"dur":1,"pid":1,"tid":1,"name":"a"},{"ph":"X","ts":5,"dur":5,"pid":1,"tid":1,"name":"b"}]`,
		"b.json": `[{"ph":"X","ts":100,"dur":2,"pid":1,"tid":1,"name":"c"},{"ph":"X","ts":105,"dur":5,"pid":1,"tid":1,"name":"d"}]`,
	})
	tpconvert(t, dir, "-q", "a.json", "b.json", "all").expect(t, exitDone, "")
	tpconvert(t, dir, "cut", "-q", "all", "-o", "cut", "--from", "1us", "--to", "6us").expect(t, exitDone, "")
	tpconvert(t, dir, "-q", "a.json", "b.json", "converted", "--from", "1us", "--to", "6us").expect(t, exitDone, "")
	for _, out := range []string{"cut", "converted"} {
		if got, want := rowsOf(t, dir, out, "SELECT name FROM slice ORDER BY name"), "name\nb\nc\nd\n"; got != want {
			t.Errorf("%s: %s, want %s", out, got, want)
		}
	}
	got := tpconvert(t, dir, "-q", "a.json", "b.json", "some", "--to", "100000")
	got.expect(t, exitSomeFailed, "b.json: --to 100000 ns is not after the start: the trace is 10µs long, from 100000 to 110000 ns")
	if got := rowsOf(t, dir, "some", "SELECT name FROM slice ORDER BY name"); got != "name\na\nb\n" {
		t.Errorf("some: %s", got)
	}
}

func TestCutRefuses(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{
		"a.json": `[{"ph":"X","ts":10,"dur":10,"pid":1,"tid":1,"name":"a"}]`,
		"stacks": "main;work 3\n",
	})
	tpconvert(t, dir, "-q", "a.json", "whole").expect(t, exitDone, "")
	tpconvert(t, dir, "-q", "--format", "arrow", "a.json", "arrow").expect(t, exitDone, "")
	for args, message := range map[string]string{
		"cut whole -o part":                     "--from or --to is missing",
		"cut whole --from 1us":                  "-o OUT is missing",
		"cut whole -o part --from 5us --to 5us": "tpconvert: --to 5µs is not after --from 5µs: the trace is 10µs long, from 10000 to 20000 ns",
		"cut whole -o part --from 1s":           "tpconvert: --from 1s is after the end: the trace is 10µs long, from 10000 to 20000 ns",
		"cut whole -o part --to 10000":          "tpconvert: --to 10000 ns is not after the start",
		"cut whole -o part --from later":        `"later" is neither a time after the start`,
		"cut whole -o part --from -1s":          `"-1s" is neither a time after the start`,
		"cut arrow -o part --from 1us":          "only datasets of Parquet files can be cut",
		"a.json part --from 1s":                 "tpconvert: a.json: --from 1s is after the end",
		"stacks part --from 1s":                 "the trace has no events with a time",
		"a.json part --from 3000000h":           "is neither a time",
	} {
		tpconvert(t, dir, strings.Fields(args)...).expect(t, exitUsage, message)
	}
	if got := names(t, dir); !slices.Equal(got, []string{"a.json", "arrow", "stacks", "whole"}) {
		t.Errorf("left: %v", got)
	}
}
