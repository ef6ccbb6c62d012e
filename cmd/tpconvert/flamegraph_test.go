//go:build cgo

package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// pprofPath returns the path of go tool pprof, which the go command takes longer to start than it runs.
var pprofPath = sync.OnceValues(func() (string, error) {
	path, err := exec.Command("go", "tool", "-n", "pprof").Output()
	return strings.TrimSpace(string(path)), err
})

// pprofReport returns go tool pprof's report of a profile, without the lines about the recording.
func pprofReport(t *testing.T, args ...string) string {
	t.Helper()
	pprof, err := pprofPath()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), pprof, append([]string{"-symbolize=none"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, &stderr)
	}
	return regexp.MustCompile(`(?m)^(Time: |Duration: |go_\S+ of ).*\n`).ReplaceAllString(string(text), "")
}

// TestFlamegraphKeepsProfiles checks that pprof reports the same for the profiles that the command wrote as for the
// originals.
func TestFlamegraphKeepsProfiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, reports := range map[string][][]string{
		"go_heap.pb.gz": {{"-top", "-sample_index=inuse_space"}, {"-top", "-sample_index=alloc_objects"}, {"-tags", "-sample_index=alloc_space"}},
		"go_cpu.pb.gz":  {{"-top"}, {"-tags"}, {"-traces", "-tagfocus=job=sort"}},
	} {
		tpconvert(t, dir, "flamegraph", "-o", name, recorded(t, name)).expect(t, exitDone, "")
		for _, args := range reports {
			got, want := pprofReport(t, append(args, filepath.Join(dir, name))...), pprofReport(t, append(args, recorded(t, name))...)
			if args[0] == "-traces" { // in arbitrary order
				got, want = sortedTraces(got), sortedTraces(want)
			}
			if got != want || strings.Count(want, "\n") < 5 {
				t.Errorf("%s %s:\n%s\nwant\n%s", name, args, got, want)
			}
		}
	}
	for _, name := range []string{"go_block.pb.gz", "go_mutex.pb.gz", "go_goroutine.pb.gz"} {
		tpconvert(t, dir, "flamegraph", "-o", name, recorded(t, name)).expect(t, exitDone, "")
		if got, want := stackSums(parsed(t, filepath.Join(dir, name))), stackSums(parsed(t, recorded(t, name))); !maps.Equal(got, want) || len(want) == 0 {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func sortedTraces(text string) string {
	head, rest, _ := strings.Cut(text, "-----------+")
	traces := strings.Split(rest, "-----------+")
	slices.Sort(traces)
	return head + strings.Join(traces, "-----------+")
}

// stackSums adds up the values of a profile by stack, from the outermost function on, and metric.
func stackSums(p *profile.Profile) map[string]int64 {
	sums := map[string]int64{}
	for _, s := range p.Sample {
		for i, v := range s.Value {
			if v != 0 {
				sums[stackOf(s)+"|"+p.SampleType[i].Type] += v
			}
		}
	}
	return sums
}

func stackOf(s *profile.Sample) string {
	var stack []string
	for _, l := range s.Location {
		for _, line := range l.Line {
			stack = append([]string{line.Function.Name}, stack...)
		}
	}
	return strings.Join(stack, ";")
}

// folded reads folded stacks.
func folded(t *testing.T, path string) map[string]int64 {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]int64{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		i := strings.LastIndexByte(line, ' ')
		n, err := strconv.ParseInt(line[i+1:], 10, 64)
		if _, again := sums[line[:i]]; err != nil || again {
			t.Errorf("%s: %q", path, line)
		}
		sums[line[:i]] = n
	}
	return sums
}

func TestFlamegraphFolded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tpconvert(t, dir, "flamegraph", "-o", "cpu.folded", "--metric", "cpu", recorded(t, "go_cpu.pb")).expect(t, exitDone, "")
	want := map[string]int64{}
	for stack, n := range stackSums(parsed(t, recorded(t, "go_cpu.pb"))) {
		if stack, metric, _ := strings.Cut(stack, "|"); metric == "cpu" {
			want[stack] = n
		}
	}
	if got := folded(t, filepath.Join(dir, "cpu.folded")); !maps.Equal(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
	// Its output is valid input.
	tpconvert(t, dir, "flamegraph", "-o", "again.folded", "cpu.folded").expect(t, exitDone, "")
	if got := folded(t, filepath.Join(dir, "again.folded")); !maps.Equal(got, want) {
		t.Errorf("again: %v\nwant %v", got, want)
	}
}

// TestFlamegraphOfEachKind checks one stack of each kind of profile, or all stacks if there are few.
func TestFlamegraphOfEachKind(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"slices.json": goodTrace, "empty.json": `[{"ph":"i","pid":1,"tid":1,"ts":1,"name":"i"}]`,
		"stacks.folded": "main;a 3\nmain;b;a 4\nmain;a 5\n"})
	for _, c := range []struct {
		args, want string
		whole      bool
	}{
		{recorded(t, "perf.data"), "[libc.so.6];[burn];[burn];[burn] 20000000", true},
		{recorded(t, "perf.script"), "__libc_start_call_main;main;outer;inner 20000000", true},
		{recorded(t, "node.cpuprofile"), "(root);(idle) 24226000", false},
		{"--metric samples " + recorded(t, "node.cpuprofile"), "(root);(idle) 39", false},
		{recorded(t, "java.jfr.gz"), "Small.main" + strings.Repeat(";Small.deep", 6) + ";Small.spin 12", false},
		{"stacks.folded", "main;a 8\nmain;b;a 4", true},
		{"slices.json", "work 3000\nwork;part 2000", true},
		{"--slices --thread 2 slices.json", "work 3000\nwork;part 2000", true},
		{"--slices --from 500ns --to 2us slices.json", "work 500\nwork;part 1000", true},
		{"--from 12000 --to 14000 slices.json", "work 1000\nwork;part 1000", true},
		{"--from 5ms --to 10ms " + recorded(t, "perf.data"), "[libc.so.6];[burn];[burn];[burn] 4000000", true},
		{"--metric samples " + recorded(t, "perf.data"), "[libc.so.6];[burn];[burn];[burn] 20", true},
		{"--thread burn --process b* " + recorded(t, "perf.data"), "[libc.so.6];[burn];[burn];[burn] 20000000", true},
	} {
		os.Remove(filepath.Join(dir, "out.folded"))
		tpconvert(t, dir, append([]string{"flamegraph", "-o", "out.folded"}, strings.Fields(c.args)...)...).expect(t, exitDone, "")
		text, err := os.ReadFile(filepath.Join(dir, "out.folded"))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(text); c.whole && got != c.want+"\n" || !strings.Contains("\n"+got, "\n"+c.want+"\n") {
			t.Errorf("%s gives\n%s\nwant\n%s", c.args, got, c.want)
		}
	}
	tpconvert(t, dir, "flamegraph", "--top", "empty.json").expect(t, exitFailure, "nothing to show for slices")
}

