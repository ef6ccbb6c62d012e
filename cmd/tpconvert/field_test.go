package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	flowNames   = "SELECT o.name || ' > ' || i.name FROM flow JOIN slice o ON o.id = slice_out JOIN slice i ON i.id = slice_in ORDER BY o.ts"
	sliceTimes  = "SELECT name || ' ' || ts || ' ' || dur FROM slice ORDER BY ts, id"
	sliceOwners = "SELECT slice.name || ' ' || pid || ' ' || tid FROM slice JOIN thread_track AS k ON k.id = track_id JOIN thread USING (utid) JOIN process USING (upid) ORDER BY slice.id"
	messages    = "SELECT count(*) || ' ' || min(ts) FROM android_logs"
)

// fieldInputs are inputs that users' files look like, and what the file itself says of them.
var fieldInputs = []struct{ file, sql, want string }{
	{"rows/bigint.json", "SELECT extract_arg(arg_set_id, 'args.big') > 5 AND extract_arg(arg_set_id, 'args.big') < 1e30 FROM slice", "1"},
	{"rows/flow_string_tid.json", flowNames, "cudaLaunchKernel > kernel"},
	{"rows/string_tid.json", "SELECT tid || ' ' || name FROM thread WHERE name IS NOT NULL", "7695 mqt_js"},
	{"rows/flow_overlap.json", flowNames, "launch85 > kernel85"},
	{"rows/flow_ended.json", "SELECT value FROM stats WHERE name = 'flow_no_enclosing_slice'", "1"},
	{"rows/flow_ended.json", flowNames, ""},
	{"rows/bbe.json", "SELECT name || ' ' || dur || ' ' || depth FROM slice WHERE name IN ('P', 'Y') ORDER BY id", "P 0 1\nY 30000 0"},
	{"rows/systrace_ts.txt", "SELECT ts || ' ' || dur FROM sched_slice ORDER BY ts LIMIT 1", "538064947000 79000"},
	{"rows/systrace_newtask_dup.html", "SELECT count(*) FROM process WHERE pid = 90", "1"},
	{"rows/systrace_js_escaped.txt", "SELECT count(*) FROM sched_slice", "2"},
	{"rows/perfscript_no_newline.txt", "SELECT count(*) FROM stack_sample", "2"},
	{"rows/bazel.json", sliceTimes, "Launch Blaze -108000000 108000000\nbuild 0 10000"},
	{"native/perf-script-no-callgraph.txt", "SELECT (SELECT count(*) FROM stack_sample) || ' ' || (SELECT max(depth) + 1 FROM stack_profile_callsite)", "40 2"},
	{"native/perf-script-events.txt", "SELECT min(ts) FROM stack_sample", "3841817698000"},
	{"native/json-tid-64bit.json", "SELECT count(DISTINCT utid) FROM thread_track", "3"},
	{"native/pyspy-chrometrace.json", "SELECT dur FROM slice WHERE name = 'work' ORDER BY 1", "1235802000\n1265822000"},
	{"native/json-tid-negative.json", sliceOwners, "a 1 -1\nb 1 4294967295\nc -5 3"},
	{"native/json-tid0-tid1.json", sliceOwners, "a 1 0\nb 1 1\nc 1 2"},
	{"native/json-text-pid-meets-real-pid.json", "SELECT count(*) FROM process WHERE name IN ('Spans', 'python')", "2"},
	{"native/json-text-tid-number.json", sliceOwners, "a 12 7\nb 12 7"},
	{"native/json-flow-id-reused.json", flowNames, "A > B\nC > D"},
	{"native/json-flow-text-id.json", flowNames, "A > B"},
	{"native/json-async-overlap.json", "SELECT dur FROM slice WHERE name = 'test1'", "3000"},
	{"native/json-bazel-launch.json", sliceTimes, "Launch Blaze -1385000000 1385000000\nbuild 0 100000"},
	{"native/json-async-S-T-F.json", "SELECT dur FROM slice WHERE name = 'a'", "8000"},
	{"native/json-bom.json", "SELECT count(*) FROM slice", "1"},
	{"native/json-utf16.json", "SELECT count(*) FROM slice", "1"},
	{"native/logcat-bom.txt", messages, "3 3252952123000000"},
	{"native/logcat-utf16.txt", messages, "3 3252952123000000"},
	{"native/logcat-color.txt", messages, "2 3252952123000000"},
	{"native/logcat-daemonhdr.txt", messages, "3 3252952123000000"},
	{"native/logcat-daemonhdr2.txt", messages, "3 3252952123000000"},
	{"native/logcat-epoch.txt", messages, "2 1707320152123000000"},
	{"native/logcat-long.txt", messages, "2 3252952123000000"},
	{"native/logcat-monotonic.txt", messages, "2 5542123000000"},
	{"native/logcat-time.txt", messages, "2 3252952123000000"},
	{"native/logcat-zone.txt", messages, "2 1707338152123000000"},
	{"native/strace-T.txt", "SELECT name || ' ' || dur || ' ' || extract_arg(arg_set_id, 'ret') FROM slice ORDER BY ts LIMIT 1", "execve 173000 0"},
	{"native/strace-relative.txt", "SELECT ts FROM slice ORDER BY ts LIMIT 3", "0\n433000\n5461000"},
	{"native/strace-i.txt", "SELECT name FROM slice ORDER BY ts LIMIT 1", "execve"},
	{"native/strace-ttt-no-f.txt", "SELECT count(DISTINCT track_id) FROM slice", "1"},
	{"native/strace-k.txt", "SELECT sum(value) FROM stats WHERE name = 'strace_parse_failure'", "0"},
	{"native/tracedat-print-char-buf.dat.xz", "SELECT name || ' ' || dur FROM slice", "hello 62680"},
	{"native/hprof-mutf8.hprof", "SELECT count(*) FROM heap_graph_class WHERE name = 'x😀'", "1"},
	{"native/systrace-cpu1024.txt", "SELECT count(*) FROM sched_slice", "2"},
	{"tools/tempo-v2-trace.json", "SELECT name FROM slice", "s"},
	{"tools/tempo-v2-trace.pb", "SELECT name FROM slice", "s"},
	{"tools/strace-one-process.txt", "SELECT count(*) FROM slice", "3"},
	{"tools/strace-text-with-paren.txt", "SELECT extract_arg(arg_set_id, 'args') || ' = ' || extract_arg(arg_set_id, 'ret') FROM slice LIMIT 1", `3, "x) = 5 y", 20 = 8`},
	{"tools/modified-utf8.hprof", "SELECT count(*) FROM heap_graph_class WHERE name = '😀Klass'", "1"},
	{"attacks/otlp_first_resource_empty.pb", "SELECT count(*) FROM slice", "3"},
	{"attacks/otlp_first_scope_empty.pb", "SELECT count(*) FROM slice", "1"},
	{"attacks/otlp_resource_66000.pb", "SELECT count(*) FROM slice", "3"},
	{"people/first_line_single.folded", "SELECT count(*) > 0 FROM stack_profile_frame", "1"},
}

