package ctf

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/internal/ftrace"
	"github.com/tpconvert/tpconvert/model"
)

// declarations are what a trace says about itself, before its types are laid out.
type declarations struct {
	bigEndian    bool
	packetHeader *class
	env          []entry
	clocks       map[string]*clock
	streams      []*streamClass
	events       []*eventClass
}

// entry is an environment variable of the trace.
type entry struct {
	name string
	value
}

type streamClass struct {
	id                                       uint64
	packetContext, eventHeader, eventContext *class
	events                                   map[uint64]*eventClass
	clock                                    *clock
	extra                                    bool // the packets' context has facts about their events
}

type eventClass struct {
	number          int  // in tokens
	ofStream        bool // it states its stream
	id, streamID    uint64
	name            string
	context, fields *class
	stream          *streamClass

	// Set by the parser:
	category, nameID model.StringID
	tracepoint       *ftrace.Tracepoint // of a kernel's event
	handle           handler            // makes other rows than those of all events, or nil
}

// maxDepth is how deep types may be nested.
const maxDepth = 64

// maxAlign is the largest alignment, in bits.
const maxAlign = 1 << 15

// syntaxError is an error in the metadata. It is thrown as a panic within tsdl, whose only caller catches it.
type syntaxError struct {
	at  int  // offset in bytes
	cut bool // the text ends too early
	err string
}

// tsdl parses the Trace Stream Description Language.
type tsdl struct {
	declarations
	lexer
	scopes []map[string]*class // types by name, such as "unsigned long" or "struct header"
	depth  int
	last   lexer // at the last word that words returned
}

// parse returns what metadata declares. If the text is cut off, the error says so and what was declared before is returned.
func parse(text string) (d *declarations, err *syntaxError) {
	p := &tsdl{declarations: declarations{clocks: map[string]*clock{}}, lexer: lexer{text: text}, scopes: []map[string]*class{{}}}
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *syntaxError:
			d, err = &p.declarations, e
		default:
			panic(e)
		}
	}()
	p.next()
	for p.kind != endToken {
		p.statement()
	}
	return &p.declarations, nil
}

// statement parses a declaration of the outermost level.
func (p *tsdl) statement() {
	switch {
	case p.accept("trace"):
		p.traceBlock()
	case p.accept("env"):
		p.envBlock()
	case p.accept("clock"):
		p.clockBlock()
	case p.accept("stream"):
		p.streamBlock()
	case p.accept("event"):
		p.eventBlock()
	case p.accept("callsite"):
		p.block(func(string) { p.value() }, nil)
	case !p.is(";"):
		p.declaration()
	}
	p.expect(";")
}

// block parses { name = value; name := type; } and the types declared in it.
func (p *tsdl) block(attribute func(name string), typed func(name string)) {
	p.expect("{")
	p.enter()
	for !p.accept("}") {
		switch p.word {
		case "typealias", "typedef", "struct", "variant", "enum", "integer", "floating_point":
			if p.kind == wordToken {
				p.declaration()
				p.expect(";")
				continue
			}
		}
		name := p.path()
		switch {
		case p.accept("="):
			attribute(name)
		case typed == nil:
			p.expect("=")
		default:
			p.expect(":=")
			typed(name)
		}
		p.expect(";")
	}
	p.leave()
}

// enter opens a scope for types.
func (p *tsdl) enter() {
	if p.depth++; p.depth > maxDepth {
		p.fail("types nested more than %d deep", maxDepth)
	}
	p.scopes = append(p.scopes, map[string]*class{})
}

func (p *tsdl) leave() {
	p.depth--
	p.scopes = p.scopes[:len(p.scopes)-1]
}

func (p *tsdl) traceBlock() {
	p.block(func(name string) {
		if v := p.value(); name == "byte_order" {
			p.bigEndian = p.byteOrder(v) == bigEndian
		}
	}, func(name string) {
		if c := p.typeOf(false); name == "packet.header" {
			p.packetHeader = c
		}
	})
}

func (p *tsdl) envBlock() {
	p.block(func(name string) { p.env = append(p.env, entry{name, p.value()}) }, nil)
}

func (p *tsdl) clockBlock() {
	c := &clock{frequency: 1e9}
	p.block(func(name string) {
		switch v := p.value(); name {
		case "name":
			c.name = v.text
		case "freq":
			if c.frequency = p.number(v); c.frequency == 0 {
				p.fail("a clock of 0 Hz")
			}
		case "offset":
			c.offset = v.signed()
		case "offset_s":
			c.offsetSeconds = v.signed()
		}
	}, nil)
	p.clocks[c.name] = c
}

func (p *tsdl) streamBlock() {
	s := &streamClass{events: map[uint64]*eventClass{}}
	p.block(func(name string) {
		if v := p.value(); name == "id" {
			s.id = p.number(v)
		}
	}, func(name string) {
		switch c := p.typeOf(false); name {
		case "packet.context":
			s.packetContext = c
		case "event.header":
			s.eventHeader = c
		case "event.context":
			s.eventContext = c
		}
	})
	p.streams = append(p.streams, s)
}

