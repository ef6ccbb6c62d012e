package parquetfile_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/tpconvert/tpconvert/ingest/internal/parquetfile"
)

var fields = []arrow.Field{
	{Name: "i", Type: arrow.PrimitiveTypes.Int64}, {Name: "u", Type: arrow.PrimitiveTypes.Uint32}, {Name: "b", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
	{Name: "f", Type: arrow.PrimitiveTypes.Float32, Nullable: true}, {Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "l", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true},
	{Name: "deep", Type: arrow.ListOf(arrow.ListOf(arrow.PrimitiveTypes.Int64)), Nullable: true},
	{Name: "both", Type: arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int64}, arrow.Field{Name: "y", Type: arrow.PrimitiveTypes.Int64}), Nullable: true},
}

// written returns the file that Arrow's library writes of rows in JSON, with a row group for each text.
func written(t *testing.T, groups ...string) []byte {
	t.Helper()
	schema := arrow.NewSchema(fields, nil)
	var out bytes.Buffer
	w, err := pqarrow.NewFileWriter(schema, &out, parquet.NewWriterProperties(parquet.WithDataPageSize(64)), pqarrow.DefaultWriterProps())
	if err != nil {
		t.Fatal(err)
	}
	for _, rows := range groups {
		batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader("["+rows+"]"))
		if err == nil {
			err = w.Write(batch)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func text(values []parquetfile.Value) string {
	var all []string
	for _, v := range values {
		all = append(all, [...]string{"NULL", fmt.Sprint(v.Int), fmt.Sprintf("bool %d", v.Int), fmt.Sprint(v.Real), fmt.Sprintf("%q", v.Text)}[v.Kind])
	}
	return strings.Join(all, " ")
}

// rows returns the rows of a file, or the first error.
func rows(data []byte) (all []string, err error) {
	f, err := parquetfile.Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	for g := range f.Groups() {
		r, err := f.Group(g)
		if err != nil {
			return all, err
		}
		for r.Next() {
			var row []string
			for i := range f.Columns {
				row = append(row, text(r.Values(i)))
			}
			all = append(all, strings.Join(row, "|"))
		}
		if r.Err != nil {
			return all, r.Err
		}
	}
	return all, nil
}

func TestRows(t *testing.T) {
	data := written(t, `{"i":-1,"u":4000000000,"b":true,"f":1.5,"s":"a","l":["x","y"],"deep":[[1]],"both":{"x":1,"y":2}},
		{"i":2,"u":0,"b":false,"f":null,"s":null,"l":null,"deep":null,"both":null}`,
		`{"i":3,"u":1,"b":null,"f":-2,"s":"","l":[],"deep":[],"both":{"x":1,"y":2}},{"i":4,"u":1,"b":null,"f":0,"s":"z","l":[null,"y"],"deep":null,"both":null}`)
	f, err := parquetfile.Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(f.Columns, []string{"i", "u", "b", "f", "s", "l"}) || !slices.Equal(f.Skipped, []string{"deep", "both", "both"}) || f.Rows() != 4 || f.Groups() != 2 {
		t.Errorf("columns %q, skipped %q, %d rows in %d groups", f.Columns, f.Skipped, f.Rows(), f.Groups())
	}
	want := []string{`-1|-294967296|bool 1|1.5|"a"|"x" "y"`, "2|0|bool 0|NULL|NULL|", `3|1|NULL|-2|""|`, `4|1|NULL|0|"z"|NULL "y"`}
	if got, err := rows(data); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v\n%s\nwant\n%s", err, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A list may go on in the next page, and a column has more values than a batch.
func TestLongColumns(t *testing.T) {
	var all []string
	for i := range 5000 {
		all = append(all, fmt.Sprintf(`{"i":%d,"u":1,"l":["%04d","b","c"]}`, i, i))
	}
	got, err := rows(written(t, strings.Join(all, ",")))
	if err != nil || len(got) != 5000 {
		t.Fatalf("%d rows, %v", len(got), err)
	}
	for i, row := range got {
		if want := fmt.Sprintf(`%d|1|NULL|NULL|NULL|"%04d" "b" "c"`, i, i); row != want {
			t.Fatalf("row %d: %s, want %s", i, row, want)
		}
	}
}

// What is damaged is an error, not a panic, and no byte that is changed gives more rows.
func TestDamage(t *testing.T) {
	data := written(t, `{"i":1,"u":1,"s":"some text","l":["x"]},{"i":2,"u":1,"s":"b","l":["y"]}`)
	for i := range data {
		if _, err := rows(data[:i]); err == nil {
			t.Fatalf("cut at %d of %d: no error", i, len(data))
		}
		damaged := slices.Clone(data)
		damaged[i] ^= 0xff
		if got, _ := rows(damaged); len(got) > 2 {
			t.Fatalf("byte %d changed: %d rows", i, len(got))
		}
	}
}

// A chunk that says it has very many bytes takes no memory for them.
func TestHugeChunk(t *testing.T) {
	whole := written(t, `{"i":1,"u":2}`)
	reader, err := file.NewParquetReader(bytes.NewReader(whole))
	if err != nil {
		t.Fatal(err)
	}
	chunk, err := reader.MetaData().RowGroup(0).ColumnChunk(0)
	if err != nil {
		t.Fatal(err)
	}
	footer := len(whole) - 8 - int(binary.LittleEndian.Uint32(whole[len(whole)-8:]))
	sizes := func(compressed int64) []byte { // in the compact protocol of Thrift, each with the head of its field
		return binary.AppendVarint(append(binary.AppendVarint([]byte{0x16}, chunk.TotalUncompressedSize()), 0x16), compressed)
	}
	damaged := bytes.Replace(whole[footer:len(whole)-8], sizes(chunk.TotalCompressedSize()), sizes(1<<33), 1)
	damaged = append(append(whole[:footer:footer], damaged...), binary.LittleEndian.AppendUint32(nil, uint32(len(damaged)))...)
	damaged = append(damaged, "PAR1"...)
	if len(damaged) == len(whole) {
		t.Fatal("the size of the chunk was not found")
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := rows(damaged)
	runtime.ReadMemStats(&after)
	if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 64<<20 {
		t.Errorf("%d bytes for %q, %v", bytes, got, err)
	}
}
