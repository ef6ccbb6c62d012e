// Package batch reads rows in Arrow's columns by the names of the columns.
package batch

import (
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Batch is some rows. Its texts are gone with it.
type Batch struct {
	Rows int

	columns map[string]arrow.Array
}

// Of returns the rows of a record batch.
func Of(from arrow.RecordBatch) Batch {
	b := Batch{int(from.NumRows()), map[string]arrow.Array{}}
	for i, f := range from.Schema().Fields() {
		b.columns[f.Name] = from.Column(i)
	}
	return b
}

// IsNull reports whether a row has no value, or the column was not read.
func (b Batch) IsNull(column string, row int) bool {
	c := b.columns[column]
	return c == nil || c.IsNull(row)
}

// Text returns a text, "" for NULL.
func (b Batch) Text(column string, row int) string {
	if b.IsNull(column, row) {
		return ""
	}
	return b.columns[column].(array.StringLike).Value(row)
}

// Number returns an integer of a column that was read, nil for NULL.
func (b Batch) Number(column string, row int) *int64 {
	c := b.columns[column].(*array.Int64)
	if c.IsNull(row) {
		return nil
	}
	n := c.Value(row)
	return &n
}

// Value returns a string, int64, float64, bool, or nil for NULL.
func (b Batch) Value(column string, row int) any {
	if b.IsNull(column, row) {
		return nil
	}
	switch c := b.columns[column].(type) {
	case *array.Int64:
		return c.Value(row)
	case *array.Float64:
		return c.Value(row)
	case *array.Boolean:
		return c.Value(row)
	}
	return strings.Clone(b.Text(column, row))
}
