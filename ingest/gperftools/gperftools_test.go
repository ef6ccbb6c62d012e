package gperftools_test

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/tpconvert/tpconvert/ingest"
	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
	"github.com/tpconvert/tpconvert/internal/fuzz"
)

// cpu is a CPU profile: a sample seen twice, one seen once, the end, and the mappings. The addresses of callers follow the calls.
func cpu(order binary.AppendByteOrder) []byte { return words(order.AppendUint64) }

func words(appendWord func([]byte, uint64) []byte) (b []byte) {
	for _, word := range []uint64{0, 3, 0, 10_000, 0, 2, 2, 0x401000, 0x402001, 1, 1, 0x401010, 0, 1, 0} {
		b = appendWord(b, word)
	}
	return append(b, "00400000-00410000 r-xp 00000000 08:01 1 /bin/app\n"...)
}

const heap = `heap profile:      2:       64 [     3:      192] @ heapprofile
     2:       64 [     3:      192] @ 0x00401000 0x00402001

MAPPED_LIBRARIES:
00400000-00410000 r-xp 00000000 08:01 1 /bin/app
`

func TestCPU(t *testing.T) {
	little := func(b []byte, word uint64) []byte { return binary.LittleEndian.AppendUint32(b, uint32(word)) }
	big := func(b []byte, word uint64) []byte { return binary.BigEndian.AppendUint32(b, uint32(word)) }
	for _, data := range [][]byte{cpu(binary.LittleEndian), cpu(binary.BigEndian), words(little), words(big)} {
		tables := ingesttest.MustRead(t, "app.prof", data)
		tables.Want(t, "aggregate_profile", "sample_type_type|sample_type_unit", "samples|count", "cpu|nanoseconds")
		tables.Want(t, "stack_profile_mapping", "name|start", "/bin/app|4194304")
		tables.Want(t, "aggregate_sample", "aggregate_profile_id|value", "0|2", "1|2e+07", "0|1", "1|1e+07")
	}
}

func TestHeap(t *testing.T) {
	tables := ingesttest.MustRead(t, "app.heap", []byte(heap))
	tables.Want(t, "aggregate_profile", "sample_type_type|sample_type_unit", "alloc_objects|count", "alloc_space|bytes", "inuse_objects|count", "inuse_space|bytes")
	tables.Want(t, "aggregate_sample", "aggregate_profile_id|value", "0|3", "1|192", "2|2", "3|64")
	tables.Want(t, "trace_file", "trace_type", "gperftools")
}

// TestGo reads the texts of Go's net/http/pprof with ?debug=1, which name functions in comments.
func TestGo(t *testing.T) {
	mutex := "--- mutex:\ncycles/second=2299998155\nsampling period=1\n720308821 79 @ 0x4da22a 0x4da1ba\n" +
		"#\t0x4da229\tsync.(*Mutex).Unlock+0x89\t/go/mutex.go:65\n#\t0x4da229\tmain.inlined+0x80\tgh/main.go:9\n#\t0x4da1b9\tmain.contend.func1+0x19\tgh/main.go:10\n\n" +
		"5512 1 @ 0x4549f0\n#\t0x4549ef\truntime.unlock+0xf\t/go/lock.go:261\n\n"
	tables := ingesttest.MustRead(t, "mutex.txt", []byte(mutex))
	tables.Want(t, "aggregate_profile", "sample_type_type|sample_type_unit|is_default", "contentions|count|false", "delay|nanoseconds|true")
	tables.Want(t, "stack_profile_symbol", "name|source_file|line_number", "sync.(*Mutex).Unlock|/go/mutex.go|65", "main.inlined|gh/main.go|9",
		"main.contend.func1|gh/main.go|10", "runtime.unlock|/go/lock.go|261")
	tables.Want(t, "aggregate_sample", "aggregate_profile_id|value", "0|79", "1|3.13177999e+08", "0|1", "1|2396")
	// The functions of the runtime at both ends have no comments, and are left out.
	heap := "heap profile: 1: 8 [1: 8] @ heap/1\n1: 8 [1: 8] @ 0x47c5f3 0x4da045 0x4844a1\n#\t0x4da044\tmain.allocSmall+0xa4\tgh/main.go:7\n\n"
	tables = ingesttest.MustRead(t, "heap.txt", []byte(heap))
	tables.Want(t, "stack_profile_symbol", "name", "main.allocSmall")
	tables.Want(t, "stack_profile_callsite", "depth", "0")
	threads := ingesttest.MustRead(t, "threadcreate.txt", []byte("threadcreate profile: total 4\n4 @ 0x0 0x0\n#\t0x0\n\n"))
	threads.Want(t, "aggregate_profile", "sample_type_type", "threadcreate")
	threads.Want(t, "aggregate_sample", "value", "4")
	goroutines := ingesttest.MustRead(t, "goroutine.txt", []byte("goroutine profile: total 3\n3 @ 0x4da045\n#\t0x4da044\tmain.wait+0xa4\tgh/main.go:7\n\n"))
	goroutines.Want(t, "stack_profile_symbol", "name", "main.wait")
	goroutines.Want(t, "aggregate_sample", "value", "3")
}

