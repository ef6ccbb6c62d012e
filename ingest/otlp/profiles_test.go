package otlp_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
)

// profilesIn returns the files of testdata/profiles, which protobuf's own library wrote with the fields of each release.
func profilesIn(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("testdata/profiles/v*")
	if err != nil || len(files) < 11 {
		t.Fatal(files, err)
	}
	all := map[string][]byte{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(file)] = data
	}
	return all
}

// isOld reports whether a release sums the values of a sample over its times.
func isOld(name string) bool {
	minor, _, _ := strings.Cut(strings.TrimPrefix(name, "v1."), ".")
	return len(minor) == 1 && minor < "8"
}

// Every release has the same samples: three sums of a shop, and of a bank those that blocked.
func TestProfiles(t *testing.T) {
	for name, data := range profilesIn(t) {
		t.Run(name, func(t *testing.T) { checkProfiles(t, name, ingesttest.MustRead(t, name, data)) })
	}
}

func checkProfiles(t *testing.T, name string, tables *ingesttest.Tables) {
	t.Helper()
	tables.Want(t, "process", "name|pid", "NULL|0", "shop|42", "bank|44")
	tables.Want(t, "thread", "name|tid|upid", "NULL|0|0", "w|43|2")
	tables.Want(t, "stack_profile_mapping", "name|build_id|exact_offset|start|end", "/bin/shop|abcd12|256|4096|20480")
	tables.Want(t, "stack_profile_frame", "name|mapping|rel_pc|symbol_set_id", "main|0|256|0", "inl|0|512|1", "[unknown]|0|768|NULL")
	tables.Want(t, "stack_profile_symbol", "name|source_file|line_number|inlined", "main|main.c|10|false", "inl|inl.c|30|true", "work|work.c|20|false")
	tables.Want(t, "stack_profile_callsite", "depth|parent_id|frame_id", "0|NULL|0", "1|0|1", "2|1|2")
	profiles := []string{name + "|shop cpu|cpu|nanoseconds|true"}
	sums := []string{"0|1|105", "0|2|-7"}
	samples := []string{"1500|prof|1|2|3|0", "1700|prof|1|2|NULL|1", "2000|prof|1|2|3|0"}
	events := []string{"off_cpu|4", "off_cpu|9", "off_cpu|3"}
	if isOld(name) {
		profiles = append(profiles, name+"|bank off_cpu|off_cpu|nanoseconds|false")
		sums = append(sums, "1|0|7", "1|1|9")
		events = []string{"off_cpu|NULL", "off_cpu|NULL", "off_cpu|NULL"}
	} else {
		samples = append(samples, "2500|prof|1|2|NULL|0", "2600|prof|1|2|NULL|0")
		events = append(events, "samples|1", "samples|1")
	}
	tables.Want(t, "aggregate_profile", "scope|name|sample_type_type|sample_type_unit|is_default", profiles...)
	tables.Want(t, "aggregate_sample", "aggregate_profile_id|callsite_id|value", sums...)
	tables.Want(t, "stack_sample", "ts|source|utid|upid|cpu|callsite_id", samples...)
	tables.Want(t, "stack_sample_event", "event|period", events...)
	labels := []string{"0|1|100|thread.name|w|NULL|NULL", "0|1|100|size|NULL|64|By"}
	link := []string{"0|1|100|trace_id|000102030405060708090a0b0c0d0e0f|NULL|NULL", "0|1|100|span_id|0001020304050607|NULL|NULL"}
	if name == "v1.3.pb" {
		link = nil // the link is the first one, which protobuf does not write
	}
	got := tables.Rows("aggregate_sample_label", "sample_id", "callsite_id", "value", "key", "string_value", "int_value", "unit")
	if want := append(labels, link...); !slices.Equal(got[:min(len(got), len(want))], want) {
		t.Errorf("labels %q", got)
	}
	var linked []string
	for _, row := range tables.Rows("args", "key", "string_value") {
		if strings.HasPrefix(row, "span_id|") {
			linked = append(linked, row)
		}
	}
	if sets := tables.Rows("stack_sample_event", "arg_set_id"); name != "v1.3.pb" && (!slices.Equal(linked, []string{"span_id|0001020304050607"}) || sets[1] == "NULL") {
		t.Errorf("sets %q, links %q", sets, linked)
	}
	facts := tables.Rows("metadata", "name", "int_value", "str_value")
	for _, fact := range []string{"otlp_scope_version|NULL|1", "otlp_profile_period|20|NULL", "otlp_profile_period_type|NULL|cpu",
		"otlp_profile_period_unit|NULL|nanoseconds", "otlp_profile_time_unix_nano|1000|NULL", "otlp_profile_duration_nano|5000|NULL"} {
		if !slices.Contains(facts, fact) {
			t.Errorf("no %s in %q", fact, facts)
		}
	}
	for _, row := range tables.Rows("stats", "name", "description") {
		if row != "unread_fact|profile ids are not read" {
			t.Error(row)
		}
	}
}

