package export

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/tpconvert/tpconvert/model/schema"
)

// TestExtend adds rows in files of their own, replaces them and takes them out again.
func TestExtend(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	if err := write(t, create(t, dir, Options{}), 30, "t_1"); err != nil {
		t.Fatal(err)
	}
	kinds := filepath.Join(dir, "kinds.parquet")
	before, err := os.ReadFile(kinds)
	if err != nil {
		t.Fatal(err)
	}
	extend := func(n int) {
		t.Helper()
		e, err := Extend(dir, "", Options{Schemas: kindsSchemas(), Compression: Compression{codec: "snappy"}})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Abort()
		if e.Rows("kinds") != 30 {
			t.Errorf("%d rows without additions", e.Rows("kinds"))
		}
		if got, err := os.ReadFile(filepath.Join(e.Folder, "kinds.parquet")); err != nil || !bytes.Equal(got, before) {
			t.Errorf("the dataset without additions differs: %v", err)
		}
		if n > 0 {
			fill(t, n, 10, e)
		}
		if err := e.Commit([]Derivation{{Name: "more"}}[:min(n, 1)]); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // the second time replaces the rows
		extend(25)
		added := filepath.Join(dir, schema.DerivedFolder, "kinds.parquet")
		rows, _ := readParquetGo(t, added)
		if again := readArrowGo(t, added); len(rows) != 25 || !reflect.DeepEqual(rows, again) {
			t.Errorf("%d rows, %d by arrow-go", len(rows), len(again))
		}
		if after, err := os.ReadFile(kinds); err != nil || !bytes.Equal(after, before) {
			t.Errorf("the file of the conversion differs: %v", err)
		}
		m, err := readManifest(filepath.Join(dir, manifestName))
		if err != nil || m.Tables[0].Rows != 30 || len(m.DerivedTables) == 0 || m.DerivedTables[0].Rows != 25 || len(m.Derived) != 1 {
			t.Errorf("manifest %+v, %v", m, err)
		}
	}
	extend(0)
	if after, err := os.ReadFile(kinds); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the file differs without additions: %v", err)
	}
	equalTree(t, dir, "kinds.parquet", "kinds_child.parquet", manifestName)
}

// TestExtendLosesNothing shows that a dataset that another run changed meanwhile stays as it is.
func TestExtendLosesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	if err := write(t, create(t, dir, Options{}), 30, "t_1"); err != nil {
		t.Fatal(err)
	}
	e, err := Extend(dir, "", Options{Schemas: kindsSchemas()})
	if err != nil {
		t.Fatal(err)
	}
	if err := write(t, create(t, dir, Options{Force: true}), 40, "t_2"); err != nil {
		t.Fatal(err)
	}
	if err := e.Commit(nil); err == nil {
		t.Error("a new dataset was replaced by an old one")
	}
	if m, err := readManifest(filepath.Join(dir, manifestName)); err != nil || m.TraceID != "t_2" {
		t.Errorf("manifest %+v, %v", m, err)
	}
}
