package compare

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/sqlfuncs/analysis/stacks"
	"github.com/tpconvert/tpconvert/sqlfuncs/derive"
	"github.com/tpconvert/tpconvert/sqlfuncs/functions/profiles"
	"github.com/tpconvert/tpconvert/sqlfuncs/metrics"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// The kinds of things that are compared.
const (
	kindSlice   = "slice"
	kindGPU     = "gpu"
	kindCPU     = "cpu"
	kindState   = "state"
	kindFrame   = "frame"
	kindProfile = "profile"
	kindMemory  = "memory"
	kindCounter = "counter"
	kindAlert   = "alert"
	kindMetric  = "metric"
)

// Kinds are all of them.
var Kinds = []string{kindSlice, kindGPU, kindCPU, kindState, kindFrame, kindProfile, kindMemory, kindCounter, kindAlert, kindMetric}

// unknown is what a trace does not say.
var unknown = math.NaN()

// Key names what is compared.
type Key struct{ Kind, Name, Process, Thread, Unit string }

// Values are what one trace says of a thing. What it does not say is NaN.
type Values struct{ Count, Total, Self, Mean, P50, P95 float64 }

// main is the value that is tested, and its name. The self time of slices and functions tells where the time is spent; their
// total would also blame those that only call something slow.
func (k Key) main(v Values) (float64, string) {
	switch k.Kind {
	case kindSlice, kindProfile:
		return v.Self, "self"
	case kindFrame, kindAlert:
		return v.Count, "count"
	case kindMemory, kindCounter, kindMetric:
		return v.Mean, "mean"
	}
	return v.Total, "total"
}

// none returns the values of a trace that does not have the thing.
func (k Key) none() Values {
	switch k.Kind {
	case kindSlice:
		return Values{Mean: unknown, P50: unknown, P95: unknown}
	case kindGPU, kindCPU, kindState, kindFrame:
		return Values{Self: unknown, Mean: unknown, P50: unknown, P95: unknown}
	case kindProfile:
		return Values{Count: unknown, Mean: unknown, P50: unknown, P95: unknown}
	case kindAlert:
		return Values{0, unknown, unknown, unknown, unknown, unknown}
	}
	return Values{unknown, unknown, unknown, unknown, unknown, unknown}
}

// Measured is what one trace says of everything.
type Measured struct {
	Dur    float64 // ns from the first event to the last
	Values map[Key]Values
}

// Options say what to measure.
type Options struct {
	Kinds              []string // nil for all
	Threads, Processes bool     // tell slices and functions in different ones apart
	Groups             []Group
	Exact              bool // numbers in names tell things apart
	Alerts             []derive.Definition
	Metrics            *metrics.Summarizer // nil for none
}

// NewOptions returns the options to tell things apart by thread or process, and to measure some kinds; nil for all.
func NewOptions(by, kinds []string) (*Options, error) {
	o := &Options{Kinds: kinds}
	for _, name := range by {
		switch name {
		case "thread":
			o.Threads = true
		case "process":
			o.Processes = true
		default:
			return nil, fmt.Errorf("by %q: want thread or process", name)
		}
	}
	for _, kind := range kinds {
		if !slices.Contains(Kinds, kind) {
			return nil, fmt.Errorf("kind %q: want some of %s", kind, strings.Join(Kinds, ", "))
		}
	}
	return o, nil
}

// wants reports whether one of the kinds is to be measured.
func (o *Options) wants(kinds ...string) bool {
	return o.Kinds == nil || slices.ContainsFunc(kinds, func(k string) bool { return slices.Contains(o.Kinds, k) })
}

// gathered are the values of a thing, while a trace is read.
type gathered struct {
	count, total, self float64
	weighted, weight   float64 // of a mean
	values             []float64
}

// measurer measures a trace.
type measurer struct {
	*Options
	groups
	s   *session.Session
	all map[Key]*gathered
}

