package export

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/parquet-go/parquet-go/format"

	"github.com/tpconvert/tpconvert/model/table"
)

type bytesTables struct {
	Blobs struct {
		table.Table `tp:"blobs" doc:"Bytes."`
		Data        table.Bytes `tp:"2,data" doc:"No text."`
		Never       table.Bytes `tp:"3,never" doc:"Always NULL."`
	}
}

// fillBytes sends rows of bytes in chunks to the sink and returns them.
func fillBytes(t *testing.T, n, chunkRows int, to table.Sink) (rows [][]any) {
	t.Helper()
	var tables bytesTables
	set := table.NewSet(&tables, table.NewStringPool(), chunkRows, to, table.Parking{})
	random := rand.New(rand.NewPCG(1, 2))
	for range n {
		row := tables.Blobs.Append()
		want := []any{row, nil, nil}
		if random.IntN(4) > 0 {
			want[1] = fmt.Sprintf("word %d é\xff", random.IntN(8))[:random.IntN(10)]
			if row == 7 {
				want[1] = strings.Repeat("\xfe\x00", 5<<20) // ends its chunk
			}
			tables.Blobs.Data.Set(row, []byte(want[1].(string)))
		}
		rows = append(rows, want)
	}
	set.Finish()
	if err := set.Err(); err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestBytes(t *testing.T) {
	for _, f := range []string{Parquet, Arrow} {
		t.Run(f, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "out")
			w, err := Create(dir, Options{Format: f, Schemas: table.Schemas[bytesTables]()})
			if err != nil {
				t.Fatal(err)
			}
			want := fillBytes(t, 1001, 64, w)
			if err := w.Commit(&Manifest{TraceID: "t_1"}); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "blobs."+f)
			if f == Parquet {
				got, file := readParquetGo(t, path)
				equalRows(t, got, want)
				equalRows(t, readArrowGo(t, path), want)
				if column := file.Metadata().Schema[2]; column.Type.V != format.ByteArray || column.LogicalType.String() != "" {
					t.Errorf("column %v", column)
				}
				if n := file.RowGroups()[0].NumRows(); n != 8 {
					t.Errorf("the first row group has %d rows", n)
				}
				return
			}
			file, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			r, err := ipc.NewFileReader(file)
			if err != nil {
				t.Fatal(err)
			}
			var got [][]any
			for i := range r.NumRecords() {
				batch, err := r.RecordBatchAt(i)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, cells(t, batch)...)
			}
			equalRows(t, got, want)
		})
	}
}

func TestPackBytes(t *testing.T) {
	s, err := NewSpool(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	rows := fillBytes(t, 1001, 64, s)
	if err := s.Keep("t_a", "2026-11-23", ""); err != nil {
		t.Fatal(err)
	}
	files, err := s.Pack(t.TempDir(), []*table.Schema{PackedSchema(table.Schemas[bytesTables]()[0])}, "v1")
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		rows[i] = append([]any{"t_a", "2026-11-23"}, rows[i]...)
	}
	got, _ := readParquetGo(t, files[0].Path)
	equalRows(t, got, rows)
}
