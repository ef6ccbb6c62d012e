// Package measure computes the metrics of specs, in rows of tables.
package measure

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
	"github.com/tpconvert/tpconvert/model/table"
	"github.com/tpconvert/tpconvert/sqlfuncs/metrics"
	"github.com/tpconvert/tpconvert/sqlfuncs/perfettosql/tables"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// Specs compute the metrics of traces. Several goroutines may use them.
type Specs struct {
	Modules fs.FS         // of PerfettoSQL, nil if there are none
	MaxTime time.Duration // for a spec of a trace, 0 means no limit

	all []spec
}

type spec struct {
	task.Spec
	metrics *metrics.Summarizer
}

// Prefix begins the names of tables with metrics.
const Prefix = session.MetricPrefix

// Read reads specs, whose names and tables must differ.
func Read(specs []task.Spec) (*Specs, error) {
	s := &Specs{}
	seen := map[string]string{}
	for _, one := range specs {
		m := &metrics.Summarizer{}
		if err := m.Add(one.Spec); err != nil {
			return nil, fmt.Errorf("%s: %w", one.Name, err)
		}
		described, err := m.Tables()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", one.Name, err)
		}
		for _, t := range described {
			name := metrics.FleetTable(t.ID)
			if other, there := seen[name]; there {
				return nil, fmt.Errorf("the specs %s and %s both have metrics for the table %s", other, one.Name, name)
			}
			seen[name] = one.Name
		}
		s.all = append(s.all, spec{one, m})
	}
	return s, nil
}

// types are those of columns in tables.
var types = map[session.Kind]table.Type{session.Text: table.TypeString, session.Integer: table.TypeInt64, session.Real: table.TypeFloat64,
	session.Bool: table.TypeBool, session.Variant: table.TypeString}

// Columns returns the columns of each table.
func (s *Specs) Columns() (map[string][]task.MetricColumn, error) {
	all := map[string][]task.MetricColumn{}
	for _, one := range s.all {
		described, err := one.metrics.Tables()
		if err != nil {
			return nil, err
		}
		for _, t := range described {
			columns := []task.MetricColumn{{Name: task.LabelsColumn, Type: table.TypeString}}
			for _, c := range t.Columns {
				if c.Name == task.LabelsColumn {
					return nil, fmt.Errorf("%s: the column labels has the labels of the trace: give that of the spec another name", one.Name)
				}
				columns = append(columns, task.MetricColumn{Name: c.Name, Type: types[c.Kind]})
			}
			all[metrics.FleetTable(t.ID)] = columns
		}
	}
	return all, nil
}

// Table is what a spec says of a table.
type Table struct {
	Spec       task.Spec
	Dimensions []string
	Values     map[string]string // units, as in Perfetto's specs, by column
}

// Doc describes a column, "" if the spec no longer has it.
func (t *Table) Doc(column string) string {
	unit, value := t.Values[column]
	switch {
	case column == task.LabelsColumn:
		return "Labels of the trace, as in the ledger."
	case slices.Contains(t.Dimensions, column):
		return "Dimension of the metrics."
	case !value:
		return ""
	case unit == "COUNT":
		return "Count."
	case unit == "TIME_NANOS":
		return "Value, ns."
	case unit == "" || unit == "METRIC_UNIT_UNSPECIFIED":
		return "Value."
	}
	return "Value, " + strings.ReplaceAll(strings.ToLower(unit), "_", " ") + "."
}

// Tables returns what the specs say of each table.
func (s *Specs) Tables() (map[string]Table, error) {
	all := map[string]Table{}
	for _, one := range s.all {
		described, err := one.metrics.Tables()
		if err != nil {
			return nil, err
		}
		for _, t := range described {
			now := Table{Spec: one.Spec, Values: map[string]string{}}
			for i, c := range t.Columns {
				if i < t.Dimensions {
					now.Dimensions = append(now.Dimensions, c.Name)
				} else {
					now.Values[c.Name] = t.Units[i-t.Dimensions]
				}
			}
			all[metrics.FleetTable(t.ID)] = now
		}
	}
	return all, nil
}

