//go:build cgo

package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"golang.org/x/tools/txtar"

	"github.com/tpconvert/tpconvert/internal/tracecase"
)

// profileFiles are profiles of formats that have sums or events, with the metric that is shown and its total, as counted by hand
// or by the tool of the format. The totals of times are in ns.
var profileFiles = map[string]struct {
	text, metric string
	total        float64
}{
	"whole.folded":     {"main;a 3\nmain;b 4\n", "samples", 7},
	"fractions.folded": {"main;a 1.5\nmain;b 0.25\n", "samples", 1.75},
	"diff.folded":      {"main;a 10 12\nmain;b 3 1\n", "after", 13},
	"seconds.speedscope.json": {`{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"a"},{"name":"b"}]},
		"profiles":[{"type":"sampled","name":"t 1","unit":"seconds","startValue":0,"endValue":1,"samples":[[0],[0,1],[1]],"weights":[0.25,0.125,0.0001]},
		{"type":"sampled","name":"t 2","unit":"seconds","startValue":0,"endValue":1,"samples":[[1]],"weights":[0.5]}]}`, "time", 875_100_000},
	"milliseconds.speedscope.json": {`{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"a"},{"name":"b"}]},
		"profiles":[{"type":"evented","name":"t","unit":"milliseconds","startValue":0,"endValue":1,
		"events":[{"type":"O","frame":0,"at":0},{"type":"O","frame":1,"at":0.25},{"type":"C","frame":1,"at":0.5},{"type":"C","frame":0,"at":0.75}]}]}`, "time", 750_000},
	"callgrind.out": {"version: 1\ncreator: c\npositions: line\nevents: Ir Dr\n\nfn=(1) main\n1 5 2\ncfn=(2) f\ncalls=900 1\n1 30 2\n\nfn=(2)\n2 30 2\n", "Ir", 35},
	"xdebug.out":    {"version: 1\ncreator: xdebug 3\npositions: line\n\nevents: Time_(10ns) Memory_(bytes)\n\nfl=(1) a.php\nfn=(1) f\n1 5 -200\n\nfn=(2) g\n1 7 400\n", "Time", 120},
	"stackprof.json": {`{"version":1.2,"mode":"wall","interval":1000,"samples":3,"gc_samples":0,"missed_samples":0,"frames":{"1":{"name":"main","file":"a.rb","line":1,"samples":3}},
		"raw":[1,1,3],"raw_timestamp_deltas":[1000,1001,999]}`, "samples", 3},
	"a.heapprofile": {`{"head":{"callFrame":{"functionName":"(root)","scriptId":"0","url":"","lineNumber":-1,"columnNumber":-1},"selfSize":0,"id":1,"children":[
		{"callFrame":{"functionName":"load","scriptId":"1","url":"a.js","lineNumber":4,"columnNumber":2},"selfSize":100.5,"id":2,"children":[]}]}}`, "space", 100.5},
	"long.cpuprofile": {`{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"},"children":[2,3]},{"id":2,"callFrame":{"functionName":"slow"}},{"id":3,"callFrame":{"functionName":"fast"}}],
		"startTime":1000000,"endTime":1010500,"samples":[3,3,2,3,3],"timeDeltas":[100,100,100,9000,1000]}`, "time", 10_400_000},
	"heap.txt": {"heap profile:      2:       64 [     3:      192] @ heapprofile\n     2:       64 [     3:      192] @ 0x00401000 0x00402001\n\nMAPPED_LIBRARIES:\n00400000-00410000 r-xp 00000000 08:01 1 /bin/app\n", "inuse_space", 64},
}

var topTotal = regexp.MustCompile(`of (-?[\d.]+)(\S*) total`)