func (p *tsdl) eventBlock() {
	e := &eventClass{}
	p.block(func(name string) {
		switch v := p.value(); name {
		case "id":
			e.id = p.number(v)
		case "stream_id":
			e.streamID, e.ofStream = p.number(v), true
		case "name":
			e.name = v.text
		}
	}, func(name string) {
		switch c := p.typeOf(false); name {
		case "context":
			e.context = c
		case "fields":
			e.fields = c
		}
	})
	p.events = append(p.events, e)
}

// declaration parses a typealias, a typedef or a named type.
func (p *tsdl) declaration() {
	switch {
	case p.accept("typealias"):
		c := p.typeOf(false)
		for p.is("[") {
			c = p.arrays(c)
		}
		p.expect(":=")
		p.declare(strings.Join(p.words(), " "), c)
	case p.accept("typedef"):
		p.declarators(p.typeOf(true), p.declare)
	default:
		p.typeOf(false)
	}
}

func (p *tsdl) declare(name string, c *class) {
	if name == "" {
		p.unexpected("a name")
	}
	p.scopes[len(p.scopes)-1][name] = c
}

func (p *tsdl) lookup(name string) *class {
	for i := len(p.scopes) - 1; i >= 0; i-- {
		if c := p.scopes[i][name]; c != nil {
			return c
		}
	}
	p.fail("the type %q is not declared", name)
	return nil
}

// typeOf parses a type. If a name follows it, as in a field's declaration, named is true.
func (p *tsdl) typeOf(named bool) *class {
	if p.depth++; p.depth > maxDepth {
		p.fail("types nested more than %d deep", maxDepth)
	}
	defer func() { p.depth-- }()
	for p.accept("const") {
	}
	switch {
	case p.kind != wordToken:
		p.unexpected("a type")
	case p.accept("integer"):
		return p.integer()
	case p.accept("floating_point"):
		return p.float()
	case p.accept("string"):
		c := &class{kind: textClass, align: 8}
		if p.is("{") {
			p.block(func(string) { p.value() }, nil)
		}
		return c
	case p.accept("struct"):
		return p.structure()
	case p.accept("variant"):
		return p.variant()
	case p.accept("enum"):
		return p.enum()
	}
	// The last of several words is the field's name.
	words := p.words()
	if named && len(words) > 1 {
		words, p.lexer = words[:len(words)-1], p.last
	}
	return p.lookup(strings.Join(words, " "))
}

// words parses the words of a type's name, such as "unsigned long" or "void *", and notes in last where the last one is.
func (p *tsdl) words() (words []string) {
	for p.kind == wordToken || p.is("*") {
		words, p.last = append(words, p.word), p.lexer
		p.next()
	}
	return words
}

func (p *tsdl) integer() *class {
	c := &class{kind: integerClass}
	p.block(func(name string) {
		switch v := p.value(); name {
		case "size":
			c.size = p.small(v, 64)
		case "align":
			c.align = p.alignment(v)
		case "signed":
			c.signed = v.text == "true" || v.text == "TRUE" || v.number == 1
		case "byte_order":
			c.order = p.byteOrder(v)
		case "base":
			switch v.text {
			case "16", "hexadecimal", "hex", "x", "X", "p":
				c.hex = true
			}
		case "encoding":
			c.encoded = v.text != "none" && v.text != "NONE"
		case "map": // clock.NAME.value
			if words := strings.Split(v.text, "."); len(words) == 3 && words[0] == "clock" {
				c.clock = words[1]
			}
		}
	}, nil)
	if c.size == 0 {
		p.fail("an integer without a size")
	}
	return c.aligned()
}

func (p *tsdl) float() *class {
	c := &class{kind: floatClass}
	exponent, mantissa := 0, 0
	p.block(func(name string) {
		switch v := p.value(); name {
		case "exp_dig":
			exponent = p.small(v, 64)
		case "mant_dig":
			mantissa = p.small(v, 64)
		case "align":
			c.align = p.alignment(v)
		case "byte_order":
			c.order = p.byteOrder(v)
		}
	}, nil)
	if c.size = exponent + mantissa; c.size != 32 && c.size != 64 {
		p.fail("a floating-point number of %d bits", c.size)
	}
	return c.aligned()
}

func (p *tsdl) structure() *class {
	name := p.typeName("struct")
	if !p.is("{") {
		return p.lookup(name)
	}
	c := &class{kind: structClass, align: 1, fields: p.fields()}
	if p.accept("align") {
		p.expect("(")
		c.align = p.alignment(p.value())
		p.expect(")")
	}
	if name != "" {
		p.declare(name, c)
	}
	return c
}

func (p *tsdl) variant() *class {
	name := p.typeName("variant")
	var tag []string
	if p.accept("<") {
		tag = strings.Split(p.path(), ".")
		p.expect(">")
	}
	var c *class
	if p.is("{") {
		c = &class{kind: variantClass, align: 1, fields: p.fields()}
		if name != "" {
			p.declare(name, c)
		}
	} else {
		c = p.lookup(name)
	}
	if tag != nil {
		tagged := *c
		tagged.path = tag
		c = &tagged
	}
	return c
}

