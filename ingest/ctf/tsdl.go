package ctf

import (
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
