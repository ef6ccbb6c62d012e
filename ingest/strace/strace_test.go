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

// TestCases compares recordings with all options of times, threads and stacks, see testdata/cases.
func TestCases(t *testing.T) { ingesttest.Cases(t, "strace/*") }

func TestCalls(t *testing.T) {
	tables := ingesttest.MustRead(t, "strace.log", []byte(log))
	tables.Want(t, "slice", "ts|dur|category|name|track_id|depth",
		"1700000052000000000|0|strace|openat|0|0",
		"1700000052321000000|0|strace|openat|1|0",
		"1700000052321200000|0|strace|close|1|0",
		"1700000053500000000|500000|strace|epoll_wait|1|0",
		"1700000053500500000|99500000|strace|epoll_wait|1|0",
		"1700000054000000000|-1|strace|pause|1|0")
	tables.Want(t, "args", "arg_set_id|key|string_value", "0|utid|NULL",
		`1|args|AT_FDCWD, "/nope", O_RDONLY`, "1|ret|-1 ENOENT (No such file or directory)", "3|utid|NULL",
		`4|args|AT_FDCWD, "/etc (x)", O_RDONLY`, "4|ret|3",
		"6|args|3", "6|ret|0",
		"8|args|4, {}, 64, 100",
		"9|args|4, {}, 64, 100", "9|ret|1")
	tables.Want(t, "thread", "tid|upid", "0|0", "1234|NULL", "1000|NULL")
	if clock := tables.Rows("metadata", "name", "int_value"); !slices.Contains(clock, "trace_time_clock_id|1") {
		t.Errorf("metadata: %v", clock)
	}
	tables.Want(t, "stats", "name")
}

func TestOtherLines(t *testing.T) {
	for line, want := range map[string]string{
		"--- SIGCHLD {si_signo=SIGCHLD} ---":                       "strace_parse_failure",
		"+++ exited with 0 +++":                                    "strace_parse_failure",
		"1000":                                                     "strace_parse_failure",
		"1000 1700000052.3":                                        "strace_parse_failure",
		"1000 1700000052.3 read":                                   "strace_parse_failure",
		"1000 1700000052.3 read(3":                                 "strace_parse_failure",
		"1000 1700000052.3 <... read":                              "strace_parse_failure",
		"1000 -5 read(3) = 0":                                      "strace_parse_failure",
		"1000\t1700000052.3\tread(3) = 0":                          "strace_parse_failure",
		"1000 99999999999999999999 read(3) = 0":                    "strace_parse_failure",
		"1000 9999999999 read(3) = 0":                              "strace_parse_failure",
		"1000 1700000000.99999999999999999999 r(3) = 0":            "strace_parse_failure",
		"1000 1700000000.-12 r(3) = 0":                             "strace_parse_failure",
		"1000 1700000053.0 read(3, \"cut here\", 1 = 17":           "strace_parse_failure",
		"1000 1700000053.0 read(3, \"cut here) = 17":               "strace_parse_failure",
		"\x00\xff\x01 = (":                                         "strace_parse_failure",
		"4294967296 1700000000.000000 read(3) = 3":                 "strace_missing_pid",
		"1000 14:32:01.123456 read(3) = 3":                         "strace_unsupported_timestamp_format",
		"14:32:01 read(3) = 3":                                     "strace_unsupported_timestamp_format",
		"1700000000.000000 read(3) = 3":                            "strace_missing_pid",
		"1700000000 read(3) = 3":                                   "strace_missing_pid",
		"1000 1700000054.1 <... read resumed>) = 0":                "slice_end_without_begin",
		"1000 1700000054.1 --- SIGCHLD {si_pid=1} ---":             "unread_event",
		"1000 1700000054.1 +++ exited with 0 +++":                  "unread_event",
		" | 00000  7f 45 4c 46                         .ELF |":     "unread_event",
		"strace: some problem":                                     "unread_fact",
		"strace: Process 1001 attached":                            "",
		"strace: Process 1001 detached":                            "",
		"Process 1001 attached with 2 threads - interrupt to quit": "",
		"Process 1001 suspended":                                   "",
		"Process 1001 resumed":                                     "",
		"Process 1001 sleeps":                                      "strace_parse_failure",
		"":                                                         "",
		"1000 1700000053.0 read(3, \"whole\", 1) = 17":             "",
	} {
		tables := ingesttest.MustRead(t, "strace.log", []byte(log+line+"\r\n"))
		var wanted []string
		calls := 6
		if want != "" {
			wanted = append(wanted, want+"|1")
		} else if strings.Contains(line, "whole") {
			calls++
		}
		tables.Want(t, "stats", "name|value", wanted...)
		if n := len(tables.Rows("slice", "id")); n != calls {
			t.Errorf("%q: %d slices", line, n)
		}
	}
}

