// Package parquetfile reads the columns of frames from Parquet files.
package parquetfile

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
)

// File is a Parquet file whose columns are read when they are first needed.
type File struct {
	rows   int
	first  int // row of the file that is row 0
	pool   *dataframe.Pool
	reader *file.Reader
	at     map[string]int
}

// Open opens a Parquet file. Texts go to the pool.
func Open(r parquet.ReaderAtSeeker, pool *dataframe.Pool) (f *File, err error) {
	defer rescue(&err)
	reader, err := file.NewParquetReader(r)
	if err != nil {
		return nil, err
	}
	f = &File{rows: int(reader.NumRows()), pool: pool, reader: reader, at: map[string]int{}}
	for i := range reader.MetaData().Schema.NumColumns() {
		f.at[reader.MetaData().Schema.Column(i).Name()] = i
	}
	return f, nil
}

// rescue turns a panic of the Parquet library about damaged data into an error.
func rescue(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("damaged: %v", p)
	}
}

// Close closes the file. Columns that were not read by then cannot be.
func (f *File) Close() error { return f.reader.Close() }

// Slice narrows the file to some of its rows.
func (f *File) Slice(from, to int) { f.first, f.rows = f.first+from, to-from }

// Len returns the number of rows.
func (f *File) Len() int { return f.rows }

// Has reports whether the file has a column.
func (f *File) Has(column string) bool { _, ok := f.at[column]; return ok }

// Metadata returns a value of the file's metadata, or "".
func (f *File) Metadata(key string) string {
	v := f.reader.MetaData().KeyValueMetadata().FindValue(key)
	if v == nil {
		return ""
	}
	return *v
}

// Texts returns a column of texts.
func (f *File) Texts(column string) (dataframe.Reader, error) {
	v := dataframe.NewValues(dataframe.Text)
	err := f.Read(column, f.rows, v)
	return v.Reader(f.pool), err
}

// Read reads the first rows of a column, all if there are fewer, into values of the kind that they hold.
func (f *File) Read(column string, rows int, to *dataframe.Values) (err error) {
	defer rescue(&err)
	last := f.first + min(rows, f.rows)
	i, ok := f.at[column]
	if !ok {
		return fmt.Errorf("the file has no column %s", column)
	}
	to.Grow(last - f.first)
	before := 0 // rows in earlier groups
	for g := range f.reader.NumRowGroups() {
		group := f.reader.RowGroup(g)
		rows := int(group.NumRows())
		from, end := max(f.first-before, 0), min(last-before, rows)
		before += rows
		if from >= end {
			continue
		}
		var err error
		if from, err = f.readPages(group, i, from, end, to); err != nil {
			return fmt.Errorf("column %s: %w", column, err)
		}
		if from == end {
			continue
		}
		chunk, err := group.Column(i)
		if err != nil {
			return err
		}
		if from > 0 {
			if err := chunk.SeekToRow(int64(from)); err != nil {
				return fmt.Errorf("column %s: %w", column, err)
			}
		}
		if err := f.readChunk(chunk, end-from, to); err != nil {
			return fmt.Errorf("column %s: %w", column, err)
		}
	}
	return nil
}

// readChunk reads the values of a column chunk.
func (f *File) readChunk(chunk file.ColumnChunkReader, rows int, to *dataframe.Values) error {
	if isText := chunk.Type() == parquet.Types.ByteArray; isText != (to.Kind() == dataframe.Text) {
		return fmt.Errorf("a column of type %s", chunk.Type())
	}
	nullable := chunk.Descriptor().MaxDefinitionLevel() > 0
	switch c := chunk.(type) {
	case *file.Int64ColumnChunkReader:
		return readBatches(rows, nullable, to, c.ReadBatch, to.Ints)
	case *file.Int32ColumnChunkReader:
		return readBatches(rows, nullable, to, c.ReadBatch, func(x []int32) {
			for _, v := range x {
				to.Int(int64(v))
			}
		})
	case *file.BooleanColumnChunkReader:
		return readBatches(rows, nullable, to, c.ReadBatch, func(x []bool) {
			for _, v := range x {
				to.Bool(v)
			}
		})
	case *file.Float64ColumnChunkReader:
		return readBatches(rows, nullable, to, c.ReadBatch, func(x []float64) {
			for _, v := range x {
				to.Float(v)
			}
		})
	case *file.ByteArrayColumnChunkReader:
		return readBatches(rows, nullable, to, c.ReadBatchInPage, func(texts []parquet.ByteArray) {
			for _, text := range texts {
				to.Text(f.pool.Add(unsafeString(text)))
			}
		})
	}
	return fmt.Errorf("a column of type %s", chunk.Type())
}

// unsafeString returns bytes as a text without a copy.
func unsafeString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// batch is how many values are read at once.
const batch = 1024

var errShort = errors.New("the chunk ends early")

type readBatch[T any] func(n int64, values []T, definition, repetition []int16) (total int64, read int, err error)

// readBatches reads all values of a chunk.
func readBatches[T any](rows int, nullable bool, to *dataframe.Values, read readBatch[T], add func([]T)) error {
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
				add(rest[:i-begin])
				rest = rest[i-begin:]
				continue
			}
			for range i - begin {
				to.Null()
			}
		}
	}
	return nil
}

// Bytes returns a value of a column of bytes, nil for NULL.
func (f *File) Bytes(column string, row int) ([]byte, error) {
	i, ok := f.at[column]
	if !ok || row < 0 || row >= f.rows {
		return nil, nil
	}
	row += f.first
	for g := range f.reader.NumRowGroups() {
		group := f.reader.RowGroup(g)
		if rows := int(group.NumRows()); row >= rows {
			row -= rows
			continue
		}
		chunk, err := group.Column(i)
		if err != nil {
			return nil, err
		}
		c, ok := chunk.(*file.ByteArrayColumnChunkReader)
		if !ok {
			return nil, fmt.Errorf("column %s holds no bytes", column)
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
	return nil, nil
}
