//go:build cgo

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const summarized = `[{"ph":"M","pid":1,"tid":2,"name":"thread_name","args":{"name":"main"}},{"ph":"M","pid":1,"tid":2,"name":"process_name","args":{"name":"app"}},
{"ph":"X","pid":1,"tid":2,"ts":10,"dur":50,"name":"work"},{"ph":"X","pid":1,"tid":2,"ts":20,"dur":20,"name":"part"},
{"ph":"X","pid":1,"tid":2,"ts":45,"dur":10,"name":"part"},{"ph":"X","pid":1,"tid":3,"ts":45,"dur":7,"name":"other"}]`

// spec returns a spec with shared queries and one metric, whose query begins with its source.
func spec(metric string) string {
	return `query { id: "base" table { table_name: "slice" }
  select_columns { column_name_or_expression: "id" } select_columns { column_name_or_expression: "ts" } select_columns { column_name_or_expression: "dur" }
  select_columns { column_name: "name" alias: "slice_name" } select_columns { column_name_or_expression: "track_id" } }
query { id: "tracks" table { table_name: "thread_track" } select_columns { column_name_or_expression: "id" alias: "tid" } select_columns { column_name_or_expression: "utid" } }
metric_spec { id: "m" ` + metric + ` }`
}

// TestMetricQueries computes a metric from each kind of query. The rows are those of Trace Processor v58.
func TestMetricQueries(t *testing.T) {
	dir := dataset(t, summarized)
	tests := []struct{ metric, want string }{
		{`dimensions: "slice_name" value: "n" query { inner_query_id: "base" filters { column_name: "slice_name" op: GLOB string_rhs: "w*" string_rhs: "o*" }
			filters { column_name: "dur" op: GREATER_THAN double_rhs: 7000.5 } group_by { column_names: "slice_name" aggregates { op: COUNT result_column_name: "n" } } }`,
			"slice_name,n\nwork,1.0\n"},
		{`dimensions: "track_id" value: "p" query { inner_query_id: "base" order_by { ordering_specs { column_name: "track_id" } }
			group_by { column_names: "track_id" aggregates { column_name: "dur" op: PERCENTILE percentile: 90.5 result_column_name: "p" } } }`,
			"track_id,p\n0,44300.0\n1,7000.0\n"},
		{`dimensions: "track_id" value: "w" query { inner_query_id: "base" order_by { ordering_specs { column_name: "track_id" } }
			group_by { column_names: "track_id" aggregates { column_name: "ts" op: DURATION_WEIGHTED_MEAN result_column_name: "w" } } }`,
			"track_id,w\n0,16875.0\n1,45000.0\n"},
		{`dimensions: "tracks" value: "med" query { inner_query_id: "base" filters { column_name: "slice_name" op: IS_NOT_NULL }
			group_by { column_names: "track_id" aggregates { column_name: "dur" op: MEDIAN result_column_name: "med" }
				aggregates { column_name: "slice_name" op: COUNT_DISTINCT result_column_name: "names" } aggregates { op: CUSTOM custom_sql_expression: "sum(dur * 2)" result_column_name: "twice" } }
			select_columns { column_name_or_expression: "track_id" alias: "tracks" } select_columns { column_name_or_expression: "med" }
			order_by { ordering_specs { column_name: "track_id" direction: DESC } } limit: 5 offset: 1 }`,
			"tracks,med\n0,20000.0\n"},
		{`dimensions: "utid" dimensions: "slice_name" value: "dur" query { experimental_join { type: INNER left_query { inner_query_id: "base" } right_query { inner_query_id: "tracks" }
			equality_columns { left_column: "track_id" right_column: "tid" } } order_by { ordering_specs { column_name: "dur" direction: DESC } } limit: 2 }`,
			"utid,slice_name,dur\n2,work,50000.0\n2,part,20000.0\n"},
		{`dimensions: "utid" value: "dur" query { experimental_join { type: LEFT left_query { inner_query_id: "base" } right_query { inner_query_id: "tracks" }
			freeform_condition { left_query_alias: "l" right_query_alias: "r" sql_expression: "l.track_id = r.tid AND l.dur > 15000" } }
			group_by { column_names: "utid" aggregates { column_name: "dur" op: SUM result_column_name: "dur" } } order_by { ordering_specs { column_name: "utid" } } }`,
			"utid,dur\n,17000.0\n2,70000.0\n"},
		{`dimensions: "slice_name" value: "n" query { experimental_union { use_union_all: true queries { inner_query_id: "base" } queries { inner_query_id: "base" filters { column_name: "slice_name" op: EQUAL string_rhs: "other" } } }
			group_by { column_names: "slice_name" aggregates { op: COUNT result_column_name: "n" } } order_by { ordering_specs { column_name: "slice_name" } } }`,
			"slice_name,n\nother,2.0\npart,2.0\nwork,1.0\n"},
		{`dimensions: "utid" value: "s" query { experimental_add_columns { core_query { inner_query_id: "base" } input_query { inner_query_id: "tracks" }
			input_columns { column_name_or_expression: "utid" } equality_columns { left_column: "track_id" right_column: "tid" } }
			group_by { column_names: "utid" aggregates { column_name: "dur" op: SUM result_column_name: "s" } } order_by { ordering_specs { column_name: "utid" } } }`,
			"utid,s\n2,80000.0\n3,7000.0\n"},
		{`value: "s" query { experimental_filter_in { base { inner_query_id: "base" } match_values { inner_query_id: "tracks" filters { column_name: "utid" op: EQUAL int64_rhs: 3 } } base_column: "track_id" match_column: "tid" }
			group_by { aggregates { column_name: "dur" op: SUM result_column_name: "s" } } }`,
			"s\n7000.0\n"},
		{`value: "n" query { inner_query_id: "base" experimental_filter_group { op: OR filters { column_name: "dur" op: LESS_THAN double_rhs: 7500.5 }
			groups { op: AND filters { column_name: "track_id" op: NOT_EQUAL int64_rhs: 1 } sql_expressions: "dur > 15000" } } group_by { aggregates { op: COUNT result_column_name: "n" } } }`,
			"n\n3.0\n"},
		{`dimensions: "name" value: "n" query { sql { sql: "CREATE PERFETTO TABLE helper AS SELECT name FROM slice; SELECT name, count(*) AS n FROM helper WHERE name IN (SELECT slice_name FROM $b) GROUP BY name"
			dependencies { alias: "b" query { inner_query_id: "base" filters { column_name: "slice_name" op: EQUAL string_rhs: "part" } } } column_names: "name" column_names: "n" } }`,
			"name,n\npart,2.0\n"},
		{`dimensions: "thread_name" dimensions: "process_name" value: "n" query { simple_slices { thread_name_glob: "m*" process_name_glob: "a*" }
			group_by { column_names: "thread_name" column_names: "process_name" aggregates { op: COUNT result_column_name: "n" } } }`,
			"thread_name,process_name,n\nmain,app,3.0\n"},
		{`dimensions: "ts" value: "dur" query { experimental_time_range { mode: STATIC ts: 5 dur: 7 } }`, "ts,dur\n5,7.0\n"},
		{`value: "dur" query { experimental_time_range { mode: DYNAMIC } }`, "dur\n50000.0\n"},
		{`value: "n" query { sql { sql: "SELECT NULL AS n UNION ALL SELECT 2" } }`, "n\n2.0\n"},
	}
	for _, test := range tests {
		path := filepath.Join(dir, "spec.textproto")
		if err := os.WriteFile(path, []byte(spec(test.metric)), 0o666); err != nil {
			t.Fatal(err)
		}
		got := tpconvert(t, dir, "summarize", "--format", "csv", "spec.textproto", "out")
		got.expect(t, exitDone, "")
		if got.stdout != test.want {
			t.Errorf("%s\ngives\n%s, want\n%s", test.metric, got.stdout, test.want)
		}
	}
}