// TestThreads checks to which threads lines without one belong.
func TestThreads(t *testing.T) {
	const call = "1700000000.1 getuid() = 0\n"
	for name, c := range map[string]struct{ file, text, want string }{
		"unknown":          {"x", call, "4194304"},
		"-ff":              {"out.77", call, "77"},
		"-ff, compressed":  {"out.77.gz", call, "77"},
		"its own result":   {"out.77", call + "1700000000.2 gettid() = 5\n", "5"},
		"of a namespace":   {"x", call + "1700000000.2 set_tid_address(0x7f) = 5 /* 1234 in strace's PID NS */\n", "1234"},
		"-p":               {"x", "strace: Process 8 attached\n" + call, "8"},
		"old message":      {"x", "Process 8 attached\n" + call, "8"},
		"older message":    {"x", "Process 8 attached - interrupt to quit\n" + call, "8"},
		"-f":               {"x", call + "strace: Process 9 attached\n[pid 9] " + call + "[pid 8] " + call, "8"},
		"-f -q":            {"x", call + "1700000000.2 fork() = 9\n[pid 9] " + call + "[pid 8] " + call, "8"},
		"-f -q, unordered": {"x", call + "1700000000.2 fork( <unfinished ...>\n[pid 9] " + call + "[pid 8] 1700000000.3 <... fork resumed>) = 9\n", "8"},
		"other ended":      {"x", "strace: Process 8 attached with 2 threads\n[pid 9] " + call + "[pid 9] 1700000000.2 +++ exited with 0 +++\n1700000001.5 pause() = ?\n", "9"},
		"interrupted":      {"x", "strace: Process 8 attached\n1700000000.1 clone(flags=1strace: Process 9 attached\n, 5) = 9\n[pid 9] " + call, "8"},
	} {
		tables := ingesttest.MustRead(t, c.file, []byte(c.text))
		threads := tables.Rows("thread", "tid")
		if len(threads) < 2 || threads[1] != c.want {
			t.Errorf("%s: threads %v, want %s first", name, threads, c.want)
		}
		for _, stat := range tables.Rows("stats", "name") {
			if stat != "unread_event" {
				t.Errorf("%s: %s", name, stat)
			}
		}
	}
}

// TestTimes checks the times of two calls.
func TestTimes(t *testing.T) {
	for _, c := range []struct{ first, second, want string }{
		{"1700000000", "1700000001", "1700000000000000000 1700000001000000000"},
		{"1700000000.123", "1700000001.5", "1700000000123000000 1700000001500000000"},
		{"1700000000.123456789", "1700000001.000000001", "1700000000123456789 1700000001000000001"},
		{"23:59:59.5", "00:00:01.5", "86399500000000 86401500000000"},
		{"10:00:00 (+     0.000000)", "10:00:00 (+     0.000433)", "36000000000000 36000000433000"},
		{"1700000000.123456 (+     0.000000)", "1700000000.123956 (+     0.000500)", "1700000000123456000 1700000000123956000"},
		{"     0.000000", "     0.000433", "0 433000"},
		{"     0.000000000", "     1.000000433", "0 1000000433"},
		{"     0", "     2", "0 2000000000"},
	} {
		for _, prefix := range []string{"", "9 "} {
			tables := ingesttest.MustRead(t, "x", []byte(prefix+c.first+" a() = 0\n"+prefix+c.second+" b() = 0\n"))
			if got := strings.Join(tables.Rows("slice", "ts"), " "); got != c.want {
				t.Errorf("%s%s, %s: %s, want %s", prefix, c.first, c.second, got, c.want)
			}
			tables.Want(t, "stats", "name")
		}
	}
}

