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
	selfValues  = "SELECT f.name || ' ' || metric || ' ' || CAST(round(sum(value)) AS INT) FROM _stack_value JOIN stack_profile_callsite AS c ON c.id = callsite_id JOIN _frame_function AS f USING (frame_id) WHERE metric <> 'calls' GROUP BY f.name, metric ORDER BY place, sum(value) DESC, f.name LIMIT 4"
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
	{"native/json-sort-index-text.json", "SELECT int_value FROM args WHERE key = 'thread_sort_index_hint'", "2"},
	{"native/json-sort-index-text.json", "SELECT sum(value) FROM stats WHERE name = 'json_parser_failure'", "0"},
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
	{"native/logcat-studio.txt", messages, "2 1737718756533000000"},
	{"native/logcat-studio_old.txt", messages, "2 1548329956533000000"},
	{"native/logcat-zone.txt", messages, "2 1707338152123000000"},
	{"native/strace-T.txt", "SELECT name || ' ' || dur || ' ' || extract_arg(arg_set_id, 'ret') FROM slice ORDER BY ts LIMIT 1", "execve 173000 0"},
	{"native/strace-relative.txt", "SELECT ts FROM slice ORDER BY ts LIMIT 3", "0\n433000\n5461000"},
	{"native/strace-f-tt.txt", "SELECT ts || ' ' || name FROM slice ORDER BY ts LIMIT 2", "67072456140000 execve\n67072456391000 brk"},
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
	{"tools/pyspy-0.4.3.speedscope.json", selfValues, "work time 2930000000\nsmall time 810000000\ntiny time 180000000\nsmall.<locals>.<lambda> time 120000000"},
	{"tools/pyspy-like.speedscope.json", selfValues, "work time 1370000000\nio time 630000000"},
	{"tools/pyspy-two-threads.speedscope.json", "SELECT CAST(round(sum(value)) AS INT) FROM _stack_value", "2620000000"},
	{"tools/epoch.json", "SELECT sum(value) FROM _stack_value", "500000000.000000"},
	{"tools/frac.json", "SELECT sum(value) FROM _stack_value", "250001.500000"},
	{"tools/node20-big-deltas.cpuprofile", selfValues, "spin time 892586000\n(idle) time 695096000\nfill time 248557000\nprocessChunkSync time 168147000"},
	{"tools/long-delta.cpuprofile", selfValues, "slow time 9000000\nfast time 1200000\n(idle) time 200000\nfast samples 3"},
	{"tools/xdebug-negative.callgrind", selfValues, "{main} Time 1000\nfoo Time 100\nphp::strlen Time 50\n{main} Memory 1000"},
	{"tools/xdebug-negative.callgrind", "SELECT sum(value) FROM _stack_value WHERE metric = 'Memory'", "1200.000000"},
	{"tools/diff.folded", selfValues, "rest_init_[k] before 10\nbar_[i] before 3\nrest_init_[k] after 12\nbar_[i] after 1"},
	{"tools/go-mutex-debug1.txt", "SELECT metric || ' ' || CAST(sum(value) AS INT) FROM _stack_value GROUP BY metric", "contentions 80\ndelay 313180395"},
	{"tools/threadcreate.txt", "SELECT metric || ' ' || CAST(sum(value) AS INT) FROM _stack_value GROUP BY metric", "threadcreate 4"},
	{"tools/go-heap-debug1.txt", "SELECT count(DISTINCT name) FROM stack_profile_symbol WHERE name GLOB 'main.alloc*'", "2"},
	{"tools/jdk25-cpu-time.jfr", "SELECT value FROM stats WHERE name = 'jfr_samples_lost'", "33"},
	{"tools/jdk25-cpu-time.jfr", "SELECT DISTINCT metric FROM _stack_value WHERE kind = 'samples' ORDER BY place LIMIT 1", "jdk.CPUTimeSample"},
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
