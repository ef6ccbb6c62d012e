package profiles

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/tpconvert/tpconvert/sqlfuncs/functions/define"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

// The kinds of profiles, in order of preference.
const (
	KindSamples = "samples" // with times and threads
	KindProfile = "profile" // sums without times, as in pprof files
	KindHeap    = "heap"    // allocations, with times and processes
)

var kinds = []string{KindSamples, KindProfile, KindHeap}

// Measure is one of the metrics of a profile.
type Measure struct {
	Kind     string
	Scope    string // the file, the profiler or the heap
	Metric   string
	Unit     string // nanoseconds for all times
	Place    int64  // in the order of the profile's metrics
	Own      bool   // the tool of the profile's format shows it first
	Measured bool   // it has values other than 0
}

// scope identifies a profile.
type scope struct{ kind, name string }

// Sort sorts the measures of a trace: the default of each profile comes first, then the others. Profiles of which no measure is
// the own one, such as the durations of events, come last.
func Sort[T any](all []T, measure func(T) Measure) {
	defaults := map[scope]Measure{}
	for _, v := range all {
		m := measure(v)
		at := scope{m.Kind, m.Scope}
		if d, ok := defaults[at]; !ok || m.before(d) {
			defaults[at] = m
		}
	}
	slices.SortStableFunc(all, func(x, y T) int {
		a, b := measure(x), measure(y)
		first, second := defaults[scope{a.Kind, a.Scope}], defaults[scope{b.Kind, b.Scope}]
		return cmp.Or(
			cmp.Compare(a.rank(first), b.rank(second)),
			cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind)),
			cmp.Compare(a.Scope, b.Scope),
			cmp.Compare(a.Place, b.Place),
			cmp.Compare(a.Metric, b.Metric),
		)
	})
}

// before reports whether a measure of a profile is its default rather than another: the own one, of samples the first event, and
// otherwise the last one, as in pprof; but one with values.
func (m Measure) before(other Measure) bool {
	switch {
	case m.Measured != other.Measured:
		return m.Measured
	case m.Own != other.Own:
		return m.Own
	case m.Kind == KindSamples:
		return m.Place < other.Place
	}
	return m.Place > other.Place
}

// rank is lower for what comes first: the default of its profile, and a profile that has an own one.
func (m Measure) rank(standard Measure) (rank int) {
	if m.Kind == KindProfile && !standard.Own {
		rank += 2
	}
	if m != standard {
		rank++
	}
	return rank
}

// measuresAggregate is Sort for queries: it makes a JSON array of the ids of measures, in order.
type measuresAggregate struct {
	ids      []int64
	measures map[int64]Measure
}

func defineMeasures(d *define.Definer) {
	d.Aggregate("__intrinsic_sort_measures", 8, func() sqlite.Aggregate { return &measuresAggregate{measures: map[int64]Measure{}} })
}

// Step adds a measure: its id, kind, scope, metric, unit, place, and whether it is the own one and has values.
func (a *measuresAggregate) Step(args []sqlite.Value) error {
	id := args[0].Int()
	a.ids = append(a.ids, id)
	a.measures[id] = Measure{Kind: args[1].Text(), Scope: args[2].Text(), Metric: args[3].Text(), Unit: args[4].Text(),
		Place: args[5].Int(), Own: args[6].Int() != 0, Measured: args[7].Int() != 0}
	return nil
}

func (a *measuresAggregate) Result(c sqlite.Context) error {
	Sort(a.ids, func(id int64) Measure { return a.measures[id] })
	text := []byte("[")
	for i, id := range a.ids {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, id, 10)
	}
	c.Text(string(append(text, ']')))
	return nil
}
