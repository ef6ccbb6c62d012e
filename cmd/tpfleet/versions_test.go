package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/lake"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
)

// recording writes a trace with n slices.
func recording(t *testing.T, name string, n int) string {
	t.Helper()
	var events []string
	for i := range n {
		events = append(events, fmt.Sprintf(`{"ph":"X","name":"slice %d","ts":%d,"dur":1,"pid":1,"tid":1}`, i, 2*i+1))
	}
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte("["+strings.Join(events, ",")+"]"), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// A file that grew or was written again counts once, as it is now, and so does one that was moved.
func TestVersions(t *testing.T) { withLedger(t, testVersions) }

func testVersions(t *testing.T, f *fleet) {
	db := database(t)
	check := func(slices, ok, copies, superseded int) {
		t.Helper()
		l := f.lake(t.Context(), t)
		s, err := l.Status(t.Context())
		if err != nil || s.OK != ok || s.Copies != copies || s.Superseded != superseded {
			t.Errorf("%d ok, %d copies, %d superseded, %v, want %d, %d, %d", s.OK, s.Copies, s.Superseded, err, ok, copies, superseded)
		}
		if n := number(t, db, "SELECT count(*) FROM "+f.source(t, l)("slice")); n != int64(slices) {
			t.Errorf("%d slices, want %d", n, slices)
		}
	}
	run := func(args ...string) lake.Account {
		t.Helper()
		return account(t, f.run(t, "", "run", append(args, f.traces)...))
	}
	f.upload(t, recording(t, "rec.json", 2), recording(t, "other.json", 10))
	late := tpfleet(t, f.run(t, "", "plan", "--task-traces", "1", f.traces), "work")
	run()
	check(12, 2, 0, 0)
	f.upload(t, recording(t, "rec.json", 3))
	if a := run(); a.OK != 1 || a.Superseded != 1 {
		t.Errorf("a newer version: %+v", a)
	}
	check(13, 2, 0, 1)
	if a := account(t, f.run(t, late, "commit")); a.OK != 0 {
		t.Errorf("a late result of the older version: %+v", a)
	}
	check(13, 2, 0, 1)
	// The content moves to another name, and there is another in its place.
	f.upload(t, recording(t, "rec.1.json", 3), recording(t, "rec.json", 5))
	run()
	check(18, 3, 0, 2)
	if n := number(t, db, "SELECT count(*) FROM "+f.source(t, f.lake(t.Context(), t))(task.Ledger)+" WHERE url LIKE '%/rec.1.json' AND format = 'json'"); n != 1 {
		t.Error("the ledger does not know the format of what was moved")
	}
	// The same content again is known by its size and hash.
	f.upload(t, recording(t, "rec.2.json", 3))
	if a := run(); a.Copies != 1 || a.OK != 0 {
		t.Errorf("a copy: %+v", a)
	}
	check(18, 3, 1, 2)
	if n := number(t, db, "SELECT count(*) FROM "+f.source(t, f.lake(t.Context(), t))(task.Ledger)+" WHERE status = 'copy' AND convert_ns IS NULL"); n != 1 {
		t.Error("a copy was converted")
	}
	if id := idOf(t, f, "rec.1.json"); id == "" {
		t.Error("rec.1.json has no rows")
	}
	// The older content again.
	f.upload(t, recording(t, "rec.json", 2))
	run()
	check(15, 3, 1, 2+f.reverted())
	f.upload(t, recording(t, "rec.json", 7))
	run("--keep-versions")
	check(22, 4, 1, 2+f.reverted())
	if out, err := command(t, append(append([]string{"rework"}, f.flags()...), superseded(t, f))...).CombinedOutput(); err != nil || !strings.Contains(string(out), "a newer version of the object") {
		t.Errorf("rework of an older version: %s, %v", out, err)
	}
}

// reverted is how many more entries are superseded after an object has its older content again: a file has another time, so that its
// older version stays one, while an object in S3 has its older ETag.
func (f *fleet) reverted() int {
	if f.folder != "" {
		return 1
	}
	return 0
}

// superseded returns the id of a trace that was superseded.
func superseded(t *testing.T, f *fleet) (id string) {
	t.Helper()
	from := f.source(t, f.lake(t.Context(), t))(task.Ledger)
	if err := database(t).QueryRow("SELECT trace_id FROM " + from + " WHERE status = 'superseded' AND trace_id IS NOT NULL AND trace_id NOT IN (SELECT trace_id FROM " + from + " WHERE status = 'ok') LIMIT 1").Scan(&id); err != nil {
		t.Fatal(err)
	}
	return id
}

// What a trace lacks is the same in the summary of run, in the ledger and in status.
func TestDamage(t *testing.T) { withLedger(t, testDamage) }

func testDamage(t *testing.T, f *fleet) {
	whole, err := os.ReadFile("../../testdata/frames.pftrace")
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(t.TempDir(), "cut.pftrace")
	if err := os.WriteFile(cut, whole[:len(whole)*2/3], 0o644); err != nil {
		t.Fatal(err)
	}
	if a := account(t, f.run(t, "", "run", f.upload(t, cut))); a.OK != 1 || a.Lossy != 1 || a.Truncated != 1 {
		t.Errorf("%+v", a)
	}
	if n := number(t, database(t), "SELECT count(*) FROM "+f.source(t, f.lake(t.Context(), t))(task.Ledger)+" WHERE status = 'ok' AND truncated = 1 AND damaged >= 1 AND lost = 0"); n != 1 {
		t.Error("the ledger does not say that the trace is damaged")
	}
	if out := f.run(t, "", "status"); !strings.Contains(out, "1 traces lack data, 1 end too early\n") {
		t.Error(out)
	}
}
