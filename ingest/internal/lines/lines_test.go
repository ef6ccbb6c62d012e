package lines

import (
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
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}
