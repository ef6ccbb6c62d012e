// Package parquetfile reads Parquet files of others, row by row. Columns are numbers, truth values, texts, and lists of those.
package parquetfile

import (
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
)

// Is reports whether a file that starts with head is in Parquet.
func Is(head []byte) bool { return len(head) >= 4 && string(head[:4]) == "PAR1" }

// File is a Parquet file.
type File struct {
	Columns []string // that can be read
	Skipped []string // of types that are not read

	reader *file.Reader
	leaves []int // of each column
}

// Open reads the footer of a file.
func Open(at io.ReaderAt, size int64) (f *File, err error) {
	defer rescue(&err)
	properties := parquet.NewReaderProperties(bounded{memory.NewGoAllocator()})
	properties.BufferedStreamEnabled = true // otherwise it asks for as much memory as a chunk says that it has bytes
	reader, err := file.NewParquetReader(io.NewSectionReader(at, 0, size), file.WithReadProps(properties))
	if err != nil {
		return nil, err
	}
	f = &File{reader: reader}
	schema := reader.MetaData().Schema
	leaves := map[string]int{} // of each name
	for i := range schema.NumColumns() {
		leaves[schema.Column(i).ColumnPath()[0]]++
	}
	for i := range schema.NumColumns() {
		c := schema.Column(i)
		name := c.ColumnPath()[0]
		switch t := c.PhysicalType(); {
		case leaves[name] > 1, c.MaxRepetitionLevel() > 1, t == parquet.Types.Int96, t == parquet.Types.FixedLenByteArray:
			f.Skipped = append(f.Skipped, name)
		default:
			f.Columns, f.leaves = append(f.Columns, name), append(f.leaves, i)
		}
	}
	return f, nil
}

// Rows returns the number of rows.
func (f *File) Rows() int64 { return f.reader.NumRows() }

// Groups returns the number of row groups. One that is damaged does not hide the others.
func (f *File) Groups() int { return f.reader.NumRowGroups() }

// Group returns the rows of a row group.
func (f *File) Group(n int) (rows *Rows, err error) {
	defer func() {
		if err != nil {
			rows = nil // it lacks columns
		}
	}()
	defer rescue(&err)
	group := f.reader.RowGroup(n)
	rows = &Rows{left: group.NumRows()}
	for _, leaf := range f.leaves {
		chunk, err := group.Column(leaf)
		if err != nil {
			return nil, err
		}
		c := newColumn(chunk)
		rows.columns = append(rows.columns, c)
	}
	return rows, nil
}

// Rows are the rows of a row group.
type Rows struct {
	Err     error
	columns []*column
	left    int64
}

// Next moves to the next row. It returns false after the last one, or if Err is set.
func (r *Rows) Next() bool {
	if r.left == 0 || r.Err != nil {
		return false
	}
	r.left--
	for _, c := range r.columns {
		if r.Err = c.next(); r.Err != nil {
			return false
		}
	}
	return true
}

// Values returns what the current row has in a column: one value, or those of a list. They are valid until the next row.
func (r *Rows) Values(column int) []Value { return r.columns[column].row }

// Value returns what the current row has in a column that is no list.
func (r *Rows) Value(column int) Value {
	if row := r.columns[column].row; len(row) == 1 {
		return row[0]
	}
	return Value{}
}

// Value is a value in a row.
type Value struct {
	Kind Kind
	Int  int64 // of unsigned numbers, the bits
	Real float64
	Text []byte
}

// Kind says which member of a Value is set.
type Kind uint8

// The kinds of values. Of a Bool, Int is 0 or 1.
const (
	Null Kind = iota
	Int
	Bool
	Real
	Text
)

// rescue turns a panic of the Parquet library about damaged data into an error.
func rescue(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("damaged: %v", r)
	}
}

// bounded refuses the buffers that sizes in a damaged file ask for.
type bounded struct{ memory.Allocator }

// maxBuffer is the maximum size of a page in memory. Pages have some MiB.
const maxBuffer = 256 << 20

func (b bounded) Allocate(size int) []byte {
	b.check(size)
	return b.Allocator.Allocate(size)
}

func (b bounded) Reallocate(size int, old []byte) []byte {
	b.check(size)
	return b.Allocator.Reallocate(size, old)
}

func (b bounded) check(size int) {
	if size > maxBuffer {
		panic(fmt.Sprintf("a page of %d bytes", size))
	}
}
