package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"

	"github.com/tpconvert/tpconvert/model/table"
)

// RowGroup reads a row group of a table.
type RowGroup struct {
	*file.RowGroupReader
	pool *sync.Pool // of the file's buffers
}

// Group returns the row group with this number.
func Group(f *file.Reader, i int) *RowGroup { return &RowGroup{f.RowGroup(i), f.BufferPool()} }

// Int64s returns a column of 64-bit integers, and which rows have a value, nil if all do.
func (g *RowGroup) Int64s(column int) (values []int64, some []bool, err error) {
	chunk, err := g.Column(column)
	if err != nil {
		return nil, nil, err
	}
	c, ok := chunk.(*file.Int64ColumnChunkReader)
	if !ok {
		return nil, nil, fmt.Errorf("a column of type %s", chunk.Type())
	}
	return read(int(g.NumRows()), chunk, c.ReadBatch)
}

// read reads all values of a column chunk.
func read[T any](rows int, chunk file.ColumnChunkReader, batch func(int64, []T, []int16, []int16) (int64, int, error)) ([]T, []bool, error) {
	values := make([]T, rows)
	var levels []int16
	if chunk.Descriptor().MaxDefinitionLevel() > 0 {
		levels = make([]int16, rows)
	}
	there := 0
	for done := 0; done < rows; {
		var rest []int16
		if levels != nil {
			rest = levels[done:]
		}
		n, got, err := batch(int64(rows-done), values[there:], rest, nil)
		if err != nil {
			return nil, nil, err
		}
		if n == 0 {
			return nil, nil, errors.New("the chunk ends early")
		}
		done, there = done+int(n), there+got
	}
	if levels == nil {
		return values, nil, nil
	}
	some := make([]bool, rows)
	for i := rows - 1; i >= 0; i-- { // NULLs have no values: move those of the others to their rows
		var v T
		if some[i] = levels[i] > 0; some[i] {
			there--
			v = values[there]
		}
		values[i] = v
	}
	return values, some, nil
}

// Builder makes a chunk of rows of several row groups.
type Builder struct {
	Rows    int   // so far; the caller counts them
	Text    int64 // bytes of the texts
	schema  *table.Schema
	strings *table.StringPool
	columns []builtColumn
}

// builtColumn is a column of a chunk that is being built.
type builtColumn struct {
	values any
	some   []bool // which rows have a value, nil if all do
}

// Begin makes room for columns of a table.
func (b *Builder) Begin(s *table.Schema) {
	if b.columns != nil {
		return
	}
	b.schema, b.columns, b.strings = s, make([]builtColumn, len(s.Columns)), table.NewStringPool()
	for _, c := range s.Columns {
		if c.Type == table.TypeBytes {
			b.strings = table.NewRawPool()
		}
	}
}

// Add adds the values of the rows to keep, and returns them.
func (b *Builder) Add(g *RowGroup, column int, keep []bool, rows int) (values any, some []bool, err error) {
	if b.schema.Columns[column].Type.Interned() {
		ids, err := b.texts(g, column, keep)
		b.columns[column].values = join(b.columns[column].values, ids)
		return ids, nil, err
	}
	chunk, err := g.Column(column)
	if err != nil {
		return nil, nil, err
	}
	n := int(g.NumRows())
	to := &b.columns[column]
	switch c := chunk.(type) {
	case *file.Int64ColumnChunkReader:
		values, some, err = addValues(to, n, keep, rows, chunk, c.ReadBatch)
	case *file.Int32ColumnChunkReader:
		values, some, err = addValues(to, n, keep, rows, chunk, c.ReadBatch)
	case *file.Float64ColumnChunkReader:
		values, some, err = addValues(to, n, keep, rows, chunk, c.ReadBatch)
	case *file.BooleanColumnChunkReader:
		values, some, err = addValues(to, n, keep, rows, chunk, c.ReadBatch)
	default:
		err = fmt.Errorf("a column of type %s", chunk.Type())
	}
	return values, some, err
}

