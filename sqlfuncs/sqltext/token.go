// Package sqltext reads and writes the text of SQL: tokens, statements, names and texts in quotes.
package sqltext

import (
	"fmt"
	"iter"
	"strings"
)

// Kind is what a token is.
type Kind int

// The kinds of tokens.
const (
	End      Kind = iota
	Word          // an identifier or keyword
	Quoted        // a quoted identifier, which SQLite takes as text if there is no such column
	Text          // 'text'
	Blob          // x'6162'
	Number        // 12, 1.5e3, 0x1f
	Variable      // $name
	Operator      // one or more characters of punctuation
)

// Token is a word of SQL.
type Token struct {
	Kind Kind
	Text string // as in the source; for a quoted identifier or text, its content
	Pos  int    // byte offset in the source
	End  int

	Spaced bool // white space precedes it
}

// Is reports whether the token is the keyword or operator.
func (t Token) Is(text string) bool {
	return (t.Kind == Word || t.Kind == Operator) && strings.EqualFold(t.Text, text)
}

// Error describes invalid SQL.
type Error struct {
	Pos     int // byte offset in the source
	Message string
	Cause   error // or nil
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// ErrorAt makes an Error.
func ErrorAt(pos int, format string, args ...any) error {
	return &Error{Pos: pos, Message: fmt.Sprintf(format, args...)}
}

// Tokenize splits SQL into tokens, without comments and white space. The last token is of kind End.
func Tokenize(sql string) ([]Token, error) {
	tokens := make([]Token, 0, 8+len(sql)/4)
	for i := 0; ; {
		before := i
		i = skipSpace(sql, i)
		if i == len(sql) {
			return append(tokens, Token{Kind: End, Pos: i, End: i}), nil
		}
		t, err := next(sql, i)
		if err != nil {
			return nil, err
		}
		t.Spaced = i > before
		tokens = append(tokens, t)
		i = t.End
	}
}

// skipSpace returns the start of the next token.
func skipSpace(sql string, i int) int {
	for i < len(sql) {
		switch c := sql[i]; {
		case c > ' ' && c != '-' && c != '/':
			return i
		case strings.IndexByte(" \t\r\n\f\v", c) >= 0:
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
func next(sql string, i int) (Token, error) {
	c := sql[i]
	switch {
	case (c == 'x' || c == 'X') && strings.HasPrefix(sql[i+1:], "'"):
		t, err := delimited(sql, i+1, '\'', Blob)
		t.Pos = i
		return t, err
	case IsWord(c) && !IsDigit(c):
		return run(sql, i, i, Word, IsWord), nil
	case IsDigit(c) || c == '.' && i+1 < len(sql) && IsDigit(sql[i+1]):
		return numberAt(sql, i), nil
	case c == '$' && i+1 < len(sql) && IsWord(sql[i+1]):
		return run(sql, i, i+1, Variable, IsWord), nil
	case c == '\'':
		return delimited(sql, i, '\'', Text)
	case c == '"' || c == '`':
		return delimited(sql, i, c, Quoted)
	case c == '[':
		return delimited(sql, i, ']', Quoted)
	}
	if i+1 < len(sql) && strings.IndexByte(">|<=", sql[i+1]) >= 0 { // the second character of one of them
		for _, op := range symbols {
			if strings.HasPrefix(sql[i:], op) {
				return Token{Kind: Operator, Text: op, Pos: i, End: i + len(op)}, nil
			}
		}
	}
	if strings.IndexByte("+-*/%<>=!&|~(),.;:?@#{}]^", c) < 0 {
		return Token{}, ErrorAt(i, "unexpected character %q", c)
	}
	return Token{Kind: Operator, Text: sql[i : i+1], Pos: i, End: i + 1}, nil
}

// IsDigit reports whether c is a digit.
func IsDigit(c byte) bool { return '0' <= c && c <= '9' }

// IsWord reports whether c may be in a name.
func IsWord(c byte) bool {
	return c == '_' || c >= 0x80 || IsDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// run reads a token to its last matching character.
func run(sql string, pos, from int, k Kind, in func(byte) bool) Token {
	i := from
	for i < len(sql) && in(sql[i]) {
		i++
	}
	return Token{Kind: k, Text: sql[pos:i], Pos: pos, End: i}
}

func numberAt(sql string, pos int) Token {
	i := pos
	for i < len(sql) && (IsWord(sql[i]) || sql[i] == '.' || isExponentSign(sql, pos, i)) {
		i++
	}
	return Token{Kind: Number, Text: sql[pos:i], Pos: pos, End: i}
}

// isExponentSign reports whether the character at i is the sign of an exponent, in the number that
// starts at pos.
func isExponentSign(sql string, pos, i int) bool {
	return (sql[i] == '+' || sql[i] == '-') && (sql[i-1]|0x20) == 'e' && !strings.HasPrefix(strings.ToLower(sql[pos:i]), "0x")
}

// delimited reads a token between quotes. Quotes inside are doubled.
func delimited(sql string, pos int, quote byte, k Kind) (Token, error) {
	if n := strings.IndexByte(sql[pos+1:], quote); n >= 0 {
		if end := pos + n + 2; end == len(sql) || sql[end] != quote || quote == ']' {
			return Token{Kind: k, Text: sql[pos+1 : end-1], Pos: pos, End: end}, nil
		}
	}
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
		return Token{Kind: k, Text: b.String(), Pos: pos, End: i + 1}, nil
	}
	what := "identifier"
	if quote == '\'' {
		what = "string"
	}
	return Token{}, ErrorAt(pos, "unterminated %s", what)
}

// Statement is one statement of a text.
type Statement struct {
	Text string // without the semicolon
	Pos  int    // byte offset in the source
}

// Paste appends SQL to SQL. A space keeps two tokens apart that would become one, or a comment.
func Paste(b *strings.Builder, text string) {
	if before := b.String(); before != "" && text != "" && merge(before[len(before)-1], text) {
		b.WriteByte(' ')
	}
	b.WriteString(text)
}

// merge reports whether a token that ends with a byte and the first token of a text would become one.
func merge(last byte, text string) bool {
	c := text[0]
	switch {
	case IsWord(last):
		return IsWord(c) || c == '\'' && last|0x20 == 'x' || c == '.' && len(text) > 1 && IsDigit(text[1])
	case strings.IndexByte("'\"`", last) >= 0:
		return c == last
	case last == '-' || last == '/':
		return c == '-' || c == '*' || c == '>'
	}
	return strings.IndexByte("|<>=!", last) >= 0 && strings.IndexByte("|<>=", c) >= 0
}

// Substitute replaces variables such as $name. Other variables stay.
func Substitute(sql string, variables map[string]string) (string, error) {
	tokens, err := Tokenize(sql)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	from := 0
	for _, t := range tokens {
		if value, ok := variables[strings.TrimPrefix(t.Text, "$")]; ok && t.Kind == Variable {
			Paste(&b, sql[from:t.Pos])
			Paste(&b, value)
			from = t.End
		}
	}
	Paste(&b, sql[from:])
	return b.String(), nil
}

// Split splits SQL, of Perfetto or DuckDB, at its semicolons. A statement ends behind its last token. Empty ones are left out.
func Split(sql string) ([]Statement, error) {
	var statements []Statement
	from, end := -1, 0
	for i := 0; ; {
		i = skipSpace(sql, i)
		if i == len(sql) || sql[i] == ';' {
			if i < len(sql) && from >= 0 && insideTrigger(sql[from:i]) {
				i++
				end = i
				continue
			}
			if from >= 0 {
				statements = append(statements, Statement{sql[from:end], from})
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
			t, err := delimited(sql, i, c, Text)
			if err != nil {
				return nil, err
			}
			i = t.End
		} else {
			i++
		}
		end = i
	}
}

// insideTrigger reports whether the semicolon after a part of SQL belongs to a trigger, which goes on until "; END".
func insideTrigger(part string) bool {
	if len(part) < 6 || !strings.EqualFold(part[:6], "CREATE") {
		return false
	}
	at := len("CREATE")
	word := func() (t Token) {
		if at = skipSpace(part, at); at < len(part) {
			t, _ = next(part, at)
			at = max(at, t.End)
		}
		return t
	}
	what := word()
	if what.Is("TEMP") || what.Is("TEMPORARY") {
		what = word()
	}
	if !what.Is("TRIGGER") {
		return false
	}
	tokens, err := Tokenize(part[at:])
	if err != nil {
		return false
	}
	n := len(tokens) - 1 // without the end
	return n < 2 || !tokens[n-1].Is("END") || tokens[n-2].Text != ";"
}

// Words yields the words of SQL in lower case, including those in quotes and comments.
func Words(sql string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for word := range strings.FieldsFuncSeq(sql, func(r rune) bool { return r < 0x80 && !IsWord(byte(r)) }) {
			if !yield(strings.ToLower(word)) {
				return
			}
		}
	}
}