// typeName parses the optional name of a type, and returns it after the keyword.
func (p *tsdl) typeName(keyword string) string {
	if p.kind != wordToken || p.is("align") {
		return ""
	}
	name := keyword + " " + p.word
	p.next()
	return name
}

// fields parses the fields of a structure or the options of a variant.
func (p *tsdl) fields() (all []field) {
	p.expect("{")
	p.enter()
	for !p.accept("}") {
		if p.is("typealias") || p.is("typedef") {
			p.declaration()
		} else if c := p.typeOf(true); !p.is(";") {
			p.declarators(c, func(name string, c *class) { all = append(all, field{name, c}) })
		}
		p.expect(";")
	}
	p.leave()
	return all
}

// declarators parses names with the lengths of arrays: a, b[2][3], c[length].
func (p *tsdl) declarators(c *class, declare func(string, *class)) {
	for {
		for p.accept("*") {
		}
		name := p.word
		if p.kind != wordToken {
			p.unexpected("a name")
		}
		p.next()
		declare(name, p.arrays(c))
		if !p.accept(",") {
			return
		}
	}
}

// arrays parses lengths, and returns the array of arrays that they make of a type.
func (p *tsdl) arrays(c *class) *class {
	if !p.accept("[") {
		return c
	}
	if p.depth++; p.depth > maxDepth {
		p.fail("types nested more than %d deep", maxDepth)
	}
	defer func() { p.depth-- }()
	array := &class{kind: arrayClass}
	if p.kind == numberToken {
		array.count = p.number(p.value())
	} else {
		array.path = strings.Split(p.path(), ".")
	}
	p.expect("]")
	array.element = p.arrays(c)
	return array
}

func (p *tsdl) enum() *class {
	name := p.typeName("enum")
	var of *class
	if p.accept(":") {
		of = p.typeOf(false)
	}
	if !p.is("{") {
		return p.lookup(name)
	}
	if of == nil {
		of = p.lookup("int")
	}
	if of.kind != integerClass {
		p.fail("an enumeration of a type that is no integer")
	}
	c := *of
	c.labels = []label{}
	p.expect("{")
	next := int64(0)
	for !p.accept("}") {
		l := label{name: p.word, first: next}
		if p.kind != wordToken && p.kind != textToken {
			p.unexpected("a label")
		}
		p.next()
		if p.accept("=") {
			l.first = p.value().signed()
		}
		l.last = l.first
		if p.accept("...") {
			l.last = p.value().signed()
		}
		next = l.last + 1
		c.labels = append(c.labels, l)
		if !p.accept(",") {
			p.expect("}")
			break
		}
	}
	if name != "" {
		p.declare(name, &c)
	}
	return &c
}

// value is the value of an attribute.
type value struct {
	text     string
	number   uint64
	negative bool
	isNumber bool
}

func (v value) signed() int64 {
	if v.negative {
		return -int64(v.number)
	}
	return int64(v.number)
}

func (p *tsdl) value() (v value) {
	for p.is("-") || p.is("+") {
		v.negative = v.negative != p.is("-")
		p.next()
	}
	switch p.kind {
	case numberToken:
		n, err := strconv.ParseUint(strings.TrimRight(p.word, "uUlL"), 0, 64)
		if err != nil {
			p.fail("the number %.30q", p.word)
		}
		v.text, v.number, v.isNumber = p.word, n, true
		p.next()
	case textToken:
		v.text = p.word
		for p.next(); p.kind == textToken; p.next() {
			v.text += p.word
		}
	default:
		v.text = p.path()
	}
	return v
}

// path parses words joined by dots.
func (p *tsdl) path() string {
	if p.kind != wordToken {
		p.unexpected("a name")
	}
	path := p.word
	for p.next(); p.accept("."); p.next() {
		if p.kind != wordToken {
			p.unexpected("a name")
		}
		path += "." + p.word
	}
	return path
}

func (p *tsdl) number(v value) uint64 {
	if !v.isNumber || v.negative {
		p.fail("%.30q where a number was expected", v.text)
	}
	return v.number
}

func (p *tsdl) small(v value, most uint64) int {
	if n := p.number(v); n <= most {
		return int(n)
	}
	p.fail("%d where at most %d was expected", v.number, most)
	return 0
}

func (p *tsdl) alignment(v value) int {
	n := p.small(v, maxAlign)
	if n == 0 || n&(n-1) != 0 {
		p.fail("an alignment of %d bits", n)
	}
	return n
}

func (p *tsdl) byteOrder(v value) order {
	switch v.text {
	case "le":
		return littleEndian
	case "be", "network":
		return bigEndian
	case "native":
		return nativeOrder
	}
	p.fail("the byte order %.30q", v.text)
	return 0
}

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