// Messages follow each other in all framings, and without any. Sums of the same measure add up.
func TestManyProfiles(t *testing.T) {
	files := profilesIn(t)
	message, line := files["v1.10.pb"], files["v1.11.json"]
	size := len(message)
	delimited := append(binary.AppendUvarint(nil, uint64(size)), message...)
	sized := append(binary.BigEndian.AppendUint32(nil, uint32(size)), message...)
	for name, one := range map[string][]byte{"alone": message, "delimited": delimited, "sized": sized, "lines": line} {
		tables := ingesttest.MustRead(t, name, bytes.Repeat(one, 2))
		tables.Want(t, "aggregate_sample", "aggregate_profile_id|callsite_id|value", "0|1|210", "0|2|-14")
		tables.Want(t, "process", "name|pid", "NULL|0", "shop|42", "bank|44")
		if n := len(tables.Rows("stack_sample", "id")); n != 10 {
			t.Errorf("%s: %d samples", name, n)
		}
	}
}

// field returns a field with these bytes.
func field(number protowire.Number, content ...[]byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), bytes.Join(content, nil))
}

func number(n protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, n, protowire.VarintType), v)
}

// data returns ProfilesData with these samples, and tables with two attributes, one location and its stack.
func data(samples ...[]byte) []byte {
	profile := field(2, append([][]byte{field(1, number(1, 1), number(2, 2))}, samples...)...)
	times := protowire.AppendFixed64(protowire.AppendTag(nil, 3, protowire.Fixed64Type), 5)
	profile = field(2, profile[2:], times)
	return slices.Concat(field(1, field(2, profile)), field(2,
		field(2), field(2, number(2, 0x10)), field(5), field(5, []byte("cpu")), field(5, []byte("ns")), field(5, []byte("k")),
		field(6), field(6, number(1, 3), field(2, number(3, 7))), field(6, number(1, 3), field(2, number(3, 8))),
		field(7), field(7, field(1, []byte{1}))))
}

