package main

import (
	"html"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var sentenceOfPage = regexp.MustCompile(`<li>(.*?)<details`)

// Reports open with sentences whose numbers are those of the trace: of go tool pprof for the profile, and else computed from the text or
// the program that wrote it.
func TestGlance(t *testing.T) {
	t.Parallel()
	testdata, err := filepath.Abs("../../testdata")
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string][]string{
		"app.ftrace": {
			"app had 67.3 % of the CPU time of all processes: 17.5 ms.",
			"53.3 % of the time in slices of threads is doFrame itself: 13 ms.",
			"logd was ready to run and waited for a CPU for 19.4 % of the time: 3.5 ms.",
			"app waited 3 ms at once for a disk or the kernel: 16.7 % of the time.",
		},
		"frames.pftrace": {"2 of 5 frames were late: 40.0 %."},
		"go_cpu.pb.gz":   {"42.7 % of the cpu of go_cpu.pb.gz is crypto/internal/fips140/sha256.blockSHANI itself."},
	} {
		page := reported(t, t.TempDir(), filepath.Join(testdata, file))
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
