package jfr_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
	"github.com/tpconvert/tpconvert/internal/fuzz"
)

// recording is of testdata/record/Small.java.
const recording = "../../testdata/java.jfr.gz"

func load(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for bytes.HasPrefix(data, []byte("\x1f\x8b")) {
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if data, err = io.ReadAll(z); err != nil {
			t.Fatal(err)
		}
	}
	return data
}

func read(t testing.TB, data []byte) (*ingesttest.Tables, error) {
	return ingesttest.Read(t, ingesttest.File{Name: "x.jfr", Reader: bytes.NewReader(data)})
}

// event is an event as the JDK's tool jfr prints it.
type event struct {
	Type   string
	Values map[string]any
}

// printed returns what jfr print says of a recording. It skips the test where there is no jfr.
func printed(t *testing.T, data []byte) []event {
	t.Helper()
	tool, err := exec.LookPath("jfr")
	if err != nil {
		t.Skip("the JDK's jfr is not here")
	}
	path := filepath.Join(t.TempDir(), "x.jfr")
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(tool, "print", "--json", "--stack-depth", "100000", path).Output()
	if err != nil {
		var failed *exec.ExitError
		if !errors.As(err, &failed) {
			t.Fatal(err)
		}
		t.Skipf("jfr does not read it: %s", failed.Stderr)
	}
	var all struct{ Recording struct{ Events []event } }
	// The tool writes NaN, which is no JSON.
	out = bytes.ReplaceAll(bytes.ReplaceAll(out, []byte(": NaN"), []byte(": null")), []byte(": Infinity"), []byte(": null"))
	if err := json.Unmarshal(out, &all); err != nil {
		t.Skipf("jfr print: %v", err)
	}
	return all.Recording.Events
}

func className(name string) string {
	dims := strings.LastIndexByte(name, '[') + 1
	name = name[dims:]
	if dims > 0 {
		if p, ok := map[string]string{"B": "byte", "C": "char", "D": "double", "F": "float", "I": "int", "J": "long", "S": "short", "Z": "boolean"}[name]; ok {
			name = p
		} else {
			name = strings.TrimSuffix(strings.TrimPrefix(name, "L"), ";")
		}
	}
	return strings.ReplaceAll(name, "/", ".") + strings.Repeat("[]", dims)
}

// nanos returns a duration such as PT1M0.5S in ns.
func nanos(text string) int64 {
	text, minus := strings.CutPrefix(text, "-")
	text = strings.ToLower(strings.TrimPrefix(text, "PT"))
	d, err := time.ParseDuration(text)
	if err != nil {
		return -1
	}
	if minus {
		d = -d
	}
	return int64(d)
}

func frames(of any) string {
	trace, _ := of.(map[string]any)
	list, _ := trace["frames"].([]any)
	var names []string
	for _, f := range list {
		frame := f.(map[string]any)
		method, _ := frame["method"].(map[string]any)
		name, _ := method["name"].(string)
		if class, ok := method["type"].(map[string]any); ok {
			if n, _ := class["name"].(string); n != "" {
				name = className(n) + "." + name
			}
		}
		line, _ := frame["lineNumber"].(float64)
		names = append(names, fmt.Sprintf("%s:%d", name, max(int(line), 0)))
	}
	slices.Reverse(names)
	return strings.Join(names, ";")
}

// lines returns what both readers say of each event: the type, its time, duration, thread, stack and fields.
func reference(events []event) []string {
	var all []string
	for _, e := range events {
		at, _ := time.Parse(time.RFC3339Nano, e.Values["startTime"].(string))
		dur := int64(0)
		if d, ok := e.Values["duration"].(string); ok {
			dur = nanos(d)
		}
		who := e.Values["eventThread"]
		if sampled, ok := e.Values["sampledThread"]; ok {
			who = sampled
		}
		thread := "NULL"
		if who, ok := who.(map[string]any); ok {
			thread = fmt.Sprint(int64(cmp.Or(who["osThreadId"].(float64), who["javaThreadId"].(float64))))
		}
		all = append(all, fmt.Sprintf("%d %d %s %s %s", at.UnixNano(), dur, e.Type, thread, frames(e.Values["stackTrace"])))
	}
	slices.Sort(all)
	return all
}

