package parquet

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func TestStoredFrames(t *testing.T) {
	decoder, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer decoder.Close()
	random := rand.NewChaCha8([32]byte{})
	for _, n := range []int{0, 1, 255, 256, 128<<10 - 1, 128 << 10, 128<<10 + 1, 256 << 10, 1 << 20} {
		content := make([]byte, n)
		random.Read(content)
		stored := appendStored(nil, content)
		got, err := decoder.DecodeAll(stored, nil)
		if err != nil || !bytes.Equal(got, content) {
			t.Errorf("%d bytes became %d, %v", n, len(got), err)
		}
		if len(stored) > n+16+n/(64<<10)*3 {
			t.Errorf("%d bytes take %d", n, len(stored))
		}
	}
}

// TestDensePages compresses pages in sequence, as in a column.
func TestDensePages(t *testing.T) {
	random := rand.NewChaCha8([32]byte{})
	noise, text := make([]byte, 100_000), bytes.Repeat([]byte("text "), 20_000)
	random.Read(noise)
	for _, test := range []struct {
		codec string
		level int
		page  []byte
		dense bool
	}{
		{"zstd", 0, noise, true}, {"zstd", 9, noise, true}, {"zstd", 0, text, false}, {"zstd", 0, noise[:100], false}, {"zstd", 0, nil, false},
		{"gzip", 0, text, false}, {"snappy", 0, text, false},
	} {
		c, err := NewCodec(test.codec, test.level)
		if err != nil {
			t.Fatal(err)
		}
		s := Scratch{codec: c}
		if got := isDense(test.page, s.compress(test.page, false)); got != test.dense {
			t.Errorf("%s: %d bytes are dense: %t", test.codec, len(test.page), got)
		}
		for _, dense := range []bool{false, true} {
			body := s.compress(test.page, dense)
			got := make([]byte, len(test.page))
			if got = c.Decode(got, body); !bytes.Equal(got, test.page) {
				t.Errorf("%s: %d bytes became %d", test.codec, len(test.page), len(got))
			}
		}
	}
}

// Whether values get a dictionary does not depend on the columns that were encoded before.
func TestDistinct(t *testing.T) {
	several, many := make([]int64, 100_000), make([]int64, 100_000)
	for i := range several {
		several[i], many[i] = int64(i%10_000), int64(i/3)
	}
	var d distinct
	indices := make([]int32, len(several))
	first := d.encode(several, nil, indices, len(several)/4)
	d.encode(many, nil, indices, len(many))
	if again := d.encode(several, nil, indices, len(several)/4); again != first {
		t.Errorf("%t after a column of many values, %t without", again, first)
	}
}
