package wire

import (
	"math"
	"slices"
	"testing"

	"github.com/tpconvert/tpconvert/internal/fuzz"
)

// message has a field of every type, and a packed field.
var message = []byte{
	0x08, 0x96, 0x01, // 1: 150
	0x11, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f, // 2: 1.0
	0x1a, 0x02, 'h', 'i', // 3: "hi"
	0x25, 0, 0, 0x80, 0x3f, // 4: 1.0f
	0x2a, 0x03, 0x01, 0x80, 0x02, // 5: [1, 256]
	0x30, 0x03, // 6: sint -2
	0xb8, 0x3e, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, // 999: -1
}

func TestRead(t *testing.T) {
	r := Read(message)
	var got []uint32
	for r.Next() {
		got = append(got, r.Number)
		switch r.Number {
		case 1:
			if r.Uint64() != 150 || r.Bytes() != nil || r.Float64() != 0 {
				t.Errorf("field 1: %+v", r.Field)
			}
		case 2, 4:
			if r.Float64() != 1 {
				t.Errorf("field %d is %v", r.Number, r.Float64())
			}
		case 3:
			if string(r.Bytes()) != "hi" || r.Uint64() != 0 {
				t.Errorf("field 3: %+v", r.Field)
			}
		case 5:
			var sum uint64
			for v := range r.Varints {
				sum = sum*1000 + v
			}
			if sum != 1256 {
				t.Errorf("packed values: %d", sum)
			}
		case 6:
			if r.Sint64() != -2 {
				t.Errorf("sint %d", r.Sint64())
			}
		case 999:
			if r.Int64() != -1 || r.Int32() != -1 || r.Uint64() != math.MaxUint64 {
				t.Errorf("field 999: %d", r.Int64())
			}
		}
	}
	if len(got) != 7 || r.Bad() {
		t.Errorf("fields %v, bad %v", got, r.Bad())
	}
}

func TestReadStopsAtDamage(t *testing.T) {
	for name, b := range map[string][]byte{
		"a group":                 {0x0b},
		"field number 0":          {0x00, 0x01},
		"a length past the end":   {0x0a, 0x05, 'a'},
		"a varint of 11 bytes":    {0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01},
		"a cut varint":            {0x08, 0xff},
		"a tag without a value":   {0x08},
		"a cut fixed64":           {0x09, 1, 2, 3},
		"a cut fixed32":           {0x0d, 1, 2, 3},
		"a length beyond 63 bits": {0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01},
	} {
		r := Read(b)
		if r.Next() || !r.Bad() || r.Next() {
			t.Errorf("%s was read as field %d", name, r.Number)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(message)
	fuzz.Run(f, func(t *testing.T, b []byte) {
		r := Read(b)
		left := len(b)
		for r.Next() {
			for range r.Varints {
			}
			for range r.Fixed(8) {
			}
			if len(r.rest) >= left {
				t.Fatal("no progress")
			}
			left = len(r.rest)
		}
	})
}

// scanned returns the fields that Scan finds, formatted by show, and whether the
// message ends properly.
func scanned(b []byte) (fields []string, ok bool) {
	for i := 0; i < len(b); {
		tag, v, next := Scan(b, i)
		if next < 0 {
			return fields, false
		}
		i = next
		f := ScannedField(b, tag, v, next)
		fields = append(fields, show(&f))
	}
	return fields, true
}

func FuzzScan(f *testing.F) {
	f.Add(message)
	fuzz.Run(f, func(t *testing.T, b []byte) {
		var want []string
		r := Read(b)
		for r.Next() {
			want = append(want, show(&r.Field))
		}
		if got, ok := scanned(b); !slices.Equal(got, want) || ok == r.Bad() {
			t.Errorf("scan: %v, %v\nreader: %v, bad %v", got, ok, want, r.Bad())
		}
	})
}

func BenchmarkScan(b *testing.B) {
	b.SetBytes(int64(len(message)))
	var sum uint64
	for b.Loop() {
		for i := 0; i < len(message); {
			_, v, next := Scan(message, i)
			sum += v
			i = next
		}
	}
}

func BenchmarkRead(b *testing.B) {
	b.SetBytes(int64(len(message)))
	var sum uint64
	for b.Loop() {
		for r := Read(message); r.Next(); {
			sum += r.Uint64()
		}
	}
}
