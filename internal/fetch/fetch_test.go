package fetch

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/internal/perfetto"
)

// uiRelease returns the files of a release of the UI, and makes its page the one that is known.
func uiRelease(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{"index.html": "<!doctype html><script src=frontend_bundle.js></script>", "frontend_bundle.js": "'use strict'", "assets/a.wasm": "\x00asm"}
	sum := sha256.Sum256([]byte(files["index.html"]))
	known := uiIndexDigest
	t.Cleanup(func() { uiIndexDigest = known })
	uiIndexDigest = hex.EncodeToString(sum[:])
	files["manifest.json"] = uiManifestOf(t, files, "frontend_bundle.js", "assets/a.wasm")
	return files
}

func uiManifestOf(t *testing.T, files map[string]string, names ...string) string {
	t.Helper()
	digests := map[string]string{}
	for _, name := range names {
		sum := sha256.Sum256([]byte(files[name]))
		digests[name] = "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
	}
	text, err := json.Marshal(map[string]any{"resources": digests})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func uiArchives(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	var tarred, zipped bytes.Buffer
	compressed := gzip.NewWriter(&tarred)
	tape, packed := tar.NewWriter(compressed), zip.NewWriter(&zipped)
	for name, content := range files {
		err := tape.WriteHeader(&tar.Header{Name: "./dist/" + perfetto.Release + "/" + name, Typeflag: tar.TypeReg, Size: int64(len(content))})
		if err == nil {
			_, err = io.WriteString(tape, content)
		}
		if err != nil {
			t.Fatal(err)
		}
		w, err := packed.Create(name)
		if err == nil {
			_, err = io.WriteString(w, content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := tape.Close(); err != nil {
		t.Fatal(err)
	}
	if err := compressed.Close(); err != nil {
		t.Fatal(err)
	}
	if err := packed.Close(); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"ui.tar.gz": tarred.Bytes(), "ui.zip": zipped.Bytes(), "cut.tar.gz": tarred.Bytes()[:tarred.Len()-4]} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

func TestUIFetch(t *testing.T) {
	files := uiRelease(t)
	files["../outside"] = "an archive may have it"
	good := files["manifest.json"]
	site := httptest.NewServer(http.StripPrefix("/"+perfetto.Release+"/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if content, ok := files[r.URL.Path]; ok {
			_, _ = io.WriteString(w, content)
		} else {
			http.NotFound(w, r)
		}
	})))
	defer site.Close()
	known := UI.Address
	defer func() { UI.Address = known }()
	UI.Address = site.URL + "/" + perfetto.Release
	cache, dir := t.TempDir(), t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)

	for want, bad := range map[string]map[string]string{
		"a.wasm is another file than":     {"assets/a.wasm": "\x00wasm"},
		"index.html is another file than": {"index.html": "<!doctype html>"},
		"404 Not Found":                   {"manifest.json": uiManifestOf(t, files, "frontend_bundle.js", "assets/b.wasm")},
		`"../outside", which is no path`:  {"manifest.json": uiManifestOf(t, files, "frontend_bundle.js", "../outside")},
		`"/etc/passwd", which is no path`: {"manifest.json": uiManifestOf(t, files, "frontend_bundle.js", "/etc/passwd")},
		`"a\\b", which is no path`:        {"manifest.json": uiManifestOf(t, files, "frontend_bundle.js", `a\b`)},
		"does not list frontend_bundle":   {"manifest.json": `{"resources":{}}`},
		"invalid character":               {"manifest.json": "<html>"},
	} {
		whole := map[string]string{}
		for name, content := range bad {
			whole[name], files[name] = files[name], content
		}
		if _, err := UI.Fetch(t.Context(), ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
		for name, content := range whole {
			files[name] = content
		}
		if left, _ := filepath.Glob(filepath.Join(cache, "*", "*", "*")); left != nil || UIFiles() != nil {
			t.Errorf("%s leaves %v", want, left)
		}
	}
	uiArchives(t, dir, files)
	if err := os.CopyFS(filepath.Join(dir, "empty"), os.DirFS(t.TempDir())); err != nil {
		t.Fatal(err)
	}
	for from, want := range map[string]string{"cut.tar.gz": "damaged or incomplete", "empty": "has no release of Perfetto's UI", "none": "no such file"} {
		if _, err := UI.Fetch(t.Context(), filepath.Join(dir, from)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", from, err, want)
		}
	}
	sum := sha256.Sum256([]byte(good))
	folder, err := UI.Folder()
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{"", filepath.Join(dir, "ui.tar.gz"), filepath.Join(dir, "ui.zip"), folder} { // each replaces the one before
		done, err := UI.Fetch(t.Context(), from)
		if err != nil || done.Files != 4 || done.Manifest != hex.EncodeToString(sum[:]) {
			t.Errorf("%q: %+v, %v", from, done, err)
		}
		for name, want := range files {
			got, err := os.ReadFile(filepath.Join(folder, name))
			if missing := name == "../outside"; missing != (err != nil) || !missing && string(got) != want {
				t.Errorf("%q: %s is %q, %v", from, name, got, err)
			}
		}
	}
}

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
	known := stdlibDigest
	t.Cleanup(func() { stdlibDigest = known })
	stdlibDigest = fmt.Sprintf("%x", sha256.Sum256([]byte(line)))
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
		_, err := Stdlib.Fetch(t.Context(), server.URL+path)
		if err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%s: error %v, want %s", path, err, bad.want)
		}
		if left, _ := filepath.Glob(filepath.Join(cache, "*", "*", "*")); left != nil || Stdlib.Fetched() != "" {
			t.Errorf("%s leaves %v", path, left)
		}
	}
	body = good
	for range 2 { // the second replaces the first
		done, err := Stdlib.Fetch(t.Context(), server.URL)
		if err != nil || done.Files != 1 {
			t.Fatalf("%v, %v", done, err)
		}
	}
	if found, _ := filepath.Glob(filepath.Join(cache, "tpconvert", "stdlib", "*")); len(found) != 1 || found[0] != Stdlib.Fetched() {
		t.Errorf("fetched %v", found)
	}
	if escaped, _ := filepath.Glob(filepath.Join(cache, "*", "*.sql")); escaped != nil {
		t.Errorf("files outside: %v", escaped)
	}
}
