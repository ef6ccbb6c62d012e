package dataframe

import "strings"

// A Matcher tests texts against a pattern of SQL. It asks stop from time to time when a test takes long, and is false then.
type Matcher func(text string, stop func() bool) bool

// Glob returns the Matcher for a pattern of GLOB. Like Trace Processor's it works on bytes: ? is one byte. A NUL ends the
// pattern, and a text.
func Glob(pattern string) Matcher {
	pattern = untilNUL(pattern)
	if !strings.ContainsAny(pattern, "*?[") {
		return func(s string, _ func() bool) bool { return untilNUL(s) == pattern }
	}
	if inner, ok := strings.CutSuffix(pattern, "*"); ok { // the patterns that people write
		if !strings.ContainsAny(inner, "*?[") {
			return func(s string, _ func() bool) bool { return strings.HasPrefix(s, inner) }
		}
		if inner, ok := strings.CutPrefix(inner, "*"); ok && !strings.ContainsAny(inner, "*?[") {
			return func(s string, _ func() bool) bool { return strings.Contains(untilNUL(s), inner) }
		}
	}
	return func(s string, stop func() bool) bool { return Wild(pattern, untilNUL(s), '*', globOne, stop) }
}

// globber is Glob for the texts of a column.
func globber(pattern string) func(string) bool {
	matches := Glob(pattern)
	return func(s string) bool { return matches(s, never) }
}

func never() bool { return false }

// untilNUL returns a text up to its first NUL, where SQLite's functions of texts end.
func untilNUL(s string) string {
	if end := strings.IndexByte(s, 0); end >= 0 {
		return s[:end]
	}
	return s
}

// stopEach is after how many steps Wild asks whether it shall stop.
const stopEach = 1 << 20

// Wild matches a text with a pattern in which many stands for any text. One matches the begin of a text with the first item of
// a pattern, which is not many, and returns how long both are. The time is at worst the product of the lengths, because only
// the last many has to be tried again.
func Wild(pattern, s string, many byte, one func(pattern, s string) (item, length int, ok bool), stop func() bool) bool {
	p, i := 0, 0
	star, from := -1, 0 // where the pattern goes on after the last many, and the text then
	for steps := 1; ; steps++ {
		if steps%stopEach == 0 && stop() {
			return false
		}
		if p < len(pattern) && pattern[p] == many {
			p++
			star, from = p, i
			if p == len(pattern) {
				return true
			}
			continue
		}
		if p == len(pattern) && i == len(s) {
			return true
		}
		if p < len(pattern) && i < len(s) {
			if item, length, ok := one(pattern[p:], s[i:]); ok {
				p, i = p+item, i+length
				continue
			}
		}
		if star < 0 || i == len(s) && p < len(pattern) {
			return false
		}
		from++
		for from < len(s) && s[from]&0xc0 == 0x80 && many == '%' { // LIKE works on characters
			from++
		}
		p, i = star, from
	}
}

// globOne matches the first byte of a text.
func globOne(pattern, s string) (item, length int, ok bool) {
	switch pattern[0] {
	case '?':
		return 1, 1, true
	case '[':
		n, ok := globSet(pattern, s[0])
		return n, 1, ok
	}
	return 1, 1, pattern[0] == s[0]
}

// globSet matches a byte with a set such as [a-z] or [^0-9], and returns the set's length.
func globSet(pattern string, c byte) (n int, ok bool) {
	i := 1
	invert := strings.HasPrefix(pattern[i:], "^")
	if invert {
		i++
	}
	in := false
	prior := byte(0)
	if strings.HasPrefix(pattern[i:], "]") { // the first byte is one of the set
		i++
		in = c == ']'
	}
	for i < len(pattern) && pattern[i] != ']' {
		b := pattern[i]
		i++
		if b == '-' && i < len(pattern) && pattern[i] != ']' && prior > 0 {
			in = in || c >= prior && c <= pattern[i]
			i++
			prior = 0
			continue
		}
		in = in || c == b
		prior = b
	}
	if i == len(pattern) { // the set has no end
		return 0, false
	}
	return i + 1, in != invert
}
