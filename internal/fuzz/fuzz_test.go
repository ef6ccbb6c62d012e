package fuzz

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"
)

// TestChange checks that inputs of each kind change, and that those in the corpus do not.
func TestChange(t *testing.T) {
	text, data := "a text with some words", bytes.Repeat([]byte{1, 2, 3}, 20)
	whole := bytes.Clone(data)
	inputs := []reflect.Value{reflect.ValueOf(text), reflect.ValueOf(data), reflect.ValueOf(7), reflect.ValueOf(int64(-7)),
		reflect.ValueOf(uint8(7)), reflect.ValueOf(uint16(7)), reflect.ValueOf(uint64(7))}
	differ := make([]int, len(inputs))
	c := changes{rand.New(rand.NewPCG(1, 2))}
	for range 1000 {
		for i, in := range c.change(inputs) {
			if !reflect.DeepEqual(in.Interface(), inputs[i].Interface()) {
				differ[i]++
			}
		}
	}
	for i, n := range differ {
		if n < 50 {
			t.Errorf("%s changed %d times", inputs[i].Type(), n)
		}
	}
	if !bytes.Equal(data, whole) {
		t.Errorf("the corpus has changed: %v", data)
	}
}

// FuzzEmpty gives the changes nothing to change.
func FuzzEmpty(f *testing.F) {
	f.Add([]byte(nil), "")
	Run(f, func(*testing.T, []byte, string) {})
}

// FuzzFails is a target that fails, or panics, for nearly all changed inputs. TestFailure runs it.
func FuzzFails(f *testing.F) {
	how := os.Getenv("FUZZ_FAILS")
	if how == "" {
		f.Skip("for TestFailure")
	}
	f.Add([]byte("corpus"))
	Run(f, func(t *testing.T, data []byte) {
		switch {
		case string(data) == "corpus":
		case how == "panic":
			panic("as it should")
		default:
			t.Error("as it should")
		}
	})
}

func TestFailure(t *testing.T) {
	for _, how := range []string{"error", "panic"} {
		run := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^FuzzFails$", "-test.v")
		run.Env = append(os.Environ(), "FUZZ_FAILS="+how)
		out, err := run.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "this input fails: 0: []byte{") || !strings.Contains(string(out), "as it should") {
			t.Errorf("%s: %v\n%s", how, err, out)
		}
	}
}
