package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

func open(t *testing.T) *DB {
	t.Helper()
	db, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// rows returns the rows of a query, each value with its Go type.
func rows(t *testing.T, db *DB, sql string) (all []string, err error) {
	t.Helper()
	s, _, err := db.Prepare(sql)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	for {
		more, err := s.Step()
		if err != nil || !more {
			return all, err
		}
		row := ""
		for i := range s.Columns() {
			row += fmt.Sprintf("%T:%v ", s.Any(i), s.Any(i))
		}
		all = append(all, row)
	}
}

// product is a window function: the product of the integers in the window.
type product struct{ values []int64 }

func (p *product) Step(args []Value) error {
	p.values = append(p.values, args[0].Int())
	return nil
}

func (p *product) Inverse([]Value) error {
	p.values = p.values[1:]
	return nil
}

func (p *product) Current(c Context) error {
	n := int64(1)
	for _, v := range p.values {
		n *= v
	}
	c.Int(n)
	return nil
}

func (p *product) Result(c Context) error { return p.Current(c) }

var errOdd = errors.New("an odd number")

// handled is the number of Go values that SQLite keeps.
func handled() (n int) {
	for _, v := range *handles.values.Load() {
		if v != nil {
			n++
		}
	}
	return n
}

func TestFunctions(t *testing.T) {
	db := open(t)
	err := errors.Join(
		db.Function("same", 1, Deterministic, func(c Context, args []Value) error { c.Any(args[0].Any()); return nil }),
		db.Function("half", 1, Deterministic, func(c Context, args []Value) error {
			if args[0].Int()%2 != 0 {
				return errOdd
			}
			c.Int(args[0].Int() / 2)
			return nil
		}),
		db.Function("box", 1, 0, func(c Context, args []Value) error { c.Pointer(args[0].Text(), "BOX"); return nil }),
		db.Function("unbox", 1, 0, func(c Context, args []Value) error {
			s, _ := args[0].Pointer("BOX").(string)
			c.Text(s)
			return nil
		}),
		db.Window("product", 1, 0, func() Window { return &product{} }),
		db.Alias("halve", "half", 1),
	)
	if err != nil {
		t.Fatal(err)
	}
	handles.remove(handles.add(0))
	before := handled()
	for sql, want := range map[string][]string{
		"SELECT same(1), same(1.5), same('é'), same(x'00ff'), same(NULL)": {"int64:1 float64:1.5 string:é []uint8:[0 255] <nil>:<nil> "},
		"SELECT half(half(8)), halve(4)":                                  {"int64:2 int64:2 "},
		"SELECT unbox(box('a')), box('a'), unbox('a')":                    {"string:a <nil>:<nil> string: "},
		"SELECT product(column1) FROM (VALUES (2), (3), (4))":             {"int64:24 "},
		"SELECT product(1) WHERE 0":                                       {"int64:1 "},
		"SELECT product(column1) OVER (ROWS 1 PRECEDING) FROM (VALUES (2), (3), (4))": {
			"int64:2 ", "int64:6 ", "int64:12 "},
	} {
		if got, err := rows(t, db, sql); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s gives %q, %v, want %q", sql, got, err, want)
		}
	}
	if _, err := rows(t, db, "SELECT half(3)"); !errors.Is(err, errOdd) {
		t.Errorf("the error of a function is %v", err)
	}
	if _, err := rows(t, db, "SELECT 1 AS a, nothing"); err == nil || err.(*Error).Offset != 15 {
		t.Errorf("an unknown column is %+v", err)
	}
	if n := handled() - before; n != 0 {
		t.Errorf("%d pointers are kept", n)
	}
}

