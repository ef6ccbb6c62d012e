package rpc_test

import (
	"bytes"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/tpconvert/tpconvert/internal/datasettest"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/rpc"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

func TestPackages(t *testing.T) {
	standard := fstest.MapFS{"slices/all.sql": {Data: []byte("standard")}, "slices/gone.sql": {}, "other/d.sql": {Data: []byte("standard")}}
	p := rpc.NewPackages(standard)
	for name, folder := range map[string]fs.FS{
		"mine":          fstest.MapFS{"a/b.sql": {Data: []byte("mine")}},
		"slices":        fstest.MapFS{"all.sql": {Data: []byte("replaced")}},
		"org.example.x": fstest.MapFS{"c.sql": {Data: []byte("dotted")}, "README": {}},
	} {
		if err := p.Add(name, folder); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"org.example", "org.example.x.y", "other.e"} {
		if err := p.Add(name, fstest.MapFS{}); err == nil {
			t.Errorf("%s begins with another package, or another one with it", name)
		}
	}
	wanted := map[string]string{"mine/a/b.sql": "mine", "slices/all.sql": "replaced", "org/example/x/c.sql": "dotted", "other/d.sql": "standard"}
	owners := map[string]string{"mine/a/b.sql": "mine", "slices/all.sql": "slices", "org/example/x/c.sql": "org.example.x", "other/d.sql": "other"}
	for path, want := range wanted {
		if text, err := fs.ReadFile(p, path); err != nil || string(text) != want {
			t.Errorf("%s: %q, %v", path, text, err)
		}
		if owner := p.Package(path); owner != owners[path] {
			t.Errorf("%s is of %s", path, owner)
		}
	}
	var walked []string
	err := fs.WalkDir(p, ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			walked = append(walked, path)
		}
		return err
	})
	if want := slices.Sorted(maps.Keys(wanted)); err != nil || !slices.Equal(walked, want) {
		t.Errorf("%q, %v; want %q", walked, err, want)
	}
	if text, err := fs.ReadFile(rpc.NewPackages(standard), "slices/all.sql"); err != nil || string(text) != "standard" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := fs.ReadFile(rpc.NewPackages(nil), "slices/all.sql"); err == nil {
		t.Error("a file of no folder")
	}
}

func serve(t *testing.T, trace string) string {
	s, err := session.New(t.Context(), session.Options{Perfetto: true, Shared: true})
	if err == nil {
		err = s.OpenDataset(t.Context(), datasettest.Convert(t, trace))
	}
	if err != nil {
		t.Fatal(err)
	}
	handler := rpc.New(rpc.Options{Version: "1.2", Packages: rpc.NewPackages(nil)}, s, "some trace")
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.Close()
		if err := handler.Close(); err != nil {
			t.Error(err)
		}
	})
	return server.URL
}

// request returns the status and the body of the answer.
func request(t *testing.T, method, url string, body []byte) (int, string) {
	t.Helper()
	r, err := http.NewRequest(method, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var all bytes.Buffer
	if _, err := all.ReadFrom(answer.Body); err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, all.String()
}

func query(sql string) []byte {
	return protowire.AppendString(protowire.AppendTag(nil, pb.QueryArgs_SQLQuery, protowire.BytesType), sql)
}

func TestCalls(t *testing.T) {
	url := serve(t, `[{"ph":"X","pid":1,"tid":2,"ts":1,"dur":5,"name":"work"}]`)
	for _, test := range []struct {
		method, path string
		body         []byte
		status       int
		want         string
	}{
		{"POST", "/status", nil, http.StatusOK, "some trace"},
		{"POST", "/query", query("SELECT name || dur AS x FROM slice"), http.StatusOK, "work5000\x00"},
		{"POST", "/query", query("SELECT 1; SELECT absent FROM slice"), http.StatusOK, "no such column: absent"},
		{"POST", "/query", []byte{0xff}, http.StatusOK, "the query cannot be read"},
		{"GET", "/query", nil, http.StatusMethodNotAllowed, ""},
		{"GET", "/", nil, http.StatusOK, "ui.perfetto.dev"},
		{"POST", "/nothing", nil, http.StatusNotFound, ""},
		{"GET", "/nothing", nil, http.StatusNotFound, ""},
		{"TRACE", "/status", nil, http.StatusMethodNotAllowed, ""},
		{"PUT", "/query", query("SELECT 1"), http.StatusMethodNotAllowed, ""},
		{"DELETE", "/", nil, http.StatusMethodNotAllowed, ""},
		{"HEAD", "/status", nil, http.StatusOK, ""},
		{"HEAD", "/query", nil, http.StatusMethodNotAllowed, ""},
		{"POST", "/disable_and_read_metatrace", nil, http.StatusOK, "metatrace is not supported"},
		{"POST", "/enable_metatrace", nil, http.StatusNotImplemented, "metatrace is not supported"},
		{"POST", "/query", make([]byte, rpc.MaxQuery+1<<12), http.StatusRequestEntityTooLarge, "more than"},
	} {
		status, body := request(t, test.method, url+test.path, test.body)
		if status != test.status || !strings.Contains(body, test.want) {
			t.Errorf("%s %s %q: %d %q", test.method, test.path, test.body, status, body)
		}
	}
}

// What one request creates, another one sees until the tables are restored.
func TestRestore(t *testing.T) {
	url := serve(t, `[{"ph":"X","pid":1,"tid":2,"ts":1,"dur":5,"name":"work"}]`)
	request(t, "POST", url+"/query", query("CREATE PERFETTO TABLE made AS SELECT 'there' AS x"))
	if _, body := request(t, "POST", url+"/query", query("SELECT x FROM made")); !strings.Contains(body, "there") {
		t.Errorf("the table: %q", body)
	}
	if status, body := request(t, "POST", url+"/restore_initial_tables", nil); status != http.StatusOK {
		t.Errorf("%d %s", status, body)
	}
	if _, body := request(t, "POST", url+"/query", query("SELECT x FROM made")); !strings.Contains(body, "no such table: made") {
		t.Errorf("after it: %q", body)
	}
}