func TestFlamegraphRefuses(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"a.folded": "main;a 3\n", "b.folded": "main;b 4\n", "there.pb.gz": "", "slices.json": goodTrace})
	perf, cpu := recorded(t, "perf.data"), recorded(t, "go_cpu.pb")
	tpconvert(t, dir, "-q", cpu, recorded(t, "go_heap.pb.gz"), "pprofs").expect(t, exitDone, "")
	tpconvert(t, dir, "-q", "a.folded", "b.folded", "both").expect(t, exitDone, "")
	tpconvert(t, dir, "-q", "a.folded", "one").expect(t, exitDone, "")
	for _, c := range []struct {
		args    string
		code    int
		message string
	}{
		{"--top --metric space " + cpu, exitUsage, "go_cpu.pb has no metric space, only samples, cpu"},
		{"--top --metric cpu --process demo " + cpu, exitUsage, "--process, --thread, --from and --to do not apply"},
		{"--top --scope chrome " + perf, exitUsage, "has no profile chrome, only linux.perf"},
		{"--top --process init " + perf, exitUsage, "has no process init, only 0, burn ("},
		{"--top --thread 1 " + perf, exitUsage, "has no thread 1, only"},
		{"--top --metric cpu --from 1s " + cpu, exitUsage, "do not apply"},
		{"--top --from 1h " + perf, exitFailure, "there is nothing to show for linux.perf with --from 1h"},
		{"--top --from soon " + perf, exitUsage, "--from soon: want nanoseconds, or a time since the beginning such as 1.5s"},
		{"--top pprofs", exitUsage, "pprofs has several profiles: name one with --scope, or several with a pattern: go_cpu.pb, go_heap.pb.gz"},
		{"-o x.pb.gz --scope * pprofs", exitUsage, "go_cpu.pb and go_heap.pb.gz do not measure the same thing"},
		{"--top --trace-id t_x both", exitUsage, "both has no trace t_x, only a.folded (t_"},
		{"--top --trace-id t_x one", exitUsage, "one has no trace t_x, only a.folded (t_"},
		{"--top --slices --from 1 both", exitUsage, "--from and --to are times of one trace: name it with --trace-id"},
		{"--top --slices --scope x " + perf, exitUsage, "--slices and --scope exclude each other"},
		{"--top --http :0 " + perf, exitUsage, "exclude each other"},
		{"--http 80 " + perf, exitUsage, "want HOST:PORT"},
		{"-o x.svg " + perf, exitUsage, "want a name that ends in .pb.gz, .pb or .folded"},
		{"-o there.pb.gz " + perf, exitFailure, "there.pb.gz exists; --force replaces it"},
		{"-o x.folded --base a.folded b.folded", exitUsage, "folded stacks cannot hold a comparison"},
		{"-o x.pb.gz --base slices.json a.folded", exitFailure, "no metric in common: samples (count), and time (nanoseconds) in the base"},
		{"--top missing", exitFailure, "missing"},
		{"--top", exitUsage, "accepts 1 arg"},
	} {
		got := tpconvert(t, dir, append([]string{"flamegraph"}, strings.Fields(c.args)...)...)
		if got.expect(t, c.code, c.message); got.stdout != "" {
			t.Errorf("%s: %s", c.args, got.stdout)
		}
	}
	for _, name := range names(t, dir) {
		if strings.HasPrefix(name, "x") || strings.HasPrefix(name, ".") {
			t.Errorf("left behind: %s", name)
		}
	}
	tpconvert(t, dir, "flamegraph", "-f", "-o", "there.pb.gz", perf).expect(t, exitDone, "")
	parsed(t, filepath.Join(dir, "there.pb.gz"))
}

