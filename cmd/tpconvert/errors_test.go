//go:build cgo

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// leaks are words of Go, of libraries and of this program's insides.
var leaks = regexp.MustCompile(`inappropriate ioctl|strconv|context canceled|INTERRUPT|is a directory|Is a directory|\bstat |\bopen |ctrace|flate|art_hprof|\[\]|%!`)

// Errors are in the words of the user.
func TestErrors(t *testing.T) {
	t.Parallel()
	dir := dataset(t, goodTrace)
	for name, text := range map[string]string{"damaged": "TRACE:\n\x78\x9cnonsense", "text": "hello\n", "folder/x": ""} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	tpconvert(t, dir, "register", "out", "out.duckdb").expect(t, exitDone, "")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"query", "SELECT 1", "out"}, exitFailure, "tpconvert: SELECT 1: no such file or folder"},
		{[]string{"query", "out"}, exitUsage, "there is no SQL to run"}, // the standard input is /dev/null
		{[]string{"query", "--file", "folder", "out"}, exitFailure, "folder is a folder, not a file"},
		{[]string{"query", "--file", "none", "out"}, exitFailure, "none: no such file or folder"},
		{[]string{"derive", "folder", "out"}, exitFailure, "folder is a folder, not a file"},
		{[]string{"register", "out", "folder"}, exitFailure, "folder is a folder, not a DuckDB file"},
		{[]string{"register", "out", "out.duckdb"}, exitFailure, "out.duckdb already exists; --force replaces it\n"},
		{[]string{"--jobs", "x", "a.json", "b"}, exitUsage, `"x" for "-j, --jobs" flag: want a whole number`},
		{[]string{"serve", "--port", "99999", "out"}, exitUsage, "the number is out of range"},
		{[]string{"tables", "."}, exitUsage, "tpconvert inspect . shows the tables"},
		{[]string{"tables", "slcie"}, exitUsage, `there is no table "slcie": did you mean slice?`},
		{[]string{"summarize", "nosuch", "out"}, exitUsage, "nosuch is neither a file nor one of the specs "},
		{[]string{"summarize", "-o", "folder", "slices", "out"}, exitFailure, "folder already exists: name a new folder\n"}, // it has no --force
		{[]string{"register", "text", "b.duckdb"}, exitFailure, "text is not a dataset of tpconvert: it has no _tpconvert.json\n"},
		{[]string{"summarize", "gpu", "folder"}, exitFailure, "it has no _tpconvert.json; if these are traces, convert them first: tpconvert folder DATASET\n"},
		{[]string{"flamegraph", "-o", "none/a.folded", "out"}, exitFailure, "tpconvert: cannot write none/a.folded: no such file or folder\n"},
		{[]string{"damaged", "b"}, exitBadInput, "damaged at byte 0: the data cannot be decompressed"},
		{[]string{"text", "b"}, exitBadInput, "#what-it-reads lists the formats\n"},
	} {
		got := tpconvert(t, dir, c.args...)
		got.expect(t, c.code, c.want)
		if leak := leaks.FindString(got.stderr); leak != "" || strings.Count(got.stderr, "--force replaces it") > 1 {
			t.Errorf("%q: %s", c.args, got.stderr)
		}
	}
}

// A text among the traces in a folder is left out. Anything else that is not a trace is an error.
func TestReadmeAmongTraces(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, "traces", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("one.json", goodTrace)
	write("README.md", "# Traces\n\nRecorded with Größe "+strings.Repeat("ä", 100_000)+"\n")
	tpconvert(t, dir, "traces", "out").expect(t, exitDone, "traces/README.md: left out: a text, not a trace\n")
	write("garbage", "\x01\x02\x03")
	tpconvert(t, dir, "traces", "out").expect(t, exitSomeFailed, "unknown format")
	tpconvert(t, dir, "traces/README.md", "other").expect(t, exitBadInput, "unknown format")
}