// TestSummary is a whole TraceSummary, as Trace Processor v58 writes it but for the order of fields.
func TestSummary(t *testing.T) {
	dir := dataset(t, summarized)
	const text = `metric_template_spec { id_prefix: "t" dimensions_specs { name: "utid" type: INT64 } dimension_uniqueness: UNIQUE
  value_column_specs { name: "n" unit: COUNT } value_column_specs { name: "dur" custom_unit: "ns" polarity: LOWER_IS_BETTER }
  interned_dimension_specs { key_column_spec { name: "utid" type: INT64 } data_column_specs { name: "name" type: STRING } query { table { table_name: "thread" } } }
  query { sql { sql: "SELECT utid, count(*) AS n, sum(dur) AS dur FROM slice JOIN thread_track ON slice.track_id = thread_track.id WHERE slice.name = 'part' GROUP BY utid" } } }`
	if err := os.WriteFile(filepath.Join(dir, "spec.textproto"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	const rows = `  row {
    values {
      double_value: 2
    }
    values {
      double_value: 30000
    }
    dimension {
      int64_value: 2
    }
  }
`
	const interned = `  interned_dimension_bundles {
    interned_dimension_rows {
      key_dimension_value {
        int64_value: 2
      }
      interned_dimension_values {
        string_value: "main"
      }
    }
  }
`
	got := tpconvert(t, dir, "summarize", "--format", "textproto", "spec.textproto", "out")
	got.expect(t, exitDone, "")
	for _, want := range []string{"metric_bundles {\n  bundle_id: \"t\"\n" + rows, interned, "    id: \"t_n\"\n", "    id: \"t_dur\"\n", "    custom_unit: \"ns\"\n", "    polarity: LOWER_IS_BETTER\n"} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("%s is not in\n%s", want, got.stdout)
		}
	}
	facts := text + ` query { id: "facts" sql { sql: "SELECT 'slices' AS key, '4' AS value UNION ALL SELECT 'none', NULL" } }`
	if err := os.WriteFile(filepath.Join(dir, "facts.textproto"), []byte(facts), 0o666); err != nil {
		t.Fatal(err)
	}
	got = tpconvert(t, dir, "summarize", "--format", "textproto", "--metadata-query", "facts", "facts.textproto", "out")
	got.expect(t, exitDone, "")
	if want := "metadata {\n  key: \"slices\"\n  value: \"4\"\n}\n"; !strings.HasSuffix(got.stdout, want) && !strings.HasPrefix(got.stdout, want) || strings.Contains(got.stdout, "none") {
		t.Errorf("no metadata in\n%s", got.stdout)
	}
	encoded := tpconvert(t, dir, "summarize", "--format", "proto", "spec.textproto", "out")
	encoded.expect(t, exitDone, "")
	if !strings.HasPrefix(encoded.stdout, "\x1a") || !strings.Contains(encoded.stdout, "main") {
		t.Errorf("encoded: %q", encoded.stdout)
	}
	one := tpconvert(t, dir, "summarize", "--format", "csv", "--metric", "t_dur", "spec.textproto", "a.json")
	one.expect(t, exitDone, "")
	if want := "utid,dur\n2,30000.0\n"; one.stdout != want {
		t.Errorf("got %q, want %q", one.stdout, want)
	}
}

