// Package template makes parts of traces from templates, which have expressions of i and n: the part for the i-th of n things. r is a
// random number of 31 bits, in each expression another one.
package template

import (
	"encoding/binary"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"hash/crc32"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/tpconvert/tpconvert/cmd/tracegen/pb"
)

// A Shape appends the part for the i-th of n things.
type Shape func(b []byte, i, n int) []byte

// Repeat is an element for each of the n things, with a text between them.
func Repeat(separator string, element Shape) Shape {
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

// Times is an element so many times. In it, i counts them, and n is the i of what is around it.
func Times(count int, element Shape) Shape {
	return func(b []byte, i, _ int) []byte {
		for k := range count {
			b = element(b, k, i)
		}
		return b
	}
}

// Pick is one of some shapes, at random, and for another seed another one.
func Pick(seed string, shapes []Shape) Shape {
	r := random(seed)
	return func(b []byte, i, n int) []byte { return shapes[r(i, n)%len(shapes)](b, i, n) }
}

// Join puts shapes behind each other.
func Join(all ...Shape) Shape {
	return func(b []byte, i, n int) []byte {
		for _, s := range all {
			b = s(b, i, n)
		}
		return b
	}
}

// Text is a template of text: $i, $n and expressions such as $(n-i), $(i:x) in hexadecimal and $(i:06d) with leading zeros.
// $(i<n/2?yes|no) is one of two texts, and $$ is a dollar.
func Text(template string) Shape {
	literal, rest, found := strings.Cut(template, "$")
	s := func(b []byte, _, _ int) []byte { return append(b, literal...) }
	if !found {
		return s
	}
	value := rest[:1]
	rest = rest[1:]
	switch value {
	case "$":
		return Join(s, func(b []byte, _, _ int) []byte { return append(b, '$') }, Text(rest))
	case "(":
		end := closing(rest)
		value, rest = rest[:end], rest[end+1:]
	}
	if condition, texts, ok := strings.Cut(value, "?"); ok {
		yes, no, _ := strings.Cut(texts, "|")
		return Join(s, choice(number(condition, rest), Text(yes), Text(no)), Text(rest))
	}
	value, verb, _ := strings.Cut(value, ":")
	return Join(s, formatted(number(value, rest), "%"+verb), Text(rest))
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

func choice(condition expression, yes, no Shape) Shape {
	return func(b []byte, i, n int) []byte {
		if condition(i, n) != 0 {
			return yes(b, i, n)
		}
		return no(b, i, n)
	}
}

func formatted(value expression, format string) Shape {
	if format == "%" {
		return func(b []byte, i, n int) []byte { return strconv.AppendInt(b, int64(value(i, n)), 10) }
	}
	return func(b []byte, i, n int) []byte { return fmt.Appendf(b, format, value(i, n)) }
}

// An expression is a number that depends on i and n. Comparisons are 1 or 0.
type expression func(i, n int) int

// Number is an expression in Go's syntax.
func Number(source string) func(i, n int) int { return number(source, "") }

// random depends on a seed, too. It is the finalizer of SplitMix64.
func random(seed string) expression {
	salt := uint64(crc32.ChecksumIEEE([]byte(seed))) << 32
	return func(i, n int) int {
		z := (uint64(i)<<16 ^ uint64(n) ^ salt) * 0x9e3779b97f4a7c15
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		return int(z >> 33)
	}
}

// number reads an expression in Go's syntax. Its random numbers depend on the rest of the template.
func number(source, rest string) expression {
	tree, err := parser.ParseExpr(source)
	if err != nil {
		panic(source + ": " + err.Error())
	}
	return value(tree, rest)
}

func value(tree ast.Expr, rest string) expression {
	switch e := tree.(type) {
	case *ast.ParenExpr:
		return value(e.X, rest)
	case *ast.Ident:
		if e.Name == "r" {
			return random(rest)
		}
		return map[string]expression{"i": func(i, _ int) int { return i }, "n": func(_, n int) int { return n }}[e.Name]
	case *ast.BasicLit:
		constant, err := strconv.ParseInt(e.Value, 0, 64)
		if err != nil {
			panic(err)
		}
		return func(int, int) int { return int(constant) }
	}
	e := tree.(*ast.BinaryExpr)
	a, b, operate := value(e.X, rest), value(e.Y, rest), operators[e.Op]
	return func(i, n int) int { return operate(a(i, n), b(i, n)) }
}

var operators = map[token.Token]func(a, b int) int{
	token.ADD: func(a, b int) int { return a + b },
	token.SUB: func(a, b int) int { return a - b },
	token.MUL: func(a, b int) int { return a * b },
	token.QUO: func(a, b int) int { return a / b },
	token.REM: func(a, b int) int { return a % b },
	token.SHL: func(a, b int) int { return a << b },
	token.OR:  func(a, b int) int { return a | b },
	token.LSS: func(a, b int) int {
		if a < b {
			return 1
		}
		return 0
	},
}

// Message is a template of a message of Protocol Buffers. Its fields are separated by spaces:
//
//	8:i             a number
//	7=i             a number of 64 bits
//	2:"name $i"     a text
//	11:{9:3 11:7}   a message
//	1:<i [i+1]>     packed numbers
//	1:#i 1:##i      an id of 8 and of 16 bytes
//	[8:i]           fields that are repeated for all things
//	*5[8:i]         fields that are repeated 5 times, as by [Times]
//	(i<1)[8:i]      fields that are there if a condition is true
func Message(template string) Shape { return read(template, nil) }

// Little and Big are templates of numbers and texts, in the order of bytes that they are named after:
//
//	4:i             a number of 1, 2, 4 or 8 bytes
//	v:i             a varint
//	p:i             a varint of 4 bytes
//	"name $i"       a text
//	u"name $i"      a text in UTF-16, with a 0 behind it
//	m{9:3 11:7}     a message of Protocol Buffers
//	4{1:i 1:7}      what follows, after its size
//	2+8{1:i 1:7}    what follows, after its size and 8
//	[4:i]           what is repeated for all things
//	(i<1)[4:i]      what is there if a condition is true
func Little(template string) Shape { return read(template, binary.LittleEndian) }

// Big is [Little] in the other order.
func Big(template string) Shape { return read(template, binary.BigEndian) }

func read(template string, order binary.AppendByteOrder) Shape {
	r := reader{template, order}
	s := r.elements()
	if r.rest != "" {
		panic("what is " + r.rest)
	}
	return s
}

// reader has what is left of a template, and an order unless it is a message.
type reader struct {
	rest  string
	order binary.AppendByteOrder
}

// next reports whether a text comes next, and skips it.
func (r *reader) next(text string) (ok bool) {
	r.rest, ok = strings.CutPrefix(r.rest, text)
	return ok
}

// until cuts off what comes before one of some characters, or all.
func (r *reader) until(ends string) string {
	end := strings.IndexAny(r.rest, ends)
	if end < 0 {
		end = len(r.rest)
	}
	head := r.rest[:end]
	r.rest = r.rest[end:]
	return head
}

// expression reads an expression that was cut off.
func (r *reader) expression(source string) expression { return number(source, r.rest) }

// elements reads to the end of a template, of what is in brackets, or of packed numbers, and the bracket there.
func (r *reader) elements() Shape {
	var all []Shape
	for r.rest != "" && !r.next("}") && !r.next("]") {
		switch {
		case r.next(" "):
		case r.next("["):
			all = append(all, Repeat("", r.elements()))
		case r.next("*"):
			count, _ := strconv.Atoi(r.until("["))
			r.next("[")
			all = append(all, Times(count, r.elements()))
		case strings.HasPrefix(r.rest, "("):
			condition := r.expression(r.until("["))
			r.next("[")
			all = append(all, choice(condition, r.elements(), Join()))
		case r.order == nil:
			all = append(all, r.field())
		default:
			all = append(all, r.element())
		}
	}
	return Join(all...)
}

func (r *reader) text() Shape {
	s := Text(r.until(`"`))
	r.next(`"`)
	return s
}

// field reads a field of a message.
func (r *reader) field() Shape {
	tag := r.expression(r.until(":="))
	if r.next("=") {
		v := r.expression(r.until(" }]"))
		return func(b []byte, i, n int) []byte { return pb.Message(b).Fixed64(tag(i, n), uint64(v(i, n))) }
	}
	r.next(":")
	var contents Shape
	switch {
	case r.next("{"):
		contents = r.elements()
	case r.next(`"`):
		contents = r.text()
	case r.next("<"):
		contents = r.packed()
	case r.next("##"):
		contents = Join(Text(strings.Repeat("\x00", 8)), r.id())
	case r.next("#"):
		contents = r.id()
	default:
		v := r.expression(r.until(" }]"))
		return func(b []byte, i, n int) []byte { return pb.Message(b).Number(tag(i, n), uint64(v(i, n))) }
	}
	return func(b []byte, i, n int) []byte { return pb.Message(b).Bytes(tag(i, n), contents(nil, i, n)) }
}

// packed reads packed numbers, which [] repeats, and the bracket at their end.
func (r *reader) packed() Shape {
	var all []Shape
	for !r.next(">") && !r.next("]") {
		switch {
		case r.next(" "):
		case r.next("["):
			all = append(all, Repeat("", r.packed()))
		default:
			v := r.expression(r.until(" >]"))
			all = append(all, func(b []byte, i, n int) []byte { return binary.AppendUvarint(b, uint64(v(i, n))) })
		}
	}
	return Join(all...)
}

func (r *reader) id() Shape {
	v := r.expression(r.until(" }]"))
	return func(b []byte, i, n int) []byte { return binary.BigEndian.AppendUint64(b, uint64(v(i, n))) }
}

// element reads a number, a text, or what follows its size.
func (r *reader) element() Shape {
	switch order := r.order; {
	case r.next(`"`):
		return r.text()
	case r.next(`u"`):
		text := r.text()
		return func(b []byte, i, n int) []byte {
			for _, c := range utf16.Encode([]rune(string(text(nil, i, n)))) {
				b = order.AppendUint16(b, c)
			}
			return order.AppendUint16(b, 0)
		}
	case r.next("m{"):
		r.order = nil
		message := r.elements()
		r.order = order
		return message
	}
	write := r.number(r.until(":+{"))
	if r.next(":") {
		v := r.expression(r.until(" }]"))
		return func(b []byte, i, n int) []byte { return write(b, uint64(v(i, n))) }
	}
	more, _ := strconv.Atoi(strings.TrimPrefix(r.until("{"), "+"))
	r.next("{")
	contents := r.elements()
	return func(b []byte, i, n int) []byte {
		following := contents(nil, i, n)
		return append(write(b, uint64(len(following)+more)), following...)
	}
}

// number returns what appends a number of a size.
func (r *reader) number(size string) func(b []byte, v uint64) []byte {
	order := r.order
	switch size {
	case "1":
		return func(b []byte, v uint64) []byte { return append(b, byte(v)) }
	case "2":
		return func(b []byte, v uint64) []byte { return order.AppendUint16(b, uint16(v)) }
	case "4":
		return func(b []byte, v uint64) []byte { return order.AppendUint32(b, uint32(v)) }
	case "8":
		return order.AppendUint64
	case "v":
		return binary.AppendUvarint
	case "p":
		return func(b []byte, v uint64) []byte {
			return append(b, byte(v)|0x80, byte(v>>7)|0x80, byte(v>>14)|0x80, byte(v>>21))
		}
	}
	panic("a number of size " + size)
}
