package tables_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tpconvert/tpconvert/internal/datasettest"
	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/perfettosql/tables"
)

const trace = `[{"ph":"M","pid":1,"tid":2,"name":"thread_name","args":{"name":"main"}},
	{"ph":"X","pid":1,"tid":2,"ts":1,"dur":5,"name":"work","cat":"c"},{"ph":"C","pid":1,"ts":1,"name":"load","args":{"v":1.5}}]`

func open(t *testing.T, folder string) *tables.Dataset {
	d := tables.NewDataset(tables.FileOpener(func(table string) []string { return []string{filepath.Join(folder, table+".parquet")} }))
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// column returns the values of a column.
func column(t *testing.T, f *dataframe.Frame, name string) (values []string) {
	t.Helper()
	r, err := f.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	for row := range f.Rows {
		values = append(values, fmt.Sprint(r.Any(row)))
	}
	return values
}

func TestTables(t *testing.T) {
	d := open(t, datasettest.Convert(t, trace))
	for _, test := range []struct {
		table, column string
		want          []string
	}{
		{"slice", "name", []string{"work"}},
		{"slice", "dur", []string{"5000"}},
		{"counter", "value", []string{"1.5"}},
		{"track", "type", []string{"thread_execution", "json_counter"}}, // the dataset's classification
		{"dataset_track", "classification", []string{"thread_execution", "json_counter"}},
		{"trace_file", "trace_type", []string{"json"}},
		{"flow", "slice_out", nil}, // has no file
		{"expected_frame_timeline_slice", "name", nil},
	} {
		f, err := d.Table(test.table)
		if err != nil {
			t.Errorf("%s: %v", test.table, err)
			continue
		}
		if got := column(t, f, test.column); !slices.Equal(got, test.want) {
			t.Errorf("%s.%s: %q, want %q", test.table, test.column, got, test.want)
		}
	}
	if _, err := d.Table("nothing"); err == nil {
		t.Error("a table that nobody has")
	}
}

// Every name that sessions define can be opened, also without a file.
func TestEveryTableOpens(t *testing.T) {
	d := open(t, t.TempDir())
	for _, name := range slices.Concat(d.Names(), d.Own()) {
		if f, err := d.Table(name); err != nil || len(f.Columns) == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A table as it is stored has all its columns, in their order.
func TestStored(t *testing.T) {
	d := open(t, datasettest.Convert(t, trace))
	for _, s := range schema.All() {
		f, err := d.Stored(s)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range f.Columns {
			got = append(got, c.Name)
		}
		for _, c := range s.Columns {
			if i := slices.Index(got, c.Name); i == 0 {
				got = got[1:]
			} else if i > 0 {
				t.Errorf("%s.%s is not in its place", s.Name, c.Name)
			}
		}
		if len(got) > 0 {
			t.Errorf("%s has %q", s.Name, got)
		}
	}
}