// TestFlamegraphTags checks that threads and processes are tags.
func TestFlamegraphTags(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tpconvert(t, dir, "flamegraph", "-o", "perf.pb.gz", recorded(t, "perf.data")).expect(t, exitDone, "")
	text := pprofReport(t, "-tags", filepath.Join(dir, "perf.pb.gz"))
	for _, want := range []string{"process: Total 20ms of 20ms", "thread: Total 20ms of 20ms", "(  100%): burn"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestFlamegraphOfOpenSlices checks that slices that did not end are in no stack, and that the time of one belongs to the
// slice around it.
func TestFlamegraphOfOpenSlices(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"a.json": `[{"ph":"X","pid":1,"tid":2,"ts":10,"dur":10,"name":"work"},{"ph":"B","pid":1,"tid":2,"ts":12,"name":"open"},
		{"ph":"X","pid":1,"tid":2,"ts":13,"dur":2,"name":"part"},{"ph":"B","pid":1,"tid":3,"ts":10,"name":"loop"},
		{"ph":"X","pid":1,"tid":3,"ts":11,"dur":4,"name":"task"},{"ph":"B","pid":1,"tid":4,"ts":40,"name":"late"},{"ph":"i","pid":1,"tid":3,"ts":50,"name":"i"}]`})
	for _, c := range []struct{ args, note, want string }{
		{"", "without 3 that did not end", "task 4000\nwork 8000\nwork;part 2000\n"},
		{"--thread 2", "without 1 that did not end", "work 8000\nwork;part 2000\n"},
		{"--to 6us", "without 2 that did not end", "task 4000\nwork 4000\nwork;part 2000\n"},
		{"--from 6us --thread 2", "without 1 that did not end", "work 4000\n"},
	} {
		args := append([]string{"flamegraph", "--from", "0", "a.json"}, strings.Fields(c.args)...)
		tpconvert(t, dir, append(args, "-f", "-o", "out.folded")...).expect(t, exitDone, "")
		text, err := os.ReadFile(filepath.Join(dir, "out.folded"))
		if err != nil {
			t.Fatal(err)
		}
		if string(text) != c.want {
			t.Errorf("%s: got\n%swant\n%s", c.args, text, c.want)
		}
		got := tpconvert(t, dir, append(args, "--top")...)
		if got.expect(t, exitDone, ""); !strings.Contains(got.stdout, c.note) {
			t.Errorf("%s: no %q in\n%s", c.args, c.note, got.stdout)
		}
	}
	tpconvert(t, dir, "flamegraph", "--top", "--thread", "4", "a.json").expect(t, exitFailure, "nothing to show for slices with --thread 4, without 1 that did not end")
}

