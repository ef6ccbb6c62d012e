// Package tsdl cuts the Trace Stream Description Language, the metadata of CTF, into tokens.
package tsdl

import (
	"fmt"
	"strconv"
	"strings"
)

// Lexer is at a token.
type Lexer struct {
	Kind Kind
	Word string // without the quotes of a text

	text string
	at   int // offset of the token
	pos  int // behind it
}

// Kind is what a token is.
type Kind uint8

// The kinds of tokens.
const (
	End Kind = iota
	Word
	Number
	Text
	Sign
)

// Error is an error in the text. A Lexer throws it as a panic, which who parses has to catch.
type Error struct {
	At          int  // offset in bytes
	Cut         bool // the text ends too early
	Unsupported bool // it is right, but not read
	Err         string
}

// NewLexer returns a Lexer before the first token.
func NewLexer(text string) Lexer { return Lexer{text: text} }

// Fail throws an error at the token.
func (l *Lexer) Fail(message string, args ...any) {
	panic(&Error{At: l.at, Cut: l.Kind == End, Err: fmt.Sprintf(message, args...)})
}

// Unexpected throws the error that something else was expected than the token.
func (l *Lexer) Unexpected(expected string) {
	if l.Kind == End {
		l.Fail("the text ends where %s was expected", expected)
	}
	l.Fail("%.30q where %s was expected", l.Word, expected)
}

// Is reports whether the current token is a word or sign.
func (l *Lexer) Is(word string) bool {
	return l.Word == word && l.Kind != Text && l.Kind != End
}

// Accept goes on if the token is a word or sign, and reports whether it was.
func (l *Lexer) Accept(word string) bool {
	if !l.Is(word) {
		return false
	}
	l.Next()
	return true
}

// Expect goes on if the token is a sign, and else throws an error.
func (l *Lexer) Expect(sign string) {
	if !l.Accept(sign) {
		l.Unexpected(strconv.Quote(sign))
	}
}

func isWord(c byte) bool { return c == '_' || c-'0' < 10 || c|0x20-'a' < 26 }

// Next goes to the next token.
func (l *Lexer) Next() {
	l.skip()
	l.at, l.Word, l.Kind = l.pos, "", End
	if l.pos == len(l.text) {
		return
	}
	rest := l.text[l.pos:]
	size := 1
	switch c := rest[0]; {
	case c == '"' || c == '\'':
		l.quoted(c)
		return
	case isWord(c):
		for size < len(rest) && isWord(rest[size]) {
			size++
		}
		l.Kind = Word
		if c-'0' < 10 {
			l.Kind = Number
		}
	default:
		l.Kind = Sign
		for _, sign := range []string{"...", ":="} {
			if strings.HasPrefix(rest, sign) {
				size = len(sign)
			}
		}
	}
	l.Word = rest[:size]
	l.pos += size
}

// skip skips white space and comments.
func (l *Lexer) skip() {
	for {
		l.pos += len(l.text[l.pos:]) - len(strings.TrimLeft(l.text[l.pos:], " \t\r\n\f\v\x00"))
		rest, end := l.text[l.pos:], ""
		switch {
		case strings.HasPrefix(rest, "/*"):
			end = "*/"
		case strings.HasPrefix(rest, "//"):
			end = "\n"
		default:
			return
		}
		i := strings.Index(rest, end)
		if i < 0 {
			l.pos = len(l.text)
			return
		}
		l.pos += i + len(end)
	}
}

// quoted reads a text in quotes.
func (l *Lexer) quoted(quote byte) {
	for i := l.pos + 1; i < len(l.text); i++ {
		switch l.text[i] {
		case '\\':
			i++
		case quote:
			text := l.text[l.pos+1 : i]
			if strings.IndexByte(text, '\\') >= 0 {
				text = unescape(text)
			}
			l.Kind, l.Word, l.pos = Text, text, i+1
			return
		}
	}
	l.pos = len(l.text)
	l.Fail("the text ends within quotes")
}

// unescape replaces C's escapes in a text.
func unescape(text string) string {
	var b strings.Builder
	for text != "" {
		if text[0] != '\\' {
			n := max(strings.IndexByte(text, '\\'), 0)
			if n == 0 {
				n = len(text)
			}
			b.WriteString(text[:n])
			text = text[n:]
			continue
		}
		if len(text) > 1 && strings.IndexByte("?'\"", text[1]) >= 0 {
			b.WriteByte(text[1])
			text = text[2:]
			continue
		}
		char, _, rest, err := strconv.UnquoteChar(text, 0)
		if err != nil {
			b.WriteByte('\\')
			text = text[1:]
			continue
		}
		b.WriteRune(char)
		text = rest
	}
	return b.String()
}
