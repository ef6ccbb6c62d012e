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
func cpu(order binary.AppendByteOrder) (b []byte) {
	for _, word := range []uint64{0, 3, 0, 10_000, 0, 2, 2, 0x401000, 0x402001, 1, 1, 0x401010, 0, 1, 0} {
		b = order.AppendUint64(b, word)
	}
	return append(b, "00400000-00410000 r-xp 00000000 08:01 1 /bin/app\n"...)
}

const heap = `heap profile:      2:       64 [     3:      192] @ heapprofile
     2:       64 [     3:      192] @ 0x00401000 0x00402001

MAPPED_LIBRARIES:
00400000-00410000 r-xp 00000000 08:01 1 /bin/app
`

func TestCPU(t *testing.T) {
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		tables := ingesttest.MustRead(t, "app.prof", cpu(order))
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

func TestCutOff(t *testing.T) {
	for _, data := range [][]byte{cpu(binary.LittleEndian), []byte(heap)} {
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