// ours returns the same of our rows.
func ours(tables *ingesttest.Tables) []string {
	column := func(table, key, value string) map[string]string {
		m := map[string]string{}
		for _, row := range tables.Rows(table, key, value) {
			k, v, _ := strings.Cut(row, "|")
			m[k] = v
		}
		return m
	}
	names := column("thread", "id", "tid")
	line := map[string]string{}
	symbols := map[string]string{}
	for _, row := range tables.Rows("stack_profile_symbol", "symbol_set_id", "line_number") {
		k, v, _ := strings.Cut(row, "|")
		symbols[k] = v
	}
	for _, row := range tables.Rows("stack_profile_frame", "id", "symbol_set_id", "name") {
		part := strings.SplitN(row, "|", 3)
		n := symbols[part[1]]
		if n == "NULL" || n == "" {
			n = "0"
		}
		if part[2] == "NULL" {
			part[2] = ""
		}
		line[part[0]] = part[2] + ":" + n
	}
	stacks := map[string]string{"NULL": "", "": ""}
	for _, row := range tables.Rows("stack_profile_callsite", "id", "parent_id", "frame_id") {
		part := strings.Split(row, "|")
		stacks[part[0]] = strings.TrimPrefix(stacks[part[1]]+";"+line[part[2]], ";")
	}
	tracks := column("track", "id", "dimension_arg_set_id")
	owners := map[string]string{}
	for _, row := range tables.Rows("args", "arg_set_id", "key", "int_value") {
		part := strings.Split(row, "|")
		if part[1] == "utid" {
			owners[part[0]] = names[part[2]]
		}
	}
	callsites := column("track_event_callstacks", "slice_id", "callsite_id")
	var all []string
	for _, row := range tables.Rows("slice", "id", "track_id", "ts", "dur", "name") {
		part := strings.Split(row, "|")
		all = append(all, fmt.Sprintf("%s %s %s %s %s", part[2], part[3], part[4], cmp.Or(owners[tracks[part[1]]], "NULL"), stacks[callsites[part[0]]]))
	}
	event := column("stack_sample_event", "stack_sample_id", "event")
	for _, row := range tables.Rows("stack_sample", "id", "ts", "utid", "callsite_id") {
		part := strings.Split(row, "|")
		all = append(all, fmt.Sprintf("%s 0 %s %s %s", part[1], event[part[0]], cmp.Or(names[part[2]], "NULL"), stacks[part[3]]))
	}
	slices.Sort(all)
	return all
}

