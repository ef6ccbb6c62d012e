package wire_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tpconvert/tpconvert/ingest/internal/wire"
)

// message has a field of each type: 1: 300, 2: "text", 3: fixed32, 4: fixed64,
// 16: -1, and 2 again, empty.
const message = "\x08\xac\x02" + "\x12\x04text" + "\x1d\x01\x02\x03\x04" + "\x21\x01\x02\x03\x04\x05\x06\x07\x08" +
	"\x80\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01" + "\x12\x00"

type fields interface {
	Next() bool
	Err() error
}

// show lists the fields of the message, read in memory and as a stream.
func show(t testing.TB, data string) (string, error) {
	t.Helper()
	list := func(fs fields, f *wire.Field) (string, error) {
		var b strings.Builder
		for fs.Next() {
			fmt.Fprintf(&b, "%d:%d:%d:%q ", f.Number, f.Type, f.Int(), f.Bytes)
		}
		return strings.TrimSpace(b.String()), fs.Err()
	}
	m := wire.Read([]byte(data))
	memory, err := list(&m, &m.Field)
	for name, r := range map[string]io.Reader{
		"whole":        strings.NewReader(data),
		"byte by byte": iotest.OneByteReader(strings.NewReader(data)),
	} {
		s := wire.NewStream(r)
		if stream, streamErr := list(s, &s.Field); stream != memory || streamErr != err {
			t.Errorf("%q as a stream, %s:\n%s, %v\nin memory:\n%s, %v", data, name, stream, streamErr, memory, err)
		}
	}
	return memory, err
}

func TestFields(t *testing.T) {
	want := `1:0:300:"" 2:2:4:"text" 3:5:67305985:"" 4:1:578437695752307201:"" 16:0:-1:"" 2:2:0:""`
	if got, err := show(t, message); got != want || err != nil {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

func TestTruncated(t *testing.T) {
	ends := []int{0, 3, 9, 14, 23, 35, 37}
	for n := range len(message) + 1 {
		got, err := show(t, message[:n])
		whole := slices.Index(ends, n)
		if whole >= 0 && err != nil || whole < 0 && err != io.ErrUnexpectedEOF {
			t.Errorf("%d bytes: error %v", n, err)
		}
		if whole >= 0 && whole != len(strings.Fields(got)) {
			t.Errorf("%d bytes: %s", n, got)
		}
	}
}

func TestMalformed(t *testing.T) {
	for name, data := range map[string]string{
		"field 0":             "\x00\x01",
		"group":               "\x0b\x0c",
		"type 7":              "\x0f\x01",
		"large number":        "\x80\x80\x80\x80\x80\x01\x01",
		"varint of 11 bytes":  "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
		"length of 2 GiB":     "\x12\x80\x80\x80\x80\x08 ",
		"length of 64 bits":   "\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01 ",
		"tag of 10 long ones": "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
	} {
		if got, err := show(t, "\x08\x01"+data); err != wire.ErrMalformed || got != `1:0:1:""` {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

func TestStreamOfLargeFields(t *testing.T) {
	large := strings.Repeat("x", 1<<20)
	s := wire.NewStream(strings.NewReader("\x12\x80\x80\x40" + large + "\x08\x07"))
	if !s.Next() || string(s.Bytes) != large {
		t.Fatalf("field of %d bytes, %v", len(s.Bytes), s.Err())
	}
	if !s.Next() || s.Uint != 7 || s.Offset != 4+1<<20 {
		t.Errorf("next field %v at %d, %v", s.Field, s.Offset, s.Err())
	}
	lie := wire.NewStream(strings.NewReader("\x12\xff\xff\xff\xff\x07" + large))
	if lie.Next() || lie.Err() != io.ErrUnexpectedEOF {
		t.Errorf("a length past the end: %v", lie.Err())
	}
}

func TestStreamReturnsReadErrors(t *testing.T) {
	broken := errors.New("disk on fire")
	for n := range len(message) {
		s := wire.NewStream(io.MultiReader(strings.NewReader(message[:n]), iotest.ErrReader(broken)))
		for s.Next() {
		}
		if s.Err() != broken {
			t.Errorf("after %d bytes: %v", n, s.Err())
		}
	}
}

func TestAppendUints(t *testing.T) {
	for _, c := range []struct {
		field string
		want  []uint64
		err   error
	}{
		{"\x08\xac\x02", []uint64{300}, nil},
		{"\x0a\x03\xac\x02\x01", []uint64{300, 1}, nil},
		{"\x0a\x00", nil, nil},
		{"\x0a\x02\x05\x80", []uint64{5}, wire.ErrMalformed},
		{"\x0d\x01\x02\x03\x04", nil, wire.ErrMalformed},
	} {
		m := wire.Read([]byte(c.field))
		m.Next()
		if got, err := m.AppendUints(nil); !slices.Equal(got, c.want) || err != c.err {
			t.Errorf("%q: %v, %v", c.field, got, err)
		}
	}
}

func FuzzWire(f *testing.F) {
	f.Add([]byte(message))
	f.Add([]byte("\x12\xff\xff\xff\xff\x07"))
	f.Fuzz(func(t *testing.T, data []byte) {
		show(t, string(data))
	})
}

func BenchmarkMessage(b *testing.B) {
	data := []byte(strings.Repeat(message, 1000))
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		m := wire.Read(data)
		for m.Next() {
		}
	}
}
