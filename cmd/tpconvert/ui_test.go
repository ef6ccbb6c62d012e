//go:build cgo

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/rpc"
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
		err := tape.WriteHeader(&tar.Header{Name: "./dist/" + rpc.Release + "/" + name, Typeflag: tar.TypeReg, Size: int64(len(content))})
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
	site := httptest.NewServer(http.StripPrefix("/"+rpc.Release+"/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if content, ok := files[r.URL.Path]; ok {
			_, _ = io.WriteString(w, content)
		} else {
			http.NotFound(w, r)
		}
	})))
	defer site.Close()
	known := uiAddress
	defer func() { uiAddress = known }()
	uiAddress = site.URL + "/"
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
		if _, err := fetchUI(t.Context(), uiVersion, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
		for name, content := range whole {
			files[name] = content
		}
		if left, _ := filepath.Glob(filepath.Join(cache, "*", "*", "*")); left != nil || fetchedUIFiles() != nil {
			t.Errorf("%s leaves %v", want, left)
		}
	}
	if _, err := fetchUI(t.Context(), "v1.0", ""); err == nil {
		t.Error("v1.0 is fetched")
	}

	uiArchives(t, dir, files)
	if err := os.CopyFS(filepath.Join(dir, "empty"), os.DirFS(t.TempDir())); err != nil {
		t.Fatal(err)
	}
	for from, want := range map[string]string{"cut.tar.gz": "damaged or incomplete", "empty": "has no release of Perfetto's UI", "none": "no such file"} {
		if _, err := fetchUI(t.Context(), uiVersion, filepath.Join(dir, from)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", from, err, want)
		}
	}
	sum := sha256.Sum256([]byte(good))
	folder, err := uiFolder()
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{"", filepath.Join(dir, "ui.tar.gz"), filepath.Join(dir, "ui.zip"), folder} { // each replaces the one before
		done, err := fetchUI(t.Context(), uiVersion, from)
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

// visit returns the answer to a browser's request.
func visit(t *testing.T, url string, header ...string) (status int, head http.Header, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html,*/*;q=0.8")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	answer, err := http.DefaultTransport.RoundTrip(r) // does not follow redirections
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, answer.Header, string(text)
}

// TestServeUI checks that the server has the UI's files and no others, for its own pages alone.
func TestServeUI(t *testing.T) {
	dir := dataset(t, goodTrace)
	files := folder(t, map[string]string{"index.html": "<title>UI</title>", "frontend_bundle.js": "1", "a.wasm": "\x00asm", "MaterialSymbols.woff2": "wOF2"})
	_ = os.Symlink(filepath.Join(dir, "a.json"), filepath.Join(files, "link.json")) // Windows may refuse it
	root, err := os.OpenRoot(files)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	url := serveWith(t, serveOptions{files: root.FS()}, filepath.Join(dir, "out"))
	ui := url + "/" + rpc.Release + "/"
	for address, want := range map[string]struct{ kind, body string }{
		url + "/":                    {"text/html; charset=utf-8", rpc.Release + `/?rpc_port="`},
		ui:                           {"text/html; charset=utf-8", "<title>UI</title>"},
		ui + "frontend_bundle.js":    {"text/javascript; charset=utf-8", "1"},
		ui + "a.wasm":                {"application/wasm", "\x00asm"},
		ui + "MaterialSymbols.woff2": {"font/woff2", "wOF2"},
	} {
		status, head, body := visit(t, address, "Origin", url, "Sec-Fetch-Site", "same-origin")
		if status != http.StatusOK || head.Get("Content-Type") != want.kind || !strings.Contains(body, want.body) ||
			!strings.Contains(head.Get("Content-Security-Policy"), "connect-src 'self' http://127.0.0.1:* ws://127.0.0.1:*") {
			t.Errorf("%s: %d, %v, %q", address, status, head, body)
		}
		for _, foreign := range [][]string{{"Origin", "https://example.com"}, {"Origin", "http://127.0.0.1:1"}, {"Host", "example.com"}, {"Sec-Fetch-Site", "cross-site"}} {
			if status, _, _ := visit(t, address, foreign...); status != http.StatusForbidden {
				t.Errorf("%s with %v: %d", address, foreign, status)
			}
		}
	}
	for _, path := range []string{"none.js", "link.json", "..", "../", "../status", "..%2f..%2fa.json", "/etc/passwd", "assets/", "."} {
		if status, _, body := visit(t, ui+path); status != http.StatusNotFound {
			t.Errorf("%s: %d, %q", path, status, body)
		}
	}
	// A program gets the text, as before.
	if _, head, body := visit(t, url+"/", "Accept", "*/*"); !strings.HasPrefix(head.Get("Content-Type"), "text/plain") || !strings.Contains(body, "This is tpconvert serve") {
		t.Errorf("%v, %q", head, body)
	}
	// The page asks by POST.
	r, err := http.NewRequestWithContext(t.Context(), "POST", url+"/status", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Origin", strings.Replace(url, "127.0.0.1", "localhost", 1))
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("status: %s", answer.Status)
	}
}

