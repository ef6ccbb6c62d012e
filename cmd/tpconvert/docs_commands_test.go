//go:build cgo

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/export"
)

// documentedCommand matches a command in a page.
var documentedCommand = regexp.MustCompile(`(?m)^    (?:uvx )?tpconvert (.*)$`)

// notRun are commands that do not end, or that need the network, a terminal or a checkout of Perfetto.
var notRun = regexp.MustCompile(`^(serve|mcp|stdlib|ui fetch|flamegraph (out/|TRACE)|metric )|'SELECT \.\.\.'`)

var (
	hasRows   = regexp.MustCompile(`[(: ][1-9][0-9,]* rows?\b`)
	emptyRows = regexp.MustCompile(`[(: ]0 rows\b`)
)

// TestDocumentedCommands runs the commands of the pages on recorded traces. Each gives something.
func TestDocumentedCommands(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	page := func(name string) string {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	traceOf := func(name string) string { return page("testdata/" + name) }
	definitions := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindStringSubmatch(page("docs/derive.md"))[1]
	spec := strings.ReplaceAll(regexp.MustCompile(`(?ms)^    metric_spec \{.*?^    \}$`).FindString(page("docs/metrics.md")), "\n    ", "\n")
	dir := folder(t, map[string]string{
		"trace.json": traceOf("chromium.json.gz"), "trace.json.gz": traceOf("chromium.json.gz"), "trace.pftrace": traceOf("chromium.pftrace.gz"),
		"chromium.json.gz": traceOf("chromium.json.gz"), "devtools.json.gz": traceOf("devtools.json.gz"), "another.json.gz": traceOf("devtools.json.gz"),
		"go_cpu.pb.gz": traceOf("go_cpu.pb.gz"), "go_cpu_nosha.pb.gz": traceOf("go_cpu_nosha.pb.gz"), "app.ftrace": traceOf("app.ftrace"),
		"frames.pftrace": traceOf("frames.pftrace"), "system.pftrace": traceOf("chromium.pftrace.gz"), "app.json": goodTrace,
		"a.pftrace": traceOf("chromium.pftrace.gz"), "b.pftrace": traceOf("frames.pftrace"),
		"definitions.yaml": definitions, "rules.yaml": definitions, "limits.yaml": definitions, "long_tasks.textproto": spec,
		"metric.sql": "SELECT name, dur FROM slice LIMIT 3", "names.csv": "name\nResourceSendRequest\n",
	})
	for name, from := range map[string]string{
		"testdata/chromium.json.gz": "chromium.json.gz", "traces/a.json.gz": "chromium.json.gz", "traces/b.json.gz": "devtools.json.gz",
		"before.pftrace": "frames.pftrace", "after.pftrace": "frames.pftrace",
		"main/a.pb.gz": "go_cpu.pb.gz", "main/b.pb.gz": "go_cpu_nosha.pb.gz", "branch/a.pb.gz": "go_cpu_nosha.pb.gz", "branch/b.pb.gz": "go_cpu.pb.gz",
		"job/rank0.json": "job/rank0.json", "job/rank1.json": "job/rank1.json", "ranks/0.json": "job/rank0.json", "ranks/1.json": "job/rank1.json",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(traceOf(from)), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"before", "after"} {
		tpconvert(t, dir, "-q", "chromium.json.gz", name).expect(t, exitDone, "")
	}
	tpconvert(t, dir, "-q", "chromium.json.gz", "devtools.json.gz", "app.json", "many").expect(t, exitDone, "")
	run := 0
	for _, name := range []string{
		"README.md", "docs/commands.md", "docs/queries.md", "docs/metrics.md", "docs/derive.md", "docs/cookbook.md", "docs/compare.md", "docs/cut.md", "docs/report.md",
	} {
		run += runDocumented(t, dir, name, page(name), "chromium.json.gz")
	}
	if run < 30 {
		t.Errorf("found %d commands", run)
	}
}

// TestDocumentedGPUCommands does the same with the page about GPUs, on a job with two ranks.
func TestDocumentedGPUCommands(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "gpu.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "traces"), os.DirFS(recorded(t, "job"))); err != nil {
		t.Fatal(err)
	}
	tpconvert(t, dir, "-q", "traces/rank0.json", "before").expect(t, exitDone, "")
	tpconvert(t, dir, "-q", "traces/rank1.json", "after").expect(t, exitDone, "")
	of, ofMany, _ := strings.Cut(string(text), "For a job with many ranks")
	if one, many := runDocumented(t, dir, "docs/gpu.md", of, "traces/rank0.json"), runDocumented(t, dir, "docs/gpu.md", ofMany, "traces"); one < 10 || many < 4 {
		t.Errorf("found %d and %d commands", one, many)
	}
}

// runDocumented runs the commands of a page, those that read out/ on the dataset of input. It returns how many there are.
func runDocumented(t *testing.T, dir, name, page, input string) (run int) {
	t.Helper()
	for _, m := range documentedCommand.FindAllStringSubmatch(page, -1) {
		if notRun.MatchString(m[1]) {
			continue
		}
		run++
		first, _, _ := strings.Cut(m[1], " ")
		reads := regexp.MustCompile(`^(query|summarize|tables|inspect|cut|alerts|metric|derive|register|bundle)$`).MatchString(first)
		for _, made := range []string{"trace.duckdb", "metrics", "merged.tar", "slices.csv", "part", "part.pftrace", "report.html"} {
			os.RemoveAll(filepath.Join(dir, made))
		}
		switch {
		case strings.HasPrefix(m[1], "--append"):
			os.RemoveAll(filepath.Join(dir, "out"))
			tpconvert(t, dir, "-q", "--append", input, "out").expect(t, exitDone, "")
		case !reads:
			os.RemoveAll(filepath.Join(dir, "out"))
		case !export.IsDataset(filepath.Join(dir, "out")) || !strings.HasPrefix(m[1], "derive"):
			os.RemoveAll(filepath.Join(dir, "out"))
			tpconvert(t, dir, "-q", input, "out").expect(t, exitDone, "")
		}
		if strings.Contains(m[1], "m.json") {
			if err := os.WriteFile(filepath.Join(dir, "m.json"), []byte(`{"perfetto_manifest": {"version": 1, "files": [{"path": "app.json"}]}}`), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		binary := command(t, dir)
		sh := exec.CommandContext(t.Context(), "sh", "-c", `tpconvert() { "`+binary.Path+`" "$@"; }; tpconvert `+m[1])
		sh.Dir, sh.Env = binary.Dir, binary.Env
		out, err := sh.CombinedOutput()
		if err != nil && !(first == "alerts" && sh.ProcessState.ExitCode() == exitAlert) {
			t.Errorf("%s: tpconvert %s: %v, %s", name, m[1], err, out)
		}
		silent := first == "register" || strings.Contains(m[1], "-o ") || strings.Contains(m[1], "COPY") || strings.HasPrefix(m[1], "derive --remove")
		if text := string(out); !silent && first != "alerts" && (text == "" || !hasRows.MatchString(text) && emptyRows.MatchString(text)) {
			t.Errorf("%s: tpconvert %s gives nothing: %s", name, m[1], out)
		}
	}
	return run
}
