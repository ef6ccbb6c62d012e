package logcat_test

import (
	"bytes"
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

// TestCarriageReturns checks that a carriage return stays part of the message,
// as in Trace Processor.
func TestCarriageReturns(t *testing.T) {
	tables := ingesttest.MustRead(t, "logcat.txt", []byte(strings.ReplaceAll(log, "\n", "\r\n")))
	tables.Want(t, "android_logs", "tag|msg", "auditd|type=2000 audit(0.0:1)\r", "WindowManager|a: message\r",
		"NULL|a line without a tag\r", "wm:on:stop|text\r")
	tables.Want(t, "stats", "name")
}

func TestTruncatedAnywhere(t *testing.T) {
	first := strings.Index(log, "\n06") + 1
	for n := first + strings.IndexByte(log[first:], '\n') + 1; n < len(log); n++ {
		tables := ingesttest.MustRead(t, "logcat.txt", []byte(log[:n]))
		var wanted []string
		if log[n-1] != '\n' {
			wanted = append(wanted, "truncated_input|1")
		}
		tables.Want(t, "stats", "name|value", wanted...)
	}
}

func FuzzLogcat(f *testing.F) {
	f.Add([]byte(log))
	f.Add([]byte("07-28 14:25:13.506  root     0     0 I x86/fpu : Supporting XSAVE\n"))
	fuzz.Run(f, func(t *testing.T, data []byte) {
		if detected := ingest.Detect(data); detected == nil || detected.Name != "android_logcat" {
			return
		}
		_, err := ingesttest.Read(t, ingesttest.File{Name: "fuzz", Reader: bytes.NewReader(data)})
		if err != nil && !format.BadInput(err) {
			t.Fatal(err)
		}
	})
}