// Digests returns the digest of each spec by name, which is what Trace returns if none fails.
func (s *Specs) Digests() task.Labels {
	all := task.Labels{}
	for _, one := range s.all {
		all[one.Name] = one.Digest()
	}
	return all
}

// Trace computes the metrics of a trace with these labels, in chunks of the tables with these schemas. It returns the digests of the specs,
// with the error of those that failed: these have no rows.
func (s *Specs) Trace(ctx context.Context, open tables.Opener, labels task.Labels, schemas map[string]*table.Schema) (chunks []*table.Chunk, done task.Labels, err error) {
	db, err := session.On(tables.NewDataset(open), session.Options{Modules: s.Modules})
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	done = task.Labels{}
	for _, one := range s.all {
		some, failed := one.trace(ctx, db, labels.Text(), schemas, s.MaxTime)
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		if done[one.Name] = one.Digest(); failed != nil {
			done[one.Name] += ": " + failed.Error()
			continue
		}
		chunks = append(chunks, some...)
	}
	return chunks, done, nil
}

func (s *spec) trace(ctx context.Context, db *session.Session, labels string, schemas map[string]*table.Schema, most time.Duration) (chunks []*table.Chunk, err error) {
	limited, cancel := ctx, func() {}
	if most > 0 {
		limited, cancel = context.WithTimeout(ctx, most)
	}
	defer cancel()
	summary, err := s.metrics.Summarize(limited, db, nil, "")
	if err != nil && limited.Err() != nil {
		err = fmt.Errorf("it takes more than --max-time=%s", most)
	}
	if err != nil {
		return nil, err
	}
	for _, t := range summary.Tables() {
		if len(t.Rows) == 0 {
			continue
		}
		schema := schemas[metrics.FleetTable(t.ID)]
		if schema == nil {
			return nil, fmt.Errorf("there is no table %s: add the spec again", metrics.FleetTable(t.ID))
		}
		c, err := chunk(t, labels, schema)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.ID, err)
		}
		chunks = append(chunks, c)
	}
	return chunks, nil
}

// chunk returns the rows of a table as those of a schema, which may have more columns.
func chunk(t metrics.Table, labels string, schema *table.Schema) (*table.Chunk, error) {
	b := table.NewBuilder(schema, len(t.Rows)+1)
	at := map[string]int{}
	for i, c := range t.Columns {
		at[c.Name] = i
		if schema.Column(c.Name) < 0 {
			return nil, fmt.Errorf("the table lacks the column %s: add the spec again", c.Name)
		}
	}
	for _, row := range t.Rows {
		for i, c := range schema.Columns {
			if c.Name == task.LabelsColumn && labels != "" {
				b.Text(i, labels)
				continue
			}
			from, there := at[c.Name]
			if !there || row[from] == nil {
				b.Null(i)
				continue
			}
			if err := put(b, i, c, row[from]); err != nil {
				return nil, err
			}
		}
	}
	return b.Chunk(), nil
}

// put adds a value to a column.
func put(b *table.Builder, i int, c table.Column, value any) error {
	switch v := value.(type) {
	case string:
		if c.Type == table.TypeString {
			b.Text(i, v)
			return nil
		}
	case bool:
		if c.Type == table.TypeBool {
			b.Bool(i, v)
			return nil
		}
	case int64:
		switch c.Type {
		case table.TypeInt64:
			b.Int(i, v)
			return nil
		case table.TypeFloat64:
			b.Float(i, float64(v))
			return nil
		}
	case float64:
		if c.Type == table.TypeFloat64 {
			b.Float(i, v)
			return nil
		}
	}
	if c.Type == table.TypeString { // a dimension without a type
		b.Text(i, fmt.Sprint(value))
		return nil
	}
	return fmt.Errorf("the column %s of the table has another type than the value %v", c.Name, value)
}
