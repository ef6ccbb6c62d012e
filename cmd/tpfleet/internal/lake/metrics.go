package lake

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/apache/iceberg-go/table"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/batch"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/measure"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
	"github.com/tpconvert/tpconvert/export"
)

// MetricTables returns what the current specs say of the tables of metrics, by name.
func (l *Lake) MetricTables(ctx context.Context) (map[string]measure.Table, error) {
	ledger, err := l.ledger(ctx)
	if err != nil {
		return nil, err
	}
	layout, err := l.readLayout(ctx, ledger)
	if err != nil {
		return nil, err
	}
	specs, err := measure.Read(layout.Specs)
	if err != nil {
		return nil, err
	}
	return specs.Tables()
}

// IsColumn reports whether the ledger has a column.
func IsColumn(name string) bool {
	return slices.ContainsFunc(ledgerColumns, func(c ledgerColumn) bool { return c.name == name })
}

// Metrics calls do with columns of each row that a table of metrics has of the selected traces.
func (s *Selection) Metrics(ctx context.Context, table string, columns []string, do func(trace string, values []any) error) error {
	t := s.metrics[table]
	if t == nil {
		return fmt.Errorf("there is no table %s, only %v", table, slices.Sorted(maps.Keys(s.metrics)))
	}
	read := append([]string{"trace_id"}, columns...)
	_, attempts := t.Schema().FindFieldByName(export.TraceAttemptColumn)
	if attempts {
		read = append(read, export.TraceAttemptColumn)
	}
	values := make([]any, len(columns))
	return eachBatch(ctx, t, read, func(b batch.Batch) error {
		for row := range b.Rows {
			id := b.Text("trace_id", row)
			attempt, there := s.attempts[id]
			if !there || attempts && b.Text(export.TraceAttemptColumn, row) != attempt {
				continue
			}
			for i, c := range columns {
				values[i] = b.Value(c, row)
			}
			if err := do(id, values); err != nil {
				return err
			}
		}
		return nil
	})
}

// HasMetrics reports whether a trace has the metrics of a spec, by what the ledger's column metrics says of it.
func HasMetrics(metrics any, spec task.Spec) bool {
	text, _ := metrics.(string)
	digests, err := task.ReadLabels([]byte(text))
	return err == nil && digests[spec.Name] == spec.Digest()
}

// changeMetrics changes the ledger, and the rows of some traces in the tables of metrics by replace, in one transaction. By the ledger, the
// tables are changed one by one, and the ledger last.
func (l *Lake) changeMetrics(ctx context.Context, ledger *table.Table, c *choice, some map[string]string, progress *progress,
	replace func(t *table.Table, name string, files []table.FileScanTask) (table.CompactionGroupResult, error)) error {
	change, err := l.ledgerChange(ctx, ledger, c, progress)
	if err != nil {
		return err
	}
	on, err := daysOf(ctx, ledger, some)
	if err != nil {
		return err
	}
	var v *view
	if byLedger(ledger) {
		if v, err = l.viewOf(ctx, ledger); err != nil {
			return err
		}
	}
	changes := []*table.Transaction{change}
	for _, name := range metricNames(ledger) {
		t, err := l.load(ctx, name)
		if err != nil {
			return err
		}
		added := c.files[name]
		if byLedger(ledger) {
			if added, err = notIn(ctx, t, progress.left(added)); err != nil {
				return err
			}
			if len(added) < len(c.files[name]) {
				continue // an earlier try changed the table
			}
		}
		files, gone, err := l.dataFiles(ctx, t, name, added)
		if err != nil {
			return err
		}
		if len(gone) > 0 {
			return goneError(gone, map[string]bool{})
		}
		old, err := filesOn(ctx, t, slices.Values(on))
		if err != nil {
			return err
		}
		if v != nil {
			// A commit to come looks for the files that its attempt wrote.
			old = slices.DeleteFunc(old, func(f table.FileScanTask) bool { return v.open(f.File.FilePath()) != "" })
		}
		by, err := replace(t, name, old)
		if err != nil {
			return err
		}
		if len(by.OldDataFiles)+len(files) == 0 {
			continue
		}
		by.NewDataFiles = append(files, by.NewDataFiles...)
		tx := t.NewTransaction()
		if err := swap(ctx, tx, by, nil); err != nil {
			return err
		}
		if v == nil {
			changes = append(changes, tx)
			continue
		}
		if err := l.commitTables(ctx, true, tx); err != nil {
			return err
		}
		progress.add(added)
	}
	return l.commitTables(ctx, v != nil, changes...)
}
