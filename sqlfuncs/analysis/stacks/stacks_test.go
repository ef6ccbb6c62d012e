package stacks_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/tpconvert/tpconvert/internal/datasettest"
	"github.com/tpconvert/tpconvert/sqlfuncs/analysis/stacks"
	"github.com/tpconvert/tpconvert/sqlfuncs/metrics"
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

// What a pprof file drops is what pprof's own package leaves out, of frames with several functions as well.
func TestDropped(t *testing.T) {
	names := []string{"main", "work", "malloc", "new(int)", "malloc_keep", "a::operator()(b)", "(anonymous namespace)::malloc"}
	random := rand.New(rand.NewPCG(1, 2))
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "space", Unit: "bytes"}}, DropFrames: "malloc.*|new|a::operator\\(\\)", KeepFrames: ".*keep"}
	for i, name := range names {
		p.Function = append(p.Function, &profile.Function{ID: uint64(i) + 1, Name: name})
	}
	for i := range 20 {
		l := &profile.Location{ID: uint64(i) + 1}
		for range 1 + random.IntN(3) {
			l.Line = append(l.Line, profile.Line{Function: p.Function[random.IntN(len(names))]})
		}
		p.Location = append(p.Location, l)
	}
	for i := range 300 {
		s := &profile.Sample{Value: []int64{int64(i) + 1}}
		for range 1 + random.IntN(5) {
			s.Location = append(s.Location, p.Location[random.IntN(len(p.Location))])
		}
		p.Sample = append(p.Sample, s)
	}
	var file strings.Builder
	if err := p.Write(&file); err != nil {
		t.Fatal(err)
	}
	all, err := stacks.Read(t.Context(), open(t, file.String()))
	if err != nil || len(all) != 1 || !all[0].Dropped {
		t.Fatalf("%+v, %v", all, err)
	}
	paths, got := map[int32]string{-1: ""}, map[string]float64{}
	for i, n := range all[0].Nodes {
		paths[int32(i)] = paths[n.Parent] + ";" + n.Function
		if n.Self > 0 {
			got[paths[int32(i)]] += n.Self
		}
	}
	if err := p.RemoveUninteresting(); err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{}
	for _, s := range p.Sample {
		path := ""
		for _, l := range slices.Backward(s.Location) {
			for _, line := range slices.Backward(l.Line) {
				path += ";" + line.Function.Name
			}
		}
		want[path] += float64(s.Value[0])
	}
	if !maps.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// summarize has measures in the order of flame graphs and reports, which begins with the default one.
func TestSummarizedInOrder(t *testing.T) {
	space := func(values ...int64) string { // the first of two measures, or both, have values
		f := &profile.Function{ID: 1, Name: "f"}
		l := &profile.Location{ID: 1, Line: []profile.Line{{Function: f}}}
		p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "first", Unit: "count"}, {Type: "last", Unit: "bytes"}}, Function: []*profile.Function{f},
			Location: []*profile.Location{l}, Sample: []*profile.Sample{{Location: []*profile.Location{l}, Value: values}}}
		var file strings.Builder
		if err := p.Write(&file); err != nil {
			t.Fatal(err)
		}
		return file.String()
	}
	traces := map[string]string{"pprof": space(1, 1), "pprof with values of the first only": space(1, 0)}
	recordings := []string{"callgrind.out.gz", "go_heap.pb.gz", "go_mutex.pb.gz", "java.jfr.gz", "jemalloc.raw.gz", "node.cpuprofile", "perf.data", "xdebug.out.gz"}
	for i, name := range recordings {
		recordings[i] = filepath.Join("..", "..", "..", "testdata", name)
	}
	if all := os.Getenv("CONFORMANCE"); all != "" {
		for _, pattern := range []string{"perf-data/*hybrid_topology", "perf-data/*two_event_types.data", "pprof/grafana__pyroscope__heap", "gecko/*"} {
			found, err := filepath.Glob(filepath.Join(all, "traces", pattern))
			if err != nil || len(found) == 0 {
				t.Fatalf("%s: %v", pattern, err)
			}
			recordings = append(recordings, found[0])
		}
	}
	for _, file := range recordings {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		traces[filepath.Base(file)] = string(text)
	}
	spec, _ := metrics.Spec("profile")
	for name, trace := range traces {
		s := open(t, trace)
		all, err := stacks.Read(t.Context(), s)
		if err != nil || len(all) == 0 {
			t.Fatalf("%s: %d profiles, %v", name, len(all), err)
		}
		var want, got []string
		for _, p := range all {
			want = append(want, p.Scope+" "+p.Metric)
		}
		var summarizer metrics.Summarizer
		if err := summarizer.Add(spec); err != nil {
			t.Fatal(err)
		}
		summary, err := summarizer.Summarize(t.Context(), s, nil, "")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		tables := summary.Tables()
		if len(tables) != 1 {
			t.Fatalf("%s: %d tables", name, len(tables))
		}
		for _, row := range tables[0].Rows {
			if measure := fmt.Sprint(row[0], " ", row[1]); !slices.Contains(got, measure) {
				got = append(got, measure)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: summarized as %q, want %q", name, got, want)
		}
	}
}

