package rowformat

import (
	"errors"
	"io"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tpconvert/tpconvert/model/table"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// arrowTypes are the types of columns in Parquet and Arrow files.
var arrowTypes = map[session.Kind]arrow.DataType{
	session.Integer: arrow.PrimitiveTypes.Int64,
	session.Huge:    arrow.PrimitiveTypes.Float64,
	session.Real:    arrow.PrimitiveTypes.Float64,
	session.Bool:    arrow.FixedWidthTypes.Boolean,
	session.Bytes:   arrow.BinaryTypes.Binary,
	session.Text:    arrow.BinaryTypes.String,
	session.Variant: arrow.BinaryTypes.String,
	session.Nested:  arrow.BinaryTypes.String,
}

// recordSink takes the records of an arWriter.
type recordSink interface {
	Write(arrow.RecordBatch) error
	Close() error
}

func arrowSink(out io.Writer, schema *arrow.Schema) (recordSink, error) {
	return ipc.NewFileWriter(out, ipc.WithSchema(schema))
}

// arWriter writes rows as records, each of which becomes a row group or a batch.
type arWriter struct {
	sink    recordSink
	columns []session.Column
	records *array.RecordBuilder
	rows    int // in the current record
}

func newArWriter(out io.Writer, columns []session.Column, open func(io.Writer, *arrow.Schema) (recordSink, error)) (*arWriter, error) {
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		fields[i] = arrow.Field{Name: c.Name, Type: arrowTypes[c.Kind], Nullable: true}
	}
	schema := arrow.NewSchema(fields, nil)
	sink, err := open(out, schema)
	if err != nil {
		return nil, err
	}
	return &arWriter{sink: sink, columns: columns, records: array.NewRecordBuilder(memory.DefaultAllocator, schema)}, nil
}

func (w *arWriter) Row(values []any) error {
	for i, v := range values {
		switch b := w.records.Field(i).(type) {
		case *array.Int64Builder:
			appendValue(b, v)
		case *array.Float64Builder:
			if huge, ok := v.(*big.Int); ok {
				v, _ = new(big.Float).SetInt(huge).Float64()
			}
			appendValue(b, v)
		case *array.BooleanBuilder:
			appendValue(b, v)
		case *array.BinaryBuilder:
			appendValue(b, v)
		case *array.StringBuilder:
			if v != nil {
				v = cellText(v)
			}
			appendValue(b, v)
		}
	}
	w.rows++
	if w.rows == table.DefaultChunkRows {
		return w.flush()
	}
	return nil
}

// appendValue appends a value, or NULL if v is not a T.
func appendValue[T any](b interface {
	Append(T)
	AppendNull()
}, v any) {
	if value, ok := v.(T); ok {
		b.Append(value)
	} else {
		b.AppendNull()
	}
}

func (w *arWriter) flush() error {
	record := w.records.NewRecordBatch()
	defer record.Release()
	w.rows = 0
	return w.sink.Write(record)
}

func (w *arWriter) End() error {
	defer w.records.Release()
	var err error
	if w.rows > 0 {
		err = w.flush()
	}
	return errors.Join(err, w.sink.Close())
}
