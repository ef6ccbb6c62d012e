package lines

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tpconvert/tpconvert/ingest/format"
)

func all(r *Reader) (lines []string) {
	for r.Next() {
		lines = append(lines, fmt.Sprintf("%d:%s", r.Offset(), r.Bytes()))
	}
	return append(lines, fmt.Sprintf("%d|%s", r.Offset(), r.Rest()))
}

func TestLines(t *testing.T) {
	long := strings.Repeat("x", 3*firstBuffer)
	for text, want := range map[string][]string{
		"":                      {"0|"},
		"a":                     {"0|a"},
		"a\n":                   {"0:a", "2|"},
		"\n\nab\r\n c":          {"0:", "1:", "2:ab\r", "6| c"},
		"a\n" + long + "\nb\nc": {"0:a", "2:" + long, fmt.Sprintf("%d:b", len(long)+3), fmt.Sprintf("%d|c", len(long)+5)},
	} {
		for name, r := range map[string]io.Reader{
			"whole": strings.NewReader(text), "byte by byte": iotest.OneByteReader(strings.NewReader(text)),
			"data with EOF": iotest.DataErrReader(strings.NewReader(text)),
		} {
			lines := NewReader(r)
			if got := all(lines); !slices.Equal(got, want) || lines.Err() != nil {
				t.Errorf("%.20q %s: %.60q, %v", text, name, got, lines.Err())
			}
		}
	}
}

// counts is what Ahead decodes of a block in the tests.
type counts struct {
	offset       int64
	text         []byte
	lines, bytes int
}

func (c *counts) decode(offset int64, text []byte) {
	*c = counts{offset: offset, text: text, lines: bytes.Count(text, []byte("\n")), bytes: len(text)}
}

// Blocks have all lines in order, also a line that is longer than a block, and very many short ones.
func TestAhead(t *testing.T) {
	var counted strings.Builder
	for i := range 30_000 {
		fmt.Fprintln(&counted, i)
	}
	whole := counted.String() + strings.Repeat("x", 20*blockBytes) + "\n" + strings.Repeat("\n", 3*blockBytes) + counted.String()
	for name, wrap := range map[string]func(io.Reader) io.Reader{
		"whole": func(r io.Reader) io.Reader { return r }, "halves": iotest.HalfReader,
		"data with EOF": iotest.DataErrReader,
		"bytes":         func(r io.Reader) io.Reader { return io.MultiReader(iotest.OneByteReader(io.LimitReader(r, 1000)), r) },
	} {
		for _, here := range []bool{false, true} {
			a := NewAhead(wrap(strings.NewReader(whole+"rest")), here, (*counts).decode)
			var got strings.Builder
			lines := 0
			err := a.Each(func(c *counts) error {
				if c.offset != int64(got.Len()) || c.bytes != len(c.text) || c.bytes > 0 && c.text[c.bytes-1] != '\n' {
					t.Fatalf("%s, here %t: a block of %d bytes at %d, after %d", name, here, c.bytes, c.offset, got.Len())
				}
				got.Write(c.text)
				lines += c.lines
				return nil
			})
			if err != nil || got.String() != whole || lines != strings.Count(whole, "\n") || a.Offset() != int64(len(whole)) || string(a.Rest()) != "rest" {
				t.Errorf("%s, here %t: %v, %d bytes, %d lines and %q", name, here, err, got.Len(), lines, a.Rest())
			}
		}
	}
}

// The user's error and the input's end the reading. The input's comes after the lines before it.
func TestAheadErrors(t *testing.T) {
	broken, enough := errors.New("broken"), errors.New("enough")
	text := strings.Repeat("1\n", blockBytes)
	for _, here := range []bool{false, true} {
		lines := 0
		read := func(r io.Reader, stopAt int) error {
			lines = 0
			return NewAhead(r, here, (*counts).decode).Each(func(c *counts) error {
				if lines += c.lines; lines >= stopAt {
					return enough
				}
				return nil
			})
		}
		if err := read(io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)), 2*blockBytes); lines != blockBytes || err != broken {
			t.Errorf("here %t: %d lines and %v", here, lines, err)
		}
		if err := read(io.MultiReader(strings.NewReader("1\n"), endless{}), blockBytes); lines != 1 || !errors.Is(err, format.ErrCorrupt) {
			t.Errorf("here %t: %d lines before one without end, %v", here, lines, err)
		}
		if err := read(strings.NewReader(text), blockBytes/2); lines == blockBytes || err != enough {
			t.Errorf("here %t: %d lines and %v", here, lines, err)
		}
	}
}

func TestErrors(t *testing.T) {
	broken := errors.New("broken")
	r := NewReader(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)))
	if got := all(r); !slices.Equal(got, []string{"0:a", "2|b"}) || !errors.Is(r.Err(), broken) {
		t.Errorf("%q, %v", got, r.Err())
	}
	r = NewReader(io.MultiReader(strings.NewReader("a\n"), endless{}))
	if !r.Next() || r.Next() || !errors.Is(r.Err(), format.ErrCorrupt) {
		t.Errorf("a line without end: %v", r.Err())
	}
}

// endless is a line without end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for n := copy(p, " "); n < len(p); n *= 2 {
		copy(p[n:], p[:n])
	}
	return len(p), nil
}
