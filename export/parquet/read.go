package parquet

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"

	"github.com/tpconvert/tpconvert/model/table"
)

// RowGroup reads a row group of a table.
type RowGroup struct{ *file.RowGroupReader }

// Group returns the row group with this number.
func Group(f *file.Reader, i int) *RowGroup { return &RowGroup{f.RowGroup(i)} }

// Int64s returns a column of 64-bit integers, and which rows have a value, nil if all do.
func (g *RowGroup) Int64s(column int) (values []int64, some []bool, err error) {
	w, err := g.whole(column, parquet.Types.Int64)
	if err != nil {
		return nil, nil, err
	}
	return filled(w, w.ints), w.some, nil
}

// whole reads a whole column of a type.
func (g *RowGroup) whole(column int, t parquet.Type) (*whole, error) {
	d := g.MetaData().Schema.Column(column)
	if d.PhysicalType() != t {
		return nil, fmt.Errorf("a column of type %s", d.PhysicalType())
	}
	w := &whole{rows: int(g.NumRows())}
	if d.MaxDefinitionLevel() > 0 {
		w.some = slices.Repeat([]bool{true}, w.rows)
	}
	return w, g.Read(column, 0, w.rows, w)
}

// whole are the values of a column of a row group, as a Target. One of the slices has them, with zeros for NULL. None has any if all are
// NULL.
type whole struct {
	rows  int
	row   int    // the next one
	some  []bool // which rows have a value, nil if all do
	ints  []int64
	reals []float64
	texts []uint32 // places in words plus one
	words [][]byte
}

func put[T any](w *whole, to *[]T, values []T) {
	if *to == nil {
		*to = make([]T, w.rows)
	}
	w.row += copy((*to)[w.row:], values)
}

func (w *whole) Ints(values []int64) { put(w, &w.ints, values) }

func (w *whole) Reals(values []float64) { put(w, &w.reals, values) }

func (w *whole) Texts(numbers []uint32) { put(w, &w.texts, numbers) }

func (w *whole) Number(b []byte) uint32 {
	w.words = append(w.words, slices.Clone(b))
	return uint32(len(w.words))
}

func (w *whole) Nulls(n int) {
	clear(w.some[w.row : w.row+n])
	w.row += n
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

// Add adds the values of the rows to keep. It returns those of a column of 64-bit integers, and which rows have a value, nil if all do.
func (b *Builder) Add(g *RowGroup, column int, keep []bool, rows int) (ints []int64, some []bool, err error) {
	t := b.schema.Columns[column].Type
	w, err := g.whole(column, parquetTypes[t])
	if err != nil {
		return nil, nil, err
	}
	to := &b.columns[column]
	switch t {
	case table.TypeString, table.TypeBytes:
		to.values = join(to.values, b.intern(w, keep, rows))
		return nil, nil, nil
	case table.TypeFloat64:
		to.values = join(to.values, kept(filled(w, w.reals), keep, rows))
	default:
		ints = kept(filled(w, w.ints), keep, rows)
		switch t {
		case table.TypeInt32:
			to.values = join(to.values, convert(ints, func(v int64) int32 { return int32(v) }))
		case table.TypeBool:
			to.values = join(to.values, convert(ints, func(v int64) bool { return v != 0 }))
		default:
			to.values = join(to.values, ints)
		}
	}
	if w.some != nil {
		some = kept(w.some, keep, rows)
		to.some = append(to.some, some...)
	}
	return ints, some, nil
}

// filled returns values, or zeros if all are NULL.
func filled[T any](w *whole, values []T) []T {
	if values == nil {
		return make([]T, w.rows)
	}
	return values
}

func convert[T, U any](values []T, to func(T) U) []U {
	all := make([]U, len(values))
	for i, v := range values {
		all[i] = to(v)
	}
	return all
}

// intern returns the texts or bytes of the rows to keep.
func (b *Builder) intern(w *whole, keep []bool, rows int) []table.StringID {
	ids := make([]table.StringID, len(w.words)+1) // 0 for a word that no row had so far
	all := make([]table.StringID, 0, rows)
	for row, number := range filled(w, w.texts) {
		if !keep[row] {
			continue
		}
		if number > 0 && ids[number] == 0 {
			word := w.words[number-1]
			ids[number] = b.strings.InternBytes(word)
			b.Text += int64(len(word))
		}
		all = append(all, ids[number])
	}
	return all
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
