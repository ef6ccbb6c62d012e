package parquet

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/parquet/file"

	"github.com/tpconvert/tpconvert/model/table"
)

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
