package compressed_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
	"github.com/tpconvert/tpconvert/internal/fuzz"
)

// log returns a build log of n jobs whose names hardly compress.
func log(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	b := []byte("# ninja log v5\n")
	for i := range n {
		b = fmt.Appendf(b, "%d\t%d\t0\t%016x\t1\n", i, i+1, r.Uint64())
	}
	return b
}

func gz(data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(data)
	w.Close()
	return b.Bytes()
}

func zst(data []byte) []byte {
	w, _ := zstd.NewWriter(nil)
	return w.EncodeAll(data, nil)
}

var formats = map[string]func([]byte) []byte{"gzip": gz, "zstd": zst}

func TestMembersAreOneFile(t *testing.T) {
	data := log(30)
	for name, compress := range formats {
		parts := bytes.Join([][]byte{compress(data[:100]), compress(nil), compress(data[100:])}, nil)
		tables := ingesttest.MustRead(t, "build", parts)
		if n := len(tables.Rows("slice", "id")); n != 30 {
			t.Errorf("%s: %d jobs", name, n)
		}
		tables.Want(t, "trace_file", "name|trace_type|parent_id|is_container|size",
			fmt.Sprintf("build|%s|NULL|true|%d", name, len(parts)),
			fmt.Sprintf("build|ninja_log|0|false|%d", len(data)))
		tables.Want(t, "stats", "name")
	}
}

// Members are one text, so the second array is data after the end of the trace.
func TestMembersThatAreTraces(t *testing.T) {
	event := func(name string) []byte {
		return []byte(`[{"ph":"X","pid":1,"tid":2,"ts":10,"dur":5,"name":"` + name + `"}]`)
	}
	for name, compress := range formats {
		tables := ingesttest.MustRead(t, "trace.json", append(compress(event("a")), compress(event("b"))...))
		tables.Want(t, "slice", "name", "a")
		if got := tables.Rows("stats", "name", "value"); len(got) != 1 || got[0] != "json_trailing_data|1" {
			t.Errorf("%s: stats %q", name, got)
		}
	}
}

// ctrace returns the output of atrace -z for a trace.
func ctrace(data []byte) []byte {
	var b bytes.Buffer
	b.WriteString("capturing trace... done\nTRACE:\n")
	w := zlib.NewWriter(&b)
	w.Write(data)
	w.Close()
	return b.Bytes()
}

func TestCtrace(t *testing.T) {
	for garbage, want := range map[string][]string{"": nil, "\x00\x01": {"trailing_garbage|1|0"}} {
		tables := ingesttest.MustRead(t, "trace", append(ctrace(log(30)), garbage...))
		if n := len(tables.Rows("slice", "id")); n != 30 {
			t.Errorf("%d jobs", n)
		}
		tables.Want(t, "trace_file", "trace_type|is_container", "ctrace|true", "ninja_log|false")
		tables.Want(t, "stats", "name|value|local_trace_id", want...)
	}
	whole := ctrace(log(20000))
	for n := len(whole) / 2; n < len(whole); n += len(whole) / 5 {
		tables := ingesttest.MustRead(t, "trace", whole[:n])
		if all := tables.Rows("stats", "name", "value"); !slices.Contains(all, "incomplete_file|1") {
			t.Errorf("stats %v", all)
		}
	}
	whole[len(whole)-1]++ // the checksum
	_, err := ingesttest.Read(t, ingesttest.File{Name: "trace", Reader: bytes.NewReader(whole)})
	if !errors.Is(err, format.ErrCorrupt) {
		t.Errorf("error %v", err)
	}
}

func TestTruncated(t *testing.T) {
	const jobs = 20000 // several Zstandard blocks
	for name, compress := range formats {
		whole := compress(log(jobs))
		for _, part := range []float64{0.5, 0.9, 0.9999} {
			cut := whole[:int(part*float64(len(whole)))]
			tables := ingesttest.MustRead(t, "build", cut)
			if all := tables.Rows("stats", "name", "value", "local_trace_id"); !slices.Contains(all, "incomplete_file|1|1") {
				t.Errorf("%s: stats %v", name, all)
			}
			if n := len(tables.Rows("slice", "id")); n < int(part*jobs)-6000 || n > jobs || n == 0 {
				t.Errorf("%s: %d jobs of %v of the file", name, n, part)
			}
		}
	}
}

func TestTruncatedAnywhere(t *testing.T) {
	for name, compress := range formats {
		whole := compress(log(3))
		for n := 4; n < len(whole); n++ {
			tables, err := ingesttest.Read(t, ingesttest.File{Name: "build", Reader: bytes.NewReader(whole[:n])})
			if err != nil && !format.BadInput(err) {
				t.Errorf("%s, %d bytes: %v", name, n, err)
			}
			if err == nil && !slices.Contains(tables.Rows("stats", "name"), "incomplete_file") {
				t.Errorf("%s, %d bytes: nobody noticed", name, n)
			}
		}
	}
}

func TestTrailingGarbage(t *testing.T) {
	for name, compress := range formats {
		for _, garbage := range []string{strings.Repeat("\x00", 512), "this is not another member"} {
			tables := ingesttest.MustRead(t, "build", append(compress(log(3)), garbage...))
			tables.Want(t, "stats", "name|value|local_trace_id", "trailing_garbage|1|0")
			if n := len(tables.Rows("slice", "id")); n != 3 {
				t.Errorf("%s: %d jobs", name, n)
			}
		}
	}
}

