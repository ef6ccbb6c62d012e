package sqlitefile_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/sqlitefile"
	"github.com/tpconvert/tpconvert/internal/fuzz"
)

// database returns the file that SQLite makes of statements.
func database(t testing.TB, statements ...string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

var statements = []string{
	"PRAGMA page_size = 512",
	`CREATE TABLE "a ""table""" (-- a comment, with a comma
		id INTEGER NOT NULL PRIMARY KEY, [a b] TEXT DEFAULT (coalesce(1, ')')), n NUMERIC(10, 2) CHECK (n > 0), UNIQUE (n, id))`,
	`CREATE TABLE b (x INT, y INTEGER, z, CONSTRAINT k PRIMARY KEY (y))`,
	`CREATE TABLE c (x INTEGER PRIMARY KEY DESC, y)`,
	`WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 2000)
		INSERT INTO "a ""table""" SELECT n * 3 - 1000, printf('%.*c', n * 7 % 5000, 'x') || n, n / 3.0 FROM i`,
	`WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 60)
		INSERT INTO b SELECT (1 << n) - 1, n, CASE n % 4 WHEN 0 THEN NULL WHEN 1 THEN zeroblob(n) WHEN 2 THEN -(1 << n) ELSE 'é' END FROM i`,
	`INSERT INTO c VALUES (7, 1), (5, 2)`,
	"ALTER TABLE b ADD COLUMN late TEXT",
	"DELETE FROM b WHERE y = 30",
}

// text shows a row as SQLite's quote() does.
func text(r *sqlitefile.Row, columns int) string {
	var all []string
	for i := range columns {
		v := "NULL"
		switch r.Kind(i) {
		case sqlitefile.Integer:
			n, _ := r.Int(i)
			v = fmt.Sprint(n)
		case sqlitefile.Real:
			v = fmt.Sprintf("%.12g", r.Number(i))
		case sqlitefile.Text:
			v = "'" + string(r.Text(i)) + "'"
		case sqlitefile.Blob:
			v = fmt.Sprintf("X'%X'", r.Text(i))
		}
		all = append(all, v)
	}
	return strings.Join(all, ",")
}

// TestRows compares all rows with those that SQLite reads.
func TestRows(t *testing.T) {
	data := database(t, statements...)
	f, err := sqlitefile.Open(bytes.NewReader(data), int64(len(data)), func(why string) { t.Error(why) })
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "y.db")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, table := range f.Tables {
		var want []string
		columns := make([]string, len(table.Columns))
		for i, c := range table.Columns {
			c = `"` + c + `"`
			columns[i] = fmt.Sprintf(`CASE typeof(%s) WHEN 'real' THEN printf('%%.12g', %[1]s) ELSE quote(%[1]s) END`, c)
		}
		name := `"` + strings.ReplaceAll(table.Name, `"`, `""`) + `"`
		rows, err := db.Query("SELECT " + strings.Join(columns, " || ',' || ") + " FROM " + name + " ORDER BY rowid")
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var s string
			if err := rows.Scan(&s); err != nil {
				t.Fatal(err)
			}
			want = append(want, s)
		}
		if rows.Err() != nil {
			t.Fatal(rows.Err())
		}
		got, find := 0, table.Lookup()
		for r := table.Rows(); r.Next(); got++ {
			s := text(&r.Row, len(table.Columns))
			if got < len(want) && s != want[got] {
				t.Fatalf("table %s, row %d: %.200s, want %.200s", table.Name, got, s, want[got])
			}
			if found, err := find.Find(r.ID); err != nil || found == nil || text(found, len(table.Columns)) != s {
				t.Fatalf("table %s: Find(%d) = %v, %v", table.Name, r.ID, found, err)
			}
		}
		if got != len(want) || table.Count() != int64(len(want)) || got == 0 {
			t.Errorf("table %s: %d rows, Count %d, want %d", table.Name, got, table.Count(), len(want))
		}
		if row, err := find.Find(1 << 40); row != nil || err != nil {
			t.Errorf("table %s: found a row that it does not have, %v", table.Name, err)
		}
	}
	if len(f.Tables) != 3 {
		t.Errorf("%d tables", len(f.Tables))
	}
}

// TestCut reads a file that ends too early.
func TestCut(t *testing.T) {
	data := database(t, statements...)
	for n := 0; n < len(data); n += 97 + n/10 {
		damaged := 0
		f, err := sqlitefile.Open(bytes.NewReader(data[:n]), int64(n), func(string) { damaged++ })
		switch {
		case n < 512 && (!format.BadInput(err) || !errors.Is(err, format.ErrCorrupt)):
			t.Fatalf("%d bytes: %v", n, err)
		case n >= 512 && (err != nil || damaged == 0):
			t.Fatalf("%d bytes: %v, %d damaged", n, err, damaged)
		case err == nil:
			for _, table := range f.Tables {
				for r := table.Rows(); r.Next(); {
				}
			}
		}
	}
}

