package asyncprofiler_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
)

const head = "<!DOCTYPE html>\n<html lang='en'>\n<canvas id='canvas' style='width: 100%'></canvas>\n<h1>Allocation profile</h1>\n<script>\n\tfunction f(key, level, left, width) {\n\t}\n"

// main calls read twice, with été on top of one, and write. Names are all, it's, main, read, write and été.
const version4 = head + "\tconst units = 'bytes';\n" + `const cpool = [
'all',
' it\'s',
' main',
' read',
' write',
' été',
'"ér'
];
unpack(cpool);

f(3,0,0,100)
u(19,90)
u(24,30)
u(40,10,5,0,0)
f(32,2,30,40)
n(8,10)
d=U
f(51,1,20)

search();
</script></body></html>
`

const version2 = head + `
f(0,0,100,3,'all')
f(1,0,90,1,'main')
f(2,0,30,1,'read')
f(3,0,10,0,'été',1,0,0)
f(2,30,40,1,'write')
f(2,70,10,0,'it\'s')
f(1,90,10,3,'étér')

search();
</script></body></html>
`

// TestReverse reads stacks that are merged from their innermost frames on, which only pages before version 4 say.
func TestReverse(t *testing.T) {
	text := strings.Replace(version2, "<script>\n", "<script>\n\tlet reverse = true;\n", 1)
	tables := ingesttest.MustRead(t, "a.html", []byte(text))
	want := []string{"it's;main 10", "main 10", "read;main 20", "write;main 40", "étér 10", "été;read;main 10"}
	slices.Sort(want)
	if got := stacks(tables, "samples"); !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	tables.Want(t, "stats", "name")

	text = strings.Replace(version4, "\tconst units", "\tlet inverted = true;\n\tconst units", 1)
	tables = ingesttest.MustRead(t, "a.html", []byte(text))
	if got := tables.Rows("stats", "description"); !slices.Contains(got, "layout is inverted: with the option reverse, stacks are reversed") {
		t.Errorf("%q", got)
	}
}

// TestDeepReverse reads a small page whose reversed stacks would have 50 million frames: those beyond the budget are cut.
func TestDeepReverse(t *testing.T) {
	const depth = 10_000
	var boxes strings.Builder
	for i := range depth {
		fmt.Fprintf(&boxes, "f(%d,0,%d,3,'f%d')\n", i, depth-i, i%7)
	}
	text := strings.Replace(version2, "<script>\n", "<script>\n\tlet reverse = true;\n", 1)
	tables := ingesttest.MustRead(t, "a.html", []byte(text[:strings.Index(text, "f(0,0,")]+boxes.String()+"\nsearch();\n</script></body></html>\n"))
	sum := 0.0
	for _, value := range tables.Stacks("samples", func(function, _, _ string) string { return function }) {
		sum += value
	}
	if sum != depth-1 { // the first box is the root
		t.Errorf("%v samples", sum)
	}
	if got := tables.Rows("stats", "name", "description"); !slices.Contains(got, "unread_fact|stacks are not read as a whole") {
		t.Errorf("%q", got)
	}
}

func stacks(tables *ingesttest.Tables, metric string) []string {
	var all []string
	for stack, value := range tables.Stacks(metric, func(function, _, _ string) string { return function }) {
		all = append(all, fmt.Sprint(strings.ReplaceAll(stack[strings.IndexByte(stack, '\t')+1:], "\x1f", ";"), " ", value))
	}
	slices.Sort(all)
	return all
}

