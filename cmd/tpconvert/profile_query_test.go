//go:build cgo

package main

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"golang.org/x/tools/txtar"

	"github.com/tpconvert/tpconvert/internal/tracecase"
)

// managedStacks is a trace of an app's managed code, which the runtime calls and which calls back into the runtime. The app's
// library is at two addresses, and has symbols with inlined functions.
const managedStacks = `packet { trusted_packet_sequence_id: 1 sequence_flags: 1 timestamp: 10
  trace_packet_defaults { perf_sample_defaults { timebase { frequency: 100 counter: HW_CPU_CYCLES } } }
  interned_data {
    mapping_paths { iid: 1 str: "apex" } mapping_paths { iid: 2 str: "libart.so" } mapping_paths { iid: 3 str: "app" }
    mapping_paths { iid: 4 str: "base.apk" } mapping_paths { iid: 5 str: "lib.so" } mapping_paths { iid: 6 str: "boot.oat" }
    mapping_paths { iid: 7 str: "program" }
    build_ids { iid: 1 str: "\001\002" }
    function_names { iid: 1 str: "_ZN3art6Thread3runEv" } function_names { iid: 2 str: "App.main" }
    function_names { iid: 3 str: "art_jni_trampoline" } function_names { iid: 4 str: "nterp_helper" } function_names { iid: 5 str: "" }
    mappings { iid: 1 start: 4096 end: 8192 path_string_ids: 1 path_string_ids: 2 }
    mappings { iid: 2 start: 8192 end: 9000 path_string_ids: 3 path_string_ids: 4 }
    mappings { iid: 3 build_id: 1 start: 12288 end: 16384 path_string_ids: 3 path_string_ids: 5 }
    mappings { iid: 4 build_id: 1 start: 20480 end: 24576 path_string_ids: 3 path_string_ids: 5 }
    mappings { iid: 5 start: 32768 end: 36864 path_string_ids: 6 }
    mappings { iid: 6 start: 40960 end: 45056 path_string_ids: 3 path_string_ids: 7 }
    frames { iid: 1 function_name_id: 1 mapping_id: 1 rel_pc: 1 }
    frames { iid: 2 function_name_id: 2 mapping_id: 2 rel_pc: 2 }
    frames { iid: 3 function_name_id: 3 mapping_id: 5 rel_pc: 3 }
    frames { iid: 4 function_name_id: 4 mapping_id: 1 rel_pc: 4 }
    frames { iid: 5 function_name_id: 5 mapping_id: 3 rel_pc: 16 }
    frames { iid: 6 function_name_id: 5 mapping_id: 4 rel_pc: 16 }
    frames { iid: 7 function_name_id: 5 mapping_id: 6 rel_pc: 7 }
    callstacks { iid: 1 frame_ids: 1 frame_ids: 2 frame_ids: 1 frame_ids: 4 frame_ids: 3 frame_ids: 1 frame_ids: 1 }
    callstacks { iid: 2 frame_ids: 7 frame_ids: 5 } callstacks { iid: 3 frame_ids: 7 frame_ids: 6 }
  }
  perf_sample { pid: 5 tid: 5 timebase_count: 100 callstack_iid: 1 } }
packet { trusted_packet_sequence_id: 1 timestamp: 20 perf_sample { pid: 5 tid: 5 timebase_count: 200 callstack_iid: 2 } }
packet { trusted_packet_sequence_id: 1 timestamp: 30 perf_sample { pid: 7 tid: 7 timebase_count: 300 callstack_iid: 3 } }
packet { module_symbols { path: "/app/lib.so" build_id: "\001\002"
  address_symbols { address: 16 lines { function_name: "inlined" source_file_name: "i.h" line_number: 3 } lines { function_name: "outer" } } } }
`

