package heapprofile_test

import (
	"bytes"
	"fmt"
	"path"
	"strconv"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
)

const file = `{"head":{"callFrame":{"functionName":"(root)","scriptId":"0","url":"","lineNumber":-1,"columnNumber":-1},"selfSize":0,"id":1,"children":[
	{"callFrame":{"functionName":"load","scriptId":"1","url":"file:///a.js","lineNumber":4,"columnNumber":2},"selfSize":100,"id":2,"children":[
		{"callFrame":{"functionName":"","scriptId":"1","url":"file:///a.js","lineNumber":9,"columnNumber":2},"selfSize":50,"id":3,"children":[]}]},
	{"callFrame":{"functionName":"load","scriptId":"1","url":"file:///a.js","lineNumber":4,"columnNumber":2},"selfSize":7,"id":4,"children":[]}]},
	"samples":[{"size":100,"nodeId":2,"ordinal":1}]}`

func TestProfile(t *testing.T) {
	tables := ingesttest.MustRead(t, "a.heapprofile", []byte(file))
	tables.Want(t, "aggregate_profile", "scope|name|sample_type_type|sample_type_unit", "a.heapprofile|heap profile space|space|bytes")
	tables.Want(t, "stack_profile_symbol", "name|source_file|line_number", "(root)|NULL|NULL", "load|file:///a.js|5", "|file:///a.js|10")
	tables.Want(t, "stack_profile_callsite", "parent_id|frame_id|depth", "NULL|0|0", "0|1|1", "1|2|2")
	tables.Want(t, "aggregate_sample", "callsite_id|value", "1|100", "2|50", "1|7")
	tables.Want(t, "stats", "name|description", "unread_fact|samples member is not read")
}

func TestDamage(t *testing.T) {
	ingesttest.Cuts(t, []byte(file), "aggregate_sample")
	deep := `{"head":` + strings.Repeat(`{"callFrame":{"functionName":"f"},"selfSize":1,"children":[`, 20_000) + strings.Repeat("]}", 20_000) + "}"
	tables := ingesttest.MustRead(t, "deep", []byte(deep))
	tables.Want(t, "stats", "name|value", "heap_profile_parse_errors|1")
	if n := len(tables.Rows("stack_profile_callsite", "id")); n != 10_001 {
		t.Errorf("%d calls", n)
	}
}

// TestSamples compares profiles of others, in the folder heapprofile, with what speedscope reads.
func TestSamples(t *testing.T) {
	ingesttest.Samples(t, "heapprofile/*.heapprofile", func(file string, data []byte) {
		tables, err := ingesttest.Read(t, ingesttest.File{Name: "", Reader: bytes.NewReader(data)})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		for stack, value := range tables.Stacks("space", func(function, file, line string) string {
			number, _ := strconv.Atoi(line)
			switch {
			case function != "":
				return function
			case file == "NULL":
				return "(anonymous)"
			}
			return fmt.Sprintf("(anonymous %s:%d)", path.Base(file), number-1)
		}) {
			got["\t"+stack[strings.IndexByte(stack, '\t')+1:]] = value
		}
		ingesttest.WantStacks(t, file, got, func(stack string) string { return stack })
	})
}

func FuzzHeapProfile(f *testing.F) {
	ingesttest.Fuzz(f, "heapprofile", []byte(file))
}