// TestMetricsThatNeedNoFile computes the metrics that need no file, for one trace and for many.
func TestMetricsThatNeedNoFile(t *testing.T) {
	dir := dataset(t, summarized, `[{"ph":"X","pid":7,"tid":7,"ts":0,"dur":1,"name":"part"}]`)
	tpconvert(t, dir, "summarize", "out", "-o", "metrics").expect(t, exitDone, "")
	for _, table := range []string{"slices", "cpu_by_thread", "cpu_by_core", "memory", "frames", "binder", "io", "startup", "gc", "profile", "gpu_kernels", "gpu_devices", "gpu_streams", "gpu_copies"} {
		if _, err := os.Stat(filepath.Join(dir, "metrics", table+".parquet")); err != nil {
			t.Error(err)
		}
	}
	got := rowsOf(t, dir, "out", `SELECT t.name AS trace, s.name, s.count, s.total_dur, s.p50_dur FROM 'metrics/slices.parquet' s JOIN trace t USING (trace_id) ORDER BY ALL`, "--allow-writes")
	const want = `trace,name,count,total_dur,p50_dur
a.json,other,1,7000.0,7000.0
a.json,part,2,30000.0,15000.0
a.json,work,1,50000.0,50000.0
b.json,part,1,1000.0,1000.0
`
	if got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
	tpconvert(t, dir, "summarize", "out", "-o", "metrics").expect(t, exitFailure, "already exists")
	if left := names(t, dir); strings.Contains(strings.Join(left, " "), "tpconvert-metrics") {
		t.Errorf("left: %v", left)
	}
}

// TestSummaryOfGPUs compares the metrics of a trace of PyTorch with sums by hand, and with the view for DuckDB.
func TestSummaryOfGPUs(t *testing.T) {
	const work = `{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":10,"dur":20,"args":{"device":0,"stream":7}},
		{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":50,"dur":10,"args":{"device":0,"stream":7}},
		{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce","pid":0,"tid":20,"ts":25,"dur":10,"args":{"device":0,"stream":20}},
		{"ph":"X","cat":"gpu_memcpy","name":"Memcpy DtoH (Device -> Pinned)","pid":0,"tid":7,"ts":70,"dur":4,"args":{"device":0,"stream":7,"bytes":8}}`
	dir := dataset(t, "["+work+"]", "["+strings.Replace(work, `"dur":20`, `"dur":14`, 1)+"]")
	got := rowsOf(t, dir, "out", "SELECT device, busy, idle, computation, communication, overlap FROM gpu_busy ORDER BY busy DESC")
	if want := "device,busy,idle,computation,communication,overlap\n0,39000,25000,30000,10000,5000\n0,38000,26000,24000,10000,0\n"; got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
	all := tpconvert(t, dir, "summarize", "--trace-id", "a.json", "gpu", "out", "--format", "csv")
	all.expect(t, exitDone, "")
	for _, want := range []string{"gpu_kernels,computation,gemm,2,30000.0,15000.0", "gpu_devices,,0,39000.0,25000.0,30000.0,10000.0,5000.0",
		"gpu_streams,0,7,3,34000.0,34000.0,30000.0", "gpu_copies,0,DtoH,1,8.0,4000.0,0.002"} {
		if !strings.Contains(all.stdout, want) {
			t.Errorf("got\n%s, want %s", all.stdout, want)
		}
	}
	const hip = `[{"ph":"X","cat":"cuda_runtime","name":"hipMemcpyAsync","pid":1,"tid":1,"ts":5,"dur":2,"args":{"correlation":1,"size":"2560"}},
		{"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Host -> Device)","pid":0,"tid":7,"ts":10,"dur":4,"args":{"device":0,"stream":7,"correlation":1}}]`
	if err := os.WriteFile(filepath.Join(dir, "hip.json"), []byte(hip), 0o666); err != nil {
		t.Fatal(err)
	}
	if got := tpconvert(t, dir, "summarize", "--spec", "gpu", "hip.json", "--format", "csv"); !strings.Contains(got.stdout, "gpu_copies,0,HtoD,1,2560.0,4000.0") {
		t.Errorf("got\n%s", got.stdout)
	}
	// The delays by launch and the rest are sums of testdata/job/rank0.json by hand.
	step := tpconvert(t, dir, "summarize", "gpu", recorded(t, "job/rank0.json"), "--format", "csv")
	step.expect(t, exitDone, "")
	for _, want := range []string{"gpu_launches,cudaLaunchKernel,3,209666.66666666666,147500.0,442250.0", "gpu_launches,cudaMemcpyAsync,2,251500.0,251500.0,477850.0",
		"gpu_devices,0,0,601500.0,68500.0,340000.0,320000.0,113500.0", "gpu_steps,ProfilerStep#1,900000.0,6,715000.0,320000.0", "gpu_memory,1,0,3145728.0,8388608.0",
		"gpu_memory_timeline,1,0,1,1,3145728.0,3145728.0,8388608.0", "gpu_memory_timeline,1,0,18,1,2097152.0,2097152.0,8388608.0",
		"gpu_collectives,ProfilerStep#1,ncclDevKernel_AllReduce_Sum_f32_RING_LL,,,1,320000.0", "gpu_critical_path,ProfilerStep#1,computation,", "gpu_critical_work,computation,"} {
		if !strings.Contains(step.stdout, want) {
			t.Errorf("got\n%s, want %s", step.stdout, want)
		}
	}
	r := tpconvert(t, dir, "summarize", "--compare", "out", "--compare-trace-id", "b.json", "--trace-id", "a.json", "gpu", "out", "--format", "csv")
	if want := "gpu_kernels,computation,gemm,2,2,0,24000.0,30000.0,6000.0"; !strings.Contains(r.stdout, want) {
		t.Errorf("got %s, want %s", r.stdout, want)
	}
}