// TestProfiles builds stacks and profiles as Trace Processor v58 does.
func TestProfiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name, trace, err := tracecase.Trace(&txtar.File{Name: "t.textproto", Data: []byte(managedStacks)})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), trace, 0o666); err != nil {
		t.Fatal(err)
	}
	tpconvert(t, dir, "-q", name, "out").expect(t, exitDone, "")
	const samples = " FROM perf_sample"
	const mappings = `8000-9000 /boot.oat  functions
1000-2000 /apex/libart.so  functions
2000-2328 /app/base.apk  functions
3000-4000 /app/lib.so 0102 functions files lines inlined
a000-b000 /app/program 
`
	for _, c := range []struct{ sql, want string }{
		{"SELECT hex(experimental_profile(stack_from_stack_profile_callsite(callsite_id, ts = 10)))" + samples, `samples/count
1: 1001 art::Thread::run() [common-frame]; 1001 art::Thread::run(); 8003 art_jni_trampoline [common-frame]; 1004 nterp_helper [common-frame-interp]; 1001 art::Thread::run() [common-frame]; 2002 App.main [interp]; 1001 art::Thread::run();
2: 3010 inlined (i.h:3) outer; a007;
` + mappings},
		{"SELECT hex(experimental_profile(cat_stacks('top', stack_from_stack_profile_callsite(callsite_id), stack_from_stack_profile_frame(0), 'leaf'), 'cycles', 'count', 10 * ts, 'n', 'x', 1))" + samples, `cycles/count n/x
100 1: 0 leaf; 1001 art::Thread::run(); 1001 art::Thread::run(); 1001 art::Thread::run(); 8003 art_jni_trampoline; 1004 nterp_helper; 1001 art::Thread::run(); 2002 App.main; 1001 art::Thread::run(); 0 top;
500 2: 0 leaf; 1001 art::Thread::run(); 3010 inlined (i.h:3) outer; a007; 0 top;
` + mappings},
		{"SELECT hex(experimental_profile(cat_stacks('A', column1), 'type', 'unit', column2) FILTER (WHERE column2 < 9)) FROM (VALUES ('B', 4), ('C', 8), ('B', -1), ('B', 15))", `type/unit
3: 0 B; 0 A;
8: 0 C; 0 A;
`},
		{"SELECT hex(experimental_profile(DISTINCT cat_stacks('A'))) FROM slice UNION ALL SELECT hex(experimental_profile(DISTINCT cat_stacks('A'))) FROM perf_sample", "samples/count\n1: 0 A;\n"},
		{"SELECT hex(experimental_profile(x''))", "samples/count\n"},
	} {
		lines := strings.Split(strings.TrimSpace(rowsOf(t, dir, "out", c.sql, "--perfetto")), "\n")
		if got := profileText(t, lines[len(lines)-1]); got != c.want {
			t.Errorf("%s:\n%swant\n%s", c.sql, got, c.want)
		}
	}
	const stacks = `SELECT hex(cat_stacks('A', CAT_STACKS('B', NULL, stack_from_stack_profile_callsite(5, 0)), stack_from_stack_profile_frame(4))) AS a,
hex(stack_from_stack_profile_callsite(3, TRUE)) AS b, stack_from_stack_profile_callsite(NULL) AS c, stack_from_stack_profile_frame(NULL) AS d,
cat_stacks(NULL) AS e, hex(cat_stacks('')) AS f, (SELECT experimental_profile(cat_stacks(name)) FROM slice) AS g`
	const want = `"a","b","c","d","e","f","g"
"0A0220040A0210050A030A01420A030A0141","0A021803","[NULL]","[NULL]","[NULL]","0A020A00","[NULL]"
`
	if got := rowsOf(t, dir, "out", stacks, "--perfetto"); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	const annotated = `SELECT group_concat(depth || ':' || ifnull(annotation, ''), ' ') AS a
FROM perf_sample AS p JOIN experimental_annotated_callstack(p.callsite_id) WHERE p.ts = 10`
	if got, want := rowsOf(t, dir, "out", annotated, "--perfetto"), "\"a\"\n\"6:common-frame 5: 4:common-frame 3:common-frame-interp 2:common-frame 1:interp 0:\"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for sql, want := range map[string]string{
		"cat_stacks('A', 1)":                              "cat_stacks: argument 2 is neither a stack nor a text",
		"stack_from_stack_profile_callsite(99)":           "stack_from_stack_profile_callsite: there is no callsite 99",
		"stack_from_stack_profile_frame(-1)":              "stack_from_stack_profile_frame: there is no frame -1",
		"stack_from_stack_profile_frame('1')":             "the argument is not the id of a frame",
		"stack_from_stack_profile_callsite(1, 'x')":       "the second argument is no truth value",
		"experimental_profile(NULL)":                      "the stack must be a BLOB",
		"experimental_profile(x'05')":                     "the stack is not a message of type Stack",
		"experimental_profile(x'0A021063')":               "there is no callsite 99",
		"experimental_profile(cat_stacks('A'), 't', 'u')": "the arguments are a stack and then types, units and values of samples",
		"experimental_profile(x'', 't', 'u', 1.5)":        "values of samples must be integers",
		"experimental_profile(x'', NULL, 'u', 1)":         "types and units of samples must be text",
		"experimental_profile(x'') OVER (ORDER BY cpu)":   "may not be used as a window function",
	} {
		tpconvert(t, dir, "query", "--perfetto", "out", "SELECT "+sql+" FROM perf_sample").expect(t, exitFailure, want)
	}
}

