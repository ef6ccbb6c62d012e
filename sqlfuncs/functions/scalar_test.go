package functions

import "testing"

func TestTexts(t *testing.T) {
	check(t, newTables().open(t, Data{}), []test{
		{`SELECT unhex(' 0x1F '), __intrinsic_unhex('7fffffffffffffff'), unhex('-1f'), unhex('+1f'), unhex(NULL)`,
			`31 9223372036854775807 -31 31 NULL`},
		{`SELECT unhex('0x0x1f')`, `error: unhex: "0x0x1f" is no hexadecimal integer`},
		{`SELECT unhex('8000000000000000')`, `error: unhex`},
		{`SELECT unhex('  ')`, `error: unhex`},
		{`SELECT unhex(5)`, `error: unhex: the argument is no text`},
		{`SELECT hash('a'), hash(1), hash('a', 1), hash(), hash(-1, 'xyz')`,
			`-5808556873153909620 -8517097267634966620 -2387013801523068883 -3750763034362895579 3202249400462540312`},
		{`SELECT hash('a', NULL)`, `error: hash: argument 2`},
		{`SELECT hash(1.5)`, `error: hash: argument 1`},
		{`SELECT base64_encode(x'616263ff'), base64_encode(x''), base64_encode(NULL)`, `'YWJj/w==' '' NULL`},
		{`SELECT base64_encode('a')`, `error: base64_encode: the argument is no BLOB`},
		{`SELECT base64_decode('YWJj_w=='), base64_decode('YQ'), base64_decode(x'59513d'), base64_decode(''), base64_decode(NULL)`,
			`x'616263FF' x'61' x'61' x'' NULL`},
		{`SELECT base64_decode('Y')`, `error: base64_decode`},
		{`SELECT base64_decode('Y Q=')`, `error: base64_decode`},
		{`SELECT base64_decode(1)`, `error: base64_decode`},
		{`SELECT reverse('abc'), hex(reverse('é')), reverse(NULL)`, `'cba' 'A9C3' NULL`},
		{`SELECT reverse(1)`, `error: reverse`},
		{`SELECT demangle('_ZN3foo3barEv'), demangle('foo'), demangle('_RNvC6_123foo3bar'), demangle(NULL)`,
			`'foo::bar()' NULL '123foo::bar' NULL`},
		{`SELECT demangle(1)`, `error: demangle`},
		{`SELECT null_if_empty(x''), null_if_empty(x'01'), null_if_empty(NULL)`, `NULL x'01' NULL`},
		{`SELECT null_if_empty('')`, `error: null_if_empty`},
		{`SELECT str_split('a,b,c', ',', 1), str_split('a,b,c', ',', 3), str_split('abc', 'b', 0), str_split(12, ',', 0),
			str_split(NULL, ',', 0), str_split('a||b', '||', 1), str_split('a,b', ',', 4294967296)`, `'b' NULL 'a' NULL NULL 'b' 'a'`},
		{`SELECT str_split('a', '', 0)`, `error: str_split`},
		{`SELECT str_split('a', ',', -1)`, `error: str_split`},
		{`SELECT __intrinsic_strip_hex('foo 0xabc bar1234 12ab xyz_99', 1), __intrinsic_strip_hex('abc0xff x1', 3),
			__intrinsic_strip_hex('deadbeef', 0), __intrinsic_strip_hex('éa1', 1), __intrinsic_strip_hex('', 1),
			__intrinsic_strip_hex(NULL, 1), __intrinsic_strip_hex('a', NULL), __intrinsic_strip_hex('0xzz 0x', 0)`,
			`'foo <num>x<num> bar<num> <num> xyz_<num>' '<num>xff x1' 'deadbeef' 'é<num>' '' NULL NULL '<num>x<num>zz <num>x<num>'`},
		{`SELECT __intrinsic_strip_hex('a', -1)`, `error: __intrinsic_strip_hex`},
		{`SELECT substr(__intrinsic_zstd_compress('aaaa'), 1, 4), __intrinsic_zstd_compress(NULL)`, `x'28B52FFD' NULL`},
		{`SELECT __intrinsic_zstd_compress(1)`, `error: __intrinsic_zstd_compress`},
	})
}