func addValues[T any](to *builtColumn, n int, keep []bool, rows int, chunk file.ColumnChunkReader, batch func(int64, []T, []int16, []int16) (int64, int, error)) (any, []bool, error) {
	values, some, err := read(n, chunk, batch)
	if err != nil {
		return nil, nil, err
	}
	values = kept(values, keep, rows)
	to.values = join(to.values, values)
	if some != nil {
		some = kept(some, keep, rows)
		to.some = append(to.some, some...)
	}
	return values, some, nil
}

// kept returns the values of the rows to keep.
func kept[T any](values []T, keep []bool, rows int) []T {
	if rows == len(values) {
		return values
	}
	left := make([]T, 0, rows)
	for i, k := range keep {
		if k {
			left = append(left, values[i])
		}
	}
	return left
}

// join appends values to those that there are, if any.
func join[T any](to any, values []T) any {
	if to == nil {
		return values
	}
	return append(to.([]T), values...)
}

// texts returns the texts or bytes of the rows to keep. Each text of the dictionary is looked up once, if it is kept.
func (b *Builder) texts(g *RowGroup, column int, keep []bool) ([]table.StringID, error) {
	pages, err := g.GetColumnPageReader(column)
	if err != nil {
		return nil, err
	}
	descr := g.MetaData().Schema.Column(column)
	dictionary := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.Binary}
	records := file.NewRecordReader(descr, file.LevelInfo{NullSlotUsage: 1, DefLevel: descr.MaxDefinitionLevel()},
		dictionary, memory.DefaultAllocator, g.pool).(file.BinaryRecordReader)
	defer records.Release()
	records.SetPageReader(pages)
	if _, err := records.ReadRecords(int64(len(keep))); err != nil {
		return nil, err
	}
	var all []table.StringID
	row := 0
	for _, chunk := range records.GetBuilderChunks() {
		texts := chunk.(*array.Dictionary)
		values := texts.Dictionary().(*array.Binary)
		ids := make([]table.StringID, values.Len())
		for i := range texts.Len() {
			if row++; !keep[row-1] {
				continue
			}
			var id table.StringID
			if !texts.IsNull(i) {
				at := texts.GetValueIndex(i)
				if ids[at] == 0 {
					ids[at] = b.strings.InternBytes(values.Value(at))
					b.Text += int64(values.ValueLen(at))
				}
				id = ids[at]
			}
			all = append(all, id)
		}
		texts.Release()
	}
	if row < len(keep) {
		return nil, errors.New("the chunk ends early")
	}
	return all, nil
}

// Chunk returns the rows that were added, and begins anew. It returns nil if there are none.
func (b *Builder) Chunk() *table.Chunk {
	if b.Rows == 0 {
		*b = Builder{}
		return nil
	}
	vectors := make([]table.Vector, len(b.columns))
	for i, c := range b.columns {
		vectors[i].Values = c.values
		if c.some != nil {
			vectors[i].Valid = make([]byte, (b.Rows+7)/8)
			for row, there := range c.some {
				if there {
					vectors[i].Valid[row>>3] |= 1 << (row & 7)
				}
			}
		}
	}
	c := table.NewChunk(b.schema.WithColumns(b.schema.Columns), b.Rows, vectors, b.strings.View())
	c.Text = b.Text
	*b = Builder{}
	return c
}

// Limits returns the least and the greatest value of a column of 64-bit integers, if they are known.
func (g *RowGroup) Limits(column int) (least, greatest int64, known bool) {
	chunk, err := g.MetaData().ColumnChunk(column)
	if err != nil {
		return 0, 0, false
	}
	s, err := chunk.Statistics()
	if err != nil || s == nil || !s.HasMinMax() {
		return 0, 0, false
	}
	return int64(binary.LittleEndian.Uint64(s.EncodeMin())), int64(binary.LittleEndian.Uint64(s.EncodeMax())), true
}
