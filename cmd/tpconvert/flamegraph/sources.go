package flamegraph

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// The kinds of profiles, in order of preference. All but graphs and slices are in the view _stack_value.
const (
	kindSamples = "samples" // with times and threads
	kindProfile = "profile" // sums without times, as in pprof files
	kindHeap    = "heap"    // allocations, with times and processes
	kindGraph   = "graph"   // the objects of a heap
	kindSlices  = "slices"
)

// source is one of an input's profiles.
type source struct {
	kind, scope string
	metrics     []profile.ValueType
	usual       string // metric to show first
}

// choose returns the selected profile and its scopes.
func (r *reader) choose(ctx context.Context) (chosen *source, scopes []string, err error) {
	bySlices := &source{kindSlices, "slices", []profile.ValueType{{Type: "time", Unit: "nanoseconds"}}, "time"}
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
	var found []*source
	for _, s := range all {
		matches, err := path.Match(r.Scope, s.scope)
		if err != nil {
			return nil, nil, SelectionError{fmt.Errorf("--scope %s: %w", r.Scope, err)}
		}
		if r.Scope == "" && s.kind == all[0].kind || r.Scope == s.scope || matches {
			found = append(found, s)
		}
	}
	switch {
	case len(found) == 0:
		return nil, nil, SelectionError{fmt.Errorf("%s has no profile %s, only %s", r.Name, r.Scope, scopesOf(all))}
	case r.Scope == "" && len(found) > 1:
		return nil, nil, SelectionError{fmt.Errorf("%s has several profiles: name one with --scope, or several with a pattern: %s", r.Name, scopesOf(found))}
	case r.Scope == "" && len(all) > 1:
		r.Warn(fmt.Sprintf("showing %s; --scope selects another: %s", found[0].scope, scopesOf(all[1:])))
	}
	chosen = found[0]
	for _, s := range found {
		if s.kind != chosen.kind || !slices.Equal(s.metrics, chosen.metrics) {
			return nil, nil, SelectionError{fmt.Errorf("--scope %s: %s and %s do not measure the same thing", r.Scope, chosen.scope, s.scope)}
		}
		scopes = append(scopes, s.scope)
	}
	return chosen, scopes, r.chooseMetric(chosen)
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
	}
	return nil
}

// sources lists the profiles of the input, ordered by kind.
func (r *reader) sources(ctx context.Context) (all []*source, err error) {
	var kind, scope string
	var t profile.ValueType
	var measured bool
	err = r.each(ctx, `
		SELECT kind, scope, metric, unit, bool_or(value <> 0) FROM _stack_value AS v WHERE `+r.inTrace("v")+`
		GROUP BY kind, scope, metric, unit ORDER BY list_position(['samples', 'profile', 'heap'], kind), scope, min(place)`,
		nil, []any{&kind, &scope, &t.Type, &t.Unit, &measured}, func() error {
			if n := len(all); n == 0 || all[n-1].scope != scope || all[n-1].kind != kind {
				all = append(all, &source{kind: kind, scope: scope})
			}
			last := all[len(all)-1]
			last.metrics = append(last.metrics, t)
			if last.usual == "" || kind != kindSamples && measured { // the first event; otherwise the last one, as in pprof, with values
				last.usual = t.Type
			}
			return nil
		})
	if err != nil {
		return nil, err
	}
	var own string
	err = r.each(ctx, "SELECT scope, str_value FROM _profile_fact AS f WHERE name = 'pprof_default_sample_type' AND "+r.inTrace("f"),
		nil, []any{&scope, &own}, func() error {
			for _, s := range all {
				if s.kind == kindProfile && s.scope == scope && slices.ContainsFunc(s.metrics, func(t profile.ValueType) bool { return t.Type == own }) {
					s.usual = own
				}
			}
			return nil
		})
	if err != nil {
		return nil, err
	}
	graph, err := r.texts(ctx, "SELECT 'any' FROM heap_graph_object AS o WHERE "+r.inTrace("o")+" LIMIT 1")
	if len(graph) > 0 {
		all = append(all, &source{kindGraph, "heap_graph", []profile.ValueType{objectCount, objectSpace}, objectSpace.Type})
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
