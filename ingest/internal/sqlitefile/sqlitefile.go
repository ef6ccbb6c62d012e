// Package sqlitefile reads the rows of tables in SQLite database files, as
// https://www.sqlite.org/fileformat2.html describes them. It runs no SQL, so a file cannot make it do
// more than read each page once per table.
package sqlitefile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/tpconvert/tpconvert/ingest/format"
)

const magic = "SQLite format 3\x00"

// Is reports whether a file that starts with head is an SQLite database.
func Is(head []byte) bool { return bytes.HasPrefix(head, []byte(magic)) }

const (
	headerSize  = 100
	minPage     = 512
	maxTables   = 100_000
	encodingRaw = 0 // of a database without text
	utf8Text    = 1
)

// File is a database.
type File struct {
	// Damaged is called for what cannot be read, with its offset.
	Damaged func(offset int64, why string)
	// Tables are the tables, in the order in which they were made.
	Tables []*Table

	at       io.ReaderAt
	pages    uint32 // in the file
	pageSize int64
	usable   int // bytes of a page
}

// Open reads the schema of a database of size bytes. An error is the input's fault.
func Open(at io.ReaderAt, size int64, damaged func(offset int64, why string)) (*File, error) {
	var head [headerSize]byte
	if n, err := at.ReadAt(head[:], 0); n < len(head) || !Is(head[:]) {
		if err != nil && err != io.EOF {
			return nil, err
		}
		return nil, format.Errorf(format.ErrCorrupt, int64(n), "the header of an SQLite database is cut off")
	}
	f := &File{Damaged: damaged, at: at, pageSize: int64(binary.BigEndian.Uint16(head[16:]))}
	if f.pageSize == 1 {
		f.pageSize = 1 << 16
	}
	f.usable = int(f.pageSize) - int(head[20])
	if f.pageSize < minPage || f.pageSize&(f.pageSize-1) != 0 || f.usable < 480 {
		return nil, format.Errorf(format.ErrCorrupt, 16, "a page size of %d bytes, %d of them reserved", f.pageSize, head[20])
	}
	if head[19] > 2 {
		return nil, format.Errorf(format.ErrUnsupported, 19, "version %d of SQLite's file format", head[19])
	}
	if e := binary.BigEndian.Uint32(head[56:]); e != utf8Text && e != encodingRaw {
		return nil, format.Errorf(format.ErrUnsupported, 56, "an SQLite database with texts in UTF-16")
	}
	f.pages = uint32(min(size/f.pageSize, 1<<32-2))
	if want := binary.BigEndian.Uint32(head[28:]); want > f.pages && bytes.Equal(head[24:28], head[92:96]) {
		damaged(int64(f.pages)*f.pageSize, fmt.Sprintf("the file has %d of its %d pages", f.pages, want))
	}
	if f.pages == 0 {
		return nil, format.Errorf(format.ErrCorrupt, size, "the first page of an SQLite database is cut off")
	}
	return f, f.readSchema()
}

// readSchema reads sqlite_schema: type, name, tbl_name, rootpage, sql.
func (f *File) readSchema() error {
	schema := &Table{Name: "sqlite_schema", file: f, root: 1, rowid: -1}
	rows := schema.Rows()
	for rows.Next() {
		r := &rows.Row
		root, ok := r.Int(3)
		if string(r.Text(0)) != "table" || !ok {
			continue
		}
		if len(f.Tables) == maxTables {
			return format.Errorf(format.ErrUnsupported, 0, "an SQLite database of more than %d tables", maxTables)
		}
		t := &Table{Name: string(r.Text(1)), file: f, root: uint32(min(max(root, 0), 1<<32-1)), rowid: -1}
		t.parse(r.Text(4))
		f.Tables = append(f.Tables, t)
	}
	return rows.Err
}

// Table returns the table of this name, or one without rows.
func (f *File) Table(name string) *Table {
	for _, t := range f.Tables {
		if t.Name == name {
			return t
		}
	}
	return &Table{Name: name, file: f, rowid: -1}
}

// Table is a table of a database.
type Table struct {
	Name     string
	Columns  []string
	integers []int // columns that are declared as integers
	file     *File
	root     uint32 // page, 0 for no rows
	rowid    int    // column that has the row's id, or -1
}

// Column returns the number of a column, or -1, whose values are NULL.
func (t *Table) Column(name string) int {
	for i, c := range t.Columns {
		if c == name {
			return i
		}
	}
	return -1
}

// Has reports whether the table has all these columns.
func (t *Table) Has(columns ...string) bool {
	for _, c := range columns {
		if t.Column(c) < 0 {
			return false
		}
	}
	return true
}