// TestProfileValues checks that each way to show a profile shows its own values, none of them cut, in the measure of its tool.
func TestProfileValues(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for name, f := range profileFiles {
		files[name] = f.text
	}
	dir := folder(t, files)
	scales := map[string]float64{"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "B": 1, "": 1, "count/1000": 1e-3, "bytes/1000": 1e-3}
	for name, f := range profileFiles {
		within := func(what string, got float64) {
			t.Helper()
			if math.Abs(got-f.total) > 1e-3*f.total {
				t.Errorf("%s: %s has %v, want %v", name, what, got, f.total)
			}
		}
		top := tpconvert(t, dir, "flamegraph", "--top", name)
		top.expect(t, exitDone, "")
		total := topTotal.FindStringSubmatch(top.stdout)
		if scale, known := scales[total[2]]; !known || !strings.Contains(top.stdout, "Type: "+f.metric+"\n") {
			t.Errorf("%s: no total of %s in\n%s", name, f.metric, top.stdout)
		} else {
			within("--top", number(t, total[1])*scale)
		}
		out := filepath.Join(dir, name+".out.folded")
		tpconvert(t, dir, "flamegraph", "-o", out, name).expect(t, exitDone, "")
		sum := 0.0
		text, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			sum += number(t, strings.TrimSpace(line[strings.LastIndexByte(line, ' '):]))
		}
		if sum != f.total {
			t.Errorf("%s: NAME.folded has %v, want %v", name, sum, f.total)
		}
		pb := filepath.Join(dir, name+".pb.gz")
		tpconvert(t, dir, "flamegraph", "-o", pb, name).expect(t, exitDone, "")
		sum = 0
		written := parsed(t, pb)
		for i, metric := range written.SampleType {
			if metric.Type != f.metric || written.DefaultSampleType != f.metric {
				continue
			}
			for _, s := range written.Sample {
				if strings.HasSuffix(metric.Unit, "/1000") {
					sum += float64(s.Value[i]) / 1000
				} else {
					sum += float64(s.Value[i])
				}
			}
		}
		if sum != f.total {
			t.Errorf("%s: NAME.pb.gz has %v, want %v", name, sum, f.total)
		}
		summary := tpconvert(t, dir, "summarize", "--format", "csv", "profile", name)
		summary.expect(t, exitDone, "")
		rows, err := csv.NewReader(strings.NewReader(summary.stdout)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		sum = 0
		for _, row := range rows[1:] {
			if row[1] == f.metric {
				sum += number(t, row[4])
			}
		}
		if sum != f.total {
			t.Errorf("%s: summarize has %v, want %v", name, sum, f.total)
		}
	}
	both := tpconvert(t, dir, "flamegraph", "--top", "--base", "whole.folded", "fractions.folded")
	if both.expect(t, exitDone, ""); !strings.Contains(both.stdout, "-3750count/1000") {
		t.Errorf("less: %s", both.stdout)
	}
	if got := tpconvert(t, dir, "flamegraph", "--top", "seconds.speedscope.json"); !strings.Contains(got.stderr, "the sum of 2 profiles of one file") || !strings.Contains(got.stderr, "t 1, t 2") {
		t.Errorf("threads: %s", got.stderr)
	}
	one := tpconvert(t, dir, "flamegraph", "--top", "--scope", "t 2", "seconds.speedscope.json")
	if one.expect(t, exitDone, ""); !strings.Contains(one.stdout, "500ms total") {
		t.Errorf("--scope: %s", one.stdout)
	}
}

// TestRecordedProfiles checks that what flamegraph writes of recordings adds up to the rows of the metric that it says it shows.
func TestRecordedProfiles(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"sums.jfr": string(content(t, recorded(t, "java.jfr.gz")))})
	for _, c := range []struct{ file, metric, own string }{
		{recorded(t, "go_cpu.pb.gz"), "cpu", "cpu"},
		{recorded(t, "go_heap.pb.gz"), "inuse_space", "inuse_space"},
		{recorded(t, "go_mutex.pb.gz"), "delay", "delay"},
		{recorded(t, "go_block.pb.gz"), "delay", "delay"},
		{recorded(t, "go_goroutine.pb.gz"), "goroutine", "goroutine"},
		{recorded(t, "perf.data"), "cpu-clock", "cpu-clock"},
		{recorded(t, "perf.script"), "cpu-clock", "cpu-clock"},
		{recorded(t, "node.cpuprofile"), "time", "time"},
		{recorded(t, "node_cpu_profiler.json"), "time", "time"},
		{"sums.jfr", "samples", "samples:jdk.ExecutionSample"},
	} {
		out := filepath.Join(dir, filepath.Base(c.file))
		tpconvert(t, dir, "flamegraph", "-o", out+".pb.gz", c.file).expect(t, exitDone, "")
		tpconvert(t, dir, "flamegraph", "-o", out+".folded", c.file).expect(t, exitDone, "")
		p := parsed(t, out+".pb.gz")
		shown := slices.IndexFunc(p.SampleType, func(v *profile.ValueType) bool { return v.Type == p.DefaultSampleType })
		sum := int64(0)
		for _, s := range p.Sample {
			sum += s.Value[shown]
		}
		folded := 0.0
		text, err := os.ReadFile(out + ".folded")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			folded += number(t, strings.TrimSpace(line[strings.LastIndexByte(line, ' '):]))
		}
		rows := tpconvert(t, dir, "-q", "query", "--perfetto", "--format", "csv", c.file, "SELECT CAST(sum(value) AS INT) AS v FROM _stack_value WHERE metric = '"+c.own+"'")
		if want := rows.stdout; p.DefaultSampleType != c.metric || want != fmt.Sprintf("\"v\"\n%d\n", sum) || folded != float64(sum) {
			t.Errorf("%s: %d and %f of %s, want %s of %s; %s", c.file, sum, folded, p.DefaultSampleType, want, c.metric, rows.stderr)
		}
	}
}

