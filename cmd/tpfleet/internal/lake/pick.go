package lake

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/apache/iceberg-go/table"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/batch"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/predicate"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
	"github.com/tpconvert/tpconvert/export"
)

// Picked are entries of the ledger: those with an id, or those for which a predicate is true.
type Picked struct {
	IDs   []string // of traces
	Where string   // in SQLite's SQL over the columns of the ledger
}

// entryColumns are the columns of a picked entry.
var entryColumns = []string{"trace_id", "url", "etag", "bytes", "status", "error", "sha256", "converter_version", "schema_version", "task", "added_unix_ns", "labels"}

// pick calls found with the entries that are picked, with entryColumns and more. It is an error if there is no trace with one of the ids.
func pick(ctx context.Context, t *table.Table, p Picked, more []string, found func(entry) error) error {
	columns := slices.Clone(entryColumns)
	for _, name := range more {
		if !slices.Contains(columns, name) {
			columns = append(columns, name)
		}
	}
	var choose func(b batch.Batch) ([]int, error)
	missing := map[string]bool{}
	if p.Where != "" {
		var all []predicate.Column
		for _, c := range columnsOf(byLedger(t)) {
			all = append(all, predicate.Column{Name: c.name, Text: c.text, Version: c.name == "converter_version"})
		}
		where, err := predicate.New(ctx, "ledger", p.Where, all)
		if err != nil {
			return err
		}
		defer where.Close()
		for _, c := range where.Columns {
			if !slices.Contains(columns, c.Name) {
				columns = append(columns, c.Name)
			}
		}
		choose = func(b batch.Batch) ([]int, error) {
			return where.Rows(ctx, b.Rows, func(c predicate.Column, row int) any {
				switch {
				case b.IsNull(c.Name, row):
					return nil
				case c.Text:
					return b.Text(c.Name, row)
				}
				return *b.Number(c.Name, row)
			})
		}
	} else {
		wanted := map[string]bool{}
		for _, id := range p.IDs {
			wanted[id], missing[id] = true, true
		}
		choose = func(b batch.Batch) (rows []int, err error) {
			for row := range b.Rows {
				if id := b.Text("trace_id", row); wanted[id] {
					rows = append(rows, row)
					delete(missing, id)
				}
			}
			return rows, nil
		}
	}
	err := eachBatch(ctx, t, columns, func(b batch.Batch) error {
		rows, err := choose(b)
		for _, row := range rows {
			if err == nil && b.Text("status", row) != task.Abandoned {
				err = found(entryIn(b, row))
			}
		}
		return err
	})
	if err == nil && len(missing) > 0 {
		for id := range missing {
			return fmt.Errorf("%s and %d others: the ledger has no such trace", id, len(missing)-1)
		}
	}
	return err
}

// content returns the id of the trace with this content, "" if it was never read.
func (e *entry) content() string {
	if e.TraceID != "" || e.SHA256 == "" {
		return e.TraceID
	}
	return export.TraceID(e.SHA256)
}

// Tried is a trace that was tried before.
type Tried struct {
	task.Trace
	ID, Task string // of its rows, and what made them; "" if it is bad
	Labels   task.Labels
}

// Tried returns the traces that are picked, except for copies and those that are superseded or forgotten.
func (l *Lake) Tried(ctx context.Context, p Picked) (traces []Tried, err error) {
	err = l.read(ctx, "pick", func(ctx context.Context) error {
		traces = nil
		t, err := l.ledger(ctx)
		if err != nil {
			return err
		}
		return pick(ctx, t, p, nil, func(e entry) error {
			switch e.Status {
			case task.Bad:
				traces = append(traces, Tried{Trace: e.Trace, Labels: e.Labels})
			case task.OK:
				traces = append(traces, Tried{e.Trace, e.TraceID, e.task, e.Labels})
			default:
				if len(p.IDs) > 0 {
					slog.WarnContext(ctx, "left alone: it has no rows", "trace_id", e.TraceID, "url", e.URL, "status", e.Status, "error", e.Error)
				}
			}
			return nil
		})
	})
	return traces, err
}
