package ninja_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
	"github.com/tpconvert/tpconvert/internal/fuzz"
)

// log returns a log with these lines, whose fields are separated by spaces.
func log(version string, lines ...string) []byte {
	var b strings.Builder
	b.WriteString("# ninja log v" + version + "\n")
	for _, line := range lines {
		b.WriteString(strings.ReplaceAll(line, " ", "\t") + "\n")
	}
	return []byte(b.String())
}

func TestJobsBecomeSlicesOfWorkers(t *testing.T) {
	tables := ingesttest.MustRead(t, ".ninja_log", log("5",
		"0 7 99 a.o 1a",
		"0 4 99 b.o 1b",
		"5 9 99 c.o 1c",   // b.o's worker became free last
		"7 8 99 d.o 1d",   // a.o's worker did
		"2 3 99 e.o 1e",   // out of order; no worker is free
		"10 12 99 f.o 1f", // all workers are free
	))
	tables.Want(t, "slice", "ts|dur|name|depth|track_id",
		"0|7000000|a.o|0|0",
		"0|4000000|b.o|0|1",
		"2000000|1000000|e.o|0|2",
		"5000000|4000000|c.o|0|1",
		"7000000|1000000|d.o|0|0",
		"10000000|2000000|f.o|0|1",
	)
	tables.Want(t, "thread_track", "id|classification|utid", "0|thread_execution|1", "1|thread_execution|2", "2|thread_execution|3")
	tables.Want(t, "thread", "tid|name|upid|is_main_thread",
		"0|NULL|0|true", "1|Worker|1|true", "2|Worker|1|false", "3|Worker|1|false")
	tables.Want(t, "process", "pid|name", "0|NULL", "1|Build")
	tables.Want(t, "trace_bounds", "start_ts|end_ts", "0|12000000")
	tables.Want(t, "stats", "name")
}

func TestWorkersThatBecameFreeTogether(t *testing.T) {
	tables := ingesttest.MustRead(t, ".ninja_log", log("5",
		"0 4 0 a 1", "0 4 0 b 2", "4 4 0 c 3", "4 4 0 d 4", "4 5 0 e 5", "4 6 0 f 6"))
	// c and d take no time: the first worker has both, and is free for e.
	tables.Want(t, "slice", "name|track_id", "a|0", "b|1", "c|0", "d|0", "e|0", "f|1")
}

func TestOutputsOfOneCommandAreOneJob(t *testing.T) {
	tables := ingesttest.MustRead(t, ".ninja_log", log("5",
		"0 7 0 a.h 1", "0 7 0 a.cc 1", // one command
		"0 7 0 b 2", // another command
		"0 8 0 c 2", // the same command at another time
		"0 7 0 d 2", // of b's command: a compacted log is in no order
	))
	tables.Want(t, "slice", "name", "a.h a.cc", "b d", "c")
}

func TestVersions(t *testing.T) {
	for _, version := range []string{"5", "6", "7"} {
		tables := ingesttest.MustRead(t, "", log(version, "1 2 1744504892896881310 out.o 41f9c4aaef6afe69"))
		tables.Want(t, "slice", "ts|dur|name", "1000000|1000000|out.o")
	}
	v4 := "# ninja log v4\n1\t2\t0\ta.o\tcc -c a.c\n1\t2\t0\ta.d\tcc -c a.c\n1\t2\t0\tb.o\tcc\t-c b.c\n"
	ingesttest.MustRead(t, "", []byte(v4)).Want(t, "slice", "name", "a.o a.d", "b.o")

	for _, version := range []string{"3", "8", "99999999999999999999", "", "x"} {
		_, err := ingesttest.Read(t, ingesttest.File{Name: "log", Reader: bytes.NewReader(log(version))})
		if !format.BadInput(err) || !strings.Contains(err.Error(), "log (ninja log) at byte 0: ") {
			t.Errorf("version %q: %v", version, err)
		}
	}
}