// Measure measures a trace. The session runs PerfettoSQL.
func Measure(ctx context.Context, s *session.Session, o *Options) (*Measured, error) {
	m := &measurer{Options: o, groups: groups{all: o.Groups, exact: o.Exact}, s: s, all: map[Key]*gathered{}}
	to := &Measured{Values: map[Key]Values{}}
	for _, part := range []struct {
		kinds   []string
		measure func(context.Context) error
	}{
		{[]string{kindSlice, kindGPU}, m.slices}, {[]string{kindCPU}, m.cpu}, {[]string{kindState}, m.states}, {[]string{kindFrame}, m.frames},
		{[]string{kindMemory, kindCounter}, m.counters}, {[]string{kindProfile}, m.profiles},
	} {
		if o.wants(part.kinds...) {
			if err := part.measure(ctx); err != nil {
				return nil, err
			}
		}
	}
	for k, g := range m.all {
		if o.wants(k.Kind) {
			to.Values[k] = g.result(k)
		}
	}
	err := m.rows(ctx, "SELECT end_ts - start_ts FROM trace_bounds", func(v []any) { to.Dur = session.Float(v[0]) })
	return to, errors.Join(err, m.alerts(ctx, to), m.metrics(ctx, to))
}

// at returns what is gathered of a thing.
func (m *measurer) at(k Key) *gathered {
	g := m.all[k]
	if g == nil {
		g = &gathered{}
		m.all[k] = g
	}
	return g
}

func (g *gathered) add(v float64) {
	g.count++
	g.total += v
	g.values = append(g.values, v)
}

func (g *gathered) result(k Key) Values {
	slices.Sort(g.values)
	v := Values{Count: g.count, Total: g.total, Self: unknown, Mean: unknown, P50: Quantile(g.values, 0.5), P95: Quantile(g.values, 0.95)}
	switch k.Kind {
	case kindSlice:
		v.Self = g.self
	case kindProfile:
		v.Self, v.Count = g.self, unknown
	case kindMemory, kindCounter:
		v.Mean, v.Total = g.weighted/g.weight, unknown
		if g.weight == 0 { // all values are of one time
			v.Mean = g.total / g.count
		}
	}
	return v
}

// Quantile returns the value below which a fraction of the ascending values lies, between two of them if need be.
func Quantile(ascending []float64, fraction float64) float64 {
	if len(ascending) == 0 {
		return math.NaN()
	}
	at := fraction * float64(len(ascending)-1)
	low := int(at)
	high := min(low+1, len(ascending)-1)
	return ascending[low] + (at-float64(low))*(ascending[high]-ascending[low])
}

