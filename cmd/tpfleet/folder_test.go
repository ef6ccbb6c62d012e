package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
)

// converter runs tpconvert, which has to succeed, and returns its output.
func converter(t *testing.T, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), tpconvertPath, args...)
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("tpconvert %q: %v", args, err)
	}
	return string(out)
}

// Two commands without a server: one makes a lake of a folder, one asks it. tpconvert reads what is committed, and nothing else.
func TestFolderIsQueried(t *testing.T) {
	good, bad := traces(t)
	f := &fleet{folder: filepath.Join(t.TempDir(), "lake"), traces: "file://" + filepath.Join(t.TempDir(), "traces") + "/"}
	for rank := range 2 {
		name := filepath.Join(t.TempDir(), fmt.Sprintf("rank%d.json", rank))
		text := fmt.Sprintf(`{"distributedInfo":{"backend":"nccl","rank":%d,"world_size":2},"traceEvents":[
			{"ph":"X","cat":"kernel","name":"ncclKernel_AllReduce","pid":0,"tid":7,"ts":%d,"dur":%d,"args":{"device":0,"stream":7}}]}`, rank, 10+5*rank, 20-5*rank)
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		good = append(good, name)
	}
	url := f.upload(t, append(good, bad...)...)
	path := strings.TrimSuffix(strings.TrimPrefix(url, "file://"), "/")
	f.run(t, "", "run", "--task-traces", "3", path) // makes the folder
	dataset := converted(t, good...)
	ask := func(sql string) {
		t.Helper()
		want, got := converter(t, "query", "--format", "csv", dataset, sql), converter(t, "query", "--format", "csv", f.folder, sql)
		if got != want {
			t.Errorf("%s gives\n%s\nwant\n%s", sql, got, want)
		}
	}
	const slices = "SELECT trace_id, name, count(*), sum(dur) FROM slice GROUP BY ALL ORDER BY ALL"
	check := func() {
		t.Helper()
		ask(slices)
		ask("SELECT trace_id, name, format, start_ts, schema_version FROM trace ORDER BY trace_id")
		ask("SELECT trace_id, id, name FROM ancestor_slice((SELECT max(id) FROM slice), (SELECT max(trace_id) FROM slice)) ORDER BY ALL")
		ask("FROM cpu_track ORDER BY ALL")
		ask("SELECT rank, world_size, busy FROM gpu_rank ORDER BY rank")
		ask("FROM gpu_collective")
		want, got := converter(t, "summarize", "--format", "csv", "slices", dataset), converter(t, "summarize", "--format", "csv", "slices", f.folder)
		if got != want || strings.Count(got, "\n") < 5 {
			t.Errorf("summarize gives\n%s\nwant\n%s", got, want)
		}
	}
	check()
	if got, want := converter(t, "query", "--format", "csv", f.folder, "SELECT count(*) FROM ledger WHERE status = 'bad'"), len(bad); !strings.HasSuffix(got, "\n3\n") || want != 3 {
		t.Errorf("%s in the ledger, want %d", got, want)
	}
	if got := converter(t, "query", "--format", "csv", f.folder, "SELECT straggler, skew FROM gpu_collective"); got != "straggler,skew\n1,5000\n" {
		t.Errorf("the straggler of two ranks: %s", got)
	}
	layout, err := f.lake(t.Context(), t).Layout(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	tpfleet(t, line(t, newTask(layout, smallTraces(t, 1)[0])), "work") // and no commit
	f.run(t, "", "compact", "--min-files", "2")
	if files := fileCounts(t, f)[task.Ledger]; files != 1 {
		t.Errorf("the ledger has %d files", files)
	}
	check()
	// A process that is killed after its commit leaves an old list, which the next one renews.
	list := filepath.Join(f.folder, "files.json")
	before, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	url = f.upload(t, smallTraces(t, 1)...)
	f.run(t, "", "run", url)
	if err := os.WriteFile(list, before, 0o644); err != nil {
		t.Fatal(err)
	}
	f.run(t, "", "status")
	if got := converter(t, "query", "--format", "csv", f.folder, "SELECT count(*) FROM slice WHERE name = 'slice 0'"); !strings.HasSuffix(got, "\n1\n") {
		t.Errorf("after another trace: %s", got)
	}
	if out, err := command(t, "init", filepath.Join(t.TempDir(), "a lake")).CombinedOutput(); err == nil || !strings.Contains(string(out), "may not have spaces") {
		t.Errorf("a path with a space: %s, %v", out, err)
	}
	if out, err := command(t, "status", "--lake", t.TempDir()).CombinedOutput(); err == nil || !strings.Contains(string(out), "there is no lake in") {
		t.Errorf("no lake: %s, %v", out, err)
	}
	python := os.Getenv("FLEET_PYTHON")
	if python == "" {
		t.Skip("READERS OF A FLEET IN A FOLDER ARE NOT TESTED: there is no Python")
	}
	all := converter(t, "query", "--format", "csv", f.folder, slices)
	if out, err := exec.CommandContext(t.Context(), python, "../../.ci/fleet-folder.py", f.folder).CombinedOutput(); err != nil {
		t.Errorf("%s%v", out, err)
	}
	f.run(t, "", "status")
	if got := converter(t, "query", "--format", "csv", f.folder, slices); got != all {
		t.Errorf("after PyIceberg wrote:\n%s\nbefore:\n%s", got, all)
	}
	if got := f.run(t, "", "query", "--format", "csv", "SELECT count(*) FROM slice"); strings.Count(got, "\n") != len(good)+2 {
		t.Errorf("slices of each trace: %s", got)
	}
	f.run(t, "", "compact", "--min-files", "2")
}
