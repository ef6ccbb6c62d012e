package sqlite

import (
	"context"
	"errors"
	"testing"
)

// numbers is a table of n integers.
const numbers = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 1000000) "

func TestStatementsEndAtTheLimitOfMemory(t *testing.T) {
	for name, sql := range map[string]string{
		"table":         "CREATE TABLE t AS " + numbers + "SELECT x, 'a text of some length' FROM n",
		"temporary":     "CREATE TEMP TABLE t AS " + numbers + "SELECT x, 'a text of some length' FROM n",
		"concatenation": numbers + "SELECT group_concat('a text of some length') FROM n",
		"blob":          "SELECT zeroblob(200000000)",
		"hex":           "SELECT hex(zeroblob(60000000))",
		"printf":        "SELECT printf('%.*c', 100000000, 'x')",
		"replace":       "SELECT replace(hex(zeroblob(5000)), '0', hex(zeroblob(10000)))",
		"sort":          numbers + "SELECT x FROM n ORDER BY -x",
		"distinct":      numbers + "SELECT DISTINCT x, 'a text' FROM n",
		"union":         numbers + "SELECT x FROM n UNION SELECT -x FROM n",
		"group":         numbers + "SELECT x, count(*) FROM n GROUP BY -x",
		"window":        numbers + "SELECT sum(x) OVER () FROM n",
		"json":          numbers + "SELECT json_group_array(x) FROM n",
		"recursion":     "WITH RECURSIVE n(x) AS (SELECT 'x' UNION ALL SELECT x || x FROM n) SELECT max(length(x)) FROM n",
		"join":          numbers + "SELECT count(*) FROM n JOIN (SELECT -x AS x FROM n) USING (x)",
		"in":            numbers + "SELECT 1 IN (SELECT -x FROM n)",
	} {
		t.Run(name, func(t *testing.T) {
			db := open(t)
			if _, err := rows(t, db, "CREATE TABLE kept AS SELECT 5 AS x"); err != nil {
				t.Fatal(err)
			}
			db.LimitMemory(8 << 20)
			err := db.During(context.Background(), func() error { return db.Exec(sql) })
			if err == nil || !errors.As(err, new(ErrMemory)) || err.Error() != "this needs more memory than a session may take, 8 MiB" {
				t.Fatalf("%s: %v", sql, err)
			}
			if db.Memory() > 2<<20 {
				t.Errorf("%s: %d bytes are left", sql, db.Memory())
			}
			got, err := rows(t, db, "SELECT x, (SELECT count(*) FROM sqlite_schema) FROM kept")
			if err != nil || len(got) != 1 || got[0] != "int64:5 int64:1 " {
				t.Errorf("after %s: %v, %v", sql, got, err)
			}
		})
	}
}

func TestMemoryIsOfOneDatabase(t *testing.T) {
	a, b := open(t), open(t)
	before := b.Memory()
	if err := a.Exec("CREATE TABLE t AS SELECT zeroblob(10000000)"); err != nil {
		t.Fatal(err)
	}
	if a.Memory() < 10_000_000 || b.Memory() != before {
		t.Errorf("memory is %d, and %d of a database at rest", a.Memory(), b.Memory())
	}
	if err := a.Exec("DROP TABLE t"); err != nil {
		t.Fatal(err)
	}
}

func TestReserve(t *testing.T) {
	db := open(t)
	db.LimitMemory(db.Memory() + 1000)
	if err := db.Reserve(900); err != nil {
		t.Fatal(err)
	}
	if err := db.Reserve(900); !errors.As(err, new(ErrMemory)) {
		t.Fatal(err)
	}
	db.Release(1800)
	if err := db.Reserve(900); err != nil {
		t.Fatal(err)
	}
}

func TestCloseOfNoDatabase(t *testing.T) {
	var none *DB
	if err := none.Close(); err != nil {
		t.Error(err)
	}
	db, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Close(), db.Close()); err != nil {
		t.Error(err)
	}
}
