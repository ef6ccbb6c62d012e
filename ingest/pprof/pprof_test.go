package pprof_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/pprof/profile"

	"github.com/tpconvert/tpconvert/ingest"
	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
	"github.com/tpconvert/tpconvert/internal/fuzz"
)

// num encodes a numeric field; msg encodes a text field or a nested message.
func num(field int, v uint64) string {
	return string(binary.AppendUvarint([]byte{byte(field << 3)}, v))
}

func msg(field int, parts ...string) string {
	content := strings.Join(parts, "")
	return string(binary.AppendUvarint([]byte{byte(field<<3 | 2)}, uint64(len(content)))) + content
}

// texts encodes a string table.
func texts(all ...string) string {
	var b strings.Builder
	for _, text := range all {
		b.WriteString(msg(6, text))
	}
	return b.String()
}

// small has main, which calls work, into which sum is inlined; a kernel address without a name; and two
// sample types.
var small = []string{
	msg(1, num(1, 1), num(2, 2)), // samples, count
	msg(1, num(1, 3), num(2, 4)), // cpu, nanoseconds
	msg(2, msg(1, "\x02\x01"), msg(2, "\x01\x0a")),
	msg(2, msg(1, "\x02\x01"), msg(2, "\x02\x14")),
	msg(2, num(1, 1), num(2, 1), num(2, 7)), // not packed
	msg(2, msg(1, "\x03\x01"), msg(2, "\x01\x05"), msg(3, num(1, 3), num(2, 4))),
	msg(3, num(1, 1), num(2, 0x1000), num(3, 0x9000), num(4, 0x200), num(5, 5), num(6, 6)),
	msg(4, num(1, 1), num(2, 1), num(3, 0x1500), msg(4, num(1, 1), num(2, 12))),
	msg(4, num(1, 2), num(2, 1), num(3, 0x1600), msg(4, num(1, 3), num(2, 31)), msg(4, num(1, 2))),
	msg(4, num(1, 3), num(2, 1), num(3, 0x1700)),
	msg(5, num(1, 1), num(2, 7), num(4, 8), num(5, 10)),
	msg(5, num(1, 2), num(2, 9), num(4, 8), num(5, 20)),
	msg(5, num(1, 3), num(2, 10)),
	texts("", "samples", "count", "cpu", "nanoseconds", "/bin/app", "c0de", "main", "app.go", "work", "sum"),
}

func read(t *testing.T, parts ...string) *ingesttest.Tables {
	t.Helper()
	return ingesttest.MustRead(t, "app.pb", []byte(strings.Join(parts, "")))
}

func TestProfile(t *testing.T) {
	reversed := slices.Clone(small)
	slices.Reverse(reversed[2:])
	for name, parts := range map[string][]string{
		"in the usual order": small,
		"strings first":      append(slices.Clone(small[len(small)-1:]), small[:len(small)-1]...),
	} {
		t.Run(name, func(t *testing.T) {
			tables := read(t, parts...)
			tables.Want(t, "aggregate_profile", "scope|name|sample_type_type|sample_type_unit",
				"app.pb|pprof samples|samples|count", "app.pb|pprof cpu|cpu|nanoseconds")
			tables.Want(t, "stack_profile_mapping", "build_id|exact_offset|start_offset|start|end|load_bias|name",
				"63306465|512|0|4096|36864|0|/bin/app")
			tables.Want(t, "stack_profile_frame", "name|mapping|rel_pc|symbol_set_id",
				"main|0|1280|0", "sum|0|1536|1", "[unknown]|0|1792|NULL")
			tables.Want(t, "stack_profile_symbol", "symbol_set_id|name|source_file|line_number|inlined",
				"0|main|app.go|12|false", "1|sum|NULL|31|true", "1|work|app.go|20|false")
			tables.Want(t, "stack_profile_callsite", "depth|parent_id|frame_id", "0|NULL|0", "1|0|1", "1|0|2")
			tables.Want(t, "aggregate_sample", "aggregate_profile_id|callsite_id|value",
				"0|0|1", "1|0|7", "0|1|3", "1|1|30", "0|2|1", "1|2|5")
			tables.Want(t, "stats", "name")
		})
	}
	if got := read(t, reversed...).Rows("aggregate_sample", "value"); len(got) != 6 {
		t.Errorf("backwards: %v", got)
	}
}