// compare compares the time, duration, thread and stack of all events with jfr print.
func compare(t *testing.T, path string) {
	data := load(t, path)
	var want []string
	// In a recording of several chunks, the tool takes the times of all from the clock of the first.
	for rest := data; len(rest) > 0; {
		size := int(binary.BigEndian.Uint64(rest[8:]))
		if size <= 0 || size > len(rest) {
			size = len(rest)
		}
		want = append(want, reference(printed(t, rest[:size]))...)
		rest = rest[size:]
	}
	tables, err := read(t, data)
	if errors.Is(err, format.ErrNoEvents) && len(want) == 0 {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	got := ours(tables)
	count := map[string]int{}
	for _, line := range want {
		count[line]++
	}
	for _, line := range got {
		count[line]--
	}
	differ := 0
	for _, line := range slices.Sorted(maps.Keys(count)) {
		if n := count[line]; n != 0 {
			if differ++; differ <= 4 {
				t.Logf("%d missing: %.400s", n, line)
			}
		}
	}
	t.Logf("%d events, %d wanted, %q", len(got), len(want), tables.Rows("stats", "name", "value", "description"))
	if differ > 0 {
		t.Errorf("%d differ", differ)
	}
}

func TestReference(t *testing.T) { compare(t, recording) }

// TestRows compares rows with what jfr summary and jfr print of JDK 17 say of the recording.
func TestRows(t *testing.T) {
	tables := ingesttest.MustRead(t, "java.jfr", load(t, recording))
	count, dur := map[string]int{}, map[string]int{}
	for _, row := range tables.Rows("slice", "name", "dur") {
		name, text, _ := strings.Cut(row, "|")
		n, _ := strconv.Atoi(text)
		count[name]++
		dur[name] += n
	}
	for _, event := range tables.Rows("stack_sample_event", "event") {
		count[event]++
	}
	var got []string
	for _, name := range slices.Sorted(maps.Keys(count)) {
		got = append(got, fmt.Sprintf("%s|%d|%d", name, count[name], dur[name]))
	}
	want := []string{
		"app.Request|33|601550869",
		"jdk.CPULoad|8|0",
		"jdk.Compilation|16|269223440",
		"jdk.ExecutionSample|18|0",
		"jdk.GCHeapSummary|10|0",
		"jdk.GCPhasePause|5|65151873",
		"jdk.GarbageCollection|5|65151873",
		"jdk.JVMInformation|1|0",
		"jdk.JavaMonitorEnter|5|93713706",
		"jdk.ObjectAllocationOutsideTLAB|630|0",
		"jdk.ObjectAllocationSample|127|0",
		"jdk.ThreadCPULoad|13|0",
		"jdk.ThreadEnd|2|0",
		"jdk.ThreadPark|6|192654599",
		"jdk.ThreadSleep|6|169504466",
		"jdk.ThreadStart|5|0",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	tables.Want(t, "process", "pid|name", "0|NULL", "9708|Small")
	if threads := tables.Rows("thread", "tid", "name", "start_ts", "end_ts"); !slices.Contains(threads, "9745|worker é|1795590790589491414|1795590790958264400") {
		t.Errorf("%q", threads)
	}
	sums := map[string]float64{}
	profiles := tables.Rows("aggregate_profile", "name", "sample_type_type", "sample_type_unit")
	for _, row := range tables.Rows("aggregate_sample", "aggregate_profile_id", "value") {
		id, value, _ := strings.Cut(row, "|")
		n, _ := strconv.Atoi(id)
		f, _ := strconv.ParseFloat(value, 64)
		sums[profiles[n]] += f
	}
	for profile, want := range map[string]float64{"jdk.ObjectAllocationOutsideTLAB|allocationSize|bytes": 63018456,
		"jdk.JavaMonitorEnter|duration|nanoseconds": 93713706, "app.Request|duration|nanoseconds": 601550869} {
		if sums[profile] != want {
			t.Errorf("%s: %v, want %v", profile, sums[profile], want)
		}
	}
	heap := map[string][]string{}
	names := tables.Rows("track", "name")
	for _, row := range tables.Rows("counter", "track_id", "value") {
		track, value, _ := strings.Cut(row, "|")
		n, _ := strconv.Atoi(track)
		heap[names[n]] = append(heap[names[n]], value)
	}
	if got := heap["jdk.GCHeapSummary.heapUsed"]; !slices.Equal(got, strings.Fields("7.132456e+06 6.17956e+06 1.0373864e+07 6.462384e+06 1.0656688e+07 6.357792e+06 1.47464e+07 6.299136e+06 1.4687744e+07 6.284472e+06")) {
		t.Errorf("%q", got)
	}
}

// TestSamples compares recordings of others, if there are any.
func TestSamples(t *testing.T) {
	if os.Getenv("FORMAT_SAMPLES") == "" {
		t.Skip("FORMAT_SAMPLES names no folder with a folder jfr of recordings")
	}
	paths, _ := filepath.Glob(filepath.Join(os.Getenv("FORMAT_SAMPLES"), "jfr", "*.jfr*"))
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) { compare(t, path) })
	}
}

