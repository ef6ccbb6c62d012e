package encoding

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/rle"

	"github.com/tpconvert/tpconvert/internal/fuzz"
)

// counts are lengths at and around the ends of groups, miniblocks and blocks.
var counts = []int{0, 1, 2, 7, 8, 9, 31, 32, 33, 34, 64, 65, 127, 128, 129, 130, 257, 1000, 5000}

func checkDelta(t *testing.T, values []int64) {
	t.Helper()
	got, err := (&delta.BinaryPackedEncoding{}).DecodeInt64(nil, Delta([]byte("before"), values)[6:])
	if err != nil || !slices.Equal(got, values) {
		t.Fatalf("%v\nbecame %v, %v", values, got, err)
	}
	narrow := make([]int32, len(values))
	for i, v := range values {
		narrow[i] = int32(v)
	}
	got32, err := (&delta.BinaryPackedEncoding{}).DecodeInt32(nil, Delta(nil, narrow))
	if err != nil || !slices.Equal(got32, narrow) {
		t.Fatalf("%v\nbecame %v, %v", narrow, got32, err)
	}
}

func TestDeltaOfEveryWidth(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for width := range 65 {
		for _, n := range counts {
			values := make([]int64, n)
			for i := range values {
				values[i] = int64(random.Uint64()>>(64-width)) - int64(random.Uint64()>>(64-width)/2)
			}
			checkDelta(t, values)
			slices.Sort(values)
			checkDelta(t, values)
			slices.Reverse(values)
			checkDelta(t, values)
		}
	}
}

func TestDeltaWraps(t *testing.T) {
	checkDelta(t, []int64{math.MinInt64, math.MaxInt64, math.MinInt64, 0, math.MaxInt64, -1, math.MinInt64})
	checkDelta(t, []int64{math.MaxInt32, math.MinInt32, math.MaxInt32, 0, math.MinInt32, -1})
}

// TestDeltaOfAnotherSize checks that blocks of sizes that no writer uses are damage, which the library is not asked to make room for.
func TestDeltaOfAnotherSize(t *testing.T) {
	values := []int64{1, 3, 2}
	page := Delta(nil, values)
	if got, err := DecodeDelta(nil, page, len(values)); err != nil || !slices.Equal(got, values) {
		t.Fatal(got, err)
	}
	_, block := binary.Uvarint(page)
	_, miniblocks := binary.Uvarint(page[block:])
	for _, sizes := range [][2]uint64{{0, 1}, {128, 0}, {128, 3}, {4, 1}, {1 << 31, 1}, {1 << 31, 1 << 30}} {
		b := binary.AppendUvarint(binary.AppendUvarint(nil, sizes[0]), sizes[1])
		if _, err := DecodeDelta(nil, append(b, page[block+miniblocks:]...), len(values)); err != ErrDamaged {
			t.Errorf("blocks of %d values in %d miniblocks: error %v", sizes[0], sizes[1], err)
		}
	}
}

func TestDeltaIsNarrow(t *testing.T) {
	values := make([]int64, 1+blockValues)
	for i := range values {
		values[i] = 1000 + int64(i)*5
	}
	const header, first, least, widths = 2 + 1 + 2, 2, 1, miniblocks
	if got, want := len(Delta(nil, values)), header+first+least+widths; got != want {
		t.Errorf("equal differences take %d bytes, want %d", got, want)
	}
	values[40] += 3 // differences of 2 and 8 in the second miniblock, 5 elsewhere
	const twoBits, threeBits = miniblockValues * 2 / 8, miniblockValues * 3 / 8
	if got, want := len(Delta(nil, values)), header+first+least+widths+3*twoBits+threeBits; got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
}

func TestSequence(t *testing.T) {
	for _, n := range counts {
		for _, first := range []int64{0, 1, -5, 1 << 40, math.MaxInt64 - 100} {
			values := make([]int64, n)
			for i := range values {
				values[i] = first + int64(i)
			}
			want := Delta(nil, values)
			if n == 0 {
				want = Delta(nil, []int64{})
				first = 0
			}
			if got := Sequence(nil, first, n); !slices.Equal(got, want) {
				t.Fatalf("%d from %d on: % x, want % x", n, first, got, want)
			}
		}
	}
}

// runs returns numbers below limit, in runs of one or many equal values.
func runs(random *rand.Rand, n int, limit int32) []int32 {
	values := make([]int32, 0, n)
	for len(values) < n {
		length, same := 1+random.IntN(100), random.IntN(3) == 0
		v := random.Int32N(limit)
		for range min(length, n-len(values)) {
			values = append(values, v)
			if !same {
				v = random.Int32N(limit)
			}
		}
	}
	return values
}

func checkLevels(t *testing.T, valid []byte, n int) {
	t.Helper()
	got, err := (&rle.Encoding{BitWidth: 1}).DecodeLevels(nil, Levels([]byte("before"), valid, n)[6:])
	if err != nil || len(got) < n || len(got) >= n+8 {
		t.Fatalf("%d levels of %d, %v", len(got), n, err)
	}
	for i := range n {
		if want := valid[i/8]>>(i%8)&1 == 1; (got[i] == 1) != want {
			t.Fatalf("row %d of %08b has level %d", i, valid, got[i])
		}
	}
}