func TestNothingHasATime(t *testing.T) {
	tables := read(t, small...)
	for _, table := range []string{"track", "slice", "counter", "stack_sample", "thread_state", "sched_slice", "trace_bounds"} {
		tables.Want(t, table, "id")
	}
}

func TestGzip(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(strings.Join(small, "")))
	z.Close()
	tables := ingesttest.MustRead(t, "app.pb.gz", b.Bytes())
	tables.Want(t, "trace_file", "name|trace_type|parent_id|is_container",
		"app.pb.gz|gzip|NULL|true", "app.pb.gz|pprof|0|false")
	tables.Want(t, "aggregate_profile", "scope", "app.pb.gz", "app.pb.gz")
}

func TestSeveralFiles(t *testing.T) {
	data := strings.Join(small, "")
	tables, err := ingesttest.Read(t,
		ingesttest.File{Name: "a", Reader: strings.NewReader(data)},
		ingesttest.File{Name: "b", Reader: strings.NewReader(data)})
	if err != nil {
		t.Fatal(err)
	}
	tables.Want(t, "aggregate_profile", "scope|sample_type_type", "a|samples", "a|cpu", "b|samples", "b|cpu")
	if n := len(tables.Rows("aggregate_sample", "id")); n != 12 {
		t.Errorf("%d samples", n)
	}
	// The program's own tables are shared.
	if n := len(tables.Rows("stack_profile_callsite", "id")); n != 3 {
		t.Errorf("%d callsites", n)
	}
}

func TestLocationsWithoutMapping(t *testing.T) {
	tables := read(t,
		msg(1, num(1, 1), num(2, 2)),
		msg(2, num(1, 1), num(2, 1)),
		msg(2, num(1, 2), num(2, 2)),
		msg(4, num(1, 1), num(3, 0x10)),
		msg(4, num(1, 2), num(2, 9), num(3, 0x10)),
		texts("", "cpu", "ns"))
	tables.Want(t, "stack_profile_mapping", "start|end|name|build_id", "0|-1|[unknown]|", "0|-1|[unknown]|")
	tables.Want(t, "stack_profile_frame", "name|mapping|rel_pc", "[unknown]|0|16", "[unknown]|1|16")
}

// TestLocationsAtOneAddress keeps apart what is inlined at one address, as in profiles without addresses.
func TestLocationsAtOneAddress(t *testing.T) {
	f, g, h := num(1, 1), num(1, 2), num(1, 3)
	tables := read(t,
		msg(1, num(1, 1), num(2, 2)),
		msg(2, num(1, 1), num(2, 40)),
		msg(2, num(1, 2), num(2, 2)),
		msg(2, num(1, 3), num(2, 8)),
		msg(2, num(1, 4), num(2, 1)),
		msg(3, num(1, 1)),
		msg(4, num(1, 1), num(2, 1), msg(4, f, num(2, 5)), msg(4, g, num(2, 9))),
		msg(4, num(1, 2), num(2, 1), msg(4, f, num(2, 6)), msg(4, g, num(2, 9))),
		msg(4, num(1, 3), num(2, 1), msg(4, f, num(2, 5)), msg(4, h, num(2, 9))),
		msg(4, num(1, 4), num(2, 1), msg(4, f, num(2, 5)), msg(4, g, num(2, 9))),
		msg(5, num(1, 1), num(2, 3)), msg(5, num(1, 2), num(2, 4)), msg(5, num(1, 3), num(2, 5)),
		texts("", "cpu", "ns", "f", "g", "h"))
	tables.Want(t, "stack_profile_frame", "name|rel_pc|symbol_set_id", "f|0|0", "f|0|2", "f|0|4")
	tables.Want(t, "stack_profile_symbol", "symbol_set_id|name|line_number", "0|f|5", "0|g|9", "2|f|6", "2|g|9", "4|f|5", "4|h|9")
	tables.Want(t, "aggregate_sample", "callsite_id|value", "0|41", "1|2", "2|8")
}

func TestSamplesWithoutStack(t *testing.T) {
	tables := read(t, msg(1, num(1, 1), num(2, 2)), msg(2, num(2, 3)), msg(2, num(2, 4)), msg(2, num(1, 1)), texts("", "cpu", "ns"))
	tables.Want(t, "aggregate_sample", "callsite_id|value", "NULL|7")
}