// TestSkewOfRanks tells which of two ranks came late, and compares that with the views for DuckDB.
func TestSkewOfRanks(t *testing.T) {
	dir := t.TempDir()
	tpconvert(t, dir, recorded(t, "job/rank0.json"), recorded(t, "job/rank1.json"), "out").expect(t, exitDone, "")
	const skew = `step,name,process_group,group_ranks,count,total_skew,max_skew,straggler
ProfilerStep#1,ncclDevKernel_AllReduce_Sum_f32_RING_LL,,,1,40000,40000,1
`
	const ranks = "rank,count,last,last_skew,waited\n0,1,0,0,40000\n1,1,1,40000,0\n"
	for sql, want := range map[string]string{
		"FROM gpu_straggler ORDER BY rank": ranks,
		"SELECT step, name, process_group, group_ranks, count(*) AS count, sum(skew)::BIGINT AS total_skew, max(skew) AS max_skew, straggler FROM gpu_collective GROUP BY ALL": skew,
	} {
		if got := rowsOf(t, dir, "out", sql); got != want {
			t.Errorf("%s: got\n%s, want\n%s", sql, got, want)
		}
	}
	tpconvert(t, dir, "summarize", "gpu", "out", "-o", "metrics").expect(t, exitDone, "")
	for table, want := range map[string]string{"gpu_skew": skew, "gpu_stragglers": ranks} {
		if got := rowsOf(t, dir, "out", "FROM 'metrics/"+table+".parquet'", "--allow-writes"); got != want {
			t.Errorf("%s: got\n%s, want\n%s", table, got, want)
		}
	}
	all := tpconvert(t, dir, "summarize", "--metric", "gpu_collectives_count", "out", "--format", "csv")
	if want := "gpu_skew,ProfilerStep#1,ncclDevKernel_AllReduce_Sum_f32_RING_LL,,,1,40000,40000,1"; !strings.Contains(all.stdout, want) {
		t.Errorf("got\n%s, want %s", all.stdout, want)
	}
	if got := tpconvert(t, dir, "summarize", "--metric", "gpu_kernels_count", "gpu", "out"); strings.Contains(got.stdout, "gpu_skew") {
		t.Errorf("got\n%s", got.stdout)
	}
	// Two groups with the same name: 0 waits for 1, and 3 for 2. The ranks of a group are a text or, in older traces, a list.
	for rank, group := range []string{`"[0, 1]"`, `"[0, 1]"`, `[2, 3]`, `"[2, 3]"`} {
		text := fmt.Sprintf(`{"distributedInfo":{"rank":%d,"world_size":4},"traceEvents":[{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce","pid":0,"tid":7,
			"ts":10,"dur":%d,"args":{"device":0,"stream":7,"Process Group Name":"3","Process Group Ranks":%s}}]}`, rank, []int{20, 5, 2, 52}[rank], group)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("group%d.json", rank)), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	tpconvert(t, dir, "group0.json", "group1.json", "group2.json", "group3.json", "groups").expect(t, exitDone, "")
	groups := tpconvert(t, dir, "summarize", "--metric", "gpu_collectives_count", "groups", "--format", "csv")
	for _, want := range []string{`gpu_skew,,ncclDevKernel_AllReduce,3,"2, 3",1,50000,50000,2`, `gpu_skew,,ncclDevKernel_AllReduce,3,"0, 1",1,15000,15000,1`,
		"gpu_stragglers,0,1,0,0,15000", "gpu_stragglers,1,1,1,15000,0", "gpu_stragglers,2,1,1,50000,0", "gpu_stragglers,3,1,0,0,50000"} {
		if !strings.Contains(groups.stdout, want) {
			t.Errorf("got\n%s, want %s", groups.stdout, want)
		}
	}
	// Two traces of the same rank are of two jobs.
	rank0, err := os.ReadFile(recorded(t, "job/rank0.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "again.json"), append(rank0, '\n'), 0o666); err != nil {
		t.Fatal(err)
	}
	tpconvert(t, dir, "--append", "again.json", "out").expect(t, exitDone, "")
	again := tpconvert(t, dir, "summarize", "gpu", "out")
	if want := "No rows: gpu_skew, gpu_stragglers\n"; !strings.HasSuffix(again.stdout, want) {
		t.Errorf("got\n%s, want %s", again.stdout, want)
	}
}

// TestCriticalPaths compares what DuckDB and PerfettoSQL say that steps took their time for.
func TestCriticalPaths(t *testing.T) {
	dir := t.TempDir()
	rows := func(input, sql string, flags ...string) string {
		got := tpconvert(t, dir, append([]string{"query", "--format", "ndjson", input, sql}, flags...)...)
		got.expect(t, exitDone, "")
		return got.stdout
	}
	for _, rank := range []string{"0", "1"} {
		tpconvert(t, dir, recorded(t, "job/rank"+rank+".json"), "rank"+rank).expect(t, exitDone, "")
		const path = "SELECT p.* FROM slice AS s, gpu_critical_path(s.id) AS p WHERE s.name IN ('ProfilerStep#1', 'cudaDeviceSynchronize') ORDER BY s.id, p.ts"
		want := rows("rank"+rank, path)
		got := rows("rank"+rank, "INCLUDE PERFETTO MODULE tpconvert.gpu; "+path, "--perfetto")
		if got != want || strings.Count(got, "\n") < 10 {
			t.Errorf("got\n%s, want\n%s", got, want)
		}
	}
	// The launching thread began what it did before the step.
	const early = `[{"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":1,"tid":1,"ts":400,"dur":50},
		{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":405,"dur":2,"args":{"correlation":1}},
		{"ph":"X","cat":"cpu_op","name":"backward","pid":1,"tid":2,"ts":390,"dur":60},
		{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":2,"ts":420,"dur":5,"args":{"correlation":2}},
		{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":430,"dur":30,"args":{"device":0,"stream":7,"correlation":2}}]`
	if err := os.WriteFile(filepath.Join(dir, "early.json"), []byte(early), 0o666); err != nil {
		t.Fatal(err)
	}
	const path = "SELECT p.kind, p.name, p.ts, p.dur FROM slice AS s, gpu_critical_path(s.id) AS p WHERE s.name = 'ProfilerStep#1' ORDER BY p.ts"
	const parts = `{"kind":"cpu","name":"backward","ts":400000,"dur":20000}
{"kind":"launch","name":"cudaLaunchKernel","ts":420000,"dur":10000}
{"kind":"computation","name":"gemm","ts":430000,"dur":30000}
`
	for _, got := range []string{rows("early.json", path), rows("early.json", "INCLUDE PERFETTO MODULE tpconvert.gpu; "+path, "--perfetto")} {
		if got != parts {
			t.Errorf("got\n%s, want\n%s", got, parts)
		}
	}
}

// TestMetricsOfPackedTables computes metrics from files with the rows of many traces, which are like those of a fleet: the
// table trace is a ledger, and there are rows of a trace that it does not name.
func TestMetricsOfPackedTables(t *testing.T) {
	dir := dataset(t, summarized, `[{"ph":"X","pid":7,"tid":7,"ts":0,"dur":1,"name":"part"}]`, `[{"ph":"X","pid":7,"tid":7,"ts":0,"dur":1,"name":"not committed"}]`)
	for _, folder := range []string{"fleet", "fleet/slice", "fleet/slice/data", "fleet/args"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	const ledger = "SELECT trace_id, name AS url, bytes, sha256, CASE name WHEN 'a.json' THEN 'ok' WHEN 'b.json' THEN 'ok' ELSE 'bad' END AS status FROM trace"
	for file, rows := range map[string]string{
		"slice/data/1.parquet": "FROM slice WHERE dur <> 50000 AND trace_id = (SELECT trace_id FROM trace WHERE name = 'a.json') UNION ALL FROM slice WHERE dur = 50000",
		"slice/data/2.parquet": "FROM slice WHERE trace_id <> (SELECT trace_id FROM trace WHERE name = 'a.json')",
		"args/1.parquet":       "FROM args",
		"thread_track.parquet": "FROM thread_track",
		"metadata.parquet":     "FROM metadata",
		"trace.parquet":        ledger + " UNION ALL SELECT trace_id, 'again', bytes, sha256, 'copy' FROM trace UNION ALL SELECT NULL, 'damaged', 0, NULL, 'bad'",
	} {
		tpconvert(t, dir, "query", "out", "COPY ("+rows+") TO 'fleet/"+file+"'").expect(t, exitDone, "")
	}
	tpconvert(t, dir, "summarize", "slices", "fleet", "-o", "metrics").expect(t, exitDone, "")
	tpconvert(t, dir, "summarize", "slices", "out", "-o", "want").expect(t, exitDone, "")
	const all, want = "metrics/slices.parquet", "(SELECT w.* FROM 'want/slices.parquet' w JOIN trace t USING (trace_id) WHERE t.name <> 'c.json')"
	if got := rowsOf(t, dir, "out", "SELECT (SELECT count(*) FROM '"+all+"') AS rows, count(*) AS differ FROM ((FROM '"+all+"' EXCEPT ALL FROM "+want+") UNION ALL (FROM "+want+" EXCEPT ALL FROM '"+all+"'))", "--allow-writes"); got != "rows,differ\n4,0\n" {
		t.Errorf("got %q", got)
	}
	named := spec(`dimensions: "sha256" value: "n" query { sql { sql: "SELECT sha256, name IS NULL AS n FROM trace" column_names: "sha256" column_names: "n" } }`)
	if err := os.WriteFile(filepath.Join(dir, "spec.textproto"), []byte(named), 0o666); err != nil {
		t.Fatal(err)
	}
	if got := tpconvert(t, dir, "summarize", "--format", "csv", "spec.textproto", "fleet").stdout; strings.Count(got, ",1.0\n") != 2 {
		t.Errorf("the facts about the traces are\n%s", got)
	}
	tpconvert(t, dir, "alerts", "fleet").expect(t, exitDone, "")

	fleet := filepath.Join(dir, "fleet")
	if err := os.Rename(filepath.Join(fleet, "slice", "data", "1.parquet"), filepath.Join(fleet, "slice.parquet")); err != nil {
		t.Fatal(err)
	}
	tpconvert(t, dir, "summarize", "slices", "fleet").expect(t, exitDone, "")
	if err := os.Link(filepath.Join(fleet, "slice.parquet"), filepath.Join(fleet, "slice", "compacted.parquet")); err != nil {
		t.Fatal(err)
	}
	tpconvert(t, dir, "summarize", "slices", "fleet").expect(t, exitFailure, "twice, in ")
	if err := os.Remove(filepath.Join(fleet, "slice.parquet")); err != nil {
		t.Fatal(err)
	}
	tpconvert(t, dir, "summarize", "slices", "fleet").expect(t, exitDone, "")
	// DuckDB's SQL reads the same rows.
	own := "alerts:\n  own: {query: 'SELECT ts FROM slice WHERE dur = 50000', level: warning, text: long}\n"
	if err := os.WriteFile(filepath.Join(dir, "own.yaml"), []byte(own), 0o666); err != nil {
		t.Fatal(err)
	}
	if got := tpconvert(t, dir, "alerts", "--format", "csv", "own.yaml", "fleet"); strings.Count(got.stdout, ",own,long,") != 1 {
		t.Errorf("alerts in DuckDB's SQL: %+v", got)
	}
	metadata := filepath.Join(fleet, "metadata.parquet")
	if err := os.Remove(metadata); err != nil {
		t.Fatal(err)
	}
	tpconvert(t, dir, "query", "out", "COPY (FROM metadata ORDER BY name) TO 'fleet/metadata.parquet'").expect(t, exitDone, "")
	tpconvert(t, dir, "summarize", "slices", "fleet").expect(t, exitFailure, "are not together: sort the file by trace_id")
	if err := os.Remove(metadata); err != nil {
		t.Fatal(err)
	}
	tpconvert(t, dir, "alerts", "fleet").expect(t, exitFailure, "no rows of the table metadata")
}

func TestMetricsCompared(t *testing.T) {
	dir := dataset(t, summarized)
	const before = `[{"ph":"X","pid":1,"tid":2,"ts":10,"dur":20,"name":"work"},{"ph":"X","pid":1,"tid":2,"ts":35,"dur":10,"name":"gone"},{"ph":"X","pid":1,"tid":2,"ts":50,"dur":30,"name":"part"}]`
	if err := os.WriteFile(filepath.Join(dir, "before.json"), []byte(before), 0o666); err != nil {
		t.Fatal(err)
	}
	got := tpconvert(t, dir, "summarize", "--format", "csv", "--compare", "before.json", "--metric", "slices_total_dur", "slices", "out")
	got.expect(t, exitDone, "")
	const want = `name,total_dur_base,total_dur,total_dur_diff
work,20000.0,50000.0,30000.0
gone,10000.0,,-10000.0
other,,7000.0,7000.0
part,30000.0,30000.0,0.0
`
	if got.stdout != want {
		t.Errorf("got\n%s, want\n%s", got.stdout, want)
	}
	tpconvert(t, dir, "summarize", "--compare", "none.json", "slices", "out").expect(t, exitFailure, "none.json")
	tpconvert(t, dir, "summarize", "--compare", "before.json", "--format", "proto", "slices", "out").expect(t, exitUsage, "--compare")
}

func TestSummarizeRefuses(t *testing.T) {
	dir := dataset(t, summarized)
	for metric, want := range map[string]string{
		`value: "n" query { }`:                                                                              "PerfettoSqlStructuredQuery has no source",
		`value: "n" query { table { } }`:                                                                    "Table has no table_name",
		`value: "n" query { inner_query_id: "none" }`:                                                       "there is no query with id none",
		`value: "none" query { inner_query_id: "base" }`:                                                    "the query has no column none",
		`value: "slice_name" query { inner_query_id: "base" }`:                                              "where a number was expected",
		`value: "n" query { sql { sql: "SELECT 1 AS n FROM nothing" } }`:                                    "nothing",
		`value: "n" query { sql { sql: "SELECT 1 AS n; SELECT 2 AS n" } }`:                                  "only the last statement of sql may return rows",
		`value: "dur" query { inner_query_id: "base" offset: 1 }`:                                           "has no limit, but an offset",
		`dimensions: "track_id" dimension_uniqueness: UNIQUE value: "dur" query { inner_query_id: "base" }`: "its dimensions are not unique",
		`dimensions_specs { name: "slice_name" type: INT64 } value: "dur" query { inner_query_id: "base" }`: "where a INT64 was expected",
		`value: "dur" query { inner_query_id: "base" filters { column_name: "dur" op: EQUAL } }`:            "Filter has no value",
		`value: "x" query { table { table_name: "slice" module_name: "slices.with_context" } }`:             "--stdlib must name a folder of Perfetto's modules",
		`value: "n" query { interval_intersect { base { inner_query_id: "base" } interval_intersect { inner_query_id: "tracks" } partition_columns: "TS" } }`: `partition column "TS" is not allowed`,
		`none: 1`: "unknown field: none",
	} {
		if err := os.WriteFile(filepath.Join(dir, "spec.textproto"), []byte(spec(metric)), 0o666); err != nil {
			t.Fatal(err)
		}
		tpconvert(t, dir, "summarize", "spec.textproto", "out").expect(t, exitFailure, want)
	}
	loop := `query { id: "a" inner_query_id: "b" } query { id: "b" inner_query_id: "a" } metric_spec { id: "m" value: "n" query { inner_query_id: "a" } }`
	if err := os.WriteFile(filepath.Join(dir, "loop.textproto"), []byte(loop), 0o666); err != nil {
		t.Fatal(err)
	}
	tpconvert(t, dir, "summarize", "loop.textproto", "out").expect(t, exitFailure, "query a uses itself")
	tpconvert(t, dir, "summarize", "--metric", "none", "slices", "out").expect(t, exitFailure, "there is no metric none")
	tpconvert(t, dir, "summarize", "slices", "nowhere").expect(t, exitFailure, "nowhere")
	tpconvert(t, dir, "summarize", "--format", "parquet7", "slices", "out").expect(t, exitUsage, "--format")
	tpconvert(t, dir, "summarize").expect(t, exitUsage, "")
}

// TestSummarizeNamesTheMetrics shows which metric a row is of, where several share an output.
func TestSummarizeNamesTheMetrics(t *testing.T) {
	dir := dataset(t, goodTrace)
	got := tpconvert(t, dir, "summarize", "--json", "slices", "gc", "out")
	if got.expect(t, exitDone, ""); !strings.HasPrefix(got.stdout, `{"metric":"slices","name":"work","count":1`) {
		t.Errorf("JSON: %s", got.stdout)
	}
	got = tpconvert(t, dir, "summarize", "--format", "csv", "slices", "gc", "out")
	if got.expect(t, exitDone, ""); !strings.HasPrefix(got.stdout, "metric,name,count,") || !strings.Contains(got.stdout, "\nslices,work,1,") {
		t.Errorf("CSV: %s", got.stdout)
	}
	if got := tpconvert(t, dir, "summarize", "--format", "csv", "slices", "out"); !strings.HasPrefix(got.stdout, "name,count,") {
		t.Errorf("CSV of one metric: %s", got.stdout)
	}
}

// TestSummariesCompared compares traces of one dataset, named in each way. Durations decide the order, not counts, unless
// those were asked for. Counts are integers.
// People see the tables that have rows; programs get all.
func TestSummaryNamesTablesWithoutRows(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"trace.json": summarized})
	got := tpconvert(t, dir, "-q", "summarize", "frames", "slices", "gc", "trace.json")
	got.expect(t, exitDone, "")
	if !strings.HasPrefix(got.stdout, "slices\n\n") || !strings.HasSuffix(got.stdout, " rows)\n\nNo rows: frames, gc\n") || strings.Contains(got.stdout, "(0 rows)") {
		t.Errorf("%s", got.stdout)
	}
	if got := tpconvert(t, dir, "-q", "summarize", "frames", "gc", "trace.json"); got.stdout != "No rows: frames, gc\n" {
		t.Errorf("%s", got.stdout)
	}
	if got := tpconvert(t, dir, "-q", "summarize", "frames", "trace.json"); !strings.Contains(got.stdout, "jank_type") {
		t.Errorf("%s", got.stdout)
	}
	if got := tpconvert(t, dir, "-q", "summarize", "--output", "out", "frames", "gc", "trace.json"); got.stdout != "" || len(names(t, dir, "out")) != 2 {
		t.Errorf("%s", got.stdout)
	}
}

