package ctf

import (
	"strconv"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/internal/ftrace"
	"github.com/tpconvert/tpconvert/ingest/internal/tsdl"
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

// metadataParser parses the Trace Stream Description Language.
type metadataParser struct {
	declarations
	tsdl.Lexer
	scopes []map[string]*class // types by name, such as "unsigned long" or "struct header"
	depth  int
	last   tsdl.Lexer // at the last word that words returned
}

// parse returns what metadata declares. If the text is cut off, the error says so and what was declared before is returned.
func parse(text string) (d *declarations, err *tsdl.Error) {
	p := &metadataParser{declarations: declarations{clocks: map[string]*clock{}}, Lexer: tsdl.NewLexer(text), scopes: []map[string]*class{{}}}
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *tsdl.Error:
			d, err = &p.declarations, e
		default:
			panic(e)
		}
	}()
	p.Next()
	for p.Kind != tsdl.End {
		p.statement()
	}
	return &p.declarations, nil
}

// statement parses a declaration of the outermost level.
func (p *metadataParser) statement() {
	switch {
	case p.Accept("trace"):
		p.traceBlock()
	case p.Accept("env"):
		p.envBlock()
	case p.Accept("clock"):
		p.clockBlock()
	case p.Accept("stream"):
		p.streamBlock()
	case p.Accept("event"):
		p.eventBlock()
	case p.Accept("callsite"):
		p.block(func(string) { p.value() }, nil)
	case !p.Is(";"):
		p.declaration()
	}
	p.Expect(";")
}

// block parses { name = value; name := type; } and the types declared in it.
func (p *metadataParser) block(attribute func(name string), typed func(name string)) {
	p.Expect("{")
	p.enter()
	for !p.Accept("}") {
		switch p.Word {
		case "typealias", "typedef", "struct", "variant", "enum", "integer", "floating_point":
			if p.Kind == tsdl.Word {
				p.declaration()
				p.Expect(";")
				continue
			}
		}
		name := p.path()
		switch {
		case p.Accept("="):
			attribute(name)
		case typed == nil:
			p.Expect("=")
		default:
			p.Expect(":=")
			typed(name)
		}
		p.Expect(";")
	}
	p.leave()
}

// enter opens a scope for types.
func (p *metadataParser) enter() {
	if p.depth++; p.depth > maxDepth {
		p.Fail("types nested more than %d deep", maxDepth)
	}
	p.scopes = append(p.scopes, map[string]*class{})
}

func (p *metadataParser) leave() {
	p.depth--
	p.scopes = p.scopes[:len(p.scopes)-1]
}

func (p *metadataParser) traceBlock() {
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

func (p *metadataParser) envBlock() {
	p.block(func(name string) { p.env = append(p.env, entry{name, p.value()}) }, nil)
}

func (p *metadataParser) clockBlock() {
	c := &clock{frequency: 1e9}
	p.block(func(name string) {
		switch v := p.value(); name {
		case "name":
			c.name = v.text
		case "freq":
			if c.frequency = p.number(v); c.frequency == 0 {
				p.Fail("a clock of 0 Hz")
			}
		case "offset":
			c.offset = v.signed()
		case "offset_s":
			c.offsetSeconds = v.signed()
		}
	}, nil)
	p.clocks[c.name] = c
}

func (p *metadataParser) streamBlock() {
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

func (p *metadataParser) eventBlock() {
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

func (p *metadataParser) value() (v value) {
	for p.Is("-") || p.Is("+") {
		v.negative = v.negative != p.Is("-")
		p.Next()
	}
	switch p.Kind {
	case tsdl.Number:
		n, err := strconv.ParseUint(strings.TrimRight(p.Word, "uUlL"), 0, 64)
		if err != nil {
			p.Fail("the number %.30q", p.Word)
		}
		v.text, v.number, v.isNumber = p.Word, n, true
		p.Next()
	case tsdl.Text:
		v.text = p.Word
		for p.Next(); p.Kind == tsdl.Text; p.Next() {
			v.text += p.Word
		}
	default:
		v.text = p.path()
	}
	return v
}

// path parses words joined by dots.
func (p *metadataParser) path() string {
	if p.Kind != tsdl.Word {
		p.Unexpected("a name")
	}
	path := p.Word
	for p.Next(); p.Accept("."); p.Next() {
		if p.Kind != tsdl.Word {
			p.Unexpected("a name")
		}
		path += "." + p.Word
	}
	return path
}

func (p *metadataParser) number(v value) uint64 {
	if !v.isNumber || v.negative {
		p.Fail("%.30q where a number was expected", v.text)
	}
	return v.number
}

func (p *metadataParser) small(v value, most uint64) int {
	if n := p.number(v); n <= most {
		return int(n)
	}
	p.Fail("%d where at most %d was expected", v.number, most)
	return 0
}

func (p *metadataParser) alignment(v value) int {
	n := p.small(v, maxAlign)
	if n == 0 || n&(n-1) != 0 {
		p.Fail("an alignment of %d bits", n)
	}
	return n
}

func (p *metadataParser) byteOrder(v value) order {
	switch v.text {
	case "le":
		return littleEndian
	case "be", "network":
		return bigEndian
	case "native":
		return nativeOrder
	}
	p.Fail("the byte order %.30q", v.text)
	return 0
}
