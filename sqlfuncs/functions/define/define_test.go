package define_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/functions/define"
	"github.com/tpconvert/tpconvert/sqlfuncs/functions/functionstest"
)

// column returns a column of numbers.
func column(t *testing.T, numbers ...int) dataframe.Reader {
	t.Helper()
	tables := functionstest.NewTables()
	var rows [][]any
	for _, n := range numbers {
		rows = append(rows, []any{n})
	}
	tables.Add(t, "t", "n", rows...)
	var n dataframe.Reader
	if _, err := define.Columns(tables, "t", define.Readers{"n": &n}); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestColumns(t *testing.T) {
	tables := functionstest.NewTables()
	tables.Add(t, "t", "id, name text, value real", []any{3, "x", 1.5})
	var id, name, value, none dataframe.Reader
	f, err := define.Columns(tables, "t", define.Readers{"id": &id, "name": &name, "value": &value})
	if err != nil || f == nil || id.Int(0) != 3 || value.Float(0) != 1.5 {
		t.Errorf("%v, %v", f, err)
	}
	if _, err := define.Columns(tables, "t", define.Readers{"none": &none}); err == nil {
		t.Error("there is no column none")
	}
	if _, err := define.Columns(tables, "u", nil); err == nil {
		t.Error("there is no table u")
	}
}

func TestRowsByID(t *testing.T) {
	for _, ids := range [][]int{{0, 1, 2, 3}, {0, 2, 5, 9}, {7}, {}} {
		rows := define.RowsByID{ID: column(t, ids...), Rows: len(ids)}
		for id := -2; id < 12; id++ {
			if got, want := rows.Find(int64(id)), slices.Index(ids, id); got != want {
				t.Errorf("%d in %v: row %d, want %d", id, ids, got, want)
			}
		}
	}
}

// Sets may be stored in any order, and asked for in any.
func TestSets(t *testing.T) {
	for _, of := range [][]int{{1, 1, 2, 5, 5, 5}, {5, 1, 5, 2, 1, 5}} {
		sets := define.NewSets(column(t, of...), len(of))
		for _, set := range []int{1, 2, 3, 5, 6, 5, 0, 1, 5} {
			var got, want []int
			sets.Find(int64(set))
			for i := sets.From; i < sets.To; i++ {
				got = append(got, sets.Row(i))
			}
			for row, n := range of {
				if n == set {
					want = append(want, row)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("set %d of %v: rows %v, want %v", set, of, got, want)
			}
		}
	}
}

func TestAncestors(t *testing.T) {
	parents := []int{-1, 0, 1, 0}
	if got, err := define.Ancestors(2, func(row int) int { return parents[row] }); fmt.Sprint(got) != "[0 1]" || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := define.Ancestors(0, func(int) int { return 0 }); err == nil {
		t.Error("a row above itself has no root")
	}
}

// TestOnce reads again after an error, and then no more.
func TestOnce(t *testing.T) {
	reads := 0
	read := define.Once(func() (*int, error) {
		if reads++; reads == 1 {
			return nil, errors.New("not yet")
		}
		return &reads, nil
	})
	if _, err := read(); err == nil {
		t.Error("no error")
	}
	for range 2 {
		if got, err := read(); err != nil || *got != 2 {
			t.Errorf("%v, %v", got, err)
		}
	}
}