func TestSummariesCompared(t *testing.T) {
	t.Parallel()
	slice := func(name string, ts, dur int) string {
		return fmt.Sprintf(`{"ph":"X","pid":1,"tid":2,"ts":%d,"dur":%d,"name":%q},`, ts, dur, name)
	}
	dir := folder(t, map[string]string{
		"before.json": "[" + slice("often", 10, 1) + slice("long", 20, 10) + slice("gone", 40, 5) + `{"ph":"B","pid":1,"tid":3,"ts":1,"name":"open"}]`,
		"after.json":  "[" + slice("often", 10, 1) + slice("often", 12, 1) + slice("often", 14, 1) + slice("long", 20, 30) + slice("new", 60, 7) + `{"ph":"B","pid":1,"tid":3,"ts":1,"name":"open"}]`,
	})
	tpconvert(t, dir, "-q", "before.json", "after.json", "both").expect(t, exitDone, "")
	ids := map[string]string{}
	for line := range strings.Lines(rowsOf(t, dir, "both", "SELECT name, trace_id FROM trace")) {
		name, id, _ := strings.Cut(strings.TrimSpace(line), ",")
		ids[name] = id
	}
	byDuration := []string{"long,1,1,0,10000.0,30000.0,20000.0", "new,,1,1,,7000.0,7000.0", "gone,1,,-1,5000.0,,-5000.0", "often,1,3,2,1000.0,3000.0,2000.0"}
	const before, after = "before.json", "after.json"
	for _, c := range []struct {
		args string
		want []string
	}{
		{"--compare before.json after.json", byDuration},
		{"--compare both/trace_id=" + ids[before] + " both/trace_id=" + ids[after], byDuration},
		{"--compare both --trace-id after.json --compare-trace-id before.json both", byDuration},
		{"--compare both --trace-id " + ids[after] + " --compare-trace-id " + ids[before] + " both", byDuration},
		{"--compare before.json --trace-id after.json both", byDuration},
		{"--compare both --trace-id after.json both", []string{"long,1,1,0,30000.0,30000.0,0.0"}},
		{"--metric slices_count,slices_total_dur --compare before.json after.json", []string{"often,1,3,2,1000.0,3000.0,2000.0"}},
	} {
		args := append(strings.Fields("summarize --format csv slices"), strings.Fields(c.args)...)
		if !strings.Contains(c.args, "--metric") {
			args = append([]string{args[0], "--metric", "slices_total_dur,slices_count"}, args[1:]...)
		}
		got := tpconvert(t, dir, args...)
		got.expect(t, exitDone, "")
		lines := strings.Split(strings.TrimSpace(got.stdout), "\n")
		if lines[0] != "name,count_base,count,count_diff,total_dur_base,total_dur,total_dur_diff" || len(lines) < 1+len(c.want) || !slices.Equal(lines[1:1+len(c.want)], c.want) {
			t.Errorf("%s: got\n%swant\n%s", c.args, got.stdout, strings.Join(c.want, "\n"))
		}
	}
	const names = "after.json (t_"
	for args, want := range map[string]string{
		"summarize --compare before.json slices both":                           names,
		"summarize --trace-id missing.json slices both":                         names,
		"summarize --trace-id after.json slices before.json":                    "before.json is none",
		"serve --port 0 --trace-id missing.json both":                           names,
		"flamegraph --top --trace-id missing.json both":                         names,
		"summarize --compare both --compare-trace-id missing slices after.json": names,
	} {
		tpconvert(t, dir, strings.Fields(args)...).expect(t, exitUsage, want)
	}
	got := tpconvert(t, dir, "flamegraph", "--top", "--trace-id", "before.json", "both")
	if got.expect(t, exitDone, ""); !strings.Contains(got.stdout, "gone") || strings.Contains(got.stdout, "new") {
		t.Errorf("the flame graph of before.json has\n%s", got.stdout)
	}
}

