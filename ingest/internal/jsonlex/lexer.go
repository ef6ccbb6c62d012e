// Package jsonlex parses JSON: values in a buffer, inputs through a moving buffer, and
// args from nested values.
package jsonlex

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Kind is the kind of a JSON value.
type Kind uint8

const (
	Null Kind = iota
	Boolean
	Integer
	Double
	Text
	Object
	Array
)

// Value is a JSON value. Raw is the text of a number, the content of a string
// with its escapes resolved, or the whole text of an object or array.
type Value struct {
	Kind     Kind
	Resolved bool  // Raw had escapes, and is valid until the next such text
	Large    bool  // an integer that does not fit in Int, as a double: only Raw is exact
	Decimals uint8 // of a double, if Digits has all its digits, else 0
	Raw      []byte
	Int      int64 // of an integer, and 1 for true
	Float    float64
	Digits   int64 // of a double, with its sign but without its decimal point
}

// The reasons why there is no value at the position.
var (
	ErrMore   = errors.New("value extends past the buffer")
	ErrSyntax = errors.New("syntax error")
)

// Tolerated says what a lexer read although it is not JSON.
type Tolerated uint8

const (
	Backslashes    Tolerated = 1 << iota // that escape nothing, as in paths of Windows
	NotFinite                            // NaN, infinity, and numbers too large for a double
	Controls                             // control characters in texts, also in objects and arrays that are not parsed
	LargeIntegers                        // beyond 64 bits
	TrailingCommas                       // after the last member or element
)

// Lexer parses JSON in a buffer. It is as lenient as Trace Processor: in an object or
// array that is not parsed itself, only quotes and brackets of its own kind must match.
type Lexer struct {
	Buf       []byte
	Pos       int
	Why       string // what is wrong, after ErrSyntax
	Tolerated Tolerated
	NonASCII  bool   // a text may have bytes above 127, also in objects and arrays that are not parsed
	scratch   []byte // text with resolved escapes
	keys      []byte // keys with resolved escapes
}

// Reset starts to parse another text.
func (l *Lexer) Reset(text []byte) { l.Buf, l.Pos, l.Tolerated, l.NonASCII = text, 0, 0, false }

// Fail records what is wrong and returns ErrSyntax.
func (l *Lexer) Fail(why string) error {
	l.Why = why
	return ErrSyntax
}

// Space skips whitespace and returns the byte after it, or ErrMore.
func (l *Lexer) Space() (byte, error) {
	for ; l.Pos < len(l.Buf); l.Pos++ {
		if c := l.Buf[l.Pos]; c > ' ' || c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return c, nil
		}
	}
	return 0, ErrMore
}

// quoted returns the text between the quotes at the position, with its escapes
// unresolved, and whether it has escapes.
func (l *Lexer) quoted() (raw []byte, escapes bool, err error) {
	buf, start, seen := l.Buf, l.Pos+1, uint64(0)
	for i := start; ; {
		var more uint64
		i, more = special(buf, i)
		if i >= len(buf) {
			return nil, false, ErrMore
		}
		seen |= more
		switch buf[i] {
		case '"':
			l.Pos = i + 1
			if seen&highBits != 0 {
				l.NonASCII = true
			}
			return buf[start:i], escapes, nil
		case '\\':
			escapes = true
			if i++; i < len(buf) {
				seen |= uint64(buf[i]) // what it escapes
			}
			i++
		default:
			l.Tolerated |= Controls
			i++
		}
	}
}

const highBits = 0x8080808080808080

// special returns the position of the first quote, backslash or control character in buf from i on, or one that
// is not before the end. It tests eight bytes at a time, because most texts are short. seen has a high bit if a byte up to
// there has, or one of the seven after it.
func special(buf []byte, i int) (at int, seen uint64) {
	const ones = 0x0101010101010101
	for ; i+8 <= len(buf); i += 8 {
		word := binary.LittleEndian.Uint64(buf[i:])
		seen |= word
		quote, slash := word^ones*'"', word^ones*'\\'
		// The lowest high bit that is set is in the first byte that is zero in quote or slash, or below 32.
		if found := ((quote-ones)&^quote | (slash-ones)&^slash | (word-ones*' ')&^word) & highBits; found != 0 {
			return i + bits.TrailingZeros64(found)/8, seen
		}
	}
	for i < len(buf) && buf[i] != '"' && buf[i] != '\\' && buf[i] >= ' ' {
		seen |= uint64(buf[i])
		i++
	}
	return i, seen
}