// Samples of version 1.9 have values where those of version 1.10 have attributes. What tells them apart is used, and what cannot be
// told is not read.
func TestUnclearRelease(t *testing.T) {
	time := func(n int) []byte { return field(5, bytes.Repeat([]byte{9, 0, 0, 0, 0, 0, 0, 0}, n)) }
	stack := number(1, 1)
	for name, test := range map[string]struct {
		samples   [][]byte
		sum       []string
		events    []string
		attribute []string // of events
	}{
		"values beyond the attributes": {[][]byte{field(2, stack, field(2, []byte{50}), time(1))}, nil, []string{"cpu|50"}, nil},
		"no times":                     {[][]byte{field(2, stack, field(2, []byte{1}))}, []string{"1"}, nil, nil},
		"attributes of 1.9":            {[][]byte{field(2, stack, field(2, []byte{2}), field(3, []byte{1}), time(1))}, nil, []string{"cpu|2"}, []string{"attributes.k|7"}},
		"values of 1.10":               {[][]byte{field(2, stack, field(2, []byte{2}), field(4, []byte{1}), time(1))}, nil, []string{"cpu|1"}, []string{"attributes.k|8"}},
		"more times than attributes":   {[][]byte{field(2, stack, field(2, []byte{1}), time(2))}, nil, []string{"cpu|1", "cpu|1"}, []string{"attributes.k|7", "attributes.k|7"}},
		"either":                       {[][]byte{field(2, stack, field(2, []byte{1}), time(1))}, nil, []string{"cpu|NULL"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			tables := ingesttest.MustRead(t, "a.pb", data(test.samples...))
			if got := tables.Rows("aggregate_sample", "value"); !slices.Equal(got, test.sum) {
				t.Errorf("sums %q, want %q", got, test.sum)
			}
			if got := tables.Rows("stack_sample_event", "event", "period"); !slices.Equal(got, test.events) {
				t.Errorf("events %q, want %q", got, test.events)
			}
			if got := len(slices.DeleteFunc(tables.Rows("stack_sample_event", "arg_set_id"), func(s string) bool { return s == "NULL" })); got != len(test.attribute) {
				t.Errorf("%d events with attributes, want %d", got, len(test.attribute))
			}
			if got := tables.Rows("args", "key", "int_value"); len(test.attribute) > 0 && !slices.Contains(got, test.attribute[0]) {
				t.Errorf("args %q, want %q", got, test.attribute)
			}
			unclear := strings.Contains(strings.Join(tables.Rows("stats", "description"), " "), "unclear release")
			if unclear != (name == "either") {
				t.Errorf("unclear: %t", unclear)
			}
		})
	}
}

// What refers to an entry that is not there is damage.
func TestDanglingProfiles(t *testing.T) {
	tables := ingesttest.MustRead(t, "a.pb", data(field(2, number(1, 9), field(2, []byte{1}), field(3, []byte{5}))))
	tables.Want(t, "aggregate_sample", "callsite_id|value", "NULL|1")
	tables.Want(t, "stats", "name|value|effect", "otlp_profile_errors|2|damaged")
	if _, err := ingesttest.Read(t, ingesttest.File{Name: "x", Reader: bytes.NewReader(data())}); !errors.Is(err, format.ErrNoEvents) {
		t.Errorf("no samples: %v", err)
	}
	old := `{"resourceProfiles":[{"scopeProfiles":[{"profiles":[{"profile":{"sampleType":[{"type":1}]}}]}]}]}`
	if _, err := ingesttest.Read(t, ingesttest.File{Name: "x", Reader: strings.NewReader(old)}); !errors.Is(err, format.ErrNoEvents) {
		t.Errorf("JSON of version 1.3: %v", err)
	}
}

// Values that last from one profile to the next are not added up.
func TestCumulativeProfiles(t *testing.T) {
	line := string(profilesIn(t)["v1.7.json"])
	line = strings.ReplaceAll(line, `"sampleType": [{`, `"sampleType": [{"aggregationTemporality": "AGGREGATION_TEMPORALITY_CUMULATIVE", `)
	tables := ingesttest.MustRead(t, "a.json", []byte(line+line))
	if got := tables.Rows("aggregate_sample", "aggregate_profile_id", "callsite_id", "value"); !slices.Equal(got[:4], []string{"0|1|105", "0|2|-7", "1|0|7", "1|1|9"}) || len(got) != 8 {
		t.Errorf("%q", got)
	}
}

