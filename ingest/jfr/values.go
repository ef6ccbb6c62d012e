package jfr

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/tpconvert/tpconvert/ingest/internal/jvm"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
)

// class is a type that the metadata declares.
type class struct {
	name, super string
	category    string
	fields      []*field
	scalar      kindOf              // of primitive types and texts
	simple      bool                // is shown as its only field
	numbers     bool                // has only numbers in LEB128
	pool        map[uint64]constant // its constants
	kind        *kind               // of its events, once there is one
}

// constant is the bytes of a constant, and what has been found out about it, if anything has.
type constant struct {
	data  []byte
	known *known
}

// field is a field of a class.
type field struct {
	name            string
	class           *class
	constant, array bool
	timespan        int64 // ns of the unit, inTicks, or 0 if it is none
	timestamp       int64 // likewise, since the epoch
	unsigned        bool
	address         bool
	path            *path // of the field of an event, once it has had a value
}

const inTicks = -1

// none is the time or span of a field without a value, the least of a long.
const none = 1 << 63

// The types that mean more than their fields.
const (
	classClass  = "java.lang.Class"
	methodClass = "jdk.types.Method"
	threadClass = "java.lang.Thread"
	stackClass  = "jdk.types.StackTrace"
)

type kindOf uint8

const (
	null kindOf = iota
	integer
	real
	boolean
	text
	object
	list
)

// value is the value of a field.
type value struct {
	kind  kindOf
	n     uint64 // number, its bits, or how many a list has
	text  []byte
	class *class // of an object
	data  []byte // of an object or list
	ref   ref    // where it is a constant
	known *known // likewise
}

// ref names a constant.
type ref struct {
	class *class
	id    uint64
}

// cursor reads the bytes of an event.
type cursor struct {
	b     []byte
	at    int
	depth int
	typ   uint64 // of the event
	bad   bool
}

// maxVarint is the maximum size of a number, in bytes.
const maxVarint = 9

