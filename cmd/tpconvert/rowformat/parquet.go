package rowformat

import (
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"

	exportarrow "github.com/tpconvert/tpconvert/export/arrow"
)

// parquetFile writes records to a Parquet file, each as a row group. Arrow's own writer
// of records would link all Arrow types and RPC, which would slow every start of the
// command.
type parquetFile struct{ *file.Writer }

func parquetSink(out io.Writer, columns *arrow.Schema) (recordSink, error) {
	var nodes schema.FieldList
	for _, f := range columns.Fields() {
		node, err := parquetNode(f)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, node)
	}
	root, err := schema.NewGroupNode("schema", parquet.Repetitions.Required, nodes, -1)
	if err != nil {
		return nil, err
	}
	properties := parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Zstd))
	w := file.NewParquetWriter(out, root, file.WithWriterProps(properties))
	pandas := exportarrow.PandasMetadata(columns.Fields())
	return parquetFile{w}, w.AppendKeyValueMetadata(pandas[0], pandas[1])
}

func parquetNode(f arrow.Field) (schema.Node, error) {
	physical, ok := map[arrow.Type]parquet.Type{
		arrow.INT64: parquet.Types.Int64, arrow.FLOAT64: parquet.Types.Double, arrow.BOOL: parquet.Types.Boolean,
		arrow.BINARY: parquet.Types.ByteArray, arrow.STRING: parquet.Types.ByteArray,
	}[f.Type.ID()]
	if !ok {
		return nil, fmt.Errorf("column %s: no Parquet type for %s", f.Name, f.Type)
	}
	if f.Type.ID() == arrow.STRING {
		return schema.NewPrimitiveNodeLogical(f.Name, parquet.Repetitions.Optional, schema.StringLogicalType{}, physical, -1, -1)
	}
	return schema.NewPrimitiveNode(f.Name, parquet.Repetitions.Optional, physical, -1, -1)
}

// Write writes a record as a row group.
func (p parquetFile) Write(record arrow.RecordBatch) error {
	group, err := p.AppendRowGroupChecked()
	if err != nil {
		return err
	}
	for _, values := range record.Columns() {
		column, err := group.NextColumn()
		if err != nil {
			return err
		}
		if err := errors.Join(writeColumn(column, values), column.Close()); err != nil {
			return err
		}
	}
	return group.Close()
}

func writeColumn(column file.ColumnChunkWriter, values arrow.Array) (err error) {
	// The definition level of a value is 1 and that of NULL 0; only values that are not NULL are written.
	levels := make([]int16, values.Len())
	for i := range levels {
		if values.IsValid(i) {
			levels[i] = 1
		}
	}
	switch w := column.(type) {
	case *file.Int64ColumnChunkWriter:
		_, err = w.WriteBatch(present(values, values.(*array.Int64).Value), levels, nil)
	case *file.Float64ColumnChunkWriter:
		_, err = w.WriteBatch(present(values, values.(*array.Float64).Value), levels, nil)
	case *file.BooleanColumnChunkWriter:
		_, err = w.WriteBatch(present(values, values.(*array.Boolean).Value), levels, nil)
	case *file.ByteArrayColumnChunkWriter:
		value := func(i int) parquet.ByteArray { return parquet.ByteArray(values.(*array.String).Value(i)) }
		if binary, ok := values.(*array.Binary); ok {
			value = func(i int) parquet.ByteArray { return binary.Value(i) }
		}
		_, err = w.WriteBatch(present(values, value), levels, nil)
	}
	return err
}

// present returns the values that are not NULL.
func present[T any](values arrow.Array, value func(int) T) []T {
	all := make([]T, 0, values.Len()-values.NullN())
	for i := range values.Len() {
		if values.IsValid(i) {
			all = append(all, value(i))
		}
	}
	return all
}
