package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/lake"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
	"github.com/tpconvert/tpconvert/internal/datasettest"
)

// secret is in a trace that is to be forgotten, and nowhere else. It is the least name, so that the bounds of files have it.
const secret = "!secret-2814"

// secretTrace returns a trace with the secret.
func secretTrace(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "private.json")
	text := fmt.Sprintf(`[{"name":%q,"ph":"X","ts":1,"dur":2,"pid":1,"tid":2},{"name":"process_name","ph":"M","pid":1,"args":{"name":%[1]q}}]`, secret)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// idOf returns the id of a trace in the ledger.
func idOf(t *testing.T, f *fleet, name string) (id string) {
	t.Helper()
	from := f.source(t, f.lake(t.Context(), t))(task.Ledger)
	if err := database(t).QueryRow("SELECT trace_id FROM "+from+" WHERE url LIKE ?", "%/"+name).Scan(&id); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return id
}

// Traces are forgotten while others commit and compact: a reader sees each whole or not at all, the rows of all others stay,
// and nothing with the same content comes back unless that is asked for.
func TestForget(t *testing.T) { withLedger(t, testForget) }

func testForget(t *testing.T, f *fleet) {
	good, bad := traces(t)
	private := secretTrace(t)
	same := filepath.Join(t.TempDir(), "same.json")
	content, err := os.ReadFile(private)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(same, content, 0o644); err != nil {
		t.Fatal(err)
	}
	url := f.upload(t, append([]string{private}, good[:8]...)...)
	run := []string{"-j2", "--task-traces", "4", url}
	f.run(t, "", "run", run...)
	f.upload(t, same)
	if a := account(t, f.run(t, "", "run", run...)); a.Copies != 1 {
		t.Fatalf("the same content: %+v", a)
	}
	forget := func(stdin string, args ...string) (done lake.Forgot) {
		t.Helper()
		if err := json.Unmarshal([]byte(f.run(t, stdin, "forget", args...)), &done); err != nil {
			t.Fatal(err)
		}
		return done
	}
	if out, err := command(t, append(append([]string{"forget"}, f.flags()...), "t_0000000000000000")...).CombinedOutput(); err == nil || !strings.Contains(string(out), "no such trace") {
		t.Errorf("an unknown trace: %s, %v", out, err)
	}
	if out, err := command(t, append(append([]string{"forget"}, f.flags()...), "--where", "devise = 'x'")...).CombinedOutput(); err == nil || !strings.Contains(string(out), "no such column: devise") {
		t.Errorf("a wrong predicate: %s, %v", out, err)
	}
	id := idOf(t, f, "private.json")
	if done := forget("", "--dry-run", id); done.Traces != 1 || done.Entries != 2 || done.Files != 0 {
		t.Errorf("dry: %+v", done)
	}
	stop := poll(t, f)
	var rivals sync.WaitGroup
	rivals.Go(func() { f.run(t, "", "run", "-j1", "--task-traces", "1", f.upload(t, append(good[8:], bad...)...)) })
	var compacted lake.Compacted
	rivals.Go(func() {
		if err := json.Unmarshal([]byte(f.run(t, "", "compact", "--min-files", "2")), &compacted); err != nil {
			t.Error(err)
		}
	})
	forgot := forget("", "--why", "request 7", id)
	list := idOf(t, f, filepath.Base(good[0])) + "\n" + idOf(t, f, filepath.Base(good[1])) + "\n"
	if done := forget(list, "--list", "-"); done.Traces != 2 {
		t.Errorf("a list: %+v", done)
	}
	if done := forget("", "--where", fmt.Sprintf("url LIKE '%%/%s' AND bytes > 1 AND converter_version < 'v1.0.0'", filepath.Base(good[2]))); done.Traces != 1 {
		t.Errorf("a predicate: %+v", done)
	}
	rivals.Wait()
	stop()
	// The other process also collects what the ledger abandons.
	if forgot.Traces != 1 || forgot.Entries != 2 || forgot.Rows+compacted.Orphans < 10 {
		t.Errorf("forgotten: %+v, compacted: %+v", forgot, compacted)
	}
	dataset := converted(t, good[3:]...)
	check := func(ok, gone int) {
		t.Helper()
		l := f.lake(t.Context(), t)
		if s, err := l.Status(t.Context()); err != nil || s.OK != ok || s.Forgotten != gone || s.Bad != len(bad) || s.Copies != 0 {
			t.Errorf("%+v, %v, want %d ok, %d forgotten", s, err, ok, gone)
		}
		equalTables(t, database(t), dataset, f.source(t, l))
	}
	check(len(good)-3, 5)
	if done := forget("", id); done.Known != 2 || done.Traces+done.Entries+done.Files != 0 {
		t.Errorf("forgotten again: %+v", done)
	}
	if a := account(t, f.run(t, "", "run", run...)); a.OK+a.Copies != 0 {
		t.Errorf("run after forget: %+v", a)
	}
	third := filepath.Join(t.TempDir(), "third.json")
	if err := os.WriteFile(third, content, 0o644); err != nil {
		t.Fatal(err)
	}
	f.upload(t, third)
	if a := account(t, f.run(t, "", "run", run...)); a.Forgotten != 1 || a.OK+a.Copies != 0 {
		t.Errorf("what was forgotten comes under another name: %+v", a)
	}
	check(len(good)-3, 6)
	from := f.source(t, f.lake(t.Context(), t))(task.Ledger)
	if n := number(t, database(t), "SELECT count(*) FROM "+from+" WHERE status = 'forgotten' AND trace_id = ? AND error = 'request 7' AND sha256 IS NULL AND changed_unix_ns > 0 AND added_unix_ns <= changed_unix_ns", id); n != 2 {
		t.Errorf("the ledger has %d entries of what was forgotten", n)
	}
	f.run(t, "", "forget", "--undo", "--where", "status = 'forgotten'")
	f.run(t, "", "run", "-j2", url) // one task has all copies
	dataset = converted(t, append([]string{private}, good...)...)
	l := f.lake(t.Context(), t)
	equalTables(t, database(t), dataset, f.source(t, l))
	// Recorded days ago, or without a wall clock and added just now.
	old := number(t, database(t), "SELECT count(*) FROM "+f.source(t, l)(task.Ledger)+" WHERE status = 'ok' AND coalesce(start_unix_ns, start_ts) BETWEEN 946684800000000000 AND epoch_ns(now()::TIMESTAMP) - 86400 * 1000000000::BIGINT")
	if done := forget("", "--older", "1d"); int64(done.Traces) != old || old == 0 {
		t.Errorf("old traces: %+v, want %d", done, old)
	}
	if done := forget("", "--older", "1h"); done.Traces != 0 {
		t.Errorf("young traces: %+v", done)
	}
	if done := forget("", "--older", "0s"); done.Traces != len(good)+1-int(old) {
		t.Errorf("all others: %+v", done)
	}
}

