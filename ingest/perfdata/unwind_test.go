package perfdata_test

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/ingest"
	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
)

const (
	recorded = "../../testdata/unwind/dwarf.perf.data"
	binaryOf = "../../testdata/unwind/frames"
)

// readFile reads a recording, with folders of binaries.
func readFile(t *testing.T, path string, o ingest.Options) *ingesttest.Tables {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := ingesttest.ReadWith(t, o, ingesttest.File{Name: filepath.Base(path), Reader: bytes.NewReader(data)})
	if err != nil {
		t.Fatal(err)
	}
	return tables
}

// stacksOf returns the user frames of each sample, innermost first, by the sample's time and thread.
func stacksOf(tables *ingesttest.Tables) map[string][]string {
	threads := tables.Rows("thread", "tid")
	mappings := tables.Rows("stack_profile_mapping", "name", "start")
	frames := tables.Rows("stack_profile_frame", "rel_pc", "name", "mapping")
	callsites := tables.Rows("stack_profile_callsite", "frame_id", "parent_id")
	number := func(text string) int {
		n, err := strconv.Atoi(text)
		if err != nil {
			return -1
		}
		return n
	}
	all := map[string][]string{}
	for _, row := range tables.Rows("stack_sample", "ts", "utid", "callsite_id") {
		v := strings.Split(row, "|")
		key := v[0] + " " + threads[number(v[1])]
		all[key] = []string{}
		for at := number(v[2]); at >= 0; {
			frame, parent, _ := strings.Cut(callsites[at], "|")
			f := strings.Split(frames[number(frame)], "|")
			file, _, _ := strings.Cut(mappings[number(f[2])], "|")
			if !strings.HasPrefix(file, "[kernel") {
				all[key] = append(all[key], fmt.Sprintf("%x %s", number(f[0]), f[1]))
			}
			at = number(parent)
		}
	}
	return all
}

var (
	sampleLine = regexp.MustCompile(`^\s*(\d+)\s+(\d+)\.(\d{9}):`)
	frameLine  = regexp.MustCompile(`^\s+([0-9a-f]+) (\S+)`)
)

// perfStacks returns the frames in perf script's text, by the sample's time and thread.
func perfStacks(text string) map[string][]string {
	all := map[string][]string{}
	key := ""
	for line := range strings.Lines(text) {
		if m := sampleLine.FindStringSubmatch(line); m != nil {
			key = strings.TrimLeft(m[2], "0") + m[3] + " " + m[1]
			all[key] = []string{}
		} else if m := frameLine.FindStringSubmatch(line); m != nil && !strings.HasPrefix(m[1], "ffffffff") {
			all[key] = append(all[key], m[1]+" "+m[2])
		}
	}
	return all
}

// The stacks of a recording with copies of stacks are those of perf script, which has another unwinder.
func TestUnwind(t *testing.T) {
	script, err := os.ReadFile("../../testdata/unwind/dwarf.perf.script")
	if err != nil {
		t.Fatal(err)
	}
	want := perfStacks(string(script))
	if len(want) != 14 {
		t.Fatalf("%d samples of perf script", len(want))
	}
	tables := readFile(t, recorded, ingest.Options{Binaries: []string{filepath.Dir(binaryOf)}})
	got := stacksOf(tables)
	deep := 0
	for key, frames := range want {
		for i := range frames {
			if frames[i] == "180 [unknown]" {
				frames[i] = "181 restore" // libunwind takes the kernel's return to it for that of a call, libdw does not
			}
		}
		if !slices.Equal(got[key], frames) {
			t.Errorf("sample %s:\n%q\nperf:\n%q", key, got[key], frames)
		}
		deep = max(deep, len(frames))
	}
	if len(got) != len(want) || deep != 12 {
		t.Errorf("%d samples, up to %d frames", len(got), deep)
	}
	for _, row := range tables.Rows("stats", "description") {
		if strings.Contains(row, "user stack") {
			t.Error(row)
		}
	}
}

