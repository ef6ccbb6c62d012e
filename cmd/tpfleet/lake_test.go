package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/lake"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
	"github.com/tpconvert/tpconvert/model/table"
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
	if f.folder != "" {
		listed, err := f.listed()
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range append(task.Packed(), &table.Schema{Name: task.Ledger}) {
			urls, err := l.Files(t.Context(), table.Name)
			if slices.Sort(urls); err != nil || !slices.Equal(urls, listed[table.Name]) {
				t.Errorf("%s: the list has %q, Iceberg's snapshot %q, %v", table.Name, listed[table.Name], urls, err)
			}
		}
	}
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
func TestRun(t *testing.T) { everywhere(t, testRun) }

func testRun(t *testing.T, f *fleet) {
	m := needMixed(t)
	tpfleet(t, "", append([]string{"init"}, f.flags()...)...) // again
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

// Rival committers with the same results add every trace once, and a reader never sees half a commit.
func TestRivals(t *testing.T) { withLedger(t, testRivals) }

func testRivals(t *testing.T, f *fleet) {
	good, bad := traces(t)
	url := f.upload(t, append(good, bad...)...)
	tasks := f.run(t, "", "plan", "--task-traces", "2", url)
	results := strings.SplitAfter(strings.TrimSpace(tpfleet(t, tasks, "work")), "\n")
	again := strings.SplitAfter(strings.TrimSpace(tpfleet(t, tasks, "work")), "\n") // second attempts
	stopPolling := poll(t, f)
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
	stopPolling()
	total := account(t, f.run(t, strings.Join(results, "\n"), "commit"))
	for _, a := range accounts {
		total.Add(a)
	}
	if total.OK != len(good) || total.Bad != len(bad) {
		t.Errorf("the rivals added %d good and %d bad traces, want %d and %d", total.OK, total.Bad, len(good), len(bad))
	}
	checkLake(t, f, converted(t, good...), len(good), len(bad))
}

var errHalf = errors.New("a transaction is visible in part")

// poll reads tables at one moment, time after time, until the function that it returns is called. Tables that have rows
// of every trace have to have those of the traces in the ledger, and no others.
func poll(t *testing.T, f *fleet) (stop func()) {
	t.Helper()
	db := database(t)
	over, ended := make(chan bool), make(chan bool)
	polls, changes, failures, last := 0, 0, 0, ""
	look := func() error {
		tables, err := f.now(t.Context(), t)
		if err != nil {
			return err
		}
		var from [3]string
		for i, table := range []string{task.Ledger, "metadata", "trace_file"} {
			if from[i], err = tables(table); err != nil {
				return err
			}
		}
		if from[0] == "" {
			return nil
		}
		var traces string
		if err := db.QueryRow("SELECT count(*) || ' ' || coalesce(max(changed_unix_ns), 0) FROM " + from[0]).Scan(&traces); err != nil {
			return err
		}
		if traces != last {
			changes, last = changes+1, traces
		}
		for _, table := range from[1:] {
			ids := "SELECT NULL AS trace_id WHERE false"
			if table != "" {
				ids = "SELECT DISTINCT trace_id FROM " + table
			}
			forgotten := "SELECT NULL WHERE false" // in the meantime, so that rows may be gone
			if f.single {
				now, err := f.now(t.Context(), t)
				if err != nil {
					return err
				}
				ledger, err := now(task.Ledger)
				if err != nil {
					return err
				}
				forgotten = "SELECT trace_id FROM " + ledger + " WHERE status = 'forgotten'"
			}
			var differ int64
			if err := db.QueryRow("SELECT count(*) FROM (SELECT trace_id FROM " + from[0] + " WHERE status = 'ok') a FULL JOIN (" + ids +
				") b USING (trace_id) WHERE (a.trace_id IS NULL OR b.trace_id IS NULL) AND coalesce(a.trace_id, b.trace_id) NOT IN (" + forgotten + ")").Scan(&differ); err != nil {
				return err
			}
			if differ != 0 {
				return fmt.Errorf("%w: %d traces are in only one of the ledger and %s", errHalf, differ, table)
			}
			if table == "" {
				continue
			}
			var doubled int64
			if err := db.QueryRow("SELECT count(*) FROM (SELECT 1 FROM " + table + " GROUP BY trace_id, id HAVING count(*) > 1)").Scan(&doubled); err != nil {
				return err
			}
			if doubled != 0 {
				return fmt.Errorf("%w: %d rows are in %s twice", errHalf, doubled, table)
			}
		}
		return nil
	}
	go func() {
		defer close(ended)
		for last := false; !last; polls++ {
			select {
			case <-over:
				last = true
			default:
			}
			err := look()
			if err == nil {
				failures = 0
				continue
			}
			// A slow reader's files may have expired.
			if failures++; t.Context().Err() != nil {
				return // the test failed
			} else if last || failures == 5 || errors.Is(err, errHalf) {
				t.Errorf("a reader: %v", err)
				return
			}
		}
	}()
	stop = sync.OnceFunc(func() {
		close(over)
		<-ended
		t.Logf("%d reads, %d states", polls, changes)
		if changes < 2 {
			t.Errorf("the reader saw %d states", changes)
		}
	})
	t.Cleanup(stop) // also if the test fails
	return stop
}

// Runs that are killed at any moment, or whose workers are, leave nothing half done, and the next one completes them.
func TestKills(t *testing.T) { everywhere(t, testKills) }

func testKills(t *testing.T, f *fleet) {
	good, bad := traces(t)
	more := smallTraces(t, kills())
	url := f.upload(t, append(good, bad...)...)
	args := append(append([]string{"run"}, f.flags()...), "-j2", "--task-traces", "2", url)
	limit, done := 2*time.Second, 0 // limit of each wait, more on a slow machine
	for kill := range kills() {
		f.upload(t, more[kill]) // something to do
		c := command(t, args...)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.Int64N(int64(limit))))
		workers := 0
		for pid := range descendants(c.Process.Pid) {
			if kill%2 == 0 && syscall.Kill(pid, syscall.SIGKILL) == nil {
				workers++
			}
		}
		time.Sleep(time.Duration(rand.Int64N(int64(limit))))
		c.Process.Kill()
		c.Wait()
		s, err := f.lake(t.Context(), t).Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("kill %d, and %d workers: %d ok, %d bad", kill, workers, s.OK, s.Bad)
		if s.OK == done {
			limit += limit / 4
		} else {
			limit -= limit / 4
		}
		done = s.OK
	}
	f.run(t, "", "run", "-j2", url)
	checkLake(t, f, converted(t, append(good, more...)...), len(good)+len(more), len(bad))
}

