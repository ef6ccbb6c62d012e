package sqlfuncs

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/csv"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
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

// TestMacros checks that every statement is found, and documented unless it is a helper.
func TestMacros(t *testing.T) {
	statements := 0
	for _, name := range files {
		source, err := sources.ReadFile("sql/" + name + ".sql")
		if err != nil {
			t.Fatal(err)
		}
		statements += strings.Count(string(source), "CREATE OR REPLACE")
	}
	macros := Macros(OneTrace)
	if len(macros) != statements {
		t.Errorf("found %d macros and views, want %d", len(macros), statements)
	}
	for _, m := range macros {
		if regexp.MustCompile(`\btrace_id\b`).MatchString(m.SQL) {
			t.Errorf("%s: trace_id in a database of one trace", m.Name)
		}
		if !m.IsHelper() && !strings.HasPrefix(m.Name, "time_") && m.Kind != "VIEW" && !strings.HasPrefix(m.Doc, m.Name+"(") {
			t.Errorf("%s: comment %q", m.Name, m.Doc)
		}
	}
}

var writeDocs = flag.Bool("docs", false, "write the list of views and functions in docs/queries.md")

// TestDocsAreCurrent checks the list of views and functions at the end of docs/queries.md.
func TestDocsAreCurrent(t *testing.T) {
	const path, heading = "../docs/queries.md", "\n## Views and functions\n"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text, got, found := strings.Cut(string(page), heading)
	if !found {
		t.Fatalf("%s has no heading %q", path, heading)
	}
	kinds := []string{"VIEW", "MACRO TABLE", "MACRO"}
	lists := map[string]string{}
	last := ""
	for _, m := range Macros(OneTrace) {
		if m.IsHelper() || m.Doc == last {
			continue
		}
		last = m.Doc
		name, doc, called := strings.Cut(m.Doc, "): ")
		if called && strings.HasPrefix(name, m.Name+"(") {
			name += ")"
		} else {
			name, doc = m.Name, m.Doc
		}
		lists[m.Kind] += fmt.Sprintf("- `%s`: %s\n", name, doc)
	}
	want := ""
	for i, title := range []string{"Views", "Functions that give rows", "Functions that give a value"} {
		want += "\n### " + title + "\n\n" + lists[kinds[i]]
	}
	if *writeDocs {
		if err := os.WriteFile(path, []byte(text+heading+want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if got != want {
		t.Errorf("%s is not current: run go test ./sqlfuncs -run Docs -docs", path)
	}
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