// Without the binary, or with another one of its name, each sample has one frame, and the reason is said.
func TestUnwindWithoutBinary(t *testing.T) {
	program, err := os.ReadFile(binaryOf)
	if err != nil {
		t.Fatal(err)
	}
	note := bytes.Index(program, []byte("GNU\x00"))
	program[note+4] ^= 1 // the build id
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "frames"), program, 0o600); err != nil {
		t.Fatal(err)
	}
	for folder, wrong := range map[string]int{t.TempDir(): 0, other: 1} {
		tables := readFile(t, recorded, ingest.Options{Binaries: []string{folder}})
		for key, frames := range stacksOf(tables) {
			if len(frames) != 1 {
				t.Errorf("%s: %q", key, frames)
			}
		}
		stats := strings.Join(tables.Rows("stats", "name", "value", "description"), "\n")
		if !strings.Contains(stats, "unread_fact|14|user stacks need their binaries: tpconvert --symbols DIR") {
			t.Error(stats)
		}
		if n := strings.Count(stats, "binary is not used: frames has the build id"); n != wrong {
			t.Errorf("%d wrong binaries, want %d:\n%s", n, wrong, stats)
		}
	}
}

// perf's cache has binaries by their build ids.
func TestUnwindFromCache(t *testing.T) {
	program, err := os.ReadFile(binaryOf)
	if err != nil {
		t.Fatal(err)
	}
	note := bytes.Index(program, []byte("GNU\x00"))
	id := fmt.Sprintf("%x", program[note+4:note+24])
	cache := t.TempDir()
	at := filepath.Join(cache, ".build-id", id[:2], id[2:])
	if err := os.MkdirAll(at, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(at, "elf"), program, 0o600); err != nil {
		t.Fatal(err)
	}
	deep := 0
	for _, frames := range stacksOf(readFile(t, recorded, ingest.Options{BinaryCache: cache})) {
		deep = max(deep, len(frames))
	}
	if deep != 12 {
		t.Errorf("up to %d frames", deep)
	}
}

// A stack that is longer than its copy is cut, and counted.
func TestUnwindShortCopy(t *testing.T) {
	data, err := os.ReadFile(recorded)
	if err != nil {
		t.Fatal(err)
	}
	le := binary.LittleEndian
	for at, end := le.Uint64(data[40:]), le.Uint64(data[40:])+le.Uint64(data[48:]); at < end; at += uint64(le.Uint16(data[at+6:])) {
		if le.Uint32(data[at:]) == 9 { // how much of the copy is valid comes before the last field, PERF_SAMPLE_DATA_SRC
			le.PutUint64(data[at+uint64(le.Uint16(data[at+6:]))-16:], 16)
		}
	}
	tables, err := ingesttest.ReadWith(t, ingest.Options{Binaries: []string{filepath.Dir(binaryOf)}},
		ingesttest.File{Name: "cut", Reader: bytes.NewReader(data)})
	if err != nil {
		t.Fatal(err)
	}
	for key, frames := range stacksOf(tables) {
		if len(frames) < 2 || len(frames) > 3 { // some frames end before the cut
			t.Errorf("%s: %q", key, frames)
		}
	}
	stats := strings.Join(tables.Rows("stats", "name", "value", "description"), "\n")
	if !strings.Contains(stats, "unread_fact|14|user stacks are cut beyond the recorded copy of the stack") {
		t.Error(stats)
	}
}

// perf records programs of this machine, and its stacks are compared with ours.
func TestUnwindAsPerf(t *testing.T) {
	perf, err := exec.LookPath("perf")
	if err != nil {
		t.Skip("perf is not installed: its unwinder is not compared with ours")
	}
	program, err := filepath.Abs(binaryOf)
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{
		{"sh", "-c", `for i in 1 2 3 4 5 6; do "$0"; done`, program}, // one run takes a few ms
		{"sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"},
		{"sort", "-R", "/proc/self/exe"},
	} {
		file := filepath.Join(t.TempDir(), "perf.data")
		record := append([]string{"record", "-q", "-F", "999", "-e", "cpu-clock:u", "--call-graph", "dwarf", "-o", file, "--"}, command...)
		if text, err := exec.Command(perf, record...).CombinedOutput(); err != nil {
			if _, err := os.Stat(file); err != nil {
				t.Skipf("perf does not record here, and nothing is compared with it: %s", text)
			}
		}
		script, err := exec.Command(perf, "script", "-i", file, "--no-inline", "--no-demangle", "--ns", "-F", "tid,time,ip,sym").Output()
		if err != nil {
			t.Fatal(err)
		}
		want, same := perfStacks(string(script)), 0
		got := stacksOf(readFile(t, file, ingest.Options{Binaries: []string{"/"}}))
		for key, frames := range want {
			if slices.EqualFunc(got[key], frames, sameAddress) {
				same++
			} else {
				t.Logf("%s:\n%q\nperf:\n%q", key, got[key], frames)
			}
		}
		if len(want) < 5 || len(got) != len(want) || same*100 < 97*len(want) { // perf guesses where there are no rules
			t.Errorf("%q: %d samples, %d of perf, %d the same", command, len(got), len(want), same)
		}
	}
}

