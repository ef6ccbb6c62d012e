package main

import (
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The page of a job says which rank came late, from the folder of its traces and from their dataset. The numbers are sums of the two
// files by hand: both end the only collective together, rank 1 begins it 40 us later.
func TestReportOfJob(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ranks := filepath.Join(dir, "ranks")
	if err := os.Mkdir(ranks, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"rank0.json", "rank1.json"} {
		text, err := os.ReadFile(recorded(t, "job/"+name))
		if err != nil {
			t.Fatal(err)
		}
		if name == "rank1.json" {
			text = earlier(t, text)
		}
		if err := os.WriteFile(filepath.Join(ranks, name), text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	tpconvert(t, dir, "-q", "ranks", "out").expect(t, exitDone, "")
	for _, input := range []string{"ranks", "out"} {
		page := reported(t, dir, input)
		if !strings.Contains(page, "<p>2 ranks, 1.4 ms</p>") {
			t.Errorf("%s: the first line is not that of a job", input)
		}
		var said []string
		for _, sentence := range sentenceOfPage.FindAllStringSubmatch(page, -1) {
			said = append(said, html.UnescapeString(regexp.MustCompile(`<.*?>`).ReplaceAllString(sentence[1], "")))
		}
		want := []string{"Rank 1 comes last in 100.0 % of the collectives, and others waited 40 µs for it.",
			"GPUs only communicated in 27.8 % of their time; computation hid 227 µs of 600 µs.",
			"GPUs did nothing in 10.2 % of the time between their first work and their last, most on rank 0: 68.5 µs.",
			"Rank 0 waited 40 µs for other ranks, 6.0 % of its time.",
			"The work gemm took 340 µs on rank 1 and 300 µs on another, a difference of 6.0 % of the time."}
		if !slices.Equal(said, want) {
			t.Errorf("%s: %q", input, said)
		}
		rows := strings.Join(rowsOfPage(page), "\n")
		for _, want := range []string{"1|1|1|40 µs|0 ns\n0|1|0|0 ns|40 µs", "1|40 µs|40 µs|1|ProfilerStep#1|ncclDevKernel_AllReduce_Sum_f32_RING_LL",
			"0|0|601.5 µs|68.5 µs|340 µs|320 µs|113.5 µs|206.5 µs|", "40 µs|300 µs|320 µs|340 µs|1|2|computation|gemm"} {
			if !strings.Contains(rows, want) {
				t.Errorf("%s: no row %s: %s", input, want, rows)
			}
		}
		var lanes []string
		d := drawnBy(t, page)
		for _, l := range d.Lanes {
			us := func(bucket int) string { return strconv.Itoa(bucket * int(d.Width) / 1000) }
			busy := func(b byte) bool { return b > 0 }
			first := slices.IndexFunc(l.Busy, busy)
			last := len(l.Busy)
			for ; !busy(l.Busy[last-1]); last-- {
			}
			lanes = append(lanes, l.Group+", "+l.Name+", "+l.Sum+": "+us(first)+" to "+us(last))
		}
		if want := []string{"Computation, rank 0, 340 µs: 612 to 1170", "Computation, rank 1, 380 µs: 612 to 1170",
			"Communication that nothing hides, rank 0, 206.5 µs: 913 to 1120", "Communication that nothing hides, rank 1, 166.5 µs: 953 to 1120"}; !slices.Equal(lanes, want) {
			t.Errorf("%s: %q", input, lanes)
		}
	}
	// Two traces of one rank are no job.
	tpconvert(t, dir, "-q", "ranks/rank1.json", recorded(t, "job/rank1.json"), "two").expect(t, exitDone, "")
	if got := tpconvert(t, dir, "report", "two", "-o", "-"); got.code != exitUsage || !strings.Contains(got.stderr, "has several traces") {
		t.Errorf("two traces of a rank: exit code %d, %s", got.code, got.stderr)
	}
}

// earlier returns a trace on another clock, which begins 500 us before all that it had.
func earlier(t *testing.T, trace []byte) []byte {
	t.Helper()
	text := regexp.MustCompile(`"ts": (\d+)`).ReplaceAllStringFunc(string(trace), func(of string) string {
		n, err := strconv.Atoi(strings.TrimPrefix(of, `"ts": `))
		if err != nil {
			t.Fatal(err)
		}
		return `"ts": ` + strconv.Itoa(n+7_000_000)
	})
	const events = `"traceEvents": [`
	return []byte(strings.Replace(text, events, events+"\n"+`{"ph": "X", "cat": "cpu_op", "name": "start", "pid": 100, "tid": 100, "ts": 7000500, "dur": 10},`, 1))
}
