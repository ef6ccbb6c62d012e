package work

import (
	"fmt"
	"iter"
	"os"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/model/table"
)

var arrowTypes = map[table.Type]arrow.DataType{
	table.TypeInt64: arrow.PrimitiveTypes.Int64, table.TypeInt32: arrow.PrimitiveTypes.Int32, table.TypeFloat64: arrow.PrimitiveTypes.Float64,
	table.TypeBool: arrow.FixedWidthTypes.Boolean, table.TypeString: arrow.BinaryTypes.String, table.TypeBytes: arrow.BinaryTypes.Binary,
}

const day = "2026-11-23"

// rowsOf makes rows of two traces with a value, NULL and an empty value in each column that may have them.
func rowsOf(t *testing.T, s *table.Schema) arrow.RecordBatch {
	t.Helper()
	var fields []arrow.Field
	for _, c := range s.Columns {
		fields = append(fields, arrow.Field{Name: c.Name, Type: arrowTypes[c.Type], Nullable: c.Nullable})
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(fields, nil))
	defer b.Release()
	packed := export.PackedColumns(s)
	for i, trace := range []string{"one", "one", "one", "two"} {
		b.Field(0).(*array.StringBuilder).Append(trace)
		b.Field(1).(*array.StringBuilder).Append(day)
		if packed > 2 {
			b.Field(2).(*array.StringBuilder).Append([]string{"first", "second", "second", "first"}[i])
		}
		for n, c := range s.Columns[packed:] {
			if c.Nullable && i == 1 {
				b.Field(n + packed).AppendNull()
				continue
			}
			switch to := b.Field(n + packed).(type) {
			case *array.Int64Builder:
				to.Append(int64(i) << 40)
			case *array.Int32Builder:
				to.Append(int32(i) << 20)
			case *array.Float64Builder:
				to.Append(float64(i) / 3)
			case *array.BooleanBuilder:
				to.Append(i == 0)
			case *array.StringBuilder:
				to.Append([]string{"a", "", "", "é"}[i])
			case *array.BinaryBuilder:
				to.Append([][]byte{{0xff, 0, 0x80}, nil, {}, {1}}[i])
			default:
				t.Fatalf("%s.%s is %T", s.Name, c.Name, to)
			}
		}
	}
	return b.NewRecordBatch()
}

// TestRepack packs rows of every table that tasks write again, and reads the same.
func TestRepack(t *testing.T) {
	all := task.Packed()
	for _, s := range task.Packed() {
		all = append(all, export.WithAttempt(s))
	}
	for _, s := range all {
		want := rowsOf(t, s)
		defer want.Release()
		for i := range s.Columns {
			s.Columns[i].Field = i + 1
		}
		want.Retain() // Repack releases batches
		var batches iter.Seq2[arrow.RecordBatch, error] = func(yield func(arrow.RecordBatch, error) bool) { yield(want, nil) }
		files := 0
		err := Repack(t.TempDir(), "test", s, batches, Repacking{}, func(f task.File, path string) error {
			files++
			if got := read(t, path); f.Rows != 4 || got != fmt.Sprint(want.Columns()) {
				t.Errorf("%s has %d rows: %s, want %v", s.Name, f.Rows, got, want.Columns())
			}
			return nil
		})
		if err != nil || files != 1 {
			t.Errorf("%s: %d files, %v", s.Name, files, err)
		}
	}
}

// The rows of one attempt stay, of a trace that several made.
func TestRepackAttempts(t *testing.T) {
	s := export.WithAttempt(task.Packed()[0])
	for i, want := range []struct {
		gone Gone
		rows int64
	}{{nil, 4}, {Gone{"one": "second"}, 3}, {Gone{"one": "first", "two": "third"}, 1}, {Gone{"one": ""}, 1}} {
		batch := rowsOf(t, s)
		var batches iter.Seq2[arrow.RecordBatch, error] = func(yield func(arrow.RecordBatch, error) bool) { yield(batch, nil) }
		err := Repack(t.TempDir(), "test", s, batches, Repacking{Gone: want.gone}, func(f task.File, _ string) error {
			if f.Rows != want.rows {
				t.Errorf("%d: %d rows, want %d", i, f.Rows, want.rows)
			}
			return nil
		})
		if err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
}

// read returns the columns of a Parquet file as text.
func read(t *testing.T, path string) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := file.NewParquetReader(f)
	if err != nil {
		t.Fatal(err)
	}
	all, err := pqarrow.NewFileReader(r, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := all.ReadTable(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Release()
	var columns []arrow.Array
	for i := range int(rows.NumCols()) {
		columns = append(columns, rows.Column(i).Data().Chunk(0))
	}
	return fmt.Sprint(columns)
}