// fields returns the fields of an event as jfr print shows them, under the keys and in the form of args. Other objects
// than threads, classes and methods are left out.
func fields(values map[string]any) []string {
	var all []string
	for name, v := range values {
		switch v := v.(type) {
		case string:
			if text, ok := strings.CutPrefix(v, "PT"); ok && nanos("PT"+text) != -1 {
				v = strconv.FormatFloat(float64(nanos(v)), 'g', 5, 64)
			} else if at, err := time.Parse(time.RFC3339Nano, v); err == nil {
				v = fmt.Sprint(at.UnixNano())
			} else if strings.HasPrefix(v, "-999999999") {
				continue
			}
			all = append(all, name+"="+v)
		case float64:
			all = append(all, name+"="+strconv.FormatFloat(v, 'g', 5, 64))
		case bool:
			all = append(all, fmt.Sprintf("%s=%d", name, map[bool]int{true: 1}[v]))
		case map[string]any:
			if thread, ok := v["javaName"]; ok {
				all = append(all, fmt.Sprintf("%s=%v", name, cmp.Or(thread, v["osName"])))
			} else if class, ok := v["type"].(map[string]any); ok && v["descriptor"] != nil {
				all = append(all, fmt.Sprintf("%s=%s.%s", name, className(class["name"].(string)), v["name"]))
			} else if class, ok := v["name"].(string); ok && v["package"] != nil || ok && v["hidden"] != nil {
				all = append(all, name+"="+className(class))
			} else {
				for _, f := range fields(v) {
					all = append(all, name+"."+f)
				}
			}
		}
	}
	slices.Sort(all)
	return all
}

// TestFields compares the fields of all events that are not samples with jfr print.
func TestFields(t *testing.T) {
	data := load(t, recording)
	var want []string
	for _, e := range printed(t, data) {
		if e.Type == "jdk.ExecutionSample" {
			continue
		}
		for _, own := range []string{"startTime", "duration", "eventThread", "stackTrace"} {
			delete(e.Values, own)
		}
		want = append(want, e.Type+" "+strings.Join(fields(e.Values), " "))
	}
	tables := ingesttest.MustRead(t, "java.jfr", data)
	args := map[string][]string{}
	for _, row := range tables.Rows("args", "arg_set_id", "key", "value_type", "int_value", "string_value", "real_value") {
		p := strings.SplitN(row, "|", 6)
		if strings.HasSuffix(p[1], ".utid") || p[1] == "stackTrace.truncated" {
			continue
		}
		value := p[3]
		switch p[2] {
		case "string":
			value = p[4]
		case "real":
			f, _ := strconv.ParseFloat(p[5], 64)
			value = strconv.FormatFloat(f, 'g', 5, 64)
		default:
			f, _ := strconv.ParseFloat(value, 64)
			if len(value) < 16 {
				value = strconv.FormatFloat(f, 'g', 5, 64)
			}
		}
		args[p[0]] = append(args[p[0]], p[1]+"="+value)
	}
	var got []string
	for _, row := range tables.Rows("slice", "arg_set_id", "name") {
		set, name, _ := strings.Cut(row, "|")
		slices.Sort(args[set])
		got = append(got, name+" "+strings.Join(args[set], " "))
	}
	slices.Sort(got)
	slices.Sort(want)
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("%d: got\n%s, want\n%s", i, got[i], want[i])
		}
	}
}

// TestDamage reads the recording cut off at every 64th, and with random damage. What comes before is there, and the
// rest is counted.
func TestDamage(t *testing.T) {
	data := load(t, recording)
	check := func(what string, data []byte) int {
		tables, err := read(t, data)
		if err != nil && !format.BadInput(err) {
			t.Fatal(what, err)
		}
		if err == nil && len(tables.Rows("stats", "name")) == 0 {
			t.Error(what + ": no damage is counted")
		}
		return len(tables.Rows("slice", "id"))
	}
	for i := range 64 {
		check(fmt.Sprintf("cut at %d/64", i), data[:len(data)*i/64])
	}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range damages() {
		changed := bytes.Clone(data)
		for range 1 + random.IntN(4) {
			changed[random.IntN(len(changed))] = byte(random.Uint32())
		}
		if _, err := read(t, changed); err != nil && !format.BadInput(err) {
			t.Fatalf("mutation %d: %v", i, err)
		}
	}
}