func TestBadLinesAreCounted(t *testing.T) {
	for name, line := range map[string]string{
		"few fields":    "1 2 0 a",
		"no output":     "1 2 0  1a",
		"no start":      "x 2 0 a 1a",
		"overflow":      "1 9223372036855 0 a 1a",
		"underflow":     "-9223372036855 2 0 a 1a",
		"past 64 bits":  "1 99999999999999999999 0 a 1a",
		"not a hash":    "1 2 0 a g",
		"too much hash": "1 2 0 a 12345678901234567",
		"text":          "hello",
	} {
		t.Run(name, func(t *testing.T) {
			tables := ingesttest.MustRead(t, "", log("5", "1 2 0 before 1", line, "1 2 0 after 2"))
			tables.Want(t, "slice", "name", "before", "after")
			tables.Want(t, "stats", "name|value", "ninja_parse_errors|1")
			tables.Want(t, "import_log", "name|byte_offset", "ninja_parse_errors|30")
		})
	}
	ends := ingesttest.MustRead(t, "", log("5", "2 1 0 a 1", "2 3 0 b 2"))
	ends.Want(t, "slice", "name", "b")
	ends.Want(t, "stats", "name|value", "slice_negative_duration|1")

	ingesttest.MustRead(t, "", []byte("# ninja log v5\r\n1\t2\t0\ta\t1\r\n\n")).Want(t, "slice", "name", "a")
}

func TestTruncated(t *testing.T) {
	whole := log("5", "1 2 0 a 12", "3 4 0 b 34")
	for n := len("# ninja log v5"); n < len(whole); n++ {
		if n == len("# ninja log v5\n") { // a log without a build
			continue
		}
		tables := ingesttest.MustRead(t, "", whole[:n])
		lines := bytes.Count(whole[:n], []byte("\n"))
		tables.Want(t, "slice", "name", []string{"a"}[:max(lines-1, 0)]...)
		if whole[n-1] != '\n' {
			tables.Want(t, "stats", "name|value", "truncated_input|1")
		} else {
			tables.Want(t, "stats", "name")
		}
	}
}

func TestReadErrorIsReturned(t *testing.T) {
	broken := errors.New("disk on fire")
	long := log("5", "1 2 0 "+strings.Repeat("x", format.HeadBytes)+" 1")
	tables, err := ingesttest.Read(t, ingesttest.File{Reader: io.MultiReader(bytes.NewReader(long), iotest.ErrReader(broken))})
	if !errors.Is(err, broken) || format.BadInput(err) {
		t.Errorf("error %v", err)
	}
	if n := len(tables.Rows("slice", "id")); n != 1 {
		t.Errorf("%d jobs before it", n)
	}
}

// TestRecordedLogs reads logs of a full build, a build after two sources
// changed, and a build after one changed.
func TestRecordedLogs(t *testing.T) {
	for _, version := range []string{"4", "5", "6", "7"} {
		data, err := os.ReadFile("../../testdata/ninja_v" + version + ".ninja_log")
		if err != nil {
			t.Fatal(err)
		}
		tables := ingesttest.MustRead(t, "", data)
		tables.Want(t, "stats", "name")
		jobs := map[string]int{}
		for _, name := range tables.Rows("slice", "name") {
			jobs[name]++
		}
		if len(jobs) != 18 || jobs["gen/tables.h gen/tables.c"] != 1 || jobs["calc"] != 3 || jobs["obj/part3.o"] != 2 {
			t.Errorf("version %s: %v", version, jobs)
		}
		// Each of the first builds runs four jobs at a time, the last one two.
		// All builds seem to start at the same time.
		if n := len(tables.Rows("thread_track", "id")); n < 4 || n > 4+4+2 {
			t.Errorf("version %s: %d workers", version, n)
		}
	}
}

func FuzzNinja(f *testing.F) {
	f.Add(log("5", "1 2 0 a 1", "1 2 0 b 1", "3 9 0 c 2", "2 2 0 d 3"))
	f.Add(log("4", "0 9223372036854 0 a cc", "0 0 0 b"))
	f.Add([]byte("# ninja log v7\r\n\t\t\t\t\n1\t2"))
	fuzz.Run(f, func(t *testing.T, data []byte) {
		if !bytes.HasPrefix(data, []byte("# ninja log")) {
			return
		}
		tables, err := ingesttest.Read(t, ingesttest.File{Reader: bytes.NewReader(data)})
		if err != nil && !format.BadInput(err) {
			t.Fatal(err)
		}
		// A worker runs one job at a time.
		for _, depth := range tables.Rows("slice", "dur", "depth") {
			if dur, d, _ := strings.Cut(depth, "|"); dur != "0" && d != "0" {
				t.Errorf("a job of %s ns inside another", dur)
			}
		}
	})
}
