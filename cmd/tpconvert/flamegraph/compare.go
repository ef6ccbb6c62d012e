package flamegraph

import (
	"fmt"
	"strings"

	"github.com/google/pprof/profile"
)

// Compare returns p minus base, for the metrics that both have. pprof's percentages refer to base.
func Compare(p, base *profile.Profile) (*profile.Profile, error) {
	both := []*profile.Profile{p, base}
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

// Metrics lists the metrics of a profile with their units, for messages.
func Metrics(p *profile.Profile) string {
	var names []string
	for _, t := range p.SampleType {
		names = append(names, metricName(t))
	}
	return strings.Join(names, ", ")
}

func metricName(t *profile.ValueType) string { return fmt.Sprintf("%s (%s)", t.Type, t.Unit) }
