package parquetfile

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
)

// Pages without a dictionary have other texts at the addresses of those before.
func TestTextsOfPages(t *testing.T) {
	const rows = 5000
	for _, dictionary := range []bool{false, true} {
		var b bytes.Buffer
		root := schema.MustGroup(schema.NewGroupNode("x", parquet.Repetitions.Required, schema.FieldList{
			schema.NewByteArrayNode("name", parquet.Repetitions.Optional, -1)}, -1))
		w := file.NewParquetWriter(&b, root, file.WithWriterProps(parquet.NewWriterProperties(
			parquet.WithDictionaryDefault(dictionary), parquet.WithDataPageSize(1000), parquet.WithBatchSize(100))))
		group, err := w.AppendRowGroupChecked()
		if err != nil {
			t.Fatal(err)
		}
		column, err := group.NextColumn()
		if err != nil {
			t.Fatal(err)
		}
		want := make([]any, rows)
		var texts []parquet.ByteArray
		levels := make([]int16, rows)
		for i := range rows {
			if i%7 == 0 {
				continue
			}
			text := fmt.Sprintf("%04d", i%3000)
			want[i], levels[i] = text, 1
			texts = append(texts, parquet.ByteArray(text))
		}
		if _, err := column.(*file.ByteArrayColumnChunkWriter).WriteBatch(texts, levels, nil); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		f, err := Open(bytes.NewReader(b.Bytes()), dataframe.NewPool())
		if err != nil {
			t.Fatal(err)
		}
		f.Slice(10, rows)
		names, err := f.Texts("name")
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range want[10:] {
			if got := names.Any(i); got != text {
				t.Fatalf("with a dictionary %v, row %d is %v, not %v", dictionary, i+10, got, text)
			}
		}
		if err := f.Read("name", dataframe.NewValues(dataframe.Integer)); err == nil {
			t.Fatal("a column of texts is read as integers")
		}
	}
}
