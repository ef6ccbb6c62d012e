//go:build cgo

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/sqlfuncs/sqltext"
)

// TestSandbox checks that SQL changes no existing file without permission.
func TestSandbox(t *testing.T) {
	t.Parallel()
	dir := dataset(t, goodTrace)
	out := filepath.Join(dir, "out")
	other := filepath.Join(dir, "other.csv")
	if err := os.WriteFile(other, []byte("a\n7\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	quoted := func(name string) string { return sqltext.QuoteText(filepath.Join(dir, name)) }
	before := filesBelow(t, dir)
	for _, statement := range []string{
		"COPY slice TO " + quoted("other.csv"),
		"COPY slice TO " + quoted("out/slice.parquet"),
		"COPY (SELECT ') TO ''x''' AS a) TO " + quoted("other.csv"),
		"/* a */ COPY (SELECT $$) TO '/nowhere$$) TO " + quoted("other.csv"),
		"EXPLAIN ANALYZE COPY slice TO " + quoted("new.csv"),
		"PREPARE p AS COPY slice TO " + quoted("new.csv"),
		"COPY slice TO concat('a', 'b')",
		"EXPORT DATABASE " + quoted("new"),
		"ATTACH " + quoted("out/new.db"),
		"INSTALL httpfs", "LOAD httpfs",
		"SET enable_external_access = true", "SET autoinstall_known_extensions = true",
		"CALL enable_logging(storage = 'file', storage_config = {'path': " + quoted("out") + "})",
		"FROM enable_logging(storage = 'file', storage_config = {'path': " + quoted("out") + "})",
		"FROM read_csv(" + quoted("other.csv") + ")",
	} {
		if r := tpconvert(t, dir, "query", out, statement); r.code != exitFailure {
			t.Errorf("%s: exit %d, %s%s", statement, r.code, r.stdout, r.stderr)
		}
	}
	if after := filesBelow(t, dir); after != before {
		t.Errorf("files were\n%s\nand are\n%s", before, after)
	}
	for _, statement := range []string{
		"COPY (SELECT 'TO ''x''' AS a) TO " + quoted("new.csv") + " (HEADER false)",
		"COPY (SELECT 1 AS a, 2 AS b) TO " + quoted("parts") + " (FORMAT csv, PARTITION_BY (a))",
	} {
		if r := tpconvert(t, dir, "query", out, statement); r.code != exitDone {
			t.Errorf("%s: exit %d, %s", statement, r.code, r.stderr)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "new.csv")); err != nil || string(text) != "TO 'x'\n" {
		t.Errorf("COPY wrote %q, %v", text, err)
	}
	if found, err := filepath.Glob(filepath.Join(dir, "parts/a=1/*.csv")); err != nil || len(found) != 1 {
		t.Errorf("COPY wrote %q, %v", found, err)
	}
	allowed := "COPY (SELECT a + 1 AS a FROM read_csv(" + quoted("other.csv") + ")) TO " + quoted("other.csv")
	if r := tpconvert(t, dir, "query", "--allow-writes", out, allowed); r.code != exitDone {
		t.Errorf("--allow-writes: exit %d, %s", r.code, r.stderr)
	}
	if text, err := os.ReadFile(other); err != nil || string(text) != "a\n8\n" {
		t.Errorf("COPY wrote %q, %v", text, err)
	}
}

func TestQueryShows(t *testing.T) {
	t.Parallel()
	dir := dataset(t, `{"traceEvents":[{"ph":"X","ts":1,"dur":2,"pid":1,"tid":1,"name":"\u001b]0;owned\u0007\u202ered\n"}]}`)
	out := filepath.Join(dir, "out")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"SELECT name FROM slice"}, `\x1b]0;owned\a\u202ered\n` + "\n"},
		{[]string{"SELECT 1 AS \"\x1b[31m\""}, `\x1b[31m` + "\n"},
		{[]string{"PRAGMA version"}, "v1."},
		{[]string{"EXPLAIN SELECT 1"}, "physical_plan"},
		{[]string{"--json", "SELECT id, dur FROM slice UNION ALL SELECT 5, NULL"}, `{"id":0,"dur":2000}` + "\n" + `{"id":5,"dur":null}` + "\n"},
	} {
		r := tpconvert(t, dir, append([]string{"query", out}, c.args...)...)
		if r.code != exitDone || !strings.Contains(r.stdout, c.want) || strings.ContainsAny(r.stdout, "\x1b\a\u202e") {
			t.Errorf("%q: exit %d, %q, %s", c.args, r.code, r.stdout, r.stderr)
		}
	}
}

// TestQueryIsSwept checks that the next query removes the files of a killed one.
func TestQueryIsSwept(t *testing.T) {
	dir := dataset(t, goodTrace)
	scratch := t.TempDir()
	t.Setenv("TMPDIR", scratch)
	leftover := filepath.Join(scratch, "tpconvert-query-0123456789abcdef")
	if err := os.MkdirAll(filepath.Join(leftover, "out"), 0o777); err != nil {
		t.Fatal(err)
	}
	if r := tpconvert(t, dir, "query", filepath.Join(dir, "out"), "SELECT 1"); r.code != exitDone {
		t.Fatal(r.stderr)
	}
	if left, err := os.ReadDir(scratch); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}
