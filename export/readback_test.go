package export

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	parquetgo "github.com/parquet-go/parquet-go"

	"github.com/tpconvert/tpconvert/export/parquet"
	"github.com/tpconvert/tpconvert/model/table"
)

// kinds has a column of every type, both with and without NULLs.
type kinds struct {
	table.Table `tp:"kinds" doc:"One of each."`
	TS          table.Int64   `tp:"2,ts,asc" doc:"Ascends."`
	Int64       table.Int64   `tp:"3,int64,null" doc:"Sometimes NULL."`
	Hash        table.Int64   `tp:"4,hash" doc:"One of a few hashes."`
	Address     table.Int64   `tp:"5,address,null" doc:"One of a few addresses."`
	Unique      table.Int64   `tp:"6,unique" doc:"Another hash each time."`
	Int32       table.Int32   `tp:"7,int32" doc:"Small."`
	NullInt32   table.Int32   `tp:"8,null_int32,null" doc:"Small or NULL."`
	Float       table.Float64 `tp:"9,float" doc:"One of a few."`
	NullFloat   table.Float64 `tp:"10,null_float,null" doc:"Anything."`
	Bool        table.Bool    `tp:"12,bool" doc:"A flag."`
	NullBool    table.Bool    `tp:"13,null_bool,null" doc:"A flag or NULL."`
	Text        table.String  `tp:"14,text" doc:"Words."`
	Again       table.String  `tp:"18,again" doc:"The same words."`
	Never       table.Int64   `tp:"15,never,null" doc:"Always NULL."`
	NeverText   table.String  `tp:"16,never_text" doc:"Always NULL."`
	Zeros       table.Float64 `tp:"17,zeros" doc:"Zeros of both signs and NaN."`
	Same        table.RowID   `tp:"11,same" doc:"The same as id."`
}

// kindsChild has the ids of some rows of kinds.
type kindsChild struct {
	kinds `tp:"kinds_child" doc:"Some of them."`
	More  table.String `tp:"101,more" doc:"More."`
}

type kindsTables struct {
	Kinds kinds
	Child kindsChild
	None  struct {
		table.Table `tp:"none" doc:"Nothing."`
		Text        table.String `tp:"2,text" doc:"Text."`
		Flag        table.Bool   `tp:"3,flag" doc:"A flag."`
	}
}

func kindsSchemas() []*table.Schema {
	return table.Schemas[kindsTables]()
}

// fill sends n rows in chunks to the sink and returns the rows of kinds and of
// kinds_child, with floats as their bits.
func fill(t testing.TB, n, chunkRows int, to table.Sink) (parents, children [][]any) {
	t.Helper()
	pool := table.NewStringPool()
	var tables kindsTables
	set := table.NewSet(&tables, pool, chunkRows, to, table.Parking{})
	random := rand.New(rand.NewPCG(3, 4))
	hashes := []int64{random.Int64(), -random.Int64(), random.Int64(), math.MinInt64, math.MaxInt64}
	zeros := []float64{0, math.Copysign(0, -1), math.NaN(), 1}
	ts := int64(1_000_000)
	for i := range n {
		k := &tables.Kinds
		row := k.Append()
		ts += random.Int64N(1000)
		want := []any{row, ts, nil, hashes[random.IntN(5)], nil, random.Int64() - random.Int64(), int32(random.IntN(100) - 50), nil,
			math.Float64bits(float64(random.IntN(5)) / 4), nil, random.IntN(2) == 0, nil, nil, nil, nil, nil,
			math.Float64bits(zeros[random.IntN(4)]), row}
		k.TS.Set(row, ts)
		k.Hash.Set(row, want[3].(int64))
		k.Unique.Set(row, want[5].(int64))
		k.Int32.Set(row, want[6].(int32))
		k.Float.Set(row, math.Float64frombits(want[8].(uint64)))
		k.Bool.Set(row, want[10].(bool))
		k.Zeros.Set(row, math.Float64frombits(want[16].(uint64)))
		if random.IntN(3) > 0 {
			want[2] = random.Int64N(1 << 20)
			k.Int64.Set(row, want[2].(int64))
		}
		if random.IntN(3) > 0 {
			want[4] = hashes[random.IntN(5)]
			k.Address.Set(row, want[4].(int64))
		}
		if random.IntN(3) > 0 {
			want[7] = int32(random.IntN(7))
			k.NullInt32.Set(row, want[7].(int32))
		}
		// Only some chunks have values in these two columns.
		if i/chunkRows%2 == 1 && random.IntN(2) == 0 {
			want[9] = math.Float64bits(random.NormFloat64())
			k.NullFloat.Set(row, math.Float64frombits(want[9].(uint64)))
			want[11] = random.IntN(2) == 0
			k.NullBool.Set(row, want[11].(bool))
		}
		if random.IntN(4) > 0 {
			want[12] = fmt.Sprintf("word %d é", random.IntN(8+i/20))
			if random.IntN(20) == 0 || i/chunkRows == 3 {
				want[12] = "" // one chunk has only empty text
			}
			k.Text.Set(row, pool.Intern(want[12].(string)))
			if i < 7*chunkRows { // in later chunks the two columns differ
				want[13] = want[12]
				k.Again.Set(row, pool.Intern(want[13].(string)))
			}
		}
		parents = append(parents, want)
		if row%3 == 2 {
			c := &tables.Child
			at := c.Append()
			c.SetID(at, row)
			c.More.Set(at, pool.Intern("more"))
			child := []any{row, int64(0), nil, int64(0), nil, int64(0), int32(0), nil, uint64(0), nil, false, nil, nil, nil, nil, nil, uint64(0), at, "more"}
			children = append(children, child)
		}
	}
	set.Finish()
	if err := set.Err(); err != nil {
		t.Fatal(err)
	}
	return parents, children
}

