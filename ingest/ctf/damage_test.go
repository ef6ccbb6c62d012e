package ctf_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
	"github.com/tpconvert/tpconvert/internal/fuzz"
)

// unpacked returns the metadata and the larger stream of the recording by LTTng.
func unpacked(t testing.TB) (metadata, stream string) {
	t.Helper()
	files := map[string]string{}
	for _, f := range unpack(t, "../../testdata/ust.ctf.tar.gz") {
		files[f[0][strings.LastIndexByte(f[0], '/')+1:]] = f[1]
	}
	return files["metadata"], files["c0_0"]
}

// TestCuts checks that a trace that is cut off is read up to there, and that this is counted.
func TestCuts(t *testing.T) {
	metadata, stream := unpacked(t)
	const packet = 4096
	last, lost := 0, 0
	for i := 1; i <= 64; i++ {
		n := len(stream) * i / 64
		tables, failed := ingesttest.MayFail(t, folder(t, [2]string{"metadata", metadata}, [2]string{"c0_0", stream[:n]}))
		rows := len(tables.Rows("slice", "id"))
		cut := slices.Contains(tables.Rows("stats", "name"), "truncated_input")
		if rows < last || n%packet != 0 && !cut && !failed || cut && n%packet == 0 {
			t.Errorf("cut at %d/64: %d slices after %d, cut: %v", i, rows, last, cut)
		}
		last = rows
	}
	if last < 40 {
		t.Errorf("%d slices", last)
	}
	contents := int(binary.LittleEndian.Uint32([]byte(metadata[24:])) / 8) // then there are zeros
	for i := range 64 {
		tables, failed := ingesttest.MayFail(t, folder(t, [2]string{"metadata", metadata[:len(metadata)*i/64]}, [2]string{"c0_0", stream}))
		stats := tables.Rows("stats", "name")
		if len(metadata)*i/64 < contents && !failed && !slices.Contains(stats, "truncated_input") && !slices.Contains(stats, "ctf_parse_errors") {
			t.Errorf("metadata cut at %d/64: %v", i, stats)
		}
		if failed {
			lost++
		}
	}
	t.Logf("%d of 64 parts of the metadata are refused", lost)
}

var mutations = flag.Int("mutations", 800, "how many damaged traces to read")

// TestMutations reads traces with damaged metadata or streams. None takes as long as all the others.
func TestMutations(t *testing.T) {
	metadata, stream := unpacked(t)
	random := rand.New(rand.NewPCG(1, 2))
	kernel := kernelTrace(true)
	read := 0
	var all, slowest time.Duration
	for i := range *mutations {
		files := [][2]string{{"metadata", metadata}, {"c0_0", stream}}
		if i%4 < 2 {
			files = slices.Clone(kernel[:2])
		}
		files[i%2][1] = damage(random, files[i%2][1])
		begun := time.Now()
		tables, _ := ingesttest.MayFail(t, folder(t, files...))
		took := time.Since(begun)
		all, slowest = all+took, max(slowest, took)
		read += len(tables.Rows("slice", "id"))
	}
	if slowest > all/2 {
		t.Errorf("one of %d traces took %v, the others %v", *mutations, slowest, all-slowest)
	}
	t.Logf("%d slices", read)
}

func damage(random *rand.Rand, text string) string {
	data := []byte(text)
	for range 1 + random.IntN(4) {
		from := random.IntN(len(data))
		to := min(len(data), from+1+random.IntN(16))
		switch random.IntN(4) {
		case 0:
			data[from] ^= 1 << random.IntN(8)
		case 1:
			data[from] = []byte{0, 0xff, 0x7f, '9', '{', '}'}[random.IntN(6)]
		case 2:
			data = slices.Delete(data, from, to)
		case 3:
			data = slices.Insert(data, from, data[from:to]...)
		}
	}
	return string(data)
}