// TestJava reads Java's profiles, which name their functions. Their heaps are samples of 512 KiB: one of 512 KiB stands for
// 1 / (1 - exp(-1)).
func TestJava(t *testing.T) {
	const places = "\n  0x00000003 com.app.Main.run (Main.java:12)\n  0x00000004 GC\n"
	heap := "--- heapz 1 ---\nformat = java\nresolution = bytes\n   524288 1 @ 0x00000003 0x00000004\n" + places
	tables := ingesttest.MustRead(t, "java.heap", []byte(heap))
	tables.Want(t, "aggregate_profile", "sample_type_type|sample_type_unit", "inuse_objects|count", "inuse_space|bytes")
	tables.Want(t, "aggregate_sample", "aggregate_profile_id|value", "0|1", "1|829411")
	tables.Want(t, "stack_profile_symbol", "name|source_file|line_number", "com.app.Main.run|Main.java|12", "GC|NULL|NULL")

	var cpu []byte
	for _, word := range []uint64{0, 3, 1, 10_000, 0, 2, 2, 3, 4, 0, 1, 0} {
		cpu = binary.LittleEndian.AppendUint64(cpu, word)
	}
	tables = ingesttest.MustRead(t, "java.cpu", append(cpu, places...))
	tables.Want(t, "aggregate_sample", "aggregate_profile_id|value", "0|2", "1|2e+07")
	tables.Want(t, "stack_profile_symbol", "name", "com.app.Main.run", "GC")
}

