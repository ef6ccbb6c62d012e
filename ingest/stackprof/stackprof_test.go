package stackprof_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
)

const file = `{"version":1.2,"mode":"wall","interval":1000,"samples":5,"gc_samples":1,"missed_samples":0,"frames":{
	"140000000000000001":{"name":"main","file":"a.rb","line":1,"total_samples":4,"samples":1},
	"18446744073709551615":{"name":"f","file":"a.rb","line":5,"total_samples":3,"samples":3},"3":{"name":null,"file":"","line":null,"samples":1}},
	"raw":[2,140000000000000001,18446744073709551615,3,1,140000000000000001,1,1,3,1],"raw_timestamp_deltas":[1000,1001,999,1002,1]}`

func TestProfile(t *testing.T) {
	tables := ingesttest.MustRead(t, "a.json", []byte(file))
	tables.Want(t, "aggregate_profile", "scope|name|sample_type_type|sample_type_unit",
		"a.json|stackprof samples|samples|count", "a.json|stackprof wall|wall|microseconds")
	tables.Want(t, "stack_profile_symbol", "name|source_file|line_number", "main|a.rb|1", "f|a.rb|5", "NULL|NULL|NULL")
	tables.Want(t, "stack_profile_callsite", "parent_id|frame_id", "NULL|0", "0|1", "NULL|2")
	tables.Want(t, "aggregate_sample", "aggregate_profile_id|callsite_id|value", "0|1|3", "1|1|3000", "0|0|1", "1|0|1002", "0|2|1", "1|2|1")
	tables.Want(t, "stats", "name")

	cpu := strings.Replace(file, `"wall"`, `"cpu"`, 1)
	tables = ingesttest.MustRead(t, "a.json", []byte(cpu))
	tables.Want(t, "aggregate_sample", "aggregate_profile_id|value", "0|3", "1|3000", "0|1", "1|1000", "0|1", "1|1000")

	flat, _, _ := strings.Cut(file, `,
	"raw"`)
	flat = strings.Replace(flat, `"total_samples":4`, `"total_samples":4,"edges":{"18446744073709551615":3}`, 1)
	tables = ingesttest.MustRead(t, "a.json", []byte(flat+"}"))
	tables.Want(t, "aggregate_sample", "callsite_id|value", "0|1", "1|3", "2|1")
	tables.Want(t, "stats", "name|value|description", "unread_fact|1|frame's calls are not read")
}

func TestDamage(t *testing.T) {
	last := 0
	for i := 13; i < 64; i++ { // earlier, it is not recognised
		tables, err := ingesttest.Read(t, ingesttest.File{Name: "x", Reader: strings.NewReader(file[:len(file)*i/64])})
		if err != nil && !format.BadInput(err) {
			t.Fatal(err)
		}
		n := len(tables.Rows("stack_profile_frame", "id"))
		if n < last || err == nil && !slices.Contains(tables.Rows("stats", "name"), "truncated_input") {
			t.Errorf("cut at %d/64: %d frames after %d, %v", i, n, last, err)
		}
		last = n
	}
	missing := strings.Replace(file, `"raw":[2,140000000000000001`, `"raw":[2,7`, 1)
	tables := ingesttest.MustRead(t, "x", []byte(missing))
	tables.Want(t, "stats", "name|value", "stackprof_parse_errors|1")
}

// TestSamples compares profiles of others, in the folder stackprof, with what speedscope reads. speedscope puts the garbage
// collection on the stack before it; the profile does not say that it was there.
func TestSamples(t *testing.T) {
	const gc = "(garbage collection)"
	ingesttest.Samples(t, "stackprof/*.json", func(file string, data []byte) {
		tables, err := ingesttest.Read(t, ingesttest.File{Name: "", Reader: bytes.NewReader(data)})
		if err != nil {
			t.Fatal(err)
		}
		name := func(function, _, _ string) string {
			if function == "NULL" {
				return "(unknown)"
			}
			return function
		}
		metric := "samples"
		for _, mode := range tables.Rows("aggregate_profile", "sample_type_type") {
			metric = mode // the last one
		}
		got := map[string]float64{}
		for stack, value := range tables.Stacks(metric, name) {
			got["\t"+stack[strings.IndexByte(stack, '\t')+1:]] = value
		}
		ingesttest.WantStacks(t, file, got, func(stack string) string {
			if strings.HasSuffix(stack, "\x1f"+gc) {
				return "\t" + gc
			}
			return stack
		})
	})
}

func FuzzStackprof(f *testing.F) {
	ingesttest.Fuzz(f, "stackprof", []byte(file), []byte(dump()))
}
