package spans

import (
	"io"
	"math"
	"strconv"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/jsonlex"
	"github.com/tpconvert/tpconvert/model"
)

// JSON reads spans in a JSON format: one value, or several, one after the other.
type JSON struct {
	jsonlex.Reader
	In      *format.Input
	Spans   *Reader
	Message // the one being written
}

// NewJSON returns a reader of an input's text.
func NewJSON(in *format.Input, text io.Reader) *JSON {
	return &JSON{Reader: jsonlex.NewReader(text), In: in, Spans: New(in), Message: Message{}}
}

// Run calls value at each value of the input. After damage, it goes on at the next line that begins like a value.
func (j *JSON) Run(begins func(head []byte) bool, value func() error) error {
	for {
		_, err := j.Peek()
		if err == jsonlex.ErrTruncated {
			break
		}
		if err == nil {
			err = value()
		}
		switch {
		case err == nil:
			continue
		case err == jsonlex.ErrTruncated:
			j.In.File.LogAt(model.StatTruncatedInput, j.Base+int64(len(j.Buf)), nil)
		case err != jsonlex.ErrSyntax && err != jsonlex.ErrTooLarge:
			return err
		case !j.Spans.found && err == jsonlex.ErrSyntax:
			return format.Errorf(format.ErrCorrupt, j.Offset(), "%s, got %s", j.Why, j.Glimpse())
		case !j.Spans.found:
			return format.Errorf(format.ErrUnsupported, j.Offset(), "a value %v", err)
		default:
			j.Damaged()
			if err := j.nextLine(begins); err != nil {
				return err
			}
			continue
		}
		break
	}
	return j.Spans.NoSpans()
}

// lineBytes is how much of a line shows whether a value begins there.
const lineBytes = 200

// nextLine moves to the next line that begins like a value, or to the end.
func (j *JSON) nextLine(begins func(head []byte) bool) error {
	for {
		for j.Pos < len(j.Buf) && j.Buf[j.Pos] != '\n' {
			j.Pos++
		}
		if j.Pos+lineBytes > len(j.Buf) && !j.EOF {
			if err := j.More(); err != nil && err != jsonlex.ErrTruncated {
				return err
			}
			continue
		}
		if j.Pos == len(j.Buf) {
			return nil
		}
		j.Pos++
		if begins(j.Buf[j.Pos:min(len(j.Buf), j.Pos+lineBytes)]) {
			return nil
		}
	}
}

// Damaged counts a damaged part of the value at the position, or that ends there.
func (j *JSON) Damaged() { j.Spans.Damaged(j.Offset()) }

// Unread skips a member that makes no rows, and counts it.
func (j *JSON) Unread(key []byte) error {
	j.UnreadIn("file", key)
	return j.Skip()
}

// UnreadIn counts a member of a part that makes no rows.
func (j *JSON) UnreadIn(part string, key []byte) {
	j.In.File.Unread(model.StatUnreadFact, model.None, part+" member "+string(key)).AddAt(j.Offset())
}

// FirstMember returns a lexer before the first member of the first object of a text, which may be in up to as many lists.
func FirstMember(head []byte, lists int) (l jsonlex.Lexer, ok bool) {
	l.Buf = head
	c, err := l.Space()
	for ; err == nil && c == '[' && lists > 0; lists-- {
		l.Pos++
		c, err = l.Space()
	}
	l.Pos++
	return l, err == nil && c == '{'
}

// Objects calls f for the object at the position or, in a list and in the lists in it, for each object.
func (j *JSON) Objects(f func() error) error {
	switch j.Buf[j.Pos] {
	case '{':
		return f()
	case '[':
		return j.EachElement(func() error {
			if j.Buf[j.Pos] == '[' {
				return j.List(f)
			}
			return j.Objects(f)
		})
	}
	return j.Fail("expected an object")
}

// List calls f for each object of the list at the position.
func (j *JSON) List(f func() error) error {
	if j.Buf[j.Pos] != '[' {
		if j.Buf[j.Pos] != 'n' { // null
			j.Damaged()
		}
		return j.Skip()
	}
	return j.EachElement(func() error {
		if j.Buf[j.Pos] != '{' {
			j.Damaged()
			return j.Skip()
		}
		return f()
	})
}

// Object returns the object at the position as a message, which f adds each member to. It is valid until the next call,
// and nil if there is no object.
func (j *JSON) Object(f func(key []byte, v jsonlex.Value)) ([]byte, error) {
	v, err := j.ReadValue()
	if err != nil {
		return nil, err
	}
	j.Message = j.Message[:0]
	j.Members(v, f)
	if v.Kind != jsonlex.Object {
		return nil, nil
	}
	return j.Message, nil
}

// Members calls f for each member of an object that is not null.
func (j *JSON) Members(v jsonlex.Value, f func(key []byte, v jsonlex.Value)) {
	if v.Kind != jsonlex.Object {
		j.Damaged()
		return
	}
	l := jsonlex.Lexer{Buf: v.Raw}
	if l.Members(func(key []byte, v jsonlex.Value) {
		if v.Kind != jsonlex.Null {
			f(key, v)
		}
	}) != nil {
		j.Damaged()
	}
}

// Elements calls f for each element of a list.
func (j *JSON) Elements(v jsonlex.Value, f func(v jsonlex.Value)) {
	if v.Kind != jsonlex.Array {
		j.Damaged()
		return
	}
	l := jsonlex.Lexer{Buf: v.Raw}
	if l.Elements(f) != nil {
		j.Damaged()
	}
}

// Number returns an integer, which may be text.
func (j *JSON) Number(v jsonlex.Value) uint64 {
	switch v.Kind {
	case jsonlex.Integer, jsonlex.Boolean:
		return uint64(v.Int)
	case jsonlex.Double:
		if !v.Large {
			return uint64(int64(v.Float))
		}
		fallthrough
	case jsonlex.Text:
		if n, err := strconv.ParseInt(string(v.Raw), 10, 64); err == nil {
			return uint64(n)
		} else if n, err := strconv.ParseUint(string(v.Raw), 10, 64); err == nil {
			return n
		}
	}
	j.Damaged()
	return 0
}

// Micros returns a time in µs, which may be text, in ns.
func (j *JSON) Micros(v jsonlex.Value) uint64 {
	if ns, ok := v.Scaled(3); ok {
		return uint64(ns)
	}
	return j.Number(v) * 1000
}

// Real returns a number, which may be text: NaN or Infinity.
func (j *JSON) Real(v jsonlex.Value) float64 {
	switch v.Kind {
	case jsonlex.Integer:
		return float64(v.Int)
	case jsonlex.Double:
		return v.Float
	case jsonlex.Text:
		if n, err := strconv.ParseFloat(string(v.Raw), 64); err == nil {
			return n
		}
	}
	j.Damaged()
	return 0
}

// Value adds a JSON value as the value of an attribute.
func (j *JSON) Value(v jsonlex.Value) {
	switch v.Kind {
	case jsonlex.Boolean:
		j.Varint(ValueBool, uint64(v.Int))
	case jsonlex.Integer:
		j.Varint(ValueInt, uint64(v.Int))
	case jsonlex.Double:
		j.Fixed64(ValueDouble, math.Float64bits(v.Float))
	case jsonlex.Null:
	default:
		j.Bytes(ValueText, v.Raw)
	}
}
