package arrow

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/tpconvert/tpconvert/model/table"
)

// TestFile writes chunks whose texts repeat, and reads them with arrow-go.
func TestFile(t *testing.T) {
	schema := (&table.Schema{Name: "t", Doc: "A table."}).WithColumns([]table.Column{
		{Name: "n", Type: table.TypeInt64}, {Name: "text", Type: table.TypeString, Nullable: true}, {Name: "ok", Type: table.TypeBool, Nullable: true}})
	for _, zstd := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "t.arrow")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		w, err := New(path, f, schema, zstd, [][2]string{{"key", "value"}})
		if err != nil {
			t.Fatal(err)
		}
		for part, texts := range [][]string{{"a", "", "b"}, {"b", "c", ""}} {
			pool := table.NewStringPool()
			var ids []table.StringID
			for _, text := range texts {
				id := table.StringID(0)
				if text != "" {
					id = pool.Intern(text)
				}
				ids = append(ids, id)
			}
			first := int64(3 * part)
			c := table.NewChunk(schema, 3, []table.Vector{{Values: []int64{first, first + 1, first + 2}}, {Values: ids},
				{Values: []bool{true, false, true}, Valid: []byte{0b101}}}, pool.View())
			if err := w.Append(c); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close([2]string{"more", "facts"}); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*.spool")); left != nil {
			t.Errorf("%v is left", left)
		}
		got := read(t, path)
		want := `[[0 "a" true] [1 null null] [2 "b" true] [3 "b" true] [4 "c" null] [5 null true]] A table. value facts`
		if got != want {
			t.Errorf("zstd %t:\n%s\nwant\n%s", zstd, got, want)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := ipc.NewFileReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var rows [][]string
	for i := range r.NumRecords() {
		batch, err := r.RecordBatch(i)
		if err != nil {
			t.Fatal(err)
		}
		for row := range int(batch.NumRows()) {
			var cells []string
			for _, column := range batch.Columns() {
				cell := column.ValueStr(row)
				if column.IsNull(row) {
					cell = "null"
				}
				cells = append(cells, cell)
			}
			cells[1] = fmt.Sprintf("%q", cells[1])
			if batch.Column(1).IsNull(row) {
				cells[1] = "null"
			}
			rows = append(rows, cells)
		}
	}
	text := fmt.Sprint(rows)
	for _, key := range []string{"doc", "key", "more"} {
		v, _ := r.Schema().Metadata().GetValue(key)
		text += " " + v
	}
	return text
}
