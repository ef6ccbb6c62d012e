package parquet

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
)

// within returns an error if the file lacks bytes of a column. The library asks for as much memory as the metadata says that there are.
func (g *RowGroup) within(i int) error {
	chunk, err := g.MetaData().ColumnChunk(i)
	if err != nil {
		return err
	}
	begin, size := chunk.DataPageOffset(), chunk.TotalCompressedSize()
	if at := chunk.DictionaryPageOffset(); chunk.HasDictionaryPage() && at > 0 {
		begin = min(begin, at)
	}
	if begin < 0 || size < 0 || begin > g.size-size {
		return errBeyond
	}
	return nil
}

// Column returns the reader of a column, which the library does not have for a damaged type.
func (g *RowGroup) Column(i int) (file.ColumnChunkReader, error) {
	if err := g.within(i); err != nil {
		return nil, err
	}
	chunk, err := g.RowGroupReader.Column(i)
	if err == nil && chunk == nil {
		err = errors.New("a column of an unknown type")
	}
	return chunk, err
}

// readByLibrary reads the rows of a column from one up to another by the library, which knows all encodings.
func (g *RowGroup) readByLibrary(column, from, end int, to Target) error {
	chunk, err := g.Column(column)
	if err != nil {
		return err
	}
	if from > 0 {
		if err := chunk.SeekToRow(int64(from)); err != nil {
			return err
		}
	}
	rows, nullable := end-from, chunk.Descriptor().MaxDefinitionLevel() > 0
	switch c := chunk.(type) {
	case *file.Int64ColumnChunkReader:
		return readBatches(rows, nullable, to, c.ReadBatch, to.Ints)
	case *file.Int32ColumnChunkReader:
		return readBatches(rows, nullable, to, c.ReadBatch, converted(to.Ints, func(v int32) int64 { return int64(v) }))
	case *file.BooleanColumnChunkReader:
		return readBatches(rows, nullable, to, c.ReadBatch, converted(to.Ints, func(v bool) int64 {
			if v {
				return 1
			}
			return 0
		}))
	case *file.Float64ColumnChunkReader:
		return readBatches(rows, nullable, to, c.ReadBatch, to.Reals)
	case *file.ByteArrayColumnChunkReader:
		return readBatches(rows, nullable, to, c.ReadBatchInPage, converted(to.Texts, func(v parquet.ByteArray) uint32 { return to.Number(v) }))
	}
	return fmt.Errorf("a column of type %s", chunk.Type())
}

// converted returns a function that converts values and adds them.
func converted[T, U any](add func([]U), convert func(T) U) func([]T) {
	all := make([]U, 0, batch)
	return func(values []T) {
		all = all[:0]
		for _, v := range values {
			all = append(all, convert(v))
		}
		add(all)
	}
}

// batch is how many values are read at once.
const batch = 1024

var (
	errShort  = errors.New("the chunk ends early")
	errBeyond = errors.New("a chunk that is not within the file")
	errLevels = errors.New("definition levels for other values than there are")
)

type batchReader[T any] func(n int64, values []T, definition, repetition []int16) (total int64, read int, err error)

// readBatches reads all values of a chunk.
func readBatches[T any](rows int, nullable bool, to Target, read batchReader[T], add func([]T)) error {
	values := make([]T, batch)
	var levels []int16
	if nullable {
		levels = make([]int16, batch)
	}
	for done := 0; done < rows; {
		n, got, err := read(int64(min(batch, rows-done)), values, levels, nil)
		if err != nil {
			return err
		}
		if n == 0 {
			return errShort
		}
		done += int(n)
		if !nullable || got == int(n) {
			add(values[:got])
			continue
		}
		rest := values[:got]
		for i := 0; i < int(n); {
			begin, level := i, levels[i]
			for i < int(n) && levels[i] == level {
				i++
			}
			if level > 0 {
				if i-begin > len(rest) {
					return errLevels
				}
				add(rest[:i-begin])
				rest = rest[i-begin:]
				continue
			}
			to.Nulls(i - begin)
		}
	}
	return nil
}

// Bytes returns the value of a row in a column of bytes, nil for NULL.
func (g *RowGroup) Bytes(column, row int) ([]byte, error) {
	chunk, err := g.Column(column)
	if err != nil {
		return nil, err
	}
	c, ok := chunk.(*file.ByteArrayColumnChunkReader)
	if !ok {
		return nil, fmt.Errorf("a column of type %s", chunk.Type())
	}
	if err := c.SeekToRow(int64(row)); err != nil {
		return nil, err
	}
	value, level := make([]parquet.ByteArray, 1), make([]int16, 1)
	_, n, err := c.ReadBatch(1, value, level, nil)
	if err != nil || n == 0 {
		return nil, err
	}
	return append([]byte{}, value[0]...), nil
}
