package task

import (
	"github.com/tpconvert/tpconvert/model/table"
	"github.com/tpconvert/tpconvert/sqlfuncs/metrics"
)

// Spec is a TraceSummarySpec of Perfetto, as text or encoded. The rows of its metrics are in tables of the lake.
type Spec struct {
	Name string `json:"name"`
	Spec []byte `json:"spec"`
}

// Digest tells specs of one name apart.
func (s *Spec) Digest() string { return metrics.Digest(s.Spec) }

// MetricColumn is a column of a table of metrics, but for those that all tables have.
type MetricColumn struct {
	Name string     `json:"name"`
	Type table.Type `json:"type"` // text, integer, real number or flag
}

// metricSchema returns the schema of a table of metrics, without the columns that all tables have.
func metricSchema(name string, columns []MetricColumn) *table.Schema {
	s := &table.Schema{Name: name}
	var all []table.Column
	for _, c := range columns {
		all = append(all, table.Column{Name: c.Name, Type: c.Type, Nullable: true})
	}
	return s.WithColumns(all)
}

// MetricSchemas returns the schemas of the tables of metrics, without the columns that all tables have.
func (l Layout) MetricSchemas() map[string]*table.Schema {
	all := map[string]*table.Schema{}
	for name, t := range l.Tables {
		if len(t.Metric) > 0 {
			all[name] = metricSchema(name, t.Metric)
		}
	}
	return all
}
