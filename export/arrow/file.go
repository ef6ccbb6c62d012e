// Package arrow writes chunks of tables as Arrow IPC files.
package arrow

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tpconvert/tpconvert/export/encoding"
	"github.com/tpconvert/tpconvert/model/table"
)

// bufferBytes is the size of the buffer for writing a file.
const bufferBytes = 128 << 10

// File writes a table as an Arrow IPC file, one record batch per chunk.
//
// Such a file has one dictionary per column. It is complete only after the last
// chunk, but the writer needs it before the first. So batches first go to a
// spool next to the file, with text as bare indices.
type File struct {
	w        *bufio.Writer
	zstd     bool
	metadata [][2]string
	schema   *table.Schema
	spooled  *arrow.Schema
	spool    *os.File
	buffer   *bufio.Writer
	batches  *ipc.Writer
	words    []*table.StringPool // by column, nil unless it is text; in the order of the dictionary
	chunk    encoding.Dictionary // dictionary of one column of a chunk
}

var arrowTypes = [...]arrow.DataType{
	table.TypeInt64:   arrow.PrimitiveTypes.Int64,
	table.TypeInt32:   arrow.PrimitiveTypes.Int32,
	table.TypeFloat64: arrow.PrimitiveTypes.Float64,
	table.TypeBool:    arrow.FixedWidthTypes.Boolean,
	table.TypeString:  &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String},
	table.TypeBytes:   arrow.BinaryTypes.Binary,
}

// arrowSchema returns the Arrow schema of a table. Fields carry the column's doc
// line.
func arrowSchema(s *table.Schema, metadata arrow.Metadata) *arrow.Schema {
	fields := make([]arrow.Field, len(s.Columns))
	for i, c := range s.Columns {
		fields[i] = arrow.Field{Name: c.Name, Type: arrowTypes[c.Type], Nullable: c.Nullable}
		if c.Doc != "" {
			fields[i].Metadata = arrow.MetadataFrom(map[string]string{"doc": c.Doc})
		}
	}
	return arrow.NewSchema(fields, &metadata)
}

// spoolSchema returns the Arrow schema with indices in place of text.
func spoolSchema(s *table.Schema) *arrow.Schema {
	return withoutDictionaries(s, func(d *arrow.DictionaryType) arrow.DataType { return d.IndexType })
}

// PlainSchema returns the Arrow schema of a table, with text in place of dictionaries. Fields carry the column's doc
// line.
func PlainSchema(s *table.Schema) *arrow.Schema {
	return withoutDictionaries(s, func(d *arrow.DictionaryType) arrow.DataType { return d.ValueType })
}

// withoutDictionaries returns the Arrow schema with a part of each dictionary's type in its place.
func withoutDictionaries(s *table.Schema, part func(*arrow.DictionaryType) arrow.DataType) *arrow.Schema {
	fields := arrowSchema(s, arrow.Metadata{}).Fields()
	for i := range fields {
		if d, ok := fields[i].Type.(*arrow.DictionaryType); ok {
			fields[i].Type = part(d)
		}
	}
	return arrow.NewSchema(fields, nil)
}

// New begins the file at path, which w writes to, with keys and values of metadata.
func New(path string, w io.Writer, s *table.Schema, zstd bool, metadata [][2]string) (*File, error) {
	spool, err := os.Create(path + ".spool")
	if err != nil {
		return nil, err
	}
	a := &File{w: bufio.NewWriterSize(w, bufferBytes), zstd: zstd, metadata: metadata, schema: s, spooled: spoolSchema(s), spool: spool, buffer: bufio.NewWriterSize(spool, bufferBytes)}
	a.batches = ipc.NewWriter(a.buffer, ipc.WithSchema(a.spooled), ipc.WithLZ4())
	a.words = make([]*table.StringPool, len(s.Columns))
	for i, c := range s.Columns {
		if c.Type == table.TypeString {
			a.words[i] = table.NewStringPool()
		}
	}
	return a, nil
}

// Append adds a chunk as a record batch.
func (a *File) Append(c *table.Chunk) error {
	columns := make([]arrow.Array, len(c.Schema.Columns))
	for i := range columns {
		columns[i] = a.column(c, i)
	}
	return writeBatch(a.batches, a.spooled, columns, c.Rows)
}

// column returns a column of the chunk as an Arrow array, with text as indices.
func (a *File) column(c *table.Chunk, i int) arrow.Array {
	if c.Schema.Columns[i].Type != table.TypeString {
		return values(c, i)
	}
	indices, valid := make([]int32, c.Rows), make([]byte, (c.Rows+7)/8)
	if ids, ok := c.Column(i).Values.([]table.StringID); ok {
		a.text(a.words[i], ids, c.Strings, indices, valid)
	}
	return wrap(arrow.PrimitiveTypes.Int32, c.Rows, c.Rows-encoding.Present(valid, c.Rows), valid, arrow.Int32Traits.CastToBytes(indices))
}

