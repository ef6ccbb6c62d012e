package main

import (
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// compared runs compare, and returns its rows by column.
func compared(t *testing.T, dir string, args ...string) (rows []map[string]string) {
	t.Helper()
	got := tpconvert(t, dir, append([]string{"-q", "compare", "--format", "csv"}, args...)...)
	if got.code != exitDone {
		t.Fatalf("compare %q: exit code %d, %s", args, got.code, got.stderr)
	}
	lines, err := csv.NewReader(strings.NewReader(got.stdout)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, cell := range line {
			row[lines[0][i]] = cell
		}
		rows = append(rows, row)
	}
	return rows
}

// significant returns the names of the differences that are not noise.
func significant(rows []map[string]string) (names []string) {
	for _, row := range rows {
		if p, err := strconv.ParseFloat(row["p"], 64); err == nil && p < 0.01 {
			names = append(names, row["kind"]+" "+row["name"])
		}
	}
	return names
}

// Ten runs of a program before and ten after one of its functions became slower: only that function differs. Nothing does between
// parts of the runs before.
func TestCompareRecordings(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{"slices": "slice checksum", "profiles": "profile checksum"} {
		dir := filepath.Join("testdata", "compare", kind)
		rows := compared(t, dir, "before", "after")
		if got := significant(rows); !slices.Equal(got, []string{want}) || rows[0]["kind"]+" "+rows[0]["name"] != want {
			t.Errorf("%s: %v differ, first %v", kind, got, rows[0])
		}
		if ratio, err := strconv.ParseFloat(rows[0]["ratio"], 64); err != nil || ratio < 1.6 || ratio > 2 || rows[0]["effect"] != "1.0" {
			t.Errorf("%s: %v", kind, rows[0]) // 90 passes instead of 50
		}
		runs, err := filepath.Glob(filepath.Join(dir, "before", "*"))
		if err != nil || len(runs) != 10 {
			t.Fatal(runs, err)
		}
		for _, parity := range []int{0, 1} {
			var one, other []string
			for i, run := range runs {
				run = filepath.Join("before", filepath.Base(run))
				if parity == 0 && i < 5 || parity == 1 && i%2 == 0 {
					one = append(one, run)
				} else {
					other = append(other, run)
				}
			}
			for _, row := range compared(t, dir, slices.Concat([]string{"--kinds", "slice,profile"}, one, []string{"--"}, other)...) {
				if p, err := strconv.ParseFloat(row["p"], 64); err == nil && p < 0.2 {
					t.Errorf("%s: halves of one set differ: %v", kind, row)
				}
			}
		}
	}
}

// The values of slices are those that a program computes from the JSON itself.
func TestCompareValues(t *testing.T) {
	t.Parallel()
	path := filepath.Join("testdata", "compare", "slices", "before", "0.json.gz")
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var events []struct {
		Name string
		Dur  float64
	}
	if err := json.NewDecoder(unzipped).Decode(&events); err != nil {
		t.Fatal(err)
	}
	durations := map[string][]float64{}
	for _, e := range events {
		name, _, _ := strings.Cut(e.Name, " ")
		durations[name] = append(durations[name], e.Dur*1000)
	}
	sum := func(name string) (all float64) {
		for _, d := range durations[name] {
			all += d
		}
		return all
	}
	rows := compared(t, ".", path, path)
	if len(rows) != len(durations) {
		t.Errorf("%d rows, want %d", len(rows), len(durations))
	}
	for _, row := range rows {
		name := strings.TrimSuffix(row["name"], " #")
		all := slices.Sorted(slices.Values(durations[name]))
		self := sum(name)
		switch name {
		case "request":
			self -= sum("parse") + sum("sort") + sum("checksum") + sum("hash")
		case "hash":
			self -= sum("render")
		}
		median := (all[19] + all[20]) / 2
		p95 := all[37] + 0.05*(all[38]-all[37]) // 0.95 of the way from the first of 40 to the last
		for column, want := range map[string]float64{"count": 40, "total": sum(name), "self": self, "p50": median, "p95": p95} {
			got, err := strconv.ParseFloat(row[column+"_after"], 64)
			if err != nil || math.Abs(got-want) > 1e-6*want {
				t.Errorf("%s of %s is %v, want %v", column, name, row[column+"_after"], want)
			}
		}
		if row["diff"] != "0.0" || row["p"] != "" {
			t.Errorf("the same trace differs: %v", row)
		}
	}
}

// CPU time, waiting, frames, counters and profiles are compared, too: with a trace that has none of them.
func TestCompareKinds(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"none.json": goodTrace})
	testdata, err := filepath.Abs(filepath.Join("..", "..", "testdata"))
	if err != nil {
		t.Fatal(err)
	}
	for trace, want := range map[string][]string{
		// The sums are those of tpconvert query.
		"app.ftrace":          {"cpu app: 0.0 8500000.0", "state R: 0.0 2000000.0", "state D: 0.0 3000000.0", "slice doFrame: 0.0 13000000.0"},
		"frames.pftrace":      {"frame App Deadline Missed: 0.0 2.0", "frame None: 0.0 3.0"},
		"go_cpu.pb.gz":        {"profile crypto/internal/fips140/sha256.blockSHANI: 0.0 850000000.0"},
		"chromium.pftrace.gz": {"slice BrowserMainRunnerImpl::Initialize: "},
		"perf.data":           {"profile [burn] [cpu-clock]: 0.0 20000000.0"},
	} {
		rows := compared(t, dir, "none.json", filepath.Join(testdata, trace))
		for _, w := range want {
			if !slices.ContainsFunc(rows, func(row map[string]string) bool {
				return strings.HasPrefix(fmt.Sprintf("%s %s: %s %s", row["kind"], row["name"], row["before"], row["after"]), w)
			}) {
				t.Errorf("%s: no %s in %v", trace, w, rows)
			}
		}
	}
}

