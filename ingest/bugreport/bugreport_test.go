package bugreport_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/tpconvert/tpconvert/ingest"
	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
	"github.com/tpconvert/tpconvert/internal/fuzz"
	"github.com/tpconvert/tpconvert/internal/tracecase"
)

// member is a file of a report, modified this many minutes after midnight.
type member struct {
	name    string
	minutes int
	data    string
}

func zipped(t *testing.T, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, m := range members {
		modified := time.Date(2021, 8, 24, 0, m.minutes, 0, 0, time.UTC)
		f, err := w.CreateHeader(&zip.FileHeader{Name: m.name, Method: zip.Deflate, Modified: modified})
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(f, m.data)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const (
	textName = "bugreport-crosshatch-SPB5.210812.002-2021-08-24-23-35-40.txt"
	// text comes from a device nine hours ahead of UTC.
	text = `------ SYSTEM LOG (logcat -v threadtime -v printable -v uid -d *:v) ------
08-24 23:30:10.123  1000  1702  2395 D Window: in both
08-24 23:30:10.123  1000  1702  2395 D Window: in both
08-24 23:30:11.000  1000  1702  2395 D Window: in the text
` + zone + `------ CHECKIN BATTERYSTATS (dumpsys batterystats -c) ------
9,0,i,vers,36,214,A,B
9,h,0:RESET:TIME:1629815410000
9,h,5,+S
`
	zone = `------ DUMPSYS (/system/bin/dumpsys) ------
DUMP OF SERVICE alarm:
  nowRTC=1629815740500=2021-08-24 23:35:40.500 nowELAPSED=403532
`
	// older is the log file that was rotated out, latest the current one.
	older = `--------- beginning of main
08-24 23:30:09.000100  1702  2395 D Window: only in the log
08-24 23:30:10.123456  1702  2395 D Window: in both
`
	latest = `08-24 23:30:10.123999  1702  2395 D Window: in both
08-24 23:30:10.123999  1702  2395 D Window: in both
08-24 23:31:00.5  1702  2395 D Window: after the text
`
)

func TestLogs(t *testing.T) {
	tables := ingesttest.MustRead(t, "report.zip", zipped(t,
		member{"version.txt", 0, "2.0\n"},
		member{"FS/data/misc/logd/logcat", 60, latest},
		member{textName, 60, text},
		member{"FS/data/misc/logd/logcat.01", 30, older},
		member{"FS/data/misc/logd/logcat.id", 0, "no log"},
		member{"FS/.hidden", 0, "as others\n"}))
	// Each message of the text is left out of the log once.
	tables.Want(t, "android_logs", "ts|msg",
		"1629815409000100000|only in the log", "1629815410123000000|in both", "1629815410123000000|in both", "1629815410123999000|in both",
		"1629815411000000000|in the text", "1629815460500000000|after the text")
	tables.Want(t, "counter", "ts|value", "1629815410005000000|1", "1629815410005000000|2")
	tables.Want(t, "trace_file", "name|trace_type|parent_id|processing_order|is_container",
		"report.zip|zip|NULL|0|true", "NULL|unknown|0|NULL|false", textName+"|android_dumpstate|0|1|false",
		"version.txt|unknown|0|NULL|false", "FS/data/misc/logd/logcat|android_logcat|0|3|false", "FS/.hidden|unknown|0|NULL|false",
		"FS/data/misc/logd/logcat.01|android_logcat|0|2|false", "FS/data/misc/logd/logcat.id|unknown|0|NULL|false")
	tables.Want(t, "stats", "name|value|description", "unread_fact|3|bug report files are not read")
	if clock := tables.Rows("metadata", "name", "int_value"); !slices.Contains(clock, "trace_time_clock_id|1") {
		t.Errorf("metadata: %v", clock)
	}
}

// trace returns a Perfetto trace of a boot at a time in s, with an event 1 s after it.
func trace(t *testing.T, name string, boot int64) string {
	t.Helper()
	_, data, err := tracecase.Trace(&txtar.File{Name: "trace.textproto", Data: fmt.Appendf(nil, `
		packet { clock_snapshot {
			clocks { clock_id: 6 timestamp: 1000000000 } clocks { clock_id: 3 timestamp: 1000000000 }
			clocks { clock_id: 1 timestamp: %d000000000 }
		} }
		packet { timestamp: 1000000000 trusted_packet_sequence_id: 1 track_event { type: TYPE_INSTANT track_uuid: 7 name: %q } }`, boot+1, name)})
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestTraces checks that a report's traces are on its timeline, wherever in the archive
// they are, including traces of an earlier boot.
// The section with the names of events is no log.
func TestEventLogTags(t *testing.T) {
	tags := "------ EVENT LOG TAGS (/etc/event-log-tags: 2009-01-01 00:00:00) ------\n42 answer (to life the universe etc|3)\n314 pi\n"
	title := "========================================================\n== dumpstate: 2021-08-24 23:35:40\n"
	tables := ingesttest.MustRead(t, "dumpstate.txt", []byte(title+text+tags))
	tables.Want(t, "android_logs", "msg", "in both", "in both", "in the text")
	tables.Want(t, "stats", "name")
}

func TestTraces(t *testing.T) {
	const systrace = "# tracer: nop\n#\n  app-100 (  100) [001] ...1  2.000000: tracing_mark_write: B|100|systrace\n"
	tables := ingesttest.MustRead(t, "report.zip", zipped(t,
		member{"systrace.txt", 0, systrace},
		member{"FS/data/misc/perfetto-traces/bugreport/trace", 0, trace(t, "this boot", 1629815400)},
		member{"FS/data/misc/perfetto-traces/old.pftrace", 0, trace(t, "earlier", 1629000000)},
		member{"proto/activity.proto", 0, trace(t, "no trace", 1)},
		member{textName, 0, text}))
	tables.Want(t, "slice", "name|ts", "earlier|1629000001000000000", "this boot|1629815401000000000", "systrace|1629815402000000000")
	tables.Want(t, "stats", "name|description", "clock_sync_cache_miss|Conversions of times that needed a search for the clock snapshot.", "unread_fact|bug report file is not read")
}

func TestReportsThatLackParts(t *testing.T) {
	cases := map[string]struct {
		members  []member
		messages []string // ts|msg
		stats    []string // name
	}{
		"no time zone: times are taken for UTC": {
			[]member{{textName, 0, strings.Replace(text, zone, "", 1)}, {"FS/data/misc/logd/logcat", 0, latest}},
			[]string{"1629847810123000000|in both", "1629847810123000000|in both", "1629847811000000000|in the text", "1629847860500000000|after the text"}, nil,
		},
		"an offset that no zone has": {
			[]member{{textName, 0, strings.Replace(text, "nowRTC=1629", "nowRTC=1529", 1)}},
			[]string{"1629847810123000000|in both", "1629847810123000000|in both", "1629847811000000000|in the text"}, nil,
		},
		"files of the log of one second": {
			[]member{{textName, 0, ""}, {"FS/data/misc/logd/logcat.01", 0, older}, {"FS/data/misc/logd/logcat", 0, latest}},
			[]string{"1629847809000100000|only in the log", "1629847810123456000|in both", "1629847810123999000|in both", "1629847810123999000|in both",
				"1629847860500000000|after the text"}, nil,
		},
		"an empty log": {
			[]member{{textName, 0, text}, {"FS/data/misc/logd/logcat", 0, ""}},
			[]string{"1629815410123000000|in both", "1629815410123000000|in both", "1629815411000000000|in the text"}, nil,
		},
		"a trace that is none": {
			[]member{{textName, 0, text}, {"FS/data/misc/perfetto-traces/empty.pftrace", 0, ""}},
			[]string{"1629815410123000000|in both", "1629815410123000000|in both", "1629815411000000000|in the text"}, []string{"unread_archive_member"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			tables := ingesttest.MustRead(t, "report.zip", zipped(t, c.members...))
			tables.Want(t, "android_logs", "ts|msg", c.messages...)
			tables.Want(t, "stats", "name", c.stats...)
		})
	}
}

// adb bugreport on Windows writes \r\n.
func TestCarriageReturns(t *testing.T) {
	report := "========================================================\n== dumpstate: 2021-08-24 23:35:40\n" + text
	want := ingesttest.MustRead(t, "report.txt", []byte(report))
	got := ingesttest.MustRead(t, "report.txt", []byte(strings.ReplaceAll(report, "\n", "\r\n")))
	for table, columns := range map[string]string{"android_dumpstate": "section|service|line", "android_logs": "ts|tag|msg", "counter": "ts|value"} {
		rows := want.Rows(table, strings.Split(columns, "|")...)
		if len(rows) == 0 {
			t.Errorf("%s: no rows", table)
		}
		got.Want(t, table, columns, rows...)
	}
	got.Want(t, "stats", "name")
}

// TestOtherArchives checks that members of other archives are read by their first bytes.
func TestOtherArchives(t *testing.T) {
	const title = "========================================================\n== dumpstate: 2021-08-24 23:35:40\n"
	for _, name := range []string{"report/" + textName, "bugreport.txt", "bugreport-crosshatch-SPB5-xxxx-08-24-23-35-40.txt", "dumpstate.txt"} {
		tables := ingesttest.MustRead(t, "x.zip", zipped(t, member{name, 0, title + text}, member{"zlog", 0, latest}))
		if files := tables.Rows("trace_file", "name", "trace_type", "processing_order"); !slices.Equal(files,
			[]string{"x.zip|zip|0", name + "|android_dumpstate|1", "zlog|android_logcat|2"}) {
			t.Errorf("%s: %q", name, files)
		}
		// The time zone applies to all messages, and no message is left out.
		if logs := tables.Rows("android_logs", "ts"); len(logs) != 6 || logs[5] != "1629815460500000000" {
			t.Errorf("%s: %q", name, logs)
		}
	}
}

func TestInTar(t *testing.T) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, m := range []member{{textName, 0, text}, {"FS/data/misc/logd/logcat", 0, older}} {
		if err := w.WriteHeader(&tar.Header{Name: m.name, Size: int64(len(m.data)), Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, m.data)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	ingesttest.MustRead(t, "report.tar", b.Bytes()).Want(t, "android_logs", "msg", "only in the log", "in both", "in both", "in the text")
}

func FuzzDumpstate(f *testing.F) {
	f.Add([]byte("========================================================\n== dumpstate: 2021-08-24 23:35:40\n" + text))
	f.Add([]byte("9,0,i,vers,36,214,A,B\n9,hsp,0,10216,\"a\"\n9,h,0:TIME:1000\n9,h,10,+w=0,Bl=1,Bs=d,Pcn=lte,Etp=0,-S\n9,h,10,-w=0\n"))
	fuzz.Run(f, func(t *testing.T, data []byte) {
		if detected := ingest.Detect(data); detected == nil || detected.Name != "android_dumpstate" {
			return
		}
		_, err := ingesttest.Read(t, ingesttest.File{Name: "fuzz", Reader: bytes.NewReader(data)})
		if err != nil && !format.BadInput(err) {
			t.Fatal(err)
		}
	})
}
