package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
	"github.com/tpconvert/tpconvert/internal/datasettest"
)

// Commands that change what is there are killed at any moment, beside a rival that adds traces: no reader sees anything half, no row is
// lost, and what was to go is gone when the command is repeated.
func TestKilledCommands(t *testing.T) { withLedger(t, testKilledCommands) }

func testKilledCommands(t *testing.T, f *fleet) {
	good, _ := traces(t)
	fill(t, f, nil, good...)
	in := fmt.Sprintf("trace_id IN ('%s', '%s')", idOf(t, f, filepath.Base(good[0])), idOf(t, f, filepath.Base(good[3])))
	removes := f.folder != "" || f.single // Nessie keeps all states
	spec := filepath.Join(t.TempDir(), "killed.textproto")
	commands := [][]string{{"compact", "--min-files", "2"}, {"rework", "-j1", "--where", in}, {"rework", "-j1", "--metrics-only", "--spec", spec},
		{"label", "round=%d", "--where", "status = 'ok'"}, {"forget"}}
	if removes { // what a reader or the rival may still need stays
		commands[4] = append(commands[4], "--purge")
		commands = append(commands, []string{"expire", "--older-than", "10s", "--keep", "1"}, []string{"gc", "--older-than", "1m"})
	}
	private := func(round int) string {
		file := filepath.Join(t.TempDir(), fmt.Sprintf("private-%d.json", round))
		text := fmt.Sprintf(`[{"name":%q,"ph":"X","ts":1,"dur":%d,"pid":1,"tid":2}]`, secret, round)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	kills := max(kills()/5, 1) * len(commands)
	more := smallTraces(t, kills)
	var forgotten []string
	prepare := func(round int, c []string) (all []string) { // its arguments, and the trace or the spec that they name
		for _, a := range c {
			all = append(all, strings.ReplaceAll(a, "%d", fmt.Sprint(round)))
		}
		switch {
		case c[0] == "forget":
			file := private(round)
			f.run(t, "", "run", "-j1", f.upload(t, file))
			forgotten = append(forgotten, idOf(t, f, filepath.Base(file)))
			all = append(all, forgotten[len(forgotten)-1])
		case slices.Contains(c, spec):
			text := fmt.Sprintf(`metric_spec { id: "killed" dimensions: "name" value: "n" dimension_uniqueness: UNIQUE query { sql { sql: "SELECT name, count() + %d AS n FROM slice GROUP BY 1" } } }`, round)
			if err := os.WriteFile(spec, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return all
	}
	limits := make([]time.Duration, len(commands)) // of how long they run
	for i, c := range commands {
		all := prepare(0, c)
		begun := time.Now()
		f.run(t, "", all[0], all[1:]...)
		limits[i] = time.Since(begun)
	}
	stopPolling := poll(t, f)
	ended := 0
	for kill := range kills {
		i := kill % len(commands)
		all := prepare(1+kill, commands[i])
		rival := make(chan struct{})
		go func() {
			defer close(rival)
			f.run(t, "", "run", "-j1", f.upload(t, more[kill]))
		}()
		c := command(t, append(append(all[:1:1], f.flags()...), all[1:]...)...)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.Int64N(int64(2 * limits[i])))) // the rival makes it slower
		c.Process.Kill()
		if c.Wait() == nil {
			ended++
			limits[i] -= limits[i] / 8
		}
		<-rival
	}
	t.Logf("%d of %d commands ended before they were killed", ended, kills)
	for _, c := range commands {
		if c[0] != "forget" {
			all := prepare(1000, c)
			f.run(t, "", all[0], all[1:]...)
			continue
		}
		f.run(t, "", c[0], append(c[1:], forgotten...)...)
	}
	stopPolling()
	all := append(good, more...)
	checkLake(t, f, converted(t, all...), len(all), 0)
	db, from := database(t), f.source(t, f.lake(t.Context(), t))(task.Ledger)
	if n := number(t, db, "SELECT count(*) FROM "+from+` WHERE status = 'ok' AND labels = '{"round":"1000"}'`); int(n) != len(all) {
		t.Errorf("%d of %d traces have the label", n, len(all))
	}
	killed := f.source(t, f.lake(t.Context(), t))("metric_killed")
	equal(t, db, killed, summarized(t, spec, all...), "trace_id, name, n::DOUBLE")
	if n := number(t, db, "SELECT count(*) FROM "+killed+` WHERE labels IS DISTINCT FROM '{"round":"1000"}'`); n != 0 {
		t.Errorf("%d rows of metrics lack the label", n)
	}
	if n := number(t, db, "SELECT count(*) FROM "+from+" WHERE status = 'forgotten'"); int(n) != len(forgotten) {
		t.Errorf("%d of %d traces are forgotten", n, len(forgotten))
	}
	if removes {
		for _, file := range datasettest.Find(t, f.tables, secret) {
			t.Errorf("the secret is still in %s", file)
		}
	}
}
