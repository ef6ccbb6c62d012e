package export

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// TestExtend adds rows to a file and takes them out again.
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
	old, _ := readParquetGo(t, kinds)
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
		for _, read := range []func() [][]any{
			func() [][]any { rows, _ := readParquetGo(t, kinds); return rows },
			func() [][]any { return readArrowGo(t, kinds) },
		} {
			rows := read()
			if len(rows) != 55 || !reflect.DeepEqual(rows[:30], old) {
				t.Errorf("%d rows, or those of before changed", len(rows))
			}
		}
		after, err := os.ReadFile(kinds)
		if err != nil || !bytes.HasPrefix(after, before) {
			t.Errorf("the file does not begin with its old content: %v", err)
		}
		m, err := readManifest(filepath.Join(dir, manifestName))
		if err != nil || m.Tables[0].Rows != 55 || m.Tables[0].Bytes != int64(len(after)) || *m.Tables[0].Converted != (Converted{30, int64(len(before))}) || len(m.Derived) != 1 {
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
