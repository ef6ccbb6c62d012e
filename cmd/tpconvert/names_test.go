//go:build cgo && linux

package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
)

// hostile is a name that tries to be markup, to control a terminal, to turn text around, to end a line, and to be a formula.
const hostile = "=1+cmd|' /C calc'!A0 </script><script>alert(1)</script>\x1b]0;owned\a\x1b[31m\u202ered\u2066\u009b1m\u0085\r\nend\t\"'`<b>&amp;"

// hostileTrace is a trace of which every name is hostile, and so is its own.
func hostileTrace(t *testing.T, dir string) (trace string) {
	t.Helper()
	var events []map[string]any
	add := func(e map[string]any) {
		for key, value := range map[string]any{"pid": 1, "tid": 1, "cat": hostile} {
			if e[key] == nil {
				e[key] = value
			}
		}
		events = append(events, e)
	}
	add(map[string]any{"ph": "M", "name": "process_name", "args": map[string]any{"name": hostile}})
	add(map[string]any{"ph": "M", "name": "thread_name", "args": map[string]any{"name": hostile}})
	add(map[string]any{"ph": "M", "name": "process_labels", "args": map[string]any{"labels": hostile}})
	add(map[string]any{"ph": "X", "name": hostile, "ts": 1, "dur": 5, "args": map[string]any{hostile: hostile}})
	add(map[string]any{"ph": "X", "name": hostile + "2", "ts": 2, "dur": 2})
	add(map[string]any{"ph": "C", "name": hostile, "ts": 3, "args": map[string]any{hostile: 1}})
	add(map[string]any{"ph": "b", "name": hostile, "ts": 3, "id": hostile})
	add(map[string]any{"ph": "i", "name": hostile, "ts": 4, "s": "g"})
	add(map[string]any{"ph": hostile, "name": hostile, "ts": 4})
	text, err := json.Marshal(map[string]any{"traceEvents": events, "otherData": map[string]any{hostile: hostile}})
	if err != nil {
		t.Fatal(err)
	}
	trace = "a \x1b[31m\u202e<script>.json"
	if err := os.WriteFile(filepath.Join(dir, trace), text, 0o666); err != nil {
		t.Fatal(err)
	}
	return trace
}

// TestHostileNames checks that names in traces control no terminal, are no markup in pages, and are in files as they are.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	trace := hostileTrace(t, dir)
	for _, args := range [][]string{
		{trace, "out"}, {"inspect", trace}, {"inspect", "out"}, {"query", "out", "FROM slice"}, {"query", "out", "FROM args"},
		{"query", "out", "FROM process"}, {"query", "--perfetto", "out", "SELECT * FROM thread"}, {"query", "--format", "csv", "out", "FROM thread"},
		{"query", "--format", "markdown", "out", "SELECT * FROM track"}, {"query", "out", "FROM import_log"}, {"query", "out", "FROM trace_file"},
		{"summarize", "slices", "out"}, {"summarize", "--format", "csv", "slices", "out"}, {"flamegraph", "--top", "out"},
	} {
		text := onTerminal(t, dir, args...)
		bad := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) })
		if bad >= 0 || strings.Contains(text, "\nend") || len(text) < 20 {
			t.Errorf("%q: %q", args, text)
		}
	}
	if got := tpconvert(t, dir, "query", "--json", "out", "SELECT DISTINCT name FROM slice WHERE dur = 5000"); !strings.Contains(got.stdout, "end") {
		t.Errorf("%q, %s", got.stdout, got.stderr)
	} else {
		var row struct{ Name string }
		if err := json.Unmarshal([]byte(got.stdout), &row); err != nil || row.Name != hostile {
			t.Errorf("the name is %q, %v", row.Name, err)
		}
	}
	// The page has a script of its own, but none from a name.
	url, end := pprofServer(t, dir, "out")
	defer end()
	for _, page := range []string{"flamegraph", "top", "peek"} {
		answer, err := http.Get(strings.Replace(url, "/flamegraph", "/"+page, 1))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || !strings.Contains(string(text), "alert(1)") || strings.Contains(string(text), "<script>alert(1)") || strings.Contains(string(text), "'`<b>") || strings.Contains(string(text), "calc'!A0 </script>") {
			i := strings.Index(string(text), "alert(1)")
			t.Errorf("%s: %v, %q", page, err, string(text)[max(i-60, 0):max(i, 0)+20])
		}
	}
}