// After expire, no byte of what was forgotten is in the store: not in rows, in the bounds of files, or in older states.
func TestForgottenBytes(t *testing.T) {
	t.Run("folder", func(t *testing.T) { testForgottenBytes(t, newFolder(t)) })
	t.Run("catalog", func(t *testing.T) { testForgottenBytes(t, newFleetOn(t, needServers(t).withSnapshots(t))) })
	t.Run("ledger", func(t *testing.T) { testForgottenBytes(t, newSingle(t)) })
}

func testForgottenBytes(t *testing.T, f *fleet) {
	good, _ := traces(t)
	f.run(t, "", "run", "-j1", f.upload(t, append(good[:4], secretTrace(t))...))
	if found := datasettest.Find(t, f.tables, secret); len(found) < 3 {
		t.Fatalf("the secret is in %q", found)
	}
	f.run(t, "", "forget", idOf(t, f, "private.json"))
	if found := datasettest.Find(t, f.tables, secret); len(found) < 3 {
		t.Errorf("older states are gone already: %q", found)
	}
	f.run(t, "", "expire", "--older-than", "0s", "--keep", "1")
	f.run(t, "", "gc", "--older-than", "0s")
	for _, file := range datasettest.Find(t, f.tables, secret) {
		t.Errorf("the secret is still in %s", file)
	}
	equalTables(t, database(t), converted(t, good[:4]...), f.source(t, f.lake(t.Context(), t)))
}
