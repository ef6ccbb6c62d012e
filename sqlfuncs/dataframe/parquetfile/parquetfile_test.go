package parquetfile

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/tpconvert/tpconvert/export/encoding"
	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
)

const rows = 5000

// write writes a file with one column, which has the values that are present.
func write[T any](t *testing.T, node schema.Node, batch func(file.ColumnChunkWriter) func([]T, []int16, []int16) (int64, error), value func(i int) T, present func(i int) bool, o ...parquet.WriterProperty) []byte {
	t.Helper()
	var b bytes.Buffer
	root := schema.MustGroup(schema.NewGroupNode("x", parquet.Repetitions.Required, schema.FieldList{node}, -1))
	o = append(o, parquet.WithDataPageSize(1000), parquet.WithBatchSize(100))
	w := file.NewParquetWriter(&b, root, file.WithWriterProps(parquet.NewWriterProperties(o...)))
	for group := range 2 {
		g, err := w.AppendRowGroupChecked()
		if err != nil {
			t.Fatal(err)
		}
		column, err := g.NextColumn()
		if err != nil {
			t.Fatal(err)
		}
		var values []T
		levels := make([]int16, rows/2)
		for i := range levels {
			if row := group*rows/2 + i; present(row) {
				levels[i] = 1
				values = append(values, value(row))
			}
		}
		if node.RepetitionType() == parquet.Repetitions.Required {
			levels = nil
		}
		if _, err := batch(column)(values, levels, nil); err != nil {
			t.Fatal(err)
		}
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// open opens a file without some rows at its ends.
func open(t *testing.T, data []byte, from, to int) *File {
	t.Helper()
	f, err := Open(bytes.NewReader(data), dataframe.NewPool())
	if err != nil {
		t.Fatal(err)
	}
	f.Slice(from, to)
	return f
}

// check compares the rows of a part of the column with what was written.
func check[T any](t *testing.T, data []byte, kind dataframe.Kind, value func(i int) T, present func(i int) bool) {
	t.Helper()
	for _, part := range [][2]int{{0, rows}, {10, rows - 10}, {rows/2 - 1, rows/2 + 1}, {rows - 1, rows}} {
		f, to := open(t, data, part[0], part[1]), dataframe.NewValues(kind)
		if err := f.Read("x", f.Len(), to); err != nil {
			t.Fatal(err)
		}
		got := to.Reader(f.pool)
		for i := range part[1] - part[0] {
			want := any(nil)
			if present(part[0] + i) {
				want = value(part[0] + i)
			}
			if fmt.Sprint(got.Any(i)) != fmt.Sprint(want) {
				t.Fatalf("row %d is %v, not %v", part[0]+i, got.Any(i), want)
			}
		}
	}
}

// TestPages compares columns in the encodings, and in both kinds of pages, with what the library has written.
func TestPages(t *testing.T) {
	delta := []parquet.WriterProperty{parquet.WithDictionaryDefault(false), parquet.WithEncoding(parquet.Encodings.DeltaBinaryPacked)}
	encodings := map[string][]parquet.WriterProperty{
		"dictionary":     {parquet.WithDictionaryDefault(true)},
		"dictionary, v2": {parquet.WithDictionaryDefault(true), parquet.WithDataPageVersion(parquet.DataPageV2)},
		"plain":          {parquet.WithDictionaryDefault(false)},
		"plain, v2":      {parquet.WithDictionaryDefault(false), parquet.WithDataPageVersion(parquet.DataPageV2)},
		"full":           {parquet.WithDictionaryDefault(true), parquet.WithDictionaryPageSizeLimit(2000)}, // plain from some page on
	}
	numbers := map[string][]parquet.WriterProperty{"delta": delta, "delta, v2": append(delta, parquet.WithDataPageVersion(parquet.DataPageV2))}
	texts := map[string][]parquet.WriterProperty{
		"delta lengths": {parquet.WithDictionaryDefault(false), parquet.WithEncoding(parquet.Encodings.DeltaLengthByteArray)}, // of the library
	}
	for name, o := range encodings {
		numbers[name], texts[name] = o, o
	}
	r := rand.New(rand.NewPCG(1, 2))
	wide := make([]int64, rows)
	for i := range wide {
		wide[i] = int64(r.Uint64()) >> r.IntN(64)
	}
	text := func(i int) parquet.ByteArray { return parquet.ByteArray(fmt.Sprintf("%04d", i%3000)) }
	for nulls, present := range map[string]func(int) bool{
		"some nulls": func(i int) bool { return i%7 != 0 && i/500 != 3 },
		"no nulls":   func(int) bool { return true },
		"nulls only": func(int) bool { return false },
	} {
		repetition := parquet.Repetitions.Optional
		for name, o := range texts {
			t.Run("text/"+name+"/"+nulls, func(t *testing.T) {
				data := write(t, schema.NewByteArrayNode("x", repetition, -1), func(w file.ColumnChunkWriter) func([]parquet.ByteArray, []int16, []int16) (int64, error) {
					return w.(*file.ByteArrayColumnChunkWriter).WriteBatch
				}, text, present, o...)
				check(t, data, dataframe.Text, func(i int) string { return string(text(i)) }, present)
				if err := open(t, data, 0, rows).Read("x", rows, dataframe.NewValues(dataframe.Integer)); err == nil {
					t.Error("a column of texts is read as integers")
				}
			})
		}
		for name, o := range numbers {
			for shape, value := range map[string]func(int) int64{
				"wide": func(i int) int64 { return wide[i] }, "rising": func(i int) int64 { return int64(i) * 3 }, "ends": func(i int) int64 { return math.MinInt64 + int64(i%2)*-1 },
			} {
				if shape == "wide" && strings.HasPrefix(name, "delta") {
					continue // TestDelta has them; the library fails to write them
				}
				t.Run("int64/"+shape+"/"+name+"/"+nulls, func(t *testing.T) {
					data := write(t, schema.NewInt64Node("x", repetition, -1), func(w file.ColumnChunkWriter) func([]int64, []int16, []int16) (int64, error) {
						return w.(*file.Int64ColumnChunkWriter).WriteBatch
					}, value, present, o...)
					check(t, data, dataframe.Integer, value, present)
				})
				t.Run("int32/"+shape+"/"+name+"/"+nulls, func(t *testing.T) {
					narrow := func(i int) int32 { return int32(value(i)) }
					data := write(t, schema.NewInt32Node("x", repetition, -1), func(w file.ColumnChunkWriter) func([]int32, []int16, []int16) (int64, error) {
						return w.(*file.Int32ColumnChunkWriter).WriteBatch
					}, narrow, present, o...)
					check(t, data, dataframe.Integer, narrow, present)
				})
			}
		}
	}
}

// TestRequired reads a column that has no levels.
func TestRequired(t *testing.T) {
	value := func(i int) int64 { return int64(i * i % 1000) }
	present := func(int) bool { return true }
	for _, version := range []parquet.DataPageVersion{parquet.DataPageV1, parquet.DataPageV2} {
		data := write(t, schema.NewInt64Node("x", parquet.Repetitions.Required, -1), func(w file.ColumnChunkWriter) func([]int64, []int16, []int16) (int64, error) {
			return w.(*file.Int64ColumnChunkWriter).WriteBatch
		}, value, present, parquet.WithDataPageVersion(version))
		check(t, data, dataframe.Integer, value, present)
	}
}

// TestDelta decodes integers of all widths as the export encodes them.
func TestDelta(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for width := range 65 {
		for _, n := range []int{1, 2, 32, 33, 129, 1000} {
			want := make([]int64, n)
			for i := range want {
				want[i] = int64(r.Uint64() >> (64 - width)) // 0 for no bits
			}
			got, err := delta(nil, encoding.Delta(nil, want), n)
			if err != nil || !slices.Equal(got, want) {
				t.Fatalf("%d integers of %d bits: %v, %v, not %v", n, width, got, err, want)
			}
			narrow := make([]int32, n)
			for i, v := range want {
				narrow[i] = int32(v)
				want[i] = int64(narrow[i])
			}
			got, err = delta32(nil, encoding.Delta(nil, narrow), n)
			if err != nil || !slices.Equal(got, want) {
				t.Fatalf("%d integers of 32 bits: %v, %v, not %v", n, got, err, want)
			}
		}
	}
}

// onePage is a column chunk with one page.
type onePage struct {
	file.PageReader
	page file.Page
}

func (o *onePage) Page() file.Page { return o.page }
func (o *onePage) Next() bool      { return false }
func (o *onePage) Err() error      { return nil }

// TestNoDictionary reads a page without its dictionary, after a column that has one.
func TestNoDictionary(t *testing.T) {
	to := dataframe.NewValues(dataframe.Integer)
	indices := encoding.Indices(nil, []int32{0, 0, 0}, 1)
	page := file.NewDataPageV1WithConfig(memory.NewBufferBytes(indices), parquet.Encodings.RLE, parquet.Encodings.RLE,
		file.DataPageConfig{Num: 3, Encoding: parquet.Encodings.RLEDict})
	p := &pages[int64]{codec: codec[int64]{plain: plain64, add: to.Ints}, room: &room[int64]{words: []int64{7}}, to: to, rows: 3}
	if _, err := p.read(&onePage{page: page}, 0, 3); !errors.Is(err, errPage) {
		t.Errorf("the error is %v", err)
	}
}

// TestDamagedPages reads columns whose pages are damaged, which are not compressed so that the decoders see it. None may panic.
func TestDamagedPages(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	present := func(i int) bool { return i%5 != 0 }
	damaged := 0
	for _, encoding := range []parquet.Encoding{parquet.Encodings.DeltaBinaryPacked, parquet.Encodings.Plain, parquet.Encodings.RLEDict} {
		o := []parquet.WriterProperty{parquet.WithDictionaryDefault(encoding == parquet.Encodings.RLEDict)}
		if encoding == parquet.Encodings.DeltaBinaryPacked {
			o = append(o, parquet.WithEncoding(encoding))
		}
		data := write(t, schema.NewInt64Node("x", parquet.Repetitions.Optional, -1), func(w file.ColumnChunkWriter) func([]int64, []int16, []int16) (int64, error) {
			return w.(*file.Int64ColumnChunkWriter).WriteBatch
		}, func(i int) int64 { return int64(i * i) }, present, o...)
		for range 500 {
			changed := bytes.Clone(data)
			for range 1 + r.IntN(3) {
				changed[4+r.IntN(len(data)*3/4)] = byte(r.Uint32())
			}
			f, err := Open(bytes.NewReader(changed), dataframe.NewPool())
			if err != nil {
				continue
			}
			if to := dataframe.NewValues(dataframe.Integer); f.Read("x", f.Len(), to) != nil {
				damaged++
			} else {
				to.Reader(f.pool).Any(rows - 1) // it is there
			}
		}
	}
	if damaged == 0 {
		t.Error("no damage was noticed")
	}
}
