package profiles

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/tpconvert/tpconvert/sqlfuncs/functions/functionstest"
)

// stackTables are stacks of Android's runtime, with symbols for one frame.
func stackTables(t *testing.T) *functionstest.Tables {
	s := functionstest.NewTables()
	s.Add(t, "stack_profile_callsite", "id, depth, parent_id, frame_id",
		[]any{0, 0, nil, 0}, []any{1, 1, 0, 1}, []any{2, 2, 1, 2}, []any{3, 3, 2, 3}, []any{4, 4, 3, 4}, []any{5, 2, 1, 3}, []any{6, 0, nil, 3})
	s.Add(t, "stack_profile_frame", "id, name text, mapping, rel_pc, symbol_set_id, deobfuscated_name text",
		[]any{0, "main", 0, 16, nil, nil}, []any{1, "a.b.run", 1, 32, nil, "app.Main.run"}, []any{2, "art_jni_trampoline", 2, 48, nil, nil},
		[]any{3, "_ZN3art11interpreter7ExecuteEv", 2, 64, nil, nil}, []any{4, "inlined", 2, 80, 9, nil})
	s.Add(t, "stack_profile_mapping", `id, name text, build_id text, start, end, exact_offset`,
		[]any{0, "/system/bin/app_process64", "aa", 4096, 8192, 0}, []any{1, "/data/app/base.apk", "", 8192, 12288, 0},
		[]any{2, "/apex/com.android.art/lib64/libart.so", "", 12288, 16384, 4096})
	s.Add(t, "stack_profile_symbol", "symbol_set_id, name text, source_file text, line_number",
		[]any{9, "inner", "a.cc", 7}, []any{9, "outer", "a.cc", 8})
	s.Add(t, "jit_frame", "jit_code_id, frame_id")
	s.Add(t, "v8_js_code", "jit_code_id, v8_js_function_id, tier text")
	s.Add(t, "v8_js_function", "id, name text, line, col, v8_js_script_id")
	s.Add(t, "v8_js_script", "id, name text")
	s.Add(t, "v8_wasm_code", "jit_code_id, function_name text")
	s.Add(t, "v8_internal_code", "jit_code_id, function_name text")
	s.Add(t, "v8_regexp_code", "jit_code_id, pattern text")
	return s
}

func TestStacks(t *testing.T) {
	functionstest.Check(t, stackTables(t).Open(t, Define), []functionstest.Test{
		{`SELECT cat_stacks('a', 'b'), cat_stacks(NULL), cat_stacks(cat_stacks('a'), NULL, 'c')`,
			`x'0A030A01620A030A0161' NULL x'0A030A01630A030A0161'`},
		{`SELECT cat_stacks(1)`, `error: cat_stacks: argument 1 is neither`},
		{`SELECT stack_from_stack_profile_callsite(3), stack_from_stack_profile_callsite(3, TRUE), stack_from_stack_profile_callsite(3, 0),
			stack_from_stack_profile_callsite(NULL), stack_from_stack_profile_callsite(3, NULL), stack_from_stack_profile_frame(4)`,
			`x'0A021003' x'0A021803' x'0A021003' NULL NULL x'0A022004'`},
		{`SELECT stack_from_stack_profile_callsite(7)`, `error: stack_from_stack_profile_callsite: there is no callsite 7`},
		{`SELECT stack_from_stack_profile_callsite()`, `error: stack_from_stack_profile_callsite has 1 or 2 arguments`},
		{`SELECT stack_from_stack_profile_frame('a')`, `error: stack_from_stack_profile_frame`},
	})
}

func TestCallsites(t *testing.T) {
	functionstest.Check(t, stackTables(t).Open(t, Define), []functionstest.Test{
		{`SELECT * FROM experimental_ancestor_stack_profile_callsite(2)`, `
0 0 NULL 0
1 1 0 1`},
		{`SELECT * FROM experimental_ancestor_stack_profile_callsite(9)`, `error: there is no callsite 9`},
		{`SELECT * FROM experimental_annotated_callstack(4)`, `
4 4 3 4 'common-frame'
3 3 2 3 NULL
2 2 1 2 'common-frame'
1 1 0 1 'interp'
0 0 NULL 0 NULL`},
		{`SELECT id, annotation FROM experimental_annotated_callstack(5)`, `
5 'common-frame-interp'
1 'interp'
0 NULL`},
		{`SELECT id, annotation FROM experimental_annotated_callstack(6)`, `6 NULL`},
		{`SELECT * FROM experimental_annotated_callstack(NULL)`, ``},
	})
}

func TestProfile(t *testing.T) {
	query := stackTables(t).Open(t, Define)
	functionstest.Check(t, query, []functionstest.Test{
		{`SELECT experimental_profile(cat_stacks('a')) FILTER (WHERE 0)`, `NULL`},
		{`SELECT experimental_profile(NULL)`, `error: experimental_profile: the stack must be a BLOB`},
		{`SELECT experimental_profile(cat_stacks('a'), 'x')`, `error: experimental_profile: the arguments are`},
		{`SELECT experimental_profile()`, `error: experimental_profile: the arguments are`},
		{`SELECT experimental_profile(cat_stacks('a'), 'x', 'y', 'z')`, `error: experimental_profile: values of samples must be integers`},
		{`SELECT experimental_profile(x'ff')`, `error: experimental_profile: the stack is not a message`},
	})
	got := query(`SELECT hex(experimental_profile(cat_stacks('thread', stack_from_stack_profile_callsite(column1, column2)), 'cpu', 'ns', column3))
		FROM (VALUES (4, 1, 10), (0, 0, 5), (4, 1, 1))`)
	raw, err := hex.DecodeString(strings.Trim(got, "'"))
	if err != nil {
		t.Fatal(got)
	}
	p, err := profile.ParseData(raw)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, s := range p.Sample {
		var names []string
		for _, l := range s.Location {
			for _, line := range l.Line {
				names = append(names, line.Function.Name)
			}
		}
		lines = append(lines, strings.Join(names, " < "))
	}
	want := []string{
		"inner [common-frame] < outer [common-frame] < art::interpreter::Execute() < art_jni_trampoline [common-frame] < app.Main.run [interp] < main < thread",
		"main < thread",
	}
	if strings.Join(lines, "\n") != strings.Join(want, "\n") {
		t.Errorf("stacks:\n%s", strings.Join(lines, "\n"))
	}
	if v := p.Sample[0].Value[0]; v != 11 || p.SampleType[0].Type != "cpu" || p.SampleType[0].Unit != "ns" {
		t.Errorf("value %d of %+v", v, p.SampleType[0])
	}
	if m := p.Mapping[0]; m.File != "/data/app/base.apk" || !m.HasFunctions {
		t.Errorf("the first mapping is %+v", m)
	}
}
