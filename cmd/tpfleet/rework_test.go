package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
)

// Traces are converted again, one task at a time, while others commit, forget, compact and expire: a reader sees the rows of
// each trace once, and in the end the tables have what tpconvert makes.
func TestRework(t *testing.T) { withLedger(t, testRework) }

func testRework(t *testing.T, f *fleet) {
	good, bad := traces(t)
	private := secretTrace(t)
	f.run(t, "", "run", "-j2", "--task-traces", "3", f.upload(t, slices.Concat(good[:9], bad, []string{private})...))
	rework := func(stdin string, args ...string) string {
		return f.run(t, stdin, "rework", append(args, "-j2", "--task-traces", "2")...)
	}
	results := tpfleet(t, rework("", "--plan", "--where", "status = 'ok'"), "work")
	stop := poll(t, f)
	var rivals sync.WaitGroup
	rivals.Go(func() { f.run(t, "", "run", "-j1", "--task-traces", "1", f.upload(t, good[9:]...)) })
	rivals.Go(func() {
		f.run(t, "", "compact", "--min-files", "3")
		if f.folder != "" {
			f.run(t, "", "expire", "--older-than", "5s", "--keep", "1")
		}
	})
	rivals.Go(func() { f.run(t, "", "forget", idOf(t, f, "private.json")) })
	replaced := 0
	for r := range strings.Lines(results) {
		replaced += account(t, f.run(t, r, "commit")).Replaced
	}
	rivals.Wait()
	stop()
	if replaced < 8 { // if the secret is forgotten first, the other trace of its task waits, too
		t.Errorf("%d traces were replaced", replaced)
	}
	dataset := converted(t, good...)
	check := func(least, most int64) {
		t.Helper()
		l := f.lake(t.Context(), t)
		if s, err := l.Status(t.Context()); err != nil || s.OK != len(good) || s.Forgotten != 1 || s.Bad != len(bad) || s.Copies != 0 {
			t.Errorf("%+v, %v", s, err)
		}
		source := f.source(t, l)
		equalTables(t, database(t), dataset, source)
		if n := number(t, database(t), "SELECT count(*) FROM "+source(task.Ledger)+" WHERE status = 'ok' AND changed_unix_ns > added_unix_ns"); n < least || n > most {
			t.Errorf("the ledger has %d traces that were replaced, want %d to %d", n, least, most)
		}
	}
	check(8, 9)
	// The same results, and those of rows that others replaced, change nothing.
	if a := account(t, f.run(t, results, "commit")); a.Replaced+a.OK+a.Files != 0 {
		t.Errorf("again: %+v", a)
	}
	if a := account(t, rework("", "--where", "status IN ('ok', 'bad')")); a.Replaced != len(good) || a.Known != len(bad) || a.OK+a.Bad+a.Again != 0 {
		t.Errorf("all: %+v", a)
	}
	if a := account(t, f.run(t, results, "commit")); a.Replaced+a.OK+a.Files != 0 {
		t.Errorf("old results: %+v", a)
	}
	// A trace whose object has changed keeps its rows.
	id := idOf(t, f, filepath.Base(good[1]))
	other := filepath.Join(t.TempDir(), filepath.Base(good[1]))
	if err := os.WriteFile(other, []byte(`[{"name":"other","ph":"X","ts":1,"dur":2,"pid":1,"tid":2}]`), 0o644); err != nil {
		t.Fatal(err)
	}
	f.upload(t, other)
	if out, err := command(t, append(append([]string{"rework"}, f.flags()...), id)...).CombinedOutput(); err == nil || !strings.Contains(string(out), "1 traces are left") {
		t.Errorf("another object: %s, %v", out, err)
	}
	check(int64(len(good)), int64(len(good)))
}

// A lake of an older version lacks a column and a table. It stays readable, and rework fills both.
func TestReworkOfOldTables(t *testing.T) {
	f := newFolder(t)
	good, _ := traces(t)
	url := f.upload(t, good...)
	f.run(t, "", "run", "-j2", url)
	age(t, f, "slice", "category", "process")
	before := converter(t, "query", "--format", "csv", f.folder, "SELECT count(*), sum(dur) FROM slice")
	tpfleet(t, "", "init", f.folder)
	db, dataset := database(t), converted(t, good...)
	if n := number(t, db, "SELECT count(category) FROM "+f.source(t, f.lake(t.Context(), t))("slice")); n == 0 {
		t.Fatal("the old files have no category")
	}
	if after := converter(t, "query", "--format", "csv", f.folder, "SELECT count(*), sum(dur) FROM slice"); after != before {
		t.Errorf("old files have %s, had %s", after, before)
	}
	if a := account(t, f.run(t, "", "rework", "--where", "status = 'ok'")); a.Replaced != len(good) {
		t.Errorf("%+v", a)
	}
	equalTables(t, db, dataset, f.source(t, f.lake(t.Context(), t)))
}

// age removes a column of a table, its order, and another table, if any, from the catalog, as if they had never been.
func age(t *testing.T, f *fleet, table, column, other string) {
	t.Helper()
	alter(t, f, table, func(metadata map[string]any) {
		for _, s := range metadata["schemas"].([]any) {
			schema, left := s.(map[string]any), []any{}
			for _, f := range schema["fields"].([]any) {
				if f.(map[string]any)["name"] != column {
					left = append(left, f)
				}
			}
			schema["fields"] = left
		}
		metadata["sort-orders"], metadata["default-sort-order-id"] = []any{map[string]any{"order-id": 0, "fields": []any{}}}, 0
	})
	if other == "" {
		return
	}
	for _, from := range []string{"iceberg_tables", "tpfleet_known", "tpfleet_data"} {
		if _, err := catalogOf(t, f).Exec(fmt.Sprintf("DELETE FROM %s WHERE table_name = ?", from), other); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(filepath.Join(f.tables, other)); err != nil {
		t.Fatal(err)
	}
}

// alter changes the metadata of a table in a folder in place.
func alter(t *testing.T, f *fleet, table string, change func(metadata map[string]any)) {
	t.Helper()
	var location string
	if err := catalogOf(t, f).QueryRow("SELECT metadata_location FROM iceberg_tables WHERE table_name = ?", table).Scan(&location); err != nil {
		t.Fatal(err)
	}
	file := strings.TrimPrefix(location, "file://")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var metadata map[string]any
	if err := json.Unmarshal(text, &metadata); err != nil {
		t.Fatal(err)
	}
	change(metadata)
	if err := os.WriteFile(file, []byte(line(t, metadata)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// catalogOf opens the catalog of a folder.
func catalogOf(t *testing.T, f *fleet) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(f.folder, "catalog.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}
