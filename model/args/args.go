// Package args has the args of rows: pairs of key and value, of which a set is stored once.
package args

import (
	"math"
	"strconv"

	"github.com/tpconvert/tpconvert/model/table"
)

// Kind is the type of an arg's value, value_type in the args table.
type Kind uint8

// The kinds of args.
const (
	KindInt Kind = iota
	KindUint
	KindString
	KindReal
	KindPointer
	KindBool
	KindJSON
	KindNull
	kindText // a string that is not interned; bits locate it in the set's text
)

var kinds = [...]string{"int", "uint", "string", "real", "pointer", "bool", "json", "null", "string"}

// Value is the value of an arg.
type Value struct {
	Kind Kind
	bits uint64
}

// The values of args by kind.
func Int(v int64) Value             { return Value{KindInt, uint64(v)} }
func Uint(v uint64) Value           { return Value{KindUint, v} }
func String(v table.StringID) Value { return Value{KindString, uint64(v)} }
func Real(v float64) Value          { return Value{KindReal, math.Float64bits(v)} }
func Pointer(v uint64) Value        { return Value{KindPointer, v} }
func JSON(v table.StringID) Value   { return Value{KindJSON, uint64(v)} }
func Null() Value                   { return Value{Kind: KindNull} }

// Bool is a flag.
func Bool(v bool) Value {
	if v {
		return Value{KindBool, 1}
	}
	return Value{KindBool, 0}
}

// Int is the value of an integer, pointer or flag.
func (v Value) Int() int64 { return int64(v.bits) }

// Bits are the value in 64 bits. Equal values of a kind have equal bits.
func (v Value) Bits() uint64 { return v.bits }

// String is the value of a text arg.
func (v Value) String() table.StringID { return table.StringID(v.bits) }

// Arg is one arg of a set. The flat key is the key without array indices.
type Arg struct {
	FlatKey, Key table.StringID
	Value        Value
}

// Set collects the args of one row. Adding a key again replaces its value. The
// zero Set is empty.
type Set struct {
	args   []Arg
	text   []byte                 // the bytes of all text args
	index  map[table.StringID]int // position in args by key; used only once there are many
	arrays []arrayEnd             // of each array, until there are many
	ends   map[table.StringID]int // next index of each array, used instead once there are many
}

// arrayEnd is the next index of an array.
type arrayEnd struct {
	array table.StringID
	next  int
}

// Source adds args to a set.
type Source interface {
	AddArgs(*Set)
}

const indexedArgs = 32

// Add adds an arg whose key has no array index.
func (s *Set) Add(key table.StringID, v Value) { s.AddFlat(key, key, v) }

// AddFlat adds an arg under a key that has array indices.
func (s *Set) AddFlat(flatKey, key table.StringID, v Value) {
	if i := s.find(key); i >= 0 {
		s.args[i] = Arg{flatKey, key, v}
		return
	}
	s.args = append(s.args, Arg{flatKey, key, v})
	switch {
	case len(s.index) > 0:
		s.index[key] = len(s.args) - 1
	case len(s.args) == indexedArgs:
		if s.index == nil {
			s.index = map[table.StringID]int{}
		}
		for i, a := range s.args {
			s.index[a.Key] = i
		}
	}
}

// Append adds an arg even if the set has one with its key. Such a set is for AppendArgs.
func (s *Set) Append(flatKey, key table.StringID, v Value) {
	s.args = append(s.args, Arg{flatKey, key, v})
}

// AddText adds a copy of text. Unlike a String, the text takes no memory once
// its rows are written.
func (s *Set) AddText(flatKey, key table.StringID, text []byte) {
	s.AddFlat(flatKey, key, s.textArg(text))
}

// AppendText is Append for text, as AddText adds it.
func (s *Set) AppendText(flatKey, key table.StringID, text []byte) {
	s.Append(flatKey, key, s.textArg(text))
}

func (s *Set) textArg(text []byte) Value {
	at := textSpan{len(s.text), len(text)}
	s.text = append(s.text, text...)
	return Value{kindText, at.bits()}
}

// textSpan is a part of a set's text.
type textSpan struct{ from, size int }

func (t textSpan) bits() uint64 { return uint64(t.from)<<32 | uint64(uint32(t.size)) }

func spanOf(v Value) textSpan { return textSpan{int(v.bits >> 32), int(uint32(v.bits))} }

func (t textSpan) of(text []byte) []byte { return text[t.from : t.from+t.size] }

// AddIfAbsent adds an arg unless the key has a value.
func (s *Set) AddIfAbsent(flatKey, key table.StringID, v Value) {
	if s.find(key) < 0 {
		s.AddFlat(flatKey, key, v)
	}
}

func (s *Set) find(key table.StringID) int {
	if len(s.index) > 0 {
		if i, ok := s.index[key]; ok {
			return i
		}
		return -1
	}
	for i := range s.args {
		if s.args[i].Key == key {
			return i
		}
	}
	return -1
}

// Index returns the index of the array's next entry. Counting continues across
// all sources of args for one row.
func (s *Set) Index(array table.StringID) int {
	if len(s.ends) > 0 {
		return s.ends[array]
	}
	for _, a := range s.arrays {
		if a.array == array {
			return a.next
		}
	}
	return 0
}

// NextIndex returns the index of the array's next entry and counts it.
func (s *Set) NextIndex(array table.StringID) int {
	if len(s.ends) > 0 {
		n := s.ends[array]
		s.ends[array] = n + 1
		return n
	}
	for i := len(s.arrays) - 1; i >= 0; i-- {
		if a := &s.arrays[i]; a.array == array {
			a.next++
			return a.next - 1
		}
	}
	s.arrays = append(s.arrays, arrayEnd{array, 1})
	if len(s.arrays) == indexedArgs {
		if s.ends == nil {
			s.ends = map[table.StringID]int{}
		}
		for _, a := range s.arrays {
			s.ends[a.array] = a.next
		}
	}
	return 0
}

// Args are the args in the order in which their keys were first added.
func (s *Set) Args() []Arg { return s.args }

// Len is the number of args.
func (s *Set) Len() int { return len(s.args) }

// Reset empties the set but keeps its memory for reuse.
func (s *Set) Reset() {
	s.args, s.text, s.arrays = s.args[:0], s.text[:0], s.arrays[:0]
	clear(s.index)
	clear(s.ends)
}

// AddArgs adds all args of s to another set.
func (s *Set) AddArgs(to *Set) {
	for _, a := range s.args {
		if a.Value.Kind == kindText {
			to.AddText(a.FlatKey, a.Key, spanOf(a.Value).of(s.text))
			continue
		}
		to.AddFlat(a.FlatKey, a.Key, a.Value)
	}
}

// Share cuts a set of which many rows get a copy, so that m args of n rows do not become m times n. It returns how many args it left out.
// The set is then only for AddArgs.
func (s *Set) Share() (left int) {
	n, text := min(len(s.args), maxShared), 0
	for i, a := range s.args[:n] {
		if a.Value.Kind == kindText {
			text += spanOf(a.Value).size
		}
		if text > maxSharedText {
			n = i
			break
		}
	}
	left = len(s.args) - n
	s.args = s.args[:n]
	return left
}

// What many rows may get a copy of.
const (
	maxShared     = 256     // args
	maxSharedText = 4 << 10 // bytes of their texts
)

// Func is a function that is a source of args.
type Func func(*Set)

// AddArgs calls f.
func (f Func) AddArgs(set *Set) { f(set) }

// ArrayKey is the key of an array's entry.
func ArrayKey(array string, index int) string {
	return array + "[" + strconv.Itoa(index) + "]"
}
