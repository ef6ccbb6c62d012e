package functions

import (
	"testing"

	"github.com/tpconvert/tpconvert/sqlfuncs/functions/functionstest"
)

func TestClocks(t *testing.T) {
	s := functionstest.NewTables()
	s.Add(t, "clock_snapshot", "ts, clock_id, clock_value",
		[]any{100, 1, 1000}, []any{100, 3, 50}, []any{200, 1, 1090}, []any{200, 3, 160}, []any{200, 3, 999}, []any{300, 6, 0})
	functionstest.Check(t, s.Open(t, Data{}.define), []functionstest.Test{
		{`SELECT to_timecode(0), to_timecode(3723004005006), to_timecode(-5), to_timecode(-3723004005006), to_timecode(NULL)`,
			`'00:00:00 000 000 000' '01:02:03 004 005 006' '00:00:00 000 000 -05' '-1:-2:-3 -04 -05 -06' NULL`},
		{`SELECT to_timecode('x')`, `error: to_timecode: the argument is no timestamp`},
		{`SELECT to_realtime(0), to_realtime(100), to_realtime(150), to_realtime(199), to_realtime(250), to_realtime(NULL)`,
			`1000 1000 1050 1090 1140 NULL`},
		{`SELECT to_monotonic(150), to_monotonic(200), to_monotonic(201)`, `100 160 161`},
		{`SELECT abs_time_str(1700000000123456789 - 890)`, `'2023-11-14T22:13:20.123456789'`},
	})
	s = functionstest.NewTables()
	s.Add(t, "clock_snapshot", "ts, clock_id, clock_value")
	functionstest.Check(t, s.Open(t, Data{}.define), []functionstest.Test{{`SELECT to_realtime(0), to_monotonic(5), abs_time_str(5)`, `NULL NULL NULL`}})
}

