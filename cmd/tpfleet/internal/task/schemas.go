package task

import (
	"fmt"
	"maps"
	"slices"

	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/model/table"
)

// Ledger is the name of the table with a row for each trace. Commits write it, not tasks.
const Ledger = "trace"

// Packed returns the schemas of all tables that tasks write.
func Packed() []*table.Schema {
	var all []*table.Schema
	for _, s := range schema.All() {
		if !s.Abstract && s.Name != Ledger {
			all = append(all, export.PackedSchema(s))
		}
	}
	return all
}

// Schemas returns the schemas of all tables that tasks write, with the field ids of the layout.
func (l Layout) Schemas() (all []*table.Schema, err error) {
	for _, s := range Packed() {
		if s, err = l.placed(s); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// PackedMetrics returns the packed schemas of the tables of metrics, with the field ids of the layout.
func (l Layout) PackedMetrics() (all []*table.Schema, err error) {
	for _, name := range slices.Sorted(maps.Keys(l.MetricSchemas())) {
		s, err := l.placed(export.PackedSchema(metricSchema(name, l.Tables[name].Metric)))
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// placed returns a packed schema with the field ids of the layout.
func (l Layout) placed(s *table.Schema) (*table.Schema, error) {
	t, there := l.Tables[s.Name]
	if t.Fields[export.TraceAttemptColumn] != 0 {
		s = export.WithAttempt(s)
	}
	for i, c := range s.Columns {
		id := t.Fields[c.Name]
		if !there || id == 0 {
			return nil, fmt.Errorf("the column %s of the table %s is missing: run \"tpfleet init\" of this version", c.Name, s.Name)
		}
		s.Columns[i].Field = id
	}
	return s, nil
}
