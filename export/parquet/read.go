package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"

	"github.com/tpconvert/tpconvert/model/table"
)

// Open opens a file.
func Open(path string) (*file.Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	reader, err := NewReader(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return reader, nil
}

// NewReader reads the footer of a file. Its numbers of rows must agree: a query that only counts rows reads nothing else.
func NewReader(from parquet.ReaderAtSeeker) (*file.Reader, error) {
	reader, err := file.NewParquetReader(from)
	if err != nil {
		return nil, err
	}
	m, all := reader.MetaData(), int64(0)
	for _, g := range m.RowGroups {
		for i, c := range g.Columns {
			if i < m.Schema.NumColumns() && m.Schema.Column(i).MaxRepetitionLevel() == 0 && c.MetaData != nil && c.MetaData.NumValues != g.NumRows {
				return nil, fmt.Errorf("damaged: %d values in a row group of %d rows", c.MetaData.NumValues, g.NumRows)
			}
		}
		all += g.NumRows
	}
	if all != m.FileMetaData.NumRows {
		return nil, fmt.Errorf("damaged: row groups of %d rows in a file of %d", all, m.FileMetaData.NumRows)
	}
	return reader, nil
}

// RowGroup reads a row group of a table.
type RowGroup struct {
	*file.RowGroupReader
	size int64 // of the file, bytes
}

// Group returns the row group with this number.
func Group(f *file.Reader, i int) *RowGroup {
	return &RowGroup{f.RowGroup(i), f.MetaData().GetSourceFileSize()}
}

// Int64s returns a column of 64-bit integers, and which rows have a value, nil if all do.
func (g *RowGroup) Int64s(column int) (values []int64, some []bool, err error) {
	if err := g.check(column, table.TypeInt64); err != nil {
		return nil, nil, err
	}
	rows := int(g.NumRows())
	v := &integers{values: make([]int64, rows)}
	if g.MetaData().Schema.Column(column).MaxDefinitionLevel() > 0 {
		v.some = slices.Repeat([]bool{true}, rows)
	}
	return v.values, v.some, g.Read(column, 0, rows, v)
}

// check returns an error unless a column has a type.
func (g *RowGroup) check(column int, t table.Type) error {
	if is := g.MetaData().Schema.Column(column).PhysicalType(); is != parquetTypes[t] {
		return fmt.Errorf("a column of type %s", is)
	}
	return nil
}

// integers is the Target of Int64s.
type integers struct {
	Target
	row    int // the next one
	values []int64
	some   []bool
}

func (v *integers) Ints(values []int64) { v.row += copy(v.values[v.row:], values) }

func (v *integers) Nulls(n int) {
	clear(v.some[v.row : v.row+n])
	v.row += n
}

// Keep adds the values of the rows to keep to the same column of a builder.
func (g *RowGroup) Keep(column int, t table.Type, keep []bool, to *table.Builder) error {
	if err := g.check(column, t); err != nil {
		return err
	}
	return g.Read(column, 0, len(keep), &keeper{to: to, column: column, keep: keep})
}

// keeper is the Target of Keep.
type keeper struct {
	to     *table.Builder
	column int
	keep   []bool // of the rows that follow
	words  [][]byte
}

func (k *keeper) Ints(values []int64) { each(k, values, k.to.Int) }

func (k *keeper) Reals(values []float64) { each(k, values, k.to.Float) }

func (k *keeper) Texts(numbers []uint32) {
	each(k, numbers, func(column int, number uint32) { k.to.Bytes(column, k.words[number]) })
}

func (k *keeper) Number(b []byte) uint32 {
	k.words = append(k.words, slices.Clone(b))
	return uint32(len(k.words) - 1)
}

func (k *keeper) Nulls(n int) {
	each(k, make([]struct{}, n), func(column int, _ struct{}) { k.to.Null(column) })
}

func each[T any](k *keeper, values []T, add func(column int, v T)) {
	for i, v := range values {
		if k.keep[i] {
			add(k.column, v)
		}
	}
	k.keep = k.keep[len(values):]
}

// Limits returns the least and the greatest value of a column of 64-bit integers, if they are known.
func (g *RowGroup) Limits(column int) (least, greatest int64, known bool) {
	if g.check(column, table.TypeInt64) != nil {
		return 0, 0, false
	}
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
