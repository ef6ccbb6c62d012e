package sqltext

import (
	"strings"
	"unicode"
)

// CopyTarget returns the quoted text after TO in a COPY statement of DuckDB, and its position.
func CopyTarget(statement string) (from, to int, target string) {
	depth, word := 0, ""
	for i := 0; i < len(statement); {
		rest := statement[i:]
		switch c := statement[i]; {
		case strings.HasPrefix(rest, "--"):
			i += lengthUntil(rest, "\n")
		case strings.HasPrefix(rest, "/*"):
			i += lengthUntil(rest, "*/")
		case c == '$': // a text between $tag$ and $tag$
			tag, _, ok := strings.Cut(rest[1:], "$")
			if !ok {
				return 0, 0, ""
			}
			i += 2 + len(tag)
			i += lengthUntil(statement[i:], "$"+tag+"$")
		case c == '\'' || c == '"':
			n := quotedLength(rest, c == '\'' && strings.EqualFold(word, "E"))
			if n == 0 {
				return 0, 0, ""
			}
			if c == '\'' && depth == 0 && strings.EqualFold(word, "TO") {
				return i, i + n, strings.ReplaceAll(rest[1:n-1], "''", "'")
			}
			i, word = i+n, ""
		case c == '_' || unicode.IsLetter(rune(c)) || '0' <= c && c <= '9' || c >= 0x80:
			n := strings.IndexFunc(rest, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
			if n < 0 {
				n = len(rest)
			}
			n = max(n, 1)
			i, word = i+n, rest[:n]
		default:
			switch c {
			case '(', '[', '{':
				depth++
			case ')', ']', '}':
				depth--
			}
			if !unicode.IsSpace(rune(c)) {
				word = ""
			}
			i++
		}
	}
	return 0, 0, ""
}

// quotedLength is the length of the quoted text at the start, or 0 if it is unterminated. A quote inside is doubled or,
// if escaped is set, follows a backslash.
func quotedLength(text string, escaped bool) int {
	for i := 1; i < len(text); i++ {
		switch {
		case escaped && text[i] == '\\':
			i++
		case text[i] != text[0]:
		case i+1 < len(text) && text[i+1] == text[0]:
			i++
		default:
			return i + 1
		}
	}
	return 0
}