// rows calls row with the values of each row of a query.
func (m *measurer) rows(ctx context.Context, query string, row func([]any)) error {
	return m.s.Each(ctx, query, func(q *session.Query) error {
		return q.Each(ctx, func(values []any) error {
			row(values)
			return nil
		})
	})
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

// key returns the key of a thing by which others are told apart as the options say.
func (m *measurer) key(kind, name, process, thread, unit string) Key {
	k := Key{Kind: kind, Name: m.of(name), Unit: unit}
	if m.Processes {
		k.Process = m.of(process)
	}
	if m.Threads {
		k.Thread = m.of(thread)
	}
	return k
}

// slice returns the key of a slice, or of work of a GPU, if gpu is not 0. The numbers in the name of a kernel say which one it is.
func (m *measurer) slice(gpu int, name, process, thread string) Key {
	if gpu == 0 {
		return m.key(kindSlice, name, process, thread, "ns")
	}
	k := m.key(kindGPU, "", process, thread, "ns")
	k.Name = m.function(name)
	return k
}

// slices measures slices that ended. Kernels and copies of GPUs are a kind of their own. A slice takes its time from that of its
// parent itself, but for spans of distributed traces, whose children may be in other services and overlap.
func (m *measurer) slices(ctx context.Context) error {
	return m.rows(ctx, `
		WITH owner AS MATERIALIZED (
		  SELECT k.id, t.name AS thread, p.name AS process FROM thread_track AS k JOIN thread AS t USING (utid) LEFT JOIN process AS p USING (upid)
		  UNION ALL SELECT k.id, NULL, p.name FROM process_track AS k JOIN process AS p USING (upid)
		),
		frame AS MATERIALIZED (SELECT id FROM actual_frame_timeline_slice UNION ALL SELECT id FROM expected_frame_timeline_slice),
		kernel AS MATERIALIZED (
		  SELECT id FROM gpu_slice UNION SELECT id FROM slice WHERE category IN ('kernel', 'gpu_memcpy', 'gpu_memset')
		),
		piece AS MATERIALIZED (SELECT slice_id, sum(dur) AS dur FROM _span_piece GROUP BY slice_id),
		span AS MATERIALIZED (SELECT _span.id, ifnull(piece.dur, 0) AS self_dur FROM _span LEFT JOIN piece ON piece.slice_id = _span.id)
		SELECT s.name, s.dur, owner.process, owner.thread, s.id IN kernel, parent.name, parent.dur, parent.id IN kernel, ifnull(span.self_dur, s.dur)
		FROM slice AS s LEFT JOIN owner ON owner.id = s.track_id LEFT JOIN span USING (id)
		LEFT JOIN slice AS parent ON parent.id = s.parent_id AND span.id IS NULL
		WHERE s.dur >= 0 AND s.id NOT IN frame`, func(v []any) {
		dur, process, thread := session.Float(v[1]), text(v[2]), text(v[3])
		g := m.at(m.slice(int(session.Float(v[4])), text(v[0]), process, thread))
		g.add(dur)
		g.self += session.Float(v[8])
		if parent, ended := v[6].(int64); ended && parent >= 0 {
			m.at(m.slice(int(session.Float(v[7])), text(v[5]), process, thread)).self -= dur
		}
	})
}

// cpu measures how long threads ran on a CPU.
func (m *measurer) cpu(ctx context.Context) error {
	return m.rows(ctx, `
		SELECT t.name, s.dur, p.name FROM _lasting_sched AS s JOIN thread AS t USING (utid) LEFT JOIN process AS p USING (upid)
		WHERE NOT coalesce(t.is_idle, 0)`, func(v []any) {
		m.at(Key{Kind: kindCPU, Name: m.of(text(v[0])), Process: m.of(text(v[2])), Unit: "ns"}).add(session.Float(v[1]))
	})
}

// states measures how long threads waited: for a CPU, a disk or the kernel. They sleep in the rest of their time.
func (m *measurer) states(ctx context.Context) error {
	return m.rows(ctx, `
		SELECT s.state || CASE s.io_wait WHEN 1 THEN ' (I/O)' WHEN 0 THEN ' (no I/O)' ELSE '' END, s.dur, p.name, t.name
		FROM _lasting_state AS s JOIN thread AS t USING (utid) LEFT JOIN process AS p USING (upid)
		WHERE s.state NOT IN ('Running', 'S', 'I') AND NOT coalesce(t.is_idle, 0)`, func(v []any) {
		m.at(Key{Kind: kindState, Name: text(v[0]), Process: m.of(text(v[2])), Thread: m.of(text(v[3])), Unit: "ns"}).add(session.Float(v[1]))
	})
}

// frames counts frames by what made them late.
func (m *measurer) frames(ctx context.Context) error {
	return m.rows(ctx, `
		SELECT f.jank_type, f.dur, p.name FROM actual_frame_timeline_slice AS f LEFT JOIN process AS p USING (upid)
		WHERE f.dur >= 0`, func(v []any) {
		m.at(Key{Kind: kindFrame, Name: text(v[0]), Process: m.of(text(v[2])), Unit: "frames"}).add(session.Float(v[1]))
	})
}

// counters measures the mean of counters over time. A value holds until the next one, the last until the end of the trace.
func (m *measurer) counters(ctx context.Context) error {
	var at *gathered
	var track, end, ts int64
	last := unknown
	hold := func(until int64) {
		if at != nil && !math.IsNaN(last) {
			at.weighted += last * float64(until-ts)
			at.weight += float64(until - ts)
		}
	}
	err := m.rows(ctx, `
		WITH named AS MATERIALIZED (
		  SELECT t.id, t.name, t.unit, p.name AS process
		  FROM counter_track AS t LEFT JOIN process_counter_track AS k ON k.id = t.id LEFT JOIN process AS p USING (upid)
		)
		SELECT c.track_id, c.ts, c.value, named.name, named.process, named.unit, (SELECT end_ts FROM trace_bounds)
		FROM counter AS c JOIN named ON named.id = c.track_id
		ORDER BY c.track_id, c.ts, c.id`, func(v []any) {
		id, _ := v[0].(int64)
		now, _ := v[1].(int64)
		if at != nil && id == track {
			hold(now)
		} else {
			hold(end)
			kind := kindCounter
			if strings.HasPrefix(text(v[3]), "mem.") {
				kind = kindMemory
			}
			at, track = m.at(Key{Kind: kind, Name: m.of(text(v[3])), Process: m.of(text(v[4])), Unit: text(v[5])}), id
		}
		end, _ = v[6].(int64)
		ts, last = now, session.Float(v[2])
		at.add(last)
	})
	hold(end)
	return err
}

// profiles measures functions in the profiles: samples by their default measure, others by time if they have it and else by all
// that they count. V8's samples are counted, because the time between two contains what the thread waited for a CPU, which
// hides differences between runs.
func (m *measurer) profiles(ctx context.Context) error {
	all, err := stacks.Read(ctx, m.s)
	if err != nil {
		return err
	}
	sampled := map[string]bool{}
	for _, p := range all {
		if p.Kind == profiles.KindSamples {
			if sampled[p.Scope] || p.Metric == "time" {
				continue
			}
			sampled[p.Scope] = true
		}
		timed := slices.ContainsFunc(all, func(o *stacks.Profile) bool { return o.Scope == p.Scope && o.Unit == "nanoseconds" })
		if timed && p.Kind != profiles.KindSamples && p.Unit != "nanoseconds" {
			continue
		}
		unit := p.Unit
		if unit == "nanoseconds" {
			unit = "ns"
		}
		for _, f := range p.Functions() {
			k := m.key(kindProfile, "", f.Process, "", unit)
			k.Name = m.function(f.Name)
			if p.Metric != "cpu" && p.Metric != "samples" {
				k.Name += " [" + p.Metric + "]"
			}
			g := m.at(k)
			g.self += f.Self
			g.total += f.Total
		}
	}
	return nil
}

// alerts counts alerts.
func (m *measurer) alerts(ctx context.Context, to *Measured) (err error) {
	if len(m.Alerts) == 0 || !m.wants(kindAlert) {
		return nil
	}
	e := derive.Evaluator{Open: func(context.Context, bool) (*session.Session, error) {
		s := m.s.Fork()
		if err := s.Begin(); err != nil {
			return nil, errors.Join(err, s.Close())
		}
		return s, nil
	}}
	defer func() { err = errors.Join(err, e.Close()) }()
	found, err := e.Alerts(ctx, m.Alerts)
	for _, a := range found {
		k := Key{Kind: kindAlert, Name: a.Name, Unit: "alerts"}
		v := k.none()
		v.Count = to.Values[k].Count + 1
		to.Values[k] = v
	}
	return err
}

// metrics takes the values of the metrics of summarize.
func (m *measurer) metrics(ctx context.Context, to *Measured) error {
	if m.Metrics == nil || !m.wants(kindMetric) {
		return nil
	}
	summary, err := m.Metrics.Summarize(ctx, m.s, nil, "")
	if err != nil {
		return err
	}
	for _, t := range summary.Tables() {
		for _, row := range t.Rows {
			name := t.ID
			k := Key{Kind: kindMetric}
			for i, c := range t.Columns[:t.Dimensions] {
				switch {
				case c.Name == "process_name":
					k.Process = m.of(text(row[i]))
				case c.Name == "thread_name":
					k.Thread = m.of(text(row[i]))
				case row[i] != nil:
					name += " " + m.of(fmt.Sprint(row[i]))
				}
			}
			for i, c := range t.Columns[t.Dimensions:] {
				k.Name = name + " " + c.Name
				v := to.Values[k]
				sum := session.Float(row[t.Dimensions+i])
				if old := v.Mean; v != (Values{}) {
					sum += old // rows whose dimensions are one group
				}
				if !math.IsNaN(sum) {
					v = k.none()
					v.Mean = sum
					to.Values[k] = v
				}
			}
		}
	}
	return nil
}
