package ctf

import (
	"fmt"
	"strconv"
	"strings"
)

// lexer cuts TSDL into tokens.
type lexer struct {
	text string
	pos  int // behind the current token
	at   int // offset of the current token
	kind tokenKind
	word string // the current token
}

type tokenKind uint8

const (
	endToken tokenKind = iota
	wordToken
	numberToken
	textToken
	signToken
)

func (l *lexer) fail(message string, args ...any) {
	panic(&syntaxError{l.at, l.kind == endToken, fmt.Sprintf(message, args...)})
}

func (l *lexer) unexpected(expected string) {
	if l.kind == endToken {
		l.fail("the text ends where %s was expected", expected)
	}
	l.fail("%.30q where %s was expected", l.word, expected)
}

// is reports whether the current token is a word or sign.
func (l *lexer) is(word string) bool {
	return l.word == word && l.kind != textToken && l.kind != endToken
}

func (l *lexer) accept(word string) bool {
	if !l.is(word) {
		return false
	}
	l.next()
	return true
}

func (l *lexer) expect(sign string) {
	if !l.accept(sign) {
		l.unexpected(strconv.Quote(sign))
	}
}

func isWord(c byte) bool { return c == '_' || c-'0' < 10 || c|0x20-'a' < 26 }

// next reads a token.
func (l *lexer) next() {
	l.skip()
	l.at, l.word, l.kind = l.pos, "", endToken
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
		l.kind = wordToken
		if c-'0' < 10 {
			l.kind = numberToken
		}
	default:
		l.kind = signToken
		for _, sign := range []string{"...", ":="} {
			if strings.HasPrefix(rest, sign) {
				size = len(sign)
			}
		}
	}
	l.word = rest[:size]
	l.pos += size
}

// skip skips white space and comments.
func (l *lexer) skip() {
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
func (l *lexer) quoted(quote byte) {
	for i := l.pos + 1; i < len(l.text); i++ {
		switch l.text[i] {
		case '\\':
			i++
		case quote:
			text := l.text[l.pos+1 : i]
			if strings.IndexByte(text, '\\') >= 0 {
				text = unescape(text)
			}
			l.kind, l.word, l.pos = textToken, text, i+1
			return
		}
	}
	l.pos = len(l.text)
	l.fail("the text ends within quotes")
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
