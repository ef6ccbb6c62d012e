package json

import (
	"bytes"
	"errors"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// kind is what a JSON value is.
type kind uint8

const (
	null kind = iota
	boolean
	integer
	double
	text
	object
	array
)

// value is a JSON value. raw is the text of a number, the content of a string
// with its escapes resolved, or the whole text of an object or array.
type value struct {
	kind kind
	raw  []byte
	i    int64 // of an integer, and 1 for true
	f    float64
}

var (
	errMore   = errors.New("the value goes on beyond the buffer")
	errSyntax = errors.New("syntax error")
)

// lexer takes JSON apart in a buffer. It is lenient where Trace Processor is: of
// an object or array that is not looked into, only quotes and brackets of its own
// kind must match.
type lexer struct {
	buf     []byte
	pos     int
	why     string // what is wrong, after errSyntax
	scratch []byte // text with resolved escapes
	keys    []byte // keys with resolved escapes
}

func (l *lexer) fail(why string) error {
	l.why = why
	return errSyntax
}

// space skips whitespace and returns the byte after it, or errMore.
func (l *lexer) space() (byte, error) {
	for ; l.pos < len(l.buf); l.pos++ {
		if c := l.buf[l.pos]; c > ' ' || c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return c, nil
		}
	}
	return 0, errMore
}

// quoted returns the text between the quotes at the position, its escapes still
// in it, and whether it has any.
func (l *lexer) quoted() (raw []byte, escapes bool, err error) {
	start := l.pos + 1
	for end := start; ; end++ {
		n := bytes.IndexByte(l.buf[end:], '"')
		if n < 0 {
			return nil, false, errMore
		}
		end += n
		slashes := 0
		for end-slashes > start && l.buf[end-1-slashes] == '\\' {
			slashes++
		}
		if slashes&1 == 0 {
			l.pos = end + 1
			raw = l.buf[start:end]
			return raw, bytes.IndexByte(raw, '\\') >= 0, nil
		}
	}
}

// key returns the key at the position and moves to the value after it.
func (l *lexer) key() ([]byte, error) {
	c, err := l.space()
	if err != nil {
		return nil, err
	}
	if c != '"' {
		return nil, l.fail("expected a key")
	}
	raw, escapes, err := l.quoted()
	if err != nil {
		return nil, err
	}
	if escapes {
		l.keys = unescape(l.keys[:0], raw)
		raw = l.keys
	}
	if c, err = l.space(); err != nil {
		return nil, err
	}
	if c != ':' {
		return nil, l.fail("expected a colon after a key")
	}
	l.pos++
	_, err = l.space()
	return raw, err
}

// value returns the value at the position and moves behind it.
func (l *lexer) value() (v value, err error) {
	switch l.buf[l.pos] {
	case '"':
		raw, escapes, err := l.quoted()
		if err != nil {
			return v, err
		}
		if escapes {
			l.scratch = unescape(l.scratch[:0], raw)
			raw = l.scratch
		}
		return value{kind: text, raw: raw}, nil
	case '{':
		v.raw, err = l.block('{', '}')
		v.kind = object
		return v, err
	case '[':
		v.raw, err = l.block('[', ']')
		v.kind = array
		return v, err
	case 't':
		return value{kind: boolean, i: 1}, l.literal("true")
	case 'f':
		return value{kind: boolean}, l.literal("false")
	case 'n':
		return value{}, l.literal("null")
	case 'N':
		return value{}, l.literal("NaN")
	case 'I':
		return value{}, l.literal("Infinity")
	}
	return l.number()
}

func (l *lexer) literal(word string) error {
	if len(l.buf)-l.pos < len(word) {
		return errMore
	}
	if string(l.buf[l.pos:l.pos+len(word)]) != word {
		return l.fail("expected " + word)
	}
	l.pos += len(word)
	return nil
}

// block returns the text from an opening bracket to the one that closes it.
func (l *lexer) block(open, close byte) ([]byte, error) {
	start, depth := l.pos, 0
	buf := l.buf
	for i := start; i < len(buf); i++ {
		switch c := buf[i]; c {
		case '"':
			l.pos = i
			if _, _, err := l.quoted(); err != nil {
				l.pos = start
				return nil, err
			}
			i = l.pos - 1
		case open:
			depth++
		case close:
			if depth--; depth == 0 {
				l.pos = i + 1
				return buf[start : i+1], nil
			}
		}
	}
	l.pos = start
	return nil, errMore
}

