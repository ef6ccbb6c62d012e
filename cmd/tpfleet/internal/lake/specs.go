package lake

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"golang.org/x/sync/errgroup"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/measure"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
	"github.com/tpconvert/tpconvert/export"
	model "github.com/tpconvert/tpconvert/model/table"
)

// metricsProperty is the property of the ledger with the names of the tables of metrics, separated by commas.
const metricsProperty = "tpfleet.metrics"

// ErrSpec is wrapped if a spec is wrong, or does not fit the tables.
var ErrSpec = errors.New("a wrong spec")

// metricNames returns the names of the tables of metrics.
func metricNames(ledger *table.Table) []string {
	return strings.FieldsFunc(ledger.Properties()[metricsProperty], func(r rune) bool { return r == ',' })
}

// tableNames returns the names of all tables, that of the ledger first.
func (l *Lake) tableNames(ctx context.Context) ([]string, error) {
	ledger, err := l.load(ctx, task.Ledger)
	if err != nil {
		return nil, err
	}
	return append(tableNames(), metricNames(ledger)...), nil
}

// eachTable calls do with the names of tables, some at a time, until one fails.
func eachTable(ctx context.Context, names []string, atOnce int, do func(ctx context.Context, name string) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, name := range names {
		group.Go(func() error {
			err := ctx.Err()
			if err == nil {
				err = do(ctx, name)
			}
			if err != nil {
				err = fmt.Errorf("table %s: %w", name, err)
			}
			return err
		})
	}
	return group.Wait()
}

// readLayout reads the layout that the ledger names, an empty one if it names none.
func (l *Lake) readLayout(ctx context.Context, ledger *table.Table) (layout task.Layout, err error) {
	url := ledger.Properties()[layoutProperty]
	if url == "" {
		return layout, nil
	}
	text, err := l.stores.Read(ctx, url)
	if err == nil {
		err = json.Unmarshal(text, &layout)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", url, err)
	}
	return layout, err
}

// withSpecs adds specs, and those that there are, to a layout, which keeps its redaction, and returns the packed schemas of their tables. A table keeps columns that its
// spec no longer has.
func (l *Lake) withSpecs(ctx context.Context, ledger *table.Table, layout *task.Layout, specs []task.Spec) (schemas []*model.Schema, err error) {
	before, err := l.readLayout(ctx, ledger)
	if err != nil {
		return nil, err
	}
	layout.Redaction = cmp.Or(layout.Redaction, before.Redaction)
	layout.Specs = slices.Clone(before.Specs)
	for _, s := range specs {
		if i := slices.IndexFunc(layout.Specs, func(other task.Spec) bool { return other.Name == s.Name }); i >= 0 {
			layout.Specs[i] = s
		} else {
			layout.Specs = append(layout.Specs, s)
		}
	}
	read, err := measure.Read(layout.Specs)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSpec, err)
	}
	now, err := read.Columns()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSpec, err)
	}
	for name, t := range before.Tables {
		if len(t.Metric) > 0 {
			layout.Tables[name] = task.Table{Metric: t.Metric}
		}
	}
	for name, columns := range now {
		all := slices.Clone(layout.Tables[name].Metric)
		for _, c := range columns {
			i := slices.IndexFunc(all, func(other task.MetricColumn) bool { return other.Name == c.Name })
			if i >= 0 && all[i].Type != c.Type {
				return nil, fmt.Errorf("%w: the column %s of the table %s has another type: give the metric another id", ErrSpec, c.Name, name)
			}
			if i < 0 {
				all = append(all, c)
			}
		}
		layout.Tables[name] = task.Table{Metric: all}
	}
	described, err := read.Tables()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSpec, err)
	}
	for name, s := range layout.MetricSchemas() {
		if t, there := described[name]; there {
			s.Doc = "Metrics of the spec " + t.Spec.Name + "."
			for i := range s.Columns {
				s.Columns[i].Doc = t.Doc(s.Columns[i].Name)
			}
		}
		s = export.PackedSchema(s)
		for i, c := range s.Columns {
			if slices.ContainsFunc(s.Columns[:i], func(other model.Column) bool { return other.Name == c.Name }) {
				return nil, fmt.Errorf("%w: the table %s has two columns %s: rename the one of the spec", ErrSpec, name, c.Name)
			}
		}
		schemas = append(schemas, s)
	}
	return schemas, nil
}

// packedSchema returns the packed schema of a table. That of metrics has the columns of the table.
func packedSchema(t *table.Table, name string) (*model.Schema, error) {
	all := task.Packed()
	if i := slices.IndexFunc(all, func(s *model.Schema) bool { return s.Name == name }); i >= 0 {
		return all[i], nil
	}
	var columns []model.Column
	for _, f := range t.Schema().Fields() {
		kind := slices.Index(icebergTypes[:], iceberg.Type(f.Type))
		if kind < 0 {
			return nil, fmt.Errorf("the column %s of the table %s has the type %s", f.Name, name, f.Type)
		}
		if f.Name != "trace_id" && f.Name != export.TraceDayColumn && f.Name != export.TraceAttemptColumn {
			columns = append(columns, model.Column{Name: f.Name, Type: model.Type(kind), Nullable: true})
		}
	}
	return export.PackedSchema((&model.Schema{Name: name}).WithColumns(columns)), nil
}

// failedSpec reports whether a spec failed for a trace.
func failedSpec(metrics task.Labels) bool {
	for _, digest := range metrics {
		if strings.Contains(digest, ": ") {
			return true
		}
	}
	return false
}