func TestLabels(t *testing.T) {
	one := func(parts ...string) string { return msg(3, parts...) }
	tables := read(t,
		msg(1, num(1, 1), num(2, 2)), msg(1, num(1, 3), num(2, 4)),
		// The same stack twice, with two labels and with a number; one without labels; one without a stack.
		msg(2, num(1, 1), num(2, 1), num(2, 10), one(num(1, 5), num(2, 6)), one(num(1, 7), num(2, 8))),
		msg(2, num(1, 1), num(2, 2), num(2, 20), one(num(1, 9), num(3, 512), num(4, 9)), one(num(1, 9), num(3, 1<<63))),
		msg(2, num(1, 1), num(2, 4), num(2, 40)),
		msg(2, num(2, 8), num(2, 80), one(num(1, 5), num(2, 6), num(3, 0)), one(num(1, 5), num(2, 99))),
		msg(4, num(1, 1), num(3, 0x10)),
		texts("", "samples", "count", "cpu", "ns", "endpoint", "/buy", "tenant", "acme", "bytes"))
	tables.Want(t, "aggregate_sample", "callsite_id|aggregate_profile_id|value", "NULL|0|8", "NULL|1|80", "0|0|7", "0|1|70")
	tables.Want(t, "aggregate_sample_label", "sample_id|aggregate_profile_id|callsite_id|value|key|string_value|int_value|unit",
		"0|0|0|1|endpoint|/buy|NULL|NULL", "0|0|0|1|tenant|acme|NULL|NULL",
		"0|1|0|10|endpoint|/buy|NULL|NULL", "0|1|0|10|tenant|acme|NULL|NULL",
		"4|0|0|2|bytes|NULL|512|bytes", "4|0|0|2|bytes|NULL|-9223372036854775808|NULL",
		"4|1|0|20|bytes|NULL|512|bytes", "4|1|0|20|bytes|NULL|-9223372036854775808|NULL",
		"8|0|NULL|8|endpoint|/buy|NULL|NULL", "8|0|NULL|8|endpoint||NULL|NULL",
		"8|1|NULL|80|endpoint|/buy|NULL|NULL", "8|1|NULL|80|endpoint||NULL|NULL")
	tables.Want(t, "stats", "name")
}

// Each value of a sample has its labels, but not thousands of them.
func TestManyLabels(t *testing.T) {
	const n = 1000
	tables := read(t, texts("", "cpu", "k", "v"), strings.Repeat(msg(1, num(1, 1)), n), msg(2, msg(2, strings.Repeat("\x05", n)), strings.Repeat(msg(3, num(1, 2), num(2, 3)), n)))
	if rows := len(tables.Rows("aggregate_sample_label", "id")); rows != 256*n {
		t.Errorf("%d labels of %d values", rows, n)
	}
	tables.Want(t, "stats", "name|value", "unread_fact|744")
}

// TestFacts checks what a profile says of itself, also before its texts.
func TestFacts(t *testing.T) {
	facts := []string{num(7, 3), num(8, 4), num(9, 1_700_000_000_000_000_000), num(10, 5_000_000_000),
		msg(11, num(1, 1), num(2, 2)), num(12, 10_000_000), num(13, 5), msg(13, "\x06\x05"), num(14, 1), num(15, 7)}
	head, tail := msg(1, num(1, 1), num(2, 2)), texts("", "cpu", "nanoseconds", "drop", "keep", "one", "two", "https://example.com/doc")
	for name, parts := range map[string][]string{
		"last":  append([]string{head, tail}, facts...),
		"first": append(append([]string{head}, facts...), tail),
	} {
		t.Run(name, func(t *testing.T) {
			tables := read(t, parts...)
			var got []string
			for _, row := range tables.Rows("metadata", "name", "key_type", "int_value", "str_value") {
				if strings.HasPrefix(row, "pprof_") {
					got = append(got, row)
				}
			}
			want := []string{"pprof_drop_frames|single|NULL|drop", "pprof_keep_frames|single|NULL|keep",
				"pprof_time_nanos|single|1700000000000000000|NULL", "pprof_duration_nanos|single|5000000000|NULL",
				"pprof_period_type|single|NULL|cpu", "pprof_period_unit|single|NULL|nanoseconds", "pprof_period|single|10000000|NULL",
				"pprof_comment|multi|NULL|one", "pprof_comment|multi|NULL|two", "pprof_comment|multi|NULL|one",
				"pprof_default_sample_type|single|NULL|cpu", "pprof_doc_url|single|NULL|https://example.com/doc"}
			if !slices.Equal(got, want) {
				t.Errorf("%q\nwant %q", got, want)
			}
			tables.Want(t, "stats", "name")
		})
	}
}

