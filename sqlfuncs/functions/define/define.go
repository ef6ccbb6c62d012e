// Package define has what packages of functions share: a Definer, and ways to read tables.
package define

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

// Definer defines functions until one fails.
type Definer struct {
	DB     *sqlite.DB
	Tables dataframe.Source
	Err    error
}

func (d *Definer) Do(err error) {
	d.Err = errors.Join(d.Err, err)
}

func (d *Definer) Scalar(name string, args int, f sqlite.Scalar) {
	d.Do(d.DB.Function(name, args, sqlite.Deterministic, f))
}

// Twins defines a function of the prelude and the one that it stands for.
func (d *Definer) Twins(name string, args int, f sqlite.Scalar) {
	d.Scalar(name, args, f)
	d.Scalar("__intrinsic_"+name, args, f)
}

func (d *Definer) Aggregate(name string, args int, begin func() sqlite.Aggregate) {
	d.Do(d.DB.Aggregate(name, args, sqlite.Deterministic, begin))
}

func (d *Definer) Window(name string, args int, begin func() sqlite.Window) {
	d.Do(d.DB.Window(name, args, sqlite.Deterministic, begin))
}

func (d *Definer) Rows(f *dataframe.Function) {
	d.Do(f.Define(d.DB))
}

// MaxResult bounds what a function returns, in bytes.
const MaxResult = 256 << 20

// Once returns a function that reads tables at its first call. An error is not kept: the next call tries again.
func Once[T any](read func() (*T, error)) func() (*T, error) {
	var done *T
	return func() (*T, error) {
		if done == nil {
			t, err := read()
			if err != nil {
				return nil, err
			}
			done = t
		}
		return done, nil
	}
}

// Specs reads a list of columns, such as "id, name text, value real". Those without a kind have integers.
func Specs(list string) []dataframe.Spec {
	var all []dataframe.Spec
	for item := range strings.SplitSeq(list, ",") {
		name, kind, _ := strings.Cut(strings.TrimSpace(item), " ")
		kinds := map[string]dataframe.Kind{"": dataframe.Integer, "text": dataframe.Text, "real": dataframe.Real}
		all = append(all, dataframe.Spec{Name: name, Kind: kinds[kind]})
	}
	return all
}

// Readers are columns by name.
type Readers map[string]*dataframe.Reader

// Columns reads columns of a table, and returns the table.
func Columns(tables dataframe.Source, table string, into Readers) (*dataframe.Frame, error) {
	f, err := tables.Table(table)
	if err != nil {
		return nil, err
	}
	for name, r := range into {
		if *r, err = f.Named(name); err != nil {
			return nil, fmt.Errorf("table %s: %w", table, err)
		}
	}
	return f, nil
}

// RowsByID finds rows by their ids, which ascend.
type RowsByID struct {
	ID   dataframe.Reader
	Rows int
}

// Find returns the row of an id, or -1.
func (r RowsByID) Find(id int64) int {
	if id < 0 || r.Rows == 0 {
		return -1
	}
	if id < int64(r.Rows) && r.ID.Int(int(id)) == id { // mostly, ids number the rows
		return int(id)
	}
	from, to := 0, r.Rows
	for from < to {
		middle := (from + to) / 2
		if r.ID.Int(middle) < id {
			from = middle + 1
		} else {
			to = middle
		}
	}
	if from < r.Rows && r.ID.Int(from) == id {
		return from
	}
	return -1
}
