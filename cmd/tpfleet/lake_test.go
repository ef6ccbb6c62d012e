package main

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/lake"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
)

// account decodes what run and commit print.
func account(t *testing.T, text string) (a lake.Account) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return a
}

// checkLake compares the ledger and all tables with the good traces converted one by one, in dataset.
func checkLake(t *testing.T, f *fleet, dataset string, good, bad int) {
	t.Helper()
	l := f.lake(t.Context(), t)
	s, err := l.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if s.OK != good || s.Bad != bad || s.Copies != 0 {
		t.Errorf("%d ok, %d bad, %d copies, want %d, %d, 0", s.OK, s.Bad, s.Copies, good, bad)
	}
	db := database(t)
	source := f.source(t, l)
	if filled := equalTables(t, db, dataset, source); filled < 20 {
		t.Errorf("only %d tables have rows", filled)
	}
	if n := number(t, db, "SELECT count(*) - count(DISTINCT url) FROM "+source(task.Ledger)); n != 0 {
		t.Errorf("%d traces are in the ledger twice", n)
	}
	if n := number(t, db, "SELECT count(*) FROM "+source(task.Ledger)+" WHERE status = 'ok' AND trace_id IN (SELECT trace_id FROM "+source("stats")+")"); n == 0 {
		t.Error("no trace of the ledger has stats")
	}
}

// A run adds every trace once, another adds nothing, and new traces are added alone.
func TestRun(t *testing.T) {
	f, m := newFleet(t), needMixed(t)
	f.run(t, "", "init") // again
	good, bad := len(m.good), len(m.bad)
	url := f.upload(t, append(m.good[10:], m.bad...)...)
	run := []string{"-j2", "--task-traces", "40", url}
	if a := account(t, f.run(t, "", "run", run...)); a.OK != good-10 || a.Bad != bad || a.Copies+a.Failed+a.Known+a.Again != 0 {
		t.Errorf("%+v, want %d ok and %d bad", a, good-10, bad)
	}
	if a := account(t, f.run(t, "", "run", run...)); a.OK+a.Bad+a.Copies+a.Failed+a.Again != 0 || a.Known != good-10+bad {
		t.Errorf("run again: %+v", a)
	}
	f.upload(t, m.good[:10]...)
	if a := account(t, f.run(t, "", "run", run...)); a.OK != 10 || a.Bad+a.Copies+a.Failed+a.Again != 0 || a.Known != good-10+bad {
		t.Errorf("with 10 new traces: %+v", a)
	}
	if a := account(t, f.run(t, "", "run", append(run, "--retry-bad")...)); a.Known != good+bad {
		t.Errorf("with --retry-bad: %+v", a)
	}
	checkLake(t, f, m.dataset, good, bad)
	if out := f.run(t, "", "status"); !strings.Contains(out, "300 traces: 285 ok, 0 copies, 15 bad") {
		t.Error(out)
	}
}

// Rival committers with the same results add every trace once.
func TestRivals(t *testing.T) {
	f := newFleet(t)
	good, bad := traces(t)
	url := f.upload(t, append(good, bad...)...)
	tasks := f.run(t, "", "plan", "--task-traces", "2", url)
	results := strings.SplitAfter(strings.TrimSpace(tpfleet(t, tasks, "work")), "\n")
	again := strings.SplitAfter(strings.TrimSpace(tpfleet(t, tasks, "work")), "\n") // second attempts
	accounts := make([]lake.Account, 4)
	var rivals sync.WaitGroup
	for i := range accounts {
		own := append(append([]string{}, results...), again...)
		rand.Shuffle(len(own), func(a, b int) { own[a], own[b] = own[b], own[a] })
		rivals.Go(func() {
			for _, r := range own[:len(own)*3/4] { // together they have all
				accounts[i].Add(account(t, f.run(t, r, "commit")))
			}
		})
	}
	rivals.Wait()
	total := account(t, f.run(t, strings.Join(results, "\n"), "commit"))
	for _, a := range accounts {
		total.Add(a)
	}
	if total.OK != len(good) || total.Bad != len(bad) {
		t.Errorf("the rivals added %d good and %d bad traces, want %d and %d", total.OK, total.Bad, len(good), len(bad))
	}
	checkLake(t, f, converted(t, good...), len(good), len(bad))
}

// Runs that are killed at any moment leave nothing half done, and the next one completes them.
func TestKills(t *testing.T) {
	f := newFleet(t)
	good, bad := traces(t)
	url := f.upload(t, append(good, bad...)...)
	args := append(append([]string{"run"}, f.flags()...), "-j2", "--task-traces", "2", url)
	for kill := range kills() {
		c := command(t, args...)
		var messages bytes.Buffer
		c.Stderr = &messages
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.Int64N(int64(4 * time.Second))))
		c.Process.Kill()
		c.Wait()
		s, err := f.lake(t.Context(), t).Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("kill %d: %d ok, %d bad", kill, s.OK, s.Bad)
	}
	f.run(t, "", "run", "-j2", url)
	checkLake(t, f, converted(t, good...), len(good), len(bad))
}