func TestAbsentTexts(t *testing.T) {
	tables := read(t, msg(1), msg(1, num(1, 9), num(2, 1<<63)), msg(3, num(1, 1), num(6, 1)), texts("", strings.Repeat("A", 33)))
	tables.Want(t, "aggregate_profile", "name|sample_type_type|sample_type_unit", "pprof unknown|unknown|count", "pprof ||")
	tables.Want(t, "stack_profile_mapping", "name|build_id", "[unknown]|"+strings.Repeat("A", 33))
}

// TestSystemNames names a function as the system does if it has no other name, and counts what has no column.
func TestSystemNames(t *testing.T) {
	tables := read(t,
		msg(1, num(1, 1), num(2, 2)),
		msg(2, msg(1, "\x03\x02\x01"), msg(2, "\x01")),
		msg(4, num(1, 1), num(3, 0x10), msg(4, num(1, 1), num(2, 12), num(3, 7)), num(5, 1)),
		msg(4, num(1, 2), num(3, 0x20), msg(4, num(1, 2), num(2, 31), num(3, 0))),
		msg(4, num(1, 3), num(3, 0x30), msg(4, num(1, 3)), num(5, 0)),
		msg(5, num(1, 1), num(3, 3)),
		msg(5, num(1, 2), num(2, 4), num(3, 3)),
		msg(5, num(1, 3), num(2, 4), num(3, 4)),
		texts("", "samples", "count", "_Z4workv", "work()"))
	tables.Want(t, "stack_profile_frame", "name|rel_pc", "_Z4workv|16", "work()|32", "work()|48")
	tables.Want(t, "stats", "name|value|description", "unread_fact|1|column of a line is not read",
		"unread_fact|1|folded location is not read", "unread_fact|1|system name of a function is not read")
}

func TestDamageIsCounted(t *testing.T) {
	head := msg(1, num(1, 1), num(2, 2)) + msg(2, num(1, 1), num(2, 3)) + msg(4, num(1, 1))
	tail := texts("", "cpu", "ns", "f")
	for name, c := range map[string]struct {
		part, where string
		value       string
	}{
		"a location that is not there": {msg(2, num(1, 7), num(1, 1), num(2, 2)), "NULL|sample at a location that is not there", "5"},
		"too many values":              {msg(2, num(1, 1), num(2, 2), num(2, 9)), "NULL|more values than sample types", "5"},
		"a cut label":                  {msg(2, num(1, 1), num(2, 2), msg(3, "\x08")), "16|damaged message", "5"},
		"a cut sample":                 {msg(2, num(1, 1), num(2, 2), "\x0a\x05"), "16|damaged message", "5"},
		"a mapping without id":         {msg(3, num(2, 1)), "16|damaged message", "3"},
		"a location without id":        {msg(4, num(2, 1)), "16|damaged message", "3"},
		"a function without id":        {msg(5, num(2, 1)), "16|damaged message", "3"},
		"a cut line":                   {msg(4, num(1, 2), msg(4, "\x08")), "16|damaged message", "3"},
		"a cut function":               {msg(5, num(1, 2), "\x08"), "16|damaged message", "3"},
		"a cut mapping":                {msg(3, num(1, 2), "\x08"), "16|damaged message", "3"},
	} {
		t.Run(name, func(t *testing.T) {
			tables := read(t, head, c.part, tail)
			tables.Want(t, "stats", "name|value", "pprof_parse_errors|1")
			offset, reason, _ := strings.Cut(c.where, "|")
			tables.Want(t, "import_log", "name|byte_offset", "pprof_parse_errors|"+offset)
			tables.Want(t, "args", "key|string_value", "reason|"+reason)
			if got := tables.Rows("aggregate_sample", "value"); got[0] != c.value {
				t.Errorf("values %v, want %s", got, c.value)
			}
		})
	}
	tables := read(t, head, tail, padding, num(5, 1))
	tables.Want(t, "args", "string_value", "damaged message")
	tables = read(t, head, tail, "\x00", strings.Repeat("\xff", 30))
	tables.Want(t, "args", "string_value", "malformed from here to the end")
	tables.Want(t, "aggregate_sample", "value", "3")
}