// Key returns the key at the position and moves to the value after it.
func (l *Lexer) Key() ([]byte, error) {
	c, err := l.Space()
	if err != nil {
		return nil, err
	}
	if c != '"' {
		return nil, l.Fail("expected a key")
	}
	raw, escapes, err := l.quoted()
	if err != nil {
		return nil, err
	}
	if escapes {
		l.keys = l.unescape(l.keys[:0], raw)
		raw = l.keys
	}
	if c, err = l.Space(); err != nil {
		return nil, err
	}
	if c != ':' {
		return nil, l.Fail("expected a colon after a key")
	}
	l.Pos++
	_, err = l.Space()
	return raw, err
}

// Lead is the text before a value: a comma, a key and a colon. Most objects have their keys in the order of
// the ones before, so that a comparison with the lead of those finds the value.
type Lead struct{ text []byte }

// maxLead is the size in bytes of the longest lead that is worth a comparison.
const maxLead = 64

// Set makes lead the text from a position to the current one, unless it has escapes.
func (d *Lead) Set(l *Lexer, from int) {
	d.text = d.text[:0]
	if text := l.Buf[from:l.Pos]; len(text) <= maxLead && bytes.IndexByte(text, '\\') < 0 {
		d.text = append(d.text, text...)
	}
}

// Past moves past the lead, and reports whether it is at the position, right before a value.
func (l *Lexer) Past(lead *Lead) bool {
	end := l.Pos + len(lead.text)
	if len(lead.text) == 0 || end >= len(l.Buf) || string(l.Buf[l.Pos:end]) != string(lead.text) || l.Buf[end] <= ' ' {
		return false
	}
	l.Pos = end
	return true
}

// Value returns the value at the position and moves past it.
func (l *Lexer) Value() (v Value, err error) {
	switch l.Buf[l.Pos] {
	case '"':
		raw, escapes, err := l.quoted()
		if err != nil {
			return v, err
		}
		if escapes {
			l.scratch = l.unescape(l.scratch[:0], raw)
			raw = l.scratch
		}
		return Value{Kind: Text, Resolved: escapes, Raw: raw}, nil
	case '{':
		v.Raw, err = l.block('{', '}')
		v.Kind = Object
		return v, err
	case '[':
		v.Raw, err = l.block('[', ']')
		v.Kind = Array
		return v, err
	case 't':
		return Value{Kind: Boolean, Int: 1}, l.literal("true")
	case 'f':
		return Value{Kind: Boolean}, l.literal("false")
	case 'n':
		if l.Pos+1 < len(l.Buf) && l.Buf[l.Pos+1] == 'a' {
			return l.notFinite(l.Pos)
		}
		return Value{}, l.literal("null")
	case 'N', 'I', 'i':
		return l.notFinite(l.Pos)
	}
	return l.Number()
}

// notFinite returns the number whose word is at a position, as Python and C++ write it. JSON has no such numbers.
func (l *Lexer) notFinite(at int) (Value, error) {
	start := l.Pos
	word, number := "NaN", math.NaN()
	switch l.Buf[at] {
	case 'n':
		word = "nan"
	case 'I':
		word, number = "Infinity", math.Inf(1)
	case 'i':
		word, number = "inf", math.Inf(1)
	}
	l.Pos = at
	if err := l.literal(word); err != nil {
		l.Pos = start
		return Value{}, err
	}
	if at > start {
		number = min(number, -number)
	}
	l.Tolerated |= NotFinite
	return Value{Kind: Double, Raw: l.Buf[start:l.Pos], Float: number}, nil
}

func (l *Lexer) literal(word string) error {
	if len(l.Buf)-l.Pos < len(word) {
		return ErrMore
	}
	if string(l.Buf[l.Pos:l.Pos+len(word)]) != word {
		return l.Fail("expected " + word)
	}
	l.Pos += len(word)
	return nil
}

