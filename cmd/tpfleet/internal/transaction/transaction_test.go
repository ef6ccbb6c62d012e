package transaction

import (
	"errors"
	"testing"
)

// Only errors that say so begin a transaction again.
func TestRepeat(t *testing.T) {
	moved, broken := errors.New("moved"), errors.New("broken")
	for _, test := range []struct {
		answers []error
		want    error
	}{
		{[]error{nil}, nil},
		{[]error{Again(moved), Again(moved), nil}, nil},
		{[]error{Again(moved), broken}, broken},
	} {
		tries, err := Repeat(t.Context(), "test", func() error {
			answer := test.answers[0]
			test.answers = test.answers[1:]
			return answer
		})
		if err != test.want || len(test.answers) != 0 || tries == 0 {
			t.Errorf("%v after %d tries, %d answers are left, want %v", err, tries, len(test.answers), test.want)
		}
	}
}