func digit(c byte) bool { return c-'0' <= 9 }

// number returns the number at the position. A number at the end of the buffer
// may go on beyond it.
func (l *lexer) number() (v value, err error) {
	start, i := l.pos, l.pos
	if i < len(l.buf) && l.buf[i] == '-' {
		i++
	}
	if i < len(l.buf) && l.buf[i] == 'I' {
		l.pos = i
		return value{}, l.literal("Infinity")
	}
	digits := func() int {
		n := i
		for i < len(l.buf) && digit(l.buf[i]) {
			i++
		}
		return i - n
	}
	v.kind = integer
	first := i
	if n := digits(); n == 0 && i < len(l.buf) {
		return v, l.fail("expected a value")
	} else if n > 1 && l.buf[first] == '0' {
		return v, l.fail("a number starts with 0")
	}
	if i < len(l.buf) && l.buf[i] == '.' {
		v.kind = double
		i++
		if digits() == 0 && i < len(l.buf) {
			return v, l.fail("expected a digit after the decimal point")
		}
	}
	if i < len(l.buf) && l.buf[i]|0x20 == 'e' {
		v.kind = double
		i++
		if i < len(l.buf) && (l.buf[i] == '+' || l.buf[i] == '-') {
			i++
		}
		if digits() == 0 && i < len(l.buf) {
			return v, l.fail("expected a digit in the exponent")
		}
	}
	if i == len(l.buf) {
		return v, errMore
	}
	l.pos = i
	v.raw = l.buf[start:i]
	if v.kind == integer {
		var ok bool
		if v.i, ok = parseInt(v.raw); ok {
			return v, nil
		}
		v.kind = double
		// Chrome writes negative numbers as what they are without a sign.
		if n, err := strconv.ParseUint(string(v.raw), 10, 64); err == nil {
			v.f = float64(int64(n))
			return v, nil
		}
	}
	v.f, err = strconv.ParseFloat(string(v.raw), 64)
	if err != nil && math.IsInf(v.f, 0) {
		return value{}, nil // beyond a double: no value
	}
	return v, nil
}

func parseInt(b []byte) (n int64, ok bool) {
	negative := b[0] == '-'
	if negative {
		b = b[1:]
	}
	if len(b) > 18 {
		n, err := strconv.ParseInt(string(b), 10, 64)
		if negative {
			n, err = strconv.ParseInt("-"+string(b), 10, 64)
		}
		return n, err == nil
	}
	for _, c := range b {
		n = n*10 + int64(c-'0')
	}
	if negative {
		n = -n
	}
	return n, true
}

// next moves behind the comma after a value, or to the bracket that closes the
// object or array; it reports whether there was a comma.
func (l *lexer) next(close byte) (bool, error) {
	c, err := l.space()
	if err != nil {
		return false, err
	}
	switch c {
	case ',':
		l.pos++
		_, err = l.space()
		return true, err
	case close:
		return false, nil
	}
	return false, l.fail("expected a comma or " + string(close))
}

// unescape appends the text with its escapes resolved. Unknown escapes vanish,
// as in Trace Processor; half of a surrogate pair becomes U+FFFD.
func unescape(to, raw []byte) []byte {
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		if c != '\\' {
			to = append(to, c)
			continue
		}
		i++
		switch c = raw[i]; c {
		case '"', '\\', '/':
			to = append(to, c)
		case 'b':
			to = append(to, '\b')
		case 'f':
			to = append(to, '\f')
		case 'n':
			to = append(to, '\n')
		case 'r':
			to = append(to, '\r')
		case 't':
			to = append(to, '\t')
		case 'u':
			r, ok := hex4(raw[i+1:])
			if !ok {
				to = utf8.AppendRune(to, utf8.RuneError)
				continue
			}
			i += 4
			if utf16.IsSurrogate(r) {
				var low rune
				if len(raw) > i+2 && raw[i+1] == '\\' && raw[i+2] == 'u' {
					low, _ = hex4(raw[i+3:])
				}
				if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
					i += 6
				}
			}
			to = utf8.AppendRune(to, r)
		}
	}
	return to
}

func hex4(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[:4]), 16, 16)
	return rune(n), err == nil
}
