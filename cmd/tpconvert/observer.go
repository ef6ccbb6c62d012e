package main

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/model/table"
)

// observer is a sink that notes what it passes on: what the tables say of the
// trace as a whole.
type observer struct {
	ctx  context.Context
	to   table.Sink    // nil drops the rows
	rows *atomic.Int64 // of all tables

	tables     []tableSize  // with rows
	input      export.Input // the root of the rows of trace_file
	stats      []export.Stat
	start, end int64 // trace_bounds, ns
}

// Chunk implements table.Sink. Its error is that of the context once that is
// done.
func (o *observer) Chunk(c *table.Chunk) error {
	if err := o.ctx.Err(); err != nil {
		return err
	}
	o.rows.Add(int64(c.Rows))
	o.tables = addTable(o.tables, tableSize{Name: c.Schema.Name, Rows: int64(c.Rows)})
	switch c.Schema.Name {
	case "trace_file":
		o.traceFiles(c)
	case "stats":
		o.traceStats(c)
	case "trace_bounds":
		o.start = values[int64](c, "start_ts")[0]
		o.end = values[int64](c, "end_ts")[0]
	}
	if o.to == nil {
		c.Release()
		return nil
	}
	return o.to.Chunk(c)
}

func (o *observer) traceFiles(c *table.Chunk) {
	parents, sizes := values[int64](c, "parent_id"), values[int64](c, "size")
	names, formats := values[table.StringID](c, "name"), values[table.StringID](c, "trace_type")
	files := make([]export.Input, c.Rows)
	// A file comes after the one that holds it.
	for i := c.Rows - 1; i >= 0; i-- {
		files[i].Name = c.Strings.Get(names[i])
		files[i].Bytes = sizes[i]
		files[i].Format = c.Strings.Get(formats[i])
		slices.Reverse(files[i].Members)
		if i > 0 && parents != nil {
			parent := &files[parents[i]]
			parent.Members = append(parent.Members, files[i])
		}
	}
	o.input = files[0]
}

func (o *observer) traceStats(c *table.Chunk) {
	names, severities := values[table.StringID](c, "name"), values[table.StringID](c, "severity")
	sources, counts := values[table.StringID](c, "source"), values[int64](c, "value")
	texts := values[table.StringID](c, "description")
	indexes, indexed := values[int64](c, "idx"), c.Column(c.Schema.Column("idx")).Valid
	for i, value := range counts {
		if value == 0 {
			continue
		}
		s := export.Stat{
			Name:     c.Strings.Get(names[i]),
			Severity: c.Strings.Get(severities[i]),
			Source:   c.Strings.Get(sources[i]),
			Value:    value,
		}
		if texts != nil && texts[i] != 0 {
			s.Description = c.Strings.Get(texts[i])
		}
		if indexes != nil && indexed[i>>3]&(1<<(i&7)) != 0 {
			s.Idx = new(indexes[i])
		}
		o.stats = append(o.stats, s)
	}
}

// format tells the formats of the trace and of the files in it, outermost
// first.
func (o *observer) format() string {
	var all []string
	var walk func(export.Input)
	walk = func(in export.Input) {
		if !slices.Contains(all, in.Format) {
			all = append(all, in.Format)
		}
		for _, m := range in.Members {
			walk(m)
		}
	}
	walk(o.input)
	return strings.Join(all, "/")
}

// lost adds up the stats that say that data is missing.
func (o *observer) lost() []lostCount {
	var all []lostCount
	for _, s := range o.stats {
		if s.Severity == "data_loss" || s.Severity == "error" {
			all = addLost(all, lostCount{s.Name, s.Severity, s.Value, s.Description})
		}
	}
	return all
}

// values returns the values of a column, or nil if it has none.
func values[T any](c *table.Chunk, column string) []T {
	v, _ := c.Column(c.Schema.Column(column)).Values.([]T)
	return v
}