// Keys and texts of a resource's attributes may be in the table of texts.
func TestProfilesWithTextIndices(t *testing.T) {
	text := `{"resourceProfiles":[{"resource":{"attributes":[{"keyStrindex":1,"value":{"stringValueStrindex":2}},
		{"keyStrindex":3,"value":{"arrayValue":{"values":[{"stringValueStrindex":2}]}}}]},"scopeProfiles":[{"profiles":[{"samples":[{"values":["3"]}]}]}]}],
		"dictionary":{"stringTable":["","process.executable.name","app","list"]}}`
	tables := ingesttest.MustRead(t, "a.json", []byte(text))
	tables.Want(t, "process", "name|pid", "NULL|0", "app|0")
	tables.Want(t, "args", "key|string_value", "resource.attributes.process.executable.name|app", "resource.attributes.list[0]|app")
	tables.Want(t, "aggregate_profile", "name|sample_type_unit", "app unknown|count")
}

// What is cut off or changed is never half read in silence.
func TestDamagedProfiles(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for name, whole := range profilesIn(t) {
		for at := 0; at < len(whole)-1; at += 13 {
			tables, err := ingesttest.Read(t, ingesttest.File{Name: "x", Reader: bytes.NewReader(whole[:at])})
			if err == nil && len(tables.Rows("stats", "name")) == 0 {
				t.Fatalf("%s cut at %d: nothing is counted", name, at)
			}
		}
		for range 20 {
			damaged := bytes.Clone(whole)
			for range 1 + random.IntN(4) {
				damaged[random.IntN(len(damaged))] = byte(random.Uint32())
			}
			ingesttest.MayFail(t, damaged)
		}
	}
}

// Samples of older releases may share locations, n of them n locations. Such stacks have a budget, and what is beyond it is counted.
func TestSharedLocations(t *testing.T) {
	const n = 6000
	var samples []string
	for i := range n {
		samples = append(samples, fmt.Sprintf(`{"locationsStartIndex":%d,"locationsLength":%d,"value":["1"]}`, i, n-i))
	}
	text := `{"resourceProfiles":[{"scopeProfiles":[{"profiles":[{"timeNanos":"5","sampleType":[{"typeStrindex":1}],"locationIndices":[` +
		strings.TrimSuffix(strings.Repeat("0,", n), ",") + `],"sample":[` + strings.Join(samples, ",") + `]}]}]}],
		"dictionary":{"stringTable":["","cpu"],"locationTable":[{"address":"16"}]}}`
	tables := ingesttest.MustRead(t, "a.json", []byte(text))
	stats := tables.Rows("stats", "name", "effect")
	if rows := len(tables.Rows("aggregate_sample", "value")); rows < 700 || !slices.Equal(stats, []string{"otlp_profile_errors|damaged"}) {
		t.Errorf("%d sums, stats %q", rows, stats)
	}
}

// Profiles that share a stack read it once, and each value of a sample has the attributes of the sample, but not thousands of them.
func TestSharedProfiles(t *testing.T) {
	const n = 6000
	indices := func(first int) string {
		var all []string
		for i := range n {
			all = append(all, strconv.Itoa(first+i))
		}
		return strings.Join(all, ",")
	}
	shared := `{"sampleType":{"typeStrindex":1},"samples":[{"stackIndex":1,"values":["3"]}]}`
	text := `{"resourceProfiles":[{"scopeProfiles":[{"profiles":[` + strings.Repeat(shared+",", n) +
		`{"sampleType":{"typeStrindex":1},"samples":[{"values":["1","2"],"attributeIndices":[` + indices(1) + `]}]}]}]}],
		"dictionary":{"stringTable":["","cpu","k"],"locationTable":[{}` + strings.Repeat(`,{"address":"16"}`, n) + `],"stackTable":[{},{"locationIndices":[` + indices(1) + `]}],
		"attributeTable":[{}` + strings.Repeat(`,{"keyStrindex":2,"value":{"intValue":"7"}}`, n) + `]}}`
	tables := ingesttest.MustRead(t, "a.json", []byte(text))
	tables.Want(t, "aggregate_sample", "value", strconv.Itoa(3*n), "3")
	if labels := len(tables.Rows("aggregate_sample_label", "id")); labels != 2*256 {
		t.Errorf("%d labels of two values", labels)
	}
	tables.Want(t, "stats", "name|value", "unread_fact|"+strconv.Itoa(n-256))
}