// TestFlamegraphShowsTheUsualMetric checks which metric is shown where one must be chosen: that of the profile, else the
// last one, as in pprof.
// saved writes a profile to a file.
func saved(t *testing.T, p *profile.Profile, path string) {
	t.Helper()
	var written bytes.Buffer
	if err := p.Write(&written); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, written.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestFlamegraphShowsTheUsualMetric(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := parsed(t, recorded(t, "go_heap.pb.gz"))
	p.DefaultSampleType, p.TimeNanos, p.DurationNanos, p.Comments = "alloc_objects", 1e18, 5e9, []string{"a comment"}
	saved(t, p, filepath.Join(dir, "own.pb.gz"))
	unlocked := parsed(t, recorded(t, "go_cpu.pb"))
	unlocked.SampleType = append(unlocked.SampleType, &profile.ValueType{Type: "lock_time", Unit: "nanoseconds"})
	for _, s := range unlocked.Sample {
		s.Value = append(s.Value, 0)
	}
	saved(t, unlocked, filepath.Join(dir, "unlocked.pb.gz"))
	for path, want := range map[string]string{
		recorded(t, "go_cpu.pb"):     "Type: cpu\n",
		"unlocked.pb.gz":             "Type: cpu\n",
		recorded(t, "go_heap.pb.gz"): "Type: inuse_space\n",
		"own.pb.gz":                  "Type: alloc_objects\n",
	} {
		got := tpconvert(t, dir, "flamegraph", "--top", path)
		if got.expect(t, exitDone, ""); !strings.Contains(got.stdout, want) {
			t.Errorf("%s: no %q in\n%.200s", path, want, got.stdout)
		}
	}
	tpconvert(t, dir, "flamegraph", "-o", "out.pb.gz", "own.pb.gz").expect(t, exitDone, "")
	got := parsed(t, filepath.Join(dir, "out.pb.gz"))
	if got.DefaultSampleType != "alloc_objects" || got.TimeNanos != p.TimeNanos || got.DurationNanos != p.DurationNanos ||
		got.Period != p.Period || got.PeriodType.Type != "space" || got.PeriodType.Unit != "bytes" || !slices.Contains(got.Comments, "a comment") {
		t.Errorf("the profile written says %v", got)
	}
}

func TestFlamegraphOfManyTraces(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"a.folded": "main;a 3\nmain;b 1\n", "b.folded": "main;b 4\n"})
	tpconvert(t, dir, "-q", "a.folded", "b.folded", "both").expect(t, exitDone, "")
	tpconvert(t, dir, "register", "both", "both.duckdb").expect(t, exitDone, "")
	all := strings.Fields(rowsOf(t, dir, "both", "SELECT trace_id FROM trace ORDER BY name"))[1:]
	for _, input := range []string{"both", "both.duckdb"} {
		for _, c := range []struct {
			args []string
			want map[string]int64
		}{
			{nil, map[string]int64{"main;a": 3, "main;b": 5}},
			{[]string{"--trace-id", all[1]}, map[string]int64{"main;b": 4}},
		} {
			tpconvert(t, dir, append([]string{"flamegraph", "-f", "-o", "out.folded", input}, c.args...)...).expect(t, exitDone, "")
			if got := folded(t, filepath.Join(dir, "out.folded")); !maps.Equal(got, c.want) {
				t.Errorf("%s %v: %v, want %v", input, c.args, got, c.want)
			}
		}
	}
}

func TestFlamegraphCompares(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"before.folded": "main;a 30\nmain;b 10\n", "after.folded": "main;a 20\nmain;b 40\n"})
	tpconvert(t, dir, "flamegraph", "-o", "diff.pb.gz", "--base", "before.folded", "after.folded").expect(t, exitDone, "")
	want := map[string]int64{"main;a|samples": -10, "main;b|samples": 30}
	if got := stackSums(parsed(t, filepath.Join(dir, "diff.pb.gz"))); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	got := tpconvert(t, dir, "flamegraph", "--top", "--base", "before.folded", "after.folded")
	got.expect(t, exitDone, "")
	for _, want := range []string{"30 75.00%", "-10 25.00%"} { // of the 40 of the base
		if !strings.Contains(got.stdout, want) {
			t.Errorf("no %q in\n%s", want, got.stdout)
		}
	}
}

// TestFlamegraphOfHeap checks allocations, and which of several kinds of profile is chosen.
func TestFlamegraphOfHeap(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tpconvert(t, dir, "-q", recorded(t, "perf.data"), "out").expect(t, exitDone, "")
	tpconvert(t, dir, "register", "--materialize", "out", "t.duckdb").expect(t, exitDone, "")
	d, err := session.OpenDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = d.Exec(t.Context(), "ATTACH '"+filepath.Join(dir, "t.duckdb")+"' AS t", "USE t",
		`INSERT INTO heap_profile_allocation BY NAME
		 SELECT ts, upid, 'libc.malloc' AS heap_name, callsite_id, 2 AS count, 100 AS size FROM stack_sample LIMIT 3`,
		`INSERT INTO heap_profile_allocation BY NAME SELECT ts, upid, heap_name, callsite_id, -1 AS count, -50 AS size FROM heap_profile_allocation`)
	if err != nil {
		t.Fatal(err)
	}
	d.Close()
	got := tpconvert(t, dir, "flamegraph", "--top", "t.duckdb")
	got.expect(t, exitDone, "showing linux.perf; --scope selects another: libc.malloc")
	for metric, want := range map[string]int64{"alloc_objects": 6, "alloc_space": 300, "inuse_objects": 3, "inuse_space": 150} {
		args := []string{"flamegraph", "-f", "-o", "out.folded", "--scope", "libc.malloc", "--metric", metric, "--process", "burn", "t.duckdb"}
		tpconvert(t, dir, args...).expect(t, exitDone, "")
		if got := folded(t, filepath.Join(dir, "out.folded")); got["[libc.so.6];[burn];[burn];[burn]"] != want || len(got) != 1 {
			t.Errorf("%s: %v, want %d", metric, got, want)
		}
	}
	tpconvert(t, dir, "flamegraph", "--top", "--scope", "libc.malloc", "--metric", "inuse_space", "--thread", "burn", "t.duckdb").
		expect(t, exitUsage, "--thread does not apply")
}

