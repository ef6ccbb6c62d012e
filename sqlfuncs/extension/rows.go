//go:build cgo

package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/parquet/file"

	"github.com/tpconvert/tpconvert"
	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/export/parquet"
	"github.com/tpconvert/tpconvert/export/staging"
	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/model/table"
)

// rows are the rows of a trace: sealed chunks or, above a budget, a temporary dataset. They are a table.Sink.
type rows struct {
	budget int64 // for the chunks, in bytes

	mu     sync.Mutex
	bytes  int64 // that they take
	chunks map[string][]*table.Chunk
	writer *export.Writer // of the dataset, or nil
	folder string         // that it is in
	remove func() error
	files  map[string]*file.Reader
}

// Chunk implements table.Sink.
func (r *rows) Chunk(c *table.Chunk) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.writer != nil {
		return r.writer.Chunk(c)
	}
	r.chunks[c.Schema.Name] = append(r.chunks[c.Schema.Name], c)
	if r.bytes += c.Size(); r.bytes <= r.budget {
		return nil
	}
	return r.spill()
}

// spill begins the dataset, and moves the chunks there.
func (r *rows) spill() (err error) {
	if r.folder, r.remove, err = staging.Temporary("tpconvert-rows-"); err != nil {
		return err
	}
	compression, err := export.ParseCompression("snappy")
	if err != nil {
		return err
	}
	o := export.Options{Schemas: schema.All(), Compression: compression, Temporary: true}
	if r.writer, err = export.Create(filepath.Join(r.folder, "dataset"), o); err != nil {
		return err
	}
	for _, chunks := range r.chunks {
		for _, c := range chunks {
			if err := r.writer.Chunk(c); err != nil {
				return err
			}
		}
	}
	r.chunks, r.bytes = nil, 0
	return nil
}

// finish adds the row of the table trace, and opens the files of the dataset. Its folder is removed at once, so that it is gone
// however the process ends.
func (r *rows) finish(m *tpconvert.Manifest) error {
	if r.writer == nil {
		return m.Describe(r)
	}
	if err := r.writer.Commit(m); err != nil {
		return errors.Join(err, r.remove())
	}
	r.files = map[string]*file.Reader{}
	var err error
	for _, t := range m.Tables {
		f, failed := file.OpenParquetFile(filepath.Join(r.folder, "dataset", t.File), false)
		r.files[t.Name], err = f, cmp.Or(err, failed)
	}
	return errors.Join(err, r.remove())
}

// drop removes what was written of a trace that cannot be read.
func (r *rows) drop() (err error) {
	if r.writer != nil {
		err = r.writer.Abort()
	}
	if r.remove != nil {
		err = errors.Join(err, r.remove())
	}
	return err
}

// piece reads columns of some rows of a table.
type piece func(columns []string) (*batch, error)

// of returns the pieces of a table, in order.
func (r *rows) of(s *table.Schema) (pieces []piece) {
	for _, c := range r.chunks[s.Name] {
		pieces = append(pieces, func(columns []string) (*batch, error) {
			r.mu.Lock() // a chunk may read columns from a file
			defer r.mu.Unlock()
			return newBatch(c, columns)
		})
	}
	if f := r.files[s.Name]; f != nil {
		for i := range f.NumRowGroups() {
			pieces = append(pieces, func(columns []string) (*batch, error) { return readGroup(s, parquet.Group(f, i), columns) })
		}
	}
	return pieces
}

// readGroup reads columns of a row group.
func readGroup(s *table.Schema, g *parquet.RowGroup, columns []string) (*batch, error) {
	var b parquet.Builder
	b.Begin(s)
	b.Rows = int(g.NumRows())
	keep := slices.Repeat([]bool{true}, b.Rows)
	for i, c := range s.Columns {
		if !slices.Contains(columns, c.Name) {
			continue
		}
		if _, _, err := b.Add(g, i, keep, b.Rows); err != nil {
			return nil, fmt.Errorf("table %s, column %s: %w", s.Name, c.Name, err)
		}
	}
	return newBatch(b.Chunk(), columns)
}

// batch has the columns of some rows that a query needs.
type batch struct {
	rows    int
	columns []column
	texts   table.StringView
}

// column is a column of a batch.
type column struct {
	table.Column
	table.Vector // has no values if all are NULL, or ids that count up from first
	first        int64
	text         string // of all rows instead
}

func newBatch(c *table.Chunk, columns []string) (*batch, error) {
	b := &batch{rows: c.Rows, texts: c.Strings, columns: make([]column, len(columns))}
	for i, name := range columns {
		if at := c.Schema.Column(name); at >= 0 {
			b.columns[i] = column{Column: c.Schema.Columns[at], Vector: c.Column(at), first: c.Base}
		}
	}
	return b, c.Err()
}
