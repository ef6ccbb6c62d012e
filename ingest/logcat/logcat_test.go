package logcat_test

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

const log = `--------- beginning of main
06-24 23:10:00.123  1702  2395 D WindowManager: a: message
06-24 23:10:00.000000001     1     1 W auditd  : type=2000 audit(0.0:1)
2023-06-24 16:24:23.4 23153 23153 I wm:on:stop: text
06-24 23:10:01.278     0     0 X a line without a tag
--------- switch to kernel
`

func TestMessages(t *testing.T) {
	tables := ingesttest.MustRead(t, "logcat.txt", []byte(log))
	tables.Want(t, "android_logs", "ts|utid|prio|tag|msg|log_source",
		"15117000000000001|1|5|auditd|type=2000 audit(0.0:1)|android_logcat",
		"15117000123000000|3|3|WindowManager|a: message|android_logcat",
		"15117001278000000|4|0|NULL|a line without a tag|android_logcat",
		"1687623863400000000|5|4|wm:on:stop|text|android_logcat")
	tables.Want(t, "thread", "tid|upid|is_main_thread", "0|0|true", "1|1|true", "1702|2|true", "2395|2|false", "0|3|true", "23153|4|true")
	if clock := tables.Rows("metadata", "name", "int_value"); !slices.Contains(clock, "trace_time_clock_id|1") {
		t.Errorf("metadata: %v", clock)
	}
	tables.Want(t, "stats", "name")
}

func TestUsers(t *testing.T) {
	tables := ingesttest.MustRead(t, "logcat.txt", []byte(`07-28 14:25:13.506  root     0     0 I x86/fpu : Supporting XSAVE
07-28 14:25:13.506  1000     7     8 I tag: text
`))
	tables.Want(t, "android_logs", "utid|tag|msg", "1|x86/fpu|Supporting XSAVE", "3|tag|text")
	tables.Want(t, "thread", "tid", "0", "0", "7", "8")
}

func TestOtherLines(t *testing.T) {
	for line, want := range map[string]string{
		"short":                                 "",
		"":                                      "",
		"06-24 23:10:00.123  1702  2395 D a: b": "",
		"06-24 23:10:00.123  1702  2395 Da: message":    "android_log_num_failed",
		"06-24 23:10:00.123  1702  23x5 D a: message":   "android_log_num_failed",
		"06-24 23:10:00.123  1702  99999999999 D a: b":  "android_log_num_failed",
		"06-24 23:10:00.123 18446744073709551617 1 D a": "android_log_num_failed",
		"06-24 23:10:00.123\t1702\t2395\tD\ta: message": "android_log_num_failed",
		"06-24 23:10:00.99999999999  1702  1 D a: b":    "android_log_num_failed",
		"999999999-06-24 23:10:00.123  1702  1 D a: b":  "android_log_num_failed",
		"06-24 23:10:00.123  1702 \x00\xff\xfe\x01 D a": "android_log_num_failed",
		"a stack trace that goes on for a few words":    "android_log_num_failed",
	} {
		tables := ingesttest.MustRead(t, "logcat.txt", []byte(log+line+"\n"))
		var wanted []string
		if want != "" {
			wanted = append(wanted, want+"|1")
		}
		tables.Want(t, "stats", "name|value", wanted...)
	}
}

// TestCases compares all formats, see testdata/cases.
func TestCases(t *testing.T) { ingesttest.Cases(t, "logcat/*") }

// TestCarriageReturns checks that the line ends of Windows and of old terminals are no part of the messages. In other
// texts, a carriage return is one.
func TestCarriageReturns(t *testing.T) {
	for _, end := range []string{"\r\n", "\r\r\n"} {
		tables := ingesttest.MustRead(t, "logcat.txt", []byte(strings.ReplaceAll(log, "\n", end)))
		tables.Want(t, "android_logs", "tag|msg", "auditd|type=2000 audit(0.0:1)", "WindowManager|a: message",
			"NULL|a line without a tag", "wm:on:stop|text")
		tables.Want(t, "stats", "name")
	}
	tables := ingesttest.MustRead(t, "logcat.txt", []byte("06-24 23:10:00.123  1702  2395 D a: b\n06-24 23:10:00.124  1702  2395 D a: c\r\n"))
	tables.Want(t, "android_logs", "msg", "b", "c\r")
}