// damages is how often to damage a recording.
func damages() int {
	if os.Getenv("FORMAT_SAMPLES") != "" {
		return 2000
	}
	return 100
}

// TestChunks reads two chunks, the last of which is cut off, and then damage between them.
func TestChunks(t *testing.T) {
	data := load(t, recording)
	whole, _ := read(t, data)
	n := len(whole.Rows("slice", "id"))
	for _, c := range []struct {
		name string
		data []byte
		n    int
		stat string
	}{
		{"two", slices.Concat(data, data), 2 * n, ""},
		{"cut", slices.Concat(data, data[:1000]), n, "truncated_input"},
		{"header", slices.Concat(data, data[:20]), n, "truncated_input"},
		{"between", slices.Concat(data, []byte("damage"), data), 2 * n, "jfr_parse_errors"},
	} {
		tables, err := read(t, c.data)
		if err != nil {
			t.Fatal(c.name, err)
		}
		if got := len(tables.Rows("slice", "id")); got != c.n || !strings.Contains(strings.Join(tables.Rows("stats", "name"), " "), c.stat) {
			t.Errorf("%s: %d slices, want %d; %q", c.name, got, c.n, tables.Rows("stats", "name", "value"))
		}
	}
}

func TestOtherVersions(t *testing.T) {
	data := load(t, recording)
	binary.BigEndian.PutUint16(data[4:], 0)
	_, err := read(t, data)
	if !errors.Is(err, format.ErrUnsupported) || !strings.Contains(err.Error(), "JDK 7") {
		t.Error(err)
	}
}

// element is an element of metadata: its name, attributes, and the elements in it.
type element struct {
	name       string
	attributes []string
	children   []element
}

func class(id, name, super string, fields ...element) element {
	return element{"class", []string{"id", id, "name", name, "superType", super}, fields}
}

func member(name, class string, more ...string) element {
	return element{"field", append([]string{"name", name, "class", class}, more...), nil}
}

// small returns a recording with a sample and an event whose fields are a list and two objects that refer to each other.
func small() []byte { return chunkOf(1) }

// number appends numbers in LEB128.
func number(b []byte, n ...uint64) []byte {
	for _, n := range n {
		b = binary.AppendUvarint(b, n)
	}
	return b
}

// utf8 appends a text.
func utf8(b []byte, text string) []byte {
	return append(number(append(b, 3), uint64(len(text))), text...)
}

// chunkOf is that with so many events whose objects are endless.
func chunkOf(events int) []byte {
	classes := []element{
		class("1", "int", ""), class("2", "long", ""), class("3", "java.lang.String", ""), class("4", "boolean", ""),
		class("5", "java.lang.Thread", "", member("osName", "3"), member("osThreadId", "2"), member("javaName", "3"), member("javaThreadId", "2")),
		class("6", "jdk.types.Symbol", "", member("string", "3")),
		class("7", "java.lang.Class", "", member("name", "6", "constantPool", "true")),
		class("8", "jdk.types.Method", "", member("type", "7", "constantPool", "true"), member("name", "6", "constantPool", "true")),
		class("9", "jdk.types.StackFrame", "", member("method", "8", "constantPool", "true"), member("lineNumber", "1")),
		class("10", "jdk.types.StackTrace", "", member("truncated", "4"), member("frames", "9", "dimension", "1")),
		class("11", "app.Node", "", member("left", "11", "constantPool", "true"), member("right", "11", "constantPool", "true"), member("name", "3")),
		class("20", "jdk.ExecutionSample", "jdk.jfr.Event", member("startTime", "2"), member("sampledThread", "5", "constantPool", "true"),
			member("stackTrace", "10", "constantPool", "true")),
		class("21", "app.Event", "jdk.jfr.Event", member("startTime", "2"), member("duration", "2"), member("list", "1", "dimension", "1"),
			member("node", "11", "constantPool", "true"), member("text", "3")),
	}
	return chunk(classes, func(event func(typ uint64, body []byte)) {
		event(20, number(nil, 1500, 1, 1))
		for range events {
			event(21, append(number(nil, 1000, 700, 2, 7, 0xffffffff, 1), 5, 2, 'a', 0xe9)) // é in Latin-1
		}
		constants := number(nil, 0, 0, 0, 1, 6)
		constants = number(constants, 5, 1, 1)
		constants = number(utf8(number(utf8(constants, "os"), 42), "main"), 1)
		constants = number(constants, 6, 3, 1)
		constants = append(utf8(constants, "Main"), 2)
		constants = append(utf8(constants, "run"), 3)
		constants = append(constants, 4, 2, 'g', 'o') // in UTF-16
		constants = number(constants, 7, 1, 1, 1)
		constants = number(constants, 8, 2, 1, 1, 2, 2, 1, 3)
		constants = number(constants, 10, 1, 1, 1, 2, 1, 10, 2, 20)
		constants = append(number(constants, 11, 2, 1, 2, 2), 1)
		constants = append(number(constants, 2, 1, 1), 1)
		event(1, constants)
	})
}

