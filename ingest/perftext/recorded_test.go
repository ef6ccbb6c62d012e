package perftext_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
)

// recording is a perf.data file, and whether its samples have call graphs.
type recording struct {
	options []string
	graphs  bool
}

var recordings = map[string]recording{
	"graphs":     {[]string{"-e", "cpu-clock", "-F", "4000", "-g", "--sample-cpu", "-d", "-W", "-k", "mono", "--switch-events", "--namespaces", "--user-regs=sp"}, true},
	"plain":      {[]string{"-e", "cpu-clock", "-F", "4000", "-a"}, false},
	"events":     {[]string{"-e", "page-faults,context-switches", "-c", "1"}, false},
	"tracepoint": {[]string{"-e", "sched:sched_switch,sched:sched_waking,sched:sched_stat_runtime,irq:softirq_entry", "-a"}, false},
}

// workload is what is recorded: a shell and a child, which does not execute another program. Frames of a program that is
// being replaced are a difference between perf and us.
const workload = "(for i in 1 2 3 4 5 6 7 8 9; do echo $i; done); i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done; for i in 1 2 3 4 5 6 7 8 9; do (echo); done"

// scripts are sets of options of perf script. lacks are the fields that the text does not have; those with a plus it has,
// unlike the default output.
var scripts = []struct{ recording, options, lacks string }{
	{"graphs", "", ""},
	{"graphs", "-I --header", ""},
	{"graphs", "-G", "callers"},
	{"graphs", "--ns", "+ns"},
	{"graphs", "-L", ""},
	{"graphs", "--show-mmap-events", ""},
	{"graphs", "--show-task-events", "+pid"},
	{"graphs", "--show-switch-events --show-namespace-events --show-lost-events --show-round-events", "file"}, // perf loses the file of some
	{"graphs", "-F +misc --show-switch-events --show-task-events", "+pid +mode"},
	{"graphs", "-F +pid", "+pid"},
	{"graphs", "-F +pid,+misc --ns", "+pid +mode +ns"},
	{"graphs", "-F +srcline", ""},
	{"graphs", "-F +srcline,+uregs,+insn -G", "callers"},
	{"graphs", "-F +period", ""},
	{"graphs", "-F +addr,+weight,+data_src", ""},
	{"graphs", "-F +addr,+weight,+data_src -G", "callers"},
	{"graphs", "-F +uregs,+insn,+insnlen", ""},
	{"graphs", "-F +tod,+flags,+machine_pid", ""},
	{"graphs", "-F -tid", "tid"},
	{"graphs", "-F -cpu", "cpu"},
	{"graphs", "-F -comm", ""},
	{"graphs", "-F -event,+pid", "event +pid"},
	{"graphs", "-F -event,-period", "event period"},
	{"graphs", "-F -ip", "stack"},
	{"graphs", "-F -dso", "file"},
	{"graphs", "-F pid,tid,time,ip,dso", "cpu event period +pid"},
	{"graphs", "-F tid,time,ip", "cpu event period file"},
	{"graphs", "-F comm,time,event,period,ip,sym -G", "tid cpu file callers"},
	{"plain", "", ""},
	{"plain", "-F +pid,+misc", "+pid +mode"},
	{"plain", "-F -event", "event"},
	{"plain", "-F time,ip", "tid cpu event period file"},
	{"events", "", ""},
	{"events", "-F comm,tid,time,event,ip,sym,dso", "period"},
	{"tracepoint", "", "period stack"},
	{"tracepoint", "-F +period,+pid,+misc", "stack +pid +mode"},
	{"tracepoint", "-F +ip,+sym,+dso", "period"},
}

