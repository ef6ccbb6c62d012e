package parquetfile

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
)

const batchLevels = 4096

// column reads a column of a row group. Each level stands for a value, a NULL or a list without elements; one whose repetition is
// not 0 belongs to the row before.
type column struct {
	row     []Value // of the current row
	texts   []byte  // of its list
	list    bool
	value   int16 // definition of a value
	element int16 // least definition of an element of a list

	fill                func() (levels int64, values int, err error)
	at                  func(i int) Value
	defs, reps          []int16
	level, used, levels int
}

var errEnd = errors.New("a column ends early")

func newColumn(chunk file.ColumnChunkReader) *column {
	d := chunk.Descriptor()
	c := &column{list: d.MaxRepetitionLevel() > 0, value: d.MaxDefinitionLevel(), defs: make([]int16, batchLevels)}
	if c.list {
		c.reps = make([]int16, batchLevels)
		c.element = c.value
		if d.SchemaNode().RepetitionType() == parquet.Repetitions.Optional {
			c.element--
		}
	}
	switch chunk := chunk.(type) {
	case *file.BooleanColumnChunkReader:
		read(c, chunk.ReadBatchInPage, func(v bool) Value {
			if v {
				return Value{Kind: Bool, Int: 1}
			}
			return Value{Kind: Bool}
		})
	case *file.Int32ColumnChunkReader:
		read(c, chunk.ReadBatchInPage, func(v int32) Value { return Value{Kind: Int, Int: int64(v)} })
	case *file.Int64ColumnChunkReader:
		read(c, chunk.ReadBatchInPage, func(v int64) Value { return Value{Kind: Int, Int: v} })
	case *file.Float32ColumnChunkReader:
		read(c, chunk.ReadBatchInPage, func(v float32) Value { return Value{Kind: Real, Real: float64(v)} })
	case *file.Float64ColumnChunkReader:
		read(c, chunk.ReadBatchInPage, func(v float64) Value { return Value{Kind: Real, Real: v} })
	case *file.ByteArrayColumnChunkReader:
		read(c, chunk.ReadBatchInPage, func(v parquet.ByteArray) Value { return Value{Kind: Text, Text: v} })
	default:
		c.fill = func() (int64, int, error) { return 0, 0, fmt.Errorf("a column of type %T", chunk) }
	}
	return c
}

// read reads the values of a page in batches, because the next page takes the memory of its texts.
func read[T any](c *column, batch func(int64, []T, []int16, []int16) (int64, int, error), value func(T) Value) {
	values := make([]T, batchLevels)
	c.fill = func() (int64, int, error) { return batch(batchLevels, values, c.defs, c.reps) }
	c.at = func(i int) Value { return value(values[i]) }
}

// more reads a batch if all levels are used up, and reports whether there is a level.
func (c *column) more() (there bool, err error) {
	if c.level < c.levels {
		return true, nil
	}
	defer rescue(&err)
	n, _, err := c.fill()
	c.level, c.used, c.levels = 0, 0, int(n)
	return n > 0, err
}

// next reads the values of the next row.
func (c *column) next() error {
	c.row, c.texts = c.row[:0], c.texts[:0]
	for first := true; ; first = false {
		there, err := c.more()
		switch {
		case err != nil:
			return err
		case !there && first:
			return errEnd
		case !there, !first && c.reps[c.level] == 0:
			return nil
		}
		def := c.value
		if c.value > 0 {
			def = c.defs[c.level]
		}
		c.level++
		switch {
		case def == c.value:
			v := c.at(c.used)
			c.used++
			if c.list && v.Kind == Text { // the list may go on in the next page
				at := len(c.texts)
				c.texts = append(c.texts, v.Text...)
				v.Text = c.texts[at:]
			}
			c.row = append(c.row, v)
		case !c.list || def >= c.element:
			c.row = append(c.row, Value{})
		}
		if !c.list {
			return nil
		}
	}
}