// TestFormats checks a message in each format.
func TestFormats(t *testing.T) {
	for line, want := range map[string]string{
		"2024-02-07 15:35:52.123456789 +0530  1585  1590 I a: b":           "1707300352123456789|2|4|a|b",
		"02-07 20:35:52.123 +0000  1585  1590 I a: b":                      "3270952123000000|2|4|a|b",
		"02-07 15:35:52.123 I/a (b)  ( 1585): (2): c":                      "3252952123000000|1|4|a (b)|(2): c",
		"02-07 15:35:52.123 I/a       (root: 1585): b":                     "3252952123000000|1|4|a|b",
		"02-07 15:35:52.123 I/a       ( 1585): ":                           "3252952123000000|1|4|a|",
		"1707320152.123456  1000  1585  1590 I a: b":                       "1707320152123456000|2|4|a|b",
		"                 12.123  1585  1590 I a: b":                       "12123000000|2|4|a|b",
		"    12.123  1585  1590 I a: b":                                    "12123000000|2|4|a|b",
		"[ 02-07 15:35:52.123  root: 1585: 1590 S/a: b ]\nc\n":             "3252952123000000|2|8|a: b|c",
		"2025-01-24 11:39:16.533  1585-1590  a I  b   pid-1585    A  c  d": "1737718756533000000|2|7|a I  b|c  d",
	} {
		tables := ingesttest.MustRead(t, "logcat.txt", []byte(line+"\n"))
		tables.Want(t, "android_logs", "ts|utid|prio|tag|msg", want)
		tables.Want(t, "stats", "name")
	}
}

// TestLines checks messages of several lines.
func TestLines(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"long":       {"[ 02-07 15:35:52.123  1: 2 I/a ]\nb\n\n  c\n\n--------- beginning of crash\n[ 02-07 15:35:52.124  1: 2 I/a ]\nd\n\n", []string{"a|b\n\n  c", "a|d"}},
		"colors":     {"\x1b[38;5;40m[ 02-07 15:35:52.123  1: 2 I/a ]\nb\x1b[0m\n\n", []string{"a|b"}},
		"studio":     {"2025-01-24 11:39:16.533  1-2  a   b   E  c\n" + strings.Repeat(" ", 41) + "  d\n  e\n", []string{"a|c\n  d\ne"}},
		"old studio": {"2019-01-24 11:39:16.533 1-2/? E/a: c\n    \tat d\n2019-01-24 11:39:16.534 1-2/? E/a: e\n", []string{"a|c\n\tat d", "a|e"}},
	} {
		tables := ingesttest.MustRead(t, "logcat.txt", []byte(c.text))
		if got := tables.Rows("android_logs", "tag", "msg"); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		tables.Want(t, "stats", "name")
	}
}

// TestEncodings checks logs that Windows saved: with a byte order mark, and as UTF-16.
func TestEncodings(t *testing.T) {
	const text = "--------- beginning of main\r\n02-07 15:35:52.123  1585  1590 I a: b\r\n"
	wide := []byte{0xff, 0xfe}
	for _, c := range []byte(text) {
		wide = append(wide, c, 0)
	}
	for name, data := range map[string][]byte{"mark": []byte("\ufeff" + text), "UTF-16": wide} {
		tables := ingesttest.MustRead(t, name, data)
		tables.Want(t, "android_logs", "ts|tag|msg", "3252952123000000|a|b")
		tables.Want(t, "stats", "name")
	}
}

// TestNewYear checks dates without a year around the end of one.
func TestNewYear(t *testing.T) {
	tables := ingesttest.MustRead(t, "logcat.txt", []byte("12-31 23:59:59.000  1  1 I a: b\n01-01 00:00:01.000  1  1 I a: c\n12-31 23:59:59.500  1  1 I a: d\n"))
	tables.Want(t, "android_logs", "ts|msg", "31535999000000000|b", "31535999500000000|d", "31536001000000000|c")
}

