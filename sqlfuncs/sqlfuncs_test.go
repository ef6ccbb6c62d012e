//go:build cgo

package sqlfuncs

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/csv"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"
	"golang.org/x/tools/txtar"
)

// open returns an in-memory database with all tables, empty, and all macros.
func open(t testing.TB, layout Layout) *sql.DB {
	t.Helper()
	db := openFile(t, "")
	install(t, db, layout)
	return db
}

func openFile(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("duckdb", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func install(t testing.TB, db *sql.DB, layout Layout) {
	t.Helper()
	conn, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := Register(context.Background(), conn, Dataset{Layout: layout}, true); err != nil {
		t.Fatal(err)
	}
}

func exec(t testing.TB, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.Exec(statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// query returns the column names and the rows as text.
func query(t testing.TB, db *sql.DB, q string) [][]string {
	t.Helper()
	rows, err := tryQuery(db, q)
	if err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	return rows
}

func tryQuery(db *sql.DB, q string) ([][]string, error) {
	rows, err := db.Query(q)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	header, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	table := [][]string{header}
	values, targets := make([]any, len(header)), make([]any, len(header))
	for i := range values {
		targets[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return nil, err
		}
		row := make([]string, len(values))
		for i, v := range values {
			switch v := v.(type) {
			case nil:
				row[i] = "NULL"
			case []byte:
				row[i] = fmt.Sprintf("%x", v)
			default:
				row[i] = fmt.Sprint(v)
			}
		}
		table = append(table, row)
	}
	return table, rows.Err()
}

// TestPersist opens a DuckDB file with the macros installed, as a client without this package would.
func TestPersist(t *testing.T) {
	for _, layout := range []Layout{OneTrace, ManyTraces} {
		path := filepath.Join(t.TempDir(), "trace.duckdb")
		db := openFile(t, path)
		install(t, db, layout)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		db = openFile(t, path)
		got := query(t, db, "SELECT (SELECT count(*) FROM span_join('sched', 'thread_slice', 'utid')) + (SELECT count(*) FROM flat_slice) AS n")
		if got[1][0] != "0" {
			t.Errorf("got %v", got)
		}
		for _, q := range []string{
			"SELECT comment FROM duckdb_functions() WHERE function_name = 'trace_dur'",
			"SELECT comment FROM duckdb_functions() WHERE function_name = 'span_join'",
			"SELECT comment FROM duckdb_views() WHERE view_name = 'thread_slice'",
		} {
			if got := query(t, db, q); got[1][0] == "NULL" || strings.Contains(got[1][0], "\n") {
				t.Errorf("%s gives %q", q, got[1])
			}
		}
	}
}

// TestScripts runs the archives in testdata: tables.sql fills the tables, then each NAME.sql must return the
// rows of NAME.csv or fail with the text in NAME.err. Archives named many_* hold many traces.
func TestScripts(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			layout := OneTrace
			if strings.HasPrefix(filepath.Base(path), "many_") {
				layout = ManyTraces
			}
			runScript(t, path, open(t, layout))
		})
	}
}

func runScript(t *testing.T, path string, db *sql.DB) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var source string
	for _, file := range archive.Files {
		name, ext, _ := strings.Cut(file.Name, ".")
		switch {
		case file.Name == "tables.sql":
			exec(t, db, string(file.Data))
		case ext == "sql":
			source = string(file.Data)
		case ext == "csv":
			t.Run(name, func(t *testing.T) {
				var got bytes.Buffer
				if err := csv.NewWriter(&got).WriteAll(query(t, db, source)); err != nil {
					t.Fatal(err)
				}
				if want := string(file.Data); strings.TrimSpace(got.String()) != strings.TrimSpace(want) {
					t.Errorf("got\n%s\nwant\n%s", got.String(), want)
				}
			})
		case ext == "err":
			t.Run(name, func(t *testing.T) {
				_, err := tryQuery(db, source)
				if want := strings.TrimSpace(string(file.Data)); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got error %v, want %s", err, want)
				}
			})
		default:
			t.Fatalf("%s: what is %s?", path, file.Name)
		}
	}
}

func TestDemangleNames(t *testing.T) {
	for _, layout := range []Layout{OneTrace, ManyTraces} {
		db := open(t, layout)
		exec(t, db, `INSERT INTO stack_profile_frame BY NAME SELECT unnest(['_Z1fv', 'main', NULL, '_Z1fv']) AS name`)
		exec(t, db, `INSERT INTO stack_profile_frame BY NAME SELECT '_Z1gv' AS deobfuscated_name`)
		exec(t, db, `INSERT INTO stack_profile_symbol BY NAME SELECT '_Z1h''v' AS name UNION ALL SELECT '_Z1hi'`)
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := DemangleNames(t.Context(), conn); err != nil {
			t.Fatal(err)
		}
		got := query(t, db, `SELECT s, demangle(s) FROM (VALUES ('_Z1fv'), ('_Z1gv'), ('_Z1hi'), ('_Z1kv'), ('main'), (NULL)) AS t(s)`)
		want := [][]string{{"_Z1fv", "f()"}, {"_Z1gv", "g()"}, {"_Z1hi", "h(int)"}, {"_Z1kv", "NULL"}, {"main", "NULL"}, {"NULL", "NULL"}}
		if !slices.EqualFunc(got[1:], want, slices.Equal) {
			t.Errorf("got %q", got)
		}
	}
}
