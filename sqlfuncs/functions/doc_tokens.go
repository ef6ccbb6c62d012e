package functions

import (
	"errors"
	"strings"
)

// docToken is a word, a text in quotes or a character of punctuation of SQL.
type docToken struct {
	text     string // "" at the end of the source, or of what is quoted
	pos, end int
}

// is reports whether the token is a keyword or a character.
func (t docToken) is(text string) bool { return strings.EqualFold(t.text, text) && text != "" }

var errUnterminated = errors.New("a text or name has no end")

// docTokens returns the tokens of SQL without comments. The last one is empty, at the end of the source.
func docTokens(sql string) ([]docToken, error) {
	var tokens []docToken
	for i := 0; i < len(sql); {
		from := i
		switch c := sql[i]; {
		case strings.IndexByte(" \t\r\n\f\v", c) >= 0:
			i++
			continue
		case strings.HasPrefix(sql[i:], "--"):
			i = after(sql, i, "\n")
			continue
		case strings.HasPrefix(sql[i:], "/*"):
			i = after(sql, i+2, "*/")
			continue
		case c == '\'' || c == '"' || c == '`':
			n := strings.IndexByte(sql[i+1:], c) // a doubled quote is two texts, which matters to nobody here
			if n < 0 {
				return nil, errUnterminated
			}
			i += n + 2
			tokens = append(tokens, docToken{"", from, i})
			continue
		}
		for i < len(sql) && isWord(sql[i]) {
			i++
		}
		i = max(i, from+1)
		tokens = append(tokens, docToken{sql[from:i], from, i})
	}
	return append(tokens, docToken{"", len(sql), len(sql)}), nil
}

// after returns the place after a mark, or the end.
func after(s string, from int, mark string) int {
	if n := strings.Index(s[from:], mark); n >= 0 {
		return from + n + len(mark)
	}
	return len(s)
}

func isWord(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}
