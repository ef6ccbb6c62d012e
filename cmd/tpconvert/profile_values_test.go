//go:build cgo

package main

import (
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
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