func TestLevels(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, n := range counts {
		for range 50 {
			valid := make([]byte, (n+7)/8)
			for i, v := range runs(random, n, 2) {
				valid[i/8] |= byte(v) << (i % 8)
			}
			checkLevels(t, valid, n)
		}
	}
	all := slices.Repeat([]byte{0xff}, 1000)
	if got := len(Levels(nil, all, 8000)); got > 4 {
		t.Errorf("8000 times the same takes %d bytes", got)
	}
}

func checkIndices(t *testing.T, indices []int32, width int) {
	t.Helper()
	page := Indices([]byte("before"), indices, width)[6:]
	if int(page[0]) != width {
		t.Fatalf("the page has width %d, want %d", page[0], width)
	}
	got, err := (&rle.DictionaryEncoding{}).DecodeInt32(nil, page)
	if err != nil || len(got) < len(indices) || len(got) >= len(indices)+8 || !slices.Equal(got[:len(indices)], indices) {
		t.Fatalf("width %d: %v\nbecame %v, %v", width, indices, got, err)
	}
}

func TestIndicesOfEveryWidth(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for width := 1; width <= 31; width++ {
		for _, n := range counts {
			checkIndices(t, runs(random, n, int32(min(1<<width, math.MaxInt32))), width)
		}
		same := slices.Repeat([]int32{int32(1<<width - 1)}, 10_000)
		if got := len(Indices(nil, same, width)); got > 8 {
			t.Errorf("10,000 times the same takes %d bytes", got)
		}
	}
}

func TestWidth(t *testing.T) {
	for n, want := range map[int]int{1: 1, 2: 1, 3: 2, 4: 2, 5: 3, 256: 8, 257: 9, 1 << 18: 18} {
		if got := Width(n); got != want {
			t.Errorf("%d numbers need %d bits, want %d", n, got, want)
		}
	}
}

func TestBools(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for _, n := range counts {
		values, want := make([]bool, n), []byte("before")
		want = append(want, make([]byte, (n+7)/8)...)
		for i := range values {
			values[i] = random.IntN(2) == 1
			if values[i] {
				want[6+i/8] |= 1 << (i % 8)
			}
		}
		if got := Bools([]byte("before"), values); !slices.Equal(got, want) {
			t.Fatalf("%v became % x, want % x", values, got, want)
		}
	}
}

// FuzzEncodings interprets the bytes as values, as validity and as indices.
func FuzzEncodings(f *testing.F) {
	f.Add([]byte{}, uint8(1))
	f.Add(slices.Repeat([]byte{0xff, 0, 0xff, 0x80}, 100), uint8(3))
	f.Add(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, 1<<63), 1<<63-1), uint8(31))
	fuzz.Run(f, func(t *testing.T, data []byte, width uint8) {
		var values []int64
		for rest := data; len(rest) >= 8; rest = rest[8:] {
			values = append(values, int64(binary.LittleEndian.Uint64(rest))>>(width%64))
		}
		checkDelta(t, values)
		checkLevels(t, data, len(data)*8)
		indexWidth := 1 + int(width)%31
		indices := make([]int32, len(data))
		for i, b := range data {
			indices[i] = int32(b) << 23 >> 1 & int32(uint32(1)<<indexWidth-1)
		}
		checkIndices(t, indices, indexWidth)
	})
}

// perValue reports the time per value.
func perValue(b *testing.B, values int, encode func()) {
	for b.Loop() {
		encode()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(values), "ns/value")
}

func BenchmarkEncodings(b *testing.B) {
	const n = 64 << 10
	random := rand.New(rand.NewPCG(9, 10))
	var to []byte
	for _, width := range []int{1, 4, 12, 20, 40} {
		values, indices := make([]int64, n), make([]int32, n)
		for i := range values {
			values[i] = int64(random.Uint64() >> (64 - width))
			indices[i] = int32(values[i])
		}
		b.Run(fmt.Sprintf("Delta/%dbits", width), func(b *testing.B) {
			perValue(b, n, func() { to = Delta(to[:0], values) })
		})
		if width > 20 {
			continue
		}
		b.Run(fmt.Sprintf("Indices/%dbits", width), func(b *testing.B) {
			perValue(b, n, func() { to = Indices(to[:0], indices, width) })
		})
		indices = runs(random, n, 1<<width)
		b.Run(fmt.Sprintf("Indices/%dbits/runs", width), func(b *testing.B) {
			perValue(b, n, func() { to = Indices(to[:0], indices, width) })
		})
	}
	valid := make([]byte, n/8)
	for i := range valid {
		valid[i] = byte(random.Uint32())
	}
	b.Run("Levels", func(b *testing.B) {
		perValue(b, n, func() { to = Levels(to[:0], valid, n) })
	})
}

// A run of a number that has more bits than numbers have is damage: levels above 1 would be read as values that are not there.
func TestWideRun(t *testing.T) {
	if got, err := DecodeHybrid(nil, []byte{8 << 1, 1}, 1, 8); err != nil || len(got) != 8 {
		t.Errorf("%v, %v", got, err)
	}
	for _, b := range [][]byte{{8 << 1, 2}, {8 << 1, 255}} {
		if got, err := DecodeHybrid(nil, b, 1, 8); err != ErrDamaged {
			t.Errorf("%v: %v, %v", b, got, err)
		}
	}
	if _, err := DecodeHybrid(nil, []byte{8 << 1, 255, 255, 255, 255}, 32, 8); err != nil {
		t.Error(err)
	}
}
