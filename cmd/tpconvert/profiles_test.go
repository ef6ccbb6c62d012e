//go:build cgo

package main

import (
	"encoding/csv"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

// A profile's numbers, from this project and from an independent tool.

// weight is the value of a function: in itself, and with what it calls.
type weight struct{ flat, cumulative float64 }

// shared returns the files of the conformance traces, whose folder the environment names, or none.
func shared(t *testing.T, pattern string) []string {
	t.Helper()
	folder := os.Getenv("CONFORMANCE")
	if folder == "" {
		t.Log("!!! ONLY THE RECORDINGS IN testdata ARE TESTED: CONFORMANCE names no folder with others")
		return nil
	}
	found, err := filepath.Glob(filepath.Join(folder, "traces", pattern))
	if err != nil || len(found) == 0 {
		t.Fatalf("%s in %s: %v", pattern, folder, err)
	}
	return found
}

// functionsOf returns the functions that profile_top has for samples.
func functionsOf(t *testing.T, dir, input, arguments string) map[string]weight {
	t.Helper()
	text := rowsOf(t, dir, input, "SELECT name, self_value, cumulative_value FROM profile_top("+arguments+")")
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]weight{}
	for _, row := range rows[1:] {
		if _, again := all[row[0]]; again {
			t.Errorf("%s %s: %q has two rows", input, arguments, row[0])
		}
		all[row[0]] = weight{number(t, row[1]), number(t, row[2])}
	}
	return all
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

var (
	// topLine is a line of pprof -top: flat, flat%, sum%, cum, cum%, the function.
	topLine = regexp.MustCompile(`^ *(-?[\d.]+)\S* +\S+ +\S+ +(-?[\d.]+)\S* +\S+ +(.*?)(?: \((?:partial-)?inline\))?$`)
	// pprofUnits are the units in which pprof prints values exactly.
	pprofUnits = map[string]string{"nanoseconds": "ns", "microseconds": "us", "milliseconds": "ms", "bytes": "B"}
)

// pprofFunctions returns the functions that go tool pprof has for a metric of a profile.
func pprofFunctions(t *testing.T, path string, metric int, of *profile.ValueType) map[string]weight {
	t.Helper()
	args := []string{"-top", "-cum", "-nodecount=100000", "-nodefraction=0", "-sample_index=" + strconv.Itoa(metric)}
	if unit := pprofUnits[of.Unit]; unit != "" {
		args = append(args, "-unit="+unit)
	}
	all := map[string]weight{}
	_, table, _ := strings.Cut(pprofReport(t, append(args, path)...), "flat%")
	for line := range strings.Lines(table) {
		if m := topLine.FindStringSubmatch(strings.TrimSuffix(line, "\n")); m != nil {
			all[strings.Replace(m[3], "<unknown>", "[unknown]", 1)] = weight{number(t, m[1]), number(t, m[2])}
		}
	}
	return all
}

// sameFunctions checks that two tools have the same functions with the same values. Either may leave out those without.
func sameFunctions(t *testing.T, what string, got, want map[string]weight) {
	t.Helper()
	none := func(_ string, w weight) bool { return w == weight{} }
	maps.DeleteFunc(got, none)
	maps.DeleteFunc(want, none)
	differ := 0
	for name, w := range want {
		if got[name] != w {
			if differ++; differ <= 3 {
				t.Errorf("%s: %s has %v, want %v", what, name, got[name], w)
			}
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			if differ++; differ <= 3 {
				t.Errorf("%s: %s %v is not in the profile", what, name, got[name])
			}
		}
	}
	if differ > 0 {
		t.Errorf("%s: %d of %d functions differ", what, differ, len(want))
	}
}

// TestProfileTopAsInPprof checks that every function of every metric has the values that go tool pprof gives it, in SQL and
// in the profile that flamegraph writes.
func TestProfileTopAsInPprof(t *testing.T) {
	t.Parallel()
	paths := shared(t, "pprof/*")
	for _, name := range []string{"go_block.pb.gz", "go_cpu.pb", "go_goroutine.pb.gz", "go_heap.pb.gz", "go_mutex.pb.gz"} {
		paths = append(paths, recorded(t, name))
	}
	for _, path := range paths {
		name := filepath.Base(path)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "grafana__pyroscope__dotnet-pprof-73.pb.gz" {
				t.Skip("pprof refuses it, because a function has the id 0")
			}
			dir := t.TempDir()
			original := parsed(t, path)
			tpconvert(t, dir, "-q", path, "out").expect(t, exitDone, "")
			tpconvert(t, dir, "flamegraph", "-o", "written.pb.gz", path).expect(t, exitDone, "")
			for i, metric := range original.SampleType {
				want := pprofFunctions(t, path, i, metric)
				if any := slices.ContainsFunc(original.Sample, func(s *profile.Sample) bool { return s.Value[i] != 0 }); any != (len(want) > 0) {
					t.Errorf("pprof has %d functions for %s", len(want), metric.Type)
				}
				sameFunctions(t, metric.Type+" in SQL", functionsOf(t, dir, "out", "'aggregate_sample', metric := '"+metric.Type+"'"), maps.Clone(want))
				sameFunctions(t, metric.Type+" written", pprofFunctions(t, filepath.Join(dir, "written.pb.gz"), i, metric), want)
			}
		})
	}
}