// block returns the text from an opening bracket to the matching closing bracket.
func (l *Lexer) block(open, close byte) ([]byte, error) {
	start, depth := l.Pos, 0
	buf := l.Buf
	for i := start; i < len(buf); i++ {
		switch c := buf[i]; c {
		case '"':
			l.Pos = i
			if _, _, err := l.quoted(); err != nil {
				l.Pos = start
				return nil, err
			}
			i = l.Pos - 1
		case open:
			depth++
		case close:
			if depth--; depth == 0 {
				l.Pos = i + 1
				return buf[start : i+1], nil
			}
		}
	}
	l.Pos = start
	return nil, ErrMore
}

func digit(c byte) bool { return c-'0' <= 9 }

// Digits returns the integer at the position and moves past it, if it is as in most lists of numbers: short, without a sign, and
// with a comma or bracket right behind it.
func (l *Lexer) Digits() (n int64, ok bool) {
	i, all := digits(l.Buf, l.Pos, 0)
	count := i - l.Pos
	if count == 0 || count > maxDigits || i == len(l.Buf) || l.Buf[i] != ',' && l.Buf[i] != ']' || count > 1 && l.Buf[l.Pos] == '0' {
		return 0, false
	}
	l.Pos = i
	return int64(all), true
}

// Number returns the number at the position. It returns ErrMore for a number at the end
// of the buffer, because it may continue.
func (l *Lexer) Number() (v Value, err error) {
	buf, first := l.Buf, l.Pos
	negative := first < len(buf) && buf[first] == '-'
	if negative {
		first++
	}
	if first < len(buf) && (buf[first] == 'I' || buf[first] == 'i' || buf[first]|0x20 == 'n') {
		return l.notFinite(first)
	}
	v.Kind = Integer
	i, all := digits(buf, first, 0)
	count, decimals, exponent := i-first, 0, false
	if count == 0 && i < len(buf) {
		return v, l.Fail("expected a value")
	} else if count > 1 && buf[first] == '0' {
		return v, l.Fail("a number must not start with 0")
	}
	if i < len(buf) && buf[i] == '.' {
		v.Kind = Double
		point := i
		i, all = digits(buf, i+1, all)
		decimals = i - point - 1
		if decimals == 0 && i < len(buf) {
			return v, l.Fail("expected a digit after the decimal point")
		}
	}
	if i < len(buf) && buf[i]|0x20 == 'e' {
		v.Kind, exponent = Double, true
		i++
		if i < len(buf) && (buf[i] == '+' || buf[i] == '-') {
			i++
		}
		power := i
		if i, _ = digits(buf, i, 0); i == power && i < len(buf) {
			return v, l.Fail("expected a digit in the exponent")
		}
	}
	if i == len(buf) {
		return v, ErrMore
	}
	v.Raw = buf[l.Pos:i]
	l.Pos = i
	switch short := count+decimals <= maxDigits; {
	case v.Kind == Integer && short:
		v.Int = int64(all)
		if negative {
			v.Int = -v.Int
		}
		return v, nil
	case !exponent && short && all < 1<<53:
		// A quotient of two numbers that doubles represent exactly is rounded correctly.
		v.Float = float64(all) / powersOf10[decimals]
		v.Digits, v.Decimals = int64(all), uint8(decimals)
		if negative {
			v.Float, v.Digits = -v.Float, -v.Digits
		}
		return v, nil
	}
	if v.Kind == Integer {
		var ok bool
		if v.Int, ok = ParseInt(v.Raw); ok {
			return v, nil
		}
		v.Kind, v.Large = Double, true
		l.Tolerated |= LargeIntegers
	}
	if v.Float, err = strconv.ParseFloat(string(v.Raw), 64); err != nil { // infinite
		l.Tolerated |= NotFinite
	}
	return v, nil
}

// maxDigits is how many digits always fit in 64 bits.
const maxDigits = 18

var powersOf10 = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18}

// digits moves past the digits at i, and appends them to the number n, which overflows
// after maxDigits.
func digits(buf []byte, i int, n uint64) (int, uint64) {
	for ; i < len(buf) && digit(buf[i]); i++ {
		n = n*10 + uint64(buf[i]-'0')
	}
	return i, n
}

