package sqlfuncs

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestMacros checks that every statement is found, and documented unless it is a helper.
func TestMacros(t *testing.T) {
	statements := 0
	for _, name := range files {
		statements += strings.Count(source(name), "CREATE OR REPLACE")
	}
	macros := Macros(OneTrace)
	if len(macros) != statements {
		t.Errorf("found %d macros and views, want %d", len(macros), statements)
	}
	for _, m := range macros {
		if regexp.MustCompile(`\btrace_id\b`).MatchString(m.SQL) {
			t.Errorf("%s: trace_id in a database of one trace", m.Name)
		}
		if !m.IsHelper() && !strings.HasPrefix(m.Name, "time_") && m.Kind != "VIEW" && !strings.HasPrefix(m.Doc, m.Name+"(") {
			t.Errorf("%s: comment %q", m.Name, m.Doc)
		}
	}
}

var writeDocs = flag.Bool("docs", false, "write the list of views and functions in docs/queries.md")

// TestDocsAreCurrent checks the list of views and functions at the end of docs/queries.md.
func TestDocsAreCurrent(t *testing.T) {
	const path, heading = "../docs/queries.md", "\n## Views and functions\n"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text, got, found := strings.Cut(string(page), heading)
	if !found {
		t.Fatalf("%s has no heading %q", path, heading)
	}
	kinds := []string{"VIEW", "MACRO TABLE", "MACRO"}
	lists := map[string]string{}
	last := ""
	for _, m := range Macros(OneTrace) {
		if m.IsHelper() || m.Doc == last {
			continue
		}
		last = m.Doc
		name, doc, called := strings.Cut(m.Doc, "): ")
		if called && strings.HasPrefix(name, m.Name+"(") {
			name += ")"
		} else {
			name, doc = m.Name, m.Doc
		}
		lists[m.Kind] += fmt.Sprintf("- `%s`: %s\n", name, doc)
	}
	want := ""
	for i, title := range []string{"Views", "Functions that give rows", "Functions that give a value"} {
		want += "\n### " + title + "\n\n" + lists[kinds[i]]
	}
	if *writeDocs {
		if err := os.WriteFile(path, []byte(text+heading+want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if got != want {
		t.Errorf("%s is not current: run go test ./sqlfuncs -run Docs -docs", path)
	}
}