// Names that hold numbers are one thing, unless flags say otherwise.
func TestCompareNames(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{
		"a.json": `[{"ph":"X","pid":1,"tid":2,"ts":1,"dur":1,"name":"task 1"},{"ph":"X","pid":1,"tid":2,"ts":3,"dur":2,"name":"task 2"}]`,
		"b.json": `[{"ph":"X","pid":1,"tid":3,"ts":1,"dur":4,"name":"task 3"},{"ph":"M","pid":1,"tid":3,"name":"thread_name","args":{"name":"worker 7"}}]`,
	})
	for flags, want := range map[string]string{
		"":                       "task #: 3000.0 4000.0 ",
		"--exact":                "task 3: 0.0 4000.0 |task 2: 2000.0 0.0 |task 1: 1000.0 0.0 ",
		"--by=thread":            "task #: 0.0 4000.0 worker #|task #: 3000.0 0.0 ",
		"--group=first=^task 1$": "task #: 2000.0 4000.0 |first: 1000.0 0.0 ",
		"--kinds=cpu":            "",
	} {
		var got []string
		for _, row := range compared(t, dir, append(slices.DeleteFunc([]string{flags}, func(f string) bool { return f == "" }), "a.json", "b.json")...) {
			got = append(got, fmt.Sprintf("%s: %s %s %s", row["name"], row["before"], row["after"], row["thread"]))
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%s: %q, want %q", flags, got, want)
		}
	}
}

