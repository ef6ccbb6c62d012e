// Package series gathers a value of each trace of a fleet, and puts the traces in groups, such as those of a build.
package series

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/measure"
)

// Metric is a column of a table of metrics, and values that dimensions have.
type Metric struct {
	Table, Column string
	Where         map[string]string
}

// ParseMetric reads a metric such as slices.p95_dur{name="draw"}: labels are written as in Prometheus.
func ParseMetric(text string) (Metric, error) {
	wrong := fmt.Errorf(`%s is not a metric such as slices.p95_dur or slices.p95_dur{name="draw"}`, text)
	name, rest, some := strings.Cut(text, "{")
	dot := strings.LastIndexByte(name, '.')
	if dot < 1 || dot == len(name)-1 || some && !strings.HasSuffix(rest, "}") {
		return Metric{}, wrong
	}
	m := Metric{Table: measure.Prefix + strings.TrimPrefix(name[:dot], measure.Prefix), Column: name[dot+1:], Where: map[string]string{}}
	for rest = strings.TrimSuffix(rest, "}"); strings.TrimSpace(rest) != ""; {
		label, after, _ := strings.Cut(rest, "=")
		quoted, err := strconv.QuotedPrefix(strings.TrimSpace(after))
		if err != nil {
			return Metric{}, wrong
		}
		value, err := strconv.Unquote(quoted)
		if err != nil {
			return Metric{}, wrong
		}
		m.Where[strings.TrimSpace(label)] = value
		rest = strings.TrimSpace(after)[len(quoted):]
		if next, more := strings.CutPrefix(strings.TrimSpace(rest), ","); more {
			rest = next
		} else if strings.TrimSpace(rest) != "" {
			return Metric{}, wrong
		}
	}
	return m, nil
}

// Check returns an error if there is no such metric.
func (m Metric) Check(tables map[string]measure.Table) error {
	t, there := tables[m.Table]
	if _, value := t.Values[m.Column]; !value {
		var all []string
		for name, t := range tables {
			for column := range t.Values {
				if !there || name == m.Table {
					all = append(all, strings.TrimPrefix(name, measure.Prefix)+"."+column)
				}
			}
		}
		if len(all) == 0 {
			return fmt.Errorf(`there is no metric %s: the tables have no metrics, which "rework --metrics-only --spec" adds`, m.name())
		}
		slices.Sort(all)
		return fmt.Errorf("there is no metric %s, only %s", m.name(), strings.Join(all, ", "))
	}
	for label := range m.Where {
		if !slices.Contains(t.Dimensions, label) {
			return fmt.Errorf("%s has no dimension %s, only %s", strings.TrimPrefix(m.Table, measure.Prefix), label, strings.Join(t.Dimensions, ", "))
		}
	}
	return nil
}

// String returns the metric as ParseMetric reads it.
func (m Metric) String() string {
	var names []string
	var values []any
	for name, value := range m.Where {
		names, values = append(names, name), append(values, value)
	}
	return Name(m.name(), names, values)
}

// name returns the metric without its labels.
func (m Metric) name() string { return strings.TrimPrefix(m.Table, measure.Prefix) + "." + m.Column }

// Name returns the name of a series, with its labels.
func Name(metric string, names []string, values []any) string {
	labels := map[string]string{}
	for i, name := range names {
		if values[i] != nil {
			labels[name] = fmt.Sprint(values[i])
		}
	}
	if len(labels) == 0 {
		return metric
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		all = append(all, name+"="+strconv.Quote(labels[name]))
	}
	return metric + "{" + strings.Join(all, ",") + "}"
}

// UnitOf returns the unit of a value of Perfetto's specs, or of a column by its name.
func UnitOf(unit, column string) string {
	switch {
	case unit == "TIME_NANOS", column == "dur", strings.HasSuffix(column, "_dur"):
		return "ns"
	case unit == "BYTES", column == "bytes", strings.HasSuffix(column, "_bytes"):
		return "bytes"
	}
	return ""
}