// TestFacts reads what pprof's own reader skips. Labels are those of a program with pprof.Do in two goroutines.
func TestFacts(t *testing.T) {
	goroutines := "goroutine profile: total 4\n2 @ 0x4da045\n# labels: {\"a \\\"b\\\"\":\"c, d\", \"kind\":\"list\"}\n#\t0x4da044\tmain.wait+0xa4\tgh/main.go:7\n\n" +
		"1 @ 0x4da045\n# labels: {\"kind\":\"get\"}\n#\t0x4da044\tmain.wait+0xa4\tgh/main.go:7\n\n1 @ 0x4da045\n#\t0x4da044\tmain.wait+0xa4\tgh/main.go:7\n\n"
	tables := ingesttest.MustRead(t, "goroutine.txt", []byte(goroutines))
	tables.Want(t, "aggregate_sample", "value", "4")
	tables.Want(t, "aggregate_sample_label", "key|string_value|value", "a \"b\"|c, d|2", "kind|list|2", "kind|get|1")

	for _, damaged := range []string{`"a"`, `"a""b"`, `"a":"b`, `"a":"b"`, `"a":"b"x`, "x"} {
		data := "goroutine profile: total 1\n1 @ 0x4da045\n# labels: {" + damaged + "\n#\t0x4da044\tmain.wait+0xa4\tgh/main.go:7\n\n"
		ingesttest.MustRead(t, "goroutine.txt", []byte(data)).Want(t, "aggregate_sample", "value", "1")
	}

	heap := "heap profile: 0: 0 [0: 0] @ heap/1048576\n\n# runtime.MemStats\n# Alloc = 372608\n# Stack = 360448 / 360448\n"
	ingesttest.MustRead(t, "heap.txt", []byte(heap)).Want(t, "stats", "name|value|description", "unread_fact|2|runtime.MemStats values are not read")

	threads := "--- threadz 1 ---\n\n--- Thread 7f79 (name: main/14748) stack: ---\n  PC: 0x00bc8f1c: helper(int)\n  0x0040be31: main\n--- Thread 7f80 (name: worker/14749) stack: ---\n" +
		"    [same as previous thread]\n--- Memory map: ---\n  00400000-00fcb000: /bin/app\n"
	tables = ingesttest.MustRead(t, "threads.txt", []byte(threads))
	tables.Want(t, "aggregate_sample", "value", "2")
	tables.Want(t, "stats", "name|value|description", "unread_fact|2|thread names are not read")

	locks := "--- contentionz 1 ---\ncycles/second = 2000000000\nsampling period = 100\nms since reset = 16502830\ndiscarded samples = 19\n 19490304 27 @ 0x401000 0x402001\n"
	tables = ingesttest.MustRead(t, "locks.txt", []byte(locks))
	tables.Want(t, "aggregate_sample", "aggregate_profile_id|value", "0|2700", "1|9.745152e+08")
	tables.Want(t, "stats", "name|value", "gperftools_samples_lost|19")

	brpc := "--- contention\ncycles/second=1000000000\n1500 3 @ 0x401000 0x402001\n00400000-00410000 r-xp 00000000 08:01 1 /bin/app\n"
	tables = ingesttest.MustRead(t, "locks.txt", []byte(brpc))
	tables.Want(t, "aggregate_sample", "aggregate_profile_id|value", "0|3", "1|1500")
	tables.Want(t, "stack_profile_mapping", "name|start", "/bin/app|4194304")
}

// symbolized returns a profile with functions, as pprof --raw writes it. main calls work, into which inner is inlined.
func symbolized(mark string, profile []byte) []byte {
	return append([]byte("--- symbol\nbinary=/bin/app\n0x0000000000402000 main\n0x0000000000401000 work(int)<0000000000000f00>--inner\n0x0000000000401010 0x0000000000401010\n---\n"+mark), profile...)
}

func TestSymbols(t *testing.T) {
	for _, data := range [][]byte{symbolized("--- profile\n", cpu(binary.LittleEndian)), symbolized("--- heap\n", []byte(heap))} {
		tables := ingesttest.MustRead(t, "app.raw", data)
		tables.Want(t, "stack_profile_symbol", "symbol_set_id|name", "0|inner", "0|work(int)", "2|main")
	}
	// pprof --raw writes a CPU profile without its period, end and mappings.
	words := cpu(binary.LittleEndian)[:12*8]
	binary.LittleEndian.PutUint64(words[3*8:], 1)
	tables := ingesttest.MustRead(t, "app.raw", symbolized("--- profile\n", words))
	tables.Want(t, "aggregate_profile", "sample_type_type|sample_type_unit", "samples|count")
	tables.Want(t, "aggregate_sample", "value", "2", "1")
	tables.Want(t, "stats", "name")
	for _, cut := range []string{"--- symbol\n", "--- symbol\n0x1 f\n---\n--- profile\n", "--- symbol\n0x1 f\n---\n--- profile\n\x00\x00\x00"} {
		_, err := ingesttest.Read(t, ingesttest.File{Name: "app.raw", Reader: strings.NewReader(cut)})
		if err == nil || !format.BadInput(err) || !strings.Contains(err.Error(), "no profile after its symbols") {
			t.Errorf("%q: %v", cut, err)
		}
	}
}

