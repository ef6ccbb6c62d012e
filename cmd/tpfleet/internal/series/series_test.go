package series

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/lake"
)

func TestParseMetric(t *testing.T) {
	for text, want := range map[string]Metric{
		`slices.p95_dur`:        {"metric_slices", "p95_dur", map[string]string{}},
		`metric_slices.p95_dur`: {"metric_slices", "p95_dur", map[string]string{}},
		`s.n{}`:                 {"metric_s", "n", map[string]string{}},
		`s.n{name="a.b{c}=\"d\", e", cpu = "1" ,}`: {"metric_s", "n", map[string]string{"name": `a.b{c}="d", e`, "cpu": "1"}},
	} {
		if got, err := ParseMetric(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "slices", ".n", "s.", "s.n{", `s.n{name}`, `s.n{name="a}`, `s.n{name="a"cpu="1"}`, `s.n{name=a}`, `s.n{name="a"} `} {
		if got, err := ParseMetric(text); err == nil {
			t.Errorf("%q is %+v", text, got)
		}
	}
}

func TestNames(t *testing.T) {
	for _, want := range []string{
		"9 10 100", "build-9 build-10 build-10a build-11", "v1.2.0-rc1 v1.2.0-rc2 v1.2.0-rc10 v1.2.0 v1.10.0", "2026-11-09 2026-11-10 2026-12-01", "1.2.3.4 1.2.3.10", "007 8 0010 010 10",
	} {
		names := strings.Fields(want)
		rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		all := &Groups{starts: map[string][]int64{}}
		for _, name := range names {
			all.starts[name] = nil
		}
		if got, err := all.Names(ByName); err != nil || strings.Join(got, " ") != want {
			t.Errorf("the order is %v, want %s: %v", got, want, err)
		}
	}
}

// Groups in the order of time are as old as most of their traces, by clocks that may be right.
func TestTimes(t *testing.T) {
	const day = 86400e9
	trace := func(id, build string, start any) lake.Selected {
		return lake.Selected{ID: id, Facts: []any{`{"build":"` + build + `"}`, start, int64(20000 * day), nil}}
	}
	of := GroupBy("build")
	traces := []lake.Selected{
		trace("1", "bbbbbb1", int64(15000*day)), trace("2", "bbbbbb1", int64(15001*day)), trace("3", "bbbbbb1", int64(19000*day)), // one was traced again
		trace("4", "aaaaaa2", int64(15002*day)), trace("5", "aaaaaa2", int64(3*day)), trace("6", "aaaaaa2", int64(30000*day)), trace("7", "aaaaaa2", nil),
		{ID: "8", Facts: []any{nil, nil, nil, "google/x:14"}}, {ID: "9", Facts: []any{`{"team":"x"}`, nil, nil, nil}},
	}
	all := of.Group(traces[:7])
	if got, err := all.Names(ByTime); err != nil || !slices.Equal(got, []string{"bbbbbb1", "aaaaaa2"}) {
		t.Errorf("the order is %v, %v", got, err)
	}
	if _, err := all.Names(ByName); err == nil {
		t.Error("commits have an order by name")
	}
	all = of.Group(traces)
	if all.Without != 1 || all.Of["8"] != "google/x:14" || all.Of["1"] != "bbbbbb1" {
		t.Errorf("%+v", all)
	}
	if _, err := all.Names(ByTime); err == nil || !strings.Contains(err.Error(), "google/x:14") {
		t.Errorf("a group without a time: %v", err)
	}
}
