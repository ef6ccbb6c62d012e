package jfr

import (
	"slices"
	"strconv"
	"strings"
)

// node is an element of the metadata, as in XML.
type node struct {
	name       string
	attributes []attribute
	children   []node
}

type attribute struct{ name, value string }

// get returns the last value of an attribute, "" if there is none.
func (n *node) get(name string) string {
	for _, a := range slices.Backward(n.attributes) {
		if a.name == name {
			return a.value
		}
	}
	return ""
}

// tree reads the texts and the root element of metadata.
type tree struct {
	cursor
	texts []string
}

func (t *tree) word() string {
	if i := t.number(); i < uint64(len(t.texts)) {
		return t.texts[i]
	}
	t.bad = true
	return ""
}

func (t *tree) node(depth int) node {
	n := node{name: t.word()}
	for i := t.number(); i > 0 && !t.bad; i-- {
		n.attributes = append(n.attributes, attribute{t.word(), t.word()})
	}
	if depth > maxDepth {
		t.bad = true
	}
	for i := t.number(); i > 0 && !t.bad; i-- {
		n.children = append(n.children, t.node(depth+1))
	}
	return n
}

// units are those of times, in ns.
var units = map[string]int64{"TICKS": inTicks, "NANOSECONDS": 1, "MICROSECONDS": 1e3, "MILLISECONDS": 1e6, "SECONDS": 1e9,
	"NANOSECONDS_SINCE_EPOCH": 1, "MICROSECONDS_SINCE_EPOCH": 1e3, "MILLISECONDS_SINCE_EPOCH": 1e6, "SECONDS_SINCE_EPOCH": 1e9}

// scalars are the types without fields.
var scalars = map[string]kindOf{"boolean": boolean, "byte": integer, "char": integer, "short": integer, "int": integer, "long": integer,
	"float": real, "double": real, "java.lang.String": text}

// declare reads the types, and reports whether there are any.
func (c *chunk) declare() bool {
	t := tree{cursor: c.body(c.load(c.tree))}
	t.number() // time
	t.number() // duration
	t.number() // id
	for n := t.number(); n > 0 && !t.bad; n-- {
		b, _, _ := t.text()
		t.texts = append(t.texts, string(b))
	}
	root := t.node(0)
	if c.tree == 0 || t.bad {
		return false
	}
	var classes []node
	for i := range root.children {
		if m := &root.children[i]; m.name == "metadata" {
			classes = m.children
		}
	}
	id := func(text string) uint64 {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil { // some writers have negative ids
			signed, _ := strconv.ParseInt(text, 10, 64)
			n = uint64(signed)
		}
		return n
	}
	for i := range classes {
		n := &classes[i]
		name := n.get("name")
		if old, ok := strings.CutPrefix(name, "com.oracle.jfr.types."); ok { // JDK 9
			name = "jdk.types." + old
		}
		c.types[id(n.get("id"))] = &class{name: name, super: n.get("superType"), scalar: scalars[name], pool: map[uint64]constant{}}
	}
	annotations := func(n *node, f func(name string, n *node)) {
		for i := range n.children {
			a := &n.children[i]
			if a.name != "annotation" {
				continue
			}
			if t := c.types[id(a.get("class"))]; t != nil {
				f(t.name, a)
			}
		}
	}
	for i := range classes {
		n := &classes[i]
		t := c.types[id(n.get("id"))]
		annotations(n, func(name string, a *node) {
			if name != "jdk.jfr.Category" {
				return
			}
			for _, part := range a.attributes {
				if !strings.HasPrefix(part.name, "value-") {
					continue
				}
				if t.category != "" {
					t.category += "/"
				}
				t.category += part.value
			}
		})
		for i := range n.children {
			child := &n.children[i]
			if child.name != "field" {
				continue
			}
			f := &field{name: child.get("name"), class: c.types[id(child.get("class"))],
				constant: child.get("constantPool") == "true", array: child.get("dimension") == "1"}
			if f.class == nil {
				return false
			}
			annotations(child, func(name string, a *node) {
				switch name {
				case "jdk.jfr.Timespan":
					f.timespan = units[a.get("value")]
				case "jdk.jfr.Timestamp":
					f.timestamp = units[a.get("value")]
				case "jdk.jfr.Unsigned":
					f.unsigned = true
				case "jdk.jfr.MemoryAddress":
					f.address = true
				}
			})
			t.fields = append(t.fields, f)
		}
	}
	for _, t := range c.types {
		t.simple = len(t.fields) == 1 && !t.fields[0].array && t.super == ""
		t.numbers = !slices.ContainsFunc(t.fields, func(f *field) bool {
			return f.array || !f.constant && !slices.Contains([]string{"char", "short", "int", "long"}, f.class.name)
		})
	}
	return true
}

// maxPrepared is for how many constants there is memory before they are read.
const maxPrepared = 1 << 14

// pools reads an event with constants.
func (c *chunk) pools(at int64) {
	b := c.load(at)
	r := c.body(b)
	r.number() // time
	r.number() // duration
	r.number() // distance to the one before
	r.bytes(1) // kind
	for pools := uint32(r.number()); pools > 0 && !r.bad; pools-- {
		t := c.types[r.number()]
		if t == nil {
			r.bad = true
			break
		}
		n := uint32(r.number())
		if len(t.pool) == 0 {
			t.pool = make(map[uint64]constant, min(int64(n), int64(len(r.b)-r.at), maxPrepared))
		}
		for ; n > 0 && !r.bad; n-- {
			id, start := r.number(), r.at
			if c.plain(&r, t); !r.bad {
				t.pool[id] = constant{data: r.b[start:r.at:r.at]}
			}
		}
	}
	if r.bad {
		c.bad(at, "constants that cannot be read")
	}
}