// values returns a column of the chunk, which is no text, as an Arrow array.
func values(c *table.Chunk, i int) arrow.Array {
	column, v := &c.Schema.Columns[i], c.Column(i)
	t := arrowTypes[column.Type]
	if column.Type == table.TypeBytes {
		return blobs(array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.Binary), c, i)
	}
	if column.Row {
		v.Values = rowIDs(c.Base, c.Rows)
	}
	nulls := 0
	if v.Valid != nil {
		nulls = c.Rows - encoding.Present(v.Valid, c.Rows)
	}
	switch values := v.Values.(type) {
	case []int64:
		return wrap(t, c.Rows, nulls, v.Valid, arrow.Int64Traits.CastToBytes(values))
	case []int32:
		return wrap(t, c.Rows, nulls, v.Valid, arrow.Int32Traits.CastToBytes(values))
	case []float64:
		return wrap(t, c.Rows, nulls, v.Valid, arrow.Float64Traits.CastToBytes(values))
	case []bool:
		return wrap(t, c.Rows, nulls, v.Valid, encoding.Bools(nil, values))
	default:
		return wrap(t, c.Rows, c.Rows, make([]byte, (c.Rows+7)/8), make([]byte, 8*c.Rows))
	}
}

// blobs returns a column of bytes or text without a dictionary. It is NULL in every row if it has no values.
func blobs(b interface {
	array.Builder
	Append([]byte)
	AppendNulls(int)
}, c *table.Chunk, i int) arrow.Array {
	defer b.Release()
	ids, _ := c.Column(i).Values.([]table.StringID)
	var value []byte
	for _, id := range ids {
		if id == 0 {
			b.AppendNull()
			continue
		}
		value = c.Strings.Append(value[:0], id)
		b.Append(value)
	}
	if ids == nil {
		b.AppendNulls(c.Rows)
	}
	return b.NewArray()
}

// text stores the strings' numbers in the file's dictionary.
func (a *File) text(words *table.StringPool, ids []table.StringID, view table.StringView, indices []int32, valid []byte) {
	a.chunk.Reset()
	a.chunk.Encode(ids, indices, valid)
	numbers := make([]int32, max(len(a.chunk.Words), 1))
	for i, id := range a.chunk.Words {
		numbers[i] = int32(words.Intern(view.Get(id))) - 1
	}
	for i, n := range indices {
		indices[i] = numbers[n]
	}
}

// rowIDs returns the ids of n rows starting at base.
func rowIDs(base int64, n int) []int64 {
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = base + int64(i)
	}
	return ids
}

// Close writes the file from the spool, with more keys and values of metadata.
func (a *File) Close(facts ...[2]string) (err error) {
	defer func() {
		err = errors.Join(err, a.spool.Close(), os.Remove(a.spool.Name()))
	}()
	if err := errors.Join(a.batches.Close(), a.buffer.Flush()); err != nil {
		return err
	}
	if _, err := a.spool.Seek(0, io.SeekStart); err != nil {
		return err
	}
	metadata := map[string]string{"doc": a.schema.Doc}
	for _, kv := range append(a.metadata, facts...) {
		metadata[kv[0]] = kv[1]
	}
	schema := arrowSchema(a.schema, arrow.MetadataFrom(metadata))
	options := []ipc.Option{ipc.WithSchema(schema)}
	if a.zstd {
		options = append(options, ipc.WithZstd())
	}
	w, err := ipc.NewFileWriter(a.w, options...)
	if err != nil {
		return err
	}
	words := make([]arrow.Array, len(a.words))
	for i, d := range a.words {
		if d == nil {
			continue
		}
		view := d.View()
		ids := make([]table.StringID, view.Len()-1)
		for n := range ids {
			ids[n] = table.StringID(n + 1)
		}
		if words[i], err = dictionary(ids, view); err != nil {
			return fmt.Errorf("column %s: %w", a.schema.Columns[i].Name, err)
		}
		defer words[i].Release()
	}
	batches, err := ipc.NewReader(bufio.NewReaderSize(a.spool, bufferBytes))
	if err != nil {
		return err
	}
	defer batches.Release()
	for batches.Next() {
		batch := batches.RecordBatch()
		columns := make([]arrow.Array, len(words))
		for i, column := range batch.Columns() {
			if words[i] != nil {
				columns[i] = array.NewDictionaryArray(arrowTypes[table.TypeString], column, words[i])
			} else {
				column.Retain()
				columns[i] = column
			}
		}
		if err := writeBatch(w, schema, columns, int(batch.NumRows())); err != nil {
			return err
		}
	}
	return errors.Join(batches.Err(), w.Close(), a.w.Flush())
}

// writeBatch writes the columns as one batch and releases them.
func writeBatch(to interface {
	Write(arrow.RecordBatch) error
}, schema *arrow.Schema, columns []arrow.Array, rows int) error {
	batch := array.NewRecordBatch(schema, columns, int64(rows))
	defer batch.Release()
	for _, c := range columns {
		c.Release()
	}
	return to.Write(batch)
}