// TestAttacks checks that sizes in a trace do not decide how much memory and time it takes: some of these would not end.
func TestAttacks(t *testing.T) {
	const begin = "/* CTF 1.8 */ trace { major = 1; minor = 8; byte_order = le; };\n typealias integer { size = 8; } := u8; struct none { };\n"
	fields := func(text string) string { return begin + "event { name = e; fields := struct { " + text + " }; };" }
	var doubled strings.Builder
	doubled.WriteString(begin + "struct s0 { u8 a; };\n")
	for i := range 40 {
		doubled.WriteString(fmt.Sprintf("struct s%d { struct s%d a, b; };\n", i+1, i))
	}
	long := strings.Repeat("\x01", 100_000)
	for name, test := range map[string]struct{ metadata, stream, says string }{
		"an array that is too long":   {fields("u8 a[4000000000000];"), long, "no trace events"},
		"a sequence that is too long": {fields("integer { size = 64; } n; u8 a[n];"), strings.Repeat("\xff", 100), "no trace events"},
		"a text that is too long":     {fields("integer { size = 64; } n; integer { size = 8; encoding = UTF8; } a[n];"), strings.Repeat("\xff", 100), "no trace events"},
		"elements without contents":   {fields("struct none a[4000000000000][4000000000000];"), long, "no trace events"},
		"events without contents":     {fields("struct none a;"), long, "no trace events"},
		"a large alignment":           {fields("struct { u8 a; } align(1073741824) a;"), long, "1073741824 where at most"},
		"an alignment of no power":    {fields("struct { u8 a; } align(3) a;"), long, "an alignment of 3 bits"},
		"deep nesting":                {fields(strings.Repeat("struct { ", 10000)), long, "nested more than"},
		"deep arrays":                 {fields("u8 a" + strings.Repeat("[2]", 10000) + ";"), long, "nested more than"},
		"types that double":           {doubled.String() + "event { name = e; fields := struct { struct s40 a; }; };", long, "too many types"},
		"a packet without a size":     {begin + "stream { packet.context := struct { u8 packet_size; }; }; event { fields := struct { u8 a; }; };", "\x00\x00\x00", "no trace events"},
		"a packet of part of a byte":  {begin + "stream { packet.context := struct { u8 packet_size; }; }; event { fields := struct { u8 a; }; };", "\x09\x00\x00", "no trace events"},
		"a clock of 0 Hz":             {begin + "clock { name = c; freq = 0; };", long, "0 Hz"},
		"a type that is not declared": {fields("u9 a;"), long, `"u9" is not declared`},
		"a tag that is not there":     {fields("variant <x> { u8 a; } v;"), long, "refers to x"},
		"a variant without a tag":     {fields("u8 a; variant { u8 b; } v;"), long, "v refers to nothing"},
		"a signed length":             {fields("integer { size = 8; signed = true; } n; u8 a[n];"), long, "is signed"},
		"a number of too many bits":   {fields("integer { size = 65; } n;"), long, "65 where at most"},
		"another event with this id":  {fields("u8 a;") + "event { name = f; fields := struct { u8 a; }; };", long, "the same id"},
		"quotes without an end":       {begin + `event { name = "e`, long, "within quotes"},
		"a trace of another magic":    {"/* CTF 1.8 */ trace { byte_order = le; packet.header := struct { integer { size = 32; } magic; }; }; event { fields := struct { }; };", long, "no trace events"},
	} {
		_, err := ingesttest.Read(t, ingesttest.File{Name: "t", Reader: strings.NewReader(string(folder(t, [2]string{"metadata", test.metadata}, [2]string{"s", test.stream})))})
		if !format.BadInput(err) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestResync checks that packets behind a damaged one are read.
func TestResync(t *testing.T) {
	metadata, stream := unpacked(t)
	whole, _ := ingesttest.MayFail(t, folder(t, [2]string{"metadata", metadata}, [2]string{"c0_0", stream}))
	tables, _ := ingesttest.MayFail(t, folder(t, [2]string{"metadata", metadata}, [2]string{"c0_0", stream[:4096] + strings.Repeat("x", 500_000) + stream[4096:]}))
	if got, want := len(tables.Rows("slice", "id")), len(whole.Rows("slice", "id")); got != want || want == 0 {
		t.Errorf("%d slices, want %d", got, want)
	}
	tables.Want(t, "stats", "name|value", "clock_sync_cache_miss|1", "ctf_parse_errors|1")
}

// TestDamagedFile checks that the other files of a trace are read if one is damaged in its archive.
func TestDamagedFile(t *testing.T) {
	metadata, stream := unpacked(t)
	whole, _ := ingesttest.MayFail(t, folder(t, [2]string{"metadata", metadata}, [2]string{"a", stream}))
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	for _, file := range [][2]string{{"metadata", metadata}, {"a", stream}, {"b", stream}} {
		to, err := w.CreateHeader(&zip.FileHeader{Name: file[0]})
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(to, file[1])
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	data := archive.Bytes()
	data[bytes.Index(data, []byte(stream))+len(stream)-1] ^= 1 // so that the checksum of the first is wrong
	tables, failed := ingesttest.MayFail(t, data)
	if got, want := len(tables.Rows("slice", "id")), 2*len(whole.Rows("slice", "id")); failed || got != want || want == 0 {
		t.Errorf("%d slices, want %d, failed: %t", got, want, failed)
	}
	tables.Want(t, "import_log", "name|byte_offset", fmt.Sprint("ctf_parse_errors|", len(stream)))
}

func FuzzCTF(f *testing.F) {
	metadata, stream := unpacked(f)
	f.Add(metadata, stream)
	for _, big := range []bool{false, true} {
		files := kernelTrace(big)
		f.Add(files[0][1], files[1][1])
	}
	f.Add(version2, stream2())
	fuzz.Run(f, func(t *testing.T, metadata, stream string) {
		if strings.HasPrefix(metadata, "/* CTF 1.") || strings.HasPrefix(metadata, "\x1e{\"type\": \"preamble\"") || len(metadata) > 0 && metadata[0] == 0x57 {
			ingesttest.MayFail(t, folder(t, [2]string{"metadata", metadata}, [2]string{"s", stream}))
		}
	})
}
