package work

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/model/table"
)

// Repacking says what Repack changes.
type Repacking struct {
	Gone   Gone
	Day    func(traceID string) (string, error) // of a trace without one; nil for none
	Labels map[string]string                    // of traces that have others now, by id
}

// Gone has the traces whose rows are left out, and for each the attempt whose rows stay, "" for none.
type Gone map[string]string

// Has reports whether the rows that an attempt made of a trace are left out.
func (g Gone) Has(trace, attempt string) bool {
	stays, there := g[trace]
	return there && (stays == "" || stays != attempt)
}

// Repack packs the rows of batches into files below dir, as tasks pack the rows of traces, and calls done with each and its path.
// schema is the packed schema of the table; the columns of the batches have the same names.
func Repack(dir, version string, schema *table.Schema, batches iter.Seq2[arrow.RecordBatch, error], how Repacking, done func(task.File, string) error) error {
	spool, err := export.NewSpool(dir)
	if err != nil {
		return err
	}
	defer spool.Close()
	packed := export.PackedColumns(schema)
	u := unpacker{schema: schema.WithColumns(schema.Columns[packed:]), attempts: packed > 2, spool: spool, how: how}
	for batch, err := range batches {
		if err != nil {
			return err
		}
		err = u.add(batch)
		batch.Release()
		if err != nil {
			return err
		}
	}
	if err := u.end(); err != nil {
		return err
	}
	files, err := spool.Pack(dir, []*table.Schema{schema}, version)
	if err != nil {
		return err
	}
	rows := int64(0)
	for _, p := range files {
		f := Describe(p, []*table.Schema{schema})
		rows += f.Rows
		if err := errors.Join(done(f, p.Path), os.Remove(p.Path)); err != nil {
			return err
		}
	}
	if rows != u.rows {
		return fmt.Errorf("%s: %d of %d rows were packed", schema.Name, rows, u.rows)
	}
	return nil
}

// unpacker divides packed rows by trace.
type unpacker struct {
	schema   *table.Schema // without trace_id
	attempts bool          // rows name theirs
	spool    *export.Spool
	how      Repacking
	trace    string // whose rows come now
	day      string // of the trace
	attempt  string // that made the rows
	rows     int64
}

// add takes the next rows.
func (u *unpacker) add(batch arrow.RecordBatch) error {
	column := func(name string) (arrow.Array, error) {
		if at := batch.Schema().FieldIndices(name); len(at) == 1 {
			return batch.Column(at[0]), nil
		}
		return nil, fmt.Errorf("%s: the column %s is missing", u.schema.Name, name)
	}
	text := func(name string) (array.StringLike, error) {
		c, err := column(name)
		if err != nil {
			return nil, err
		}
		texts, ok := c.(array.StringLike)
		if !ok {
			return nil, fmt.Errorf("%s: %s is %s", u.schema.Name, name, c.DataType())
		}
		return texts, nil
	}
	traces, err := text("trace_id")
	if err != nil {
		return err
	}
	days, err := text(export.TraceDayColumn)
	if err != nil {
		return err
	}
	attempt := func(int) string { return "" }
	if u.attempts {
		names, err := text(export.TraceAttemptColumn)
		if err != nil {
			return err
		}
		attempt = names.Value
	}
	columns := make([]arrow.Array, len(u.schema.Columns))
	for i, c := range u.schema.Columns {
		if columns[i], err = column(c.Name); err != nil {
			return err
		}
	}
	for from, to := 0, 0; from < traces.Len(); from = to {
		id, by := traces.Value(from), attempt(from)
		for to = from + 1; to < traces.Len() && traces.Value(to) == id && attempt(to) == by; {
			to++
		}
		if u.how.Gone.Has(id, by) {
			continue
		}
		if id != u.trace || by != u.attempt {
			if err := u.end(); err != nil {
				return err
			}
			u.trace, u.day, u.attempt = strings.Clone(id), "", strings.Clone(by)
			if days.IsValid(from) {
				u.day = strings.Clone(days.Value(from))
			} else if u.how.Day != nil {
				if u.day, err = u.how.Day(id); err != nil {
					return err
				}
			}
		}
		if err := u.chunk(columns, from, to); err != nil {
			return err
		}
	}
	return nil
}

// end ends the current trace.
func (u *unpacker) end() error {
	if u.trace == "" {
		return nil
	}
	return u.spool.Keep(u.trace, u.day, u.attempt)
}

// chunk hands the rows between from and to to the spool.
func (u *unpacker) chunk(columns []arrow.Array, from, to int) error {
	pool := table.NewRawPool() // of texts, which were checked before, or of bytes
	vectors := make([]table.Vector, len(columns))
	for i, c := range columns {
		if labels, other := u.how.Labels[u.trace]; other && u.schema.Columns[i].Name == task.LabelsColumn {
			var id table.StringID // NULL
			if labels != "" {
				id = pool.Intern(labels)
			}
			vectors[i].Values = slices.Repeat([]table.StringID{id}, to-from)
			continue
		}
		switch c := c.(type) {
		case *array.Int64:
			vectors[i].Values = c.Int64Values()[from:to]
		case *array.Int32:
			vectors[i].Values = c.Int32Values()[from:to]
		case *array.Float64:
			vectors[i].Values = c.Float64Values()[from:to]
		case *array.Boolean:
			values := make([]bool, 0, to-from)
			for row := from; row < to; row++ {
				values = append(values, c.Value(row))
			}
			vectors[i].Values = values
		case array.StringLike:
			values := make([]table.StringID, to-from)
			for n := range values {
				if c.IsValid(from + n) {
					values[n] = pool.Intern(c.Value(from + n))
				}
			}
			vectors[i].Values = values
			continue
		case *array.Binary:
			values := make([]table.StringID, to-from)
			for n := range values {
				if c.IsValid(from + n) {
					values[n] = pool.InternBytes(c.Value(from + n))
				}
			}
			vectors[i].Values = values
			continue
		default:
			return fmt.Errorf("%s: the column %s is %s", u.schema.Name, u.schema.Columns[i].Name, c.DataType())
		}
		if !u.schema.Columns[i].Nullable {
			if c.NullN() > 0 {
				return fmt.Errorf("%s: the column %s has NULLs", u.schema.Name, u.schema.Columns[i].Name)
			}
			continue
		}
		valid := make([]byte, (to-from+7)/8)
		for row := from; row < to; row++ {
			if c.IsValid(row) {
				valid[(row-from)/8] |= 1 << ((row - from) % 8)
			}
		}
		vectors[i].Valid = valid
	}
	u.rows += int64(to - from)
	return u.spool.Chunk(table.NewChunk(u.schema, to-from, vectors, pool.View()))
}

// PackedSchema returns a packed schema with these field ids. optional reports the columns that may be NULL
// although the converter always has a value: those that are newer than the table.
func PackedSchema(schema *table.Schema, fields map[string]int, optional func(string) bool) (*table.Schema, error) {
	name := schema.Name
	if fields[export.TraceAttemptColumn] != 0 {
		schema = export.WithAttempt(schema)
	}
	if len(fields) != len(schema.Columns) {
		return nil, fmt.Errorf("the table %s has %d columns, this version of tpfleet knows %d: run \"tpfleet init\" of the newest version, and use that", name, len(fields), len(schema.Columns))
	}
	for i := range schema.Columns {
		c := &schema.Columns[i]
		if c.Field = fields[c.Name]; c.Field == 0 {
			return nil, fmt.Errorf("the column %s of the table %s is missing: run \"tpfleet init\" of this version", c.Name, name)
		}
		c.Nullable = c.Nullable || optional(c.Name)
	}
	return schema, nil
}
