package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tpconvert/tpconvert/internal/fuzz"
)

// fieldEnds are the offsets after each field of message.
var fieldEnds = []int{3, 12, 16, 21, 26, 28, 40}

func show(f *Field) string {
	return fmt.Sprintf("%d:%d:%d:%q", f.Number, f.Type, f.Uint64(), f.Bytes())
}

// streamed returns the fields that a stream reads, and their offsets.
func streamed(r io.Reader) (fields []string, offsets []int64, err error) {
	s := NewStream(r)
	for s.Next() {
		fields = append(fields, show(&s.Field))
		offsets = append(offsets, s.Offset)
	}
	return fields, offsets, s.Err()
}

func TestStreamReadsWhatReaderReads(t *testing.T) {
	var want []string
	for r := Read(message); r.Next(); {
		want = append(want, show(&r.Field))
	}
	got, offsets, err := streamed(iotest.OneByteReader(bytes.NewReader(message)))
	if !slices.Equal(got, want) || err != nil {
		t.Errorf("fields %v, %v, want %v", got, err, want)
	}
	if !slices.Equal(offsets, []int64{0, 3, 12, 16, 21, 26, 28}) {
		t.Errorf("offsets %v", offsets)
	}
}

func TestStreamOfCutMessage(t *testing.T) {
	broken := errors.New("disk on fire")
	for n := range len(message) + 1 {
		whole := 0
		for whole < len(fieldEnds) && fieldEnds[whole] <= n {
			whole++
		}
		var want error
		if n != 0 && !slices.Contains(fieldEnds, n) {
			want = io.ErrUnexpectedEOF
		}
		if fields, _, err := streamed(bytes.NewReader(message[:n])); len(fields) != whole || err != want {
			t.Errorf("%d bytes: %v, %v", n, fields, err)
		}
		cut := io.MultiReader(bytes.NewReader(message[:n]), iotest.ErrReader(broken))
		if fields, _, err := streamed(cut); len(fields) != whole || err != broken {
			t.Errorf("a read error after %d bytes: %v, %v", n, fields, err)
		}
	}
}

func TestStreamOfMalformedMessage(t *testing.T) {
	rest := strings.Repeat("\x08\x01", 20)
	for name, field := range map[string]string{
		"a group":              "\x0b",
		"field number 0":       "\x00\x01",
		"a varint of 11 bytes": "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
		"a length of 2 GiB":    "\x0a\x80\x80\x80\x80\x08",
		"a length of 64 bits":  "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
	} {
		fields, _, err := streamed(strings.NewReader("\x08\x01" + field + rest))
		if len(fields) != 1 || err != ErrMalformed {
			t.Errorf("%s: %v, %v", name, fields, err)
		}
	}
}

func TestStreamOfLargeFields(t *testing.T) {
	large := strings.Repeat("x", 1<<20)
	s := NewStream(strings.NewReader("\x12\x80\x80\x40" + large + "\x08\x07"))
	if !s.Next() || string(s.Bytes()) != large {
		t.Fatalf("a field of %d bytes, %v", len(s.Bytes()), s.Err())
	}
	if !s.Next() || s.Uint64() != 7 || s.Offset != 4+1<<20 || s.Next() {
		t.Errorf("then %v at %d, %v", s.Field, s.Offset, s.Err())
	}
	_, _, err := streamed(strings.NewReader("\x12\x80\x80\x80\x80\x04" + large))
	if err != io.ErrUnexpectedEOF {
		t.Errorf("a length past the end: %v", err)
	}
}

func FuzzStream(f *testing.F) {
	f.Add(message)
	fuzz.Run(f, func(t *testing.T, b []byte) {
		var want []string
		r := Read(b)
		for r.Next() {
			want = append(want, show(&r.Field))
		}
		got, _, err := streamed(bytes.NewReader(b))
		if !slices.Equal(got, want) || r.Bad() != (err != nil) {
			t.Errorf("stream: %v, %v\nreader: %v, bad %v", got, err, want, r.Bad())
		}
	})
}
