package main

import (
	"archive/tar"
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/parquet/file"

	"github.com/tpconvert/tpconvert/internal/datasettest"
)

// person is the word that nobody may see.
const person = "alice"

// personal are traces with the word wherever a trace has texts, by their names.
func personal(t *testing.T) map[string]string {
	t.Helper()
	message := func(field int, content string) string {
		b := binary.AppendUvarint(nil, uint64(field<<3|2))
		return string(binary.AppendUvarint(b, uint64(len(content)))) + content
	}
	members := map[string]string{
		"alice-good.json": goodTrace, "alice-bad.pftrace": message(1, message(3, "no trace of alice")) + "\x0a\xff\xff\xff\xff\xff",
	}
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(members[name])), Mode: 0o600}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(members[name])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"alice.json": `{"otherData": {"owner": "alice", "alice": 1}, "traceEvents": [
			{"ph":"M","pid":1,"tid":1,"name":"process_name","args":{"name":"/home/alice/bin/app"}},
			{"ph":"M","pid":1,"tid":2,"name":"thread_name","args":{"name":"worker of alice"}},
			{"ph":"X","pid":1,"tid":2,"ts":10,"dur":50,"name":"load https://example.com/alice?q=1","cat":"user.alice",
				"args":{"url":"https://example.com/alice","alice":1,"list":["a",{"who":"alice"}],"id":42,"long":"` + strings.Repeat("x", 5000) + `alice"}},
			{"ph":"X","pid":1,"tid":2,"ts":11,"dur":5,"name":"inner"},
			{"ph":"C","pid":1,"ts":12,"name":"bytes of alice","args":{"v":1}},
			{"ph":"alice","pid":1,"tid":2,"ts":13,"name":"a phase that nobody knows"},
			{"ph":"X","pid":1,"tid":2,"ts":"soon, says alice","dur":1,"name":"n"},
			{"ph":"X","pid":1,"tid":2,"ts":20,"dur":5,"name":"alic"}, {"ph":"X","pid":1 "tid":"alice"} ]}`,
		"alice.strace":  "10 100.000000 openat(AT_FDCWD, \"/home/alice/x\", O_RDONLY) = 3 <0.000010>\n10 100.5 what alice wrote\n10 101.000000 close(3) = 0 <0.000001>\n",
		"alice.pftrace": message(1, message(78, "the state that alice had in the UI")) + string(skipped(3, 1)),
		"alice.tar":     archive.String(),
		"alice.bin":     "neither alice nor a trace",
		"alice.ftrace":  "# tracer: nop\n#\n   app-2 [000] .... 1.000000: tracing_mark_write: B|2|hello alice\n   app-2 [000] .... 1.100000: alice_event: x=1\n   app-2 [000] .... 1.200000: tracing_mark_write: E|2\n",
		"alice.folded":  "main;alice::work;/home/alice/lib.so 5\nmain;other 7\n",
	}
}

// Nothing that a conversion writes has a text that a pattern matches, also if it fails; the same command without the pattern has it in
// each of these places.
func TestRedactPattern(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "home-of-"+person)
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(dir, "key")
	write := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("key", "0123456789abcdef")
	args := []string{"-q", "--append"}
	for name, content := range personal(t) {
		write(name, content)
		args = append(args, name)
	}
	slices.Sort(args[2:])
	tpconvert(t, dir, append(args, "plain")...).expect(t, exitSomeFailed, "")
	for _, compression := range []string{"zstd", "none"} {
		flags := []string{"--redact", person, "--redact", "ali", "--redact-key", key, "--compression", compression}
		tpconvert(t, dir, append(append(args, flags...), "out-"+compression)...).expect(t, exitSomeFailed, "")
		if found := datasettest.Find(t, filepath.Join(dir, "out-"+compression), person); len(found) > 0 {
			t.Errorf("%s: %q", compression, found)
		}
	}
	places := map[string]bool{}
	for _, name := range datasettest.Find(t, filepath.Join(dir, "plain"), person) {
		places[filepath.Base(name)] = true
	}
	for _, want := range []string{"args", "slice", "process", "thread", "metadata", "counter_track", "stats", "trace", "trace_file", "stack_profile_frame"} {
		if !places[want+".parquet"] {
			t.Errorf("without a pattern, %s.parquet lacks the word: %v", want, places)
		}
	}
	failures := names(t, dir, "out-none", "_tpconvert", "failed")
	if len(failures) != 1 {
		t.Errorf("the failures %q", failures)
	} else if text, err := os.ReadFile(filepath.Join(dir, "out-none", "_tpconvert", "failed", failures[0])); err != nil || !strings.Contains(string(text), ": unknown format") {
		t.Errorf("%s, %v", text, err)
	}

	// What is known stays known.
	got := tpconvert(t, dir, append(append([]string{"--json"}, args[1:]...), "--redact", person, "--redact", "ali", "--redact-key", key, "out-none")...)
	got.expect(t, exitSomeFailed, "")
	if n := strings.Count(got.stdout, "is already in the dataset"); n != len(args)-2-1 {
		t.Errorf("%d traces are known: %s", n, got.stdout)
	}
}

