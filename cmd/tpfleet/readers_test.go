package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
	"github.com/tpconvert/tpconvert/model/table"
)

// PyIceberg, Polars, DuckDB, Spark and Trino read the same rows from the catalog, and the documented queries work.
func TestReaders(t *testing.T) {
	t.Run("catalog", func(t *testing.T) { testReaders(t, newFleet(t)) })
	t.Run("ledger", func(t *testing.T) { testReaders(t, newSingle(t), "single") })
}

func testReaders(t *testing.T, f *fleet, options ...string) {
	python := os.Getenv("FLEET_PYTHON")
	if python == "" {
		t.Skip("READERS ARE NOT TESTED: there is no Python")
	}
	good, bad := traces(t)
	f.run(t, "", "run", "--task-traces", "4", f.upload(t, append(good, bad...)...))
	if f.single { // rows that do not count
		f.run(t, "", "rework", "-j2", "--where", "status = 'ok'")
	}
	db, source := database(t), f.source(t, f.lake(t.Context(), t))
	var wanted strings.Builder
	tables := 0
	for _, s := range append(task.Packed(), &table.Schema{Name: task.Ledger}) {
		from := source(s.Name)
		if from == "" {
			continue
		}
		sums := map[string]*string{}
		for _, c := range s.Columns {
			if c.Type == table.TypeInt64 || c.Type == table.TypeInt32 {
				var sum sql.NullString
				if err := db.QueryRow(fmt.Sprintf(`SELECT sum("%s"::HUGEINT)::VARCHAR FROM %s`, c.Name, from)).Scan(&sum); err != nil {
					t.Fatal(err)
				}
				if sums[c.Name] = nil; sum.Valid {
					sums[c.Name] = &sum.String
				}
			}
		}
		line, err := json.Marshal(map[string]any{"table": s.Name, "rows": number(t, db, "SELECT count(*) FROM "+from), "sums": sums})
		if err != nil {
			t.Fatal(err)
		}
		wanted.Write(append(line, '\n'))
		tables++
	}
	if tables < 20 {
		t.Errorf("only %d tables have rows", tables)
	}
	c := exec.CommandContext(t.Context(), python, append([]string{"../../.ci/fleet-readers.py", f.catalog, f.s3, f.namespace, "../../docs/fleet/reading.md"}, options...)...)
	c.Stdin = strings.NewReader(wanted.String())
	if os.Getenv("FLEET_TRINO") != "" && !f.single {
		c.Env = append(os.Environ(), "FLEET_TRINO_URL="+f.withTrino(t))
	}
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%s%v", out, err)
	}
}
