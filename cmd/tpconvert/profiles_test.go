//go:build cgo

package main

import (
	"cmp"
	"encoding/csv"
	"maps"
	"os"
	"os/exec"
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

// shared returns the files of the conformance traces, whose folder the environment names, or none. With RECORDINGS=few it returns a
// few.
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
	if most := 4; os.Getenv("RECORDINGS") == "few" && len(found) > most {
		for i := range most {
			found[i] = found[i*len(found)/most]
		}
		found = found[:most]
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

// pprofFunctions returns the functions that go tool pprof, with more arguments, has for a metric of a profile.
func pprofFunctions(t *testing.T, path string, metric int, of *profile.ValueType, args ...string) map[string]weight {
	t.Helper()
	args = append(args, "-top", "-cum", "-nodecount=100000", "-nodefraction=0", "-sample_index="+strconv.Itoa(metric))
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
				// As users call pprof, which then shortens names that it has to demangle.
				written := pprofFunctions(t, filepath.Join(dir, "written.pb.gz"), i, metric, "-symbolize=fastlocal")
				sameFunctions(t, metric.Type+" written", written, want)
			}
		})
	}
}

var (
	// perfHead is the first line of a sample of perf script, with its stack if that is one address. perfFrame is an address.
	perfHead  = regexp.MustCompile(`^\s*\d+\s+[\d.]+:\s+(\d+)\s+(\S+):\s*(.*)$`)
	perfFrame = regexp.MustCompile(`^\s*([0-9a-f]+) .*? \((.*)\)$`)
)