// A slice's own time is what those inside it leave. One that does not end takes theirs.
func TestSlices(t *testing.T) {
	all, err := stacks.Slices(t.Context(), open(t, `[{"ph":"M","pid":1,"tid":2,"name":"thread_name","args":{"name":"main"}},
		{"ph":"X","pid":1,"tid":2,"ts":1,"dur":10,"name":"frame"},{"ph":"X","pid":1,"tid":2,"ts":2,"dur":3,"name":"draw"},
		{"ph":"X","pid":1,"tid":2,"ts":6,"dur":2,"name":"draw"},
		{"ph":"B","pid":1,"tid":2,"ts":20,"name":"open"},{"ph":"X","pid":1,"tid":2,"ts":21,"dur":4,"name":"draw"}]`))
	if err != nil || len(all) != 1 {
		t.Fatalf("%d profiles: %v", len(all), err)
	}
	p := all[0]
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

// charts shows the boxes of charts: parent, name, start, value.
func charts(all []*stacks.Chart) (shown []string) {
	for _, c := range all {
		shown = append(shown, fmt.Sprintf("%s %v", c.Owner.Thread, c.Total))
		for _, b := range c.Boxes {
			name := b.Function
			if b.Smaller > 0 {
				name = fmt.Sprint(b.Smaller, " smaller")
			}
			shown = append(shown, fmt.Sprintf("%d %s %v-%v %v", b.Parent, name, b.Start, b.End, b.Value))
		}
	}
	return shown
}

// The busiest thread comes first. Slices of less than a 4096th of the trace that are close to each other are one box.
func TestSlicesInTime(t *testing.T) {
	threads, gpus, err := stacks.SliceCharts(t.Context(), open(t, `[{"ph":"M","pid":1,"tid":2,"name":"thread_name","args":{"name":"idle"}},
		{"ph":"M","pid":1,"tid":3,"name":"thread_name","args":{"name":"busy"}},
		{"ph":"X","pid":1,"tid":2,"ts":0,"dur":10,"name":"x"},
		{"ph":"X","pid":1,"tid":3,"ts":0,"dur":4000,"name":"a"},{"ph":"X","pid":1,"tid":3,"ts":100,"dur":50,"name":"b"},
		{"ph":"X","pid":1,"tid":3,"ts":200,"dur":0.25,"name":"c"},{"ph":"X","pid":1,"tid":3,"ts":200.05,"dur":0.1,"name":"in c"},
		{"ph":"X","pid":1,"tid":3,"ts":200.5,"dur":0.25,"name":"d"},{"ph":"X","pid":1,"tid":3,"ts":300,"dur":0.5,"name":"far"},
		{"ph":"X","pid":1,"tid":3,"ts":4000,"dur":96,"name":"b"},{"ph":"i","pid":1,"tid":3,"ts":4096,"name":"no time"}]`))
	if err != nil || len(gpus) != 0 {
		t.Fatalf("%d GPUs: %v", len(gpus), err)
	}
	want := []string{"busy 4.096e+06", "-1 a 0-4e+06 4e+06", "0 b 100000-150000 50000", "0 2 smaller 200000-200750 500", "0 1 smaller 300000-300500 500", "-1 b 4e+06-4.096e+06 96000",
		"idle 4.096e+06", "-1 x 0-10000 10000"}
	if got := charts(threads); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// A function in samples that follow each other is one box, as wide as they weigh.
func TestSamplesInTime(t *testing.T) {
	s := open(t, `{"traceEvents":[{"ph":"M","pid":1,"tid":2,"name":"thread_name","args":{"name":"main"}}],"samples":[
		{"cpu":0,"tid":2,"ts":30,"name":"cycles","sf":2,"weight":1},{"cpu":0,"tid":2,"ts":10,"name":"cycles","sf":2,"weight":2},
		{"cpu":0,"tid":2,"ts":20,"name":"cycles","sf":3,"weight":3},{"cpu":0,"tid":2,"ts":40,"name":"cycles","sf":1,"weight":1}],
		"stackFrames":{"1":{"name":"main"},"2":{"name":"work","parent":1},"3":{"name":"wait","parent":1}}}`)
	all, err := stacks.Read(t.Context(), s)
	if err != nil || len(all) == 0 || all[0].Total != 7 {
		t.Fatalf("%d profiles: %v", len(all), err)
	}
	threads, err := stacks.SampleCharts(t.Context(), s, all[0])
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"main 7", "-1 main 0-7 7", "0 work 0-2 2", "0 wait 2-5 3", "0 work 5-6 1"}
	if got := charts(threads); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