// TestProfilesOfCases checks that all metrics of all profiles in the cases have the sums of their rows.
func TestProfilesOfCases(t *testing.T) {
	t.Parallel()
	shown := map[string]int{} // profiles by folder
	for _, of := range []string{"collapsed", "gecko", "instruments", "jfr", "nsys", "perfdata", "perfetto", "perfscript", "pprof", "simpleperf", "v8"} {
		cases, err := filepath.Glob(filepath.Join("..", "..", "testdata", "cases", of, "*.txtar"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range cases {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !regexp.MustCompile("(?m)^-- .*(stack_sample|aggregate_sample|heap_profile_allocation)").Match(text) {
				continue
			}
			name, data, err := tracecase.Trace(&txtar.Parse(text).Files[0])
			if err != nil {
				t.Fatal(file, err)
			}
			dir := folder(t, map[string]string{name: string(data)})
			tpconvert(t, dir, "-q", name, "out")
			lines, err := csv.NewReader(strings.NewReader(rowsOf(t, dir, "out", "SELECT scope, metric, sum(value), count(*) FILTER (WHERE value <> round(value)) FROM _stack_value GROUP BY ALL HAVING sum(abs(value)) > 0"))).ReadAll()
			if err != nil {
				t.Fatal(file, err)
			}
			written := map[string]*profile.Profile{} // with all metrics, by scope
			for _, line := range lines[1:] {
				scope, metric, want, parts := line[0], line[1], number(t, line[2]), number(t, line[3])
				p := written[scope]
				if p == nil {
					tpconvert(t, dir, "flamegraph", "-f", "-o", "x.pb.gz", "--scope", scope, "out").expect(t, exitDone, "")
					p = parsed(t, filepath.Join(dir, "x.pb.gz"))
					written[scope] = p
				}
				at := slices.IndexFunc(p.SampleType, func(v *profile.ValueType) bool { return v.Type == metric })
				if at < 0 {
					t.Fatalf("%s: %s has no metric %s", file, scope, metric)
				}
				sum, scale := 0.0, 1.0
				if strings.HasSuffix(p.SampleType[at].Unit, "/1000") {
					scale = 1000
				}
				for _, s := range p.Sample {
					sum += float64(s.Value[at]) / scale
				}
				if shown[of]++; math.Abs(sum-want) > parts/scale/2 {
					t.Errorf("%s: %s of %s is %f, want %f", file, metric, scope, sum, want)
				}
			}
		}
		if shown[of] == 0 {
			t.Errorf("no profile of %s", of)
		}
	}
}

// Frames that a pprof file names as those of an allocator are shown nowhere.
func TestDroppedFrames(t *testing.T) {
	t.Parallel()
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "space", Unit: "bytes"}}, DropFrames: "malloc", Sample: []*profile.Sample{{Value: []int64{64}}}}
	for i, name := range []string{"malloc_hook", "malloc", "main"} {
		f := &profile.Function{ID: uint64(i) + 1, Name: name}
		l := &profile.Location{ID: uint64(i) + 1, Line: []profile.Line{{Function: f}}}
		p.Function, p.Location, p.Sample[0].Location = append(p.Function, f), append(p.Location, l), append(p.Sample[0].Location, l)
	}
	dir := t.TempDir()
	var b bytes.Buffer
	if err := errors.Join(p.Write(&b), os.WriteFile(filepath.Join(dir, "heap.pb.gz"), b.Bytes(), 0o666)); err != nil {
		t.Fatal(err)
	}
	if top := tpconvert(t, dir, "flamegraph", "--top", "heap.pb.gz"); !strings.Contains(top.stdout, "64B   100%   100%        64B   100%  main\n") {
		t.Error(top.stdout)
	}
	tpconvert(t, dir, "flamegraph", "-o", "heap.folded", "heap.pb.gz").expect(t, exitDone, "")
	if got, err := os.ReadFile(filepath.Join(dir, "heap.folded")); err != nil || string(got) != "main 64\n" {
		t.Errorf("%s, %v", got, err)
	}
	page := reported(t, dir, "heap.pb.gz")
	if d := drawnBy(t, page); len(d.Trees[0].Self) != 1 || d.Trees[0].Self[0] != 64 || slices.Contains(d.Names, "malloc") {
		t.Errorf("%+v", d)
	}
	if strings.Contains(page, "malloc itself has") {
		t.Error("the report begins with a function that is dropped")
	}
	if strings.Count(page, "match drop_frames of the file are left out") != 2 { // of the flame graph and of the functions
		t.Error("the report does not say what is left out")
	}
}

