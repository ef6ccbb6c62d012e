package pprof

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// Compare returns p minus base, for the metrics that both have. pprof's percentages refer to base.
func Compare(p, base *profile.Profile) (*profile.Profile, error) {
	both := []*profile.Profile{p, base}
	for _, s := range p.SampleType {
		for _, t := range base.SampleType {
			switch {
			case s.Type != t.Type:
			case s.Unit == t.Unit+thousandths:
				toThousandths(base, t)
			case t.Unit == s.Unit+thousandths:
				toThousandths(p, s)
			}
		}
	}
	if err := profile.CompatibilizeSampleTypes(both); err != nil {
		return nil, fmt.Errorf("the profiles cannot be compared, because they have no metric in common: %s, and %s in the base",
			Metrics(p), Metrics(base))
	}
	if *p.PeriodType != *base.PeriodType { // pprof would not merge them
		p.PeriodType, base.PeriodType = &profile.ValueType{}, &profile.ValueType{}
	}
	base.SetLabel("pprof::base", []string{"true"})
	base.Scale(-1)
	return profile.Merge(both)
}

// toThousandths multiplies the values of a metric of a profile.
func toThousandths(p *profile.Profile, metric *profile.ValueType) {
	i := slices.Index(p.SampleType, metric)
	metric.Unit += thousandths
	for _, s := range p.Sample {
		s.Value[i] *= 1000
	}
}

// Metrics lists the metrics of a profile with their units, for messages.
func Metrics(p *profile.Profile) string {
	var names []string
	for _, t := range p.SampleType {
		names = append(names, MetricName(t))
	}
	return strings.Join(names, ", ")
}

// MetricName is the name of a metric with its unit, for messages.
func MetricName(t *profile.ValueType) string { return fmt.Sprintf("%s (%s)", t.Type, t.Unit) }