// TestFlamegraphOfHeapGraph checks that objects are shown below the objects that retain them. Objects a and b both
// refer to c, so neither retains it.
func TestFlamegraphOfHeapGraph(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"a.json": goodTrace})
	tpconvert(t, dir, "-q", "a.json", "out").expect(t, exitDone, "")
	tpconvert(t, dir, "register", "--materialize", "out", "t.duckdb").expect(t, exitDone, "")
	d, err := session.OpenDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = d.Exec(t.Context(), "ATTACH '"+filepath.Join(dir, "t.duckdb")+"' AS t", "USE t",
		`INSERT INTO heap_graph_class (id, name, deobfuscated_name, kind) VALUES
		 (0, 'Root', NULL, 'KIND_NORMAL'), (1, 'x', 'A', 'KIND_NORMAL'), (2, 'B', NULL, 'KIND_WEAK_REFERENCE'), (3, 'C', NULL, 'KIND_NORMAL')`,
		`INSERT INTO heap_graph_object (id, upid, graph_sample_ts, self_size, reachable, type_id, root_type) VALUES
		 (0, 1, 10, 5, true, 0, 'ROOT_JNI_GLOBAL'), -- of a dump before
		 (1, 1, 20, 1, true, 0, 'ROOT_JNI_GLOBAL'), (2, 1, 20, 10, true, 1, NULL), (3, 1, 20, 100, true, 2, NULL),
		 (4, 1, 20, 1000, true, 3, NULL), (5, 1, 20, 10000, true, 3, NULL), (6, 1, 20, 7, false, 3, NULL)`,
		`INSERT INTO heap_graph_reference (id, owner_id, owned_id, field_name) VALUES
		 (0, 1, 2, 'Root.a'), (1, 1, 3, 'Root.b'), (2, 2, 4, 'A.c'), (3, 3, 4, 'B.c'), (4, 2, 5, 'A.d'), (5, 4, 2, 'C.back'),
		 (6, 3, 5, 'java.lang.ref.Reference.referent'), (7, 6, 5, 'C.d'), (8, 2, NULL, 'A.none')`)
	if err != nil {
		t.Fatal(err)
	}
	d.Close()
	for args, want := range map[string]map[string]int64{
		"--metric inuse_space":         {"Root": 1, "Root;A": 10, "Root;B": 100, "Root;C": 1000, "Root;A;C": 10000},
		"--metric inuse_objects":       {"Root": 1, "Root;A": 1, "Root;B": 1, "Root;C": 1, "Root;A;C": 1},
		"--metric inuse_space --to 20": {"Root": 5},
	} {
		args := append([]string{"flamegraph", "-f", "-o", "out.folded", "t.duckdb"}, strings.Fields(args)...)
		tpconvert(t, dir, args...).expect(t, exitDone, "")
		if got := folded(t, filepath.Join(dir, "out.folded")); !maps.Equal(got, want) {
			t.Errorf("%v: %v, want %v", args, got, want)
		}
	}
	tpconvert(t, dir, "flamegraph", "--top", "--metric", "inuse_space", "--process", "7", "t.duckdb").expect(t, exitUsage, "has no process 7")
}

