//go:build cgo

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const moduleFile = "src/trace_processor/perfetto_sql/stdlib/own/answer.sql"

// sourceArchive returns an archive of Perfetto's source, with files that are not for stdlib.
func sourceArchive(t *testing.T, module string) []byte {
	t.Helper()
	var archive bytes.Buffer
	zipped := gzip.NewWriter(&archive)
	w := tar.NewWriter(zipped)
	for _, f := range []tar.Header{
		{Name: "perfetto-58.2/README.md", Typeflag: tar.TypeReg},
		{Name: "perfetto-58.2/" + moduleFile, Typeflag: tar.TypeReg},
		{Name: "perfetto-58.2/src/trace_processor/perfetto_sql/stdlib/../../../../../outside.sql", Typeflag: tar.TypeReg},
		{Name: "/src/trace_processor/perfetto_sql/stdlib//absolute.sql", Typeflag: tar.TypeReg},
		{Name: "perfetto-58.2/src/trace_processor/perfetto_sql/stdlib/link.sql", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"},
	} {
		if f.Typeflag == tar.TypeReg {
			f.Size = int64(len(module))
		}
		if err := w.WriteHeader(&f); err != nil {
			t.Fatal(err)
		}
		if f.Typeflag == tar.TypeReg {
			if _, err := w.Write([]byte(module)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return archive.Bytes()
}

func TestStdlibFetch(t *testing.T) {
	const module = "CREATE PERFETTO TABLE answer AS SELECT 42 AS n;"
	good := sourceArchive(t, module)
	line := fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte(module)), moduleFile)
	known := stdlibDigests[stdlibVersion]
	t.Cleanup(func() { stdlibDigests[stdlibVersion] = known })
	stdlibDigests[stdlibVersion] = fmt.Sprintf("%x", sha256.Sum256([]byte(line)))
	body := good
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/cut" {
			w.Header().Set("Content-Length", fmt.Sprint(len(body)+1))
		}
		if r.URL.Path == "/none" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(body)
	}))
	defer server.Close()
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	for path, bad := range map[string]struct {
		body []byte
		want string
	}{
		"/none":  {nil, "404"},
		"/other": {sourceArchive(t, module+" "), "has other files than Perfetto v58.2: 1 files"},
		"/half":  {good[:len(good)/2], "damaged or incomplete"},
		"/cut":   {good[:len(good)-4], "damaged or incomplete"},
		"/html":  {[]byte("<html>an error</html>"), "gzip"},
	} {
		body = bad.body
		_, err := fetchStdlib(t.Context(), stdlibVersion, server.URL+path)
		if err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%s: error %v, want %s", path, err, bad.want)
		}
		if left, _ := filepath.Glob(filepath.Join(cache, "*", "*", "*")); left != nil || stdlib("") != "" {
			t.Errorf("%s leaves %v", path, left)
		}
	}
	if _, err := fetchStdlib(t.Context(), "v1.0", ""); err == nil {
		t.Error("v1.0 is fetched")
	}
	body = good
	for range 2 { // the second replaces the first
		done, err := fetchStdlib(t.Context(), stdlibVersion, server.URL)
		if err != nil || done.Files != 1 {
			t.Fatalf("%v, %v", done, err)
		}
	}
	if found, _ := filepath.Glob(filepath.Join(cache, "tpconvert", "stdlib", "*")); len(found) != 1 || found[0] != stdlib("") {
		t.Errorf("fetched %v", found)
	}
	dir := folder(t, map[string]string{"t.json": goodTrace, "archive.tar.gz": string(good)})
	cmd := command(t, dir, "query", "--perfetto", "--format", "csv", "t.json", "INCLUDE PERFETTO MODULE own.answer; SELECT n FROM answer")
	cmd.Env = append(cmd.Env, "XDG_CACHE_HOME="+cache)
	if got := finish(t, cmd); got.stdout != "\"n\"\n42\n" {
		t.Errorf("got %s %s", got.stdout, got.stderr)
	}
	// The command itself expects the files of Perfetto.
	tpconvert(t, dir, "stdlib", "fetch", "--from", "archive.tar.gz", stdlibVersion).expect(t, exitFailure, "has other files than Perfetto v58.2")
	if _, err := os.Stat(filepath.Join(dir, "outside.sql")); err == nil {
		t.Error("a file outside appeared")
	}
}
