package main

import (
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var sentenceOfPage = regexp.MustCompile(`<li>(.*?)<details`)

// Reports open with sentences whose numbers are those of the trace: of go tool pprof and jfr for profiles, and else computed from the text
// or the program that wrote it.
func TestGlance(t *testing.T) {
	t.Parallel()
	testdata, err := filepath.Abs("../../testdata")
	if err != nil {
		t.Fatal(err)
	}
	// The root holds a Cache of 40 bytes with two Items of 100 each, and 60 others.
	heap := folder(t, map[string]string{"h.heapsnapshot": `{"snapshot":{"meta":{"node_fields":["type","name","id","self_size","edge_count"],
"node_types":[["synthetic","object"],"string","number","number","number"],
"edge_fields":["type","name_or_index","to_node"],"edge_types":[["element"],"string_or_number","node"]},"node_count":5,"edge_count":4},
"nodes":[0,0,1,0,2,1,1,3,40,2,1,2,5,100,0,1,2,7,100,0,1,3,9,60,0],"edges":[0,0,5,0,1,20,0,0,10,0,1,15],"strings":["","Cache","Item","Other"]}`})
	for file, want := range map[string][]string{
		"app.ftrace": {
			"app had 67.3 % of the CPU time of all processes: 17.5 ms.",
			"doFrame itself took 53.3 % of the time in slices of threads: 13 ms.",
			"logd was ready to run and waited for a CPU for 19.4 % of the time: 3.5 ms.",
			"app waited 3 ms at once for a disk or the kernel: 16.7 % of the time.",
		},
		"frames.pftrace": {"2 of 5 frames were late: 40.0 %."},
		"go_cpu.pb.gz":   {"crypto/internal/fips140/sha256.blockSHANI itself has 42.7 % of cpu in go_cpu.pb.gz."},
		"java.jfr.gz": {
			"Small.spin itself has 66.7 % of samples:jdk.ExecutionSample in jfr.",
			"app.Request itself took 39.1 % of the time in slices of threads: 507.8 ms.",
			"Threads waited 93.71 ms for Java monitors, 11.5 % of the time of the recording; most of them for java.lang.Object: 93.71 ms.",
			"The garbage collector stopped the program 5 times, for 8.0 % of the time: 65.15 ms, the longest 44.9 ms.",
		},
		"pytorch__kineto__worker0.1623143566756.pt.trace.json.gz": {
			"GPU 0 did nothing in 31.3 % of the time between its first work and its last: 273.9 ms.",
			"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__ itself took 15.7 % of the time in slices of threads: 171.8 ms.",
			"void cudnn::detail::dgrad_engine<float,…ed long long, int, float, int, int, int) took 13.4 % of the time of all work on GPUs: 80.68 ms in 162 runs.",
		},
		"h.heapsnapshot": {"80.0 % of the heap, 240 B, would be free without Cache (1 object)."},
	} {
		path := filepath.Join(testdata, file)
		if file == "h.heapsnapshot" {
			path = filepath.Join(heap, file)
		} else if _, err := os.Stat(path); err != nil {
			path = filepath.Join(os.Getenv("CONFORMANCE"), "traces/chrome-json", file)
			if os.Getenv("CONFORMANCE") == "" {
				continue
			}
		}
		page := reported(t, t.TempDir(), path)
		var got []string
		for _, found := range sentenceOfPage.FindAllStringSubmatch(page, -1) {
			if !strings.Contains(found[1], `href="#s`) {
				t.Errorf("%s: no link in %s", file, found[1])
			}
			got = append(got, html.UnescapeString(tag.ReplaceAllString(found[1], "")))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
		if glance, sections := strings.Index(page, "At a glance"), strings.Index(page, "<span>sha256</span>"); glance < 0 || sections < glance {
			t.Errorf("%s: hashes come before what matters", file)
		}
	}
}
