//go:build cgo

package main

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/binary"
	"encoding/csv"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/tpconvert/tpconvert/internal/tracecase"
)

// content returns a file's bytes, decompressed.
func content(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil && strings.HasSuffix(path, ".gz") {
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(data)); err == nil {
			data, err = io.ReadAll(z)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestProfileTopOfFolded compares every function with the lines of the files.
func TestProfileTopOfFolded(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"a.folded": "main;a;b 3\nmain;b;a 4\nmain;a;a 5\nmain 2\n"})
	for _, path := range append(shared(t, "collapsed/*"), filepath.Join(dir, "a.folded")) {
		want := map[string]weight{}
		lines := bufio.NewScanner(bytes.NewReader(content(t, path)))
		lines.Buffer(nil, 1<<26)
		for lines.Scan() {
			at := strings.LastIndexByte(lines.Text(), ' ')
			if at < 0 || strings.HasPrefix(lines.Text(), "#") {
				continue
			}
			n := number(t, lines.Text()[at+1:])
			stack := strings.Split(lines.Text()[:at], ";")
			seen := map[string]bool{}
			for i, name := range stack {
				w := want[name]
				if i == len(stack)-1 {
					w.flat += n
				}
				if !seen[name] {
					w.cumulative += n
				}
				seen[name], want[name] = true, w
			}
		}
		out := filepath.Join(t.TempDir(), "out")
		tpconvert(t, dir, "-q", path, out).expect(t, exitDone, "")
		sameFunctions(t, filepath.Base(path), functionsOf(t, dir, out, "'aggregate_sample'"), want)
	}
}

// TestObjectsOfHPROF compares the number and the bytes of the objects of every class with the records of the dumps.
func TestObjectsOfHPROF(t *testing.T) {
	t.Parallel()
	for _, path := range append(shared(t, "hprof/*"), recorded(t, "arrays.hprof")) {
		want := hprofObjects(t, content(t, path))
		dir := t.TempDir()
		tpconvert(t, dir, "-q", path, "out").expect(t, exitDone, "")
		text := rowsOf(t, dir, "out", `SELECT c.name, count(*), sum(o.self_size) FROM heap_graph_object AS o JOIN heap_graph_class AS c ON c.id = o.type_id
			WHERE NOT starts_with(c.name, 'java.lang.Class') GROUP BY 1`)
		rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]weight{}
		for _, row := range rows[1:] {
			got[row[0]] = weight{number(t, row[1]), number(t, row[2])}
		}
		if len(want) < 5 {
			t.Errorf("%s: %v", path, want)
		}
		sameFunctions(t, filepath.Base(path), got, want)
	}
}

// hprofObjects returns the number of instances and arrays of a dump, and their bytes as classes and elements have them, by
// class, without those of java.lang.Class. The layout is in the
// JDK's heapDumper.cpp and, for Android, in ART's hprof.cc.
func hprofObjects(t *testing.T, dump []byte) map[string]weight {
	t.Helper()
	at := bytes.IndexByte(dump, 0) + 1
	size := int(binary.BigEndian.Uint32(dump[at:]))
	at += 12
	take := func(n int) uint64 {
		var v uint64
		for _, b := range dump[at : at+n] {
			v = v<<8 | uint64(b)
		}
		at += n
		return v
	}
	texts, names := map[uint64]string{}, map[uint64]string{}
	instance, instances := map[uint64]int{}, map[uint64]int{} // bytes of one, and their number
	byClass := map[uint64]weight{}
	all := map[string]weight{}
	widths := []int{2: size, 4: 1, 5: 2, 6: 4, 7: 8, 8: 1, 9: 2, 10: 4, 11: 8}
	primitives := []string{4: "boolean", 5: "char", 6: "float", 7: "double", 8: "byte", 9: "short", 10: "int", 11: "long"}
	roots := map[byte]int{0xff: size, 1: 2 * size, 2: size + 8, 3: size + 8, 4: size + 4, 5: size, 6: size + 4, 7: size, 8: size + 8,
		0xfe: 4 + size, 0x89: size, 0x8a: size, 0x8b: size, 0x8c: size, 0x8d: size, 0x8e: size + 8, 0x90: size}
	for at < len(dump) {
		tag := dump[at]
		at += 5
		end := int(take(4)) + at
		switch tag {
		case 1:
			id := take(size)
			texts[id] = string(dump[at:end])
		case 2:
			at += 4
			id := take(size)
			at += 4
			names[id] = texts[take(size)]
		case 0x0c, 0x1c:
			for at < end {
				sub := dump[at]
				at++
				if n, ok := roots[sub]; ok {
					at += n
					continue
				}
				object := take(size)
				switch at += 4; sub { // its allocation
				case 0x20:
					at += 6 * size
					instance[object] = int(take(4))
					for n := take(2); n > 0; n-- {
						at += 2
						at += widths[take(1)]
					}
					for n := take(2); n > 0; n-- {
						at += size
						at += widths[take(1)]
					}
					at += int(take(2)) * (size + 1)
				case 0x21:
					instances[take(size)]++
					at += int(take(4))
				case 0x22:
					n, class := int(take(4))*size, take(size)
					byClass[class] = byClass[class].plus(1, n)
					at += n
				case 0x23:
					n, of := int(take(4)), take(1)
					name := primitives[of] + "[]"
					all[name] = all[name].plus(1, n*widths[of])
					at += n * widths[of]
				case 0xc3:
					n, of := int(take(4)), take(1)
					name := primitives[of] + "[]"
					all[name] = all[name].plus(1, n*widths[of])
				default:
					t.Fatalf("record %#x before byte %d", sub, at)
				}
			}
		}
		at = end
	}
	for class, n := range instances {
		byClass[class] = byClass[class].plus(n, n*instance[class])
	}
	for class, n := range byClass {
		name, suffix := strings.ReplaceAll(names[class], "/", "."), ""
		for strings.HasPrefix(name, "[") {
			name, suffix = name[1:], suffix+"[]"
		}
		if suffix != "" {
			const codes = "ZCFDBSIJ"
			if i := strings.Index(codes, name); len(name) == 1 && i >= 0 {
				name = primitives[4+i]
			}
			name = strings.TrimSuffix(strings.TrimPrefix(name, "L"), ";")
		}
		if name = cmp.Or(name, "?") + suffix; !strings.HasPrefix(name, "java.lang.Class") {
			all[name] = all[name].plus(int(n.flat), int(n.cumulative))
		}
	}
	return all
}