func TestArgs(t *testing.T) {
	s := functionstest.NewTables()
	s.Add(t, "args", "arg_set_id, key text, int_value, string_value text, real_value real, value_type text",
		[]any{0, "a.b", 1, nil, nil, "int"},
		[]any{0, "a.c[1]", nil, "x\"\né😀", nil, "string"},
		[]any{0, "a.c[0].d", nil, nil, 0.5, "real"},
		[]any{0, "e", 255, nil, nil, "pointer"},
		[]any{0, "f", 1, nil, nil, "bool"},
		[]any{0, "g", -1, nil, nil, "uint"},
		[]any{0, "h", nil, nil, nil, "null"},
		[]any{0, "i", nil, "[1]", nil, "json"},
		[]any{0, "j", nil, nil, nil, "string"},
		[]any{3, "a", 2, nil, nil, "int"},
		[]any{3, "a", 3, nil, nil, "int"},
		[]any{4, "a", 2, nil, nil, "int"},
		[]any{4, "a.b", 2, nil, nil, "int"},
		[]any{7, "a[4000000000]", 2, nil, nil, "int"})
	tests := []functionstest.Test{
		{`SELECT extract_arg(0, 'a.b'), extract_arg(0, 'a.c[1]') = 'x"' || char(10) || 'é😀', extract_arg(0, 'a.c[0].d'), extract_arg(0, 'e'),
			extract_arg(0, 'f'), extract_arg(0, 'g'), extract_arg(0, 'h'), extract_arg(0, 'i'), extract_arg(0, 'j')`,
			`1 1 0.5 255 1 -1 NULL '[1]' NULL`},
		{`SELECT extract_arg(3, 'a'), extract_arg(1, 'a'), extract_arg(9, 'a'), extract_arg(-1, 'a'), extract_arg(4, 'a'), extract_arg(3, 'z'),
			extract_arg(NULL, NULL)`, `2 NULL NULL NULL 2 NULL NULL`},
		{`WITH v(x) AS (VALUES (0), (0), (3), (NULL), (4), (0), (9), (4294967296), (-1)) SELECT group_concat(coalesce(extract_arg(x, 'a.b'), '-')),
			group_concat(coalesce(extract_arg(x, 'a'), '-')), group_concat(coalesce(extract_arg(x, 'a.c[0].d'), '-')), count(extract_arg(x, 'a.c[1]')),
			group_concat(typeof(extract_arg(x, 'i'))), count(extract_arg(x, 'nosuch')) FROM v`,
			`'1,1,-,-,2,1,-,1,-' '-,-,2,-,2,-,-,-,-' '0.5,0.5,-,-,-,0.5,-,0.5,-' 4 'text,text,null,null,null,text,null,text,null' 0`},
		{`WITH v(x, k) AS (VALUES (0, 'a.b'), (0, 'e'), (3, 'a'), (3, 'b')) SELECT group_concat(coalesce(extract_arg(x, k), '-')) FROM v`, `'1,255,2,-'`},
		{`WITH v(x) AS (VALUES (0), (0), ('a')) SELECT sum(extract_arg(x, 'a.b')) FROM v`, `error: extract_arg: the first argument`},
		{`SELECT extract_arg('a', 'b')`, `error: extract_arg: the first argument`},
		{`SELECT extract_arg(1, 2)`, `error: extract_arg: the second argument`},
		{`SELECT __intrinsic_arg_set_to_json(0)`,
			`'{"a":{"b":1,"c":[{"d":0.5},"x\"\n\u00e9\ud83d\ude00"]},"e":"0xff","f":true,"g":18446744073709551615,"h":null,"i":"[1]","j":null}'`},
		{`SELECT __intrinsic_arg_set_to_json(3), __intrinsic_arg_set_to_json(5), __intrinsic_arg_set_to_json(NULL)`, `'{"a":3}' '{}' NULL`},
		{`SELECT __intrinsic_arg_set_to_json(4)`, `error: __intrinsic_arg_set_to_json: the key a.b`},
		{`SELECT __intrinsic_arg_set_to_json(7)`, `error: has the index "4000000000"`},
		{`SELECT __intrinsic_arg_set_to_json('a')`, `error: __intrinsic_arg_set_to_json`},
	}
	functionstest.Check(t, s.Open(t, Data{}.define), tests)
	// The same in another order of sets.
	shuffled := functionstest.NewTables()
	shuffled.Add(t, "args", "arg_set_id, key text, int_value, string_value text, real_value real, value_type text",
		[]any{3, "a", 2, nil, nil, "int"}, []any{0, "a", 1, nil, nil, "int"}, []any{3, "b", 3, nil, nil, "int"})
	functionstest.Check(t, shuffled.Open(t, Data{}.define), []functionstest.Test{
		{`SELECT extract_arg(3, 'a'), extract_arg(0, 'a'), extract_arg(3, 'b'), extract_arg(0, 'b'), __intrinsic_arg_set_to_json(3)`,
			`2 1 3 NULL '{"a":2,"b":3}'`},
	})
}

func TestMetadata(t *testing.T) {
	s := functionstest.NewTables()
	s.Add(t, "metadata", "name text, str_value text, int_value, machine_id, trace_id",
		[]any{"a", nil, 5, 0, 0}, []any{"a", "x", nil, 1, 0}, []any{"a", "y", nil, 1, 2}, []any{"b", nil, nil, nil, nil})
	functionstest.Check(t, s.Open(t, Data{}.define), []functionstest.Test{
		{`SELECT extract_metadata('a'), extract_metadata('b'), extract_metadata('c'), extract_metadata(NULL)`, `5 NULL NULL NULL`},
		{`SELECT extract_metadata_for_machine(1, 'a'), extract_metadata_for_machine(0, 'a'), extract_metadata_for_machine(2, 'a'),
			extract_metadata_for_machine(NULL, 'a')`, `'x' 5 NULL NULL`},
		{`SELECT extract_metadata_for_trace(2, 'a'), extract_metadata_for_trace(0, 'a')`, `'y' 5`},
		{`SELECT extract_exact_metadata(1, 0, 'a'), extract_exact_metadata(0, 2, 'a')`, `'x' NULL`},
	})
}