// writeKinds writes n rows to a new dataset and returns its folder and the rows.
func writeKinds(t testing.TB, n, chunkRows int, o Options) (dir string, parents, children [][]any) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "out")
	o.Schemas, o.Version = kindsSchemas(), "1.2.3"
	w, err := Create(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	parents, children = fill(t, n, chunkRows, w)
	if err := w.Commit(&Manifest{TraceID: "t_1"}); err != nil {
		t.Fatal(err)
	}
	return dir, parents, children
}

func equalRows(t *testing.T, got, want [][]any) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d rows, want %d", len(got), len(want))
	}
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Fatalf("row %d:\n got %v\nwant %v", i, got[i], want[i])
		}
	}
}

// readParquetGo reads a file with a reader that shares no code with the writer.
func readParquetGo(t *testing.T, path string) (rows [][]any, f *parquetgo.File) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err = parquetgo.OpenFile(readerAt(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range f.RowGroups() {
		r := g.Rows()
		defer r.Close()
		for buffer := make([]parquetgo.Row, 100); ; {
			n, err := r.ReadRows(buffer)
			for _, values := range buffer[:n] {
				var row []any
				for _, v := range values {
					row = append(row, plain(v))
				}
				rows = append(rows, row)
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return rows, f
}

func plain(v parquetgo.Value) any {
	switch {
	case v.IsNull():
		return nil
	case v.Kind() == parquetgo.Int64:
		return v.Int64()
	case v.Kind() == parquetgo.Int32:
		return v.Int32()
	case v.Kind() == parquetgo.Double:
		return math.Float64bits(v.Double())
	case v.Kind() == parquetgo.Boolean:
		return v.Boolean()
	default:
		return string(v.ByteArray())
	}
}

type readerAt []byte

func (r readerAt) ReadAt(p []byte, at int64) (int, error) {
	n := copy(p, r[at:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// cells returns the rows of a batch.
func cells(t *testing.T, batch arrow.RecordBatch) [][]any {
	t.Helper()
	rows := make([][]any, batch.NumRows())
	for _, column := range batch.Columns() {
		for i := range rows {
			var v any
			if column.IsValid(i) {
				switch a := column.(type) {
				case *array.Int64:
					v = a.Value(i)
				case *array.Int32:
					v = a.Value(i)
				case *array.Float64:
					v = math.Float64bits(a.Value(i))
				case *array.Boolean:
					v = a.Value(i)
				case *array.Binary:
					v = string(a.Value(i))
				case *array.String:
					v = a.Value(i)
				case *array.Dictionary:
					v = a.Dictionary().(*array.String).Value(a.GetValueIndex(i))
				default:
					t.Fatalf("column of %s", column.DataType())
				}
			}
			rows[i] = append(rows[i], v)
		}
	}
	return rows
}

func readArrowGo(t *testing.T, path string) (rows [][]any) {
	t.Helper()
	f, err := file.OpenParquetFile(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{BatchSize: 1000}, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	batches, err := r.GetRecordReader(context.Background(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer batches.Release()
	for batches.Next() {
		rows = append(rows, cells(t, batches.RecordBatch())...)
	}
	if err := batches.Err(); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return rows
}

func TestParquetReadsBack(t *testing.T) {
	for _, compression := range []string{"zstd", "zstd:9", "gzip:1", "snappy", "none"} {
		for _, size := range []struct{ rows, chunk int }{{1, 8}, {8, 8}, {1001, 64}, {9000, 6000}} {
			t.Run(fmt.Sprint(compression, size), func(t *testing.T) {
				c, err := ParseCompression(compression)
				if err != nil {
					t.Fatal(err)
				}
				dir, parents, children := writeKinds(t, size.rows, size.chunk, Options{Compression: c})
				path := filepath.Join(dir, "kinds.parquet")
				got, f := readParquetGo(t, path)
				equalRows(t, got, parents)
				equalRows(t, readArrowGo(t, path), parents)
				if n, want := len(f.RowGroups()), (size.rows+size.chunk-1)/size.chunk; n != want {
					t.Errorf("%d row groups, want %d", n, want)
				}
				if len(children) > 0 {
					got, _ = readParquetGo(t, filepath.Join(dir, "kinds_child.parquet"))
					equalRows(t, got, children)
				}
			})
		}
	}
}

func TestParquetSchema(t *testing.T) {
	dir, _, _ := writeKinds(t, 1000, 400, Options{})
	_, f := readParquetGo(t, filepath.Join(dir, "kinds.parquet"))
	schema := kindsSchemas()[0]
	for i, field := range f.Schema().Fields() {
		c := schema.Columns[i]
		element := f.Metadata().Schema[1+i]
		if field.Name() != c.Name || int(element.FieldID) != c.Field || field.Optional() != c.Nullable {
			t.Errorf("column %d is %s, field %d, optional %t; want %s, %d, %t",
				i, field.Name(), element.FieldID, field.Optional(), c.Name, c.Field, c.Nullable)
		}
		logical := ""
		if c.Type == table.TypeString {
			logical = "STRING"
		}
		if got := element.LogicalType.String(); got != logical {
			t.Errorf("column %s has logical type %q, want %q", c.Name, got, logical)
		}
	}
	for key, want := range map[string]string{
		"tpconvert.schema_version": fmt.Sprint(table.SchemaVersion), "tpconvert.trace_id": "t_1", "tpconvert.version": "1.2.3",
	} {
		if got, _ := f.Lookup(key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	var pandas struct {
		Columns []struct {
			Name string
			Type string `json:"numpy_type"`
		}
	}
	value, _ := f.Lookup("pandas")
	if err := json.Unmarshal([]byte(value), &pandas); err != nil {
		t.Fatal(err)
	}
	types := map[string]string{}
	for _, c := range pandas.Columns {
		types[c.Name] = c.Type
	}
	for _, c := range schema.Columns {
		want := map[table.Type]string{table.TypeInt64: "Int64", table.TypeInt32: "Int32", table.TypeBool: "boolean"}[c.Type]
		if !c.Nullable {
			want = ""
		}
		if types[c.Name] != want {
			t.Errorf("pandas reads %s as %q, want %q", c.Name, types[c.Name], want)
		}
	}
	for _, group := range f.Metadata().RowGroups {
		if s := group.SortingColumns; len(s) != 1 || s[0].ColumnIdx != 0 || s[0].Descending {
			t.Errorf("sorting columns %v", s)
		}
	}
	if columns := len(f.ColumnIndexes()); columns != 3*len(schema.Columns) {
		t.Errorf("the page index has %d columns", columns)
	}
}

func TestParquetEncodings(t *testing.T) {
	dir, _, _ := writeKinds(t, 1000, 1000, Options{})
	f, err := file.OpenParquetFile(filepath.Join(dir, "kinds.parquet"), false)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for column, want := range map[string]string{
		"id": "DELTA_BINARY_PACKED", "ts": "DELTA_BINARY_PACKED", "int64": "DELTA_BINARY_PACKED", "int32": "DELTA_BINARY_PACKED",
		"hash": "RLE_DICTIONARY", "address": "RLE_DICTIONARY", "unique": "PLAIN", "float": "RLE_DICTIONARY", "text": "RLE_DICTIONARY",
	} {
		chunk, err := f.MetaData().RowGroup(0).ColumnChunk(f.MetaData().Schema.ColumnIndexByName(column))
		if err != nil {
			t.Fatal(err)
		}
		if got := chunk.Encodings()[0].String(); got != want {
			t.Errorf("%s is %s, want %s", column, got, want)
		}
	}
}

// limits returns the least and greatest value of a column, as Parquet's
// statistics store them, and the number of NULLs.
func limits(rows [][]any, column int) (least, greatest any, nulls int64) {
	for _, row := range rows {
		v := row[column]
		if v == nil {
			nulls++
			continue
		}
		if bits, ok := v.(uint64); ok && math.IsNaN(math.Float64frombits(bits)) {
			continue
		}
		if least == nil || less(v, least) {
			least = v
		}
		if greatest == nil || less(greatest, v) {
			greatest = v
		}
	}
	if bits, ok := least.(uint64); ok && math.Float64frombits(bits) == 0 {
		least = math.Float64bits(math.Copysign(0, -1))
	}
	if bits, ok := greatest.(uint64); ok && math.Float64frombits(bits) == 0 {
		greatest = uint64(0)
	}
	return least, greatest, nulls
}

func less(a, b any) bool {
	switch a := a.(type) {
	case int64:
		return a < b.(int64)
	case int32:
		return a < b.(int32)
	case uint64:
		return math.Float64frombits(a) < math.Float64frombits(b.(uint64))
	case bool:
		return !a && b.(bool)
	default:
		return a.(string) < b.(string)
	}
}

func TestParquetStatistics(t *testing.T) {
	dir, rows, _ := writeKinds(t, 3000, 1000, Options{})
	_, f := readParquetGo(t, filepath.Join(dir, "kinds.parquet"))
	for g, group := range f.RowGroups() {
		for i, column := range kindsSchemas()[0].Columns {
			least, greatest, nulls := limits(rows[g*1000:][:1000], i)
			chunk := group.ColumnChunks()[i].(*parquetgo.FileColumnChunk)
			if chunk.NullCount() != nulls {
				t.Errorf("%s: %d NULLs, want %d", column.Name, chunk.NullCount(), nulls)
			}
			low, high, ok := chunk.Bounds()
			if ok != (least != nil) || ok && (plain(low) != least || plain(high) != greatest) {
				t.Errorf("%s: %v to %v, want %v to %v", column.Name, low, high, least, greatest)
			}
		}
	}
}

// TestParquetPages writes row groups of several pages.
func TestParquetPages(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long to make so many rows")
	}
	const groupRows = 2*parquet.PageRows + 8
	dir, rows, _ := writeKinds(t, groupRows+100, groupRows, Options{})
	path := filepath.Join(dir, "kinds.parquet")
	got, f := readParquetGo(t, path)
	equalRows(t, got, rows)
	equalRows(t, readArrowGo(t, path), rows)
	for i, column := range kindsSchemas()[0].Columns {
		chunk := f.RowGroups()[0].ColumnChunks()[i]
		offsets, err := chunk.OffsetIndex()
		if err != nil {
			t.Fatal(err)
		}
		limited, err := chunk.ColumnIndex()
		if err != nil {
			t.Fatal(err)
		}
		if offsets.NumPages() != 3 || limited.NumPages() != 3 {
			t.Fatalf("%s has %d pages, limits of %d", column.Name, offsets.NumPages(), limited.NumPages())
		}
		for p := range 3 {
			first, end := p*parquet.PageRows, min((p+1)*parquet.PageRows, groupRows)
			least, greatest, nulls := limits(rows[first:end], i)
			if int(offsets.FirstRowIndex(p)) != first || limited.NullCount(p) != nulls || limited.NullPage(p) != (least == nil) {
				t.Errorf("page %d of %s begins at row %d and has %d NULLs, want %d and %d", p, column.Name, offsets.FirstRowIndex(p), limited.NullCount(p), first, nulls)
			}
			if least == nil {
				continue
			}
			low, high := plain(limited.MinValue(p)), plain(limited.MaxValue(p))
			if less(least, low) || less(high, greatest) || column.Asc && (low != least || high != greatest) {
				t.Errorf("page %d of %s: %v to %v, want %v to %v", p, column.Name, low, high, least, greatest)
			}
		}
	}
}

func TestArrowReadsBack(t *testing.T) {
	for _, codec := range []string{"zstd", "none"} {
		dir, parents, children := writeKinds(t, 1001, 100, Options{Format: Arrow, Compression: Compression{codec: codec}})
		for name, want := range map[string][][]any{"kinds": parents, "kinds_child": children} {
			f, err := os.Open(filepath.Join(dir, name+".arrow"))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			r, err := ipc.NewFileReader(f)
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
			if id, _ := r.Schema().Metadata().GetValue("tpconvert.trace_id"); id != "t_1" {
				t.Errorf("trace id %q", id)
			}
			if doc, _ := r.Schema().Field(1).Metadata.GetValue("doc"); doc != "Ascends." {
				t.Errorf("doc %q", doc)
			}
			if text := r.Schema().Field(12); text.Type.ID() != arrow.DICTIONARY || !text.Nullable || r.Schema().Field(0).Nullable {
				t.Errorf("schema %v", r.Schema())
			}
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		if len(entries) != 3 {
			t.Errorf("the dataset has %v", entries)
		}
	}
}

func TestSameBytesWhateverTheJobs(t *testing.T) {
	for _, format := range []string{Parquet, Arrow} {
		var want []byte
		for _, jobs := range []int{1, 2, 8} {
			dir, _, _ := writeKinds(t, 5000, 100, Options{Format: format, Jobs: jobs})
			got, err := os.ReadFile(filepath.Join(dir, "kinds."+format))
			if err != nil {
				t.Fatal(err)
			}
			if want != nil && !slices.Equal(got, want) {
				t.Errorf("%s: %d jobs make other bytes", format, jobs)
			}
			want = got
		}
	}
}