func TestTruncated(t *testing.T) {
	data := strings.Join(small, "")
	stringTable := strings.Index(data, small[len(small)-1])
	ends := map[int]bool{0: true}
	for n := 0; n < len(data); n += 2 + int(data[n+1]) {
		ends[n] = true
	}
	for n := 10; n < len(data); n++ {
		tables, err := ingesttest.Read(t, ingesttest.File{Name: "app", Reader: strings.NewReader(data[:n])})
		if n < stringTable+2 {
			if !format.BadInput(err) {
				t.Errorf("%d bytes: error %v", n, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%d bytes: %v", n, err)
		}
		want := []string{"truncated_input"}
		if ends[n] {
			want = nil
		}
		tables.Want(t, "stats", "name", want...)
	}
}

// padding is a text longer than the bytes used to detect the format.
var padding = msg(6, strings.Repeat("x", format.HeadBytes))

func TestReadErrorIsReturned(t *testing.T) {
	broken := errors.New("disk on fire")
	r := io.MultiReader(strings.NewReader(strings.Join(small, "")+padding), iotest.ErrReader(broken))
	if _, err := ingesttest.Read(t, ingesttest.File{Reader: r}); !errors.Is(err, broken) || format.BadInput(err) {
		t.Errorf("error %v", err)
	}
}

func TestDetection(t *testing.T) {
	packet := msg(1, msg(6, "some packet"), num(8, 12345))
	for name, c := range map[string]struct {
		head string
		want bool
	}{
		"a profile":            {strings.Join(small, ""), true},
		"its beginning":        {strings.Join(small, "")[:50], true},
		"sample types only":    {msg(1, num(1, 1), num(2, 2)) + msg(1, num(1, 3), num(2, 4)), true},
		"no sample type":       {msg(5, num(1, 1)) + texts("", "main"), true},
		"times first":          {num(9, 1700000000) + num(10, 10) + msg(11, num(1, 1)) + small[0], true},
		"short":                {small[0], false},
		"times only":           {num(9, 1700000000) + num(10, 10) + num(12, 100), false},
		"another field":        {strings.Join(small, "") + "\x80\x01\x01", false},
		"a link":               {strings.Join(small, "") + num(15, 1), true},
		"a number as sample":   {num(2, 1) + strings.Join(small, ""), false},
		"text as period":       {msg(12, "x") + strings.Join(small, ""), false},
		"packets":              {strings.Repeat(packet, 20), false},
		"text":                 {"\n\n\n\nthis is a text of several lines\n", false},
		"legacy heap profile":  {"heap profile:  144:  8498176 [   144:  8498176] @ heapprofile\n", false},
		"a tag that is not on": {"\x0a", false},
	} {
		f := ingest.Detect([]byte(c.head))
		if got := f != nil && f.Name == "pprof"; got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// totals sums a profile's values by sample type and stack.
func totals(p *profile.Profile) map[string]float64 {
	sums := map[string]float64{}
	for _, s := range p.Sample {
		var stack []string
		for _, l := range slices.Backward(s.Location) {
			name := "[unknown]"
			if len(l.Line) > 0 {
				name = l.Line[0].Function.Name
			}
			stack = append(stack, name)
		}
		for i, v := range s.Value {
			sums[p.SampleType[i].Type+"|"+p.SampleType[i].Unit+"|"+strings.Join(stack, ";")] += float64(v)
		}
	}
	return sums
}

// stored sums aggregate_sample in the same way.
func stored(t *ingesttest.Tables) map[string]float64 {
	names := t.Rows("stack_profile_frame", "name")
	types := t.Rows("aggregate_profile", "sample_type_type", "sample_type_unit")
	var stacks []string
	for _, row := range t.Rows("stack_profile_callsite", "frame_id", "parent_id") {
		var frame, parent int
		n, _ := fmt.Sscanf(row, "%d|%d", &frame, &parent)
		stack := names[frame]
		if n == 2 {
			stack = stacks[parent] + ";" + stack
		}
		stacks = append(stacks, stack)
	}
	sums := map[string]float64{}
	for _, row := range t.Rows("aggregate_sample", "aggregate_profile_id", "value", "callsite_id") {
		var profile, callsite int
		var value float64
		n, _ := fmt.Sscanf(row, "%d|%g|%d", &profile, &value, &callsite)
		stack := ""
		if n == 3 {
			stack = stacks[callsite]
		}
		sums[types[profile]+"|"+stack] += value
	}
	return sums
}

func TestRecordedProfilesAgreeWithPprof(t *testing.T) {
	paths, _ := filepath.Glob("../../testdata/*.pb*")
	if len(paths) < 5 {
		t.Fatalf("profiles %v", paths)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		p, err := profile.ParseData(data)
		if err != nil {
			t.Fatal(err)
		}
		tables := ingesttest.MustRead(t, path, data)
		if got, want := stored(tables), totals(p); len(want) == 0 || !maps.Equal(got, want) {
			t.Errorf("%s: %v\nwant %v", path, got, want)
		}
		for _, row := range tables.Rows("stats", "name", "description") {
			if !strings.HasPrefix(row, "unread_fact|") || !strings.HasSuffix(row, " field is not read") {
				t.Errorf("%s: %s", path, row)
			}
		}
	}
}

// tagged sums a profile's values by measure and label.
func tagged(p *profile.Profile) map[string]float64 {
	sums := map[string]float64{}
	for _, s := range p.Sample {
		for i, v := range s.Value {
			measure := p.SampleType[i].Type
			for key, labels := range s.Label {
				for _, label := range labels {
					sums[measure+"|"+key+"|"+label+"|NULL"] += float64(v)
				}
			}
			for key, labels := range s.NumLabel {
				for _, label := range labels {
					sums[fmt.Sprintf("%s|%s|NULL|%d", measure, key, label)] += float64(v)
				}
			}
		}
	}
	return sums
}

func TestLabelsAgreeWithPprof(t *testing.T) {
	for name, labels := range map[string]int{"go_cpu": 4, "go_heap": 32, "go_mutex": 0} {
		data, err := os.ReadFile("../../testdata/" + name + ".pb.gz")
		if err != nil {
			t.Fatal(err)
		}
		p, err := profile.ParseData(data)
		if err != nil {
			t.Fatal(err)
		}
		tables := ingesttest.MustRead(t, name, data)
		measures := tables.Rows("aggregate_profile", "sample_type_type")
		got := map[string]float64{}
		for _, row := range tables.Rows("aggregate_sample_label", "value", "aggregate_profile_id", "key", "string_value", "int_value") {
			value, row, _ := strings.Cut(row, "|")
			id, label, _ := strings.Cut(row, "|")
			v, err := strconv.ParseFloat(value, 64)
			if err != nil {
				t.Fatal(err)
			}
			measure, err := strconv.Atoi(id)
			if err != nil {
				t.Fatal(err)
			}
			got[measures[measure]+"|"+label] += v
		}
		if want := tagged(p); len(want) != labels*len(measures) || !maps.Equal(got, want) {
			t.Errorf("%s: %v\nwant %v", name, got, want)
		}
	}
}

func FuzzPprof(f *testing.F) {
	f.Add([]byte(strings.Join(small, "")))
	for _, part := range small {
		f.Add([]byte(part + small[0] + texts("a", "b")))
	}
	fuzz.Run(f, func(t *testing.T, data []byte) {
		if f := ingest.Detect(data); f == nil || f.Name != "pprof" {
			return
		}
		tables, err := ingesttest.Read(t, ingesttest.File{Name: "fuzz", Reader: bytes.NewReader(data)})
		if err != nil {
			if !format.BadInput(err) {
				t.Fatal(err)
			}
			return
		}
		// Profiles that pprof reads and finds valid have the same sums there.
		p, err := profile.ParseUncompressed(data)
		if err != nil || p.CheckValid() != nil || len(tables.Rows("stats", "name")) > 0 {
			return
		}
		var got, want float64
		for _, v := range stored(tables) {
			got += v
		}
		for _, v := range totals(p) {
			want += v
		}
		if got != want {
			t.Errorf("sum %g, want %g", got, want)
		}
	})
}
