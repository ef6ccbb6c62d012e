package series

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/lake"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/measure"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/query"
	"github.com/tpconvert/tpconvert/sqlfuncs/analysis/trend"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// Gathered are values of traces, in series.
type Gathered struct {
	series map[string]*gathered
	groups *Groups
}

type gathered struct {
	unit   string
	values map[string]float64 // by trace
}

// NewGathered returns what gathers values of grouped traces.
func NewGathered(groups *Groups) *Gathered { return &Gathered{map[string]*gathered{}, groups} }

// ErrSeveral is wrapped if a trace has several numbers where it should have one.
var ErrSeveral = errors.New("not one number per trace")

// add adds a value of a trace to a series. What is no number is left out.
func (g *Gathered) add(series, unit, trace string, value any) error {
	v := session.Float(value)
	if _, there := g.groups.Of[trace]; !there || math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	s := g.series[series]
	if s == nil {
		s = &gathered{unit, map[string]float64{}}
		g.series[series] = s
	}
	if _, twice := s.values[trace]; twice {
		return fmt.Errorf("%s: %w: %s has several", series, ErrSeveral, trace)
	}
	s.values[trace] = v
	return nil
}

// Metric adds the values of a metric: a series for each of the dimensions' values. Traces without the metrics of the current spec, which
// may have others of the same name, are left out; measured says which have them. It returns the number of series.
func (g *Gathered) Metric(ctx context.Context, s *lake.Selection, m Metric, t measure.Table, measured map[string]bool) (int, error) {
	some := NewGathered(g.groups) // which another metric may have added
	err := s.Metrics(ctx, m.Table, append(slices.Clone(t.Dimensions), m.Column), func(trace string, values []any) error {
		if !measured[trace] {
			return nil
		}
		for i, dimension := range t.Dimensions {
			if want, there := m.Where[dimension]; there && (values[i] == nil || fmt.Sprint(values[i]) != want) {
				return nil
			}
		}
		last := len(values) - 1
		return some.add(Name(m.name(), t.Dimensions, values), UnitOf(t.Values[m.Column], m.Column), trace, values[last])
	})
	maps.Copy(g.series, some.series)
	return len(some.series), err
}

// Query adds the last column of a query's rows: a series for each of the others' values. failed is called with the errors of traces.
func (g *Gathered) Query(ctx context.Context, s *lake.Selection, q *query.Query, failed func(trace string, err error)) error {
	return q.Each(ctx, s, func(r query.Result) error {
		if r.Err != nil {
			failed(r.Trace.ID, r.Err)
			return nil
		}
		for _, row := range r.Rows {
			last := len(row) - 1
			if _, text := row[last].(string); text {
				return fmt.Errorf("the last column of the SQL, %s, is not a number: %v", r.Columns[last], row[last])
			}
			name := Name(r.Columns[last], r.Columns[:last], row)
			if err := g.add(name, UnitOf("", r.Columns[last]), r.Trace.ID, row[last]); err != nil {
				return err
			}
		}
		return nil
	})
}

// Series returns all series, by name, with groups in this order.
func (g *Gathered) Series(order []string) (all []*trend.Series) {
	for _, name := range slices.Sorted(maps.Keys(g.series)) {
		s := g.series[name]
		values := map[string][]float64{}
		for trace, v := range s.values {
			values[g.groups.Of[trace]] = append(values[g.groups.Of[trace]], v)
		}
		all = append(all, trend.New(name, s.unit, values, order))
	}
	return all
}
