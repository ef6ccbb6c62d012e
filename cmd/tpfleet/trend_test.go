package main

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// trended is what trend --json prints.
type trended struct {
	Traces, Groups, Failed, Unmeasured int
	Without                            int `json:"without_group"`
	Metrics                            []struct {
		Metric, Unit string
		Traces       int
		Groups       []struct {
			Name                         string
			Traces                       int
			Mean, P5, P25, P50, P75, P95 float64
		}
		Changes []struct {
			At                       string
			Before, After, P, Effect float64
			GroupsBefore             int `json:"groups_before"`
			GroupsAfter              int `json:"groups_after"`
		}
	}
}

// buildTraces writes traces of builds into folders build-0 to build-N, with slices whose durations in µs dur returns by name.
func buildTraces(t *testing.T, builds, each int, dur func(build, trace int) map[string]float64) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "traces")
	for build := range builds {
		folder := filepath.Join(dir, fmt.Sprintf("build-%d", build))
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		for i := range each {
			var events []string
			of := dur(build, i)
			for k, name := range slices.Sorted(maps.Keys(of)) {
				events = append(events, fmt.Sprintf(`{"ph":"X","pid":1,"tid":2,"ts":%d,"dur":%.3f,"name":%q}`, 100_000*k, of[name], name))
			}
			if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%d.json", i)), []byte("["+strings.Join(events, ",\n")+"]"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

const buildPattern = `/build-(?P<build>\d+)/`

// Of 60 builds with a change of 10 % in one of them, that one is named, and none if there is no change; with the noise of traces, and some of
// them much slower.
func TestTrendFindsTheBuild(t *testing.T) {
	long(t)
	const builds, seeds = 60, 20
	random := make([]*rand.Rand, 2*seeds)
	changed := make([]int, seeds)
	for seed := range random {
		random[seed] = rand.New(rand.NewPCG(uint64(seed), 64))
		if seed < seeds {
			changed[seed] = 5 + random[seed].IntN(builds-10)
		}
	}
	dir := buildTraces(t, builds, 5, func(build, _ int) map[string]float64 {
		of := map[string]float64{}
		for seed, r := range random {
			dur := 1000 * (1 + 0.03*r.NormFloat64())
			if r.IntN(20) == 0 {
				dur *= 3
			}
			if seed < seeds && build >= changed[seed] {
				dur *= 1.1
			}
			of[fmt.Sprintf("seed %d", seed)] = dur
		}
		return of
	})
	f := newFolder(t)
	f.run(t, "", "run", "--spec", "slices", "--label-pattern", buildPattern, dir+"/")
	for seed := range random {
		got := lines[trended](t, f.run(t, "", "trend", "--json", fmt.Sprintf(`slices.p50_dur{name="seed %d"}`, seed)))[0].Metrics[0]
		var at []string
		for _, c := range got.Changes {
			at = append(at, c.At)
		}
		if want := fmt.Sprint(changed[min(seed, seeds-1)]); seed < seeds && !slices.Equal(at, []string{want}) {
			t.Errorf("seed %d changes at the builds %v, want %s", seed, at, want)
		}
		if seed >= seeds && len(at) > 0 {
			t.Errorf("seed %d changes at the builds %v, want none", seed, at)
		}
	}
}

// One interruption ends a test of changes that would take hours.
func TestTrendIsInterrupted(t *testing.T) {
	long(t)
	dir := buildTraces(t, 60, 1, func(build, _ int) map[string]float64 {
		return map[string]float64{"draw": float64(1000 + build + 500*(build/30))}
	})
	f := newFolder(t)
	f.run(t, "", "run", "--spec", "slices", "--label-pattern", buildPattern, dir+"/")
	c := command(t, "trend", "--lake", f.folder, "--significance", "1e-6", `slices.p50_dur{name="draw"}`)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	select {
	case err := <-ended:
		t.Fatalf("it has ended already: %v", err)
	case <-time.After(3 * time.Second):
	}
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
		if code := c.ProcessState.ExitCode(); code != exitInterrupted {
			t.Errorf("exit code %d", code)
		}
	case <-time.After(20 * time.Second):
		t.Error("it goes on")
		_ = c.Process.Kill()
		<-ended
	}
}

// What trend says of each build is what DuckDB says of the tables; traces without a build, or without the metrics of the current spec, are
// left out.
func TestTrend(t *testing.T) { withLedger(t, testTrend) }

func testTrend(t *testing.T, f *fleet) {
	r := rand.New(rand.NewPCG(1, 2))
	dir := buildTraces(t, 14, 4, func(build, trace int) map[string]float64 {
		of := map[string]float64{"draw": 1000 + 10*r.Float64(), "load": 500 + 100*r.Float64()}
		if build >= 9 {
			of["draw"] *= 2
		}
		if trace == 3 {
			delete(of, "load")
		}
		return of
	})
	var files []string
	for build := range 14 {
		for i := range 4 {
			name := filepath.Join(t.TempDir(), fmt.Sprintf("build-%d-%d.json", build, i))
			if err := os.Rename(filepath.Join(dir, fmt.Sprintf("build-%d/%d.json", build, i)), name); err != nil {
				t.Fatal(err)
			}
			files = append(files, name)
		}
	}
	const pattern = `/build-(?P<build>\d+)-`
	f.run(t, "", "run", "-j2", "--task-traces", "20", "--spec", "slices", "--label-pattern", pattern, f.upload(t, files...))
	ask := func(args ...string) trended {
		t.Helper()
		return lines[trended](t, f.run(t, "", "trend", append([]string{"--json"}, args...)...))[0]
	}
	db := database(t)
	check := func(got trended, column string, without int) {
		t.Helper()
		source := f.source(t, f.lake(t.Context(), t))
		for _, s := range got.Metrics {
			name := strings.TrimSuffix(strings.SplitN(s.Metric, `name="`, 2)[1], `"}`)
			n := 0
			for i, g := range s.Groups {
				n += g.Traces
				if i > 0 && len(s.Groups[i-1].Name) > len(g.Name) {
					t.Errorf("%s comes before %s", s.Groups[i-1].Name, g.Name)
				}
				var want [6]float64
				var traces int
				err := db.QueryRow(fmt.Sprintf(`SELECT count(*), avg(%[1]s), quantile_cont(%[1]s, 0.05), quantile_cont(%[1]s, 0.25), quantile_cont(%[1]s, 0.5), quantile_cont(%[1]s, 0.75), quantile_cont(%[1]s, 0.95)
					FROM %s m JOIN %s t USING (trace_id) WHERE t.labels ->> 'build' = ? AND name = ?`, column, source("metric_slices"), source("trace")), g.Name, name).Scan(&traces, &want[0], &want[1], &want[2], &want[3], &want[4], &want[5])
				if err != nil {
					t.Fatal(err)
				}
				for k, v := range []float64{g.Mean, g.P5, g.P25, g.P50, g.P75, g.P95} {
					if math.Abs(v-want[k]) > 1e-9*want[k] || g.Traces != traces {
						t.Errorf("%s of build %s is %+v, want %d traces, %v", s.Metric, g.Name, g, traces, want)
						break
					}
				}
			}
			if n != s.Traces || s.Unit != "ns" {
				t.Errorf("%s has %d traces, want %d; the unit is %q", s.Metric, s.Traces, n, s.Unit)
			}
		}
		if got.Groups != 14 || got.Without != without || got.Failed != 0 {
			t.Errorf("%d builds, %d traces without one, %d failed", got.Groups, got.Without, got.Failed)
		}
	}
	got := ask("--significance", "0.01", "slices.p95_dur")
	check(got, "p95_dur", 0)
	if len(got.Metrics) != 2 || got.Metrics[0].Metric != `slices.p95_dur{name="draw"}` || got.Metrics[0].Traces != 56 || got.Metrics[1].Traces != 42 || len(got.Metrics[1].Changes) != 0 {
		t.Fatalf("%+v", got.Metrics)
	}
	changes := got.Metrics[0].Changes
	if len(changes) != 1 || changes[0].At != "9" || changes[0].GroupsBefore != 9 || changes[0].GroupsAfter != 5 || changes[0].Effect != 1 || changes[0].P > 0.01 {
		t.Fatalf("the changes of draw are %+v", changes)
	}
	if c := changes[0]; math.Abs(c.Before-1.005e6) > 5e3 || math.Abs(c.After-2.01e6) > 1e4 {
		t.Errorf("draw is %g before and %g after", c.Before, c.After)
	}

	// SQL on the rows of each trace gives the same.
	sql := ask("--significance", "0.01", "--sql", "SELECT name, max(dur) AS dur FROM slice GROUP BY name", "--where", "labels ->> 'build' >= '0'")
	for i := range sql.Metrics {
		sql.Metrics[i].Metric = strings.Replace(sql.Metrics[i].Metric, "dur{", "slices.p95_dur{", 1)
	}
	if fmt.Sprint(sql) != fmt.Sprint(got) {
		t.Errorf("the SQL gives\n%v\nwant\n%v", sql, got)
	}
	text := f.run(t, "", "trend", "--significance", "0.01", `slices.p50_dur{name="draw"}`)
	if !strings.Contains(text, "slices.p50_dur{name=\"draw\"}\n56 traces in 14 groups by build\n+99.6 % at 9: 1.007 ms → 2.009 ms, p ") || !strings.Contains(text, "  +99.6 %  0.00") {
		t.Error(text)
	}

	pageFile := filepath.Join(t.TempDir(), "page.html")
	for range 2 { // it replaces the file
		f.run(t, "", "trend", "--significance", "0.01", "slices.p50_dur", `slices.p50_dur{name="draw"}`, "-o", pageFile)
	}
	if page, err := os.ReadFile(pageFile); err != nil || !strings.Contains(string(page), "<h1><bdi>Trends by build</bdi></h1>") || strings.Count(string(page), "<circle") != 28 || strings.Count(string(page), `<line class="change"`) != 1 {
		t.Errorf("the page: %v\n%.2000s", err, page)
	}
	if files, err := filepath.Glob(filepath.Join(filepath.Dir(pageFile), ".*")); err != nil || len(files) > 0 {
		t.Errorf("left: %q, %v", files, err)
	}
	if text := f.run(t, "", "trend", "--where", "labels ->> 'build' < '2'", `slices.p50_dur{name="draw"}`); !strings.Contains(text, "24 traces in 6 groups by build\ntoo few groups: no change can have p below 0.1\n") {
		t.Error(text)
	}

	// --order, other groups, and what cannot be.
	if got := ask("--by", "day", "slices.count"); got.Groups != 1 || got.Metrics[0].Traces != 56 {
		t.Errorf("by day: %+v", got)
	}
	if got := ask("--by", "format", "slices.count"); got.Groups != 1 || got.Metrics[0].Groups[0].Name != "json" {
		t.Errorf("by format: %+v", got)
	}
	condition := []string{"--significance", "0.01", `slices.p95_dur{name="draw"}`, "--fail-if"}
	for _, test := range []struct {
		code int
		says string
		args []string
	}{
		{0, "", append(condition, "p50 < 0.9 || p50 > 2.5")},
		{exitChanged, `p50 > 1.9 && p < 0.011 && metric.count == 1 is true of slices.p95_dur{name="draw"}, +`, append(condition, "p50 > 1.9 && p < 0.011 && metric.count == 1")},
		{exitChanged, "is true of", append(condition, `diff > 9e5 && effect == 1 && name == "slices.p95_dur{name=\"draw\"}"`, "--last", "5")},
		{0, "", append(condition, "p50 > 1.9", "--last", "4")},
		{exitUsage, "a change has no total", append(condition, "total > 1")},
		{exitUsage, "changes are of the kind metric, not slice", append(condition, "slice.p50 > 1")},
		{exitUsage, "is no expression", append(condition, "p50 > +10%")},
		{exitUsage, "groups by device have no order", append(condition, "p50 > 1", "--by", "device")},
		{exitUsage, "there is no metric slices.p42_dur, only slices.count, slices.p50_dur", []string{"slices.p42_dur"}},
		{exitUsage, "there is no metric slice.count, only slices.count", []string{"slice.count"}},
		{exitUsage, "slices has no dimension process, only name", []string{`slices.count{process="x"}`}},
		{exitUsage, "is not a metric such as", []string{"slices"}},
		{exitUsage, "METRIC is missing", nil},
		{exitUsage, "no such table: slicez", []string{"--sql", "SELECT 1 FROM slicez"}},
		{exitUsage, "no order by time: no trace of", []string{"slices.count", "--order", "time"}},
		{exitFailure, `no trace has a value of slices.count{name="nothing"}`, []string{`slices.count{name="nothing"}`}},
		{exitFailure, "not one number per trace", []string{"--sql", "SELECT dur FROM slice"}},
		{exitFailure, "is not a number: draw", []string{"--sql", "SELECT 'draw' AS name"}},
		{exitFailure, "the SQL failed for 14 of 56 traces", []string{"--sql", "SELECT CASE WHEN count(*) = 1 THEN abs(-9223372036854775807 - 1) ELSE 1 END AS n FROM slice"}},
		{exitFailure, "left out: 56 of 56 traces without a team", []string{"slices.count", "--by", "team"}},
	} {
		c := command(t, slices.Concat([]string{"trend"}, f.flags(), test.args)...)
		out, _ := c.CombinedOutput()
		if c.ProcessState.ExitCode() != test.code || !strings.Contains(string(out), test.says) {
			t.Errorf("%q: exit code %d, want %d, %s: %s", test.args, c.ProcessState.ExitCode(), test.code, test.says, out)
		}
	}

	// A trace without a label, and one with the metrics of another spec of the name.
	f.run(t, "", "label", "build=", "--where", "url LIKE '%/build-0-0.json'")
	check(ask(`slices.p50_dur{name="draw"}`), "p50_dur", 1)
	spec := filepath.Join(t.TempDir(), "slices.textproto")
	text = `metric_spec { id: "slices" dimensions: "name" value: "p50_dur" query { sql { sql: "SELECT name, 2.0 * max(dur) AS p50_dur FROM slice GROUP BY name" } } }`
	if err := os.WriteFile(spec, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	f.run(t, "", "rework", "--metrics-only", "--spec", spec, "--where", "labels ->> 'build' = '13'")
	got = ask(`slices.p50_dur{name="draw"}`)
	if got.Unmeasured != 52 || len(got.Metrics[0].Groups) != 1 || got.Metrics[0].Groups[0].Name != "13" || got.Metrics[0].Groups[0].P50 < 4e6 {
		t.Errorf("with a new spec: %+v", got)
	}
	f.run(t, "", "rework", "--metrics-only")
	check(ask(`slices.p50_dur{name="draw"}`), "p50_dur", 1)
}
