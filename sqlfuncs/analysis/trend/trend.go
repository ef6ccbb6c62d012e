// Package trend tells how a value of traces changes from one group of them, such as those of a build, to the next.
package trend

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/tpconvert/tpconvert/internal/changepoint"
	"github.com/tpconvert/tpconvert/sqlfuncs/analysis/compare"
)

// Significant is the probability below which a change is taken for real.
const Significant = 0.001

// Result is what some traces say of some metrics.
type Result struct {
	By           string    `json:"by"`    // what traces are grouped by
	Order        string    `json:"order"` // of the groups
	Significance float64   `json:"significance"`
	Traces       int       `json:"traces"`
	Without      int       `json:"without_group"` // of these
	Failed       int       `json:"failed"`        // of these, for which SQL failed
	Unmeasured   int       `json:"unmeasured"`    // of these, that lack the metrics of the current spec
	Groups       int       `json:"groups"`
	Series       []*Series `json:"metrics"` // those with the greatest changes first
}

// Series is a value of traces, by group.
type Series struct {
	Name    string   `json:"metric"`
	Unit    string   `json:"unit,omitempty"` // ns or bytes, "" for others
	Traces  int      `json:"traces"`
	Groups  []Group  `json:"groups"`
	Changes []Change `json:"changes"`
	LeastP  float64  `json:"least_p"` // that a change between so few groups can have, 0 if they have no order
}

// Group is what the traces of a group say.
type Group struct {
	Name   string  `json:"name"`
	Traces int     `json:"traces"`
	Mean   float64 `json:"mean"`
	P5     float64 `json:"p5"`
	P25    float64 `json:"p25"`
	P50    float64 `json:"p50"`
	P75    float64 `json:"p75"`
	P95    float64 `json:"p95"`
}

// Change is a group from which on the medians of groups differ. Before and after reach to the next change.
type Change struct {
	At     int     `json:"-"`      // index of the group
	Name   string  `json:"at"`     // of the group
	Before float64 `json:"before"` // median of the medians
	After  float64 `json:"after"`
	P      float64 `json:"p"`      // probability of such a change by chance, corrected for the number of series
	Effect float64 `json:"effect"` // from -1, if all medians are smaller after, to 1

	GroupsBefore int `json:"groups_before"`
	GroupsAfter  int `json:"groups_after"`
}

// New returns the series of the values of each group. order has the names of the groups; those without values are left out.
func New(name, unit string, values map[string][]float64, order []string) *Series {
	s := &Series{Name: name, Unit: unit, Groups: []Group{}, Changes: []Change{}}
	for _, group := range order {
		sorted := slices.Sorted(slices.Values(values[group]))
		if len(sorted) == 0 {
			continue
		}
		g := Group{Name: group, Traces: len(sorted)}
		for _, v := range sorted {
			g.Mean += v / float64(len(sorted))
		}
		for to, fraction := range map[*float64]float64{&g.P5: 0.05, &g.P25: 0.25, &g.P50: 0.5, &g.P75: 0.75, &g.P95: 0.95} {
			*to = compare.Quantile(sorted, fraction)
		}
		s.Groups = append(s.Groups, g)
		s.Traces += g.Traces
	}
	return s
}

// Find finds the changes of a series, one of several that are looked at together, with at most this probability that any of them is chance.
// The error is that of ctx.
func (s *Series) Find(ctx context.Context, significant float64, several int) error {
	medians := make([]float64, len(s.Groups))
	for i, g := range s.Groups {
		medians[i] = g.P50
	}
	s.LeastP = min(1, changepoint.LeastP(len(medians))*float64(several))
	points, err := changepoint.Find(ctx, medians, significant/float64(several))
	if err != nil {
		return err
	}
	for i, p := range points {
		from, to := 0, len(medians)
		if i > 0 {
			from = points[i-1].At
		}
		if i+1 < len(points) {
			to = points[i+1].At
		}
		before, after := medians[from:p.At], medians[p.At:to]
		s.Changes = append(s.Changes, Change{
			At: p.At, Name: s.Groups[p.At].Name, Before: p.Before, After: p.After, P: p.P * float64(several),
			Effect: compare.Effect(before, after), GroupsBefore: len(before), GroupsAfter: len(after),
		})
	}
	return nil
}

// Change returns the change at a group, nil if there is none.
func (s *Series) Change(at int) *Change {
	if i := slices.IndexFunc(s.Changes, func(c Change) bool { return c.At == at }); i >= 0 {
		return &s.Changes[i]
	}
	return nil
}

// Values are the values that a row of Row has besides p, effect, diff and name.
var Values = []string{"count", "mean", "p50", "p95"}

// Kind is the kind of these rows.
const Kind = "metric"

// Row returns a change as the comparison of the groups before and after it. Its values are medians of those of the groups.
func (s *Series) Row(c *Change) *compare.Row {
	return &compare.Row{
		Key: compare.Key{Kind: Kind, Name: s.Name, Unit: s.Unit}, Measure: "p50", Before: c.Before, After: c.After, P: c.P, Effect: c.Effect,
		Was: values(s.Groups[c.At-c.GroupsBefore : c.At]), Is: values(s.Groups[c.At : c.At+c.GroupsAfter]),
	}
}

// values returns the medians of what groups say.
func values(groups []Group) compare.Values {
	column := func(get func(*Group) float64) float64 {
		var all []float64
		for i := range groups {
			all = append(all, get(&groups[i]))
		}
		slices.Sort(all)
		return compare.Quantile(all, 0.5)
	}
	return compare.Values{
		Count: column(func(g *Group) float64 { return float64(g.Traces) }), Total: math.NaN(), Self: math.NaN(), Mean: column(func(g *Group) float64 { return g.Mean }),
		P50: column(func(g *Group) float64 { return g.P50 }), P95: column(func(g *Group) float64 { return g.P95 }),
	}
}

// Sort puts the series with the greatest changes first, then the others by name.
func Sort(all []*Series) {
	greatest := func(s *Series) (size float64) {
		for _, c := range s.Changes {
			size = max(size, math.Abs(c.After-c.Before)/max(math.Abs(c.After), math.Abs(c.Before)))
		}
		return size
	}
	slices.SortStableFunc(all, func(a, b *Series) int {
		return cmp.Or(cmp.Compare(greatest(b), greatest(a)), cmp.Compare(a.Name, b.Name))
	})
}