func (w weight) plus(flat, cumulative int) weight {
	return weight{w.flat + float64(flat), w.cumulative + float64(cumulative)}
}

// heapprofd is a heap profile in two dumps, whose counts are since the start.
const heapprofd = `packet { clock_snapshot { clocks { clock_id: 6 timestamp: 1000 } clocks { clock_id: 4 timestamp: 0 } } }
packet { trusted_packet_sequence_id: 1 sequence_flags: 1 timestamp: 1100
  interned_data {
    function_names { iid: 1 str: "main" } function_names { iid: 2 str: "load" } function_names { iid: 3 str: "parse" } mapping_paths { iid: 1 str: "lib.so" }
    mappings { iid: 1 start: 4096 end: 8192 path_string_ids: 1 }
    frames { iid: 1 function_name_id: 1 mapping_id: 1 rel_pc: 1 } frames { iid: 2 function_name_id: 2 mapping_id: 1 rel_pc: 2 }
    frames { iid: 3 function_name_id: 3 mapping_id: 1 rel_pc: 3 }
    callstacks { iid: 1 frame_ids: 1 frame_ids: 2 } callstacks { iid: 2 frame_ids: 1 frame_ids: 2 frame_ids: 3 } callstacks { iid: 3 frame_ids: 1 frame_ids: 3 } }
  profile_packet { index: 0 process_dumps { pid: 7 heap_name: "libc.malloc" timestamp: 10
    samples { callstack_id: 1 self_allocated: 100 self_freed: 40 alloc_count: 10 free_count: 4 }
    samples { callstack_id: 2 self_allocated: 50 alloc_count: 5 } } } }
packet { trusted_packet_sequence_id: 1 timestamp: 1200 profile_packet { index: 1 process_dumps { pid: 7 heap_name: "libc.malloc" timestamp: 20
    samples { callstack_id: 1 self_allocated: 100 self_freed: 100 alloc_count: 10 free_count: 10 }
    samples { callstack_id: 2 self_allocated: 80 self_freed: 20 alloc_count: 8 free_count: 2 }
    samples { callstack_id: 3 self_allocated: 7 alloc_count: 1 } } } }
`

// TestFunctionsOfHeapprofd checks every function in every metric, in the profile that flamegraph writes and in SQL.
func TestFunctionsOfHeapprofd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name, trace, err := tracecase.Trace(&txtar.File{Name: "t.textproto", Data: []byte(heapprofd)})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), trace, 0o666); err != nil {
		t.Fatal(err)
	}
	tpconvert(t, dir, "-q", name, "out").expect(t, exitDone, "")
	tpconvert(t, dir, "flamegraph", "-o", "heap.pb.gz", "out").expect(t, exitDone, "")
	p := parsed(t, filepath.Join(dir, "heap.pb.gz"))
	summary := tpconvert(t, dir, "summarize", "--format", "csv", "profile", "out").stdout
	for i, want := range []map[string]weight{
		{"main": {0, 19}, "load": {10, 18}, "parse": {9, 9}},
		{"main": {0, 187}, "load": {100, 180}, "parse": {87, 87}},
		{"main": {0, 7}, "load": {0, 6}, "parse": {7, 7}},
		{"main": {0, 67}, "load": {0, 60}, "parse": {67, 67}},
	} {
		metric := []string{"alloc_objects", "alloc_space", "inuse_objects", "inuse_space"}[i]
		sameFunctions(t, metric+" written", pprofFunctions(t, filepath.Join(dir, "heap.pb.gz"), i, p.SampleType[i]), want)
		sameFunctions(t, metric+" in SQL", functionsOf(t, dir, "out", "'FROM _stack_value WHERE metric = ''"+metric+"'''"), want)
		if line := "libc.malloc," + metric + ",,parse," + strconv.Itoa(int(want["parse"].flat)) + "\n"; !strings.Contains(summary, line) {
			t.Errorf("no %q in the summary\n%s", line, summary)
		}
	}
}