// TestScriptsAgreeWithTheirData compares the samples in the output of perf script with those in its input, which another
// reader reads.
func TestScriptsAgreeWithTheirData(t *testing.T) {
	if _, err := exec.LookPath("perf"); err != nil {
		t.Skip("SKIPPED: perf is not installed, so its output is not compared with its recordings")
	}
	dir := t.TempDir()
	data := map[string]*ingesttest.Tables{}
	for name, r := range recordings {
		path := filepath.Join(dir, name)
		args := append([]string{"record", "-q", "-o", path}, r.options...)
		if out, err := exec.Command("perf", append(args, "--", "sh", "-c", workload)...).CombinedOutput(); err != nil {
			t.Logf("SKIPPED %s: perf record %v: %v, %.200s", name, r.options, err, out)
			continue
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		data[name] = read(t, raw)
	}
	if len(data) == 0 {
		t.Skip("SKIPPED: perf cannot record here, so its output is not compared with its recordings")
	}
	compared := 0
	for _, s := range scripts {
		if data[s.recording] == nil {
			continue
		}
		t.Run(s.recording+" "+s.options, func(t *testing.T) {
			args := append([]string{"script", "--no-inline", "-i", filepath.Join(dir, s.recording)}, strings.Fields(s.options)...)
			var stderr bytes.Buffer
			command := exec.Command("perf", args...)
			command.Stderr = &stderr
			text, err := command.Output()
			if err != nil {
				t.Skipf("SKIPPED: perf %v: %v, %.200s", args, err, stderr.Bytes())
			}
			compared++
			f := fieldsOf(s.lacks)
			tables := read(t, text)
			got, want := textSamples(t, tables, f), dataSamples(t, data[s.recording], f)
			if len(want) == 0 || !slices.Equal(got, want) {
				t.Errorf("%d samples, %d in the data%s", len(got), len(want), firstDifference(got, want))
			}
			compareNames(t, text, tables)
			if s.recording == "tracepoint" {
				compareTracepoints(t, text, tracepoints(tables), tracepoints(data[s.recording]))
			}
			if lost := tables.Rows("stats", "name"); slices.Contains(lost, "perf_text_parse_errors") {
				t.Errorf("stats: %v", lost)
			}
		})
	}
	t.Logf("%d sets of options were compared", compared)
}

func read(t *testing.T, data []byte) *ingesttest.Tables {
	t.Helper()
	tables, err := ingesttest.Read(t, ingesttest.File{Name: "perf", Reader: bytes.NewReader(data)})
	if err != nil {
		t.Fatal(err)
	}
	return tables
}

func firstDifference(got, want []string) string {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Sprintf("\n%s\nwant:\n%s", got[i], want[i])
		}
	}
	return ""
}

// fields says what of a sample a text has.
type fields map[string]bool

func fieldsOf(lacks string) fields {
	f := fields{"tid": true, "cpu": true, "event": true, "period": true, "stack": true, "callers": true, "file": true}
	for _, field := range strings.Fields(lacks) {
		name, added := strings.CutPrefix(field, "+")
		f[name] = added
	}
	return f
}

// line returns a sample as a line to compare. frames are files and addresses, innermost first.
func (f fields) line(ts, tid, pid, cpu, mode, event, period string, files []string) string {
	if !f["ns"] {
		ts = ts[:len(ts)-3] + "000"
	}
	keep := func(field, value string) string {
		if f[field] {
			return value
		}
		return "-"
	}
	switch {
	case !f["stack"]:
		files = nil
	case !f["callers"]:
		files = files[:1]
	}
	for i := range files {
		files[i] = keep("file", strings.ReplaceAll(strings.TrimSuffix(files[i], "_text"), "[unknown]", ""))
	}
	return strings.Join([]string{ts, keep("tid", tid), keep("pid", pid), keep("cpu", cpu), keep("mode", mode), keep("event", event),
		keep("period", period), strings.Join(files, ";")}, "|")
}

// column maps the ids of a table's rows to a column.
func column(tables *ingesttest.Tables, table, name string) map[string]string {
	of := map[string]string{"NULL": "NULL"}
	for _, row := range tables.Rows(table, "id", name) {
		id, value, _ := strings.Cut(row, "|")
		of[id] = value
	}
	return of
}

// stacks returns a column of the frames of a callsite, innermost first.
func stacks(tables *ingesttest.Tables, of map[string]string) func(callsite string) []string {
	parents, frames := column(tables, "stack_profile_callsite", "parent_id"), column(tables, "stack_profile_callsite", "frame_id")
	return func(callsite string) (stack []string) {
		for ; callsite != "NULL"; callsite = parents[callsite] {
			stack = append(stack, of[frames[callsite]])
		}
		return stack
	}
}

func fileStacks(tables *ingesttest.Tables) func(callsite string) []string {
	files, mappings := column(tables, "stack_profile_mapping", "name"), column(tables, "stack_profile_frame", "mapping")
	for frame, mapping := range mappings {
		mappings[frame] = files[mapping]
		if strings.HasPrefix(files[mapping], "/tmp/perf-") && strings.HasSuffix(files[mapping], ".map") {
			mappings[frame] = "//anon" // perf script names anonymous code by the file in which a compiler may list it
		}
	}
	return stacks(tables, mappings)
}