// TestServeMany chooses traces of a dataset of many.
func TestServeMany(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("names of files cannot be hostile there")
	}
	const hostile = `<img src=x onerror=alert(1)>"&'.json`
	dir := folder(t, map[string]string{hostile: goodTrace, "b.json": strings.Replace(goodTrace, `"work"`, `"other"`, 1)})
	tpconvert(t, dir, "-q", hostile, "b.json", "out").expect(t, exitDone, "")
	var ui uiOptions
	o := serveOptions{}
	handler, many, err := o.handler(t.Context(), opener{ui: ui.printer(newRootCommand(&ui))}, []string{filepath.Join(dir, "out")})
	if err != nil || !many {
		t.Fatal(many, err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.Close()
		if err := handler.Close(); err != nil {
			t.Error(err)
		}
	})
	status, head, page := visit(t, server.URL+"/")
	if status != http.StatusOK || head.Get("Content-Type") != "text/html; charset=utf-8" || strings.Contains(page, "<img") || !strings.Contains(page, "&lt;img src=x onerror=alert(1)&gt;") {
		t.Errorf("%d, %v, %s", status, head, page)
	}
	links := regexp.MustCompile(`href="(/open\?trace_id=\w+)">([^<]*)<`).FindAllStringSubmatch(page, -1)
	if len(links) != 2 {
		t.Fatalf("%v in %s", links, page)
	}
	seen := map[string]bool{}
	for _, link := range append(links, links...) { // again, at the same address
		status, head, body := visit(t, server.URL+link[1])
		port, ok := strings.CutPrefix(head.Get("Location"), "https://ui.perfetto.dev/#!/?rpc_port=")
		if status != http.StatusSeeOther || !ok {
			t.Fatalf("%s: %d, %v, %s", link[1], status, head, body)
		}
		seen[port] = true
		want := `"other"`
		if strings.Contains(link[2], "img") {
			want = `"work"`
		}
		if got := ask(t, "http://127.0.0.1:"+port, "SELECT name FROM slice ORDER BY id LIMIT 1"); len(got.rows) != 1 || got.rows[0] != want {
			t.Errorf("%s: %+v, want %s", link[2], got, want)
		}
	}
	if len(seen) != 2 {
		t.Errorf("ports %v", seen)
	}
	for _, path := range []string{"/", links[0][1]} {
		for _, foreign := range [][]string{{"Origin", "https://example.com"}, {"Host", "example.com"}, {"Sec-Fetch-Site", "cross-site"}} {
			if status, _, _ := visit(t, server.URL+path, foreign...); status != http.StatusForbidden {
				t.Errorf("%s with %v: %d", path, foreign, status)
			}
		}
	}
	if status, _, body := visit(t, server.URL+"/open?trace_id=../.."); status == http.StatusSeeOther {
		t.Errorf("%d, %s", status, body)
	}
}
