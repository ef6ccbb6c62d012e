package strace_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/ingest"
	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
	"github.com/tpconvert/tpconvert/internal/fuzz"
)

const log = `1000 1700000052.321000 openat(AT_FDCWD, "/etc (x)", O_RDONLY) = 3
1000 1700000052.321200 close(3)                = 0
1234 1700000052 openat(AT_FDCWD, "/nope", O_RDONLY) = -1 ENOENT (No such file or directory)
1000 1700000053.5 epoll_wait(4, <unfinished ...>
1000 1700000053.500500 <... epoll_wait resumed> {}, 64, 100 <unfinished ...>
1000 1700000053.600000 <... epoll_wait resumed>) = 1
1000 1700000054.000000 pause( <unfinished ...>
`

func TestCalls(t *testing.T) {
	tables := ingesttest.MustRead(t, "strace.log", []byte(log))
	tables.Want(t, "slice", "ts|dur|category|name|track_id|depth",
		"1700000052000000000|0|strace|openat|0|0",
		"1700000052321000000|0|strace|openat|1|0",
		"1700000052321200000|0|strace|close|1|0",
		"1700000053000005000|500495000|strace|epoll_wait|1|0",
		"1700000053500500000|99500000|strace|epoll_wait|1|0",
		"1700000054000000000|-1|strace|pause|1|0")
	tables.Want(t, "args", "arg_set_id|key|string_value", "0|utid|NULL",
		`1|args|AT_FDCWD, "/nope", O_RDONLY`, "1|ret|-1 ENOENT (No such file or directory)", "3|utid|NULL",
		`4|args|AT_FDCWD, "/etc (x)", O_RDONLY`, "4|ret|3",
		"6|args|3", "6|ret|0",
		"8|args|{}, 64, 100",
		"9|args|{}, 64, 100", "9|ret|1")
	tables.Want(t, "thread", "tid|upid", "0|0", "1234|NULL", "1000|NULL")
	if clock := tables.Rows("metadata", "name", "int_value"); !slices.Contains(clock, "trace_time_clock_id|1") {
		t.Errorf("metadata: %v", clock)
	}
	tables.Want(t, "stats", "name")
}

func TestOtherLines(t *testing.T) {
	for line, want := range map[string]string{
		"--- SIGCHLD {si_signo=SIGCHLD} ---":             "strace_parse_failure",
		"+++ exited with 0 +++":                          "strace_parse_failure",
		"":                                               "strace_parse_failure",
		"1000":                                           "strace_parse_failure",
		"1000 1700000052.3":                              "strace_parse_failure",
		"1000 1700000052.3 read":                         "strace_parse_failure",
		"1000 1700000052.3 read(3":                       "strace_parse_failure",
		"1000 1700000052.3 <... read":                    "strace_parse_failure",
		"1000 -5 read(3) = 0":                            "strace_parse_failure",
		"1000\t1700000052.3\tread(3) = 0":                "strace_parse_failure",
		"1000 99999999999999999999 read(3) = 0":          "strace_parse_failure",
		"1000 9999999999 read(3) = 0":                    "strace_parse_failure",
		"1000 1700000000.99999999999999999999 r(3) = 0":  "strace_parse_failure",
		"1000 1700000000.-12 r(3) = 0":                   "strace_parse_failure",
		"1000 14:32:01.123456 read(3) = 3":               "strace_unsupported_timestamp_format",
		"14:32:01 read(3) = 3":                           "strace_unsupported_timestamp_format",
		"1700000000.000000 read(3) = 3":                  "strace_missing_pid",
		"1700000000 read(3) = 3":                         "strace_missing_pid",
		"4294967296 1700000000.000000 read(3) = 3":       "strace_missing_pid",
		"\x00\xff\x01 = (":                               "strace_parse_failure",
		"1000 1700000053.0 read(3, \"cut here\", 1 = 17": "",
	} {
		tables := ingesttest.MustRead(t, "strace.log", []byte(log+line+"\r\n"))
		var wanted []string
		calls := 6
		if want == "" {
			calls++
		} else {
			wanted = append(wanted, want+"|1")
		}
		tables.Want(t, "stats", "name|value", wanted...)
		if n := len(tables.Rows("slice", "id")); n != calls {
			t.Errorf("%q: %d slices", line, n)
		}
	}
}

func TestImportLogIsBounded(t *testing.T) {
	const bad = 10_100
	tables, err := ingesttest.Read(t, ingesttest.File{Name: "strace.log", Reader: strings.NewReader(log + strings.Repeat("+++\n", bad))})
	if err != nil {
		t.Fatal(err)
	}
	tables.Want(t, "stats", "name|value", "strace_parse_failure|10100")
	if n := len(tables.Rows("import_log", "id")); n != 10_000 {
		t.Errorf("%d entries", n)
	}
}

func TestTruncated(t *testing.T) {
	for n := strings.IndexByte(log, '\n'); n < len(log); n++ {
		tables := ingesttest.MustRead(t, "strace.log", []byte(log[:n]))
		if cut := log[n-1] != '\n'; cut != (len(tables.Rows("stats", "name")) == 1) {
			t.Errorf("%d bytes: stats %v", n, tables.Rows("stats", "name"))
		}
	}
}

func TestUnknownTimes(t *testing.T) {
	_, err := ingesttest.Read(t, ingesttest.File{Name: "x", Reader: strings.NewReader("execve(\"./a\", [], 0x7 /* 9 vars */) = 0\n")})
	if !errors.Is(err, format.ErrUnknown) {
		t.Errorf("error %v", err)
	}
}

func FuzzStrace(f *testing.F) {
	f.Add([]byte(log))
	f.Add([]byte("1700000000 read(3) = 3\n--- SIGCHLD ---\n14:32:01 read(3) = 3\n"))
	fuzz.Run(f, func(t *testing.T, data []byte) {
		if detected := ingest.Detect(data); detected == nil || detected.Name != "strace" {
			return
		}
		_, err := ingesttest.Read(t, ingesttest.File{Name: "fuzz", Reader: bytes.NewReader(data)})
		if err != nil && !format.BadInput(err) {
			t.Fatal(err)
		}
	})
}