func TestPackages(t *testing.T) {
	s := functionstest.NewTables()
	s.Add(t, "package_list", "uid, package_name text", []any{10050, "com.android.providers.x"}, []any{10050, "b"}, []any{10050, "c"},
		[]any{10060, "b"}, []any{10060, "com.google.android.gms"}, []any{10070, "com.android.providers.y"})
	functionstest.Check(t, s.Open(t, Data{}.define), []functionstest.Test{
		{`SELECT _intrinsic_package_lookup(1000), _intrinsic_package_lookup(10080), _intrinsic_package_lookup(90001),
			_intrinsic_package_lookup(4294967296 + 1001), _intrinsic_package_lookup(NULL), _intrinsic_package_lookup(1050000),
			_intrinsic_package_lookup(1093)`,
			`'AID_SYSTEM_USER' 'uid=10080' 'ISOLATED_UID' 'AID_RADIO' NULL 'SHARED_GID' 'AID_UPROBESTATS'`},
		{`SELECT _intrinsic_package_lookup(10050), _intrinsic_package_lookup(1010060), _intrinsic_package_lookup(10070)`,
			`'b' 'com.google.android.gms' 'com.android.providers.y'`},
		{`SELECT _intrinsic_package_lookup('x')`, `error: _intrinsic_package_lookup`},
	})
}

func TestSampleCounters(t *testing.T) {
	s := functionstest.NewTables()
	s.Add(t, "profiler_sample", "id, counter_set_id", []any{0, 7}, []any{1, nil}, []any{2, 8})
	s.Add(t, "profiler_counter_set", "counter_set_id, counter_id", []any{7, 0}, []any{7, 1}, []any{8, 2})
	s.Add(t, "counter", "id, track_id, value real", []any{0, 4, 1.5}, []any{1, 5, 2.5}, []any{2, 4, 3.5})
	s.Add(t, "track", "id, name text", []any{4, "cycles"}, []any{5, "faults"})
	const f = "__intrinsic_perf_counter_for_sample"
	functionstest.Check(t, s.Open(t, Data{}.define), []functionstest.Test{
		{`SELECT ` + f + `(0, 'faults'), ` + f + `(2, 'cycles'), ` + f + `(2, 'faults'), ` + f + `(1, 'cycles'), ` + f + `(NULL, 'a')`,
			`2.5 3.5 NULL NULL NULL`},
		{`SELECT ` + f + `(3, 'cycles')`, `error: there is no sample 3`},
		{`SELECT ` + f + `(0, 1)`, `error: the second argument`},
	})
}

// arrays has arrays by id.
type arrays map[int64][]byte

func (a arrays) Array(id int64) ([]byte, error) { return a[id], nil }

func TestArrays(t *testing.T) {
	s := functionstest.NewTables()
	s.Add(t, "heap_graph_object_data", "array_data_id, array_element_type text", []any{0, "long"}, []any{nil, nil}, []any{1, "float"}, []any{2, "char"})
	query := s.Open(t, Data{Arrays: arrays{0: {255, 255, 255, 255, 255, 255, 255, 255}, 1: {0, 0, 0xc0, 0x7f, 0, 0, 0x80, 0x3e}, 2: {1}}}.define)
	functionstest.Check(t, query, []functionstest.Test{
		{`SELECT __intrinsic_heap_graph_array(0), __intrinsic_heap_graph_array(9), __intrinsic_heap_graph_array(NULL)`, `x'FFFFFFFFFFFFFFFF' NULL NULL`},
		{`SELECT __intrinsic_heap_graph_array_json(0), __intrinsic_heap_graph_array_json(1), __intrinsic_heap_graph_array_json(NULL)`,
			`'["-1"]' '["NaN",0.25]' NULL`},
		{`SELECT __intrinsic_heap_graph_array_json(2)`, `error: 1 bytes are no array of "char"`},
		{`SELECT __intrinsic_heap_graph_array('0')`, `error: array_data_id must be an integer`},
	})
	functionstest.Check(t, functionstest.NewTables().Open(t, Data{}.define), []functionstest.Test{{`SELECT __intrinsic_heap_graph_array(0), __intrinsic_heap_graph_array_json(0)`, `NULL NULL`}})
}

func TestRefused(t *testing.T) {
	functionstest.Check(t, functionstest.NewTables().Open(t, Data{}.define), []functionstest.Test{
		{`SELECT export_json('x')`, `error: export_json: statements cannot write files`},
		{`SELECT __intrinsic_file_write('x', x'00')`, `error: __intrinsic_file_write: statements cannot write files`},
		{`SELECT __intrinsic_video_frame_au_data(0)`, `error: __intrinsic_video_frame_au_data`},
	})
}
