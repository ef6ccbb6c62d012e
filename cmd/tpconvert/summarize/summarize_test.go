package summarize

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/tpconvert/tpconvert/sqlfuncs/metrics"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

func table(rows ...[]any) metrics.Table {
	return metrics.Table{ID: "a/b", Dimensions: 1, Rows: rows,
		Columns: []session.Column{{Name: "name", Kind: session.Text}, {Name: "n", Kind: session.Integer}}}
}

func TestLabelled(t *testing.T) {
	before := table([]any{"work", int64(1)})
	got := before.Labelled("trace_id", session.Text, "t_1")
	if fmt.Sprint(got.Rows) != "[[t_1 work 1]]" || got.Columns[0].Name != "trace_id" || len(got.Columns) != 3 || got.Dimensions != 2 {
		t.Errorf("%+v", got)
	}
	if fmt.Sprint(before.Rows) != "[[work 1]]" || len(before.Columns) != 2 {
		t.Errorf("the table itself is changed: %+v", before)
	}
}

// Rows of later traces go to the same file, whose name has no separator.
func TestTableFiles(t *testing.T) {
	files := tableFiles{folder: t.TempDir()}
	for i := range 2 {
		if err := files.write([]metrics.Table{table([]any{"work", int64(i)})}); err != nil {
			t.Fatal(err)
		}
	}
	if err := files.close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(files.folder, "a_b.parquet"))
	if err != nil || string(data[:4]) != "PAR1" || string(data[len(data)-4:]) != "PAR1" {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}