// ParseInt parses the text of an integer. It returns false if the number does not fit in
// 64 bits.
func ParseInt(b []byte) (n int64, ok bool) {
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

// Whole returns the integer that a value is. Some writers quote numbers, so a text is the integer that it has in the usual notation.
func (v Value) Whole() (n int64, ok bool) {
	switch v.Kind {
	case Integer:
		return v.Int, true
	case Double:
		return int64(v.Float), v.Float == math.Trunc(v.Float) && v.Float >= -1<<63 && v.Float < 1<<63
	case Text:
		digits := bytes.TrimPrefix(v.Raw, []byte("-"))
		if len(digits) == 0 || bytes.ContainsFunc(digits, func(r rune) bool { return r < '0' || r > '9' }) || digits[0] == '0' && len(v.Raw) > 1 {
			return 0, false
		}
		return ParseInt(v.Raw)
	}
	return 0, false
}

// Next moves past the comma after a value, or to the bracket that closes the object or
// array. It reports whether there was a comma.
func (l *Lexer) Next(close byte) (bool, error) {
	c, err := l.Space()
	if err != nil {
		return false, err
	}
	switch c {
	case ',':
		l.Pos++
		if c, err = l.Space(); err == nil && c == close {
			l.Tolerated |= TrailingCommas
		}
		return true, err
	case close:
		return false, nil
	}
	return false, l.Fail("expected a comma or " + string(close))
}

// Members calls f for each member of the object in the buffer.
func (l *Lexer) Members(f func(key []byte, v Value)) error {
	return l.EachMember(func(key []byte) error {
		v, err := l.Value()
		if err == nil {
			f(key, v)
		}
		return err
	})
}

// EachMember calls f with the key of each member of the object in the buffer. The position is then at the member's value, and f
// must move past it. The key is valid until f reads on.
func (l *Lexer) EachMember(f func(key []byte) error) error {
	if l.Pos >= len(l.Buf) || l.Buf[l.Pos] != '{' {
		return l.Fail("expected an object")
	}
	return l.each('}', func() error {
		key, err := l.Key()
		if err != nil {
			return err
		}
		return f(key)
	})
}

// Elements calls f for each element of the array in the buffer.
func (l *Lexer) Elements(f func(v Value)) error {
	return l.EachElement(func() error {
		v, err := l.Value()
		if err == nil {
			f(v)
		}
		return err
	})
}

// EachElement calls f at each element of the array in the buffer. f must move past it.
func (l *Lexer) EachElement(f func() error) error {
	if l.Pos >= len(l.Buf) || l.Buf[l.Pos] != '[' {
		return l.Fail("expected an array")
	}
	return l.each(']', f)
}

// each calls f at each part of the object or array, and moves past its closing bracket.
func (l *Lexer) each(close byte, f func() error) error {
	l.Pos++
	c, err := l.Space()
	for err == nil && c != close {
		if err = f(); err != nil {
			break
		}
		if _, err = l.Next(close); err == nil {
			c, err = l.Space()
		}
	}
	if err == nil {
		l.Pos++
	}
	return err
}

// unescape appends the text with its escapes resolved.
func (l *Lexer) unescape(to, raw []byte) []byte {
	to, ok := Unescape(to, raw)
	if !ok {
		l.Tolerated |= Backslashes
	}
	return to
}

// Unescape appends the text with its escapes resolved. Half of a surrogate pair becomes U+FFFD. An unknown escape
// shows that the backslashes of a path are not escaped, so all of them stay, and the result is false.
func Unescape(to, raw []byte) ([]byte, bool) {
	start := len(to)
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
				return unescapePath(to[:start], raw), false
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
		default:
			return unescapePath(to[:start], raw), false
		}
	}
	return to, true
}

// unescapePath resolves only the escapes of quotes, backslashes and slashes.
func unescapePath(to, raw []byte) []byte {
	for i := 0; i < len(raw); i++ {
		if c := raw[i]; c == '\\' && i+1 < len(raw) && (raw[i+1] == '"' || raw[i+1] == '\\' || raw[i+1] == '/') {
			i++
		}
		to = append(to, raw[i])
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
