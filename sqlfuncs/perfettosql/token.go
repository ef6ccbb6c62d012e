package perfettosql

import (
	"fmt"
	"strings"
)

type kind int

const (
	end      kind = iota
	word          // an identifier or keyword
	quoted        // a quoted identifier, which SQLite takes as text if there is no such column
	text          // 'text'
	blob          // x'6162'
	number        // 12, 1.5e3, 0x1f
	variable      // $name
	operator      // one or more characters of punctuation
)

// token is a word of SQL.
type token struct {
	kind kind
	text string // as in the source; for a quoted identifier or text, its content
	pos  int    // byte offset in the source
	end  int

	spaced bool // white space precedes it
}

// is reports whether the token is the keyword or operator.
func (t token) is(text string) bool {
	return (t.kind == word || t.kind == operator) && strings.EqualFold(t.text, text)
}

// Error describes invalid PerfettoSQL.
type Error struct {
	Pos     int // byte offset in the source
	Message string
	Cause   error // or nil
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

func failAt(pos int, format string, args ...any) error {
	return &Error{Pos: pos, Message: fmt.Sprintf(format, args...)}
}

// tokenize splits SQL into tokens, without comments and white space. The last token is of kind end.
func tokenize(sql string) ([]token, error) {
	var tokens []token
	for i := 0; ; {
		before := i
		i = skipSpace(sql, i)
		if i == len(sql) {
			return append(tokens, token{kind: end, pos: i, end: i}), nil
		}
		t, err := next(sql, i)
		if err != nil {
			return nil, err
		}
		t.spaced = i > before
		tokens = append(tokens, t)
		i = t.end
	}
}

// skipSpace returns the start of the next token.
func skipSpace(sql string, i int) int {
	for i < len(sql) {
		switch {
		case strings.IndexByte(" \t\r\n\f\v", sql[i]) >= 0:
			i++
		case strings.HasPrefix(sql[i:], "--"):
			i += lengthUntil(sql[i:], "\n")
		case strings.HasPrefix(sql[i:], "/*"):
			i += 2 + lengthUntil(sql[i+2:], "*/")
		default:
			return i
		}
	}
	return i
}

// lengthUntil returns the length of s up to and including the mark, or all of it.
func lengthUntil(s, mark string) int {
	if n := strings.Index(s, mark); n >= 0 {
		return n + len(mark)
	}
	return len(s)
}

// symbols are the operators of more than one character.
var symbols = []string{"->>", "->", "||", "<<", ">>", "<=", ">=", "<>", "!=", "=="}

// next reads the token at i.
func next(sql string, i int) (token, error) {
	c := sql[i]
	switch {
	case (c == 'x' || c == 'X') && strings.HasPrefix(sql[i+1:], "'"):
		t, err := delimited(sql, i+1, '\'', blob)
		t.pos = i
		return t, err
	case isWord(c) && !isDigit(c):
		return run(sql, i, i, word, isWord), nil
	case isDigit(c) || c == '.' && i+1 < len(sql) && isDigit(sql[i+1]):
		return numberAt(sql, i), nil
	case c == '$' && i+1 < len(sql) && isWord(sql[i+1]):
		return run(sql, i, i+1, variable, isWord), nil
	case c == '\'':
		return delimited(sql, i, '\'', text)
	case c == '"' || c == '`':
		return delimited(sql, i, c, quoted)
	case c == '[':
		return delimited(sql, i, ']', quoted)
	}
	for _, op := range symbols {
		if strings.HasPrefix(sql[i:], op) {
			return token{kind: operator, text: op, pos: i, end: i + len(op)}, nil
		}
	}
	if strings.IndexByte("+-*/%<>=!&|~(),.;:?@#{}]^", c) < 0 {
		return token{}, failAt(i, "unexpected character %q", c)
	}
	return token{kind: operator, text: string(c), pos: i, end: i + 1}, nil
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isWord(c byte) bool {
	return c == '_' || c >= 0x80 || isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// run reads a token to its last matching character.
func run(sql string, pos, from int, k kind, in func(byte) bool) token {
	i := from
	for i < len(sql) && in(sql[i]) {
		i++
	}
	return token{kind: k, text: sql[pos:i], pos: pos, end: i}
}

func numberAt(sql string, pos int) token {
	i := pos
	for i < len(sql) && (isWord(sql[i]) || sql[i] == '.' || isExponentSign(sql, pos, i)) {
		i++
	}
	return token{kind: number, text: sql[pos:i], pos: pos, end: i}
}

// isExponentSign reports whether the character at i is the sign of an exponent, in the number that
// starts at pos.
func isExponentSign(sql string, pos, i int) bool {
	return (sql[i] == '+' || sql[i] == '-') && (sql[i-1]|0x20) == 'e' && !strings.HasPrefix(strings.ToLower(sql[pos:i]), "0x")
}

// delimited reads a token between quotes. Quotes inside are doubled.
func delimited(sql string, pos int, quote byte, k kind) (token, error) {
	var b strings.Builder
	for i := pos + 1; i < len(sql); i++ {
		if sql[i] != quote {
			b.WriteByte(sql[i])
			continue
		}
		if i+1 < len(sql) && sql[i+1] == quote && quote != ']' {
			b.WriteByte(quote)
			i++
			continue
		}
		return token{kind: k, text: b.String(), pos: pos, end: i + 1}, nil
	}
	what := "identifier"
	if quote == '\'' {
		what = "string"
	}
	return token{}, failAt(pos, "unterminated %s", what)
}

// Statement is one statement of a text.
type Statement struct {
	Text string // without the semicolon
	Pos  int    // byte offset in the source
}

// Substitute replaces variables such as $name. Other variables stay.
func Substitute(sql string, variables map[string]string) (string, error) {
	tokens, err := tokenize(sql)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	from := 0
	for _, t := range tokens {
		if value, ok := variables[strings.TrimPrefix(t.text, "$")]; ok && t.kind == variable {
			b.WriteString(sql[from:t.pos] + value)
			from = t.end
		}
	}
	return b.String() + sql[from:], nil
}

// Split splits SQL, of Perfetto or DuckDB, at its semicolons. Empty statements are left out.
func Split(sql string) ([]Statement, error) {
	var statements []Statement
	from := -1
	for i := 0; ; {
		i = skipSpace(sql, i)
		if i == len(sql) || sql[i] == ';' {
			if i < len(sql) && from >= 0 && insideTrigger(sql[from:i]) {
				i++
				continue
			}
			if from >= 0 {
				statements = append(statements, Statement{sql[from:i], from})
			}
			if i == len(sql) {
				return statements, nil
			}
			from = -1
			i++
			continue
		}
		if from < 0 {
			from = i
		}
		if c := sql[i]; c == '\'' || c == '"' {
			t, err := delimited(sql, i, c, text)
			if err != nil {
				return nil, err
			}
			i = t.end
		} else {
			i++
		}
	}
}

// insideTrigger reports whether the semicolon after a part of SQL belongs to a trigger, which goes on until "; END".
func insideTrigger(part string) bool {
	if len(part) < 6 || !strings.EqualFold(part[:6], "CREATE") {
		return false
	}
	tokens, err := tokenize(part)
	if err != nil {
		return false
	}
	r := &reader{tokens: tokens}
	r.accept("CREATE")
	if !r.accept("TEMP") {
		r.accept("TEMPORARY")
	}
	if !r.accept("TRIGGER") {
		return false
	}
	n := len(tokens) - 1 // without the end
	return n < 2 || !tokens[n-1].is("END") || tokens[n-2].text != ";"
}
