//go:build cgo

package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/sqlfuncs"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqltext"
)

func init() {
	withDuckDB = true
	caseEngines = append(caseEngines, startDuckDB)
}

// startDuckDB opens a database with all tables, whose rows are those of one case at a time.
func startDuckDB(t *testing.T) caseEngine {
	db, err := session.OpenDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if err := db.Attach(t.Context(), "", ""); err != nil {
		t.Fatal(err)
	}
	if err := sqlfuncs.Register(t.Context(), db.Conn, sqlfuncs.Dataset{}, true); err != nil {
		t.Fatal(err)
	}
	for _, f := range caseFunctions {
		if err := db.Exec(t.Context(), fmt.Sprintf("CREATE TEMP MACRO %s(argument) AS (%s)", f[0], strings.ReplaceAll(f[2], "$id", "argument"))); err != nil {
			t.Fatal(err)
		}
	}
	return func(t *testing.T, dataset string) caseDatabase {
		loadInDuckDB(t, db, dataset)
		return caseDatabase{func(query string) [][]any { return askDuckDB(t, db, query) }, "NaN"}
	}
}

// loadInDuckDB fills the tables with a dataset until the end of the test.
func loadInDuckDB(t *testing.T, db *session.Database, path string) {
	t.Helper()
	stored, err := sqlfuncs.ReadDataset(path, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range stored.Tables {
		file := sqltext.QuoteText(stored.Path + "/" + table + ".parquet")
		if err := db.Exec(t.Context(), fmt.Sprintf("INSERT INTO %s BY NAME FROM read_parquet(%s)", table, file)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := db.Exec(context.Background(), "DELETE FROM "+table); err != nil {
				t.Error(err)
			}
		})
	}
}

func askDuckDB(t *testing.T, db *session.Database, query string) (table [][]any) {
	t.Helper()
	rows, err := db.Conn.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		row, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		table = append(table, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return table
}
