package pipeline

import (
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

// endless counts the reads of an input without an end.
type endless struct{ reads int }

func (e *endless) Read(p []byte) (int, error) {
	e.reads++
	return len(p), nil
}

// After Stop nothing reads the input, so that its owner may use it again.
func TestStopReading(t *testing.T) {
	input := &endless{}
	a := ReadAhead(t.Context(), input)
	if _, err := io.ReadFull(a, make([]byte, 3*blockBytes+1)); err != nil {
		t.Fatal(err)
	}
	a.Stop()
	if input.reads < 4 || input.reads > 4+blocksAhead {
		t.Errorf("%d reads", input.reads)
	}
}

// The input's own error comes after all bytes, even one that also means an unfilled buffer.
func TestReadingFails(t *testing.T) {
	for _, want := range []error{io.ErrUnexpectedEOF, errors.New("broken")} {
		a := ReadAhead(t.Context(), io.MultiReader(iotest.HalfReader(io.LimitReader(&endless{}, blockBytes+10)), iotest.ErrReader(want)))
		got, err := io.ReadAll(a)
		if len(got) != blockBytes+10 || err != want {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		a.Stop()
	}
}
