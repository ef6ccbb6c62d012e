package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	api "github.com/tpconvert/tpconvert"
)

func TestConvertByName(t *testing.T) {
	dir := folder(t, map[string]string{"trace.json": goodTrace})
	tpconvert(t, dir, "convert", "--tables", "slice", "trace.json", "out").expect(t, exitDone, "")
	if all := manifestAt(t, dir, "out", "_tpconvert.json").Tables; len(all) != 1 || all[0].Rows != 2 {
		t.Errorf("tables: %+v", all)
	}
	tpconvert(t, dir, "convert", "trace.json").expect(t, exitUsage, "OUT is missing")
}

func TestVersionFlag(t *testing.T) {
	flag, command := tpconvert(t, t.TempDir(), "--version"), tpconvert(t, t.TempDir(), "version")
	if flag.code != exitDone || flag.stdout != command.stdout || flag.stdout == "" {
		t.Errorf("%+v, %+v", flag, command)
	}
}

func TestParentsOfOutAreMade(t *testing.T) {
	dir := folder(t, map[string]string{"trace.json": goodTrace, "bad": "\x01"})
	tpconvert(t, dir, "bad", "no/such/out").expect(t, exitBadInput, "unknown format")
	if all := names(t, dir); !slices.Equal(all, []string{"bad", "trace.json"}) {
		t.Errorf("left behind: %v", all)
	}
	tpconvert(t, dir, "trace.json", "some/new/out").expect(t, exitDone, "")
	manifestAt(t, dir, "some", "new", "out", "_tpconvert.json")
}

func TestFoldersAreReadRecursively(t *testing.T) {
	dir := t.TempDir()
	traces := filepath.Join(dir, "traces")
	for name, content := range map[string]string{
		"one.json": goodTrace, "a/b/two.json": lossyTrace, "a/.hidden": "", ".git/config": "",
	} {
		path := filepath.Join(traces, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a", filepath.Join(traces, "link")); err != nil {
		t.Fatal(err)
	}
	tpconvert(t, dir, "traces/one.json", "traces/old").expect(t, exitDone, "")
	got := tpconvert(t, dir, "traces", "out")
	got.expect(t, exitDone, "")
	if all := tracesIn(t, filepath.Join(dir, "out")); len(all) != 2 {
		t.Errorf("traces %v", all)
	}
	lines := strings.Split(strings.TrimSpace(got.stderr), "\n")
	slices.Sort(lines)
	if want := []string{
		"warn: traces/.git: left out: hidden",
		"warn: traces/a/.hidden: left out: hidden",
		"warn: traces/link: left out: a link to a folder",
		"warn: traces/old: left out: a dataset",
	}; !slices.Equal(lines, want) {
		t.Errorf("messages: %q", lines)
	}
	tpconvert(t, dir, "out", "again").expect(t, exitUsage, "out is a dataset")
}

func TestInspectDataset(t *testing.T) {
	dir := folder(t, map[string]string{"one.json": goodTrace, "two.json": lossyTrace})
	tpconvert(t, dir, "one.json", "one").expect(t, exitDone, "")
	tpconvert(t, dir, "one.json", "two.json", "both").expect(t, exitDone, "")
	for name, want := range map[string]struct {
		traces, slices int
		lost           bool
	}{"one": {1, 2, false}, "both": {2, 5, true}} {
		got := tpconvert(t, dir, "inspect", "--json", name)
		got.expect(t, exitDone, "")
		var c contents
		if err := json.Unmarshal([]byte(got.stdout), &c); err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(c.Tables, func(t api.TableSize) bool { return t.Name == "slice" })
		if len(c.Traces) != want.traces || at < 0 || c.Tables[at].Rows != int64(want.slices) || len(c.Counts) > 0 != want.lost {
			t.Errorf("%s: %+v", name, c)
		}
		text := tpconvert(t, dir, "inspect", name).stdout
		if !strings.Contains(text, "one.json") || !strings.Contains(text, "slice") {
			t.Errorf("%s", text)
		}
	}
	tpconvert(t, dir, "inspect", ".").expect(t, exitFailure, "not a dataset")
}

func TestNamesCannotSteerTheTerminal(t *testing.T) {
	const name = "a\x1b]0;title\x07\u202eb\xff.json"
	dir := folder(t, map[string]string{name: goodTrace, "bad" + name: "\x01"})
	for _, got := range []outcome{
		tpconvert(t, dir, name, "out\x1b[31m"),
		tpconvert(t, dir, "inspect", "bad"+name),
		tpconvert(t, dir, "--log-level", "info", ".", filepath.Join(t.TempDir(), "out")),
		tpconvert(t, dir, "inspect", "out\x1b[31m"),
		tpconvert(t, dir, "\x1b[31m", "out"),
	} {
		text := got.stdout + got.stderr
		if strings.ContainsAny(text, "\x1b\x07\u202e") || !utf8.ValidString(text) || !strings.Contains(text, `\x1b`) {
			t.Errorf("%q", text)
		}
	}
}

func TestManPagesKeepPlaceholders(t *testing.T) {
	dir := t.TempDir()
	tpconvert(t, dir, "man", "pages").expect(t, exitDone, "")
	err := filepath.WalkDir(filepath.Join(dir, "pages"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), "OUT/") && !strings.Contains(string(text), "OUT/trace_id=<id>/<table>.parquet") {
			t.Errorf("%s: %s", path, text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A command whose output is lost fails.
func TestOutputLost(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no /dev/full")
	}
	dir := folder(t, map[string]string{"t.json": goodTrace})
	tpconvert(t, dir, "-q", "t.json", "out").expect(t, exitDone, "")
	for _, args := range [][]string{
		{"inspect", "t.json"}, {"inspect", "out"}, {"tables"}, {"version"}, {"--help"}, {"--json", "t.json", "other"},
		{"query", "--perfetto", "out", "SELECT 1"}, {"report", "t.json"}, {"report", "t.json", "-o", "-"}, {"summarize", "slices", "out"},
	} {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		cmd := command(t, dir, args...)
		var stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = full, &stderr
		_ = cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code != exitFailure || !strings.Contains(stderr.String(), "no space left on device") {
			t.Errorf("%q: exit code %d: %s", args, code, &stderr)
		}
		full.Close()
	}
}
