package tables

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"unsafe"

	physical "github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"

	"github.com/tpconvert/tpconvert/export/parquet"
	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
)

// FileOpener opens the files that there are of those that paths returns for a table.
func FileOpener(paths func(table string) []string) Opener {
	return func(table string, pool *dataframe.Pool) (all []Rows, err error) {
		for _, path := range paths(table) {
			f, err := os.Open(path)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			var rows *File
			if err == nil {
				rows, err = OpenFile(f, pool)
			}
			if err != nil {
				for _, r := range all {
					err = errors.Join(err, r.Close())
				}
				return nil, err
			}
			all = append(all, rows)
		}
		return all, nil
	}
}

// File is a Parquet file whose columns are read when they are first needed.
type File struct {
	rows   int
	first  int // row of the file that is row 0
	pool   *dataframe.Pool
	reader *file.Reader
	at     map[string]int
	part   bool // of a file that its owner closes
}

// Input is where the bytes of a file come from.
type Input interface {
	physical.ReaderAtSeeker
	io.Closer
}

// OpenFile opens a Parquet file, and closes it if that fails. Texts go to the pool.
func OpenFile(from Input, pool *dataframe.Pool) (f *File, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, from.Close())
		}
	}()
	defer rescue(&err)
	reader, err := parquet.NewReader(from)
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
func (f *File) Close() error {
	if f.part {
		return nil
	}
	return f.reader.Close()
}

// Part returns some rows of the file, whose texts go to another pool. Any goroutine may read them until the file is closed.
func (f *File) Part(from, to int, pool *dataframe.Pool) *File {
	return &File{rows: to - from, first: f.first + from, pool: pool, reader: f.reader, at: f.at, part: true}
}

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
	kind := dataframe.Integer
	switch f.reader.MetaData().Schema.Column(i).PhysicalType() {
	case physical.Types.ByteArray:
		kind = dataframe.Text
	case physical.Types.Double:
		kind = dataframe.Real
	}
	if kind != to.Kind() {
		return fmt.Errorf("column %s has another type", column)
	}
	before := 0 // rows in earlier groups
	for g := range f.reader.NumRowGroups() {
		group := parquet.Group(f.reader, g)
		rows := int(group.NumRows())
		from, end := max(f.first-before, 0), min(last-before, rows)
		before += rows
		if from >= end {
			continue
		}
		if err := group.Read(i, from, end, target{to, f.pool}); err != nil {
			return fmt.Errorf("column %s: %w", column, err)
		}
	}
	return nil
}

// Columns are rows that hand over a column to a parquet.Target, in place of values.
type Columns interface {
	Len() int
	Has(column string) bool
	Read(column string, rows int, to parquet.Target) error
	Bytes(column string, row int) ([]byte, error)
}

// RowsOf returns rows that others own, whose texts go to a pool.
func RowsOf(columns Columns, pool *dataframe.Pool) Rows { return columnRows{columns, pool} }

type columnRows struct {
	Columns
	pool *dataframe.Pool
}

// Read implements Rows.
func (c columnRows) Read(column string, rows int, to *dataframe.Values) error {
	to.Grow(min(rows, c.Len()))
	return c.Columns.Read(column, rows, target{to, c.pool})
}

// Close implements Rows. The owner closes what it has.
func (c columnRows) Close() error { return nil }

// target adds values to those of a frame.
type target struct {
	*dataframe.Values
	pool *dataframe.Pool
}

// Number implements parquet.Target.
func (t target) Number(b []byte) uint32 {
	return t.pool.Add(unsafe.String(unsafe.SliceData(b), len(b)))
}

// Bytes returns a value of a column of bytes, nil for NULL.
func (f *File) Bytes(column string, row int) (value []byte, err error) {
	defer rescue(&err)
	i, ok := f.at[column]
	if !ok || row < 0 || row >= f.rows {
		return nil, nil
	}
	row += f.first
	for g := range f.reader.NumRowGroups() {
		group := parquet.Group(f.reader, g)
		if rows := int(group.NumRows()); row >= rows {
			row -= rows
			continue
		}
		return group.Bytes(i, row)
	}
	return nil, nil
}