// What goes wrong is an exit code and one line; datasets of one trace and of many, and folders, are inputs, too.
func TestCompareCommand(t *testing.T) {
	t.Parallel()
	longer := strings.ReplaceAll(goodTrace, `"dur":2`, `"dur":4`)
	dir := folder(t, map[string]string{"a.json": goodTrace, "b.json": longer})
	if err := os.MkdirAll(filepath.Join(dir, "traces", "sub"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"traces/1.json", "traces/sub/2.json", "traces/.hidden"} {
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte(strings.ReplaceAll(goodTrace, "work", name)), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	tpconvert(t, dir, "-q", "a.json", "one").expect(t, exitDone, "")
	tpconvert(t, dir, "-q", "a.json", "b.json", "many").expect(t, exitDone, "")
	for _, c := range []struct {
		args   string
		code   int
		stdout string
		stderr string
	}{
		{"a.json b.json", exitDone, "slice  self     part", ""},
		{"a.json b.json", exitDone, "+2 µs  +100.0 %", ""},
		{"one b.json", exitDone, "+2 µs  +100.0 %", ""},
		{"many b.json", exitDone, "2 traces before, 1 after: a test for noise needs several on both sides", ""},
		{"traces -- a.json b.json", exitDone, "2 traces before, 2 after; values are medians", ""},
		{"traces -- a.json b.json", exitDone, "with so few traces no p can be below 1:", ""},
		{"--format markdown a.json b.json", exitDone, "| slice | self | part |", ""},
		{"--fail-if slice.total>1.5 a.json b.json", exitAlert, "part", "slice.total>1.5 is true of slice part: 2 µs before, 4 µs after"},
		{"--fail-if slice.total>3 a.json b.json", exitDone, "part", ""},
		{"--fail-if gpu.total>3 a.json b.json", exitDone, "part", "warn: --fail-if: nothing of the kind gpu was compared"},
		{"--fail-if cup.total>3 a.json b.json", exitUsage, "", "there is no kind cup, only slice, gpu"},
		{"--fail-if p<0.01 a.json b.json", exitUsage, "", "p needs several traces"},
		{"--fail-if x a.json b.json", exitUsage, "", "there is no x"},
		{"--by cpu a.json b.json", exitUsage, "", "want thread or process"},
		{"--kinds x a.json b.json", exitUsage, "", "want some of slice, gpu"},
		{"--group x a.json b.json", exitUsage, "", "NAME=REGEXP"},
		{"--metrics slices a.json b.json", exitDone, "metric  mean     slices part total_dur", ""},
		{"a.json", exitUsage, "", "want BEFORE"},
		{"a.json b.json a.json", exitUsage, "", "want BEFORE"},
		{"a.json -- ", exitUsage, "", "want BEFORE"},
		{"- b.json", exitUsage, "", "standard input"},
		{"missing b.json", exitFailure, "", "missing"},
	} {
		got := tpconvert(t, dir, append([]string{"compare"}, strings.Fields(c.args)...)...)
		if got.code != c.code || !strings.Contains(got.stdout, c.stdout) || !strings.Contains(got.stderr, c.stderr) {
			t.Errorf("%s: %+v", c.args, got)
		}
	}
}

// Instants take no time: only their number differs.
func TestCompareInstants(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"a.json": `[{"ph":"i","name":"tick","pid":1,"tid":1,"ts":1},{"ph":"i","name":"tick","pid":1,"tid":1,"ts":2}]`,
		"b.json": `[{"ph":"i","name":"tick","pid":1,"tid":1,"ts":1}]`})
	if got := tpconvert(t, dir, "compare", "a.json", "b.json"); strings.Contains(got.stdout, " ns") || !strings.Contains(got.stdout, "2 → 1") {
		t.Error(got.stdout)
	}
}

// Kernels of GPUs whose names differ only in numbers are different kernels: what one gains does not hide what the other loses.
func TestCompareKernels(t *testing.T) {
	t.Parallel()
	trace := func(wide, narrow string) string {
		return `{"schemaVersion":1,"deviceProperties":[{"id":0,"name":"X"}],"traceEvents":[
			{"ph":"X","cat":"kernel","name":"volta_sgemm_128x32_tn","pid":0,"tid":7,"ts":0,"dur":` + wide + `,"args":{"device":0,"stream":7,"correlation":1}},
			{"ph":"X","cat":"kernel","name":"volta_sgemm_32x32_tn","pid":0,"tid":7,"ts":1000,"dur":` + narrow + `,"args":{"device":0,"stream":7,"correlation":2}}]}`
	}
	dir := folder(t, map[string]string{"a.json": trace("100", "300"), "b.json": trace("300", "100")})
	diffs := map[string]string{}
	for _, row := range compared(t, dir, "a.json", "b.json") {
		diffs[row["kind"]+" "+row["name"]] = row["diff"]
	}
	if want := map[string]string{"gpu volta_sgemm_128x32_tn": "200000.0", "gpu volta_sgemm_32x32_tn": "-200000.0"}; !maps.Equal(diffs, want) {
		t.Errorf("%v, want %v", diffs, want)
	}
}
