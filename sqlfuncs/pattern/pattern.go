// Package pattern has the tests of GLOB and LIKE, which SQLite's functions and filters of columns share.
package pattern

import (
	"strings"
	"unicode/utf8"
)

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
	return func(s string, stop func() bool) bool { return wild(pattern, untilNUL(s), '*', globOne, stop) }
}

// untilNUL returns a text up to its first NUL, where SQLite's functions of texts end.
func untilNUL(s string) string {
	if end := strings.IndexByte(s, 0); end >= 0 {
		return s[:end]
	}
	return s
}

// Like returns the Matcher for a pattern of LIKE, in which ASCII letters of both cases are the same.
func Like(pattern string, escape rune) Matcher {
	pattern = untilNUL(pattern)
	many := byte('%')
	if escape == '%' {
		many = 0 // none
	}
	one := func(pattern, s string) (item, length int, ok bool) {
		p, item := utf8.DecodeRuneInString(pattern)
		c, length := utf8.DecodeRuneInString(s)
		switch {
		case p == escape && escape != 0:
			escaped, n := utf8.DecodeRuneInString(pattern[item:])
			return item + n, length, n > 0 && fold(escaped) == fold(c)
		case p == '_':
			return item, length, true
		}
		return item, length, fold(p) == fold(c)
	}
	return func(s string, stop func() bool) bool { return wild(pattern, untilNUL(s), many, one, stop) }
}

func fold(r rune) rune {
	if 'A' <= r && r <= 'Z' {
		return r + 'a' - 'A'
	}
	return r
}

// stopEach is after how many steps wild asks whether it shall stop.
const stopEach = 1 << 20

// wild matches a text with a pattern in which many stands for any text. One matches the begin of a text with the first item of
// a pattern, which is not many, and returns how long both are. The time is at worst the product of the lengths, because only
// the last many has to be tried again.
func wild(pattern, s string, many byte, one func(pattern, s string) (item, length int, ok bool), stop func() bool) bool {
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