// All rows, and all other texts, are those of the same command without the pattern, also of rows that wait in a temporary file because
// an outer slice stays open.
func TestRedactRows(t *testing.T) {
	t.Parallel()
	dir := folder(t, personal(t))
	var long strings.Builder
	long.WriteString(`[{"ph":"B","pid":1,"tid":1,"ts":0,"name":"outer of alice"}`)
	const inner = 400_000
	for i := range inner {
		fmt.Fprintf(&long, `,{"ph":"X","pid":1,"tid":1,"ts":%d,"dur":1,"name":"step %d alice","args":{"u":"https://x/%d"}}`, 2*i+1, i%5000, i%70000)
	}
	long.WriteString(`,{"ph":"E","pid":1,"tid":1,"ts":4000000}]`)
	for name, content := range map[string]string{"key": "0123456789abcdef", "long.json": long.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	hash := regexp.MustCompile("redacted_[0-9a-f]{16}")
	const slice = "id, ts, dur, name, category, depth, parent_id, extract_arg(arg_set_id, 'args.u') FROM slice WHERE id < 10 OR id % 997 = 0"
	for trace, selects := range map[string][]string{
		"alice.json":   {slice, "* FROM thread", "* FROM process", "id, name, type, machine_id FROM track"},
		"alice.folded": {"* FROM stack_profile_frame", "* FROM aggregate_sample"},
		"long.json":    {slice},
	} {
		tpconvert(t, dir, "-q", "-f", trace, "plain").expect(t, exitDone, "")
		tpconvert(t, dir, "-q", "-f", "--redact", person, "--redact-key", "key", trace, "out").expect(t, exitDone, "")
		for _, sql := range selects {
			sql = "SELECT " + sql
			want, got := tpconvert(t, dir, "query", "--perfetto", "--format", "csv", "plain", sql), tpconvert(t, dir, "query", "--perfetto", "--format", "csv", "out", sql)
			want.expect(t, exitDone, "")
			if text := hash.ReplaceAllString(got.stdout, person); text != want.stdout {
				t.Errorf("%s: %s:\n%.2000s\nwant\n%.2000s", trace, sql, text, want.stdout)
			}
		}
		if n := rows(t, dir, "out", "slice.parquet"); trace == "long.json" && n != inner+1 {
			t.Errorf("%d slices", n)
		}
	}
}

// Texts in base64 and hashes of texts say nothing of them either, and bytes are left out.
func TestRedactEncoded(t *testing.T) {
	t.Parallel()
	dir := folder(t, personal(t))
	if err := os.WriteFile(filepath.Join(dir, "key"), []byte("0123456789abcdef"), 0o666); err != nil {
		t.Fatal(err)
	}
	for out, flags := range map[string][]string{"plain": nil, "out": {"--redact", person, "--redact-key", "key"}} {
		for _, trace := range []string{"alice.pftrace", "alice.json", recorded(t, "arrays.hprof")} {
			tpconvert(t, dir, append(flags, "-q", trace, out+filepath.Ext(trace))...).expect(t, exitDone, "")
		}
	}
	state := func(set string) string {
		t.Helper()
		got := tpconvert(t, dir, "query", "--perfetto", "--format", "csv", set, "SELECT str_value FROM metadata WHERE name = 'ui_state'")
		got.expect(t, exitDone, "")
		_, value, _ := strings.Cut(got.stdout, "\n")
		return strings.Trim(value, "\"\r\n")
	}
	if plain, err := base64.StdEncoding.DecodeString(state("plain.pftrace")); err != nil || !strings.Contains(string(plain), person) {
		t.Errorf("without a pattern, the state is %q, %v", plain, err)
	}
	if hidden := state("out.pftrace"); !strings.HasPrefix(hidden, "redacted_") {
		t.Errorf("the state is %s", hidden)
	}
	hashes := func(set string) []int64 {
		t.Helper()
		return append(int64s(t, "stack_id", dir, set, "slice.parquet"), int64s(t, "parent_stack_id", dir, set, "slice.parquet")...)
	}
	plain, hidden := hashes("plain.json"), hashes("out.json")
	for i := range plain {
		for j := range plain {
			if (plain[i] == plain[j]) != (hidden[i] == hidden[j]) {
				t.Errorf("the hashes %d became %d", plain, hidden)
			}
		}
		if (plain[i] == 0) != (hidden[i] == 0) || plain[i] != 0 && plain[i] == hidden[i] || hidden[i] < 0 {
			t.Errorf("the hash %d became %d", plain[i], hidden[i])
		}
	}
	if with, without := nulls(t, "data", dir, "out.hprof", "heap_graph_array.parquet"), nulls(t, "data", dir, "plain.hprof", "heap_graph_array.parquet"); without != 0 || with != rows(t, dir, "out.hprof", "heap_graph_array.parquet") || with == 0 {
		t.Errorf("%d arrays have no bytes, %d without a pattern", with, without)
	}
}

// nulls returns the number of NULLs in a column of a file with one row group.
func nulls(t *testing.T, column string, elem ...string) int64 {
	t.Helper()
	r, err := file.OpenParquetFile(filepath.Join(elem...), false)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	chunk, err := r.MetaData().RowGroup(0).ColumnChunk(r.MetaData().Schema.ColumnIndexByName(column))
	if err != nil {
		t.Fatal(err)
	}
	stats, err := chunk.Statistics()
	if err != nil {
		t.Fatal(err)
	}
	return stats.NullCount()
}

// int64s returns a column of a file with one row group.
func int64s(t *testing.T, column string, elem ...string) []int64 {
	t.Helper()
	r, err := file.OpenParquetFile(filepath.Join(elem...), false)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	chunk, err := r.RowGroup(0).Column(r.MetaData().Schema.ColumnIndexByName(column))
	if err != nil {
		t.Fatal(err)
	}
	values := make([]int64, r.NumRows())
	if _, _, err := chunk.(*file.Int64ColumnChunkReader).ReadBatch(r.NumRows(), values, nil, nil); err != nil {
		t.Fatal(err)
	}
	return values
}

// Whole texts of columns, and values of args, are replaced; equal texts stay equal in all columns.
func TestRedactColumns(t *testing.T) {
	t.Parallel()
	dir := folder(t, personal(t))
	if err := os.WriteFile(filepath.Join(dir, "key"), []byte("0123456789abcdef"), 0o666); err != nil {
		t.Fatal(err)
	}
	tpconvert(t, dir, "-q", "alice.json", "plain").expect(t, exitDone, "")
	tpconvert(t, dir, "-q", "--redact-columns", "slice.name,counter_track.name,trace_file.name,args:*.id,args:args.long", "--redact-key", "key", "alice.json", "out").expect(t, exitDone, "")
	read := func(set, sql string) (rows []map[string]any) {
		t.Helper()
		got := tpconvert(t, dir, "query", "--perfetto", "--format", "json", set, sql)
		got.expect(t, exitDone, "")
		if err := json.Unmarshal([]byte(got.stdout), &rows); err != nil {
			t.Fatalf("%s: %v", got.stdout, err)
		}
		return rows
	}
	for _, row := range read("out", "SELECT name FROM slice UNION ALL SELECT name FROM track WHERE name IS NOT NULL") {
		if name, _ := row["name"].(string); !strings.HasPrefix(name, "redacted_") {
			t.Errorf("the name %s", name)
		}
	}
	for _, sql := range []string{
		"SELECT count(DISTINCT name) AS n, count(*) AS rows, sum(dur) AS dur FROM slice",
		"SELECT name, tid FROM thread", // other columns
		"SELECT key, string_value, int_value FROM args WHERE key NOT LIKE '%.id' AND key NOT LIKE '%.long' AND key NOT IN ('name', 'raw_event', 'error', 'message')",
	} {
		got, want := read("out", sql), read("plain", sql)
		if g, w := mustJSON(t, got), mustJSON(t, want); g != w || len(want) == 0 {
			t.Errorf("%s gives\n%s\nwant\n%s", sql, g, w)
		}
	}
	for _, row := range read("out", "SELECT key, string_value, int_value FROM args WHERE key LIKE '%.id' OR key LIKE '%.long'") {
		if text, _ := row["string_value"].(string); row["int_value"] != nil || text != "" && !strings.HasPrefix(text, "redacted_") {
			t.Errorf("an arg %v", row)
		}
	}
	if found := datasettest.Find(t, filepath.Join(dir, "out"), "alice.json"); len(found) > 0 {
		t.Errorf("the name of the file: %q", found)
	}
	for args, want := range map[string]string{
		"--redact x": "need --redact-key", "--redact-columns slice.nam --redact-key key": "slice.nam is no column of texts",
		"--redact x* --redact-key key": "matches the empty text", "--redact ( --redact-key key": "missing closing", "--redact-key key": "neither a pattern nor a column",
		"--redact-columns slice.dur --redact-key key": "no column of texts", "--redact x --redact-key alice.folded.none": "no such file",
	} {
		tpconvert(t, dir, append(strings.Fields(args), "alice.json", "refused")...).expect(t, exitUsage, want)
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