// chunk returns a recording with classes and events, whose times are ns since 500 ns before the second second of 1970.
func chunk(classes []element, events func(event func(typ uint64, body []byte))) []byte {
	var texts []string
	var tree []byte
	word := func(text string) uint64 {
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
		return uint64(slices.Index(texts, text))
	}
	var write func(e element)
	write = func(e element) {
		tree = number(tree, word(e.name), uint64(len(e.attributes)/2))
		for _, a := range e.attributes {
			tree = number(tree, word(a))
		}
		tree = number(tree, uint64(len(e.children)))
		for _, c := range e.children {
			write(c)
		}
	}
	write(element{"root", nil, []element{{"metadata", nil, classes}}})
	chunk := make([]byte, 68)
	event := func(typ uint64, body []byte) {
		body = append(number(nil, typ), body...)
		size := len(body) + 4
		chunk = append(chunk, byte(size)|0x80, byte(size>>7)|0x80, byte(size>>14)|0x80, byte(size>>21))
		chunk = append(chunk, body...)
	}
	events(event)
	metadata := number(nil, 0, 0, 0, uint64(len(texts)))
	for _, t := range texts {
		metadata = utf8(metadata, t)
	}
	event(0, append(metadata, tree...))
	copy(chunk, "FLR\x00\x00\x02\x00\x01")
	for i, n := range []int{len(chunk), 0, 0, 1e9, 0, 500, 1e9} {
		binary.BigEndian.PutUint64(chunk[8*(i+1):], uint64(n))
	}
	chunk[67] = 1
	return chunk
}

