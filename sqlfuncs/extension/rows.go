//go:build cgo

package main

import "github.com/tpconvert/tpconvert/model/table"

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

// readBatch reads columns of a chunk.
func readBatch(kept *table.Kept, c *table.Chunk, columns []string) (*batch, error) {
	b := &batch{rows: c.Rows, texts: c.Strings, columns: make([]column, len(columns))}
	for i, name := range columns {
		at := c.Schema.Column(name)
		if at < 0 {
			continue
		}
		values, err := kept.Column(c, at)
		if err != nil {
			return nil, err
		}
		b.columns[i] = column{Column: c.Schema.Columns[at], Vector: values, first: c.Base}
	}
	return b, nil
}
