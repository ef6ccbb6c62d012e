//go:build cgo

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// The flame graph of spans has the calls of other services inside of their callers.
func TestSpansFlameGraph(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "b.json"), []byte(cart("2", "2")), 0o600); err != nil {
		t.Fatal(err)
	}
	got := tpconvert(t, dir, "-q", "flamegraph", "--top", "b.json")
	for _, want := range []string{` 750ms +\S+ +\S+ +750ms +\S+ +log`, ` 170ms +\S+ +\S+ +170ms +\S+ +HGETALL`, ` 20ms +\S+ +\S+ +980ms +\S+ +GET /cart`} {
		if !regexp.MustCompile(want).MatchString(got.stdout) {
			t.Errorf("no line %q in\n%s", want, got.stdout)
		}
	}
	if got = tpconvert(t, dir, "-q", "flamegraph", "-o", "b.folded", "--from", "0s", "--to", "30ms", "b.json"); got.code != exitDone {
		t.Fatal(got.stderr)
	}
	text, err := os.ReadFile(filepath.Join(dir, "b.folded"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`GET /cart 10000000\n`, `GET /cart;HGET 20000000\n`, `GET /cart;HGETALL 10000000\n`} {
		if !regexp.MustCompile(want).Match(text) {
			t.Errorf("no line %q in\n%s", want, text)
		}
	}
	got = tpconvert(t, dir, "-q", "query", "--format", "csv", "b.json", "SELECT name, self_dur FROM slice JOIN slice_self_dur USING (id) ORDER BY id")
	if want := "name,self_dur\nGET /cart,20000000\nHGET,40000000\nHGETALL,170000000\nlog,750000000\n"; got.stdout != want {
		t.Errorf("self times\n%s, want\n%s", got.stdout, want)
	}
}
