package profiles

import (
	"testing"

	"github.com/tpconvert/tpconvert/sqlfuncs/functions/functionstest"
)

func TestFlamegraphOfStacks(t *testing.T) {
	s := stackTables(t)
	s.Add(t, "heap_profile_allocation", "ts, upid, callsite_id, count, size",
		[]any{10, 1, 4, 2, 100}, []any{10, 1, 0, 1, 8}, []any{20, 1, 4, -1, -60}, []any{30, 1, 4, 9, 9}, []any{10, 2, 4, 5, 5})
	s.Add(t, "thread", "id, upid", []any{0, nil}, []any{1, 1}, []any{2, 2})
	s.Add(t, "profiler_task_context", "id, utid", []any{0, 1}, []any{1, 2}, []any{2, nil})
	s.Add(t, "profiler_sample", "ts, task_context_id, callsite_id",
		[]any{5, 0, 3}, []any{6, 0, 3}, []any{7, 1, 3}, []any{8, 0, nil}, []any{9, 2, 3}, []any{40, 0, 0})
	functionstest.Check(t, s.Open(t, Define), []functionstest.Test{
		{`SELECT id, ts, depth, name, map_name, count, cumulative_count, size, cumulative_size, alloc_size, cumulative_alloc_size, parent_id,
			source_file, line_number FROM experimental_flamegraph('native', 20, NULL, 1, NULL, NULL) WHERE cumulative_alloc_size`, `
0 20 0 'main' '/system/bin/app_process64' 1 2 8 48 8 108 NULL NULL NULL
1 20 1 'app.Main.run' '/data/app/base.apk' 0 1 0 40 0 100 0 NULL NULL
2 20 2 'art_jni_trampoline' '/apex/com.android.art/lib64/libart.so' 0 1 0 40 0 100 1 NULL NULL
3 20 3 '_ZN3art11interpreter7ExecuteEv' '/apex/com.android.art/lib64/libart.so' 0 1 0 40 0 100 2 NULL NULL
4 20 4 'outer' '/apex/com.android.art/lib64/libart.so' 0 1 0 40 0 100 3 'a.cc' 8
5 20 5 'inner' '/apex/com.android.art/lib64/libart.so' 1 1 40 40 100 100 4 'a.cc' 7`},
		{`SELECT id, name, cumulative_size, parent_id, source_file, upid FROM experimental_flamegraph('native', 20, NULL, 1, NULL, 'OUTER')`, `
0 'main' 48 NULL NULL 1
1 'app.Main.run' 40 0 NULL 1
2 'art_jni_trampoline' 40 1 NULL 1
3 '_ZN3art11interpreter7ExecuteEv' 40 2 NULL 1
4 'outer' 40 3 NULL 1
5 'inner' 40 4 NULL 1`},
		{`SELECT name, ts, count, cumulative_count, upid, upid_group FROM experimental_flamegraph('perf', NULL, '>=5,<40', NULL, '1,x', NULL)
			WHERE cumulative_count`, `
'main' 5 0 2 NULL '1,x'
'app.Main.run' 5 0 2 NULL '1,x'
'art_jni_trampoline' 5 0 2 NULL '1,x'
'_ZN3art11interpreter7ExecuteEv' 6 2 2 NULL '1,x'`},
		{`SELECT sum(count) FROM experimental_flamegraph('perf', NULL, '>0', 2, NULL, NULL)`, `1`},
		{`SELECT * FROM experimental_flamegraph('native', 5, NULL, 1, NULL, NULL)`, `error: the process has no allocations until then`},
		{`SELECT * FROM experimental_flamegraph('native', NULL, '>1', 1, NULL, NULL)`, `error: ts and upid are needed`},
		{`SELECT * FROM experimental_flamegraph('perf', NULL, '=1', 1, NULL, NULL)`, `error: "=1" is no condition`},
		{`SELECT * FROM experimental_flamegraph('perf', NULL, '>x', 1, NULL, NULL)`, `error: ">x" has no timestamp`},
		{`SELECT * FROM experimental_flamegraph('perf', NULL, NULL, 1, NULL, NULL)`, `error: ts or ts_constraint is needed`},
		{`SELECT * FROM experimental_flamegraph('perf', 1, NULL, NULL, NULL, NULL)`, `error: upid or upid_group is needed`},
		{`SELECT * FROM experimental_flamegraph('perf', 'a', NULL, 1, NULL, NULL)`, `error: ts must be INTEGER`},
		{`SELECT * FROM experimental_flamegraph('x', 1, NULL, 1, NULL, NULL)`, `error: there is no profile_type "x"`},
	})
}

func TestFlamegraphOfHeap(t *testing.T) {
	s := functionstest.NewTables()
	s.Add(t, "heap_graph_object", `id, upid, graph_sample_ts, self_size, native_size, reference_set_id, type_id, root_type text,
		root_distance`,
		[]any{0, 1, 10, 16, 0, 0, 1, "ROOT_JAVA_FRAME", 0}, []any{1, 1, 10, 24, 100, nil, 0, nil, 1}, []any{2, 1, 10, 24, 0, nil, 0, nil, 1},
		[]any{3, 1, 10, 8, 0, 3, 2, nil, 1}, []any{4, 1, 10, 32, 0, nil, 0, nil, -1}, []any{5, 1, 10, 16, 0, 5, 0, "ROOT_THREAD", 0},
		[]any{6, 2, 10, 999, 0, nil, 0, "ROOT_THREAD", 0})
	s.Add(t, "heap_graph_class", "id, name text, deobfuscated_name text, kind text",
		[]any{0, "a", "app.Data", "KIND_NORMAL"}, []any{1, "z.Owner", nil, "KIND_NORMAL"}, []any{2, "WeakReference", nil, "KIND_WEAK_REFERENCE"})
	s.Add(t, "heap_graph_reference", "reference_set_id, owned_id, field_name text",
		[]any{0, 3, "x"}, []any{0, 2, "x"}, []any{0, 1, "x"}, []any{0, nil, "x"}, []any{3, 4, "java.lang.ref.Reference.referent"}, []any{5, 2, "y"})
	functionstest.Check(t, s.Open(t, Define), []functionstest.Test{
		{`SELECT id, depth, name, map_name, count, cumulative_count, size, cumulative_size, alloc_size, parent_id
			FROM experimental_flamegraph('graph', 10, NULL, 1, NULL, NULL)`, `
0 0 'app.Data [ROOT_THREAD]' 'JAVA' 1 2 16 40 0 NULL
1 1 'app.Data' 'JAVA' 1 1 24 24 0 0
2 0 'z.Owner [ROOT_JAVA_FRAME]' 'JAVA' 1 4 16 148 0 NULL
3 1 'app.Data' 'JAVA' 1 2 24 124 0 2
4 2 '[native] app.Data' 'JAVA' 1 1 100 100 0 3
5 1 'WeakReference' 'JAVA' 1 1 8 8 0 2`},
		{`SELECT * FROM experimental_flamegraph('graph', 11, NULL, 1, NULL, NULL)`, `error: experimental_flamegraph: there is no heap dump`},
	})
}