// perfWeights returns what perf script has for each event of a recording: the files that ran, named as profile_top names code
// without symbols, and the addresses in them, weighted by the periods of samples as perf report does. It returns nil if perf
// cannot read the recording.
func perfWeights(t *testing.T, path string) (files map[string]map[string]weight, addresses map[string]map[address]weight) {
	t.Helper()
	text, err := exec.CommandContext(t.Context(), "perf", "script", "--max-stack", "100000", "-F", "tid,time,event,period,ip,sym,dso", "-i", path).Output()
	if err != nil {
		return nil, nil
	}
	files, addresses = map[string]map[string]weight{}, map[string]map[address]weight{}
	var event string
	var period float64
	inFiles, at := map[string]bool{}, map[address]bool{} // of the sample
	frame := func(line string) {
		m := perfFrame.FindStringSubmatch(line)
		if m == nil {
			return
		}
		name := codeName(m[2])
		called(files[event], inFiles, name, period)
		ip, err := strconv.ParseUint(m[1], 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		if len(at) > 0 && ip != 0 {
			ip-- // a return address, which stands for the call before it
		}
		called(addresses[event], at, address{neutral(name), ip}, period)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if m := perfHead.FindStringSubmatch(line); m != nil {
			event, period = m[2], number(t, m[1])
			clear(inFiles)
			clear(at)
			if files[event] == nil {
				files[event], addresses[event] = map[string]weight{}, map[address]weight{}
			}
			line = m[3]
		}
		frame(line)
	}
	return files, addresses
}

// called adds a frame to the weights of all frames. The frames of a sample come from the innermost on; seen has those before.
func called[K comparable](all map[K]weight, seen map[K]bool, frame K, period float64) {
	w := all[frame]
	if len(seen) == 0 {
		w.flat += period
	}
	if !seen[frame] {
		w.cumulative += period
	}
	seen[frame] = true
	all[frame] = w
}

// address is a place in a file. Its number is one in the memory of the process or in the file, as perf prints them.
type address struct {
	file   string
	number uint64
}

// codeName returns the name of code without symbols: that of its file.
func codeName(path string) string {
	if name, _, ok := strings.Cut(path, "]"); ok && path[0] == '[' {
		return name + "]"
	}
	return "[" + filepath.Base(path) + "]"
}

// neutral returns a name that does not depend on how perf found a file: a module of the kernel without .ko, and compiled
// code, for which it looks in a file of its own, as the mapping is called.
func neutral(name string) string {
	if name = strings.Replace(name, ".ko]", "]", 1); strings.HasPrefix(name, "[perf-") {
		return "[anon]"
	}
	return name
}

func renamed(all map[string]weight) map[string]weight {
	to := map[string]weight{}
	for name, w := range all {
		to[neutral(name)] = w
	}
	return to
}

// addressesOf returns the weights of the addresses of each event's samples, from the tables of stacks, for each expression
// that gives the numbers.
func addressesOf(t *testing.T, dir string, expressions ...string) []map[string]map[address]weight {
	t.Helper()
	rows := func(query string) [][]string {
		all, err := csv.NewReader(strings.NewReader(rowsOf(t, dir, "out", query))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		return all[1:]
	}
	type callsite struct {
		parent string
		file   string
		ips    []uint64
	}
	callsites := map[string]callsite{}
	for _, row := range rows(`SELECT c.id, c.parent_id, coalesce(nullif(m.name, ''), '[unknown]'), ` + strings.Join(expressions, ", ") + ` FROM stack_profile_callsite AS c
		JOIN stack_profile_frame AS f ON f.id = c.frame_id LEFT JOIN stack_profile_mapping AS m ON m.id = f.mapping`) {
		c := callsite{parent: row[1], file: neutral(codeName(row[2]))}
		for _, text := range row[3:] {
			ip, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			c.ips = append(c.ips, uint64(ip))
		}
		callsites[row[0]] = c
	}
	samples := rows("SELECT event, period, callsite_id FROM perf_event_sample WHERE callsite_id IS NOT NULL")
	to := make([]map[string]map[address]weight, len(expressions))
	for i := range to {
		to[i] = map[string]map[address]weight{}
		for _, row := range samples {
			event, period, seen := row[0], number(t, row[1]), map[address]bool{}
			if to[i][event] == nil {
				to[i][event] = map[address]weight{}
			}
			for at, ok := callsites[row[2]]; ok; at, ok = callsites[at.parent] {
				called(to[i][event], seen, address{at.file, at.ips[i]}, period)
			}
		}
	}
	return to
}

// functionsOfEvents returns the weights of functions in the samples of events, by event without the colon at the end.
func functionsOfEvents(t *testing.T, dir string, events []string) map[string]map[string]weight {
	t.Helper()
	to := map[string]map[string]weight{}
	var queries []string
	for _, event := range events {
		event = strings.TrimSuffix(event, ":")
		to[event] = map[string]weight{}
		queries = append(queries, "SELECT '"+event+"', name, self_value, cumulative_value FROM profile_top('perf_event_sample', metric := '"+event+"')")
	}
	rows, err := csv.NewReader(strings.NewReader(rowsOf(t, dir, "out", strings.Join(queries, " UNION ALL ")))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows[1:] {
		if _, again := to[row[0]][row[1]]; again {
			t.Errorf("%s: %q has two rows", row[0], row[1])
		}
		to[row[0]][row[1]] = weight{number(t, row[2]), number(t, row[3])}
	}
	return to
}

// byFile returns the weights of the addresses of each file, sorted.
func byFile(all map[address]weight) map[string][]weight {
	to := map[string][]weight{}
	for at, w := range all {
		to[at.file] = append(to[at.file], w)
	}
	for _, weights := range to {
		slices.SortFunc(weights, func(a, b weight) int {
			return cmp.Or(cmp.Compare(a.cumulative, b.cumulative), cmp.Compare(a.flat, b.flat))
		})
	}
	return to
}

// TestProfileTopAsInPerf checks the periods of each event of recordings without symbols, by file and by address.
func TestProfileTopAsInPerf(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("perf"); err != nil {
		t.Skip("!!! NOT RUN: there is no perf (Debian's linux-perf) to compare with")
	}
	compared := 0
	for _, path := range append(shared(t, "perf-data/*"), recorded(t, "perf.data")) {
		if strings.Contains(path, "GrapheneOS__") {
			continue // with symbols, and events that simpleperf names otherwise
		}
		events, addresses := perfWeights(t, path)
		if len(events) == 0 {
			continue
		}
		compared++
		dir := t.TempDir()
		tpconvert(t, dir, "-q", path, "out")
		const memory = "f.rel_pc + m.start - m.exact_offset"
		found := addressesOf(t, dir, memory, "CASE WHEN m.name = '' THEN "+memory+" ELSE f.rel_pc - m.exact_offset END")
		functions := functionsOfEvents(t, dir, slices.Sorted(maps.Keys(events)))
		tpconvert(t, dir, "flamegraph", "-o", "out.pb.gz", "out").expect(t, exitDone, "")
		written := filepath.Join(dir, "out.pb.gz")
		p := parsed(t, written)
		for event, want := range events {
			name := filepath.Base(path) + " " + event
			at := byFile(addresses[event])
			event = strings.TrimSuffix(event, ":")
			if !slices.ContainsFunc(found, func(all map[string]map[address]weight) bool {
				return maps.EqualFunc(byFile(all[event]), at, slices.Equal)
			}) {
				t.Errorf("%s: the addresses have not the weights %v", name, at)
			}
			want = renamed(want)
			sameFunctions(t, name, renamed(functions[event]), maps.Clone(want))
			metric := slices.IndexFunc(p.SampleType, func(v *profile.ValueType) bool { return v.Type == event })
			sameFunctions(t, name+" written", renamed(pprofFunctions(t, written, metric, p.SampleType[metric])), want)
		}
	}
	if compared < 1 {
		t.Error("perf read no recording")
	}
}