func textSamples(t *testing.T, tables *ingesttest.Tables, f fields) (samples []string) {
	t.Helper()
	tids, pids, filesOf := column(tables, "thread", "tid"), column(tables, "process", "pid"), fileStacks(tables)
	events := map[string]string{}
	for _, row := range tables.Rows("stack_sample_event", "stack_sample_id", "event", "period") {
		id, event, _ := strings.Cut(row, "|")
		events[id] = event
	}
	for _, row := range tables.Rows("stack_sample", "id", "ts", "utid", "upid", "cpu", "cpu_mode", "callsite_id") {
		c := strings.Split(row, "|")
		event, period, _ := strings.Cut(events[c[0]], "|")
		pid := pids[c[3]]
		for field, value := range map[string]string{"tid": tids[c[2]], "cpu": c[4], "stack": c[6]} {
			if !f[field] && value != "NULL" {
				t.Fatalf("a sample has %s %s, which the text has not", field, value)
			}
		}
		samples = append(samples, f.line(c[1], tids[c[2]], pid, c[4], c[5], event, period, filesOf(c[6])))
	}
	slices.Sort(samples)
	return samples
}

func dataSamples(t *testing.T, tables *ingesttest.Tables, f fields) (samples []string) {
	t.Helper()
	tids, pids, filesOf := column(tables, "thread", "tid"), column(tables, "process", "pid"), fileStacks(tables)
	counters, names, values := column(tables, "counter", "track_id"), column(tables, "track", "name"), column(tables, "counter", "value")
	sums := map[string]float64{}
	type delta struct{ event, period string }
	deltas := map[string]delta{}
	for _, row := range tables.Rows("profiler_counter_set", "counter_set_id", "counter_id") {
		set, counter, _ := strings.Cut(row, "|")
		track := counters[counter]
		value, err := strconv.ParseFloat(values[counter], 64)
		if err != nil {
			t.Fatal(err)
		}
		deltas[set] = delta{names[track], strconv.FormatFloat(value-sums[track], 'f', -1, 64)}
		sums[track] = value
	}
	for _, row := range tables.Rows("stack_sample", "ts", "utid", "upid", "cpu", "cpu_mode", "callsite_id", "counter_set_id") {
		c := strings.Split(row, "|")
		d := deltas[c[6]]
		samples = append(samples, f.line(c[0], tids[c[1]], pids[c[2]], c[3], c[4], d.event, d.period, filesOf(c[5])))
	}
	slices.Sort(samples)
	return samples
}

// tracepoints returns the rows of ftrace_event without their times, and without the states of threads, of which a text has the letters.
func tracepoints(tables *ingesttest.Tables) (events []string) {
	tids, args := column(tables, "thread", "tid"), map[string][]string{}
	for _, row := range tables.Rows("args", "arg_set_id", "key", "int_value", "string_value") {
		if set, arg, _ := strings.Cut(row, "|"); !strings.HasPrefix(arg, "prev_state|") {
			args[set] = append(args[set], arg)
		}
	}
	for _, row := range tables.Rows("ftrace_event", "name", "cpu", "utid", "arg_set_id") {
		c := strings.Split(row, "|")
		slices.Sort(args[c[3]])
		events = append(events, strings.Join(append([]string{c[0], c[1], tids[c[2]]}, args[c[3]]...), ";"))
	}
	slices.Sort(events)
	return events
}

// compareTracepoints compares events, but for those of threads that have ended, of which a text has no tid.
func compareTracepoints(t *testing.T, text []byte, got, want []string) {
	t.Helper()
	gone := bytes.Count(text, []byte(":-1 "))
	left := map[string]int{}
	for _, event := range want {
		left[event]++
	}
	for _, event := range got {
		if left[event]--; left[event] < 0 {
			t.Errorf("%s is not in the data", event)
		}
	}
	if len(got) == 0 || len(got)+gone != len(want) {
		t.Errorf("%d events of tracepoints and %d without a thread, %d in the data", len(got), gone, len(want))
	}
}

// compareNames compares how often each function stands in a text, on the lines of call graphs, with the rows.
func compareNames(t *testing.T, text []byte, tables *ingesttest.Tables) {
	t.Helper()
	want, got := map[string]int{}, map[string]int{}
	for line := range strings.Lines(string(text)) {
		if name, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ("); strings.HasPrefix(name, "\t") && !strings.HasPrefix(name, "\t\t") {
			if _, name, ok := strings.Cut(strings.TrimSpace(name), " "); ok {
				name, _, _ = strings.Cut(name, "+0x")
				want[name]++
			}
		}
	}
	if len(want) == 0 {
		return
	}
	namesOf := stacks(tables, column(tables, "stack_profile_frame", "name"))
	for _, callsite := range tables.Rows("stack_sample", "callsite_id") {
		for _, name := range namesOf(callsite) {
			got[name]++
		}
	}
	for name := range got {
		if got[name] != want[name] {
			t.Errorf("%d frames of %s, %d in the text", got[name], name, want[name])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d functions, %d in the text", len(got), len(want))
	}
}