func TestCorrupt(t *testing.T) {
	for name, compress := range formats {
		damaged := compress(log(20000))
		damaged[len(damaged)-2]++ // the checksum or size
		_, err := ingesttest.Read(t, ingesttest.File{Name: "build", Reader: bytes.NewReader(damaged)})
		if !format.BadInput(err) || !errors.Is(err, format.ErrCorrupt) || !strings.HasPrefix(err.Error(), "build (") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	_, err := ingesttest.Read(t, ingesttest.File{Name: "build", Reader: strings.NewReader("\x1f\x8b\x07 and no more")})
	if !format.BadInput(err) || !strings.HasPrefix(err.Error(), "build (gzip) at byte 0: ") {
		t.Errorf("error %v", err)
	}
}

func TestEmpty(t *testing.T) {
	for name, compress := range formats {
		_, err := ingesttest.Read(t, ingesttest.File{Name: "build", Reader: bytes.NewReader(append(compress(nil), compress(nil)...))})
		if !errors.Is(err, format.ErrEmpty) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestReadErrorIsReturned(t *testing.T) {
	broken := errors.New("disk on fire")
	for name, compress := range formats {
		data := compress(log(20000))
		r := io.MultiReader(bytes.NewReader(data[:len(data)/2]), iotest.ErrReader(broken))
		_, err := ingesttest.Read(t, ingesttest.File{Name: "build", Reader: r})
		if !errors.Is(err, broken) || format.BadInput(err) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestFilesInFiles(t *testing.T) {
	data := log(1)
	for range 3 {
		data = gz(zst(data))
	}
	if n := len(ingesttest.MustRead(t, "", data).Rows("slice", "id")); n != 1 {
		t.Errorf("%d jobs", n)
	}
	for range 3 {
		data = gz(zst(data))
	}
	if _, err := ingesttest.Read(t, ingesttest.File{Reader: bytes.NewReader(data)}); !errors.Is(err, format.ErrUnsupported) {
		t.Errorf("twelve deep: %v", err)
	}
}

// bomb returns a gzip member with a build log followed by empty lines.
func bomb(size int64) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(log(1))
	for block := bytes.Repeat([]byte("\n"), 1<<20); size > 0; size -= 1 << 20 {
		w.Write(block)
	}
	w.Close()
	return b.Bytes()
}

func TestBombTakesNoMemory(t *testing.T) {
	const size = 64 << 20
	data := bomb(size)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	tables, err := ingesttest.Read(t, ingesttest.File{Reader: bytes.NewReader(data)})
	runtime.ReadMemStats(&after)
	if err != nil || len(tables.Rows("slice", "id")) != 1 {
		t.Fatalf("error %v", err)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > size/4 {
		t.Errorf("%d bytes allocated for %d of data", grown, size)
	}
}

func TestWindowIsLimited(t *testing.T) {
	// A frame that asks for a window of 2 GiB.
	data := append([]byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 21 << 3}, make([]byte, 16)...)
	_, err := ingesttest.Read(t, ingesttest.File{Name: "build", Reader: bytes.NewReader(data)})
	if !errors.Is(err, format.ErrUnsupported) || !format.BadInput(err) {
		t.Errorf("error %v", err)
	}
}

func FuzzGzip(f *testing.F) {
	f.Add(gz(log(3)))
	f.Add(append(gz(log(1)), gz(log(1))...))
	f.Add(zst(log(3)))
	fuzz.Run(f, func(t *testing.T, data []byte) {
		if !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) && !bytes.HasPrefix(data, []byte{0x28, 0xb5}) {
			return
		}
		_, err := ingesttest.Read(t, ingesttest.File{Name: "fuzz", Reader: bytes.NewReader(data)})
		if err != nil && !format.BadInput(err) {
			t.Fatal(err)
		}
	})
}

// bzip is a build log of one job, compressed by bzip2 1.0.8.
const bzip = "425a6839314159265359af819fa6000004d98000304801620020b581002000314c00134221ea1b534d3d23a76238608b9b57b114d2c950f8bb9229c284857c0cfd30"

func xzip(t *testing.T, data []byte, dictionary int) []byte {
	var b bytes.Buffer
	w, err := xz.WriterConfig{DictCap: dictionary}.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	w.Write(data)
	w.Close()
	return b.Bytes()
}

func TestXzAndBzip2(t *testing.T) {
	bzipped, err := hex.DecodeString(bzip)
	if err != nil {
		t.Fatal(err)
	}
	seven := log(7)
	for name, test := range map[string]struct {
		data []byte
		jobs int
	}{
		"xz":             {xzip(t, log(20000), 1<<20), 20000},
		"two xz streams": {append(xzip(t, seven[:100], 1<<16), xzip(t, seven[100:], 1<<16)...), 7},
		"bzip2":          {bzipped, 1},
	} {
		if n := len(ingesttest.MustRead(t, "build", test.data).Rows("slice", "id")); n != test.jobs {
			t.Errorf("%s: %d jobs", name, n)
		}
		for n := 20; n < len(test.data) && name != "two xz streams"; n += max(1, len(test.data)/20) {
			tables, err := ingesttest.Read(t, ingesttest.File{Name: "build", Reader: bytes.NewReader(test.data[:n])})
			if err != nil && !format.BadInput(err) {
				t.Errorf("%s, %d bytes: %v", name, n, err)
			}
			if err == nil && len(tables.Rows("slice", "id")) < test.jobs && len(tables.Rows("stats", "name")) == 0 {
				t.Errorf("%s, %d bytes: nobody noticed", name, n)
			}
		}
	}
}

func TestXzDictionaryIsLimited(t *testing.T) {
	for dictionary, want := range map[int]error{1 << 27: nil, 1 << 28: format.ErrUnsupported} {
		_, err := ingesttest.Read(t, ingesttest.File{Name: "build", Reader: bytes.NewReader(xzip(t, log(3), dictionary))})
		if !errors.Is(err, want) {
			t.Errorf("%d bytes: error %v", dictionary, err)
		}
	}
}
