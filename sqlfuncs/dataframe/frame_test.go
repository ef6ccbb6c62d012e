package dataframe

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite/sqlitetest"
)

// A frame answers like a table of SQLite with the same rows, whose columns have no affinity.

// twins returns a database with a frame f and a table t of the same random rows.
func twins(t *testing.T, r *rand.Rand, rows int) *sqlite.DB {
	t.Helper()
	db := sqlitetest.Open(t)
	kinds := map[string]Kind{"x": Real, "name": Text, "text": Text}
	var specs []Spec
	for _, name := range []string{"id", "ts", "n", "big", "x", "name", "maybe", "text"} {
		specs = append(specs, Spec{Name: name, Kind: kinds[name]})
	}
	b := NewBuilder(NewPool(), specs...)
	if err := db.Exec("CREATE TABLE t(id, ts, n, big, x, name, maybe, text); BEGIN"); err != nil {
		t.Fatal(err)
	}
	insert, _, err := db.Prepare("INSERT INTO t VALUES(?, ?, ?, ?, ?, ?, ?, ?)")
	if err != nil {
		t.Fatal(err)
	}
	ts := int64(0)
	for id := range rows {
		ts += r.Int64N(3)
		values := []any{int64(id), ts, r.Int64N(20) - 10, r.Int64() - r.Int64(), float64(r.IntN(40)-20) / 4, names[r.IntN(len(names))], nil, nil}
		if r.IntN(3) > 0 {
			values[6] = r.Int64N(6)
		}
		if r.IntN(4) > 0 {
			values[7] = names[r.IntN(3)]
		}
		for i, v := range values {
			if err := b.Any(i, v); err != nil {
				t.Fatal(err)
			}
			if err := insert.Bind(i+1, v); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := insert.Step(); err != nil {
			t.Fatal(err)
		}
		insert.Reset()
	}
	insert.Close()
	f := b.Frame()
	err = db.Module("frame", sqlite.Module{Create: func(string, []string) (sqlite.Table, string, error) { return f.Table(), f.Declaration(), nil }})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Exec("COMMIT; CREATE VIRTUAL TABLE f USING frame"); err != nil {
		t.Fatal(err)
	}
	return db
}

var names = []string{"", "a", "ab", "abc", "b*", "é", "Z", "zz", "a%", "10", "-1.5"}

// condition returns a random term of WHERE.
func condition(r *rand.Rand) string {
	column := []string{"id", "ts", "n", "big", "x", "name", "maybe", "text"}[r.IntN(8)]
	value := []string{"0", "3", "-2", "2.5", "-0.25", "7.0", "9223372036854775807", "1e19", "'ab'", "'10'", "''", "NULL", "'zz'", "(SELECT 4)"}[r.IntN(14)]
	switch r.IntN(8) {
	case 0:
		return column + " IS NULL"
	case 1:
		return column + " IS NOT NULL"
	case 2:
		return fmt.Sprintf("%s IN (%d, 'a', 2.5, %d, NULL, 'Z')", column, r.IntN(9), r.IntN(300))
	case 3:
		return []string{"name", "text"}[r.IntN(2)] + " GLOB '" + []string{"a*", "*b*", "a?", "[^a]*", "*[a-c]", "ab", "[]b]*"}[r.IntN(7)] + "'"
	case 4:
		return fmt.Sprintf("%s BETWEEN %d AND %d", column, r.IntN(20)-10, r.IntN(300))
	}
	return column + " " + []string{"=", "<", "<=", ">", ">=", "<>", "IS"}[r.IntN(7)] + " " + value
}

// query returns a random query of the table @, and whether the order of its rows is fixed.
func query(r *rand.Rand) (sql string, ordered bool) {
	where := ""
	for i := range r.IntN(4) {
		where += []string{" WHERE ", " AND "}[min(i, 1)] + condition(r)
	}
	order := ""
	for range r.IntN(3) {
		order += []string{"ts", "n", "x", "name", "maybe", "text", "big"}[r.IntN(7)] + []string{"", " DESC"}[r.IntN(2)] + ", "
	}
	order = " ORDER BY " + order + "id"
	limit := ""
	if r.IntN(2) == 0 {
		limit = fmt.Sprintf(" LIMIT %d", r.IntN(9))
		if r.IntN(2) == 0 {
			limit += fmt.Sprintf(" OFFSET %d", r.IntN(5))
		}
	}
	switch r.IntN(6) {
	case 0:
		return "SELECT count(*), sum(n), min(name), max(x), min(big), max(maybe) FROM @" + where, true
	case 1:
		return "SELECT n, count(*), max(ts) FROM @" + where + " GROUP BY n", false
	case 2:
		return "SELECT DISTINCT name, maybe FROM @" + where, false
	case 3:
		return "SELECT DISTINCT maybe, text FROM @" + where + " ORDER BY text DESC, maybe", true
	case 4:
		return "SELECT a.id, b.id FROM @ AS a JOIN @ AS b ON b." + []string{"id = a.n", "n = a.maybe", "name = a.text", "x = a.n"}[r.IntN(4)] + " WHERE a.ts < 12", false
	}
	return "SELECT * FROM @" + where + order + limit, true
}

// rowsOf returns the rows of a query with the types of their values.
func rowsOf(t *testing.T, db *sqlite.DB, sql string) (rows []string) {
	t.Helper()
	s, _, err := db.Prepare(sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	defer s.Close()
	for {
		more, err := s.Step()
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		if !more {
			return rows
		}
		var row []string
		for i := range s.Columns() {
			row = append(row, fmt.Sprintf("%T:%v", s.Any(i), s.Any(i)))
		}
		rows = append(rows, strings.Join(row, " "))
	}
}

func TestFrameIsATable(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for _, rows := range []int{0, 1, 5, 70, 600} { // both ways of sorting, and lookups by an order
		db := twins(t, r, rows)
		for range 400 {
			sql, ordered := query(r)
			got, want := rowsOf(t, db, strings.ReplaceAll(sql, "@", "f")), rowsOf(t, db, strings.ReplaceAll(sql, "@", "t"))
			if !ordered {
				slices.Sort(got)
				slices.Sort(want)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%d rows: %s gives\n%s\nwant\n%s", rows, sql, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
	}
}

// TestFilters asks for the rows that compare with each operand, one after the other by one plan, which SQLite's C code carries out by
// itself as far as it can. In the build without it, Go does all.
func TestFilters(t *testing.T) {
	t.Parallel()
	db := twins(t, rand.New(rand.NewPCG(7, 8)), 300)
	err := db.Exec(`CREATE TABLE operand(v); INSERT INTO operand VALUES (0), (3), (-2), (7.0), (2.5), (-0.25), (299), (1000), (NULL), ('ab'), (''), ('10'), ('é'),
		(9223372036854775807), (-9223372036854775808), (9223372036854775807.0), (1e19), (-1e19), ('a' || char(0)), (5), (5)`)
	if err != nil {
		t.Fatal(err)
	}
	tests := []string{"", "b.id >= a.v", "b.n <> 3", "b.maybe IS NULL", "b.text IS NOT NULL", "b.name = 'ab'", "b.name <> a.v", "b.n = a.v", "b.n <= a.v", "b.ts < 200 AND b.big > 0",
		"b.maybe IN (1, 2.0, 3.5, 'a', NULL, 1e19)", "b.text IN ('', 'ab', 10)", "b.x >= a.v"}
	for _, column := range []string{"id", "ts", "n", "big", "x", "name", "maybe", "text"} {
		for _, op := range []string{"=", "<", "<=", ">", ">=", "<>"} {
			for _, and := range tests {
				where := " WHERE b." + column + " " + op + " a.v"
				if and != "" {
					where += " AND " + and
				}
				for _, sql := range []string{
					"SELECT a.rowid, b.id FROM operand AS a CROSS JOIN @ AS b" + where + " ORDER BY 1, 2",
					"SELECT a.rowid, (SELECT b.id FROM @ AS b" + where + " LIMIT 1) IS NULL, (SELECT count(*) FROM (SELECT 1 FROM @ AS b" + where + " LIMIT 3)) FROM operand AS a ORDER BY 1",
				} {
					got, want := rowsOf(t, db, strings.ReplaceAll(sql, "@", "f")), rowsOf(t, db, strings.ReplaceAll(sql, "@", "t"))
					if !slices.Equal(got, want) {
						t.Errorf("%s gives %d rows %.200q, not %d %.200q", sql, len(got), got, len(want), want)
					}
				}
			}
		}
	}
}

// A join looks up many values by one plan.
func TestJoins(t *testing.T) {
	db := twins(t, rand.New(rand.NewPCG(5, 6)), 400)
	columns := []string{"id", "ts", "n", "big", "x", "maybe", "name"}
	for _, inner := range columns {
		for _, outer := range columns {
			for _, and := range []string{"", " AND b.n > a.n", " AND b.maybe <> a.maybe", " AND b.ts <= a.id", " AND b.big >= a.x", " AND b.maybe IS NULL", " AND b.text IS NOT NULL AND b.name <> a.text",
				" AND b.text = a.name AND b.maybe IN (1, 2)", " AND b.text GLOB '*1*'", " AND b.name GLOB '*[0-5]' AND b.maybe > 1", " AND b.id BETWEEN a.ts AND a.ts + 50"} {
				sql := "SELECT a.id, b.id, b.name, b.x FROM %[1]s AS a CROSS JOIN %[1]s AS b WHERE b." + inner + " = a." + outer + and + " ORDER BY 1, 2 LIMIT 3000"
				got, want := rowsOf(t, db, fmt.Sprintf(sql, "f")), rowsOf(t, db, fmt.Sprintf(sql, "t"))
				if !slices.Equal(got, want) {
					t.Errorf("%s gives %d rows %.200q, not %d %.200q", sql, len(got), got, len(want), want)
				}
			}
		}
	}
}

// TestStable checks that rows of equal keys keep their order in both ways of sorting.
func TestStable(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for _, rows := range []int{50, 1000} {
		db := twins(t, r, rows)
		for _, key := range []string{"n", "name", "x", "maybe", "text"} {
			for _, direction := range []string{"", " DESC"} {
				got := rowsOf(t, db, "SELECT id FROM f ORDER BY "+key+direction)
				if want := rowsOf(t, db, "SELECT id FROM t ORDER BY "+key+direction+", id"); !slices.Equal(got, want) {
					t.Errorf("%d rows by %s%s: %v, want %v", rows, key, direction, got, want)
				}
			}
		}
	}
}

// TestHead checks that a query for a few of the first rows reads no more of a large table, and gives the rows of the whole.
func TestHead(t *testing.T) {
	db := sqlitetest.Open(t)
	const rows = 100_000
	read := map[int]int{} // how often so many rows were
	f := &Frame{Pool: NewPool(), Rows: rows}
	f.Columns = append(f.Columns, LazyRows("n", Integer, func(to *Values, n int) error {
		n = min(n, rows)
		read[n]++
		for i := range n {
			to.Int(int64(i * 3))
		}
		return nil
	}), Lazy("derived", Integer, func(to *Values) error {
		for i := range rows {
			to.Int(int64(-i))
		}
		return nil
	}))
	f.Columns[0].Layout = &Layout{} // else the values tell
	err := db.Module("f", sqlite.Module{Connect: func() (sqlite.Table, string, error) { return f.Table(), f.Declaration(), nil }})
	if err != nil {
		t.Fatal(err)
	}
	check := func(sql string, want ...string) {
		t.Helper()
		if got := rowsOf(t, db, sql); !slices.Equal(got, want) {
			t.Errorf("%s gives %q, not %q", sql, got, want)
		}
	}
	check("SELECT * FROM f LIMIT 2", "int64:0 int64:0", "int64:3 int64:-1")
	check("SELECT n FROM f LIMIT 1 OFFSET 1023", "int64:3069")
	check("SELECT sum((SELECT n FROM f LIMIT 1 OFFSET 7)) FROM (SELECT 1 UNION ALL SELECT 2)", "int64:42")
	check("SELECT n FROM f LIMIT 0")
	if len(read) != 1 || read[headRows] != 1 {
		t.Errorf("rows read: %v, not %d once", read, headRows)
	}
	check("SELECT n FROM f LIMIT 1 OFFSET 1024", "int64:3072")
	check("SELECT n FROM f WHERE n > 270000 LIMIT 1", "int64:270003")
	check("SELECT max(n) FROM (SELECT n FROM f LIMIT 2000)", "int64:5997")
	check("SELECT n FROM f LIMIT 1 OFFSET 99999", "int64:299997")
	check("SELECT n FROM f LIMIT 1 OFFSET 100000")
	check("SELECT n FROM f ORDER BY n DESC LIMIT 1", "int64:299997")
	if read[rows] != 1 {
		t.Errorf("all rows were read %d times, not once", read[rows])
	}
}
