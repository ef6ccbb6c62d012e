package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/lake"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
	"github.com/tpconvert/tpconvert/internal/datasettest"
)

// person is the word that nobody may see in the store.
const person = "zoe-2814"

// What a pattern matches is nowhere in the store: not in rows, URLs, labels, errors, bounds, metrics, results or the catalog. Traces still
// are known by their URLs.
func TestRedact(t *testing.T) { withLedger(t, testRedact) }

func testRedact(t *testing.T, f *fleet) {
	long(t)
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	trace := func(n int) string {
		return fmt.Sprintf(`[{"name":"process_name","ph":"M","pid":1,"args":{"name":"/home/%s/app"}},
			{"name":"load https://example.com/%[1]s","ph":"X","ts":1,"dur":%d,"pid":1,"tid":2,"args":{"%[1]s":"%[1]s"}},{"ph":"%[1]s","ts":1},{"ts":"%[1]s"}]`, person, n)
	}
	find := func() (found []string) {
		t.Helper()
		stores := []string{f.folder}
		if f.folder == "" { // tables and results of this test: others leave damaged files
			stores = nil
			for _, pattern := range []string{"lake/*" + f.namespace, "lake/fixture/" + f.namespace} {
				some, _ := filepath.Glob(filepath.Join(f.root, pattern))
				stores = append(stores, some...)
			}
		}
		if len(stores) == 0 {
			t.Fatal("there is no store")
		}
		for _, store := range stores {
			found = append(found, datasettest.Find(t, store, person)...)
		}
		return found
	}
	f.upload(t, write(person+".json", trace(1)), write("of-"+person+".json", trace(2)), write("copy-"+person+".json", trace(1)),
		write(person+".bin", "no trace of "+person), write("other.json", trace(3)), write("bad.json", `[{"ph":"X","name":"`+person))
	t.Setenv("TPFLEET_REDACT", person)
	t.Setenv("TPFLEET_REDACT_KEY", write("key", "0123456789abcdef"))
	options := []string{"--spec", "slices", "--label", "owner=" + person, "--label-pattern", "(?P<who>zoe-[0-9]+)", f.traces}
	run := func() lake.Account {
		t.Helper()
		return account(t, f.run(t, "", "run", options...))
	}
	if a := run(); a.OK != 3 || a.Copies != 1 || a.Bad != 2 || a.Failed != 0 {
		t.Errorf("%+v", a)
	}
	if a := run(); a.Known != 6 || a.OK+a.Copies+a.Bad+a.Failed != 0 {
		t.Errorf("known traces: %+v", a)
	}
	f.upload(t, write(person+".json", trace(4)))
	if a := run(); a.OK != 1 || a.Superseded != 0 { // the copy has the older content
		t.Errorf("a newer version: %+v", a)
	}
	f.upload(t, write("of-"+person+".json", trace(5)))
	results := "file://" + filepath.Join(f.folder, "results") + "/"
	if f.folder == "" {
		results = "s3://lake/results-" + f.namespace + "/"
	}
	tasks := f.run(t, "", "plan", options[2:]...)
	if !strings.Contains(tasks, person) {
		t.Errorf("tasks do not name the object: %s", tasks)
	}
	work := []string{"work", "--results", results}
	if f.folder == "" {
		work = append(work, "--store", f.options("lake"))
	}
	tpfleet(t, tasks, work...)
	if a := account(t, f.run(t, "", "commit", results)); a.OK != 1 || a.Superseded != 1 {
		t.Errorf("a newer version by plan, work and commit: %+v", a)
	}
	if found := find(); len(found) > 0 {
		t.Errorf("the word is in %q", found)
	}
	db, l := database(t), f.lake(t.Context(), t)
	from := f.source(t, l)
	if n := number(t, db, "SELECT count(*) FROM "+from("slice")+" WHERE name LIKE 'load https://example.com/redacted_%'"); n != 4 {
		t.Errorf("%d slices", n)
	}
	if n := number(t, db, "SELECT count(*) FROM "+from(task.Ledger)+" WHERE labels LIKE '%\"owner\":\"redacted_%' AND url LIKE '%redacted_%'"); n < 4 {
		t.Errorf("%d labels", n)
	}
	if n := number(t, db, "SELECT count(*) FROM "+from(task.Ledger)+" WHERE error LIKE '%unknown format%' AND error LIKE 'redacted_%'"); n != 1 {
		t.Errorf("%d errors", n)
	}
	// An object cannot be found by a URL that is redacted, so its rows stay. Others are read again.
	out, err := command(t, append(append([]string{"rework"}, f.flags()...), "--where", "status = 'ok'")...).Output()
	if a := account(t, string(out)); err == nil || a.Replaced != 1 || a.Failed != 3 {
		t.Errorf("rework: %+v, %v", a, err)
	}
	if found := find(); len(found) > 0 {
		t.Errorf("after rework, the word is in %q", found)
	}
	f.run(t, "", "label", "of-"+person+"=by "+person, "--where", "status = 'ok'")
	if n := number(t, db, "SELECT count(*) FROM "+from(task.Ledger)+` WHERE labels LIKE '%"of-redacted\_%":"by redacted\_%' ESCAPE '\'`); n != 4 {
		t.Errorf("%d labels given later", n)
	}
	f.run(t, "", "init") // with the rules, which the lake has from then on
	f.upload(t, write("new.json", trace(6)))
	tasks = f.run(t, "", "plan", f.traces)
	refused := func(in, message string, args ...string) {
		t.Helper()
		c := command(t, args...)
		c.Stdin = strings.NewReader(in)
		if out, err := c.CombinedOutput(); err == nil || !strings.Contains(string(out), message) {
			t.Errorf("%s: %s, %v", args[0], out, err)
		}
	}
	all := func(in, message string) {
		t.Helper()
		for name, what := range map[string][]string{"plan": {f.traces}, "run": {f.traces}, "watch": {f.traces}, "rework": {"--where", "true"}, "label": {"a=b", "--where", "true"}} {
			refused("", message, append(append([]string{name}, f.flags()...), what...)...)
		}
		refused(in, message, work...)
	}
	t.Setenv("TPFLEET_REDACT_KEY", "")
	all(tasks, "need --redact-key")
	t.Setenv("TPFLEET_REDACT", "")
	all(tasks, "by other rules or another key")
	t.Setenv("TPFLEET_REDACT", person)
	t.Setenv("TPFLEET_REDACT_KEY", write("other key", "another key 1234"))
	all(tasks, "by other rules or another key")
	t.Setenv("TPFLEET_REDACT_KEY", filepath.Join(dir, "key"))
	if a := run(); a.OK != 1 {
		t.Errorf("with the rules: %+v", a)
	}
	if found := find(); len(found) > 0 {
		t.Errorf("in the end, the word is in %q", found)
	}
}
