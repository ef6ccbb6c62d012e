package model

import (
	"math"
	"strconv"
)

// ArgKind is the type of an arg's value, value_type in the args table.
type ArgKind uint8

// The kinds of args.
const (
	ArgInt ArgKind = iota
	ArgUint
	ArgString
	ArgReal
	ArgPointer
	ArgBool
	ArgJSON
	ArgNull
	argText // a string that is not interned; bits locate it in the set's text
)

var argKinds = [...]string{"int", "uint", "string", "real", "pointer", "bool", "json", "null", "string"}

// ArgValue is the value of an arg.
type ArgValue struct {
	Kind ArgKind
	bits uint64
}

// The values of args by kind.
func UintArg(v uint64) ArgValue     { return ArgValue{ArgUint, v} }
func StringArg(v StringID) ArgValue { return ArgValue{ArgString, uint64(v)} }
func RealArg(v float64) ArgValue    { return ArgValue{ArgReal, math.Float64bits(v)} }
func PointerArg(v uint64) ArgValue  { return ArgValue{ArgPointer, v} }
func JSONArg(v StringID) ArgValue   { return ArgValue{ArgJSON, uint64(v)} }
func NullArg() ArgValue             { return ArgValue{Kind: ArgNull} }

// IntArg is an integer or an id.
func IntArg[T ~int | ~int64](v T) ArgValue { return ArgValue{ArgInt, uint64(v)} }

// BoolArg is a flag.
func BoolArg(v bool) ArgValue {
	if v {
		return ArgValue{ArgBool, 1}
	}
	return ArgValue{ArgBool, 0}
}

// Int is the value of an integer, pointer or flag.
func (v ArgValue) Int() int64 { return int64(v.bits) }

// String is the value of a text arg.
func (v ArgValue) String() StringID { return StringID(v.bits) }

// Arg is one arg of a set. The flat key is the key without array indices.
type Arg struct {
	FlatKey, Key StringID
	Value        ArgValue
}

// ArgSet collects the args of one row. Adding a key again replaces its value. The
// zero ArgSet is empty.
type ArgSet struct {
	args   []Arg
	text   []byte           // the bytes of all text args
	index  map[StringID]int // position in args by key; used only once there are many
	arrays []arrayEnd       // of each array, until there are many
	ends   map[StringID]int // next index of each array, used instead once there are many
}

// arrayEnd is the next index of an array.
type arrayEnd struct {
	array StringID
	next  int
}

// ArgSource adds args to a set.
type ArgSource interface {
	AddArgs(*ArgSet)
}

const indexedArgs = 32

// Add adds an arg whose key has no array index.
func (s *ArgSet) Add(key StringID, v ArgValue) { s.AddFlat(key, key, v) }

// AddFlat adds an arg under a key that has array indices.
func (s *ArgSet) AddFlat(flatKey, key StringID, v ArgValue) {
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
			s.index = map[StringID]int{}
		}
		for i, a := range s.args {
			s.index[a.Key] = i
		}
	}
}

// Append adds an arg even if the set has one with its key. Such a set is for AppendArgs.
func (s *ArgSet) Append(flatKey, key StringID, v ArgValue) {
	s.args = append(s.args, Arg{flatKey, key, v})
}

// AddText adds a copy of text. Unlike a StringArg, the text takes no memory once
// its rows are written.
func (s *ArgSet) AddText(flatKey, key StringID, text []byte) {
	s.AddFlat(flatKey, key, s.textArg(text))
}

// AppendText is Append for text, as AddText adds it.
func (s *ArgSet) AppendText(flatKey, key StringID, text []byte) {
	s.Append(flatKey, key, s.textArg(text))
}

func (s *ArgSet) textArg(text []byte) ArgValue {
	at := textSpan{len(s.text), len(text)}
	s.text = append(s.text, text...)
	return ArgValue{argText, at.bits()}
}

// textSpan is a part of a set's text.
type textSpan struct{ from, size int }

func (t textSpan) bits() uint64 { return uint64(t.from)<<32 | uint64(uint32(t.size)) }

func spanOf(v ArgValue) textSpan { return textSpan{int(v.bits >> 32), int(uint32(v.bits))} }

func (t textSpan) of(text []byte) []byte { return text[t.from : t.from+t.size] }

// AddIfAbsent adds an arg unless the key has a value.
func (s *ArgSet) AddIfAbsent(flatKey, key StringID, v ArgValue) {
	if s.find(key) < 0 {
		s.AddFlat(flatKey, key, v)
	}
}

func (s *ArgSet) find(key StringID) int {
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
func (s *ArgSet) Index(array StringID) int {
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
func (s *ArgSet) NextIndex(array StringID) int {
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
			s.ends = map[StringID]int{}
		}
		for _, a := range s.arrays {
			s.ends[a.array] = a.next
		}
	}
	return 0
}

// Args are the args in the order in which their keys were first added.
func (s *ArgSet) Args() []Arg { return s.args }

// Len is the number of args.
func (s *ArgSet) Len() int { return len(s.args) }

// Reset empties the set but keeps its memory for reuse.
func (s *ArgSet) Reset() {
	s.args, s.text, s.arrays = s.args[:0], s.text[:0], s.arrays[:0]
	clear(s.index)
	clear(s.ends)
}

// AddArgs adds all args of s to another set.
func (s *ArgSet) AddArgs(to *ArgSet) {
	for _, a := range s.args {
		if a.Value.Kind == argText {
			to.AddText(a.FlatKey, a.Key, spanOf(a.Value).of(s.text))
			continue
		}
		to.AddFlat(a.FlatKey, a.Key, a.Value)
	}
}

// ArgFunc is a function that is a source of args.
type ArgFunc func(*ArgSet)

// AddArgs calls f.
func (f ArgFunc) AddArgs(set *ArgSet) { f(set) }

// ArrayKey is the key of an array's entry.
func ArrayKey(array string, index int) string {
	return array + "[" + strconv.Itoa(index) + "]"
}
