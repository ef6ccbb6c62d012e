//go:build cgo

package main

import (
	"database/sql"
	"path/filepath"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"

	api "github.com/tpconvert/tpconvert"
)

// TestGoRegister queries a dataset in a DuckDB that a user of the Go API has opened.
func TestGoRegister(t *testing.T) {
	t.Parallel()
	dir := dataset(t, goodTrace)
	d, err := api.Open(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := d.Register(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	var slices, inside int
	if err := conn.QueryRowContext(t.Context(), "SELECT count(*), (SELECT count(*) FROM descendant_slice(0)) FROM slice").Scan(&slices, &inside); err != nil {
		t.Fatal(err)
	}
	if slices != 2 {
		t.Errorf("%d slices, want 2", slices)
	}
}
