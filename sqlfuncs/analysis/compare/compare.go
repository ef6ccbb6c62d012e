// Package compare tells how some traces differ from others, and whether that is more than noise.
package compare

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"golang.org/x/perf/benchmath"
)

// Side is the traces before or after.
type Side []*Measured

// Row compares a thing. Values are medians of the traces; what is unknown is NaN.
type Row struct {
	Key
	Measure       string  // the value that is tested: self, total, count or mean
	Before, After float64 // of that value
	P             float64 // probability of such a difference by chance, corrected for the number of comparisons; NaN if not tested
	Effect        float64 // from -1, if all values are smaller after, to 1
	Was, Is       Values
	All           [2][]float64 // the value that is tested in each trace before and after that has it, ascending

	size float64 // by which rows are ordered
}

// Diff is the difference.
func (r *Row) Diff() float64 { return r.After - r.Before }

// Result is a comparison.
type Result struct {
	BeforeTraces, AfterTraces int
	Tested                    int     // comparisons
	LeastP                    float64 // the least p that so few traces can have, NaN without a test
	Rows                      []Row   // the largest effects first
}

// Significant is the p below which a difference is taken for real.
const Significant = 0.01

// minShare is the share of the values of its kind that a thing needs to be tested. More comparisons make each weaker.
const minShare = 0.001

// Compare compares traces.
func Compare(before, after Side) *Result {
	keys := map[Key]bool{}
	sums := map[string]float64{} // of all values of a kind and unit
	for _, m := range slices.Concat(before, after) {
		for k, v := range m.Values {
			keys[k] = true
			if main, _ := k.main(v); !math.IsNaN(main) {
				sums[k.Kind+k.Unit] += math.Abs(main)
			}
		}
	}
	r := &Result{BeforeTraces: len(before), AfterTraces: len(after), LeastP: unknown}
	dur := max(before.dur(), after.dur())
	for k := range keys {
		was, is := before.values(k), after.values(k)
		row := Row{Key: k, P: unknown, Effect: unknown, Was: medians(was), Is: medians(is)}
		row.Before, row.Measure = k.main(row.Was)
		row.After, _ = k.main(row.Is)
		a, b := mains(k, was), mains(k, is)
		row.All = [2][]float64{a, b}
		sum := 0.0
		for _, v := range slices.Concat(a, b) {
			sum += math.Abs(v)
		}
		sums := sums[k.Kind+k.Unit]
		none, _ := k.main(k.none())
		if len(a) > 1 && len(b) > 1 && (math.IsNaN(none) || sum >= minShare*sums) {
			row.P, row.Effect = test(a, b)
			r.Tested++
		}
		row.size = math.Abs(row.Diff())
		switch {
		case k.Unit == "samples": // as much of the time as of the samples
			row.size *= dur * float64(len(before)+len(after)) / sums
		case k.Unit != "ns": // after everything that takes time
			row.size = -1 / (1 + math.Abs(row.Diff())/max(math.Abs(row.Before), math.Abs(row.After)))
		}
		if math.IsNaN(row.size) {
			row.size = math.Inf(-1)
		}
		r.Rows = append(r.Rows, row)
	}
	r.correct()
	slices.SortFunc(r.Rows, func(a, b Row) int {
		return cmp.Or(-compareBool(a.P < Significant, b.P < Significant), cmp.Compare(b.size, a.size), cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.Name, b.Name), cmp.Compare(a.Process, b.Process), cmp.Compare(a.Thread, b.Thread), cmp.Compare(a.Unit, b.Unit))
	})
	if n, m := len(before), len(after); r.Tested > 0 {
		r.LeastP = min(1, 2*float64(r.Tested)/choose(n+m, n))
	}
	return r
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// choose is the number of ways to take k of n.
func choose(n, k int) float64 {
	ways := 1.0
	for i := range k {
		ways *= float64(n-i) / float64(i+1)
	}
	return ways
}

// dur is the median duration of the traces.
func (s Side) dur() float64 {
	var all []float64
	for _, m := range s {
		all = append(all, m.Dur)
	}
	slices.Sort(all)
	return Quantile(all, 0.5)
}

// values returns what each trace says of a thing. A trace without it has none of what adds up.
func (s Side) values(k Key) []Values {
	all := make([]Values, len(s))
	for i, m := range s {
		v, ok := m.Values[k]
		if !ok {
			v = k.none()
		}
		all[i] = v
	}
	return all
}

// mains returns the values that are tested, ascending, without those that are unknown.
func mains(k Key, all []Values) (known []float64) {
	for _, v := range all {
		if main, _ := k.main(v); !math.IsNaN(main) {
			known = append(known, main)
		}
	}
	slices.Sort(known)
	return known
}

// medians returns the median of each value, of the traces that have it.
func medians(all []Values) (m Values) {
	for i, get := range fields {
		var known []float64
		for _, v := range all {
			if f := *get(&v); !math.IsNaN(f) {
				known = append(known, f)
			}
		}
		slices.Sort(known)
		*fields[i](&m) = Quantile(known, 0.5)
	}
	return m
}

// fields are the fields of Values, fieldNames their names.
var (
	fieldNames = strings.Fields("count total self mean p50 p95")
	fields     = []func(*Values) *float64{
		func(v *Values) *float64 { return &v.Count }, func(v *Values) *float64 { return &v.Total }, func(v *Values) *float64 { return &v.Self },
		func(v *Values) *float64 { return &v.Mean }, func(v *Values) *float64 { return &v.P50 }, func(v *Values) *float64 { return &v.P95 },
	}
)

// test returns the p of the Mann-Whitney U test, and the effect.
func test(before, after []float64) (p, effect float64) {
	sorted := func(values []float64) *benchmath.Sample {
		return benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds)
	}
	return min(1, benchmath.AssumeNothing.Compare(sorted(before), sorted(after)).P), Effect(before, after)
}

// Effect returns how often values after exceed those before, less the opposite: from -1 to 1.
func Effect(before, after []float64) (effect float64) {
	for _, a := range before {
		for _, b := range after {
			effect += float64(cmp.Compare(b, a))
		}
	}
	return effect / float64(len(before)*len(after))
}

// correct corrects each p for the number of comparisons, by Holm's method: the probability that any of the differences below
// it is chance.
func (r *Result) correct() {
	var tested []*float64
	for i := range r.Rows {
		if p := &r.Rows[i].P; !math.IsNaN(*p) {
			tested = append(tested, p)
		}
	}
	slices.SortFunc(tested, func(a, b *float64) int { return cmp.Compare(*a, *b) })
	least := 0.0
	for i, p := range tested {
		least = max(least, min(1, *p*float64(len(tested)-i)))
		*p = least
	}
}
