package ingesttest

import (
	"compress/gzip"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Stacks returns the sums at the stacks of all profiles that measure this: scope, tab, and the frames joined by 0x1f. name names
// a frame by its function, its file and its line, NULL if unknown.
func (t *Tables) Stacks(metric string, name func(function, file, line string) string) map[string]float64 {
	symbols := map[string][]string{}
	for _, row := range t.Rows("stack_profile_symbol", "symbol_set_id", "source_file", "line_number") {
		v := strings.Split(row, "|")
		symbols[v[0]] = v[1:]
	}
	var frames []string
	for _, row := range t.Rows("stack_profile_frame", "symbol_set_id", "name") {
		set, function, _ := strings.Cut(row, "|")
		frames = append(frames, name(function, symbols[set][0], symbols[set][1]))
	}
	var stacks []string
	for _, row := range t.Rows("stack_profile_callsite", "parent_id", "frame_id") {
		parent, frame, _ := strings.Cut(row, "|")
		at, _ := strconv.Atoi(frame)
		stack := frames[at]
		if below, err := strconv.Atoi(parent); err == nil {
			stack = stacks[below] + "\x1f" + stack
		}
		stacks = append(stacks, stack)
	}
	profiles := t.Rows("aggregate_profile", "sample_type_type", "scope")
	sums := map[string]float64{}
	for _, row := range t.Rows("aggregate_sample", "aggregate_profile_id", "callsite_id", "value") {
		v := strings.Split(row, "|")
		profile, _ := strconv.Atoi(v[0])
		scope, ok := strings.CutPrefix(profiles[profile], metric+"|")
		if callsite, err := strconv.Atoi(v[1]); err == nil && ok {
			value, _ := strconv.ParseFloat(v[2], 64)
			sums[scope+"\t"+stacks[callsite]] += value
		}
	}
	return sums
}

// Recording returns what is in a gzip file in testdata.
func Recording(t testing.TB, name string) []byte {
	t.Helper()
	f, err := os.Open(filepath.Join("../../testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Samples calls f with the traces of others that match the pattern below the folder that FORMAT_SAMPLES names.
func Samples(t *testing.T, pattern string, f func(file string, data []byte)) {
	t.Helper()
	folder := os.Getenv("FORMAT_SAMPLES")
	files, err := filepath.Glob(filepath.Join(folder, pattern))
	if folder == "" || err != nil || len(files) == 0 {
		t.Skip("FORMAT_SAMPLES names no folder with traces")
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		f(file, data)
	}
}

// WantStacks compares sums with those in FILE.stacks, which another program wrote: scope, stack and value, separated by tabs. as
// says what a stack is called here.
func WantStacks(t *testing.T, file string, got map[string]float64, as func(stack string) string) {
	t.Helper()
	data, err := os.ReadFile(file + ".stacks")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		at := strings.LastIndexByte(line, '\t')
		value, _ := strconv.ParseFloat(line[at+1:], 64)
		want[as(line[:at])] += value
	}
	for stack, value := range want {
		if math.Abs(got[stack]-value) > 1e-6*math.Abs(value) {
			t.Errorf("%s: %q is %v, want %v", filepath.Base(file), stack, got[stack], value)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d stacks, want %d", filepath.Base(file), len(got), len(want))
	}
	t.Logf("%s: %d stacks", filepath.Base(file), len(want))
}