// sameAddress compares a frame with one of perf by their addresses. Names depend on which symbols are installed. perf with
// libunwind shows the address before that to which the handler of a signal returns.
func sameAddress(ours, perf string) bool {
	left, _, _ := strings.Cut(ours, " ")
	right, name, _ := strings.Cut(perf, " ")
	a, _ := strconv.ParseUint(left, 16, 64)
	b, _ := strconv.ParseUint(right, 16, 64)
	return a == b || a == b+1 && name == "[unknown]"
}

// The fields of samples without a column are counted by name.
func TestUnreadFields(t *testing.T) {
	r := &recording{order: binary.LittleEndian, events: []event{{sampleType: sampleType | 1<<3 | 1<<15 | 1<<12 | 1<<26, flags: []int{sampleIDAll}, ids: []uint64{1}}}}
	r.add(9, user, 1, 0x10, uint32(5), uint32(5), 100, 0xadd, uint32(0), uint32(0), 1, 1, 0x10, 0, 7)
	tables := ingesttest.MustRead(t, "p", r.file())
	tables.Want(t, "stats", "name|value|description", "perf_dummy_mapping_used|1|Frames of perf at addresses that no mapping has.",
		"unread_fact|1|PERF_SAMPLE_ADDR field is not read", "unread_fact|1|PERF_SAMPLE_DATA_SRC field is not read",
		"unread_fact|1|PERF_SAMPLE_REGS_USER field is not read", "unread_fact|1|sample_type bit 26 field is not read")
	tables.Want(t, "stack_sample", "ts", "100")
}

// The folder of perf record --threads is one recording.
func TestThreads(t *testing.T) {
	r := &recording{order: binary.LittleEndian, events: []event{{sampleType: sampleType, flags: []int{sampleIDAll}, ids: []uint64{1}}}}
	r.features = map[int][]byte{24: r.w(1)}
	r.mmap(user, 5, 0x1000, 0x1000, 0, 0, "/bin/a")
	data := r.file()
	records := func(ts, tid int) []byte {
		part := &recording{order: r.order}
		part.comm(0, 5, uint32(tid), ts-1, fmt.Sprint("thread", tid))
		part.sample(user, 1, 5, uint32(tid), ts, 0, 0x1010)
		return part.write(part.records)
	}
	archive := func(files ...any) []byte {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for i := 0; i < len(files); i += 2 {
			body := files[i+1].([]byte)
			if err := w.WriteHeader(&tar.Header{Name: files[i].(string), Size: int64(len(body)), Mode: 0o600}); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write(body); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	tables := ingesttest.MustRead(t, "rec.tar", archive("rec/data", data, "rec/data.0", records(300, 6), "rec/data.1", records(200, 7), "rec/data.10", []byte{}))
	tables.Want(t, "stack_sample", "ts|utid", "200|2", "300|3")
	tables.Want(t, "thread", "tid|name", "0|NULL", "5|NULL", "7|thread7", "6|thread6")
	tables.Want(t, "stats", "name")

	alone := ingesttest.MustRead(t, "data", data)
	alone.Want(t, "stats", "name|value|description", "unread_fact|1|other file of the recording is not here: convert the folder that perf record made")

	cut := ingesttest.MustRead(t, "rec.tar", archive("rec/data", data, "rec/data.0", records(300, 6)[:90]))
	cut.Want(t, "stats", "name|value", "truncated_input|1")
}
