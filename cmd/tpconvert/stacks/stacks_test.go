package stacks_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/tpconvert/tpconvert/cmd/tpconvert/stacks"
	"github.com/tpconvert/tpconvert/internal/datasettest"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

func open(t *testing.T, trace string) *session.Session {
	s, err := session.New(t.Context(), session.Options{Perfetto: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := s.OpenDataset(t.Context(), datasettest.Convert(t, trace)); err != nil {
		t.Fatal(err)
	}
	return s
}

// show lists nodes as parent, function, own and total value.
func show(p *stacks.Profile) (nodes []string) {
	for _, n := range p.Nodes {
		nodes = append(nodes, fmt.Sprintf("%d %s %v %v", n.Parent, n.Function, n.Self, n.Total))
	}
	return nodes
}

// Stacks with a common beginning share nodes. A function that calls itself counts once.
func TestRead(t *testing.T) {
	all, err := stacks.Read(t.Context(), open(t, "main;work;inner 3\nmain;work 2\nmain;work;work 4\nidle 1\n"))
	if err != nil || len(all) != 1 {
		t.Fatalf("%+v, %v", all, err)
	}
	p := all[0]
	nodes := []string{"-1 main 0 9", "0 work 2 9", "1 inner 3 3", "1 work 4 4", "-1 idle 1 1"}
	if got := show(p); !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(nodes))) || p.Total != 10 {
		t.Errorf("%q of %v", got, p.Total)
	}
	for i, n := range p.Nodes {
		if int(n.Parent) >= i {
			t.Errorf("node %d comes before its parent", i)
		}
	}
	want := []stacks.Function{{Name: "work", Self: 6, Total: 9}, {Name: "inner", Self: 3, Total: 3}, {Name: "idle", Self: 1, Total: 1}, {Name: "main", Self: 0, Total: 9}}
	if got := p.Functions(); !slices.Equal(got, want) {
		t.Errorf("functions %+v", got)
	}
}

// A slice's own time is what those inside it leave. One that does not end takes theirs.
func TestSlices(t *testing.T) {
	p, err := stacks.Slices(t.Context(), open(t, `[{"ph":"M","pid":1,"tid":2,"name":"thread_name","args":{"name":"main"}},
		{"ph":"X","pid":1,"tid":2,"ts":1,"dur":10,"name":"frame"},{"ph":"X","pid":1,"tid":2,"ts":2,"dur":3,"name":"draw"},
		{"ph":"X","pid":1,"tid":2,"ts":6,"dur":2,"name":"draw"},
		{"ph":"B","pid":1,"tid":2,"ts":20,"name":"open"},{"ph":"X","pid":1,"tid":2,"ts":21,"dur":4,"name":"draw"}]`))
	if err != nil {
		t.Fatal(err)
	}
	got := show(p)
	slices.Sort(got)
	want := []string{"-1 frame 5000 10000", "-1 open 0 4000", "0 draw 4000 4000", "1 draw 5000 5000"}
	if !slices.Equal(got, want) || p.Total != 14000 || p.Cut != 0 {
		t.Errorf("%q, total %v, %d cut", got, p.Total, p.Cut)
	}
	if len(p.Owners) != 1 || p.Owners[0].Thread != "main" {
		t.Errorf("owners %+v", p.Owners)
	}
}