// open opens a database and returns what is damaged in it.
func open(t *testing.T, data []byte) (f *sqlitefile.File, damaged *[]string) {
	t.Helper()
	damaged = new([]string)
	f, err := sqlitefile.Open(bytes.NewReader(data), int64(len(data)), func(why string) { *damaged = append(*damaged, why) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f, damaged
}

// all returns the rows of a table.
func all(t *testing.T, f *sqlitefile.File, table string) []string {
	t.Helper()
	var got []string
	rows := f.Table(table).Rows()
	for rows.Next() {
		got = append(got, text(&rows.Row, len(f.Table(table).Columns)))
	}
	if rows.Err != nil {
		t.Fatal(rows.Err)
	}
	return got
}

// TestDefinitions checks that the values are those in the file, whatever its definitions say, and that its expressions do not run.
func TestDefinitions(t *testing.T) {
	f, damaged := open(t, database(t,
		"PRAGMA encoding = 'UTF-16'",
		"CREATE TABLE a (d DATE, r REAL, b BOOLEAN, fails AS (abs(1)), rowid TEXT)",
		"INSERT INTO a VALUES ('2026-11-26', 3, 1, 'é')", // SQLite stores 3 as an integer
		"CREATE TABLE w (x TEXT PRIMARY KEY, y) WITHOUT ROWID",
		"INSERT INTO w VALUES ('b', 1), ('a', 2)",
		"CREATE VIEW v AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT * FROM n",
		"CREATE TABLE broken (x)", "CREATE TABLE nameless (x)", "CREATE TABLE last (x)", "INSERT INTO last VALUES (7)",
		"PRAGMA writable_schema = 1", "UPDATE sqlite_schema SET sql = 'CREATE TABLE broken(((' WHERE name = 'broken'",
		"UPDATE sqlite_schema SET name = NULL WHERE name = 'nameless'",
		"UPDATE sqlite_schema SET sql = replace(sql, 'abs(1)', 'abs(-9223372036854775807 - 1)')"))
	for table, want := range map[string][]string{"a": {"'2026-11-26',3,1,'é'"}, "w": {"'a',2", "'b',1"}, "v": nil, "last": {"7"}} {
		if got := all(t, f, table); !slices.Equal(got, want) {
			t.Errorf("table %s: %q, want %q", table, got, want)
		}
	}
	rows := f.Table("a").Rows()
	if !rows.Next() || rows.Kind(1) != sqlitefile.Real {
		t.Errorf("%v, a value of kind %v in a column of real numbers", rows.Err, rows.Kind(1))
	}
	if !slices.Equal(*damaged, []string{"the definition of table broken", "the name of a table"}) {
		t.Errorf("damaged %q", *damaged)
	}
}

// TestDamagedPlaces reads a table with two damaged pages and one that is in it twice: all other rows are read, once.
func TestDamagedPlaces(t *testing.T) {
	const size, count = 512, 2000
	data := database(t, "PRAGMA page_size = 512", "CREATE TABLE t (x INTEGER PRIMARY KEY, y)",
		"WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 2000) INSERT INTO t SELECT n, 'row ' || n || '.' FROM i")
	page := func(row int) []byte { // the leaf with a row
		at := bytes.Index(data, fmt.Appendf(nil, "row %d.", row)) / size * size
		return data[at : at+size]
	}
	lost := map[int]bool{}
	for i := 1; i <= count; i++ {
		text := fmt.Appendf(nil, "row %d.", i)
		lost[i] = bytes.Contains(page(500), text) || bytes.Contains(page(1000), text) || bytes.Contains(page(1500), text)
	}
	clear(page(500))
	page(1000)[0] = 0x7f
	copy(page(1500), page(1200))
	f, damaged := open(t, data)
	var want []string
	for i := 1; i <= count; i++ {
		if !lost[i] {
			want = append(want, fmt.Sprintf("%d,'row %[1]d.'", i))
		}
	}
	if got := all(t, f, "t"); !slices.Equal(got, want) {
		t.Errorf("%d rows, want %d", len(got), len(want))
	}
	if len(*damaged) != 3 || !strings.Contains((*damaged)[0], "table t from row ") {
		t.Errorf("damaged: %q", *damaged)
	}
}

func FuzzRows(f *testing.F) {
	small := []string{statements[0], statements[2], "INSERT INTO b VALUES (1, 2, 'text'), (-1, 3, 0.5), (NULL, 4, zeroblob(2000))"}
	f.Add(database(f, small...), 600, byte(3))
	f.Add(database(f, small...), 120, byte(5))
	fuzz.Run(f, func(t *testing.T, data []byte, at int, b byte) {
		if len(data) > 0 {
			data[uint(at)%uint(len(data))] = b
		}
		db, err := sqlitefile.Open(bytes.NewReader(data), int64(len(data)), func(string) {})
		if err != nil {
			return
		}
		defer db.Close()
		for _, table := range db.Tables {
			table.Count()
			find, n := table.Lookup(), 0
			for r := table.Rows(); r.Next() && n < 100; n++ {
				text(&r.Row, len(table.Columns)+1)
				if _, err := find.Find(r.ID + 1); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