// pprofServer starts the web interface and returns its address and a function that ends it.
func pprofServer(t *testing.T, dir string, args ...string) (url string, end func()) {
	t.Helper()
	cmd := command(t, dir, append([]string{"flamegraph"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	url, _, _ = strings.Cut(line, " ")
	if err != nil || !strings.HasPrefix(url, "http://localhost:") {
		t.Fatalf("%q, %v; stderr: %s", line, err, &stderr)
	}
	return url, func() {
		t.Helper()
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil || stderr.Len() > 0 {
			t.Errorf("it ends with %v; stderr: %s", err, &stderr)
		}
	}
}

func get(t *testing.T, url, host string) (status int, text string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if host != "" {
		request.Host = host
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

func TestFlamegraphWeb(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	url, end := pprofServer(t, dir, recorded(t, "go_cpu.pb"))
	defer end()
	root := strings.TrimSuffix(url, "ui/flamegraph")
	for path, want := range map[string]string{
		"": "main.shuffle", "ui/": "main.shuffle", "ui/top": "main.shuffle", "ui/peek?f=shuffle": "sort.partition_func", "ui/flamegraph?f=tree": "main.tree",
	} {
		if status, text := get(t, root+path, ""); status != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("%s: status %d, %d bytes without %s", path, status, len(text), want)
		}
	}
	if status, _ := get(t, root+"ui/missing", ""); status != http.StatusNotFound {
		t.Errorf("a page that is not there: status %d", status)
	}
	for host, want := range map[string]int{"evil.example": http.StatusForbidden, "127.0.0.1:80": http.StatusOK, "[::1]:80": http.StatusOK} {
		if status, _ := get(t, url, host); status != want {
			t.Errorf("host %s: status %d, want %d", host, status, want)
		}
	}
	_, data := get(t, root+"ui/download", "")
	p, err := profile.ParseData([]byte(data))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := stackSums(p), stackSums(parsed(t, recorded(t, "go_cpu.pb"))); !maps.Equal(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
}

// TestFlamegraphSource shows no file but those below --source, and runs no tool.
func TestFlamegraphSource(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"secret.go": strings.Repeat("// secret\n", 3000)})
	app := filepath.Join(dir, "app")
	if err := errors.Join(os.Mkdir(app, 0o777), os.WriteFile(filepath.Join(app, "main.go"), []byte(strings.Repeat("// shown\n", 3000)), 0o666),
		os.Symlink("../secret.go", filepath.Join(app, "other.go"))); err != nil {
		t.Fatal(err)
	}
	p := parsed(t, recorded(t, "go_cpu.pb"))
	names := []string{"/build/app/main.go", "/etc/hostname", "../secret.go", filepath.Join(dir, "secret.go"), "/build/app/other.go", "/proc/self/cwd/secret.go"}
	for i, f := range p.Function {
		f.Filename = names[i%len(names)]
	}
	p.Mapping[0].File = "/bin/ls"
	var data bytes.Buffer
	if err := p.Write(&data); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "p.pb.gz"), data.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	host, _ := os.ReadFile("/etc/hostname")
	for _, arguments := range []string{"p.pb.gz", "--source app p.pb.gz"} {
		url, end := pprofServer(t, dir, strings.Fields(arguments)...)
		root := strings.TrimSuffix(url, "flamegraph")
		if status, _ := get(t, root+"disasm?f=.", ""); status != http.StatusForbidden {
			t.Errorf("%s: machine code: status %d", arguments, status)
		}
		status, page := get(t, root+"source?f=.", "")
		if shown := strings.Contains(arguments, "--source"); shown != (status == http.StatusOK) || shown != strings.Contains(page, "// shown") {
			t.Errorf("%s: status %d, %s", arguments, status, page)
		}
		if strings.Contains(page, "// secret") || len(host) > 1 && strings.Contains(page, strings.TrimSpace(string(host))) {
			t.Errorf("%s shows other files: %s", arguments, page)
		}
		end()
	}
}

// TestFlamegraphPage checks what the page says, with names that try to be more than names.
func TestFlamegraphPage(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"<b>&.folded": "main;log(char const*, ...) 3\nmain;</script><script>alert(1)</script> 2\n" +
		"main;a\x1b[31mred 1\nmain;[base.apk] 4\nmain;std::vector<a::B>::push_back 5\nmain;runtime.mapassign 6\n"})
	url, end := pprofServer(t, dir, "<b>&.folded")
	defer end()
	_, page := get(t, url, "")
	for _, want := range []string{
		"<title>collapsed_stack_file of &lt;b&gt;&amp;.folded: samples (count)</title>",
		`id="details">collapsed_stack_file of &lt;b&gt;&amp;.folded: samples (count)</a>`,
		`"Display":["log(char const*, ...)"]`, `"Display":["[base.apk]"]`, `"Display":["runtime.mapassign","mapassign"]`,
		`"Display":["std::vector\u003ca::B\u003e::push_back","vector\u003ca::B\u003e::push_back","push_back"]`,
		`"FullName":"\u003c/script\u003e\u003cscript\u003ealert(1)\u003c/script\u003e"`, `a\u001b[31mred`,
		"#save-config, .menu-delete-btn { display: none }",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in the page", want)
		}
	}
	for _, hostile := range []string{"<script>alert", "\x1b", `"apk]"`, `"..)"`} {
		if strings.Contains(page, hostile) {
			t.Errorf("%q is in the page", hostile)
		}
	}
	_, page = get(t, strings.TrimSuffix(url, "flamegraph")+"top", "")
	if strings.Contains(page, "<script>alert") || !strings.Contains(page, "samples (count)</title>") {
		t.Errorf("the table of functions is %s", page)
	}
	got := tpconvert(t, dir, "flamegraph", "--top", "<b>&.folded")
	if got.expect(t, exitDone, ""); strings.Contains(got.stdout, "\x1b") {
		t.Errorf("escapes in %q", got.stdout)
	}
}