func TestRegexp(t *testing.T) {
	check(t, newTables().open(t, Data{}), []test{
		{`SELECT regexp('A', 'a'), regexp('A', 'a', 'i'), regexp('A', 'a', 'ic'), 'abc' REGEXP 'b', regexp(1, 213), regexp(NULL, 'a'),
			regexp('a', NULL), regexp('a', 'b', NULL)`, `0 1 0 1 1 NULL NULL NULL`},
		{`SELECT regexp('a', 'a', 'x')`, `error: regexp: there is no flag 'x'`},
		{`SELECT regexp('a(?=b)', 'ab')`, `error: regexp: error parsing regexp`},
		{`SELECT regexp_extract('abc', '(x)?b'), regexp_extract('abc', 'z'), regexp_extract('abc', '()b'), regexp_extract(123, '2.'),
			regexp_extract(NULL, 'a'), regexp_extract('abc', 'a(.)'), regexp_extract('z', '(a)(b)')`, `'b' NULL 'b' '23' NULL 'b' NULL`},
		{`SELECT regexp_extract('abc', '(b)(c)')`, `error: regexp_extract: the pattern has more than one group`},
		{`SELECT regexp_replace_simple('banana', 'a', '<\0>'), regexp_replace_simple('banana', '(a)(n)?', '\2\1'),
			regexp_replace_simple('banana', 'a', 'x\q!'), regexp_replace_simple('banana', 'a', '\3'),
			regexp_replace_simple('abc', 'x*', '-'), regexp_replace_simple('abc', '', '-'), regexp_replace_simple('banana', 'a', 'x\\y\')`,
			`'b<a>n<a>n<a>' 'bnanaa' 'bxnxnx' 'banana' '-a-b-c-' '-a-b-c-' 'bx\ynx\ynx\y'`},
		{`SELECT regexp_replace_simple(NULL, 'a', 'b'), regexp_replace_simple('a', NULL, 'b'), regexp_replace_simple('a', 'b', NULL)`,
			`NULL NULL NULL`},
		{`SELECT length(regexp_replace_simple(printf('%.*c', 40000, 'a'), 'a', printf('%.*c', 40000, 'b')))`,
			`error: regexp_replace_simple: the result is too long`},
	})
}

func TestMath(t *testing.T) {
	check(t, newTables().open(t, Data{}), []test{
		{`SELECT ln(1), ln(0), ln('2.5'), ln('x'), exp(1), exp('1x'), sqrt(4), sqrt(-1), exp(1000), ln(NULL), __intrinsic_ln(1)`,
			`0.0 NULL 0.916290732 NULL 2.71828183 NULL 2.0 NULL +Inf NULL 0.0`},
	})
}

func TestClocks(t *testing.T) {
	s := newTables()
	s.add(t, "clock_snapshot", "ts, clock_id, clock_value",
		[]any{100, 1, 1000}, []any{100, 3, 50}, []any{200, 1, 1090}, []any{200, 3, 160}, []any{200, 3, 999}, []any{300, 6, 0})
	check(t, s.open(t, Data{}), []test{
		{`SELECT to_timecode(0), to_timecode(3723004005006), to_timecode(-5), to_timecode(-3723004005006), to_timecode(NULL)`,
			`'00:00:00 000 000 000' '01:02:03 004 005 006' '00:00:00 000 000 -05' '-1:-2:-3 -04 -05 -06' NULL`},
		{`SELECT to_timecode('x')`, `error: to_timecode: the argument is no timestamp`},
		{`SELECT to_realtime(0), to_realtime(100), to_realtime(150), to_realtime(199), to_realtime(250), to_realtime(NULL)`,
			`1000 1000 1050 1090 1140 NULL`},
		{`SELECT to_monotonic(150), to_monotonic(200), to_monotonic(201)`, `100 160 161`},
		{`SELECT abs_time_str(1700000000123456789 - 890)`, `'2023-11-14T22:13:20.123456789'`},
	})
	s = newTables()
	s.add(t, "clock_snapshot", "ts, clock_id, clock_value")
	check(t, s.open(t, Data{}), []test{{`SELECT to_realtime(0), to_monotonic(5), abs_time_str(5)`, `NULL NULL NULL`}})
}

