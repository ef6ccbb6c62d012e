package derive

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// eventRows are the events of a definition.
type eventRows struct {
	name, unit string
	isCounter  bool
	tracks     []*track
	slices     []slice
	counters   []counter
}

// track is a track of events, by its name and what it belongs to.
type track struct {
	trackKey
	group int   // index of the first of the tracks that are shown as one, or its own
	open  []int // slices that have not ended, from the outermost on
}

type trackKey struct {
	name            string
	utid, upid, cpu int64 // -1 for none
}

// slice is a row of the table slice. track and parent are indexes, -1 for no parent.
type slice struct {
	ts, dur        int64
	track, parent  int
	depth          int32
	category, name string
	args           []argument
}

type argument struct {
	key   string
	value any
}

type counter struct {
	ts    int64
	track int
	value float64
}

func (e *Evaluator) events(d *Definition, r *result, to *Rows) error {
	events, err := e.readEvents(d, r)
	if err != nil {
		return err
	}
	to.Events = append(to.Events, *events)
	return nil
}

// own are the columns of an event that are not its arguments.
var own = []string{"ts", "dur", "value", "name", "category", "track", "utid", "upid", "cpu"}

func (e *Evaluator) readEvents(d *Definition, r *result) (*eventRows, error) {
	if !r.has("ts") {
		return nil, r.missing("ts")
	}
	events := &eventRows{name: d.Name, unit: d.Unit, isCounter: r.has("value")}
	if events.isCounter && r.has("dur") {
		return nil, errors.New("the query has both dur, for slices, and value, for counters")
	}
	if d.Unit != "" && !events.isCounter {
		return nil, errors.New("unit is for counters, but the query has no column value")
	}
	ts, err := r.integers("ts")
	if err != nil {
		return nil, err
	}
	order := make([]int, len(r.values))
	for n := range order {
		if order[n] = n; at(ts, n) == nil {
			return nil, fmt.Errorf("column ts: row %d has NULL", n+1)
		}
	}
	dur, err := r.integers("dur")
	if err != nil {
		return nil, err
	}
	keys, err := e.trackKeys(d, r)
	if err != nil {
		return nil, err
	}
	length := func(n int) int64 {
		if v := at(dur, n); v != nil {
			return *v
		}
		return 0
	}
	for n := range order {
		if length(n) < -1 {
			return nil, fmt.Errorf("column dur: row %d has %d", n+1, length(n))
		}
	}
	// The outer ones of slices that start together come first. -1 is the longest.
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(*ts[a], *ts[b]), cmp.Compare(uint64(length(b)), uint64(length(a))))
	})
	if events.isCounter {
		return events, events.addCounters(r, order, ts, keys)
	}
	return events, events.addSlices(d, r, order, ts, length, keys)
}

// trackKeys returns the track of each row.
func (e *Evaluator) trackKeys(d *Definition, r *result) ([]trackKey, error) {
	names, err := r.column("track", session.Text)
	if err != nil {
		return nil, err
	}
	utids, err := e.references(r, "utid", "thread")
	if err != nil {
		return nil, err
	}
	upids, err := e.references(r, "upid", "process")
	if err != nil {
		return nil, err
	}
	cpus, err := r.integers("cpu")
	if err != nil {
		return nil, err
	}
	keys := make([]trackKey, len(r.values))
	for n, row := range r.values {
		key := trackKey{cmp.Or(d.Track, d.Name), -1, -1, -1}
		if names >= 0 && row[names] != nil {
			key.name = row[names].(string)
		}
		owners := 0
		for _, owner := range []struct {
			column []*int64
			to     *int64
		}{{utids, &key.utid}, {upids, &key.upid}, {cpus, &key.cpu}} {
			if v := at(owner.column, n); v != nil {
				*owner.to = *v
				owners++
			}
		}
		if owners > 1 {
			return nil, fmt.Errorf("row %d: a track belongs to only one of utid, upid and cpu", n+1)
		}
		if key.cpu < -1 || key.cpu > math.MaxInt32 {
			return nil, fmt.Errorf("column cpu: row %d has %d", n+1, key.cpu)
		}
		keys[n] = key
	}
	return keys, nil
}

func (events *eventRows) addCounters(r *result, order []int, ts []*int64, keys []trackKey) error {
	column, err := r.column("value", session.Real, session.Integer, session.Bool)
	if err != nil {
		return err
	}
	tracks := map[trackKey]int{}
	for _, n := range order {
		index, ok := tracks[keys[n]]
		if !ok {
			index = events.add(keys[n], len(events.tracks))
			tracks[keys[n]] = index
		}
		value, ok := number(r.values[n][column])
		if !ok {
			return fmt.Errorf("column value: row %d has %v, want a number", n+1, r.values[n][column])
		}
		events.counters = append(events.counters, counter{*ts[n], index, value})
	}
	return nil
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, !math.IsNaN(v)
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}

// add adds a track and returns its index.
func (events *eventRows) add(key trackKey, group int) int {
	events.tracks = append(events.tracks, &track{trackKey: key, group: group})
	return len(events.tracks) - 1
}

func (events *eventRows) addSlices(d *Definition, r *result, order []int, ts []*int64, length func(int) int64, keys []trackKey) error {
	texts := map[string]int{}
	for _, name := range []string{"name", "category"} {
		i, err := r.column(name, session.Text)
		if err != nil {
			return err
		}
		texts[name] = i
	}
	text := func(n int, name string) string {
		if i := texts[name]; i >= 0 {
			if v, ok := r.values[n][i].(string); ok {
				return v
			}
		}
		return ""
	}
	groups := map[trackKey][]int{} // tracks that are shown as one, as their slices overlap
	for _, n := range order {
		s := slice{ts: *ts[n], dur: length(n), parent: -1, category: text(n, "category"), name: cmp.Or(text(n, "name"), d.Name)}
		for i, c := range r.columns {
			if v := r.values[n][i]; v != nil && !slices.Contains(own, c.Name) {
				s.args = append(s.args, argument{c.Name, v})
			}
		}
		key := keys[n]
		found := slices.IndexFunc(groups[key], func(i int) bool { return events.place(&s, i) })
		if found < 0 {
			group := len(events.tracks)
			if len(groups[key]) > 0 {
				group = groups[key][0]
			}
			index := events.add(key, group)
			groups[key] = append(groups[key], index)
			events.place(&s, index)
		}
		on := events.tracks[s.track]
		on.open = append(on.open, len(events.slices))
		events.slices = append(events.slices, s)
	}
	return nil
}

// maxDepth is the number of slices that may be open on a track, as in Trace Processor.
const maxDepth = 512

// place nests a slice in the open ones of a track. It reports false if the slice would outlast one of them.
func (events *eventRows) place(s *slice, index int) bool {
	on := events.tracks[index]
	for len(on.open) > 0 && end(&events.slices[on.open[len(on.open)-1]]) <= s.ts {
		on.open = on.open[:len(on.open)-1]
	}
	if len(on.open) == maxDepth {
		return false
	}
	if len(on.open) > 0 {
		top := on.open[len(on.open)-1]
		if end(s) > end(&events.slices[top]) {
			return false
		}
		s.parent = top
	}
	s.track, s.depth = index, int32(len(on.open))
	return true
}

// end is the time at which a slice ends, ns.
func end(s *slice) int64 {
	if s.dur < 0 || s.ts > math.MaxInt64-s.dur {
		return math.MaxInt64
	}
	return s.ts + s.dur
}
