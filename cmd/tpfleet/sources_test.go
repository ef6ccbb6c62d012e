package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// The sources for dbt are the tables with rows, with the columns and types that DuckDB finds in their files, and with a description of each.
func TestSources(t *testing.T) {
	good, _ := traces(t)
	f := newFolder(t)
	f.run(t, "", "run", "-j2", "--spec", "slices", f.upload(t, good...))
	out := f.run(t, "", "sources", "--name", "fleet", "--database", "lake")
	var got dbtSources
	d := yaml.NewDecoder(strings.NewReader(out))
	d.KnownFields(true)
	if err := d.Decode(&got); err != nil {
		t.Fatal(err)
	}
	if len(got.Sources) != 1 || got.Version != 2 || got.Sources[0].Name != "fleet" || got.Sources[0].Database != "lake" || got.Sources[0].Schema != "traces" {
		t.Fatalf("%.500s", out)
	}
	tables := map[string]dbtTable{}
	for _, table := range got.Sources[0].Tables {
		tables[table.Name] = table
		if table.Description == "" {
			t.Errorf("the table %s has no description", table.Name)
		}
		for _, c := range table.Columns {
			if c.Description == "" {
				t.Errorf("the column %s of the table %s has no description", c.Name, table.Name)
			}
		}
	}
	db, filled := database(t), 0
	listed, err := f.listed()
	if err != nil {
		t.Fatal(err)
	}
	for name, files := range listed {
		if len(files) == 0 {
			continue
		}
		filled++
		rows, err := db.Query("SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM read_parquet(?, union_by_name = true))", strings.TrimPrefix(files[0], "file://"))
		if err != nil {
			t.Fatal(err)
		}
		var want, have []string
		for rows.Next() {
			var column, kind string
			if err := rows.Scan(&column, &kind); err != nil {
				t.Fatal(err)
			}
			want = append(want, column+" "+kind)
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
		for _, c := range tables[name].Columns {
			var kind string
			if err := db.QueryRow("SELECT typeof(NULL::" + c.Type + ")").Scan(&kind); err != nil {
				t.Fatal(err)
			}
			have = append(have, c.Name+" "+kind)
		}
		if fmt.Sprint(have) != fmt.Sprint(want) {
			t.Errorf("the table %s has %v, want %v", name, have, want)
		}
	}
	if filled < 20 || len(tables["metric_slices"].Columns) != 9 || tables["metric_slices"].Columns[5].Description != "Value, ns." {
		t.Errorf("%d tables have rows; metric_slices has %+v", filled, tables["metric_slices"])
	}
	if c := command(t, "sources", "--lake", filepath.Join(t.TempDir(), "none")); c.Run() == nil {
		t.Error("there are sources without a lake")
	}
}
