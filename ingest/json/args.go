package json

import (
	"strconv"

	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/table"
)

// maxArgDepth is how deep args may nest; what is deeper is left out.
const maxArgDepth = 256

// argWriter flattens the args of events: {"a":{"b":[1]}} becomes the arg
// args.a.b[0] with the flat key args.a.b. Members that are null are left out.
type argWriter struct {
	strings *table.StringPool
	lexer   *lexer
	flat    []byte
	key     []byte
	stack   []argFrame
}

// argFrame is an object or array that is being flattened.
type argFrame struct {
	flat, key int // lengths of its keys
	close     byte
}

// add adds the args in the object's text to the set. What comes after a syntax
// error is left out, as Trace Processor does; add then returns false.
func (w *argWriter) add(set *model.ArgSet, text []byte) bool {
	l := w.lexer
	l.buf, l.pos = text, 0
	w.flat, w.key = append(w.flat[:0], "args"...), append(w.key[:0], "args"...)
	w.stack = append(w.stack[:0], argFrame{len(w.flat), len(w.key), '}'})
	l.pos++
	if _, err := l.space(); err != nil {
		return false
	}
	for len(w.stack) > 0 {
		frame := w.stack[len(w.stack)-1]
		w.flat, w.key = w.flat[:frame.flat], w.key[:frame.key]
		if l.buf[l.pos] == frame.close {
			l.pos++
			w.stack = w.stack[:len(w.stack)-1]
			if len(w.stack) == 0 {
				return true
			}
			if _, err := l.next(w.stack[len(w.stack)-1].close); err != nil {
				return false
			}
			continue
		}
		if frame.close == '}' {
			name, err := l.key()
			if err != nil {
				return false
			}
			w.flat = append(append(w.flat, '.'), name...)
			w.key = append(append(w.key, '.'), name...)
		}
		c := l.buf[l.pos]
		if c == '{' || c == '[' {
			if len(w.stack) == maxArgDepth {
				return false
			}
			if frame.close == ']' {
				w.index(set)
			}
			w.stack = append(w.stack, argFrame{len(w.flat), len(w.key), c + 2})
			l.pos++
			if _, err := l.space(); err != nil {
				return false
			}
			continue
		}
		v, err := l.value()
		if err != nil {
			return false
		}
		if v.kind != null {
			if frame.close == ']' {
				w.index(set)
			}
			set.AddFlat(w.strings.InternBytes(w.flat), w.strings.InternBytes(w.key), w.arg(v))
		}
		if _, err := l.next(frame.close); err != nil {
			return false
		}
	}
	return true
}

// index adds the index of the array's next entry to the key.
func (w *argWriter) index(set *model.ArgSet) {
	n := set.NextIndex(w.strings.InternBytes(w.key))
	w.key = append(strconv.AppendInt(append(w.key, '['), int64(n), 10), ']')
}

func (w *argWriter) arg(v value) model.ArgValue {
	switch v.kind {
	case boolean:
		return model.BoolArg(v.i != 0)
	case integer:
		return model.IntArg(v.i)
	case double:
		return model.RealArg(v.f)
	}
	return model.StringArg(w.strings.InternBytes(v.raw))
}