// A value that a function gives may be of a statement that it has reset.
func TestValueOfAnotherStatement(t *testing.T) {
	db := open(t)
	s, _, err := db.Prepare("SELECT $x || ' of some length'")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	err = db.Function("longer", 1, 0, func(c Context, args []Value) error {
		if _, err := s.Start(s.Numbers([]string{"$x"}), args); err != nil {
			return err
		}
		c.Value(s.Value(0))
		_, err := s.Finish()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := rows(t, db, "SELECT longer('a'), longer(longer(1.5)), longer(NULL)")
	want := []string{"string:a of some length string:1.5 of some length of some length <nil>:<nil> "}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("it gives %q, %v", got, err)
	}
}

func TestReadAhead(t *testing.T) {
	db := open(t)
	calls := 0
	err := db.Function("fails", 1, 0, func(c Context, args []Value) error {
		if calls++; args[0].Int() == 500 {
			return errOdd
		}
		c.Text(strings.Repeat("text", int(args[0].Int())*20)) // up to 40 KB
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s, _, err := db.Prepare("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x, fails(x), x / 2.0, NULL FROM n")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.ReadAhead()
	for run := range 2 {
		calls = 0
		for i := 1; ; i++ {
			more, err := s.Step()
			if i == 500 {
				if !errors.Is(err, errOdd) {
					t.Errorf("run %d: row 500 is %v, %v", run, more, err)
				}
				break
			}
			if err != nil || !more || s.Int(0) != int64(i) || s.View(1) != strings.Repeat("text", i*20) || s.Float(2) != float64(i)/2 || s.Type(3) != Null {
				t.Fatalf("run %d: row %d is %v, %v: %d, %.20q", run, i, more, err, s.Int(0), s.View(1))
			}
			if i == 1 && calls > 1 && run == 0 {
				t.Error("the first row waits for others")
			}
		}
		s.Reset()
	}
}

func TestDuring(t *testing.T) {
	db := open(t)
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	err := db.During(ctx, func() error {
		for { // an interruption between two statements is not lost
			if _, err := rows(t, db, "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT max(i) FROM n"); err != nil {
				return err
			}
		}
	})
	if err != context.DeadlineExceeded {
		t.Errorf("it ended with %v", err)
	}
	if got, err := rows(t, db, "SELECT 1"); err != nil || len(got) != 1 {
		t.Errorf("afterwards %q, %v", got, err)
	}
}

func TestAuthorize(t *testing.T) {
	db := open(t)
	db.Authorize(func(a Action, _, _ string) bool { return a != Attach })
	if err := db.Exec("ATTACH ':memory:' AS x"); err == nil {
		t.Error("ATTACH is allowed")
	}
	if err := db.Exec("CREATE TABLE t(a); INSERT INTO t VALUES(1); SELECT * FROM t"); err != nil {
		t.Error(err)
	}
}

func TestArena(t *testing.T) {
	var a Arena
	defer a.Free()
	var texts []Text
	for i := range 10_000 {
		texts = append(texts, a.Add(fmt.Sprintf("text %d", i)))
	}
	long := a.Add(string(make([]byte, 3*arenaChunk)))
	if texts[0].String() != "text 0" || texts[9_999].String() != "text 9999" || len(long.String()) != 3*arenaChunk || a.Add("").String() != "" {
		t.Error("texts have changed")
	}
}

func TestReadIntegers(t *testing.T) {
	db := open(t)
	s, _, err := db.Prepare("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 200) " +
		"SELECT x || ' apples', x / 2.0, x'3239', '9007199254740993', '1e3', '5.7', 'none', -1e300, NULL FROM n")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.ReadIntegers()
	for i := range 200 {
		if more, err := s.Step(); err != nil || !more {
			t.Fatalf("row %d is %v, %v", i, more, err)
		}
		want := []int64{int64(i + 1), int64(i+1) / 2, 29, 9007199254740993, 1, 5, 0, math.MinInt64, 0}
		for column, n := range want {
			if got := s.Int(column); got != n {
				t.Errorf("row %d, column %d is %d, not %d", i, column, got, n)
			}
		}
		if got := s.Float(1); got != float64(i+1)/2 {
			t.Errorf("row %d is %g", i, got)
		}
	}
}