// number reads a number in LEB128, whose ninth byte has eight bits.
func (r *cursor) number() (n uint64) {
	if r.at < len(r.b) && r.b[r.at] < 0x80 {
		r.at++
		return uint64(r.b[r.at-1])
	}
	for shift := 0; ; shift += 7 {
		if r.at >= len(r.b) {
			r.bad = true
			return 0
		}
		b := r.b[r.at]
		r.at++
		if shift == 7*(maxVarint-1) {
			return n | uint64(b)<<shift
		}
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
}

func (r *cursor) bytes(n uint64) []byte {
	if n > uint64(len(r.b)-r.at) {
		r.bad = true
		return make([]byte, 8)[:min(n, 8)]
	}
	b := r.b[r.at : r.at+int(n)]
	r.at += int(n)
	return b
}

// The encodings of texts.
const (
	textNull = iota
	textEmpty
	textConstant
	textUTF8
	textUTF16
	textLatin1
)

// text reads a text. A constant is returned as its id.
func (r *cursor) text() (b []byte, constant uint64, encoding byte) {
	switch encoding = r.bytes(1)[0]; encoding {
	case textNull, textEmpty:
	case textConstant:
		constant = r.number()
	case textUTF8:
		b = jvm.Text(r.bytes(r.number())) // HotSpot writes the names of classes and methods as it has them
	case textUTF16:
		n := r.number()
		if n > uint64(len(r.b)-r.at) {
			r.bad = true
			return nil, 0, encoding
		}
		units := make([]uint16, n)
		for i := range units {
			units[i] = uint16(r.number())
		}
		b = []byte(string(utf16.Decode(units)))
	case textLatin1:
		for _, c := range r.bytes(r.number()) {
			b = utf8.AppendRune(b, rune(c))
		}
	default:
		r.bad = true
	}
	return b, constant, encoding
}

// maxDepth is how deep values may be nested.
const maxDepth = 32

// read reads the value of a field.
func (c *chunk) read(r *cursor, f *field) value {
	if !f.array {
		return c.element(r, f)
	}
	n, start := r.number(), r.at
	if n > uint64(len(r.b)-r.at) {
		r.bad = true
	}
	for i := uint64(0); i < n && !r.bad; i++ {
		c.skip(r, f)
	}
	return value{kind: list, n: n, data: r.b[start:r.at]}
}

// skip passes over a value of a field that is no array, or over an element.
func (c *chunk) skip(r *cursor, f *field) {
	switch {
	case f.constant:
		r.number()
	case f.class.numbers && len(f.class.fields) > 0:
		for range f.class.fields {
			r.number()
		}
	default:
		c.plain(r, f.class)
	}
}

func (c *chunk) skipAll(r *cursor, f *field) {
	if f.array {
		c.read(r, f)
	} else {
		c.skip(r, f)
	}
}

func (c *chunk) element(r *cursor, f *field) value {
	if f.constant {
		return c.constant(f.class, r.number(), r.depth)
	}
	return c.plain(r, f.class)
}

// constant returns a constant, null if it is not there.
func (c *chunk) constant(t *class, id uint64, depth int) value {
	k, ok := t.pool[id]
	if !ok {
		c.missing = c.missing || id != 0
		return value{}
	}
	if t.scalar == null {
		return value{kind: object, class: t, data: k.data, ref: ref{t, id}, known: k.known}
	}
	return c.plain(&cursor{b: k.data, depth: depth + 1}, t)
}

// plain reads a value that is no reference.
func (c *chunk) plain(r *cursor, t *class) (v value) {
	if r.depth++; r.depth > maxDepth {
		r.bad = true
		return v
	}
	defer func() { r.depth-- }()
	switch t.scalar {
	case null:
	case text:
		b, id, encoding := r.text()
		switch encoding {
		case textNull:
			return value{}
		case textConstant:
			return c.constant(t, id, r.depth)
		}
		return value{kind: text, text: b}
	default:
		v.kind = t.scalar
		switch t.name {
		case "boolean":
			v.n = uint64(r.bytes(1)[0])
		case "byte":
			v.n = uint64(int8(r.bytes(1)[0]))
		case "char":
			v.text = utf8.AppendRune(nil, rune(uint16(r.number())))
			v.kind = text
		case "short":
			v.n = uint64(int16(r.number()))
		case "int":
			v.n = uint64(int32(r.number()))
		case "long":
			v.n = r.number()
		case "float":
			v.n = math.Float64bits(float64(math.Float32frombits(binary.BigEndian.Uint32(r.bytes(4)))))
		case "double":
			v.n = binary.BigEndian.Uint64(r.bytes(8))
		}
		return v
	}
	start := r.at
	for _, f := range t.fields {
		if t.numbers {
			r.number()
		} else if c.skipAll(r, f); r.bad {
			return value{}
		}
	}
	if r.at == start { // no data declares so many fields
		r.bad = true
	}
	return value{kind: object, class: t, data: r.b[start:r.at]}
}

// get returns the value of an object's field, null if it has none of that name.
func (c *chunk) get(v value, name string) value {
	if v.kind != object {
		return value{}
	}
	r := cursor{b: v.data}
	for _, f := range v.class.fields {
		if f.name == name {
			return c.read(&r, f)
		}
		c.skipAll(&r, f)
	}
	return value{}
}

// shown returns the only field of an object that is shown as that.
func (c *chunk) shown(v value) value {
	for range maxDepth {
		if v.kind != object || !v.class.simple {
			break
		}
		v = c.read(&cursor{b: v.data}, v.class.fields[0])
	}
	return v
}

// known is what has been found out about a constant.
type known struct {
	name  model.StringID
	utid  model.UTID
	stack stack
}

// remember returns what is known of a constant, and finds it out before.
func (c *chunk) remember(v value, find func() known) known {
	if v.known != nil {
		return *v.known
	}
	k := find()
	if v.ref.class != nil {
		v.ref.class.pool[v.ref.id] = constant{v.data, &k}
	}
	return k
}

// name returns how a text or an object with a name is shown, 0 for others.
func (c *chunk) name(v value) model.StringID {
	if v = c.shown(v); v.kind == text {
		return c.in.Store.Strings.InternBytes(v.text)
	}
	if v.kind != object {
		return 0
	}
	switch v.class.name {
	case classClass, methodClass, threadClass:
	default:
		return 0
	}
	return c.remember(v, func() known {
		k := known{utid: model.None}
		words := c.in.Store.Strings
		switch v.class.name {
		case classClass:
			if name := c.textOf(v, "name"); len(name) > 0 {
				c.text = appendClassName(c.text[:0], name)
				k.name = words.InternBytes(c.text)
			}
		case methodClass:
			c.text = c.text[:0]
			if class := c.textOf(c.get(v, "type"), "name"); len(class) > 0 {
				c.text = append(appendClassName(c.text, class), '.')
			}
			c.text = append(c.text, c.textOf(v, "name")...)
			k.name = words.InternBytes(c.text)
		case threadClass:
			k.utid, k.name = c.people.thread(c, v)
		}
		return k
	}).name
}

func (c *chunk) textOf(v value, name string) []byte { return c.shown(c.get(v, name)).text }

// primitives are the descriptors of primitive types.
var primitives = map[byte]string{'B': "byte", 'C': "char", 'D': "double", 'F': "float", 'I': "int", 'J': "long", 'S': "short", 'Z': "boolean"}

// appendClassName appends the name of a class in Java from that of the JVM, such as byte[][] for [[B.
func appendClassName(b, name []byte) []byte {
	element := bytes.TrimLeft(name[:len(name)-1], "[")
	dimensions := len(name) - 1 - len(element)
	element = name[dimensions:]
	primitive := ""
	if dimensions > 0 {
		if n := len(element) - 1; n == 0 {
			primitive = primitives[element[0]]
		} else if element[0] == 'L' && element[n] == ';' {
			element = element[1:n]
		}
	}
	from := len(b)
	if primitive != "" {
		b = append(b, primitive...)
	} else {
		b = append(b, element...)
	}
	for i, c := range b[from:] {
		if c == '/' {
			b[from+i] = '.'
		}
	}
	for range dimensions {
		b = append(b, "[]"...)
	}
	return b
}

// thread returns the thread of a value, None for no thread.
func (c *chunk) thread(v value) model.UTID {
	if v.kind != object || v.class.name != threadClass {
		return model.None
	}
	return c.remember(v, func() (k known) {
		k.utid, k.name = c.people.thread(c, v)
		return k
	}).utid
}

// stack is a stack trace.
type stack struct {
	callsite  profile.CallsiteID
	truncated bool
}

// stack returns the stack trace of a value.
func (c *chunk) stack(v value) stack {
	if v.kind != object {
		return stack{callsite: model.None}
	}
	return c.remember(v, func() known {
		trace := stack{callsite: model.None}
		r := cursor{b: v.data}
		for i, f := range v.class.fields {
			switch {
			case f.name == "truncated":
				trace.truncated = c.read(&r, f).n != 0
			case f.name == "frames" && f.array:
				last := v.ref.class != nil && i == len(v.class.fields)-1
				trace.callsite = c.frameList(&r, f, last)
			default:
				c.skipAll(&r, f)
			}
		}
		return known{stack: trace}
	}).stack
}

// traceBefore is the constant whose frames were read last.
type traceBefore struct {
	field *field // with the frames
	bytes []byte
	sites []siteBefore // outermost first
}

// siteBefore is a call site, and how many bytes its frame and those around it have.
type siteBefore struct {
	left     int
	callsite profile.CallsiteID
}

// frameAt is a frame, and how many bytes it and those around it have.
type frameAt struct {
	left  int
	frame profile.FrameID
}

// frameList reads the frames of a stack trace, innermost first. Most traces have their outermost frames in common with the one before, which
// their last bytes show if the frames are the last field of a constant.
func (c *chunk) frameList(r *cursor, f *field, last bool) profile.CallsiteID {
	var sites []siteBefore
	common := 0
	if last {
		sites = c.before.sites
		if c.before.field == f {
			common = commonEnd(r.b, c.before.bytes)
		}
	}
	c.inner = c.inner[:0]
	same := false
	for n := r.number(); n > 0 && !r.bad; n-- {
		start, left := r.at, len(r.b)-r.at
		if left <= common {
			for len(sites) > 0 && sites[len(sites)-1].left > left {
				sites = sites[:len(sites)-1]
			}
			if same = len(sites) > 0 && sites[len(sites)-1].left == left; same {
				break
			}
		}
		if c.skip(r, f); !r.bad {
			c.inner = append(c.inner, frameAt{left, c.frame(f, r.b[start:r.at])})
		}
	}
	callsite := profile.CallsiteID(model.None)
	if same {
		callsite = sites[len(sites)-1].callsite
	} else {
		sites = sites[:0]
	}
	for _, at := range slices.Backward(c.inner) {
		callsite = c.in.Store.Stacks.Callsite(callsite, at.frame)
		sites = append(sites, siteBefore{at.left, callsite})
	}
	if last {
		c.before = traceBefore{f, r.b, sites}
	}
	return callsite
}

// commonEnd returns how many bytes two texts have in common at their ends.
func commonEnd(a, b []byte) (n int) {
	for limit := min(len(a), len(b)); n < limit && a[len(a)-1-n] == b[len(b)-1-n]; n++ {
	}
	return n
}

// frame returns a frame of a stack trace. Equal bytes are the same frame.
func (c *chunk) frame(f *field, data []byte) profile.FrameID {
	id, ok := c.frames[string(data)]
	if !ok {
		v := c.element(&cursor{b: data}, f)
		kind, method := c.name(c.get(v, "type")), c.name(c.get(v, "method"))
		line := max(int64(c.get(v, "lineNumber").n), 0)
		id = c.in.Store.Stacks.FunctionFrame(c.people.mapping(kind), method, 0, line)
		c.frames[string(data)] = id
	}
	return id
}