func TestFlameGraph(t *testing.T) {
	want := []string{"main 10", "main;it's 10", "main;read 20", "main;read;été 10", "main;write 40", "étér 10"}
	slices.Sort(want)
	tables := ingesttest.MustRead(t, "a.html", []byte(version2))
	tables.Want(t, "aggregate_profile", "scope|name|sample_type_type|sample_type_unit", "a.html|async-profiler Allocation profile|samples|count")
	if got := stacks(tables, "samples"); !slices.Equal(got, want) {
		t.Errorf("version 2: %q\nwant %q", got, want)
	}
	tables.Want(t, "stats", "name")
	tables = ingesttest.MustRead(t, "a.html", []byte(strings.Replace(version2, "\nsearch();", "render();", 1))) // before 2.8.1
	if got := stacks(tables, "samples"); !slices.Equal(got, want) {
		t.Errorf("version 2.0: %q\nwant %q", got, want)
	}
	tables = ingesttest.MustRead(t, "a.html", []byte(version4))
	tables.Want(t, "aggregate_profile", "name|sample_type_type|sample_type_unit", "async-profiler Allocation profile|bytes|bytes")
	if got := stacks(tables, "bytes"); !slices.Equal(got, want) {
		t.Errorf("version 4: %q\nwant %q", got, want)
	}
	tables.Want(t, "stats", "name|description", "unread_fact|difference of a frame is not read")
}

func TestDamage(t *testing.T) {
	ingesttest.Cuts(t, []byte(version4), "stack_profile_callsite")
	ingesttest.Cuts(t, []byte(version2), "stack_profile_callsite")
	for _, change := range [][2]string{
		{"u(24,30)", "u(24,300)"}, {"u(24,30)", "u(2400,30)"}, {"u(24,30)", "u()"}, {"u(24,30)", "u(24,-3)"}, {"f(32,2,30,40)", "f(32,9,30,40)"},
		{"f(32,2,30,40)", "f(32,2,0,40)"}, {"f(51,1,20)", "f(51,0,20)"}, {"' read'", "'~read'"}, {"' read'", "' read"}, {"u(40,10,5,0,0)", "u(40,10,5,0,0"},
	} {
		tables := ingesttest.MustRead(t, "a.html", []byte(strings.Replace(version4, change[0], change[1], 1)))
		if !slices.Contains(tables.Rows("stats", "name"), "async_profiler_parse_errors") {
			t.Errorf("%s for %s is not counted", change[1], change[0])
		}
	}
	if _, err := ingesttest.Read(t, ingesttest.File{Name: "a.html", Reader: strings.NewReader(head)}); err == nil || !strings.Contains(err.Error(), "without frames") {
		t.Errorf("no frames: %v", err)
	}
}

var call = regexp.MustCompile(`(?m)^([fun])\(([0-9,]+)\)$`)

// TestSamples checks flame graphs of others, in the folder async of FORMAT_SAMPLES: the widths that nothing is on top of, wherever
// it is drawn.
func TestSamples(t *testing.T) {
	ingesttest.Samples(t, "async/*.html", func(file string, data []byte) {
		type box struct{ level, left, width int }
		var boxes []box
		var last box
		for _, m := range call.FindAllStringSubmatch(string(data), -1) {
			var n []int
			for _, text := range strings.Split(m[2], ",") {
				number, _ := strconv.Atoi(text)
				n = append(n, number)
			}
			at := map[string]int{"f": 3, "u": 1, "n": 1}[m[1]]
			switch m[1] {
			case "f":
				last.level, last.left = n[1], last.left+n[2]
			case "u":
				last.level++
			case "n":
				last.left += last.width
			}
			if at < len(n) {
				last.width = n[at]
			}
			boxes = append(boxes, last)
		}
		own := map[int]float64{} // by level
		for _, b := range boxes {
			own[b.level] += float64(b.width)
			own[b.level-1] -= float64(b.width)
		}
		got := map[int]float64{}
		tables := ingesttest.MustRead(t, file, data)
		for stack, value := range tables.Stacks(tables.Rows("aggregate_profile", "sample_type_type")[0], func(function, _, _ string) string { return function }) {
			got[strings.Count(stack, "\x1f")+1] += value
		}
		for level, want := range own {
			if level > 0 && got[level] != want {
				t.Errorf("%s: %v at level %d, want %v", file, got[level], level, want)
			}
		}
	})
}

func FuzzFlameGraph(f *testing.F) {
	ingesttest.Fuzz(f, "async_profiler_html", []byte(version4), []byte(version2))
}
