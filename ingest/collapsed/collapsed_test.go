package collapsed_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/ingest"
	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
	"github.com/tpconvert/tpconvert/internal/fuzz"
)

const stacks = "# perf script | stackcollapse\nmain;parse input;read 312\nmain;;parse input 7\r\n\nmain;parse input;read 1\nidle 5"

func TestStacks(t *testing.T) {
	tables := ingesttest.MustRead(t, "out.folded", []byte(stacks))
	tables.Want(t, "aggregate_profile", "scope|name|sample_type_type|sample_type_unit",
		"collapsed_stack_file|collapsed_stack samples|samples|count")
	tables.Want(t, "aggregate_sample", "aggregate_profile_id|callsite_id|value", "0|2|312", "0|1|7", "0|2|1", "0|3|5")
	tables.Want(t, "stack_profile_callsite", "depth|parent_id|frame_id", "0|NULL|0", "1|0|1", "2|1|2", "0|NULL|3")
	tables.Want(t, "stack_profile_frame", "name|mapping|rel_pc", "main|0|0", "parse input|0|0", "read|0|0", "idle|0|0")
	tables.Want(t, "stack_profile_mapping", "name", "[collapsed_stack]")
	tables.Want(t, "stats", "name|value", "unended_line|1")
}

func TestOtherLines(t *testing.T) {
	for line, want := range map[string]string{
		"main;f":                      "collapsed_stack_parse_errors|43",
		"main;f -1":                   "collapsed_stack_parse_errors|43",
		"main;f 1.5.2":                "collapsed_stack_parse_errors|43",
		"main;f +1":                   "collapsed_stack_parse_errors|43",
		"main;f 99999999999999999999": "collapsed_stack_parse_errors|43",
		" 12":                         "collapsed_stack_parse_errors|43",
		"main;f 0":                    "",
		";;; 3":                       "",
		"#":                           "",
	} {
		tables := ingesttest.MustRead(t, "", []byte("main;read 312\nmain;write 312\nmain;sleep 50\n"+line+"\nmain 1\n"))
		if got := strings.Join(tables.Rows("import_log", "name", "byte_offset"), " "); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
		if n := len(tables.Rows("aggregate_sample", "id")); n != 4 {
			t.Errorf("%q: %d samples", line, n)
		}
	}
}

// TestDifferences reads what difffolded.pl writes, before and after, and counts that are not whole.
func TestDifferences(t *testing.T) {
	tables := ingesttest.MustRead(t, "diff.folded", []byte("a;rest_init_[k] 10 12\njava;foo_[j] 3 0\n"))
	tables.Want(t, "aggregate_profile", "sample_type_type|is_default", "before|false", "after|true")
	tables.Want(t, "stack_profile_frame", "name", "a", "rest_init_[k]", "java", "foo_[j]")
	tables.Want(t, "aggregate_sample", "aggregate_profile_id|callsite_id|value", "0|1|10", "1|1|12", "0|3|3")

	tables = ingesttest.MustRead(t, "a.folded", []byte("main;f 1.5\nmain;thread 1 2\n"))
	tables.Want(t, "aggregate_profile", "sample_type_type|is_default", "samples|true")
	tables.Want(t, "aggregate_sample", "value", "1.5", "2")
}

func TestDetection(t *testing.T) {
	long := strings.Repeat("frame;", format.HeadBytes/8)
	for head, want := range map[string]bool{
		stacks:                        true,
		"a;b 1":                       true,
		"a;b 1\na 2\n":                true,
		"a 2\na;b 1":                  true,
		"a 1\nb 2\n":                  false, // single frames are too similar to other texts
		"a 1\nb 2\nc 3\nd\na;b 1\n":   false,
		"a;b 1\nc;d\n":                false,
		"a;b x\n":                     false,
		"# a;b 1\n":                   false,
		long + "f 1\n" + long + "g 2": true,
	} {
		f := ingest.Detect([]byte(head[:min(len(head), format.HeadBytes)]))
		if got := f != nil && f.Name == "collapsed_stack"; got != want {
			t.Errorf("%.40q: %v", head, f)
		}
	}
}

func FuzzCollapsed(f *testing.F) {
	f.Add([]byte(stacks))
	f.Add([]byte("# austin: 3.7.0\n# mode: full\n\nP1;T0:1;a.py:f:3 5082,0,53248\n"))
	fuzz.Run(f, func(t *testing.T, data []byte) {
		if detected := ingest.Detect(data); detected == nil || detected.Name != "collapsed_stack" {
			return
		}
		_, err := ingesttest.Read(t, ingesttest.File{Name: "fuzz", Reader: bytes.NewReader(data)})
		if err != nil && !format.BadInput(err) {
			t.Fatal(err)
		}
	})
}

// TestAustin reads what Austin says of its numbers: time in microseconds or memory in bytes, or both and whether a thread was idle.
func TestAustin(t *testing.T) {
	const head = "# austin: 3.7.0\n# interval: 5000\n# mode: "
	for mode, want := range map[string]string{"wall": "wall|microseconds|true", "cpu": "cpu|microseconds|true", "memory": "memory|bytes|true", "new": "samples|count|true"} {
		tables := ingesttest.MustRead(t, "a.austin", []byte(head+mode+"\n\nP1;T0:1;a.py:f:3 5040\n\n# duration: 9\n"))
		tables.Want(t, "aggregate_profile", "sample_type_type|sample_type_unit|is_default", want)
		tables.Want(t, "aggregate_sample", "value", "5040")
	}
	tables := ingesttest.MustRead(t, "a.austin", []byte(head+"full\n# memory: 24684084\n\nP1;T0:1;a.py:f:3 5082,0,53248\nP1;T0:1;a.py:g:4 5001,1,0\n"+
		"P1;T0:1;a.py:f:5 10,0,-4096\nP1;T0:1;a.py:f:5 10,0\nP1;T0:1;a.py:f:5 10,2,0\nP1;T0:1;a.py:f:5 10,-1,0\nP1;T0:1;a.py:f:5 x,0,0\n"))
	tables.Want(t, "aggregate_profile", "sample_type_type|sample_type_unit|is_default", "wall|microseconds|true", "cpu|microseconds|false", "memory|bytes|false")
	tables.Want(t, "aggregate_sample", "aggregate_profile_id|value", "0|5082", "1|5082", "2|53248", "0|5001", "0|10", "1|10", "2|-4096")
	tables.Want(t, "stats", "name|value", "collapsed_stack_parse_errors|4")
}
