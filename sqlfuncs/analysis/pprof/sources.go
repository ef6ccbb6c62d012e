package pprof

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/tpconvert/tpconvert/sqlfuncs/functions/profiles"
)

// The kinds of profiles that are not in the view _stack_value.
const (
	kindGraph  = "graph" // the objects of a heap
	kindSlices = "slices"
)

// source is one of an input's profiles.
type source struct {
	kind, scope string
	metrics     []profile.ValueType
	usual       string  // metric to show first
	own         bool    // it is the one that the tool of the format shows
	places      []int64 // of the metrics
	fractions   []bool  // by metric: there are values that are not whole, and the unit is not one of time
}

// sort puts the metrics in the order of the profile.
func (s *source) sort() {
	order := make([]int, len(s.metrics))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(s.places[a], s.places[b]) })
	metrics, fractions := slices.Clone(s.metrics), slices.Clone(s.fractions)
	for to, from := range order {
		s.metrics[to], s.fractions[to] = metrics[from], fractions[from]
	}
}

// choose returns the selected profile and its scopes.
func (r *reader) choose(ctx context.Context) (chosen *source, scopes []string, err error) {
	bySlices := &source{kind: kindSlices, scope: "slices", metrics: []profile.ValueType{{Type: "time", Unit: "nanoseconds"}}, usual: "time"}
	if r.Slices {
		if r.Scope != "" {
			return nil, nil, SelectionError{errors.New("--slices and --scope exclude each other")}
		}
		return bySlices, []string{bySlices.scope}, r.chooseMetric(bySlices)
	}
	all, err := r.sources(ctx)
	if err != nil {
		return nil, nil, err
	}
	if len(all) == 0 && r.Scope == "" {
		return bySlices, []string{bySlices.scope}, r.chooseMetric(bySlices)
	}
	found, err := r.selected(ctx, all)
	if err != nil {
		return nil, nil, err
	}
	chosen = found[0]
	for _, s := range found {
		if !s.like(chosen) {
			return nil, nil, SelectionError{fmt.Errorf("--scope %s: %s and %s do not measure the same thing", r.Scope, chosen.scope, s.scope)}
		}
		for i, fraction := range s.fractions {
			chosen.fractions[i] = chosen.fractions[i] || fraction
		}
		scopes = append(scopes, s.scope)
	}
	return chosen, scopes, r.chooseMetric(chosen)
}

// selected returns the profiles that --scope names. Without it, they are the first one and those of the same file that measure the
// same, such as other threads, and a warning names all others.
func (r *reader) selected(ctx context.Context, all []*source) (found []*source, err error) {
	if r.Scope == "" {
		return r.usual(ctx, all)
	}
	for _, s := range all {
		matches, err := path.Match(r.Scope, s.scope)
		if err != nil {
			return nil, SelectionError{fmt.Errorf("--scope %s: %w", r.Scope, err)}
		}
		if r.Scope == s.scope || matches {
			found = append(found, s)
		}
	}
	if len(found) == 0 {
		return nil, SelectionError{fmt.Errorf("%s has no profile %s, only %s", r.Name, r.Scope, scopesOf(all))}
	}
	return found, nil
}

// usual returns the profiles to show without --scope.
func (r *reader) usual(ctx context.Context, all []*source) (found []*source, err error) {
	first := all[0]
	similar := slices.DeleteFunc(slices.Clone(all), func(s *source) bool { return s.kind != first.kind })
	found = slices.DeleteFunc(slices.Clone(similar), func(s *source) bool { return s != first && !(s.like(first) && first.own && s.own) })
	var files, most int // in all, and of a trace
	err = r.each(ctx, "SELECT coalesce(sum(n), 0)::BIGINT, coalesce(max(n), 0) FROM (SELECT count(*) AS n FROM trace_file AS f WHERE NOT coalesce(is_container, false) AND "+
		r.inTrace("f")+" GROUP BY "+r.traceOf("f")+")", nil, []any{&files, &most}, func() error { return nil })
	if err != nil {
		return nil, err
	}
	if len(similar) > 1 && files > 1 && (most > 1 || len(found) < len(similar)) {
		return nil, SelectionError{fmt.Errorf("%s has several profiles: name one with --scope, or several with a pattern: %s", r.Name, scopesOf(similar))}
	}
	if len(found) > 1 {
		r.Warn(fmt.Sprintf("showing the sum of %d profiles of one file; --scope selects one: %s", len(found), scopesOf(found)))
	}
	if others := slices.DeleteFunc(slices.Clone(all), func(s *source) bool { return slices.Contains(found, s) }); len(others) > 0 {
		r.Warn(fmt.Sprintf("showing %s; --scope selects another: %s", scopesOf(found), scopesOf(others)))
	}
	return found, nil
}