// TestUnsupported checks that the error names the options to record with.
func TestUnsupported(t *testing.T) {
	for name, text := range map[string]string{
		"-v brief":   "--------- beginning of main\nI/ActivityManager( 1585): hello\n",
		"-v tag":     "--------- beginning of main\nI/ActivityManager: hello\n",
		"-v process": "I( 1585) hello  (ActivityManager)\n",
		"-v thread":  "I( 1585: 1590) hello\n",
		"no message": "--------- beginning of main\nhello\n",
	} {
		_, err := ingesttest.Read(t, ingesttest.File{Name: "x", Reader: strings.NewReader(text)})
		if !errors.Is(err, format.ErrUnsupported) || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "record with adb logcat") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestStudio checks the JSON that Android Studio exports.
func TestStudio(t *testing.T) {
	const start = `{"metadata": {"device": {"name": "x"}, "filter": ""}, "logcatMessages": [`
	tables := ingesttest.MustRead(t, "a.logcat", []byte(start+`
{"header": {"logLevel": "ASSERT", "pid": 2356, "tid": 3024, "applicationId": "com.a", "processName": "com.a:b", "tag": "t", "timestamp": {"seconds": 1763666436, "nanos": 422000000}}, "message": "a\u003db\nc"},
{"header": {"logLevel": "INFO", "pid": 1, "tid": 1, "tag": "t", "timestamp": {}}, "message": "no time"}, 7]}`))
	tables.Want(t, "android_logs", "ts|prio|tag|msg", "1763666436422000000|7|t|a=b\nc")
	tables.Want(t, "process", "pid|name", "0|NULL", "2356|com.a:b")
	tables.Want(t, "stats", "name|value", "android_log_num_failed|2", "unread_fact|1")
	for _, text := range []string{start + `{"header"`, start[:20], start + "]"} {
		if _, err := ingesttest.Read(t, ingesttest.File{Name: "x", Reader: strings.NewReader(text)}); err != nil && !format.BadInput(err) && !errors.Is(err, format.ErrUnknown) {
			t.Errorf("%s: error %v", text, err)
		}
	}
}

// TestHeads checks what comes before the first message: lines of adb, and the end of one that is cut off.
func TestHeads(t *testing.T) {
	for head, want := range map[string]string{
		"adb server is out of date.  killing...\n* daemon started successfully *\n":                           "",
		"adb server version (41) doesn't match this client (39); killing...\n* daemon started successfully\n": "",
		"< waiting for any device >\n--------- beginning of main\n":                                           "",
		"amera: <PPROC >< INFO> 2378: input buf fd 131\n":                                                     "android_log_format_invalid|1",
	} {
		log := head + strings.Repeat("06-24 23:10:00.123  1702  2395 D a: b\n", 3)
		if f := ingest.Detect([]byte(log)); f == nil || f.Name != "android_logcat" {
			t.Errorf("%q is not logcat", head)
			continue
		}
		tables := ingesttest.MustRead(t, "logcat.txt", []byte(log))
		tables.Want(t, "android_logs", "tag|msg", "a|b", "a|b", "a|b")
		tables.Want(t, "stats", "name|value", strings.Fields(want)...)
	}
}

// TestSniff checks that other texts are not taken for a log.
func TestSniff(t *testing.T) {
	for _, text := range []string{
		"", "\n", "* daemon started successfully\n", "2024-01-02 03:04:05.678 some words and I too\n", "2024-01-02 03:04:05,678 1 2 I a: b\n",
		"1707320152.123 a b I c\n", "12.345 1 2 i a: b\n", "I/O error: disk\n", "I(x) = 3\n", "--- a\n+++ b\n", "words\nD/a( 1): b\n",
		"words\n02-07 15:35:52.123  1585  1590 I a: b\n02-07 15:35:52.123  1585  1590 I a: b\nwords\n", "02-07 15:35:52.123  1585  1590 I a: b",
	} {
		if f := ingest.Detect([]byte(text)); f != nil && f.Name == "android_logcat" {
			t.Errorf("%q is logcat", text)
		}
	}
}

func TestTruncatedAnywhere(t *testing.T) {
	first := strings.Index(log, "\n06") + 1
	for n := first + strings.IndexByte(log[first:], '\n') + 1; n < len(log); n++ {
		tables := ingesttest.MustRead(t, "logcat.txt", []byte(log[:n]))
		if got := slices.Contains(tables.Rows("stats", "name"), "unended_line"); got != (log[n-1] != '\n') {
			t.Errorf("cut after %q: %t", log[:n], got)
		}
	}
}

func FuzzLogcat(f *testing.F) {
	f.Add([]byte(log))
	f.Add([]byte("07-28 14:25:13.506  root     0     0 I x86/fpu : Supporting XSAVE\n"))
	f.Add([]byte("\x1b[38;5;40m[ 02-07 15:35:52.123  root: 1: 2 I/a ]\x1b[0m\nb\n\n 12.123 1 2 I a: b\n02-07 15:35:52.123 +0100 I/a(1): b\n"))
	f.Add([]byte("2025-01-24 11:39:16.533  1-2  a   b   E  c\n   d\n2019-01-24 11:39:16.533 1-2/? E/a: c\n"))
	f.Add([]byte(`{"logcatMessages":[{"header":{"pid":1,"tid":2,"timestamp":{"seconds":1,"nanos":2}},"message":"a"}]}`))
	fuzz.Run(f, func(t *testing.T, data []byte) {
		if detected := ingest.Detect(data); detected == nil || !strings.Contains(detected.Name, "logcat") {
			return
		}
		_, err := ingesttest.Read(t, ingesttest.File{Name: "fuzz", Reader: bytes.NewReader(data)})
		if err != nil && !format.BadInput(err) {
			t.Fatal(err)
		}
	})
}
