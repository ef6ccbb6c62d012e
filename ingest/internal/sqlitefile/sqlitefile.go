// Package sqlitefile reads the rows of tables in SQLite database files. SQLite itself reads them, and only by the ids of
// rows: a file's views, triggers, generated columns and indexes are never used, and nothing is written.
package sqlitefile

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
	"modernc.org/sqlite/vfs"

	"github.com/tpconvert/tpconvert/ingest/format"
)

const magic = "SQLite format 3\x00"

// Is reports whether a file that starts with head is an SQLite database.
func Is(head []byte) bool { return bytes.HasPrefix(head, []byte(magic)) }

const (
	headerSize = 100
	maxTables  = 100_000
	// maxValue is the size in bytes up to which a row is read; SQLite's own limit is 1 GB.
	maxValue = 64 << 20
)

// File is a database.
type File struct {
	Cut bool // the file has fewer pages than it says
	// Tables are the tables, in the order in which they were made.
	Tables []*Table

	damaged func(why string)
	size    int64
	source  *source
	vfs     *vfs.FS
	db      *sql.DB
	conn    *sql.Conn
	open    []*Rows
}

// Open reads the schema of a database of size bytes. It calls damaged for what cannot be read, now or later.
func Open(at io.ReaderAt, size int64, damaged func(why string)) (*File, error) {
	var head [headerSize]byte
	if n, err := at.ReadAt(head[:], 0); n < len(head) || !Is(head[:]) {
		if err != nil && err != io.EOF {
			return nil, err
		}
		return nil, format.Errorf(format.ErrCorrupt, int64(n), "the header of an SQLite database is cut off")
	}
	f := &File{damaged: damaged, size: size, source: &source{at: at, size: size}}
	want, page := pages(head[:])
	if size < page {
		return nil, format.Errorf(format.ErrCorrupt, size, "the first page of an SQLite database is cut off")
	}
	if err := f.connect(); err != nil {
		f.Close()
		why, err := f.cause(err)
		if err == nil {
			err = format.Errorf(format.ErrCorrupt, -1, "an SQLite database: %s", why)
		}
		return nil, err
	}
	if want > size/page {
		f.Cut = true
		damaged(fmt.Sprintf("the file has %d of its %d pages", size/page, want))
	}
	if err := f.readSchema(); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// pages returns the number of pages that the header says, 0 if it does not, and their size.
func pages(head []byte) (n, size int64) {
	if size = int64(binary.BigEndian.Uint16(head[16:])); size == 1 {
		size = 1 << 16
	}
	if bytes.Equal(head[24:28], head[92:96]) { // else an old version of SQLite changed the file
		n = int64(binary.BigEndian.Uint32(head[28:]))
	}
	return n, max(size, 1)
}

// connect opens the database. A schema that can be written is read as far as it goes, also if the file is cut off.
func (f *File) connect() error {
	name, files, err := vfs.New(f.source)
	if err != nil {
		return err
	}
	f.vfs = files
	if f.db, err = sql.Open("sqlite", "file:db?immutable=1&_pragma=writable_schema(1)&_pragma=trusted_schema(0)&vfs="+name); err != nil {
		return err
	}
	if f.conn, err = f.db.Conn(context.Background()); err != nil {
		return err
	}
	_, err = sqlite.Limit(f.conn, lib.SQLITE_LIMIT_LENGTH, maxValue)
	return err
}

// Close closes the database and the rows that were not read to their end.
func (f *File) Close() {
	for _, r := range f.open {
		r.close()
	}
	if f.conn != nil {
		f.conn.Close()
	}
	if f.db != nil {
		f.db.Close()
	}
	if f.vfs != nil {
		f.vfs.Close()
	}
}

// cause tells damaged contents, which it describes, from what failed below SQLite.
func (f *File) cause(err error) (damage string, failure error) {
	if f.source.err != nil {
		return "", f.source.err
	}
	var failed *sqlite.Error
	if errors.As(err, &failed) {
		switch failed.Code() & 0xff {
		case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB, lib.SQLITE_TOOBIG, lib.SQLITE_FORMAT, lib.SQLITE_ERROR, lib.SQLITE_CANTOPEN, lib.SQLITE_READONLY:
			return failed.Error(), nil
		}
	}
	return "", err
}

// readSchema lists the tables that have rows and whose definition can be read.
func (f *File) readSchema() error {
	const tables = `SELECT name, wr FROM sqlite_schema LEFT JOIN (SELECT name, wr FROM pragma_table_list WHERE schema = 'main') USING (name)
		WHERE type = 'table' AND rootpage > 0 ORDER BY sqlite_schema.rowid`
	err := f.each(tables, nil, func(scan func(...any) error) error {
		var name sql.NullString // NULL in a damaged schema
		var wr sql.NullBool
		if err := scan(&name, &wr); err != nil {
			return err
		}
		t := &Table{Name: name.String, file: f}
		switch {
		case !name.Valid:
			f.damaged("the name of a table")
		case !wr.Valid:
			f.damaged("the definition of table " + t.Name)
		case len(f.Tables) == maxTables:
			return format.Errorf(format.ErrUnsupported, 0, "an SQLite database of more than %d tables", maxTables)
		default:
			f.Tables = append(f.Tables, t)
			return t.describe(!wr.Bool)
		}
		return nil
	})
	if err == nil {
		return nil
	}
	why, err := f.cause(err)
	if why != "" {
		f.damaged("its schema: " + why)
	}
	return err
}

// each calls row for each row that a query gives.
func (f *File) each(query string, args []any, row func(scan func(...any) error) error) error {
	rows, err := f.conn.QueryContext(context.Background(), query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// quote quotes a name for SQL.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// Table returns the table of this name, or one without rows.
func (f *File) Table(name string) *Table {
	for _, t := range f.Tables {
		if t.Name == name {
			return t
		}
	}
	return &Table{Name: name}
}

// Table is a table of a database.
type Table struct {
	Name     string
	Columns  []string
	file     *File  // nil if the database has no such table
	integers []int  // columns that are declared as integers
	id       string // the name of the rows' ids, or "" if they have none
}

// describe finds the columns, but for those that are computed.
func (t *Table) describe(hasIDs bool) error {
	taken := map[string]bool{}
	err := t.file.each("SELECT name, type, hidden FROM pragma_table_xinfo(?)", []any{t.Name}, func(scan func(...any) error) error {
		var name, declared string
		var hidden int
		if err := scan(&name, &declared, &hidden); err != nil {
			return err
		}
		taken[strings.ToLower(name)] = true
		if hidden != 0 {
			return nil
		}
		if strings.Contains(strings.ToUpper(declared), "INT") { // as SQLite finds integers
			t.integers = append(t.integers, len(t.Columns))
		}
		t.Columns = append(t.Columns, name)
		return nil
	})
	for _, id := range []string{"rowid", "_rowid_", "oid"} {
		if hasIDs && !taken[id] {
			t.id = id
			break
		}
	}
	return err
}

// Column returns the number of a column, or -1, whose values are NULL.
func (t *Table) Column(name string) int { return slices.Index(t.Columns, name) }

// Has reports whether the table has all these columns.
func (t *Table) Has(columns ...string) bool {
	for _, c := range columns {
		if t.Column(c) < 0 {
			return false
		}
	}
	return true
}

// source is the file system that SQLite sees: the database, and nothing beside it.
type source struct {
	at   io.ReaderAt
	size int64
	err  error // of reading the file, which SQLite does not pass on
}

const fileName = "db"

// Open implements fs.FS.
func (s *source) Open(name string) (fs.File, error) {
	if !strings.HasSuffix(name, fileName) {
		return nil, fs.ErrNotExist
	}
	return &sourceFile{io.NewSectionReader(s, 0, s.size)}, nil
}

// ReadAt implements io.ReaderAt.
func (s *source) ReadAt(p []byte, offset int64) (int, error) {
	n, err := s.at.ReadAt(p, offset)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// sourceFile is the database as SQLite opened it.
type sourceFile struct{ *io.SectionReader }

func (f *sourceFile) Close() error               { return nil }
func (f *sourceFile) Stat() (fs.FileInfo, error) { return f, nil }
func (f *sourceFile) Name() string               { return fileName }
func (f *sourceFile) Mode() fs.FileMode          { return 0o400 }
func (f *sourceFile) ModTime() time.Time         { return time.Time{} }
func (f *sourceFile) IsDir() bool                { return false }
func (f *sourceFile) Sys() any                   { return nil }