// TestEnds checks calls that do not return.
func TestEnds(t *testing.T) {
	tables := ingesttest.MustRead(t, "x", []byte(`5 1700000000.1 futex(0x1, FUTEX_WAIT <unfinished ...>
6 1700000000.2 pause( <unfinished ...>
7 1700000000.3 read(0,  <detached ...>
8 1700000000.4 execve("/bin/a", [] <unfinished ...>
6 1700000000.5 +++ killed by SIGKILL (core dumped) +++
5 1700000000.6 +++ superseded by execve in pid 8 +++
5 1700000000.7 <... execve resumed>) = 0 <0.300000>
9 1700000000.8 exit_group(0 <unfinished ...>) = ?
9 1700000000.9 <... wait4 resumed>) = 3 <0.250000>
9 1700000001.1 a("x) = 5 \"y", 3</tmp/b) = 1>, 4<TCP:[1:2->3:4 ")"]>) = 3</a (b) = 3>
9 1700000001.2 write(1, "x <unfinished ...>", 9) = -1 EAGAIN (Resource temporarily unavailable) (INJECTED) <1>
`))
	tables.Want(t, "slice", "ts|dur|name", "1700000000100000000|500000000|futex", "1700000000200000000|300000000|pause",
		"1700000000300000000|-1|read", "1700000000400000000|300000000|execve", "1700000000650000000|250000000|wait4",
		"1700000000800000000|0|exit_group", "1700000001100000000|0|a", "1700000001200000000|1000000000|write")
	tables.Want(t, "args", "string_value", "NULL", "0x1, FUTEX_WAIT", "NULL", "NULL", "NULL", `"/bin/a", []`, "0", "NULL", "3", "0", "?",
		`"x) = 5 \"y", 3</tmp/b) = 1>, 4<TCP:[1:2->3:4 ")"]>`, "3</a (b) = 3>", `1, "x <unfinished ...>", 9`,
		"-1 EAGAIN (Resource temporarily unavailable) (INJECTED)", "2 exit lines are not read", "0")
}

// TestCoarseTimes checks that calls of a thread follow each other where times are less precise than durations.
func TestCoarseTimes(t *testing.T) {
	tables := ingesttest.MustRead(t, "x", []byte("9 10:00:00 a() = 0 <0.5>\n9 10:00:00 b() = 0 <0.25>\n9 10:00:01 c() = 0 <0.25>\n9 10:00:01 d() = 0\n"))
	tables.Want(t, "slice", "ts|dur|name|depth", "36000000000000|500000000|a|0", "36000500000000|250000000|b|0", "36001000000000|250000000|c|0",
		"36001250000000|0|d|0")
}

// TestSetBack checks that calls stay where the clock was set back.
func TestSetBack(t *testing.T) {
	tables := ingesttest.MustRead(t, "x", []byte("9 1700000000.5 a() = 0 <0.5>\n9 1700000000.2 b() = 0 <0.4>\n"))
	tables.Want(t, "slice", "ts|dur|name", "1700000000200000000|400000000|b", "1700000000500000000|500000000|a")
	tables.Want(t, "stats", "name|value", "slice_spill_overlapping_complete_event|1")
}

// TestUnsupported checks that the error names the options to record with.
func TestUnsupported(t *testing.T) {
	const options = "record with strace -f -ttt -T"
	for name, text := range map[string]string{
		"no times":         "execve(\"./a\", [], 0x7 /* 9 vars */) = 0\n",
		"threads":          "5 restart_syscall(<... resuming interrupted restart_syscall ...> <unfinished ...>\n6     read(3, <unfinished ...>\n",
		"times later":      "strace: Process 5 attached\nread(3, 4) = 5\nread(3, 4) = 5\n5 1700000000.1 read(3, 4) = 0\n",
		"-c":               "% time     seconds  usecs/call     calls    errors syscall\n------ ----------- ----------- --------- --------- ----------------\n",
		"-ff -r: out.1234": "     0.000000 execve(\"./a\", []) = 0\n",
	} {
		_, file, _ := strings.Cut(name, ": ")
		_, err := ingesttest.Read(t, ingesttest.File{Name: file, Reader: strings.NewReader(text)})
		if !errors.Is(err, format.ErrUnsupported) || !strings.Contains(err.Error(), options) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestSniff checks that other texts are not taken for strace's.
func TestSniff(t *testing.T) {
	for _, text := range []string{
		"", "\n", "strace: Process 5 attached\n", "[pid 5] hello\n", "1700000000.1 hello (world) is = 5\n", "12:00:01 INFO main(x)\n", "read(3, 4) = 5\n",
		"perf 1234 1700000000.123456: cycles: \n", "          <idle>-0     [001] d..2  1.000000: sched_switch: prev_comm=a\n", "main;foo(x) 3\n",
		"12:00:01 --- a heading ---\n", "5 1700000000.1 9abc(3) = 4\n",
	} {
		if f := ingest.Detect([]byte(text)); f != nil && f.Name == "strace" {
			t.Errorf("%q is strace", text)
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

func FuzzStrace(f *testing.F) {
	f.Add([]byte(log))
	f.Add([]byte("1700000000 read(3) = 3\n--- SIGCHLD ---\n14:32:01 read(3) = 3\n"))
	f.Add([]byte("     0.1 read(3, <unfinished ...>\n > /a(b+0x1) [0x2] c.c:3\nstrace: Process 5 attached\n[pid 5] 0.2 [ 1] gettid() = 5 <0.1>\n"))
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
