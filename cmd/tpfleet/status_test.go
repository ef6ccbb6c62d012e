package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/lake"
)

// What status says of a fleet is what the datasets say that tpconvert makes of the same traces.
func TestStatus(t *testing.T) { everywhere(t, testStatus) }

func testStatus(t *testing.T, f *fleet) {
	good, bad := traces(t)
	f.run(t, "", "run", "-j2", "--task-traces", "5", f.upload(t, append(good, bad...)...))
	s := lines[lake.Status](t, f.run(t, "", "status", "--json"))[0]
	size := int64(0)
	for _, name := range good {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	if s.OK != len(good) || s.Bad != len(bad) || s.Copies+s.Forgotten != 0 || s.Bytes != size || s.Seconds <= 0 || s.Seconds > 1000 {
		t.Errorf("%+v, want %d bytes", s, size)
	}
	failed := 0
	for _, c := range s.Failures {
		failed += c.Traces
		if strings.Contains(c.Name, "empty at byte") || c.Name == "" {
			t.Errorf("a kind of failure is %q", c.Name)
		}
	}
	if failed != len(bad) || len(s.Failures) != len(bad) {
		t.Errorf("%d failures of %d kinds, want %d", failed, len(s.Failures), len(bad))
	}
	db, dataset := database(t), converted(t, good...)
	lost := map[string]string{}
	stats := "read_parquet('" + dataset + "/trace_id=*/stats.parquet', hive_partitioning = true) WHERE effect IN ('lost', 'damaged') AND value > 0"
	rows, err := db.Query("SELECT name, count(DISTINCT trace_id) || ' ' || sum(value) || any_value(effect || source || description) FROM " + stats + " GROUP BY name")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name, count string
		if err := rows.Scan(&name, &count); err != nil {
			t.Fatal(err)
		}
		lost[name] = count
	}
	got := map[string]string{}
	for _, c := range s.Lost {
		got[c.Name] = fmt.Sprint(c.Traces, " ", c.Value, c.Effect, c.Source, c.Meaning)
		if n := number(t, db, "SELECT count(*) FROM "+stats+" AND trace_id = ? AND name = ?", c.Example, c.Name); n == 0 {
			t.Errorf("%s is no example of %s", c.Example, c.Name)
		}
	}
	if n := number(t, db, "SELECT count(DISTINCT trace_id) FROM "+stats); n != int64(s.Lossy) {
		t.Errorf("%d traces lack data, want %d", s.Lossy, n)
	}
	if fmt.Sprint(got) != fmt.Sprint(lost) || len(lost) < 2 {
		t.Errorf("lost: %v, want %v", got, lost)
	}
	all := int64(0)
	for _, of := range s.Tables {
		if of.Name != "trace" {
			all += number(t, db, "SELECT count(*) FROM read_parquet('"+dataset+"/trace_id=*/"+of.Name+".parquet')")
		}
	}
	if s.Rows != all {
		t.Errorf("%d rows, want %d", s.Rows, all)
	}
	if text := f.run(t, "", "status"); !strings.Contains(text, fmt.Sprintf("%d traces: %d ok, 0 copies, %d bad", len(good)+len(bad), len(good), len(bad))) || !strings.Contains(text, "1 not converted: the input is empty\n") {
		t.Error(text)
	}
}