// fieldRefused are inputs that cannot become tables, and what the error says.
var fieldRefused = []struct{ file, message string }{
	{"native/text-log-as-pprof.txt", "unknown format"},
	{"native/strace-as-pprof.txt", "record with strace -f -ttt -T"},
	{"native/logcat-brief.txt", "have no times"},
	{"attacks/otlp_metrics.pb", "OpenTelemetry metrics are not read"},
	{"attacks/otlp_logs.pb", "OpenTelemetry logs are not read"},
}

// TestField converts inputs like those of users, and compares rows with what the files say.
func TestField(t *testing.T) {
	t.Parallel()
	conformance := os.Getenv("CONFORMANCE")
	field, err := filepath.Abs(filepath.Join(conformance, "..", "field"))
	if err == nil {
		_, err = os.Stat(field)
	}
	if conformance == "" || err != nil {
		t.Skip("!!! NOT RUN: CONFORMANCE names no folder beside which there are inputs of users")
	}
	dir := t.TempDir()
	for _, in := range fieldInputs {
		got := tpconvert(t, dir, "-q", "query", "--perfetto", "--format", "csv", filepath.Join(field, in.file), in.sql)
		_, rows, _ := strings.Cut(got.stdout, "\n")
		lines := strings.Split(strings.TrimSuffix(rows, "\n"), "\n")
		for i, line := range lines {
			lines[i] = strings.TrimSuffix(strings.TrimPrefix(line, `"`), `"`)
		}
		if rows = strings.Join(lines, "\n"); rows != in.want {
			t.Errorf("%s: %s\ngives %q, want %q; %s", in.file, in.sql, rows, in.want, got.stderr)
		}
	}
	for _, in := range fieldRefused {
		tpconvert(t, dir, "-q", filepath.Join(field, in.file), "out").expect(t, exitBadInput, in.message)
	}
}
