package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
)

// writeSpec writes a spec with these columns, and returns its file.
func writeSpec(t *testing.T, dir, name string, columns ...string) string {
	t.Helper()
	var declared, selected string
	for _, c := range columns {
		declared += fmt.Sprintf("value_column_specs { name: %q unit: COUNT }\n", c)
		selected += ", count() AS " + c
	}
	file := filepath.Join(dir, name+".textproto")
	text := fmt.Sprintf(`metric_template_spec { id_prefix: %q dimensions_specs { name: "name" type: STRING } %s dimension_uniqueness: UNIQUE
		query { sql { sql: "SELECT name %s FROM slice GROUP BY 1" } } }`, name, declared, selected)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// layoutOf reads the layout.
func layoutOf(t *testing.T, f *fleet) (l task.Layout) {
	t.Helper()
	at, err := f.lake(t.Context(), t).Layout(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	text, err := f.stores(t).Read(t.Context(), at)
	if err == nil {
		err = json.Unmarshal(text, &l)
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Specs that several processes add at once are all there.
func TestRivalSpecs(t *testing.T) { withLedger(t, testRivalSpecs) }

func testRivalSpecs(t *testing.T, f *fleet) {
	long(t)
	dir := t.TempDir()
	var working sync.WaitGroup
	const rivals = 5
	for i := range rivals {
		c := command(t, append([]string{"init", "--spec", writeSpec(t, dir, fmt.Sprintf("rival%d", i), "n")}, f.flags()...)...)
		working.Go(func() {
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	working.Wait()
	l := layoutOf(t, f)
	var names []string
	for _, s := range l.Specs {
		names = append(names, s.Name)
	}
	if slices.Sort(names); len(names) != rivals || len(slices.Compact(names)) != rivals {
		t.Errorf("the specs %q", names)
	}
	if a := account(t, f.run(t, "", "run", "-j1", f.upload(t, smallTraces(t, 1)...))); a.OK != 1 || a.Unmeasured != 0 {
		t.Errorf("%+v", a)
	}
	db, source := database(t), f.source(t, f.lake(t.Context(), t))
	for i := range rivals {
		if n := number(t, db, fmt.Sprintf("SELECT count(*) FROM %s", source(fmt.Sprintf("metric_rival%d", i)))); n != 1 {
			t.Errorf("spec %d has %d rows", i, n)
		}
	}
}

// All changes of tables that exist, and of the layout that names their columns, are one request; without changes there is none.
func TestInitIsOneTransaction(t *testing.T) {
	f := newFleetOn(t, needServers(t).withSnapshots(t))
	dir := t.TempDir()
	specs := func(columns ...string) (args []string) {
		for _, name := range []string{"one", "two"} {
			args = append(args, "--spec", writeSpec(t, dir, name, columns...))
		}
		return args
	}
	f.run(t, "", "init", specs("n")...)
	to, err := url.Parse(f.catalog)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var posts []string
	catalog := httputil.NewSingleHostReverseProxy(to)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && !strings.HasSuffix(r.URL.Path, "/namespaces") {
			mu.Lock()
			posts = append(posts, r.URL.Path)
			mu.Unlock()
		}
		catalog.ServeHTTP(w, r)
	}))
	defer server.Close()
	t.Setenv("TPFLEET_CATALOG", server.URL)
	f.run(t, "", "init", specs("n", "more")...)
	if len(posts) != 1 || !strings.HasSuffix(posts[0], "/transactions/commit") {
		t.Errorf("requests: %q", posts)
	}
	for name, place := range layoutOf(t, f).Tables {
		if strings.HasPrefix(name, "metric_") && place.Fields["more"] == 0 {
			t.Errorf("%s has the columns %v", name, place.Fields)
		}
	}
	posts = nil
	f.run(t, "", "init")
	if len(posts) > 0 {
		t.Errorf("requests without changes: %q", posts)
	}
}