func TestArgs(t *testing.T) {
	s := newTables()
	s.add(t, "args", "arg_set_id, key text, int_value, string_value text, real_value real, value_type text",
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
	tests := []test{
		{`SELECT extract_arg(0, 'a.b'), extract_arg(0, 'a.c[1]') = 'x"' || char(10) || 'é😀', extract_arg(0, 'a.c[0].d'), extract_arg(0, 'e'),
			extract_arg(0, 'f'), extract_arg(0, 'g'), extract_arg(0, 'h'), extract_arg(0, 'i'), extract_arg(0, 'j')`,
			`1 1 0.5 255 1 -1 NULL '[1]' NULL`},
		{`SELECT extract_arg(3, 'a'), extract_arg(1, 'a'), extract_arg(9, 'a'), extract_arg(-1, 'a'), extract_arg(4, 'a'), extract_arg(3, 'z'),
			extract_arg(NULL, NULL)`, `2 NULL NULL NULL 2 NULL NULL`},
		{`SELECT extract_arg('a', 'b')`, `error: extract_arg: the first argument`},
		{`SELECT extract_arg(1, 2)`, `error: extract_arg: the second argument`},
		{`SELECT __intrinsic_arg_set_to_json(0)`,
			`'{"a":{"b":1,"c":[{"d":0.5},"x\"\n\u00e9\ud83d\ude00"]},"e":"0xff","f":true,"g":18446744073709551615,"h":null,"i":"[1]","j":null}'`},
		{`SELECT __intrinsic_arg_set_to_json(3), __intrinsic_arg_set_to_json(5), __intrinsic_arg_set_to_json(NULL)`, `'{"a":3}' '{}' NULL`},
		{`SELECT __intrinsic_arg_set_to_json(4)`, `error: __intrinsic_arg_set_to_json: the key a.b`},
		{`SELECT __intrinsic_arg_set_to_json(7)`, `error: has the index "4000000000"`},
		{`SELECT __intrinsic_arg_set_to_json('a')`, `error: __intrinsic_arg_set_to_json`},
	}
	check(t, s.open(t, Data{}), tests)
	// The same in another order of sets.
	shuffled := newTables()
	shuffled.add(t, "args", "arg_set_id, key text, int_value, string_value text, real_value real, value_type text",
		[]any{3, "a", 2, nil, nil, "int"}, []any{0, "a", 1, nil, nil, "int"}, []any{3, "b", 3, nil, nil, "int"})
	check(t, shuffled.open(t, Data{}), []test{
		{`SELECT extract_arg(3, 'a'), extract_arg(0, 'a'), extract_arg(3, 'b'), extract_arg(0, 'b'), __intrinsic_arg_set_to_json(3)`,
			`2 1 3 NULL '{"a":2,"b":3}'`},
	})
}

func TestMetadata(t *testing.T) {
	s := newTables()
	s.add(t, "metadata", "name text, str_value text, int_value, machine_id, trace_id",
		[]any{"a", nil, 5, 0, 0}, []any{"a", "x", nil, 1, 0}, []any{"a", "y", nil, 1, 2}, []any{"b", nil, nil, nil, nil})
	check(t, s.open(t, Data{}), []test{
		{`SELECT extract_metadata('a'), extract_metadata('b'), extract_metadata('c'), extract_metadata(NULL)`, `5 NULL NULL NULL`},
		{`SELECT extract_metadata_for_machine(1, 'a'), extract_metadata_for_machine(0, 'a'), extract_metadata_for_machine(2, 'a'),
			extract_metadata_for_machine(NULL, 'a')`, `'x' 5 NULL NULL`},
		{`SELECT extract_metadata_for_trace(2, 'a'), extract_metadata_for_trace(0, 'a')`, `'y' 5`},
		{`SELECT extract_exact_metadata(1, 0, 'a'), extract_exact_metadata(0, 2, 'a')`, `'x' NULL`},
	})
}

func TestPackages(t *testing.T) {
	s := newTables()
	s.add(t, "package_list", "uid, package_name text", []any{10050, "com.android.providers.x"}, []any{10050, "b"}, []any{10050, "c"},
		[]any{10060, "b"}, []any{10060, "com.google.android.gms"}, []any{10070, "com.android.providers.y"})
	check(t, s.open(t, Data{}), []test{
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
	s := newTables()
	s.add(t, "profiler_sample", "id, counter_set_id", []any{0, 7}, []any{1, nil}, []any{2, 8})
	s.add(t, "profiler_counter_set", "counter_set_id, counter_id", []any{7, 0}, []any{7, 1}, []any{8, 2})
	s.add(t, "counter", "id, track_id, value real", []any{0, 4, 1.5}, []any{1, 5, 2.5}, []any{2, 4, 3.5})
	s.add(t, "track", "id, name text", []any{4, "cycles"}, []any{5, "faults"})
	const f = "__intrinsic_perf_counter_for_sample"
	check(t, s.open(t, Data{}), []test{
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
	s := newTables()
	s.add(t, "heap_graph_object_data", "array_data_id, array_element_type text", []any{0, "long"}, []any{nil, nil}, []any{1, "float"}, []any{2, "char"})
	query := s.open(t, Data{Arrays: arrays{0: {255, 255, 255, 255, 255, 255, 255, 255}, 1: {0, 0, 0xc0, 0x7f, 0, 0, 0x80, 0x3e}, 2: {1}}})
	check(t, query, []test{
		{`SELECT __intrinsic_heap_graph_array(0), __intrinsic_heap_graph_array(9), __intrinsic_heap_graph_array(NULL)`, `x'FFFFFFFFFFFFFFFF' NULL NULL`},
		{`SELECT __intrinsic_heap_graph_array_json(0), __intrinsic_heap_graph_array_json(1), __intrinsic_heap_graph_array_json(NULL)`,
			`'["-1"]' '["NaN",0.25]' NULL`},
		{`SELECT __intrinsic_heap_graph_array_json(2)`, `error: 1 bytes are no array of "char"`},
		{`SELECT __intrinsic_heap_graph_array('0')`, `error: array_data_id must be an integer`},
	})
	check(t, newTables().open(t, Data{}), []test{{`SELECT __intrinsic_heap_graph_array(0), __intrinsic_heap_graph_array_json(0)`, `NULL NULL`}})
}

func TestRefused(t *testing.T) {
	check(t, newTables().open(t, Data{}), []test{
		{`SELECT export_json('x')`, `error: export_json: statements cannot write files`},
		{`SELECT __intrinsic_file_write('x', x'00')`, `error: __intrinsic_file_write: statements cannot write files`},
		{`SELECT __intrinsic_video_frame_au_data(0)`, `error: __intrinsic_video_frame_au_data`},
	})
}
