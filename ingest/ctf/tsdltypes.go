package ctf

import "strings"

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
			p.declarators(c, func(name string, c *class) { all = append(all, field{name: name, class: c}) })
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
