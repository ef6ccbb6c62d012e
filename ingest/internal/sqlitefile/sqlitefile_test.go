package sqlitefile_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/sqlitefile"
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
			x, _ := r.Number(i)
			v = fmt.Sprintf("%.12g", x)
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
	f, err := sqlitefile.Open(bytes.NewReader(data), int64(len(data)), func(offset int64, why string) { t.Errorf("at %d: %s", offset, why) })
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
		f, err := sqlitefile.Open(bytes.NewReader(data[:n]), int64(n), func(int64, string) { damaged++ })
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

func FuzzRows(f *testing.F) {
	f.Add(database(f, statements[:4]...), 600, byte(3))
	f.Add(database(f, statements...), 120, byte(5))
	f.Fuzz(func(t *testing.T, data []byte, at int, b byte) {
		if len(data) > 0 {
			data[uint(at)%uint(len(data))] = b
		}
		db, err := sqlitefile.Open(bytes.NewReader(data), int64(len(data)), func(int64, string) {})
		if err != nil {
			return
		}
		for _, table := range db.Tables {
			table.Count()
			find, n := table.Lookup(), 0
			for r := table.Rows(); r.Next() && n < 10_000; n++ {
				text(&r.Row, len(table.Columns)+1)
				if _, err := find.Find(r.ID + 1); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
