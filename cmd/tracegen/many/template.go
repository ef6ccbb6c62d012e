package many

import (
	"encoding/binary"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"

	"github.com/tpconvert/tpconvert/cmd/tracegen/pb"
)

// A shape appends a part of a trace for the i-th of n things. Those in the tables are templates, with expressions of i and n.
type shape func(b []byte, i, n int) []byte

// each repeats a template of text for n things, with a text between them.
func each(separator, template string) shape { return repeat(separator, text(template)) }

// repeat repeats a shape for n things, with a text between them.
func repeat(separator string, element shape) shape {
	return func(b []byte, _, n int) []byte {
		for i := range n {
			if i > 0 {
				b = append(b, separator...)
			}
			b = element(b, i, n)
		}
		return b
	}
}

// join puts shapes behind each other.
func join(all ...shape) shape {
	return func(b []byte, i, n int) []byte {
		for _, s := range all {
			b = s(b, i, n)
		}
		return b
	}
}

// text is a template of text: $i, $n and expressions such as $(n-i), $(i:x) in hexadecimal and $(i:06d) with leading zeros.
// $(i<n/2?yes|no) is one of two texts, and $$ is a dollar.
func text(template string) shape {
	literal, rest, found := strings.Cut(template, "$")
	s := func(b []byte, _, _ int) []byte { return append(b, literal...) }
	if !found {
		return s
	}
	value := rest[:1]
	rest = rest[1:]
	switch value {
	case "$":
		return join(s, func(b []byte, _, _ int) []byte { return append(b, '$') }, text(rest))
	case "(":
		end := closing(rest)
		value, rest = rest[:end], rest[end+1:]
	}
	if condition, texts, ok := strings.Cut(value, "?"); ok {
		yes, no, _ := strings.Cut(texts, "|")
		return join(s, choice(number(condition), text(yes), text(no)), text(rest))
	}
	value, verb, _ := strings.Cut(value, ":")
	return join(s, formatted(number(value), "%"+verb), text(rest))
}

// closing returns where the parenthesis ends that was opened before s.
func closing(s string) int {
	depth := 1
	for i, c := range s {
		switch c {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	panic("no end of $(" + s)
}

func choice(condition expression, yes, no shape) shape {
	return func(b []byte, i, n int) []byte {
		if condition(i, n) != 0 {
			return yes(b, i, n)
		}
		return no(b, i, n)
	}
}

func formatted(value expression, format string) shape {
	if format == "%" {
		return func(b []byte, i, n int) []byte { return strconv.AppendInt(b, int64(value(i, n)), 10) }
	}
	return func(b []byte, i, n int) []byte { return fmt.Appendf(b, format, value(i, n)) }
}

// An expression is a number that depends on i and n. Comparisons are 1 or 0.
type expression func(i, n int) int

// number reads an expression in Go's syntax.
func number(source string) expression {
	tree, err := parser.ParseExpr(source)
	if err != nil {
		panic(err)
	}
	return value(tree)
}

func value(tree ast.Expr) expression {
	switch e := tree.(type) {
	case *ast.ParenExpr:
		return value(e.X)
	case *ast.Ident:
		return map[string]expression{"i": func(i, _ int) int { return i }, "n": func(_, n int) int { return n }}[e.Name]
	case *ast.BasicLit:
		constant, err := strconv.ParseInt(e.Value, 0, 64)
		if err != nil {
			panic(err)
		}
		return func(int, int) int { return int(constant) }
	}
	e := tree.(*ast.BinaryExpr)
	a, b, operate := value(e.X), value(e.Y), operators[e.Op]
	return func(i, n int) int { return operate(a(i, n), b(i, n)) }
}

var operators = map[token.Token]func(a, b int) int{
	token.ADD: func(a, b int) int { return a + b },
	token.SUB: func(a, b int) int { return a - b },
	token.MUL: func(a, b int) int { return a * b },
	token.QUO: func(a, b int) int { return a / b },
	token.REM: func(a, b int) int { return a % b },
	token.SHL: func(a, b int) int { return a << b },
	token.LSS: func(a, b int) int {
		if a < b {
			return 1
		}
		return 0
	},
}

// message is a template of a message of Protocol Buffers. Its fields are separated by spaces:
//
//	8:i             a number
//	7=i             a number of 64 bits
//	2:"name $i"     a text
//	11:{9:3 11:7}   a message
//	1:<i i+1>       packed numbers
//	1:#i 1:##i      an id of 8 and of 16 bytes
//	[8:i]           fields that are repeated for all things
//	(i<1)[8:i]      fields that are there if a condition is true
func message(template string) shape {
	m := messageReader{template}
	s := m.fields()
	if m.rest != "" {
		panic("what is " + m.rest)
	}
	return s
}

// messageReader has what is left of a template.
type messageReader struct{ rest string }

// next reports whether a character comes next, and skips it.
func (m *messageReader) next(c string) (ok bool) {
	m.rest, ok = strings.CutPrefix(m.rest, c)
	return ok
}

// until cuts off what comes before one of some characters, or all.
func (m *messageReader) until(ends string) string {
	end := strings.IndexAny(m.rest, ends)
	if end < 0 {
		end = len(m.rest)
	}
	head := m.rest[:end]
	m.rest = m.rest[end:]
	return head
}

// fields reads fields to the end of a message or of a repetition, and the bracket there.
func (m *messageReader) fields() shape {
	var all []shape
	for m.rest != "" && !m.next("}") && !m.next("]") {
		switch {
		case m.next(" "):
		case m.next("["):
			all = append(all, repeat("", m.fields()))
		case strings.HasPrefix(m.rest, "("):
			condition := number(m.until("["))
			m.next("[")
			all = append(all, choice(condition, m.fields(), join()))
		default:
			all = append(all, m.field())
		}
	}
	return join(all...)
}

func (m *messageReader) field() shape {
	tag := number(m.until(":="))
	if m.next("=") {
		v := number(m.until(" }]"))
		return func(b []byte, i, n int) []byte { return pb.Message(b).Fixed64(tag(i, n), uint64(v(i, n))) }
	}
	m.next(":")
	var contents shape
	switch {
	case m.next("{"):
		contents = m.fields()
	case m.next(`"`):
		contents = text(m.until(`"`))
		m.next(`"`)
	case m.next("<"):
		contents = m.numbers()
	case m.next("##"):
		contents = join(text(strings.Repeat("\x00", 8)), m.id())
	case m.next("#"):
		contents = m.id()
	default:
		v := number(m.until(" }]"))
		return func(b []byte, i, n int) []byte { return pb.Message(b).Number(tag(i, n), uint64(v(i, n))) }
	}
	return func(b []byte, i, n int) []byte { return pb.Message(b).Bytes(tag(i, n), contents(nil, i, n)) }
}

// numbers reads packed numbers, which [] repeats, and the bracket at their end.
func (m *messageReader) numbers() shape {
	var all []shape
	for !m.next(">") && !m.next("]") {
		switch {
		case m.next(" "):
		case m.next("["):
			all = append(all, repeat("", m.numbers()))
		default:
			v := number(m.until(" >]"))
			all = append(all, func(b []byte, i, n int) []byte { return binary.AppendUvarint(b, uint64(v(i, n))) })
		}
	}
	return join(all...)
}

func (m *messageReader) id() shape {
	v := number(m.until(" }]"))
	return func(b []byte, i, n int) []byte { return binary.BigEndian.AppendUint64(b, uint64(v(i, n))) }
}
