//go:build cgo

package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestWithoutDuckDB runs the commands of a tpconvert that was built without a C compiler.
func TestWithoutDuckDB(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds the command")
	}
	trace, checkout := recorded(t, "chromium.json.gz"), ownCheckout(t)
	dir := folder(t, map[string]string{
		"own.yaml":    "dialect: perfetto\nevents:\n  tasks: {query: 'SELECT ts, dur, name FROM slice WHERE dur > 8000000'}\n",
		"duckdb.yaml": "alerts:\n  a:\n    query: FROM slice\n    level: error\n    text: x\n",
	})
	binary := filepath.Join(dir, "tpconvert.exe")
	build := exec.Command("go", "build", "-pgo=off", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := func(args ...string) outcome {
		t.Helper()
		cmd := command(t, dir, args...)
		cmd.Path = binary
		return finish(t, cmd)
	}
	run("-q", trace, "out").expect(t, exitDone, "")
	const counted = "SELECT count(*) AS n, sum(dur) AS dur FROM slice"
	if got := run("query", "--perfetto", "--format", "csv", trace, counted); got.stdout != "\"n\",\"dur\"\n6033,15336626985\n" {
		t.Errorf("query: %+v", got)
	}
	if got := run("summarize", "--format", "csv", "--metric", "slices_count", "slices", "out"); !strings.Contains(got.stdout, "\nFunctionCall,") {
		t.Errorf("summarize: %+v", got)
	}
	if got := run("derive", "own.yaml", "out"); got.code != exitDone || got.stdout != "events tasks: 141 rows\n" {
		t.Errorf("derive: %+v", got)
	}
	if got := run("query", "--perfetto", "--derived", "--format", "csv", "out", "SELECT count(*) AS n FROM slice JOIN track ON track.id = track_id WHERE track.name = 'tasks'"); got.stdout != "\"n\"\n141\n" {
		t.Errorf("derived slices: %+v", got)
	}
	if got := run("alerts", "--format", "csv", "out"); got.code != exitDone || !strings.HasPrefix(got.stdout, "level,name,text,ts,dur,slice_id,utid,upid\n") {
		t.Errorf("alerts: %+v", got)
	}
	if got := run("metric", "--stdlib", checkout, "--run", "own", "out"); got.code != exitDone || !strings.HasPrefix(got.stdout, "own") {
		t.Errorf("metric: exit code %d, %.200s, %s", got.code, got.stdout, got.stderr)
	}
	server := command(t, dir, "serve", "--port", "0", "out")
	server.Path = binary
	stdout, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url, _, _ := strings.Cut(line, " ")
	if got := ask(t, url, "SELECT count(*) FROM slice"); len(got.rows) != 1 || got.rows[0] != "6174" {
		t.Errorf("serve: %+v", got)
	}
	if err := server.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = server.Wait()
	for _, args := range [][]string{{"query", "out", "FROM slice"}, {"flamegraph", "out"}, {"register", "out", "t.duckdb"}, {"-q", "--duckdb", "t.duckdb", trace, "two"}, {"alerts", "duckdb.yaml", "out"}} {
		run(args...).expect(t, exitFailure, "built without DuckDB")
	}
	run("derive", "duckdb.yaml", "out").expect(t, exitFailure, "duckdb.yaml:2: a: this tpconvert was built without DuckDB")
}