// A thread that sleeps is not in a flame graph of CPU.
func TestStatesOfSamples(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "testdata", "cases", "jfr", "states.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	name, data, err := tracecase.Trace(&txtar.Parse(text).Files[0])
	if err != nil {
		t.Fatal(err)
	}
	dir := folder(t, map[string]string{name: string(data)})
	for args, want := range map[string]string{"": "Main.work 2\n", "--metric samples:jdk.ExecutionSample:STATE_SLEEPING ": "Main.sleep 1\n"} {
		tpconvert(t, dir, append([]string{"flamegraph", "-f", "-o", "x.folded"}, strings.Fields(args+name)...)...).expect(t, exitDone, "")
		if got, err := os.ReadFile(filepath.Join(dir, "x.folded")); err != nil || string(got) != want {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
}

// TestFieldProfiles shows inputs like those of users: the measure and values are those of the tools of their formats.
func TestFieldProfiles(t *testing.T) {
	t.Parallel()
	conformance := os.Getenv("CONFORMANCE")
	field, err := filepath.Abs(filepath.Join(conformance, "..", "field", "tools"))
	if err == nil {
		_, err = os.Stat(field)
	}
	if conformance == "" || err != nil {
		t.Skip("!!! NOT RUN: CONFORMANCE names no folder beside which there are inputs of users")
	}
	dir := t.TempDir()
	for file, want := range map[string][]string{
		"pyspy-0.4.3.speedscope.json":       {"Type: time\n", "of 4260ms total", "2930ms 68.78% 68.78%     2930ms 68.78%  work"},
		"pyspy-like.speedscope.json":        {"of 2000ms total", "1370ms 68.50% 68.50%     1370ms 68.50%  work"},
		"pyspy-two-threads.speedscope.json": {"of 2.62s total"},
		"epoch.json":                        {"of 500ms total"},
		"frac.json":                         {"of 250us total"},
		"mixed.json":                        {"of 300B total"},
		"node20-big-deltas.cpuprofile":      {"892.59ms 43.61% 43.61%   892.59ms 43.61%  spin", "695.10ms 33.96%", "248.56ms 12.14%"},
		"long-delta.cpuprofile":             {"86.54% 86.54%", "slow"},
		"xdebug-negative.callgrind":         {"Type: Time\n", "of 1150ns total"},
		"diff.folded":                       {"Type: after\n", "of 13 total", "12 92.31%"},
		"go-mutex-debug1.txt":               {"Type: delay\n", "of 313.18ms total", "sync.(*Mutex).Unlock"},
		"go-heap-debug1.txt":                {"Type: inuse_space\n", "of 48895.33kB total", "45002.41kB 92.04% 92.04% 45002.41kB 92.04%  main.allocBig"},
		"threadcreate.txt":                  {"Type: threadcreate\n", "of 4 total"},
		"jdk25-cpu-time.jfr":                {"Type: jdk.CPUTimeSample\n", "of 435ms total"},
		"empty.folded":                      {"of 6 total"},
	} {
		got := tpconvert(t, dir, "flamegraph", "--top", filepath.Join(field, file))
		got.expect(t, exitDone, "")
		for _, w := range want {
			if !strings.Contains(got.stdout, w) {
				t.Errorf("%s: no %q in\n%s%s", file, w, got.stdout, got.stderr)
			}
		}
	}
	difference := tpconvert(t, dir, "flamegraph", "--top", "--base", filepath.Join(field, "pyspy-like.speedscope.json"), filepath.Join(field, "pyspy-two-threads.speedscope.json"))
	if difference.expect(t, exitDone, ""); !strings.Contains(difference.stdout, "-0.12s  6.00% 24.00%     -0.12s  6.00%  work") {
		t.Error(difference.stdout)
	}
}
