//go:build cgo

package main

import (
	"sync"

	"github.com/tpconvert/tpconvert/model/table"
)

// rows are the rows of a trace: its sealed chunks, whose columns go to a temporary file above a budget. They are a table.Sink.
type rows struct {
	budget int64 // in bytes

	mu       sync.Mutex // held while chunks are added, or read from the file
	chunks   map[string][]*table.Chunk
	bytes    int64 // of those in memory
	overflow *table.Overflow
}

func newRows(budget int64) *rows {
	return &rows{budget: budget, chunks: map[string][]*table.Chunk{}, overflow: table.NewOverflow()}
}

// Chunk implements table.Sink.
func (r *rows) Chunk(c *table.Chunk) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.Keep()
	r.chunks[c.Schema.Name] = append(r.chunks[c.Schema.Name], c)
	if r.bytes+c.Size() > r.budget {
		return r.overflow.Park(c)
	}
	r.bytes += c.Size()
	return nil
}

// count returns the number of rows of a table.
func (r *rows) count(name string) (n int64) {
	for _, c := range r.chunks[name] {
		n += int64(c.Rows)
	}
	return n
}

// batch has the columns of a chunk that a query needs.
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

// read reads columns of a chunk.
func (r *rows) read(c *table.Chunk, columns []string) (*batch, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := &batch{rows: c.Rows, texts: c.Strings, columns: make([]column, len(columns))}
	for i, name := range columns {
		if at := c.Schema.Column(name); at >= 0 {
			b.columns[i] = column{Column: c.Schema.Columns[at], Vector: c.Take(at), first: c.Base}
		}
	}
	return b, c.Err()
}
