package jsonlex

import (
	"strconv"

	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/table"
)

// maxArgDepth is how deep args may be nested. Deeper args are left out.
const maxArgDepth = 256

// ArgWriter flattens values: with root "args", {"a":{"b":[1]}} becomes the arg
// args.a.b[0] with the flat key args.a.b. Members that are null are left out.
type ArgWriter struct {
	strings *table.StringPool
	lexer   Lexer
	flat    []byte
	key     []byte
	stack   []argFrame
}

// argFrame is an object or array that is being flattened.
type argFrame struct {
	flat, key int // lengths of its flat key and its key
	close     byte
}

// NewArgWriter returns a writer that interns strings in the pool.
func NewArgWriter(strings *table.StringPool) *ArgWriter { return &ArgWriter{strings: strings} }

// Add adds the args in the text of an object or array to the set, with keys that start
// with root. After a syntax error it leaves out the rest, as Trace Processor does, and
// returns false.
func (w *ArgWriter) Add(set *model.ArgSet, root string, text []byte) bool {
	l := &w.lexer
	l.Reset(text)
	w.flat, w.key = append(w.flat[:0], root...), append(w.key[:0], root...)
	w.stack = append(w.stack[:0], argFrame{len(w.flat), len(w.key), text[0] + 2})
	l.Pos++
	if _, err := l.Space(); err != nil {
		return false
	}
	for len(w.stack) > 0 {
		frame := w.stack[len(w.stack)-1]
		w.flat, w.key = w.flat[:frame.flat], w.key[:frame.key]
		if l.Buf[l.Pos] == frame.close {
			l.Pos++
			w.stack = w.stack[:len(w.stack)-1]
			if len(w.stack) == 0 {
				return true
			}
			if _, err := l.Next(w.stack[len(w.stack)-1].close); err != nil {
				return false
			}
			continue
		}
		if frame.close == '}' {
			name, err := l.Key()
			if err != nil {
				return false
			}
			w.flat = append(append(w.flat, '.'), name...)
			w.key = append(append(w.key, '.'), name...)
		}
		c := l.Buf[l.Pos]
		if c == '{' || c == '[' {
			if len(w.stack) == maxArgDepth {
				return false
			}
			if frame.close == ']' {
				w.index(set)
			}
			w.stack = append(w.stack, argFrame{len(w.flat), len(w.key), c + 2})
			l.Pos++
			if _, err := l.Space(); err != nil {
				return false
			}
			continue
		}
		v, err := l.Value()
		if err != nil {
			return false
		}
		if v.Kind != Null {
			if frame.close == ']' {
				w.index(set)
			}
			flat, key := w.strings.InternBytes(w.flat), w.strings.InternBytes(w.key)
			if v.Kind > Double {
				set.AddText(flat, key, v.Raw)
			} else {
				set.AddFlat(flat, key, number(v))
			}
		}
		if _, err := l.Next(frame.close); err != nil {
			return false
		}
	}
	return true
}

// index appends the index of the array's next element to the key.
func (w *ArgWriter) index(set *model.ArgSet) {
	n := set.NextIndex(w.strings.InternBytes(w.key))
	w.key = append(strconv.AppendInt(append(w.key, '['), int64(n), 10), ']')
}

// number returns the value of a number or boolean.
func number(v Value) model.ArgValue {
	switch v.Kind {
	case Boolean:
		return model.BoolArg(v.Int != 0)
	case Integer:
		return model.IntArg(v.Int)
	}
	return model.RealArg(v.Float)
}
