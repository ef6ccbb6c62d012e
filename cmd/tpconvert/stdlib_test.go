//go:build cgo

package main

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"

	"github.com/tpconvert/tpconvert/internal/fetch"
)

// TestStdlibFetch checks that queries use what was fetched, and that the commands fetch Perfetto's files alone.
func TestStdlibFetch(t *testing.T) {
	t.Parallel()
	var archive bytes.Buffer
	w := gzip.NewWriter(&archive)
	if _, err := w.Write(make([]byte, 1024)); err != nil { // a tar archive without files
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	dir := folder(t, map[string]string{"t.json": goodTrace, "archive.tar.gz": archive.String()})
	module := filepath.Join(dir, "tpconvert", "stdlib", fetch.Version, "src", "trace_processor", "perfetto_sql", "stdlib", "own", "answer.sql")
	if err := os.MkdirAll(filepath.Dir(module), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(module, []byte("CREATE PERFETTO TABLE answer AS SELECT 42 AS n;"), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := command(t, dir, "query", "--perfetto", "--format", "csv", "t.json", "INCLUDE PERFETTO MODULE own.answer; SELECT n FROM answer")
	cmd.Env = append(cmd.Env, "XDG_CACHE_HOME="+dir)
	if got := finish(t, cmd); got.stdout != "\"n\"\n42\n" {
		t.Errorf("got %s %s", got.stdout, got.stderr)
	}
	tpconvert(t, dir, "stdlib", "fetch", "--from", "archive.tar.gz", fetch.Version).expect(t, exitFailure, "has other files than Perfetto "+fetch.Version)
	tpconvert(t, dir, "ui", "fetch", "--from", "archive.tar.gz", fetch.Version).expect(t, exitFailure, "has no release of Perfetto's UI")
	tpconvert(t, dir, "ui", "fetch", "v1.0").expect(t, exitUsage, "want "+fetch.Version)
}
