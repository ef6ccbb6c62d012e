// Package functions defines Trace Processor's functions in SQLite: those with one result and those with rows, except the
// operators that other packages have.
package functions

import (
	"io/fs"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/functions/define"
	"github.com/tpconvert/tpconvert/sqlfuncs/functions/profiles"
	"github.com/tpconvert/tpconvert/sqlfuncs/functions/texts"
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
	d := &define.Definer{DB: db, Tables: tables}
	data.define(d)
	return d.Err
}

func (data Data) define(d *define.Definer) {
	texts.Define(d)
	profiles.Define(d)
	defineArgs(d)
	defineMetadata(d)
	defineClocks(d)
	defineWindows(d)
	definePercentiles(d)
	definePackages(d)
	defineCounters(d)
	defineArrays(d, data.Arrays)
	defineFtrace(d)
	defineRefused(d)
	defineETM(d)
	defineJSON(d)

	slices := define.Once(func() (*sliceTable, error) { return readSlices(d.Tables) })
	defineSlices(d, slices)
	defineFlows(d, slices)
	defineLayout(d, slices)
	defineFlat(d, slices)
	defineGPU(d, slices, data.Named)
	defineHierarchy(d)
	defineInfo(d, data.Named)
	defineCurves(d, data.Modules)
}