// TestFlamegraphOfOneEvent checks that each event of Linux perf is a metric of its own, the first one by default, and that
// its name needs no modifiers.
func TestFlamegraphOfOneEvent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const sql = `INSERT INTO counter_track BY NAME SELECT id + 100 AS id, 'cycles:u' AS name, classification, 900 AS dimension_arg_set_id, source_arg_set_id FROM counter_track;
INSERT INTO args BY NAME SELECT 9000 AS id, 900 AS arg_set_id, 'perf_session_id' AS key, 'perf_session_id' AS flat_key, 1 AS int_value, 'int' AS value_type;
INSERT INTO profiler_session BY NAME SELECT 1 AS id, 'linux.perf' AS source, 'cycles' AS timebase_unit;
INSERT INTO counter BY NAME SELECT id + 1000 AS id, ts, track_id + 100 AS track_id, value / 1000 AS value FROM counter WHERE id < 5;
INSERT INTO profiler_counter_set BY NAME SELECT id + 1000 AS id, counter_set_id + 1000 AS counter_set_id, counter_id + 1000 AS counter_id FROM profiler_counter_set WHERE counter_id < 5;
INSERT INTO stack_sample BY NAME SELECT * REPLACE (id + 1000 AS id, 1 AS session_id, counter_set_id + 1000 AS counter_set_id) FROM stack_sample ORDER BY id LIMIT 5`
	tpconvert(t, dir, "-q", recorded(t, "perf.data"), "out").expect(t, exitDone, "")
	tpconvert(t, dir, "register", "--materialize", "out", "t.duckdb").expect(t, exitDone, "")
	d, err := session.OpenDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Exec(t.Context(), append([]string{"ATTACH '" + filepath.Join(dir, "t.duckdb") + "' AS t", "USE t"}, strings.Split(sql, ";\n")...)...); err != nil {
		t.Fatal(err)
	}
	d.Close()
	const stack = "[libc.so.6];[burn];[burn];[burn]"
	for metric, want := range map[string]int64{"": 20_000_000, "cpu-clock": 20_000_000, "cycles": 5000, "cycles:u": 5000, "samples": 20, "samples:cycles:u": 5} {
		args := []string{"flamegraph", "-f", "-o", "out.folded", "t.duckdb"}
		if metric != "" {
			args = append(args, "--metric", metric)
		}
		tpconvert(t, dir, args...).expect(t, exitDone, "")
		if got := folded(t, filepath.Join(dir, "out.folded")); got[stack] != want || len(got) != 1 {
			t.Errorf("%q: %v, want %d", metric, got, want)
		}
	}
	tpconvert(t, dir, "flamegraph", "--top", "--metric", "instructions", "t.duckdb").
		expect(t, exitUsage, "has no metric instructions, only cpu-clock, samples:cpu-clock, cycles:u, samples:cycles:u")
}

// TestProcessLabels checks that processes of one name are told apart by what the trace says that they do.
func TestProcessLabels(t *testing.T) {
	t.Parallel()
	const trace = `[{"ph":"M","name":"process_name","pid":1,"args":{"name":"python3.8"}},{"ph":"M","name":"process_labels","pid":1,"args":{"labels":"GPU 0"}},
{"ph":"M","name":"process_name","pid":2,"args":{"name":"python3.8"}},{"ph":"M","name":"process_labels","pid":2,"args":{"labels":"GPU 1"}},
{"ph":"M","name":"process_name","pid":3,"args":{"name":"other"}},
{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":2},{"ph":"X","name":"a","pid":2,"tid":2,"ts":1,"dur":3},{"ph":"X","name":"a","pid":3,"tid":3,"ts":1,"dur":4}]`
	dir := folder(t, map[string]string{"a.json": trace})
	tpconvert(t, dir, "-q", "a.json", "out").expect(t, exitDone, "")
	if got, want := rowsOf(t, dir, "out", "SELECT pid, name, label, title FROM process_title WHERE pid > 0 ORDER BY pid"),
		"pid,name,label,title\n1,python3.8,GPU 0,python3.8 (GPU 0)\n2,python3.8,GPU 1,python3.8 (GPU 1)\n3,other,,other\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for process, want := range map[string]int64{"": 9000, "GPU 0": 2000, "GPU*": 5000, "python3.8": 5000, "python3.8 (GPU 1)": 3000, "2": 3000, "other": 4000} {
		args := []string{"flamegraph", "-f", "-o", "out.folded", "out"}
		if process != "" {
			args = append(args, "--process", process)
		}
		tpconvert(t, dir, args...).expect(t, exitDone, "")
		if got := folded(t, filepath.Join(dir, "out.folded")); got["a"] != want || len(got) != 1 {
			t.Errorf("%q: %v, want %d", process, got, want)
		}
	}
	tpconvert(t, dir, "flamegraph", "--top", "--process", "GPU 7", "out").expect(t, exitUsage, "has no process GPU 7, only 0, other (3), python3.8 (GPU 0) (1), python3.8 (GPU 1) (2)")
	tpconvert(t, dir, "flamegraph", "-o", "out.pb.gz", "out").expect(t, exitDone, "")
	if tags := pprofReport(t, "-tags", filepath.Join(dir, "out.pb.gz")); !strings.Contains(tags, "python3.8 (GPU 0)") || !strings.Contains(tags, "python3.8 (GPU 1)") {
		t.Errorf("labels of the samples: %s", tags)
	}
}

