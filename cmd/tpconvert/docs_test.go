//go:build cgo

package main

import (
	"cmp"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var writeDocs = flag.Bool("docs", false, "write the results in docs/queries.md")

var (
	queriesFile = filepath.Join("..", "..", "docs", "queries.md")
	block       = regexp.MustCompile("(?s)```(sql perfetto|sql|text)\n(.*?)```\n")
)

// TestDocumentedQueries runs the queries of docs/queries.md and compares the rows of each with the block of text that
// follows. A query with one block stands for both languages.
func TestDocumentedQueries(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(queriesFile)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	tpconvert(t, dir, "-q", recorded(t, "chromium.json.gz"), "out").expect(t, exitDone, "")
	run := func(args ...string) string {
		got := tpconvert(t, dir, append([]string{"query", "out"}, args...)...)
		got.expect(t, exitDone, "")
		return got.stdout
	}
	var inDuckDB, inPerfetto, results []string
	var sql, perfettoSQL string
	written := block.ReplaceAllStringFunc(string(page), func(found string) string {
		m := block.FindStringSubmatch(found)
		switch m[1] {
		case "sql":
			sql = m[2]
			return found
		case "sql perfetto":
			perfettoSQL = m[2]
			return found
		}
		if *writeDocs {
			m[2] = run(sql)
		}
		inDuckDB, inPerfetto, results = append(inDuckDB, sql), append(inPerfetto, cmp.Or(perfettoSQL, sql)), append(results, m[2])
		sql, perfettoSQL = "", ""
		return "```text\n" + m[2] + "```\n"
	})
	if len(results) < 10 {
		t.Errorf("found %d results", len(results))
	}
	// All in one command, which takes long to start.
	for _, args := range [][]string{{strings.Join(inDuckDB, ";")}, {"--perfetto", strings.Join(inPerfetto, ";")}} {
		if got, want := run(args...), strings.Join(results, "\n"); got != want {
			t.Errorf("%s\ngives\n%s\nwant\n%s", args, got, want)
		}
	}
	if *writeDocs {
		if err := os.WriteFile(queriesFile, []byte(written), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}