const jemalloc = `heap_v2/524288
  t*: 3: 8388608 [0: 0]
  t0: 2: 4194304 [0: 0]
  t1: 1: 4194304 [0: 0] worker
@ 0x401000 0x402001
  t*: 2: 4194304 [0: 0]
  t0: 2: 4194304 [0: 0]
@ 0x402001
  t*: 1: 4194304 [0: 0]
  t1: 1: 4194304 [0: 0]

MAPPED_LIBRARIES:
00400000-00410000 r-xp 00000000 08:01 1 /bin/app
`

// TestJemalloc reads a heap profile of jemalloc. Its samples stand for more bytes, as jeprof counts: 2 of 2 MiB for
// 4194304 / (1 - exp(-4)), and 1 of 4 MiB for 4194304 / (1 - exp(-8)).
func TestJemalloc(t *testing.T) {
	tables := ingesttest.MustRead(t, "app.heap", []byte(jemalloc))
	tables.Want(t, "aggregate_profile", "sample_type_type|sample_type_unit", "objects|count", "space|bytes")
	tables.Want(t, "aggregate_sample", "aggregate_profile_id|value", "0|1", "1|4.195711e+06", "0|2", "1|4.272558e+06")
	tables.Want(t, "stack_profile_mapping", "name|start", "/bin/app|4194304")
	tables.Want(t, "stats", "name|value", "unread_fact|4")
	named := append([]byte("--- symbol\n0x402000 main\n0x400fff malloc\n---\n--- heap\n"), jemalloc...)
	tables = ingesttest.MustRead(t, "app.heap", named)
	tables.Want(t, "stack_profile_symbol", "name", "main")
	if _, err := ingesttest.Read(t, ingesttest.File{Name: "x", Reader: strings.NewReader("heap_v2/524288\nno values\n")}); err == nil || !format.BadInput(err) {
		t.Error(err)
	}
}

func TestCutOff(t *testing.T) {
	for _, data := range [][]byte{cpu(binary.LittleEndian), []byte(heap), []byte(jemalloc), symbolized("--- profile\n", cpu(binary.LittleEndian))} {
		for i := range len(data) {
			if _, err := ingesttest.Read(t, ingesttest.File{Name: "x", Reader: bytes.NewReader(data[:i])}); err != nil && !format.BadInput(err) {
				t.Fatalf("%q: %v", data[:i], err)
			}
		}
	}
}

// TestSamples compares profiles of others, in the folder gperftools, with what pprof reads: the sums of each value.
func TestSamples(t *testing.T) {
	ingesttest.Samples(t, "gperftools/*", func(file string, data []byte) {
		if f := ingest.Detect(data); f == nil || f.Name != "gperftools" {
			t.Logf("%s: %v", file, f)
			return
		}
		p, err := profile.ParseData(data)
		if err != nil {
			t.Fatal(err)
		}
		var want, got []float64
		for i := range p.SampleType {
			want, got = append(want, 0), append(got, 0)
			for _, s := range p.Sample {
				want[i] += float64(s.Value[i])
			}
		}
		tables, err := ingesttest.Read(t, ingesttest.File{Name: file, Reader: bytes.NewReader(data)})
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range tables.Rows("aggregate_sample", "aggregate_profile_id", "value") {
			profile, text, _ := strings.Cut(row, "|")
			i, _ := strconv.Atoi(profile)
			value, _ := strconv.ParseFloat(text, 64)
			got[i] += value
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", file, got, want)
		}
		t.Logf("%s: %v", file, want)
	})
}

func FuzzGperftools(f *testing.F) {
	f.Add(cpu(binary.LittleEndian))
	f.Add([]byte(heap))
	f.Add([]byte(jemalloc))
	f.Add(symbolized("--- profile\n", cpu(binary.LittleEndian)))
	fuzz.Run(f, func(t *testing.T, data []byte) {
		if detected := ingest.Detect(data); detected == nil || detected.Name != "gperftools" {
			return
		}
		_, err := ingesttest.Read(t, ingesttest.File{Name: "fuzz", Reader: bytes.NewReader(data)})
		if err != nil && !format.BadInput(err) {
			t.Fatal(err)
		}
	})
}
