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
	block       = regexp.MustCompile("(?s)```(sql perfetto|sql duckdb|sql|text)\n(.*?)```\n")
)

// examples are queries in one language, and what each prints.
type examples struct{ queries, results []string }

func (e *examples) add(query, result string) {
	e.queries, e.results = append(e.queries, query), append(e.results, result)
}

// TestDocumentedQueries runs the queries of docs/queries.md and compares the rows of each with the block of text that
// follows. A block of sql stands for both languages if no block of PerfettoSQL is before it.
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
	var inDuckDB, inPerfetto examples
	var sql, perfettoSQL string
	written := block.ReplaceAllStringFunc(string(page), func(found string) string {
		m := block.FindStringSubmatch(found)
		switch m[1] {
		case "sql duckdb":
			sql = m[2]
			return found
		case "sql":
			sql, perfettoSQL = m[2], cmp.Or(perfettoSQL, m[2])
			return found
		case "sql perfetto":
			perfettoSQL = m[2]
			return found
		}
		if *writeDocs {
			m[2] = run(sql)
		}
		inDuckDB.add(sql, m[2])
		if perfettoSQL != "" {
			inPerfetto.add(perfettoSQL, m[2])
		}
		sql, perfettoSQL = "", ""
		return "```text\n" + m[2] + "```\n"
	})
	// All in one command, which takes long to start.
	for of, examples := range map[string]examples{"": inDuckDB, "--perfetto": inPerfetto} {
		if len(examples.results) < 10 {
			t.Errorf("%s: found %d results", of, len(examples.results))
		}
		args := []string{strings.Join(examples.queries, ";")}
		if of != "" {
			args = append(args, of)
		}
		if got, want := run(args...), strings.Join(examples.results, "\n"); got != want {
			t.Errorf("%s\ngives\n%s\nwant\n%s", args, got, want)
		}
	}
	if *writeDocs {
		if err := os.WriteFile(queriesFile, []byte(written), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}
