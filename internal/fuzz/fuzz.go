// Package fuzz makes each run of the tests a short fuzz.
package fuzz

import (
	"bytes"
	"encoding/binary"
	"flag"
	"math/rand/v2"
	"os"
	"reflect"
	"strconv"
	"testing"
)

const (
	changed = 50  // inputs made of each one of the corpus
	many    = 400 // after which only few are made of each
	few     = 4
)

// runs is how often targets ran in this process.
var runs uint64

// Run is f.Fuzz. While Go does not fuzz, the target gets each input of the corpus and some that random changes make of it: go
// test -fuzz compiles all packages anew, for coverage that guides it through more inputs than a test has time for. An input that
// fails is logged. The changes are the same in each process, so that a test fails only for what changed in the code; FUZZSEED, a
// number, selects others, and -count makes further ones.
func Run(f *testing.F, target any) {
	if fuzzing := flag.Lookup("test.fuzz"); fuzzing.Value.String() != "" {
		f.Fuzz(target)
		return
	}
	seed, err := strconv.ParseUint(os.Getenv("FUZZSEED"), 10, 64)
	if err != nil && os.Getenv("FUZZSEED") != "" {
		f.Fatal(err)
	}
	runs++
	c := changes{rand.New(rand.NewPCG(seed, runs))}
	call := reflect.ValueOf(target)
	made := 0
	f.Fuzz(reflect.MakeFunc(call.Type(), func(args []reflect.Value) []reflect.Value {
		t, inputs := args[0].Interface().(*testing.T), args[1:]
		try := func(inputs []reflect.Value) {
			passed := false
			defer func() {
				if !passed || t.Failed() {
					for i, in := range inputs {
						t.Logf("this input fails: %d: %#v", i, in.Interface())
					}
				}
			}()
			call.Call(append([]reflect.Value{args[0]}, inputs...))
			passed = true
		}
		call.Call(args)
		n := changed
		if made >= many {
			n = few
		}
		made += n
		for range n {
			if t.Failed() || t.Skipped() {
				break
			}
			try(c.change(inputs))
		}
		return nil
	}).Interface())
}

// changes are random changes of inputs.
type changes struct{ *rand.Rand }

// change returns inputs of which one is changed in one to four ways.
func (c changes) change(inputs []reflect.Value) []reflect.Value {
	inputs = append([]reflect.Value(nil), inputs...)
	at := c.IntN(len(inputs))
	in := inputs[at]
	to := reflect.New(in.Type()).Elem()
	switch in.Kind() {
	case reflect.String:
		to.SetString(string(c.changeBytes([]byte(in.String()))))
	case reflect.Slice:
		to.SetBytes(c.changeBytes(bytes.Clone(in.Bytes())))
	case reflect.Int, reflect.Int64:
		to.SetInt(in.Int() ^ int64(c.Uint64()>>c.IntN(64)))
	case reflect.Uint8, reflect.Uint16, reflect.Uint64:
		to.SetUint(in.Uint() ^ c.Uint64()>>c.IntN(64)&(1<<in.Type().Bits()-1))
	default:
		panic(in.Type())
	}
	inputs[at] = to
	return inputs
}

func (c changes) changeBytes(b []byte) []byte {
	for range 1 + c.IntN(4) {
		from := c.IntN(len(b) + 1)
		to := from + c.IntN(min(len(b)-from, 1<<c.IntN(10))+1)
		part := b[from:to]
		switch c.IntN(6) {
		case 0: // leave out
			b = append(b[:from:from], b[to:]...)
		case 1: // repeat
			b = bytes.Join([][]byte{b[:to], part, b[to:]}, nil)
		case 2: // cut
			b = b[:from]
		case 3: // insert
			b = bytes.Join([][]byte{b[:from], {byte(c.Uint32())}, b[from:]}, nil)
		case 4: // another number
			var number [8]byte
			binary.LittleEndian.PutUint64(number[:], c.Uint64()>>c.IntN(64)-c.Uint64N(2))
			copy(part, number[:])
		default:
			if len(part) > 0 {
				part[0] ^= 1 << c.IntN(8)
			}
		}
	}
	return b
}