// like reports whether the profile measures the same as another.
func (s *source) like(other *source) bool {
	return s.kind == other.kind && slices.Equal(s.metrics, other.metrics)
}

// chooseMetric checks the selected metric, or selects the usual one. If only one can be shown, it drops the others.
func (r *reader) chooseMetric(s *source) error {
	if r.Metric == "" {
		r.Metric = s.usual
	}
	named := slices.IndexFunc(s.metrics, func(t profile.ValueType) bool { return t.Type == r.Metric })
	if named < 0 { // cycles stands for cycles:u, and samples for those of the first event
		named = slices.IndexFunc(s.metrics, func(t profile.ValueType) bool { return strings.HasPrefix(t.Type, r.Metric+":") })
	}
	if named < 0 {
		var names []string
		for _, t := range s.metrics {
			names = append(names, t.Type)
		}
		return SelectionError{fmt.Errorf("%s has no metric %s, only %s", s.scope, r.Metric, list(names))}
	}
	r.Metric = s.metrics[named].Type
	if r.OneMetric {
		s.metrics = s.metrics[named : named+1]
		if s.fractions != nil {
			s.fractions = s.fractions[named : named+1]
		}
	}
	return nil
}

// sources lists the profiles of the input, in the order of profiles.Sort.
func (r *reader) sources(ctx context.Context) (all []*source, err error) {
	type measure struct {
		profiles.Measure
		fraction bool // there are values that are not whole
	}
	var measures []measure
	var m measure
	err = r.each(ctx, `
		SELECT kind, scope, metric, unit, min(place), bool_or(is_default), bool_or(value <> 0), bool_or(value <> round(value))
		FROM _stack_value AS v WHERE `+r.inTrace("v")+` GROUP BY kind, scope, metric, unit ORDER BY ALL`,
		nil, []any{&m.Kind, &m.Scope, &m.Metric, &m.Unit, &m.Place, &m.Own, &m.Measured, &m.fraction}, func() error {
			measures = append(measures, m)
			return nil
		})
	if err != nil {
		return nil, err
	}
	profiles.Sort(measures, func(m measure) profiles.Measure { return m.Measure })
	for _, m := range measures {
		at := slices.IndexFunc(all, func(s *source) bool { return s.kind == m.Kind && s.scope == m.Scope })
		if at < 0 {
			at = len(all)
			all = append(all, &source{kind: m.Kind, scope: m.Scope, usual: m.Metric, own: m.Own})
		}
		s := all[at]
		s.metrics = append(s.metrics, profile.ValueType{Type: m.Metric, Unit: m.Unit})
		s.places = append(s.places, m.Place)
		s.fractions = append(s.fractions, m.fraction && m.Unit != "nanoseconds")
	}
	for _, s := range all {
		s.sort()
	}
	graph, err := r.texts(ctx, "SELECT 'any' FROM heap_graph_object AS o WHERE "+r.inTrace("o")+" LIMIT 1")
	if len(graph) > 0 {
		all = append(all, &source{kind: kindGraph, scope: "heap_graph", metrics: []profile.ValueType{objectCount, objectSpace}, usual: objectSpace.Type})
	}
	return all, err
}

func scopesOf(all []*source) string {
	var names []string
	for _, s := range all {
		names = append(names, s.scope)
	}
	return list(names)
}
