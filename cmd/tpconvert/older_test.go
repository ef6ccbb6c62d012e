//go:build cgo

package main

import (
	"archive/zip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOlderDatasets reads datasets that the version before wrote, which lack the newest tables and columns.
func TestOlderDatasets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	packed, err := zip.OpenReader(filepath.Join("..", "..", "testdata", "datasets", "schema2.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	if err := os.CopyFS(dir, packed); err != nil {
		t.Fatal(err)
	}
	const slices = "SELECT s.name, s.dur, t.name AS thread, a.int_value FROM slice AS s JOIN thread_track AS k ON k.id = s.track_id " +
		"JOIN thread AS t ON t.utid = k.utid LEFT JOIN args AS a ON a.arg_set_id = s.arg_set_id AND a.key = 'args.n' ORDER BY s.ts"
	const want = "name,dur,thread,int_value\nwork,5000,main,1\npart,2000,main,\nother,5000,,\n"
	if got := rowsOf(t, dir, "one", slices); got != want {
		t.Errorf("DuckDB: %s", got)
	}
	if got := rowsOf(t, dir, "one", slices, "--perfetto"); got != `"name","dur","thread","int_value"
"work",5000,"main",1
"part",2000,"main","[NULL]"
"other",5000,"[NULL]","[NULL]"
` {
		t.Errorf("PerfettoSQL: %s", got)
	}
	if got := rowsOf(t, dir, "one", "SELECT name, effect FROM stats WHERE name = 'json_parser_failure' UNION ALL FROM (SELECT event, NULL FROM stack_sample_event)"); got != "name,effect\n" {
		t.Errorf("tables and columns that it lacks: %s", got)
	}
	const samples = "SELECT count(*) AS n, count(weight) AS weights, count(DISTINCT trace_id) AS traces FROM stack_sample"
	older := rowsOf(t, dir, "many", samples)
	if !strings.HasPrefix(older, "n,weights,traces\n") || strings.HasPrefix(older, "n,weights,traces\n0,") || !strings.HasSuffix(older, ",0,1\n") {
		t.Errorf("many traces: %s", older)
	}
	tpconvert(t, dir, "flamegraph", "--top", "--trace-id", "stacks.txt", "many").expect(t, exitDone, "")
	tpconvert(t, dir, "summarize", "one").expect(t, exitDone, "")
	tpconvert(t, dir, "register", "one", "one.duckdb").expect(t, exitDone, "")
	if got := rowsOf(t, dir, "one.duckdb", slices); got != want {
		t.Errorf("registered: %s", got)
	}

	// Traces of both versions in one dataset.
	another := `[{"ph":"X","name":"new","pid":1,"tid":2,"ts":10,"dur":5}]`
	if err := os.WriteFile(filepath.Join(dir, "new.json"), []byte(another), 0o666); err != nil {
		t.Fatal(err)
	}
	tpconvert(t, dir, "-q", "--append", "new.json", "many").expect(t, exitDone, "")
	if got := rowsOf(t, dir, "many", "SELECT name, count(weight) AS weights FROM slice LEFT JOIN stack_sample AS s ON s.trace_id = slice.trace_id GROUP BY name ORDER BY name"); got !=
		"name,weights\nnew,0\nother,0\npart,0\nwork,0\n" {
		t.Errorf("both versions: %s", got)
	}
	if got := rowsOf(t, dir, "many", samples); got != older {
		t.Errorf("both versions: %s", got)
	}
}