// TestSummaryOfProfiles checks the functions of each kind of profile.
func TestSummaryOfProfiles(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"samples.json": `{"traceEvents":[],"stackFrames":{"1":{"name":"main"},"2":{"name":"work","parent":"1"}},
		"samples":[{"tid":2,"ts":2,"name":"s","sf":"1"},{"tid":2,"ts":3,"name":"s","sf":"2"},{"tid":2,"ts":4,"name":"s","sf":"2"}]}`})
	for path, want := range map[string]string{
		"samples.json":                 "trace_event,samples:s,,work,2\n",
		recorded(t, "java.jfr.gz"):     "jfr,samples:jdk.ExecutionSample,Small,Small.spin,12\n",
		recorded(t, "go_cpu.pb"):       "go_cpu.pb,cpu,,main.shuffle.func1,230000000\n",
		recorded(t, "go_heap.pb.gz"):   "go_heap.pb.gz,inuse_objects,,",
		recorded(t, "perf.data"):       "linux.perf,cpu-clock,burn,[burn],20000000\n",
		recorded(t, "node.cpuprofile"): "legacy_v8,time,,(idle),24226000\n",
	} {
		got := tpconvert(t, dir, "summarize", "--format", "csv", "profile", path)
		if got.expect(t, exitDone, ""); !strings.Contains(got.stdout, want) {
			t.Errorf("%s: no %q in\n%s", path, want, got.stdout)
		}
	}
}