// TestSampleContexts groups samples by the contexts that they share, whose ids are those of Trace Processor v58.
func TestSampleContexts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const sample = `packet { trusted_packet_sequence_id: 1 sequence_flags: %d timestamp: %d perf_sample { cpu: %d pid: 5 tid: %d cpu_mode: %s timebase_count: 1 callstack_iid: 1 }
  interned_data { function_names { iid: 1 str: "f" } frames { iid: 1 function_name_id: 1 } callstacks { iid: 1 frame_ids: 1 } } }
`
	text := fmt.Sprintf(sample, 1, 10, 3, 5, "MODE_USER") + fmt.Sprintf(sample, 2, 20, 0, 6, "MODE_KERNEL") +
		fmt.Sprintf(sample, 2, 30, 3, 6, "MODE_USER") + fmt.Sprintf(sample, 2, 40, 3, 5, "MODE_USER")
	name, trace, err := tracecase.Trace(&txtar.File{Name: "t.textproto", Data: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), trace, 0o666); err != nil {
		t.Fatal(err)
	}
	tpconvert(t, dir, "-q", name, "out").expect(t, exitDone, "")
	for sql, want := range map[string]string{
		"SELECT execution_context_id, count(*) FROM stack_sample GROUP BY 1 ORDER BY 1":                     "0,3 1,1",
		"SELECT task_context_id, count(*) FROM stack_sample GROUP BY 1 ORDER BY 1":                          "0,2 1,2",
		"SELECT id, ucpu, cpu_mode FROM stack_sample_execution_context ORDER BY id":                         `0,3,"user" 1,0,"kernel"`,
		"SELECT c.id, tid FROM stack_sample_task_context AS c JOIN thread USING (utid) ORDER BY c.id":       "0,5 1,6",
		"SELECT ts, execution_context_id FROM stack_sample WHERE task_context_id = 1":                       "20,1 30,0",
		"SELECT ts, cpu, cpu_mode, tid FROM perf_sample JOIN thread USING (utid) WHERE cpu = 3 AND tid = 5": `10,3,"user",5 40,3,"user",5`,
	} {
		_, got, _ := strings.Cut(rowsOf(t, dir, "out", sql, "--perfetto"), "\n")
		if got = strings.Join(strings.Fields(got), " "); got != want {
			t.Errorf("%s: got %s, want %s", sql, got, want)
		}
	}
}

// profileText returns what a profile, in hexadecimal, says.
func profileText(t *testing.T, text string) string {
	t.Helper()
	data, err := hex.DecodeString(strings.Trim(text, "\"\n"))
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	p, err := profile.ParseUncompressed(data)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	types := make([]string, len(p.SampleType))
	for i, v := range p.SampleType {
		types[i] = v.Type + "/" + v.Unit
	}
	fmt.Fprintln(&b, strings.Join(types, " "))
	for _, s := range p.Sample {
		fmt.Fprint(&b, strings.Trim(fmt.Sprint(s.Value), "[]"), ":")
		for _, l := range s.Location {
			fmt.Fprintf(&b, " %x", l.Address)
			for _, line := range l.Line {
				fmt.Fprintf(&b, " %s", line.Function.Name)
				if line.Function.Filename != "" {
					fmt.Fprintf(&b, " (%s:%d)", line.Function.Filename, line.Line)
				}
			}
			b.WriteByte(';')
		}
		b.WriteByte('\n')
	}
	for _, m := range p.Mapping {
		fmt.Fprintf(&b, "%x-%x %s %s", m.Start, m.Limit, m.File, m.BuildID)
		for i, known := range []bool{m.HasFunctions, m.HasFilenames, m.HasLineNumbers, m.HasInlineFrames} {
			if known {
				fmt.Fprintf(&b, " %s", []string{"functions", "files", "lines", "inlined"}[i])
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}