// TestUnits reads times in the units of their fields, as JDK Mission Control does, and what was lost.
func TestUnits(t *testing.T) {
	unit := func(f element, class, unit string) element {
		f.children = []element{{"annotation", []string{"class", class, "value", unit}, nil}}
		return f
	}
	events := []element{class("2", "long", ""), class("3", "java.lang.String", ""), class("30", "jdk.jfr.Timespan", ""), class("31", "jdk.jfr.Timestamp", ""),
		class("6", "jdk.types.ThreadState", "", member("name", "3"))}
	for i, of := range []struct{ at, span string }{{"TICKS", "TICKS"}, {"MILLISECONDS_SINCE_EPOCH", "MILLISECONDS"}, {"NANOSECONDS_SINCE_EPOCH", "SECONDS"}} {
		events = append(events, class(strconv.Itoa(20+i), "app."+of.span, "jdk.jfr.Event", unit(member("startTime", "2"), "31", of.at),
			unit(member("duration", "2"), "30", of.span), unit(member("limit", "2"), "30", of.span)))
	}
	events = append(events, class("24", "jdk.CPUTimeSamplesLost", "jdk.jfr.Event", member("startTime", "2"), member("lostSamples", "2")),
		class("25", "jdk.DataLoss", "jdk.jfr.Event", member("startTime", "2"), member("amount", "2")),
		class("26", "jdk.CPUTimeSample", "jdk.jfr.Event", member("startTime", "2"), unit(member("samplingPeriod", "2"), "30", "MILLISECONDS")),
		class("27", "jdk.ExecutionSample", "jdk.jfr.Event", member("startTime", "2"), member("state", "6", "constantPool", "true")))
	tables := ingesttest.MustRead(t, "units.jfr", chunk(events, func(event func(typ uint64, body []byte)) {
		event(20, number(nil, 1500, 700, 1))
		event(21, number(nil, 2000, 1013, 2))
		event(22, number(nil, 3e9, 1, 1<<63)) // no limit
		event(24, number(nil, 500, 30))
		event(24, number(nil, 500, 3))
		event(25, number(nil, 500, 4096))
		event(26, number(nil, 500, 20))
		event(27, number(nil, 500, 1))
		event(27, number(nil, 500, 2))
		constants := utf8(number(nil, 0, 0, 0, 1, 1, 6, 2, 1), "STATE_RUNNABLE")
		event(1, utf8(number(constants, 2), "STATE_SLEEPING"))
	}))
	tables.Want(t, "slice", "ts|dur|name", "1000000000|0|jdk.CPUTimeSamplesLost", "1000000000|0|jdk.CPUTimeSamplesLost", "1000000000|0|jdk.DataLoss",
		"1000001000|700|app.TICKS", "2000000000|1013000000|app.MILLISECONDS", "3000000000|1000000000|app.SECONDS")
	limits := slices.DeleteFunc(tables.Rows("args", "key", "int_value"), func(row string) bool { return !strings.HasPrefix(row, "limit|") })
	if want := []string{"limit|1", "limit|2000000"}; !slices.Equal(limits, want) {
		t.Errorf("%q, want %q", limits, want)
	}
	tables.Want(t, "stats", "name|value", "jfr_samples_lost|33", "jfr_bytes_lost|4096")
	tables.Want(t, "stack_sample_event", "event|period|thread_state", "jdk.CPUTimeSample|20000000|NULL", "jdk.ExecutionSample|NULL|STATE_RUNNABLE",
		"jdk.ExecutionSample|NULL|STATE_SLEEPING")
}

func TestCases(t *testing.T) { ingesttest.Cases(t, "jfr/*") }

func TestSmall(t *testing.T) {
	tables := ingesttest.MustRead(t, "small.jfr", small())
	tables.Want(t, "stack_sample", "ts|callsite_id|unwind_error", "1000001000|1|stackTrace.truncated")
	tables.Want(t, "stack_profile_frame", "name", "Main.run", "Main.go")
	tables.Want(t, "slice", "ts|dur|name", "1000000500|700|app.Event")
	rows := tables.Rows("args", "key", "int_value", "string_value")
	for _, row := range []string{"list[0]|7|NULL", "list[1]|-1|NULL", "text|NULL|aé", "node.left.right.name|NULL|"} {
		if !slices.Contains(rows, row) {
			t.Errorf("no arg %q in %q", row, rows)
		}
	}
	if stats := tables.Rows("stats", "name"); !slices.Equal(stats, []string{"unread_fact"}) { // the endless objects
		t.Errorf("%q", stats)
	}
}

// TestSharedObject checks that a file cannot make many events costly by one large constant that they share.
func TestSharedObject(t *testing.T) {
	const events = 6_000
	tables := ingesttest.MustRead(t, "shared.jfr", chunkOf(events))
	sets := tables.Rows("slice", "arg_set_id")
	if len(sets) != events {
		t.Fatalf("%d slices", len(sets))
	}
	args := map[string]int{}
	for _, set := range tables.Rows("args", "arg_set_id") {
		args[set]++
	}
	if first, last := args[sets[0]], args[sets[events-1]]; first < 100 || last > 20 {
		t.Errorf("the first event has %d args, the last %d", first, last)
	}
}

func FuzzJFR(f *testing.F) {
	f.Add(small())
	f.Add(slices.Concat(small(), small()))
	fuzz.Run(f, func(t *testing.T, data []byte) {
		if _, err := read(t, data); err != nil && !format.BadInput(err) {
			t.Error(err)
		}
	})
}
