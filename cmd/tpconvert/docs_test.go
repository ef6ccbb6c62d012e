//go:build cgo

package main

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

var writeDocs = flag.Bool("docs", false, "write the results in docs/queries.md")

var (
	queriesFile = filepath.Join("..", "..", "docs", "queries.md")
	block       = regexp.MustCompile("(?s)```(sql perfetto|sql|text)\n(.*?)```\n")
)

// TestDocumentedQueries runs each query of docs/queries.md and compares its rows with the block of text that follows. A
// query with one block stands for both languages.
func TestDocumentedQueries(t *testing.T) {
	page, err := os.ReadFile(queriesFile)
	if err != nil {
		t.Fatal(err)
	}
	trace, err := filepath.Abs("../../testdata/chromium.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	tpconvert(t, dir, "-q", trace, "out").expect(t, exitDone, "")
	queries := map[string]string{}
	results := 0
	written := block.ReplaceAllStringFunc(string(page), func(found string) string {
		m := block.FindStringSubmatch(found)
		if m[1] != "text" {
			queries[m[1]] = m[2]
			return found
		}
		results++
		if _, both := queries["sql perfetto"]; !both {
			queries["sql perfetto"] = queries["sql"]
		}
		want := m[2]
		for language, sql := range queries {
			args := []string{"query", "out", sql}
			if language == "sql perfetto" {
				args = append(args, "--perfetto")
			}
			got := tpconvert(t, dir, args...)
			got.expect(t, exitDone, "")
			if *writeDocs && language == "sql" {
				want = got.stdout
			}
			if !*writeDocs && got.stdout != want {
				t.Errorf("%s\n%sgives\n%swant\n%s", language, sql, got.stdout, want)
			}
		}
		clear(queries)
		return "```text\n" + want + "```\n"
	})
	if results < 10 {
		t.Errorf("found %d results", results)
	}
	if *writeDocs {
		if err := os.WriteFile(queriesFile, []byte(written), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}
