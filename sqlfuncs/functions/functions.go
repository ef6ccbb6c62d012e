// Package functions defines Trace Processor's functions in SQLite: those with one result and those with rows, except the
// operators that other packages have.
package functions

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

// Data is what functions read beside tables. What is nil is not there.
type Data struct {
	// Arrays has the elements of Java arrays.
	Arrays Arrays
	// Modules are the files of PerfettoSQL's standard library.
	Modules fs.FS
	// Named returns the Perfetto table that a statement would find under a name, or nil.
	Named func(name string) *dataframe.Frame
}

// Arrays has the bytes of the table heap_graph_array.
type Arrays interface {
	// Array returns the elements of an array, little-endian, or nil if there is none of that id.
	Array(id int64) ([]byte, error)
}

// Define defines all functions in a database.
func Define(db *sqlite.DB, tables dataframe.Source, data Data) error {
	d := &definer{db: db, tables: tables}
	defineArgs(d)
	defineMetadata(d)
	defineText(d)
	defineMatch(d)
	defineRegexp(d)
	defineMath(d)
	defineClocks(d)
	defineWindows(d)
	definePercentiles(d)
	definePackages(d)
	defineCounters(d)
	defineArrays(d, data.Arrays)
	defineFtrace(d)
	defineRefused(d)
	defineETM(d)

	slices := once(func() (*sliceTable, error) { return readSlices(tables) })
	defineSlices(d, slices)
	defineFlows(d, slices)
	defineLayout(d, slices)
	defineFlat(d, slices)

	callsites := once(func() (*callsiteTable, error) { return readCallsites(tables) })
	lines := once(func() (*lineTable, error) { return readLines(tables) })
	defineStacks(d)
	defineCallsites(d, callsites)
	defineProfile(d, callsites, lines)
	defineFlamegraph(d, callsites, lines)

	defineHierarchy(d)
	defineInfo(d, data.Named)
	defineCurves(d, data.Modules)
	return d.err
}

// definer defines functions until one fails.
type definer struct {
	db     *sqlite.DB
	tables dataframe.Source
	err    error
}

func (d *definer) do(err error) {
	d.err = errors.Join(d.err, err)
}

func (d *definer) scalar(name string, args int, f sqlite.Scalar) {
	d.do(d.db.Function(name, args, sqlite.Deterministic, f))
}

// twins defines a function of the prelude and the one that it stands for.
func (d *definer) twins(name string, args int, f sqlite.Scalar) {
	d.scalar(name, args, f)
	d.scalar("__intrinsic_"+name, args, f)
}

func (d *definer) aggregate(name string, args int, begin func() sqlite.Aggregate) {
	d.do(d.db.Aggregate(name, args, sqlite.Deterministic, begin))
}

func (d *definer) window(name string, args int, begin func() sqlite.Window) {
	d.do(d.db.Window(name, args, sqlite.Deterministic, begin))
}

func (d *definer) rows(f *dataframe.Function) {
	d.do(f.Define(d.db))
}

// maxResult bounds what a function returns, in bytes.
const maxResult = 256 << 20

// once returns a function that reads tables at its first call. An error is not kept: the next call tries again.
func once[T any](read func() (*T, error)) func() (*T, error) {
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

// specs reads a list of columns, such as "id, name text, value real". Those without a kind have integers.
func specs(list string) []dataframe.Spec {
	var all []dataframe.Spec
	for item := range strings.SplitSeq(list, ",") {
		name, kind, _ := strings.Cut(strings.TrimSpace(item), " ")
		kinds := map[string]dataframe.Kind{"": dataframe.Integer, "text": dataframe.Text, "real": dataframe.Real}
		all = append(all, dataframe.Spec{Name: name, Kind: kinds[kind]})
	}
	return all
}

// readers are columns by name.
type readers map[string]*dataframe.Reader

// columns reads columns of a table, and returns the table.
func columns(tables dataframe.Source, table string, into readers) (*dataframe.Frame, error) {
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

// rowsByID finds rows by their ids, which ascend.
type rowsByID struct {
	id   dataframe.Reader
	rows int
}

// find returns the row of an id, or -1.
func (r rowsByID) find(id int64) int {
	if id < 0 || r.rows == 0 {
		return -1
	}
	if id < int64(r.rows) && r.id.Int(int(id)) == id { // mostly, ids number the rows
		return int(id)
	}
	from, to := 0, r.rows
	for from < to {
		middle := (from + to) / 2
		if r.id.Int(middle) < id {
			from = middle + 1
		} else {
			to = middle
		}
	}
	if from < r.rows && r.id.Int(from) == id {
		return from
	}
	return -1
}
