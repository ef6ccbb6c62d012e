package callgrind_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
)

// Names have numbers from their first use on, positions may be relative, and costs at the end of a line may be missing. A call
// that began before the profile is counted 0 times.
const file = `# callgrind format
version: 1
creator: callgrind-3.19.0
cmd: ./a
desc: Trigger: --dump-before=f
positions: instr line
events: Ir Dr
summary: 38 5

ob=(1) /bin/a
fl=(1) a.c
fn=(1) main
0x100 10 5 1
+4 +1 3
cob=(2) /lib/c.so
cfi=(2) m.c
cfn=(2) malloc
calls=2 0x500 90
* * 20 4
+4 * 10
fi=(3) a.h
* 7 5 2
fn=(3) f
-8 -3 4
cfn=(2)
calls=0 0x500 90
* * 8
jfi=(4) b.c
jump=1 0x100 3
ob=(2)
fl=(2)
fn=(2)
0x500 90 11 2

totals: 38 5
`

func TestProfile(t *testing.T) {
	tables := ingesttest.MustRead(t, "callgrind.out.1", []byte(file))
	tables.Want(t, "aggregate_profile", "scope|name|sample_type_type|sample_type_unit", "callgrind.out.1|callgrind Ir|Ir|count",
		"callgrind.out.1|callgrind Dr|Dr|count", "callgrind.out.1|callgrind calls|calls|count")
	tables.Want(t, "stack_profile_symbol", "name|source_file|line_number", "main|a.c|10", "main|a.c|11", "main|a.c|NULL", "malloc|m.c|NULL",
		"main|a.c|11", "main|a.h|7", "f|a.c|4", "malloc|m.c|90")
	tables.Want(t, "stack_profile_frame", "rel_pc|mapping", "256|0", "260|0", "0|0", "0|1", "264|0", "264|0", "256|0", "1280|1")
	tables.Want(t, "stack_profile_mapping", "name", "/bin/a", "/lib/c.so")
	sums := tables.Stacks("Ir", func(function, file, line string) string { return function + " " + file + ":" + line })
	for stack, want := range map[string]float64{"main a.c:10": 5, "main a.c:11": 13, "main a.h:7": 5, "f a.c:4": 4, "malloc m.c:90": 11} {
		if got := sums["callgrind.out.1\t"+stack]; got != want {
			t.Errorf("%s: %v, want %v", stack, got, want)
		}
	}
	calls := tables.Stacks("calls", func(function, _, _ string) string { return function })
	if len(calls) != 1 || calls["callgrind.out.1\tmain\x1fmalloc"] != 2 {
		t.Errorf("calls: %v", calls)
	}
	tables.Want(t, "stats", "description|value", "call costs are not read|2", "jump is not read|1")
}

func TestDamage(t *testing.T) {
	ingesttest.Cuts(t, []byte(file), "aggregate_sample")
	for _, change := range [][2]string{
		{"totals: 38 5", "totals: 39 5"}, {"+4 +1 3", "+4 +1 x"}, {"+4 +1 3", "+4"}, {"+4 +1 3", "+4 +1 3 0 0"}, {"0x500 90 11", "0y500 90 11"}, {"fn=(2)\n", "fn=(7)\n"},
		{"calls=2", "calls=x"}, {"fn=(3) f", "fm=(3) f"}, {"cfn=(2) malloc\n", ""},
	} {
		tables := ingesttest.MustRead(t, "callgrind.out", []byte(strings.Replace(file, change[0], change[1], 1)))
		if stats := strings.Join(tables.Rows("stats", "name"), " "); !strings.Contains(stats, "callgrind_parse_errors") {
			t.Errorf("%q for %q: %s", change[1], change[0], stats)
		}
	}
	if _, err := ingesttest.Read(t, ingesttest.File{Name: "a", Reader: strings.NewReader("# callgrind format\nevents: Ir\nfn=f\n")}); err == nil || !strings.Contains(err.Error(), "without costs") {
		t.Error(err)
	}
}

// TestAnnotate compares sums with those of callgrind_annotate, for the profile of a program that Valgrind runs now.
func TestAnnotate(t *testing.T) {
	valgrind, err := exec.LookPath("valgrind")
	if err != nil {
		t.Skip(err)
	}
	path := filepath.Join(t.TempDir(), "callgrind.out")
	if out, err := exec.CommandContext(t.Context(), valgrind, "--tool=callgrind", "--dump-instr=yes", "--callgrind-out-file="+path, "/bin/true").CombinedOutput(); err != nil {
		t.Skipf("%v: %s", err, out)
	}
	compare(t, path)
}

// TestSamples compares other profiles, in the folder callgrind of FORMAT_SAMPLES.
func TestSamples(t *testing.T) {
	ingesttest.Samples(t, "callgrind/*.out", func(file string, _ []byte) { compare(t, file) })
}

func compare(t *testing.T, path string) {
	t.Helper()
	annotate, err := exec.LookPath("callgrind_annotate")
	if err != nil {
		t.Skip(err)
	}
	out, err := exec.CommandContext(t.Context(), annotate, "--threshold=100", "--show-percs=no", "--auto=no", path).Output()
	if err != nil {
		t.Logf("%s: callgrind_annotate: %v", filepath.Base(path), err)
		return
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := ingesttest.Read(t, ingesttest.File{Name: "", Reader: bytes.NewReader(append(data, '\n'))}) // the samples end without one
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]float64{}
	first := tables.Rows("aggregate_profile", "sample_type_type")[0]
	for stack, value := range tables.Stacks(first, func(function, file, _ string) string { return file + ":" + function }) {
		sums[stack[strings.IndexByte(stack, '\t')+1:]] += value // of all threads
	}
	n := 0
	_, list, _ := strings.Cut(string(out), "file:function\n")
	for line := range strings.Lines(list) {
		words := strings.Fields(line)
		if len(words) < 2 || !strings.Contains(line, ":") || words[0][0] < '0' || words[0][0] > '9' {
			continue
		}
		want := 0.0
		for _, digit := range strings.ReplaceAll(words[0], ",", "") {
			want = want*10 + float64(digit-'0')
		}
		name := strings.TrimSpace(line[strings.Index(line, words[0])+len(words[0]):])
		for at := 0; at < len(words)-2 && (words[1+at] == "." || strings.Trim(words[1+at], "0123456789,") == ""); at++ {
			name = strings.TrimSpace(strings.TrimPrefix(name, words[1+at]))
		}
		if i := strings.LastIndex(name, " ["); i > 0 {
			name = name[:i]
		}
		got := sums[strings.TrimPrefix(name, "???:")]
		if got == 0 {
			got = sums[name]
		}
		if n++; got != want {
			t.Errorf("%s: %s: %v, want %v", filepath.Base(path), name, got, want)
		}
	}
	t.Logf("%s: %d functions, %v", filepath.Base(path), n, tables.Rows("stats", "name", "value"))
	if n == 0 {
		t.Errorf("%s: no functions in %s", path, out)
	}
}

func FuzzCallgrind(f *testing.F) {
	ingesttest.Fuzz(f, "callgrind", []byte(file))
}
