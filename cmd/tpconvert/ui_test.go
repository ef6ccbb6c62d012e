package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/cmd/tpconvert/console"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/inputs"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/serve"
	"github.com/tpconvert/tpconvert/internal/perfetto"
)

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
	url := serveWith(t, serve.Options{UI: root.FS()}, filepath.Join(dir, "out"))
	ui := url + "/" + perfetto.Release + "/"
	for address, want := range map[string]struct{ kind, body string }{
		url + "/":                    {"text/html; charset=utf-8", perfetto.Release + `/?rpc_port="`},
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
	var ui console.UI
	o := serve.Options{Metrics: []string{"slices_total_dur"}}
	handler, many, err := o.Handler(t.Context(), inputs.Opener{UI: ui.Printer(newRootCommand(&ui))}, []string{filepath.Join(dir, "out")})
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
	for _, want := range []string{`<th class="number long">slices total dur · other</th>`, `<th class="number">slices total dur · work</th>`, "<span>5 µs</span>"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s in %s", want, page)
		}
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