// smallTraces returns n different traces.
func smallTraces(t *testing.T, n int) (files []string) {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		file := filepath.Join(dir, fmt.Sprintf("small-%d.json", i))
		text := fmt.Sprintf(`[{"name":"slice %d","ph":"X","ts":%d,"dur":%d,"pid":1,"tid":%d}]`, i, 1000*i, i, i)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// Committers that are killed before, during and after the transaction add all of it or nothing.
func TestKilledCommitters(t *testing.T) { withLedger(t, testKilledCommitters) }

func testKilledCommitters(t *testing.T, f *fleet) {
	good, bad := traces(t)
	good = append(good, smallTraces(t, kills())...)
	tasks := f.run(t, "", "plan", "--task-traces", "1", f.upload(t, append(good, bad...)...))
	results := strings.SplitAfter(strings.TrimSpace(tpfleet(t, tasks, "work")), "\n")
	stopPolling := poll(t, f)
	begun := time.Now()
	f.run(t, results[0], "commit")
	limit, done, before := time.Since(begun), 1, 0
	for kill := range kills() {
		c := command(t, append([]string{"commit"}, f.flags()...)...)
		c.Stdin = strings.NewReader(results[1+kill])
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.Int64N(int64(limit))))
		c.Process.Kill()
		c.Wait()
		s, err := f.lake(t.Context(), t).Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if s.OK+s.Bad == done {
			before++
		}
		done = s.OK + s.Bad
	}
	t.Logf("%d of %d committers were killed before the transaction was done", before, kills())
	f.run(t, strings.Join(results, ""), "commit")
	stopPolling()
	checkLake(t, f, converted(t, good...), len(good), len(bad))
}
