package perfettosql

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/sqlfuncs/sqltext"
)

// macro is a macro: SQL in which $name stands for an argument.
type macro struct {
	parameters []string
	body       string
}

// expansion is SQL with its macro calls replaced, and where each part of it comes from.
type expansion struct {
	sql   strings.Builder
	parts []part
}

// part is a part of an expansion that begins at an offset.
type part struct {
	at, source int
	moves      bool // each byte has a place of its own in the source; else all come from one place, a macro's call
}

// copy appends a part of the source as it is.
func (x *expansion) copy(source string, from, to int) {
	if from < to {
		sqltext.Paste(&x.sql, source[from:to])
		x.parts = append(x.parts, part{x.sql.Len() - (to - from), from, true})
	}
}

// insert appends a macro's text, which comes from its call in the source.
func (x *expansion) insert(text string, call int) {
	sqltext.Paste(&x.sql, text)
	x.parts = append(x.parts, part{x.sql.Len() - len(text), call, false})
}

// position returns the place in the source of an offset in the expansion.
func (x *expansion) position(at int) int {
	i, found := slices.BinarySearchFunc(x.parts, at, func(p part, at int) int { return p.at - at })
	if !found {
		i--
	}
	if i < 0 {
		return at
	}
	p := x.parts[i]
	if p.moves {
		return p.source + at - p.at
	}
	return p.source
}

// Limits on the nesting of macro calls and on the size of an expansion, in bytes.
const (
	maxDepth     = 100
	maxExpansion = 16 << 20
)

// expand replaces the macro calls of a statement.
func (e *Engine) expand(source string, tokens []sqltext.Token) (*expansion, error) {
	x := &expansion{}
	from := 0
	for i := 0; i < len(tokens); i++ {
		if !isCall(tokens, i) {
			continue
		}
		text, next, err := e.callMacro(source, tokens, i, 0)
		if err != nil {
			return nil, err
		}
		x.copy(source, from, tokens[i].Pos)
		x.insert(text, tokens[i].Pos)
		if x.sql.Len() > maxExpansion {
			return nil, sqltext.ErrorAt(tokens[i].Pos, "macros expand this statement to more than %d MiB", maxExpansion>>20)
		}
		from, i = tokens[next].End, next
	}
	x.copy(source, from, len(source))
	return x, nil
}

// isCall reports whether a macro is called at a token: name!(, with or without white space.
func isCall(tokens []sqltext.Token, i int) bool {
	return tokens[i].Kind == sqltext.Word && i+2 < len(tokens) && tokens[i+1].Is("!") && tokens[i+2].Is("(")
}

// callMacro returns the expansion of a call, and the token at its end.
func (e *Engine) callMacro(source string, tokens []sqltext.Token, i, depth int) (text string, closing int, err error) {
	call := tokens[i]
	if depth > maxDepth {
		return "", 0, sqltext.ErrorAt(call.Pos, "macros call each other in a cycle")
	}
	args, closing := arguments(source, tokens, i+3)
	if closing < 0 {
		return "", 0, sqltext.ErrorAt(call.Pos, "unterminated call of macro %s", call.Text)
	}
	body, err := e.expandCall(call, args)
	if err != nil {
		return "", 0, err
	}
	text, err = e.expandText(body, depth+1)
	if err != nil {
		return "", 0, &sqltext.Error{Pos: call.Pos, Message: err.Error(), Cause: err}
	}
	return text, closing, nil
}

// expandText replaces the macro calls in a macro's text.
func (e *Engine) expandText(text string, depth int) (string, error) {
	if !strings.Contains(text, "!") {
		return text, nil
	}
	tokens, err := sqltext.Tokenize(text)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	from := 0
	for i := 0; i < len(tokens); i++ {
		if !isCall(tokens, i) {
			continue
		}
		inner, closing, err := e.callMacro(text, tokens, i, depth)
		if err != nil {
			return "", err
		}
		sqltext.Paste(&b, text[from:tokens[i].Pos])
		sqltext.Paste(&b, inner)
		if b.Len() > maxExpansion {
			return "", fmt.Errorf("macros expand this statement to more than %d MiB", maxExpansion>>20)
		}
		from, i = tokens[closing].End, closing
	}
	sqltext.Paste(&b, text[from:])
	return b.String(), nil
}

// arguments returns the arguments of a call as text, starting at token i, and its closing parenthesis, or -1.
func arguments(source string, tokens []sqltext.Token, i int) (args []string, closing int) {
	first := i
	add := func(end int) {
		if end > first {
			args = append(args, source[tokens[first].Pos:tokens[end-1].End])
		}
	}
	for depth := 0; i < len(tokens); i++ {
		switch t := tokens[i]; {
		case t.Is("("):
			depth++
		case t.Is(")") && depth == 0:
			add(i)
			return args, i
		case t.Is(")"):
			depth--
		case t.Is(",") && depth == 0:
			add(i)
			first = i + 1
		}
	}
	return nil, -1
}

// appliers are the macros that call a macro for each item of one or two lists: what stands between the calls, and whether it
// comes first too.
var appliers = map[string]struct {
	joiner string
	first  bool
}{
	"__intrinsic_token_apply":            {", ", false},
	"__intrinsic_token_apply_prefix":     {", ", true},
	"__intrinsic_token_apply_and":        {" AND ", false},
	"__intrinsic_token_apply_and_prefix": {" AND ", true},
}

// expandCall returns a macro's body with its arguments.
func (e *Engine) expandCall(call sqltext.Token, args []string) (string, error) {
	name := strings.ToLower(call.Text)
	if a, ok := appliers[name]; ok {
		return apply(call, args, a.joiner, a.first)
	}
	if (name == "__intrinsic_stringify" || name == "__intrinsic_stringify_ignore_table") && len(args) == 1 {
		return "'" + args[0] + "'", nil
	}
	m := e.macros[name]
	if m == nil {
		return "", e.noMacro(call)
	}
	if len(args) != len(m.parameters) {
		return "", sqltext.ErrorAt(call.Pos, "macro %s has %d parameters, not %d", call.Text, len(m.parameters), len(args))
	}
	values := make(map[string]string, len(args))
	for i, p := range m.parameters {
		values[p] = args[i]
	}
	return sqltext.Substitute(m.body, values)
}

// apply returns calls of the macro that args name, for each item of the list or of both lists that follow.
func apply(call sqltext.Token, args []string, joiner string, first bool) (string, error) {
	if len(args) != 2 && len(args) != 3 {
		return "", sqltext.ErrorAt(call.Pos, "%s has a macro and one or two lists", call.Text)
	}
	var lists [][]string
	n := -1
	for _, arg := range args[1:] {
		tokens, err := sqltext.Tokenize(arg)
		if err != nil {
			return "", err
		}
		if !tokens[0].Is("(") {
			return "", sqltext.ErrorAt(call.Pos, "%s: a list begins with a parenthesis", call.Text)
		}
		items, closing := arguments(arg, tokens, 1)
		if closing != len(tokens)-2 {
			return "", sqltext.ErrorAt(call.Pos, "%s: a list ends with a parenthesis", call.Text)
		}
		lists = append(lists, items)
		if n < 0 || len(items) < n {
			n = len(items)
		}
	}
	var b strings.Builder
	for i := range n {
		if i > 0 || first {
			b.WriteString(joiner)
		}
		b.WriteString(args[0] + "!(" + lists[0][i])
		if len(lists) == 2 {
			b.WriteString(", " + lists[1][i])
		}
		b.WriteString(")")
	}
	return b.String(), nil
}
