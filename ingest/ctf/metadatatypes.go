package ctf

import (
	"strings"

	"github.com/tpconvert/tpconvert/ingest/internal/tsdl"
)

// declaration parses a typealias, a typedef or a named type.
func (p *metadataParser) declaration() {
	switch {
	case p.Accept("typealias"):
		c := p.typeOf(false)
		for p.Is("[") {
			c = p.arrays(c)
		}
		p.Expect(":=")
		p.declare(strings.Join(p.words(), " "), c)
	case p.Accept("typedef"):
		p.declarators(p.typeOf(true), p.declare)
	default:
		p.typeOf(false)
	}
}

func (p *metadataParser) declare(name string, c *class) {
	if name == "" {
		p.Unexpected("a name")
	}
	p.scopes[len(p.scopes)-1][name] = c
}

func (p *metadataParser) lookup(name string) *class {
	for i := len(p.scopes) - 1; i >= 0; i-- {
		if c := p.scopes[i][name]; c != nil {
			return c
		}
	}
	p.Fail("the type %q is not declared", name)
	return nil
}

// typeOf parses a type. If a name follows it, as in a field's declaration, named is true.
func (p *metadataParser) typeOf(named bool) *class {
	if p.depth++; p.depth > maxDepth {
		p.Fail("types nested more than %d deep", maxDepth)
	}
	defer func() { p.depth-- }()
	for p.Accept("const") {
	}
	switch {
	case p.Kind != tsdl.Word:
		p.Unexpected("a type")
	case p.Accept("integer"):
		return p.integer()
	case p.Accept("floating_point"):
		return p.float()
	case p.Accept("string"):
		c := &class{kind: textClass, align: 8}
		if p.Is("{") {
			p.block(func(string) { p.value() }, nil)
		}
		return c
	case p.Accept("struct"):
		return p.structure()
	case p.Accept("variant"):
		return p.variant()
	case p.Accept("enum"):
		return p.enum()
	}
	// The last of several words is the field's name.
	words := p.words()
	if named && len(words) > 1 {
		words, p.Lexer = words[:len(words)-1], p.last
	}
	return p.lookup(strings.Join(words, " "))
}

// words parses the words of a type's name, such as "unsigned long" or "void *", and notes in last where the last one is.
func (p *metadataParser) words() (words []string) {
	for p.Kind == tsdl.Word || p.Is("*") {
		words, p.last = append(words, p.Word), p.Lexer
		p.Next()
	}
	return words
}

func (p *metadataParser) integer() *class {
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
		p.Fail("an integer without a size")
	}
	return c.aligned()
}

func (p *metadataParser) float() *class {
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
		p.Fail("a floating-point number of %d bits", c.size)
	}
	return c.aligned()
}

func (p *metadataParser) structure() *class {
	name := p.typeName("struct")
	if !p.Is("{") {
		return p.lookup(name)
	}
	c := &class{kind: structClass, align: 1, fields: p.fields()}
	if p.Accept("align") {
		p.Expect("(")
		c.align = p.alignment(p.value())
		p.Expect(")")
	}
	if name != "" {
		p.declare(name, c)
	}
	return c
}

func (p *metadataParser) variant() *class {
	name := p.typeName("variant")
	var tag []string
	if p.Accept("<") {
		tag = strings.Split(p.path(), ".")
		p.Expect(">")
	}
	var c *class
	if p.Is("{") {
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
func (p *metadataParser) typeName(keyword string) string {
	if p.Kind != tsdl.Word || p.Is("align") {
		return ""
	}
	name := keyword + " " + p.Word
	p.Next()
	return name
}

// fields parses the fields of a structure or the options of a variant.
func (p *metadataParser) fields() (all []field) {
	p.Expect("{")
	p.enter()
	for !p.Accept("}") {
		if p.Is("typealias") || p.Is("typedef") {
			p.declaration()
		} else if c := p.typeOf(true); !p.Is(";") {
			p.declarators(c, func(name string, c *class) { all = append(all, field{name: name, class: c}) })
		}
		p.Expect(";")
	}
	p.leave()
	return all
}

// declarators parses names with the lengths of arrays: a, b[2][3], c[length].
func (p *metadataParser) declarators(c *class, declare func(string, *class)) {
	for {
		for p.Accept("*") {
		}
		name := p.Word
		if p.Kind != tsdl.Word {
			p.Unexpected("a name")
		}
		p.Next()
		declare(name, p.arrays(c))
		if !p.Accept(",") {
			return
		}
	}
}

// arrays parses lengths, and returns the array of arrays that they make of a type.
func (p *metadataParser) arrays(c *class) *class {
	if !p.Accept("[") {
		return c
	}
	if p.depth++; p.depth > maxDepth {
		p.Fail("types nested more than %d deep", maxDepth)
	}
	defer func() { p.depth-- }()
	array := &class{kind: arrayClass}
	if p.Kind == tsdl.Number {
		array.count = p.number(p.value())
	} else {
		array.path = strings.Split(p.path(), ".")
	}
	p.Expect("]")
	array.element = p.arrays(c)
	return array
}

func (p *metadataParser) enum() *class {
	name := p.typeName("enum")
	var element *class
	if p.Accept(":") {
		element = p.typeOf(false)
	}
	if !p.Is("{") {
		return p.lookup(name)
	}
	if element == nil {
		element = p.lookup("int")
	}
	if element.kind != integerClass {
		p.Fail("an enumeration of a type that is no integer")
	}
	c := *element
	c.labels = []label{}
	p.Expect("{")
	next := int64(0)
	for !p.Accept("}") {
		l := label{name: p.Word, first: next}
		if p.Kind != tsdl.Word && p.Kind != tsdl.Text {
			p.Unexpected("a label")
		}
		p.Next()
		if p.Accept("=") {
			l.first = p.value().signed()
		}
		l.last = l.first
		if p.Accept("...") {
			l.last = p.value().signed()
		}
		next = l.last + 1
		c.labels = append(c.labels, l)
		if !p.Accept(",") {
			p.Expect("}")
			break
		}
	}
	if name != "" {
		p.declare(name, &c)
	}
	return &c
}