// TestEventsOfPerfScript checks that samples of different events are never added up.
func TestEventsOfPerfScript(t *testing.T) {
	t.Parallel()
	const script = `a 1/1 1.000000:  30 cycles:u:
	1 f (/bin/a)

a 1/1 1.100000:  2 sched:sched_switch:
	1 f (/bin/a)

a 1/1 1.200000:  70 cycles:u:
	1 f (/bin/a)

`
	dir := folder(t, map[string]string{"a.script": script})
	tpconvert(t, dir, "-q", "a.script", "out").expect(t, exitDone, "")
	for metric, want := range map[string]int64{"": 100, "cycles": 100, "sched:sched_switch": 2, "samples": 2, "samples:sched:sched_switch": 1} {
		args := []string{"flamegraph", "-f", "-o", "out.folded", "out"}
		if metric != "" {
			args = append(args, "--metric", metric)
		}
		tpconvert(t, dir, args...).expect(t, exitDone, "")
		if got := folded(t, filepath.Join(dir, "out.folded")); got["f"] != want || len(got) != 1 {
			t.Errorf("%q: %v, want %d", metric, got, want)
		}
	}
	for source, want := range map[string]string{"perf_event_sample": "100.0", "cpu_profile_stack_sample": "2.0"} {
		tpconvert(t, dir, "query", "out", "FROM profile_top('"+source+"')").expect(t, exitFailure, "name one of them, as by metric := 'cycles:u'")
		if got := rowsOf(t, dir, "out", "SELECT name, self_value FROM profile_top('"+source+"', metric := 'cycles:u')"); got != "name,self_value\nf,"+want+"\n" {
			t.Errorf("%s: %s", source, got)
		}
	}
	got := tpconvert(t, dir, "summarize", "--format", "csv", "profile", "out")
	if got.expect(t, exitDone, ""); !strings.Contains(got.stdout, "perf_text,samples:cycles:u,a,f,2\n") || !strings.Contains(got.stdout, "perf_text,samples:sched:sched_switch,a,f,1\n") {
		t.Errorf("summarize: %s", got.stdout)
	}
}

// TestFlamegraphTitle checks that the title has the metric that is shown.
func TestFlamegraphTitle(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	url, end := pprofServer(t, dir, recorded(t, "perf.data"))
	defer end()
	for query, want := range map[string]string{
		"": "cpu-clock (nanoseconds)</title>", "?si=samples": "samples (count)</title>", "?si=1": "samples (count)</title>",
	} {
		if _, page := get(t, url+query, ""); !strings.Contains(page, want) || !strings.Contains(page, `id="sampletype-cpu-clock"`) {
			t.Errorf("%s: no %q in the page", query, want)
		}
	}
}

// TestFlamegraphOtherPages checks that other web pages can neither read the profile nor change settings of pprof.
func TestFlamegraphOtherPages(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"a.folded": "main;a 1\nmain;b 2\n"})
	url, end := pprofServer(t, dir, "a.folded")
	defer end()
	host := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/ui/flamegraph")
	for _, c := range []struct {
		path   string
		header http.Header
		want   int
	}{
		{"flamegraph", http.Header{"Origin": {"http://" + host}, "Sec-Fetch-Site": {"same-origin"}}, http.StatusOK},
		{"flamegraph", http.Header{"Sec-Fetch-Site": {"none"}}, http.StatusOK},
		{"flamegraph", http.Header{"Origin": {"https://evil.example"}}, http.StatusForbidden},
		{"flamegraph", http.Header{"Origin": {"null"}}, http.StatusForbidden},
		{"flamegraph", http.Header{"Origin": {"http://localhost:1"}}, http.StatusForbidden},
		{"flamegraph", http.Header{"Sec-Fetch-Site": {"cross-site"}}, http.StatusForbidden},
		{"saveconfig?config=evil&f=zzz", http.Header{}, http.StatusNotFound},
		{"deleteconfig?config=evil", http.Header{}, http.StatusNotFound},
	} {
		request, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+host+"/ui/"+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header = c.header
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != c.want {
			t.Errorf("%s %v: status %d, want %d", c.path, c.header, response.StatusCode, c.want)
		}
	}
}

// TestFlamegraphInBrowser checks the page as a browser renders it.
func TestFlamegraphInBrowser(t *testing.T) {
	t.Parallel()
	chromium(t)
	for name, c := range map[string]struct{ args, boxes []string }{
		"profile": {[]string{recorded(t, "go_cpu.pb")}, []string{"root", "main.shuffle", "main.hash"}},
		"slices":  {[]string{"--slices", "--thread", "RenderThread", recorded(t, "app.ftrace")}, []string{"root", "DrawFrame"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			url, end := pprofServer(t, dir, c.args...)
			defer end()
			dom := browse(t, dir, "--dump-dom", url)
			for _, text := range c.boxes {
				// A script draws the boxes.
				if !regexp.MustCompile(`<div class="boxtext"[^>]*>` + regexp.QuoteMeta(text) + `</div>`).Match(dom) {
					t.Errorf("no box has the text %s: %s", text, dom)
				}
			}
		})
	}
}
